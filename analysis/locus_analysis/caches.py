# SPDX-License-Identifier: Apache-2.0
"""Levels of cache from the curve of `cycle`, in order. It is taken on huge pages if there are any,
because the TLB adds its own steps on base pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from . import units
from .described import PAGE_NAMES
from .level import (
    BEYOND,
    NOT_FOUND,
    Finding,
    Level,
    compare,
    ends,
    explain,
    median_within,
)
from .records import UNUSABLE
from .steps import Steps, find

Row = dict[str, Any]

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
    points: list[Row]

    @property
    def setting(self) -> str:
        packed = f", {units.size(self.stride)} apart" if self.stride else ""
        return ("" if self.element == "pointer" else f", {self.element} elements") + packed


def curves(trials: Sequence[Row], variant: str) -> list[Curve]:
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
        Curve(whole, variant, pages, element, stride, list(points))
        for (whole, pages, element, stride), points in groups
    ]


def usable(curve: Curve) -> tuple[list[Row], list[str]]:
    """The points to find steps in, and remarks on the others."""
    good = [p for p in curve.points if p["value"] and p["status"] not in UNUSABLE]
    remarks, small = [], []
    if curve.pages != "base":
        small = [p for p in good if p["huge"] is not None and p["huge"] < 0.9]
        good = [p for p in good if p not in small]
        if small:
            remarks.append(f"{_so_many(len(small))} not on huge pages after all, and left out")
    left = len(curve.points) - len(good) - len(small)
    if left:
        why = ", ".join(sorted({p["status"] for p in curve.points} & set(UNUSABLE)))
        remarks.append(f"{_so_many(left)} left out: {why or 'no value'}")
    shaky = sum(p["status"] in ("noisy", "unconverged") for p in good)
    if shaky:
        remarks.append(f"{shaky} of {len(good)} points are noisy or unconverged")
    return good, remarks


def _so_many(n: int) -> str:
    return "1 size was" if n == 1 else f"{n} sizes were"


def _find(points: Sequence[Row]) -> Steps:
    return find([p["size"] for p in points], [p["value"] for p in points], *intervals(points))


def found(curve: Curve, machine: Row) -> Finding:
    points, remarks = usable(curve)
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
        finding.levels = name_caches(
            steps, reported_caches(machine), bool(machine["virtual"]), finding.remarks
        )
        for level in finding.levels:
            level.cycles = median_within(level.plateau, points, "cycles")
    return finding


def reported_caches(machine: Row) -> dict[int, list[float]]:
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
                remark=f"its plateau was not reached: {farther(reported)}",
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
                remark=f"no plateau of its own could be told: {farther(reported)}",
            ),
        )
    return levels


def farther(reported: dict[int, list[float]]) -> str:
    """What to measure up to a size that exceeds all of these caches."""
    last = max((size for sizes in reported.values() for size in sizes), default=0.0)
    mebibytes = max(256, 1 << (int(BEYOND * last) >> 20).bit_length())
    most = f"{mebibytes}M" if mebibytes < 1024 else f"{mebibytes >> 10}G"
    return f"locus latency --size 4K..{most}*2"


def intervals(points: Sequence[Row]) -> tuple[list[float], list[float]]:
    low, high = (
        [math.nan if p[end] is None else p[end] for p in points] for end in ("low", "high")
    )
    return low, high
