# SPDX-License-Identifier: Apache-2.0
"""Plateaus and edges of a curve of latency over working set, found from the curve alone: no cache
size is known here.

The curve is log2(time) over log2(size), cut into segments of two kinds: a *level* is a line that
rises by at most LEVEL_SLOPE an octave, a *ramp* one that rises faster. The cut with the least sum
of squared residuals plus a penalty for each segment is found exactly, by dynamic programming
(optimal partitioning: Jackson et al. 2005, "An algorithm for optimal partitioning of data on an
interval"; for the penalty Yao 1988, and Killick, Fearnhead and Eckley 2012).

The noise is estimated from the curve: from the distance of points to the line through their
neighbours and, since a curve of few points has many steps, from the cut that the information
criterion prefers. Outliers are removed, first as single points and then by their residuals, since
least squares are sensitive to them (Fearnhead and Rigaill 2019, "Changepoint detection in the
presence of outliers").

An edge is the largest size that still belongs to the lower level. Its interval reaches from the
last size that surely belongs to it to the first that surely lies above: all places of the cut that
cost at most CONFIDENCE more than the best, the 95 % quantile of chi squared with one degree of
freedom (likelihood ratio). With few points that is an approximation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Optional

import numpy as np
from numpy.typing import ArrayLike

from . import units

LEVEL_SLOPE = (
    0.25  # log2 of time an octave: the published levels rise by up to 19 % when the size doubles
)
LEAST_SLOPE = -0.1  # loops have a start that small sizes feel
LEVEL_POINTS, LEVEL_WIDTH = 3, 0.5  # points, octaves: less is no level
LEVEL_RISE = 1.0  # log2: a segment whose time doubles from start to end is no level
STEP = math.log2(1.2)  # an edge rises by more than this and what LEVEL_SLOPE explains
LEAST_NOISE = math.log2(1.02)  # no real level is straighter than that
MOST_NOISE = math.log2(1.35)
LEAST_POINTS = 6
CONFIDENCE = 3.84
COST = 4.0  # of a segment, times the logarithm of the number of points
RAMP_COST = 1.0  # added to COST for a ramp: if a level fits as well as a ramp, it is taken
TRIED = (1.0, 0.7, 0.5, 0.35, 0.25)  # of the noise that neighbours suggest
LONG_RAMP = 1.6  # octaves: an edge is softer than a jump, but not softer than that

Array = Any  # numpy.ndarray of floats


@dataclass
class Plateau:
    first: float  # sizes, in bytes
    last: float
    time: float  # s: the median of its points
    low: float  # the quartiles of its points
    high: float
    points: int
    to_end: bool = False  # the curve ends before the plateau does


@dataclass
class Edge:
    """Between two plateaus, or from a plateau to a ramp that ends in none."""

    size: float  # the largest that still belongs to the lower plateau
    low: float  # surely still the lower plateau
    high: float  # surely above it
    settled: Optional[float]  # where the next plateau begins; None: none is reached
    below: int  # index of the plateau below; that above, if any, is the next one

    @property
    def octaves(self) -> float:
        """The width of the rise."""
        return math.log2((self.settled or self.high) / self.size)


@dataclass
class Steps:
    plateaus: list[Plateau] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)  # what it could not tell, and why
    noise: Optional[float] = None  # relative: how far a point is off its neighbours
    outliers: list[float] = field(default_factory=list)  # sizes of points that were set aside
    begins_on_ramp: bool = False  # so the first plateau found need not be the first there is
    ends_on_ramp: bool = False  # so the last plateau found is not the last there is


@dataclass
class _Segment:
    first: int
    last: int  # inclusive
    level: bool


@dataclass
class _Curve:
    size: Array
    x: Array  # their logarithms
    y: Array  # of the times
    error: Array  # of y: half an interval's width over 1.96, 0 where unknown


@dataclass
class _Cut:
    segments: list[_Segment]
    fits: _Fits
    weight: Array  # 1, or 0 for points that were set aside
    noise: float
    badness: float


def find(
    sizes: ArrayLike,
    times: ArrayLike,
    low: Optional[ArrayLike] = None,
    high: Optional[ArrayLike] = None,
    text: Callable[[float], str] = units.size,
) -> Steps:
    """Sizes and times above zero, in any order. low, high: intervals of the times (NaN: there is
    none); text: says a size."""
    curve = _prepare(sizes, times, low, high)
    x, y = curve.x, curve.y
    if len(x) < LEAST_POINTS:
        return Steps(
            remarks=[
                f"too few points: {len(x)} sizes were measured, at least {LEAST_POINTS} are needed"
            ]
        )
    weight = np.ones(len(x))
    weight[_lonely(x, y)] = 0
    noise = max(_noise(x, y, weight), LEAST_NOISE)
    if noise > MOST_NOISE:
        return Steps(
            remarks=[f"too noisy: neighbouring points differ by {100 * (2**noise - 1):.0f} %"],
            noise=2**noise - 1,
        )
    # With few points this estimate is rough: cuts for less noise are tried, too, and the likeliest
    # of all is taken.
    tried = sorted({max(noise * share, LEAST_NOISE) for share in TRIED})
    return _describe(
        curve,
        min((_cut_up(curve, weight, each) for each in tried), key=lambda cut: cut.badness),
        text,
    )


def _prepare(
    sizes: ArrayLike, times: ArrayLike, low: Optional[ArrayLike], high: Optional[ArrayLike]
) -> _Curve:
    """One point a size, in order; the median if there are several."""
    size, time = np.asarray(sizes, float), np.asarray(times, float)
    good = np.isfinite(time) & (time > 0) & (size > 0)
    y, error = np.log2(time[good]), np.zeros(good.sum())
    if low is not None and high is not None:
        ends = [np.asarray(end, float)[good] for end in (low, high)]
        with np.errstate(invalid="ignore", divide="ignore"):
            error = np.log2(ends[1] / ends[0]) / 2 / 1.96
        known = error[np.isfinite(error)]
        # A point without an interval, among others that have one, had too few samples for it.
        error = np.nan_to_num(
            error, nan=np.quantile(known, 0.75) if len(known) else 0.0, posinf=10.0, neginf=0.0
        )
    each, place = np.unique(size[good], return_inverse=True)
    medians = [
        np.array([np.median(values[place == i]) for i in range(len(each))]) for values in (y, error)
    ]
    return _Curve(each, np.log2(each), *medians)


def _off_line(x: Array, y: Array) -> Array:
    """The distance of each inner point from the line through its neighbours, as a multiple of what
    noise 1 would cause."""
    share = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    off: Array = y[1:-1] - (1 - share) * y[:-2] - share * y[2:]
    return off / np.sqrt(1 + (1 - share) ** 2 + share**2)


def _noise(x: Array, y: Array, weight: Array) -> float:
    """From the 35 % quantile of the points' distances from their neighbours: edges spoil some, so
    not the median."""
    kept = weight > 0
    off = np.abs(_off_line(x[kept], y[kept]))
    return float(np.quantile(off, 0.35)) / 0.4538 if len(off) else 0.0


def _lonely(x: Array, y: Array) -> Array:
    """Points far from both neighbours, in the same direction, if these agree: no step looks like
    that."""
    spread = max(_noise(x, y, np.ones(len(x))), LEAST_NOISE)
    lonely = np.zeros(len(x), bool)
    for i in range(1, len(x) - 1):
        before, after = y[i] - y[i - 1], y[i] - y[i + 1]
        if lonely[i - 1] or before * after <= 0:
            continue
        off = min(abs(before), abs(after))
        lonely[i] = off > max(5 * spread, STEP) and abs(before - after) < max(4 * spread, off / 2)
    return lonely


class _Fits:
    """The best line of each kind for every run of points, from sums: cost[kind][i, j] is for the
    points i to j."""

    def __init__(self, x: Array, y: Array, weight: Array) -> None:
        self.x, self.y, self.weight = x, y, weight
        n = len(x)
        sums = [
            np.concatenate([[0.0], np.cumsum(weight * v)])
            for v in (np.ones(n), x, y, x * x, x * y, y * y)
        ]
        w, sx, sy, sxx, sxy, syy = (s[None, 1:] - s[:-1, None] for s in sums)
        with np.errstate(invalid="ignore", divide="ignore"):
            self.x_mean, self.y_mean = sx / w, sy / w
            vx, cov = sxx - sx * sx / w, sxy - sx * sy / w
            free = np.where(vx > 1e-9 * np.maximum(w, 1e-12), cov / vx, 0)
            self.slope = [np.clip(free, LEVEL_SLOPE, None), np.clip(free, LEAST_SLOPE, LEVEL_SLOPE)]
            cost = [np.maximum(syy - sy * sy / w - 2 * s * cov + s * s * vx, 0) for s in self.slope]
        count = np.concatenate([[0], np.cumsum(weight > 0)])
        points = count[None, 1:] - count[:-1, None]
        width = x[None, :] - x[:, None]
        rise = self.slope[1] * width
        ends = (weight > 0)[:, None] & (weight > 0)[None, :]
        level = (
            ends & (points >= LEVEL_POINTS) & (width >= LEVEL_WIDTH - 1e-9) & (rise <= LEVEL_RISE)
        )
        kept = max(int(count[-1]), 2)
        nothing = np.where(points > 0, np.inf, 0.0)
        self.cost = [
            np.where(points >= 1, cost[0] + RAMP_COST * math.log(kept), nothing),
            np.where(level, cost[1], np.inf),
        ]
        self.penalty = COST * math.log(kept)

    def line(self, level: bool, i: int, j: int, at: Any) -> Any:
        return self.y_mean[i, j] + self.slope[level][i, j] * (at - self.x_mean[i, j])

    def partition(self) -> list[_Segment]:
        n = len(self.x)
        best = np.full(n + 1, np.inf)
        best[0] = -self.penalty
        came: list[tuple[int, bool]] = [(0, False)] * (n + 1)
        each = np.minimum(self.cost[0], self.cost[1])
        level = self.cost[1] <= self.cost[0]
        for end in range(1, n + 1):
            total = best[:end] + each[:end, end - 1] + self.penalty
            begin = int(np.argmin(total))
            best[end], came[end] = total[begin], (begin, bool(level[begin, end - 1]))
        segments, end = [], n
        while end > 0:
            begin, is_level = came[end]
            segments.append(_Segment(begin, end - 1, is_level))
            end = begin
        return segments[::-1]


def _cut_up(curve: _Curve, weight: Array, noise: float) -> _Cut:
    """The best cut for this noise; its cost is the information criterion for unknown noise (Yao
    1988)."""
    x, y, weight = curve.x, curve.y, weight.copy()
    while True:
        fits = _Fits(x, y, weight / (noise**2 + curve.error**2))
        segments = fits.partition()
        odd = _odd(segments, fits, x, y, noise) & (weight > 0)
        if not odd.any():
            break
        weight[odd] = 0
    off = np.concatenate(
        [
            y[s.first : s.last + 1] - fits.line(s.level, s.first, s.last, x[s.first : s.last + 1])
            for s in segments
        ]
    )
    square, n, parts = float((weight * off * off).sum()), float(weight.sum()), len(segments)
    badness = n * math.log(square / n + LEAST_NOISE**2) + (COST * parts + len(x) - n) * math.log(n)
    return _Cut(
        segments,
        fits,
        weight,
        max(math.sqrt(square / max(n - 2 * parts, n / 3)), LEAST_NOISE),
        badness,
    )


def _odd(segments: list[_Segment], fits: _Fits, x: Array, y: Array, noise: float) -> Array:
    """Inner points of levels that are far from the line."""
    odd = np.zeros(len(x), bool)
    for s in segments:
        if s.level and s.last - s.first >= 3:
            inner = slice(s.first + 1, s.last)
            off = np.abs(y[inner] - fits.line(True, s.first, s.last, x[inner]))
            odd[inner] = off > max(4 * noise, STEP)
    return odd


def _tidy(segments: list[_Segment], fits: _Fits, x: Array, noise: float) -> list[_Segment]:
    """Joins neighbours of a kind, unless there is a step between them: two levels in a row are a
    kink."""
    merged: list[_Segment] = []
    for s in segments:
        below = next((m for m in merged[:-3:-1] if m.level), None)
        if s.level and below and not _is_step(below, s, fits, x, noise):
            del merged[merged.index(below) :]
            s = _Segment(
                below.first,
                s.last,
                bool(
                    fits.slope[1][below.first, s.last] * (x[s.last] - x[below.first]) <= LEVEL_RISE
                ),
            )
        if not s.level and merged and not merged[-1].level:
            s = _Segment(merged.pop().first, s.last, False)
        merged.append(s)
    return merged


def _is_step(a: _Segment, b: _Segment, fits: _Fits, x: Array, noise: float) -> bool:
    """Also a step down: it is no edge, but must be reported."""
    up = fits.line(True, b.first, b.last, x[b.first]) - fits.line(True, a.first, a.last, x[a.last])
    unsure = 3 * noise * math.sqrt(1 / (a.last - a.first + 1) + 1 / (b.last - b.first + 1))
    gap = min(x[b.first] - x[a.last], 1.0)
    return bool(up > STEP + LEVEL_SLOPE * gap + unsure or -up > STEP + unsure)


def _describe(curve: _Curve, cut: _Cut, text: Callable[[float], str]) -> Steps:
    segments = _tidy(cut.segments, cut.fits, curve.x, cut.noise)
    levels = [s for s in segments if s.level]
    steps = Steps(
        noise=2**cut.noise - 1, outliers=[float(size) for size in curve.size[cut.weight == 0]]
    )
    steps.begins_on_ramp, steps.ends_on_ramp = not segments[0].level, not segments[-1].level
    for i, s in enumerate(segments):
        if s.level:
            steps.plateaus.append(_plateau(curve, cut, s))
            if i + 1 < len(segments):
                _edge(steps, segments[i : i + 3], levels.index(s), curve, cut, text)
    _remark(steps, segments, curve, text)
    return steps


def _plateau(curve: _Curve, cut: _Cut, s: _Segment) -> Plateau:
    own = curve.y[s.first : s.last + 1][cut.weight[s.first : s.last + 1] > 0]
    low, middle, high = (float(2**v) for v in np.quantile(own, (0.25, 0.5, 0.75)))
    to_end = s.last == len(curve.x) - 1
    return Plateau(
        float(curve.size[s.first]), float(curve.size[s.last]), middle, low, high, len(own), to_end
    )


def _edge(
    steps: Steps, around: list[_Segment], below: int, curve: _Curve, cut: _Cut, text: Any
) -> None:
    """The edge between the first segment and the next, if there is one."""
    x, y, size, line = curve.x, curve.y, curve.size, cut.fits.line
    a, b = around[0], around[1]
    upper = next((s for s in around[1:] if s.level), None)
    top = line(True, upper.first, upper.last, x[upper.first]) if upper else y[b.last]
    up = top - line(True, a.first, a.last, x[a.last])
    if up < 0:
        steps.remarks.append(
            f"from {text(size[a.last])} to {text(size[b.first])} the time falls, which no cache"
            " does: the pages may have changed, or something disturbed it"
        )
        return
    if upper is None and up < STEP + 3 * cut.noise:
        return  # the curve's end is a little off: no ramp
    last, low, high = _border(a, b, cut.fits)
    # A point that lies above the level by no more than noise may still belongs to it.
    ceiling = line(True, a.first, a.last, x) + max(3 * cut.noise, STEP / 2)
    kept = cut.weight > 0
    last = max(
        (i for i in range(a.first, last + 1) if kept[i] and y[i] <= ceiling[i]), default=a.last
    )
    raised = [i for i in range(last + 1, b.last + 1) if kept[i] and y[i] > ceiling[i]]
    if upper is None and len(raised) < 2:
        steps.remarks.append(
            f"the last size ({text(size[b.last])}) alone lies above what is before it: that is no"
            " step yet"
        )
        return
    above = raised[0] if raised else b.last
    settled = float(size[max(upper.first, above)]) if upper else None
    steps.edges.append(
        Edge(
            float(size[last]),
            float(size[min(low, last)]),
            float(size[max(high, above)]),
            settled,
            below,
        )
    )
    plateau = steps.plateaus[below]
    plateau.last = max(plateau.last, float(size[last]))


def _border(a: _Segment, b: _Segment, fits: _Fits) -> tuple[int, int, int]:
    """The last point of the lower of two segments: the best place, the lowest likely one, and the
    point above the highest likely one."""
    places = range(a.first, b.last)
    cost = np.array(
        [fits.cost[a.level][a.first, i] + fits.cost[b.level][i + 1, b.last] for i in places]
    )
    likely = [i for i, c in zip(places, cost) if c <= cost.min() + CONFIDENCE]
    if not likely:
        return a.last, a.last, b.first
    best = places[int(np.argmin(cost))]
    return best, min(likely), max(likely) + 1


def _remark(steps: Steps, segments: list[_Segment], curve: _Curve, text: Any) -> None:
    x, size = curve.x, curve.size
    if not steps.plateaus:
        times = float(2 ** (curve.y[-1] - curve.y[0]))
        steps.remarks.append(
            f"it rises all the way (to {times:.3g} times its start) without a plateau: no level can"
            " be told"
        )
        return
    for s in segments[1:-1]:
        if not s.level and x[s.last] - x[s.first] > LONG_RAMP:
            steps.remarks.append(
                f"from {text(size[s.first])} to {text(size[s.last])} it rises without a plateau: "
                "a level that ends there can't be told"
            )
    for p in steps.plateaus:
        if p.points <= LEVEL_POINTS and not p.to_end:
            steps.remarks.append(
                f"the plateau from {text(p.first)} to {text(p.last)} has only {p.points} points"
            )
    if steps.begins_on_ramp:
        steps.remarks.append(
            f"it rises from its start ({text(size[0])}): a first level, if any, was not measured"
        )
    if steps.ends_on_ramp and steps.edges and steps.edges[-1].settled is None:
        steps.remarks.append(
            f"at its end ({text(size[-1])}) it still rises: the last plateau is not reached"
        )
