# SPDX-License-Identifier: Apache-2.0
"""The two sides of a comparison: their runs as arrays, a row for each run, and what both sides have
of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Optional, TypedDict, Union, cast

import duckdb
import numpy as np
from numpy.typing import NDArray

from ..base import units
from ..records import database
from ..records.database import STATUSES, select
from ..records.lines import Cache, Header, Job
from . import differences, facts
from .inference import Array

Key = tuple[str, str]  # id of a trial, name of a metric
Value = Union[bool, int, float, str]


class _TrialMay(TypedDict, total=False):
    sizes: frozenset[str]  # parameters in bytes


class Trial(_TrialMay):
    id: str
    benchmark: str
    variant: str
    parameters: dict[str, Value]
    threads: Optional[int]  # none: it is no trial, but the clock
    bind: Optional[str]


class FullTrial(Trial):
    oversubscribed: bool
    protocol: Optional[str]


class Metric(Trial):
    """A metric of a trial."""

    name: str
    unit: str
    better: str


class FullMetric(Metric):
    t: int  # number of the trial
    kind: str


class HeadedMetric(Metric):
    headline: bool


class Caches(TypedDict):
    caches: Optional[list[Cache]]


# `partition`: of the batch system, "CLUSTER:PARTITION"; `settings` and `facts` by name; `cut`: the
# run was cut off, and may have no lines of trials. The shares are CPU time that other processes and
# the host had, over the time of the samples.
Run = TypedDict(
    "Run",
    {
        "run": str,
        "host": str,
        "started": str,
        "file": str,
        "class": str,
        "cpu": str,
        "tags": dict[str, str],
        "partition": Optional[str],
        "begun_with_others": bool,
        "resumed": bool,
        "topology": Caches,
        "settings": dict[str, differences.Json],
        "facts": dict[str, differences.Json],
        "cut": bool,
        "foreign_share": Optional[float],
        "stolen_share": Optional[float],
    },
)

ABSENT, NOISY, INTERRUPTED = -1, STATUSES.index("noisy"), STATUSES.index("interrupted")
LESS = 0.8  # cycles differ less between runs than seconds, if by this factor
CLOCK: HeadedMetric = {
    "id": "clock",
    "benchmark": "machine",
    "variant": "cores",
    "parameters": {},
    "threads": None,
    "bind": None,
    "name": "clock",
    "unit": "Hz",
    "better": "higher",
    "headline": True,
}

# Runs, trials and metrics by number: trials and metrics of all runs in the order of the record.
NUMBERED = """
CREATE TABLE a_run AS
SELECT row_number() OVER (ORDER BY ordinal) - 1 AS r, run, host, started, file,
	header::VARCHAR AS header
FROM run WHERE run IN (SELECT whole FROM part);
CREATE TABLE a_trial AS
SELECT row_number() OVER (ORDER BY min(position)) - 1 AS t, id, min(position) AS first
FROM placed GROUP BY id;
CREATE TABLE a_metric AS
WITH declared AS (
	SELECT DISTINCT id, hash
	FROM parsed.trial JOIN placed USING (shard, run, line, id, benchmark)
		JOIN (SELECT run, benchmark, hash FROM benchmark) b USING (run, benchmark)),
named AS (
	SELECT hash, unnest(from_json(metrics, '[{"name": "VARCHAR", "unit": "VARCHAR",
			"better": "VARCHAR", "kind": "VARCHAR"}]')) AS d,
		generate_subscripts(from_json(metrics, '["JSON"]'), 1) AS place
	FROM (SELECT hash, any_value(metrics) AS metrics FROM parsed.definition GROUP BY hash)),
own AS (
	SELECT id, d.name, any_value(d.unit) AS unit, any_value(d.better) AS better,
		any_value(d.kind) AS kind, min(place) AS place
	FROM declared JOIN named USING (hash) WHERE d.better IS NOT NULL GROUP BY id, d.name)
SELECT row_number() OVER (ORDER BY t, place) - 1 AS m, t, id, name, unit, better, kind
FROM own JOIN a_trial USING (id);
"""
# `cut`: the run was cut off, and may have no lines of trials that it was to measure.
RUNS = """
WITH shares AS (
	SELECT whole, sum(foreign_time) / nullif(sum(wall), 0) AS foreign_share,
		CASE WHEN NOT bool_or(list_contains(kernel_unknown, 'steal'))
			THEN sum(coalesce(steal, 0)) / nullif(sum(wall), 0) END AS stolen_share
	FROM parsed.trial JOIN kept USING (shard, run) JOIN part ON run = part GROUP BY whole)
SELECT a_run.*, foreign_share, stolen_share, NOT ended OR signal IS NOT NULL
	OR a_run.run IN (SELECT whole FROM trial WHERE status = 'interrupted') AS cut
FROM a_run JOIN (SELECT run, ended, signal FROM kept) USING (run)
	LEFT JOIN shares ON whole = a_run.run ORDER BY r
"""
TRIALS = """
SELECT a_trial.id, t.benchmark, variant, threads, bind, oversubscribed,
	parameters::VARCHAR AS parameters, b.json->>'$.protocol.version' AS protocol,
	b.json->>'$.parameters' AS declared
FROM a_trial JOIN trial t ON first = position
	LEFT JOIN benchmark b ON b.run = t.part AND b.benchmark = t.benchmark ORDER BY t
"""
# `shift`: what is to be added to the logarithm of a bimodal time. The median of two modes is either
# of them, by chance: the mean over modes, by their shares, moves as the shares do.
# If another hardware thread worked beside most samples, so that they could not be set aside, the
# result says little of the machine: it counts as noisy.
RESULTS = """
SELECT r, t, list_position($statuses, CASE
		WHEN crowded > 0.5 AND status IN ('ok', 'unconverged', 'bimodal') THEN 'noisy'
		ELSE status END) - 1 AS status, ln(cycle) AS cycle,
	list_sum([m.share * ln(m.time) FOR m IN modes]) / list_sum([m.share FOR m IN modes])
		- ln(time.value) AS shift
FROM parsed.trial JOIN placed USING (shard, run, line, id)
	JOIN (SELECT r, run AS whole FROM a_run) USING (whole) JOIN a_trial USING (id)
"""
# `best`: the best of the bounds and modes of a value.
VALUES = """
SELECT r, m, value, CASE a_metric.better
	WHEN 'lower' THEN least(low, list_min([x.value FOR x IN modes]))
	ELSE greatest(high, list_max([x.value FOR x IN modes])) END AS best
FROM metric JOIN a_run ON run = whole JOIN a_metric USING (id, name)
WHERE value IS NOT NULL
"""


@dataclass
class Side:
    """Runs. A whole that was resumed is one run, described by its last header."""

    name: str
    runs: list[Run]  # in the order of their start
    trials: dict[str, FullTrial]  # by id
    metrics: dict[Key, FullMetric]  # that have a direction
    status: NDArray[np.int_]  # of each run and trial: index in STATUSES, or ABSENT
    cycle: Array  # of each run and trial: the logarithm of a core's cycle in s
    shift: Array  # of each run and trial: see RESULTS
    values: Array  # of each run and metric: NaN where the trial has no valid result
    best: Array  # so is the best that the value may be; without an interval the value

    @cached_property
    def hosts(self) -> list[str]:
        return sorted({r["host"] for r in self.runs})

    @property
    def valid(self) -> NDArray[np.bool_]:
        """By run and trial: whether it has a valid result."""
        return (self.status > ABSENT) & (self.status < INTERRUPTED)

    @cached_property
    def names(self) -> dict[str, str]:
        """The names, by id, of trials with a valid result in some run."""
        trials, there = self.trials.values(), np.asarray(self.valid.any(0))
        names = [
            " ".join([f"{t['benchmark']}/{t['variant']}", *(f"{k}={v}" for k, v in own.items())])
            for t, own in zip(trials, varying([*trials]))
        ]
        return {id_: name for id_, name, valid in zip(self.trials, names, there) if valid}

    def of(self, chosen: Iterable[int]) -> Side:
        """These runs alone."""
        own = list(chosen)
        arrays = {n: getattr(self, n)[own] for n in ("status", "cycle", "shift", "values", "best")}
        return replace(self, runs=[self.runs[i] for i in own], **arrays)

    def measured(self) -> Side:
        """The runs that have a valid result."""
        return self.of(np.flatnonzero(self.valid.any(1)))

    def without_noisy(self) -> Side:
        noisy = (self.status == NOISY)[:, self.places(m["id"] for m in self.metrics.values())]
        values, best = (np.where(noisy, np.nan, of) for of in (self.values, self.best))
        return replace(self, values=values, best=best)

    def at_best(self) -> Side:
        """Each value as good as its interval and modes allow."""
        best = np.where(np.isnan(self.values), np.nan, self.best)
        return replace(self, values=best, shift=np.zeros_like(self.shift))

    @cached_property
    def rows(self) -> list[int]:
        """Of each run, the place of its host."""
        place = {host: i for i, host in enumerate(self.hosts)}
        return [place[r["host"]] for r in self.runs]

    def on_hosts(self, where: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """By host: whether it is so in any of its runs."""
        found = np.zeros((len(self.hosts), where.shape[1]), bool)
        np.logical_or.at(found, self.rows, where)
        return found

    def places(self, trials: Iterable[str]) -> list[int]:
        """The columns of these trials."""
        place = {id_: i for i, id_ in enumerate(self.trials)}
        return [place[id_] for id_ in trials]


def varying(trials: Sequence[Trial]) -> list[dict[str, Optional[Value]]]:
    """Parameters, threads and binding that distinguish a trial from others of its variant."""
    told = [{**t["parameters"], "threads": t["threads"], "bind": t["bind"]} for t in trials]
    of = [(t["benchmark"], t["variant"]) for t in trials]
    values: dict[tuple[str, str, str], set[str]] = {}
    for variant, own in zip(of, told):
        for key, value in own.items():
            values.setdefault((*variant, key), set()).add(str(value))
    return [
        {key: value for key, value in own.items() if len(values[(*variant, key)]) > 1}
        for variant, own in zip(of, told)
    ]


def amount(trial: Trial, parameter: str, value: Optional[Value]) -> str:
    """ "128 KiB", or "1 M" of a count."""
    return units.short(value, parameter in trial.get("sizes", ())).replace("\u00a0", " ")


class _RowOfRun(TypedDict):
    r: int
    run: str
    host: str
    started: str
    file: str
    header: str  # JSON
    cut: bool
    foreign_share: Optional[float]
    stolen_share: Optional[float]


class _RowOfTrial(TypedDict):
    id: str
    benchmark: str
    variant: str
    threads: int
    bind: str
    oversubscribed: bool
    parameters: str  # JSON
    protocol: Optional[str]
    declared: Optional[str]  # JSON


class _RowOfMetric(TypedDict):
    m: int
    t: int
    id: str
    name: str
    unit: str
    better: str
    kind: str


def load(paths: Sequence[Path], name: str, bare: bool = False) -> tuple[Side, list[str]]:
    """One side, and notes on what was left out. `bare`: it may have no trial at all."""
    read = database.read(paths, samples=False, values=True)
    try:
        return of(database.trials(read), name, bare), read.notes
    except database.BadInput as error:
        why = f": {read.notes[0]}" if read.notes else ""
        raise database.BadInput(f"{error}{why}") from error


def of(db: duckdb.DuckDBPyConnection, name: str, bare: bool = False) -> Side:
    """All runs of a database that has the tables of trials."""
    db.execute(NUMBERED)
    runs = [_run(r) for r in select(db, _RowOfRun, RUNS)]
    trials = {r["id"]: _trial(r) for r in select(db, _RowOfTrial, TRIALS)}
    if not trials and not bare:
        raise database.BadInput(f"no trial in {name}")
    found = select(db, _RowOfMetric, "FROM a_metric ORDER BY m")
    of_trials = _arrays(db, RESULTS, (len(runs), len(trials)), statuses=STATUSES)
    of_metrics = _arrays(db, VALUES, (len(runs), len(found)))
    side = Side(
        name,
        runs,
        trials,
        {(m["id"], m["name"]): cast("FullMetric", dict(trials[m["id"]], **m)) for m in found},
        np.nan_to_num(of_trials["status"], nan=ABSENT).astype(int),
        of_trials["cycle"],
        of_trials["shift"],
        of_metrics["value"],
        np.where(np.isnan(of_metrics["best"]), of_metrics["value"], of_metrics["best"]),
    )
    side.values[~side.valid[:, [m["t"] for m in found]]] = np.nan
    return side


def _run(row: _RowOfRun) -> Run:
    header: Header = json.loads(row["header"])
    machine = header["machine"]
    return {
        "run": row["run"],
        "host": row["host"],
        "started": row["started"],
        "file": row["file"],
        "class": str(machine.get("class")),
        "cpu": str(machine["cpu"].get("model")),
        "tags": header["tags"],
        "partition": _partition(header["job"]),
        "begun_with_others": bool(header.get("begin")),
        "resumed": bool(header.get("resumes")),
        "topology": {"caches": machine["topology"]["caches"]},
        "settings": differences.settings(cast("differences.Json", header)),
        "facts": facts.of(cast("differences.Json", machine)),
        "cut": row["cut"],
        "foreign_share": row["foreign_share"],
        "stolen_share": row["stolen_share"],
    }


def began(run: Run) -> int:
    """When it began: ms since 1970."""
    at = datetime.strptime(run["started"], "%Y-%m-%dT%H:%M:%S.%fZ")
    return (at - datetime(1970, 1, 1)) // timedelta(milliseconds=1)


def _partition(job: Optional[Job]) -> Optional[str]:
    known = job and job["cluster"] and job["partition"]
    return f"{job['cluster']}:{known}" if job and known else None


def _trial(row: _RowOfTrial) -> FullTrial:
    told = {key: value for key, value in row.items() if key != "declared"}
    own = {"parameters": json.loads(row["parameters"]), "sizes": _sizes(row["declared"])}
    return cast("FullTrial", {**told, **own})


@lru_cache(maxsize=64)
def _sizes(declared: Optional[str]) -> frozenset[str]:
    """Of a benchmark's parameters those in bytes."""
    return frozenset(p["name"] for p in json.loads(declared or "[]") if p["unit"] == "B")


def _arrays(
    db: duckdb.DuckDBPyConnection, sql: str, shape: tuple[int, int], **given: Sequence[str]
) -> dict[str, Array]:
    """Columns of a query as arrays: its first two are row and column; NaN where it has none."""
    found = db.execute(sql, given).fetchnumpy()
    (_, row), (_, column), *others = found.items()
    told = {}
    for name, values in others:
        told[name] = np.full(shape, np.nan)
        told[name][row, column] = np.ma.filled(np.ma.asarray(values, dtype=float), np.nan)
    return told


# ---- observations ----


@dataclass
class Observed:
    """The logarithms of all metrics that both sides have: a row for each unit, a column for each
    metric. `metrics` describe the columns. `clock`, of the same shape: what of it is the core's
    clock, which is the logarithm of the length of a cycle for a time, of its inverse for what is
    per second; NaN where that is not known or the metric is neither."""

    old: Array
    new: Array
    clock: tuple[Array, Array]
    metrics: list[HeadedMetric]
    paired: bool
    nodes: bool  # the unit is the node, not the run


def observe(old: Side, new: Side, least_pairs: int) -> Observed:
    """Runs that alternated are pairs, and so are nodes that both sides have, if there are at least
    `least_pairs`. Of several nodes, each counts once, by the mean over its runs."""
    nodes = len(old.hosts) > 1 or len(new.hosts) > 1
    keys = common(old, new)
    (first, first_clock), (last, last_clock) = (logarithms(s, keys, nodes) for s in (old, new))
    kept = np.flatnonzero(np.isfinite(first).any(0) & np.isfinite(last).any(0))
    metrics = headed([old.metrics[keys[i]] for i in kept])
    paired = old.hosts == new.hosts and len(old.hosts) >= least_pairs
    return Observed(
        first[:, kept],
        last[:, kept],
        (first_clock[:, kept], last_clock[:, kept]),
        metrics,
        paired if nodes else _alternate(old, new, least_pairs),
        nodes,
    )


def comparable(old: Side, new: Side, least_pairs: int) -> tuple[Side, Side]:
    """The runs that have a value of what both sides have; of pairs, those of which both have one,
    if these are enough. A side without such a run stays as it is."""
    known = [values(side, common(old, new)) > 0 for side in (old, new)]
    both = known[0].any(0) & known[1].any(0)
    here, there = (np.asarray(own[:, both].any(1)) for own in known)
    if len(old.hosts) > 1 and old.hosts == new.hosts:
        pairs = old.on_hosts(here[:, None]) & new.on_hosts(there[:, None])
        if pairs.sum() >= least_pairs:
            here, there = here & pairs[old.rows, 0], there & pairs[new.rows, 0]
    elif len(old.hosts) == len(new.hosts) == 1 and _alternate(old, new, least_pairs):
        pairs = here & there
        here, there = (pairs, pairs) if pairs.sum() >= least_pairs else (here, there)
    chosen = [(old, here), (new, there)]
    old, new = (side.of(np.flatnonzero(own)) if own.any() else side for side, own in chosen)
    return old, new


def common(*sides: Side) -> list[Key]:
    """The metrics that all sides have, in the order of the first one's record. Rates follow from
    the time: of these and the time each trial has one, the first."""
    keys, timed = [], set()
    for key, m in sides[0].metrics.items():
        if any(key not in side.metrics for side in sides) or (_timed(m) and m["id"] in timed):
            continue
        keys.append(key)
        if _timed(m):
            timed.add(m["id"])
    return keys


def _timed(m: FullMetric) -> int:
    """1 for the time, -1 for a rate, which is an amount over the time."""
    return 1 if m["name"] == "time" else -1 if m["kind"] == "rate" else 0


def _clocked(m: Metric) -> float:
    """1 where a metric is a time, -1 where it is per second."""
    unit = m["unit"]
    return 1 if unit.split("/")[0] == "s" else -1 if unit.endswith("/s") else np.nan


def headed(metrics: Sequence[FullMetric]) -> list[HeadedMetric]:
    """Each with whether it is the headline of its trial: the first."""
    first = {m["id"]: i for i, m in reversed([*enumerate(metrics)])}
    return [
        cast("HeadedMetric", {**m, "headline": first[m["id"]] == i}) for i, m in enumerate(metrics)
    ]


def logarithms(side: Side, keys: Sequence[Key], nodes: bool) -> tuple[Array, Array]:
    """The logarithms of metrics, and what of them is the clock: a row for each run, or for each of
    the side's hosts, the mean over its runs."""
    told, found = [side.metrics[key] for key in keys], values(side, keys)
    trials = side.places(m["id"] for m in told)
    y = np.log(found, out=np.full(found.shape, np.nan), where=found > 0)
    y += np.array([_timed(m) for m in told]) * np.nan_to_num(side.shift[:, trials])
    clock = np.array([_clocked(m) for m in told]) * side.cycle[:, trials]
    return (by_host(side, y), by_host(side, clock)) if nodes else (y, clock)


def values(side: Side, keys: Sequence[Key]) -> Array:
    place = {key: i for i, key in enumerate(side.metrics)}
    found: Array = side.values[:, [place[key] for key in keys]]
    return found


def by_host(side: Side, y: Array) -> Array:
    """The mean over the runs of each host; NaN where no run has the metric."""
    known = np.asarray(np.isfinite(y))
    total, n = (np.zeros((len(side.hosts), y.shape[1])) for _ in range(2))
    np.add.at(total, side.rows, np.where(known, y, 0))
    np.add.at(n, side.rows, known)
    return np.asarray(np.divide(total, n, out=np.full(n.shape, np.nan), where=n > 0))


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
    clocks = np.abs(clock[:, chosen])
    known = np.isfinite(clocks).any(1)
    y = np.column_stack([y, np.full(len(y), np.nan)])
    y[known, -1] = np.nanmedian(clocks[known], axis=1)
    metrics.append({**CLOCK})
    n = len(seen.old)
    return Observed(y[:n], y[n:], seen.clock, metrics, seen.paired, seen.nodes)


def _in_cycles(unit: str) -> str:
    if unit.endswith("/s"):
        return unit.removesuffix("s") + "cycle"
    return "cycles" + unit.removeprefix("s")


def _alternate(old: Side, new: Side, least: int) -> bool:
    """Whether each two consecutive runs are one of each side."""
    order = sorted((r["started"], s) for s, side in enumerate((old, new)) for r in side.runs)
    sides = [s for _, s in order]
    n = len(old.runs)
    return n == len(new.runs) >= least and all(sides[i] != sides[i + 1] for i in range(0, 2 * n, 2))
