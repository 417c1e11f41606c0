# SPDX-License-Identifier: Apache-2.0
"""How many loads a core keeps in flight, by level of the memory: from the time of a load over the
number of independent chains that are followed at once.

By Little's law the loads in flight are their rate times the time that each takes: with k chains
that is k, until a core can't have more of them, and each load begins to wait. What it sustains is
the highest rate times the time of a load that is alone. The knee is the smallest number of chains
whose rate is within ENOUGH of the highest. Only trials that can be judged count."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from ..base import units
from ..records.database import is_sound, value_of
from ..records.lines import Machine
from ..records.rows import Trial
from .caches import reported_caches

VARIANT = "parallel"
ENOUGH = 0.95
LEAST_POINTS = 3


def curves(trials: Sequence[Trial]) -> list[list[Trial]]:
    """The curves over chains of one run, in order of chains; each begins with one chain."""

    def key(t: Trial) -> tuple[int, str, str]:
        p = t["parameters"]
        return int(p["size"]), str(p.get("pages")), str(p.get("stride"))

    own = sorted(
        (t for t in trials if t["variant"] == VARIANT and t["value"] and is_sound(t)),
        key=lambda t: (key(t), int(t["parameters"]["chains"])),
    )
    found = [list(points) for _, points in groupby(own, key)]
    return [
        points
        for points in found
        if len(points) >= LEAST_POINTS and int(points[0]["parameters"]["chains"]) == 1
    ]


def said(points: Sequence[Trial], machine: Machine) -> str:
    """The sentence on a curve."""
    alone, best = points[0], min(points, key=value_of)
    knee = next(t for t in points if value_of(best) / value_of(t) >= ENOUGH)
    size, chains = int(alone["parameters"]["size"]), int(knee["parameters"]["chains"])
    most = int(points[-1]["parameters"]["chains"])
    flight = f"{value_of(alone) / value_of(best):.1f} loads in flight"
    times = (
        f"a load every {units.quantity(best['value'], 's')} instead of"
        f" {units.quantity(alone['value'], 's')}"
    )
    where = f"{level(size, machine)} ({units.short(size)}B)"
    if knee is points[-1]:
        return f"{where}: at least {flight} with {most} chains, the most measured; {times}."
    return f"{where}: {flight}, reached with {chains} of {most} chains; {times}."


def level(size: int, machine: Machine) -> str:
    """The smallest cache, as reported, that holds a working set."""
    for number, sizes in sorted(reported_caches(machine).items()):
        if size <= max(sizes):
            return f"L{number}"
    return "memory"
