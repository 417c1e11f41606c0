# SPDX-License-Identifier: Apache-2.0
"""A level of cache or TLB as it was found in a curve of latency, and how that compares with what
the system reports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Literal, Optional

from ..base import units
from ..records.database import is_sound
from ..records.description import Bands
from ..records.rows import Judged, Trial
from . import advice, evidence
from .plateaus import LONG_RAMP, Edge, Plateau, Text


class Sized(Trial):
    """A point of a curve over the size of the working set."""

    size: int


BEYOND = 4  # times the last cache: at such a size at most a quarter of the loads still hit it
# A reported size agrees up to this factor above the interval: a stack, and lines of other programs,
# take a part of a cache.
TOP = 1.1
NARROW = 1.5  # a bracket whose ends differ by more leaves the answer open
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
    # The level ends between these two: the last measured size that belongs to it, and the first
    # that does not.
    bracket: Optional[tuple[float, float]] = None
    size: Optional[float] = None  # what is reported, only where it lies in the bracket
    doubtful: list[Sized] = field(default_factory=list)  # points in the bracket that do not count
    noisy: bool = False  # half of its plateau is, or more: it has no time
    judged: Optional[Judged] = None  # its time as evidence, from all of its plateau

    @property
    def is_certain(self) -> bool:
        """Whether it ends in a narrow bracket, which contains what is reported, if anything is."""
        if self.bracket is None or self.doubtful or self.verdict not in (AGREES, UNREPORTED):
            return False
        if self.verdict == AGREES and self.size is None:
            return False
        return self.bracket[1] <= NARROW * self.bracket[0]

    @property
    def is_timed(self) -> bool:
        """Whether its time is certain; also where it has none that could be."""
        return self.judged is None or evidence.is_certain(self.judged)

    @property
    def modes(self) -> list[float]:
        """Of its time, if that has two."""
        return self.judged["modes"] if self.judged and self.time else []

    @property
    def load(self) -> str:
        """The time of a load, with the digits that the quartiles of its plateau support."""
        time = units.quantity(self.time, "s", self._doubt(self.time))
        return units.either(self.modes, "s") or time

    @property
    def load_cycles(self) -> str:
        return self._number(self.cycles)

    def _number(self, value: Optional[float]) -> str:
        """Its time in another unit: a number, or one for each mode."""
        if value is None:
            return "–"
        modes = [units.number(value * mode / (self.time or 1)) for mode in self.modes]
        return " or ".join(modes) or units.number(value, self._doubt(value))

    def _doubt(self, value: Optional[float]) -> float:
        p = self.plateau
        return (value or 0.0) * (p.high - p.low) / 2 / p.time if p and p.time else 0.0

    @property
    def cells(self) -> tuple[str, ...]:
        """A row of the table, under HEAD."""
        p = self.plateau
        size = count if "TLB" in self.name else units.size
        pages = " pages" if size is count else ""
        return (
            self.name,
            f"{size(p.first)} to {size(p.last)}{pages}" if p else "–",
            self._number(None if self.time is None else self.time * 1e9),
            self.load_cycles,
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
    points: list[Sized] = field(default_factory=list)  # of the curve
    unit: float = 1  # bytes of its sizes
    huge: bool = False  # the same was measured on huge pages
    has_huge: bool = True  # it could be

    @property
    def trials(self) -> set[tuple[str, str]]:
        """Run and id of each point."""
        return {(p["whole"], p["id"]) for p in self.points}


def ends(edge: Optional[Edge], text: Text) -> str:
    """The end of a level, in words."""
    if edge is None:
        return "not before the curve does"
    return (
        text(edge.low)
        if text(edge.low) == text(edge.high)
        else f"{text(edge.low)} to {text(edge.high)}"
    )


def bracketed(bracket: tuple[float, float], text: Text) -> str:
    """Where an answer lies: "32..64 KiB"."""
    low, high = map(text, bracket)
    number, _, unit = low.partition(" ")
    if low == high:
        return str(high)
    return f"{number if high.endswith(f' {unit}') else low}..{high}"


def doubt(
    levels: Sequence[Level], points: Sequence[Sized], counted: Sequence[Sized], unit: float
) -> None:
    """Notes for each level the points in its bracket that were left out, or are not sound."""
    for level in levels:
        low, high = level.bracket or (math.inf, -math.inf)
        within = [p for p in points if low <= p["size"] / unit <= high]
        level.doubtful = [p for p in within if p not in counted or not is_sound(p)]


def timed(
    levels: Sequence[Level], names: str, place: advice.Place, wish: advice.Wish
) -> tuple[str, advice.Advice]:
    """Of levels whose times are not certain: what to run for most of them; empty: there is none."""
    if not levels:
        return "", advice.Advice()
    judged = [level.judged for level in levels if level.judged]
    reason = advice.why(judged) if any(of["status"] != "ok" for of in judged) else advice.WIDE
    return f"for the time{'s' * (len(levels) > 1)} of {names}", advice.of(place, reason, wish)


def step_of(points: Sequence[Sized], bracket: tuple[float, float], unit: float) -> float:
    """The largest factor between neighbouring sizes that counted, within a bracket."""
    own = [p["size"] / unit for p in points]
    own = sorted({size for size in own if bracket[0] <= size <= bracket[1]})
    return max((b / a for a, b in zip(own, own[1:])), default=1.0)


def compare(level: Level, reported: Sequence[float], virtual: bool, text: Text) -> None:
    """Compares with what is reported: one number, or several if cores differ."""
    edge = level.edge
    level.reported = " or ".join(dict.fromkeys(text(size) for size in reported))
    level.bracket = (edge.low, edge.high) if edge else None
    if edge is None:
        level.verdict = NOT_FOUND if reported else ""
        level.remark = (
            f"the curve ends below this level: measure up to {text(BEYOND * max(reported))}"
            if reported
            else ""
        )
        return
    if not reported:
        level.verdict = UNREPORTED
        return
    near = [size for size in reported if edge.low <= size <= edge.high * TOP]
    if near:
        level.verdict = AGREES
        level.size = max((size for size in near if size <= edge.high), default=None)
        return
    end = edge.settled or edge.high
    inside = [size for size in reported if edge.high < size <= end]
    if inside:
        # Pages at random places fill some sets of a cache early, and random replacement keeps some
        # lines: the end is soft.
        level.verdict = AGREES if edge.octaves <= LONG_RAMP else UNSURE
        level.bracket, level.size = (edge.low, end), max(inside)
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


def judge(level: Level, points: Sequence[Sized], unit: float = 1) -> None:
    """Judges the time by the trials of the plateau; takes it from those that are not noisy. Where
    half of them are, or more, there is none to tell."""
    plateau = level.plateau
    if plateau is None or level.time is None:
        return
    own = [p for p in points if plateau.first <= p["size"] / unit <= plateau.last]
    level.judged = evidence.middle([evidence.valued(p, "time") for p in own])
    level.noisy = evidence.is_noisy(level.judged)
    clear = [p for p in own if not evidence.is_noisy(p)]
    if level.noisy:
        level.time, level.cycles = None, None
    elif len(clear) < len(own):
        level.time = median_within(plateau, clear, "value", unit)
        level.cycles = median_within(plateau, clear, "cycles", unit)


def median_within(
    plateau: Optional[Plateau],
    points: Sequence[Sized],
    key: Literal["value", "cycles"],
    unit: float = 1,
) -> Optional[float]:
    """The median of the points in a plateau, whose sizes are in `unit` bytes."""
    if not plateau:
        return None
    own = [p[key] for p in points if plateau.first <= p["size"] / unit <= plateau.last]
    known = [value for value in own if value is not None]
    return median(known) if known else None


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
            cycles = "" if level.cycles is None else f", {level.load_cycles} cycles"
            text = f"{level.name}: {level.load}{cycles}"
            first, last = plateau.first * finding.unit, plateau.last * finding.unit
            found.plateaus.append(
                {"first": first, "last": last, "value": level.time, "label": text}
            )
        if edge:
            low, high, at = (size * finding.unit for size in (edge.low, edge.high, edge.size))
            found.ends.append({"low": low, "high": high, "at": at, "label": f"{level.name} ends"})
    return found
