# SPDX-License-Identifier: Apache-2.0
"""The speed of nodes that measure at the same moment, over their speed alone: nothing else shows
limits of power and cooling that nodes share.

A run is `together` if it began with others (tag `together` of locus-job, or --begin-at), and
`alone` if its tag is together=1. If no run is alone, unsynchronized runs stand in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple, Optional

import numpy as np

from ..base import units
from ..compare.observations import Key, Run, Side, logarithms
from ..insight.run_variation import outside
from . import components, rule
from .rule import Array

TOGETHER, ALONE, OTHER = "together", "alone", "unsynchronized"
MOST_NAMED = 3
LOWER = 0.99  # of the median; hosts that reach less are named
HEAD = ("component", "nodes", "ratio", "95 % interval", "lowest nodes")
HELP = (
    "Speed of a node while others measure at the same time, over its speed {}; below 1: "
    "slower together."
)


class Host(NamedTuple):
    host: str
    ratio: float  # of speeds: below 1, it is slower together


@dataclass
class Part:
    """A component over all hosts."""

    component: str
    ratio: float  # median over hosts
    low: Optional[float]  # of its 95 % interval; None: fewer than 6 hosts
    high: Optional[float]
    hosts: list[Host]  # the slowest first


@dataclass
class Together:
    base: str  # ALONE, or OTHER
    nodes: int  # hosts that have both
    parts: list[Part]  # the one that loses most first

    @property
    def head(self) -> str:
        return f"speed together over {self.base}: {units.several(self.nodes, 'node')}"

    @property
    def help(self) -> str:
        return HELP.format(self.base)

    @property
    def rows(self) -> list[tuple[str, ...]]:
        return [_row(part) for part in self.parts]

    def table(self) -> list[str]:
        return [
            f"{self.head} (below 1: slower together)",
            *units.aligned([HEAD, *self.rows], (1, 2)),
        ]

    def as_dict(self) -> dict[str, object]:
        hosts = {p.component: [h._asdict() for h in p.hosts] for p in self.parts}
        parts = [{**asdict(p), "hosts": hosts[p.component]} for p in self.parts]
        return {"base": self.base, "nodes": self.nodes, "parts": parts}


def of(side: Side) -> Optional[Together]:
    """None: no host was measured both ways."""
    kinds = [_kind(run) for run in side.runs]
    if TOGETHER not in kinds:
        return None
    for base in (ALONE, OTHER):
        found: dict[str, dict[str, float]] = {}
        for name in dict.fromkeys(run["class"] for run in side.runs):
            own = [i for i, run in enumerate(side.runs) if run["class"] == name]
            _add_class(side.of(own), [kinds[i] for i in own], base, found)
        if found:
            parts = sorted((_part(*item) for item in found.items()), key=lambda p: p.ratio)
            return Together(base, len({h for own in found.values() for h in own}), parts)
    return None


def _kind(run: Run) -> str:
    """A run that was resumed alone has trials of both kinds, and counts as neither."""
    nodes = run["tags"].get("together", "")
    if not nodes.isdecimal():
        return TOGETHER if run["begun_with_others"] else OTHER
    if int(nodes) > 1:
        return TOGETHER
    return "" if run["resumed"] else ALONE


def _add_class(
    part: Side, kinds: Sequence[str], base: str, found: dict[str, dict[str, float]]
) -> None:
    """Adds ratios by component and host, of hosts of one class."""
    columns = _columns(part)
    y = {name: values for name, values in columns.items() if values.shape[1]}
    by_host: dict[str, dict[str, list[int]]] = {host: {} for host in part.hosts}
    for i, (run, kind) in enumerate(zip(part.runs, kinds)):
        by_host[run["host"]].setdefault(kind, []).append(i)
    for host, own in by_host.items():
        rows = [own.get(kind) for kind in (TOGETHER, base)]
        if not all(rows):
            continue
        for name, values in y.items():
            loss = np.subtract(*(_middle(values[chosen]) for chosen in rows))
            if np.isfinite(loss).any():
                found.setdefault(name, {})[host] = float(np.exp(-np.nanmedian(loss)))


def _middle(y: Array) -> Array:
    """Medians over runs; NaN where no run has a metric."""
    return np.where(np.isfinite(y).any(0), rule.medians(y.T), np.nan)


def _columns(part: Side) -> dict[str, Array]:
    """Logarithms of each trial's headline by component, a row for each run; greater is
    worse. The clock has a column for each trial."""
    caches = components.caches_of(part.runs[-1])
    first: dict[str, Key] = {}
    for key, m in part.metrics.items():
        first.setdefault(m["id"], key)
    keys = [*first.values()]
    y, _ = logarithms(part, keys, False)
    cycle = part.cycle[:, part.places(first)]
    columns: dict[str, list[Array]] = {rule.CLOCK: [*cycle.T]}
    for i, key in enumerate(keys):
        m = part.metrics[key]
        if fit := components.fit(components.trial_of(m), caches):
            worse = y[:, i] if m["better"] == "lower" else -y[:, i]
            clocked = fit.cycles and np.isfinite(cycle[:, i]).all()
            columns.setdefault(fit.component, []).append(worse - cycle[:, i] * clocked)
    return {name: np.stack(own, axis=1) for name, own in columns.items() if own}


def _part(component: str, ratios: dict[str, float]) -> Part:
    hosts = sorted((Host(*item) for item in ratios.items()), key=lambda h: (h.ratio, h.host))
    known = [h.ratio for h in hosts]
    beyond = outside(len(known))
    low, high = (None, None) if beyond is None else (known[beyond], known[-1 - beyond])
    return Part(component, float(np.median(known)), low, high, hosts)


def _row(part: Part) -> tuple[str, ...]:
    known = [h.ratio for h in part.hosts]
    if part.low is not None and part.high is not None:
        between = f"{part.low:.3f} to {part.high:.3f}"
    else:
        between = f"range of {len(known)}: {known[0]:.3f} to {known[-1]:.3f}"
    lost = [h for h in part.hosts if h.ratio < LOWER * part.ratio]
    lowest = units.some([f"{h.host} {h.ratio:.3f}" for h in lost], MOST_NAMED) if lost else ""
    return part.component, str(len(known)), f"{part.ratio:.3f}", between, lowest
