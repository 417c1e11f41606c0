# SPDX-License-Identifier: Apache-2.0
"""Which hosts of a class of machines are slower than the others, component by component.

A host is not judged by single metrics, of which some are far from the median in any healthy
cluster, but by components (memory bandwidth, L3, ...): a component's score is the second largest
distance of its metrics from the class, so that two of them have to agree. How large a score a
healthy host may have follows from the class's own scores, whatever their distribution.

Values are logarithms, a row for each host, a column for each metric, and greater is worse. One that
is not known is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Whole = NDArray[np.int_]

LEAST_HOSTS = 5  # fewer have no scatter of their own
NEEDED = 2  # metrics of a component that have to agree
CLOCK = "clock"  # judged by the median of its metrics: they all show the same cycle

FLOOR = 0.003  # standard deviation of hosts: no cluster is more alike
LEAST_LIMIT = 1e-6  # scores are told as multiples of it: above 0, even if hosts are identical
PRIOR = 10  # hosts that the scatter of a component's other metrics counts for
POOLED = 30  # hosts that the tail of all components together counts for
FALSE = 0.3  # healthy suspects that a campaign may have, about
SLIGHT = float(np.log(1.02))  # a smaller effect makes no suspect
EFFECT = float(np.log(1.05))  # nor a smaller one a sick host, unless the user says so
CLOCK_EFFECT = float(np.log(1.03))
# A clock that is slower by CLEAR, and by CLEAR_SCORE deviations, is told however many hosts there
# are: runs agree on a clock.
CLEAR = float(np.log(1.032))
CLEAR_SCORE = 5.0
NORMAL = 1.4826  # standard deviations in a median absolute deviation of normal values
HEALTHY = ((10, 0.006), (30, 0.007), (100, 0.018), (1000, 0.04))


@dataclass(frozen=True)
class Reference:
    """What a class is like. By metric: median and scatter of the hosts. By component: the greatest
    score of a healthy host."""

    components: tuple[str, ...]
    columns: tuple[Whole, ...]  # of each component
    middle: Array
    deviation: Array
    limit: Array
    majority: bool = False  # more than half of a component's metrics have to agree, not NEEDED


@dataclass(frozen=True)
class Look:
    """What one campaign shows: by host and component. NaN where a host has too few metrics."""

    score: Array
    effect: Array  # logarithm, of the metric that has the score
    beyond: Whole  # metrics that are beyond the limit by themselves
    known: Whole  # metrics that the host has


def of_host(y: Array) -> Array:
    """The values of a host, from its runs' values: their median; the better of two."""
    if len(y) == 1:
        return np.asarray(y[0])
    two = np.isfinite(y).sum(0) == 2
    return np.where(two, np.fmin.reduce(y, axis=0), _quantile_of(y))


def refer(y: Array, of: Sequence[str], majority: bool = False, false: float = FALSE) -> Reference:
    """The class of these hosts, LEAST_HOSTS or more; `of`: the component of each metric."""
    components = tuple(dict.fromkeys(of))
    columns = tuple(np.flatnonzero([c == name for c in of]) for name in components)
    middle, deviation = _quantile_of(y), _deviation_of(y, columns)
    score, _ = _scores(y - middle, deviation, components, columns, majority)
    limit = _limit_of(score, false)
    for c in (c for c, name in enumerate(components) if name == CLOCK):
        limit[c] = min(limit[c], max(CLEAR_SCORE, CLEAR / np.median(deviation[columns[c]])))
    return Reference(components, columns, middle, deviation, limit, majority)


def look(y: Array, class_: Reference) -> Look:
    """Scores of hosts of the class, against its medians."""
    far = y - class_.middle
    score, effect = _scores(
        far, class_.deviation, class_.components, class_.columns, class_.majority
    )
    t = far / class_.deviation
    pairs = list(zip(class_.columns, class_.limit))
    beyond = np.stack([(t[:, own] > limit).sum(1) for own, limit in pairs], axis=1)
    known = np.stack([np.isfinite(t[:, own]).sum(1) for own, _ in pairs], axis=1)
    return Look(score, effect, beyond, known)


def healthy_named(hosts: int) -> float:
    """Healthy nodes that are named in a cluster of this size, each measured three times and, where
    suspected, three times again: simulated (test/analysis/fleet.py)."""
    sizes, named = zip(*HEALTHY)
    return float(np.interp(np.log(max(hosts, 1)), np.log(sizes), named))


def is_beyond(class_: Reference, at: Look, least: Array) -> NDArray[np.bool_]:
    """By host and component: whether the score is one of no healthy host, and the effect large
    enough."""
    return np.asarray((at.score > class_.limit) & (at.effect > least))


def least_effects(components: Sequence[str], own: dict[str, float]) -> Array:
    """The least effect that makes a host sick, by component; `own`: the user's."""
    return np.array([own.get(c, CLOCK_EFFECT if c == CLOCK else EFFECT) for c in components])


def _quantile_of(y: Array, share: float = 0.5) -> Array:
    """A quantile of each column; NaN where nothing is known. nanquantile of numpy takes a call for
    each column."""
    ordered = np.sort(y, axis=0)  # what is not known comes last
    at = np.maximum((~np.isnan(y)).sum(0) - 1, 0) * share
    low, column = at.astype(int), np.arange(y.shape[1])
    a, b = ordered[low, column], ordered[np.ceil(at).astype(int), column]
    with np.errstate(invalid="ignore"):  # infinity times 0
        return np.asarray(np.where(at == low, a, (low + 1 - at) * a + (at - low) * b))


def medians(table: Array) -> Array:
    """The median of each row without its NaN; 0 where it has nothing else. nanmedian of numpy takes
    a call for each row."""
    ordered = np.sort(table, axis=1)
    n = np.isfinite(table).sum(1)
    low, high = np.maximum(n - 1, 0) // 2, n // 2
    row = np.arange(len(table))
    middle = (ordered[row, low] + ordered[row, np.minimum(high, np.maximum(n - 1, 0))]) / 2
    return np.where(n > 0, middle, 0.0)


def _deviation_of(y: Array, columns: Sequence[Whole]) -> Array:
    """The scatter of hosts, from the median absolute deviation, which outliers do not move, or from
    the upper tenth, where a second mode may lie; of few hosts it follows the component's other
    metrics. (Small samples: Croux and Rousseeuw 1992.)"""
    n, middle = np.isfinite(y).sum(0), _quantile_of(y)
    high = _quantile_of(y, 0.9) - middle
    own = np.fmax(NORMAL * _quantile_of(np.abs(y - middle)), high / 1.2816)
    own *= n / np.maximum(n - 0.8, 0.2)
    own = np.asarray(np.fmax(np.nan_to_num(own), FLOOR))
    for of in columns:
        typical = np.median(own[of])
        own[of] = np.sqrt((n[of] * own[of] ** 2 + PRIOR * typical**2) / (n[of] + PRIOR))
    return own


def _scores(
    far_from_middle: Array,
    deviation: Array,
    components: Sequence[str],
    columns: Sequence[Whole],
    majority: bool,
) -> tuple[Array, Array]:
    """By host and component: the score, and how far its metric is from the median."""
    score, effect = (np.full((len(far_from_middle), len(components)), np.nan) for _ in range(2))
    for c, own in enumerate(columns):
        far = far_from_middle[:, own]
        t = far / deviation[own]
        rows = np.flatnonzero(np.isfinite(t).sum(1) >= NEEDED)
        if components[c] == CLOCK:
            score[rows, c] = _quantile_of(t[rows].T)
            effect[rows, c] = _quantile_of(far[rows].T)
            continue
        order = np.argsort(np.where(np.isfinite(t), t, -np.inf)[rows], axis=1)
        needed = np.isfinite(t[rows]).sum(1) // 2 + 1 if majority else np.full(len(rows), NEEDED)
        at = order[np.arange(len(rows)), len(own) - needed]
        score[rows, c] = t[rows, at]
        effect[rows, c] = far[rows, at]
    return score, effect


def _limit_of(score: Array, false: float) -> Array:
    """By component, the score that `false` of all healthy hosts and components exceed, by an
    exponential tail through the median and the upper tenth. With few hosts, all components share
    one tail."""
    hosts, components = score.shape
    middle, high = _quantile_of(score), _quantile_of(score, 0.9)
    pooled = np.quantile((score - middle)[np.isfinite(score)], 0.9)
    weight = hosts / (hosts + POOLED)
    scale = (weight * (high - middle) + (1 - weight) * pooled) / np.log(5)
    limit: Array = middle + scale * np.log(0.5 * hosts * components / false)
    return np.maximum(limit, LEAST_LIMIT)
