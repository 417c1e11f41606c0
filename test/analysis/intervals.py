# SPDX-License-Identifier: Apache-2.0
"""Coverage of a trial's interval, by simulation: the rule of doc/methods/measuring.md, written
independently of the program, on trials whose true values are known. By hand, for the document's
tables:

    test/analysis/intervals.py [TRIALS]

It continues until TRIALS trials (4000) of a row are ok, or fewer if less than one in 1000 is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import comb, exp, log, sqrt
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Generator = np.random.Generator
Draw = Callable[[Generator, Any, Any], Array]


@dataclass(frozen=True)
class Profile:
    target: float  # how far an interval may reach, relative to the value
    looks: tuple[int, ...]  # allocations at which a trial may end
    seconds: float  # of a trial

    def most(self) -> float:
        """The scatter s* up to which an ok trial can be covered: beyond it, 95 % intervals of
        normal values are wider than the target even at the last look."""
        return self.target * sqrt(self.looks[-1]) / 2.46


PROFILES = {
    "quick suite": Profile(0.03, (6,), 0.45),
    "quick": Profile(0.03, (6, 12, 24), 4),
    "standard": Profile(0.01, (6, 12, 24), 4),
    "paper": Profile(0.01, (6, 12, 24, 48), 60),
}
MISSES = 0.05  # all looks together
FLOOR = 0.8  # of the group's median half width: no interval is narrower
MOST = 4  # an interval is widened to at most so many times its own half width
TRIALS = 4  # trials that such a median needs
RARE = 1000  # trials drawn for each ok one, at most


def modes(share: float) -> Draw:
    """Two modes, 4 apart and 0.1 wide; `share` is the upper mode's. The median lies in the lower
    mode."""
    scale = sqrt(16 * share * (1 - share) + 0.01)
    # 0.1 of the normal quantile at 0.5 / (1 - share)
    middle = {0.3: 0.0566, 0.4: 0.0967}[share]

    def draw(rng: Generator, scatter: Any, shape: Any) -> Array:
        x = 4 * (rng.random(shape) < share) + 0.1 * rng.standard_normal(shape)
        return np.asarray(1 + scatter * (x - middle) / scale)

    return draw


# By name: values with median 1 and standard deviation `scatter` (t2 has none: there it is the
# deviation of the normal distribution with the same quartiles).
POPULATIONS: dict[str, Draw] = {
    "normal": lambda rng, s, shape: 1 + s * rng.standard_normal(shape),
    "lognormal": lambda rng, s, shape: np.exp(s * rng.standard_normal(shape)),
    "exponential": lambda rng, s, shape: 1 + s * (rng.exponential(size=shape) - log(2)),
    "t2": lambda rng, s, shape: 1 + s * rng.standard_t(2, shape) * 1.349 / 1.633,
    "modes 30/70": modes(0.3),
    "modes 40/60": modes(0.4),
}


def ranks() -> dict[int, int]:
    """The lower bound's rank at each look. All looks together miss 5 %: misses that earlier looks
    do not use are not passed on to later ones."""
    left, rank = MISSES, {}
    for n in (6, 12, 24, 48):
        tails = [2 * sum(comb(n, i) for i in range(k)) / 2**n for k in range(1, n // 2)]
        rank[n] = sum(tail <= left for tail in tails)
        left -= tails[rank[n] - 1]
    return rank


RANK = ranks()


@dataclass
class Interval:
    """Values and their intervals: a row for each group, a column for each trial."""

    value: Array
    low: Array
    high: Array

    def reach(self) -> Array:
        return np.asarray(np.maximum(self.value - self.low, self.high - self.value) / self.value)


def ordered(x: Array) -> Interval:
    """Medians and intervals by order statistics over the last dimension, the allocations."""
    n = x.shape[-1]
    y = np.sort(x, axis=-1)
    return Interval(np.median(y, axis=-1), y[..., RANK[n] - 1], y[..., n - RANK[n]])


def half(interval: Interval) -> Array:
    return np.asarray((interval.high - interval.low) / 2 / interval.value)


def widened(interval: Interval, least: Any) -> Interval:
    """Intervals that extend half their width to both sides, and at least `least`."""
    own = half(interval)
    reach = 1 + np.maximum(own, np.minimum(least, MOST * own))
    return Interval(
        interval.value,
        np.minimum(interval.low, interval.value / reach),
        np.maximum(interval.high, interval.value * reach),
    )


def intervals(x: Array) -> Interval:
    """The intervals of times by group, trial and allocation."""
    interval = ordered(x)
    typical = np.median(half(interval), axis=1, keepdims=True)
    return widened(interval, FLOOR * typical if x.shape[1] >= TRIALS else 0)


def ratio(x: Array, pool: Array) -> Interval:
    """The ratio of two trials, from the logarithms of each allocation's ratio; `pool`: the same for
    other pairs in the group, a row each."""

    def interval(of: Array) -> Interval:
        of_logarithms = ordered(of)
        return Interval(
            np.exp(of_logarithms.value), np.exp(of_logarithms.low), np.exp(of_logarithms.high)
        )

    typical = np.median(half(interval(pool)))
    return widened(interval(x), FLOOR * typical if len(pool) >= TRIALS else 0)


@dataclass
class Measured:
    """Groups that were measured until each trial reached its target, or the budget was spent: by
    group and trial."""

    hit: Array
    ok: Array
    reach: Array
    allocations: Array  # by group


def measure(x: Array, profile: Profile, truth: Callable[[int], Any] = lambda n: 1.0) -> Measured:
    """`truth`: the value that intervals after n allocations should hold."""
    groups, trials, _ = x.shape
    m = Measured(
        np.zeros((groups, trials), bool),
        np.zeros((groups, trials), bool),
        np.zeros((groups, trials)),
        np.zeros(groups),
    )
    going = np.arange(groups)
    for n in profile.looks:
        interval = intervals(x[going, :, :n])
        ok = interval.reach() <= profile.target
        ends = ok.all(axis=1) | (n == profile.looks[-1])
        wanted = np.broadcast_to(truth(n), (groups, trials))[going]
        held = (interval.low <= wanted) & (wanted <= interval.high)
        at = going[ends]
        m.hit[at], m.ok[at], m.reach[at] = held[ends], ok[ends], interval.reach()[ends]
        m.allocations[at] = n
        going = going[~ends]
    return m


@dataclass
class Cell:
    """Many trials of one kind."""

    all: int = 0
    hit: int = 0
    ok: int = 0
    hit_ok: int = 0
    beyond: int = 0  # ok trials whose scatter is beyond s*
    reach: float = 0  # sums
    reach_ok: float = 0
    allocations: float = 0
    groups: int = 0

    def add(self, m: Measured, beyond: Any = False) -> None:
        self.all += m.hit.size
        self.hit += int(m.hit.sum())
        self.ok += int(m.ok.sum())
        self.hit_ok += int((m.hit & m.ok).sum())
        self.beyond += int((m.ok & beyond).sum())
        self.reach += float(m.reach.sum())
        self.reach_ok += float(m.reach[m.ok].sum())
        self.allocations += float(m.allocations.sum())
        self.groups += len(m.allocations)

    def covered(self) -> float:
        return self.hit / self.all

    def covered_ok(self) -> float:
        return self.hit_ok / self.ok if self.ok else float("nan")

    def row(self) -> str:
        few = "few" if self.ok < 300 else f"{100 * self.covered_ok():.1f}"
        width = "" if self.ok < 300 else f"{100 * self.reach_ok / self.ok:.2f}"
        return (
            f"{100 * self.covered():.1f} | {100 * self.reach / self.all:.2f} | {few} | {width} | "
            f"{100 * self.ok / self.all:.1f} | {self.allocations / self.groups:.1f}"
        )


def repeated(once: Callable[[int], tuple[Measured, Any]], trials: int) -> Cell:
    """Repeats until so many trials are ok."""
    cell = Cell()
    groups = max(1, trials // 4)
    while cell.ok < trials and cell.all < RARE * trials:
        cell.add(*once(groups))
        groups = min(4 * groups, 16000)
    return cell


def constant(
    rng: Generator, name: str, profile: Profile, scatter: float, group: int, trials: int
) -> Cell:
    """All allocations are independent, and scatter alike in all trials of a group."""
    draw = POPULATIONS[name]

    def once(groups: int) -> tuple[Measured, Any]:
        x = draw(rng, scatter, (groups, group, profile.looks[-1]))
        return measure(np.maximum(x, 0.01), profile), False

    return repeated(once, trials)


def mixed(
    rng: Generator, name: str, profile: Profile, median: float, group: int, trials: int
) -> Cell:
    """The trials of a group scatter as differently as in real groups."""
    draw = POPULATIONS[name]

    def once(groups: int) -> tuple[Measured, Any]:
        scatter = median * np.exp(0.7 * rng.standard_normal((groups, group, 1)))
        x = draw(rng, scatter, (groups, group, profile.looks[-1]))
        return measure(np.maximum(x, 0.01), profile), scatter[..., 0] > profile.most()

    return repeated(once, trials)


def wander(rng: Generator, groups: int, n: int, keeps: float) -> Array:
    """A machine that changes, common to a group: an autoregressive process of order 1."""
    x = np.empty((groups, 1, n))
    x[..., 0] = rng.standard_normal((groups, 1))
    for i in range(1, n):
        step = sqrt(1 - keeps * keeps) * rng.standard_normal((groups, 1))
        x[..., i] = keeps * x[..., i - 1] + step
    return x


def in_time(
    rng: Generator, kind: str, profile: Profile, scatter: float, group: int, trials: int
) -> Cell:
    """The machine changes while it is measured. The true value is the mean over the time until the
    trial ends."""
    n = profile.looks[-1]
    keeps = 0.3 if kind == "AR(1) of 0.3" else exp(-group * profile.seconds / n)

    def once(groups: int) -> tuple[Measured, Any]:
        own = scatter * rng.standard_normal((groups, group, n))
        if kind == "drift of 5 %":
            change = np.broadcast_to(0.05 * np.arange(n) / n, (groups, 1, n))
        else:
            change = scatter * wander(rng, groups, n, keeps)

        def truth(m: int) -> Array:
            return np.asarray(1 + change[..., :m].mean(axis=-1))

        return measure(1 + own + change, profile, truth), False

    return repeated(once, trials)


CHANGES = ("AR(1) of 0.3", "AR(1) of 1 s", "drift of 5 %")
HEAD = "all % | ± % | ok % | ± % | are ok % | allocations |"


def tables(trials: int) -> Iterator[str]:
    rng = np.random.default_rng(38)
    for group, shares in ((TRIALS, (1 / 3, 2 / 3, 1)), (1, (1 / 3, 2 / 3))):
        yield f"\n| {group} in a group | population | scatter | " + HEAD
        for title, profile in PROFILES.items():
            for name in POPULATIONS:
                for share in shares:
                    s = share * profile.most()
                    cell = constant(rng, name, profile, s, group, trials)
                    yield f"| {title} | {name} | {100 * s:.2f} % | {cell.row()} |"
    yield "\n| mixes | population | median scatter | " + HEAD + " beyond s* % |"
    for title, profile in PROFILES.items():
        for name in POPULATIONS:
            for median in (0.005, 0.01, 0.015, 0.03, 0.05):
                cell = mixed(rng, name, profile, median, TRIALS, trials)
                beyond = 100 * cell.beyond / max(1, cell.ok)
                yield f"| {title} | {name} | {100 * median} % | {cell.row()} | {beyond:.1f} |"
    yield "\n| changes | trials in a group | scatter | " + HEAD
    for title, profile in PROFILES.items():
        for kind in CHANGES:
            for group in (1, TRIALS):
                s = profile.most() / 3
                cell = in_time(rng, kind, profile, s, group, trials)
                yield f"| {title}, {kind} | {group} | {100 * s:.2f} % | {cell.row()} |"


if __name__ == "__main__":
    for line in tables(int(sys.argv[1]) if len(sys.argv) > 1 else 4000):
        print(line, flush=True)
