# SPDX-License-Identifier: Apache-2.0
"""The level above a run: runs of the same command, each in a new process, and how far they lie
apart. `--runs` makes a series of them, and so does `--append` with the same command."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import comb
from statistics import median
from typing import Optional, TypedDict, TypeVar, cast

import duckdb

from ..records import database, lines
from ..records.database import by_run, select
from ..records.rows import Metric, OverRuns, PairLevel, Pairs, Range, Ratio, Trial, Value

Series = list[list[str]]  # the wholes of each, in their order


class _Wholes(TypedDict):
    wholes: list[str]


class _Level(Value):
    """A value over runs."""

    range: Optional[Range]
    between: Optional[float]
    sound_runs: int


class Told(Value, OverRuns):
    """What runs tell of a metric or ratio."""

    variant: str
    everything: str
    metric: str
    unit: str
    range: Optional[Range]


T = TypeVar("T")

COVERS = 0.95
SAME = ("name", "parameter", "of", "to", "metric", "trial")  # keys that tell ratios apart


@lru_cache(maxsize=1)
def series(db: duckdb.DuckDBPyConnection) -> Series:
    """A run that was not repeated is in none."""
    found = select(
        db,
        _Wholes,
        "SELECT list(run ORDER BY ordinal) AS wholes FROM run"
        " WHERE run IN (SELECT whole FROM part) GROUP BY host, series"
        " HAVING count(*) > 1 AND count(*) FILTER (repeats) >= count(*) - 1"
        " ORDER BY min(ordinal)",
    )
    return [r["wholes"] for r in found]


def about(runs: int) -> str:
    """What numbers are about, if as many runs of a series were tried: other processes may have
    another clock, and other cores."""
    if runs:
        return f"about {runs} runs, each a process of its own"
    return "about this run, one process: --runs 6 tells how far others differ"


def judged(trials: Sequence[Trial], given: Series) -> list[Trial]:
    """The trials on which conclusions rest: for a series its merged trials, named as its last
    run's; else the trials of a run."""
    of = {whole: wholes for wholes in given for whole in wholes}
    found: list[Trial] = []
    for whole, own in by_run(trials):
        wholes = of.get(whole)
        if not wholes:
            found += own
        elif whole == wholes[-1]:
            found += merged([t for t in trials if t["whole"] in wholes])
    return found


def of(db: duckdb.DuckDBPyConnection, benchmark: str) -> list[Trial]:
    """judged(), but a trial that was ok in no run of a series is that of the last run."""
    measured = database.measured(db, benchmark)
    last = {(t["whole"], t["id"]): t for t in measured}
    return [
        last.get((t["whole"], t["id"]), t) if t.get("sound_runs") == 0 else t
        for t in judged(measured, series(db))
    ]


def of_time(db: duckdb.DuckDBPyConnection, benchmark: str) -> list[Trial]:
    """of(), but `value`, `low` and `high` are those of the time."""
    return [_valued(t, t["metrics"]["time"]) for t in of(db, benchmark)]


def _valued(trial: Trial, metric: Metric) -> Trial:
    found: Trial = {
        **trial,
        "value": metric["value"],
        "low": metric["low"],
        "high": metric["high"],
        "range": metric["range"],
        "with_noise": metric["with_noise"],
        "modes": metric["modes"],
        "unit": metric["unit"],
        "why": metric["why"],
    }
    if "tried" in metric:
        found["sound_runs"], found["tried"] = metric["sound_runs"], metric["tried"]
        found["between"] = metric["between"]
    return found


def merged(trials: Sequence[Trial]) -> list[Trial]:
    """A row for the runs of each trial: `value`, `low` and `high` of its metrics and ratios are
    those between the runs in which it is ok; the rest is of the last of these."""
    runs: dict[str, list[Trial]] = {}
    for t in trials:
        runs.setdefault(t["id"], []).append(t)
    sound = {(t["whole"], t["id"]) for t in trials if t["status"] == "ok"}
    return [{**_merged(own, sound), "whole": trials[-1]["whole"]} for own in runs.values()]


def told(found: Sequence[Trial]) -> Iterator[Told]:
    """A row for each metric and ratio of merged trials."""
    for t in found:
        for name, m in t["metrics"].items():
            if m["tried"]:
                yield _told(t, m, m["range"], name, m["unit"])
        for r in t["ratios"]:
            yield _told(t, r, r["range"], f"{r['name']} {r['of']}/{r['to']}", "1")


def _told(t: Trial, of: Metric | Ratio, range: Optional[Range], name: str, unit: str) -> Told:
    return {
        "variant": t["variant"],
        "everything": t["everything"],
        "metric": name,
        "unit": unit,
        "value": of["value"],
        "low": of["low"],
        "high": of["high"],
        "range": range,
        "between": of["between"],
        "sound_runs": of["sound_runs"],
        "tried": of["tried"],
    }


def _merged(runs: Sequence[Trial], sound: set[tuple[str, str]]) -> Trial:
    ok = [t for t in runs if (t["whole"], t["id"]) in sound]
    of = (ok or runs)[-1]
    metrics: dict[str, Metric] = {}
    for name, m in of["metrics"].items():
        level = _level([_value(t, name) for t in ok])
        tried = sum(_value(t, name) is not None for t in runs)
        metrics[name] = {**m, **level, "modes": [], "tried": tried}
    own = metrics.get(of["metric"])
    found: Trial = {
        **of,
        "value": own and own["value"],
        "low": own and own["low"],
        "high": own and own["high"],
        "range": own and own["range"],
        "metrics": metrics,
        "ratios": [_ratio(r, runs, sound) for r in of["ratios"] if r["value"] is not None],
        "pairs": of["pairs"] and _pairs([t["pairs"] for t in ok or runs if t["pairs"]]),
    }
    if own:
        found["sound_runs"], found["tried"] = own["sound_runs"], own["tried"]
    return found


def _value(trial: Trial, metric: str) -> Optional[float]:
    own = trial["metrics"].get(metric)
    return own["value"] if own else None


def _pairs(runs: Sequence[Pairs]) -> Pairs:
    """Meetings of pairs of CPUs: of each level the medians of the runs, and `runs`, the median of
    each; CPUs that stand out do so in more than half of them; the rest is of the last."""
    by_level: dict[str, list[PairLevel]] = {}
    by_cpu: dict[tuple[str, int], list[lines.Outstanding]] = {}
    for pairs in runs:
        for own in pairs["levels"]:
            by_level.setdefault(own["level"], []).append(own)
        for o in pairs["outstanding"]:
            by_cpu.setdefault((o["level"], o["cpu"]), []).append(o)
    return {
        **runs[-1],
        "levels": [{**_middle(own), "runs": [o["0.5"] for o in own]} for own in by_level.values()],
        "outstanding": [_middle(own) for own in by_cpu.values() if 2 * len(own) > len(runs)],
    }


def _middle(values: Sequence[T]) -> T:
    """The median of numbers, also within objects; the last of anything else."""
    return cast("T", _middle_of(values))


def _middle_of(values: Sequence[object]) -> object:
    last = values[-1]
    if isinstance(last, dict):
        alike = [v for v in values if isinstance(v, dict)]
        return {k: _middle_of([v[k] for v in alike if k in v]) for k in last}
    known = [v for v in values if isinstance(v, float)]
    return median(known) if isinstance(last, float) else last


def _ratio(ratio: Ratio, runs: Sequence[Trial], sound: set[tuple[str, str]]) -> Ratio:
    """A ratio over runs: those in which both of its trials are ok."""
    same = [
        (t, r)
        for t in runs
        for r in t["ratios"]
        if r["value"] is not None and all(r.get(k) == ratio.get(k) for k in SAME)
    ]
    level = _level(
        [r["value"] for t, r in same if {(t["whole"], t["id"]), (t["whole"], r["trial"])} <= sound]
    )
    found: Ratio = {**ratio, **level, "modes": [], "tried": len(same)}
    if level["sound_runs"]:
        found["status"], found["flag"], found["reasons"] = "ok", None, []
    return found


def _level(values: Sequence[Optional[float]]) -> _Level:
    """The median of the runs, its interval (order statistics), or where they are too few for one
    their range, and how far they lie apart: (max - min) / median."""
    known = sorted(v for v in values if v is not None)
    n = len(known)
    if not known:
        return {
            "value": None,
            "low": None,
            "high": None,
            "range": None,
            "between": None,
            "sound_runs": 0,
        }
    value, beyond = median(known), outside(n)
    few: Optional[Range] = None
    if n > 1 and beyond is None:
        few = {"of": n, "low": known[0], "high": known[-1]}
    return {
        "value": value,
        "low": None if beyond is None else known[beyond],
        "high": None if beyond is None else known[-1 - beyond],
        "range": few,
        "between": (known[-1] - known[0]) / value if n > 1 and value else None,
        "sound_runs": n,
    }


def outside(n: int) -> Optional[int]:
    """How many values lie outside of the median's interval on each side (binomial); None: there
    are too few values for an interval."""
    missed, outside = 0.0, None
    for k in range(n // 2):
        missed += 2 * comb(n, k) / 2**n
        if missed > 1 - COVERS:
            break
        outside = k
    return outside
