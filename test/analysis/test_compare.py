# SPDX-License-Identifier: Apache-2.0
"""Comparisons of runs: what is matched, what is reported, and the exit status."""

from __future__ import annotations

import copy
import csv
import io
import json
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Optional

import duckdb
import pytest
from locus_analysis import __main__ as program
from locus_analysis.compare import comparison, formats, observations
from make_records import ONE, Line, Point, brief, record, run_id, write
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
        lines = brief(lines)
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
    """More is worse for a time, less for a bandwidth."""
    old = runs(tmp_path / "old", 6)
    new = runs(tmp_path / "new", 6, {2: 1.1, 6: 1.2, 0: 0.9})
    out, _ = told(capsys, old, new, status=WORSE)
    rows = [line for line in out.splitlines() if line.startswith(("latency", "numa"))]
    assert [line.split("  ")[-1] for line in rows] == ["slower", "slower", "faster"]
    assert rows[0].startswith("numa/static kernel sum") and "-1" in rows[0]
    assert rows[1].startswith("latency/cycle size 16 KiB") and "+1" in rows[1]
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
    assert "3 and 3 runs are too few: their smallest p is 0.1, so no change can" in out
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
    old, new = runs(tmp_path / "old", 6), runs(tmp_path / "new", 6, {2: 1.1, 6: 1.2, 0: 0.9})
    given = ("--threshold", "1%", "--threshold", "*/bandwidth=0.3")
    made = as_json(capsys, *given, old, new, status=WORSE)
    assert {m["metric"]: m["threshold"] for m in made["metrics"]} == {
        "latency/cycle/time": 0.01,
        "numa/static/bandwidth": 0.3,
    }
    assert verdicts(made)["numa/static/bandwidth kernel sum"] == "slower within"
    assert verdicts(made)["latency/cycle/time size 16 KiB"] == "slower"
    told(capsys, "--threshold", "30%", old, new)
    for words in ("0", "x", "latency=", "150%"):
        with pytest.raises(SystemExit) as ended:
            program.main(["compare", "--threshold", words, str(old), str(new)])
        assert ended.value.code == BAD_INPUT and "expected a share" in capsys.readouterr().err


def test_a_change_that_is_shown_may_be_within_the_threshold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has its own words in all formats, and is not a finding."""
    old = runs(tmp_path / "old", 6, spread=0.004)
    new = runs(tmp_path / "new", 6, {0: 1.02, 1: 0.98}, spread=0.004)
    out, _ = told(capsys, old, new)
    rows = [line.split("  ")[-1] for line in out.splitlines() if line.startswith("latency")]
    for line, way in zip(some(rows), ("slower", "faster")):
        assert re.fullmatch(way + r" by [12]\.\d %, within 3 %", line)
    assert "9 metrics: 1 slower within, 1 faster within, 7 same" in out
    found = {m["setting"]: m for m in as_json(capsys, old, new)["metrics"]}
    assert found["size 4 KiB"]["verdict"] == "slower within"
    assert 0.01 < found["size 4 KiB"]["floor"] < found["size 4 KiB"]["change"] < 0.03
    assert found["size 8 KiB"]["verdict"] == "faster within"
    assert found["size 8 KiB"]["change"] < found["size 8 KiB"]["floor"] < 0
    assert found["size 16 KiB"]["floor"] is None
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
    """The change is shown and estimated beyond the threshold, but may be only 0.7 of it."""
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
    for words in ([], [old], ["--", new], [old, "--"], [old, "--", new, "--"]):
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
    why = "latency: 2 against 2 trials differ in size (4 KiB, 8 KiB against 256 KiB, 512 KiB)"
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
    """Each run has its own clock, which all times follow. Its cycles last 1/2.5 ns on average,
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
    assert [m for m, v in found.items() if v == "slower"] == ["latency/cycle/time size 16 KiB"]
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
    assert len(rows) == 9 and rows[0]["verdict"] == "slower" and rows[0]["setting"] == "size 16 KiB"
    out, _ = told(capsys, "--format", "md", "--all", old, new, status=WORSE)
    table = [line for line in out.splitlines() if line.startswith("|")]
    assert len(table) == 11 and table[2].startswith("| latency/cycle size 16 KiB |")
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
    lines = 1 + isinstance(error, ModuleNotFoundError)  # a command to paste has its own line
    assert not out and err.count("\n") == lines and err.startswith("locus: ")


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
    assert (
        "exists; give another name" in told(capsys, "--output", page, old, new, status=BAD_INPUT)[1]
    )
    other = tmp_path / "none" / "page.html"
    assert "cannot be written" in told(capsys, "--output", other, old, new, status=FAULT)[1]


def test_names_of_different_rows_differ(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Intervals give way to names; if that is not enough, a name takes several lines."""

    def longer(lines: list[Line]) -> None:
        for line in changed(lines, "trial")[:6]:
            size = line["parameters"]["size"]
            line["parameters"] = {"size": 64, "pages": f"of a kind that ends in {size}"}

    old = runs(tmp_path / "old", 4, change=longer)
    new = runs(tmp_path / "new", 4, dict.fromkeys(range(6), 2.0), change=longer)
    for columns in ("60", "100"):
        monkeypatch.setenv("COLUMNS", columns)
        lines = told(capsys, old, new, "--all", status=WORSE)[0].splitlines()
        assert max(map(len, lines)) <= int(columns), lines
        names = " ".join(line.lstrip().split("  ")[0] for line in lines)
        for size in some([4096 << i for i in range(6)]):
            assert f"ends in {size} " in names, lines
    assert formats.aligned(
        [["name", "n"], ["aaaaaaaaaaaa 1", "5"], ["aaaaaaaaaaaa 2", "6"]], 10
    ) == [
        "name          n",
        "aaaaaaaaaaaa  5",
        "  1",
        "aaaaaaaaaaaa  6",
        "  2",
    ]
    assert formats.shortened("a" * 40 + "1", "a" * 40 + "2") == ["a" * 40 + "1", "a" * 40 + "2"]


def test_what_is_not_shown_and_what_is_not_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = runs(tmp_path / "old", 6), runs(tmp_path / "new", 6, start=60)
    out, _ = told(capsys, "--threshold", "nolatency=2%", "--threshold", "5%", old, new)
    assert "9 metrics the same: --all\n" in out and "more metrics" not in out
    assert out.endswith("--threshold nolatency: no such metric is on both sides\n")
    made = as_json(capsys, "--threshold", "nolatency=2%", "--threshold", "numa=2%", old, new)
    assert made["unused"] == ["nolatency"]
    out, _ = told(capsys, "--threshold", "nolatency=2%", old, new, new)
    assert "--threshold nolatency: no such metric" in out
    given = ("--threshold", "nolatency=2%", "--require", "nonuma", "--format", "csv")
    for sides in ([old, new], [old, new, new]):
        _, notes = told(capsys, *given, *sides, status=CANNOT_TELL)
        assert "note: --threshold nolatency: no such metric" in notes
        assert "required, but cannot be told: nonuma: no such metric" in notes
    out, _ = told(capsys, "--require", "nonuma", old, new, new, status=CANNOT_TELL)
    assert " ".join(out.split()).count("required, but cannot be told: nonuma: no such metric") == 2
