# SPDX-License-Identifier: Apache-2.0
"""The trials of a file of expected values that locus health measures: for each component of the
machine the one with most threads, which shows most of it, and of these the one whose bounds are the
narrowest."""

from __future__ import annotations

from collections.abc import Sequence

from ..compare.expected import Asked, Bounds
from ..compare.observations import Side
from . import components

# These take seconds on large machines, and others show the same.
LONG = ("core-to-core",)
# Several components at once.
MIXED = ("work",)


def choose(side: Side, metrics: Sequence[Bounds]) -> list[Asked]:
    """The trials for machines of one class. A trial is judged by its first metric that has
    bounds."""
    caches = components.caches_of(side.runs[-1])
    best: dict[str, Bounds] = {}
    rank: dict[str, tuple[int, float]] = {}
    for bounds in {m["trial"]: m for m in reversed(metrics)}.values():
        own = side.trials[bounds["trial"]]
        if own["benchmark"] in LONG:
            continue
        trial = components.trial_of(own)
        fit = components.fit(trial, caches)
        if not fit or fit.component in MIXED:
            continue
        own_rank = (-trial.threads, bounds["high"] / bounds["low"])
        if own_rank < rank.get(fit.component, (1, 0)):
            best[fit.component], rank[fit.component] = bounds, own_rank
    return [
        {"trial": best[name]["trial"], "metric": best[name]["metric"], "component": name}
        for name in components.NAMES
        if name in best
    ]
