# SPDX-License-Identifier: Apache-2.0
"""Figures that others published of their machines (reference/README.md), to be shown beside one's
own."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Optional, TypedDict

from ..base.folders import LESSONS, REFERENCE

SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


class PointRule(TypedDict, total=False):
    """How published figures become points of a curve."""

    figures: str
    metric: str
    names: dict[str, str]  # of parameters: theirs, ours
    variants: list[str]
    where: dict[str, str]
    times: list[str]
    over: list[str]
    minus: float


class CurveRule(TypedDict, total=False):
    """A published curve beside ours."""

    figures: str
    metric: str
    variant: str
    where: dict[str, str]
    x: str
    at: str


class ClaimRule(TypedDict, total=False):
    """Where the published figures of a claim stand, and how they are told."""

    figures: str
    ratio: str
    value: str
    names: dict[str, str]
    any: list[str]
    geometry: dict[str, str]
    words: str
    otherwise: str


class Claim(TypedDict, total=False):
    name: str
    claim: str
    value: str
    metric: str
    expected: str
    where: dict[str, str]
    part: list[str]
    published: ClaimRule


class RanksRule(TypedDict, total=False):
    """What scaling over MPI ranks is drawn from."""

    amount: str
    metric: str
    others: list[str]
    caption: str


Ring = TypedDict("Ring", {"metric": str, "from": float, "help": str})


class Lesson(TypedDict, total=False):
    """lessons/NAME.json."""

    apart: list[str]  # variants with a picture of their own
    caution: str
    claims: list[Claim]
    curves: list[CurveRule]
    drawn: list[str]  # metrics, where not all are drawn
    ideal: list[str]  # axes
    limits: dict[str, str]  # by metric: the metric that limits it
    lines: dict[str, str]
    pages: bool
    panels: list[str]
    published: list[PointRule]
    ranks: RanksRule
    ringed: Ring
    x: dict[str, str]


@dataclass
class Figure:
    source: str  # key of sources()
    machine: str
    variant: str
    parameters: dict[str, str]
    threads: Optional[int]  # None: not told
    value: float  # in base units


def figures(benchmark: str, metric: str, variant: Optional[str] = None) -> list[Figure]:
    """The published values of a metric, of all variants or of one."""
    return [
        _figure(row)
        for row in _rows(f"{benchmark}.csv")
        if row["metric"] == metric and variant in (None, row["variant"])
    ]


def ratios(benchmark: str) -> list[Figure]:
    """Published values of one time over another."""
    if not REFERENCE.joinpath(f"{benchmark}.csv").exists():
        return []
    return [_figure(row) for row in _rows(f"{benchmark}.csv") if row["unit"] == "ratio"]


def _figure(row: dict[str, str]) -> Figure:
    return Figure(
        row["source"],
        row["machine"],
        row["variant"],
        dict(item.split("=", 1) for item in row["parameters"].split(";")),
        int(row["threads"]) if row["threads"] else None,
        float(row["value"]) * SECONDS.get(row["unit"], 1.0),
    )


@dataclass
class Point:
    """A published figure at its place on our curve."""

    source: str
    variant: str
    x: float
    value: float  # in the unit of the metric
    where: dict[str, str]  # other values of the setting that it belongs to
    parameters: dict[str, str]
    said: str  # in words


def points(benchmark: str, metric: str, x: str) -> list[Point]:
    """Published figures as points of our curves; lessons/NAME.json says which metric they are."""
    return [
        point
        for rule in lesson(benchmark).get("published", [])
        if rule["metric"] == metric
        for f in figures(benchmark, rule["figures"])
        if (point := _point(rule, f, x))
    ]


def _point(rule: PointRule, f: Figure, x: str) -> Optional[Point]:
    renamed = rule.get("names", {})
    of = {renamed.get(k, k): v for k, v in f.parameters.items()}
    numbers = {**f.parameters, "threads": str(f.threads or "")}
    at = numbers["threads"] if x == "threads" else of.get(x, "")
    if not at or f.variant not in rule.get("variants", [f.variant]):
        return None
    value = f.value
    for name in rule.get("times", []):
        value *= float(numbers[name])
    for name in rule.get("over", []):
        value /= float(numbers[name])
    return Point(
        f.source,
        f.variant,
        float(at),
        value - rule.get("minus", 0),
        rule.get("where", {}),
        of,
        "; ".join([f.machine, f.variant, *(f"{k} {v}" for k, v in f.parameters.items())]),
    )


@cache
def lesson(benchmark: str) -> Lesson:
    """The data file of a benchmark's lesson; empty if there is none."""
    path = LESSONS / f"{benchmark}.json"
    if not path.exists():
        return {}
    found: Lesson = json.loads(path.read_text(encoding="utf-8"))
    return found


def panels() -> list[tuple[str, str]]:
    """Benchmarks, and parameters of which each value has a panel of its own among bars."""
    names = [path.stem for path in sorted(LESSONS.glob("*.json"))]
    return [(name, parameter) for name in names for parameter in lesson(name).get("panels", [])]


def placed(theirs: Sequence[tuple[str, Figure]], x: str) -> list[Point]:
    """Published values of claims at their place on a curve."""
    return [
        Point(t.source, name, float(t.parameters[x]), t.value, {}, {}, t.machine)
        for name, t in theirs
        if x in t.parameters
    ]


def sources() -> dict[str, str]:
    """The citation of each source."""
    return {
        row["key"]: f"{row['author']}, “{row['title']}” ({row['year']})"
        for row in _rows("sources.csv")
    }


def cited(keys: Iterable[str]) -> list[str]:
    """The citations of these sources, each once."""
    return [f"{key}: {sources()[key]}" for key in dict.fromkeys(keys)]


def short(machine: str) -> str:
    """A machine's name, shortened: 2x Xeon E5-2680 v3, 24 cores."""
    return machine.split(",")[0].replace("Intel ", "").replace(" (", ", ").rstrip(")")


@cache
def _rows(name: str) -> list[dict[str, str]]:
    with REFERENCE.joinpath(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
