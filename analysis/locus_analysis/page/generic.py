# SPDX-License-Identifier: Apache-2.0
"""The pictures of any benchmark, drawn from its line in the record: curves over each parameter that
is an x axis, and over threads; ratios; distributions as quantiles; bars for the rest. Every metric
is drawn, the headline first; one that is the same in all trials is told in a sentence instead."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from ..pictures import axes, bars, cpu_pairs, quantiles, sweeps
from ..pictures.bars import Column
from ..pictures.charts import BETTER, Picture
from ..pictures.sweeps import Scene, has
from ..records import description, published
from ..records.description import Described
from ..records.rows import Pages, Trial
from . import ratio_pictures

MANY = 12  # panels; of more, only the headline is drawn
COLUMNS = 4  # metrics side by side, as bars


def pictures(scene: Scene, name: str, title: str, pages: Sequence[Pages] = ()) -> list[Picture]:
    """The pictures of one run. Trials that no curve shows are drawn as bars. With `pages` all
    trials are, with the nodes of their pages beside them."""
    of = scene.of
    own = [t for t in scene.trials if not t["in_matrix"]]
    same = alike(of, own)
    along_too = any(_has_curve(of, t) for t in own)  # maps have names of their own then
    drawn = cpu_pairs.maps(scene.trials, scene.machine, f"{name}-map" if along_too else name, title)
    scene = replace(scene, trials=[t for t in own if not t["pairs"] or _has_curve(of, t)])
    apart = published.lesson(of.name).get("apart", [])
    for variant in () if pages else ("", *apart):
        part = [
            t
            for t in scene.trials
            if (t["variant"] == variant if variant else t["variant"] not in apart)
        ]
        words = filter(None, (title, variant))
        drawn += _curves(
            scene, part, same, "-".join(filter(None, (name, variant))), ": ".join(words)
        )
    drawn += sweeps.beside(scene, f"{name}-published", f"{title}: beside published curves")
    shown = {i for p in drawn for i in p.shows}
    rest = [t if pages else _without_pages(t) for t in own if t["id"] not in shown]
    file, said = (f"{name}-bars", f"{title}: other trials") if drawn else (name, title)
    drawn += _headlines(rest, file, said, pages)
    drawn += _beside(of, rest, same, f"{name}-values", f"{title}: all that was measured")
    drawn += ratio_pictures.pictures(of, scene.trials, f"{name}-ratios", f"{title}: ratios")
    return drawn + quantiles.pictures(of, scene.trials, f"{name}-quantiles", title)


def _has_curve(of: Described, trial: Trial) -> bool:
    """Whether there is more to draw of pairs than their map."""
    return any(map(of.is_curve, trial["parameters"]))


def _curves(
    scene: Scene, trials: Sequence[Trial], same: Container[str], name: str, title: str
) -> list[Picture]:
    """Over each parameter that is an x axis: the headline, and the other metrics."""
    of, drawn = scene.of, []
    found = description.curved(of, trials)
    for i, (x, groups) in enumerate(found):
        file = name if i == 0 else f"{name}-{x}"
        said = f"{title}, over {x}" if len(found) > 1 else title
        drawn += sweeps.over(scene, x, groups, of.headline, file, said)
        others = _worth_drawing(of, [t for g in groups for t in g.trials], same)
        if i == 0 and others and len(groups) <= MANY:
            drawn += sweeps.of_metrics(scene, x, groups, others, f"{name}-metrics", said)
    return drawn


class BarOfTrial(Trial):
    cells: Mapping[str, bars.Cell]


def _without_pages(trial: Trial) -> Trial:
    """Bars show no shares of pages for it."""
    return {**trial, "how": None}


def _bar(trial: Trial, cells: Mapping[str, bars.Cell]) -> bars.Bar:
    found: BarOfTrial = {**trial, "cells": cells}
    return found


def _headlines(
    rest: Sequence[Trial], name: str, title: str, pages: Sequence[Pages]
) -> list[Picture]:
    if not rest:
        return []
    column = Column(bars.HEADLINE, rest[0]["metric"], rest[0]["unit"])
    rows = [_bar(t, {bars.HEADLINE: t}) for t in rest]
    help_text = bars.HELP.format(BETTER[rest[0]["better"]]) + (bars.PAGES_HELP if pages else "")
    return bars.bars(rows, [column], name, title, help_text, pages)


def _beside(
    of: Described, rest: Sequence[Trial], same: Container[str], name: str, title: str
) -> list[Picture]:
    """Side by side, the metrics of trials that no curve shows."""
    others = _worth_drawing(of, rest, same)
    own = [t for t in rest if any(has(t, m) for m in others)]
    shown = []
    for i in range(0, len(others), COLUMNS):
        part = others[i : i + COLUMNS]
        columns = []
        for m in part:
            values = [t["metrics"][m] for t in own if has(t, m)]
            unit = axes.unit_of(of.metrics[m]["unit"], of.metrics[m].get("kind"))
            columns.append(Column(m, m, "%" if axes.is_share(values, unit) else unit))
        rows = [
            _bar(_without_pages(t), {m: t["metrics"][m] for m in part if has(t, m)}) for t in own
        ]
        words = "; ".join(f"{m}: {of.metrics[m]['help'] or 'another metric'}" for m in part)
        file = f"{name}-{i // COLUMNS + 1}" if len(others) > COLUMNS else name
        named = f"{title} ({', '.join(part)})"
        shown += bars.bars(rows, columns, file, named, words)
    return shown


def other_metrics(of: Described, trials: Sequence[Trial]) -> list[str]:
    """The metrics besides the headline that have a value."""
    return [m for m in of.metrics if m != of.headline and any(has(t, m) for t in trials)]


def alike(of: Described, trials: Sequence[Trial]) -> dict[str, str]:
    """The metrics that have the same value in all of several trials, each with that value in
    words."""
    found = {}
    for metric in other_metrics(of, trials):
        own = [t["metrics"][metric] for t in trials if has(t, metric)]
        texts = {axes.said(m, axes.unit_of(m["unit"], m["kind"]))["text"] for m in own}
        if len(own) > 1 and len(texts) == 1:
            found[metric] = texts.pop()
    return found


def said_alike(same: Mapping[str, str]) -> str:
    """In a sentence, by value; empty if there are none."""
    by_value: dict[str, list[str]] = {}
    for metric, text in same.items():
        by_value.setdefault(text, []).append(metric)
    told = "; ".join(f"{', '.join(metrics)} {text}" for text, metrics in by_value.items())
    return f"The same in all trials that have it: {told}." if told else ""


def _worth_drawing(of: Described, trials: Sequence[Trial], same: Container[str]) -> list[str]:
    """All metrics that differ, unless the lesson names some; tables show the others."""
    named = published.lesson(of.name).get("drawn")
    others = [m for m in other_metrics(of, trials) if m not in same]
    return [m for m in others if named is None or m in named]
