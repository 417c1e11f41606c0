# SPDX-License-Identifier: Apache-2.0
"""How long sharing takes on a made-up machine."""

from __future__ import annotations

from ..machines import Machine
from ..trials import Point

LOCKS = ("mutex", "spin", "ticket", "mcs", "futex")
FLOOR = {
    "add": 1.2e-9,
    "fetch-add": 5e-9,
    "compare-exchange": 6e-9,
    "mutex": 18e-9,
    "spin": 9e-9,
    "ticket": 11e-9,
    "mcs": 16e-9,
    "futex": 12e-9,
}
CROSSING = 60e-9  # s for a line, from core to core


def sharing(
    machine: Machine, threads: tuple[int, ...] = (1, 2, 4, 8, 16), line: int = 64
) -> list[Point]:
    """Words on one line and on separate lines, locks; distances. On one line threads take turns."""
    points = []
    for name, floor in FLOOR.items():
        locks = name in LOCKS
        variant, lock = ("lock", {"lock": name}) if locks else (name, {})
        geometry = {**({"section": "increment"} if locks else {"word": "8"}), "padding": 128}
        for n in threads:
            crossing = CROSSING * (n - 1) * (2 if lock else 1)
            times = {"shared": floor + crossing * 2, "dense": floor + crossing, "padded": floor}
            for layout, seconds in times.items():
                points.append(
                    Point(
                        "sharing",
                        variant,
                        {"layout": layout, **lock, "operations": 0, **geometry},
                        n,
                        seconds,
                        unit="operation",
                        bind="close",
                        others={
                            "throughput": ("operation/s", n / seconds),
                            "fairness": ("1", 0.4 if layout == "shared" and n > 1 else 0.98),
                            "lost": (
                                "1",
                                (
                                    (1 - 1 / n if layout == "shared" else 0.0)
                                    if name == "add"
                                    else None
                                ),
                            ),
                        },
                        ratios=[] if layout == "padded" else [("layout", layout, "padded", floor)],
                    )
                )
    many = [n for n in (2, max(threads)) if 1 < n <= max(threads)]
    for operation in ("add", "fetch-add"):
        for n in dict.fromkeys(many):
            points += distances(operation, n, {d: 4 if d < line else 1 for d in DISTANCES})
    return points


DISTANCES = (4, 8, 16, 32, 48, 64, 96, 128, 256, 512, 1024, 2048, 4096)


def distances(operation: str, threads: int, relative: dict[int, float]) -> list[Point]:
    """The curve of variant distance, given by its times relative to words far apart."""
    return [
        Point(
            "sharing",
            "distance",
            {"distance": d, "operation": operation},
            threads,
            FLOOR[operation] * times,
            unit="operation",
            bind="close",
        )
        for d, times in relative.items()
    ]
