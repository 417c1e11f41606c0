# SPDX-License-Identifier: Apache-2.0
"""Finds when a series of values changed: steps and drift, both by ranks, so that neither outliers
nor the distribution matter (doc/methods/history.md).

A step is where the standardized rank sum of Mann and Whitney is greatest over all splits (Pettitt
1979; Hawkins and Deng 2010), a drift is a trend by Mann and Kendall with the slope of Theil and
Sen. Permutations with a fixed seed show how great the rank sum becomes by chance: this depends on
the number of values alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from typing import NamedTuple, Optional

import numpy as np

from ..compare.inference import Array
from .rule import NORMAL

LEAST = 3  # values on each side of a step
FEWEST = 2 * LEAST  # values of a series that can be tested at all
PERMUTATIONS, MOST_CELLS = 20_000, 4_000_000
SURE = 1.5  # standard errors: a smaller autocorrelation counts as chance
FAR = 8  # standard deviations: no autocorrelation makes so large a change
SMALLEST = math.log(1.03)  # smaller changes are not told, as by compare


class Step(NamedTuple):
    at: int  # the place of the first value after it
    change: float  # from the median before it to the median after it
    p: float


class Drift(NamedTuple):
    slope: float  # per unit of time
    change: float  # over the whole series
    p: float


def steps(y: Array, level: float) -> list[Step]:
    """All steps, in order: a series is split at its clearest step, then each part again."""
    return _within(y, 0, len(y), level)


def _within(y: Array, begin: int, end: int, level: float) -> list[Step]:
    found = step(y[begin:end])
    if not found or found.p > level or abs(found.change) < SMALLEST:
        return []
    at = begin + found.at
    before, behind = _within(y, begin, at, level), _within(y, at, end, level)
    return [*before, found._replace(at=at), *behind]


def step(y: Array) -> Optional[Step]:
    """The clearest step, however unlikely; None: there are too few values."""
    n = len(y)
    if n < FEWEST:
        return None
    ranks = _ranks(y)
    z = _statistics(ranks[None, :])[0]
    place = int(np.argmax(z))
    at = place + LEAST
    change = float(np.median(y[at:]) - np.median(y[:at]))
    reached = z[place] * _shrunk(y, change)
    greatest = _by_chance(n)
    p = (1 + int((greatest >= reached - 1e-9).sum())) / (1 + len(greatest))
    return Step(at, change, p)


@lru_cache(maxsize=256)
def least_p(n: int) -> float:
    """The p of the clearest step that n values can have: all before it are below all after it."""
    if n < FEWEST:
        return 1.0
    most, greatest = _statistics(np.arange(1.0, n + 1)[None, :]).max(), _by_chance(n)
    return (1 + int((greatest >= most - 1e-9).sum())) / (1 + len(greatest))


def needed(n: int, level: float) -> int:
    """How many values can show a step at this level, if n cannot."""
    return next(more for more in count(n + 1) if least_p(more) <= level)


def _shrunk(y: Array, change: float) -> float:
    """The factor that corrects a statistic for autocorrelation: the root of the share of values
    that count (Hamed and Rao 1998, for one lag). The autocorrelation r follows from differences,
    which steps and drift change little: their variance over two values is 1 + r times the variance
    over one. A change of FAR deviations is not corrected."""
    near, far = _variance(y[1:] - y[:-1]), _variance(y[2:] - y[:-2])
    r = min(0.9, far / near - 1) if near else 0.0
    if r < SURE / math.sqrt(len(y)) or abs(change) >= FAR * math.sqrt(near / 2):
        return 1.0
    return math.sqrt((1 - r) / (1 + r))


def _variance(differences: Array) -> float:
    """The variance without the few outliers that steps and bad values make."""
    rest = np.abs(differences - np.median(differences))
    usual = rest[rest <= 3 * NORMAL * float(np.median(rest))]
    return float(np.mean(usual**2))


def _ranks(y: Array) -> Array:
    """Ranks from 1; equal values share their mean rank."""
    _, place, counts = np.unique(y, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    found: Array = (last - (counts - 1) / 2)[place.reshape(-1)]
    return found


def _statistics(ranks: Array) -> Array:
    """The standardized rank sum of each row at each split with LEAST values on both sides."""
    n = ranks.shape[1]
    t = np.arange(LEAST, n - LEAST + 1)
    sums = np.cumsum(2 * ranks - (n + 1), axis=1)[:, t - 1]
    found: Array = np.abs(sums) / np.sqrt(t * (n - t) * (n + 1) / 3)
    return found


@lru_cache(maxsize=256)
def _by_chance(n: int) -> Array:
    """The greatest statistics of series without a step."""
    rng = np.random.default_rng(n)
    rows = max(2000, min(PERMUTATIONS, MOST_CELLS // n))
    permuted = rng.permuted(np.tile(np.arange(1.0, n + 1), (rows, 1)), axis=1)
    found: Array = _statistics(permuted).max(axis=1)
    return found


def drift(times: Array, y: Array) -> Optional[Drift]:
    """None: there are too few values, or all are of one time."""
    n = len(y)
    if n < FEWEST:
        return None
    a, b = np.triu_indices(n, 1)
    apart, differ = times[b] - times[a], y[b] - y[a]
    known = apart > 0
    if not known.any():
        return None
    score = float(np.sign(differ[known]).sum())
    z = (abs(score) - 1) / math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    slope = float(np.median(differ[known] / apart[known]))
    change = slope * float(times[-1] - times[0])
    z *= _shrunk(y - slope * times, change)
    return Drift(slope, change, math.erfc(max(0.0, z) / math.sqrt(2)))


def residual(y: Array, found: Sequence[Step]) -> float:
    """How far values lie from the medians between steps, in the mean."""
    edges = [0, *(one.at for one in found), len(y)]
    parts = [y[a:b] for a, b in zip(edges, edges[1:])]
    return float(sum(np.abs(part - np.median(part)).sum() for part in parts) / len(y))


def residual_of(times: Array, y: Array, found: Drift) -> float:
    """How far values lie from the line of a drift, in the mean."""
    rest = y - found.slope * times
    return float(np.abs(rest - np.median(rest)).mean())
