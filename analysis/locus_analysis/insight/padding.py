# SPDX-License-Identifier: Apache-2.0
"""How far apart words of different threads have to be, from the curve of time over distance alone.

The level of the far end is that of the three largest distances: the median of their values, and of
the ends of their intervals, so that one outlier does not move it. A distance is slower if its whole
interval lies more than ENOUGH above that level, and surely not slower if its interval ends below
that level plus ENOUGH. The padding is the least distance from which on none is slower. It lies
above the last distance that is slower: the two are its bracket, and a distance between them that
was left out keeps it open.

A single slower distance is an outlier if the two before it and the one after it are not slower: it
is reported, and changes nothing. A cache line, or the pair of lines that a prefetcher fetches,
makes all shorter distances slow. Noisy and bimodal trials count, too, by their bounds and modes
(evidence.py), but nothing that rests on one is certain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from statistics import median
from typing import Optional, cast

import duckdb

from ..base import units
from ..records.database import is_sound, run_names, value_of
from ..records.lines import Machine
from ..records.rows import Trial
from . import advice, evidence, run_variation
from .advice import Advice, Place, Wish
from .memory_level import NARROW, bracketed


class Apart(Trial):
    """A point of a curve over the distance between what threads write."""

    distance: int
    reach: Optional[tuple[float, float]]  # of its interval and modes


ENOUGH = 1.05  # times the far end: a smaller slow-down is no reason to spend memory
FAR = 3  # distances
LEAST_POINTS = FAR + 2


@dataclass
class Padding:
    least: Optional[float] = None  # bytes; None: could not be told
    low: Optional[float] = None  # the largest distance that is slower: too little
    sure: Optional[float] = None  # from here on the intervals leave no doubt; None: they do
    why: str = ""  # the reason if there is no padding
    reason: str = advice.EXHAUSTED  # of advice, if there is none
    left: list[Apart] = field(default_factory=list)  # points in the bracket that were left out
    # noisy or bimodal points of the bracket, beyond it if they leave it open, and of the far end
    shaky: list[Apart] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def is_certain(self) -> bool:
        if self.least is None or self.low is None or self.left or self.shaky:
            return False
        if self.sure != self.least:
            return False
        return self.least <= NARROW * self.low

    @property
    def missing(self) -> str:
        """Why it is not certain; empty where it is."""
        if self.least is None:
            return self.reason
        if self.left or self.shaky:
            return advice.why([*self.left, *self.shaky])
        if self.sure != self.least:
            return advice.WIDE
        return "" if self.is_certain else advice.COARSE


@dataclass
class Finding:
    whole: str
    curve: str  # in words
    padding: Padding
    threads: int = 2

    @property
    def said(self) -> str:
        return said(self.padding)


def needed(points: Sequence[Apart]) -> Padding:
    """The padding from one curve, with points in order of `distance`; with `value`, and with
    `reach` if there is an interval."""
    if len(points) < LEAST_POINTS:
        why = f"{len(points)} distances are too few, {LEAST_POINTS} are the least"
        return Padding(why=why, reason=advice.RANGE)
    ends = [p["reach"] or (value_of(p), value_of(p)) for p in points]
    low, high = [end for end, _ in ends], [end for _, end in ends]
    value, far_low, far_high = far_end(points), median(low[-FAR:]), median(high[-FAR:])
    if high[-1] * ENOUGH < far_low:
        end = units.size(points[-1]["distance"])
        return Padding(why=f"the curve still falls at its end, {end}", reason=advice.RANGE)
    slower = [x > far_high * ENOUGH for x in low]
    doubtful = [x > value * ENOUGH for x in high]
    padding = Padding()
    for i in _alone(slower):
        times = "" if evidence.is_noisy(points[i]) else f"{value_of(points[i]) / value:.2f} times "
        text = f"stands out: {times or 'slower than '}the far end, but none beside it is"
        padding.remarks.append(f"{units.size(points[i]['distance'])} {text}")
        slower[i] = doubtful[i] = False
    for i in _alone(doubtful):
        doubtful[i] = False
    last, last_doubtful = _last(slower), _last(doubtful)
    if last < 0:
        padding.why = "no distance is slower than the far end"
        if last_doubtful >= 0:
            padding.shaky = _shaky(points, doubtful)
            padding.reason = advice.why(padding.shaky) if padding.shaky else advice.WIDE
            padding.why = padding.reason
    elif last == len(points) - 1:
        padding.why = "no distance is as fast as the far end should be"
    else:
        padding.low, padding.least = points[last]["distance"], points[last + 1]["distance"]
        # at the far end a doubt is one about the level itself
        padding.sure = (
            points[last_doubtful + 1]["distance"] if last_doubtful < len(points) - FAR else None
        )
        upto = (max(last, last_doubtful) if padding.sure else last) + 1
        decide = [last <= i and (i <= upto or doubtful[i]) for i in range(len(points))]
        padding.shaky = _shaky(points, decide)
    bare = sum(p["reach"] is None for p in points)
    if bare:
        padding.sure = None
        padding.remarks.append(
            f"{bare} of {len(points)} distances have no interval, and count as if they were exact"
        )
    return padding


def _shaky(points: Sequence[Apart], those: Sequence[bool]) -> list[Apart]:
    """Those points that are noisy or bimodal, and such points of the far end if its level rests on
    them: a median is not moved by less than half."""
    shaky = [not is_sound(p) for p in points]
    rests = 2 * sum(shaky[-FAR:]) > FAR
    far = len(points) - FAR
    return [p for i, p in enumerate(points) if shaky[i] and (those[i] or (rests and i >= far))]


def far_end(points: Sequence[Apart]) -> float:
    """The level of a curve at large distances."""
    return median(map(value_of, points[-FAR:]))


def _alone(those: Sequence[bool]) -> list[int]:
    """Slower points whose neighbours, two before and one after, are not slower."""
    return [
        i
        for i in range(2, len(those))
        if those[i] and not any(those[i - 2 : i]) and not any(those[i + 1 : i + 2])
    ]


def _last(those: Sequence[bool]) -> int:
    return max((i for i, so in enumerate(those) if so), default=-1)


SETTING = ("operation", "threads", "bind")  # these distinguish the curves of a run


def curves(trials: Sequence[Trial]) -> list[tuple[str, list[Apart]]]:
    """The curves of one run, by name; with `distance` in each point."""
    own = [
        {**t, **t["parameters"], "reach": evidence.reach_of(t)}
        for t in trials
        if t["variant"] == "distance" and "distance" in t["parameters"]
    ]
    several = len({t["bind"] for t in own}) > 1
    own.sort(key=lambda t: (*(t.get(key, "") for key in SETTING), t["distance"]))
    return [
        (
            f"{operation}, {threads} threads" + (f", bound {bind}" if several else ""),
            cast("list[Apart]", list(points)),
        )
        for (operation, threads, bind), points in groupby(
            own, lambda t: tuple(t.get(key, "") for key in SETTING)
        )
    ]


def _leave_out(padding: Padding, points: Sequence[Apart], good: Sequence[Apart]) -> None:
    """Notes the points that do not count."""
    left = [p for p in points if p not in good]
    if not left:
        return
    told = f"left out: {_left_out(left)}"
    few = f"{len(left)} of {len(points)} distances left out: {_statuses(left)}"
    low, high = padding.low, padding.least
    padding.left = [p for p in left if low and high and low < p["distance"] < high]
    if padding.least is None and not padding.shaky and padding.reason != advice.WIDE:
        padding.reason = advice.why(left)
    if len(good) < LEAST_POINTS:
        padding.why = few
    else:
        padding.remarks.append(told)


def _left_out(points: Sequence[Apart]) -> str:
    return advice.left_out((p["distance"], p) for p in points)


def _statuses(left: Sequence[Apart]) -> str:
    return ", ".join(sorted({p["status"] for p in left}))


def findings(trials: Sequence[Trial]) -> list[Finding]:
    """The findings from every curve of sharing, run by run."""
    found = []
    for whole, own in groupby(trials, lambda t: t["whole"]):
        for name, points in curves(list(own)):
            good = [p for p in points if evidence.counts(p)]
            padding = needed(good)
            _leave_out(padding, points, good)
            padding.remarks += [
                f"{n} of {len(good)} distances are {status}"
                for status in ("unconverged", "bimodal", "noisy")
                if (n := sum(p["status"] == status for p in good))
            ]
            found.append(Finding(whole, name, padding, points[0]["threads"]))
    return found


def line_size(machine: Machine) -> Optional[int]:
    """The line size of the data caches, as the system reports it."""
    lines = [
        c["line"]
        for c in machine["topology"]["caches"] or []
        if c["type"] != "instruction" and c["line"]
    ]
    return max(lines, default=None)


def said(padding: Padding, brief: bool = False) -> str:
    """The finding of one curve, in words."""
    if padding.least is None:
        return f"cannot be told: {padding.why}"
    notes = []
    if padding.low:
        notes.append(f"found {bracketed((padding.low, padding.least), units.size)}")
    if padding.left or padding.shaky:
        notes.append(_left_out([*padding.left, *padding.shaky]))
    if padding.sure is None and not brief:
        notes.append("intervals are too wide, or lacking, to be sure")
    text = units.size(padding.least) + (" or more" if padding.sure is None else "")
    text += f" ({'; '.join(notes)})" if notes else ""
    more = padding.sure is not None and padding.sure > padding.least
    return text + (f", or to be sure {units.size(padding.sure)}" if more else "")


def verdict(own: Sequence[Finding], place: Place) -> str:
    """The result of all curves of a run: the largest padding that one of them needs."""
    clear, line = [f for f in own if f.padding.least], line_size(place.machine)
    if not clear:
        why = advise(own[0], place).after(own[0].padding.why)
        return f"The padding that this machine needs cannot be found: {why}. {_until_then(line)}"
    most = max(clear, key=lambda f: (f.padding.least or 0, f.padding.sure or float("inf")))
    text = (
        f"Words that different threads update need {said(most.padding)} from one to the next on"
        f" this machine ({most.curve}); {_beside_line(most.padding, line)}."
    )
    then = advise(most, place)
    return f"{text} {then.after('To know better')}." if then.command else text


LARGER = ("distance", "4..64K*2")
CLOSER = ("distance", "32,48,64,80,96,112,128,192,256,512,4K")


def advise(finding: Optional[Finding], place: Place) -> Advice:
    """What to run for a padding that is not known, or not certain."""
    reason = finding.padding.missing if finding else advice.ABSENT
    more = {advice.RANGE: [LARGER], advice.COARSE: [CLOSER]}.get(reason, [])
    wish = Wish("sharing", (("variant", "distance"), *more), cpus=2)
    return advice.of(place, reason, wish) if reason else Advice()


SAFE = 128  # bytes: two lines of most processors, as a prefetcher fetches them


def _until_then(line: Optional[int]) -> str:
    """What is safe without a measurement."""
    guess = (
        f"{SAFE} bytes apart: the system does not report the size of a line"
        if line is None
        else f"a line of {units.size(line)} apart, the size that the system reports"
    )
    return f"Until then, keep words of different threads {guess}."


def _beside_line(found: Padding, line: Optional[int]) -> str:
    """The padding in lines; what explains it only where half of it was measured, or more."""
    padding = found.least or 0
    if line is None:
        return "the system does not report the size of a line"
    reported = f"of {units.size(line)}, as the system reports it"
    if found.left or found.shaky or 2 * (found.low or 0) < padding:
        return f"less may do: one line is {reported.removeprefix('of ')}"
    if padding == line:
        return f"that is one line {reported}"
    if padding == 2 * line:
        return (
            f"that is two lines {reported}: a line is not enough, as where a prefetcher fetches"
            " lines in pairs"
        )
    if padding < line:
        return (
            f"that is less than a line {reported}: look at the curve, or at what it was measured"
            " with"
        )
    return f"that is {padding / line:.3g} lines {reported}: a line is not enough"


def text(db: duckdb.DuckDBPyConnection) -> str:
    """For a terminal; empty without a curve."""
    places, names, parts = advice.places(db), run_names(db), []
    for whole, group in groupby(findings(run_variation.of_time(db, "sharing")), lambda f: f.whole):
        own = list(group)
        parts += [names[whole], "", f"padding: {verdict(own, places[whole])}"]
        for finding in own:
            parts.append(f"  {finding.curve}: {said(finding.padding)}")
            parts += [f"  - {remark}" for remark in finding.padding.remarks]
        parts.append("")
    return "\n".join(parts).rstrip()
