# SPDX-License-Identifier: Apache-2.0
"""The two sides of a comparison: runs with their trials, matched by identity, and the settings in
which the sides differ."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from . import records, units
from .inference import Array
from .records import UNUSABLE, rows

Row = dict[str, Any]
Key = tuple[str, str]  # id of a trial, name of a metric

# Keys of the header that may cause a change, whole branches with all that is beneath them.
SETTINGS = (
    *("machine.class", "machine.cpu.model", "machine.cpu.microcode", "machine.virtual"),
    *("machine.kernel", "machine.firmware", "machine.frequency", "machine.prefetchers"),
    *("machine.memory.thp", "machine.memory.page", "machine.memory.modules"),
    *("machine.topology.allowed", "machine.topology.smt", "machine.numa_balancing"),
    *("machine.mitigations", "machine.cgroup.cpu_quota", "machine.environment", "machine.libc"),
    *("program", "profile", "altered", "binding"),
)
SOME = 3  # values of a field that are listed
LESS = 0.8  # cycles differ less between runs than seconds, if by this factor
CLOCK: Row = {
    **{"id": "clock", "benchmark": "machine", "variant": "cores", "name": "clock", "unit": "Hz"},
    **{"better": "higher", "headline": True, "parameters": {}, "threads": None, "bind": None},
}
IGNORED = ("machine.environment.SLURM", "binding.affinity", "binding.inherited")
METRICS = """
SELECT t.whole, t.id, t.benchmark, t.variant, t.parameters::VARCHAR AS parameters, t.threads,
	t.bind, t.oversubscribed, b.json->>'$.protocol.version' AS protocol, t.status,
	t.modes, m.name, m.unit, m.better, m.value,
	max(CASE WHEN m.name = 'time' THEN m.value END) OVER (PARTITION BY whole, id) / t.cycles
		AS cycle
FROM metric m JOIN trial t USING (whole, id)
	LEFT JOIN benchmark b ON b.run = t.part AND b.benchmark = t.benchmark
ORDER BY t.position, m.place
"""


@dataclass
class Side:
    """Runs. A whole that was resumed is one run, described by its last header."""

    name: str
    runs: list[Row]  # in the order of their start: run, host, started, header
    found: list[Row]  # of METRICS

    @cached_property
    def trials(self) -> dict[str, Row]:
        return {r["id"]: r for r in self.found}

    @cached_property
    def by_run(self) -> dict[str, dict[Key, Row]]:
        told: dict[str, dict[Key, Row]] = {r["run"]: {} for r in self.runs}
        for r in self.found:
            told[r["whole"]][r["id"], r["name"]] = r
        return told

    @cached_property
    def hosts(self) -> list[str]:
        return sorted({r["host"] for r in self.runs})


def load(paths: Sequence[Path], name: str) -> tuple[Side, list[str]]:
    """One side, and notes on what was left out."""
    read = records.read(paths, samples=False)
    db = records.tables(read)
    found = rows(db, METRICS)
    runs = rows(
        db,
        "SELECT run, host, started, header::VARCHAR AS header FROM run"
        " WHERE run IN (SELECT whole FROM trial) ORDER BY ordinal",
    )
    if not runs:
        raise records.BadInput(f"{name}: these records hold no trial")
    for r in runs:
        r["header"] = json.loads(r["header"])
    for r in found:
        r["parameters"] = json.loads(r["parameters"] or "{}")
    return Side(name, runs, found), read.notes


# ---- what differs ----


def differences(old: Side, new: Side) -> list[tuple[str, str, str]]:
    """Settings that are not the same on both sides: name, values of the old and of the new."""
    of = [[dict(_settings(r["header"])) for r in side.runs] for side in (old, new)]
    names = dict.fromkeys(name for side in of for run in side for name in run)
    told = []
    for name in names:
        both = [sorted({json.dumps(run.get(name)) for run in side}) for side in of]
        if both[0] != both[1]:
            texts = [", ".join(t.strip('"') for t in values) for values in both]
            told.append((name.removeprefix("machine."), texts[0], texts[1]))
    return told


def _settings(header: Row) -> Iterator[tuple[str, Any]]:
    for path in SETTINGS:
        value: Any = header
        for key in path.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        yield from _leaves(path, value)


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(f"{path}.{key}", inner)
    elif not path.startswith(IGNORED):
        yield path, value


def unmatched(old: Side, new: Side) -> list[str]:
    """Trials that only one side has, by the fields in which they differ from the nearest ones of
    the other side."""
    own = [
        [t for i, t in side.trials.items() if i not in other.trials]
        for side, other in ((old, new), (new, old))
    ]
    groups: dict[tuple[str, tuple[str, ...]], tuple[list[Row], list[Row]]] = {}
    for side, trials in enumerate(own):
        for trial in trials:
            near = [
                _unlike(trial, o) for o in own[1 - side] if o["benchmark"] == trial["benchmark"]
            ]
            names = min(near, key=lambda n: (len(n), n)) if near else ()
            there = groups.setdefault((trial["benchmark"], names), ([], []))
            there[side].append(trial)
    return [_told(benchmark, names, *both) for (benchmark, names), both in groups.items()]


def _told(benchmark: str, names: Sequence[str], old: list[Row], new: list[Row]) -> str:
    if not names:
        sides = " and ".join(n for n, own in (("OLD", old), ("NEW", new)) if own)
        return f"{benchmark}: {len(old) + len(new)} trials only in {sides}"
    fields = [f"{n} ({_values(n, old)} against {_values(n, new)})" for n in names]
    return f"{benchmark}: {len(old)} against {len(new)} trials differ in {', '.join(fields)}"


def _values(name: str, trials: Sequence[Row]) -> str:
    values = dict.fromkeys(units.short(_fields(t).get(name, "none")) for t in trials)
    told = [v.replace("\u00a0", " ") for v in values]
    return ", ".join(told[:SOME]) + (", ..." if len(told) > SOME else "") or "none"


def _fields(trial: Row) -> Row:
    told = {k: trial[k] for k in ("variant", "threads", "bind", "oversubscribed", "protocol")}
    return {**told, **trial["parameters"]}


def _unlike(one: Row, other: Row) -> tuple[str, ...]:
    """Names of the fields that differ; the contents of a file are part of the identity, too."""
    a, b = _fields(one), _fields(other)
    names = [n for n in dict.fromkeys([*a, *b]) if a.get(n) != b.get(n)]
    return tuple(names) or ("contents of files",)


# ---- observations ----


@dataclass
class Observed:
    """The logarithms of all metrics that both sides have: a row for each unit, a column for each
    metric. `metrics` describe the columns. `clock`, of the same shape: what of it is the core's
    clock, which is the logarithm of the length of a cycle for a time, of its inverse for a rate;
    NaN where that is not known or the metric is neither."""

    old: Array
    new: Array
    clock: tuple[Array, Array]
    metrics: list[Row]
    paired: bool
    nodes: bool  # the unit is the node, not the run


def observe(old: Side, new: Side, least_pairs: int) -> Observed:
    """Runs that alternated are pairs, and so are nodes that both sides have, if there are at least
    `least_pairs`. Of several nodes, each counts once, by the mean over its runs."""
    keys = _keys(old, new)
    metrics, kept = [], []
    y = [np.array([_logarithms(r, keys) for r in s.by_run.values()]) for s in (old, new)]
    both, shifts, clock = (np.concatenate([a[:, i] for a in y]) for i in range(3))
    times: dict[str, tuple[int, bool]] = {}  # of a trial: the column of its time
    for column, (key, _) in enumerate(keys):
        if key[1] == "time":
            times[key[0]] = (column, False)
    for column, (key, described) in enumerate(keys):
        at, there = times[key[0]]
        sign = _follows(both[:, column], both[:, at])
        if sign and there:
            continue
        clock[:, column] *= sign or np.nan
        if sign:
            times[key[0]] = (at, True)
            both[:, column] += sign * shifts[:, at]
        if (
            np.isfinite(both[: len(y[0]), column]).any()
            and np.isfinite(both[len(y[0]) :, column]).any()
        ):
            kept.append(column)
            metrics.append(described)
    first, last = (np.stack([a[s][:, kept] for a in (both, clock)]) for s in _halves(len(y[0])))
    if len(old.hosts) > 1 or len(new.hosts) > 1:
        paired = set(old.hosts) == set(new.hosts) and len(old.hosts) >= least_pairs
        first, last = (
            np.stack([_by_host(side, hosts, a) for a in values])
            for side, hosts, values in (
                (old, old.hosts, first),
                (new, old.hosts if paired else new.hosts, last),
            )
        )
        return Observed(first[0], last[0], (first[1], last[1]), metrics, paired, True)
    paired = _alternate(old, new, least_pairs)
    return Observed(first[0], last[0], (first[1], last[1]), metrics, paired, False)


def _halves(n: int) -> tuple[slice, slice]:
    return slice(None, n), slice(n, None)


def by_clock(seen: Observed) -> Observed:
    """Metrics in cycles instead of seconds, where cycles differ less between runs, whichever side
    these are of; and the clock itself as one more metric. So a clock that is not the same in all
    runs hides no other change, and is told once."""
    y, clock = np.concatenate([seen.old, seen.new]), np.concatenate(seen.clock)
    metrics = list(seen.metrics)
    chosen = []
    for column, m in enumerate(metrics):
        known = np.isfinite(y[:, column])
        cycles = y[known, column] - clock[known, column]
        if np.isfinite(cycles).all() and np.std(cycles) < LESS * np.std(y[known, column]):
            chosen.append(column)
            y[:, column] -= clock[:, column]
            metrics[column] = {**m, "unit": _in_cycles(m["unit"])}
    if not chosen:
        return seen
    y = np.column_stack([y, np.nanmedian(np.abs(clock[:, chosen]), axis=1)])
    metrics.append({**CLOCK})
    first, last = (y[s] for s in _halves(len(seen.old)))
    return Observed(first, last, seen.clock, metrics, seen.paired, seen.nodes)


def _in_cycles(unit: str) -> str:
    if unit.endswith("/s"):
        return unit.removesuffix("s") + "cycle"
    return "cycles" + unit.removeprefix("s")


def _keys(old: Side, new: Side) -> list[tuple[Key, Row]]:
    """The metrics of common trials that have a direction, in the order of the record; and the time,
    whatever it is."""
    there = {(r["id"], r["name"]) for r in new.found}
    keys: dict[Key, Row] = {}
    for r in old.found:
        key = r["id"], r["name"]
        if key in there and (r["better"] or r["name"] == "time"):
            keys.setdefault(key, {**r, "headline": r["id"] not in {k[0] for k in keys}})
    return list(keys.items())


def _logarithms(run: dict[Key, Row], keys: Sequence[tuple[Key, Row]]) -> Array:
    """Of a run: the logarithm of each metric, what is to be added for a bimodal time, and the
    logarithm of a cycle. The median of two modes is either of them, by chance: the mean over modes,
    by their shares, moves as the shares do."""
    told = np.full((3, len(keys)), np.nan)
    for column, (key, _) in enumerate(keys):
        r = run.get(key)
        if not r or r["status"] in UNUSABLE or not r["value"] or r["value"] < 0:
            continue
        told[0, column] = math.log(r["value"])
        modes, told[1, column] = r["modes"], 0
        told[2, column] = math.log(r["cycle"]) if r["cycle"] else np.nan
        if modes and key[1] == "time":
            all_of = sum(m["share"] for m in modes)
            mean = sum(m["share"] * math.log(m["time"]) for m in modes) / all_of
            told[1, column] = mean - told[0, column]
    return told


def _follows(y: Array, time: Array) -> int:
    """1 where a metric is the time multiplied by a constant, -1 where it is an amount over time."""
    known = np.isfinite(y) & np.isfinite(time)
    if not known.any():
        return 0
    return next((s for s in (1, -1) if np.ptp((y - s * time)[known]) < 1e-5), 0)


def _by_host(side: Side, hosts: Sequence[str], y: Array) -> Array:
    """The mean over the runs of each host; NaN where no run has the metric."""
    own = [y[[r["host"] == host for r in side.runs]] for host in hosts]
    with np.errstate(invalid="ignore"):
        return np.array([np.nansum(o, 0) / np.isfinite(o).sum(0) for o in own])


def _alternate(old: Side, new: Side, least: int) -> bool:
    """Whether each two consecutive runs are one of each side."""
    order = sorted((r["started"], s) for s, side in enumerate((old, new)) for r in side.runs)
    sides = [s for _, s in order]
    n = len(old.runs)
    return n == len(new.runs) >= least and all(sides[i] != sides[i + 1] for i in range(0, 2 * n, 2))
