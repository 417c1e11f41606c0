# SPDX-License-Identifier: Apache-2.0
"""What the runs of two sides show about many metrics at once. A run is one observation of all its
metrics: values are logarithms, a row for each run, a column for each metric.

- Variances are shrunk towards those of metrics of the same kind, as far as these are alike (Smyth
  2004, "Linear models and empirical Bayes methods for assessing differential expression in
  microarray experiments"): few runs say little about one variance.
- The labels of whole runs are permuted, and the largest statistic of each permutation counts, step
  down (Westfall and Young 1993, "Resampling-based multiple testing"). So the level holds for all
  metrics together, however they are correlated, and however their values are distributed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, islice, product
from math import comb

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LEVEL = 0.05  # of false alarms, over all metrics of a comparison
MOST = 10_000  # labelings; beyond it, so many are drawn at random
AT_ONCE = 1000  # labelings whose statistics are computed together
FEW = 3  # metrics: kinds with fewer share a prior
FLOOR = 1e-4  # standard deviation of a logarithm: a record's digits and clocks say no more
POWER = 0.8416  # standard deviations: a change that is shown in 4 of 5 comparisons


@dataclass(frozen=True)
class Shown:
    """By metric. Changes are logarithms of new over old; NaN where the runs are too few."""

    change: Array
    half: Array  # of the 95 % interval of this metric alone
    p: Array  # adjusted for all metrics
    least: Array  # the smallest change that these runs would have shown; infinite if none
    floor: Array  # a change that is shown is greater, at LEVEL over all that are shown


def labelings(old: int, new: int, paired: bool) -> int:
    return 2**old if paired else comb(old + new, old)


def least_p(old: int, new: int, paired: bool) -> float:
    """The least p that can be reached. Exchanging the sides gives the same statistics."""
    return min(1.0, (1 + (old == new)) / labelings(old, new, paired))


def shown(old: Array, new: Array, kinds: Sequence[str], paired: bool = False) -> Shown:
    """In pairs, row i of `old` belongs to row i of `new`. A value that is not known is NaN."""
    t, change, error, df = statistics(old, new, kinds, paired, MOST)
    own = 1 + _both_ways(len(old), len(new), paired, MOST)
    p, critical = _adjusted(t, own)
    certain = critical + POWER * np.sqrt(1 + critical**2 / 2 / df)  # the error is uncertain, too
    several = max(1, int((p <= LEVEL).sum()))
    floor = np.abs(change) - t_quantile(df, 1 - LEVEL / several) * error
    return Shown(change, t_quantile(df) * error, p, certain * error, floor)


def statistics(
    old: Array, new: Array, kinds: Sequence[str], paired: bool, most: int
) -> tuple[Array, Array, Array, Array]:
    """The statistic of each labeling and metric, the real labeling first, and last if it is there
    both ways; and for the real labeling the change, its standard error and the degrees of freedom.
    """
    y = new - old if paired else np.vstack((old, new))
    group = _groups(kinds)
    t = []
    for labels in _labels(len(old), len(new), paired, most):
        change, error, df = _moderated(_moments(y, labels, paired), group)
        t.append(np.nan_to_num(np.abs(change / error)))
        if len(t) == 1:
            real = change[0], error[0], df[0]
    if _both_ways(len(old), len(new), paired, most):
        t += [of[::-1] for of in reversed(t)]
    return np.vstack(t), *real


def spread(y: Array, kinds: Sequence[str], means: int = 1) -> tuple[Array, Array]:
    """The standard deviation of each metric, shrunk, and its degrees of freedom; NaN where it has
    no more values than means, which were taken off them before (but for the first)."""
    change, rest, degrees, _ = _moments(y, np.ones((1, len(y))), True)
    moments = change, rest, degrees + 1 - means, np.ones(y.shape[1])
    _, deviation, df = _moderated(moments, _groups(kinds))
    return np.asarray(deviation[0]), np.asarray(df[0])


def _both_ways(old: int, new: int, paired: bool, most: int) -> bool:
    """Whether all labelings are tried, and each is there with the sides exchanged, too, which gives
    the same statistics: those of the second half are those of the first, backwards."""
    return (paired or old == new) and labelings(old, new, paired) <= most


@lru_cache(maxsize=1)  # simulations ask for the same again and again
def _labels(old: int, new: int, paired: bool, most: int) -> list[Array]:
    """Labelings, so many at once, the real one first. A row for each: 1 for a new run; of pairs, -1
    where the two change sides. Only the first half of them, if they are there both ways."""
    return list(_dealt(old, new, paired, most))


def _dealt(old: int, new: int, paired: bool, most: int) -> Iterator[Array]:
    n = old if paired else old + new
    real = np.ones(n) if paired else np.repeat((0.0, 1.0), (old, new))
    if labelings(old, new, paired) > most:
        rng = np.random.default_rng(1)
        for first in range(0, most, AT_ONCE):
            if paired:
                labels = rng.choice((-1.0, 1.0), (AT_ONCE, n))
            else:
                labels = rng.permuted(np.tile(real, (AT_ONCE, 1)), axis=1)
            labels[: first == 0] = real
            yield labels
        return
    tried = labelings(old, new, paired) // (1 + _both_ways(old, new, paired, most))
    signs = islice(product((1.0, -1.0), repeat=n), tried)
    chosen = islice(combinations(range(n - 1, -1, -1), new), tried)
    if paired:
        while rows := list(islice(signs, AT_ONCE)):
            yield np.array(rows)
        return
    while new_runs := list(islice(chosen, AT_ONCE)):
        labels = np.zeros((len(new_runs), n))
        np.put_along_axis(labels, np.array(new_runs), 1, axis=1)
        yield labels


def _moments(y: Array, labels: Array, paired: bool) -> tuple[Array, Array, Array, Array]:
    """By labeling and metric: the change, the squared residuals, their degrees of freedom (by
    metric alone), and the variance of the change for values of variance 1."""
    known = ~np.isnan(y)
    centre = 0 if paired else np.where(known, y, 0).sum(0) / np.maximum(known.sum(0), 1)
    z = np.where(known, y - centre, 0)
    squares, n = (z * z).sum(0), known.sum(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        if paired:
            change = labels @ z / n
            rest, df, unit = squares - n * change**2, n - 1, 1 / n
        else:
            n1, s1 = labels @ known.astype(float), labels @ z
            n0, s0 = n - n1, z.sum(0) - s1
            n0, n1 = (np.where(many > 0, many, np.nan) for many in (n0, n1))
            change = s1 / n1 - s0 / n0
            rest, df, unit = squares - s1**2 / n1 - s0**2 / n0, n - 2, 1 / n1 + 1 / n0
    return change, np.maximum(rest, 0), df, unit


def _groups(kinds: Sequence[str]) -> list[list[int]]:
    """Columns whose variances are alike."""
    of: dict[str, list[int]] = {}
    for column, kind in enumerate(kinds):
        of.setdefault(kind, []).append(column)
    small = [c for own in of.values() if len(own) < FEW for c in own]
    large = [own for own in of.values() if len(own) >= FEW]
    return large + ([small] if len(small) >= FEW else [])


def _moderated(
    moments: tuple[Array, Array, Array, Array], groups: Sequence[list[int]]
) -> tuple[Array, Array, Array]:
    """The change, its standard error, and the degrees of freedom, with the prior's."""
    change, rest, degrees, unit = moments
    d = np.where(degrees > 0, degrees, np.nan).astype(float)
    variance = np.maximum(rest / d, FLOOR**2)
    df = np.tile(d, (len(change), 1))
    expected = np.log(d / 2) - digamma(d / 2)  # of log(s0 / s), where s estimates s0
    noise = np.where(d > 0, trigamma(d / 2), 0)
    for own in groups:
        s = variance[:, own]
        told = np.isfinite(s)
        n = np.maximum(told.sum(1, keepdims=True), 1)
        e = np.where(told, np.log(s) + expected[own], 0)
        mean = e.sum(1, keepdims=True) / n
        spread = np.where(told, (e - mean) ** 2, 0).sum(1, keepdims=True) / np.maximum(n - 1, 1)
        spread -= (told.astype(float) @ noise[own])[:, None] / n
        most = (told.astype(float) @ np.nan_to_num(d[own]))[:, None]  # what the kind knows together
        prior = np.clip(2 * trigamma_inverse(np.maximum(spread, 1e-9)), 1e-3, np.maximum(most, 1))
        common = np.exp(mean + digamma(prior / 2) - np.log(prior / 2))
        variance[:, own] = (prior * common + d[own] * s) / (prior + d[own])
        df[:, own] += prior
    return change, np.sqrt(variance * unit), df


def _adjusted(t: Array, own: int) -> tuple[Array, float]:
    """p of each metric, step down: each is compared with the largest statistic of those that are
    not greater than its own. And the statistic that a metric must exceed that is not shown yet: in
    `own` labelings, the first and perhaps the last, it would be the largest itself."""
    order = np.argsort(-t[0])
    most = t[:, order]
    np.maximum.accumulate(most[:, ::-1], axis=1, out=most[:, ::-1])
    reached = (most >= most[0] * (1 - 1e-9)).mean(0)
    p = np.empty(len(order))
    p[order] = np.maximum.accumulate(reached)
    first = min(int((p <= LEVEL).sum()), len(order) - 1)
    allowed = int(LEVEL * len(t)) - own
    others = np.sort(most[1 : len(t) + 1 - own, first])
    return p, float(others[-1 - allowed]) if allowed >= 0 else np.inf


# ---- functions that numpy lacks ----


def _shifted(x: Array) -> tuple[Array, Array]:
    """x + 6, where the asymptotic series hold, and the six terms x + k before it."""
    return x + 6, np.stack([x + k for k in range(6)])


def digamma(x: Array) -> Array:
    y, before = _shifted(np.asarray(x, dtype=float))
    series = 1 / 12 - (1 / 120 - 1 / 252 / y**2) / y**2
    return np.asarray(np.log(y) - 1 / (2 * y) - series / y**2 - (1 / before).sum(0))


def trigamma(x: Array) -> Array:
    y, before = _shifted(np.asarray(x, dtype=float))
    series = 1 / 6 - (1 / 30 - 1 / 42 / y**2) / y**2
    return np.asarray(1 / y + 1 / (2 * y**2) + series / y**3 + (1 / before**2).sum(0))


def trigamma_inverse(value: Array) -> Array:
    return np.asarray(np.exp(np.interp(-np.log(value), _FALLING, _GRID)))


_GRID = np.linspace(-9, 21, 4000)  # logarithms of x
_FALLING = -np.log(trigamma(np.exp(_GRID)))


def t_quantile(df: Array, p: float = 1 - LEVEL / 2) -> Array:
    result = np.full(np.shape(df), np.nan)
    for d in np.unique(np.asarray(df)[np.isfinite(df)]):
        result[df == d] = t_quantiles(d, np.array(p))
    return result


def mean(y: Array) -> tuple[float, float, int]:
    """The mean, its standard error (0 for one value), and the degrees of freedom."""
    n = len(y)
    error = float(np.std(y, ddof=1)) / np.sqrt(n) if n > 1 else 0.0
    return float(np.mean(y)), error, n - 1


_ANGLE = np.linspace(0, np.pi / 2, 20_001)
_COSINE = np.cos(_ANGLE)


def t_quantiles(df: float, p: Array) -> Array:
    """Quantiles of Student's t: with t = sqrt(df) tan(a), the density of the angle a is cos(a)^(df
    - 1)."""
    area = _area(df)
    return np.asarray(np.sqrt(df) * np.tan(np.interp((2 * p - 1) * area[-1], area, _ANGLE)))


@lru_cache(maxsize=16)  # a comparison asks for several quantiles of few degrees of freedom
def _area(df: float) -> Array:
    density = _COSINE ** max(df - 1, 0)
    return np.concatenate(([0], np.cumsum((density[1:] + density[:-1]) / 2)))
