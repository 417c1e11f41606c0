# SPDX-License-Identifier: Apache-2.0
"""Levels of cache from the curve of `cycle`, in order. It is taken on huge pages if there are any,
because the TLB adds its own steps on base pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import cast

from ..base import units
from ..records.database import UNUSABLE, value_of
from ..records.description import PAGE_NAMES
from ..records.lines import Machine
from ..records.rows import Trial
from . import advice, memory_level
from .advice import Advice, Place, Wish
from .memory_level import (
    BEYOND,
    NOT_FOUND,
    Finding,
    Level,
    Sized,
    compare,
    doubt,
    ends,
    explain,
    judge,
    median_within,
    step_of,
)
from .plateaus import Plateau, Steps

FASTEST_MEMORY = 30e-9  # s: a DRAM chip alone takes as long, to open a row and to read a column
HUGE = ("thp", "2M", "1G")


@dataclass
class Curve:
    """Points that differ in size alone."""

    whole: str
    variant: str
    pages: str
    element: str
    stride: float
    points: list[Sized]

    @property
    def setting(self) -> str:
        packed = f", {units.size(self.stride)} apart" if self.stride else ""
        return ("" if self.element == "pointer" else f", {self.element} elements") + packed


def curves(trials: Sequence[Trial], variant: str) -> list[Curve]:
    """The curves of single chains, in the order of the runs, then of their parameters."""
    usual = {"pages": "base", "element": "pointer", "stride": 0, "chains": 1}
    points = [
        {**t, **usual, **t["parameters"]}
        for t in trials
        if t["variant"] == variant and "size" in t["parameters"]
    ]
    found = sorted(
        (p for p in points if p["chains"] == 1),
        key=lambda p: (
            *(p["whole"], p["pages"] != "base", p["pages"]),
            *(p["element"] != "pointer", p["stride"], p["size"]),
        ),
    )
    groups = groupby(found, lambda r: (r["whole"], r["pages"], r["element"], r["stride"]))
    return [
        Curve(whole, variant, pages, element, stride, cast("list[Sized]", list(points)))
        for (whole, pages, element, stride), points in groups
    ]


FINE = 1.2  # between sizes: two steps are a narrow bracket


def usable(curve: Curve) -> tuple[list[Sized], list[str]]:
    """The points to find steps in, and remarks on the others."""
    good = [p for p in curve.points if p["value"] and p["status"] not in UNUSABLE]
    remarks, small = [], []
    if curve.pages != "base":
        small = [p for p in good if p["huge"] is not None and p["huge"] < 0.9]
        good = [p for p in good if p not in small]
        if small:
            remarks.append(f"{_so_many(len(small))} not on huge pages after all, and left out")
    left = [p for p in curve.points if p not in good and p not in small]
    if left:
        remarks.append(f"left out: {advice.left_out((p['size'], p) for p in left)}")
    shaky = sum(p["status"] in ("noisy", "unconverged") for p in good)
    if shaky:
        remarks.append(f"{shaky} of {len(good)} points are noisy or unconverged")
    return good, remarks


def _so_many(n: int) -> str:
    return "1 size was" if n == 1 else f"{n} sizes were"


def _find(points: Sequence[Sized]) -> Steps:
    from .steps import find

    return find([p["size"] for p in points], [value_of(p) for p in points], *intervals(points))


def found(curve: Curve, place: Place) -> Finding:
    points, remarks = usable(curve)
    machine = place.machine
    steps = _find(points)
    finding = Finding(
        curve.whole,
        curve.pages,
        "caches",
        f"cycle on {PAGE_NAMES.get(curve.pages, curve.pages)}{curve.setting}",
        points=curve.points,
    )
    finding.remarks, finding.special = steps.remarks + remarks, bool(curve.setting)
    if curve.pages == "base" and steps.edges:
        finding.remarks.append(
            "on the system's pages the TLB has its steps in this curve too: a level may be one of"
            " the TLB's"
        )
    if steps.plateaus:
        reported = reported_caches(machine)
        finding.levels = name_caches(steps, reported, bool(machine["virtual"]), finding.remarks)
        _beyond(finding.levels[-1], points, reported)
        for level in finding.levels:
            level.cycles = median_within(level.plateau, points, "cycles")
            if level.time is None:
                level.remark = missing(finding, place).after(level.remark)
            judge(level, points)
        counted = [p for p in points if p["size"] not in steps.outliers]
        doubt(finding.levels, curve.points, counted, 1)
    return finding


def _beyond(last: Level, points: Sequence[Sized], reported: dict[int, list[float]]) -> None:
    """Without a plateau of memory, takes the time at the largest size as memory's, if that size far
    exceeds the caches."""
    most = max(points, key=lambda p: float(p["size"]))
    if last.time is not None or value_of(most) < FASTEST_MEMORY:
        return
    if not reported or most["size"] < BEYOND * last_of(reported):
        return
    size, time = float(most["size"]), value_of(most)
    last.plateau, last.time = Plateau(size, size, time, time, time, 1, to_end=True), time
    last.verdict, last.remark = "", f"{units.size(size)} alone"


def last_of(reported: dict[int, list[float]]) -> float:
    """The largest cache."""
    return max((size for sizes in reported.values() for size in sizes), default=0.0)


def missing(finding: Finding, place: Place) -> Advice:
    """What to run for a level that the curve does not show, by the reason why."""
    reported = reported_caches(place.machine)
    return advice.of(place, *_why_missing(finding, top_of(reported, place.machine), reported))


def _why_missing(
    finding: Finding, top: float, reported: dict[int, list[float]]
) -> tuple[str, Wish]:
    points = [p for p in finding.points if p["value"] and p["status"] not in UNUSABLE]
    reach = max((p["size"] for p in points), default=0)
    farther = [p for p in finding.points if p["size"] > reach]
    if reach < BEYOND * last_of(reported):
        reason = advice.why(farther) if farther else advice.RANGE
        return reason, curve_to(finding.pages, top, 2)
    if step_of(points, (0, math.inf), 1) > FINE * FINE:
        return advice.COARSE, curve_to(finding.pages, top, FINE)
    if 2 * sum(p["status"] == "noisy" for p in points) >= len(points):
        return advice.NOISY, curve_to(finding.pages, top, FINE)
    return advice.EXHAUSTED, curve_to(finding.pages, top, FINE)


def timed(finding: Finding, place: Place) -> tuple[str, Advice]:
    """Which levels' times alone are not certain, and what to run; empty: there is none. It is no
    coarser than the curve that found their ends."""
    ends = _wide(finding)
    own = [level for level in finding.levels if not level.is_timed and level not in ends]
    factor = FINE if any(level.is_certain for level in finding.levels) else 2
    top = top_of(reported_caches(place.machine), place.machine)
    names = ", ".join(level.name for level in own)
    return memory_level.timed(own, names, place, curve_to(finding.pages, top, factor))


def curve_to(pages: str, top: float, factor: float) -> Wish:
    """The curve of caches to this size; it begins below the first level, since names go by
    order."""
    size = f"4K..{advice.quantity(top)}*{factor:g}"
    options = (("variant", "cycle"), ("pages", pages), ("size", size))
    return Wish("latency", options, size=top)


def narrower(finding: Finding, place: Place) -> tuple[str, Advice]:
    """Which levels' ends are not certain, and what to run; empty where nothing would help."""
    wide = _wide(finding)
    if not wide:
        return "", Advice()
    doubtful = [p for level in wide for p in level.doubtful]
    high = max(level.bracket[1] for level in wide if level.bracket)
    top = 2.0 ** math.ceil(math.log2(BEYOND * high))
    found = advice.of(
        place,
        advice.why(doubtful) if doubtful else advice.COARSE,
        curve_to(finding.pages, top, FINE),
    )
    names = ", ".join(level.name for level in wide)
    left = f" ({advice.left_out((p['size'], p) for p in doubtful)})" if doubtful else ""
    return f"to be certain of {names}{left}", found


def _wide(finding: Finding) -> list[Level]:
    """The levels whose ends more, or better, points would narrow."""
    points = [p for p in finding.points if p["value"] and p["status"] not in UNUSABLE]
    open_ = [(level, level.bracket) for level in finding.levels if not level.is_certain]
    return [
        level
        for level, bracket in open_
        if bracket and (level.doubtful or step_of(points, bracket, 1) > FINE * FINE)
    ]


def reported_caches(machine: Machine) -> dict[int, list[float]]:
    caches: dict[int, list[float]] = {}
    for cache in machine["topology"]["caches"] or []:
        if cache["type"] != "instruction" and cache["size"]:
            caches.setdefault(cache["level"], []).append(cache["size"])
    return caches


def name_caches(
    steps: Steps, reported: dict[int, list[float]], virtual: bool, remarks: list[str]
) -> list[Level]:
    """L1, L2, ... in order, and memory; then caches that are reported, but were not found. Adds to
    the remarks."""
    levels = []
    edges = {edge.below: edge for edge in steps.edges}
    for i, plateau in enumerate(steps.plateaus):
        edge = edges.get(i)
        last = i == len(steps.plateaus) - 1
        if last and edge is None and plateau.time >= FASTEST_MEMORY:
            levels.append(Level("memory", plateau, plateau.time))
            break
        level = Level(f"L{i + 1}", plateau, plateau.time, edge=edge, ends=ends(edge, units.size))
        compare(level, reported.get(i + 1, []), virtual, units.size)
        explain(level, i + 1, reported)
        levels.append(level)
    found = sum(level.name != "memory" for level in levels)
    last_cache = max(reported.get(max(reported, default=0), [0]))
    if levels[-1].name != "memory":
        levels.append(
            Level(
                "memory",
                verdict=NOT_FOUND,
                remark="its plateau was not reached",
            )
        )
    elif levels[-1].plateau and levels[-1].plateau.last < BEYOND * last_cache:
        remarks.append(
            f"the largest size, {units.size(levels[-1].plateau.last)}, is less than {BEYOND} times"
            " the last cache that is reported: what is called memory here may be that cache in"
            " part"
        )
    if reported and found != len(reported):
        remarks.append(
            f"{found} level{'s' * (found != 1)} of cache found, {len(reported)} reported: names go"
            " by order, so one may be misnamed"
        )
    for number in sorted(n for n in reported if n > found):
        text = " or ".join(units.size(size) for size in reported[number])
        levels.insert(
            -1,
            Level(
                f"L{number}",
                reported=text,
                verdict=NOT_FOUND,
                remark="no plateau of its own was found",
            ),
        )
    return levels


def top_of(reported: dict[int, list[float]], machine: Machine) -> float:
    """A size that exceeds all of these caches, or the largest that memory has room for."""
    beyond = BEYOND * last_of(reported)
    top = max(256 << 20, 2.0 ** math.ceil(math.log2(max(1.0, beyond))))
    most = advice.room(machine)
    return beyond if beyond <= most < top else top


def intervals(points: Sequence[Sized]) -> tuple[list[float], list[float]]:
    ends = [(p["low"], p["high"]) for p in points]
    low = [math.nan if end is None else end for end, _ in ends]
    return low, [math.nan if end is None else end for _, end in ends]
