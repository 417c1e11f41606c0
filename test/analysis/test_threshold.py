# SPDX-License-Identifier: Apache-2.0
"""The threshold, in simulated comparisons: how often a change gives which exit status. The former
rule, without the threshold for shown changes, is computed here, too."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
from locus_analysis.compare import comparison, inference, observations
from locus_analysis.compare.comparison import CANNOT_TELL, GOOD, WORSE, Compared, Comparison
from locus_analysis.compare.inference import LEVEL

# For the table in doc/compare.md: COMPARISONS=2000.
COMPARISONS = int(os.environ.get("COMPARISONS", "60"))
MANY = 40  # metrics of a suite
HARMLESS, HARMFUL = 0.02, 0.05  # changes, with a threshold of 3 %


def side(name: str, y: inference.Array) -> observations.Side:
    """A side with these logarithms of times: a row for each run, a column for each trial."""
    n, many = y.shape
    runs: list[observations.Run] = [
        {
            "run": f"{name}{i}",
            "host": "n1",
            "started": f"{name}{i:03}",
            "class": "c1",
            "cpu": "one",
            "file": "a.jsonl",
            "tags": {},
            "partition": None,
            "begun_with_others": False,
            "resumed": False,
            "topology": {"caches": None},
            "settings": {},
            "facts": {},
            "cut": False,
            "foreign_share": None,
            "stolen_share": None,
        }
        for i in range(n)
    ]
    trials: dict[str, observations.FullTrial] = {
        str(j): {
            "id": str(j),
            "benchmark": f"b{j % 3}",
            "variant": f"v{j}",
            "parameters": {},
            "threads": 1,
            "bind": None,
            "oversubscribed": False,
            "protocol": "1",
        }
        for j in range(many)
    }
    metrics: dict[observations.Key, observations.FullMetric] = {
        (id_, "time"): {
            "id": id_,
            "benchmark": trial["benchmark"],
            "variant": trial["variant"],
            "parameters": {},
            "threads": 1,
            "bind": None,
            "name": "time",
            "unit": "s",
            "better": "lower",
            "t": t,
            "kind": "time",
        }
        for t, (id_, trial) in enumerate(trials.items())
    }
    unknown = np.full((n, many), np.nan)
    of = np.zeros((n, many), dtype=int)
    return observations.Side(
        name, runs, trials, metrics, of, unknown, unknown, np.exp(y), np.exp(y)
    )


def compared(
    rng: np.random.Generator, runs: int, many: int, change: float, scatter: float, changed: int = 1
) -> Comparison:
    """A comparison of some metrics, the first ones changed. The first metric has this scatter; it
    varies among the others."""
    y = rng.normal(0, scatter, (2 * runs, many))
    y[:, 1:] *= np.exp(rng.normal(0, 0.7, many - 1))
    y[runs:, :changed] += np.log1p(change)
    return comparison.compare(side("a", y[:runs]), side("b", y[runs:]))


def first(made: Comparison) -> Compared:
    return next(m for m in made.metrics if m["name"] == "b0/v0/time")


def was_slower(m: Compared) -> bool:
    """The former rule: a change is shown, and its interval is not all within the threshold."""
    p, high = m["p"], m["high"]
    assert p is not None and high is not None
    return p <= LEVEL and m["change"] > 0 and high > m["threshold"]


def at_most(share: float, n: int) -> float:
    """How many of n may occur by chance at this share."""
    return share * n + 2.6 * math.sqrt(n * share * (1 - share))


CELLS = [
    (n, 1, s) for n, s in ((4, 0.01), (4, 0.02), (6, 0.01), (6, 0.02), (12, 0.02), (12, 0.035))
]
IN_A_SUITE = (6, MANY, 0.01)
CELLS += [(4, MANY, 0.01), IN_A_SUITE, (6, MANY, 0.02)]


@pytest.mark.parametrize(("runs", "many", "scatter"), CELLS)
def test_a_harmless_change_is_no_finding(runs: int, many: int, scatter: float) -> None:
    rng = np.random.default_rng(21)
    made = [compared(rng, runs, many, HARMLESS, scatter) for _ in range(COMPARISONS)]
    worse = sum(c.status == WORSE for c in made)
    before = sum(was_slower(first(c)) for c in made)
    print(f"2 %, {runs} runs, {many} metrics, {scatter:.1%}: {before} before, {worse} now")
    assert worse <= at_most(LEVEL, COMPARISONS)
    for c in made:
        m = first(c)
        within = m["p"] is not None and m["p"] <= LEVEL and 0 < m["change"] <= 0.03
        assert (m["verdict"] == "slower within") == within
        if many == 1:
            wanted = {"slower": WORSE, "slower perhaps within": CANNOT_TELL}
            assert c.status == wanted.get(m["verdict"], GOOD)


POPULATIONS = {
    "heavy tails": lambda rng, shape: rng.standard_t(4, shape) / math.sqrt(2),
    "skewed": lambda rng, shape: rng.exponential(1, shape),
    "two modes": lambda rng, shape: (rng.random(shape) < 0.3) / 0.458,
}


@pytest.mark.parametrize("population", POPULATIONS)
def test_a_harmless_change_of_other_populations(population: str) -> None:
    rng = np.random.default_rng(27)
    for runs, scatter in ((4, 0.01), (6, 0.02)):
        worse = 0
        for _ in range(COMPARISONS):
            y = scatter * POPULATIONS[population](rng, (2 * runs, 1))
            y[runs:] += np.log1p(HARMLESS)
            made = comparison.compare(side("a", y[:runs]), side("b", y[runs:]))
            worse += made.status == WORSE
        print(f"2 %, {runs} runs, {population}, {scatter:.1%}: {worse}")
        assert worse <= at_most(LEVEL, COMPARISONS)


def test_a_harmless_change_between_pairs() -> None:
    """A drift is in both runs of a pair."""
    rng = np.random.default_rng(28)
    worse = 0
    for _ in range(COMPARISONS):
        drift = np.linspace(0, 0.1, 8)[:, None]
        old, new = (side("a", drift + rng.normal(d, 0.01, (8, 1))) for d in (0, HARMLESS))
        for i, (one, other) in enumerate(zip(old.runs, new.runs)):
            one["started"], other["started"] = f"{2 * i:03}", f"{2 * i + 1:03}"
        made = comparison.compare(old, new)
        assert made.paired
        worse += made.status == WORSE
    print(f"2 %, 8 pairs, 1.0%: {worse}")
    assert worse <= at_most(LEVEL, COMPARISONS)


@pytest.mark.parametrize(("runs", "many", "scatter"), CELLS)
def test_a_harmful_change_is_told_as_often_as_before(runs: int, many: int, scatter: float) -> None:
    """It is reported as slower, beyond the threshold: surely (1) or perhaps (4), unless it is
    estimated within by chance. One that is shown among many metrics is sure enough: nothing is left
    open."""
    rng = np.random.default_rng(22)
    made = [compared(rng, runs, many, HARMFUL, scatter) for _ in range(COMPARISONS)]
    before = sum(was_slower(first(c)) for c in made)
    worse, open_ = (sum(c.status == s for c in made) for s in (WORSE, CANNOT_TELL))
    print(f"5 %, {runs} runs, {many} metrics, {scatter:.1%}: {before} before, {worse}+{open_} now")
    assert worse + open_ >= before - at_most(0.03, COMPARISONS)
    if (runs, many, scatter) == IN_A_SUITE:
        assert sum(first(c)["verdict"] == "slower" for c in made) >= before - 1
    assert sum(first(c)["verdict"] == "same" for c in made) <= COMPARISONS / 500


def test_changes_of_4_to_5_percent_are_not_the_same() -> None:
    """With a threshold of 3 %. For one metric the chance is below 1 in 1000."""
    rng = np.random.default_rng(24)
    same, of = 0, 0
    for change, scatter in ((0.04, 0.003), (0.04, 0.01), (0.05, 0.01), (0.05, 0.02)):
        for runs in (4, 6, 12):
            made = [compared(rng, runs, 1, change, scatter) for _ in range(COMPARISONS // 2)]
            same += sum(c.metrics[0]["verdict"] == "same" for c in made)
            of += len(made)
    print(f"4 and 5 %: {same} of {of} are the same")
    assert same <= of / 1000


def test_without_a_change_there_are_no_more_alarms_than_before() -> None:
    rng = np.random.default_rng(25)
    made = [compared(rng, 6, MANY, 0, 0.02) for _ in range(COMPARISONS)]
    assert sum(c.status == WORSE for c in made) <= at_most(LEVEL, COMPARISONS)


def test_a_suite_that_changed_as_a_whole() -> None:
    """Each shown metric counts for the rule, so the luckiest of them raises no alarm; a harmful
    change of all metrics is found all the same."""
    rng = np.random.default_rng(26)
    for change, bound in ((HARMLESS, 0.3), (HARMFUL, 1.0)):
        made = [compared(rng, 6, MANY, change, 0.01, changed=MANY) for _ in range(COMPARISONS)]
        worse = sum(c.status == WORSE for c in made)
        print(f"all {MANY} metrics changed by {change:.0%}: {worse} of {COMPARISONS}")
        assert worse <= bound * COMPARISONS
    assert worse == COMPARISONS
