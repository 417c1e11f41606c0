# SPDX-License-Identifier: Apache-2.0
"""The axes of any benchmark's pictures, and its numbers as text, from the parameters and metrics in
its line of the record."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional, TypedDict

from ..base import units
from ..records.description import Described
from ..records.lines import Machine
from ..records.rows import Value
from .vega_lite import Spec

if TYPE_CHECKING:
    from typing_extensions import ReadOnly


BYTES = (
    "datum.value >= 1073741824 ? format(datum.value / 1073741824, '~g') + ' GiB' : datum.value"
    " >= 1048576 ? format(datum.value / 1048576, '~g') + ' MiB' : datum.value >= 1024 ?"
    " format(datum.value / 1024, '~g') + ' KiB' : format(datum.value, '~g') + ' B'"
)


# How many decades a logarithmic axis may span, to have these numbers of each; and one number.
MARKS = ((0.8, (1, 2, 3, 5, 7)), (2.0, (1, 2, 5)), (3.5, (1, 3)))
MOST_DECADES = 6


@dataclass
class Axis:
    title: str
    domain: tuple[float, float]
    ticks: list[float]
    label: str  # expression
    log: bool = True
    every: bool = False  # draw all ticks; else Vega omits some of a linear axis in a low panel

    def scale(self) -> Spec:
        kind = "log" if self.log else "linear"
        return {"type": kind, "domain": list(self.domain), "nice": False, "clamp": False}

    def axis(self) -> Spec:
        many = {"tickCount": len(self.ticks)} if self.every else {}
        return {
            "title": self.title,
            "values": self.ticks,
            "labelExpr": self.label,
            "labelOverlap": True,
            **many,
        }


class Valued(TypedDict):
    value: ReadOnly[Optional[float]]
    low: ReadOnly[Optional[float]]
    high: ReadOnly[Optional[float]]


class Placed(Valued):
    """A point. Where it is drawn beside its place, `at` is its place."""

    x: Optional[float]


class Point(Placed, total=False):
    at: float
    id: Optional[str]
    flag: Optional[int]
    status: str
    mark: str  # beside it
    why: str  # its status and reasons
    trial: str  # in words, as the next two
    text: str
    interval: str
    ring: bool
    source: str  # of a published one


class Said(TypedDict, total=False):
    """A point in words."""

    text: str
    interval: str


def said(value: Value, unit: str) -> Said:
    """A value and its interval in words."""
    if is_share([value], unit):
        ends = [units.percent(end) for end in (value["low"], value["high"])]
        return {
            "text": units.percent(value["value"]),
            "interval": "–" if "–" in ends else " to ".join(ends),
        }
    return {
        "text": units.measured(value, unit, "no value"),
        "interval": units.interval(value["low"], value["high"], unit),
    }


def is_share(values: Sequence[Valued], unit: str) -> bool:
    found = _ends(values)
    return unit == "1" and bool(found) and max(map(abs, found)) <= 1


def unit_of(unit: Optional[str], kind: Optional[str]) -> str:
    """The unit of a metric; a count has none, so that up to 1 it is no share."""
    return "" if kind == "count" and unit == "1" else unit or "1"


def _ends(values: Sequence[Valued]) -> list[float]:
    return [
        end
        for of in values
        if of["value"] is not None
        for end in (of["value"], of["low"], of["high"])
        if end is not None
    ]


def x_axis(of: Described, x: str, points: Sequence[Point]) -> Axis:
    values = sorted({p["x"] for p in points if p["x"] is not None})
    low, high = values[0], values[-1]
    if x in ("threads", "ranks"):
        counts = sorted({round(p["at"] if "at" in p else p["x"] or 0) for p in points})
        ticks = [float(c) for c in counts if c & (c - 1) == 0 or c == counts[-1]]
        return Axis(x, (counts[0] / 1.12, counts[-1] * 1.12), ticks, "format(datum.value, 'd')")
    unit = of.unit(x) if x in of.parameters else of.meaning(x)["unit"]
    if unit.endswith("/s"):
        return _of_rate(x, unit, high)
    if low > 0 and unit == "B":
        least, most = math.floor(math.log2(low)), math.ceil(math.log2(high))
        step = 2 if most - least > 8 else 1
        ticks = [2.0**i for i in range(least, most + 1) if i % step == 0]
        return Axis(f"{x} (bytes)", (low / 1.12, high * 1.12), ticks, BYTES)
    title = f"{x} ({unit})" if unit and unit not in x else x
    if low > 0 and high / low >= 8:
        return log_axis(title, low / 1.12, high * 1.12, 1.0)
    ticks = linear_ticks(high)
    return Axis(title, (min(0.0, low), ticks[-1]), ticks, "format(datum.value, '~s')", log=False)


def _of_rate(x: str, unit: str, high: float) -> Axis:
    """From zero, so that the distance from the limit shows."""
    factor, name = units.scale([high], unit)
    ticks, label = linear_ticks(high), f"format(datum.value / {factor!r}, '~g')"
    return Axis(f"{x} ({name})", (0.0, ticks[-1]), ticks, label, log=False)


def y_axis(of: Described, metric: str, points: Sequence[Valued]) -> Axis:
    """Logarithmic if values are far apart, or are times or rates; shares in percent."""
    meaning = of.meaning(metric)
    unit = unit_of(meaning["unit"], meaning.get("kind"))
    bare = unit in ("", "1")
    ends = _ends(points) or [1.0]
    low, high = min(ends), max(ends)
    if bare:
        values = [p["value"] for p in points if p["value"] is not None]
        low = low if min(values, default=0.0) < 0 else max(low, 0.0)  # an interval may go below
    if is_share(points, unit):
        return share_axis(metric, low, high)
    factor, name = units.scale([sorted(ends)[len(ends) // 2]], unit)
    title = f"{metric} ({name})" if name else metric
    if low > 0 and (not bare or high / low > 20):
        return log_axis(title, low / 1.35, high * 1.25, factor)
    ticks = linear_ticks(high) if low >= 0 else round_ticks(low, max(high, 0))
    label = f"format(datum.value / {factor!r}, '~g')"
    room = (high - low) / 20 or 1.0
    least = min(0.0, low - room) if low < 0 else 0.0
    return Axis(title, (least, max(ticks[-1], high)), ticks, label, log=False)


def share_axis(title: str, low: float, high: float) -> Axis:
    low, high = min(0.0, low), max(high, 0.01)
    high = 1.0 if high > 0.4 else high
    room = (high - low) / 40
    return Axis(
        title,
        (low - room if low < 0 else 0.0, high + room),
        round_ticks(low, high),
        "format(datum.value, '.1~%')",
        log=False,
        every=True,
    )


def log_axis(title: str, low: float, high: float, unit: float) -> Axis:
    """A logarithmic axis with round numbers of the unit, at most eight or so: a browser's letters
    are wider than Vega takes them to be, so that it would leave too many."""
    span = math.log10(high / low)
    step = max(1, math.ceil(span / MOST_DECADES))
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    marks = next((of for most, of in MARKS if span <= most), (1,))
    ticks = [m * 10.0**e for e in decades if e % step == 0 for m in marks]
    ticks = [tick for tick in ticks if low <= tick <= high]
    if len(ticks) < 3:
        ticks = round_ticks(low, high)
    value = f"datum.value / {unit!r}"
    return Axis(title, (low, high), ticks, f"format({value}, {value} < 10000 ? '~g' : '~s')")


def linear_ticks(most: float) -> list[float]:
    """From zero to the maximum or above."""
    power = 10.0 ** math.floor(math.log10(most)) if most > 0 else 1.0
    step = next(power * m for m in (0.1, 0.2, 0.5, 1, 2) if most / (power * m) <= 8)
    return [i * step for i in range(max(1, math.ceil(most / step)) + 1)]


def round_ticks(least: float, greatest: float) -> list[float]:
    """About seven round numbers."""
    if least == greatest:
        return [least]
    decade = 10 ** math.floor(math.log10(greatest - least))
    step = decade * next(s for s in (0.2, 0.5, 1, 2) if (greatest - least) / (decade * s) <= 7)
    return [i * step for i in range(math.ceil(least / step), math.floor(greatest / step) + 1)]


def marks(of: Described, x: str, axis: Axis, machine: Optional[Machine]) -> list[tuple[float, str]]:
    """Marks of the machine: the number of CPUs on an axis of threads; the sizes of line and caches,
    as reported, on one of bytes."""
    if machine is None:
        return []
    topology, found = machine["topology"], list[tuple[float, str]]()
    if x == "threads" and topology["cpus"]:
        found = [(float(topology["cpus"]), f"{topology['cpus']} CPUs")]
    elif of.unit(x) == "B":
        caches = [c for c in topology["caches"] or [] if c["type"] != "instruction"]
        found = [(float(c["size"]), f"L{c['level']}, reported") for c in caches if c["size"]]
        line = max((c["line"] for c in caches if c["line"]), default=None)
        found += [(float(line), f"line of {line} B, reported")] if line else []
    low, high = axis.domain
    return [(at, text) for at, text in dict.fromkeys(found) if low * 1.2 < at < high / 1.2]
