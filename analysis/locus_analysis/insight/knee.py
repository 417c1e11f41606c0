# SPDX-License-Identifier: Apache-2.0
"""How many threads the bandwidth of memory needs: the knee of bandwidth over threads
(saturation.py)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Optional

from ..base import units
from ..records.rows import Trial
from . import evidence, saturation
from .advice import Place, Wish
from .saturation import Knee

VARIANTS = ("scaling", "static")
SETTING = ("kernel", "size", "pages")  # these, and the nodes in use, distinguish the curves


def _nodes(trial: Trial) -> tuple[bool, ...]:
    """Which nodes have threads: "2+0" is on the first of two."""
    return tuple(n != "0" for n in str(trial["parameters"].get("layout", "")).split("+"))


def curves(trials: Sequence[Trial]) -> list[list[Trial]]:
    """The curves of VARIANTS in one run, with points in order of threads."""

    def key(t: Trial) -> tuple[str, ...]:
        setting = (str(t["parameters"].get(name)) for name in SETTING)
        return (t["variant"], *setting, str(_nodes(t)))

    own = sorted(
        (t for t in trials if t["variant"] in VARIANTS),
        key=lambda t: (key(t), t["threads"]),
    )
    return [list(points) for _, points in groupby(own, key)]


def said(curves: Sequence[Sequence[Trial]], place: Place) -> list[str]:
    """A sentence on each curve that has enough points."""
    told = []
    for measured in curves:
        found = saturation.knee([(t["threads"], t) for t in measured], slower=False)
        if found and len({p.number for p in found.points}) >= saturation.LEAST_POINTS:
            then = found.advise(place, _wish(measured, found))
            told.append(f"{_name(measured[0])}: {_sentence(found)}{then}")
    return told


def _wish(measured: Sequence[Trial], found: Knee) -> Wish:
    """The variant on each number of threads around the knee, and on the most."""
    numbers = sorted({*range(found.below or 1, found.at.number + 1), found.points[-1].number})
    threads = ",".join(map(str, numbers)) if len(numbers) <= 16 else f"1..{numbers[-1]}+1"
    variant = measured[0]["variant"]
    options = [("variant", variant), ("threads", threads)]
    options += [("layout", "packed")] * (variant == "static")
    return Wish("numa", tuple(options), cpus=numbers[-1])


def _sentence(found: Knee) -> str:
    first, last = found.points[0], found.points[-1]
    base = ""
    if not evidence.is_noisy(first.trial):
        has = "has" if first.number == 1 else "have"
        base = f"; {first.number} {has} {units.quantity(first.rate, 'B/s')}"
    rate = units.quantity(found.at.rate, "B/s")
    if found.is_open:
        return f"bandwidth still grows at {last.number} threads, the most measured: {rate}{base}."
    share = f"{100 * found.at.rate / found.best.rate:.0f} %"
    of_most = f"{share} of the most bandwidth, {rate} of {units.quantity(found.best.rate, 'B/s')}"
    if evidence.is_noisy(found.at.trial):
        most = units.quantity(found.best.rate, "B/s")
        of_most = f"{100 * saturation.ENOUGH:.0f} % of the most bandwidth, {most}, or more"
    return f"{found.at.number} of {last.number} threads{found.found} reach {of_most}{base}."


def _name(trial: Trial) -> str:
    names = [str(trial["parameters"].get("kernel")), _where(trial)]
    return ", ".join(name for name in names if name)


def _where(trial: Trial) -> Optional[str]:
    used = [str(i) for i, has in enumerate(_nodes(trial)) if has]
    if len(_nodes(trial)) == 1:
        return None
    return f"node {used[0]}" if len(used) == 1 else f"nodes {', '.join(used)}"
