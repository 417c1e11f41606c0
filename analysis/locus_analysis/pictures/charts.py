# SPDX-License-Identifier: Apache-2.0
"""The pictures, each defined once and drawn from rows of the tables. Each one outlines and names
trials that are not ok. No picture depends on colour alone: words say the same."""

from __future__ import annotations

import csv
import io
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Optional, TypedDict, TypeVar, Union

from . import vega_lite as vl
from .colours import GREY, INK, PALE, PAPER, SOFT
from .vega_lite import Row, Spec

if TYPE_CHECKING:
    from typing_extensions import ReadOnly

Drawing = Union[vl.Chart, Spec]  # Vega-Lite is made of charts

ROW = 21  # pixels: height of a row of bars
ROWS = 36  # in a picture; more go to the next one, so that each fits a printed page
LOOK = {
    *("colour", "shape", "dash", "width", "dots", "ring", "tint", "row", "first", "mark", "label"),
    *("end", "one", "text", "interval", "flag", "theirs", "dark", "id", "beyond", "place"),
}  # columns that only say how a row is drawn
LONG = 84  # characters of a line of a finding
WIDTH = 160  # characters of a line under a picture
CONFIG = {
    "font": "Liberation Sans, Arial, Helvetica, sans-serif",
    "background": PAPER,
    # the page says in words what each picture shows; a label on each mark would double it
    "aria": False,
    "title": {
        "fontSize": 15,
        "subtitleFontSize": 11,
        "subtitleColor": SOFT,
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
        "labelLimit": 0,  # none is that long, and to measure each takes time
    },
    "legend": {"labelColor": INK, "titleColor": INK},
    "view": {"stroke": None},
    "text": {"fontSize": 11, "color": INK},
    "rule": {"color": INK},
}
BETTER = {"higher": " (more is better)", "lower": " (less is better)", None: ""}
FLAGGED, GOOD = vl.known("flag"), vl.unknown("flag")


class Marked(TypedDict):
    """A trial with a mark, if it is not ok."""

    flag: ReadOnly[Optional[int]]
    status: ReadOnly[str]


class Noted(Marked):
    """A trial that the text under a picture may name."""

    id: ReadOnly[Optional[str]]
    reasons: ReadOnly[Sequence[str]]
    value: ReadOnly[Optional[float]]


class Dense(TypedDict):
    """A map with so many cells that a shape for each would make files and page too large: the
    pixels of a cell, the names of rows and columns, and a value for each pair of these."""

    size: int
    names: list[int]
    values: list[Optional[float]]


@dataclass
class Picture:
    name: str  # of its files
    title: str
    help: str  # one sentence: how to read it
    notes: list[str]  # how many trials in it are flagged, by status
    spec: Spec  # Vega-Lite
    drawn: Optional[Future[str]] = None  # its SVG
    shows: Sequence[Optional[str]] = ()  # ids of trials
    dense: Optional[Dense] = None
    finding: str = ""  # a sentence, which is its title then
    sets: Mapping[str, Sequence[Row]] = field(default_factory=dict)  # the data

    @property
    def csv(self) -> str:
        """Its data - rows with a value, else the largest set - without what only says how they
        look."""
        rows = [r for own in self.sets.values() for r in own if "value" in r]
        rows = rows or max(map(list, self.sets.values()), key=len, default=[])
        names = [k for k in dict.fromkeys(k for r in rows for k in r) if k not in LOOK]
        text = io.StringIO()
        writer = csv.DictWriter(text, names, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()

    @property
    def svg(self) -> str:
        """Waits for it."""
        assert self.drawn
        return self.drawn.result()


class Data:
    """The rows of a picture by name, since several charts draw the same rows."""

    def __init__(self) -> None:
        self.sets: dict[str, Sequence[Row]] = {}

    def chart(self, rows: Sequence[Row]) -> vl.Chart:
        name = f"rows-{len(self.sets) + 1}"
        self.sets[name] = rows
        return vl.Chart(name, rows)


def headed(picture: Picture, finding: str) -> None:
    """Makes what was found the title of a picture, and its title the subtitle."""
    below = picture.spec["title"]
    assert isinstance(below, dict)
    picture.finding = finding[:1].upper() + finding[1:].removesuffix(".")
    picture.spec["title"] = {
        "text": textwrap.wrap(picture.finding, LONG),
        "subtitle": [picture.title, *below["subtitle"]],
    }


T = TypeVar("T")
N = TypeVar("N", bound=Noted)


def numbered(name: str, title: str, parts: Sequence[T]) -> Iterator[tuple[str, str, T]]:
    """The parts of a picture, each with its own name and title."""
    for i, part in enumerate(parts, 1):
        several = len(parts) > 1
        yield (
            f"{name}-{i}" if several else name,
            f"{title} ({i} of {len(parts)})" if several else title,
            part,
        )


def spec_of(chart: Drawing, **more: object) -> Spec:
    """The chart as Vega-Lite, with further keys."""
    return {**(chart if isinstance(chart, dict) else chart.spec), **more}


def joined(how: str, *charts: Drawing, **more: object) -> Spec:
    """A `layer`, `concat`, `hconcat` or `vconcat`. Layers that draw no row are left out: Vega would
    take as long for them as for others."""
    drawn = [c for c in charts if how != "layer" or not isinstance(c, vl.Chart) or c.rows]
    parts = [spec_of(chart) for chart in drawn or charts[:1]]
    data = parts[0].get("data")
    if data and all(p.get("data") == data for p in parts):
        return {
            how: [{k: v for k, v in p.items() if k != "data"} for p in parts],
            "data": data,
            **more,
        }
    return {how: parts, **more}


def mark(row: Marked) -> str:
    """What is written beside a trial in a picture; empty if the trial is ok."""
    return "" if row["flag"] is None else row["status"]


def why(row: Noted) -> str:
    """The status of a trial and its reasons, for the text on hover."""
    return ": ".join(filter(None, (row["status"], "; ".join(row["reasons"]))))


def picture(
    name: str,
    title: str,
    help_text: str,
    rows: Sequence[Noted],
    panels: Sequence[Drawing],
    data: Data,
    extra: Sequence[str] = (),
) -> Picture:
    """The title and the help above the panels; below, how many trials are flagged."""
    notes = _notes([r for r in rows if r["flag"] is not None])
    heading = {"text": title, "subtitle": textwrap.wrap(help_text, WIDTH)}
    whole = joined("vconcat", *panels, *_footnotes(data, notes, extra), spacing=14, title=heading)
    spec: Spec = {
        "$schema": vl.SCHEMA,
        **whole,
        "config": CONFIG,
        "padding": 8,
        "datasets": data.sets,
    }
    return Picture(
        name, title, help_text, notes, spec, shows=[r["id"] for r in rows], sets=data.sets
    )


def _notes(flagged: Sequence[Noted]) -> list[str]:
    """How many trials are hollow, and how many have no value, which cannot be hovered over."""
    drawn = Counter(r["status"] for r in flagged if r["value"] is not None)
    bare = [r for r in flagged if r["value"] is None]
    found = [f"{n} {status}" for status, n in drawn.items()]
    said = [f"Hollow: {', '.join(found)}; reasons on hover and in the table"] if drawn else []
    return said + [f"No value: {len(own)} {why(own[0])}" for own in alike(bare)]


def alike(flagged: Sequence[N]) -> list[list[N]]:
    """Groups by status and by what is said, numbers aside."""
    groups: dict[tuple[str, str], list[N]] = {}
    for r in flagged:
        said = re.sub(r"\d[\d.,]*", "0", "; ".join(r["reasons"]))
        groups.setdefault((r["status"], said), []).append(r)
    return list(groups.values())


def _footnotes(data: Data, notes: list[str], extra: Sequence[str]) -> list[Spec]:
    """The text under a picture, so that it can travel alone."""
    lines = [*extra, *notes]
    if not lines:
        return []
    rows = [
        {"row": i, "line": textwrap.shorten(text, WIDTH, placeholder=" …")}
        for i, text in enumerate(lines)
    ]
    names = data.chart(rows).mark("text", align="left", fontSize=10, color=SOFT)
    names = names.encode(x=vl.value(0), y=vl.ordinal("row", axis=None), text=vl.nominal("line"))
    return [spec_of(names, width=400, height=14 * len(rows))]
