# SPDX-License-Identifier: Apache-2.0
"""Curves: panels of lines over an x axis. The shape of the points and a label at the line's end say
the same as its colour."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Optional

from ..base import units
from ..records.description import PAGE_NAMES, Bands, Line
from ..records.rows import Shown
from . import vega_lite as vl
from .axes import Axis, Point
from .charts import (
    FLAGGED,
    GOOD,
    Data,
    Drawing,
    Picture,
    joined,
    mark,
    numbered,
    picture,
    why,
)
from .colours import BAND, EDGE, GREY, INK, LINES, PAPER, SOFT

SHAPES = (
    *("circle", "square", "diamond", "cross"),
    *("triangle-right", "triangle-down", "triangle-left"),
)
RANKED = tuple(zip(LINES, SHAPES))
DASHES = {"solid": [1, 0], "dashed": [6, 3], "dotted": [2, 2], "dash-dotted": [7, 2, 2, 2]}
PAGE_DASH = {"base": "solid", "thp": "dashed", "2M": "dotted", "1G": "dash-dotted"}
WIDE, HALF, HEIGHT = 620, 270, 330  # pixels
LABEL = 13  # pixels between labels
MARK, NEAR = 10, 3.0  # pixels: between the marks of a label; lines nearer than that are one
HALO: dict[str, object] = {
    "stroke": PAPER,
    "strokeWidth": 4,
    "strokeJoin": "round",
}  # of text on lines
UPRIGHT: dict[str, object] = {
    **{"angle": 270, "align": "right", "baseline": "bottom"},
    **{"dx": -3, "dy": -3, "fontSize": 10, "color": SOFT},
}  # text at an upright line
PANELS = 6  # in a picture: they fit a printed page


@dataclass
class Series:
    """A line. Those of its points with `ring` get a ring."""

    name: str
    colour: str
    shape: str
    dash: str
    rows: list[Point]
    width: float = 1.6
    points: bool = True


def ranked(place: int) -> tuple[str, str, str]:
    """Colour, shape and dash of the lines of a picture, in order."""
    dashes = list(DASHES)
    return (*RANKED[place % len(RANKED)], dashes[place // len(RANKED) % len(dashes)])


def style(line: Line) -> tuple[str, str, str]:
    colour, shape, dash = ranked(line.place)
    dashes = list(DASHES)
    own = PAGE_DASH.get(line.pages or "", dashes[line.dash % len(dashes)])
    return colour, shape, own if dash == dashes[0] else dash


def dashes_help(pages: set[str]) -> str:
    """What dashes mean, which the names of lines say only where a variant has several pages."""
    dashed = [(dash, PAGE_NAMES[p]) for p, dash in PAGE_DASH.items() if p in pages]
    said = "; ".join(f"{dash}: {name}" for dash, name in dashed if dash != "solid")
    return f"{said[0].upper()}{said[1:]}." if said else ""


@dataclass
class Panel:
    title: str
    x: Axis
    y: Axis
    series: list[Series]
    width: int = WIDE
    height: int = HEIGHT
    bands: Optional[Bands] = None
    marks: Sequence[tuple[float, str]] = ()  # upright lines: where, and what they say


def point(r: Shown, x: Optional[float]) -> Point:
    return {
        "id": r["id"],
        "value": r["value"],
        "low": r["low"],
        "high": r["high"],
        "flag": r["flag"],
        "status": r["status"],
        "x": x,
        "mark": mark(r),
        "why": why(r),
        "trial": f"{r['variant']} {r['everything']}",
        "text": units.measured(r, "s", "no value"),
        "interval": units.interval(r["low"], r["high"], "s", r["range"]),
    }


def bare(x: float, value: float) -> Point:
    return {
        "x": x,
        "value": value,
        "low": None,
        "high": None,
        "flag": None,
        "status": "ok",
        "text": units.quantity(value, "s"),
    }


def bare_line(
    points: Sequence[tuple[float, float]], dash: str = "dotted", name: str = ""
) -> Series:
    """A grey line without marks."""
    rows = [bare(x, value) for x, value in points]
    return Series(name, GREY, "circle", dash, rows, 1.2 if name else 1, points=False)


def points(lines: Iterable[Series]) -> list[Point]:
    return [p for line in lines for p in line.rows]


def draw(
    name: str,
    title: str,
    help_text: str,
    rows: Sequence[Shown],
    panels: Sequence[Panel],
    extra: Sequence[str] = (),
    columns: int = 0,
) -> Picture:
    """Panels side by side, in the given number of columns."""
    data = Data()
    drawn = [_panel(data, panel) for panel in panels]
    whole = (
        joined("concat", *drawn, columns=columns or len(drawn), spacing=28)
        if len(drawn) > 1
        else drawn[0]
    )
    unique = {(r["whole"], r["id"]): r for r in rows}
    return picture(name, title, help_text, list(unique.values()), [whole], data, extra)


def in_parts(
    drawn: Sequence[tuple[Sequence[Shown], Sequence[Panel]]],
    name: str,
    title: str,
    help_text: str,
    extra: Callable[[Sequence[Shown]], Sequence[str]] = lambda _: (),
) -> list[Picture]:
    """Splits trials and panels into pictures of at most PANELS, in two columns; `extra` adds text
    on the trials of a picture."""
    most = PANELS // len(drawn[0][1])
    parts = [drawn[i : i + most] for i in range(0, len(drawn), most)]
    pictures = []
    for file, said, part in numbered(name, title, parts):
        shown = in_order(t for own, _ in part for t in own)
        panels = [panel for _, of in part for panel in of]
        pictures.append(draw(file, said, help_text, shown, panels, extra(shown), columns=2))
    return pictures


def in_order(trials: Iterable[Shown]) -> list[Shown]:
    """Each value once, in the order of the record."""
    return sorted({(t["whole"], t["id"]): t for t in trials}.values(), key=lambda t: t["place"])


def _panel(data: Data, panel: Panel) -> Drawing:
    # As many ticks as Vega-Lite makes where a layer has the axis without its ticks.
    many = {} if panel.y.log else {"tickCount": math.ceil(panel.height / 40)}
    y = vl.quantitative("value", scale=panel.y.scale(), axis={**many, **panel.y.axis()})
    x = vl.quantitative("x", scale=panel.x.scale(), axis=panel.x.axis())
    rows: list[dict[str, object]] = [
        {
            **{"id": None, "mark": "", "why": "", "trial": "", "interval": "", "ring": False},
            **{key: value for key, value in p.items() if key != "at"},
            "series": f"{i} {line.name}",
            "colour": line.colour,
            "shape": line.shape,
            "dash": line.dash,
            "width": line.width,
            "dots": line.points,
        }
        for i, line in enumerate(panel.series)
        for p in line.rows
    ]
    # Where it cuts nothing, it only takes time.
    clip = any(_is_outside(p, panel) for p in points(panel.series))
    dash = vl.nominal(
        "dash", scale={"domain": list(DASHES), "range": list(DASHES.values())}, legend=None
    )
    shape = vl.nominal("shape", scale=None)
    colour = vl.nominal("colour", scale=None)
    names = [vl.nominal(key) for key in ("trial", "text", "interval", "why")]
    base = data.chart(rows).where(vl.known("value"), vl.known("x")).encode(x=x, y=y)
    dots = base.where(vl.holds("dots"))
    behind, before = _bands(data, panel, panel.bands) if panel.bands else ([], [])
    low, layers = panel.y.domain[0], [*behind]
    layers += [
        base.mark("line", clip=clip).encode(
            color=colour,
            detail=vl.nominal("series"),
            strokeDash=dash,
            strokeWidth=vl.quantitative("width", scale=None),
        ),
        dots.where({"field": "low", "gt": 0} if panel.y.log else vl.known("low"), vl.known("high"))
        .mark("rule", strokeWidth=1, clip=clip)
        .encode(y=vl.quantitative("low", scale=panel.y.scale()), y2=vl.end("high"), color=colour),
        dots.where(GOOD)
        .mark("point", filled=True, size=26, opacity=1, clip=clip)
        .encode(shape=shape, color=colour, tooltip=names),
        dots.where(FLAGGED)
        .mark("point", size=34, strokeWidth=1.3, fill=PAPER, opacity=1, clip=clip)
        .encode(shape=shape, stroke=colour, tooltip=names),
        dots.where(vl.holds("ring")).mark(
            "point",
            shape="circle",
            size=130,
            stroke=INK,
            strokeWidth=0.9,
            filled=False,
            opacity=1,
            clip=clip,
        ),
        dots.where({"field": "value", "lt": low})
        .mark("text", text="↓", fontSize=11, dy=-7)
        .encode(y=vl.datum(low)),
    ]
    layers += [*before, *_marks(data, panel), *_end_labels(data, panel)]
    title = {"text": panel.title, "fontSize": 12, "anchor": "start"} if panel.title else ""
    return joined("layer", *layers, width=panel.width, height=panel.height, title=title)


def _is_outside(p: Point, panel: Panel) -> bool:
    """Whether a part of it lies outside of the panel."""
    ends = [(panel.x, p["x"]), *((panel.y, end) for end in (p["value"], p["low"], p["high"]))]
    return any(at is not None and not axis.domain[0] <= at <= axis.domain[1] for axis, at in ends)


def _marks(data: Data, panel: Panel) -> list[Drawing]:
    if not panel.marks:
        return []
    chart = data.chart([{"at": at, "label": label} for at, label in panel.marks])
    x = vl.quantitative("at", scale=panel.x.scale())
    names = chart.encode(x=x, y=vl.value(0), text=vl.nominal("label"))
    return [
        chart.mark("rule", strokeDash=[4, 3], color=GREY).encode(x=x),
        names.mark("text", **UPRIGHT, **HALO),
        names.mark("text", **UPRIGHT),
    ]


def _pixel(axis: Axis, length: int, value: float) -> float:
    """Where a value lies on an axis of so many pixels."""
    low, high = axis.domain
    if axis.log:
        return length * math.log(max(value, low) / low) / math.log(high / low)
    return length * (value - low) / (high - low)


def together(panel: Panel) -> list[list[Series]]:
    """The lines that have a name; those that lie on each other everywhere are one group."""
    groups: list[list[Series]] = []
    for line in panel.series:
        if line.name and _path(panel, line):
            group = next((g for g in groups if _is_on(panel, line, g[0])), None)
            if group:
                group.append(line)
            else:
                groups.append([line])
    return groups


def _is_on(panel: Panel, one: Series, other: Series) -> bool:
    """Points of several lines may stand beside each other, so that all are seen."""
    a, b = _path(panel, one), _path(panel, other)
    return len(a) == len(b) > 1 and all(
        abs(p[0] - q[0]) < MARK and abs(p[1] - q[1]) < NEAR for p, q in zip(a, b)
    )


def _path(panel: Panel, line: Series) -> list[tuple[float, float]]:
    """Its points in pixels, from left to right."""
    return sorted(
        (_pixel(panel.x, panel.width, p["x"]), _pixel(panel.y, panel.height, p["value"]))
        for p in line.rows
        if p["value"] is not None and p["x"] is not None
    )


def _end(panel: Panel, line: Series) -> float:
    return _path(panel, line)[-1][1]


def joint(names: Sequence[str]) -> str:
    """ "forward, system pages = transparent huge pages": what they share once."""
    parts = [name.split(", ") for name in names]
    common = [part for part in parts[0] if all(part in own for own in parts)]
    rest = [", ".join(part for part in own if part not in common) for own in parts]
    return ", ".join(filter(None, [*common, " = ".join(filter(None, rest))]))


def _apart(places: Sequence[float], height: float) -> list[float]:
    """Ascending places, moved so that labels do not meet: those above the panel's top move down,
    and push down those that they meet."""
    apart: list[float] = []
    for place in places:
        apart.append(max(place, apart[-1] + LABEL if apart else 4.0))
    most = float(height)
    for i in reversed(range(len(apart))):
        apart[i] = min(apart[i], most)
        most = apart[i] - LABEL
    return apart


def _end_labels(data: Data, panel: Panel) -> list[Drawing]:
    """The names of lines at their right ends, each with its line's mark, moved apart where they
    would overlap. Lines that lie on each other share one."""
    ends = sorted(
        ((_end(panel, lines[0]), lines) for lines in together(panel)), key=lambda end: end[0]
    )
    apart = _apart([end for end, _ in ends], panel.height)
    rows = [
        {
            "line": "" if i else joint([one.name for one in lines]),
            "colour": line.colour,
            "shape": line.shape,
            "dots": line.points,
            "y": panel.height - a,
            "mark_at": panel.width + 8 + MARK * i,
            "name_at": panel.width + 16 + MARK * (len(lines) - 1),
        }
        for (_, lines), a in zip(ends, apart)
        for i, line in enumerate(lines)
    ]
    chart = data.chart(rows).encode(y=vl.quantitative("y", scale=None, axis=None))
    marks = chart.where(vl.holds("dots")).mark("point", filled=True, size=40, opacity=1)
    names = chart.mark("text", align="left", fontSize=10.5)
    return [
        marks.encode(
            x=vl.quantitative("mark_at", scale=None, axis=None),
            shape=vl.nominal("shape", scale=None),
            color=vl.nominal("colour", scale=None),
        ),
        names.encode(x=vl.quantitative("name_at", scale=None, axis=None), text=vl.nominal("line")),
    ]


def _bands(data: Data, panel: Panel, bands: Bands) -> tuple[list[Drawing], list[Drawing]]:
    """Plateaus as broad bars, their ends as columns, behind the curves; their names in front."""
    left, right = panel.x.domain
    bars = [
        {
            **p,
            "first": (first := max(p["first"], left)),
            "last": min(p["last"], right),
            "late": first > math.sqrt(left * right) * 4,  # its name would leave the picture
        }
        for p in bands.plateaus
    ]
    x, y = panel.x.scale(), vl.quantitative("value", scale=panel.y.scale())
    column, bar = data.chart(bands.ends), data.chart(bars)
    behind: list[Drawing] = [
        column.mark("rect", color=BAND, opacity=0.45, stroke=EDGE, strokeWidth=0.8).encode(
            x=vl.quantitative("low", scale=x), x2=vl.end("high")
        ),
        column.mark("text", **UPRIGHT).encode(
            x=vl.quantitative("low", scale=x), y=vl.value(0), text=vl.nominal("label")
        ),
        bar.mark("rule", strokeWidth=9, opacity=0.25, color=GREY).encode(
            x=vl.quantitative("first", scale=x), x2=vl.end("last"), y=y
        ),
    ]
    before: list[Drawing] = []
    ends: tuple[tuple[bool, str, str], ...] = ((False, "first", "left"), (True, "last", "right"))
    for late, end, align in ends:
        names = bar.where({"field": "late", "equal": late}).encode(
            x=vl.quantitative(end, scale=x), y=y, text=vl.nominal("label")
        )
        for style in (HALO, {}):
            before.append(names.mark("text", align=align, dy=14, fontSize=10.5, color=INK, **style))
    return behind, before
