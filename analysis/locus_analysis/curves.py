# SPDX-License-Identifier: Apache-2.0
"""Curves on logarithmic axes: the common parts, and the curves of latency over working set, chains
and load. The shape of the points and a label at the line's end say the same as its colour."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Optional

import altair as alt

from . import charts, published, units
from .charts import (
    ALARM,
    FLAGGED,
    GOOD,
    GREY,
    INK,
    PALE,
    SOFT,
    Data,
    Drawing,
    Picture,
    Row,
    XValue,
    YValue,
    joined,
    mark,
    picture,
)
from .described import Line
from .levels import HUGE, Finding
from .records import graver
from .steps import size_text

BLUE, ORANGE, GREEN, PINK, RED = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#D55E00",
)  # Okabe and Ito
STYLES = {  # by pattern
    "cycle": (BLUE, "circle"),
    "page-cycle": (GREEN, "square"),
    "page-random": (RED, "diamond"),
    "page-stride": (PINK, "cross"),
    "line-stride": (ORANGE, "triangle-right"),
}
ORDINARY = (INK, "circle")
RANKED = (
    (BLUE, "circle"),
    (ORANGE, "square"),
    (GREEN, "diamond"),
    (PINK, "cross"),
    (RED, "triangle-right"),
    ("#56B4E9", "triangle-down"),
    (INK, "triangle-left"),
)
DASHES = {"solid": [1, 0], "dashed": [6, 3], "dotted": [2, 2], "dash-dotted": [7, 2, 2, 2]}
PAGE_DASH = {"base": "solid", "thp": "dashed", "2M": "dotted", "1G": "dash-dotted"}
PAGES = {
    "base": "system pages",
    "thp": "transparent huge",
    "2M": "2 MiB pages",
    "1G": "1 GiB pages",
}
WIDE, HALF, HEIGHT = 620, 270, 330  # pixels
LABEL = 13  # pixels between labels
NOTES = 8  # lines about flagged points under a picture; of more, a line for each status
HALO: dict[str, Any] = {
    "stroke": "white",
    "strokeWidth": 4,
    "strokeJoin": "round",
}  # of text on lines
PANELS = 6  # in a picture: they fit a printed page
NUMBERED = 24  # flagged points in a picture: of more, numbers would hide the curves

SIZES_HELP = (
    "Time of one load that needs the result of the one before, over the working set (both axes"
    " logarithmic); lines across points are 95 % intervals. Solid: system pages; broken: huge"
    " pages."
)
LEVELS_HELP = (
    " Grey bars: plateaus as found in the curve alone, grey columns: where a level ends (its"
    " interval)."
)
TLB_HELP = (
    "Left: one element a page, so that pages count rather than bytes; between the curves of system"
    " and huge pages lies what translation costs. Right: TLB share: how much of a load's time on"
    " system pages the same permutation on huge pages saves; ↓: goes on below the frame."
)
CHAINS_HELP = (
    "Time per load when several independent chains are followed at once: the core overlaps their"
    " misses (memory-level parallelism). Grey dotted: if all overlapped fully."
)
LOADED_HELP = (
    "Latency while other threads load memory, over the bandwidth that these achieve: flat as long"
    " as memory has bandwidth to spare, steep at its limit."
)
PUBLISHED_HELP = (
    "Grey: figures published of other machines, blue: this one. Compare shapes, not times. Where"
    " the published element is an int, packed in lines, levels below memory are lower than with"
    " one pointer a line."
)


@dataclass
class Series:
    """A line. Its rows have x, value, low, high (base units), and what charts.mark() needs; those
    with `ring` get a ring."""

    name: str
    colour: str
    shape: str
    rows: list[Row]
    dash: str = "solid"
    width: float = 1.6
    points: bool = True


def style(line: Line) -> tuple[str, str, str]:
    """Colour, shape and dash."""
    dashes = list(DASHES)
    wraps = line.place // len(RANKED)
    dash = PAGE_DASH[line.pages] if line.pages in PAGE_DASH else dashes[line.dash % len(dashes)]
    return (*RANKED[line.place % len(RANKED)], dashes[wraps % len(dashes)] if wraps else dash)


@dataclass
class Axis:
    title: str
    domain: tuple[float, float]
    ticks: list[float]
    label: str  # expression
    log: bool = True
    every: bool = False  # draw all ticks; else Vega omits some of a linear axis in a low panel

    def scale(self) -> alt.Scale:
        kind: Any = "log" if self.log else "linear"
        return alt.Scale(type=kind, domain=list(self.domain), nice=False, clamp=False)

    def axis(self) -> alt.Axis:
        many: dict[str, Any] = {"tickCount": len(self.ticks)} if self.every else {}
        return alt.Axis(
            title=self.title,
            values=self.ticks,
            labelExpr=self.label,
            labelOverlap=True,
            gridColor=PALE,
            **many,
        )


@dataclass
class Panel:
    title: str
    x: Axis
    y: Axis
    series: list[Series]
    width: int = WIDE
    levels: Optional[Finding] = None
    scale: float = 1.0  # of the levels' sizes, to those of x
    height: int = HEIGHT
    marks: Sequence[tuple[float, str]] = ()  # upright lines: where, and what they say


def sizes(
    load: Sequence[Row], finding: Optional[Finding], name: str, title: str
) -> Optional[Picture]:
    """Patterns on each kind of page, over the working set."""
    rows = [
        r
        for r in load
        if r["size"]
        and r["variant"] in STYLES
        and r["variant"] != "page-random"
        and r["chains"] == 1
    ]
    lines = _lines(rows, ("variant", "pages", "element", "stride"))
    if not lines:
        return None
    panel = Panel("", size_axis(lines), time_axis(lines), lines, levels=finding)
    return draw(
        name, title, SIZES_HELP + (LEVELS_HELP if finding and finding.levels else ""), rows, [panel]
    )


def tlb(
    load: Sequence[Row],
    finding: Optional[Finding],
    shares: Sequence[Row],
    page: int,
    name: str,
    title: str,
) -> Optional[Picture]:
    """One element a page, and the gain by huge pages for the ordinary cycle."""
    rows = [r for r in load if r["size"] and r["variant"] == "page-random" and r["chains"] == 1]
    panels = []
    lines = _lines(rows, ("pages", "element", "stride"))
    if lines:
        panels.append(
            Panel("page-random", size_axis(lines), time_axis(lines), lines, HALF, finding, page)
        )
    given = [s for s in shares if s["value"] is not None]
    if given:
        panels.append(_share_panel(given))
    return draw(name, title, TLB_HELP, rows, panels) if panels else None


def _share_panel(shares: Sequence[Row]) -> Panel:
    lines = [
        Series(
            f"against {PAGES.get(pages, pages)}",
            BLUE,
            "circle",
            list(own),
            PAGE_DASH.get(pages, "solid"),
        )
        for pages, own in groupby(
            sorted(shares, key=lambda s: (s["pages"], s["x"])), lambda s: s["pages"]
        )
    ]
    ends = [v for s in shares for v in (s["low"], s["high"], s["value"]) if v is not None]
    low, high = max(min(-0.02, min(ends)), -0.5), max(0.2, max(ends) * 1.05)
    step = 0.1 if high - low < 0.6 else 0.2
    ticks = [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
    y = Axis("TLB share of the time", (low, high), ticks, "format(datum.value, '.0%')", log=False)
    return Panel("cycle: TLB share", size_axis(lines), y, lines, HALF)


def chains(load: Sequence[Row], name: str, title: str) -> Optional[Picture]:
    """Time per load over the number of chains, a line for each size."""
    several = {(r["size"], r["pages"]) for r in load if r["size"] and r["chains"] > 1}
    rows = [
        r
        for r in load
        if r["variant"] in ("cycle", "parallel") and (r["size"], r["pages"]) in several
    ]
    if any(r["variant"] == "parallel" for r in rows):
        rows = [r for r in rows if r["variant"] == "parallel"]
    lines = []
    keys = sorted({(r["size"], r["pages"]) for r in rows})
    for i, (size, pages) in enumerate(keys):
        own = sorted(
            (r for r in rows if (r["size"], r["pages"]) == (size, pages)), key=lambda r: r["chains"]
        )
        colour, shape = RANKED[i % len(RANKED)]
        label = size_text(size) + (
            f", {PAGES.get(pages, pages)}" if len({p for _, p in keys}) > 1 else ""
        )
        lines.append(
            Series(
                label,
                colour,
                shape,
                [point(r, r["chains"]) for r in own],
                PAGE_DASH.get(pages, "solid"),
            )
        )
    if not lines:
        return None
    most = max(r["chains"] for r in rows)
    ideal = []
    for line in lines:
        first = next((r for r in line.rows if r["x"] == 1 and r["value"]), None)
        if first:
            ideal.append(_ideal(first["value"], most))
    counts = sorted({r["chains"] for r in rows})
    x = Axis(
        "independent chains",
        (0.93, most * 1.07),
        [c for c in counts if c & (c - 1) == 0] or counts,
        "format(datum.value, 'd')",
    )
    return draw(name, title, CHAINS_HELP, rows, [Panel("", x, time_axis(lines), [*ideal, *lines])])


def _ideal(first: float, most: int) -> Series:
    return Series(
        "", GREY, "circle", [bare(n, first / n) for n in (1, most)], "dotted", 1, points=False
    )


def loaded(load: Sequence[Row], name: str, title: str) -> Optional[Picture]:
    """Latency over the bandwidth that the background achieved, a line for each mix."""
    rows = [r for r in load if r["variant"] == "loaded"]
    keys = ("mix", "pages", "size", "threads")
    several = {key: len({r[key] for r in rows}) > 1 for key in keys}
    mixes = sorted({r["mix"] for r in rows})
    lines = []
    for (mix, pages, size, threads), group in groupby(
        sorted(rows, key=lambda r: _key(r, keys)), lambda r: tuple(r[k] for k in keys)
    ):
        words = [
            mix,
            *[size_text(size)] * several["size"],
            *[f"{threads} threads"] * several["threads"],
        ]
        words += [PAGES.get(pages, pages)] * several["pages"]
        colour, shape = RANKED[mixes.index(mix) % len(RANKED)]
        points = [point(r, r["background"]) for r in group]
        lines.append(Series(", ".join(words), colour, shape, points, PAGE_DASH.get(pages, "solid")))
    drawn = [
        p for line in lines for p in line.rows if p["x"] is not None and p["value"] is not None
    ]
    if not drawn:
        return None
    x_ticks = linear_ticks(max(p["x"] for p in drawn))
    y_ticks = linear_ticks(max(max(p["value"], p["high"] or 0) for p in drawn))
    factor, unit = units.scale(x_ticks, "B/s")
    label = f"format(datum.value / {factor!r}, '~g')"
    x = Axis(f"bandwidth of the background ({unit})", (0, x_ticks[-1]), x_ticks, label, log=False)
    y = Axis(
        "ns for a load", (0, y_ticks[-1]), y_ticks, "format(datum.value * 1e9, '~g')", log=False
    )
    return draw(name, title, LOADED_HELP, rows, [Panel("", x, y, lines)])


def linear_ticks(most: float) -> list[float]:
    """From zero to the maximum or above."""
    power = 10.0 ** math.floor(math.log10(most)) if most > 0 else 1.0
    step = next(power * m for m in (0.1, 0.2, 0.5, 1, 2) if most / (power * m) <= 8)
    return [i * step for i in range(max(1, math.ceil(most / step)) + 1)]


def beside(load: Sequence[Row], host: str, name: str, title: str) -> Optional[Picture]:
    """Published curves, and this machine's of the same pattern."""
    panels, shown = [], []
    others = published.figures("latency", "latency")
    for variant, x_of in (("cycle", _bytes_of), ("page-stride", _elements_of)):
        lines = _published(others, variant, x_of)
        own = _own_for(load, variant)
        points = [point(r, r["size"] if variant == "cycle" else r["elements"]) for r in own]
        if not any(p["x"] and p["value"] for p in points):
            continue
        shown += own
        mine = Series(host, BLUE, "circle", points)
        axis = size_axis([*lines, mine]) if variant == "cycle" else element_axis([*lines, mine])
        panels.append(Panel(variant, axis, time_axis([*lines, mine]), [*lines, mine]))
    if not panels:
        return None
    extra = [
        f"{key}: {published.sources()[key]}" for key in dict.fromkeys(f.source for f in others)
    ]
    return draw(name, title, PUBLISHED_HELP, shown, panels, extra, columns=1)


def _published(figures: Sequence[published.Figure], variant: str, x_of: Any) -> list[Series]:
    lines: list[Series] = []
    own = [f for f in figures if f.variant == variant]
    for i, machine in enumerate(dict.fromkeys(f.machine for f in own)):
        of_machine = [f for f in own if f.machine == machine]
        by_x: dict[float, list[float]] = {}
        for f in of_machine:
            by_x.setdefault(x_of(f.parameters), []).append(f.value)
        rows = [bare(x, sum(v) / len(v)) for x, v in sorted(by_x.items())]
        short = machine.split("(")[0].replace("Intel ", "").strip()
        dash = ("dashed", "dotted", "dash-dotted", "solid")[i % 4]
        lines.append(
            Series(
                f"{short} ({of_machine[0].source})", GREY, "circle", rows, dash, 1.2, points=False
            )
        )
    return lines


def _bytes_of(parameters: dict[str, str]) -> float:
    return float(parameters["working_set_bytes"])


def _elements_of(parameters: dict[str, str]) -> float:
    return float(parameters["nodes"])


def _own_for(load: Sequence[Row], variant: str) -> list[Row]:
    """Our curve most like the published one: system pages, and ints if they were measured."""
    rows = [
        r
        for r in load
        if r["size"] and r["variant"] == variant and r["chains"] == 1 and r["pages"] == "base"
    ]
    for element in ("int", "pointer"):
        own = [r for r in rows if r["element"] == element]
        if own:
            stride = (
                min({r["stride"] for r in own})
                if element == "pointer"
                else max({r["stride"] for r in own})
            )
            return [r for r in own if r["stride"] == stride]
    return []


# Parts of all curves.


def _lines(rows: Sequence[Row], keys: tuple[str, ...]) -> list[Series]:
    """Groups rows into lines by pattern, pages and further parameters."""
    lines = []
    several = {key: len({r[key] for r in rows}) > 1 for key in keys}
    for key, group in groupby(
        sorted(rows, key=lambda r: _key(r, keys)), lambda r: tuple(r[k] for k in keys)
    ):
        own = sorted(group, key=lambda r: r["size"])
        of = dict(zip(keys, key))
        colour, shape = STYLES.get(own[0]["variant"], ORDINARY)
        words = [own[0]["variant"]] if "variant" in keys else []
        words.append(PAGES.get(of["pages"], of["pages"]))
        words += [f"{of['element']}s"] if several["element"] else []
        words += [f"{size_text(of['stride'])} apart"] if several["stride"] and of["stride"] else []
        lines.append(
            Series(
                ", ".join(words),
                colour,
                shape,
                [point(r, r["size"]) for r in own],
                PAGE_DASH.get(of["pages"], "solid"),
            )
        )
    return lines


def _key(r: Row, keys: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(r[key]) for key in keys)


def point(r: Row, x: Optional[float]) -> Row:
    return {
        **{key: r[key] for key in ("id", "value", "low", "high", "flag", "status")},
        "x": x,
        "mark": mark(r),
        "number": "" if r["flag"] is None else f"▲{r['flag']}",
        "trial": f"{r['variant']} {r['everything']}",
        "text": "no value" if r["value"] is None else units.quantity(r["value"], "s"),
        "interval": units.interval({**r, "unit": "s"}),
    }


def bare(x: float, value: float) -> Row:
    return {
        "x": x,
        "value": value,
        "low": None,
        "high": None,
        "flag": None,
        "status": "ok",
        "text": units.quantity(value, "s"),
    }


def _values(lines: Iterable[Series], *keys: str) -> list[float]:
    return [p[key] for line in lines for p in line.rows for key in keys if p[key]]


def size_axis(lines: Sequence[Series], title: str = "working set") -> Axis:
    label = (
        "datum.value >= 1073741824 ? format(datum.value / 1073741824, '~g') + ' GiB' : datum.value"
        " >= 1048576 ? format(datum.value / 1048576, '~g') + ' MiB' : datum.value >= 1024 ?"
        " format(datum.value / 1024, '~g') + ' KiB' : format(datum.value, '~g') + ' B'"
    )
    return powers_of_two(_values(lines, "x"), title, label)


def element_axis(lines: Sequence[Series]) -> Axis:
    label = (
        "datum.value >= 1024 ? format(datum.value / 1024, '~g') + ' Ki' : format(datum.value, '~g')"
    )
    return powers_of_two(_values(lines, "x"), "elements, each on a page of its own", label)


def powers_of_two(values: Sequence[float], title: str, label: str) -> Axis:
    least, most = math.floor(math.log2(min(values))), math.ceil(math.log2(max(values)))
    step = 2 if most - least > 8 else 1
    return Axis(
        title,
        (min(values) / 1.12, max(values) * 1.12),
        [2.0**i for i in range(least, most + 1) if i % step == 0],
        label,
    )


def time_axis(lines: Sequence[Series], title: str = "ns for a load", unit: float = 1e-9) -> Axis:
    values = _values(lines, "value", "low", "high") or [1e-9]
    # Room for names above and below.
    return log_axis(title, min(values) / 1.35, max(values) * 1.25, unit)


def thread_axis(counts: Sequence[int]) -> Axis:
    ordered = sorted(set(counts))
    ticks = [float(c) for c in ordered if c & (c - 1) == 0 or c == ordered[-1]]
    return Axis(
        "threads", (ordered[0] / 1.12, ordered[-1] * 1.12), ticks, "format(datum.value, 'd')"
    )


def log_axis(title: str, low: float, high: float, unit: float) -> Axis:
    """A logarithmic axis with round numbers of the unit."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for marks in ((1, 2, 5), (1, 2, 3, 5, 7)):  # more ticks where the range is small
        ticks = [t for t in (m * 10.0**e for e in decades for m in marks) if low <= t <= high]
        if len(ticks) > 2:
            break
    if len(ticks) < 2:
        ticks = charts.round_ticks(low, high)
    return Axis(title, (low, high), ticks, f"format(datum.value / {unit!r}, '~g')")


def draw(
    name: str,
    title: str,
    help_text: str,
    rows: Sequence[Row],
    panels: Sequence[Panel],
    extra: Sequence[str] = (),
    columns: int = 0,
) -> Picture:
    """Panels side by side, in the given number of columns."""
    data = Data()
    numbered = sum(r["flag"] is not None and r["value"] is not None for r in rows) <= NUMBERED
    drawn = [_panel(data, panel, numbered) for panel in panels]
    whole = (
        joined("concat", *drawn, columns=columns or len(drawn), spacing=28)
        if len(drawn) > 1
        else drawn[0]
    )
    unique = {(r["whole"], r["id"]): r for r in rows}
    return picture(name, title, help_text, list(unique.values()), [whole], data, extra, NOTES)


def in_parts(
    drawn: Sequence[tuple[Sequence[Row], Sequence[Panel]]],
    name: str,
    title: str,
    help_text: str,
    extra: Callable[[Sequence[Row]], Sequence[str]] = lambda _: (),
) -> list[Picture]:
    """Splits trials and panels into pictures of at most PANELS, in two columns; `extra` adds text
    on the trials of a picture."""
    most = PANELS // len(drawn[0][1])
    parts = [drawn[i : i + most] for i in range(0, len(drawn), most)]
    pictures = []
    for i, part in enumerate(parts, 1):
        shown = in_order(t for own, _ in part for t in own)
        named = (
            (f"{name}-{i}", f"{title} ({i} of {len(parts)})") if len(parts) > 1 else (name, title)
        )
        panels = [panel for _, of in part for panel in of]
        pictures.append(draw(*named, help_text, shown, panels, extra(shown), columns=2))
    return pictures


def in_order(trials: Iterable[Row]) -> list[Row]:
    """Each value once, in the order of the record."""
    return sorted({(t["whole"], t["id"]): t for t in trials}.values(), key=lambda t: t["place"])


def _panel(data: Data, panel: Panel, numbered: bool) -> Drawing:
    y = alt.Y("value:Q", scale=panel.y.scale(), axis=panel.y.axis())
    x = alt.X("x:Q", scale=panel.x.scale(), axis=panel.x.axis())
    rows = [
        {
            **p,
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
    rows = [
        {"id": None, "mark": "", "number": "", "trial": "", "interval": "", "ring": False, **r}
        for r in rows
    ]
    dash = alt.StrokeDash(
        "dash:N", scale=alt.Scale(domain=list(DASHES), range=list(DASHES.values())), legend=None
    )
    shape = alt.Shape("shape:N", scale=None)
    colour = alt.Color("colour:N", scale=None)
    names = [alt.Tooltip(f"{key}:N") for key in ("trial", "text", "interval", "status", "mark")]
    base = (
        data.chart(rows)
        .transform_filter("datum.value !== null && datum.x !== null")
        .encode(x=x, y=y)
    )
    dots = base.transform_filter("datum.dots")
    behind, before = _levels(data, panel, panel.levels) if panel.levels else ([], [])
    layers: list[Any] = behind
    layers += [
        base.mark_line(clip=True).encode(
            color=colour,
            detail=alt.Detail("series:N"),
            strokeDash=dash,
            strokeWidth=alt.StrokeWidth("width:Q", scale=None),
        ),
        dots.transform_filter(
            "datum.low > 0 && datum.high !== null"
            if panel.y.log
            else "datum.low !== null && datum.high !== null"
        )
        .mark_rule(strokeWidth=1, clip=True)
        .encode(y=alt.Y("low:Q", scale=panel.y.scale()), y2=alt.Y2("high:Q"), color=colour),
        dots.transform_filter(GOOD)
        .mark_point(filled=True, size=26, opacity=1, clip=True)
        .encode(shape=shape, color=colour, tooltip=names),
        dots.transform_filter(FLAGGED)
        .mark_point(
            shape="triangle-up",
            size=40 if numbered else 24,
            stroke=ALARM,
            strokeWidth=1.3,
            fill="white",
            opacity=1,
            clip=True,
        )
        .encode(tooltip=names),
    ]
    if any(r["ring"] for r in rows):
        ringed = dots.transform_filter("datum.ring")
        layers.append(
            ringed.mark_point(
                shape="circle",
                size=130,
                stroke=INK,
                strokeWidth=0.9,
                filled=False,
                opacity=1,
                clip=True,
            )
        )
    low = panel.y.domain[0]
    layers.append(
        dots.transform_filter(f"datum.value < {low!r}")
        .mark_text(text="↓", fontSize=11, dy=-7)
        .encode(y=alt.YDatum(low))
    )
    if numbered:
        layers.append(
            dots.transform_filter(f"{FLAGGED} && datum.value >= {low!r}")
            .mark_text(dy=-9, fontSize=9, color=ALARM)
            .encode(text=alt.Text("number:N"))
        )
    layers += [*before, *_marks(data, panel), _end_labels(data, panel)]
    title = {"text": panel.title, "fontSize": 12, "anchor": "start"} if panel.title else ""
    return joined("layer", *layers, width=panel.width, height=panel.height, title=title)


def _marks(data: Data, panel: Panel) -> list[Any]:
    if not panel.marks:
        return []
    chart = data.chart([{"at": at, "label": label} for at, label in panel.marks])
    x = alt.X("at:Q", scale=panel.x.scale())
    names = chart.encode(x=x, y=YValue(0), text=alt.Text("label:N"))
    style: dict[str, Any] = {
        "angle": 270,
        "align": "right",
        "baseline": "bottom",
        "dx": -3,
        "dy": -3,
        "fontSize": 10,
        "color": SOFT,
    }
    return [
        chart.mark_rule(strokeDash=[4, 3], color=GREY).encode(x=x),
        names.mark_text(**style, **HALO),
        names.mark_text(**style),
    ]


def _pixel(panel: Panel, value: float) -> float:
    """Height above the bottom of the panel."""
    low, high = panel.y.domain
    if panel.y.log:
        return panel.height * math.log(max(value, low) / low) / math.log(high / low)
    return panel.height * (value - low) / (high - low)


def _end_labels(data: Data, panel: Panel) -> Drawing:
    """Labels at the right ends of lines, moved apart where they would overlap."""
    ends: list[tuple[float, Series]] = []
    for line in panel.series:
        drawn = [p for p in line.rows if p["value"] is not None and p["x"] is not None]
        if line.name and drawn:
            ends.append((_pixel(panel, max(drawn, key=_x)["value"]), line))
    ends.sort(key=lambda end: end[0])
    apart: list[float] = []
    for place, _ in ends:
        apart.append(max(place, apart[-1] + LABEL if apart else 4.0))
    most = float(panel.height)
    for i in reversed(
        range(len(apart))
    ):  # labels above the panel's top move down, and push down those that they meet
        apart[i] = min(apart[i], most)
        most = apart[i] - LABEL
    rows = [
        {"line": line.name, "colour": line.colour, "y": panel.height - a}
        for (_, line), a in zip(ends, apart)
    ]
    names = data.chart(rows).mark_text(align="left", fontSize=10.5, dx=6, fontWeight="bold")
    y = alt.Y("y:Q", scale=None, axis=None)
    return names.encode(
        x=XValue(panel.width), y=y, text=alt.Text("line:N"), color=alt.Color("colour:N", scale=None)
    )


def _x(point: Row) -> float:
    return float(point["x"])


def _levels(data: Data, panel: Panel, finding: Finding) -> tuple[list[Any], list[Any]]:
    """Plateaus as broad bars, their ends as columns, behind the curves; their names in front."""
    left, right = panel.x.domain
    bars, columns = [], []
    for level in finding.levels:
        p, e = level.plateau, level.edge
        if p and level.time:
            cycles = "" if level.cycles is None else f", {units.number(level.cycles)} cycles"
            first, last = max(p.first * panel.scale, left), min(p.last * panel.scale, right)
            late = first > math.sqrt(left * right) * 4  # its name would leave the picture
            text = f"{level.name}: {units.quantity(level.time, 's')}{cycles}"
            bars.append(
                {"first": first, "last": last, "value": level.time, "label": text, "late": late}
            )
        if e:
            columns.append(
                {
                    "low": e.low * panel.scale,
                    "high": e.high * panel.scale,
                    "label": f"{level.name} ends",
                }
            )
    x, y = panel.x.scale(), alt.Y("value:Q", scale=panel.y.scale())
    column, bar = data.chart(columns), data.chart(bars)
    behind = [
        column.mark_rect(color="#bdbdbd", opacity=0.45, stroke="#9a9a9a", strokeWidth=0.8).encode(
            x=alt.X("low:Q", scale=x), x2=alt.X2("high:Q")
        ),
        column.mark_text(
            angle=270, align="right", baseline="bottom", dx=-3, dy=-3, fontSize=10, color=GREY
        ).encode(x=alt.X("low:Q", scale=x), y=YValue(0), text=alt.Text("label:N")),
        bar.mark_rule(strokeWidth=9, opacity=0.25, color=GREY).encode(
            x=alt.X("first:Q", scale=x), x2=alt.X2("last:Q"), y=y
        ),
    ]
    before = []
    ends: tuple[tuple[bool, str, Any], ...] = ((False, "first", "left"), (True, "last", "right"))
    for late, end, align in ends:
        names = bar.transform_filter(f"datum.late === {str(late).lower()}").encode(
            x=alt.X(f"{end}:Q", scale=x), y=y, text=alt.Text("label:N")
        )
        for style in (HALO, {}):
            before.append(names.mark_text(align=align, dy=14, fontSize=10.5, color=INK, **style))
    return behind, before


def shares(load: Sequence[Row]) -> list[Row]:
    """The share of the TLB in the time of `cycle`: (base - huge) / base at the same size and
    setting, with the interval that both allow."""
    own = [
        r for r in load if r["size"] and r["variant"] == "cycle" and r["chains"] == 1 and r["value"]
    ]
    found = []
    for h in own:
        if h["pages"] not in HUGE:
            continue
        b = next(
            (
                r
                for r in own
                if r["pages"] == "base"
                and all(r[k] == h[k] for k in ("size", "element", "stride", "threads"))
            ),
            None,
        )
        if b is None:
            continue
        known = None not in (b["low"], b["high"], h["low"], h["high"])
        worse = graver(b, h)
        found.append(
            {
                "x": h["size"],
                "pages": h["pages"],
                "value": 1 - h["value"] / b["value"],
                "low": 1 - h["high"] / b["low"] if known else None,
                "high": 1 - h["low"] / b["high"] if known else None,
                "base": b["value"],
                "huge": h["value"],
                **worse,
                "text": units.percent(1 - h["value"] / b["value"]),
                "number": "" if worse["flag"] is None else f"▲{worse['flag']}",
                "mark": mark(worse),
            }
        )
    return found
