# SPDX-License-Identifier: Apache-2.0
"""A store gives the same answers as the records, whatever was done to either."""

from __future__ import annotations

import errno
import fcntl
import functools
import gzip
import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import pytest
from locus_analysis import __main__ as program
from locus_analysis.records import database, lock, shards
from locus_analysis.records import store as layout
from locus_analysis.records.sources import CannotWrite
from make_records import MACHINES, as_written, machine_record, run_id, write

TABLES = (
    *("run", "part", "trial", "metric", "by_cpu", "distribution", "ratio", "headline", "pages"),
    *("cell", "told", "counter", "event", "peer", "outcome", "batch", "sketch"),
)
COMMANDS = (
    *("sick", "sick --format json", "summary", "levels", "export", "export --format openmetrics"),
    *("export --expect", "export --format jsonl"),
)


def aggregate(*paths: Path, into: Path) -> int:
    return program.main(["aggregate", *map(str, paths), "--into", str(into)])


def tables(*paths: Path) -> dict[str, Any]:
    """All rows that readers see."""
    db = database.tables(database.read(paths), page=True)
    return {t: sorted(map(repr, db.execute(f"FROM {t}").fetchall())) for t in TABLES}


def said(capsys: pytest.CaptureFixture[str], command: str, path: Path) -> tuple[int, str]:
    capsys.readouterr()
    status = program.main([*command.split(), str(path)])
    return status, capsys.readouterr().out


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("all")
    for name in MACHINES:
        write(made / f"{name}.jsonl", machine_record(name))
    return made


def test_a_store_has_what_the_records_have(folder: Path, tmp_path: Path) -> None:
    """Each value of each table, to the last digit."""
    for file in sorted(folder.iterdir()):
        store = tmp_path / file.stem
        assert aggregate(file, into=store) == 0
        told, stored = tables(file), tables(store)
        assert told["headline"]
        for name in TABLES:
            assert told[name] == stored[name], (file.name, name)


@pytest.fixture(scope="module")
def store(folder: Path) -> Path:
    assert aggregate(folder, into=folder.with_name("store")) == 0
    return folder.with_name("store")


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_give_the_same_answer(
    folder: Path, store: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = said(capsys, command, folder)
    assert told == said(capsys, command, store)
    assert told[1]


def test_many_records_are_read_as_a_store_is_filled(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In parts; a file in another form than locus writes, line by line."""
    write(tmp_path / "a.jsonl", machine_record("one"))
    write(tmp_path / "b.jsonl", machine_record("two"))
    write(tmp_path / "b2.jsonl", machine_record("two")[:20])
    with (tmp_path / "a.jsonl").open("a") as file:
        file.write("no\n{")
    told = tables(tmp_path)
    notes = database.read([tmp_path]).notes
    monkeypatch.setattr(database, "LARGE", 1)
    assert tables(tmp_path) == told
    assert sorted(database.read([tmp_path]).notes) == sorted(notes) != []
    few = [database.read([tmp_path], samples=False, only=["numa"])]
    monkeypatch.setattr(database, "LARGE", 1 << 26)
    few.append(database.read([tmp_path], samples=False, only=["numa"]))
    rows = [database.trials(one).execute("FROM trial ORDER BY ALL").fetchall() for one in few]
    assert rows[0] == rows[1] != []


# ---- bad input, bad luck ----


@functools.cache
def lines_of(name: str = "one") -> bytes:
    """A record as bytes, with few trials of each benchmark."""
    lines = machine_record(name)
    kept = [None, *[line["id"] for line in lines if line["type"] == "trial"][::5]]
    few = [line for line in lines if line.get("trial", line.get("id")) in kept]
    return b"".join(json.dumps(line).encode() + b"\n" for line in as_written(few))


def named(run: str, name: str = "one") -> bytes:
    return lines_of(name).replace(run_id(name).encode(), run_id(run).encode())


def runs(store: Path) -> list[tuple[Any, ...]]:
    """Each run and its trials, as readers see them."""
    db = database.trials(database.read([store], samples=False))
    query = "SELECT part, count(*) FROM trial GROUP BY ALL ORDER BY ALL"
    return db.execute(query).fetchall()


def test_an_empty_folder_and_files_that_are_no_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, store = tmp_path / "results", tmp_path / "store"
    folder.mkdir()
    assert aggregate(folder, into=store) == 2
    assert "holds no records" in capsys.readouterr().err
    (folder / "a.jsonl").write_text("hello\n")
    for _ in range(2):  # the second time it is known
        assert aggregate(folder, into=store) == 2
        assert "1 file: none is a record" in capsys.readouterr().err
    write(folder / "b.jsonl", machine_record("one"))
    assert aggregate(folder, into=store) == 0
    assert capsys.readouterr().out.startswith("1 new file, ")
    assert aggregate(folder, into=store) == 0
    assert capsys.readouterr().out == "0 new files\n"


def test_what_is_left_out_is_told_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A truncated line, a line that is not JSON, one that lacks what each trial has: the rest
    counts."""
    folder, store = tmp_path / "results", tmp_path / "store"
    folder.mkdir()
    whole = named("whole").splitlines(keepends=True)
    place = next(i for i, line in enumerate(whole) if b'"trial"' in line[:20])
    without = json.loads(whole[place])
    del without["status"]
    cut = named("cut").replace(b"\n", b"\n", 1)[:-10]
    (folder / "cut.jsonl").write_bytes(cut)
    (folder / "no.jsonl").write_bytes(
        b"".join(line.replace(b"}", b"", 1) if i == place else line for i, line in enumerate(whole))
    )
    lacking = b"".join([*whole[:place], json.dumps(without).encode() + b"\n", *whole[place + 1 :]])
    (folder / "lacking.jsonl").write_bytes(
        lacking.replace(run_id("whole").encode(), run_id("lacking").encode())
    )
    assert aggregate(folder, into=store) == 0
    out = capsys.readouterr().out
    assert "3 new files" in out and "3 lines left out (" in out
    assert f"cut.jsonl:{cut.count(bytes([10])) + 1}: cut off" in out
    assert f"no.jsonl:{place + 1}: is not JSON" in out
    assert f"lacking.jsonl:{place + 1}: is not a line of a record" in out
    assert runs(store) == runs(folder)
    notes = sorted(database.read([folder], samples=False).notes)
    assert sorted(database.read([store], samples=False).notes) == notes and len(notes) == 3


@pytest.mark.parametrize("share", [1.0, 0.7])
def test_compressed_records(
    tmp_path: Path, share: float, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also cut off."""
    packed = gzip.compress(lines_of())
    file = tmp_path / "a.jsonl.gz"
    file.write_bytes(packed[: int(len(packed) * share)])
    assert aggregate(file, into=tmp_path / "store") == 0
    assert ("1 line left out" in capsys.readouterr().out) == (share < 1)
    assert runs(tmp_path / "store") == runs(file)


def test_a_record_that_grows_and_one_that_is_there_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, store = tmp_path / "results", tmp_path / "store"
    folder.mkdir()
    lines = lines_of().splitlines(keepends=True)
    file = folder / "a.jsonl"
    for part in (0.3, 0.6, 1):
        file.write_bytes(b"".join(lines[: int(len(lines) * part)]))
        assert aggregate(folder, into=store) == 0
        assert runs(store) == runs(folder) != []
        assert database.read([store]).notes == []
    (folder / "b.jsonl").write_bytes(b"".join(lines[: len(lines) // 2]))
    capsys.readouterr()
    assert aggregate(folder, into=store) == 0
    assert capsys.readouterr().out.startswith("1 new file")
    (note,) = database.read([store], samples=False).notes
    assert "b.jsonl: run" in note and "the most complete copy counts" in note
    assert tables(store) == tables(folder)


def test_a_compact_store_says_the_same(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if older shards remain because the process was killed."""
    made, store = tmp_path / "results", tmp_path / "store"
    made.mkdir()
    lines = lines_of().splitlines(keepends=True)
    for n in (len(lines) // 2, len(lines)):
        (made / "a.jsonl").write_bytes(b"".join(lines[:n]))
        (made / f"{n}.jsonl").write_bytes(named(str(n), "two"))
        assert aggregate(made, into=store) == 0
    told = tables(store)
    assert len(layout.shards(store)) == 2
    unlink = Path.unlink

    def killed(path: Path, **named: Any) -> None:
        if path.parent.name == "manifest" and path.suffix == ".parquet":
            raise OSError(errno.EIO, "killed")
        unlink(path, **named)

    words = ["aggregate", str(made), "--into", str(store), "--compact"]
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", killed)
        assert program.main(words) == 1
    assert len(layout.shards(store)) == 3 and tables(store) == told
    assert program.main(words) == 0
    assert len(layout.shards(store)) == 1 and tables(store) == told
    assert database.read([store]).notes == []
    (month,) = (store / "trial").iterdir()
    assert len([*month.iterdir()]) == 1
    assert aggregate(made, into=store) == 0 and len(layout.shards(store)) == 1


def test_samples_stay_in_the_records(tmp_path: Path) -> None:
    """They are opened when they are shown; records that no longer exist are named."""
    file = write(tmp_path / "a.jsonl", machine_record("one"))
    store = tmp_path / "store"
    assert aggregate(file, into=store) == 0

    def drift(given: database.Records) -> list[Any]:
        db = database.tables(given, page=True)
        return db.execute("SELECT count(*) FROM drift").fetchall()

    told = [drift(database.read([path])) for path in (file, store)]
    assert told[0] == told[1] != [(0,)]
    file.unlink()
    given = database.read([store])
    assert drift(given) == [(0,)]
    assert given.notes == [
        f"{file}: cannot be read: the samples of its runs are not shown: aggregate the file that"
        " has them now"
    ]


def test_a_clock_in_the_future(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines_of().replace(b'"started": "20', b'"started": "21', 1))
    store = tmp_path / "store"
    assert aggregate(tmp_path / "a.jsonl", into=store) == 0
    assert [folder.name[:8] for folder in (store / "trial").iterdir()] == ["month=21"]
    assert runs(store) == runs(tmp_path / "a.jsonl")


WRITER = f"{socket.gethostname()} {os.getpid()}"
MACHINE, BOOT, NAMESPACE, _ = lock._life(os.getpid()).split(":")
STALE = f"{WRITER} {MACHINE}:{BOOT}:{NAMESPACE}:1\n"


@pytest.mark.parametrize(
    ("life", "here", "stale"),
    [
        ("m:earlier:1:1", "m:boot:1:1", True),  # booted since then
        ("other:boot2:1:1", "m:boot:1:1", False),  # another machine of this name
        (":boot2:1:1", ":boot:1:1", False),  # perhaps another
        (":boot:1:1", ":boot:1:2", True),
        ("m:boot:1:1", "m:boot:1:1", False),
        ("m:boot:2:1", "m:boot:1:2", False),  # in another container
        ("m:boot:1:1", "m:boot::", False),
        ("boot:1", "m:boot:1:1", False),
    ],
)
def test_which_writers_are_known_to_have_ended(
    monkeypatch: pytest.MonkeyPatch, life: str, here: str, stale: bool
) -> None:
    monkeypatch.setattr(lock, "_life", lambda _: here)
    assert lock._has_ended(socket.gethostname(), os.getpid(), life) == stale
    assert not lock._has_ended("elsewhere", os.getpid(), life)


def test_two_writers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The second is told who is first. The lock of a killed writer is removed, with a message."""
    file = write(tmp_path / "a.jsonl", machine_record("one"))
    store, notes = tmp_path / "store", list[str]()
    store.mkdir()
    with lock.held(store / "lock", notes):
        assert aggregate(file, into=store) == 1
        assert f"process {os.getpid()} on {socket.gethostname()} is writing" in (
            capsys.readouterr().err
        )
    (store / "lock").write_text(STALE)
    assert aggregate(file, into=store) == 0
    assert "was killed while writing: lock removed" in capsys.readouterr().err
    (store / "lock").write_text("elsewhere 1 m:boot:1:1\n")
    assert aggregate(file, into=store) == 1
    assert "process 1 on elsewhere is writing" in capsys.readouterr().err


def test_a_killed_writer_on_nfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NFS locks no file that is open for reading. A second process was killed while it removed the
    lock of the first."""

    def refused(*_: Any) -> None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    monkeypatch.setattr(fcntl, "flock", refused)
    for path in (tmp_path / "lock", tmp_path / "lock.removing"):
        path.write_text(STALE)
        notes = list[str]()
        (tmp_path / "lock").write_text(STALE)
        with lock.held(tmp_path / "lock", notes):
            assert str(os.getpid()) in (tmp_path / "lock").read_text()
        assert any(f"{path}: process" in note for note in notes)
        assert not [*tmp_path.iterdir()]


def test_a_lock_that_replaced_a_stale_one_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process found the same stale lock, and removed it and created its own before this one
    could."""
    path, notes = tmp_path / "lock", list[str]()
    path.write_text(STALE)
    create = lock._create

    def late(created: Path) -> bool:
        if created != path:
            path.write_text("elsewhere 1 m:boot:1:1\n")
        return create(created)

    monkeypatch.setattr(lock, "_create", late)
    with pytest.raises(CannotWrite, match="process 1 on elsewhere"), lock.held(path, notes):
        pass
    assert [*tmp_path.iterdir()] == [path] and not notes


def test_a_writer_that_proc_does_not_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of another user (the mount option hidepid), or in another container of this host."""
    path, notes, read = tmp_path / "lock", list[str](), Path.read_text

    def hidden(file: Path, **named: Any) -> str:
        if file.name == "stat":
            raise FileNotFoundError(errno.ENOENT, "hidden", str(file))
        return read(file, **named)

    def forbidden(*_: int) -> None:
        raise PermissionError(errno.EPERM, "another user's")

    with lock.held(path, notes), monkeypatch.context() as patch:
        patch.setattr(Path, "read_text", hidden)
        patch.setattr(os, "kill", forbidden)
        with pytest.raises(CannotWrite, match="is writing"), lock.held(path, notes):
            pass
    path.write_text(f"{WRITER} {MACHINE}:{BOOT}:1:1\n")
    with pytest.raises(CannotWrite, match="is writing"), lock.held(path, notes):
        pass
    assert path.exists() and not notes


def test_a_lock_without_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process has yet to write its name, or was killed before."""
    path, notes = tmp_path / "lock", list[str]()
    path.touch()
    monkeypatch.setattr(lock, "PAUSE", 0)
    with pytest.raises(CannotWrite, match="names no process"), lock.held(path, notes):
        pass
    monkeypatch.setattr(time, "sleep", lambda _: path.write_text("elsewhere 1 m:boot:1:1\n"))
    with pytest.raises(CannotWrite, match="process 1 on elsewhere"), lock.held(path, notes):
        pass


def test_a_store_of_a_later_version(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store of version 1.x is read, unknown columns included, but not written; version 2.x is
    refused, by all commands."""
    file = write(tmp_path / "a.jsonl", machine_record("one"))
    for version, status in (("1.7", 0), ("2.0", 2)):
        store = tmp_path / version
        with monkeypatch.context() as patch:
            patch.setattr(layout, "VERSION", version)
            patch.setitem(shards.QUERIES, "pair", shards.QUERIES["pair"].replace("x.*", "x.*, 1 z"))
            assert aggregate(file, into=store) == 0
        capsys.readouterr()
        assert program.main(["export", str(store)]) == status
        assert (f"{store}: a store of version 2.0" in capsys.readouterr().err) == (status == 2)
        before = tables(store) if not status else None
        for more in ([], ["--compact"]):
            assert program.main(["aggregate", str(file), "--into", str(store), *more]) == 2
            (line,) = capsys.readouterr().err.splitlines()
            assert f"{store}: a store of version {version}, this program" in line
        assert before is None or tables(store) == before


def test_a_store_of_an_earlier_version(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """1.0 had no column `crowded`. Alone, beside shards that have it, and once compact, its answers
    are the records'."""
    old, new = (write(tmp_path / f"{n}.jsonl", machine_record(n)) for n in ("one", "two"))
    store = tmp_path / "store"
    with monkeypatch.context() as patch:
        patch.setattr(layout, "VERSION", "1.0")
        earlier = shards.QUERIES["trial"].replace("t.*", "t.* EXCLUDE (crowded)")
        patch.setitem(shards.QUERIES, "trial", earlier)
        assert aggregate(old, into=store) == 0
    assert said(capsys, "export", store) == said(capsys, "export", old)
    assert aggregate(new, into=store) == 0
    both = said(capsys, "summary", store)
    assert both[0] == 0 and tables(store) == tables(old, new)
    words = ["aggregate", str(old), str(new), "--into", str(store), "--compact"]
    assert program.main(words) == 0
    assert said(capsys, "summary", store) == both


def test_what_cannot_be_written_leaves_nothing_half(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the fault is noticed, the store is unchanged, and the next try adds the file."""
    first, second, store = (tmp_path / name for name in ("a.jsonl", "b.jsonl", "store"))
    first.write_bytes(named("a"))
    second.write_bytes(named("b"))
    assert aggregate(first, into=store) == 0
    before = runs(store)
    flush = shards._flush
    for at, error in ((1, errno.EROFS), (4, errno.ENOSPC), (9, errno.ENOSPC)):
        faults = iter([None] * (at - 1) + [OSError(error, os.strerror(error))] + [None] * 99)

        def full(path: Path, faults: Iterator[Optional[OSError]] = faults) -> None:
            if fault := next(faults):
                raise fault
            flush(path)

        with monkeypatch.context() as patch:
            patch.setattr(shards, "_flush", full)
            assert aggregate(second, into=store) == 1
        assert os.strerror(error) in capsys.readouterr().err
        assert runs(store) == before
    assert aggregate(second, into=store) == 0
    assert [n for _, n in runs(store)] == [n for _, n in before] * 2


KILLED = """
import os, random, sys, threading, time
from locus_analysis import __main__ as program
def end():
    time.sleep(float(sys.argv[1]))
    os.kill(os.getpid(), 9)
threading.Thread(target=end, daemon=True).start()
from locus_analysis.cluster import aggregate
aggregate.BATCH = 1  # each file is a shard
program.main(["aggregate", sys.argv[2], "--into", sys.argv[3]])
"""


def test_killed_at_any_moment_it_is_run_again(tmp_path: Path) -> None:
    """LOCUS_KILLS: the number of tries."""
    folder = tmp_path / "results"
    folder.mkdir()
    for i in range(4):
        (folder / f"{i}.jsonl").write_bytes(named(str(i)))
    assert aggregate(folder, into=tmp_path / "fresh") == 0
    fresh = tables(tmp_path / "fresh")
    chance, ended = random.Random(1), []
    package = Path(program.__file__).parents[1]
    for i in range(int(os.environ.get("LOCUS_KILLS", "3"))):
        store = tmp_path / f"store{i}"
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(chance.uniform(0.1, 1.2)), str(folder), str(store)],
            env={**os.environ, "PYTHONPATH": str(package)},
            capture_output=True,
            check=False,
        )
        ended.append(done.returncode)
        assert aggregate(folder, into=store) == 0
        assert tables(store) == fresh
        assert not [*store.rglob("*.tmp"), *store.rglob("lock")]
    assert set(ended) <= {0, -9} and -9 in ended
