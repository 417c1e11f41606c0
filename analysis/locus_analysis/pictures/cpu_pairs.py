# SPDX-License-Identifier: Apache-2.0
"""Latency of moving a cache line between each pair of CPUs: heat maps, and tables by the level that
the two share."""

from __future__ import annotations

import statistics
import textwrap
from collections.abc import Sequence
from typing import Optional, TypedDict

from ..base import units
from ..records.description import in_words
from ..records.lines import Machine, Meetings
from ..records.rows import Cells, PairLevel, Pairs, Trial
from . import vega_lite as vl
from .charts import Data, Drawing, Picture, joined, mark, picture
from .colours import ALARM, INK, ON_DARK, ON_LIGHT, PAPER
from .vega_lite import Row, Spec

LEVELS = ("CPU", "SMT", "L2", "L3", "node", "package", "machine")  # from the closest
SHARE = {
    "CPU": "one CPU",
    "SMT": "a core (SMT)",
    "L2": "an L2 cache",
    "L3": "an L3 cache",
    "node": "a NUMA node",
    "package": "a package",
    "machine": "the machine only",
}
QUANTILES = {"0": "least", "0.25": "q1", "0.5": "median", "0.75": "q3", "0.99": "p99"}
SIDE = 520  # pixels of a map, about
DENSE = 64  # CPUs: with more, a file with a shape for each cell is too large
CELLS = 1 << 19  # in all maps of a run: 32 of 128 CPUs, 8 of 256; trials beyond that are bars
NAMED = 12  # CPUs that stand out, in a sentence
CROWDED = 1.1
APART = 1.5  # times that lie this factor apart are those of two levels

HELP = (
    "Median time in which a cache line goes from one CPU to another (both ways together, so both"
    " halves of the map are equal). Darker is longer; hover for values. CPUs that share a core,"
    " a cache or a node are side by side; lines separate nodes."
)


def maps(
    trials: Sequence[Trial], machine: Optional[Machine], name: str, title: str
) -> list[Picture]:
    """A heat map for each protocol, and for each home of the lines."""
    own = [(t, t["pairs"]) for t in trials if t["pairs"] and len(cpus_of(t["pairs"]["cells"])) > 2]
    # All protocols with the first home, then with the next.
    first = sorted(own, key=lambda of: (of[0]["parameters"].get("home", 0), of[0]["place"]))
    left = CELLS
    drawn: list[str] = []
    for t, pairs in first:
        left -= len(cpus_of(pairs["cells"])) ** 2
        drawn += [t["id"]] * (left >= 0 or not drawn)
    return [
        _map(t, pairs, machine, f"{name}-{i}" if len(own) > 1 else name, f"{title}: {in_words(t)}")
        for i, (t, pairs) in enumerate(own, 1)
        if t["id"] in drawn
    ]


def cpus_of(cells: Cells) -> list[int]:
    return sorted({*cells["a"], *cells["b"]})


def in_order(cells: Cells, machine: Optional[Machine]) -> tuple[list[int], list[int]]:
    """The CPUs in the machine's order, and the indexes at which a new node begins."""
    node_of = {
        cpu: place
        for place, node in enumerate(machine["topology"]["nodes"] if machine else [])
        for cpu in node["cpus"]
    }
    cpus = cpus_of(cells)
    first = {
        level: {cpu: cpu for cpu in cpus} for level in LEVELS
    }  # by level and CPU: the lowest CPU with which it shares that level or a closer one
    for a, b, level in zip(cells["a"], cells["b"], cells["level"]):
        for shared in LEVELS[LEVELS.index(level) :]:
            first[shared][a], first[shared][b] = min(first[shared][a], b), min(first[shared][b], a)
    finer = [level for level in reversed(LEVELS) if LEVELS.index(level) <= LEVELS.index("L3")]
    order = sorted(
        cpus,
        key=lambda c: (
            first["package"][c],
            node_of.get(c, 0),
            first["node"][c],
            *(first[level][c] for level in finer),
            c,
        ),
    )
    begin = [
        i for i in range(1, len(order)) if node_of.get(order[i], 0) != node_of.get(order[i - 1], 0)
    ]
    return order, begin


def _map(trial: Trial, pairs: Pairs, machine: Optional[Machine], name: str, title: str) -> Picture:
    cells = pairs["cells"]
    order, borders = in_order(cells, machine)
    size = max(2, min(60, SIDE // len(order)))  # pixels of a cell
    side = size * len(order)
    data = Data()
    base = _both_halves(data.chart([_columns(cells)]))
    values = sorted(v * 1e9 for v in cells["0.5"] if v is not None) or [0.0]
    ends = [
        values[len(values) // 100],
        values[-1 - len(values) // 100],
    ]  # without the outermost hundredths: single odd cells would use up the colour scale
    every = next(n for n in (1, 2, 4, 8, 16, 32, 64) if n * size >= 6 + 7 * len(str(max(order))))
    axis = {
        "labelAngle": 0,
        "labelOverlap": False,
        "domain": False,
        "ticks": False,
        "values": order[::every],
        "labelPadding": 3,
    }
    scale = {"domain": order, "paddingInner": 0, "paddingOuter": 0}
    x, y = (vl.ordinal(of, title="CPU", axis=axis, scale=scale) for of in ("x", "y"))
    edges = (
        ("x", vl.ordinal("x", bandPosition=0)),
        ("y", vl.ordinal("y", bandPosition=0)),
    )
    colour = vl.quantitative(
        "median",
        scale={"scheme": "viridis", "reverse": True, "domain": ends, "clamp": True},
        legend={"title": "median, ns", "gradientLength": min(200, side)},
    )
    quantities = [
        vl.quantitative(key, format=".4~g", title=f"{key} (ns)") for key in QUANTILES.values()
    ]
    tooltip = [
        vl.ordinal("x", title="CPU"),
        vl.ordinal("y", title="and CPU"),
        vl.nominal("share"),
    ]
    layers: list[Drawing] = [
        base.mark("rect").encode(x=x, y=y, color=colour, tooltip=[*tooltip, *quantities])
    ]
    if size >= 28:
        # White stands out from the dark end of the scale; Vega's test is false below its ends.
        darker = f"datum.median > {0.43 * ends[0] + 0.57 * ends[1]!r}"
        white = vl.value(ON_LIGHT, condition=[{"test": darker, "value": ON_DARK}])
        layers.append(
            base.mark("text", fontSize=10).encode(
                x=x, y=y, text=vl.quantitative("median", format=".3~s"), color=white
            )
        )
    if borders:
        at = data.chart([{"x": order[b], "y": order[b]} for b in borders])
        for line, width in ((PAPER, 3), (INK, 1)):
            layers += [
                at.mark("rule", color=line, strokeWidth=width).encode(**{end: of})
                for end, of in edges
            ]
    flagged = trial["flag"] is not None
    view: Spec = (
        {"stroke": ALARM, "strokeWidth": 2, "strokeDash": [4, 2]} if flagged else {"stroke": None}
    )
    heading = {"text": mark(trial), "fontSize": 12, "color": ALARM} if flagged else {"text": ""}
    chart = joined("layer", *layers, width=side, height=side, title=heading, view=view)
    whole = joined("hconcat", chart, resolve={"scale": {"color": "independent"}})
    extra = [
        text for part in (outstanding(pairs), crowding(pairs)) for text in textwrap.wrap(part, 130)
    ]
    drawn = picture(name, title, HELP, [trial], [whole], data, extra)
    if len(order) > DENSE:
        drawn.dense = {"size": size, "names": order, "values": _median_of_each(cells, order)}
        drawn.spec["usermeta"] = {"embedOptions": {"renderer": "canvas"}}
    return drawn


def _median_of_each(cells: Cells, order: Sequence[int]) -> list[Optional[float]]:
    """In ns, by CPU: the median with all CPUs before it in the order."""
    of: dict[tuple[int, int], Optional[float]] = {}
    for a, b, median in zip(cells["a"], cells["b"], cells["0.5"]):
        of[a, b] = of[b, a] = None if median is None else float(f"{median * 1e9:.3g}")
    return [of.get((a, b)) for i, a in enumerate(order) for b in order[:i]]


def _columns(cells: Cells) -> Row:
    """All pairs as columns in one row, as in the record: one row a pair would repeat each name
    thousands of times."""
    found: dict[str, object] = {
        "a": cells["a"],
        "b": cells["b"],
        "level": [LEVELS.index(level) for level in cells["level"]],
    }
    times = (cells["0"], cells["0.25"], cells["0.5"], cells["0.75"], cells["0.99"])
    for key, of in zip(QUANTILES.values(), times):
        found[key] = [None if v is None else _short(v) for v in of]
    return found


def _short(time: float) -> float:
    """In ns, with three digits."""
    digits = float(f"{time * 1e9:.3g}")
    return int(digits) if digits == int(digits) else digits


def _both_halves(chart: vl.Chart) -> vl.Chart:
    """Rows of cells from a row of columns: (a, b), and (b, a)."""
    return chart.transform(
        {"flatten": ["a", "b", "level", *QUANTILES.values()]},
        {"calculate": "[datum.a, datum.b]", "as": "x"},
        {"calculate": "[datum.b, datum.a]", "as": "y"},
        {"flatten": ["x", "y"]},
        {"calculate": f"{list(SHARE.values())}[datum.level]", "as": "share"},
        {"filter": vl.known("median")},
    )


# In words.


class Level(TypedDict):
    """What the page shows of a level."""

    name: str
    pairs: int
    meetings: Optional[int]
    quantiles: list[Optional[float]]
    medians: Optional[tuple[float, float]]
    seen: tuple[float, ...]


class Table(Trial):
    name: str
    levels: list[Level]
    said: list[str]


def tables(trials: Sequence[Trial]) -> list[Table]:
    """For each protocol and home: the levels, and remarks."""
    own = [(t, t["pairs"]) for t in trials if t["pairs"]]
    return [
        {
            **t,
            "name": in_words(t),
            "levels": [_level(t, level) for level in pairs["levels"]],
            "said": [text for text in (outstanding(pairs), crowding(pairs)) if text],
        }
        for t, pairs in own
    ]


def _level(trial: Trial, level: PairLevel) -> Level:
    """The quantiles of all meetings of a level (older records lack them) and, if it has several
    pairs, the range of their medians."""
    meetings = level.get("meetings")
    return {
        "name": SHARE[level["level"]],
        "pairs": level["pairs"],
        "meetings": meetings["n"] if meetings else None,
        "quantiles": _quantiles(meetings),
        "medians": (level["0"], level["0.99"]) if level["pairs"] > 1 else None,
        "seen": times_seen(trial, level),
    }


def _quantiles(of: Optional[Meetings]) -> list[Optional[float]]:
    if of is None:
        return [None] * len(QUANTILES)
    return [of["0"], of["0.25"], of["0.5"], of["0.75"], of["0.99"]]


def times_seen(trial: Trial, level: PairLevel) -> tuple[float, ...]:
    """How long a line takes between CPUs of a level: the median; of a bimodal trial, which has one
    pair, its modes. Two times, too, where the medians of the runs, or in one run the quartiles of
    the meetings, lie in two groups: CPUs of a virtual machine may move, and share another cache
    than the guest is told."""
    levels = trial["pairs"]["levels"] if trial["pairs"] else []
    modes = trial["metrics"]["time"]["modes"]
    if modes and sum(own["pairs"] for own in levels) == 1:
        return tuple(sorted(mode["value"] for mode in modes))
    quartiles = [q for q in _quantiles(level.get("meetings"))[1:4] if q]
    values = sorted(level.get("runs") or quartiles)
    gaps = [high / low for low, high in zip(values, values[1:])]
    if max(gaps, default=1.0) <= APART:
        return (level["0.5"],)
    cut = gaps.index(max(gaps)) + 1
    return statistics.median(values[:cut]), statistics.median(values[cut:])


def outstanding(pairs: Pairs) -> str:
    """CPUs that differ from the others of their level."""
    parts = []
    for level in LEVELS:
        own = sorted(
            (o for o in pairs["outstanding"] if o["level"] == level),
            key=lambda o: -abs(o["median"] / o["of"] - 1),
        )
        if own:
            named = ", ".join(
                f"CPU {o['cpu']} ({units.quantity(o['median'], 's')})" for o in own[:NAMED]
            )
            more = f" and {len(own) - NAMED} more" if len(own) > NAMED else ""
            parts.append(
                f"among pairs that share {SHARE[level]}, where {units.quantity(own[0]['of'], 's')}"
                f" is usual: {named}{more}"
            )
    return f"CPUs that stand out {'; '.join(parts)}." if parts else ""


def crowding(pairs: Pairs) -> str:
    """Whether pairs that met at the same time slowed each other down."""
    found = pairs["crowding"]
    if found is None:
        return ""
    pairs_met = units.several(found["pairs"], "pair")
    median = f"(median; at most {found['most']:.2f})"
    text = (
        f"Side by side with others, {pairs_met} took {found['median']:.2f} times as long as alone"
        f" {median}"
    )
    crowded = [
        level["level"] for level in pairs["levels"] if (level.get("crowding") or 0) > CROWDED
    ]
    if crowded or found["median"] > CROWDED:
        where = f", at {' and '.join(crowded)}" if crowded else ""
        return (
            text
            + f": the pairs disturb each other{where}, and times there are longer than those of one"
            " pair alone."
        )
    return text + ": they don't disturb each other." if found["most"] <= CROWDED else text + "."
