# SPDX-License-Identifier: Apache-2.0
"""The schema and the reader: what a record is, and the messages about everything else."""

from __future__ import annotations

import bz2
import copy
import gzip
import io
import json
import lzma
import random
import re
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

import pytest
from locus_analysis import __main__ as program
from locus_analysis.records import database, sources
from locus_analysis.records import validate as strict
from make_records import MACHINES, Line, as_written, header, queried, run_id, write
from make_records import machine_record as made_up

BAD_INPUT = 2
SPARSE = ("samples", "trial", "metric", "counter", "placement", "pairs", "ratio")


def validate(*paths: Path) -> int:
    return program.main(["validate", *map(str, paths)])


def flaws(*paths: Path) -> list[str]:
    """What the strict check finds."""
    return list(strict.flaws(paths, strict.Checked()))


def count(given: database.Records) -> int:
    return int(queried(given.db, "SELECT count(*) AS n FROM line")[0]["n"])


@pytest.mark.parametrize("name", MACHINES)
def test_the_schema_accepts_what_the_document_says(name: str, tmp_path: Path) -> None:
    given = database.read([write(tmp_path / "a.jsonl", machine_record(name))])
    assert count(given) == len(machine_record(name))
    assert given.notes == []


def machine_record(name: str) -> list[Line]:
    """A machine's record as it is written."""
    return as_written(made_up(name))


def counted() -> list[Line]:
    """A record with counters."""
    lines = made_up("one")
    event = {"unit": "1", "scope": "thread"}
    faults = {"name": "faults", "source": "kernel", **event}
    misses = {"name": "PAPI_L3_TCM", "source": None, **event, "why": "no PMU"}
    for line in lines:
        if line["type"] == "header":
            events = [
                {**faults, "pass": 0, "proven": True, "why": None},
                {**misses, "pass": None, "proven": False},
            ]
            asked = ["faults", "PAPI_L3_TCM"]
            line["counters"] = {
                "asked": asked,
                "optional": False,
                "multiplexed": False,
                "passes": 1,
                "papi": "7.0.0.0",
                "events": events,
            }
        elif line["type"] == "samples":
            line["counters"] = {"faults": 3.0}
        elif line["type"] == "trial":
            none = {
                "per": "pass",
                "value": None,
                "ci": None,
                "per_thread": None,
                "total": None,
                "samples": 0,
                "trusted": True,
            }
            value = {
                "value": 0.5,
                "ci": [0.4, 0.6],
                "per_thread": [0.5, None],
                "total": 6,
                "samples": 12,
                "why": None,
            }
            line["counters"] = [{**faults, **none, **value}, {**none, **misses}]
            line["counting"] = {
                "with": 2e-3,
                "with_ci": [1e-3, 3e-3],
                "without": 2e-3,
                "without_ci": None,
            }
    return as_written(lines)


def test_what_was_counted_may_be_told(tmp_path: Path) -> None:
    assert database.read([write(tmp_path / "a.jsonl", counted())]).notes == []


def drop(key: str) -> Callable[[Line], Any]:
    return lambda line: line.pop(key)


def put(*path: Any) -> Callable[[Line], None]:
    """Sets the key at a path; the last argument is its value."""
    *keys, last, value = path

    def change(line: Any) -> None:
        for key in keys:
            line = line[key]
        line[last] = value

    return change


SKETCH = [0.01] * 5 + [0.02] + [0.05] * 5  # quantiles

KINDS = [
    {"name": "IntelCore 3900 MHz", "rank": 0, "cores": 1, "cpus": [1]},
    {"name": "IntelAtom 2800 MHz", "rank": 1, "cores": 0, "cpus": []},
]
WRONG = [
    ("header", drop("machine")),
    ("header", put("host", None)),
    ("header", put("started", "yesterday")),
    ("header", put("resumes", ["no run"])),
    ("header", put("profile", "slow")),
    ("header", put("something", 1)),
    ("header", put("machine", "topology", "nodes", [])),
    ("header", put("machine", "topology", "kinds", [])),
    ("header", put("machine", "topology", "kinds", KINDS[:1])),
    ("header", put("machine", "cpu", "colour", "red")),
    ("header", put("machine", "memory", "page", None)),
    ("header", put("binding", "oversubscribe", 0)),
    ("samples", drop("times")),
    ("samples", put("times", ["1"])),
    ("samples", put("times", None)),
    ("samples", put("sketch", {"n": 1, "quantiles": [1] * 11})),
    ("samples", put("noisy", [-1])),
    ("samples", put("trial", "x")),
    ("header", put("counters", "events", 0, "why", "it can be counted, and has a reason why not")),
    ("header", put("counters", "events", 1, "why", None)),
    ("header", put("counters", "asked", [])),
    ("samples", put("counters", {"faults": "many"})),
    ("trial", put("counters", 0, "value", None)),
    ("trial", put("counters", 0, "source", "a guess")),
    ("trial", put("counters", 0, "source", None)),
    ("trial", put("counters", 0, "trusted", False)),
    ("trial", put("counters", 0, "per_thread", ["1"])),
    ("trial", put("counting", "with", "long")),
    ("trial", put("status", "good")),
    ("trial", put("status", "noisy")),
    ("trial", put("reasons", ["a trial that is ok has none"])),
    ("trial", put("metrics", {})),
    ("trial", put("metrics", "time", "value", "fast")),
    ("trial", put("metrics", "time", "value", None)),
    ("trial", put("metrics", "time", "ci", [1])),
    ("trial", put("metrics", "time", "unit", "")),
    ("trial", put("metrics", "time", "by_worker", [])),
    ("trial", put("metrics", "time", "by_worker", [None])),
    (
        "trial",
        put("metrics", "time", "distribution", {"n": 1, "quantiles": {}, "buckets": [[1, 1]]}),
    ),
    ("trial", put("parameters", "a name", 1)),
    ("trial", put("parameters", "pages", None)),
    ("trial", put("variant", "a\x1bb")),
    ("trial", put("kinds", "")),
    ("trial", put("placement", "after", "local_share", 1.5)),
    ("trial", put("placement", "after", "on_node", {"first": 3})),
    ("trial", put("placement", "after", "how", "unverified")),
    ("trial", put("placement", "how", "verified")),
    ("trial", put("placement", "after", "after", {"page": 1, "pages": 1})),
    ("trial", drop("scale")),
    ("trial", put("scale", 0)),
    ("trial", put("batches", "metrics", "time", [1.5])),
    ("trial", put("batches", "metrics", "other", 1.5)),
    ("trial", put("samples", "quantiles", [1] * 10)),
    ("benchmark", put("metrics", 0, "kind", "amount")),
    ("trial", put("noise", "wall", -1)),
    ("trial", put("stopped", "tired")),
    ("trial", put("unit_of_work", "pass")),
    ("end", put("trials", {"good": 3})),
    ("end", put("status", 256)),
    ("end", put("run", "1")),
    ("end", put("type", "epilogue")),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_the_schema_refuses_what_the_document_does_not_say(number: int, tmp_path: Path) -> None:
    kind, change = WRONG[number]
    lines = counted()
    place = next(i for i, line in enumerate(lines) if line["type"] == kind)
    change(lines[place])
    (flaw,) = flaws(write(tmp_path / "a.jsonl", lines))
    assert re.search(rf"a.jsonl:{place + 1}: is not a line of a record: \$", flaw)


def test_kinds_of_cores_may_be_told(tmp_path: Path) -> None:
    lines = counted()
    put("machine", "topology", "kinds", KINDS)(lines[0])
    trial = next(line for line in lines if line["type"] == "trial")
    trial["kinds"] = "1 IntelCore 3900 MHz"
    assert not flaws(write(tmp_path / "a.jsonl", lines))


def test_every_key_is_required_and_no_other_allowed() -> None:
    """Except in lines that leave out null and empty values, and what most machines lack."""
    schema = json.loads((Path(__file__).parents[2] / "doc/schema/record-1.schema.json").read_text())

    def look(part: Any, path: str) -> None:
        if not isinstance(part, dict):
            return
        if "properties" in part and not path.endswith(("/if", "/then", "/else", "/contains")):
            assert part.get("additionalProperties") is False, path
            patterns = part.get("patternProperties", {})
            required = {
                key
                for key in part.get("required", [])
                if not any(re.search(pattern, key) for pattern in patterns)
            }
            assert required <= set(part["properties"]), path
            if path.split("/")[1] not in SPARSE:
                optional = {"type", "run"} | ({"kinds"} if path == "/topology" else set())
                assert set(part["properties"]) - required <= optional, path
        for key, value in part.items():
            look(value, f"{path}/{key}")

    look(schema["$defs"], "")


def test_a_sketch_is_no_sample_and_is_drawn(tmp_path: Path) -> None:
    lines = made_up("one")
    sample = next(line for line in lines if line["type"] == "samples")
    own = [line for line in lines if line["type"] == "samples" and line["trial"] == sample["trial"]]
    kept = sum(len(line["times"]) for line in own[1:])
    sample.update(times=None, sketch={"n": 7, "quantiles": SKETCH})
    db = database.tables(database.read([write(tmp_path / "a.jsonl", lines)]))
    found = queried(db, "SELECT count(*) AS n FROM sample WHERE id = ?", sample["trial"])
    assert found == [{"n": kept}] and kept > 0
    marks = queried(db, "SELECT sum(n) AS n FROM drift WHERE id = ? GROUP BY id", sample["trial"])
    assert marks == [{"n": kept + 7}]


def test_a_trial_of_sketches_alone_is_drawn(tmp_path: Path) -> None:
    lines = made_up("one")
    sample = next(line for line in lines if line["type"] == "samples")
    for line in lines:
        if line["type"] == "samples" and line["trial"] == sample["trial"]:
            quantiles = SKETCH
            line.update(times=None, sketch={"n": 7, "quantiles": quantiles})
    db = database.tables(database.read([write(tmp_path / "a.jsonl", lines)]))
    marks = queried(
        db,
        "SELECT DISTINCT ratio, least, greatest FROM drift WHERE id = ?",
        sample["trial"],
    )
    assert marks == [{"ratio": 1.0, "least": 0.5, "greatest": 2.5}]


def test_a_sketch_of_no_times_is_valid_and_draws_nothing(tmp_path: Path) -> None:
    """On a busy machine workers of a pair may never have been at work together."""
    lines = made_up("one")
    sample = next(line for line in lines if line["type"] == "samples")
    for line in lines:
        if line["type"] == "samples" and line["trial"] == sample["trial"]:
            line.update(times=None, sketch={"n": 0})
    path = write(tmp_path / "a.jsonl", lines)
    assert validate(path) == 0
    db = database.tables(database.read([path]))
    assert queried(db, "SELECT * FROM drift WHERE id = ?", sample["trial"]) == []


def test_the_start_of_a_batch_is_its_moment(tmp_path: Path) -> None:
    lines = machine_record("one")
    sample = next(line for line in lines if line["type"] == "samples")
    sample.update(at=1e6, units=10, times=[0.5, 0.25])
    db = database.tables(database.read([write(tmp_path / "a.jsonl", lines)]))
    found = db.execute("SELECT moment FROM sample WHERE moment >= 1e6 ORDER BY 1").fetchall()
    assert found == [(1e6 + 5,), (1e6 + 7.5,)]


def test_a_last_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", machine_record("one"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    given = database.read([path])
    assert count(given) == len(machine_record("one")) - 1
    assert given.notes == [f"{path}:{count(given) + 1}: the last line was cut off, and is left out"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is empty"),
        (b'{"type": "header"', "holds no whole line"),
        (b"\n", ":1: is not JSON"),
        (b"hello\n", ":1: is not JSON: Expecting value at character 1 of the line"),
        (b"\x00\xff\xfe\x00\n", ":1: is not JSON: byte 2 of the line is not UTF-8"),
        (b"[" * 100_000 + b"\n", ":1: is not JSON: nested too deeply"),
        (b"[1]\n", ":1: is not a line of a record"),
        (b"null\n", ":1: is not a line of a record"),
        (b'{"type": "end", "run": NaN}\n', ":1: is not JSON: NaN"),
        (b'{"type": "end", "run": 1e999}\n', ":1: is not a line of a record: 1e999 is"),
        (b'{"type": "end", "run": 1E+1999}\n', ":1: is not a line of a record: 1E+1999 is"),
        (b'{"type": "end", "run": "\\ud800"}\n', ":1: is not JSON"),
        (b'{"type": "end", "run": "\\uDfff"}\n', ":1: is not JSON"),
        (b'{"run": ' + b"9" * 10_000 + b"}\n", ":1: is not"),
        (b'{"run": ' + b"9" * 1_000 + b"}\n", ":1: is not a line of a record: 999"),
        (
            b'{"type": "end", "run": ' + b"[" * 900 + b"]" * 900 + b"}\n",
            ":1: is not a line of a record: $",
        ),
        (b'{"type": "end", "run": ' + b"[" * 20_000 + b"]" * 20_000 + b"}\n", ":1: is not"),
    ],
)
def test_what_is_no_record_is_named(
    content: bytes, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    assert validate(path) == BAD_INPUT
    complaint = capsys.readouterr().err.splitlines()[-1]
    assert complaint.startswith(f"locus: {path}")
    assert told in complaint


def test_samples_can_be_passed_over(tmp_path: Path) -> None:
    """The tables of trials are complete without them."""
    path = write(tmp_path / "a.jsonl", machine_record("one"))
    whole, part = database.read([path]), database.read([path], samples=False)
    query = "SELECT DISTINCT type FROM line WHERE type <> 'samples' ORDER BY ALL"
    assert whole.db.execute(query).fetchall() == part.db.execute(query).fetchall()
    assert 0 < count(part) < count(whole)
    told = [database.tables(given).execute("FROM headline").fetchall() for given in (whole, part)]
    assert told[0] == told[1] != []


def test_what_is_wrong_is_told_in_one_short_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = machine_record("one")
    lines[0]["machine"]["cpu"].update({"a\n\x1b[2J\u2028": 1, "b" * 10_000: 2})
    assert validate(write(tmp_path / "a.jsonl", lines)) == BAD_INPUT
    complaint = capsys.readouterr().err
    assert complaint.startswith(
        f"locus: {tmp_path}/a.jsonl:1: is not a line of a record: $.machine.cpu: "
    )
    assert r"'a\n\x1b[2J\u2028'" in complaint
    assert complaint.count("\n") == 1 and complaint[:-1].isprintable()
    assert len(complaint) < len(str(tmp_path)) + 300


def test_the_place_of_what_is_wrong_is_named(tmp_path: Path) -> None:
    lines = machine_record("one")
    place = next(i for i, line in enumerate(lines) if line["type"] == "samples")
    lines[place]["times"][1] = "1"
    path = write(tmp_path / "a.jsonl", lines)
    told = rf"a.jsonl:{place + 1}: is not a line of a record: \$\.times\[1\]: .*1.* not of type"
    (flaw,) = flaws(path)
    assert re.search(told, flaw)
    given = database.read([path])
    assert count(given) == len(lines) - 1 and given.notes == [flaw]


def test_garbage_in_the_middle_is_named_by_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "a.jsonl", machine_record("one"))
    lines = path.read_bytes().splitlines(keepends=True)
    lines[6] = b"\x00" * 300 + b"\n"
    path.write_bytes(b"".join(lines))
    assert validate(path) == BAD_INPUT
    assert f"{path}:7: is not JSON" in capsys.readouterr().err


def test_a_huge_line_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sources, "LONGEST", 1 << 20)
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"x" * (3 << 20))
    assert validate(path) == BAD_INPUT
    assert f"{path}:1: longer than 1 MiB" in capsys.readouterr().err


def test_a_long_batch_is_no_huge_line(tmp_path: Path) -> None:
    lines = machine_record("one")
    sample = next(line for line in lines if line["type"] == "samples")
    sample["times"] = [0.123456789012345] * 10_000
    assert database.read([write(tmp_path / "a.jsonl", lines)]).notes == []


def test_a_million_of_any_numbers_are_looked_over(tmp_path: Path) -> None:
    lines = machine_record("one")
    sample = next(line for line in lines if line["type"] == "samples")
    sample["times"] = [0.123456789012345, 1, None, 1e99] * 250_000
    assert database.read([write(tmp_path / "a.jsonl", lines)]).notes == []
    sample["times"][-1] = True
    (note,) = database.read([write(tmp_path / "a.jsonl", lines)]).notes
    assert "times[999999]" in note


@pytest.mark.parametrize(
    "number, why",
    [
        *((n, "is beyond 2^53") for n in ("9007199254740993", "-9007199254740993", "9" * 40)),
        *((n, "is not between 1e-99 and 1e99") for n in ("1e100", "-2.5E+300", "1e-100", "1e999")),
    ],
)
def test_numbers_that_not_all_readers_hold_are_refused(
    number: str, why: str, tmp_path: Path
) -> None:
    """The tables have integers of 64 bits, of which sums are made, and doubles, also squared."""
    lines = machine_record("one")
    path = write(tmp_path / "a.jsonl", lines)
    for value, flaw in ((number, why), ("9007199254740992", ""), ("1e99", ""), ("-1e-99", "")):
        text = path.read_text().replace('"off_cpu": 0.0,', f'"off_cpu": {value},', 1)
        (tmp_path / "b.jsonl").write_text(text)
        told = flaws(tmp_path / "b.jsonl")
        assert [flaw] == [t[-len(flaw) :] for t in told] if flaw else told == [], value
        given = database.read([tmp_path / "b.jsonl"])
        assert count(given) == len(lines) - bool(flaw)


def test_an_integer_may_be_written_as_a_real(tmp_path: Path) -> None:
    """JSON does not tell 1e3 from 1000; it may be no larger for that."""
    lines = machine_record("one")
    trial = next(line for line in lines if line["type"] == "trial")
    for value, flaw in ((2.0, False), (1e20, True)):
        trial["threads"] = value
        assert bool(flaws(write(tmp_path / "a.jsonl", lines))) == flaw


@pytest.mark.parametrize("order", [("cut.jsonl", "whole.jsonl"), ("whole.jsonl", "cut.jsonl")])
def test_of_two_copies_the_whole_one_counts(tmp_path: Path, order: tuple[str, str]) -> None:
    lines = machine_record("one")
    write(tmp_path / "whole.jsonl", lines)
    write(tmp_path / "cut.jsonl", lines[: len(lines) // 2])
    given = database.read([tmp_path / name for name in order])
    assert count(given) == len(lines)
    assert given.notes == [
        f"{tmp_path}/cut.jsonl: run {run_id('one')} is in {tmp_path}/whole.jsonl, too: the most"
        " complete copy counts"
    ]


def test_a_run_that_is_twice_in_a_file_counts_once(tmp_path: Path) -> None:
    lines = machine_record("one")
    path = write(tmp_path / "a.jsonl", lines[:5] + lines)
    given = database.read([path])
    assert count(given) == len(lines)
    assert "is there twice" in given.notes[0]


def test_files_folders_and_compressed_ones_are_read_once_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "results"
    (folder / "deep").mkdir(parents=True)
    one, two = machine_record("one"), machine_record("two")
    plain = write(folder / "a.jsonl", one)
    packed = folder / "deep" / "b.jsonl.gz"
    packed.write_bytes(gzip.compress(write(tmp_path / "two", two).read_bytes()))
    (folder / "notes.txt").write_text("no record")
    (tmp_path / "link.jsonl").symlink_to(plain)
    opened: list[str] = []
    first = Path.open

    def noted(path: Path, *mode: Any, **named: Any) -> Any:
        opened.append(path.name)
        return first(path, *mode, **named)

    monkeypatch.setattr(Path, "open", noted)
    given = database.read([folder, plain, tmp_path / "link.jsonl", folder / "deep"])
    assert opened == ["a.jsonl", "b.jsonl.gz"]
    assert count(given) == len(one) + len(two) and given.notes == []


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
}


@pytest.mark.parametrize("name", COMPRESS)
def test_a_folder_may_hold_compressed_records(name: str, tmp_path: Path) -> None:
    ending = {"gzip": "gz", "xz": "xz", "bzip2": "bz2"}[name]
    lines = machine_record("one")
    plain = write(tmp_path / "a", lines)
    (tmp_path / f"a.jsonl.{ending}").write_bytes(COMPRESS[name](plain.read_bytes()))
    assert count(database.read([tmp_path])) == len(lines)


# What is recognised by its first bytes, and the command that makes it plain.
MADE_PLAIN = {
    "zstd": (b"\x28\xb5\x2f\xfd", "is compressed by zstd", "zstd -dc"),
    "lz4": (b"\x04\x22\x4d\x18", "is compressed by lz4", "lz4 -dc"),
    "zip": (b"PK\x03\x04", "is a zip archive", "unzip -p"),
    "Windows": ("\ufeff{}".encode("utf-16-le"), "is UTF-16", "iconv -f UTF-16 -t UTF-8"),
}


@pytest.mark.parametrize("name", MADE_PLAIN)
@pytest.mark.parametrize("command", ["validate", "summary"])
def test_what_is_not_read_here_is_named_with_the_command_that_makes_it_plain(
    name: str,
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for module in ("compression.zstd", "backports.zstd", "pyzstd"):
        monkeypatch.setitem(sys.modules, module, None)  # import fails
    begin, what, decode = MADE_PLAIN[name]
    path = tmp_path / "a b"
    path.write_bytes(begin + bytes(range(256)) * 20)
    assert program.main([command, str(path)]) == BAD_INPUT
    assert capsys.readouterr().err == (
        f"locus: {path}: {what}, which this Python does not read: {decode} '{path}' | locus"
        " COMMAND -\n"
    )


def test_zstd_is_read_where_a_module_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the class of Python 3.14, which raises EOFError for data that were cut off."""

    class ZstdFile(io.BytesIO):
        def __init__(self, file: Any) -> None:
            super().__init__(file.read()[4:])

        def read(self, size: Optional[int] = -1, /) -> bytes:
            got = super().read(size)
            if not got:
                raise EOFError
            return got

    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    monkeypatch.setitem(sys.modules, "backports.zstd", types.SimpleNamespace(ZstdFile=ZstdFile))
    lines = machine_record("one")
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd" + write(tmp_path / "plain", lines).read_bytes())
    given = database.read([tmp_path])
    assert count(given) == len(lines)
    assert given.notes == [
        f"{path}:{len(lines) + 1}: the compressed data were cut off: nothing is read from here on"
    ]


def test_a_byte_order_mark_costs_nothing(tmp_path: Path) -> None:
    """Editors write it, also `cat` in the midst of a file. RFC 8259 lets a reader ignore it."""
    one, two = machine_record("one"), machine_record("two")
    mark = "\ufeff".encode()
    path = tmp_path / "a.jsonl"
    texts = [write(tmp_path / str(i), lines).read_bytes() for i, lines in enumerate((one, two))]
    path.write_bytes(b"".join(mark + text for text in texts))
    given = database.read([path])
    assert count(given) == len(one) + len(two) and given.notes == [] == flaws(path)


def test_standard_input_is_read(tmp_path: Path) -> None:
    lines = machine_record("one")
    text = write(tmp_path / "a.jsonl", lines).read_bytes()
    for given in (text, *(compress(text) for compress in COMPRESS.values())):
        told = subprocess.run(
            [sys.executable, "-m", "locus_analysis", "validate", "-"],
            input=given,
            capture_output=True,
            check=True,
        )
        assert told.stdout.decode() == f"1 file, {len(lines)} lines, all as locus-record-1 says\n"


def test_compressed_data_may_end_early(tmp_path: Path) -> None:
    lines = machine_record("one")
    whole = gzip.compress(write(tmp_path / "a.jsonl", lines).read_bytes())
    path = tmp_path / "b.jsonl.gz"
    path.write_bytes(whole[: len(whole) // 2])
    given = database.read([path])
    assert 0 < count(given) < len(lines)
    assert given.notes == [
        f"{path}:{count(given) + 1}: the compressed data were cut off: nothing is read from here on"
    ]
    path.write_bytes(whole[:20])
    with pytest.raises(database.BadInput, match="the compressed data were cut off"):
        database.read([path])
    path.write_bytes(whole[:1000] + bytes(100) + whole[1100:])
    (*_, flaw) = flaws(path)
    assert "the compressed data" in flaw


def test_a_bad_line_costs_that_line(tmp_path: Path) -> None:
    lines = machine_record("one")
    path = write(tmp_path / "a.jsonl", lines)
    text = path.read_bytes().splitlines(keepends=True)
    text[3], text[5] = b"\xff\xfe\n", b'{"type": "end"}\n'
    path.write_bytes(b"".join(text))
    given = database.read([path])
    assert count(given) == len(lines) - 2
    assert [note.partition(": ")[0] for note in given.notes] == [
        f"{path}:4",
        f"{path}:6",
    ]


def test_many_bad_lines_are_counted(tmp_path: Path) -> None:
    lines = machine_record("one")
    path = write(tmp_path / "a.jsonl", lines)
    path.write_bytes(path.read_bytes() + b"noise\n" * 1000)
    given = database.read([path])
    assert count(given) == len(lines) and len(given.notes) == 4
    assert given.notes[-1] == f"{path}: 997 more lines like these are left out"


def test_a_file_that_is_no_record_spoils_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "a.jsonl", machine_record("one"))
    (tmp_path / "b.jsonl").write_bytes(bytes(range(256)) * 10_000)
    (tmp_path / "c.jsonl").write_bytes(b"")
    (tmp_path / "d.jsonl").write_bytes(b"noise\n" * 100_000)
    given = database.read([tmp_path])
    assert count(given) == len(machine_record("one"))
    assert [note.partition(": ")[0] for note in given.notes] == [
        f"{tmp_path}/b.jsonl:1",
        f"{tmp_path}/c.jsonl",
        f"{tmp_path}/d.jsonl:1",
    ]
    path.unlink()
    assert program.main(["levels", str(tmp_path)]) == BAD_INPUT
    assert capsys.readouterr().err.count("\n") == 1


def test_lines_and_keys_of_a_later_minor_version_are_ignored(tmp_path: Path) -> None:
    lines = machine_record("one")
    lines[0]["schema"] = "locus-record-1.7"
    lines[0]["weather"] = lines[0]["machine"]["cpu"]["colour"] = "red"
    for line in lines:
        if line["type"] == "trial" and "metrics" in line:
            line["metrics"]["time"]["mood"] = {"good": [1, 2]}
    later = [*lines, {"type": "forecast", "run": lines[0]["run"], "rain": 1}]
    path = write(tmp_path / "a.jsonl", later)
    given = database.read([path])
    assert count(given) == len(lines) and given.notes == []
    trials = queried(database.tables(given), "SELECT count(*) AS n FROM headline")
    assert trials == [{"n": sum(line["type"] == "trial" for line in lines)}]
    told = flaws(path)
    assert "was unexpected" in told[0] and "mood" in told[1] and "more lines are wrong" in told[-1]


def test_a_run_goes_on_with_none_of_another_host(tmp_path: Path) -> None:
    first, resumed = machine_record("one"), machine_record("two")
    resumed[0]["resumes"] = [first[0]["run"]]
    db = database.tables(
        database.read([write(tmp_path / "a.jsonl", first), write(tmp_path / "b.jsonl", resumed)])
    )
    assert {row["resumed_by"] for row in queried(db, "FROM outcome")} == {None}


@pytest.mark.parametrize("started", ["2025-03-14T10:00:00.000Z", "2015-03-14T10:00:00.000Z"])
def test_a_resumed_run_is_one_whole_and_its_last_word_counts(tmp_path: Path, started: str) -> None:
    """Even if the clock was set back in between."""
    first = made_up("one")
    trial = next(
        line for line in first if line["type"] == "trial" and line["status"] == "interrupted"
    )
    cut = first[: first.index(trial) + 1]
    again = copy.deepcopy(trial)
    again.update(run=run_id("again"), status="ok", reasons=[])
    second = [
        header(
            MACHINES["one"],
            run_id("again"),
            random.Random(2),
            resumes=[run_id("one")],
            started=started,
        ),
        again,
    ]
    db = database.tables(database.read([write(tmp_path / "a.jsonl", cut + second)]))
    trials = queried(db, "SELECT whole, id, status FROM headline")
    assert {row["whole"] for row in trials} == {run_id("again")}
    assert [row["status"] for row in trials if row["id"] == trial["id"]] == ["ok"]
    assert len(trials) == sum(line["type"] == "trial" for line in cut)


def test_an_appended_run_is_a_repeat(tmp_path: Path) -> None:
    """`--append` writes the same trials once more into the file, and that run resumes nothing."""
    first = made_up("one")
    trials = [line for line in first if line["type"] == "trial"]
    second = [
        header(
            MACHINES["one"], run_id("again"), random.Random(2), started="2025-03-14T10:00:00.000Z"
        ),
        *({**copy.deepcopy(trial), "run": run_id("again")} for trial in trials),
    ]
    db = database.tables(database.read([write(tmp_path / "a.jsonl", first + second)]))
    shown = [(row["whole"], row["id"]) for row in queried(db, "SELECT whole, id FROM headline")]
    assert trials and sorted(shown) == sorted(
        (run_id(run), trial["id"]) for run in ("one", "again") for trial in trials
    )
    assert [row["resumed_by"] for row in queried(db, "FROM outcome")] == [None, None]


def test_samples_of_a_moment_are_thinned_out_alike_each_time(tmp_path: Path) -> None:
    lines = machine_record("two")
    for line in lines:
        if line["type"] == "samples":
            line["at"], line["units"] = 1, 0
    path = tmp_path / "a.jsonl"
    write(path, lines)
    drawn = [
        database.tables(database.read([path])).execute("FROM drift ORDER BY ALL").fetchall()
        for _ in range(4)
    ]
    assert drawn[0] and drawn[1:] == drawn[:-1]


def test_no_input_crashes_the_reader(tmp_path: Path) -> None:
    """Bytes are changed, cut out and doubled at random: the file is read, or refused in a
    sentence. Ten files, of ten runs, are read at once: none spoils another."""
    rng = random.Random(20080213)
    lines = [json.dumps(line).encode() + b"\n" for line in machine_record("one")]
    whole = b"".join(lines[:12] + lines[-1:])
    refused, ten = 0, []
    for n in range(150):
        text = bytearray(whole.replace(run_id("one").encode(), run_id(str(n)).encode()))
        for _ in range(rng.randrange(1, 4)):
            at, length = rng.randrange(len(text)), rng.randrange(1, 40)
            piece = rng.choice(
                (
                    b"",
                    rng.randbytes(length),
                    bytes(text[at : at + length]) * 2,
                    b"null",
                    b"-1",
                    b"\n",
                    b'"',
                    b"{}",
                )
            )
            text[at : at + length] = piece
        ten.append(tmp_path / f"{n}.jsonl")
        ten[-1].write_bytes(text)
        if len(ten) == 10:
            found = database.read(ten)
            runs = queried(database.tables(found), "FROM run")
            refused += 10 - len(runs)
            for said in found.notes:
                assert said.startswith(tuple(map(str, ten))) and "\n" not in said
            ten.clear()
    assert refused > 0
