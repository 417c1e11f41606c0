# SPDX-License-Identifier: Apache-2.0
"""How long checkpoint takes on a made-up machine."""

from __future__ import annotations

from ..machines import Machine
from ..trials import Point


def checkpoint(
    machine: Machine,
    threads: tuple[int, ...] = (1, 2, 4, 8),
    bodies: tuple[str, ...] = ("loop", "reverse"),
    apart: float = 1.0,
) -> list[Point]:
    """A pair of counters for all threads, and one for each thread. `apart`: the share of the cost
    of sharing that remains if the two counters of a pair do not lie in the same 16 bytes."""
    points = []
    for body in bodies:
        floor = 0.8e-9 if body == "loop" else 6e-9
        for n in threads:
            shared = floor + 4e-9 * (n - 1)
            times = {
                "together": shared,
                "quadwords": floor + (shared - floor) * apart,
                "apart": floor + (shared - floor) * apart,
                "per-thread-dense": (floor + shared) / 2,
            }
            times.update({"per-thread": floor, "per-cpu": floor * 2, "best": floor / 2})
            for variant, seconds in times.items():
                raced = n > 1 and variant in ("together", "quadwords", "apart")
                points.append(
                    Point(
                        "checkpoint",
                        variant,
                        {"ticks": 0, "every": 256, "body": body},
                        n,
                        seconds,
                        unit="tick",
                        bind="close",
                        others={
                            "throughput": ("tick/s", n / seconds),
                            "kept": ("1", 0.6 if raced else 1.0),
                            "fired-error": ("1", -0.12 if raced else 0.0),
                        },
                    )
                )
    return points
