# SPDX-License-Identifier: Apache-2.0
"""Nodes over time: for each component of a node whether it stayed as it was, drifted, or changed on
one day, and which settings of the machine changed then."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

from ..base import units
from ..compare import observations
from ..compare.inference import Array
from ..compare.observations import Run, Side
from . import change_points, components, sick

LEVEL = 0.05  # the share of steady nodes for which some component is said to have changed
DAY = 86400e3  # ms
SHOWN = 3  # settings, and hosts, that a line names
# Settings that are named first if they changed.
CAUSES = (
    *("machine.kernel.release", "machine.cpu.microcode", "machine.firmware.bios_version"),
    *("machine.frequency", "machine.memory", "machine.mitigations", "program.version"),
)


@dataclass(frozen=True)
class Change:
    """A change of a component; `change` is a logarithm: above 0 it became worse."""

    component: str
    kind: str  # step, drift
    change: float
    p: float
    last: str  # moment of the last run before
    first: str  # and of the first one after
    settings: list[str] = field(default_factory=list)  # that changed between these

    @property
    def share(self) -> float:
        """How much more time it takes, or how much less it yields."""
        return math.expm1(self.change)


@dataclass(frozen=True)
class Few:
    values: int  # that are not noisy
    needed: int


@dataclass(frozen=True)
class History:
    host: str
    name: str  # of its class
    cpu: str
    runs: int
    begin: str
    end: str
    judged: dict[str, float]  # components, and how far their values lie apart (MAD, logarithm)
    changes: list[Change]
    few: dict[str, Few]  # components with too few values to find a step


def of_hosts(side: Side) -> Iterator[History]:
    """The history of each host; noisy values do not count."""
    side = side.without_noisy()
    for host in side.hosts:
        rows = [i for i, run in enumerate(side.runs) if run["host"] == host]
        yield _of_host(side.of(sorted(rows, key=lambda i: side.runs[i]["started"])))


def _of_host(own: Side) -> History:
    runs = own.runs
    series = _series(own)
    values = {name: int(np.isfinite(y).sum()) for name, y in series.items()}
    tested = [name for name, n in values.items() if n >= change_points.FEWEST]
    tests = 2 * max(1, len(tested or series))  # of each for steps and for drift
    level = LEVEL / tests
    found = [c for name in tested for c in _of_component(runs, name, series[name], level)]
    changed = {change.component for change in found}  # few values may show a drift
    few = {
        name: Few(n, change_points.needed(n, level))
        for name, n in values.items()
        if name not in changed and change_points.least_p(n) > level
    }
    spread = {name: _spread(y) for name, y in series.items() if name not in few}
    last = runs[-1]
    return History(
        last["host"],
        last["class"],
        last["cpu"],
        len(runs),
        runs[0]["started"],
        last["started"],
        spread,
        sorted(found, key=lambda c: (c.first, -abs(c.change))),
        few,
    )


def _series(own: Side) -> dict[str, Array]:
    """For each component a value of each run: the median over its metrics, each beside its own
    median, so that no metric counts more than another."""
    matrix = sick.matrix(own)
    found = {}
    for name in dict.fromkeys(n for n in components.NAMES if n in matrix.component):
        y = matrix.y[:, [i for i, n in enumerate(matrix.component) if n == name]]
        known = np.isfinite(y)
        y = y[:, known.sum(0) * 2 > known.any(1).sum()]  # that most of its runs have
        rows = np.isfinite(y).any(1)
        told = np.full(len(y), np.nan)
        if rows.any():
            told[rows] = np.nanmedian(y[rows] - np.nanmedian(y[rows], axis=0), axis=1)
        found[name] = told
    return found


def _spread(y: Array) -> float:
    y = y[np.isfinite(y)]
    return float(np.median(np.abs(y - np.median(y))))


def _of_component(runs: Sequence[Run], name: str, y: Array, level: float) -> Iterator[Change]:
    """Steps, or a drift where a line fits better."""
    known = [i for i, value in enumerate(y) if np.isfinite(value)]
    own, values = [runs[i] for i in known], y[known]
    times = np.array([observations.began(run) / DAY for run in own])
    found = change_points.steps(values, level)
    slope = change_points.drift(times, values)
    if slope and slope.p <= level and abs(slope.change) >= change_points.SMALLEST:
        straight = change_points.residual_of(times, values, slope)
        if not found or straight < change_points.residual(values, found):
            ends = own[0]["started"], own[-1]["started"]
            yield Change(name, "drift", slope.change, slope.p, *ends)
            return
    for one in found:
        before, after = own[one.at - 1], own[one.at]
        told = _settings(own, one.at)
        yield Change(name, "step", one.change, one.p, before["started"], after["started"], told)


def _settings(runs: Sequence[Run], at: int) -> list[str]:
    """The settings that changed between the runs before and after a step; if none did, those that
    changed one run earlier or later, since noise may move a step by one."""
    for place in (at, at - 1, at + 1):
        if 0 < place < len(runs) and (told := _differing(runs[place - 1], runs[place])):
            return told
    return []


def _differing(one: Run, other: Run) -> list[str]:
    a, b = one["settings"], other["settings"]
    names = [n for n in dict.fromkeys([*a, *b]) if a.get(n) != b.get(n)]
    names.sort(key=_rank)
    return [f"{n.removeprefix('machine.')} {_said(a.get(n))} -> {_said(b.get(n))}" for n in names]


def _rank(name: str) -> int:
    return next((i for i, cause in enumerate(CAUSES) if name.startswith(cause)), len(CAUSES))


def _said(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


# ---- told ----


def table(one: History) -> str:
    """For one host: a line for each component."""
    span = f"{_day(one.begin)} to {_day(one.end)}"
    lines = [f"{one.host}: {units.several(one.runs, 'run')}, {span}; {one.cpu}"]
    changed = {c.component for c in one.changes}
    for name in (*one.judged, *one.few):
        if name in changed:
            told = [said(c) for c in one.changes if c.component == name]
        elif name in one.few:
            told = [_said_of_few(one.few[name])]
        else:
            told = [f"steady within {100 * one.judged[name]:.2g} % (MAD)"]
        lines += [f"{name if not i else '':<18}{text}" for i, text in enumerate(told)]
    return "\n".join(map(units.printable, lines))


def _said_of_few(few: Few) -> str:
    n = units.several(few.values, "value")
    return f"{n} without noise: too few to find a step, which takes {few.needed}"


def said(change: Change) -> str:
    worse = "worse" if change.change > 0 else "better"
    much = f"{100 * abs(change.share):.1f} % {worse}"
    if change.kind == "drift":
        return f"drifts: {much} from {_day(change.last)} to {_day(change.first)}"
    between = f"between {_minute(change.last)} and {_minute(change.first)}"
    return f"{much} {between}{_beside(change.settings)}"


def _beside(settings: Sequence[str]) -> str:
    more = [f"{len(settings) - SHOWN} more"] if settings[SHOWN:] else []
    return f": {'; '.join([*settings[:SHOWN], *more])}" if settings else ": no setting changed"


def classes(found: Sequence[History]) -> str:
    """For all hosts, by class: the same change of several hosts is one line."""
    lines = []
    for name in dict.fromkeys(h.name for h in found):
        own = [h for h in found if h.name == name]
        lines.append(f"{own[0].cpu}, class {name[:8]}: {units.several(len(own), 'host')}")
        groups: dict[tuple[str, ...], list[tuple[History, Change]]] = {}
        for host in own:
            for change in host.changes:
                key = (_day(change.first), change.component, change.kind, *change.settings[:SHOWN])
                groups.setdefault((*key, str(change.change > 0)), []).append((host, change))
        for _, members in sorted(groups.items(), key=lambda g: (g[0][0], -len(g[1]), g[0])):
            lines.append("  " + _of_group(members, len(own)))
        steady = sum(not h.changes for h in own if h.judged)
        lines.append(f"  {units.several(steady, 'host')} without a change")
        if few := [h for h in own if not h.judged]:
            lines.append(f"  {units.several(len(few), 'host')} not judged: {_why_not(few)}")
    return "\n".join(map(units.printable, lines))


def _why_not(hosts: Sequence[History]) -> str:
    needed = [few.needed for host in hosts for few in host.few.values()]
    takes = f", which takes {min(needed)}" if needed else ""
    return f"too few runs to find a step{takes}"


def _of_group(members: Sequence[tuple[History, Change]], of: int) -> str:
    """One line for hosts with the same change: it has their median."""
    names = units.some([h.host for h, _ in members], SHOWN)
    ordered = sorted((c for _, c in members), key=lambda c: c.change)
    middle = ordered[len(ordered) // 2]
    return f"{middle.component} on {len(members)} of {of} ({names}): {said(middle)}"


def as_json(found: Sequence[History]) -> str:
    told = [{**asdict(h), "class": h.name} for h in found]
    return json.dumps(told, indent=1, ensure_ascii=False)


def status(found: Sequence[History]) -> int:
    """1: something became worse; 4: nothing could be judged."""
    if any(c.change > 0 for h in found for c in h.changes):
        return 1
    return 0 if any(h.judged for h in found) else 4


def _day(moment: str) -> str:
    return moment[:10]


def _minute(moment: str) -> str:
    return f"{moment[:10]} {moment[11:16]}"
