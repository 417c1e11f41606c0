# SPDX-License-Identifier: Apache-2.0
"""Distributions: a panel for each metric that is one, a line for each trial."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from . import axes, curves, described
from .charts import Picture
from .curves import RANKED, Axis, Panel, Series
from .described import Described

Row = dict[str, Any]

LINES = 14  # in a panel; if there are more, those of the largest settings are drawn
HELP = "The share of all that took no longer than this (to the right: ever rarer exceptions)."


def pictures(of: Described, trials: Sequence[Row], name: str, title: str) -> list[Picture]:
    """A panel for each metric that is a distribution, a line for each trial: its quantiles."""
    metrics = dict.fromkeys(m for t in trials for m in t.get("quantiles") or {})
    drawn = []
    for metric in metrics:
        own = _largest(of, [t for t in trials if metric in (t.get("quantiles") or {})])
        several = described.differing([of.setting(t) for t in own])
        series = []
        for i, t in enumerate(own):
            colour, shape = RANKED[i % len(RANKED)]
            rows = [
                {**curves.point({**t, "value": v, "low": None, "high": None}, _nines(q))}
                for q, v in sorted(t["quantiles"][metric].items())
            ]
            unit = str(of.metrics.get(metric, {}).get("unit") or "1")
            rows = [
                {**r, **axes.said(r, unit), "trial": f"{r['trial']}, quantile {q:g}"}
                for r, q in zip(rows, sorted(t["quantiles"][metric]))
            ]
            dash = list(curves.DASHES)[i // len(RANKED) % len(curves.DASHES)]
            series.append(
                Series(of.words(of.setting(t), several) or t["variant"], colour, shape, rows, dash)
            )
        x = Axis(
            "share of all that took no longer",
            (0.25, 5.2),
            [_nines(q) for q in NINES],
            "datum.value > 4.5 ? '100 %' : format(1 - pow(10, -datum.value), '.4~%')",
            log=False,
            every=True,
        )
        panel = Panel(metric, x, axes.y_axis(of, metric, series), series)
        drawn.append((own, [panel]))
    said_of = [f"{m}: {of.metrics.get(m, {}).get('help') or m}" for m in metrics]
    return [
        p
        for own, panels in drawn
        for p in [
            curves.draw(
                f"{name}-{panels[0].title}",
                f"{title}: distribution of {panels[0].title}",
                HELP,
                own,
                panels,
                said_of[:1],
            )
        ]
    ]


def _largest(of: Described, trials: Sequence[Row]) -> Sequence[Row]:
    """If there are too many lines: those with the most threads, the largest size and so on."""
    for name in described.differing([of.setting(t) for t in trials]):
        values = {value_of for t in trials if (value_of := of.setting(t).get(name, ""))}
        if len(trials) > LINES and name not in described.BARE and of.is_number(name, values):
            most = max(values, key=float)
            trials = [t for t in trials if of.setting(t).get(name, most) == most]
    return trials


NINES = (0.5, 0.9, 0.99, 0.999, 0.9999, 1.0)


def _nines(quantile: float) -> float:
    """The place of a quantile on the axis: 0.9 is at 1, 0.99 at 2, the maximum at the right end."""
    return 5.0 if quantile >= 1 else -math.log10(1 - quantile)
