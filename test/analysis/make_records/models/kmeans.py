# SPDX-License-Identifier: Apache-2.0
"""How long kmeans takes on a made-up machine."""

from __future__ import annotations

from typing import Any, Optional

from ..trials import Point

SMALL_CASE = {
    "points": "200000",
    "dimensions": 2,
    "clusters": 81,
    "iterations": 108,
    "type": "double",
    "data": "uniform",
}
PAIR = 2e-9  # s for a point and a cluster, on one thread
# Time relative to 2p: on one thread, and on several.
LADDER = {
    "2p": (1, 1),
    "2q": (0.95, 4),
    "2q-padded": (0.95, 1.2),
    "3p": (1, 0.8),
    "private-dense": (0.98, 0.85),
    "private-padded": (0.98, 0.7),
}


def kmeans(
    threads: tuple[int, ...] = (1, 2, 4, 8),
    work: Any = SMALL_CASE,
    prunes: tuple[str, ...] = ("auto",),
    **ladder: Any,
) -> list[Point]:
    """Published ratios, except those in `ladder`; `best` is 20 times as fast as 2p."""
    pairs = int(work["points"]) * work["clusters"]
    points = []
    for n in threads:
        base = PAIR * pairs / n**0.9
        times = {**LADDER, **ladder}
        for variant, relative in times.items():
            seconds = base * relative[n > 1]
            ratios = [("variant", variant, "2p", base)] if variant.startswith("2q") else []
            points.append(
                Point(
                    "kmeans",
                    variant,
                    dict(work),
                    n,
                    seconds,
                    "iteration",
                    bind="close",
                    others=_solved(seconds, pairs),
                    ratios=ratios,
                )
            )
        for prune in prunes:
            points.append(best(n, {**work, "prune": prune}, base / 20))
    return points


def best(threads: int, work: Any, seconds: float, communication: Optional[float] = None) -> Point:
    others = {
        **_solved(seconds, int(work["points"]) * work["clusters"]),
        "computed": ("1", 0.04),
        "fma-share": ("1", 0.72),
    }
    if communication is not None:
        others["communication"] = ("s/iteration", communication)
    return Point(
        "kmeans", "best", dict(work), threads, seconds, "iteration", bind="close", others=others
    )


def _solved(seconds: float, pairs: int) -> dict[str, tuple[str, Optional[float]]]:
    return {
        "pair-time": ("s", seconds / pairs),
        "total": ("s", seconds * 108),
        "iterations": ("1", 108),
        "inertia": ("1", 1234.5),
    }
