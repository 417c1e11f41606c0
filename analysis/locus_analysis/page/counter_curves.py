# SPDX-License-Identifier: Apache-2.0
"""Curves of counters, each below the curve of time on the same axis: they show which counter steps
where the time steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Optional

from ..insight import counters
from ..insight.counters import Column
from ..insight.kernel_events import Counted
from ..pictures import axes, curves, sweeps
from ..pictures.axes import Axis, Said
from ..pictures.charts import Picture, numbered
from ..pictures.curves import HALF, WIDE, Panel, Series
from ..pictures.sweeps import Scene
from ..records import description
from ..records.description import Group, place_of
from ..records.rows import Counter, Metric, Value

HELP = (
    "On top the time, below it the counts per {per}, over the same axis; lines across points are"
    " 95 % intervals. Counts that are missing or doubtful are not drawn."
)
ROWS = 4  # counters in a picture, below the time: it fits a printed page
COLUMNS, SMALL = 3, 205  # settings side by side, at most; pixels of a panel's width then
HIGH, LOW = 190, 115  # pixels: the time, a counter
DECADES = 100  # greatest over least value: above it the axis is logarithmic


def pictures(
    scene: Scene, trials: Sequence[Counted], columns: Sequence[Column], name: str, title: str
) -> list[Picture]:
    """The pictures of one run and benchmark, whose trials are those of the scene. A trial is drawn
    in the first curve that has it as a point."""
    drawn: list[Picture] = []
    of, left = scene.of, [_as_metrics(t, columns) for t in trials if not t["in_matrix"]]
    for x, found in description.curved(of, left):
        ids = {t["id"] for t in left}
        groups = [Group(g.setting, [t for t in g.trials if t["id"] in ids]) for g in found]
        groups = [g for g in groups if len({place_of(of, t, x) for t in g.trials}) > 1]
        own = [t for g in groups for t in g.trials]
        left = [t for t in left if t["id"] not in {shown["id"] for shown in own}]
        drawn += _over(replace(scene, trials=own), x, groups, columns, name, title)
    return drawn


def _as_metrics(trial: Counted, columns: Sequence[Column]) -> Counted:
    """The trial with its counters among its metrics, and the time beside which they are drawn."""
    counted = {c["name"]: _drawable(trial["counters"].get(c["name"])) for c in columns}
    return {**trial, "metrics": {**trial["metrics"], **counted, TIME: counters.headline(trial)}}


TIME = "time beside counters"


def _drawable(counter: Optional[Counter]) -> Metric:
    own = None if counter is None or counters.is_zero_in_doubt(counter) else counter
    return {
        "value": own and own["value"],
        "low": own and own["low"],
        "high": own and own["high"],
        "unit": own["unit"] if own else "1",
        "range": None,
        "with_noise": None,
        "modes": None,
        "kind": "value",
        "why": None,
    }


def _over(
    scene: Scene,
    x: str,
    groups: Sequence[Group],
    columns: Sequence[Column],
    name: str,
    title: str,
) -> list[Picture]:
    of, several = scene.of, description.differing([g.setting for g in groups])
    wanted = [c for c in columns if any(sweeps.has(t, c["name"]) for t in scene.trials)]
    if not wanted:
        return []
    times = {id(g): sweeps.series(scene, x, g, TIME) for g in groups}
    axis = axes.x_axis(of, x, curves.points(s for own in times.values() for s in own))
    above = replace(axis, title="")  # of all panels but the lowest, which has the title
    marks = _marks(scene, x, axis)
    beside = min(len(groups), COLUMNS)
    parts = [
        (groups[i : i + beside], wanted[j : j + ROWS])
        for i in range(0, len(groups), beside)
        for j in range(0, len(wanted), ROWS)
    ]
    drawn, of_time = [], of.headline if _is_time(scene) else "time"
    for file, said, (shown, rows) in numbered(
        f"{name}-counters-{x}", f"{title}: counters over {x}", parts
    ):
        width = (WIDE, HALF, SMALL)[len(shown) - 1]
        panels = [
            _panel(of.words(g.setting, several), above, y, own, width, HIGH, marks)
            for g in shown
            for own in (times[id(g)],)
            for y in (axes.y_axis(of, of_time, curves.points(own)),)
        ]
        for c in rows:
            place = axis if c is rows[-1] else above
            bare = [(at, "") for at, _ in marks]
            for g in shown:
                own = sweeps.series(scene, x, g, c["name"], _words_of(c))
                y = _count_axis(own, c["unit"])
                of_what = f"{c['name']} {_per(c)}".strip()
                panels.append(_panel(of_what, place, y, own, width, LOW, bare))
        trials = curves.in_order(t for g in shown for t in g.trials)
        help_text = HELP.format(per=rows[0]["per"] or "unit of work")
        drawn.append(curves.draw(file, said, help_text, trials, panels, columns=len(shown)))
    return drawn


def _marks(scene: Scene, x: str, axis: Axis) -> Sequence[tuple[float, str]]:
    """Where what was found in the curve of time ends, or else what the system reports."""
    bands = scene.bands(x, scene.trials)
    if not bands:
        return axes.marks(scene.of, x, axis, scene.machine)
    ends = [(e["at"], e["label"]) for e in bands.ends]
    return [(at, label) for at, label in ends if axis.domain[0] < at < axis.domain[1]]


def _is_time(scene: Scene) -> bool:
    return scene.of.meaning(scene.of.headline)["better"] == "lower"


def _panel(
    title: str,
    x: Axis,
    y: Axis,
    lines: list[Series],
    width: int,
    least: int,
    marks: Sequence[tuple[float, str]],
) -> Panel:
    height = max(least, curves.LABEL * len(lines) + 8)
    return Panel(title, x, y, lines, width, height, marks=marks)


def _words_of(column: Column) -> sweeps.Words:
    def words(value: Value, unit: str) -> Said:
        counter: counters.Quantity = {**value, "unit": column["unit"]}
        return {
            "text": f"{counters.said(counter)} {_per(column)}".strip(),
            "interval": counters.interval(counter) or "–",
        }

    return lambda value, unit: {} if value["value"] is None else words(value, unit)


def _per(column: Column) -> str:
    return f"per {column['per']}" if column["per"] else ""


def _count_axis(lines: Sequence[Series], unit: str) -> Axis:
    """From zero; logarithmic if values are far apart and none is zero."""
    points = curves.points(lines)
    values = [p["value"] for p in points if p["value"] is not None]
    ends = [end for p in points for end in (p["value"], p["high"]) if end is not None]
    most = max(ends, default=0.0)
    label = f"format(datum.value, '{'~s' if unit != '1' or most >= 1e4 else '~g'}')"
    title = unit if unit != "1" else ""
    if values and min(values) > 0 and max(values) > DECADES * min(values) and max(values) > 2:
        least = min(end for p in points for end in (p["value"], p["low"]) if end)
        return replace(axes.log_axis(title, least / 1.35, most * 1.25, 1.0), label=label)
    ticks = axes.linear_ticks(most or 1.0)
    ticks = ticks[:: 2 if len(ticks) > 6 else 1]
    return Axis(title, (0, most * 1.08 or 1.0), ticks, label, log=False, every=True)
