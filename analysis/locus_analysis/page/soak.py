# SPDX-License-Identifier: Apache-2.0
"""A soak over time: rates of its loads, clock, temperature, power; its verdict as title."""

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
    title: str
    unit: str
    values: list[Optional[float]]  # by round
    load: Optional[int] = None  # whose rate it is


class _Rate(TypedDict):
    name: str
    unit: str
    rate: float


class Round(TypedDict):
    """A line of a record."""

    at: float
    loads: list[_Rate]
    clock: Optional[float]
    temperature: Optional[float]
    power: Optional[float]


class _OfLoad(TypedDict):
    name: str
    verdict: str
    after: Optional[float]
    share: float
    noise: Optional[float]
    wrong: Optional[str]
    failure: Optional[str]


class _Errors(TypedDict):
    uncorrected: Optional[int]
    machine_checks: Optional[int]


class Verdict(TypedDict):
    """A line of a record."""

    errors: _Errors
    loads: list[_OfLoad]


class _Told(TypedDict):
    run: str
    type: str
    json: str


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
    loads = verdict["loads"]
    told = [f"WRONG: {load['name']}: {load['wrong']}" for load in loads if load["wrong"]]
    if lost := verdict["errors"]["uncorrected"]:
        told.append(f"WRONG: {units.several(lost, 'uncorrected error')} of memory")
    if checks := verdict["errors"]["machine_checks"]:
        told.append(f"WRONG: {units.several(checks, 'machine check')}")
    told += [f"{load['name']} failed: {load['failure']}" for load in loads if load["failure"]]
    verdicts = {load["verdict"] for load in loads}
    if len(verdicts) == 1 and verdicts <= {"steady", "too short"}:
        return "; ".join([*told, *verdicts])
    if verdicts == {"cannot tell"}:
        noise = max(load["noise"] or 0 for load in loads)
        return "; ".join([*told, f"cannot tell (noise {units.percent(noise)} a round)"])
    return "; ".join([*told, *map(_said, loads)])


def _said(one: _OfLoad) -> str:
    name = one["name"]
    if one["after"] is not None:
        return f"{name} throttles after {one['after']:.0f} s to {one['share']:.2f} of its rate"
    if one["verdict"] == "cannot tell" and one["noise"]:
        return f"cannot tell for {name} (noise {units.percent(one['noise'])} a round)"
    return f"{name} {one['verdict']}"


def _thinned(values: Sequence[Optional[float]]) -> list[Optional[float]]:
    each = math.ceil(len(values) / MOST)
    return [_middle(values[i : i + each]) for i in range(0, len(values), each)]


def _middle(values: Sequence[Optional[float]]) -> Optional[float]:
    known = [v for v in values if v is not None]
    return median(known) if known else None


def _curves(rounds: Sequence[Round]) -> list[Curve]:
    """Each load's rate, then what the sensors say; without a value they are drawn, too."""
    loads = [
        Curve(load["name"], load["unit"], _thinned([r["loads"][i]["rate"] for r in rounds]), i)
        for i, load in enumerate(rounds[0]["loads"])
    ]
    sensed = [
        Curve("clock, first core", "Hz", _thinned([r["clock"] for r in rounds])),
        Curve("temperature", "°C", _thinned([r["temperature"] for r in rounds])),
        Curve("power", "W", _thinned([r["power"] for r in rounds])),
    ]
    return [*loads, *sensed]


def _picture(name: str, host: str, rounds: Sequence[Round], verdict: Optional[Verdict]) -> Picture:
    at = _thinned([r["at"] for r in rounds])
    last = rounds[-1]["at"]
    curves = _curves(rounds)
    shown = [c for c in curves if any(v is not None for v in c.values)]
    lacking = [c.title for c in curves if c not in shown]
    data = charts.Data()
    panels = [_panel(data, c, at, verdict, last, c is shown[-1]) for c in shown]
    notes = [f"Not known on this machine: {', '.join(lacking)}."] if lacking else []
    title = f"Soak on {host}, {_duration(last)}: {said(verdict)}"
    return charts.picture(name, title, HELP, [], panels, data, notes)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min"


def _panel(
    data: charts.Data,
    curve: Curve,
    at: Sequence[Optional[float]],
    verdict: Optional[Verdict],
    last: float,
    lowest: bool,
) -> Spec:
    factor, unit = _scale(curve)
    rows: list[Row] = [
        {"at": when, "value": v / factor} for when, v in zip(at, curve.values) if v is not None
    ]
    after = [one["after"] for one in _of(curve, verdict) if one["after"] is not None]
    falls: list[Row] = [{"at": when} for when in after]
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
    """The loads whose falls a panel shows: its own, or all."""
    loads = verdict["loads"] if verdict else []
    return loads if curve.load is None else loads[curve.load : curve.load + 1]


def _scale(curve: Curve) -> tuple[float, str]:
    if curve.unit in ("°C", "W"):
        return 1.0, curve.unit
    return units.scale(curve.values, curve.unit)
