# SPDX-License-Identifier: Apache-2.0
"""The schema and the reader: what a record is, and the messages about everything else."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from locus_analysis import __main__ as program
from locus_analysis.records import database, sources
from locus_analysis.records import validate as strict
from make_records import (
    MACHINES,
    ONE,
    Line,
    as_written,
    header,
    latency,
    numa,
    queried,
    record,
    run_id,
    write,
)
from make_records import machine_record as made_up
from some import some

BAD_INPUT = 2


SPARSE = ("samples", "trial", "metric", "counter", "placement", "pairs", "ratio")


def validate(*paths: Path) -> int:
    return program.main(["validate", *map(str, paths)])


def flaws(*paths: Path) -> list[str]:
    """The findings of the strict check."""
    return list(strict.flaws(paths, strict.Checked()))


def count(given: database.Records) -> int:
    """Lines that were read, in the copies that count."""
    query = "SELECT sum(lines)::BIGINT AS n FROM parsed.run JOIN chosen USING (shard, copy)"
    return int(queried(given.db, query)[0]["n"])


def machine_record(name: str) -> list[Line]:
    """A machine's record as it is written."""
    return as_written(made_up(name))


def drop(key: str) -> Callable[[Line], Any]:
    return lambda line: line.pop(key)


def sampled(path: Path) -> duckdb.DuckDBPyConnection:
    return database.tables(database.read([path]), page=True)


SKETCH = [0.01] * 5 + [0.02] + [0.05] * 5  # quantiles


def test_a_sketch_is_no_sample_and_is_drawn(tmp_path: Path) -> None:
    lines = made_up("one")
    sample = next(line for line in lines if line["type"] == "samples")
    own = [line for line in lines if line["type"] == "samples" and line["trial"] == sample["trial"]]
    kept = sum(len(line["times"]) for line in own[1:])
    sample.update(times=None, sketch={"n": 7, "quantiles": SKETCH})
    db = sampled(write(tmp_path / "a.jsonl", lines))
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
    db = sampled(write(tmp_path / "a.jsonl", lines))
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
    db = sampled(path)
    assert queried(db, "SELECT * FROM drift WHERE id = ?", sample["trial"]) == []


def test_the_start_of_a_batch_is_its_moment(tmp_path: Path) -> None:
    lines = machine_record("one")
    sample = next(line for line in lines if line["type"] == "samples")
    sample.update(at=1e6, units=10, times=[0.5, 0.25])
    db = sampled(write(tmp_path / "a.jsonl", lines))
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
        (b'{"type": "end", "run": "\\ud800"}\n', ":1: \\ud800 in a text is half of a character"),
        (b'{"type": "end", "run": "\\uDfff"}\n', ":1: \\udfff in a text is half of a character"),
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
    query = "FROM parsed.run"
    assert whole.db.execute(query).fetchall() == part.db.execute(query).fetchall() != []
    query = "SELECT count(*) FROM parsed.other WHERE type = 'samples'"
    (held,), (passed,) = (given.db.execute(query).fetchone() or () for given in (whole, part))
    assert held > passed == 0
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


def test_trials_that_no_line_describes_are_left_out(tmp_path: Path) -> None:
    """They are told once, and aggregate does as all others."""
    lines = machine_record("one")
    path = write(tmp_path / "a.jsonl", [line for line in lines if line.get("name") != "numa"])
    first = next(i for i, line in enumerate(lines) if line.get("benchmark") == "numa")
    flaw = f"{path}:{first}: no line before this one describes benchmark numa"
    given = database.read([path])
    assert flaws(path) == [flaw] and given.notes == [f"{flaw}: its trials are left out"]
    assert program.main(["aggregate", str(path), "--into", str(tmp_path / "store")]) == 0
    left = [line["id"] for line in lines if line.get("benchmark") == "dummy"]
    for read in (given, database.read([tmp_path / "store"])):
        db = database.tables(read)
        assert [t["id"] for t in database.measured(db, "dummy")] == some(left)
        assert database.column(db, "SELECT DISTINCT benchmark FROM trial") == ["dummy"]


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
        *((n, "") for n in ("9007199254740992", "1e99", "-1e-99")),
    ],
)
def test_numbers_that_not_all_readers_hold_are_refused(
    number: str, why: str, tmp_path: Path
) -> None:
    """The tables have integers of 64 bits, which are summed, and doubles, which get squared."""
    lines = machine_record("one")
    path = write(tmp_path / "a.jsonl", lines)
    text = path.read_text()
    assert '"off_cpu": 0.0,' in text
    path.write_text(text.replace('"off_cpu": 0.0,', f'"off_cpu": {number},', 1))
    told = flaws(path)
    assert [why] == [t[-len(why) :] for t in told] if why else told == []
    assert count(database.read([path])) == len(lines) - bool(why)


def test_an_integer_may_be_written_as_a_real(tmp_path: Path) -> None:
    """JSON does not distinguish 1e3 from 1000; the limit is the same for both."""
    lines = machine_record("one")
    trial = next(line for line in lines if line["type"] == "trial")
    for value, flaw in ((2.0, False), (1e20, True)):
        trial["threads"] = value
        assert bool(flaws(write(tmp_path / "a.jsonl", lines))) == flaw


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
    drawn = [sampled(path).execute("FROM drift ORDER BY ALL").fetchall() for _ in range(4)]
    assert drawn[0] and drawn[1:] == drawn[:-1]


def test_no_input_crashes_the_reader(tmp_path: Path) -> None:
    """Bytes are changed, cut out and doubled at random: the file is read, or refused in a sentence.
    Thirty files, of thirty runs, are read at once: a bad file spoils no other."""
    rng = random.Random(20080213)
    lines = [json.dumps(line).encode() + b"\n" for line in machine_record("one")]
    whole = b"".join(lines[:12] + lines[-1:])
    refused, given = 0, list[Path]()
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
        given.append(tmp_path / f"{n}.jsonl")
        given[-1].write_bytes(text)
        if len(given) == 30:
            found = database.read(given)
            runs = queried(database.tables(found), "FROM run")
            refused += len(given) - len(runs)
            for said in found.notes:
                assert said.startswith(tuple(map(str, given))) and "\n" not in said
            given.clear()
    assert refused > 0


def test_trials_of_some_benchmarks_alone(tmp_path: Path) -> None:
    """Lines of other benchmarks are not even parsed, which saves most of the time."""
    file = write(tmp_path / "a.jsonl", record(ONE, latency(ONE, octave=1) + numa(ONE), run_id("a")))
    given = database.read([file], samples=False, only=("latency", "sharing"))
    found = database.column(database.trials(given), "SELECT DISTINCT benchmark FROM trial")
    assert found == ["latency"]
