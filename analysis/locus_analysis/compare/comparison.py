# SPDX-License-Identifier: Apache-2.0
"""Two sides of runs: which metrics changed, which are the same within a threshold, and of which
nothing can be told."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import NamedTuple, Optional, TypedDict, TypeVar

import numpy as np

from . import differences, inference, observations
from .hosts import Changes
from .inference import LEVEL
from .lost import Lost, between
from .observations import HeadedMetric, Metric, Side

SLOWER, FASTER, SAME, UNTOLD = "slower", "faster", "same", "cannot tell"
WITHIN, PERHAPS = " within", " perhaps within"  # the threshold, after SLOWER or FASTER
ORDER = tuple(way + end for end in ("", PERHAPS, WITHIN) for way in (SLOWER, FASTER))
ORDER = (*ORDER, UNTOLD, SAME)
THRESHOLD = 0.03
HARMLESS = 0.7  # of a threshold: a change so large is told as beyond it in 5 % of comparisons
LEAST_PAIRS = next(n for n in range(1, 99) if inference.least_p(n, n, True) <= LEVEL)
GOOD, WORSE, CANNOT_TELL = 0, 1, 4


class Named(TypedDict):
    name: str  # BENCHMARK/VARIANT/METRIC
    words: str  # what tells its trial from others of its variant
    headline: bool
    unit: str


class Compared(Named):
    """A metric of both sides. Changes are shares of the old value; none where the runs are too
    few."""

    better: str
    old: float
    new: float
    change: float
    low: Optional[float]  # the 95 % interval of the change
    high: Optional[float]
    p: Optional[float]
    least: Optional[float]  # the smallest change that these runs would have shown
    floor: Optional[float]  # a change that is shown is greater
    runs: list[list[float]]  # of both sides: values over the mean of the old ones
    threshold: float
    verdict: str


Of = TypeVar("Of", bound=Named)


class Overall(NamedTuple):
    """The geometric mean of the headlines of all trials, as time: new over old."""

    ratio: float
    low: Optional[float]  # the 95 % interval; none of one run
    high: Optional[float]
    metrics: int


@dataclass
class Comparison:
    old: Side
    new: Side
    units: tuple[int, int]
    what: str  # the unit: run, node
    paired: bool
    reason: str = ""  # why no change can be shown at all
    both: int = 0  # runs that are on both sides, by mistake
    differs: list[tuple[str, str, str]] = field(default_factory=list)
    unmatched: list[str] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)  # trials with a result on the other side only
    metrics: list[Compared] = field(default_factory=list)  # the worst first
    required: list[str] = field(default_factory=list)  # what --require asks for in vain
    unused: list[str] = field(default_factory=list)  # patterns of --threshold without a metric
    overall: Optional[Overall] = None
    hosts: Changes = field(default_factory=Changes)  # which became slower, each by itself

    @property
    def status(self) -> int:
        verdicts = {m["verdict"] for m in self.metrics}
        if SLOWER in verdicts or self.hosts.certain or any(lost.is_fault for lost in self.lost):
            return WORSE
        is_missing = any(lost.is_missing for lost in self.lost)
        is_open = SLOWER + PERHAPS in verdicts or self.required or is_missing
        return CANNOT_TELL if is_open or not verdicts else GOOD


def compare(
    old: Side,
    new: Side,
    thresholds: Sequence[tuple[str, float]] = (),
    require: Sequence[str] = (),
    by_host: Optional[Callable[[Side, Side], Changes]] = None,
) -> Comparison:
    """The last threshold whose pattern matches a metric counts; metrics that match `require` must
    have a verdict."""
    lost = between(old, new)
    old, new = observations.comparable(old, new, LEAST_PAIRS)
    seen = observations.observe(old, new, LEAST_PAIRS)
    whole = overall(seen)
    seen = observations.by_clock(seen)
    made = Comparison(
        old, new, (len(seen.old), len(seen.new)), "node" if seen.nodes else "run", seen.paired
    )
    made.reason = too_few(*made.units, seen.paired, made.what)
    made.both = len({r["run"] for r in old.runs} & {r["run"] for r in new.runs})
    made.differs = differences.settings_of(old, new)
    made.unmatched = differences.trials_of(old, new)
    made.lost = lost
    made.overall = whole
    if by_host and seen.nodes and seen.metrics:
        made.hosts = by_host(old, new)
    if seen.metrics:
        kinds = [f"{m['benchmark']} {m['name']}" for m in seen.metrics]
        told = inference.shown(seen.old, seen.new, kinds, seen.paired)
        by_metric = [*_arrays(told), *(np.nanmean(y, axis=0) for y in (seen.old, seen.new))]
        said = words(seen.metrics)
        for i, m in enumerate(seen.metrics):
            name = f"{m['benchmark']}/{m['variant']}/{m['name']}"
            within = of_pattern(name, said[i], thresholds, THRESHOLD)
            made.metrics.append(_row(m, said[i], within, [a[i] for a in by_metric], seen, i))
    made.metrics.sort(key=_place)
    made.unused = unused(made.metrics, thresholds)
    for pattern in require:
        own = _matching(made.metrics, pattern)
        untold = [f"{m['name']} {m['words']}".rstrip() for m in own if m["verdict"] == UNTOLD]
        made.required += untold if own else [f"{pattern}: no such metric is on both sides"]
    return made


def overall(seen: observations.Observed) -> Optional[Overall]:
    """The mean over metrics of each run or node that has most of them."""
    headlines = [i for i, m in enumerate(seen.metrics) if m["headline"]]
    if not headlines:
        return None
    sign = np.array([1.0 if seen.metrics[i]["better"] == "lower" else -1.0 for i in headlines])
    old, new = (sign * y[:, headlines] for y in (seen.old, seen.new))
    middle = np.nanmean(np.vstack([old, new]), axis=0)
    before, after = (_means(y - middle) for y in (old, new))
    if seen.paired:
        changes = (after - before)[np.isfinite(after - before)]
        if not len(changes):
            return None
        change, error, df = inference.mean(changes)
    else:
        before, after = (y[np.isfinite(y)] for y in (before, after))
        (one, one_error, n), (other, other_error, m) = map(inference.mean, (before, after))
        change, error, df = other - one, float(np.hypot(one_error, other_error)), min(n, m)
    if df < 1:
        return Overall(float(np.exp(change)), None, None, len(headlines))
    half = float(inference.t_quantile(np.array([df]))[0]) * error
    low, high = np.exp([change - half, change + half])
    return Overall(float(np.exp(change)), float(low), float(high), len(headlines))


def _means(y: inference.Array) -> inference.Array:
    """Of each row; NaN of one without a value."""
    n = np.isfinite(y).sum(1)
    total = np.nansum(y, axis=1)
    return np.asarray(np.divide(total, n, out=np.full(len(y), np.nan), where=n > 0))


def matches(name: str, words: str, pattern: str) -> bool:
    """Whether a pattern names a metric, its benchmark or its variant: latency, numa/static,
    */bandwidth, 'latency/cycle/time*size 4 Ki*'."""
    full = f"{name} {words}"
    return fnmatchcase(full, pattern) or fnmatchcase(full, pattern + "[/ ]*")


def unused(metrics: Sequence[Named], given: Sequence[tuple[str, float]]) -> list[str]:
    """Patterns that match no metric, where there are metrics."""
    patterns = dict.fromkeys(pattern for pattern, _ in given)
    return [p for p in patterns if metrics and not _matching(metrics, p)]


def _matching(metrics: Sequence[Of], pattern: str) -> list[Of]:
    return [m for m in metrics if matches(m["name"], m["words"], pattern)]


def of_pattern(
    name: str, words: str, given: Sequence[tuple[str, float]], otherwise: float
) -> float:
    """The last whose pattern matches."""
    return next((t for p, t in reversed(given) if matches(name, words, p)), otherwise)


def _arrays(told: inference.Shown) -> tuple[inference.Array, ...]:
    return told.change, told.half, told.p, told.least, told.floor


def _row(
    m: HeadedMetric,
    words: str,
    within: float,
    told: Sequence[float],
    seen: observations.Observed,
    i: int,
) -> Compared:
    change, half, p, least, floor, before, after = (float(x) for x in told)
    sign = np.sign(change)
    floor = sign * np.expm1(sign * floor)
    ends = _change(change - half), _change(change + half)
    known = bool(np.isfinite(half))
    verdict = UNTOLD
    if known and p <= LEVEL:
        way = SLOWER if (change > 0) == (m["better"] == "lower") else FASTER
        verdict = way + _size(abs(np.expm1(change)), floor, within)
    elif known and -within <= ends[0] and ends[1] <= within:
        verdict = SAME
    return {
        "name": f"{m['benchmark']}/{m['variant']}/{m['name']}",
        "words": words,
        "headline": m["headline"],
        "unit": m["unit"],
        "better": m["better"],
        "old": float(np.exp(before)),
        "new": float(np.exp(after)),
        "change": float(np.expm1(change)),
        "low": ends[0] if known else None,
        "high": ends[1] if known else None,
        "p": p if known else None,
        "least": _change(least) if known and np.isfinite(least) else None,
        "floor": float(sign * floor) if known and p <= LEVEL else None,
        "runs": _relative(seen.old[:, i], seen.new[:, i], before),
        "threshold": within,
        "verdict": verdict,
    }


def _change(logarithm: float) -> float:
    """The relative change, at most the largest double: runs may lie very far apart."""
    try:
        return min(math.expm1(logarithm), sys.float_info.max)
    except OverflowError:
        return sys.float_info.max


def _size(size: float, floor: float, within: float) -> str:
    """What is said of a change that is shown, and surely greater than `floor`."""
    return WITHIN if size <= within else PERHAPS if floor <= HARMLESS * within else ""


def _relative(old: inference.Array, new: inference.Array, middle: float) -> list[list[float]]:
    """Each run's value on both sides, over the mean of the old ones."""
    return [np.exp(y[np.isfinite(y)] - middle).tolist() for y in (old, new)]


def _place(m: Compared) -> tuple[int, bool, float]:
    """Sorts changes by size, and undecided metrics with the headlines first."""
    size = m["change"] if m["better"] == "lower" else -m["change"]
    least = m["least"] if m["least"] is not None else np.inf
    untold = m["verdict"] == UNTOLD
    by = -least if untold else size if m["verdict"].startswith(FASTER) else -size
    return ORDER.index(m["verdict"]), untold and not m["headline"], by


def words(metrics: Sequence[Metric]) -> list[str]:
    """What tells each trial from others of its variant."""
    return [
        ", ".join(f"{k} {observations.amount(m, k, v)}" for k, v in own.items())
        for m, own in zip(metrics, observations.varying(metrics))
    ]


def too_few(old: int, new: int, paired: bool, what: str) -> str:
    """Why these runs can show no change, and how many could."""
    least = inference.least_p(old, new, paired)
    if least <= LEVEL:
        return ""
    enough = next(n for n in range(2, 99) if inference.least_p(n, n, False) <= LEVEL)
    if old == new == 1:
        return f"no verdict: one {what} a side; {enough} or more show changes"
    alone = "; or compare one node at a time: its runs count then" if what == "node" else ""
    return (
        f"{old} and {new} {what}s are too few: their smallest p is {least:.2g}, so no change can be"
        f" shown at {100 * LEVEL:.0f} %; {enough} a side can show one{alone}"
    )
