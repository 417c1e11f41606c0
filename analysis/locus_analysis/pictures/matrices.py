# SPDX-License-Identifier: Apache-2.0
"""Heat maps: threads on one node, memory on another."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from ..base import units
from ..records.rows import Cell, MatrixCell
from . import vega_lite as vl
from .charts import (
    BETTER,
    FLAGGED,
    GOOD,
    Data,
    Drawing,
    Picture,
    joined,
    mark,
    picture,
    why,
)
from .colours import INK, ON_DARK, ON_LIGHT, PAPER

HELP = (
    "Rows: node of the threads; columns: node of the memory. Darker is greater; below each value is"
    " its ratio to the best."
)


def matrix(cells: Sequence[MatrixCell], name: str, title: str) -> Picture:
    """A heat map for each variant and panel of each benchmark."""
    data, panels = Data(), []
    several = len({cell["benchmark"] for cell in cells}) > 1
    for (benchmark, variant, panel), group in groupby(sorted(cells, key=_panel_of), _panel_of):
        own = list(group)
        said = ", ".join(filter(None, (variant, panel)))
        said = f"{benchmark} {said}" if several else said
        of_what = f"{said}: {own[0]['metric']}{BETTER[own[0]['better']]}"
        panels.append(_heat_map(data, of_what, own))
    apart = {"scale": {"color": "independent"}}
    whole = joined("concat", *panels, columns=2, spacing=40, resolve=apart)
    return picture(name, title, HELP, cells, [whole], data)


def _panel_of(cell: Cell) -> tuple[str, str, str]:
    return cell["benchmark"], cell["variant"], cell["panel"]


def _heat_map(data: Data, title: str, cells: list[MatrixCell]) -> Drawing:
    rows = [
        {
            "id": c["id"],
            "threads_node": c["threads_node"],
            "memory_node": c["memory_node"],
            "value": c["value"],
            "low": c["low"],
            "high": c["high"],
            "flag": c["flag"],
            "status": c["status"],
            "text": units.measured(c, none="no value"),
            "of_best": _of_best(c),
            "mark": mark(c),
            "why": why(c),
            "dark": bool(
                c["value"] and c["flag"] is None and c["value"] > 0.75 * (c["greatest"] or 0)
            ),
            "interval": units.interval(c["low"], c["high"], c["unit"], c["range"]),
        }
        for c in cells
    ]
    ordered = sorted(cells, key=lambda c: c["memory_order"] or 0)
    columns = list(dict.fromkeys(c["memory_node"] for c in ordered))
    lines = list(dict.fromkeys(c["threads_node"] for c in cells))
    axis = {
        "labelAngle": 0,
        "labelLimit": 300,
        "domain": False,
        "ticks": False,
        "labelPadding": 6,
    }
    x = vl.nominal("memory_node", title="memory on node", sort=columns, axis=axis)
    y = vl.nominal("threads_node", title="threads on node", sort=lines, axis=axis)
    told = ("threads_node", "memory_node", "text", "interval", "why")
    base = data.chart(rows).encode(x=x, y=y, tooltip=[vl.nominal(key) for key in told])
    scale = {"scheme": "blues", "domain": [0, cells[0]["greatest"] or 1]}
    colour = vl.quantitative("value", scale=scale, legend=None)
    lit = [{"test": "datum.dark", "value": ON_DARK}, {"test": FLAGGED, "value": INK}]
    return joined(
        "layer",
        base.where(GOOD).mark("rect", stroke=PAPER, strokeWidth=2).encode(color=colour),
        base.where(FLAGGED).mark("rect", fill=PAPER, stroke=INK, strokeWidth=2, strokeDash=[4, 2]),
        *(
            base.mark("text", dy=dy).encode(
                text=vl.nominal(field), color=vl.value(ON_LIGHT, condition=lit)
            )
            for field, dy in (("text", -15), ("of_best", 0), ("mark", 15))
        ),
        width=max(96 * len(columns), 120),
        height=64 * len(lines),
        title={"text": title, "fontSize": 12},
    )


def _of_best(cell: Cell) -> str:
    if not cell["value"] or not cell["greatest"] or cell["better"] is None:
        return ""
    if cell["better"] == "higher":
        return units.percent(cell["value"] / cell["greatest"])
    return f"{cell['value'] / cell['least']:.2f} ×" if cell["least"] else ""
