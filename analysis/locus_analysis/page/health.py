# SPDX-License-Identifier: Apache-2.0
"""How each host lies beside its class, component by component: strips, and a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from statistics import median

import numpy as np

from ..base import units
from ..cluster.components import NAMES
from ..cluster.sick import Campaign
from ..pictures import charts, colours
from ..pictures import vega_lite as vl
from ..pictures.vega_lite import Row
from . import strips
from .strips import Cell

MOST_HOSTS = 1000  # more: only the WORST of them
WORST = 200
FASTER, ALIKE, SLOWER = "#2166AC", "#F3F3F3", colours.ALARM
FURTHEST = 1.25  # a ratio that has the full colour
SLIGHT = 0.01  # a logarithm that has the colour of none
CELL = 62  # pixels: width
HELP = (
    "Rows: hosts; columns: components. Colour: how much slower (red) or faster (blue) than the"
    " class a host's second slowest metric is, for the clock the median. Framed: beyond the limit"
    " of healthy hosts. White: too few metrics."
)


REST = (0.95, 0.75, 0.5, 0.25, 0.05)  # quantiles of hosts that have no row


def pictures(campaigns: Sequence[Campaign]) -> list[charts.Picture]:
    """Of each class strips and a heat map; of several campaigns their medians."""
    classes: dict[int, list[Campaign]] = {}
    for campaign in campaigns:  # those of a class follow one another, the largest first
        classes.setdefault(campaign.group, []).append(campaign)
    parts = [_by_host(own) for own in classes.values()]
    kept = _worst(parts)
    titles = [
        f"{units.several(len(p), 'host')} with {c[0].cpu}" for p, c in zip(parts, classes.values())
    ]
    made = []
    for i, (part, title) in enumerate(zip(parts, titles), 1):
        number = f"-{i}" if len(parts) > 1 else ""
        if any(np.isfinite(c.effect) for own in part.values() for c in own):
            made.append(strips.picture(part, f"strips{number}", f"Components: {title}"))
        shown = {host: cells for host, cells in part.items() if host in kept}
        if shown:
            rest = [c for host, own in part.items() if host not in kept for c in own]
            fewer = f", the {len(shown)} worst, and quantiles of the rest" if rest else ""
            shown.update(_quantiles(rest))
            made.append(
                _picture(shown, f"health{number}", f"Hosts beside their class: {title}{fewer}")
            )
    return made


def beside(campaigns: Sequence[Campaign], host: str) -> list[charts.Picture]:
    """The strips of a host's class, with the host in each."""
    of = _by_host(campaigns)
    if not any(np.isfinite(c.effect) for own in of.values() for c in own):
        return []
    title = f"{host} beside {units.several(len(of), 'host')} with {campaigns[0].cpu}"
    return [strips.picture(of, "beside", title, host)]


def _by_host(campaigns: Sequence[Campaign]) -> dict[str, list[Cell]]:
    """The cells of each host, in order of its name."""
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for one in campaigns:
        pairs = np.stack([one.seen.effect, one.seen.score / one.class_.limit], axis=-1)
        known = np.asarray(np.isfinite(pairs).all(-1))
        for host, of_host, there in zip(one.hosts, pairs.tolist(), known.tolist()):
            for name, pair, is_known in zip(one.class_.components, of_host, there):
                found.setdefault((host, name), []).extend([pair] if is_known else [])
    cells: dict[str, list[Cell]] = {}
    for (host, name), own in sorted(found.items()):
        middle = map(median, zip(*own)) if own else (np.nan, np.nan)
        cells.setdefault(host, []).append(Cell(host, name, *middle))
    return cells


def _quantiles(rest: Sequence[Cell]) -> dict[str, list[Cell]]:
    """Rows that stand for hosts without one, by their names."""
    of: dict[str, list[Cell]] = {}
    for cell in rest:
        if np.isfinite(cell.effect):
            of.setdefault(cell.component, []).append(cell)
    named = {f"rest: {share:.0%}": share for share in REST} if of else {}
    return {
        name: [
            Cell(
                name,
                component,
                float(np.quantile([c.effect for c in cells], share)),
                float(np.quantile([c.score for c in cells], share)),
            )
            for component, cells in of.items()
        ]
        for name, share in named.items()
    }


def _worst(parts: Sequence[dict[str, list[Cell]]]) -> set[str]:
    """The hosts that are drawn."""
    worst = {h: max(_known(c.score) for c in own) for p in parts for h, own in p.items()}
    if len(worst) <= MOST_HOSTS:
        return {*worst}
    return {*sorted(worst, key=lambda h: -worst[h])[:WORST]}


def _known(score: float) -> float:
    return 0.0 if isnan(score) else score


def _picture(of: dict[str, list[Cell]], name: str, title: str) -> charts.Picture:
    hosts = [*of]
    cells = [c for own in of.values() for c in own]
    columns = [n for n in NAMES if any(c.component == n and np.isfinite(c.score) for c in cells)]
    high = max(2, min(charts.ROW, 1600 // len(hosts)))  # pixels: height of a row
    drawn = [c for c in cells if c.component in columns]
    rows = [_row(c) for c in drawn if not abs(c.effect) < SLIGHT or c.score > 1]
    beyond = {c.host for c in cells if c.score > 1}
    known = [h for h in hosts if high > 8 or h in beyond or h.startswith("rest: ")]
    axis = {"domain": False, "ticks": False, "labelPadding": 6}
    x = vl.nominal(
        "component",
        title=None,
        sort=columns,
        scale={"domain": columns, "paddingInner": 0, "paddingOuter": 0},
        axis={**axis, "orient": "top", "labelAngle": -30},
    )
    y = vl.nominal(
        "host",
        title=None,
        sort=hosts,
        scale={"domain": hosts, "paddingInner": 0, "paddingOuter": 0},
        axis={**axis, "values": known, "labelOverlap": "greedy"},
    )
    data = charts.Data()
    base = data.chart(rows).encode(x=x, y=y)
    colour = vl.quantitative(
        "shown",
        scale={
            "type": "log",
            "domain": [1 / FURTHEST, 1, FURTHEST],
            "range": [FASTER, ALIKE, SLOWER],
            "clamp": True,
        },
        legend={"title": "time / class", "values": [0.8, 0.9, 1, 1.1, 1.25], "format": "~g"},
    )
    told = [
        vl.nominal("host"),
        vl.nominal("component"),
        vl.quantitative("ratio", title="time / class", format=".3f"),
        vl.quantitative("score", title="score / limit", format=".2f"),
    ]
    chart = charts.joined(
        "layer",
        base.where(vl.unknown("ratio")).mark("rect", fill=colours.PAPER),
        base.where(vl.known("ratio")).mark("rect").encode(color=colour, tooltip=told),
        base.where({"field": "score", "gt": 1}).mark(
            "rect", filled=False, stroke=colours.INK, strokeWidth=1 if high > 4 else 0.5
        ),
        width=CELL * len(columns),
        height=high * len(hosts),
        view={"fill": ALIKE, "stroke": None},
    )
    return charts.picture(name, title, HELP, [], [chart], data)


def _row(c: Cell) -> Row:
    known = np.isfinite(c.effect)
    ratio = float(np.exp(c.effect)) if known else None
    return {
        "host": c.host,
        "component": c.component,
        "ratio": round(ratio, 4) if ratio else None,
        "shown": round(min(max(ratio, 1 / FURTHEST), FURTHEST), 3) if ratio else None,
        "score": round(c.score, 2) if known else 0,
    }
