# SPDX-License-Identifier: Apache-2.0
"""Checkpoint: its curves and table, and what the measurement makes of the published explanation.

The explanation (reference/sources.csv, nutter2008) was that two threads are slower than one
because the two counters, the tick and the count of firings, share a word or a line. If so,
taking the two apart - `apart` - must take the cost away; but the tick itself is shared by all
threads in both. So two ratios tell: what `together` takes to what `apart` takes, and how much of
what `together` costs over counters of one's own remains when they are apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from statistics import median
from typing import Any, Optional

from . import charts, curves, evidence, published, units
from .charts import GREY
from .curves import BLUE, GREEN, ORANGE, RED, Axis, Panel, Series
from .evidence import DIFFERS, IN_PART, UNSURE, ratio
from .records import is_sound
from .sharing import LOW, as_share, beside, cpu_mark, many_threads, thread_axis, times

Row = dict[str, Any]

LAYOUTS = {
    "together": (RED, "diamond"),
    "apart": (GREEN, "triangle-right"),
    "per-thread-dense": (ORANGE, "square"),
    "per-thread": (BLUE, "circle"),
}
BODIES = {"loop": "bare loop", "reverse": "reversal of strings"}
MATTERS = 1.05  # a ratio within so much of 1 is none
HIGH = 250  # pixels

TIME_HELP = (
    "Time that each thread takes for a tick, over the number of threads (both axes logarithmic);"
    " lines across points are 95 % intervals. Where time grows as the number of threads does, they"
    " gain nothing by being several. Grey, in the same shapes: repeats as published, in Java, of"
    " {machine}."
)
LOST_HELP = (
    "What the race for a shared pair of counters does to them: ticks that are lost, and firings"
    " more or less than there should have been. Counters of one's own lose nothing. Grey, in the"
    " same shapes: firings as published."
)


def pictures(trials: Sequence[Row], machine: Row, name: str, title: str) -> list[charts.Picture]:
    """Time over threads, and what is lost; where only one number of threads was run, bars show
    the time."""
    if not many_threads(trials):
        return []
    mark = cpu_mark(trials, machine)
    x = thread_axis(trials)
    bodies = {body: list(own) for body, own in groupby(sorted(trials, key=_body), key=_body)}
    most = max(t["threads"] for t in trials)
    grey = {body: _published_times(most) if body == "loop" else [] for body in bodies}
    lines = {body: [*grey[body], *_lines(own, "time")] for body, own in bodies.items()}
    y = curves.time_axis([line for of in lines.values() for line in of], "ns for a tick")
    width = curves.HALF if len(bodies) > 1 else curves.WIDE
    panels = [
        Panel(BODIES.get(body, body), x, y, lines[body], width, height=HIGH, marks=mark)
        for body in bodies
    ]
    source = published.figures("checkpoint", "time")[0]
    cited = [f"{source.source}: {published.sources()[source.source]}"]
    drawn = [
        curves.draw(name, title, TIME_HELP.format(machine=source.machine), trials, panels, cited)
    ]
    raced = _raced(bodies, x, mark, most)
    if raced:
        lost_title = f"{title}: lost ticks, and firings"
        drawn.append(
            curves.draw(
                f"{name}-lost", lost_title, LOST_HELP, _shared(trials), raced, cited, columns=2
            )
        )
    return drawn


def _raced(
    bodies: dict[str, list[Row]], x: Axis, mark: list[tuple[float, str]], most: int
) -> list[Panel]:
    """What is lost, and the error of the firings: a panel for each, and for each body."""
    panels = []
    for body, own in bodies.items():
        for name, label in (("lost", "ticks lost"), ("fired-error", "firings too many or too few")):
            lines = _lines(_shared(own), name)
            if any(p["value"] is not None for line in lines for p in line.rows):
                lines = [
                    *(_published_errors(most) if (name, body) == ("fired-error", "loop") else []),
                    *lines,
                ]
                title = f"{BODIES.get(body, body)}: {label}"
                panels.append(
                    Panel(
                        title,
                        x,
                        _share_axis(lines, label),
                        lines,
                        curves.HALF,
                        height=LOW,
                        marks=mark,
                    )
                )
    return panels


def _body(trial: Row) -> str:
    return str(trial["parameters"].get("body", "loop"))


def _shared(trials: Sequence[Row]) -> list[Row]:
    return [t for t in trials if t["variant"] in ("together", "apart")]


def metric(trial: Row, name: str) -> Row:
    """Time, `lost` as the share of the ticks that did not survive, or whatever else has a name;
    {} where it was not reported."""
    found: Row = trial["metrics"].get("kept" if name == "lost" else name) or {}
    if found.get("value") is None:
        return {}
    if name != "lost":
        return found
    low, high = (None if end is None else 1 - end for end in (found["high"], found["low"]))
    return {**found, "value": 1 - found["value"], "low": low, "high": high}


def _lines(trials: Sequence[Row], name: str) -> list[Series]:
    found = []
    for layout, (colour, shape) in LAYOUTS.items():
        own = sorted((t for t in trials if t["variant"] == layout), key=lambda t: t["threads"])
        rows = [_metric_point(t, name) for t in own]
        if rows:
            found.append(Series(layout, colour, shape, rows))
    return found


def _metric_point(trial: Row, name: str) -> Row:
    of = metric(trial, name)
    point = curves.point(
        {**trial, **(of or {"value": None, "low": None, "high": None})},
        beside(trial["threads"], trial["variant"], LAYOUTS),
    )
    return point if name == "time" or not of else {**point, **as_share(of)}


def _share_axis(lines: Sequence[Series], label: str) -> Axis:
    """About zero."""
    ends = [
        v
        for line in lines
        for p in line.rows
        for v in (p["value"], p["low"], p["high"])
        if v is not None
    ]
    low, high = min(0.0, *ends, -0.005), max(0.0, *ends, 0.01)
    step = next(s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5) if (high - low) / s <= 7)
    ticks = [i * step for i in range(round(low / step - 0.5), round(high / step + 0.5) + 1)]
    return Axis(
        label,
        (low - (high - low) / 20, high + (high - low) / 20),
        ticks,
        "format(datum.value, '.0%')",
        log=False,
    )


def _repeats(name: str, most: int) -> list[tuple[published.Figure, float]]:
    """Of each layout and number of threads all repeats as they were published, and how many
    ticks they were."""
    found = published.figures("checkpoint", name)
    return [
        (f, float(f.parameters["increments"])) for f in found if f.threads and f.threads <= most
    ]


def _published_times(most: int) -> list[Series]:
    return _grey(
        (f, f.value * (f.threads or 1) / ticks, "s") for f, ticks in _repeats("time", most)
    )


def _published_errors(most: int) -> list[Series]:
    def error(f: published.Figure, ticks: float) -> float:
        return f.value / (ticks // float(f.parameters["every"])) - 1

    return _grey((f, error(f, ticks), "1") for f, ticks in _repeats("fired", most))


def _grey(figures: Any) -> list[Series]:
    by_layout: dict[str, list[Row]] = {}
    for f, value, unit in figures:
        text = units.percent(value) if unit == "1" else units.quantity(value, unit)
        trial = (
            f"published: {f.variant}, {f.threads} threads, Java {f.parameters['java']}, repeat"
            f" {f.parameters['repeat']}"
        )
        by_layout.setdefault(f.variant, []).append(
            {
                **curves.bare(beside(f.threads, f.variant, LAYOUTS), value),
                "text": text,
                "trial": trial,
            }
        )
    return [
        Series("", GREY, LAYOUTS[variant][1], [row])
        for variant, rows in by_layout.items()
        for row in rows
    ]


# What the measurement makes of the published explanation.


def verdict(together: Row, apart: Row, alone: Optional[Row]) -> Row:
    """Of three trials that differ in layout alone: whether it is the two counters on one line
    that cost."""
    costs = ratio(together, apart)
    left = ratio(apart, alone) if alone else None
    found: Row = {
        "ratio": costs,
        "left": left,
        "all": ratio(together, alone) if alone else None,
        "whole": together["whole"],
        "body": BODIES.get(_body(together), _body(together)),
        "threads": together["threads"],
    }
    why = evidence.unfit(together, apart)
    if why or costs is None:
        return {**found, "verdict": UNSURE, "why": why}
    if costs["high"] <= MATTERS:
        faster = costs["high"] < 1 / MATTERS
        gain = (
            "together is even faster"
            if faster
            else f"taking the counters apart gains less than {units.percent(MATTERS - 1)}"
        )
        return {**found, "verdict": DIFFERS, "why": gain + _rest(left)}
    if costs["low"] > MATTERS:
        return {**found, **_cause(together, apart, alone)}
    why = (
        f"the intervals allow that apart is as fast, and that it is {units.number(costs['high'])}"
        " times as fast"
    )
    return {**found, "verdict": UNSURE, "why": why}


def _rest(left: Optional[Row]) -> str:
    """What remains when the counters are apart."""
    if left is None or not is_sound(left):
        return ""
    if left["low"] is not None and left["low"] > MATTERS:
        return (
            f"; apart still takes {times(left)} times as long as counters of one's own: what costs"
            " is that all share the tick"
        )
    if left["high"] is not None and left["high"] <= MATTERS:
        return "; and neither costs anything over counters of one's own: these threads did not meet"
    return ""


def _cause(together: Row, apart: Row, alone: Optional[Row]) -> Row:
    """Taking the counters apart gains; how much of the cost that is."""
    whole = ratio(together, alone) if alone else None
    if alone is None:
        why = "how much of the cost that is, per-thread would tell"
    elif whole is None or evidence.unfit(alone):
        why = evidence.unfit(alone)
    elif whole["high"] <= MATTERS:
        why = "together costs nothing over counters of one's own"
    elif whole["low"] <= 1:
        why = "whether together costs anything over counters of one's own is open"
    else:
        part = evidence.taken_away(together, apart, alone)
        kind = evidence.of_most(part)
        rest = "; the rest is that all share the tick" if kind == IN_PART else ""
        why = (
            f"taking the counters apart takes away {evidence.said(part)} of what sharing them"
            f" costs{rest}"
        )
        return {"verdict": kind, "why": why}
    return {"verdict": UNSURE, "why": f"counters on two lines are faster, but {why}"}


def verdicts(trials: Sequence[Row]) -> list[Row]:
    """For every setting with two threads or more in which both layouts were measured."""
    settings: dict[str, dict[str, Row]] = {}
    for t in trials:
        if t["threads"] > 1:
            key = f"{sorted(t['parameters'].items())} {t['threads']} {t['bind']}"
            settings.setdefault(key, {})[t["variant"]] = t
    both = [s for s in settings.values() if {"together", "apart"} <= set(s)]
    return [verdict(s["together"], s["apart"], s.get("per-thread")) for s in both]


def conclusion(found: Sequence[Row]) -> str:
    """One sentence for a run."""
    if not found:
        return "cannot be told: together and apart were not both measured with two threads or more"
    kinds = list(dict.fromkeys(v["verdict"] for v in found))
    if len(found) == 1:
        return f"{kinds[0]}: {found[0]['why']}"
    if len(kinds) == 1:
        where = "any" if kinds == [UNSURE] else "all"
        return f"{kinds[0]} in {where} of {len(found)} settings; of the first: {found[0]['why']}"
    return "; ".join(
        f"{kind} in {sum(v['verdict'] == kind for v in found)} of {len(found)} settings"
        for kind in kinds
    )


def published_ratio() -> float:
    """Together over apart with two threads, of the medians of the repeats."""
    time = published.figures("checkpoint", "time")
    one, other = (
        median(f.value for f in time if (f.variant, f.threads) == (v, 2))
        for v in ("together", "apart")
    )
    return one / other


def section(trials: Sequence[Row]) -> Row:
    """Of one run."""
    found = verdicts(trials)
    named = [{**t, "body": BODIES.get(_body(t), _body(t))} for t in trials if t["value"]]
    own = [{**t, "lost": metric(t, "lost"), "error": metric(t, "fired-error")} for t in named]
    return {"verdicts": found, "conclusion": conclusion(found), "trials": own}
