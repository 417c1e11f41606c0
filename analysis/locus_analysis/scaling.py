# SPDX-License-Identifier: Apache-2.0
"""What is divided over MPI ranks: strong and weak scaling, from runs whose headers differ in
`ranks`; communication apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Optional

from . import charts, curves, kmeans, search
from .charts import GREY
from .curves import BLUE, HALF, ORANGE, RANKED, Axis, Panel, Series
from .evidence import ratio
from .steps import size_text

Row = dict[str, Any]

KMEANS_HELP = (
    "Time of an iteration over the number of MPI ranks (both axes logarithmic), and the part of it"
    " in calls to other ranks; lines across points are 95 % intervals. Strong: the same points for"
    " all; weak: as many points for each rank. Grey dotted: what it would be if ranks cost nothing."
)
SEARCH_HELP = (
    "Keys that all MPI ranks together answered, end to end, over the number of ranks (both axes"
    " logarithmic), a line for each size; lines across points are 95 % intervals. Strong: the same"
    " array for all; weak: as much of it for each rank. Grey dotted: n ranks answer n times as"
    " many."
)
SEARCH_CAPTION = (
    "Communication: a packet's time in calls to other ranks, and its share of what the packet"
    " takes, end to end; what travels while keys are searched is not in it. Wire: what a key and"
    " its answer take between ranks; on the rank that asks they take nothing. Imbalance: keys that"
    " the busiest rank searched, over the mean."
)


@dataclass(frozen=True)
class Work:
    """What a benchmark divides, and which of its metrics is drawn: a time, with communication as
    a part of it; or a rate."""

    amount: str  # the parameter that says how much there is to do
    heading: str  # of the column with it
    said: Callable[[Any], str]  # an amount
    words: Callable[
        [Row, str], str
    ]  # a trial, with that amount; with none, what curves in one panel have in common
    metric: str
    unit: str
    column: str  # its heading
    named: str  # its line, or axis
    help: str
    caption: str
    others: tuple[tuple[str, str, str], ...] = ()  # columns: metric, heading, unit
    aside: tuple[str, ...] = ()  # parameters that are no part of the work

    @property
    def is_rate(self) -> bool:
        return self.metric != "time"


def _clustered(trial: Row, points: str) -> str:
    return f"{trial['variant']}, {kmeans.words({**trial['parameters'], 'points': points})}"


def _searched(trial: Row, size: str) -> str:
    of = search.setting(trial)
    several = ["keys", *["packet"] * (of.get("packet") != search.PUBLISHED_SETTING["packet"])]
    said = [
        trial["variant"],
        size,
        search.words({k: v for k, v in of.items() if k != "oversubscribed"}, several),
    ]
    return ", ".join([s for s in said if s] + [f"pages {search.pages_of(trial)}"])


WORKS = {
    "kmeans": Work(
        amount="points",
        heading="points",
        said=kmeans.amount,
        words=_clustered,
        metric="time",
        unit="s",
        column="an iteration",
        named="iteration",
        help=KMEANS_HELP,
        caption="Communication is part of the iteration.",
        aside=kmeans.OUTPUTS,
    ),
    "search": Work(
        amount="size",
        heading="array",
        said=lambda size: size_text(int(size)),
        words=_searched,
        metric="throughput",
        unit="key/s",
        column="end to end",
        named="keys answered",
        help=SEARCH_HELP,
        caption=SEARCH_CAPTION,
        others=(("wire", "wire, a key", "B"), ("imbalance", "imbalance", "1")),
    ),
}

ITSELF: Row = {"value": 1.0, "low": None, "high": None, "flag": None, "status": "ok"}


def drawn(trials: Sequence[Row]) -> list[Row]:
    """With `value`, `low` and `high` of what is drawn of their benchmark."""
    found = []
    for t in trials:
        work = WORKS[t["benchmark"]]
        of = t["metrics"].get(work.metric) or {"value": None, "low": None, "high": None}
        how = {
            "metric": work.metric,
            "unit": work.unit,
            "better": "higher" if work.is_rate else "lower",
        }
        found.append({**t, **{key: of[key] for key in ("value", "low", "high")}, **how})
    return found


def found_in(trials: Sequence[Row]) -> list[Row]:
    """Trials of one benchmark in runs that differ in the number of ranks: strong, with the same
    amount of work; weak, with as much for each rank. Of several with as many ranks the last
    counts."""
    found = []
    for kind in ("strong", "weak"):
        groups: dict[Any, dict[int, Row]] = {}
        for t in drawn(trials):
            key = _curve(t, kind)
            if key and t["value"] and t["rank"] == 0:
                groups.setdefault(key, {})[t["ranks"]] = t
        for own in groups.values():
            if len(own) > 1:
                found.append(_scaled(kind, [own[ranks] for ranks in sorted(own)]))
    return found


def _curve(trial: Row, kind: str) -> Any:
    work = WORKS[trial["benchmark"]]
    of = {key: str(value) for key, value in trial["parameters"].items() if key not in work.aside}
    if kind == "weak":
        amount = kmeans.number(of.get(work.amount, ""))
        if amount is None or amount % trial["ranks"]:
            return None
        of[work.amount] = str(amount // trial["ranks"])
    return trial["variant"], trial["threads"], trial["cpu"], *of.items()


def _scaled(kind: str, own: list[Row]) -> Row:
    first = own[0]
    work = WORKS[first["benchmark"]]
    amount = work.said(first["parameters"].get(work.amount, "?"))
    number = (kmeans.number(first["parameters"].get(work.amount, "")) or 0) // (
        first["ranks"] if kind == "weak" else 1
    )
    if kind == "weak":
        amount = f"{work.said(number)} a rank"
    faster = work.is_rate or kind == "strong"  # with more ranks
    lines = []
    for t in own:
        gain = ITSELF if t is first else ratio(t, first) if work.is_rate else ratio(first, t)
        share = t["ranks"] / first["ranks"]
        communication = t["metrics"].get("communication") or {"value": None}
        whole = (t["metrics"].get("time") or {}).get("value")
        lines.append(
            {
                **t,
                "amount": work.said(t["parameters"].get(work.amount, "?")),
                "communication": communication,
                "communication_share": (
                    communication["value"] / whole
                    if whole and communication["value"] is not None
                    else None
                ),
                "others": [
                    {**(t["metrics"].get(name) or {"value": None}), "unit": unit}
                    for name, _, unit in work.others
                ],
                "speed_up": gain if faster else None,
                "efficiency": _times(gain, 1 / share if faster else 1.0),
            }
        )
    return {
        "kind": kind,
        "work": work,
        "name": work.words(first, amount),
        "amount": amount,
        "number": number,
        "alike": work.words(first, ""),
        "threads": first["threads"],
        "cpu": first["cpu"],
        "lines": lines,
        "least": first["ranks"],
        "faster": faster,
    }


def _times(value: Optional[Row], factor: float) -> Optional[Row]:
    if value is None:
        return None
    return {
        **value,
        **{
            key: None if value[key] is None else value[key] * factor
            for key in ("value", "low", "high")
        },
    }


def over_ranks(found: Sequence[Row], name: str, title: str) -> list[charts.Picture]:
    """Of a time a panel for each curve, with what of it is communication; of a rate one for all
    sizes of the same work."""
    if not found:
        return []
    work: Work = found[0]["work"]
    panels = _of_rate(found) if work.is_rate else _of_time(found)
    return curves.in_parts([(trials, [panel]) for trials, panel in panels], name, title, work.help)


def _of_time(found: Sequence[Row]) -> list[tuple[list[Row], Panel]]:
    unit = kmeans.time_unit(t["value"] for curve in found for t in curve["lines"])
    panels = []
    for curve in found:
        own = curve["lines"]
        spent = [
            {
                **curves.point({**t, **t["communication"]}, t["ranks"]),
                "trial": f"communication, {t['everything']}",
            }
            for t in own
            if t["ranks"] > 1 and t["communication"]["value"]
        ]
        named = curve["work"].named
        lines = [
            _ideal(curve),
            Series(named, BLUE, "circle", [curves.point(t, t["ranks"]) for t in own]),
        ]
        lines += [Series("communication", ORANGE, "square", spent)] if spent else []
        y = curves.time_axis(lines, f"{kmeans.UNITS[unit]} for an {named}", unit)
        panels.append(
            (
                own,
                Panel(
                    f"{curve['kind']}: {curve['name']}", _rank_axis(own), y, lines, HALF, height=230
                ),
            )
        )
    return panels


def _of_rate(found: Sequence[Row]) -> list[tuple[list[Row], Panel]]:
    def panel(curve: Row) -> tuple[bool, str, int, str]:
        return curve["kind"] == "weak", curve["alike"], curve["threads"], curve["cpu"]

    panels = []
    for _, group in groupby(sorted(found, key=panel), panel):
        own = sorted(group, key=lambda curve: int(curve["number"]))
        lines = [_ideal(curve) for curve in own]
        for i, curve in enumerate(own):
            colour, shape = RANKED[i % len(RANKED)]
            dash = list(curves.DASHES)[i // len(RANKED) % len(curves.DASHES)]
            rows = [{**curves.point(t, t["ranks"]), **search.as_rate(t)} for t in curve["lines"]]
            lines.append(Series(curve["amount"], colour, shape, rows, dash))
        trials = [t for curve in own for t in curve["lines"]]
        y = search.rate_axis(lines)
        y.title = f"{own[0]['work'].named} ({y.title})"
        panels.append(
            (
                trials,
                Panel(
                    f"{own[0]['kind']}: {own[0]['alike']}",
                    _rank_axis(trials),
                    y,
                    lines,
                    HALF,
                    height=270,
                ),
            )
        )
    return panels


def _ideal(curve: Row) -> Series:
    """What it would be if ranks cost nothing."""
    least, most, first = curve["least"], curve["lines"][-1]["ranks"], curve["lines"][0]["value"]
    power = 1 if curve["work"].is_rate else -1 if curve["faster"] else 0
    return Series(
        "",
        GREY,
        "circle",
        [curves.bare(n, first * (n / least) ** power) for n in (least, most)],
        "dotted",
        1,
        points=False,
    )


def _rank_axis(trials: Sequence[Row]) -> Axis:
    ranks = sorted({t["ranks"] for t in trials})
    return Axis(
        "ranks",
        (ranks[0] / 1.12, ranks[-1] * 1.12),
        [float(n) for n in ranks],
        "format(datum.value, 'd')",
    )
