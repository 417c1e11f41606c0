# SPDX-License-Identifier: Apache-2.0
"""locus compare over nodes: the host is the unit, and nodes are compared with expected values."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from pathlib import Path
from typing import Any, Optional

import pytest
from locus_analysis import __main__ as program
from make_records import ONE, brief, record, run_id, write
from some import some
from test_compare import (
    BAD_INPUT,
    CANNOT_TELL,
    GOOD,
    WORSE,
    as_json,
    changed,
    points,
    runs,
    told,
    verdicts,
)
from test_expected import exported, good, judged, one, scale


def hosts(folder: Path, n: int, factor: float, again: int = 1) -> Path:
    """n hosts that differ by far more than the change, with `again` runs each."""
    for i in range(n):
        for j in range(again):
            own = points()
            for point in own:
                rng = random.Random(f"{folder.name} {i} {j}")
                point.seconds *= (1 + i) * factor * (1 + rng.gauss(0, 0.005))
            name = f"{folder.name} {i} {j}"
            lines = record(ONE, own, run_id(name), seed=i, host=f"n{i}")
            lines = brief(lines)
            folder.mkdir(exist_ok=True)
            write(folder / f"{i}-{j}.jsonl", lines)
    return folder


def test_of_several_hosts_the_unit_is_the_host(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = hosts(tmp_path / "old", 7, 1), hosts(tmp_path / "new", 7, 1.1, again=2)
    made = as_json(capsys, old, new, status=WORSE)
    assert made["unit"] == "node" and made["paired"] and made["new"]["units"] == 7
    assert set(verdicts(made).values()) == {"slower"}
    few = as_json(capsys, old, hosts(tmp_path / "few", 5, 1.1))
    assert not few["paired"] and few["new"]["units"] == 5
    assert set(verdicts(few).values()) == {"cannot tell"}
    two = told(capsys, *(hosts(tmp_path / side, 2, 1, again=6) for side in ("a", "b")))[0]
    assert all(len(line) <= 100 for line in some(two.splitlines()))
    assert "4 a side can show one; or compare one node at a time" in " ".join(two.split())


# Runs without results.

pytestmark = pytest.mark.filterwarnings("error")


def day(n: int) -> str:
    return f"2025-03-{10 + n}T00:00:00.000Z"


def test_a_host_without_any_value_cannot_be_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others are compared all the same, in pairs."""
    old, new = good(tmp_path / "old"), good(tmp_path / "new")
    one(new / "n4.jsonl", "interrupted", host="n4")
    out, _ = told(capsys, old, new, status=CANNOT_TELL)
    assert "missing    interrupted: 11 trials in NEW on n4: latency/" in out
    assert "9 nodes of n0, n1, ... against 9 of n0, n1, ..., in pairs" in out
    assert "hosts      9 judged" in out and "11 metrics: 11 same" in out
    assert out.endswith("cannot tell: interrupted: 11 trials on n4, valid in OLD\n")
    out, _ = told(capsys, new, old, status=CANNOT_TELL)
    assert out.endswith("cannot tell: interrupted: 11 trials on n4, valid in NEW\n")
    out, _ = told(capsys, old, new, new, status=CANNOT_TELL)
    assert " ".join(out.split()).count("/new: missing: interrupted: 11 trials in ") == 2
    made = as_json(capsys, old, new, status=CANNOT_TELL)
    assert len(made["missing"]) == 1 and made["new"]["units"] == 9
    told(capsys, old, good(tmp_path / "worse", shift=1.2), status=WORSE)
    one(tmp_path / "worse" / "n4.jsonl", "interrupted", host="n4")
    told(capsys, old, tmp_path / "worse", status=WORSE)
    one(old / "n4.jsonl", "interrupted", host="n4")
    assert "missing" not in told(capsys, old, new)[0]  # neither side has it


@pytest.mark.parametrize("alternate", (False, True))
def test_an_interrupted_run_among_others_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], alternate: bool
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for i in range(7):
        one(old / f"{i}.jsonl", shift=1 + 0.001 * i, started=day(2 * i if alternate else i))
        started = day(2 * i + 1 if alternate else 10 + i)
        one(new / f"{i}.jsonl", "interrupted" if i == 3 else None, started=started)
    out, _ = told(capsys, old, new)
    assert ("6 runs of" if alternate else "7 runs of") in out and " against 6 of " in out
    assert (", in pairs" in out) == alternate and out.startswith("nothing is slower\n")
    line = "left out 11 interrupted trials in 1 run of NEW: latency/cycle size=4096,"
    assert line in " ".join(out.split()) and "missing" not in out
    made = as_json(capsys, old, new)
    assert len(made["left_out"]) == 1 and not made["missing"]
    file, _, _ = exported(capsys, old)
    (line,) = judged(capsys, file, new, GOOD).values()
    assert line.endswith("within their bounds; left out: 11 interrupted trials in 1 run")


def test_a_run_that_was_cut_off_before_its_first_trial(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = good(tmp_path / "old"), tmp_path / "new.jsonl"
    write(new, [line for line in one(new, host="n0") if line["type"] in ("header", "benchmark")])
    out, err = told(capsys, old, new, status=CANNOT_TELL)
    assert "missing    left out: 11 trials in NEW: latency/" in out and not err
    assert "no metric is on both sides" in out and "differs" not in out
    assert "valid in NEW" in told(capsys, new, old, status=CANNOT_TELL)[0]
    out, _ = told(capsys, old, new, new, status=CANNOT_TELL)
    assert "missing: left out: 11 trials" in " ".join(out.split())
    file, _, _ = exported(capsys, old)
    assert judged(capsys, file, new, CANNOT_TELL) == {"n0": "cannot tell  left out: 11 trials"}


# Expected values.


def expected(capsys: pytest.CaptureFixture[str], *files: Path) -> dict[str, Any]:
    assert program.main(["export", "--expect", *map(str, files)]) == GOOD
    made: dict[str, Any] = json.loads(capsys.readouterr().out)
    return made


def alike(folder: Path, n: int, odd: Optional[dict[int, float]] = None, **header: Any) -> Path:
    """n hosts of one kind; n1 has the factors in `odd`. All in one folder: a side is read once."""
    folder.mkdir()
    for i in range(n):
        own = runs(folder / f"n{i}", 1, odd if i == 1 else None, host=f"n{i}", **header)
        (file,) = own.iterdir()
        file.rename(folder / f"n{i}.jsonl")
        own.rmdir()
    return folder


def test_nodes_are_held_against_expected_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = expected(capsys, alike(tmp_path / "good", 8))
    (of_class,) = made["classes"]
    assert len(of_class["metrics"]) == 9 and of_class["hosts"] == [f"n{i}" for i in range(8)]
    for m in of_class["metrics"]:
        assert m["low"] < m["value"] / 1.029 and m["high"] > m["value"] * 1.029 and m["n"] == 8
    file = tmp_path / "expected.json"
    file.write_text(json.dumps(made))
    told(capsys, "--baseline", file, alike(tmp_path / "others", 4))
    bought = alike(tmp_path / "bought", 4, {2: 1.5, 6: 1.4, 0: 0.5, 7: 1.3})
    out, _ = told(capsys, "--baseline", file, bought, status=WORSE)
    lines = out.splitlines()
    assert len(lines) == 4 and lines[0].startswith(
        "n1  outside      latency/cycle/time size 16 KiB"
    )
    assert "expected at most" in lines[0] and "expected at least" in lines[0]
    assert lines[0].endswith("; 1 more") and lines[1].endswith("9 metrics within their bounds")
    rows = json.loads(told(capsys, "--baseline", file, "--format", "json", bought, status=WORSE)[0])
    assert [m["metric"] for m in rows[0]["outside"]] == ["time", "bandwidth", "bandwidth"]
    table = told(capsys, "--baseline", file, "--format", "csv", bought, status=WORSE)[0]
    assert [r["outside"] for r in csv.DictReader(io.StringIO(table))] == ["3", "0", "0", "0"]
    assert told(capsys, "--baseline", file, "--format", "md", bought, status=WORSE)[0].count("|\n")


def test_nodes_that_cannot_be_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = expected(capsys, alike(tmp_path / "good", 4))
    file, good = tmp_path / "expected.json", tmp_path / "good"
    made["classes"][0]["class"] = "0" * 16
    file.write_text(json.dumps(made))
    out, _ = told(capsys, "--baseline", file, good, status=CANNOT_TELL)
    assert "n0  cannot tell  the file has no values for its class" in out
    assert "needs records" in told(capsys, "--baseline", file, status=BAD_INPUT)[1]
    for text in ("", "{}", '{"schema": "locus-expected-2.0", "classes": []}', "[1]"):
        file.write_text(text)
        assert (
            "no expected values as" in told(capsys, "--baseline", file, good, status=BAD_INPUT)[1]
        )
    made["classes"][0]["metrics"][0]["low"] = -1
    file.write_text(json.dumps(made))
    assert "not in this order" in told(capsys, "--baseline", file, good, status=BAD_INPUT)[1]
    missing = tmp_path / "none"
    assert "cannot be read" in told(capsys, "--baseline", missing, good, status=BAD_INPUT)[1]


def test_a_side_of_several_that_lost_a_result_is_worse_not_slower(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = [alike(tmp_path / name, 2) for name in ("a", "b", "c")]
    for file in sides[1].rglob("*.jsonl"):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        trial = next(line for line in lines if line["type"] == "trial")
        trial.update(status="wrong", reasons=["so it is"])
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    out, _ = told(capsys, *sides, status=WORSE)
    assert out.startswith("WORSE than ")


def test_records_without_a_trial_say_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (file,) = alike(tmp_path / "a", 1).rglob("*.jsonl")
    file.write_text(re.sub('"threads": [0-9]+', f'"threads": 1{"0" * 20}', file.read_text()))
    assert program.main(["export", "--expect", str(file)]) == BAD_INPUT
    said = capsys.readouterr().err
    assert said.startswith("locus: no trial in these records: ") and f"{file}:" in said


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("facts", '{"topology.packages": 1e999}'),
        ("facts", '{"topology.packages": NaN}'),
        ("facts", '{"topology.packages": 1%s}' % ("0" * 400)),
        ("trials", "[null]"),
        ("trials", "1e99"),
        ("trials", '{"a": 1}'),
    ],
)
def test_a_slip_in_the_file_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str, value: str
) -> None:
    made = expected(capsys, alike(tmp_path / "good", 4))
    made["classes"][0][key] = "?"
    file = tmp_path / "expected.json"
    file.write_text(json.dumps(made).replace('"?"', value))
    _, err = told(capsys, "--baseline", file, tmp_path / "good", status=BAD_INPUT)
    assert f"{file}: no expected values as locus export --expect writes them: " in err


def test_one_node_with_several_runs_has_expected_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = expected(capsys, runs(tmp_path / "old", 3))
    assert {m["n"] for m in made["classes"][0]["metrics"]} == {3}


def test_facts_of_nodes_are_held_against_expected_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the words of locus health."""
    file, made, _ = exported(capsys, good(tmp_path / "good", 3))
    assert judged(capsys, file, tmp_path / "good", GOOD)["n0"].endswith(
        "11 metrics within their bounds"
    )
    new = tmp_path / "new.jsonl"
    lines = one(new, host="n0")
    lines[0]["machine"]["memory"]["total"] //= 2
    lines[0]["machine"]["memory"]["thp"]["enabled"] = "never"
    write(new, lines)
    line = judged(capsys, file, new, WORSE)["n0"]
    assert line == (
        "outside      memory thp enabled never, madvise expected;"
        " memory total 32 GiB, at least 62.7 GiB expected"
    )
    rows = json.loads(told(capsys, "--baseline", file, "--format", "json", new, status=WORSE)[0])
    assert len(rows[0]["facts"]) == 2 and not rows[0]["outside"]
    # What people add to the file, and what no record has.
    added = {"kernel.release": "1.2", "memory.modules.9.count": 8, "memory.total": "64 GiB"}
    made["classes"][0]["facts"] = added
    file.write_text(json.dumps(made))
    line = judged(capsys, file, new, WORSE)["n0"]
    assert line.startswith("outside      kernel release ") and ", 1.2 expected" in line
    del added["kernel.release"]
    file.write_text(json.dumps(made))
    assert judged(capsys, file, new, GOOD)["n0"].endswith("; 2 facts unknown")
    misspelt = told(capsys, "--baseline", file, "--require", "memry.*", new, status=BAD_INPUT)[1]
    assert misspelt == "locus: --require memry.*: the file has no such fact or metric\n"
    asked = ("--baseline", file, "--require", "memory.*", "--require", "latency", new)
    out, _ = told(capsys, *asked, status=CANNOT_TELL)
    assert out == "n0  cannot tell  unknown: memory.modules.9.count, memory.total\n"
    made["classes"][0]["facts"] = {"memory.total": {"less": 1}}
    file.write_text(json.dumps(made))
    said = told(capsys, "--baseline", file, new, status=BAD_INPUT)[1]
    assert '{"less": 1} is neither a value nor its least or most' in said


def test_facts_that_are_null(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """None is set, or it is unknown: that is no fault of a host, and is told."""
    file, made, _ = exported(capsys, good(tmp_path / "good", 3))
    new = tmp_path / "good" / "n0.jsonl"

    def held(fact: object, status: int) -> str:
        made["classes"][0]["facts"] = {"cgroup.cpu_quota": fact, "memory.thp.enabled": None}
        file.write_text(json.dumps(made))
        return judged(capsys, file, new, status)["n0"]

    assert held(None, GOOD).endswith("; 1 fact unknown")
    assert held({"least": 2}, GOOD).endswith("; 1 fact unknown")
    assert held(4, WORSE).startswith("outside      cgroup cpu_quota none, 4 expected")
    assert held({"most": 2}, WORSE).startswith("outside      cgroup cpu_quota none, at most 2 ")


def test_a_class_that_the_file_lacks_is_told_from_those_it_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two classes may have the same processor."""
    file, made, _ = exported(capsys, good(tmp_path / "good", 3))
    new, (of_class,) = tmp_path / "good" / "n0.jsonl", made["classes"]
    own, of_class["class"] = of_class["class"], "0" * 16
    of_class["facts"]["topology.cores"] = 4
    file.write_text(json.dumps(made))
    cores = ONE.nodes * ONE.cores
    assert judged(capsys, file, new, CANNOT_TELL)["n0"] == (
        f"cannot tell  the file has no values for its class, {own} of {ONE.model}, only for"
        f" {'0' * 16} of it; topology cores {cores}, 4 expected"
    )
    of_class["cpu"] = "another"
    file.write_text(json.dumps(made))
    assert judged(capsys, file, new, CANNOT_TELL)["n0"].endswith(f"{ONE.model}, only for another")
    file.write_text(json.dumps({**made, "classes": []}))
    assert judged(capsys, file, new, CANNOT_TELL)["n0"].endswith(f"{ONE.model}, nor for any")


def test_bounds_that_people_edited(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, made, _ = exported(capsys, good(tmp_path / "good", 3))
    new, m = tmp_path / "good" / "n0.jsonl", made["classes"][0]["metrics"][0]
    file.write_text("\ufeff" + json.dumps(made), encoding="utf-8")  # as some editors do
    judged(capsys, file, new, GOOD)
    m.update(high=m["value"] / 1.001, value=m["low"])
    file.write_text(json.dumps(made))
    line = judged(capsys, file, new, CANNOT_TELL)["n0"]  # its interval reaches the bound
    own, bound = re.findall(r"([\d.]+) \S+/load", line)
    assert float(own) > float(bound)
    m["high"] = None
    file.write_text(json.dumps(made))
    said = told(capsys, "--baseline", file, new, status=BAD_INPUT)[1]
    assert f"{m['name']}: high is null, no number" in said


OPEN = "cannot tell  interval reaches the bound: "


@pytest.mark.parametrize(
    ("half", "modes", "verdict", "status"),
    [(0.02, (), "outside", WORSE), (0.4, (), OPEN, CANNOT_TELL), (0.02, (0.7, 1.7), OPEN, 4)],
)
def test_a_value_whose_interval_or_mode_reaches_the_bound_is_not_surely_outside(
    half: float,
    modes: tuple[float, ...],
    verdict: str,
    status: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Of a time, and of a rate that follows from it."""
    file, _, _ = exported(capsys, good(tmp_path / "old"))
    lines = one(tmp_path / "new.jsonl", host="n0")
    for which in (slice(0, 1), slice(10, 11)):
        for trial in changed(lines, "trial")[which]:
            time = next(m for m in trial["metrics"] if m["name"] == "time")
            for metric in trial["metrics"]:
                metric["value"] *= 1.2 if metric["name"] == "time" else 1 / 1.2
            time["ci"] = [time["value"] * (1 - half), time["value"] * (1 + half)]
            trial.update(status="bimodal" if modes else "unconverged", reasons=["so it is"])
            trial["samples"]["modes"] = [{"time": time["value"] * m, "share": 0.5} for m in modes]
    write(tmp_path / "new.jsonl", lines)
    found = judged(capsys, file, tmp_path / "new.jsonl", status)["n0"]
    assert found.startswith(verdict) and found.count(", expected at ") == 2


@pytest.mark.parametrize(
    ("share", "aside", "status"),
    [(0.72, False, CANNOT_TELL), (0.72, True, WORSE), (0.4, False, WORSE)],
)
def test_a_value_of_crowded_cores_is_not_held_against_a_host(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], share: float, aside: bool, status: int
) -> None:
    file, _, _ = exported(capsys, good(tmp_path / "old"))
    lines = one(tmp_path / "new.jsonl", host="n0")
    trial = changed(lines, "trial")[2]
    scale(trial["metrics"][0], 1.5)
    trial["samples"]["crowded"] = {"share": share, "width": 0.6, "aside": aside}
    new = write(tmp_path / "new.jsonl", lines)
    found = judged(capsys, file, new, status)["n0"]
    assert found.startswith("cannot tell  noisy: " if status == CANNOT_TELL else "outside "), found
