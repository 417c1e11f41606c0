# SPDX-License-Identifier: Apache-2.0
"""Cuts a curve into segments of two kinds: a *level* is a line that rises by at most LEVEL_SLOPE an
octave, a *ramp* one that rises faster.

The cut with the least sum of squared residuals plus a penalty for each segment is found exactly, by
dynamic programming (optimal partitioning: Jackson et al. 2005, "An algorithm for optimal
partitioning of data on an interval"; for the penalty Yao 1988, and Killick, Fearnhead and Eckley
2012).

The noise is estimated from the curve: from the distance of points to the line through their
neighbours and, since a curve of few points has many steps, from the cut that the information
criterion prefers. Outliers are removed, first as single points and then by their residuals, since
least squares are sensitive to them (Fearnhead and Rigaill 2019, "Changepoint detection in the
presence of outliers")."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEVEL_SLOPE = (
    0.25  # log2 of time an octave: the published levels rise by up to 19 % when the size doubles
)
LEAST_SLOPE = -0.1  # loops have a start that small sizes feel
LEVEL_POINTS, LEVEL_WIDTH = 3, 0.5  # points, octaves: less is no level
LEVEL_RISE = 1.0  # log2: a segment whose time doubles from start to end is no level
STEP = math.log2(1.2)  # an edge rises by more than this and what LEVEL_SLOPE explains
LEAST_NOISE = math.log2(1.02)  # no real level is straighter than that
COST = 4.0  # of a segment, times the logarithm of the number of points
RAMP_COST = 1.0  # added to COST for a ramp: if a level fits as well as a ramp, it is taken
Array = NDArray[np.float64]


@dataclass
class Segment:
    first: int
    last: int  # inclusive
    level: bool


@dataclass
class Curve:
    size: Array
    x: Array  # their logarithms
    y: Array  # of the times
    error: Array  # of y: half an interval's width over 1.96, 0 where unknown


@dataclass
class Cut:
    segments: list[Segment]
    fits: Fits
    weight: Array  # 1, or 0 for points that were set aside
    noise: float
    badness: float


def prepared(
    sizes: ArrayLike, times: ArrayLike, low: Optional[ArrayLike], high: Optional[ArrayLike]
) -> Curve:
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
    if len(each) == len(place):
        order = np.argsort(place)
        return Curve(each, np.log2(each), y[order], error[order])
    medians = [
        np.array([np.median(values[place == i]) for i in range(len(each))]) for values in (y, error)
    ]
    return Curve(each, np.log2(each), *medians)


def _off_line(x: Array, y: Array) -> Array:
    """The distance of each inner point from the line through its neighbours, as a multiple of what
    noise 1 would cause."""
    share = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    off: Array = y[1:-1] - (1 - share) * y[:-2] - share * y[2:]
    return off / np.sqrt(1 + (1 - share) ** 2 + share**2)


def noise_of(x: Array, y: Array, weight: Array) -> float:
    """From the 35 % quantile of the points' distances from their neighbours: edges spoil some, so
    not the median."""
    kept = weight > 0
    off = np.abs(_off_line(x[kept], y[kept]))
    return float(np.quantile(off, 0.35)) / 0.4538 if len(off) else 0.0


def lonely(x: Array, y: Array) -> Array:
    """Points far from both neighbours, in the same direction, if these agree: no step looks like
    that."""
    spread = max(noise_of(x, y, np.ones(len(x))), LEAST_NOISE)
    found = np.zeros(len(x), bool)
    for i in range(1, len(x) - 1):
        before, after = y[i] - y[i - 1], y[i] - y[i + 1]
        if found[i - 1] or before * after <= 0:
            continue
        off = min(abs(before), abs(after))
        found[i] = off > max(5 * spread, STEP) and abs(before - after) < max(4 * spread, off / 2)
    return found


class Fits:
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

    def line(self, level: bool, i: int, j: int, at: Array) -> Array:
        found: Array = self.y_mean[i, j] + self.slope[level][i, j] * (at - self.x_mean[i, j])
        return found

    def partition(self) -> list[Segment]:
        each = np.minimum(self.cost[0], self.cost[1])
        level = self.cost[1] <= self.cost[0]
        best = [-self.penalty]
        came: list[tuple[int, bool]] = []
        # Lists: for so few points, numpy takes longer.
        for costs, is_level in zip(each.T.tolist(), level.T.tolist()):
            total = [before + cost + self.penalty for before, cost in zip(best, costs)]
            best.append(min(total))
            begin = total.index(best[-1])
            came.append((begin, is_level[begin]))
        segments, end = [], len(came)
        while end > 0:
            begin, of_level = came[end - 1]
            segments.append(Segment(begin, end - 1, of_level))
            end = begin
        return segments[::-1]


def cut_up(curve: Curve, weight: Array, noise: float) -> Cut:
    """The best cut for this noise; its cost is the information criterion for unknown noise (Yao
    1988)."""
    x, y, weight = curve.x, curve.y, weight.copy()
    while True:
        fits = Fits(x, y, weight / (noise**2 + curve.error**2))
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
    return Cut(
        segments,
        fits,
        weight,
        max(math.sqrt(square / max(n - 2 * parts, n / 3)), LEAST_NOISE),
        badness,
    )


def _odd(
    segments: list[Segment], fits: Fits, x: Array, y: Array, noise: float
) -> NDArray[np.bool_]:
    """Inner points of levels that are far from the line."""
    odd = np.zeros(len(x), bool)
    for s in segments:
        if s.level and s.last - s.first >= 3:
            inner = slice(s.first + 1, s.last)
            off = np.abs(y[inner] - fits.line(True, s.first, s.last, x[inner]))
            odd[inner] = off > max(4 * noise, STEP)
    return odd


def tidy(segments: list[Segment], fits: Fits, x: Array, noise: float) -> list[Segment]:
    """Joins neighbours of a kind, unless there is a step between them: two levels in a row are a
    kink."""
    merged: list[Segment] = []
    for s in segments:
        below = next((m for m in merged[:-3:-1] if m.level), None)
        if s.level and below and not _is_step(below, s, fits, x, noise):
            del merged[merged.index(below) :]
            s = Segment(
                below.first,
                s.last,
                bool(
                    fits.slope[1][below.first, s.last] * (x[s.last] - x[below.first]) <= LEVEL_RISE
                ),
            )
        if not s.level and merged and not merged[-1].level:
            s = Segment(merged.pop().first, s.last, False)
        merged.append(s)
    return merged


def _is_step(a: Segment, b: Segment, fits: Fits, x: Array, noise: float) -> bool:
    """Also a step down: it is no edge, but must be reported."""
    up = fits.line(True, b.first, b.last, x[b.first]) - fits.line(True, a.first, a.last, x[a.last])
    unsure = 3 * noise * math.sqrt(1 / (a.last - a.first + 1) + 1 / (b.last - b.first + 1))
    gap = min(x[b.first] - x[a.last], 1.0)
    return bool(up > STEP + LEVEL_SLOPE * gap + unsure or -up > STEP + unsure)
