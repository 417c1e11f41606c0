# SPDX-License-Identifier: Apache-2.0
"""What the schema refuses is left out of a store, too, and told as readers of records tell it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from locus_analysis.records import bulk, database, nodes, sources
from locus_analysis.records.sources import BadInput
from test_store import aggregate, named, runs

Change = Callable[[dict[str, Any]], object]


def of_metric(values: dict[str, Any]) -> Change:
    return lambda trial: next(iter(trial["metrics"].values())).update(values)


HEADER: dict[str, Change] = {
    "another schema": lambda line: line.update(schema="locus-record-2.0"),
    "a tenth schema": lambda line: line.update(schema="locus-record-10.3"),
    "no schema": lambda line: line.pop("schema"),
    "a host of two lines": lambda line: line.update(host="a\nb"),
    "no name": lambda line: line.update(host=""),
    "a number as host": lambda line: line.update(host=7),
    "rank": lambda line: line.update(rank=-1),
    "half a rank": lambda line: line.update(rank=0.5),
    "no ranks": lambda line: line.update(ranks=0),
    "no such day": lambda line: line.update(started="2026-02-29T10:00:00.000Z"),
    "no such second": lambda line: line.update(started="2026-02-28T10:00:60.000Z"),
    "no fraction": lambda line: line.update(started="2026-02-28T10:00:00Z"),
    "profile": lambda line: line.update(profile="best"),
    "command": lambda line: line.update(command="locus run"),
    "altered": lambda line: line.update(altered={}),
}
TRIAL: dict[str, Change] = {
    "status": lambda line: line.update(status="great"),
    "text": of_metric({"value": "1.5"}),
    "nothing": of_metric({"value": None}),
    "beyond 2^53": of_metric({"value": 10**30}),
    "beyond 1e99": of_metric({"value": 1e100}),
    "interval": of_metric({"ci": [1, "2"]}),
    "half a thread": lambda line: line.update(threads=1.5),
    "no thread": lambda line: line.update(threads=0),
    "threads as text": lambda line: line.update(threads="2"),
    "cpus": lambda line: line.update(cpus="all"),
    "a negative cpu": lambda line: line.update(cpus=[0, -1]),
    "reasons": lambda line: line.update(status="ok", reasons=["none"]),
    "variant": lambda line: line.update(variant="a b"),
    "bind": lambda line: line.update(bind=""),
    "parameters": lambda line: line.update(parameters=[1]),
    "scale": lambda line: line.update(scale="1"),
}


def changed(record: bytes, kind: str, change: Change) -> bytes:
    """A record whose first line of a kind is another one; of trials, the first with a value."""
    lines = [json.loads(line) for line in record.splitlines() if b'"samples", "run' not in line]
    wanted = (line for line in lines if line["type"] == kind)
    change(next(line for line in wanted if kind == "header" or "metrics" in line))
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def test_what_the_schema_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record for each change."""
    folder, store = tmp_path / "results", tmp_path / "store"
    folder.mkdir()
    changes = [
        *(("header", *c) for c in HEADER.items()),
        *(("trial", *c) for c in TRIAL.items()),
    ]
    for i, (kind, name, change) in enumerate(changes):
        (folder / f"{i} {name}.jsonl").write_bytes(changed(named(str(i)), kind, change))
    bad = named("bytes").replace(b'"bind": "', b'"bind": "\xff', 1)
    (folder / "bytes.jsonl").write_bytes(bad)
    (folder / "good.jsonl").write_bytes(named("good"))
    notes = database.read([folder]).notes
    assert len(notes) == len(changes) + 1
    assert aggregate(folder, into=store) == 0
    assert runs(store) == runs(folder)
    monkeypatch.setattr(database, "LARGE", 1 << 17)  # several files in each part, several parts
    assert sorted(database.read([folder]).notes) == sorted(notes)


def test_what_only_looks_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read line by line once, and then trusted."""
    looks = changed(named("a"), "trial", of_metric({"value": 1e17}))
    (tmp_path / "a.jsonl").write_bytes(looks)
    (tmp_path / "b.jsonl").write_bytes(named("b"))
    read = list[Path]()
    slowly = bulk.Bulk.slowly

    def noted(self: bulk.Bulk, taken: bulk.Taken) -> None:
        read.append(taken.path)
        slowly(self, taken)

    monkeypatch.setattr(bulk.Bulk, "slowly", noted)
    assert aggregate(tmp_path, into=tmp_path / "store") == 0
    assert read == [tmp_path / "a.jsonl"]


def test_all_lines_that_are_left_out_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first are told; a file that is cut off has one more."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_bytes(named(name) + 60 * b"x\n")
    (tmp_path / "c.jsonl").write_bytes(named("c") + b"{")
    assert aggregate(tmp_path, into=tmp_path / "store") == 0
    out = capsys.readouterr().out
    assert "; 121 lines left out (a.jsonl:" in out and out.count("a.jsonl:") == 3


def test_a_line_is_named_by_its_file_without_the_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever is in the message, or in the name."""
    (tmp_path / "x: y").mkdir()
    file = tmp_path / "x: y" / "a: b.jsonl"
    file.write_bytes(changed(named("a"), "trial", of_metric({"value": "GB/s"})) + b"/a/b\n")
    assert aggregate(file, into=tmp_path / "store") == 0
    out = capsys.readouterr().out
    assert "2 lines left out (a: b.jsonl:" in out and '"GB/s"' in out and out.count("a: b") == 2


def test_half_of_a_character(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(changed(named("a"), "header", lambda line: line.update(host="n\ud800")))
    told = f"^{file}:1: \\\\ud800 in a text is half of a character \\(a lone surrogate\\)$"
    with pytest.raises(BadInput, match=told):
        database.read([file])


def test_all_records_are_refused(tmp_path: Path) -> None:
    record = changed(named("a"), "header", HEADER["another schema"])
    (tmp_path / "a.jsonl").write_bytes(record)
    with pytest.raises(BadInput, match="locus-record-2"):
        database.read([tmp_path / "a.jsonl"])
    assert aggregate(tmp_path / "a.jsonl", into=tmp_path / "store") == 2


@pytest.mark.parametrize("gone", ["a.jsonl", "nodes.tsv"])
def test_a_file_that_is_removed_meanwhile(
    tmp_path: Path,
    gone: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is left out and told, and read when it is there again."""
    folder, store = tmp_path / "results", tmp_path / "store"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.jsonl").write_bytes(named(name))
    (folder / "nodes.tsv").write_text("n1\tcut off\n")
    file, hidden = folder / gone, tmp_path / "hidden"
    find = nodes.find

    def renamed(paths: Sequence[Path]) -> list[Path]:
        found = find(paths)
        file.rename(hidden)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(nodes, "find", renamed)
        assert aggregate(folder, into=store) == 0
    out, err = capsys.readouterr()
    assert "2 new files" in out and "1 file left out" in out
    assert f"{file}: cannot be read: No such file or directory" in err
    hidden.rename(file)
    assert aggregate(folder, into=store) == 0
    assert "1 new file," in capsys.readouterr().out
    assert runs(store) == runs(folder)


def test_a_record_that_is_removed_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "b.jsonl").write_bytes(named("b"))
    gone = tmp_path / "a.jsonl"
    monkeypatch.setattr(sources, "find", lambda *_: [gone, tmp_path / "b.jsonl"])
    for most in (1 << 26, 1):
        monkeypatch.setattr(database, "LARGE", most)
        assert database.read([tmp_path]).notes == [
            f"{gone}: cannot be read: No such file or directory"
        ]
