# SPDX-License-Identifier: Apache-2.0
"""What runs show: the functions against known values, the false alarms in simulated comparisons of
whole suites without a change, and the power with one."""

from __future__ import annotations

import os
from itertools import combinations

import numpy as np
import pytest
from locus_analysis.compare import inference
from locus_analysis.compare.inference import LEVEL, shown
from suites import BANDWIDTH, CORE, NAMES, halves, runs

# All 2,000 take minutes: COMPARISONS=2000.
COMPARISONS = int(os.environ.get("COMPARISONS", "60"))
A_SIDE = 6


def test_functions_against_known_values() -> None:
    x = np.array([0.5, 1.0, 10.0])
    assert inference.digamma(x) == pytest.approx([-1.96351003, -0.57721566, 2.25175259], abs=1e-8)
    assert inference.trigamma(x) == pytest.approx([4.93480220, 1.64493407, 0.10516634], abs=1e-8)
    assert inference.trigamma_inverse(inference.trigamma(x)) == pytest.approx(x, rel=1e-4)
    df = np.array([1.0, 2.0, 10.0, 30.0, np.nan])
    told = inference.t_quantile(df)
    assert told[:4] == pytest.approx([12.7062, 4.30265, 2.22814, 2.04227], rel=1e-4)
    assert np.isnan(told[4])


def test_numbers_of_labelings() -> None:
    assert inference.labelings(6, 6, False) == 924 and inference.labelings(6, 6, True) == 64
    assert inference.least_p(6, 6, False) == pytest.approx(2 / 924)
    assert inference.least_p(3, 3, False) == pytest.approx(0.1)
    assert inference.least_p(3, 4, False) == pytest.approx(1 / 35)
    assert inference.least_p(5, 5, True) > LEVEL > inference.least_p(6, 6, True)


def test_one_metric_is_the_permutation_test_of_t() -> None:
    """Without others of its kind: the share of labelings with at least this t, counted here."""
    rng = np.random.default_rng(5)
    old, new = rng.normal(0, 1, (4, 1)), rng.normal(1.5, 1, (4, 1))
    y = np.vstack((old, new))[:, 0]

    def t(chosen: tuple[int, ...]) -> float:
        one, other = y[list(chosen)], np.delete(y, chosen)
        pooled = (one.var(ddof=1) + other.var(ddof=1)) / 2
        return float(abs(one.mean() - other.mean()) / np.sqrt(pooled / 2))

    all_of = [t(chosen) for chosen in combinations(range(8), 4)]
    real = t((4, 5, 6, 7))
    told = shown(old, new, ["a"])
    assert told.p[0] == pytest.approx(np.mean([x >= real - 1e-9 for x in all_of]))
    pooled = (old.var(ddof=1) + new.var(ddof=1)) / 2
    assert told.half[0] == pytest.approx(2.44691 * np.sqrt(pooled / 2), rel=1e-4)
    assert told.change[0] == pytest.approx(new.mean() - old.mean())


def test_exchanged_sides_give_the_same_statistics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first half of the labelings is computed where the second has the sides exchanged."""
    y = np.random.default_rng(15).normal(0, 1, (12, 4))
    y[1, 2] = np.nan
    for n, paired in ((6, False), (5, True), (1, True)):
        sides = y[:n], y[n : 2 * n]
        few = inference.statistics(*sides, ["a"] * 4, paired, inference.MOST)
        monkeypatch.setattr(inference, "_both_ways", lambda *_: False)
        inference._labels.cache_clear()
        all_of = inference.statistics(*sides, ["a"] * 4, paired, inference.MOST)
        inference._labels.cache_clear()
        monkeypatch.undo()
        assert len(few[0]) == inference.labelings(n, n, paired)
        for one, other in zip(few, all_of):
            assert np.allclose(one, other, equal_nan=True)


def test_many_metrics_are_one_family_step_down() -> None:
    rng = np.random.default_rng(6)
    y = rng.normal(0, 0.01, (12, 50))
    alone = shown(y[:6], y[6:], ["a"] * 50)
    y[6:, 0] += 1
    y[6:, 1] += 0.03
    told = shown(y[:6], y[6:], ["a"] * 50)
    assert told.p[0] == pytest.approx(2 / 924) and told.p[1] <= LEVEL < alone.p[1]
    assert (told.p[2:] >= alone.p[2:] - 0.02).all() and told.p[2:].min() > LEVEL


def test_variances_are_shrunk_as_far_as_metrics_are_alike() -> None:
    rng = np.random.default_rng(7)
    y = rng.normal(0, 0.01, (6, 200))
    alike = shown(y[:3], y[3:], ["a"] * 200).half
    unlike = shown(y[:3], y[3:], [f"{i // 2}" for i in range(198)] + ["x", "y"])
    wide = shown(y[:3], y[3:] * np.exp(rng.normal(0, 3, 200)), ["a"] * 200).half
    assert np.std(np.log(alike)) < 0.2 < np.std(np.log(wide))
    assert unlike.half == pytest.approx(alike)  # kinds of two metrics share a prior


def test_pairs_cancel_a_drift() -> None:
    rng = np.random.default_rng(8)
    drift = np.cumsum(rng.normal(0, 0.1, 8))[:, None]
    old, new = (
        rng.normal(0, 0.01, (8, 3)) + drift,
        rng.normal(0.05, 0.01, (8, 3)) + drift,
    )
    assert shown(old, new, ["a"] * 3, paired=True).p.max() <= LEVEL
    assert shown(old, new, ["a"] * 3).p.min() > LEVEL


def test_what_is_not_known() -> None:
    """One run a side has no interval; a metric that one side lacks has nothing."""
    told = shown(np.zeros((1, 3)), np.ones((1, 3)), ["a"] * 3)
    assert told.change == pytest.approx([1, 1, 1]) and np.isnan(told.half).all()
    assert not np.isfinite(told.least).any() and told.p.min() == 1
    y = np.random.default_rng(9).normal(0, 0.01, (12, 4))
    y[6:, 2], y[[0, 7], 3] = np.nan, np.nan
    told = shown(y[:6], y[6:], ["a"] * 4)
    assert np.isnan(told.change[2]) and np.isfinite(told.half[[0, 1, 3]]).all()


@pytest.mark.filterwarnings("error")
def test_a_metric_of_one_side_alone() -> None:
    """Sums of its values differ in the last digit, by the order of addition."""
    nan = np.nan
    old = [nan, nan, -0.00782712179300543, nan, -5.549724383135679, -0.5800268776541182]
    told = shown(np.array(old)[:, None], np.full((6, 1), nan), ["a"])
    assert np.isnan(told.change[0]) and told.p[0] == 1


def test_values_without_any_spread() -> None:
    y = np.zeros((12, 5))
    assert shown(y[:6], y[6:], ["a"] * 5).p.min() == 1
    y[6:, 1] = 0.1
    told = shown(y[:6], y[6:], ["a"] * 5)
    assert told.p[1] <= LEVEL and told.p[[0, 2, 3, 4]].min() > LEVEL


def test_more_labelings_than_are_tried() -> None:
    y = np.random.default_rng(10).normal(0, 0.01, (24, 4))
    y[12:, 0] += 0.05
    told = shown(y[:12], y[12:], ["a"] * 4)
    assert told.p[0] == pytest.approx(1 / inference.MOST) and told.p[1:].min() > LEVEL


def test_the_level_in_suites_without_a_change() -> None:
    """Counts comparisons, not metrics, with any false alarm. The bound allows for chance at this
    level."""
    rng = np.random.default_rng(11)
    alarms = sum(
        bool(shown(*halves(rng, runs(rng, 2 * A_SIDE)), NAMES).p.min() <= LEVEL)
        for _ in range(COMPARISONS)
    )
    print(f"{alarms} of {COMPARISONS} comparisons without a change have a false alarm")
    assert alarms <= LEVEL * COMPARISONS + 2.6 * (COMPARISONS * LEVEL * (1 - LEVEL)) ** 0.5


def test_the_level_where_runs_alternate() -> None:
    """The first of each pair is on either side, by chance."""
    rng = np.random.default_rng(12)
    alarms = 0
    for _ in range(COMPARISONS):
        y = runs(rng, 16)
        swapped = rng.random(8) < 0.5
        first, last = y[::2].copy(), y[1::2].copy()
        first[swapped], last[swapped] = last[swapped], first[swapped]
        alarms += bool(shown(first, last, NAMES, paired=True).p.min() <= LEVEL)
    print(f"{alarms} of {COMPARISONS} paired comparisons without a change have a false alarm")
    assert alarms <= LEVEL * COMPARISONS + 2.6 * (COMPARISONS * LEVEL * (1 - LEVEL)) ** 0.5


@pytest.mark.parametrize("n, many", [(4, 1), (4, 20), (6, 1), (6, 20), (8, 20)])
def test_what_would_have_been_shown_is_shown_in_four_of_five(
    n: int, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In new comparisons: uses the median of the detectable changes that comparisons without a
    change report."""
    monkeypatch.setattr(inference, "MOST", 2000)  # so that those of 8 runs are drawn
    rng = np.random.default_rng(14)
    times = COMPARISONS * (4 if n == 4 else 1)  # few labelings, soon tried

    def told(change: float) -> inference.Shown:
        y = rng.normal(0, 0.01, (2 * n, many))
        y[n:, 0] += change
        return shown(y[:n], y[n:], ["a"] * many)

    least = float(np.median([told(0).least[0] for _ in range(times)]))
    found = sum(told(least).p[0] <= LEVEL for _ in range(times)) / times
    print(f"{n} runs, {many} metrics: {least:.2%} shown in {found:.0%}")
    assert abs(found - 0.8) <= 0.1 + 2 * (0.16 / times) ** 0.5


@pytest.mark.parametrize("column, change, of_20", [(CORE, 0.05, 17), (BANDWIDTH, 0.1, 15)])
def test_planted_changes_are_found(column: int, change: float, of_20: int) -> None:
    """One of the suite's metrics, with a spread of 1 % (core) or 2 % (bandwidth), changes."""
    rng = np.random.default_rng(13)
    found = 0
    for _ in range(20):
        old, new = halves(rng, runs(rng, 2 * A_SIDE))
        new[:, column] += np.log1p(change)
        found += shown(old, new, NAMES).p[column] <= LEVEL
    assert found >= of_20
