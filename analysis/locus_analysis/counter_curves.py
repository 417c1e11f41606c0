# SPDX-License-Identifier: Apache-2.0
"""Curves of counters: each below the curve of time, on the same axis, so that one sees what
steps where the time steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Optional

from . import charts, counters, curves, kmeans, search, sharing
from .checkpoint import LAYOUTS as TICKS
from .curves import HALF, PAGE_DASH, RANKED, WIDE, Axis, Panel, Series
from .kmeans import UNITS, differing, time_unit
from .levels import Finding
from .sharing import SMALL
from .units import short

Row = dict[str, Any]
Setting = tuple[tuple[str, str], ...]

HELP = (
    "Above the time, below it what was counted for each {per}, on the same axis; lines across"
    " points are 95 % intervals. What could not be counted, or may not have been, is not drawn."
)
ROWS = 4  # counters in a picture, below the time: it fits a printed page
COLUMNS = 3  # settings beside each other
HIGH, LOW = 190, 115  # pixels: the time, a counter
DECADES = 100  # the most over the least: a logarithmic axis from here on
NO_VALUE: Row = {"value": None, "low": None, "high": None}


@dataclass(frozen=True)
class Curve:
    """What a benchmark has curves over: a parameter, or "threads"; what tells its lines apart,
    the first of it by style."""

    over: str
    lines: tuple[str, ...] = ("variant",)
    styles: dict[str, tuple[str, str]] = field(default_factory=dict)
    aside: tuple[str, ...] = ()  # what is no part of the work
    only: dict[str, str] = field(
        default_factory=dict
    )  # values of parameters that a trial has to have, if it has them

    @property
    def title(self) -> str:
        return {
            "size": "size",
            "distance": "from one thread's word to the next one's",
            "chains": "independent chains",
        }.get(self.over, self.over)


CURVES = {
    "latency": (
        Curve("chains", ("size", "pages"), only={"variant": "parallel"}),
        Curve(
            "size", ("variant", "pages", "element", "stride"), curves.STYLES, only={"chains": "1"}
        ),
    ),
    "sharing": (
        Curve("distance", ("variant", "lock", "threads")),
        Curve("threads", ("layout",), sharing.LAYOUTS),
    ),
    "checkpoint": (Curve("threads", ("variant",), TICKS),),
    "kmeans": (Curve("threads", ("variant", "prune"), kmeans.VARIANTS, kmeans.OUTPUTS),),
    "search": (
        Curve("size", ("variant", "pages"), search.VARIANTS),
        Curve("threads", ("variant", "pages"), search.VARIANTS),
    ),
}
OTHERS = (Curve("threads"), Curve("size"))


def pictures(
    trials: Sequence[Row],
    columns: Sequence[Row],
    machine: Row,
    name: str,
    title: str,
    finding: Optional[Finding],
) -> list[charts.Picture]:
    """Of one run and benchmark; `columns` are its counters. A trial is in the first of the
    curves that it is a point of."""
    drawn: list[charts.Picture] = []
    left = [t for t in trials if "from" not in t["parameters"]]
    for curve in CURVES.get(trials[0]["benchmark"], OTHERS) if trials else ():
        settings = by_setting(left, curve)
        shown = {t["id"] for _, own in settings for t in own}
        left = [t for t in left if t["id"] not in shown]
        over = f"{title}: counters over {curve.over}"
        drawn += _of_curve(
            settings, curve, columns, machine, f"{name}-counters-{curve.over}", over, finding
        )
    return drawn


def _settings(trial: Row) -> dict[str, str]:
    of = {
        "variant": trial["variant"],
        **trial["parameters"],
        "threads": trial["threads"],
        "bind": trial["bind"],
    }
    return {key: str(value) for key, value in of.items()}


def by_setting(trials: Sequence[Row], curve: Curve) -> list[tuple[dict[str, str], list[Row]]]:
    """Trials that differ in what the curve is over, and in its lines alone, by what else they
    are; where that makes a curve. One that lacks a parameter is of every setting that it agrees
    with."""
    apart = {curve.over, *curve.lines, *curve.aside}
    of = [
        ({k: v for k, v in _settings(t).items() if k not in apart}, t)
        for t in trials
        if x_of(t, curve) is not None
    ]
    found = list({tuple(setting.items()): setting for setting, _ in of}.values())
    whole = [s for s in found if not any(s.items() < other.items() for other in found)]
    groups = [
        (s, _curved([t for setting, t in of if setting.items() <= s.items()], curve)) for s in whole
    ]
    return [(s, own) for s, own in groups if own]


def _curved(trials: Sequence[Row], curve: Curve) -> list[Row]:
    """Those whose line has several points, if there are such lines."""
    lines: dict[Setting, list[Row]] = {}
    for t in trials:
        lines.setdefault(_line(t, curve), []).append(t)
    return [t for own in lines.values() if len({x_of(t, curve) for t in own}) > 1 for t in own]


def x_of(trial: Row, curve: Curve) -> Optional[float]:
    of = _settings(trial)
    if any(of.get(key, wanted) != wanted for key, wanted in curve.only.items()):
        return None
    value = of.get(curve.over, "")
    return float(value) if value.isdecimal() and float(value) > 0 else None


def _line(trial: Row, curve: Curve) -> Setting:
    of = _settings(trial)
    return tuple((key, of[key]) for key in curve.lines if key in of)


def _of_curve(
    settings: Sequence[tuple[dict[str, str], list[Row]]],
    curve: Curve,
    columns: Sequence[Row],
    machine: Row,
    name: str,
    title: str,
    finding: Optional[Finding],
) -> list[charts.Picture]:
    several = differing([tuple(of.items()) for of, _ in settings])
    trials = [t for _, own in settings for t in own]
    wanted = [c for c in columns if any(_drawable(t["counters"].get(c["name"])) for t in trials)]
    if not wanted:
        return []
    x = _axis([x for t in trials if (x := x_of(t, curve))], curve)
    above = replace(x, title="")  # all but the last: it is the same axis
    marks = _marks(trials, curve, machine, finding, x)
    beside = min(len(settings), COLUMNS)
    parts = [
        (settings[i : i + beside], wanted[j : j + ROWS])
        for i in range(0, len(settings), beside)
        for j in range(0, len(wanted), ROWS)
    ]
    drawn = []
    for i, (of_part, rows) in enumerate(parts, 1):
        panels = []
        width = (WIDE, HALF, SMALL)[len(of_part) - 1]
        for of, own in of_part:
            panels.append(_time(_words(of, several), own, curve, above, width, marks))
        for c in rows:
            panels += [
                _counter(
                    c,
                    own,
                    curve,
                    x if c is rows[-1] else above,
                    width,
                    [(at, "") for at, _ in marks],
                )
                for _, own in of_part
            ]
        named = (
            (f"{name}-{i}", f"{title} ({i} of {len(parts)})") if len(parts) > 1 else (name, title)
        )
        shown = curves.in_order(t for _, own in of_part for t in own)
        help_text = HELP.format(per=rows[0]["per"] or "unit of work")
        drawn.append(curves.draw(*named, help_text, shown, panels, columns=len(of_part)))
    return drawn


def _words(of: dict[str, str], several: Sequence[str]) -> str:
    bare = ("variant", "search", "type", "lock", "body")
    said = [
        key for key in several if key in of and (key, of.get("keys")) != ("skew", "uniform")
    ]  # which has none
    return ", ".join(of[key] if key in bare else f"{key} {short(of[key])}" for key in said)


def _time(
    title: str,
    trials: Sequence[Row],
    curve: Curve,
    x: Axis,
    width: int,
    marks: Sequence[tuple[float, str]],
) -> Panel:
    lines = _series(trials, curve, counters.headline)
    unit = time_unit(p["value"] for line in lines for p in line.rows)
    heading = "time" if trials[0]["better"] != "lower" else trials[0]["metric"]
    y = curves.time_axis(lines, f"{heading} ({UNITS[unit]})", unit)
    return Panel(title, x, y, lines, width, height=_height(lines, HIGH), marks=marks)


def _counter(
    column: Row,
    trials: Sequence[Row],
    curve: Curve,
    x: Axis,
    width: int,
    marks: Sequence[tuple[float, str]],
) -> Panel:
    def of(trial: Row) -> Row:
        found = trial["counters"].get(column["name"])
        return found if _drawable(found) else NO_VALUE

    def words(value: Row) -> Row:
        text = f"{counters.said(value)} {_per(column)}".strip()
        return {
            "text": text,
            "interval": counters.interval(value) or "–",
            "number": "",
        }  # numbers are beside the time

    lines = _series(trials, curve, of, words)
    return Panel(
        f"{column['name']} {_per(column)}".strip(),
        x,
        _count_axis(lines, column["unit"]),
        lines,
        width,
        height=_height(lines, LOW),
        marks=marks,
    )


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


def _series(trials: Sequence[Row], curve: Curve, of: Any, words: Any = None) -> list[Series]:
    """A line for each of what tells them apart, in the order of the styles."""
    groups: dict[Setting, list[Row]] = {}
    for t in trials:
        groups.setdefault(_line(t, curve), []).append(t)
    several = differing(groups)
    first = list(curve.styles)
    ordered = sorted(
        groups,
        key=lambda line: first.index(line[0][1]) if line and line[0][1] in first else len(first),
    )
    found = []
    for i, line in enumerate(ordered):
        said = dict(line)
        style = curve.styles.get(line[0][1] if line else "", RANKED[i % len(RANKED)])
        names = [
            value if key == curve.lines[0] or not value.isdecimal() else f"{key} {short(value)}"
            for key, value in line
            if key in several
        ]
        dash = PAGE_DASH.get(said.get("pages", "base"), "solid")
        rows = []
        for t in sorted(groups[line], key=lambda t: x_of(t, curve) or 0.0):
            value = of(t)
            p = curves.point({**t, **{key: value[key] for key in NO_VALUE}}, x_of(t, curve))
            rows.append({**p, **words(value)} if words and value["value"] is not None else p)
        if any(p["value"] is not None for p in rows):
            found.append(Series(", ".join(names), *style, rows, dash))
    return found


def _axis(values: Sequence[float], curve: Curve) -> Axis:
    if curve.over in ("size", "distance"):
        return curves.powers_of_two(values, curve.title, SIZE_LABEL)
    counts = sorted(set(values))
    ticks = [c for c in counts if int(c) & (int(c) - 1) == 0 or c == counts[-1]]
    return Axis(
        curve.title, (counts[0] / 1.12, counts[-1] * 1.12), ticks, "format(datum.value, 'd')"
    )


SIZE_LABEL = (
    "datum.value >= 1073741824 ? format(datum.value / 1073741824, '~g') + ' GiB' : datum.value >="
    " 1048576 ? format(datum.value / 1048576, '~g') + ' MiB' : datum.value >= 1024 ?"
    " format(datum.value / 1024, '~g') + ' KiB' : format(datum.value, 'd') + ' B'"
)


def _count_axis(lines: Sequence[Series], unit: str) -> Axis:
    """From zero; logarithmic where there is much between the least and the most, and nothing is
    zero."""
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


def _marks(
    trials: Sequence[Row], curve: Curve, machine: Row, finding: Optional[Finding], x: Axis
) -> list[tuple[float, str]]:
    """Where levels end, as found in the curve of time; how many CPUs there are."""
    if curve.over == "threads":
        return sharing.cpu_mark(trials, machine)
    if curve.over == "size" and finding:
        found = [(level.edge.size, f"{level.name} ends") for level in finding.levels if level.edge]
        return [(at, said) for at, said in found if x.domain[0] < at < x.domain[1]]
    return []
