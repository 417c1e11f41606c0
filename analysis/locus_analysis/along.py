# SPDX-License-Identifier: Apache-2.0
"""Curves of any benchmark: a metric over an x axis, a panel for each setting, with published
figures in grey."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import axes, charts, curves, described, published
from .charts import GREY, Picture
from .curves import HALF, RANKED, WIDE, Panel, Series
from .described import Described, Group

Row = dict[str, Any]

SCALED = "Lines across points are 95 % intervals."


def over(
    of: Described,
    among: Sequence[Row],
    machine: Row,
    x: str,
    groups: Sequence[Group],
    metric: str,
    name: str,
    title: str,
) -> list[Picture]:
    """A panel for each group."""
    several = described.differing([g.setting for g in groups])
    lines = [_lines(of, among, x, g, metric) for g in groups]
    axis = axes.x_axis(of, x, [s for own in lines for s in own])
    y = axes.y_axis(of, metric, [s for own in lines for s in own])
    width = HALF if len(groups) > 1 else WIDE
    drawn = [
        (
            g.trials,
            [
                Panel(
                    of.words(g.setting, several),
                    axis,
                    y,
                    [*_ideal(of, x, metric, own), *own],
                    width,
                    height=250 if len(groups) > 1 else curves.HEIGHT,
                    marks=axes.marks(of, x, axis, machine),
                )
            ],
        )
        for g, own in zip(groups, lines)
    ]
    cited = [*_ringed(of, lines), *_cited([s for own in lines for s in own])]
    return curves.in_parts(drawn, name, title, _help(of, x, metric, groups), lambda _: cited)


def _ringed(of: Described, lines: Sequence[Sequence[Series]]) -> list[str]:
    some = any(r.get("ring") for own in lines for s in own for r in s.rows)
    return [published.lesson(of.name)["ringed"]["help"]] if some else []


def of_metrics(
    of: Described,
    among: Sequence[Row],
    machine: Row,
    x: str,
    groups: Sequence[Group],
    metrics: Sequence[str],
    name: str,
    title: str,
) -> list[Picture]:
    """Pictures of further metrics: a panel for each metric and each group that has it."""
    several = described.differing([g.setting for g in groups])
    drawn = []
    for metric in metrics:
        of_metric = [(g, _lines(of, among, x, g, metric)) for g in groups]
        series = [s for _, own in of_metric for s in own]
        axis, y = axes.x_axis(of, x, series), axes.y_axis(of, metric, series)
        for g, own in of_metric:
            if not any(p["value"] is not None for s in own for p in s.rows):
                continue
            said = ", ".join(filter(None, (metric, of.words(g.setting, several))))
            found = axes.marks(of, x, axis, machine)
            panel = Panel(said, axis, y, own, HALF, height=190, marks=found)
            drawn.append(([t for t in g.trials if has(t, metric)], [panel]))
    words = [f"{m}: {of.metrics[m].get('help') or 'another metric'}" for m in metrics]
    said = f"What else was measured. {SCALED}"
    return curves.in_parts(drawn, name, f"{title}: {', '.join(metrics)}", said, lambda _: [*words])


def _lines(of: Described, among: Sequence[Row], x: str, group: Group, metric: str) -> list[Series]:
    found = []
    own = described.lines(of, group.trials, among)
    for i, line in enumerate(own):
        colour, shape, dash = curves.style(line)
        rows = [
            _point(t, beside(float(described.value_of(of, t, x)), i, len(own)), metric)
            for t in sorted(line.trials, key=lambda t: float(described.value_of(of, t, x)))
        ]
        if metric == of.headline or any(r["value"] is not None for r in rows):
            found.append(Series(line.name, colour, shape, rows, dash))
    return [*_published(of, x, group, own, metric, found), *found]


def beside(x: float, place: int, several: int) -> float:
    """Where to draw a point: lines are shifted a little, so that they do not cover each other."""
    step: float = (1 + min(0.03, 0.12 / max(several, 1))) ** (place - (several - 1) / 2)
    return x * step


def _point(trial: Row, x: float, metric: str) -> Row:
    of = trial["metrics"].get(metric) or {}
    value = {key: of.get(key) for key in ("value", "low", "high")}
    unit = of.get("unit") or "1"
    point = curves.point({**trial, **value}, x)
    ring = published.lesson(trial["benchmark"]).get("ringed", {})
    ringed = (trial["metrics"].get(ring.get("metric")) or {}).get("value") or 0
    is_ringed = bool(ring) and ringed >= ring["from"]
    return {**point, **axes.said(value, unit), "trial": in_words(trial), "ring": is_ringed}


def in_words(trial: Row) -> str:
    """The words that distinguish a trial from the others of its benchmark."""
    return " ".join(filter(None, (trial["variant"], trial["panel"], trial["point"])))


def _help(of: Described, x: str, metric: str, groups: Sequence[Group]) -> str:
    """What is drawn, and what the names of the lines mean."""
    what = of.metrics.get(metric, {}).get("help") or metric
    better = charts.BETTER[of.metrics.get(metric, {}).get("better")]
    line = {described.line_of(of, t) for g in groups for t in g.trials}
    meant = [
        f"{v}: {of.variants[v]}"
        for v in of.variants
        if line == {"variant"} and any(t["variant"] == v for g in groups for t in g.trials)
    ]
    of_line = of.parameters.get(of.lines, {}).get("help")
    if line == {of.lines} and of_line:
        meant = [f"{of.lines}: {of_line}"]
    return f"{metric}{better}: {what}; over {x}. {SCALED} {'; '.join(meant)}".strip()


def _ideal(of: Described, x: str, metric: str, lines: Sequence[Series]) -> list[Series]:
    """The line of perfect scaling; only where the benchmark declares a ratio over threads."""
    if x != "threads" or not any(
        r["parameter"] == "threads" and r["metric"] == metric for r in of.ratios
    ):
        return []
    power = 1 if of.metrics[metric]["better"] == "higher" else -1
    first = [(s.rows[0]["x"], s.rows[0]["value"]) for s in lines if s.name and s.rows[0]["value"]]
    if not first:
        return []
    least, value = min(first, key=lambda p: -power * p[1])
    most = max(p["x"] for s in lines for p in s.rows)
    rows = [curves.bare(n, value * (n / least) ** power) for n in (least, most)]
    return [Series("", GREY, "circle", rows, "dotted", 1, points=False)]


def _published(
    of: Described,
    x: str,
    group: Group,
    lines: Sequence[described.Line],
    metric: str,
    drawn: Sequence[Series],
) -> list[Series]:
    """Published figures in grey, in the shape of the line that they belong to, up to the largest
    measured x."""
    reach = max((p["x"] for s in drawn for p in s.rows), default=0.0)
    shape = {line.name: (i, RANKED[line.place % len(RANKED)][1]) for i, line in enumerate(lines)}
    found = []
    for p in (*published.points(of.name, metric, x), *published.placed(of.theirs, x)):
        name = p.variant if of.lines == "variant" else p.parameters.get(of.lines, "")
        others = {**p.where, **({} if of.lines == "variant" else {"variant": p.variant})}
        agrees = all(group.setting.get(k) == v for k, v in others.items() if k != x)
        if name not in shape or not agrees or p.x > reach * 1.01:
            continue
        i, own_shape = shape[name]
        row = {
            **curves.bare(beside(p.x, i, len(lines)), p.value),
            **axes.said({"value": p.value, "low": None, "high": None}, of.metrics[metric]["unit"]),
            "trial": f"published: {p.said}",
            "source": p.source,
        }
        found.append(Series("", GREY, own_shape, [row]))
    return found


def _cited(lines: Sequence[Series]) -> list[str]:
    """The sources of the grey points."""
    rows = [r for s in lines for r in s.rows if "source" in r]
    machines = dict.fromkeys(r["trial"].split(": ", 1)[1].split(";")[0] for r in rows)
    sources = dict.fromkeys(r["source"] for r in rows)
    if not rows:
        return []
    text = f"Grey, same marks: published of {'; '.join(machines)}; compare shapes, not times."
    return [text, *(f"{key}: {published.sources()[key]}" for key in sources)]


def has(trial: Row, metric: str) -> bool:
    return (trial["metrics"].get(metric) or {}).get("value") is not None
