# SPDX-License-Identifier: Apache-2.0
"""The axes of any benchmark's pictures, and its numbers as text, from the parameters and metrics in
its line of the record."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from . import charts, curves, units
from .curves import Axis, Series
from .described import Described

Row = dict[str, Any]


def said(value: Row, unit: str) -> Row:
    """A value and its interval in words."""
    if is_share([value], unit):
        known = value["low"] is not None and value["high"] is not None
        return {
            "text": units.percent(value["value"]),
            "interval": (
                f"{units.percent(value['low'])} to {units.percent(value['high'])}" if known else "–"
            ),
        }
    return {
        "text": "no value" if value["value"] is None else units.quantity(value["value"], unit),
        "interval": units.interval({**value, "unit": unit}),
    }


def is_share(values: Sequence[Row], unit: str) -> bool:
    ends = [v for of in values for v in (of["value"], of["low"], of["high"]) if v is not None]
    return unit == "1" and bool(ends) and max(map(abs, ends)) <= 1


def x_axis(of: Described, x: str, lines: Sequence[Series]) -> Axis:
    values = sorted({p["x"] for s in lines for p in s.rows})
    if x == "threads":
        return curves.thread_axis([round(v) for v in values])
    low, high = values[0], values[-1]
    unit = of.unit(x)
    if low > 0 and unit == "B":
        return curves.size_axis(lines, f"{x} (bytes)")
    title = f"{x} ({unit})" if unit and unit != x else x
    if low > 0 and high / low >= 8:
        return curves.log_axis(title, low / 1.12, high * 1.12, 1.0)
    ticks = curves.linear_ticks(high)
    return Axis(title, (min(0.0, low), ticks[-1]), ticks, "format(datum.value, '~s')", log=False)


def y_axis(of: Described, metric: str, lines: Sequence[Series]) -> Axis:
    """Logarithmic if values are far apart, or are times or rates; shares in percent."""
    told = of.metrics.get(metric, {})
    unit = str(told.get("unit") or "1")
    points = [p for s in lines for p in s.rows if p["value"] is not None]
    ends = [v for p in points for v in (p["value"], p["low"], p["high"]) if v is not None] or [1.0]
    low, high = min(ends), max(ends)
    if is_share(points, unit):
        return share_axis(metric, low, high)
    factor, name = units.scale([median(ends)], unit)
    title = f"{metric} ({name})" if name else metric
    if low > 0 and (unit != "1" or high / low > 20):
        return curves.log_axis(title, low / 1.35, high * 1.25, factor)
    ticks = curves.linear_ticks(high) if low >= 0 else charts.round_ticks(low, max(high, 0))
    label = f"format(datum.value / {factor!r}, '~g')"
    room = (high - low) / 20 or 1.0
    return Axis(title, (min(0.0, low - room), max(ticks[-1], high)), ticks, label, log=False)


def share_axis(title: str, low: float, high: float) -> Axis:
    low, high = min(0.0, low, -0.005), max(high, 0.01)
    high = 1.0 if high > 0.4 else high
    room = (high - low) / 40
    steps = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
    step = next(s for s in steps if (high - low) / s <= 7)
    ticks = [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
    label = "format(datum.value, '.1~%')"
    return Axis(title, (low - room, high + room), ticks, label, log=False, every=True)


def median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]


def marks(of: Described, x: str, axis: Axis, machine: Row) -> list[tuple[float, str]]:
    """Marks of the machine: the number of CPUs on an axis of threads; the sizes of line and caches,
    as reported, on one of bytes."""
    topology, found = machine["topology"], []
    if x == "threads" and topology["cpus"]:
        found = [(float(topology["cpus"]), f"{topology['cpus']} CPUs")]
    elif of.unit(x) == "B":
        caches = [c for c in topology["caches"] or [] if c["type"] != "instruction"]
        found = [(float(c["size"]), f"L{c['level']}, reported") for c in caches if c["size"]]
        line = max((c["line"] for c in caches if c["line"]), default=None)
        found += [(float(line), f"line of {line} B, reported")] if line else []
    low, high = axis.domain
    return [(at, text) for at, text in dict.fromkeys(found) if low * 1.2 < at < high / 1.2]
