# SPDX-License-Identifier: Apache-2.0
"""Scaling over MPI ranks: strong and weak, from runs whose headers differ in `ranks`; communication
apart. lessons/NAME.json has under `ranks` the parameter that is the amount of work, and the metric
to draw: a time, of which communication is a part, or a rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Optional

from ..insight.evidence import ratio
from ..pictures import axes, charts, curves, sweeps
from ..pictures.axes import Point
from ..pictures.curves import HALF, Panel, Series
from ..records import published
from ..records.description import Described, differing

Row = Any  # not typed yet

HELP = (
    "{} over the number of MPI ranks (both axes logarithmic); lines across points are 95 %"
    " intervals. Strong: the same {} for all; weak: as much for each rank. Grey dotted: ideal"
    " scaling."
)
ITSELF: Row = {"value": 1.0, "low": None, "high": None, "flag": None, "status": "ok"}


def found_in(of: Described, trials: Sequence[Row]) -> list[Row]:
    """Trials in runs that differ in the number of ranks: strong, with the same amount of work;
    weak, with the same amount for each rank. Of several with as many ranks, the last."""
    rule = published.lesson(of.name).get("ranks", {})
    found = []
    for kind in ("strong", "weak") if rule.get("metric") in of.metrics else ():
        groups: dict[Any, dict[int, Row]] = {}
        for t in trials:
            key = _curve(of, rule, t, kind) if t["variant"] in of.divided else None
            value = t["metrics"].get(rule["metric"]) or {}
            if key and value.get("value") and t["rank"] == 0:
                drawn = {**t, **{k: value[k] for k in ("value", "low", "high")}}
                groups.setdefault(key, {})[t["ranks"]] = drawn
        for own in groups.values():
            if len(own) > 1:
                found.append(_scaled(of, rule, kind, [own[ranks] for ranks in sorted(own)]))
    several = differing([curve["setting"] for curve in found])
    for curve in found:
        curve["alike"] = of.words(curve["setting"], [*several, "variant"])
        curve["name"] = f"{curve['alike']}, {curve['amount']}"
    return found


def _number(text: str) -> Optional[int]:
    """The value of a parameter that may also be a file; then None."""
    return int(text) if text.isdecimal() else None


def _setting(of: Described, rule: Row, trial: Row) -> dict[str, str]:
    found = of.setting(trial)
    return {k: v for k, v in found.items() if k not in (rule["amount"], "oversubscribed")}


def _curve(of: Described, rule: Row, trial: Row, kind: str) -> Any:
    amount = str(trial["parameters"].get(rule["amount"], ""))
    if kind == "weak":
        n = _number(amount)
        if n is None or n % trial["ranks"]:
            return None
        amount = str(n // trial["ranks"])
    return amount, trial["cpu"], *_setting(of, rule, trial).items()


def _scaled(of: Described, rule: Row, kind: str, own: list[Row]) -> Row:
    first, name, metric = own[0], rule["amount"], of.metrics[rule["metric"]]
    is_rate = metric["better"] == "higher"
    number = _number(str(first["parameters"].get(name, ""))) or 0
    number //= first["ranks"] if kind == "weak" else 1
    unit = metric["unit"]
    faster = is_rate or kind == "strong"  # whether more ranks are to make it faster
    lines = []
    for t in own:
        gain = ITSELF if t is first else ratio(t, first) if is_rate else ratio(first, t)
        communication = t["metrics"].get("communication") or {"value": None}
        whole = (t["metrics"].get("time") or {}).get("value")
        known = whole and communication["value"] is not None
        lines.append(
            {
                **t,
                "unit": unit if is_rate else unit.split("/")[0],
                "amount": of.amount(name, str(t["parameters"].get(name, "?"))),
                "communication": communication,
                "communication_share": communication["value"] / whole if known else None,
                "others": [
                    t["metrics"].get(m) or {"value": None, "unit": "1"}
                    for m in rule.get("others", ())
                ],
                "speed_up": gain if faster else None,
                "efficiency": _times(gain, first["ranks"] / t["ranks"] if faster else 1.0),
            }
        )
    shown = of.amount(name, str(number) if number else str(first["parameters"].get(name, "?")))
    return {
        "kind": kind,
        "of": of,
        "metric": rule["metric"],
        "columns": [name, rule["metric"], *rule.get("others", ())],
        "caption": rule.get("caption", ""),
        "setting": _setting(of, rule, first),
        "amount": f"{shown} a rank" if kind == "weak" else shown,
        "number": number,
        "threads": first["threads"],
        "cpu": first["cpu"],
        "lines": lines,
        "least": first["ranks"],
        "faster": faster,
        "is_rate": is_rate,
    }


def _times(value: Optional[Row], factor: float) -> Optional[Row]:
    ends = ("value", "low", "high")
    return value and {**value, **{k: value[k] and value[k] * factor for k in ends}}


def over_ranks(found: Sequence[Row], name: str, title: str) -> list[charts.Picture]:
    """A panel for each setting, with a line for each amount of work and, of a time, its share of
    communication."""
    if not found:
        return []
    of, metric, amount = found[0]["of"], found[0]["metric"], found[0]["columns"][0]
    drawn = []
    for _, group in groupby(sorted(found, key=_order), _panel_of):
        own = list(group)
        lines = [*_limit(own), *(_ideal(curve) for curve in own)]
        for i, curve in enumerate(own):
            lines += _lines(curve, i if len(own) > 1 else 0)
        points = curves.points(lines)
        x, y = axes.x_axis(of, "ranks", points), axes.y_axis(of, metric, points)
        said = f"{own[0]['kind']}: {own[0]['alike']}"
        trials = [t for curve in own for t in curve["lines"]]
        drawn.append((trials, [Panel(said, x, y, lines, HALF, 270)]))
    help_text = HELP.format(f"{metric}: {of.metrics[metric]['help']};", amount)
    help_text = f"{help_text} {sweeps.limit_help(of, metric)}".strip()
    return curves.in_parts(drawn, name, title, help_text)


def _panel_of(curve: Row) -> tuple[bool, str, int, str]:
    return curve["kind"] == "weak", curve["alike"], curve["threads"], curve["cpu"]


def _order(curve: Row) -> tuple[Any, int]:
    return _panel_of(curve), curve["number"]


def _lines(curve: Row, place: int) -> list[Series]:
    rows = [sweeps.point(t, t["ranks"], curve["metric"]) for t in curve["lines"]]
    whole = Series(curve["amount"], *curves.ranked(place), rows)
    spent: list[Point] = [
        {
            **sweeps.point(t, t["ranks"], "communication"),
            "trial": f"communication, {t['everything']}",
        }
        for t in curve["lines"]
        if t["ranks"] > 1 and t["communication"]["value"] and not curve["is_rate"]
    ]
    return [
        whole,
        *([replace(whole, name="communication", dash="dashed", rows=spent)] * bool(spent)),
    ]


def _limit(own: Sequence[Row]) -> list[Series]:
    """What the machine allows, of the curve over most ranks: it hardly depends on the amount."""
    curve = max(own, key=lambda c: len(c["lines"]))
    limit = sweeps.limit_of(curve["of"], curve["metric"]) or ""
    rows = [sweeps.point(t, t["ranks"], limit) for t in curve["lines"] if sweeps.has(t, limit)]
    return [sweeps.limit_line(Series("", *curves.ranked(0), rows))] * bool(rows)


def _ideal(curve: Row) -> Series:
    """The value if ranks cost nothing."""
    least, most, first = curve["least"], curve["lines"][-1]["ranks"], curve["lines"][0]["value"]
    power = 1 if curve["is_rate"] else -1 if curve["faster"] else 0
    return curves.bare_line([(n, first * (n / least) ** power) for n in (least, most)])
