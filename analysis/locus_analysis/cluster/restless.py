# SPDX-License-Identifier: Apache-2.0
"""Hosts whose runs scatter much more than the other hosts' runs, and what else used their CPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Optional, Protocol

import numpy as np

from ..base import units
from ..compare.observations import Run, Side
from . import rule
from .rule import Array

RESTLESS = 4  # times the class's scatter between runs
NEEDED = 3  # runs that have a scatter


class Place(Protocol):
    """A run's host and campaign."""

    @property
    def host(self) -> str: ...


def found(part: Side, y: Array, places: Sequence[Place]) -> dict[str, str]:
    """By host: why it is called noisy. `places` of the runs, which are the rows of `y`."""
    several = {p: own for p, own in _rows(places).items() if len(own) >= NEEDED}
    if len(several) < rule.LEAST_HOSTS:
        return {}
    scatter = np.stack([np.std(y[own], axis=0, ddof=1) for own in several.values()])
    far = rule.medians(scatter / np.fmax(rule.medians(scatter.T)[None, :], 1e-4))
    told = {}
    for (place, own), times in zip(several.items(), far):
        if times > RESTLESS:
            said = f"its runs scatter {times:.0f} times as much as others'"
            told[place.host] = f"{said}; {_evidence([part.runs[i] for i in own], part.runs)}"
    return told


def _rows(places: Sequence[Place]) -> Mapping[Place, list[int]]:
    rows: dict[Place, list[int]] = {}
    for i, place in enumerate(places):
        rows.setdefault(place, []).append(i)
    return rows


def _evidence(own: Sequence[Run], class_: Sequence[Run]) -> str:
    """Shares of the time that others had, beside the class's."""
    foreign = _beside([r["foreign_share"] for r in own], [r["foreign_share"] for r in class_])
    stolen = _beside([r["stolen_share"] for r in own], [r["stolen_share"] for r in class_])
    return f"other processes had {foreign}, the host {stolen} of its CPU time"


def _beside(own: Sequence[Optional[float]], class_: Sequence[Optional[float]]) -> str:
    known = [share for share in own if share is not None]
    if not known:
        return "an unknown share"
    usual = np.median([share for share in class_ if share is not None])
    return f"{units.percent(float(np.mean(known)))} (class: {units.percent(float(usual))})"
