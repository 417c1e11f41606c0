# SPDX-License-Identifier: Apache-2.0
"""How long core-to-core and coherence take on a made-up machine."""

from __future__ import annotations

import itertools
import random
from typing import Any, Optional

from ..machines import Line, Machine
from ..trials import Point

TIMES = {"SMT": 12e-9, "L2": 25e-9, "L3": 45e-9, "node": 70e-9, "package": 95e-9, "machine": 180e-9}
PROTOCOLS = {"compare-exchange": 1.0, "store-load": 1.1, "two-lines": 1.9, "message": 0.7}
QUARTILES = {"0": 0.9, "0.25": 0.97, "0.5": 1.0, "0.75": 1.04, "0.99": 1.4}


def core_to_core(
    machine: Machine,
    odd: tuple[int, ...] = (),
    crowding: Optional[float] = 1.02,
    protocols: Any = PROTOCOLS,
) -> list[Point]:
    """All pairs of cores; four cores share an L3, and each node is a package. Pairs with an odd
    core take 1.5 times as long as others."""
    return [
        Point(
            "core-to-core",
            "ping-pong",
            {"protocol": protocol, "lines": 16, "home": home},
            machine.cpu_nodes * machine.cores,
            TIMES["L3"] * PROTOCOLS[protocol],
            unit="transfer",
            bind="close",
            pairs=_pairs(machine, PROTOCOLS[protocol] * (1 + 0.1 * home), odd, crowding),
        )
        for protocol in protocols
        for home in range(machine.cpu_nodes)
    ]


STATES = {"exclusive": 1.0, "modified": 1.2, "memory": 2.0}


def coherence(machine: Machine) -> list[Point]:
    """Loads of lines in three states, which take longer with more lines."""
    times = {(s, n): STATES[s] * n**0.2 for s in STATES for n in (256, 2048, 16384)}
    return [
        Point(
            "coherence",
            "load",
            {"state": state, "sharers": 0, "lines": lines, "home": 0},
            machine.cpu_nodes * machine.cores,
            TIMES["L3"] * time,
            unit="line",
            bind="close",
            ratios=[("state", state, "exclusive", TIMES["L3"] * times["exclusive", lines])]
            * (state != "exclusive"),
            pairs=_pairs(machine, time, (), None),
        )
        for (state, lines), time in times.items()
    ]


def _pairs(machine: Machine, times: float, odd: tuple[int, ...], crowding: Optional[float]) -> Line:
    cpus = machine.cpu_nodes * machine.cores
    rng = random.Random(cpus)
    pairs = list(itertools.combinations(range(cpus), 2))
    of = [
        "machine"
        if a // machine.cores != b // machine.cores
        else "L3"
        if a // 4 == b // 4
        else "node"
        for a, b in pairs
    ]
    medians = [
        TIMES[level] * times * rng.uniform(0.97, 1.03) * (1.5 if a in odd or b in odd else 1)
        for (a, b), level in zip(pairs, of)
    ]
    cells: Line = {
        "a": [a for a, _ in pairs],
        "b": [b for _, b in pairs],
        "level": of,
        "n": [64] * len(pairs),
        **{q: [median * f for median in medians] for q, f in QUARTILES.items()},
    }
    levels = []
    for level in sorted(set(of), key=list(TIMES).index):
        own = sorted(m for m, its in zip(cells["0.5"], of) if its == level)
        shown = {q: own[int(float(q) * (len(own) - 1))] for q in QUARTILES}
        meetings = {"n": 64 * len(own), **{q: shown[q] * f for q, f in QUARTILES.items()}}
        levels.append(
            {
                "level": level,
                "pairs": len(own),
                "meetings": meetings,
                "crowding": crowding,
                **shown,
            }
        )
    return {
        "rounds": cpus - 1 + cpus % 2,
        "levels": levels,
        "outstanding": [
            {"cpu": c, "level": "node", "median": 1.5 * TIMES["node"], "of": TIMES["node"]}
            for c in odd
        ],
        "crowding": {"pairs": 8, "median": crowding, "most": crowding * 1.05} if crowding else None,
        "cells": cells,
    }
