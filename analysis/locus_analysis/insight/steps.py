# SPDX-License-Identifier: Apache-2.0
"""Plateaus and edges of a curve of latency over working set, found from the curve alone: no cache
size is known here. The curve is log2(time) over log2(size), cut into segments (segments.py).

An edge is the largest size that still belongs to the lower level. Its interval reaches from the
last size that surely belongs to it to the first that surely lies above: all places of the cut that
cost at most CONFIDENCE more than the best, the 95 % quantile of chi squared with one degree of
freedom (likelihood ratio). With few points that is an approximation."""

from __future__ import annotations

import math
from typing import Optional

import numpy as np
from numpy.typing import ArrayLike

from ..base import units
from .plateaus import LONG_RAMP, Edge, Plateau, Steps, Text
from .segments import (
    LEAST_NOISE,
    LEVEL_POINTS,
    STEP,
    Curve,
    Cut,
    Fits,
    Segment,
    cut_up,
    lonely,
    noise_of,
    prepared,
    tidy,
)

MOST_NOISE = math.log2(1.35)
LEAST_POINTS = 6
CONFIDENCE = 3.84
TRIED = (1.0, 0.7, 0.5, 0.35, 0.25)  # of the noise that neighbours suggest


def find(
    sizes: ArrayLike,
    times: ArrayLike,
    low: Optional[ArrayLike] = None,
    high: Optional[ArrayLike] = None,
    text: Text = units.size,
) -> Steps:
    """Sizes and times above zero, in any order. low, high: intervals of the times (NaN: there is
    none); text: says a size."""
    curve = prepared(sizes, times, low, high)
    x, y = curve.x, curve.y
    if len(x) < LEAST_POINTS:
        return Steps(
            remarks=[
                f"too few points: {len(x)} sizes were measured, at least {LEAST_POINTS} are needed"
            ]
        )
    weight = np.ones(len(x))
    weight[lonely(x, y)] = 0
    noise = max(noise_of(x, y, weight), LEAST_NOISE)
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
        min((cut_up(curve, weight, each) for each in tried), key=lambda cut: cut.badness),
        text,
    )


def _describe(curve: Curve, cut: Cut, text: Text) -> Steps:
    segments = tidy(cut.segments, cut.fits, curve.x, cut.noise)
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


def _plateau(curve: Curve, cut: Cut, s: Segment) -> Plateau:
    own = curve.y[s.first : s.last + 1][cut.weight[s.first : s.last + 1] > 0]
    low, middle, high = (float(2**v) for v in np.quantile(own, (0.25, 0.5, 0.75)))
    to_end = s.last == len(curve.x) - 1
    return Plateau(
        float(curve.size[s.first]), float(curve.size[s.last]), middle, low, high, len(own), to_end
    )


def _edge(
    steps: Steps, around: list[Segment], below: int, curve: Curve, cut: Cut, text: Text
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
            f"only the last size ({text(size[b.last])}) lies above the sizes before it: that is no"
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


def _border(a: Segment, b: Segment, fits: Fits) -> tuple[int, int, int]:
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


def _remark(steps: Steps, segments: list[Segment], curve: Curve, text: Text) -> None:
    x, size = curve.x, curve.size
    if not steps.plateaus:
        times = float(2 ** (curve.y[-1] - curve.y[0]))
        steps.remarks.append(
            f"it rises all the way (to {times:.3g} times its start) without a plateau: no "
            "level can be found"
        )
        return
    for s in segments[1:-1]:
        if not s.level and x[s.last] - x[s.first] > LONG_RAMP:
            steps.remarks.append(
                f"from {text(size[s.first])} to {text(size[s.last])} it rises without a plateau: "
                "no level can be found there"
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
