# SPDX-License-Identifier: Apache-2.0
"""What comparisons show that are still to be measured: simulated, from the scatter between runs,
with the test of inference.py."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from .inference import LEVEL, Array, labelings, statistics, t_quantile, t_quantiles

SHARE = 0.8  # of comparisons in which a change is found
DRAWN = 1000  # labelings; beyond it, so many are drawn at random
TIMES = 12  # comparisons that are simulated, at least
SAMPLES = 200  # and metrics of all of them
KEPT = 2000  # and of which is computed, at most


@dataclass(frozen=True)
class Simulated:
    """Metrics without a change in comparisons of `n` units a side, in standard deviations of a
    unit. A change that is added is shown where it and `change` exceed `critical`, and surely
    exceeds what both are beyond `unsure`."""

    n: int
    change: Array
    critical: Array
    unsure: Array

    def least(self, n: int, scatter: Array, threshold: Array, harmless: Array) -> Array:
        """The logarithm of the least change that n units a side find, n not less than the units
        that were simulated; of each metric, from the logarithms of its bounds."""
        unit = scatter[:, None] * math.sqrt(self.n / n)
        seen = np.maximum(unit * self.critical, threshold[:, None])
        seen = np.maximum(seen, harmless[:, None] + unit * self.unsure)
        return np.asarray(np.quantile(seen - unit * self.change, SHARE, axis=1))


class Source:
    """Runs without a change: with the scatter of each metric, and correlated as residuals are
    beyond what chance does (after Schäfer and Strimmer 2005)."""

    def __init__(self, residuals: Array, scatter: Array, df: float) -> None:
        self.scatter = scatter
        y = np.nan_to_num(residuals)
        norm = np.sqrt((y * y).sum(0))
        y = np.divide(y, norm, out=np.zeros_like(y), where=norm > 0)
        many = y.shape[1]
        squares = (((y @ y.T) ** 2).sum() - many) / max(many * (many - 1), 1)
        self.common = y * math.sqrt(max(0.0, 1 - 1 / max(df * squares, 1.0)))
        self.own = np.sqrt(1 - (self.common**2).sum(0))
        self.rng = np.random.default_rng(1)

    def runs(self, n: int) -> Array:
        shared = self.rng.normal(size=(n, len(self.common))) @ self.common
        own = self.rng.normal(size=(n, len(self.own))) * self.own
        return np.asarray((shared + own) * self.scatter)


def simulate(source: Source, kinds: Sequence[str], n: int, paired: bool) -> Simulated:
    """Comparisons of n units a side, or n pairs."""
    found = []
    for _ in range(max(TIMES, math.ceil(SAMPLES / len(kinds)))):
        new = source.runs(n)
        old = np.zeros_like(new) if paired else source.runs(n)
        t, _, error, df = statistics(old, new, kinds, paired, DRAWN)
        critical = _critical(t, float(np.median(df)), labelings(n, n, paired) <= DRAWN, source.rng)
        found.append(np.array((critical, t_quantile(df, 1 - LEVEL))) * error / source.scatter)
    critical, unsure = source.rng.permutation(np.concatenate(found, axis=1), axis=1)[:, :KEPT]
    change = source.rng.permutation(_normal(len(unsure))) * math.sqrt((1 if paired else 2) / n)
    return Simulated(n, change, critical, unsure)


def _normal(n: int) -> Array:
    """A sample of the normal distribution, evenly spread."""
    of = NormalDist()
    return np.array([of.inv_cdf((i + 0.5) / n) for i in range(n)])


def _critical(t: Array, df: float, is_complete: bool, rng: np.random.Generator) -> Array:
    """What the statistic of a changed metric must exceed, by metric: with the others as they are,
    and its own, of other labelings, spread as Student's t."""
    own = 2 if is_complete else 1  # the real labeling, and that with the sides exchanged
    allowed = int(LEVEL * len(t)) - own
    if allowed < 0:
        return np.full(t.shape[1], np.inf)
    others = t[1 : len(t) + 1 - own]
    n = len(others)
    order = np.sort(others, axis=1)[:, -2:]
    rest = np.where(others < order[:, -1:], order[:, -1:], order[:, :1] * (t.shape[1] > 1))
    mine = t_quantiles(df, 1 - np.arange(1, n + 1) / (2 * n + 2))
    most = np.maximum(rest, rng.permutation(mine)[:, None])
    return np.asarray(np.partition(most, n - 1 - allowed, axis=0)[n - 1 - allowed])
