# SPDX-License-Identifier: Apache-2.0
"""Curves of any benchmark: a metric over an x axis, a panel for each setting, with published
figures in grey."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Optional, TypeVar

from ..records import description, published
from ..records.description import Bands, Described, Group, place_of
from ..records.lines import Machine
from ..records.rows import Trial, Value
from . import axes, charts, curves
from .axes import Axis, Point, Said
from .charts import Picture
from .colours import GREY
from .curves import HALF, RANKED, WIDE, Panel, Series

MOST = 12  # panels of ratios
SCALED = "Lines across points are 95 % intervals."
PUBLISHED = (
    "Grey: figures published of other machines; in colour: this one. Compare shapes, not times."
)
Words = Callable[[Value, str], Said]  # a value and its unit as text


@dataclass(frozen=True)
class Scene:
    """What the pictures of a run have in common."""

    of: Described
    trials: Sequence[Trial]  # all that the run drew: a line has the same colour in all pictures
    machine: Optional[Machine] = None
    bands: Callable[[str, Sequence[Trial]], Optional[Bands]] = lambda x, trials: None
    base: Optional[float] = None  # a grey line across: 1 where ratios are drawn


def over(
    scene: Scene, x: str, groups: Sequence[Group], metric: str, name: str, title: str
) -> list[Picture]:
    """A panel for each group."""
    of, several = scene.of, description.differing([g.setting for g in groups])
    lines = [series(scene, x, g, metric) for g in groups]
    axis = axes.x_axis(of, x, curves.points(s for own in lines for s in own))
    y = axes.y_axis(of, metric, curves.points(s for own in lines for s in own))
    width, height = (HALF, 250) if len(groups) > 1 else (WIDE, curves.HEIGHT)
    drawn, said = [], {}
    for g, own in zip(groups, lines):
        ideal, bands = _ideal(of, x, metric, own), scene.bands(x, g.trials)
        marks = () if bands else axes.marks(of, x, axis, scene.machine)
        words = of.words(g.setting, several)
        panel = Panel(
            words, axis, y, [*_base(scene, axis, y), *ideal, *own], width, height, bands, marks
        )
        drawn.append((g.trials, [panel]))
        said[bands.help if bands else ""] = True
        said[IDEAL if ideal else ""] = True
    said[_dashes_help(scene, groups)] = True
    cited = [*_ringed(of, lines), *_cited([s for own in lines for s in own])]
    help_text = " ".join(filter(None, (_help(of, x, metric, groups), *said)))
    return curves.in_parts(drawn, name, title, help_text, lambda _: cited)


def _base(scene: Scene, x: Axis, y: Axis) -> list[Series]:
    if scene.base is None or not y.domain[0] < scene.base < y.domain[1]:
        return []
    return [curves.bare_line([(end, scene.base) for end in x.domain], dash="solid")]


def _ringed(of: Described, lines: Sequence[Sequence[Series]]) -> list[str]:
    some = any(r.get("ring") for own in lines for s in own for r in s.rows)
    return [published.lesson(of.name)["ringed"]["help"]] if some else []


T = TypeVar("T", bound=Trial)


def ratios(
    scene: Scene,
    trials: Sequence[T],
    kind: str,
    name: str,
    title: str,
    axes_left_out: Sequence[str] = (),
) -> tuple[list[Picture], list[T]]:
    """Ratios as curves, if they have an x axis and few enough panels; and those that are left.
    `trials` are those of the scene."""
    for x, groups in description.curved(scene.of, trials):
        if len(groups) <= MOST and x not in axes_left_out:
            shown = {id(t) for g in groups for t in g.trials}
            left = [t for t in trials if id(t) not in shown]
            return over(replace(scene, base=1.0), x, groups, kind, name, title), left
    return [], list(trials)


def of_metrics(
    scene: Scene, x: str, groups: Sequence[Group], metrics: Sequence[str], name: str, title: str
) -> list[Picture]:
    """Pictures of further metrics: a panel for each metric and each group that has it."""
    of, several = scene.of, description.differing([g.setting for g in groups])
    drawn, meant = [], [f"Other metrics. {SCALED}"]
    for metric in metrics:
        of_metric = [(g, series(scene, x, g, metric), limits(scene, x, g, metric)) for g in groups]
        points = curves.points(s for _, own, most in of_metric for s in (*own, *most))
        axis, y = axes.x_axis(of, x, points), axes.y_axis(of, metric, points)
        marks = axes.marks(of, x, axis, scene.machine)
        for g, own, most in of_metric:
            if any(p["value"] is not None for p in curves.points(own)):
                said = ", ".join(filter(None, (metric, of.words(g.setting, several))))
                ideal = _ideal(of, x, metric, own)
                panel = Panel(said, axis, y, [*ideal, *most, *own], HALF, 190, marks=marks)
                drawn.append(([t for t in g.trials if has(t, metric)], [panel]))
                meant += [IDEAL] * bool(ideal) + [limit_help(of, metric)] * bool(most)
    meant.append(_dashes_help(scene, groups))
    words = [f"{m}: {of.metrics[m]['help'] or 'another metric'}" for m in metrics]
    said = " ".join(filter(None, dict.fromkeys(meant)))
    return curves.in_parts(drawn, name, f"{title}: {', '.join(metrics)}", said, lambda _: words)


def series(
    scene: Scene,
    x: str,
    group: Group,
    metric: str,
    said: Words = axes.said,
) -> list[Series]:
    """The lines of a group; of metrics but the headline only those with a value."""
    of, found = scene.of, []
    own = description.lines(of, group.trials, scene.trials)
    for i, line in enumerate(own):
        placed = [(at, t) for t in line.trials if (at := place_of(of, t, x)) is not None]
        several = len(own) if x in of.parameters or x == "threads" else 1
        rows: list[Point] = [
            {
                **point(t, _aside(at, i if several > 1 else 0, several), metric, said),
                "ring": metric == of.headline and _is_ringed(t),
                "at": at,
            }
            for at, t in sorted(placed, key=lambda of_trial: of_trial[0])
        ]
        if metric == of.headline or any(r["value"] is not None for r in rows):
            found.append(Series(line.name, *curves.style(line), rows))
    return [*_published(of, x, group, own, metric, found), *found]


def _dashes_help(scene: Scene, groups: Sequence[Group]) -> str:
    shown = [t for g in groups for t in g.trials]
    return curves.dashes_help(description.unlike_pages(scene.of, shown, scene.trials))


def limit_of(of: Described, metric: str) -> Optional[str]:
    """The metric that says how much the machine allows, if the lesson names one."""
    limit = published.lesson(of.name).get("limits", {}).get(metric)
    return limit if limit in of.metrics else None


def limit_help(of: Described, metric: str) -> str:
    limit = limit_of(of, metric)
    return f"Grey dashed: {limit}, {of.metrics[limit]['help']}." if limit else ""


def limits(scene: Scene, x: str, group: Group, metric: str) -> list[Series]:
    """A line of the limit for each line of the metric that has one."""
    limit = limit_of(scene.of, metric)
    found = [s for s in series(scene, x, group, limit) if s.rows] if limit else []
    return [limit_line(s, s.name if len(found) > 1 else "") for s in found]


def limit_line(of: Series, name: str = "") -> Series:
    said = f"limit of {name}" if name else "limit"
    return replace(of, name=said, dash="dashed", colour=GREY, width=1.2, points=False)


def _aside(x: float, place: int, several: int) -> float:
    """Where to draw a point: lines are shifted a little, so that they do not cover each other."""
    step: float = (1 + min(0.03, 0.12 / max(several, 1))) ** (place - (several - 1) / 2)
    return x * step


NO_VALUE: Value = {"value": None, "low": None, "high": None}


def point(trial: Trial, x: float, metric: str, said: Words = axes.said) -> Point:
    """The place and the words of a trial on a curve of a metric."""
    of = trial["metrics"].get(metric)
    value = NO_VALUE
    if of:
        value = {"value": of["value"], "low": of["low"], "high": of["high"]}
    words = said(value, axes.unit_of(of["unit"], of["kind"]) if of else "1")
    own: Trial = {**trial, **value}
    return {**curves.point(own, x), **words, "trial": description.in_words(trial)}


def _is_ringed(trial: Trial) -> bool:
    ring = published.lesson(trial["benchmark"]).get("ringed")
    found = ring and trial["metrics"].get(ring["metric"])
    return bool(ring and found and (found["value"] or 0) >= ring["from"])


def _help(of: Described, x: str, metric: str, groups: Sequence[Group]) -> str:
    """What is drawn, and what the names of the lines mean."""
    what = of.meaning(metric)["help"] or metric
    better = charts.BETTER[of.meaning(metric)["better"]]
    trials = [t for g in groups for t in g.trials]
    line = {description.line_of(of, t) for t in trials}
    meant = []
    if line == {"variant"}:
        shown = {t["variant"] for t in trials}
        meant = [f"{v}: {said}" for v, said in of.variants.items() if v in shown]
    elif len(line) == 1:
        meant = [f"{p}: {of.parameters[p]['help']}" for p in line if p in of.parameters]
    named = f" {'; '.join(meant)}." if meant else ""
    return f"{metric}{better}: {what}; over {x}. {SCALED}{named}".replace("..", ".")


IDEAL = "Grey dotted: perfect scaling."


def _ideal(of: Described, x: str, metric: str, lines: Sequence[Series]) -> list[Series]:
    """Perfect scaling, where it can be expected: over threads, if the benchmark declares a ratio
    over them, of the best line; of each line if the lesson says so of this axis."""
    each = x in published.lesson(of.name).get("ideal", [])
    compared = any(r["parameter"] == "threads" and r["metric"] == metric for r in of.ratios)
    if not each and not (x == "threads" and compared):
        return []
    power = 1 if of.metrics[metric]["better"] == "higher" else -1
    starts = [s.rows[0] for s in lines if s.name and s.rows]
    first = [(p["x"], p["value"]) for p in starts if p["value"] and p["x"]]
    if first and not each:
        first = [min(first, key=lambda p: -power * p[1])]
    most = _reach(lines)
    return [
        curves.bare_line([(n, value * (n / least) ** power) for n in (least, most)])
        for least, value in first
    ]


def _reach(lines: Sequence[Series]) -> float:
    return max((p["x"] for p in curves.points(lines) if p["x"] is not None), default=0.0)


def _published(
    of: Described,
    x: str,
    group: Group,
    lines: Sequence[description.Line],
    metric: str,
    drawn: Sequence[Series],
) -> list[Series]:
    """Published figures in grey, in the shape of the line that they belong to, up to the largest
    measured x."""
    reach = _reach(drawn)
    shape = {line.name: (i, RANKED[line.place % len(RANKED)][1]) for i, line in enumerate(lines)}
    found = []
    for p in (*published.points(of.name, metric, x), *published.placed(of.theirs, x)):
        name = p.variant if of.lines == "variant" else p.parameters.get(of.lines, "")
        others = {**p.where, **({} if of.lines == "variant" else {"variant": p.variant})}
        agrees = all(group.setting.get(k) == v for k, v in others.items() if k != x)
        if name not in shape or not agrees or p.x > reach * 1.01:
            continue
        i, own_shape = shape[name]
        row: Point = {
            **curves.bare(_aside(p.x, i, len(lines)), p.value),
            **axes.said({"value": p.value, "low": None, "high": None}, of.metrics[metric]["unit"]),
            "trial": f"published: {p.said}",
            "source": p.source,
            "at": p.x,
        }
        found.append(Series("", GREY, own_shape, "solid", [row]))
    return found


def _cited(lines: Sequence[Series]) -> list[str]:
    """The sources of the grey points."""
    rows = [r for r in curves.points(lines) if "source" in r]
    machines = dict.fromkeys(r["trial"].split(": ", 1)[1].split(";")[0] for r in rows)
    if not rows:
        return []
    text = f"Grey, same marks: published of {'; '.join(machines)}; compare shapes, not times."
    return [text, *published.cited(r["source"] for r in rows)]


def beside(scene: Scene, name: str, title: str) -> list[Picture]:
    """Curves that others published, each with ours: a panel for each rule of the lesson."""
    of, panels, shown = scene.of, [], []
    sources: list[str] = []
    for rule in published.lesson(of.name).get("curves", []):
        where = {"variant": rule["variant"], **rule.get("where", {})}
        own = [
            t
            for t in scene.trials
            if where.items() <= of.setting(t).items()
            and has(t, rule["metric"])
            and place_of(of, t, rule["x"]) is not None
        ]
        if own:
            figures = published.figures(of.name, rule["figures"], rule["variant"])
            lines = _theirs(figures, rule["at"])
            lines += series(scene, rule["x"], Group({}, own), rule["metric"])
            points = curves.points(lines)
            axis = axes.x_axis(of, rule["x"], points)
            y = axes.y_axis(of, rule["metric"], points)
            panels.append(Panel(rule["variant"], axis, y, lines))
            shown += own
            sources += [f.source for f in figures]
    if not panels:
        return []
    help_text = f"{PUBLISHED} {published.lesson(of.name).get('caution', '')}".strip()
    return [curves.draw(name, title, help_text, shown, panels, published.cited(sources), columns=1)]


def _theirs(figures: Sequence[published.Figure], at: str) -> list[Series]:
    """A line for each machine; of repeats the mean."""
    by_machine: dict[str, dict[float, list[float]]] = {}
    for f in figures:
        machine = f"{published.short(f.machine)} ({f.source})"
        by_x = by_machine.setdefault(machine, {})
        by_x.setdefault(float(f.parameters[at]), []).append(f.value)
    dashes = [*list(curves.DASHES)[1:], "solid"]
    return [
        curves.bare_line(
            [(x, fmean(values)) for x, values in sorted(by_x.items())],
            dashes[i % len(dashes)],
            machine,
        )
        for i, (machine, by_x) in enumerate(by_machine.items())
    ]


def has(trial: Trial, metric: str) -> bool:
    of = trial["metrics"].get(metric)
    return of is not None and of["value"] is not None
