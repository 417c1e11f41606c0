# SPDX-License-Identifier: Apache-2.0
"""Many hosts: trials of a few hosts are drawn host by host; of more than eight, as distributions,
with outliers named on hover. Who is sick among them, cluster/ says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional, TypedDict

import duckdb

from ..base import units
from ..pictures import bars, charts, colours
from ..pictures import vega_lite as vl
from ..pictures.vega_lite import Row, Spec
from ..records import hosts
from ..records.database import select
from ..records.lines import Header
from ..records.rows import Outcome

FAR = 3.5  # robust standard deviations from the median: such a host stands out
SLIGHT = 0.02  # of the median: a host nearer to it does not stand out, however alike the others are
TOLD = 20  # hosts that are drawn as points in a row, at most
LETTER = 6.5  # pixels: width of most letters
LONG = 60  # characters of a label
HELP = (
    "Each row is a trial, its values divided by the median over the hosts. Thick: the middle half"
    " of the hosts; thin: from the 5th to the 95th percentile; points: hosts that stand out, by"
    " name on hover in the page. At the right the median, and how many hosts have a value."
)

# The first run of a trial describes it. A host with repeats counts by their median, and as sound
# if all of them are. Of hosts with equal values the first by name is told.
QUERY = f"""
CREATE OR REPLACE TEMP TABLE first AS
SELECT id, arg_min(whole, position) AS whole, arg_min(benchmark, position) AS benchmark,
	arg_min(variant, position) AS variant, arg_min(alike, position) AS alike
FROM shown GROUP BY id;

CREATE OR REPLACE TEMP TABLE described AS
SELECT id, benchmark, variant, setting, everything, name AS metric, unit, better
FROM first JOIN label USING (alike)
	JOIN (SELECT whole, id, name, unit, better FROM metric WHERE place = 1) USING (whole, id);

CREATE OR REPLACE TEMP TABLE of_host AS
SELECT id, host, min(shown.place) AS place, median(value) AS value,
	bool_and(status IN ('ok', 'unconverged')) AS sound, max(status) AS status
FROM shown JOIN (SELECT whole, id, value FROM metric WHERE place = 1) USING (whole, id)
	JOIN (SELECT run AS whole, host FROM run) USING (whole)
GROUP BY id, host;

CREATE OR REPLACE TEMP TABLE of_trial AS
WITH own AS (
	SELECT id, min(place) AS place, count(value) AS hosts, median(value) AS middle,
		quantile_cont(value, 0.05) AS low5, quantile_cont(value, 0.25) AS low,
		quantile_cont(value, 0.75) AS high, quantile_cont(value, 0.95) AS high95,
		mad(value) * 1.4826 AS deviation,
		arg_min(host, (value, host)) FILTER (value IS NOT NULL) AS least_host,
		min(value) AS least,
		arg_min(host, (-value, host)) FILTER (value IS NOT NULL) AS most_host,
		max(value) AS most,
		count(*) FILTER (NOT sound) AS unsound
	FROM of_host GROUP BY id)
SELECT own.*, benchmark, variant, setting, everything, metric, unit, better
FROM own JOIN described USING (id);

CREATE OR REPLACE TEMP TABLE outstanding AS
SELECT o.host, t.id, t.benchmark, o.value, o.value / t.middle AS ratio, o.status, o.sound,
	abs(o.value - t.middle) / greatest(t.deviation, {SLIGHT} / {FAR} * abs(t.middle)) AS far
FROM of_host o JOIN of_trial t USING (id)
WHERE t.middle <> 0 AND t.hosts > {hosts.FEW}
	AND abs(o.value - t.middle)
		> greatest({FAR} * t.deviation, {SLIGHT} * abs(t.middle));
"""


class OfTrial(TypedDict):
    """A trial over all hosts."""

    id: str
    place: int
    benchmark: str
    variant: str
    setting: str
    everything: str
    metric: str
    unit: str
    better: Optional[str]
    hosts: int
    middle: Optional[float]
    low5: Optional[float]
    low: Optional[float]
    high: Optional[float]
    high95: Optional[float]
    deviation: Optional[float]
    least_host: Optional[str]
    least: Optional[float]
    most_host: Optional[str]
    most: Optional[float]
    unsound: int


class Outstanding(TypedDict):
    """A host that stands out in a trial."""

    host: str
    id: str
    benchmark: str
    value: float
    ratio: float
    status: str
    sound: bool
    far: float


class Named(OfTrial):
    """A trial with the hosts that stand out in it."""

    named: list[Outstanding]


class Section(TypedDict):
    trials: list[Named]
    alone: int  # trials that one host has
    pictures: list[charts.Picture]


class Alone(TypedDict):
    benchmark: str
    n: int


class ShownRun(Outcome):
    name: str
    parsed: Header


class Machine(TypedDict):
    """A machine in the report, with its runs."""

    host: str
    lasting: str
    told: list[tuple[str, list[str]]]
    runs: list[ShownRun]


class Alike(Machine):
    hosts: list[str]


def sections(db: duckdb.DuckDBPyConnection) -> dict[str, Section]:
    """By benchmark: `pictures`, and the rows of its table."""
    db.execute(QUERY)
    found = select(db, OfTrial, "FROM of_trial WHERE hosts > 1 ORDER BY place")
    points: dict[str, list[Outstanding]] = {}
    for row in select(
        db,
        Outstanding,
        "FROM outstanding QUALIFY row_number() OVER (PARTITION BY id ORDER BY far DESC, host) <= ?"
        " ORDER BY id, ratio, host",
        TOLD,
    ):
        points.setdefault(row["id"], []).append(row)
    by_benchmark: dict[str, list[Named]] = {}
    for t in found:
        own = by_benchmark.setdefault(t["benchmark"], [])
        own.append({**t, "named": points.get(t["id"], [])})
    alone = {
        r["benchmark"]: r["n"]
        for r in select(
            db,
            Alone,
            "SELECT benchmark, count(*) AS n FROM of_trial WHERE hosts < 2 GROUP BY benchmark",
        )
    }
    return {
        name: {
            "trials": by_benchmark.get(name, []),
            "alone": alone.get(name, 0),
            "pictures": _pictures(by_benchmark.get(name, []), name),
        }
        for name in {**by_benchmark, **alone}
    }


def machines(shown: Sequence[Machine]) -> list[Alike]:
    """One entry for hosts with the same machine."""
    alike: dict[str, Alike] = {}
    for entry in shown:
        first = alike.setdefault(entry["lasting"], {**entry, "hosts": [], "runs": []})
        first["hosts"].append(entry["host"])
        first["runs"] += entry["runs"]
    for entry in alike.values():
        named = list(dict.fromkeys(entry["hosts"]))
        entry["host"] = (
            ", ".join(named)
            if len(named) <= hosts.FEW
            else f"{len(named)} hosts: {named[0]} … {named[-1]}"
        )
    return list(alike.values())


def _pictures(trials: Sequence[Named], benchmark: str) -> list[charts.Picture]:
    drawn = [t for t in trials if t["middle"]]
    parts = [drawn[i : i + charts.ROWS] for i in range(0, len(drawn), charts.ROWS)]
    named = charts.numbered(f"{benchmark}-hosts", f"{benchmark} over hosts", parts)
    return [_picture(part, name, title) for name, title, part in named]


def _picture(trials: Sequence[Named], name: str, title: str) -> charts.Picture:
    boxes, points = list[Row](), list[Row]()
    inside: list[float] = []
    for i, t in enumerate(trials):
        middle = t["middle"] or 1.0
        known = {"low5": t["low5"], "low": t["low"], "high": t["high"], "high95": t["high95"]}
        ends = {key: (end or 0.0) / middle for key, end in known.items()}
        inside += [ends["low5"], ends["high95"], *(p["ratio"] for p in t["named"])]
        trial = f"{t['variant']} {t['everything']}"
        boxes.append(
            {
                **ends,
                "row": i,
                "label": label(t),
                "trial": trial,
                "middle": f"{units.quantity(t['middle'], t['unit'])}, {t['hosts']} hosts",
                "one": 1,
            }
        )
        points += [
            {
                "row": i,
                "ratio": p["ratio"],
                "host": p["host"],
                "trial": trial,
                "status": p["status"],
            }
            for p in t["named"]
        ]
    low, high = max(0.25, min([0.9, *inside])), min(4.0, max([1.1, *inside]))
    scale = {"type": "log", "domain": [low * 0.98, high * 1.02], "nice": False, "clamp": True}
    ticks = [0.25, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 3, 4]
    axis = {
        "title": "value / median over the hosts",
        "values": [v for v in ticks if low * 0.98 <= v <= high * 1.02],
        "labelExpr": "format(datum.value, '~g')",
    }
    y = vl.ordinal("row", axis=None, scale={"type": "band", "paddingInner": 0.3})
    data = charts.Data()
    box, point = data.chart(boxes).encode(y=y), data.chart(points).encode(y=y)

    def x(field: str) -> Spec:
        return vl.quantitative(field, scale=scale, axis=axis)

    told = [vl.nominal(key) for key in ("trial", "middle")]
    layers: list[charts.Drawing] = [
        box.mark("rule", color=colours.GREY, size=1.5).encode(
            x=x("low5"), x2=vl.end("high95"), tooltip=told
        ),
        box.mark("bar", color=bars.BLUE).encode(x=x("low"), x2=vl.end("high"), tooltip=told),
        box.mark("tick", color=colours.INK, thickness=1.5).encode(x=x("one"), tooltip=told),
    ]
    if points:
        layers.append(
            point.mark("point", filled=False, size=26, color=colours.ALARM, opacity=1).encode(
                x=x("ratio"),
                tooltip=[
                    vl.nominal("host"),
                    vl.quantitative("ratio", format=".3f"),
                    vl.nominal("status"),
                    vl.nominal("trial"),
                ],
            )
        )
    height = charts.ROW * len(boxes)
    width = LETTER * max(len(str(b["label"])) for b in boxes)  # beyond it a label would be cut off
    names = box.mark("text", align="right", fontSize=11, color=colours.INK).encode(
        x=vl.value(width), text=vl.nominal("label"), tooltip=told
    )
    middles = box.mark("text", align="left", fontSize=11, color=colours.INK).encode(
        x=vl.value(0), text=vl.nominal("middle")
    )
    panel = charts.joined(
        "hconcat",
        charts.spec_of(names, width=width, height=height, view={"stroke": None}),
        charts.joined("layer", *layers, width=380, height=height),
        charts.spec_of(middles, width=150, height=height, view={"stroke": None}),
        spacing=8,
    )
    return charts.picture(name, title, HELP, [], [panel], data)


def label(trial: OfTrial) -> str:
    text = f"{trial['variant']} {trial['setting']}".strip()
    return text if len(text) <= LONG else text[: LONG - 1] + "…"
