# SPDX-License-Identifier: Apache-2.0
"""K-means over MPI ranks: strong and weak scaling, from runs whose headers differ in `ranks`; communication apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

from . import charts, curves, kmeans
from .charts import GREY
from .checkpoint import ratio
from .curves import BLUE, HALF, ORANGE, Axis, Panel, Series

Row = dict[str, Any]

HELP = (
    "Time of an iteration over the number of MPI ranks (both axes logarithmic), and the part of it in calls to other ranks; lines "
    "across points are 95 % intervals. Strong: the same points for all; weak: as many points for each rank. Grey dotted: what it "
    "would be if ranks cost nothing."
)

ITSELF: Row = {"value": 1.0, "low": None, "high": None, "flag": None, "status": "ok"}


def found_in(trials: Sequence[Row]) -> list[Row]:
    """Trials of runs that differ in the number of ranks: strong, with the same points; weak, with as many for each rank. Of several
    with as many ranks the last counts."""
    found = []
    for kind in ("strong", "weak"):
        groups: dict[Any, dict[int, Row]] = {}
        for t in trials:
            key = _curve(t, kind)
            if key and t["value"] and t["rank"] == 0:
                groups.setdefault(key, {})[t["ranks"]] = t
        for own in groups.values():
            if len(own) > 1:
                found.append(_scaled(kind, [own[ranks] for ranks in sorted(own)]))
    return found


def _curve(trial: Row, kind: str) -> Any:
    of = {key: str(value) for key, value in trial["parameters"].items() if key not in kmeans.OUTPUTS}
    if kind == "weak":
        points = kmeans.number(of.get("points", ""))
        if points is None or points % trial["ranks"]:
            return None
        of["points"] = str(points // trial["ranks"])
    return trial["variant"], trial["threads"], trial["cpu"], *of.items()


def _scaled(kind: str, own: list[Row]) -> Row:
    first = own[0]
    name = f"{first['variant']}, {kmeans.words(first['parameters'])}"
    if kind == "weak":
        each = (kmeans.number(first["parameters"]["points"]) or 0) // first["ranks"]
        of = {**first["parameters"], "points": f"{kmeans.amount(each)} a rank"}
        name = f"{first['variant']}, {kmeans.words(of)}"
    lines = []
    for t in own:
        gain = ratio(first, t) if t is not first else ITSELF
        share = t["ranks"] / first["ranks"]
        communication = t["metrics"].get("communication") or {"value": None}
        lines.append(
            {
                **t,
                "points": kmeans.amount(t["parameters"].get("points", "?")),
                "communication": communication,
                "communication_share": communication["value"] / t["value"] if communication["value"] is not None else None,
                "speed_up": gain if kind == "strong" else None,
                "efficiency": _times(gain, 1 / share if kind == "strong" else 1.0),
            }
        )
    return {"kind": kind, "name": name, "threads": first["threads"], "cpu": first["cpu"], "lines": lines, "least": first["ranks"]}


def _times(value: Optional[Row], factor: float) -> Optional[Row]:
    if value is None:
        return None
    return {**value, **{key: None if value[key] is None else value[key] * factor for key in ("value", "low", "high")}}


def over_ranks(found: Sequence[Row], name: str, title: str) -> Optional[charts.Picture]:
    """A panel for each curve of scaling: the iteration, and what of it is communication."""
    if not found:
        return None
    shown = sorted((t for curve in found for t in curve["lines"]), key=lambda t: t["place"])
    unit = kmeans.time_unit(t["value"] for t in shown)
    panels = []
    for curve in found:
        own = curve["lines"]
        ranks = [t["ranks"] for t in own]
        spent = [
            {**curves.point({**t, **t["communication"]}, t["ranks"]), "trial": f"communication, {t['everything']}"}
            for t in own
            if t["ranks"] > 1 and t["communication"]["value"]
        ]
        lines = [Series("iteration", BLUE, "circle", [curves.point(t, t["ranks"]) for t in own])]
        lines += [Series("communication", ORANGE, "square", spent)] if spent else []
        least = ranks[0]
        ideal = [curves.bare(n, own[0]["value"] * (least / n if curve["kind"] == "strong" else 1)) for n in (least, ranks[-1])]
        grey = Series("", GREY, "circle", ideal, "dotted", 1, points=False)
        x = Axis("ranks", (least / 1.12, ranks[-1] * 1.12), [float(n) for n in ranks], "format(datum.value, 'd')")
        y = curves.time_axis([grey, *lines], f"{kmeans.UNITS[unit]} for an iteration", unit)
        panels.append(Panel(f"{curve['kind']}: {curve['name']}", x, y, [grey, *lines], HALF, height=230))
    return curves.draw(name, title, HELP, shown, panels, columns=2)
