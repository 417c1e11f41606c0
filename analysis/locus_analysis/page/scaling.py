# SPDX-License-Identifier: Apache-2.0
"""Scaling over MPI ranks: strong and weak, from runs whose headers differ in `ranks`; communication
apart. lessons/NAME.json has under `ranks` the parameter that is the amount of work, and the metric
to draw: a time, of which communication is a part, or a rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Optional, TypedDict

from ..insight.evidence import ratio, valued
from ..pictures import axes, charts, curves, sweeps
from ..pictures.axes import Point
from ..pictures.curves import HALF, Panel, Series
from ..records import published
from ..records.database import value_of
from ..records.description import Described, Setting, differing
from ..records.published import RanksRule
from ..records.rows import Judged, Trial

HELP = (
    "{} over the number of MPI ranks (both axes logarithmic); lines across points are 95 %"
    " intervals. Strong: the same {} for all; weak: as much for each rank. Grey dotted: ideal"
    " scaling."
)
ITSELF: Judged = {
    "value": 1.0,
    "low": None,
    "high": None,
    "modes": [],
    "flag": None,
    "status": "ok",
    "reasons": [],
}
# The amount of work, or of that of a rank; the CPU; the rest of the setting.
Key = tuple[str, Optional[str], tuple[tuple[str, str], ...]]


class Quantity(TypedDict):
    value: Optional[float]
    unit: str


class Line(Trial):
    """A trial on a curve, whose value is that of the curve's metric."""

    amount: str
    communication: Quantity
    communication_share: Optional[float]
    others: list[Quantity]
    speed_up: Optional[Judged]
    efficiency: Judged


class Curve(TypedDict):
    kind: str  # strong or weak
    of: Described
    metric: str
    columns: list[str]
    caption: str
    setting: Setting
    alike: str  # the setting in words, without the amount
    name: str
    amount: str  # in words, as the next in figures
    number: int
    threads: int
    cpu: Optional[str]
    lines: list[Line]
    least: int  # ranks
    faster: bool  # whether more ranks are to make it faster
    is_rate: bool


def found_in(of: Described, trials: Sequence[Trial]) -> list[Curve]:
    """Trials in runs that differ in the number of ranks: strong, with the same amount of work;
    weak, with the same amount for each rank. Of several with as many ranks, the last."""
    rule = published.lesson(of.name).get("ranks", {})
    found: list[Curve] = []
    for kind in ("strong", "weak") if rule.get("metric") in of.metrics else ():
        groups: dict[Key, dict[int, Trial]] = {}
        for t in trials:
            key = _curve(of, rule, t, kind) if t["variant"] in of.divided else None
            own = t["metrics"].get(rule["metric"])
            if key and own and own["value"] and t["rank"] == 0:
                drawn: Trial = {
                    **t,
                    "value": own["value"],
                    "low": own["low"],
                    "high": own["high"],
                }
                groups.setdefault(key, {})[t["ranks"]] = drawn
        for by_ranks in groups.values():
            if len(by_ranks) > 1:
                ordered = [by_ranks[ranks] for ranks in sorted(by_ranks)]
                found.append(_scaled(of, rule, kind, ordered))
    several = differing([curve["setting"] for curve in found])
    for curve in found:
        curve["alike"] = of.words(curve["setting"], [*several, "variant"])
        curve["name"] = f"{curve['alike']}, {curve['amount']}"
    return found


def _number(text: str) -> Optional[int]:
    """The value of a parameter that may also be a file; then None."""
    return int(text) if text.isdecimal() else None


def _setting(of: Described, rule: RanksRule, trial: Trial) -> Setting:
    found = of.setting(trial)
    return {k: v for k, v in found.items() if k not in (rule["amount"], "oversubscribed")}


def _curve(of: Described, rule: RanksRule, trial: Trial, kind: str) -> Optional[Key]:
    amount = str(trial["parameters"].get(rule["amount"], ""))
    if kind == "weak":
        n = _number(amount)
        if n is None or n % trial["ranks"]:
            return None
        amount = str(n // trial["ranks"])
    return amount, trial["cpu"], tuple(_setting(of, rule, trial).items())


def _scaled(of: Described, rule: RanksRule, kind: str, own: list[Trial]) -> Curve:
    first, name, metric = own[0], rule["amount"], of.metrics[rule["metric"]]
    is_rate = metric["better"] == "higher"
    number = _number(str(first["parameters"].get(name, ""))) or 0
    number //= first["ranks"] if kind == "weak" else 1
    unit = metric["unit"]
    faster = is_rate or kind == "strong"
    lines: list[Line] = []
    for t in own:
        here, there = (valued(one, rule["metric"]) for one in (t, first))
        gain = ITSELF if t is first else ratio(here, there) if is_rate else ratio(there, here)
        assert gain  # both have a value
        communication = _quantity(t, "communication")
        whole, spent = _quantity(t, "time")["value"], communication["value"]
        lines.append(
            {
                **t,
                "unit": unit if is_rate else unit.split("/")[0],
                "amount": of.amount(name, str(t["parameters"].get(name, "?"))),
                "communication": communication,
                "communication_share": spent / whole if whole and spent is not None else None,
                "others": [_quantity(t, m) for m in rule.get("others", ())],
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
        "alike": "",
        "name": "",
        "amount": f"{shown} a rank" if kind == "weak" else shown,
        "number": number,
        "threads": first["threads"],
        "cpu": first["cpu"],
        "lines": lines,
        "least": first["ranks"],
        "faster": faster,
        "is_rate": is_rate,
    }


def _quantity(trial: Trial, metric: str) -> Quantity:
    of = trial["metrics"].get(metric)
    return {"value": of["value"], "unit": of["unit"]} if of else {"value": None, "unit": "1"}


def _times(of: Judged, factor: float) -> Judged:
    value, low, high = (
        None if end is None else end * factor for end in (of["value"], of["low"], of["high"])
    )
    return {**of, "value": value, "low": low, "high": high}


def over_ranks(found: Sequence[Curve], name: str, title: str) -> list[charts.Picture]:
    """A panel for each setting, with a line for each amount of work and, of a time, its share of
    communication."""
    if not found:
        return []
    of, metric, amount = found[0]["of"], found[0]["metric"], found[0]["columns"][0]
    drawn: list[tuple[list[Line], list[Panel]]] = []
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


def _panel_of(curve: Curve) -> tuple[bool, str, int, str]:
    return curve["kind"] == "weak", curve["alike"], curve["threads"], curve["cpu"] or ""


def _order(curve: Curve) -> tuple[tuple[bool, str, int, str], int]:
    return _panel_of(curve), curve["number"]


def _lines(curve: Curve, place: int) -> list[Series]:
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


def _limit(own: Sequence[Curve]) -> list[Series]:
    """What the machine allows, of the curve over most ranks: it hardly depends on the amount."""
    curve = max(own, key=lambda c: len(c["lines"]))
    limit = sweeps.limit_of(curve["of"], curve["metric"]) or ""
    rows = [sweeps.point(t, t["ranks"], limit) for t in curve["lines"] if sweeps.has(t, limit)]
    return [sweeps.limit_line(Series("", *curves.ranked(0), rows))] * bool(rows)


def _ideal(curve: Curve) -> Series:
    """The value if ranks cost nothing."""
    least, most, first = curve["least"], curve["lines"][-1]["ranks"], value_of(curve["lines"][0])
    power = 1 if curve["is_rate"] else -1 if curve["faster"] else 0
    return curves.bare_line([(n, first * (n / least) ** power) for n in (least, most)])
