# SPDX-License-Identifier: Apache-2.0
"""A soak over time: rates of both loads, clock, temperature, power; its verdict as title."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple, Optional, TypedDict

import duckdb

from ..base import units
from ..pictures import charts, colours
from ..pictures import vega_lite as vl
from ..pictures.charts import Picture
from ..pictures.vega_lite import Row, Spec
from ..records.database import select

MOST = 600  # points of a curve: more rounds are joined, by their median
QUERY = """
SELECT run, type, other.json::VARCHAR AS json FROM parsed.other JOIN kept USING (shard, run)
WHERE type IN ('soak', 'soak-verdict') ORDER BY run, other.line
"""
HELP = (
    "Each point: a round of a second, of long soaks the median of several. Broken line: from here"
    " on slower. Throughput and clock that fall while the temperature is at its limit: cooling; at"
    " the same temperature: a limit of power."
)


class Curve(NamedTuple):
    key: str
    title: str
    unit: str


CURVES = (
    Curve("work", "multiply-adds", "/s"),
    Curve("bandwidth", "bandwidth", "B/s"),
    Curve("clock", "clock, first core", "Hz"),
    Curve("temperature", "temperature", "°C"),
    Curve("power", "power", "W"),
)


class _OfLoad(TypedDict):
    verdict: str
    after: Optional[float]
    share: float
    noise: Optional[float]


class _Errors(TypedDict):
    uncorrected: Optional[int]


class Verdict(TypedDict):
    """A line of a record."""

    faults: int
    errors: _Errors
    work: _OfLoad
    bandwidth: _OfLoad


class _Told(TypedDict):
    run: str
    type: str
    json: str


Round = Mapping[str, Optional[float]]


def pictures(db: duckdb.DuckDBPyConnection, names: Mapping[str, str]) -> list[Picture]:
    """One of each run that soaked."""
    rounds: dict[str, list[Round]] = {}
    verdicts: dict[str, Verdict] = {}
    for line in select(db, _Told, QUERY):
        parsed = json.loads(line["json"])
        if line["type"] == "soak":
            rounds.setdefault(line["run"], []).append(parsed)
        else:
            verdicts[line["run"]] = parsed
    made = []
    for i, (run, own) in enumerate(rounds.items(), 1):
        number = f"-{i}" if len(rounds) > 1 else ""
        made.append(_picture(f"soak{number}", names.get(run, run), own, verdicts.get(run)))
    return made


def said(verdict: Optional[Verdict]) -> str:
    """The verdict in words, the gravest first."""
    if not verdict:
        return "no verdict, the record was cut off"
    told = []
    if verdict["faults"]:
        told.append(f"WRONG: {units.several(verdict['faults'], 'thread')} computed a wrong number")
    if lost := verdict["errors"]["uncorrected"]:
        told.append(f"WRONG: {units.several(lost, 'uncorrected error')} of memory")
    both = verdict["work"], verdict["bandwidth"]
    if both[0]["verdict"] == both[1]["verdict"] and both[0]["verdict"] in ("steady", "too short"):
        return "; ".join([*told, both[0]["verdict"]])
    return "; ".join([*told, *map(_said, ("multiply-adds", "bandwidth"), both)])


def _said(name: str, one: _OfLoad) -> str:
    if one["after"] is not None:
        return f"throttles after {one['after']:.0f} s to {one['share']:.2f} of its {name}"
    if one["verdict"] == "cannot tell" and one["noise"]:
        return f"cannot tell for {name} (noise {units.percent(one['noise'])} a round)"
    return f"{name} {one['verdict']}"


def _thinned(rounds: Sequence[Round]) -> list[dict[str, Optional[float]]]:
    each = math.ceil(len(rounds) / MOST)
    parts = [rounds[i : i + each] for i in range(0, len(rounds), each)]
    keys = ("at", *(curve.key for curve in CURVES))
    return [{key: _middle([r.get(key) for r in part]) for key in keys} for part in parts]


def _middle(values: Sequence[Optional[float]]) -> Optional[float]:
    known = [v for v in values if v is not None]
    return median(known) if known else None


def _picture(name: str, host: str, rounds: Sequence[Round], verdict: Optional[Verdict]) -> Picture:
    found = _thinned(rounds)
    last = float(rounds[-1]["at"] or 0)
    shown = [c for c in CURVES if any(r[c.key] is not None for r in found)]
    lacking = [c.title for c in CURVES if c not in shown]
    data = charts.Data()
    panels = [_panel(data, c, found, verdict, last, c is shown[-1]) for c in shown]
    notes = [f"Not known on this machine: {', '.join(lacking)}."] if lacking else []
    title = f"Soak on {host}, {_duration(last)}: {said(verdict)}"
    return charts.picture(name, title, HELP, [], panels, data, notes)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min"


def _panel(
    data: charts.Data,
    curve: Curve,
    found: Sequence[Mapping[str, Optional[float]]],
    verdict: Optional[Verdict],
    last: float,
    lowest: bool,
) -> Spec:
    factor, unit = _scale(curve, found)
    rows: list[Row] = [
        {"at": r["at"], "value": v / factor} for r in found if (v := r[curve.key]) is not None
    ]
    after = [one["after"] for one in _of(curve, verdict) if one["after"] is not None]
    falls: list[Row] = [{"at": at} for at in after]
    axis = {"title": "time (s)" if lowest else None, "labels": lowest, "tickCount": 10}
    x = vl.quantitative("at", scale={"domain": [0, last], "nice": False}, axis=axis)
    y = vl.quantitative("value", title=[curve.title, f"({unit})"], scale={"zero": False})
    told = [vl.quantitative("at", title="s"), vl.quantitative("value", title=unit, format=".4~g")]
    return charts.joined(
        "layer",
        data.chart(rows)
        .mark("point", filled=True, size=10, color=colours.BLUE, opacity=1)
        .encode(x=x, y=y, tooltip=told),
        data.chart(falls)
        .mark("rule", color=colours.ALARM, strokeDash=[5, 3], size=1.5)
        .encode(x=x),
        width=700,
        height=90,
    )


def _of(curve: Curve, verdict: Optional[Verdict]) -> list[_OfLoad]:
    """The loads whose falls a panel shows: its own, or both."""
    if not verdict:
        return []
    if curve.key == "work":
        return [verdict["work"]]
    if curve.key == "bandwidth":
        return [verdict["bandwidth"]]
    return [verdict["work"], verdict["bandwidth"]]


def _scale(curve: Curve, found: Sequence[Mapping[str, Optional[float]]]) -> tuple[float, str]:
    if curve.unit in ("°C", "W"):
        return 1.0, curve.unit
    return units.scale([r[curve.key] for r in found], curve.unit)
