# SPDX-License-Identifier: Apache-2.0
"""The network between nodes, pair by pair: a heat map of each metric that `locus sick` judges."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import duckdb
import numpy as np

from ..cluster import fabric, switches
from ..cluster.fabric import Network
from ..cluster.rule import Array
from ..cluster.switches import Level
from ..pictures import charts, colours
from ..pictures import vega_lite as vl
from ..pictures.vega_lite import Row, Spec

MOST_NODES = 64  # more: only the nodes of the WORST pairs
WORST = 32
SIDE = 520  # pixels of a map, about
FURTHEST = 4.0  # a ratio that has the full colour
BETTER, ALIKE, WORSE = "#2166AC", "#F3F3F3", colours.ALARM
COLOUR: Spec = {
    "type": "log",
    "domain": [1 / FURTHEST, 1, FURTHEST],
    "range": [BETTER, ALIKE, WORSE],
    "clamp": True,
}
LEGEND: Spec = {"title": "times worse", "values": [0.25, 0.5, 1, 2, 4], "format": "~g"}
HELP = (
    "Rows and columns: nodes. Colour: how much worse (red) or better (blue) than the median of all"
    " pairs a pair of nodes is. A node that is slow to all has a red row and column, a slow pair"
    " two red cells. White: not measured."
)
BY_SWITCH = " Nodes of a switch stand together: one that is slow has red stripes or a red square."


def of(db: duckdb.DuckDBPyConnection) -> Network:
    return fabric.read(db)


def pictures(network: Network, levels: Sequence[Level] = ()) -> list[charts.Picture]:
    if len(network.nodes) < 3:
        return []
    shown = fabric.PREEMPTED if network.noisy else fabric.QUIET
    named = [name for name in shown if np.isfinite(network.y[name]).any()]
    return [_map(network, name, levels[-1] if levels else {}) for name in named]


def _drawn(network: Network, far: Array) -> list[int]:
    """The nodes of a map: all, or those of the pairs that are furthest from the others."""
    if len(network.nodes) <= MOST_NODES:
        return [*range(len(network.nodes))]
    worst = np.argsort(-np.nan_to_num(far))
    ends = chain.from_iterable((int(network.a[i]), int(network.b[i])) for i in worst)
    return sorted([*dict.fromkeys(ends)][:WORST])


def _map(network: Network, metric: str, leaves: Level) -> charts.Picture:
    far = network.y[metric] - np.nanmedian(network.y[metric])
    drawn = _drawn(network, far)
    switch = {n: switches.of(n, leaves) for n in network.nodes}
    names = sorted((network.nodes[i] for i in drawn), key=lambda n: switch[n])
    own = {*drawn}
    rows: list[Row] = []
    for a, b, effect in zip(network.a, network.b, far):
        if not np.isfinite(effect) or not {int(a), int(b)} <= own:
            continue
        ratio = float(np.exp(effect))
        cell = {"ratio": round(ratio, 3), "shown": min(max(ratio, 1 / FURTHEST), FURTHEST)}
        for one, other in ((a, b), (b, a)):
            ends = {"node": network.nodes[one], "with": network.nodes[other]}
            between = f"{switch[ends['node']]} - {switch[ends['with']]}"
            rows.append({**ends, **cell, **({"switches": between} if leaves else {})})
    fewer = f", the {len(names)} worst" if len(names) < len(network.nodes) else ""
    size = max(6, min(40, SIDE // len(names)))
    word = metric.partition("-")[0]
    data = charts.Data()
    axis = {"domain": False, "ticks": False, "labelOverlap": "greedy"}
    scale = {"domain": names, "paddingInner": 0, "paddingOuter": 0}
    drawing = (
        data.chart(rows)
        .mark("rect")
        .encode(
            x=vl.nominal("with", title=None, scale=scale, axis={**axis, "orient": "top"}),
            y=vl.nominal("node", title=None, scale=scale, axis=axis),
            color=vl.quantitative("shown", scale=COLOUR, legend=LEGEND),
            tooltip=[
                vl.nominal("node"),
                vl.nominal("with"),
                *([vl.nominal("switches")] if leaves else []),
                vl.quantitative("ratio", title="times worse", format=".3f"),
            ],
        )
    )
    side = size * len(names)
    chart = charts.joined("layer", drawing, width=side, height=side, view={"stroke": None})
    title = f"{word.capitalize()} between {len(network.nodes)} nodes{fewer}"
    return charts.picture(
        f"network-{word}", title, HELP + (BY_SWITCH if leaves else ""), [], [chart], data
    )
