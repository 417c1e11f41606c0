# SPDX-License-Identifier: Apache-2.0
"""How many loads a core keeps in flight, by level of the memory: from the time of a load over the
number of independent chains that are followed at once.

By Little's law the loads in flight are their rate times the time that each takes: with k chains
that is k, until a core can't have more of them, and each load begins to wait. What it sustains is
the highest rate times the time of a load that is alone. The knee is the smallest number of chains
whose rate is within 5 % of the highest (saturation.py)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from ..base import units
from ..records.rows import Trial
from . import advice, evidence, saturation
from .advice import Place, Wish
from .caches import reported_caches
from .saturation import Knee

VARIANT = "parallel"


def curves(trials: Sequence[Trial]) -> list[list[Trial]]:
    """The curves over chains of one run, in order of chains; each begins with one chain."""

    def key(t: Trial) -> tuple[int, str, str]:
        p = t["parameters"]
        return int(p["size"]), str(p.get("pages")), str(p.get("stride"))

    own = sorted(
        (t for t in trials if t["variant"] == VARIANT),
        key=lambda t: (key(t), int(t["parameters"]["chains"])),
    )
    found = [list(points) for _, points in groupby(own, key)]
    return [points for points in found if _chains(points[0]) == 1]


def _chains(trial: Trial) -> int:
    return int(trial["parameters"]["chains"])


def said(curves: Sequence[Sequence[Trial]], place: Place) -> list[str]:
    """A sentence on each curve that has enough points."""
    told = []
    for measured in curves:
        found = saturation.knee([(_chains(t), t) for t in measured], slower=True)
        if found:
            size = int(measured[0]["parameters"]["size"])
            then = found.advise(place, _wish(size, found))
            told.append(f"{level(size, place)} ({units.short(size)}B): {_sentence(found)}{then}")
    return told


COUNTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)  # of chains that latency can follow


def _wish(size: int, found: Knee) -> Wish:
    """The chains around the knee, one, and the most."""
    around = [n for n in COUNTS if (found.below or 1) <= n <= found.at.number]
    numbers = sorted({1, *around, found.points[-1].number})
    chains = ",".join(map(str, numbers))
    options = (("variant", VARIANT), ("size", advice.quantity(size)), ("chains", chains))
    return Wish("latency", options, size=size)


def _sentence(found: Knee) -> str:
    alone, most = found.points[0], found.points[-1].number
    hidden = evidence.is_noisy(alone.trial) or alone.number != 1
    flight = f"{found.best.rate / alone.rate:.1f} loads in flight"
    every = f"a load every {units.quantity(1 / found.best.rate, 's')}"
    times = every if hidden else f"{every} instead of {units.quantity(1 / alone.rate, 's')}"
    if found.is_open:
        many = "the rate still grows" if hidden else f"at least {flight}"
        return f"{many} with {most} chains, the most measured; {times}."
    many = "the highest rate is" if hidden else f"{flight},"
    return f"{many} reached with {found.at.number} of {most} chains{found.found}; {times}."


def level(size: int, place: Place) -> str:
    """The smallest cache, as reported, that holds a working set."""
    for number, sizes in sorted(reported_caches(place.machine).items()):
        if size <= max(sizes):
            return f"L{number}"
    return "memory"
