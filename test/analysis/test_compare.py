# SPDX-License-Identifier: Apache-2.0
"""Comparisons of runs: what is matched, what is said, and with which exit status."""

from __future__ import annotations

import copy
import csv
import io
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Optional

import pytest
from locus_analysis import __main__ as program
from locus_analysis import compare, sides
from make_records import ONE, Line, Point, record, run_id, write
from some import some

GOOD, WORSE, BAD_INPUT, CANNOT_TELL = 0, 1, 2, 4
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
    assert "not paired; 924 ways" in out and "9 metrics: 9 same" in out
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
    assert "3 and 3 runs have 20 ways to be labelled: no change can be shown at 5 %; 4" in out
    told(capsys, "--require", "*", old, new, status=CANNOT_TELL)
    four = runs(tmp_path / "four", 4, {2: 3.0})
    assert "ways to be labelled" not in told(capsys, old, four, status=WORSE)[0]


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
    assert verdicts(made)["numa/static/bandwidth kernel sum"] == "same"
    assert verdicts(made)["latency/cycle/time size 16 Ki"] == "slower"
    told(capsys, "--threshold", "30%", old, new)
    for words in ("0", "x", "latency=", "150%"):
        with pytest.raises(SystemExit) as ended:
            program.main(["compare", "--threshold", words, str(old), str(new)])
        assert ended.value.code == BAD_INPUT and "expected a share" in capsys.readouterr().err


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
    assert "in pairs; 64 ways" in out and "came first" not in out
    few = [runs(tmp_path / f"few{i}", 4, start=i, step=2) for i in (0, 1)]
    assert "not paired; 70 ways" in told(capsys, *few)[0]


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

    one = sides.load([runs(tmp_path / "old", 4, change=modes(0.9))], "OLD")[0]
    other = sides.load([runs(tmp_path / "new", 4, change=modes(0.4))], "NEW")[0]
    made = compare.compare(one, other)
    (copied,) = [m for m in made.metrics if m["words"] == "kernel copy"]
    assert copied["name"] == "numa/static/bandwidth"
    assert copied["change"] == pytest.approx(2**-0.5 - 1, abs=0.02)
    assert copied["verdict"] == "slower"


def test_a_metric_that_follows_the_time_is_compared_once(tmp_path: Path) -> None:
    one, other = (sides.load([runs(tmp_path / name, 4)], name)[0] for name in ("a", "b"))
    made = compare.compare(one, other)
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
    out, _ = told(capsys, old, new)
    assert "no metric is on both sides" in out
    told(capsys, "--require", "*", old, new, status=CANNOT_TELL)
