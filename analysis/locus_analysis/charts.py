# SPDX-License-Identifier: Apache-2.0
"""The pictures, each defined once and drawn from rows of the tables. Each one outlines and names
trials that are not ok. No picture depends on colour alone: words say the same."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Optional

import altair as alt
from altair.utils import schemapi

from . import units

Row = dict[str, Any]
Drawing = Any  # a chart of Altair's, or Vega-Lite that was made of some

# Altair would validate each part of a chart against its schema, over and over; tests validate each
# whole picture instead.
schemapi.disable_debug_mode()
# Channels are given as classes, even where a string or alt.value() would do: Altair takes 5 ms to
# find the class. These two have no type annotations:
XValue: Any = alt.XValue
YValue: Any = alt.YValue

TINTS = [
    "#2F6C9F",
    "#A9CBE4",
    "#6B9AC4",
    "#D6E5F1",
]  # of one blue: bars of the same point have the same tint
# Okabe and Ito: told apart with every kind of colour vision.
COLOURS = ["#56B4E9", "#E69F00", "#009E73", "#F0E442", "#CC79A7", "#D55E00", "#999999", "#0072B2"]
INK, SOFT, GREY, PALE, ALARM = "#222222", "#555555", "#767676", "#E4E4E4", "#B23A00"
ROW, BARS, SHARES = (
    21,
    400,
    190,
)  # pixels: height of a row, widths of the parts of a picture of bars
COLUMN = 135  # pixels: width of bars beside others
ROWS = 36  # in a picture; more go to the next one, so that each fits a printed page
BARE = 6  # rows without a value: if there are more, a note replaces them all
SPANS = 6  # ranges of the numbers of flagged trials in a line; of more, only the ends are given
WIDTH = 160  # characters of a line under a picture
CONFIG = {
    "font": "Liberation Sans, Arial, Helvetica, sans-serif",
    "background": "white",
    # the page says in words what each picture shows; a label on each mark would double it
    "aria": False,
    "title": {
        "fontSize": 15,
        "subtitleFontSize": 11,
        "subtitleColor": "#444444",
        "anchor": "start",
        "offset": 10,
        "color": INK,
    },
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "titleFontWeight": "normal",
        "gridColor": PALE,
        "domainColor": GREY,
        "tickColor": GREY,
    },
    "view": {"stroke": None},
    "text": {"fontSize": 11},
}
BETTER = {"higher": " (more is better)", "lower": " (less is better)", None: ""}
BARS_HELP = "A bar is the value of a trial, the whisker its 95 % confidence interval"
PAGES_HELP = (
    "; beside it the nodes on which its pages lay, and the share that was local to the threads"
    " using them."
)
MATRIX_HELP = (
    "Rows: node of the threads; columns: node of the memory. Darker is greater; below each value is"
    " its ratio to the best."
)
DRIFT_HELP = (
    "Each mark is the median of neighbouring samples of one trial, its grey line their range. Marks"
    " on one level mean a steady machine. Strokes at the foot: samples with evidence of noise."
    " ↑: the range goes on above the frame."
)
FLAGGED, GOOD = "datum.flag !== null", "datum.flag === null"


@dataclass
class Picture:
    name: str  # of its files
    title: str
    help: str  # one sentence: how to read it
    notes: list[str]  # a line for each flagged trial in it
    spec: dict[str, Any]  # Vega-Lite
    svg: str = ""  # as it was drawn
    shows: Sequence[str] = ()  # ids of trials
    png: bytes = b""
    # Only of a map with so many cells that a shape for each would make files and page too large:
    # the pixels of a cell, the names of rows and columns, and a value for each pair of these.
    dense: Optional[Row] = None


@dataclass
class Column:
    """A column of bars: the key of its cells, its title, and the unit of its values (% for a
    share)."""

    key: str
    title: str
    unit: str


class Data:
    """The rows of a picture by name, since several charts draw the same rows."""

    def __init__(self) -> None:
        self.sets: dict[str, list[Row]] = {}

    def chart(self, rows: list[Row]) -> alt.Chart:
        name = f"rows-{len(self.sets) + 1}"
        self.sets[name] = rows
        return alt.Chart(alt.NamedData(name=name))


def spec_of(chart: Drawing, **more: Any) -> Row:
    """The chart as Vega-Lite, with further keys."""
    return {
        **(
            chart
            if isinstance(chart, dict)
            else chart.to_dict(validate=False, context={"top_level": False})
        ),
        **more,
    }


def joined(how: str, *charts: Drawing, **more: Any) -> Row:
    """A `layer`, `concat`, `hconcat` or `vconcat`. Altair makes these, too, but copies all of their
    content at each level."""
    parts = [spec_of(chart) for chart in charts]
    data = parts[0].get("data")
    if data and all(p.get("data") == data for p in parts):
        return {
            how: [{k: v for k, v in p.items() if k != "data"} for p in parts],
            "data": data,
            **more,
        }
    return {how: parts, **more}


def mark(row: Row) -> str:
    """The mark beside a trial in a picture; empty if the trial is ok."""
    return "" if row["flag"] is None else f"▲{row['flag']} {row['status']}"


def bars(rows: Sequence[Row], pages: Sequence[Row], name: str, title: str) -> list[Picture]:
    """Headline values with intervals, one bar a trial, and beside it where its pages lay. One axis
    a picture."""
    pictures = []
    bare = [r for r in rows if r["value"] is None and r["flag"] is not None]
    left_out = bare if len(bare) > BARE else []  # a note under the picture names them
    drawn = [r for r in rows if r not in left_out]
    chunks = _chunks(drawn)
    for i, chunk in enumerate(chunks, 1):
        part = f" ({i} of {len(chunks)})" if len(chunks) > 1 else ""
        with_pages = any(row["how"] for row in chunk)
        help_text = BARS_HELP + BETTER[chunk[0]["better"]] + (PAGES_HELP if with_pages else ".")
        ends = [
            0.0,
            *(v for row in chunk for v in (row["value"], row["low"], row["high"]) if v is not None),
        ]
        widths, data = _label_widths(drawn), Data()
        panels = [
            _bar_panel(
                data,
                key,
                list(group),
                pages if with_pages else None,
                widths,
                (min(ends), max(ends)),
            )
            for key, group in groupby(chunk, lambda row: row["panel"])
        ]
        pictures.append(
            picture(
                f"{name}-{i}" if part else name,
                title + part,
                help_text,
                chunk + (left_out if i == len(chunks) else []),
                panels,
                data,
            )
        )
    return pictures


def ratios(rows: Sequence[Row], axis: str) -> tuple[Data, list[Drawing]]:
    """Bars from 1 on a logarithmic axis: more is right, less is left. A `goal` is a stroke."""
    widths = (
        max((len(r["first"]) for r in rows), default=0) * 7 + 12,
        max(len(r["point"]) for r in rows) * 6 + 8,
    )
    data = Data()
    drawn = [
        {
            **{
                key: r[key]
                for key in (
                    "id",
                    "first",
                    "point",
                    "value",
                    "low",
                    "high",
                    "flag",
                    "status",
                    "trial",
                    "theirs",
                )
            },
            "goal": r.get("goal"),
            "row": i,
            "one": 1,
            "end": max(v for v in (1, r["value"], r["high"], r.get("goal")) if v is not None),
            "text": units.number(r["value"]) + ("   " + mark(r) if r["flag"] is not None else ""),
            "interval": units.interval({**r, "unit": "1"}),
        }
        for i, r in enumerate(rows)
    ]
    ends = [v for r in drawn for v in (1, r["value"], r["low"], r["high"], r["goal"]) if v]
    low, high = min(ends) / 1.1, max(ends) * 1.1
    ticks = [
        m * 10.0**e
        for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for m in (1, 2, 5)
    ]
    if high / low < 3:
        ticks = [i / 10 for i in range(math.ceil(low * 10), math.floor(high * 10) + 1)]
    # Room for the text after a bar.
    scale = alt.Scale(type="log", domain=[low, high * max(1.3, (high / low) ** 0.3)], nice=False)
    of = alt.Axis(
        title=axis,
        values=[t for t in ticks if low <= t <= high],
        labelExpr="format(datum.value, '~g') + ' ×'",
    )
    height = ROW * len(drawn)
    y = alt.Y(
        "row:O", axis=None, scale=alt.Scale(type="band", paddingInner=0.22, paddingOuter=0.11)
    )
    base = data.chart(drawn).encode(
        y=y, tooltip=[alt.Tooltip(f"{key}:N") for key in ("trial", "text", "interval", "status")]
    )

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", scale=scale, axis=of)

    bar = base.encode(x=x("value"), x2=alt.X2("one:Q"))
    whisker, goal = (
        base.transform_filter("datum.low !== null"),
        base.transform_filter("datum.goal !== null"),
    )
    values = joined(
        "layer",
        bar.transform_filter(f"{GOOD} && !datum.theirs").mark_bar(color=TINTS[2]),
        bar.transform_filter(f"{GOOD} && datum.theirs").mark_bar(color="#C4C4C4"),
        bar.transform_filter(FLAGGED).mark_bar(
            fill="white", stroke=ALARM, strokeWidth=1.5, strokeDash=[4, 2]
        ),
        data.chart([{"one": 1}]).mark_rule(color=INK).encode(x=x("one")),
        whisker.mark_rule(color=INK).encode(x=x("low"), x2=alt.X2("high:Q")),
        *(
            whisker.mark_tick(color=INK, thickness=1, size=8).encode(x=x(end))
            for end in ("low", "high")
        ),
        goal.mark_tick(color=INK, thickness=3, size=ROW - 5, opacity=1).encode(x=x("goal")),
        base.mark_text(align="left", dx=6).encode(
            x=x("end"), text=alt.Text("text:N"), color=_ink()
        ),
        width=BARS,
        height=height,
    )
    return data, [joined("hconcat", _labels(base, widths, height), values, spacing=6)]


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
    pictures = []
    chunks = _chunks(rows)
    for i, chunk in enumerate(chunks, 1):
        part = f" ({i} of {len(chunks)})" if len(chunks) > 1 else ""
        widths = (
            max(len(r["first"]) for r in rows) * 7 + 12,
            max(len(r["point"]) for r in rows) * 6 + 8,
        )
        data = Data()
        panels = [
            _columns(data, key, list(group), chunk, of, widths)
            for key, group in groupby(chunk, lambda row: row["panel"])
        ]
        pictures.append(
            picture(
                f"{name}-{i}" if part else name,
                title + part,
                help_text,
                chunk,
                panels,
                data,
                (),
                most,
            )
        )
    return pictures


def _columns(
    data: Data,
    title: str,
    group: list[Row],
    together: Sequence[Row],
    of: Sequence[Column],
    widths: tuple[int, int],
) -> Drawing:
    """A panel; the panels of a picture (together) share their axes."""
    height = ROW * len(group)
    y = alt.Y(
        "row:O", axis=None, scale=alt.Scale(type="band", paddingInner=0.22, paddingOuter=0.11)
    )
    names = [
        {**{k: r[k] for k in ("first", "point", "flag", "beside")}, "row": i, "mark": mark(r)}
        for i, r in enumerate(group)
    ]
    base = data.chart(names).encode(y=y)
    parts = [_labels(base, widths, height)]
    for column in of:
        cells = [r["cells"].get(column.key) or {} for r in together]
        ends = [c[end] for c in cells for end in ("value", "low", "high") if c.get(end) is not None]
        if ends:
            parts.append(_column(data, group, column, max(ends), y, height))
    words = [
        {"row": n["row"], "text": "  ".join(t for t in (n["mark"], n["beside"]) if t)}
        for n in names
    ]
    said = (
        data.chart(words)
        .mark_text(align="left", color=ALARM)
        .encode(y=y, x=XValue(0), text=alt.Text("text:N"))
    )
    parts.append(spec_of(said, width=150, height=height))
    return joined("hconcat", *parts, spacing=6, title={"text": title, "fontSize": 12, "offset": 4})


def _column(
    data: Data, group: list[Row], column: Column, most: float, y: alt.Y, height: int
) -> Drawing:
    unit = "1" if column.unit == "%" else column.unit
    factor, name = (0.01, "%") if column.unit == "%" else units.scale([most], unit)
    most = 1.0 if column.unit == "%" else most
    rows = []
    for i, r in enumerate(group):
        of = r["cells"].get(column.key) or {"value": None, "low": None, "high": None}
        text = (
            units.percent(of["value"]) if column.unit == "%" else units.quantity(of["value"], unit)
        )
        rows.append(
            {
                **{key: r[key] for key in ("id", "flag", "status", "trial")},
                **{key: of[key] for key in ("value", "low", "high")},
                "column": column.key,
                "row": i,
                "end": max(
                    (of[key] for key in ("value", "high") if of[key] is not None), default=0.0
                ),
                "text": text,
                "interval": units.interval({**of, "unit": unit}),
            }
        )
    scale = alt.Scale(domain=[0, most * 1.8 or 1], nice=False)  # room for the text after a bar
    axis = alt.Axis(
        title=f"{column.title} ({name})" if name else column.title,
        values=round_ticks(0, most) if most else [0],
        labelExpr=f"format(datum.value / {factor!r}, '~g')",
        labelOverlap=True,
    )
    x = alt.X("value:Q", scale=scale, axis=axis)
    base = data.chart(rows).encode(
        y=y, tooltip=[alt.Tooltip(f"{key}:N") for key in ("trial", "text", "interval", "status")]
    )
    whisker = base.transform_filter(
        "datum.low !== null && datum.high !== null && datum.low !== datum.high"
    )
    return joined(
        "layer",
        base.transform_filter(GOOD).mark_bar(color=TINTS[2]).encode(x=x),
        base.transform_filter(FLAGGED)
        .mark_bar(fill="white", stroke=ALARM, strokeWidth=1.5, strokeDash=[4, 2])
        .encode(x=x),
        whisker.mark_rule(color=INK).encode(x=alt.X("low:Q", scale=scale), x2=alt.X2("high:Q")),
        base.mark_text(align="left", dx=6, fontSize=10).encode(
            x=alt.X("end:Q", scale=scale), text=alt.Text("text:N"), color=_ink()
        ),
        width=COLUMN,
        height=height,
    )


def matrix(cells: Sequence[Row], name: str, title: str) -> Picture:
    """Heat maps, threads on one node and memory on another: one for each variant and panel of each
    benchmark."""
    data = Data()
    several = len({cell["benchmark"] for cell in cells}) > 1
    panels = [
        _heat_map(
            data,
            f"{benchmark + ' ' if several else ''}{variant}"
            f"{', ' + panel if panel else ''}{_of_what(group)}",
            group,
        )
        for (benchmark, variant, panel), group in (
            (key, list(of)) for key, of in groupby(sorted(cells, key=_panel_key), _panel_key)
        )
    ]
    whole = joined(
        "concat", *panels, columns=2, spacing=40, resolve={"scale": {"color": "independent"}}
    )
    return picture(name, title, MATRIX_HELP, cells, [whole], data)


def drift(marks: Sequence[Row], name: str, title: str) -> Picture:
    """Time per unit over the run, relative to the median of each trial."""
    least = max(0.5, min([0.9, *(m["least"] for m in marks if m["least"] is not None)]))
    greatest = 1.5
    rows = [
        {
            **{
                key: m[key]
                for key in ("moment", "ratio", "least", "greatest", "n", "noisy", "flag", "status")
            },
            "trial": (
                f"{m['benchmark']} {m['variant']} {m['setting']}"
                if m["benchmark"]
                else "a trial that was not finished"
            ),
            "beyond": m["greatest"] is not None and m["greatest"] > greatest,
        }
        for m in marks
    ]
    data = Data()
    x = alt.X(
        "moment:Q",
        title="time since the start of the run (s)",
        scale=alt.Scale(zero=False, nice=False, padding=8),
    )
    scale = alt.Scale(domain=[least, greatest], clamp=True, nice=False)

    def y_of(name: str) -> alt.Y:
        return alt.Y(
            f"{name}:Q",
            title="time / median of its trial",
            scale=scale,
            axis=alt.Axis(format=".2f", tickCount=6),
        )

    base = data.chart(rows).encode(
        x=x,
        tooltip=[
            alt.Tooltip("trial:N"),
            alt.Tooltip("status:N"),
            alt.Tooltip("ratio:Q", format=".3f", title="median"),
            alt.Tooltip("least:Q", format=".3f"),
            alt.Tooltip("greatest:Q", format=".3f"),
            alt.Tooltip("n:Q", title="samples"),
            alt.Tooltip("noisy:Q", title="noisy samples"),
        ],
    )
    chart = joined(
        "layer",
        base.mark_rule(color="#bbbbbb").encode(y=y_of("least"), y2=alt.Y2("greatest:Q")),
        base.transform_filter(GOOD)
        .mark_point(filled=True, size=16, color="#0072B2", opacity=1)
        .encode(y=y_of("ratio")),
        base.transform_filter(FLAGGED)
        .mark_point(shape="triangle-up", size=34, color=ALARM, fill="white")
        .encode(y=y_of("ratio")),
        base.transform_filter("datum.noisy > 0")
        .mark_tick(color=INK, thickness=1, size=9, orient="vertical", yOffset=-5)
        .encode(y=alt.YDatum(least)),
        base.transform_filter("datum.beyond")
        .mark_text(text="↑", color=INK, fontSize=11, dy=6)
        .encode(y=alt.YDatum(greatest)),
        width=760,
        height=170,
    )
    numbers = sorted({m["flag"] for m in marks if m["flag"] is not None})
    extra = (
        [f"▲ (open): samples of flagged trials, here {', '.join(map(str, numbers))}."]
        if numbers
        else []
    )
    return picture(name, title, DRIFT_HELP, [], [chart], data, extra)


def _panel_key(cell: Row) -> tuple[str, str, str]:
    return cell["benchmark"], cell["variant"], cell["panel"]


def _of_what(cells: Sequence[Row]) -> str:
    return f": {cells[0]['metric']}{BETTER[cells[0]['better']]}"


def _chunks(rows: Sequence[Row]) -> list[list[Row]]:
    """Splits rows into pictures: whole panels where they fit, parts of panels that are too large
    for one picture."""
    chunks: list[list[Row]] = []
    for _, group in groupby(rows, lambda row: row["panel"]):
        panel = list(group)
        for start in range(0, len(panel), ROWS):
            piece = panel[start : start + ROWS]
            if chunks and len(chunks[-1]) + len(piece) <= ROWS:
                chunks[-1] += piece
            else:
                chunks.append(piece)
    return chunks


def _label_widths(rows: Sequence[Row]) -> tuple[int, int]:
    """Widths in pixels of the names of variants and of points."""
    return max(len(r["variant"]) for r in rows) * 7 + 12, max(len(r["point"]) for r in rows) * 6 + 8


def _bar_panel(
    data: Data,
    title: str,
    group: list[Row],
    pages: Optional[Sequence[Row]],
    widths: tuple[int, int],
    span: tuple[float, float],
) -> Drawing:
    points = list(dict.fromkeys(r["point"] for r in group))
    rows = []
    for i, r in enumerate(group):
        rows.append(
            {
                **{
                    key: r[key]
                    for key in ("id", "variant", "point", "value", "low", "high", "flag", "status")
                },
                "row": i,
                "end": (
                    None
                    if r["value"] is None
                    else max(r["value"], 0 if r["high"] is None else r["high"])
                ),
                "first": r["variant"] if i == 0 or group[i - 1]["variant"] != r["variant"] else "",
                "tint": TINTS[points.index(r["point"]) if len(points) <= len(TINTS) else 0],
                "text": _value(r) + ("   " + mark(r) if r["flag"] is not None else ""),
                "interval": units.interval(r),
                "trial": f"{r['variant']} {r['everything']}",
            }
        )
    height = ROW * len(rows)
    y = alt.Y(
        "row:O", axis=None, scale=alt.Scale(type="band", paddingInner=0.22, paddingOuter=0.11)
    )
    tooltip = [alt.Tooltip(f"{key}:N") for key in ("trial", "text", "interval", "status")]
    base = data.chart(rows).encode(y=y, tooltip=tooltip)
    parts = [_labels(base, widths, height), _values(base, group[0], span, height)]
    if pages is not None:
        parts.append(_shares(data, group, pages, y, height))
    return joined("hconcat", *parts, spacing=6, title={"text": title, "fontSize": 12, "offset": 4})


def _labels(base: alt.Chart, widths: tuple[int, int], height: int) -> Drawing:
    wide = sum(widths)
    return joined(
        "layer",
        base.mark_text(align="left", fontWeight="bold", color=INK).encode(
            x=XValue(0), text=alt.Text("first:N")
        ),
        base.mark_text(align="right", color=INK).encode(x=XValue(wide), text=alt.Text("point:N")),
        width=wide,
        height=height,
    )


def _values(base: alt.Chart, any_row: Row, span: tuple[float, float], height: int) -> Drawing:
    factor, unit = units.scale(span, any_row["unit"])
    scale = alt.Scale(
        domain=[span[0], span[0] + ((span[1] - span[0]) * 1.65 or 1)], nice=False
    )  # room for the text after a bar
    label = f"format(datum.value / {factor!r}, '~g')"
    axis = alt.Axis(
        title=f"{any_row['metric']} ({unit})" if unit else any_row["metric"],
        values=round_ticks(*span),
        labelExpr=label,
    )
    x = alt.X("value:Q", scale=scale, axis=axis)
    whisker = base.transform_filter("datum.low !== null")
    return joined(
        "layer",
        base.transform_filter(GOOD).mark_bar().encode(x=x, fill=alt.Fill("tint:N", scale=None)),
        base.transform_filter(FLAGGED)
        .mark_bar(fill="white", stroke=ALARM, strokeWidth=1.5, strokeDash=[4, 2])
        .encode(x=x),
        whisker.mark_rule(color=INK).encode(x=alt.X("low:Q", scale=scale), x2=alt.X2("high:Q")),
        whisker.mark_tick(color=INK, thickness=1, size=8).encode(x=alt.X("low:Q", scale=scale)),
        whisker.mark_tick(color=INK, thickness=1, size=8).encode(x=alt.X("high:Q", scale=scale)),
        base.transform_filter("datum.end !== null")
        .mark_text(align="left", dx=6)
        .encode(x=alt.X("end:Q", scale=scale), text=alt.Text("text:N"), color=_ink()),
        base.transform_filter("datum.end === null")
        .mark_text(align="left")
        .encode(x=XValue(6), text=alt.Text("text:N"), color=_ink()),
        width=BARS,
        height=height,
    )


def round_ticks(least: float, greatest: float) -> list[float]:
    """About seven round numbers."""
    if least == greatest:
        return [least]
    decade = 10 ** math.floor(math.log10(greatest - least))
    step = decade * next(s for s in (0.2, 0.5, 1, 2) if (greatest - least) / (decade * s) <= 7)
    return [i * step for i in range(math.ceil(least / step), math.floor(greatest / step) + 1)]


def _ink() -> Any:
    return alt.ColorValue(INK, condition=[{"test": FLAGGED, "value": ALARM}])


def _shares(data: Data, group: list[Row], pages: Sequence[Row], y: alt.Y, height: int) -> Drawing:
    """Stacked bars: pages by node, after the timed part."""
    segments, texts = [], []
    for i, r in enumerate(group):
        flag = r["flag"]
        start = 0.0
        for p in pages:
            if p["id"] != r["id"] or not p["pages"]:
                continue
            share = p["share"]
            label = f"node {p['node']}" if share > 0.3 else str(p["node"]) if share > 0.08 else ""
            segments.append(
                {
                    **{key: p[key] for key in ("id", "node", "pages", "share")},
                    "row": i,
                    "from": start,
                    "to": start + share,
                    "middle": start + share / 2,
                    "label": label,
                    "colour": COLOURS[p["node"] % len(COLOURS)],
                    "flag": flag,
                    "trial": f"{r['variant']} {r['everything']}",
                }
            )
            start += share
        texts.append({"row": i, "flag": flag, "text": _local(r)})
    axis = alt.Axis(title="share of pages", format="%", tickCount=3, grid=False)
    x = alt.X("from:Q", scale=alt.Scale(domain=[0, 1], nice=False), axis=axis)
    base = data.chart(segments).encode(
        y=y,
        tooltip=[
            *map(alt.Tooltip, ("trial:N", "node:N", "pages:Q")),
            alt.Tooltip("share:Q", format=".1%"),
        ],
    )
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
        .encode(y=y, x=XValue(SHARES), text=alt.Text("text:N"), color=_ink()),
        width=SHARES,
        height=height,
    )


def _value(row: Row) -> str:
    if row["value"] is None:
        return "no value" if row["flag"] is not None else f"no value: {row['why']}"
    return units.quantity(row["value"], row["unit"]) + (
        " (no interval)" if row["low"] is None else ""
    )


def _local(row: Row) -> str:
    if row["how"] is None:
        return "no pages"
    if row["how"] == "unverified":
        return "unverified"
    return (
        f"{units.percent(row['local_share'])} local"
        if row["local_share"] is not None
        else "local share unknown"
    )


def _heat_map(data: Data, title: str, cells: list[Row]) -> Drawing:
    rows = [
        {
            **{
                key: c[key]
                for key in (
                    "id",
                    "threads_node",
                    "memory_node",
                    "value",
                    "low",
                    "high",
                    "flag",
                    "status",
                )
            },
            "text": "no value" if c["value"] is None else units.quantity(c["value"], c["unit"]),
            "of_best": _of_best(c),
            "mark": mark(c),
            "dark": (
                c["value"] is not None and c["flag"] is None and c["value"] > 0.6 * c["greatest"]
            ),
            "interval": units.interval(c),
        }
        for c in cells
    ]
    columns = list(
        dict.fromkeys(c["memory_node"] for c in sorted(cells, key=lambda c: c["memory_order"]))
    )
    lines = list(dict.fromkeys(c["threads_node"] for c in cells))
    axis = alt.Axis(labelAngle=0, labelLimit=300, domain=False, ticks=False, labelPadding=6)
    x = alt.X("memory_node:N", title="memory on node", sort=columns, axis=axis)
    y = alt.Y("threads_node:N", title="threads on node", sort=lines, axis=axis)
    tooltip = [
        alt.Tooltip(f"{key}:N")
        for key in ("threads_node", "memory_node", "text", "interval", "status")
    ]
    base = data.chart(rows).encode(x=x, y=y, tooltip=tooltip)
    colour = alt.Color(
        "value:Q",
        scale=alt.Scale(scheme="blues", domain=[0, cells[0]["greatest"] or 1]),
        legend=None,
    )
    return joined(
        "layer",
        base.transform_filter(GOOD).mark_rect(stroke="white", strokeWidth=2).encode(color=colour),
        base.transform_filter(FLAGGED).mark_rect(
            fill="white", stroke=ALARM, strokeWidth=2, strokeDash=[4, 2]
        ),
        *(
            base.mark_text(dy=dy).encode(
                text=alt.Text(f"{field}:N"),
                color=alt.ColorValue(
                    INK,
                    condition=[
                        {"test": "datum.dark", "value": "white"},
                        {"test": FLAGGED, "value": ALARM},
                    ],
                ),
            )
            for field, dy in (("text", -15), ("of_best", 0), ("mark", 15))
        ),
        width=max(96 * len(columns), 120),
        height=64 * len(lines),
        title={"text": title, "fontSize": 12},
    )


def _of_best(cell: Row) -> str:
    if not cell["value"] or cell["better"] is None:
        return ""
    if cell["better"] == "higher":
        return units.percent(cell["value"] / cell["greatest"])
    return f"{cell['value'] / cell['least']:.2f} ×" if cell["least"] else ""


def picture(
    name: str,
    title: str,
    help_text: str,
    rows: Sequence[Row],
    panels: list[Any],
    data: Data,
    extra: Sequence[str] = (),
    most: int = ROWS,
) -> Picture:
    """The title and the help above the panels; below, a line for each flagged trial, or for each
    status if there are too many."""
    notes = _notes([r for r in rows if r["flag"] is not None], most)
    heading = {"text": title, "subtitle": textwrap.wrap(help_text, WIDTH)}
    whole = joined("vconcat", *panels, *_footnotes(data, notes, extra), spacing=14, title=heading)
    spec = {
        "$schema": alt.SCHEMA_URL,
        **whole,
        "config": CONFIG,
        "padding": 8,
        "datasets": data.sets,
    }
    return Picture(name, title, help_text, notes, spec, shows=[r["id"] for r in rows])


def _notes(flagged: Sequence[Row], most: int) -> list[str]:
    groups = alike(flagged)
    if len(groups) > most:
        ordered = sorted(flagged, key=lambda r: (r["status"], r["flag"]))
        groups = [list(own) for _, own in groupby(ordered, lambda r: r["status"])]
    return [
        f"{mark(own[0])}: {'; '.join(own[0]['reasons'])}" if len(own) == 1 else _note(own)
        for own in groups
    ]


def alike(flagged: Sequence[Row]) -> list[list[Row]]:
    """Groups by status and by what is said, numbers aside."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for r in flagged:
        said = re.sub(r"\d[\d.,]*", "0", "; ".join(r["reasons"]))
        groups.setdefault((r["status"], said), []).append(r)
    return list(groups.values())


def _note(own: Sequence[Row]) -> str:
    drawn = "" if any(r["value"] is not None for r in own) else ", not drawn"
    trials = f"{len(own)} trial{'s' * (len(own) > 1)}, {_spans([r['flag'] for r in own])}"
    return f"▲ {own[0]['status']}{drawn}: {trials}; of the first: {'; '.join(own[0]['reasons'])}"


def _spans(numbers: Sequence[int]) -> str:
    """1 to 3, 5; of many only the first and the last."""
    spans: list[list[int]] = []
    for n in numbers:
        if spans and spans[-1][1] == n - 1:
            spans[-1][1] = n
        else:
            spans.append([n, n])
    if len(spans) > SPANS:
        return f"between ▲{numbers[0]} and ▲{numbers[-1]}"
    return ", ".join(
        f"▲{first}" if first == last else f"▲{first} to ▲{last}" for first, last in spans
    )


def _footnotes(data: Data, notes: list[str], extra: Sequence[str]) -> list[Row]:
    """The text under a picture, so that it can travel alone: which trials are flagged, and why."""
    lines = [(text, colour) for texts, colour in ((extra, SOFT), (notes, ALARM)) for text in texts]
    if not lines:
        return []
    rows = [
        {"row": i, "line": textwrap.shorten(text, WIDTH, placeholder=" …"), "colour": colour}
        for i, (text, colour) in enumerate(lines)
    ]
    names = data.chart(rows).mark_text(align="left", fontSize=10)
    names = names.encode(
        x=XValue(0),
        y=alt.Y("row:O", axis=None),
        text=alt.Text("line:N"),
        color=alt.Color("colour:N", scale=None),
    )
    return [spec_of(names, width=BARS, height=14 * len(rows))]
