# SPDX-License-Identifier: Apache-2.0
"""Bars: a row for each trial, with its value, interval and mark, beside the names of its variant
and setting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Optional, TypedDict

from ..base import units
from ..records.rows import Pages, Range, Shown, Value
from . import axes
from . import vega_lite as vl
from .charts import (
    FLAGGED,
    GOOD,
    ROW,
    ROWS,
    Data,
    Drawing,
    Noted,
    Picture,
    joined,
    mark,
    numbered,
    picture,
    spec_of,
    why,
)
from .colours import INK, NODES, ON_LIGHT, PAPER, THEIRS, TINTS
from .vega_lite import Row, Spec

if TYPE_CHECKING:
    from typing_extensions import ReadOnly

BLUE = TINTS[2]
WIDE, SHARES, COLUMN = 460, 190, 135  # pixels: widths of bars, shares of pages, one of several
LETTER = 6  # pixels: width of a character
HEADLINE = "value"  # the key of its cells
BARE = 6  # rows without a value: if there are more, a note replaces them all
HELP = "A bar is the value of a trial, the whisker its 95 % confidence interval{}."
PAGES_HELP = (
    " Beside it the nodes on which its pages lay, and the share that was local to the threads"
    " using them."
)
BAND = {"type": "band", "paddingInner": 0.22, "paddingOuter": 0.11}
BANDS = vl.ordinal("row", axis=None, scale=BAND)
TOLD = [vl.nominal(key) for key in ("trial", "text", "interval", "why")]


class Cell(Value):
    range: Optional[Range]


class Bar(Shown):
    """A trial with the cells of its columns by key."""

    cells: Mapping[str, Cell]


class _RatioMay(TypedDict, total=False):
    goal: Optional[float]
    range: Optional[Range]


class RatioBar(Value, _RatioMay):
    """A ratio to be drawn from 1; that of others (`theirs`) is grey, a `goal` is a stroke."""

    id: Optional[str]
    flag: Optional[int]
    status: str
    reasons: list[str]
    variant: str
    point: str
    trial: str  # in words
    theirs: bool


class Named(TypedDict):
    variant: ReadOnly[str]
    point: ReadOnly[str]


@dataclass
class Column:
    """A column of bars: the key of its cells, its title, and the unit of its values (% for a
    share)."""

    key: str
    title: str
    unit: str


def bars(
    rows: Sequence[Bar],
    of: Sequence[Column],
    name: str,
    title: str,
    help_text: str,
    pages: Sequence[Pages] = (),
) -> list[Picture]:
    """A row for each trial, with a bar for each column that some trial of the picture has: its
    `cells` have value, low and high by the column's key. Beside them where its pages lay."""
    bare = [r for r in rows if r["value"] is None and r["flag"] is not None]
    left_out = bare if len(bare) > BARE else []  # a note under the last picture names them
    chunks, drawn = _chunks([r for r in rows if r not in left_out]), []
    for file, said, chunk in numbered(name, title, chunks):
        data, panels = Data(), []
        ends = {c.key: _ends([r["cells"].get(c.key) or NO_VALUE for r in chunk]) for c in of}
        shown = [c for c in of if len(ends[c.key]) > 1 or len(of) == 1]
        for key, of_panel in groupby(chunk, _panel_of):
            group = list(of_panel)
            firsts = _firsts(group)
            points = list(dict.fromkeys(r["point"] for r in group))
            tints = TINTS if len(points) <= len(TINTS) else TINTS[:1] * len(points)
            parts: list[Drawing] = []
            for column in shown:
                cells = [
                    {
                        **_cell_of(r, i, column),
                        "first": firsts[i],
                        "tint": tints[points.index(r["point"])],
                    }
                    for i, r in enumerate(group)
                ]
                base = _base(data, cells)
                parts += [] if parts else [_names(base, rows)]
                width = WIDE if len(of) == 1 else COLUMN
                letters = max(len(str(cell["text"])) for cell in cells)
                parts.append(_values(base, column, ends[column.key], width, letters))
            parts += [_shares(data, group, pages)] if any(row["how"] for row in chunk) else []
            if len(shown) > 1 and any(row["flag"] is not None for row in chunk):
                parts.append(_marks(data, group))
            panels.append(_panel(key, parts, ROW * len(group)))
        noted = chunk + (left_out if chunk is chunks[-1] else [])
        drawn.append(picture(file, said, help_text, noted, panels, data))
    return drawn


def ratios(
    rows: Sequence[RatioBar],
    axis: str,
    name: str,
    title: str,
    help_text: str,
    cited: Sequence[str] = (),
) -> list[Picture]:
    """Bars from 1 on a logarithmic axis: more is right, less is left. A `goal` is a stroke; bars of
    others (`theirs`) are grey."""
    drawn = []
    chunks = [rows[i : i + ROWS] for i in range(0, len(rows), ROWS)]
    for file, said, chunk in numbered(name, title, chunks):
        data = Data()
        panel = _ratios(data, chunk, axis)
        drawn.append(picture(file, said, help_text, chunk, [panel], data, cited))
    return drawn


def _ratios(data: Data, rows: Sequence[RatioBar], axis: str) -> Drawing:
    firsts = _firsts(rows)
    cells: list[Row] = [
        {
            **_bar(_cell(r), r, "1", f"{_number(r)}   {mark(r)}".rstrip()),
            "row": i,
            "first": firsts[i],
            "point": r["point"],
            "trial": r["trial"],
            "tint": THEIRS if r["theirs"] else BLUE,
            "theirs": r["theirs"],
            "goal": r.get("goal"),
            "one": 1,
            "end": max(_known(1, r["value"], r["high"], r.get("goal"))),
        }
        for i, r in enumerate(rows)
    ]
    told = [_known(1, r["value"], r["low"], r["high"], r.get("goal")) for r in rows]
    ends = [v for own in told for v in own if v > 0]  # what a logarithmic axis can show
    low, high = min(ends) / 1.1, max(ends) * 1.1
    of: Spec = {
        "title": axis,
        "values": axes.log_axis(axis, low, high, 1.0).ticks,
        "labelExpr": "format(datum.value, '~g') + ' ×'",
        "labelOverlap": "greedy",
        "labelSeparation": 4,
    }
    # Room for the text after a bar.
    scale = {"type": "log", "domain": [low, high * max(1.3, (high / low) ** 0.3)], "nice": False}
    base = _base(data, cells)
    one = data.chart([{"one": 1}]).mark("rule", color=INK)
    goal = base.where(vl.known("goal")).mark(
        "tick", color=INK, thickness=3, size=ROW - 5, opacity=1
    )
    layers = [
        *_layers(base, scale, of, vl.end("one")),
        one.encode(x=vl.quantitative("one", scale=scale)),
        goal.encode(x=vl.quantitative("goal", scale=scale)),
    ]
    parts = [_names(base, rows), joined("layer", *layers, width=WIDE)]
    return _panel("", parts, ROW * len(cells))


def _cell(of: RatioBar) -> Cell:
    value, low, high = of["value"], of["low"], of["high"]
    return {"value": value, "low": low, "high": high, "range": of.get("range")}


def _panel_of(row: Bar) -> str:
    return str(row["panel"])


def _panel(title: str, parts: Sequence[Drawing], height: int) -> Drawing:
    heading = {"title": {"text": title, "fontSize": 12, "offset": 4}} if title else {}
    return joined("hconcat", *(spec_of(p, height=height) for p in parts), spacing=6, **heading)


def _base(data: Data, cells: Sequence[Row]) -> vl.Chart:
    return data.chart(cells).encode(y=BANDS, tooltip=TOLD)


def _chunks(rows: Sequence[Bar]) -> list[list[Bar]]:
    """Splits rows into pictures: whole panels where they fit, parts of panels that are too large
    for one picture."""
    chunks: list[list[Bar]] = []
    for _, group in groupby(rows, _panel_of):
        panel = list(group)
        for start in range(0, len(panel), ROWS):
            piece = panel[start : start + ROWS]
            if chunks and len(chunks[-1]) + len(piece) <= ROWS:
                chunks[-1] += piece
            else:
                chunks.append(piece)
    return chunks


def _firsts(group: Sequence[Named]) -> list[str]:
    """The first row of each variant shows its name."""
    before = ["", *(r["variant"] for r in group)]
    return [r["variant"] if r["variant"] != last else "" for r, last in zip(group, before)]


NO_VALUE: Cell = {"value": None, "low": None, "high": None, "range": None}


def _known(*values: Optional[float]) -> list[float]:
    return [v for v in values if v is not None]


def _ends(cells: Iterable[Value]) -> list[float]:
    """All ends of bars and whiskers, and zero."""
    return [0.0, *(end for c in cells for end in _known(c["value"], c["low"], c["high"]))]


def _bar(of: Cell, trial: Noted, unit: str, text: str) -> Spec:
    """A bar: the value, of this trial."""
    return {
        "id": trial["id"],
        "flag": trial["flag"],
        "status": trial["status"],
        "why": why(trial),
        "value": of["value"],
        "low": of["low"],
        "high": of["high"],
        "end": max(_known(of["value"], of["high"]), default=None),
        "text": text,
        "interval": units.interval(of["low"], of["high"], unit, of["range"]),
    }


def _number(r: RatioBar) -> str:
    return units.number(r["value"] or 0, units.doubt(r))


def _cell_of(row: Bar, place: int, column: Column) -> Spec:
    of = row["cells"].get(column.key) or NO_VALUE
    share = column.unit == "%"
    unit = "1" if share else column.unit
    text = units.percent(of["value"]) if share else units.measured(of, unit)
    if of["value"] is None and row["value"] is None:
        text = "no value" if row["flag"] is not None else f"no value: {row['why']}"
    elif column.key == HEADLINE and of["low"] is None:
        text += " (no interval)"
    if column.key == HEADLINE and row["flag"] is not None:
        text += f", {mark(row)}"
    cell = {
        **_bar(of, row, unit, text),
        "row": place,
        "point": row["point"],
        "trial": f"{row['variant']} {row['everything']}",
        "mark": mark(row),
    }
    return cell if column.key == HEADLINE else {**cell, "column": column.key}


def _names(base: vl.Chart, among: Sequence[Named]) -> Drawing:
    """The names of variants and settings; as wide as the longest among all."""
    first = max(len(r["variant"]) for r in among) * 7 + 12
    wide = first + max(len(r["point"]) for r in among) * 6 + 8
    return joined(
        "layer",
        base.mark("text", align="left", fontWeight="bold", color=INK).encode(
            x=vl.value(0), text=vl.nominal("first")
        ),
        base.mark("text", align="right", color=INK).encode(
            x=vl.value(wide), text=vl.nominal("point")
        ),
        width=wide,
    )


def _values(
    base: vl.Chart, column: Column, ends: Sequence[float], width: int, letters: int
) -> Drawing:
    """Bars from zero; columns of a picture share `ends`. The longest text has `letters`."""
    low, high = min(ends), max(ends)
    factor, unit = units.scale(ends, column.unit)
    if column.unit == "%":
        high, factor, unit = max(high, 1.0), 0.01, "%"
    after = min(letters * LETTER + 10, 0.7 * width)  # pixels for the text after a bar
    room = (high - low) * after / (width - after) or 1
    scale = {"domain": [low, high + room], "nice": False}
    ticks = axes.round_ticks(low, high)
    shown = f"datum.value / {factor!r}"
    axis = {
        "title": f"{column.title} ({unit})" if unit else column.title,
        "values": ticks[:: 2 if width == COLUMN and len(ticks) > 4 else 1],
        "labelExpr": f"format({shown}, {shown} < 10000 ? '~g' : '~s')",
        "labelOverlap": True,
        "labelSeparation": 4,
    }
    bare = base.where(vl.unknown("end")).mark("text", align="left")
    nothing = bare.encode(x=vl.value(6), text=vl.nominal("text"))
    layers = _layers(base, scale, axis, size=11 if width == WIDE else 10)
    return joined("layer", *layers, nothing, width=width)


def _layers(
    base: vl.Chart,
    scale: Spec,
    axis: Spec,
    start: Optional[Spec] = None,
    size: int = 11,
) -> list[Drawing]:
    """Bars, those of flagged trials in outline; whiskers; the text after each."""

    def x(field: str) -> Spec:
        return vl.quantitative(field, scale=scale, axis=axis)

    bar = base.encode(x=x("value"), **({"x2": start} if start else {}))
    whisker = base.where(vl.known("low"), vl.known("high"))
    return [
        bar.where(GOOD).mark("bar").encode(fill=vl.nominal("tint", scale=None)),
        bar.where(FLAGGED)
        .mark("bar", fill=PAPER, strokeWidth=1.5, strokeDash=[4, 2])
        .encode(stroke=vl.nominal("tint", scale=None)),
        whisker.mark("rule", color=INK).encode(x=x("low"), x2=vl.end("high")),
        *(
            whisker.mark("tick", color=INK, thickness=1, size=8).encode(x=x(end))
            for end in ("low", "high")
        ),
        base.where(vl.known("end"))
        .mark("text", align="left", dx=6, fontSize=size)
        .encode(x=x("end"), text=vl.nominal("text")),
    ]


def _marks(data: Data, group: Sequence[Bar]) -> Drawing:
    rows = [{"row": i, "text": mark(r)} for i, r in enumerate(group)]
    text = data.chart(rows).mark("text", align="left")
    said = text.encode(y=BANDS, x=vl.value(0), text=vl.nominal("text"))
    return spec_of(said, width=150)


def _shares(data: Data, group: Sequence[Bar], pages: Sequence[Pages]) -> Drawing:
    """Stacked bars: pages by node, after the timed part."""
    segments: list[Row] = []
    for i, r in enumerate(group):
        start = 0.0
        for p in pages:
            if p["id"] == r["id"] and p["pages"]:
                share, node = p["share"] or 0.0, p["node"]
                segments.append(
                    {
                        "id": p["id"],
                        "node": node,
                        "pages": p["pages"],
                        "share": share,
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
    axis = {"title": "share of pages", "format": "%", "tickCount": 3, "grid": False}
    x = vl.quantitative("from", scale={"domain": [0, 1], "nice": False}, axis=axis)
    told = [
        vl.nominal("trial"),
        vl.nominal("node"),
        vl.quantitative("pages"),
        vl.quantitative("share", format=".1%"),
    ]
    base = data.chart(segments).encode(y=BANDS, tooltip=told)
    bar = base.encode(x=x, x2=vl.end("to"))
    return joined(
        "layer",
        bar.where(GOOD).mark("bar", stroke=PAPER).encode(fill=vl.nominal("colour", scale=None)),
        bar.where(FLAGGED)
        .mark("bar", fill=PAPER, strokeWidth=1.5, strokeDash=[4, 2])
        .encode(stroke=vl.nominal("colour", scale=None)),
        *(
            base.where(test)
            .mark("text", color=colour, fontSize=10)
            .encode(x=vl.quantitative("middle"), text=vl.nominal("label"))
            for test, colour in ((GOOD, ON_LIGHT), (FLAGGED, INK))
        ),
        data.chart(texts)
        .mark("text", align="left", dx=6)
        .encode(y=BANDS, x=vl.value(SHARES), text=vl.nominal("text")),
        width=SHARES,
    )


def _local(row: Bar) -> str:
    if row["how"] is None:
        return "no pages"
    if row["how"] == "unverified":
        return "unverified"
    share = row["local_share"]
    return "local share unknown" if share is None else f"{units.percent(share)} local"
