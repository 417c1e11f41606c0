# SPDX-License-Identifier: Apache-2.0
"""How far apart words of different threads have to be, from the curve of time over distance alone.

The level of the far end is that of the three largest distances: the median of their values, and of
the ends of their intervals, so that one outlier does not move it. A distance is slower if its whole
interval lies more than ENOUGH above that level, and surely not slower if its interval ends below
that level plus ENOUGH. The padding is the least distance from which on none is slower.

A single slower distance is an outlier if the two before it and the one after it are not slower: it
is reported, and changes nothing. A cache line, or the pair of lines that a prefetcher fetches,
makes all shorter distances slow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from statistics import median
from typing import Any, Optional

import duckdb

from . import between, units
from .records import is_sound, machines, run_names

Row = dict[str, Any]

ENOUGH = 1.05  # times the far end: a smaller slow-down is no reason to spend memory
FAR = 3  # distances
LEAST_POINTS = FAR + 2


@dataclass
class Padding:
    least: Optional[float] = None  # bytes; None: could not be told
    sure: Optional[float] = None  # from here on the intervals leave no doubt; None: they do
    why: str = ""  # the reason if there is no padding
    remarks: list[str] = field(default_factory=list)


@dataclass
class Finding:
    whole: str
    curve: str  # in words
    padding: Padding

    @property
    def said(self) -> str:
        return said(self.padding)


def needed(points: Sequence[Row]) -> Padding:
    """The padding from one curve, with points in order of `distance`; with `value`, and `low` and
    `high` if there is an interval."""
    if len(points) < LEAST_POINTS:
        return Padding(why=f"{len(points)} distances are too few, {LEAST_POINTS} are the least")
    low = [p["value"] if p["low"] is None else p["low"] for p in points]
    high = [p["value"] if p["high"] is None else p["high"] for p in points]
    value, far_low, far_high = far_end(points), median(low[-FAR:]), median(high[-FAR:])
    if high[-1] * ENOUGH < far_low:
        return Padding(
            why=(
                f"the curve still falls at its end, {units.size(points[-1]['distance'])}: measure"
                " larger distances"
            )
        )
    slower = [x > far_high * ENOUGH for x in low]
    doubtful = [x > value * ENOUGH for x in high]
    padding = Padding()
    for i in _alone(slower):
        text = f"{points[i]['value'] / value:.2f} times the far end, but none beside it is"
        padding.remarks.append(f"{units.size(points[i]['distance'])} stands out: {text}")
        slower[i] = doubtful[i] = False
    for i in _alone(doubtful):
        doubtful[i] = False
    last, last_doubtful = _last(slower), _last(doubtful)
    if last < 0:
        padding.why = (
            "the intervals are too wide"
            if last_doubtful >= 0
            else "no distance is slower than the far end"
        )
    elif last == len(points) - 1:
        padding.why = "no distance is as fast as the far end should be"
    else:
        padding.least = points[last + 1]["distance"]
        if padding.least > 2 * points[last]["distance"]:
            between = f"{units.size(points[last]['distance'])} and {units.size(padding.least)}"
            padding.remarks.append(f"nothing between {between} was measured: less may do")
        # at the far end a doubt is one about the level itself
        padding.sure = (
            points[last_doubtful + 1]["distance"] if last_doubtful < len(points) - FAR else None
        )
    bare = sum(p["low"] is None for p in points)
    if bare:
        padding.sure = None
        padding.remarks.append(
            f"{bare} of {len(points)} distances have no interval, and count as if they were exact"
        )
    return padding


def far_end(points: Sequence[Row]) -> float:
    """The level of a curve at large distances."""
    return float(median(p["value"] for p in points[-FAR:]))


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


def curves(trials: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """The curves of one run, by name; with `distance` in each point."""
    own = [
        {**t, **t["parameters"]}
        for t in trials
        if t["variant"] == "distance" and "distance" in t["parameters"]
    ]
    several = len({t["bind"] for t in own}) > 1
    own.sort(key=lambda t: (*(t.get(key, "") for key in SETTING), t["distance"]))
    return [
        (f"{operation}, {threads} threads" + (f", bound {bind}" if several else ""), list(points))
        for (operation, threads, bind), points in groupby(
            own, lambda t: tuple(t.get(key, "") for key in SETTING)
        )
    ]


def findings(trials: Sequence[Row]) -> list[Finding]:
    """The findings from every curve of sharing, run by run."""
    found = []
    for whole, own in groupby(trials, lambda t: t["whole"]):
        for name, points in curves(list(own)):
            good = sound(points)
            padding = needed(good)
            if len(good) < len(points):
                left = [p for p in points if p not in good]
                why = (
                    ", ".join(sorted({p["status"] for p in left if not is_sound(p)})) or "no value"
                )
                left_out = f"{len(points) - len(good)} of {len(points)} distances left out: {why}"
                if len(good) < LEAST_POINTS:
                    padding.why += f"; {left_out}"
                else:
                    padding.remarks.append(left_out)
            wide = sum(p["status"] == "unconverged" for p in good)
            if wide:
                padding.remarks.append(f"{wide} of {len(good)} distances are unconverged")
            found.append(Finding(whole, name, padding))
    return found


def sound(points: Sequence[Row]) -> list[Row]:
    """Trials that allow conclusions."""
    return [p for p in points if p["value"] and is_sound(p)]


def line_size(machine: Row) -> Optional[int]:
    """The line size of the data caches, as the system reports it."""
    lines = [
        c["line"]
        for c in machine["topology"]["caches"] or []
        if c["type"] != "instruction" and c["line"]
    ]
    return max(lines, default=None)


def said(padding: Padding) -> str:
    """The finding of one curve, in words."""
    if padding.least is None:
        return f"cannot be told: {padding.why}"
    if padding.sure is None:
        return (
            f"{units.size(padding.least)} or more (intervals are too wide, or lacking, to be sure)"
        )
    return units.size(padding.least) + (
        f", or to be sure {units.size(padding.sure)}" if padding.sure > padding.least else ""
    )


def verdict(own: Sequence[Finding], line: Optional[int]) -> str:
    """The result of all curves of a run: the largest padding that one of them needs."""
    clear = [f for f in own if f.padding.least]
    if not clear:
        return (
            f"The padding that this machine needs cannot be told: {own[0].padding.why}."
            f" {_until_then(line)}"
        )
    most = max(clear, key=lambda f: (f.padding.least or 0, f.padding.sure or float("inf")))
    text = (
        f"Words that different threads update need {said(most.padding)} from one to the next on"
        f" this machine ({most.curve})"
    )
    return f"{text}; {_beside_line(most.padding.least or 0, line)}."


SAFE = 128  # bytes: two lines of most processors, as a prefetcher fetches them


def _until_then(line: Optional[int]) -> str:
    """What is safe without a measurement, and how to measure."""
    guess = (
        f"{SAFE} bytes apart: the system does not report the size of a line"
        if line is None
        else f"a line of {units.size(line)} apart, the size that the system reports"
    )
    return (
        f"Until then, keep words of different threads {guess}. Next: measure longer, with nothing"
        " else running: locus sharing --variant distance --time-budget 5min"
    )


def _beside_line(padding: float, line: Optional[int]) -> str:
    if line is None:
        return "the system does not report the size of a line"
    reported = f"of {units.size(line)}, as the system reports it"
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
    machine, names, parts = machines(db), run_names(db), []
    for whole, group in groupby(findings(between.of_time(db, "sharing")), lambda f: f.whole):
        own = list(group)
        parts += [names[whole], "", f"padding: {verdict(own, line_size(machine[whole]))}"]
        for finding in own:
            parts.append(f"  {finding.curve}: {said(finding.padding)}")
            parts += [f"  - {remark}" for remark in finding.padding.remarks]
        parts.append("")
    return "\n".join(parts).rstrip()
