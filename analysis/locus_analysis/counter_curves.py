# SPDX-License-Identifier: Apache-2.0
"""Curves of counters, each below the curve of time on the same axis: they show which counter steps
where the time steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Optional

from . import axes, charts, counters, curves, described
from .curves import HALF, WIDE, Axis, Panel, Series
from .described import Described, Group
from .levels import Finding

Row = dict[str, Any]

HELP = (
    "On top the time, below it the counts per {per}, over the same axis; lines across points are"
    " 95 % intervals. Counts that are missing or doubtful are not drawn."
)
ROWS = 4  # counters in a picture, below the time: it fits a printed page
COLUMNS, SMALL = 3, 205  # settings side by side, at most; pixels of a panel's width then
HIGH, LOW = 190, 115  # pixels: the time, a counter
DECADES = 100  # greatest over least value: above it the axis is logarithmic
NO_VALUE: Row = {"value": None, "low": None, "high": None}


def pictures(
    of: Described,
    trials: Sequence[Row],
    columns: Sequence[Row],
    machine: Row,
    name: str,
    title: str,
    finding: Optional[Finding],
) -> list[charts.Picture]:
    """The pictures of one run and benchmark; `columns` are its counters. A trial is drawn in the
    first curve that has it as a point."""
    drawn: list[charts.Picture] = []
    left = [t for t in trials if not t["in_matrix"]]
    for x, found in described.curved(of, left):
        groups = [Group(g.setting, [t for t in g.trials if t in left]) for g in found]
        groups = [g for g in groups if len({described.value_of(of, t, x) for t in g.trials}) > 1]
        shown = {t["id"] for g in groups for t in g.trials}
        left = [t for t in left if t["id"] not in shown]
        drawn += _over(of, x, groups, columns, machine, name, title, finding)
    return drawn


def _over(
    of: Described,
    x: str,
    groups: Sequence[Group],
    columns: Sequence[Row],
    machine: Row,
    name: str,
    title: str,
    finding: Optional[Finding],
) -> list[charts.Picture]:
    several = described.differing([g.setting for g in groups])
    trials = [t for g in groups for t in g.trials]
    wanted = [c for c in columns if any(_drawable(t["counters"].get(c["name"])) for t in trials)]
    if not wanted:
        return []
    times = {id(g): _series(of, x, g, trials, counters.headline) for g in groups}
    axis = axes.x_axis(of, x, [s for own in times.values() for s in own])
    above = replace(axis, title="")  # of all panels but the lowest, which has the title
    marks = axes.marks(of, x, axis, machine)
    if finding and x == "size":
        ends = [(e.size, f"{of.name} ends") for of in finding.levels if (e := of.edge)]
        marks = [m for m in ends if axis.domain[0] < m[0] < axis.domain[1]]
    beside = min(len(groups), COLUMNS)
    parts = [
        (groups[i : i + beside], wanted[j : j + ROWS])
        for i in range(0, len(groups), beside)
        for j in range(0, len(wanted), ROWS)
    ]
    file, over, drawn = f"{name}-counters-{x}", f"{title}: counters over {x}", []
    for i, (of_part, rows) in enumerate(parts, 1):
        width = (WIDE, HALF, SMALL)[len(of_part) - 1]
        panels = [
            _time(of, of.words(g.setting, several), times[id(g)], above, width, marks)
            for g in of_part
        ]
        for c in rows:
            place = axis if c is rows[-1] else above
            for g in of_part:
                lines = _series(of, x, g, trials, _value_of(c), _words_of(c))
                panels.append(_counter(c, lines, place, width, [(at, "") for at, _ in marks]))
        named = (f"{file}-{i}", f"{over} ({i} of {len(parts)})") if len(parts) > 1 else (file, over)
        shown = curves.in_order(t for g in of_part for t in g.trials)
        help_text = HELP.format(per=rows[0]["per"] or "unit of work")
        drawn.append(curves.draw(*named, help_text, shown, panels, columns=len(of_part)))
    return drawn


def _time(
    of: Described,
    title: str,
    lines: list[Series],
    x: Axis,
    width: int,
    marks: Sequence[tuple[float, str]],
) -> Panel:
    y = axes.y_axis(of, of.headline if _is_time(of) else "time", lines)
    return Panel(title, x, y, lines, width, height=_height(lines, HIGH), marks=marks)


def _is_time(of: Described) -> bool:
    return bool(of.metrics.get(of.headline, {}).get("better") == "lower")


def _counter(
    column: Row, lines: list[Series], x: Axis, width: int, marks: Sequence[tuple[float, str]]
) -> Panel:
    return Panel(
        f"{column['name']} {_per(column)}".strip(),
        x,
        _count_axis(lines, column["unit"]),
        lines,
        width,
        height=_height(lines, LOW),
        marks=marks,
    )


def _value_of(column: Row) -> Any:
    def of(trial: Row) -> Row:
        found = trial["counters"].get(column["name"])
        return found if _drawable(found) else NO_VALUE

    return of


def _words_of(column: Row) -> Any:
    def words(value: Row) -> Row:
        return {
            "text": f"{counters.said(value)} {_per(column)}".strip(),
            "interval": counters.interval(value) or "–",
            "number": "",  # numbers are beside the time
        }

    return words


def _per(column: Row) -> str:
    return f"per {column['per']}" if column["per"] else ""


def _drawable(counter: Optional[Row]) -> bool:
    return (
        counter is not None
        and counter["value"] is not None
        and not counters.is_zero_in_doubt(counter)
    )


def _height(lines: Sequence[Series], least: int) -> int:
    return max(least, curves.LABEL * len(lines) + 8)


def _series(
    of: Described, x: str, group: Group, among: Sequence[Row], value: Any, words: Any = None
) -> list[Series]:
    found = []
    for line in described.lines(of, group.trials, among):
        colour, shape, dash = curves.style(line)
        rows = []
        for t in sorted(line.trials, key=lambda t: float(described.value_of(of, t, x))):
            given = value(t)
            at = float(described.value_of(of, t, x))
            p = curves.point({**t, **{key: given[key] for key in NO_VALUE}}, at)
            rows.append({**p, **words(given)} if words and given["value"] is not None else p)
        if any(p["value"] is not None for p in rows):
            found.append(Series(line.name, colour, shape, rows, dash))
    return found


def _count_axis(lines: Sequence[Series], unit: str) -> Axis:
    """From zero; logarithmic if values are far apart and none is zero."""
    values = [p["value"] for line in lines for p in line.rows if p["value"] is not None]
    ends = values + [p["high"] for line in lines for p in line.rows if p["high"] is not None]
    label = (
        "format(datum.value, '~s')"
        if unit != "1" or max(ends, default=0) >= 1e4
        else "format(datum.value, '~g')"
    )
    if values and min(values) > 0 and max(values) > DECADES * min(values) and max(values) > 2:
        axis = curves.time_axis(lines)
        return Axis(unit if unit != "1" else "", axis.domain, axis.ticks, label)
    ticks = curves.linear_ticks(max(ends, default=0) or 1.0)
    kept = ticks[:: 2 if len(ticks) > 6 else 1]
    return Axis(
        unit if unit != "1" else "",
        (0, max(ends, default=0) * 1.08 or 1.0),
        kept,
        label,
        log=False,
        every=True,
    )
