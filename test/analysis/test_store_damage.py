# SPDX-License-Identifier: Apache-2.0
"""Stores that are damaged, cannot be written, or share a folder with other things: one line says
which file, and nothing is lost."""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest
from locus_analysis import __main__ as program
from locus_analysis.records import database, lock, shards
from locus_analysis.records import store as layout
from locus_analysis.records.sources import BadInput
from make_records import run_id
from some import some
from test_store import aggregate, named, runs

FIRST = b'"started": "2025-03'


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "a.jsonl").write_bytes(named("a"))
    assert aggregate(tmp_path / "a.jsonl", into=tmp_path / "store") == 0
    return tmp_path / "store"


def complaint(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    """The status, and the only line."""
    capsys.readouterr()
    status = program.main([*map(str, words)])
    (line,) = capsys.readouterr().err.splitlines()
    return status, line


@pytest.mark.parametrize("table", ["manifest", "metric"])
@pytest.mark.parametrize("left", [0, 3, -9])
def test_a_damaged_file_is_named(
    store: Path, table: str, left: int, capsys: pytest.CaptureFixture[str]
) -> None:
    (file,) = (store / table).rglob("*.parquet")
    file.write_bytes(file.read_bytes()[:left])
    record = store.parent / "a.jsonl"
    commands: list[list[object]] = [["summary", store], ["aggregate", record, "--into", store]]
    for words in commands:
        status, line = complaint(capsys, *words)
        assert status == 2
        assert f"{file}: damaged, no whole file of Parquet" in line


@pytest.mark.parametrize("table", ["run", "metric", "trial"])
def test_a_damaged_page_is_named(
    store: Path, table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file's end, which says what is where, is whole."""
    (file,) = (store / table).rglob("*.parquet")
    content = bytearray(file.read_bytes())
    for place in range(40, len(content) // 2, 40):
        content[place] ^= 0xFF
    file.write_bytes(content)
    for command in "summary", "report", "sick":
        status, line = complaint(capsys, command, store)
        assert (status, f"{file}: damaged" in line) == (2, True), line


@pytest.mark.parametrize("compact", [False, True])
def test_a_lost_file_is_named(
    tmp_path: Path, compact: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of any table and month, by readers and by aggregate."""
    store, records, hidden = (tmp_path / name for name in ("store", "records", "hidden"))
    records.mkdir()
    for name, moment in (("a", FIRST), ("b", b'"started": "2031-05')):
        (records / f"{name}.jsonl").write_bytes(named(name).replace(FIRST, moment, 1))
        words = ["aggregate", str(records), "--into", str(store), "--compact"]
        assert program.main(words[: 5 if compact else 4]) == 0
    files = [file for table in layout.TABLES for file in (store / table).rglob("*.parquet")]
    assert len(files) == 10  # run, machine, definition, trial, metric of two months
    for file in files:
        file.rename(hidden)
        with pytest.raises(BadInput, match=f"^{file}: missing: aggregate the records into a new"):
            database.read([store])
        hidden.rename(file)
    assert runs(store) == runs(records)
    files[-1].unlink()
    for lost in (["summary", store], words[:4]):
        status, line = complaint(capsys, *lost)
        assert status == 2 and line.startswith(f"locus: {files[-1]}: missing: ")


@pytest.mark.parametrize("table", ["run", "machine", "definition", "trial", "metric"])
def test_other_content_is_named(
    store: Path, table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is whole Parquet, but what locus cannot use, such as half of JSON."""
    (file,) = (store / table).rglob("*.parquet")
    with duckdb.connect() as db:
        db.execute("CREATE TABLE own AS FROM read_parquet(?)", [str(file)])
        texts = [
            name for name, kind, *_ in db.execute("DESCRIBE own").fetchall() if kind == "VARCHAR"
        ]
        changed = ", ".join(f'left("{name}", 9) AS "{name}"' for name in texts)
        keep = "KV_METADATA {locus_store: '1.3'}"
        rows = f"SELECT * REPLACE ({changed}) FROM own"
        db.execute(f"COPY ({rows}) TO '{file}' (FORMAT parquet, {keep})")
    again = ["aggregate", store.parent / "b.jsonl", f"--into={store}", "--compact"]
    (store.parent / "b.jsonl").write_bytes(named("b"))
    failed = 0
    for words in (["summary", store], ["report", store], ["export", store], again):
        capsys.readouterr()
        status, told = program.main([*map(str, words)]), capsys.readouterr().err
        assert status in (0, 2)
        assert status == 0 or f"locus: {file}: damaged, its content is not what" in told, told
        failed += status == 2
    assert failed and status == 2  # at least where it would be written anew


def test_a_manifest_whose_metadata_are_damaged(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (file,) = (store / "manifest").iterdir()
    content = file.read_bytes()
    assert content.count(b'["run/') == 1
    file.write_bytes(content.replace(b'["run/', b'{"run/'))
    for words in (["summary", store], ["aggregate", store.parent, "--into", store]):
        status, line = complaint(capsys, *words)
        assert (status, f"{file}: damaged, its metadata are not JSON" in line) == (2, True)


def shards_of(store: Path, *names: str) -> list[Path]:
    """One for each name; returns the manifests."""
    for name in names:
        record = store.parent / f"{name}.jsonl"
        record.write_bytes(named(name))
        assert aggregate(record, into=store) == 0
    return sorted((store / "manifest").iterdir())


def test_a_lost_manifest_is_named(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A writer that was killed cannot have left it out, since a later shard has one. Nothing is
    removed."""
    first, second, third = shards_of(store, "b", "c")
    before = sorted(store.rglob("*"))
    for lost in ([first], [second], [first, second]):
        for file in lost:
            file.rename(store.parent / file.name)
        for words in (["summary", store], ["aggregate", store.parent, "--into", store]):
            status, line = complaint(capsys, *words)
            assert status == 2
            assert line.startswith(f"locus: {lost[0]}: missing: aggregate the records into a new")
        for file in lost:
            (store.parent / file.name).rename(file)
    assert sorted(store.rglob("*")) == before
    for file in (first, second, third):
        file.unlink()
    for command in "sick", "validate", "levels":
        assert complaint(capsys, command, store)[0] == 2
    assert complaint(capsys, "history", "one", store)[1].startswith(f"locus: {first}: missing: ")


def test_a_shard_without_a_manifest_is_noted(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last one may be of a writer that was killed, or still writes."""
    first, second = shards_of(store, "b")
    whole = runs(store)
    second.unlink()
    told = "has no manifest, and is left out: locus aggregate is writing it, or has to be run again"
    assert database.read([store]).notes == [f"{store}: shard 00000002 {told}"]
    assert len(runs(store)) == 1
    assert aggregate(store.parent / "b.jsonl", into=store) == 0
    assert database.read([store]).notes == [] and runs(store) == whole
    second.unlink()
    first.rename(store.parent / first.name)
    for file in store.rglob("00000002.parquet"):
        file.unlink()
    for command in "summary", "validate":
        status, line = complaint(capsys, command, store)
        assert (status, line) == (2, f"locus: {store}: shard 00000001 {told}")


def test_what_compacting_left_is_not_lost(store: Path) -> None:
    """It was killed while it removed the older shards."""
    first, second = shards_of(store, "b")
    old = {file: file.read_bytes() for file in store.rglob("*.parquet") if file != second}
    whole = runs(store)
    words = ["aggregate", str(store.parent / "b.jsonl"), "--into", str(store), "--compact"]
    assert program.main(words) == 0
    for file, content in old.items():
        if file != first:
            file.write_bytes(content)
    assert database.read([store]).notes == [] and runs(store) == whole
    assert program.main(words) == 0
    assert not any(file.exists() for file in some(old))


@pytest.mark.parametrize("compact", [False, True])
def test_a_record_that_was_renamed_has_its_samples(store: Path, compact: bool) -> None:
    """As logs are rotated: another file has its name now."""
    old, other = store.parent / "a.jsonl", store.parent / "b.jsonl"
    rotated = old.rename(old.with_name("a.jsonl.1"))
    told = "SELECT run, count(*) FROM parsed.other WHERE type = 'samples' GROUP BY run ORDER BY run"
    assert database.read([store]).notes == []
    old.write_bytes(named("c"))
    other.write_bytes(named("d"))
    for _ in range(2):
        given = database.read([store])
        assert given.notes == []
        found = given.db.execute(told).fetchall()
        rows = database.read([rotated, old, other]).db.execute(told).fetchall()
        assert found == [row for row in rows if row[0] in dict(found)] != []
        words = ["aggregate", str(old), str(other), "--into", str(store), "--compact"]
        assert program.main(words if compact else words[:-1]) == 0
    assert len(found) == 3
    rotated.unlink()
    (note,) = database.read([store]).notes
    assert note.endswith(": aggregate the file that has them now")


def test_a_name_that_is_not_utf_8(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A record may have it, with its samples, but no store."""
    other = Path(os.fsdecode(os.fsencode(store.parent) + b"/\xff"))
    status, line = complaint(capsys, "aggregate", store.parent / "a.jsonl", "--into", other)
    assert status == 2 and line.startswith(f"locus: {store.parent}/\\xff: the name of a store has")
    other.rmdir()
    store.rename(other)
    assert complaint(capsys, "summary", other) == (2, line)
    other.rename(store)
    shutil.copy(store.parent / "a.jsonl", other)
    (store.parent / "a.jsonl").unlink()
    assert aggregate(other, into=store) == 0
    assert database.read([store]).notes == []


def test_a_store_that_promises_no_files(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of version 1.1; one more shard promises its own."""
    record = store.parent / "b.jsonl"
    record.write_bytes(named("b"))
    old = store.parent / "old"
    with monkeypatch.context() as patch:
        patch.setattr(layout, "FILES", "not_known")
        assert aggregate(store.parent / "a.jsonl", into=old) == 0
    assert runs(old) == runs(store)
    assert aggregate(record, into=old) == aggregate(record, into=store) == 0
    assert runs(old) == runs(store)
    (old / "trial").rename(store.parent / "trial")
    with pytest.raises(BadInput, match=r"00000002\.parquet: missing"):
        runs(old)


@pytest.mark.parametrize("table", layout.TABLES[:2])
def test_a_file_of_a_later_version_is_refused(
    store: Path, table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever its manifest says: another program may have copied it there."""
    (file,) = (store / table).rglob("*.parquet")
    with duckdb.connect() as db:
        db.execute("CREATE TABLE own AS FROM read_parquet(?)", [str(file)])
        db.execute(f"COPY own TO '{file}' (FORMAT parquet, KV_METADATA {{locus_store: '2.0'}})")
    for words in (["export", store], ["aggregate", store.parent / "a.jsonl", "--into", store]):
        status, line = complaint(capsys, *words)
        assert status == 2 and f"{store}: a store of version 2.0, this program reads 1.x" in line


@pytest.mark.parametrize("damage", [b"\xff", b"{", b'"', b"\0"])
def test_samples_that_were_damaged_since(store: Path, damage: bytes) -> None:
    """They are left out, as readers of the record leave them out."""
    record = store.parent / "a.jsonl"
    lines = record.read_bytes().splitlines(keepends=True)
    place = next(i for i, line in enumerate(lines) if b'"samples", "run' in line)
    lines[place] = lines[place].replace(b'"batch"', damage + b'"batch"')
    record.write_bytes(b"".join(lines))
    (note,) = database.read([store]).notes
    assert note.startswith(f"{record}:{place + 1}: is not JSON")
    assert database.read([record]).notes == [note]


def test_a_record_that_was_replaced_since(store: Path) -> None:
    """Its samples are no longer there, as if it were gone; other runs of the file have theirs."""
    record = store.parent / "a.jsonl"
    record.write_bytes(named("a") + named("b") + named("c"))
    assert aggregate(record, into=store) == 0
    assert database.read([store]).notes == []
    record.write_bytes(named("b") + named("d"))
    assert database.read([store], samples=False).notes == []
    given = database.read([store])
    first = min(run_id("a"), run_id("c"))
    assert given.notes == [
        f"{record}: no longer holds run {first} and 1 more: the samples are not shown: aggregate"
        " the file that has them now"
    ]
    shown = given.db.execute("SELECT DISTINCT run FROM parsed.other WHERE type = 'samples'")
    assert shown.fetchall() == [(run_id("b"),)]


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_record_that_is_renamed_is_not_there_twice(store: Path, suffix: str) -> None:
    old = store.parent / "a.jsonl"
    content = gzip.compress(old.read_bytes()) if suffix else old.read_bytes()
    new = store.parent / f"new.jsonl{suffix}"
    new.write_bytes(content)
    old.unlink()
    assert aggregate(new, into=store) == 0
    assert database.read([store]).notes == []
    assert runs(store) == runs(new)


def test_a_full_disk(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As DuckDB tells it. Nothing half is left."""
    before = runs(store)
    copy = shards._copy

    def full(db: duckdb.DuckDBPyConnection, query: str, path: Path, *more: Any) -> bool:
        if path.parent.name == "manifest":
            text = f'Could not write file \\"{path}.tmp\\": No space left on device","errno":"28"'
            raise duckdb.IOException(f'Async write failed: {{"exception_message":"{text}}}')
        return copy(db, query, path, *more)

    (store.parent / "b.jsonl").write_bytes(named("b"))
    monkeypatch.setattr(shards, "_copy", full)
    words = ("aggregate", store.parent / "b.jsonl", "--into", store)
    status, line = complaint(capsys, *words)
    assert status == 1
    assert line == f"locus: {store}: cannot be written: No space left on device"
    assert runs(store) == before
    assert len([*(store / "trial").rglob("*.parquet*")]) == 1


FOREIGN = ("run/mydata.parquet", "metric/mine/2024.parquet.bak", "trial/month=x/1.parquet", "a.txt")


@pytest.mark.parametrize("name", FOREIGN)
def test_a_folder_with_other_things(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is refused, and nothing is removed."""
    record = tmp_path / "a.jsonl"
    record.write_bytes(named("a"))
    file = tmp_path / "mine" / name
    file.parent.mkdir(parents=True)
    file.write_text("data")
    before = sorted((tmp_path / "mine").rglob("*"))
    status, line = complaint(capsys, "aggregate", record, "--into", tmp_path / "mine")
    assert status == 1
    assert f"{tmp_path}/mine: is no store, and has other things (" in line
    assert sorted((tmp_path / "mine").rglob("*")) == before


def test_other_files_in_a_store_stay(store: Path) -> None:
    """What a killed writer left does not."""
    (month,) = (store / "trial").iterdir()
    for name in FOREIGN:
        (store / name).parent.mkdir(parents=True, exist_ok=True)
        (store / name).write_text("data")
    (month / "00000001.parquet.bak").write_text("data")
    left = [month / "00000007.parquet", month / "00000001.parquet.tmp"]
    for file in left:
        file.write_text("data")
    (store.parent / "b.jsonl").write_bytes(named("b"))
    words = [
        "aggregate",
        str(store.parent / "b.jsonl"),
        "--into",
        str(store),
        "--compact",
    ]
    assert program.main(words) == 0
    assert all((store / name).read_text() == "data" for name in FOREIGN)
    assert not any(file.exists() for file in left)


def test_a_new_file_system_is_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "store" / "lost+found").mkdir(parents=True)
    (tmp_path / "a.jsonl").write_bytes(named("a"))
    assert aggregate(tmp_path / "a.jsonl", into=tmp_path / "store") == 0


def test_a_lock_names_its_process_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is killed meanwhile leaves none that others cannot judge."""
    path, life = tmp_path / "lock", lock._life

    def asked(process: int) -> str:
        assert not path.exists()
        return life(process)

    monkeypatch.setattr(lock, "_life", asked)
    with lock.held(path, []):
        assert path.read_text().split()[1] == str(os.getpid())
