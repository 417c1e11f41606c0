# SPDX-License-Identifier: Apache-2.0
"""Bars: a row for each trial, with its value, interval and mark, beside the names of its variant
and setting."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import altair as alt

from . import axes, units
from .charts import (
    ALARM,
    BETTER,
    FLAGGED,
    GOOD,
    INK,
    ROW,
    ROWS,
    Data,
    Drawing,
    Picture,
    Row,
    XValue,
    ink,
    joined,
    mark,
    numbered,
    picture,
    spec_of,
)

BLUE, THEIRS = "#6B9AC4", "#C4C4C4"
TINTS = ["#2F6C9F", "#A9CBE4", BLUE, "#D6E5F1"]  # bars of the same point have the same tint
# Okabe and Ito: told apart with every kind of colour vision.
NODES = ["#56B4E9", "#E69F00", "#009E73", "#F0E442", "#CC79A7", "#D55E00", "#999999", "#0072B2"]
WIDE, SHARES, COLUMN = 400, 190, 135  # pixels: widths of bars, shares of pages, one of several
BARE = 6  # rows without a value: if there are more, a note replaces them all
HELP = "A bar is the value of a trial, the whisker its 95 % confidence interval"
PAGES_HELP = (
    "; beside it the nodes on which its pages lay, and the share that was local to the threads"
    " using them."
)
BAND = alt.Scale(type="band", paddingInner=0.22, paddingOuter=0.11)
BANDS = alt.Y("row:O", axis=None, scale=BAND)
TOLD = [alt.Tooltip(f"{key}:N") for key in ("trial", "text", "interval", "status")]


@dataclass
class Column:
    """A column of bars: the key of its cells, its title, and the unit of its values (% for a
    share)."""

    key: str
    title: str
    unit: str


def bars(rows: Sequence[Row], pages: Sequence[Row], name: str, title: str) -> list[Picture]:
    """Headline values with intervals, one bar a trial, and beside it where its pages lay. One axis
    a picture."""
    bare = [r for r in rows if r["value"] is None and r["flag"] is not None]
    left_out = bare if len(bare) > BARE else []  # a note under the picture names them
    shown = [r for r in rows if r not in left_out]
    drawn: list[Picture] = []
    chunks = _chunks(shown)
    for file, said, chunk in numbered(name, title, chunks):
        with_pages = any(row["how"] for row in chunk)
        axis = Column("value", chunk[0]["metric"], chunk[0]["unit"])
        ends, data = _ends(chunk), Data()
        panels = []
        for key, of_panel in groupby(chunk, _panel_of):
            group = _firsts(list(of_panel))
            points = list(dict.fromkeys(r["point"] for r in group))
            tints = TINTS if len(points) <= len(TINTS) else TINTS[:1] * len(points)
            base = _base(
                data,
                [
                    _cell(r, i, r, _value(r), tints[points.index(r["point"])])
                    for i, r in enumerate(group)
                ],
            )
            parts = [_names(base, shown), _values(base, axis, ends, WIDE)]
            parts += [_shares(data, group, pages)] if with_pages else []
            panels.append(_panel(key, parts, ROW * len(group)))
        help_text = HELP + BETTER[chunk[0]["better"]] + (PAGES_HELP if with_pages else ".")
        noted = chunk + (left_out if chunk is chunks[-1] else [])
        drawn.append(picture(file, said, help_text, noted, panels, data))
    return drawn


def columns(
    rows: Sequence[Row],
    of: Sequence[Column],
    name: str,
    title: str,
    help_text: str,
    most: int = ROWS,
) -> list[Picture]:
    """Several values of a row as bars side by side: its `cells` have value, low and high by key; {}
    where there is none."""
    drawn = []
    for file, said, chunk in numbered(name, title, _chunks(rows)):
        data, panels = Data(), []
        for key, of_panel in groupby(chunk, _panel_of):
            group = _firsts(list(of_panel))
            parts: list[Drawing] = []
            for column in of:
                ends = _ends(r["cells"].get(column.key) or NO_VALUE for r in chunk)
                if len(ends) > 1:
                    base = _base(data, [_cell_of(r, i, column) for i, r in enumerate(group)])
                    parts += [] if parts else [_names(base, rows)]
                    parts.append(_values(base, column, ends, COLUMN))
            parts.append(_marks(data, group))
            panels.append(_panel(key, parts, ROW * len(group)))
        drawn.append(picture(file, said, help_text, chunk, panels, data, (), most))
    return drawn


def ratios(
    rows: Sequence[Row],
    axis: str,
    name: str,
    title: str,
    help_text: str,
    cited: Sequence[str] = (),
    most: int = ROWS,
) -> list[Picture]:
    """Bars from 1 on a logarithmic axis: more is right, less is left. A `goal` is a stroke; bars of
    others (`theirs`) are grey."""
    drawn = []
    chunks = [rows[i : i + ROWS] for i in range(0, len(rows), ROWS)]
    for file, said, chunk in numbered(name, title, chunks):
        data = Data()
        panel = _ratios(data, _firsts(chunk), axis)
        drawn.append(picture(file, said, help_text, chunk, [panel], data, cited, most))
    return drawn


def _ratios(data: Data, rows: Sequence[Row], axis: str) -> Drawing:
    cells = [
        {
            **_cell({**r, "unit": "1"}, i, r, f"{units.number(r['value'])}   {mark(r)}".rstrip()),
            "tint": THEIRS if r["theirs"] else BLUE,
            "theirs": r["theirs"],
            "goal": r.get("goal"),
            "one": 1,
            "end": max(v for v in (1, r["value"], r["high"], r.get("goal")) if v is not None),
        }
        for i, r in enumerate(rows)
    ]
    ends = [v for c in cells for v in (1, c["value"], c["low"], c["high"], c["goal"]) if v]
    low, high = min(ends) / 1.1, max(ends) * 1.1
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [m * 10.0**e for e in decades for m in (1, 2, 5)]
    if high / low < 3:
        ticks = [i / 10 for i in range(math.ceil(low * 10), math.floor(high * 10) + 1)]
    of = alt.Axis(
        title=axis,
        values=[t for t in ticks if low <= t <= high],
        labelExpr="format(datum.value, '~g') + ' ×'",
    )
    # Room for the text after a bar.
    scale = alt.Scale(type="log", domain=[low, high * max(1.3, (high / low) ** 0.3)], nice=False)
    base = _base(data, cells)
    one = data.chart([{"one": 1}]).mark_rule(color=INK)
    goal = base.transform_filter("datum.goal !== null").mark_tick(
        color=INK, thickness=3, size=ROW - 5, opacity=1
    )
    layers = [
        *_layers(base, scale, of, alt.X2("one:Q")),
        one.encode(x=alt.X("one:Q", scale=scale)),
        goal.encode(x=alt.X("goal:Q", scale=scale)),
    ]
    parts = [_names(base, rows), joined("layer", *layers, width=WIDE)]
    return _panel("", parts, ROW * len(cells))


def _panel_of(row: Row) -> str:
    return str(row["panel"])


def _panel(title: str, parts: Sequence[Drawing], height: int) -> Drawing:
    heading = {"title": {"text": title, "fontSize": 12, "offset": 4}} if title else {}
    return joined("hconcat", *(spec_of(p, height=height) for p in parts), spacing=6, **heading)


def _base(data: Data, cells: list[Row]) -> alt.Chart:
    return data.chart(cells).encode(y=BANDS, tooltip=TOLD)


def _chunks(rows: Sequence[Row]) -> list[list[Row]]:
    """Splits rows into pictures: whole panels where they fit, parts of panels that are too large
    for one picture."""
    chunks: list[list[Row]] = []
    for _, group in groupby(rows, _panel_of):
        panel = list(group)
        for start in range(0, len(panel), ROWS):
            piece = panel[start : start + ROWS]
            if chunks and len(chunks[-1]) + len(piece) <= ROWS:
                chunks[-1] += piece
            else:
                chunks.append(piece)
    return chunks


def _firsts(group: Sequence[Row]) -> list[Row]:
    """The first row of each variant shows its name."""
    before = ["", *(r["variant"] for r in group)]
    return [
        {**r, "first": r["variant"] if r["variant"] != last else ""}
        for r, last in zip(group, before)
    ]


NO_VALUE: Row = {"value": None, "low": None, "high": None}


def _ends(cells: Iterable[Row]) -> list[float]:
    """All ends of bars and whiskers, and zero."""
    return [0.0, *(c[end] for c in cells for end in NO_VALUE if c[end] is not None)]


def _cell(of: Row, place: int, trial: Row, text: str, tint: str = BLUE) -> Row:
    """A bar: the value, of this trial."""
    return {
        **{key: trial[key] for key in ("id", "flag", "status")},
        **{key: of[key] for key in NO_VALUE},
        **{key: trial[key] for key in ("first", "point")},
        "row": place,
        "end": max((of[k] for k in ("value", "high") if of[k] is not None), default=None),
        "text": text,
        "tint": tint,
        "interval": units.interval(of),
        "trial": trial.get("trial") or f"{trial['variant']} {trial['everything']}",
    }


def _cell_of(row: Row, place: int, column: Column) -> Row:
    of = row["cells"].get(column.key) or NO_VALUE
    share = column.unit == "%"
    unit = "1" if share else column.unit
    text = units.percent(of["value"]) if share else units.quantity(of["value"], unit)
    return {**_cell({**of, "unit": unit}, place, row, text), "column": column.key}


def _value(row: Row) -> str:
    if row["value"] is None:
        text = "no value" if row["flag"] is not None else f"no value: {row['why']}"
    else:
        text = units.quantity(row["value"], row["unit"])
        text += " (no interval)" if row["low"] is None else ""
    return f"{text}   {mark(row)}".rstrip()


def _names(base: alt.Chart, among: Sequence[Row]) -> Drawing:
    """The names of variants and settings; as wide as the longest among all."""
    first = max(len(r["variant"]) for r in among) * 7 + 12
    wide = first + max(len(r["point"]) for r in among) * 6 + 8
    return joined(
        "layer",
        base.mark_text(align="left", fontWeight="bold", color=INK).encode(
            x=XValue(0), text=alt.Text("first:N")
        ),
        base.mark_text(align="right", color=INK).encode(x=XValue(wide), text=alt.Text("point:N")),
        width=wide,
    )


def _values(base: alt.Chart, column: Column, ends: Sequence[float], width: int) -> Drawing:
    """Bars from zero; columns of a picture share `ends`."""
    low, high = min(ends), max(ends)
    factor, unit = units.scale(ends, column.unit)
    if column.unit == "%":
        high, factor, unit = max(high, 1.0), 0.01, "%"
    # Room for the text after a bar.
    room = (high - low) * (0.65 if width == WIDE else 0.8) or 1
    scale = alt.Scale(domain=[low, high + room], nice=False)
    ticks = axes.round_ticks(low, high)
    axis = alt.Axis(
        title=f"{column.title} ({unit})" if unit else column.title,
        values=ticks[:: 2 if width == COLUMN and len(ticks) > 4 else 1],
        labelExpr=f"format(datum.value / {factor!r}, '~g')",
        labelOverlap=True,
    )
    bare = base.transform_filter("datum.end === null").mark_text(align="left")
    nothing = bare.encode(x=XValue(6), text=alt.Text("text:N"), color=ink())
    layers = _layers(base, scale, axis, size=11 if width == WIDE else 10)
    return joined("layer", *layers, nothing, width=width)


def _layers(
    base: alt.Chart,
    scale: alt.Scale,
    axis: alt.Axis,
    start: Any = alt.Undefined,
    size: int = 11,
) -> list[Any]:
    """Bars, those of flagged trials in outline; whiskers; the text after each."""

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", scale=scale, axis=axis)

    bar = base.encode(x=x("value"), x2=start)
    whisker = base.transform_filter("datum.low !== null && datum.high !== null")
    return [
        bar.transform_filter(GOOD).mark_bar().encode(fill=alt.Fill("tint:N", scale=None)),
        bar.transform_filter(FLAGGED).mark_bar(
            fill="white", stroke=ALARM, strokeWidth=1.5, strokeDash=[4, 2]
        ),
        whisker.mark_rule(color=INK).encode(x=x("low"), x2=alt.X2("high:Q")),
        *(
            whisker.mark_tick(color=INK, thickness=1, size=8).encode(x=x(end))
            for end in ("low", "high")
        ),
        base.transform_filter("datum.end !== null")
        .mark_text(align="left", dx=6, fontSize=size)
        .encode(x=x("end"), text=alt.Text("text:N"), color=ink()),
    ]


def _marks(data: Data, group: Sequence[Row]) -> Drawing:
    rows = [
        {"row": i, "text": "  ".join(filter(None, (mark(r), r["beside"])))}
        for i, r in enumerate(group)
    ]
    text = data.chart(rows).mark_text(align="left", color=ALARM)
    said = text.encode(y=BANDS, x=XValue(0), text=alt.Text("text:N"))
    return spec_of(said, width=150)


def _shares(data: Data, group: Sequence[Row], pages: Sequence[Row]) -> Drawing:
    """Stacked bars: pages by node, after the timed part."""
    segments = []
    for i, r in enumerate(group):
        start = 0.0
        for p in pages:
            if p["id"] == r["id"] and p["pages"]:
                share, node = p["share"], p["node"]
                segments.append(
                    {
                        **{key: p[key] for key in ("id", "node", "pages", "share")},
                        "row": i,
                        "from": start,
                        "to": start + share,
                        "middle": start + share / 2,
                        "label": f"node {node}"
                        if share > 0.3
                        else str(node)
                        if share > 0.08
                        else "",
                        "colour": NODES[node % len(NODES)],
                        "flag": r["flag"],
                        "trial": f"{r['variant']} {r['everything']}",
                    }
                )
                start += share
    texts = [{"row": i, "flag": r["flag"], "text": _local(r)} for i, r in enumerate(group)]
    axis = alt.Axis(title="share of pages", format="%", tickCount=3, grid=False)
    x = alt.X("from:Q", scale=alt.Scale(domain=[0, 1], nice=False), axis=axis)
    told = [
        *map(alt.Tooltip, ("trial:N", "node:N", "pages:Q")),
        alt.Tooltip("share:Q", format=".1%"),
    ]
    base = data.chart(segments).encode(y=BANDS, tooltip=told)
    bar = base.encode(x=x, x2=alt.X2("to:Q"))
    return joined(
        "layer",
        bar.transform_filter(GOOD)
        .mark_bar(stroke="white")
        .encode(fill=alt.Fill("colour:N", scale=None)),
        bar.transform_filter(FLAGGED)
        .mark_bar(fill="white", strokeWidth=1.5, strokeDash=[4, 2])
        .encode(stroke=alt.Stroke("colour:N", scale=None)),
        base.mark_text(color=INK, fontSize=10).encode(
            x=alt.X("middle:Q"), text=alt.Text("label:N")
        ),
        data.chart(texts)
        .mark_text(align="left", dx=6)
        .encode(y=BANDS, x=XValue(SHARES), text=alt.Text("text:N"), color=ink()),
        width=SHARES,
    )


def _local(row: Row) -> str:
    if row["how"] is None:
        return "no pages"
    if row["how"] == "unverified":
        return "unverified"
    share = row["local_share"]
    return "local share unknown" if share is None else f"{units.percent(share)} local"
