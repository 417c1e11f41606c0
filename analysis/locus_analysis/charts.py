# SPDX-License-Identifier: Apache-2.0
"""The pictures, each defined once and drawn from rows of the tables. Each one outlines and names
trials that are not ok. No picture depends on colour alone: words say the same."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Optional, TypeVar

import altair as alt
from altair.utils import schemapi

Row = dict[str, Any]
Drawing = Any  # a chart of Altair's, or Vega-Lite that was made of some

# Altair would validate each part of a chart against its schema, over and over; tests validate each
# whole picture instead.
schemapi.disable_debug_mode()
# Channels are given as classes, even where a string or alt.value() would do: Altair takes 5 ms to
# find the class. These two have no type annotations:
XValue: Any = alt.XValue
YValue: Any = alt.YValue

INK, SOFT, GREY, PALE, ALARM = "#222222", "#555555", "#767676", "#E4E4E4", "#B23A00"
ROW = 21  # pixels: height of a row of bars
ROWS = 36  # in a picture; more go to the next one, so that each fits a printed page
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
    # Only of a map with so many cells that a shape for each would make files and page too large:
    # the pixels of a cell, the names of rows and columns, and a value for each pair of these.
    dense: Optional[Row] = None


class Data:
    """The rows of a picture by name, since several charts draw the same rows."""

    def __init__(self) -> None:
        self.sets: dict[str, list[Row]] = {}

    def chart(self, rows: list[Row]) -> alt.Chart:
        name = f"rows-{len(self.sets) + 1}"
        self.sets[name] = rows
        return alt.Chart(alt.NamedData(name=name))


T = TypeVar("T")


def numbered(name: str, title: str, parts: Sequence[T]) -> Iterator[tuple[str, str, T]]:
    """The parts of a picture, each with its own name and title."""
    for i, part in enumerate(parts, 1):
        several = len(parts) > 1
        yield (
            f"{name}-{i}" if several else name,
            f"{title} ({i} of {len(parts)})" if several else title,
            part,
        )


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


def ink() -> Any:
    """Text of a flagged trial stands out."""
    return alt.ColorValue(INK, condition=[{"test": FLAGGED, "value": ALARM}])


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
    trials = f"{len(own)} trial{'s' * (len(own) > 1)}, {_spans(sorted(r['flag'] for r in own))}"
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
    return [spec_of(names, width=400, height=14 * len(rows))]
