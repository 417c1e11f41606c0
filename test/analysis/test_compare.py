# SPDX-License-Identifier: Apache-2.0
"""Comparisons of runs: what is matched, what is said, and with which exit status."""

from __future__ import annotations

import copy
import csv
import io
import json
import os
import random
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Optional

import duckdb
import pytest
from locus_analysis import __main__ as program
from locus_analysis.compare import comparison, observations
from make_records import ONE, Line, Point, record, run_id, write
from some import some

GOOD, WORSE, BAD_INPUT, CANNOT_TELL, FAULT = 0, 1, 2, 4, 70
Change = Callable[[list[Line]], None]


def points() -> list[Point]:
    loads = [
        Point("latency", "cycle", {"size": 4096 << i, "pages": "base"}, 1, 1e-9 * 2**i, unit="load")
        for i in range(6)
    ]
    sums = [
        Point("numa", "static", {"kernel": k}, 2, 0.1, amount=("bandwidth", "B/s", 1e9))
        for k in ("sum", "copy", "triad")
    ]
    return loads + sums


def runs(
    folder: Path,
    n: int,
    factors: Optional[dict[int, float]] = None,
    spread: float = 0.01,
    start: int = 0,
    step: int = 1,
    change: Change = lambda lines: None,
    **header: Any,
) -> Path:
    """A folder of n runs; `factors` multiply the times of points."""
    folder.mkdir()
    for i in range(n):
        rng = random.Random(f"{folder.name} {i}")
        own = points()
        for j, point in enumerate(own):
            point.seconds *= (factors or {}).get(j, 1.0) * (1 + rng.gauss(0, spread))
            point.noise = 0.001
        started = f"2025-03-14T{(start + i * step) // 60:02}:{(start + i * step) % 60:02}:00.000Z"
        lines = record(ONE, own, run_id(f"{folder.name} {i}"), seed=i, started=started, **header)
        lines = [line for line in lines if line["type"] != "samples"]
        change(lines)
        write(folder / f"{i:02}.jsonl", lines)
    return folder


def told(capsys: pytest.CaptureFixture[str], *words: object, status: int = GOOD) -> tuple[str, str]:
    found = program.main(["compare", *map(str, words)])
    out, err = capsys.readouterr()
    assert found == status, out + err
    return out, err


def as_json(
    capsys: pytest.CaptureFixture[str], *words: object, status: int = GOOD
) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(told(capsys, "--format", "json", *words, status=status)[0])
    return made


def verdicts(made: dict[str, Any]) -> dict[str, str]:
    return {f"{m['metric']} {m['setting']}".strip(): m["verdict"] for m in made["metrics"]}


def test_runs_of_the_same_are_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = runs(tmp_path / "old", 6), runs(tmp_path / "new", 6, start=60)
    out, err = told(capsys, old, new)
    assert "6 runs of cxl1 against 6" in out.replace(ONE.host, "cxl1") and not err
    assert "not paired\n" in out and "9 metrics: 9 same" in out
    assert "all runs of one side came first" in out and "differs" not in out


def test_what_is_slower_comes_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a time more is worse, of a bandwidth less."""
    old = runs(tmp_path / "old", 6)
    new = runs(tmp_path / "new", 6, {2: 1.1, 6: 1.2, 0: 0.9})
    out, _ = told(capsys, old, new, status=WORSE)
    rows = [line for line in out.splitlines() if line.startswith(("latency", "numa"))]
    assert [line.split("  ")[-1] for line in rows] == ["slower", "slower", "faster"]
    assert rows[0].startswith("numa/static kernel sum") and "-1" in rows[0]
    assert rows[1].startswith("latency/cycle size 16 Ki") and "+1" in rows[1]
    assert max(map(len, out.splitlines())) <= 100
    made = as_json(capsys, old, new, status=WORSE)
    (worst,) = [m for m in made["metrics"] if m["setting"] == "kernel sum"]
    assert worst["metric"] == "numa/static/bandwidth" and worst["p"] <= 0.05
    assert worst["low"] < worst["change"] < worst["high"] < -0.1
    assert worst["change"] == pytest.approx(1 / 1.2 - 1, abs=0.03)


def test_one_run_a_side_has_no_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = runs(tmp_path / "old", 1), runs(tmp_path / "new", 1, {2: 3.0})
    out, _ = told(capsys, old, new)
    assert "no verdict: one run a side; 4 or more show changes" in out
    assert "+2" in out and "no verdict\n" in out and "interval" not in out.splitlines()[3]
    told(capsys, "--require", "latency", old, new, status=CANNOT_TELL)
    lacking = told(capsys, "--require", "hashmap", old, new, status=CANNOT_TELL)[0]
    assert "hashmap: no such metric is on both sides" in lacking


def test_runs_that_cannot_reach_the_level_are_told_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = runs(tmp_path / "old", 3), runs(tmp_path / "new", 3, {2: 3.0})
    out, _ = told(capsys, old, new)
    assert "3 and 3 runs are too few: their least p is 0.1, so that no change can" in out
    told(capsys, "--require", "*", old, new, status=CANNOT_TELL)
    four = runs(tmp_path / "four", 4, {2: 3.0})
    assert "too few" not in told(capsys, old, four, status=WORSE)[0]


def test_what_cannot_be_told_says_what_would_have_been_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = runs(tmp_path / "old", 6, spread=0.1), runs(tmp_path / "new", 6, spread=0.1)
    made = as_json(capsys, old, new)
    assert set(verdicts(made).values()) == {"cannot tell"}
    assert all(0.1 < m["least"] < 1 for m in some(made["metrics"]))
    assert "cannot tell: " in told(capsys, old, new)[0]
    told(capsys, "--require", "numa/*", old, new, status=CANNOT_TELL)


def test_thresholds_by_pattern_the_last_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = runs(tmp_path / "old", 6), runs(tmp_path / "new", 6, {2: 1.1, 6: 1.1})
    given = ("--threshold", "1%", "--threshold", "*/bandwidth=0.3")
    made = as_json(capsys, *given, old, new, status=WORSE)
    assert {m["metric"]: m["threshold"] for m in made["metrics"]} == {
        "latency/cycle/time": 0.01,
        "numa/static/bandwidth": 0.3,
    }
    assert verdicts(made)["numa/static/bandwidth kernel sum"] == "slower within"
    assert verdicts(made)["latency/cycle/time size 16 Ki"] == "slower"
    told(capsys, "--threshold", "30%", old, new)
    for words in ("0", "x", "latency=", "150%"):
        with pytest.raises(SystemExit) as ended:
            program.main(["compare", "--threshold", words, str(old), str(new)])
        assert ended.value.code == BAD_INPUT and "expected a share" in capsys.readouterr().err


def test_a_change_that_is_shown_may_be_within_the_threshold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has words of its own in all formats, and is no finding."""
    old = runs(tmp_path / "old", 6, spread=0.004)
    new = runs(tmp_path / "new", 6, {0: 1.02, 1: 0.98}, spread=0.004)
    out, _ = told(capsys, old, new)
    rows = [line.split("  ")[-1] for line in out.splitlines() if line.startswith("latency")]
    for line, way in zip(some(rows), ("slower", "faster")):
        assert re.fullmatch(way + r" by [12]\.\d %, within 3 %", line)
    assert "9 metrics: 1 slower within, 1 faster within, 7 same" in out
    found = {m["setting"]: m for m in as_json(capsys, old, new)["metrics"]}
    assert found["size 4 Ki"]["verdict"] == "slower within"
    assert 0.01 < found["size 4 Ki"]["floor"] < found["size 4 Ki"]["change"] < 0.03
    assert found["size 8 Ki"]["verdict"] == "faster within"
    assert found["size 8 Ki"]["change"] < found["size 8 Ki"]["floor"] < 0
    assert found["size 16 Ki"]["floor"] is None
    table = told(capsys, "--format", "csv", old, new)[0]
    assert ",slower within\n" in table and ",faster within\n" in table
    assert f"| {rows[0]} |" in told(capsys, "--format", "md", old, new)[0]
    page = tmp_path / "page.html"
    told(capsys, "--output", page, old, new)
    html = page.read_text(encoding="utf-8")
    assert f"<td>{rows[0]}</td>" in html.replace("\n\t", "")
    told(capsys, "--threshold", "1%", old, new, status=WORSE)


def test_a_change_that_may_be_within_the_threshold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Shown, and estimated beyond it, but 0.7 times that may be all that it is."""
    old = runs(tmp_path / "old", 6, spread=0.012)
    new = runs(tmp_path / "new", 6, {0: 1.035}, spread=0.012, start=60)
    given = ("--threshold", "numa=30%", "--threshold", "latency/cycle/time size [!4]*=30%")
    out, _ = told(capsys, *given, old, new, status=CANNOT_TELL)
    assert re.search(r"  slower, perhaps within 3 %$", out, re.MULTILINE)
    page = told(capsys, "--format", "md", *given, old, new, status=CANNOT_TELL)[0]
    assert re.search(r" slower by 3\.\d %, perhaps within 3 % ", page)
    assert "perhaps within: a change of 2.1 %" in out and "1 slower perhaps within" in out


@pytest.mark.parametrize("width", [80, 100])
def test_names_are_legible_in_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    old, new = runs(tmp_path / "old", 6), runs(tmp_path / "new", 6, {2: 1.1, 0: 1.02})
    lines = told(capsys, "--all", old, new, status=WORSE)[0].splitlines()
    assert max(map(len, lines)) <= width
    assert sum(line.startswith("numa/static kernel triad  ") for line in lines) == 1
    assert any("95 % interval" in line and "verdict" in line for line in lines) == (width == 100)


def test_two_sides_are_needed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = runs(tmp_path / "old", 4), runs(tmp_path / "new", 4)
    out, _ = told(capsys, *sorted(old.iterdir()), "--", *sorted(new.iterdir()))
    assert "4 runs of" in out
    for words in ([], [old], [old, new, old], ["--", new], [old, "--"], [old, "--", new, "--"]):
        assert "compare needs two sides" in told(capsys, *words, status=BAD_INPUT)[1]
    missing = told(capsys, old, tmp_path / "none", status=BAD_INPUT)[1]
    assert "none: cannot be read" in missing


def test_runs_that_alternated_are_pairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = runs(tmp_path / "old", 6, step=2)
    new = runs(tmp_path / "new", 6, {1: 1.1}, start=1, step=2)
    out, _ = told(capsys, old, new, status=WORSE)
    assert "in pairs; the least p of so few is 0.031" in out and "came first" not in out
    few = [runs(tmp_path / f"few{i}", 4, start=i, step=2) for i in (0, 1)]
    assert "not paired; the least p of so few is 0.029" in told(capsys, *few)[0]


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
            folder.mkdir(exist_ok=True)
            write(folder / f"{i}-{j}.jsonl", lines)
    return folder


def test_of_several_hosts_the_unit_is_the_host(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = hosts(tmp_path / "old", 7, 1), hosts(tmp_path / "new", 7, 1.1, again=3)
    made = as_json(capsys, old, new, status=WORSE)
    assert made["unit"] == "node" and made["paired"] and made["new"]["units"] == 7
    assert set(verdicts(made).values()) == {"slower"}
    few = as_json(capsys, old, hosts(tmp_path / "few", 5, 1.1))
    assert not few["paired"] and few["new"]["units"] == 5
    assert set(verdicts(few).values()) == {"cannot tell"}
    two = told(capsys, *(hosts(tmp_path / side, 2, 1, again=6) for side in ("a", "b")))[0]
    assert all(len(line) <= 100 for line in some(two.splitlines()))
    assert "4 a side can show one; or compare one node at a time" in " ".join(two.split())


def changed(lines: Sequence[Line], kind: str) -> list[Line]:
    return [line for line in lines if line["type"] == kind]


def test_settings_that_differ_head_the_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def other(lines: list[Line]) -> None:
        machine = lines[0]["machine"] = copy.deepcopy(lines[0]["machine"])
        machine["cpu"]["microcode"] = "0xbeef"
        machine["frequency"]["governor"] = "powersave"
        machine["memory"]["thp"]["enabled"] = "never"
        lines[0]["program"] = {**lines[0]["program"], "compiler": "clang 99"}

    old, new = runs(tmp_path / "old", 4), runs(tmp_path / "new", 4, change=other)
    out, _ = told(capsys, old, new)
    for name, now in (
        ("cpu.microcode", "0xbeef"),
        ("frequency.governor", "powersave"),
        ("memory.thp.enabled", "never"),
        ("program.compiler", "clang 99"),
    ):
        (line,) = [x for x in out.splitlines() if x.startswith(f"differs    {name}: ")]
        assert line.endswith(f"-> {now}")
    assert out.count("differs") == 4


def test_unmatched_trials_name_the_field(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A trial that was measured with another size, and a benchmark that the other side lacks."""

    def other(lines: list[Line]) -> None:
        for line in changed(lines, "trial")[:2] + changed(lines, "trial")[6:]:
            line["id"] = run_id(line["id"])
            if line["benchmark"] == "latency":
                line["parameters"] = {**line["parameters"], "size": line["parameters"]["size"] * 64}
            else:
                line["benchmark"] = "checkpoint"

    old, new = runs(tmp_path / "old", 4), runs(tmp_path / "new", 4, change=other)
    made = as_json(capsys, old, new)
    assert "numa: 3 trials only in OLD" in made["unmatched"]
    assert "checkpoint: 3 trials only in NEW" in made["unmatched"]
    why = "latency: 2 against 2 trials differ in size (4 Ki, 8 Ki against 256 Ki, 512 Ki)"
    assert why in made["unmatched"]
    assert len(made["metrics"]) == 4


def test_another_protocol_is_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def other(lines: list[Line]) -> None:
        for line in changed(lines, "trial"):
            if line["benchmark"] == "numa":
                line["id"] = run_id(line["id"])

    old, new = runs(tmp_path / "old", 4), runs(tmp_path / "new", 4, change=other)
    for file in new.iterdir():
        text = file.read_text()
        lines = [json.loads(line) for line in text.splitlines()]
        for line in lines:
            if line["type"] == "benchmark" and line["name"] == "numa":
                line["protocol"]["version"] = 2
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    out, _ = told(capsys, old, new)
    assert "unmatched  numa: 3 against 3 trials differ in protocol (1 against 2)" in out
    assert "6 metrics" in out


def test_trials_that_fail_now(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def wrong(lines: list[Line]) -> None:
        changed(lines, "trial")[7].update(status="wrong", reasons=["the sum is 1, expected 2"])

    old, new = runs(tmp_path / "old", 4), runs(tmp_path / "new", 4, change=wrong)
    out, _ = told(capsys, old, new, status=WORSE)
    assert "fault      numa/static wrong in NEW: kernel=copy" in out
    assert "8 metrics" in out
    told(capsys, new, old)


def test_bimodal_times_are_compared_by_the_mean_of_their_modes(tmp_path: Path) -> None:
    def modes(share: float) -> Change:
        def bimodal(lines: list[Line]) -> None:
            trial = changed(lines, "trial")[7]
            trial.update(status="bimodal", reasons=["two modes"])
            trial["samples"]["modes"] = [
                {"time": 0.1, "share": share},
                {"time": 0.2, "share": 1 - share},
            ]

        return bimodal

    one = observations.load([runs(tmp_path / "old", 4, change=modes(0.9))], "OLD")[0]
    other = observations.load([runs(tmp_path / "new", 4, change=modes(0.4))], "NEW")[0]
    made = comparison.compare(one, other)
    (copied,) = [m for m in made.metrics if m["words"] == "kernel copy"]
    assert copied["name"] == "numa/static/bandwidth"
    assert copied["change"] == pytest.approx(2**-0.5 - 1, abs=0.02)
    assert copied["verdict"] == "slower"


def with_clocks(seed: int, slower: float = 1) -> Change:
    """Each run has a clock of its own, which all times follow. Its cycles last 1/2.5 ns on average,
    times `slower`."""
    rng = random.Random(seed)

    def clocked(lines: list[Line]) -> None:
        factor = slower * (1 + rng.gauss(0, 0.03))
        for trial in changed(lines, "trial"):
            trial["cycle"] = 0.4e-9 * factor
            for metric in trial["metrics"]:
                metric["value"] *= 1 / factor if metric["name"] == "bandwidth" else factor

    return clocked


def test_a_clock_that_is_not_the_same_in_all_runs_hides_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = runs(tmp_path / "old", 6, spread=0.002, change=with_clocks(1))
    made = as_json(
        capsys,
        old,
        runs(tmp_path / "new", 6, {2: 1.04}, spread=0.002, change=with_clocks(2)),
        status=WORSE,
    )
    found = verdicts(made)
    assert [m for m, v in found.items() if v == "slower"] == ["latency/cycle/time size 16 Ki"]
    slower = made["metrics"][0]
    assert slower["unit"] == "cycles/load" and slower["change"] == pytest.approx(0.04, abs=0.01)
    assert slower["old"] == pytest.approx(10, rel=0.01)  # 4 ns
    assert found["machine/cores/clock"] == "cannot tell"
    units = {m["metric"]: m["unit"] for m in made["metrics"]}
    assert units["numa/static/bandwidth"] == "B/cycle" and units["machine/cores/clock"] == "Hz"


def test_a_slower_clock_is_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = runs(tmp_path / "old", 6, spread=0.002, change=with_clocks(1))
    new = runs(tmp_path / "new", 6, spread=0.002, change=with_clocks(2, 1.2))
    found = verdicts(as_json(capsys, old, new, status=WORSE))
    assert found.pop("machine/cores/clock") == "slower"
    assert set(found.values()) == {"same"}


def test_a_metric_that_follows_the_time_is_compared_once(tmp_path: Path) -> None:
    one, other = (observations.load([runs(tmp_path / name, 4)], name)[0] for name in ("a", "b"))
    made = comparison.compare(one, other)
    names = [m["name"] for m in made.metrics]
    assert sorted(set(names)) == ["latency/cycle/time", "numa/static/bandwidth"]
    assert len(names) == len(points())


def test_other_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = runs(tmp_path / "old", 4), runs(tmp_path / "new", 4, {2: 2.0})
    rows = list(
        csv.DictReader(io.StringIO(told(capsys, "--format", "csv", old, new, status=WORSE)[0]))
    )
    assert len(rows) == 9 and rows[0]["verdict"] == "slower" and rows[0]["setting"] == "size 16 Ki"
    out, _ = told(capsys, "--format", "md", "--all", old, new, status=WORSE)
    table = [line for line in out.splitlines() if line.startswith("|")]
    assert len(table) == 11 and table[2].startswith("| latency/cycle size 16 Ki |")
    assert all(line.count("|") == 7 for line in some(table))
    out, _ = told(capsys, "--all", old, new, status=WORSE)
    assert sum(line.startswith(("latency", "numa")) for line in out.splitlines()) == 9


def test_nothing_to_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def other(lines: list[Line]) -> None:
        for line in changed(lines, "trial"):
            line["id"] = run_id(line["id"])

    old, new = runs(tmp_path / "old", 4), runs(tmp_path / "new", 4, change=other)
    out, _ = told(capsys, old, new, status=CANNOT_TELL)
    assert "no metric is on both sides" in out
    told(capsys, "--require", "*", old, new, status=CANNOT_TELL)


@pytest.mark.parametrize(
    "error", (MemoryError(), duckdb.OutOfMemoryException("out of memory"), RuntimeError("a bug"),
              ModuleNotFoundError("no module", name="numpy"))
)  # fmt: skip
def test_a_failure_is_no_metric_that_is_slower(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, error: Any
) -> None:
    def fail(*_: Any) -> None:
        raise error

    old, new = runs(tmp_path / "old", 1), runs(tmp_path / "new", 1)
    monkeypatch.setattr(comparison, "compare", fail)
    out, err = told(capsys, old, new, status=FAULT)
    lines = 1 + isinstance(error, ModuleNotFoundError)  # a command to paste has its own
    assert not out and err.count("\n") == lines and err.startswith("locus: ")


# Measured in turn: the commands are scripts that write a record to --output.


def script(folder: Path, name: str, factor: float, status: int = 0) -> list[str]:
    """A command that writes one of twelve records prepared for it, the next at each call."""
    ready = runs(folder / f"{name}-ready", 12, {2: factor})
    for i, file in enumerate(sorted(ready.iterdir())):
        text = file.read_text().replace("2025-03-14T", f"20{25 + i}-03-14T")
        file.write_text(text if name == "a" else text.replace(":00.000Z", ":30.000Z"))
    path = folder / name
    path.write_text(
        f"#!/bin/sh\nn=$(ls {ready}/*.jsonl | head -1)\n[ $1 = --output ] && mv $n $2\n"
        f"echo of the command\nexit {status}\n"
    )
    path.chmod(0o755)
    return [str(path)]


def test_measured_in_turn(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    a, b = script(tmp_path, "a", 1), script(tmp_path, "b", 1.2, status=1)
    kept = tmp_path / "kept"
    given = ("--measure", "6", "--keep", kept, "--", *a, "--", *b)
    out, err = told(capfd, *given, status=WORSE)
    assert sorted(f.name for f in kept.iterdir())[:2] == ["a-001.jsonl", "a-002.jsonl"]
    assert len(list(kept.iterdir())) == 12 and "6 pairs measured; records in" in err
    assert "in pairs; the least p of so few is 0.031" in out and "of the command" not in out
    turns = re.findall(r"pair (\d) of 6, ([AB])", err)
    assert turns[:4] == [("1", "A"), ("1", "B"), ("2", "B"), ("2", "A")]
    assert "exists; give another folder" in told(capfd, *given, status=1)[1]


def test_commands_that_cannot_be_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = script(tmp_path, "a", 1)
    for i, (words, why) in enumerate(
        (
            ([*a, "--", "false"], "false --output"),
            ([*a, "--", "true"], "and wrote no record"),
            ([*a, "--", str(tmp_path / "none")], "cannot be run"),
            (a, "needs two commands"),
            ([*a, "--"], "needs two commands"),
        )
    ):
        keep = ("--keep", tmp_path / f"kept{i}")
        assert why in told(capsys, "--measure", "2", *keep, "--", *words, status=BAD_INPUT)[1]
    assert (
        "needs two commands"
        in told(capsys, "--measure", "0", "--", *a, "--", *a, status=BAD_INPUT)[1]
    )


# The built program, with a change that `dummy` plants. It is so large that no noise hides it.

DUMMY = "dummy --variant steady --threads 1 --duration 1ms --repeats 20"
PLANT = "LOCUS_DUMMY_SLOWER"
SLOWER = 20  # times


def planted(capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, Any]:
    made = as_json(capsys, *words, status=WORSE)
    assert verdicts(made)["dummy/steady/time"] == "slower"
    (row,) = (m for m in made["metrics"] if m["metric"] == "dummy/steady/time")
    assert row["change"] > SLOWER / 2
    told = {d["name"]: (d["old"], d["new"]) for d in made["differs"]}
    assert {n: v for n, v in told.items() if "environment" in n} == {
        f"environment.{PLANT}": ("null", str(SLOWER))
    }
    return made


def test_a_planted_change_is_found_where_commands_alternate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    locus = [os.environ["LOCUS"], *DUMMY.split()]
    both = ("--", *locus, "--", "env", f"{PLANT}={SLOWER}", *locus)
    made = planted(capsys, "--measure", "6", "--keep", tmp_path / "kept", *both)
    assert made["paired"]


def test_a_planted_change_is_found_between_series_of_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--runs: each run counts, though all are in one file."""
    files = []
    for factor in ("1", str(SLOWER)):
        files.append(tmp_path / f"{factor}.jsonl")
        command = [os.environ["LOCUS"], *DUMMY.split(), "--runs", "5", "--output", str(files[-1])]
        own = {PLANT: factor} if factor != "1" else {}
        subprocess.run(command, check=True, env={**os.environ, **own}, capture_output=True)
    made = planted(capsys, *files)
    assert not made["paired"] and [made[side]["units"] for side in ("old", "new")] == [5, 5]


def test_a_plant_that_is_no_factor_is_refused() -> None:
    for given in ("", "-1", "0", "two", "1.05x", "inf", "nan"):
        command = [os.environ["LOCUS"], *DUMMY.split()]
        done = subprocess.run(
            command, check=False, env={**os.environ, PLANT: given}, capture_output=True, text=True
        )
        assert f"{PLANT}={given} is no factor above 0" in done.stdout + done.stderr


# Expected values.


def expected(capsys: pytest.CaptureFixture[str], *files: Path) -> dict[str, Any]:
    assert program.main(["export", "--expect", *map(str, files)]) == GOOD
    made: dict[str, Any] = json.loads(capsys.readouterr().out)
    return made


def alike(folder: Path, n: int, odd: Optional[dict[int, float]] = None, **header: Any) -> Path:
    """n hosts of one kind; n1 has the odd factors."""
    folder.mkdir()
    for i in range(n):
        one = runs(folder / f"n{i}", 1, odd if i == 1 else None, host=f"n{i}", **header)
        assert one.is_dir()
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
    assert len(lines) == 4 and lines[0].startswith("n1  outside      latency/cycle/time size 16 Ki")
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
    assert "n0  cannot tell  no values are expected of its class" in out
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


def test_one_node_with_several_runs_has_expected_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = expected(capsys, runs(tmp_path / "old", 3))
    assert {m["n"] for m in made["classes"][0]["metrics"]} == {3}


def test_a_page_with_pictures_before_and_after(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = runs(tmp_path / "<old>", 4), runs(tmp_path / "new", 4, {2: 2.0})
    page = tmp_path / "page.html"
    told(capsys, "--output", page, old, new, status=WORSE)
    html = page.read_text(encoding="utf-8")
    assert html.count("<svg") == 2 and html.count("<figure") == 2
    assert html.count("<tr>") == 1 + 9 and '<td class="flag">slower</td>' in html
    assert "latency before and after" in html and "value / mean of the old runs" in html
    assert "src=" not in html and "http-equiv" in html
    assert "exists; give another name" in told(capsys, "--output", page, old, new, status=1)[1]
    other = tmp_path / "none" / "page.html"
    assert "cannot be written" in told(capsys, "--output", other, old, new, status=1)[1]
