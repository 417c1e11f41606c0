# SPDX-License-Identifier: Apache-2.0
"""How long latency takes on a made-up machine."""

from __future__ import annotations

import math
from typing import Any

from ..machines import PAGE, Machine
from ..trials import Point

LINE = 64
CACHES = (
    (32 << 10, 2.2e-9),
    (1 << 20, 4.0e-9),
    (22 << 20, 15e-9),
)  # bytes of a cache; s per load within it. Beyond all of them:
MEMORY = 82e-9
TLBS = ((64, 3e-9), (1536, 12e-9))  # entries; additional s per load beyond that many pages


def time_of_load(lines: float, pages: float) -> float:
    """Sharp edges, except the softer ones of the L3 and of the second TLB."""
    size = lines * LINE
    time = next((t for c, t in CACHES if size <= c), MEMORY)
    last = CACHES[-1][0]
    if last < size < 2 * last:
        time = CACHES[-1][1] + (MEMORY - CACHES[-1][1]) * (size / last - 1)
    return time + sum(
        t * min(1.0, max(0.0, math.log2(pages / n)) + (n == 64)) for n, t in TLBS if pages > n
    )


def sizes(first: int, last: int, octave: int) -> list[int]:
    return sorted(
        {
            round(first * 2 ** (i / octave)) // LINE * LINE
            for i in range(int(math.log2(last / first) * octave) + 1)
        }
    )


def latency(machine: Machine, octave: int = 4, last: int = 256 << 20) -> list[Point]:
    """Curves of all patterns, several chains, background load, the matrix."""
    points = []

    def add(
        variant: str, size: int, pages: str, seconds: float, threads: int = 1, **more: Any
    ) -> None:
        parameters = {
            "size": size,
            "pages": pages,
            "element": "pointer",
            "stride": 0,
            "chains": 1,
            "loads": 0,
            **more,
        }
        background, share = parameters.pop("background", None), parameters.pop("share", None)
        bind = "layout" if "from" in parameters else "close"
        points.append(
            Point(
                "latency",
                variant,
                parameters,
                threads,
                seconds=seconds,
                unit="load",
                bind=bind,
                on_node={str(parameters.get("to", 0)): max(1, size // PAGE)},
                local=1.0,
                others={
                    "background": ("B/s", background),
                    "share": ("1", share),
                    "elements": (
                        "element",
                        size // (PAGE if variant in ("page-random", "page-stride") else LINE),
                    ),
                },
                huge=float(pages != "base"),
            )
        )

    for pages in ("base", "thp"):
        share = 1 if pages == "base" else 512
        for size in sizes(1 << 10, last, octave):
            lines, of_pages = size / LINE, max(1, size / PAGE / share)
            add("cycle", size, pages, time_of_load(lines, of_pages))
            add("page-cycle", size, pages, time_of_load(lines, 1) * 0.9)
            add("line-stride", size, pages, min(3e-9, time_of_load(lines, 1)))
        for size in sizes(64 << 10, last, octave):
            n = size // PAGE
            add("page-random", size, pages, time_of_load(n, max(1, n / share)))
            if pages == "base":
                add("page-stride", size, pages, time_of_load(n, n))
    for size in (16 << 10, 1 << 20, last):
        for chains in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32):
            one = time_of_load(size / LINE, 1)
            add("parallel", size, "thp", max(one / chains, one / 14, 0.4e-9), chains=chains)
    packed = "+".join(str(machine.cores * (node == 0)) for node in range(machine.cpu_nodes))
    for mix, most in (("read", 0.9), ("2r1w", 0.8), ("write", 0.6)):
        for target in (1, 2, 4, 8, 16, 32, 64, 0):
            full = machine.local * most
            rate = min(full, target * 1e9) if target else full
            used = rate / machine.local / (most + 0.05)
            add(
                "loaded",
                last,
                "thp",
                MEMORY / (1 - used * 0.8),
                machine.cores,
                mix=mix,
                stores="nontemporal",
                rate=target,
                background=rate,
                share=rate / full,
                **{"load-size": 0, "from": packed, "to": 0},
            )
    for cpu_node in range(machine.cpu_nodes):
        for node in range(machine.nodes):
            source = "+".join(str(int(i == cpu_node)) for i in range(machine.cpu_nodes))
            far = 1 if cpu_node == node else 1.65 if node < machine.cpu_nodes else 2.6
            more: dict[str, Any] = {"from": source, "to": node}
            add("matrix", last, "thp", MEMORY * far, **more)
    return points
