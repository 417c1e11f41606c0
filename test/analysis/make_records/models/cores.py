# SPDX-License-Identifier: Apache-2.0
"""What cores measures on a made-up machine: one of its CPUs may be slow, or compute wrong."""

from __future__ import annotations

import random
import statistics
from typing import Optional

from ..machines import Machine
from ..trials import Point

QUANTUM = {"64": 2.4e-6, "256": 1.7e-6}  # s, by width
TOGETHER = 1.08  # the time of a quantum beside others, over its time alone
MADDS = 1024 * 12  # multiply-adds of a lane in a quantum


def cores(
    machine: Machine,
    slow: Optional[int] = None,
    wrong: Optional[int] = None,
    seed: str = "",
    by: float = 1 / 0.9,
) -> list[Point]:
    """CPUs differ by 0.2 %; the slow one takes `by` times as long."""
    return [
        _point(machine, variant, width, slow, wrong, random.Random(f"{seed}{variant}{width}"), by)
        for variant in ("alone", "together")
        for width in QUANTUM
    ]


def _point(
    machine: Machine,
    variant: str,
    width: str,
    slow: Optional[int],
    wrong: Optional[int],
    rng: random.Random,
    by: float,
) -> Point:
    cpus = machine.cpu_nodes * machine.cores
    usual = QUANTUM[width] * (TOGETHER if variant == "together" else 1)
    quanta = [usual * rng.gauss(1, 0.002) * (by if cpu == slow else 1) for cpu in range(cpus)]
    errors = [30.0 * (cpu == wrong) for cpu in range(cpus)]
    of_cpus = {
        "quantum": quanta,
        "rate": [MADDS * int(width) / 64 / q for q in quanta],
        "clock": [3e9 * usual / q for q in quanta],
        "lost": [0.001] * cpus,
        "tail": [1.2 * q for q in quanta],
        "gap": [4e-6] * cpus,
        "wrong": errors,
    }
    median = statistics.median(quanta)
    others = {
        "rate": ("madd/s", statistics.median(of_cpus["rate"])),
        "clock": ("Hz", statistics.median(of_cpus["clock"])),
        "slowest": ("1", median / max(quanta)),
        "lost": ("1", 0.001),
        "tail": ("s/quantum", 1.2 * median),
        "gap": ("s", 4e-6),
        "wrong": ("quanta", max(errors)),
    }
    return Point(
        "cores",
        variant,
        {"width": width, "quanta": 1000},
        cpus,
        seconds=median,
        unit="quantum",
        headline=("quantum", "s/quantum", median),
        others={name: (unit, value) for name, (unit, value) in others.items()},
        bind="close",
        status="ok" if wrong is None else "wrong",
        reasons=[] if wrong is None else [f"CPU {wrong} computes wrong: 30 quanta"],
        by_worker=of_cpus,
    )
