# SPDX-License-Identifier: Apache-2.0
"""Plans of comparisons. The power that they state is compared with simulations here: runs are drawn
independently, and compare itself says what is found."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from locus_analysis.compare import comparison, inference, plan, power
from locus_analysis.compare.inference import Array
from make_records import ONE
from some import some
from test_compare import BAD_INPUT, CANNOT_TELL, GOOD, as_json, runs, told
from test_compare_nodes import hosts
from test_threshold import COMPARISONS, side

SHARE = 0.8  # share of comparisons in which the planned change is found
KNOWN = 2000  # runs, whose scatter is well known
LABELINGS = 2000  # of a comparison: more say no more about its power


@pytest.fixture(autouse=True)
def few_labelings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inference, "MOST", LABELINGS)


def drawn(rng: np.random.Generator, n: int, scatter: Array, shared: float) -> Array:
    """Runs whose metrics move together, by this share of their variance."""
    common = np.sqrt(shared) * rng.normal(size=(n, 1))
    own = np.sqrt(1 - shared) * rng.normal(size=(n, len(scatter)))
    return np.asarray(scatter * (common + own))


def found(rng: np.random.Generator, n: int, scatter: Array, shared: float, change: float) -> int:
    """How many of n-a-side comparisons report the first metric as slower, if it is."""
    times = 0
    for _ in range(COMPARISONS):
        old, new = (drawn(rng, n, scatter, shared) for _ in range(2))
        new[:, 0] += np.log1p(change)
        made = comparison.compare(side("a", old), side("b", new))
        times += any(m["name"] == "b0/v0/time" and m["verdict"] == "slower" for m in made.metrics)
    return times


def chance(seen: float) -> float:
    """Allowed deviation from SHARE by chance."""
    return abs(seen / COMPARISONS - SHARE) - 2.6 * math.sqrt(SHARE * (1 - SHARE) / COMPARISONS)


def planned(
    rng: np.random.Generator, n: int, scatter: Array, shared: float, effect: float = 0.05
) -> Any:
    """The plan for the first metric; the scatter comes from many runs, n are at hand."""
    y = [drawn(rng, KNOWN, scatter, shared) for _ in range(2)]
    made = plan.plan(side("a", y[0]), side("b", y[1][:n]), (), [("*", effect)])
    return next(m for m in made.metrics if m["name"] == "b0/v0/time")


@pytest.mark.parametrize(
    ("n", "many", "scatter", "shared"),
    [(4, 1, 0.01, 0), (6, 1, 0.02, 0), (4, 20, 0.01, 0), (6, 20, 0.02, 0), (6, 20, 0.02, 0.8)],
)
def test_what_is_planned_is_found_in_four_of_five(
    n: int, many: int, scatter: float, shared: float
) -> None:
    rng = np.random.default_rng(34)
    of = np.full(many, scatter)
    least = planned(rng, n, of, shared, effect=1)["least"]  # few runs find such a change
    seen = found(rng, n, of, shared, least)
    print(f"{n} runs, {many} metrics: {least:.2%} found in {seen} of {COMPARISONS}")
    assert chance(seen) <= 0.06


@pytest.mark.parametrize(("many", "scatter"), [(1, 0.03), (20, 0.015), (20, 0.025)])
def test_so_many_runs_are_enough_and_few_less_are_not(many: int, scatter: float) -> None:
    rng = np.random.default_rng(32)
    of = np.full(many, scatter)
    needed = planned(rng, 6, of, 0)["needed"]
    enough, less = (found(rng, n, of, 0, 0.05) for n in (needed, max(4, needed * 2 // 3)))
    print(f"{scatter:.1%}, {many}: {needed} runs find 5 % in {enough}, a third less in {less}")
    assert chance(min(enough, SHARE * COMPARISONS)) <= 0.05
    assert less < enough


@pytest.fixture
def rough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few comparisons are simulated: for tests of words, and of which number is larger."""
    monkeypatch.setattr(power, "TIMES", 4)
    monkeypatch.setattr(power, "SAMPLES", 40)


roughly = pytest.mark.usefixtures("rough")


@roughly
def test_a_plan_from_one_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = runs(tmp_path / "old", 6, spread=0.02)
    made = as_json(capsys, "--plan", old)
    assert made["schema"] == "locus-plan-1.0" and made["units"] == [6] and not made["paired"]
    assert len(made["metrics"]) == 9
    for m in made["metrics"]:
        assert (m["effect"], m["threshold"]) == (pytest.approx(0.05), 0.03)
        assert 0.01 < m["scatter"] < 0.04 and 4 <= m["needed"] <= 24 and 0.03 < m["least"] < 0.1
    needs = [m["needed"] for m in made["metrics"]]
    assert needs == sorted(needs, reverse=True)
    least = as_json(capsys, "--plan", "--effect", "4%", old)["metrics"]
    assert all(a["needed"] >= b for a, b in zip(some(least), needs))
    (m,) = as_json(capsys, "--plan", "--effect", "numa=1%", "--threshold", "2%", old)["metrics"][:1]
    assert m["metric"].startswith("numa") and m["needed"] is None
    typo = ("--plan", "--effect", "nonuma=1%", "--threshold", "nolatency=2%")
    said = [
        "--threshold nolatency: no such metric is in these runs",
        "--effect nonuma: no such metric is in these runs",
    ]
    assert as_json(capsys, *typo, old)["unused"] == said
    assert told(capsys, *typo, old)[0].endswith("\n".join(said) + "\n")
    assert "".join(f"note: {line}\n" for line in said) in told(
        capsys, *typo, "--format", "csv", old
    )[1].replace("locus: ", "")
    rows = list(csv.DictReader(io.StringIO(told(capsys, "--plan", "--format", "csv", old)[0])))
    assert [int(r["needed"]) for r in rows] == needs


@roughly
def test_a_plan_as_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    old = runs(tmp_path / "old", 6, spread=0.02)
    lines = told(capsys, "--plan", old)[0].splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == f"6 runs of {ONE.host}, not paired"
    (title,) = [line for line in lines if line.startswith("metric ")]
    assert title.split("  ")[-1] == "needs" and "6 a side find" in title
    assert any(line.startswith("numa/static kernel triad  ") for line in lines)
    assert any(line.startswith("9 metrics, runs a side to find 5 %: ") for line in lines)
    marked = told(capsys, "--plan", "--format", "md", old)[0]
    assert marked.count("\n| ") == 2 + 9
    within = told(capsys, "--plan", "--effect", "2%", old)[0]
    assert within.count("  within 3 %\n") == 9
    assert "9 metrics: the change to be found is within the threshold" in within
    assert "more than 200" not in within
    some_of = told(capsys, "--plan", "--effect", "2%", "--effect", "numa=5%", old)[0]
    assert "3 metrics, runs a side to find 5 %: " in some_of and "6 metrics: the change" in some_of


@roughly
def test_a_plan_of_pairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A drift of the machine is in both runs of a pair."""
    old = runs(tmp_path / "old", 6, step=2)
    new = runs(tmp_path / "new", 6, {1: 1.1}, start=1, step=2)
    made = as_json(capsys, "--plan", old, new)
    assert made["paired"] and made["units"] == [6, 6]
    assert all(m["needed"] >= 6 and m["scatter"] < 0.03 for m in some(made["metrics"]))


@roughly
def test_a_change_between_the_sides_is_no_scatter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = runs(tmp_path / "old", 6), runs(tmp_path / "new", 6, {0: 2.0}, start=60)
    for words in ((old, new), (*sorted(old.iterdir()), "--", *sorted(new.iterdir()))):
        made = as_json(capsys, "--plan", *words)
        assert all(m["scatter"] < 0.02 for m in some(made["metrics"]))


@roughly
def test_of_one_run_the_scatter_is_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = runs(tmp_path / "one", 1), runs(tmp_path / "other", 1)
    for words in ((one,), (one, other)):
        out, _ = told(capsys, "--plan", *words, status=CANNOT_TELL)
        assert "one run a side: the scatter between runs is unknown" in " ".join(out.split())
        assert "metric " not in out
        made = as_json(capsys, "--plan", *words, status=CANNOT_TELL)
        assert {m["needed"] for m in made["metrics"]} == {None} and "unknown" in made["reason"]


@roughly
def test_few_runs_are_told_to_be_rough(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = as_json(capsys, "--plan", few := runs(tmp_path / "few", 3))
    assert all(m["least"] is None and m["needed"] >= 4 for m in some(made["metrics"]))
    assert "give the scatter only roughly" in told(capsys, "--plan", few)[0]


@roughly
def test_of_several_hosts_their_scatter_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = as_json(capsys, "--plan", hosts(tmp_path / "some", 5, 1))
    assert made["unit"] == "node" and all(m["needed"] is None for m in some(made["metrics"]))


@roughly
def test_what_no_plan_is_made_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = runs(tmp_path / "old", 2)
    for words in ([], ["--output", tmp_path / "x.html", old], ["--measure", "3", old]):
        error = told(capsys, "--plan", *words, status=BAD_INPUT)[1]
        assert ("takes no" if words else "needs records alone") in error
    assert told(capsys, "--plan", "--format", "json", old, status=GOOD)[0].startswith("{")
    assert json.loads(told(capsys, "--plan", "--format", "json", old)[0])["most"] == plan.MOST
