# SPDX-License-Identifier: Apache-2.0
"""Distributions: a panel for each metric that is one, a line for each trial."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..base import units
from ..records import description
from ..records.description import Described
from ..records.rows import Trial, Value
from . import axes, curves
from .axes import Axis, Point
from .charts import Picture
from .curves import Panel, Series

LINES = 14  # in a panel; if there are more, those of the largest settings are drawn
HELP = "Share of samples that took at most this long; to the right, ever rarer exceptions."


def pictures(of: Described, trials: Sequence[Trial], name: str, title: str) -> list[Picture]:
    """A panel for each metric that is a distribution, a line for each trial: its quantiles."""
    drawn = []
    for metric in dict.fromkeys(m for t in trials for m in t["quantiles"]):
        own = _largest(of, [t for t in trials if metric in t["quantiles"]])
        several = description.differing([of.setting(t) for t in own])
        told = of.meaning(metric)
        series = [
            Series(
                of.words(of.setting(t), several) or t["variant"],
                *curves.ranked(i),
                [
                    _point(t, quantile, value, told["unit"] or "1")
                    for quantile, value in sorted(t["quantiles"][metric].items())
                ],
            )
            for i, t in enumerate(own)
        ]
        panel = Panel(metric, SHARES, axes.y_axis(of, metric, curves.points(series)), series)
        file, of_what = (
            f"{name}-{metric}",
            f"{title}: distribution of {metric.removesuffix('-median')}",
        )
        meant = [f"{metric}: {_of_each(told['help'] or metric)}"]
        drawn.append(curves.draw(file, of_what, HELP, own, [panel], meant))
    return drawn


def _of_each(help_text: str) -> str:
    """What is distributed: the metric's value is the median of it."""
    return help_text.removeprefix("median of ").removeprefix("median ")


def _point(trial: Trial, quantile: float, value: float, unit: str) -> Point:
    told: Value = {"value": value, "low": None, "high": None}
    own: Trial = {**trial, **told}
    point = curves.point(own, _nines(quantile))
    return {
        **point,
        **axes.said(told, unit),
        "trial": f"{point['trial']}, quantile {quantile:g}",
    }


def _largest(of: Described, trials: Sequence[Trial]) -> Sequence[Trial]:
    """If there are too many lines: those with the most threads, the largest size and so on."""
    for name in description.differing([of.setting(t) for t in trials]):
        values = {value_of for t in trials if (value_of := of.setting(t).get(name, ""))}
        if len(trials) > LINES and name not in units.BARE and of.is_number(name, values):
            most = max(values, key=float)
            trials = [t for t in trials if of.setting(t).get(name, most) == most]
    return trials


NINES = (0.5, 0.9, 0.99, 0.999, 0.9999, 1.0)


def _nines(quantile: float) -> float:
    """The place of a quantile on the axis: 0.9 is at 1, 0.99 at 2, the maximum at the right end."""
    return 5.0 if quantile >= 1 else -math.log10(1 - quantile)


SHARES = Axis(
    "share that took at most this long",
    (0.25, 5.2),
    [_nines(q) for q in NINES],
    "datum.value > 4.5 ? '100 %' : format(1 - pow(10, -datum.value), '.4~%')",
    log=False,
    every=True,
)
