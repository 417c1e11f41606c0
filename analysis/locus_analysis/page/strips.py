# SPDX-License-Identifier: Apache-2.0
"""A strip for each component: how the hosts of a class lie beside their median, and who is beyond
the limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..base import units
from ..cluster.components import NAMES
from ..pictures import bars, charts, colours
from ..pictures import vega_lite as vl
from ..pictures.vega_lite import Row, Spec

MOST_NAMED = 3  # hosts of a component
NAME = 110  # pixels: width of a component's name
SHARES = (0.05, 0.25, 0.75, 0.95)
LEAST, MOST = 0.5, 4.0  # ratios that are drawn where they are
TICKS = (0.5, 0.7, 0.8, 0.9, 0.95, 1, 1.05, 1.1, 1.25, 1.5, 2, 3, 4)
HELP = (
    "A row for each component: each host's second slowest metric, of the clock the median, beside"
    " its class. Bar: half of the hosts; line: 90 % of them; red: beyond the limit of healthy"
    " hosts, the worst by name. Right is slower."
)
HELP_ONE = HELP.replace(
    "red: beyond the limit of healthy hosts, the worst by name",
    "circle: this host, red if it is beyond the limit of healthy hosts",
)


class Cell(NamedTuple):
    host: str
    component: str
    effect: float  # logarithm of its time to the class's; NaN: not known
    score: float  # over the limit


def picture(
    of: Mapping[str, Sequence[Cell]], name: str, title: str, one: str = ""
) -> charts.Picture:
    """`of`: the cells of each host of a class, which know a component or more. `one`: the host that
    is marked instead of those beyond the limit."""
    cells = [c for own in of.values() for c in own if np.isfinite(c.effect)]
    shown = [n for n in NAMES if any(c.component == n for c in cells)]
    parts = [[c for c in cells if c.component == n] for n in shown]
    marked = [[c for c in own if (c.host == one if one else c.score > 1)] for own in parts]
    boxes = [_box(i, own, marked[i]) for i, own in enumerate(parts)]
    points = [_point(i, c) for i, own in enumerate(marked) for c in own]
    data = charts.Data()
    y = vl.ordinal("row", axis=None, scale={"type": "band", "paddingInner": 0.3})
    box, point = data.chart(boxes).encode(y=y), data.chart(points).encode(y=y)
    x = _axis(boxes, points)
    told = [vl.nominal("component"), vl.nominal("spread")]
    height = charts.ROW * len(boxes)
    strip = charts.joined(
        "layer",
        box.mark("rule", color=colours.GREY, size=1.5).encode(
            x=x("low5"), x2=vl.end("high95"), tooltip=told
        ),
        box.mark("bar", color=bars.BLUE).encode(x=x("low"), x2=vl.end("high"), tooltip=told),
        box.mark("tick", color=colours.INK, thickness=1.5).encode(x=x("one"), tooltip=told),
        point.mark("point", filled=False, size=26, opacity=1).encode(
            x=x("ratio"),
            color=vl.nominal("colour", scale=None),
            tooltip=[vl.nominal("host"), vl.quantitative("ratio", format=".3f")],
        ),
        width=380,
        height=height,
    )
    text = {"fontSize": 11, "color": colours.INK}
    names = box.mark("text", align="right", **text).encode(
        x=vl.value(NAME), text=vl.nominal("component")
    )
    worst = box.mark("text", align="left", **text).encode(x=vl.value(0), text=vl.nominal("named"))
    bare = {"height": height, "view": {"stroke": None}}
    panel = charts.joined(
        "hconcat",
        charts.spec_of(names, width=NAME, **bare),
        strip,
        charts.spec_of(worst, width=260, **bare),
        spacing=8,
    )
    return charts.picture(name, title, HELP_ONE if one else HELP, [], [panel], data)


def _box(row: int, cells: Sequence[Cell], marked: Sequence[Cell]) -> Row:
    ratios = np.exp([c.effect for c in cells])
    low5, low, high, high95 = (float(q) for q in np.quantile(ratios, SHARES))
    worst = sorted(marked, key=lambda c: -c.score)
    named = [f"{c.host} {np.exp(c.effect):.2f}" for c in worst]
    return {
        **{"row": row, "component": cells[0].component, "one": 1, "named": _some(named)},
        **{"low5": low5, "low": low, "high": high, "high95": high95},
        "spread": f"{units.several(len(cells), 'host')}, 90 % between {low5:.3f} and {high95:.3f}",
    }


def _some(named: Sequence[str]) -> str:
    return units.some(named, MOST_NAMED) if named else ""


def _point(row: int, c: Cell) -> Row:
    colour = colours.ALARM if c.score > 1 else colours.INK
    ratio = round(float(np.exp(c.effect)), 4)
    return {"row": row, "host": c.host, "ratio": ratio, "colour": colour}


def _axis(boxes: Sequence[Row], points: Sequence[Row]) -> Callable[[str], Spec]:
    """Makes the channel x of a column."""
    ratios = [float(str(b[end])) for b in boxes for end in ("low5", "high95")]
    ratios += [float(str(p["ratio"])) for p in points]
    low = max(LEAST, min([0.95, *ratios])) * 0.99
    high = min(MOST, max([1.05, *ratios])) * 1.01
    scale = {"type": "log", "domain": [low, high], "nice": False, "clamp": True}
    axis = {
        "title": "time / median of the class",
        "values": [tick for tick in TICKS if low <= tick <= high],
        "labelExpr": "format(datum.value, '~g')",
    }
    return lambda column: vl.quantitative(column, scale=scale, axis=axis)
