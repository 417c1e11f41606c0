# SPDX-License-Identifier: Apache-2.0
"""Runs over MPI ranks."""

from __future__ import annotations

from typing import Optional

from .models.search import BUSIEST, PACKET, UNIFORM, key_time
from .trials import Point


def over_ranks(
    ranks: int,
    size: int,
    threads: int = 2,
    skew: tuple[str, float] = UNIFORM,
    kind: str = "u32",
    pages: str = "thp",
) -> Point:
    """Variant distributed of search: an array in parts, one for each rank. The search hides half of
    the time for sending keys and answers."""
    key = key_time("best", "", size // ranks, threads) * (1.3 if kind == "u64" else 1)
    wire = (12 if kind == "u64" else 8) * (ranks - 1) / ranks
    spent = PACKET * threads * wire / 10e9 / 2
    busiest = min(BUSIEST[skew], ranks)
    seconds = PACKET * key * busiest + spent
    others: dict[str, tuple[str, Optional[float]]] = {
        "key-time": ("s", key),
        "search-p99": ("s", None),
        "throughput": ("key/s", PACKET * threads * ranks / seconds),
        "imbalance": ("1", busiest),
        "build-time": ("s", size / ranks / 4e9),
        "communication": ("s", spent),
        "wire": ("B", wire),
        "limit": ("key/s", ranks * 10e9 / wire if wire else None),
    }
    parameters = {
        "size": size,
        "type": kind,
        "packet": PACKET,
        "keys": skew[0],
        "skew": skew[1],
        "pages": pages,
    }
    headline = ("search-time", "s", key * PACKET)
    return Point(
        "search",
        "distributed",
        parameters,
        threads,
        seconds,
        "packet",
        headline=headline,
        bind="close",
        others=others,
    )
