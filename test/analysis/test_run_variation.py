# SPDX-License-Identifier: Apache-2.0
"""Runs of one command: how much they differ, and claims judged by that."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Optional

import pytest
from locus_analysis import __main__ as program
from locus_analysis.card import content, summary
from locus_analysis.insight import claims, levels, run_variation
from locus_analysis.records import database, description, published
from make_records import (
    ONE,
    TWO,
    Line,
    Machine,
    Point,
    core_to_core,
    latency,
    of_lines,
    record,
    run_id,
    write,
)
from some import some

TIMES = [1.0, 1.02, 0.98, 1.01, 0.99, 1.03, 1.04]
IDS = "0123456789abcdef"


def a_series(
    times: list[float],
    statuses: Optional[dict[int, str]] = None,
    commands: Optional[list[list[str]]] = None,
) -> list[Line]:
    """A run for each factor of time. Without `commands` they belong to one --runs."""
    lines: list[Line] = []
    for n, factor in enumerate(times):
        points = [
            Point(
                "sharing",
                variant,
                {"size": 64},
                2,
                seconds * factor,
                "update",
                noise=0.0,
            )
            for variant, seconds in (("dense", 4e-9), ("padded", 1e-9))
        ]
        points[0].status = (statuses or {}).get(n, "ok")
        points[0].reasons = [] if points[0].status == "ok" else ["other work"]
        changes: dict[str, Any] = {"started": f"2025-03-14T09:{n:02}:00.000Z"}
        if commands:
            changes["command"] = commands[n]
        else:
            changes["series"] = {"id": IDS, "run": n + 1, "of": len(times)}
        lines += record(ONE, points, run_id(f"run {n}"), seed=1, **changes)
    return lines


def merged_of(lines: list[Line]) -> dict[str, Any]:
    db = database.tables(of_lines(lines))
    series = run_variation.series(db)
    assert len(series) == 1
    found = run_variation.judged(database.measured(db, "sharing"), series)
    assert len(found) == 2
    return {t["variant"]: t for t in found}


def values_of(lines: list[Line], variant: str) -> list[float]:
    return [
        next(m["value"] for m in line["metrics"] if m["name"] == "time")
        for line in lines
        if line["type"] == "trial" and line["variant"] == variant
    ]


def test_seven_runs_have_an_interval() -> None:
    """The interval of seven values is from the lowest to the highest: 98 %."""
    lines = a_series(TIMES)
    dense = merged_of(lines)["dense"]["metrics"]["time"]
    values = values_of(lines, "dense")
    assert dense["value"] == pytest.approx(median(values))
    assert (dense["low"], dense["high"]) == pytest.approx((min(values), max(values)))
    assert dense["between"] == pytest.approx((max(values) - min(values)) / median(values))
    assert (dense["sound_runs"], dense["tried"], dense["range"]) == (7, 7, None)


def test_an_interval_covers_what_it_says() -> None:
    """At least 95 % of the samples of n values have the median between its bounds."""
    rng = random.Random(1)
    for n in (6, 9, 20):
        outside = run_variation.outside(n)
        assert outside is not None
        held = 0
        for _ in range(2000):
            values = sorted(rng.random() for _ in range(n))
            held += values[outside] <= 0.5 <= values[-1 - outside]
        assert held > 0.94 * 2000
    assert [run_variation.outside(n) for n in (1, 5, 6, 8, 9)] == [None, None, 0, 0, 1]


def test_runs_that_are_not_ok_do_not_count() -> None:
    lines = a_series(TIMES, {1: "noisy", 6: "unconverged"})
    dense = merged_of(lines)["dense"]
    values = [v for n, v in enumerate(values_of(lines, "dense")) if n not in (1, 6)]
    time = dense["metrics"]["time"]
    assert dense["status"] == "ok" and (time["sound_runs"], time["tried"]) == (5, 7)
    assert time["value"] == pytest.approx(median(values)) and time["low"] is None
    assert time["range"] == {"of": 5, "low": min(values), "high": max(values)}


def test_without_an_ok_run_nothing_is_concluded() -> None:
    dense = merged_of(a_series(TIMES, dict.fromkeys(range(7), "noisy")))["dense"]
    assert dense["status"] == "noisy" and dense["metrics"]["time"]["value"] is None


def with_ratios(lines: list[Line], step: float) -> list[Line]:
    """The ratio of each run is larger by a step than in the run before."""
    for run, line in enumerate(t for t in lines if t["type"] == "trial"):
        if line["variant"] == "dense":
            line["ratios"] = [
                {
                    "name": "slowdown", "parameter": "variant", "of": "dense", "to": "padded",
                    "metric": "time", "value": 4.0 + run * step, "ci": [1.0, 9.0],
                    "trial": next(
                        t["id"] for t in lines if t["type"] == "trial" and t["variant"] == "padded"
                    ),
                }
            ]  # fmt: skip
    return lines


def test_ratios_are_compared_run_by_run() -> None:
    lines = with_ratios(a_series(TIMES), 0.1)
    (ratio,) = merged_of(lines)["dense"]["ratios"]
    assert ratio["value"] == pytest.approx(4.6) and (
        ratio["low"],
        ratio["high"],
    ) == pytest.approx((4.0, 5.2))
    assert (ratio["sound_runs"], ratio["tried"]) == (7, 7)


@pytest.mark.parametrize(("step", "sure"), [(0.01, content.CERTAIN), (0.1, content.ROUGH)])
def test_the_card_has_the_intervals_between_runs(step: float, sure: str) -> None:
    """The intervals of single runs, 1 to 9, are wider."""
    lines = with_ratios(a_series(TIMES), step)
    (made,) = summary.cards(database.tables(of_lines(lines)))
    (line,) = (line for line in made.lines if line.name == "false sharing")
    assert line.numbers["ratio"] == pytest.approx(4 + 6 * step) and line.sure == sure
    assert "medians and intervals of 7 runs, where these are ok" in made.results


def test_trials_that_no_run_measured_well_are_shown_as_those_of_the_last() -> None:
    lines = a_series(TIMES, dict.fromkeys(range(7), "noisy"))
    db = database.tables(of_lines(lines))
    dense, padded = run_variation.of_time(db, "sharing")
    assert (dense["status"], padded["status"]) == ("noisy", "ok")
    assert dense["value"] == pytest.approx(values_of(lines, "dense")[-1])
    assert dense["whole"] == padded["whole"] == run_id("run 6")


SMALL = Machine("n8", "a machine", cpu_nodes=2, cores=4)


def with_a_bad_run(points: Callable[[], list[Point]], machine: Machine = TWO) -> list[Line]:
    """Seven runs; the last one took three times as long, and found CPU 5 to be slow."""
    lines: list[Line] = []
    for n in range(7):
        own = points()
        for p in own if n == 6 else []:
            p.seconds *= 3
            for level in (p.pairs or {}).get("levels", []):
                level.update({q: 3 * level[q] for q in ("0", "0.25", "0.5", "0.75", "0.99")})
            if p.pairs:
                odd = {"cpu": 5, "level": "L3", "median": 1e-6, "of": 1e-7}
                p.pairs["outstanding"].append(odd)
        series = {"id": IDS, "run": n + 1, "of": 7}
        started = f"2025-03-14T09:{n:02}:00.000Z"
        lines += record(machine, own, run_id(f"run {n}"), seed=n, series=series, started=started)
    return lines


def carded(lines: list[Line], name: str) -> content.Line:
    (made,) = summary.cards(database.tables(of_lines(lines)))
    (line,) = (line for line in made.lines if line.name == name)
    return line


def test_core_to_core_is_the_median_of_runs() -> None:
    line = carded(with_a_bad_run(lambda: core_to_core(SMALL), SMALL), "core to core")
    alone = carded(record(SMALL, core_to_core(SMALL), run_id("one")), "core to core")
    assert line.numbers == pytest.approx(alone.numbers) and "slower" not in line.text


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ((25e-9, 25e-9, 126e-9), "25.0 ns or 126 ns same L3, as the guest is told"),
        ((25e-9, 26e-9, 24e-9), "25.0 ns same L3, as the guest is told"),
        ((90e-9, 126e-9, 25e-9), "25.0 ns or 108 ns same L3, as the guest is told"),
    ],
)
def test_both_levels_are_named_where_runs_see_two(runs: tuple[float, ...], said: str) -> None:
    lines: list[Line] = []
    for n, seconds in enumerate(runs):
        (point, *_) = core_to_core(ONE)
        point.seconds = seconds
        for level in (point.pairs or {})["levels"]:
            level.update(dict.fromkeys(("0", "0.25", "0.5", "0.75", "0.99"), seconds))
            level["meetings"].update(dict.fromkeys(("0", "0.25", "0.5", "0.75", "0.99"), seconds))
        series = {"id": IDS, "run": n + 1, "of": len(runs)}
        started = f"2025-03-14T09:{n:02}:00.000Z"
        lines += record(ONE, [point], run_id(f"run {n}"), series=series, started=started)
    line = carded(lines, "core to core")
    assert line.text == said and line.sure == content.ROUGH


def test_both_levels_are_named_where_one_run_sees_two() -> None:
    (point, *_) = core_to_core(ONE)
    for level in (point.pairs or {})["levels"]:
        level["meetings"].update({"0.25": 25e-9, "0.5": 126e-9, "0.75": 130e-9})
    line = carded(record(ONE, [point], run_id("one")), "core to core")
    assert line.text == "25.0 ns or 128 ns same L3, as the guest is told"


def test_memory_of_other_nodes_is_the_median_of_runs() -> None:
    def matrix() -> list[Point]:
        return [p for p in latency(TWO, octave=1) if p.variant in ("cycle", "matrix")]

    alone = carded(record(TWO, matrix(), run_id("one")), "remote memory")
    line = carded(with_a_bad_run(matrix), "remote memory")
    assert line.numbers == pytest.approx(alone.numbers, rel=0.05)


def test_levels_are_found_in_the_medians_of_runs() -> None:
    """A curve that one run of seven measured wrongly has the levels of the other runs."""
    lines = with_a_bad_run(lambda: [p for p in latency(TWO, octave=2) if p.variant == "cycle"])
    found = levels.findings(database.tables(of_lines(lines)))
    assert {f.whole for f in found} == {run_id("run 6")}
    (first,) = (f for f in found if f.first)
    assert [level.time for level in first.levels] == pytest.approx(
        [2.2e-9, 4e-9, 15e-9, 83e-9], rel=0.05
    )


LESSON = {"claims": [{"claim": "Padded is faster.", "value": "dense / padded", "expected": "> 3"}]}


def verdicts(lines: list[Line], monkeypatch: pytest.MonkeyPatch) -> list[claims.ClaimRow]:
    monkeypatch.setattr(published, "lesson", lambda _: LESSON)
    db = database.tables(of_lines(lines))
    trials = run_variation.judged(database.measured(db, "sharing"), run_variation.series(db))
    of = description.Described("sharing")
    return [row for claim in claims.told(of, trials) for row in claim["rows"]]


def test_claims_are_judged_by_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run has a narrow interval; between runs the ratio of the two may fall below 3."""
    (row,) = verdicts(a_series(TIMES), monkeypatch)
    assert row["verdict"] == "agrees"
    (row,) = verdicts(a_series([1, 1.5, 1, 1, 1.5, 1, 1.5]), monkeypatch)
    assert row["verdict"] == "cannot be told"


def test_too_few_runs_are_no_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    (row,) = verdicts(a_series(TIMES[:5], {2: "noisy"}), monkeypatch)
    assert row["verdict"] == "cannot be told"
    assert row["why"] == "there is no interval: 4 of 5 runs are ok"


def test_appended_runs_of_the_same_command_are_a_series() -> None:
    command = ["locus-mpi", "sharing", "--output", "x"]
    lines = a_series(TIMES, commands=[command, *[[*command, "--append"]] * 6])
    assert merged_of(lines)["dense"]["tried"] == 7


def test_other_runs_of_a_file_are_none() -> None:
    command = ["locus", "sharing", "--output", "x"]
    others = [
        command,
        [*command, "--append", "--threads", "2"],
        [*command, "--append", "--seed"],
    ]
    db = database.tables(of_lines(a_series(TIMES[:3], commands=others)))
    assert run_variation.series(db) == []


def test_the_report_says_how_far_runs_lie_apart(tmp_path: Path) -> None:
    file = write(tmp_path / "series.jsonl", a_series(TIMES, {3: "noisy"}))
    page = tmp_path / "page.html"
    assert program.main(["report", str(file), "--output", str(page)]) == 0
    text = " ".join(page.read_text(encoding="utf-8").split())
    assert "How far 7 runs of sharing lie apart" in text
    assert text.count('<td class="number">6 of 7</td>') == 1
    assert text.count('<td class="number">7 of 7</td>') == 1
    assert all(f"run {n} of 7" in text for n in some(range(1, 8)))
