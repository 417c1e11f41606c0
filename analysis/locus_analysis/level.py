# SPDX-License-Identifier: Apache-2.0
"""A level of cache or TLB as it was found in a curve of latency, and how that compares with what
the system reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Optional

from . import units
from .described import Bands
from .steps import LONG_RAMP, Edge, Plateau

Row = dict[str, Any]

BEYOND = 4  # times the last cache: at such a size at most a quarter of the loads still hit it
# A reported size agrees up to this factor above the interval: a stack, and lines of other programs,
# take a part of a cache.
TOP = 1.1
AGREES, DIFFERS, UNREPORTED, NOT_FOUND, UNSURE = (
    "agrees",
    "differs",
    "not reported",
    "not found",
    "can't tell",
)


@dataclass
class Level:
    name: str
    plateau: Optional[Plateau] = None
    time: Optional[float] = None  # s
    cycles: Optional[float] = None
    edge: Optional[Edge] = None
    ends: str = ""  # in words
    reported: str = ""
    verdict: str = ""  # one of the words above, or empty where there is nothing to compare
    remark: str = ""

    @property
    def cells(self) -> tuple[str, ...]:
        """A row of the table, under HEAD."""
        p = self.plateau
        size = count if "TLB" in self.name else units.size
        pages = " pages" if size is count else ""
        return (
            self.name,
            f"{size(p.first)} to {size(p.last)}{pages}" if p else "–",
            "–" if self.time is None else units.number(self.time * 1e9),
            "–" if self.cycles is None else units.number(self.cycles),
            self.ends or "–",
            self.reported or "–",
            self.verdict + (f": {self.remark}" if self.remark else ""),
        )


@dataclass
class Finding:
    """The levels found in one curve."""

    whole: str
    pages: str
    what: str  # "caches" or "TLB"
    curve: str  # in words
    levels: list[Level] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    special: bool = False  # not one pointer on each line
    first: bool = False  # the finding whose names count for the run
    points: list[Row] = field(default_factory=list)  # of the curve
    unit: float = 1  # bytes of its sizes

    @property
    def trials(self) -> set[tuple[str, str]]:
        """Run and id of each point."""
        return {(p["whole"], p["id"]) for p in self.points}


def ends(edge: Optional[Edge], text: Any) -> str:
    """The end of a level, in words."""
    if edge is None:
        return "not before the curve does"
    return (
        text(edge.low)
        if text(edge.low) == text(edge.high)
        else f"{text(edge.low)} to {text(edge.high)}"
    )


def compare(level: Level, reported: Sequence[float], virtual: bool, text: Any) -> None:
    """Compares with what is reported: one number, or several if cores differ."""
    edge = level.edge
    level.reported = " or ".join(dict.fromkeys(text(size) for size in reported))
    if edge is None:
        level.verdict = NOT_FOUND if reported else ""
        level.remark = (
            f"the curve ends before it does: measure up to {text(BEYOND * max(reported))}"
            if reported
            else ""
        )
        return
    if not reported:
        level.verdict = UNREPORTED
        return
    if any(edge.low <= size <= edge.high * TOP for size in reported):
        level.verdict = AGREES
        return
    end = edge.settled or edge.high
    if any(edge.high < size <= end for size in reported):
        # Pages at random places fill some sets of a cache early, and random replacement keeps some
        # lines: the end is soft.
        level.verdict = AGREES if edge.octaves <= LONG_RAMP else UNSURE
        level.remark = (
            f"the rise begins at {text(edge.size)} and goes on to {text(end)}; what is reported"
            " lies within"
        )
        return
    level.verdict = DIFFERS
    level.remark = (
        f"found at {ends(edge, text).replace(' to ', '–')} where {level.reported} is reported"
    )
    if virtual and min(reported) > edge.high:
        level.remark += (
            ": a virtual machine may report its host's cache, of which other guests use a part"
        )


def explain(level: Level, number: int, reported: dict[int, list[float]]) -> None:
    """For an edge that differs: whether another level is reported to end there."""
    edge = level.edge
    if level.verdict not in (DIFFERS, UNREPORTED) or edge is None:
        return
    for other, sizes in reported.items():
        if other != number and any(edge.low <= size <= edge.high * TOP for size in sizes):
            level.remark += f"{'; ' if level.remark else ''}L{other} is reported to end there"


def median_within(
    plateau: Optional[Plateau], points: Sequence[Row], key: str, unit: float = 1
) -> Optional[float]:
    """Of the points in a plateau, whose sizes are in `unit` bytes."""
    own = [
        p[key]
        for p in points
        if plateau and plateau.first <= p["size"] / unit <= plateau.last and p[key] is not None
    ]
    return median(own) if own else None


def count(pages: float) -> str:
    return f"{pages:.0f}"


BANDS_HELP = (
    "Grey bars: plateaus as found in the curve alone, grey columns: where a level ends (its"
    " interval)."
)
HEAD = ("level", "plateau", "ns", "cycles", "ends at", "reported", "")


def bands(finding: Finding) -> Bands:
    """The levels as they are drawn along their curve."""
    found = Bands(help=BANDS_HELP)
    for level in finding.levels:
        plateau, edge = level.plateau, level.edge
        if plateau and level.time:
            cycles = "" if level.cycles is None else f", {units.number(level.cycles)} cycles"
            text = f"{level.name}: {units.quantity(level.time, 's')}{cycles}"
            ends = {"first": plateau.first * finding.unit, "last": plateau.last * finding.unit}
            found.plateaus.append({**ends, "value": level.time, "label": text})
        if edge:
            sizes = {"low": edge.low, "high": edge.high, "at": edge.size}
            sizes = {key: size * finding.unit for key, size in sizes.items()}
            found.ends.append({**sizes, "label": f"{level.name} ends"})
    return found
