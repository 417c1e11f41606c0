# SPDX-License-Identifier: Apache-2.0
"""How long search takes on a made-up machine."""

from __future__ import annotations

import math
from typing import Optional

from ..machines import Line
from ..trials import Point

SIZES = tuple(1 << i for i in range(14, 30, 2))  # the published array's sizes
LEVELS = (
    (32 << 10, 1.2e-9),
    (1 << 20, 3e-9),
    (22 << 20, 9e-9),
    (1 << 62, 40e-9),
)  # bytes; s per step of a search in that many
MISSED, DEALT, PACKET = (
    3.5e-9,
    2.5e-9,
    128,
)  # s per branch that is mispredicted half of the time; s to deal a key; keys
DEALERS = ("whole", "routed", "divided", "weighted", "stealing")
OWNED = DEALERS[2:]
UNIFORM, ZIPF, HOT = ("uniform", 0.0), ("zipf", 1.0), ("hot", 0.9)
BUSIEST = {UNIFORM: 1.0, ZIPF: 4.0, HOT: 7.2}  # work of the busiest searcher over the mean


def step(size: float) -> float:
    return next(cost for most, cost in LEVELS if size <= most)


def key_time(variant: str, method: str, size: int, owners: int) -> float:
    """s per key of a binary search. The time of a step follows from the bytes that it may touch in
    the array, or in a searcher's part of it; in a part, the first branches are predicted."""
    steps, first = math.log2(size / 4), math.log2(owners)
    if variant == "best":
        return steps * 0.12e-9 + step(size) / 10
    of_part = variant not in ("whole", "routed")
    took = 0.0
    for i in range(int(steps - (first if of_part else 0))):
        touched = 64 * 2.0**i / (1 if variant == "whole" or of_part else min(owners, 2**i))
        took += step(min(touched, size)) + (
            MISSED if method == "branchy" and (variant != "routed" or i >= first) else 0.3e-9
        )
    return took


def search(
    threads: tuple[int, ...] = (9,),
    sizes: tuple[int, ...] = SIZES,
    methods: tuple[str, ...] = ("branchy", "branchless"),
    keys: tuple[tuple[str, float], ...] = (UNIFORM,),
    types: tuple[str, ...] = ("u32",),
    variants: tuple[str, ...] = (*DEALERS, "partitioned", "best"),
) -> list[Point]:
    """A dispatcher that deals as fast as DEALT allows, and searchers; or threads that search their
    own packets."""
    points = []
    for variant in variants:
        for n in threads:
            for method in methods if variant != "best" else ("",):
                for kind in types:
                    for skew in keys:
                        points += [searched(variant, n, method, kind, skew, size) for size in sizes]
    return points


def searched(
    variant: str, threads: int, method: str, kind: str, skew: tuple[str, float], size: int
) -> Point:
    dealt = variant in DEALERS
    searchers = threads - dealt
    key = key_time(variant, method, size, searchers) * (1.3 if kind == "u64" else 1)
    busiest = (
        min(BUSIEST[skew], searchers) if variant in ("routed", "divided", "partitioned") else 1.02
    )
    slow = busiest if variant in ("routed", "divided", "partitioned") else 1.03
    most = searchers / key / slow
    rate = min(most, 1 / DEALT) if dealt else most
    waiting = 1 - rate * key / searchers
    parameters: Line = {"size": size, "type": kind}
    if variant != "best":
        parameters["search"] = method
    parameters.update(
        packet=PACKET, keys=skew[0], skew=skew[1], pages="thp" if variant == "best" else "base"
    )
    others: dict[str, tuple[str, Optional[float]]] = {
        "key-time": ("s", key),
        "search-median": ("s", key * PACKET * 0.98 if variant != "best" else None),
        "search-p99": ("s", key * PACKET * 1.4 if variant != "best" else None),
        "search-deviation": ("s", key * PACKET * 0.15 if variant != "best" else None),
        "throughput": ("key/s", rate),
        "waiting": ("1", waiting if dealt else None),
        "held-up": ("1", 0.0 if rate < most else 0.4 if dealt else None),
        "dispatcher-bound": ("1", float(rate < most) if dealt else None),
        "imbalance": ("1", busiest if variant != "best" else None),
        "idle": ("1", 0.02 + (1 - 1 / slow) * 0.95 if dealt else None),
        "build-time": ("s", size / 4e9 if not dealt else None),
        "overhead": ("1", 0.0667 if variant == "best" else None),
        "limit": ("key/s", 4 * rate if variant == "best" else None),
    }
    return Point(
        "search",
        variant,
        parameters,
        threads,
        PACKET / rate * searchers,
        "packet",
        headline=("search-time", "s", key * PACKET),
        bind="close",
        others=others,
    )
