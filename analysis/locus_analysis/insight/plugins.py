# SPDX-License-Identifier: Apache-2.0
"""Analysis of single benchmarks beyond their line in the record: plug-ins with one interface,
registered at the end of this file. The rest of the page depends on none of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Optional, TypedDict

import duckdb

from ..base import units
from ..pictures import cpu_pairs
from ..records import database
from ..records.description import Bands
from ..records.lines import Machine
from ..records.rows import Trial
from . import (
    advice,
    each_cpu,
    evidence,
    inflight,
    knee,
    levels,
    memory_level,
    padding,
    peak,
    run_variation,
)

Tables = dict[str, list[cpu_pairs.Table]]  # by run


class Found(TypedDict, total=False):
    answer: dict[str, str]  # by run: the sentence that comes first, instead of a generic one
    said: dict[str, list[str]]  # by run: further sentences
    findings: list[memory_level.Finding]
    runs: Tables | dict[str, list[padding.Finding]]


@dataclass(frozen=True)
class Insight:
    # The content of its part of the page.
    find: Callable[[duckdb.DuckDBPyConnection], Found]
    # Of what was found: what belongs to a curve of these trials over this axis.
    bands: Callable[[Found, str, Sequence[Trial]], Optional[Bands]] = lambda found, x, trials: None


def _latency(db: duckdb.DuckDBPyConnection) -> Found:
    places, runs = advice.places(db), database.by_run(run_variation.of_time(db, "latency"))
    findings = levels.findings(db)
    of_caches = [f for f in findings if f.first and f.what == "caches" and f.levels]
    return {
        "findings": findings,
        "answer": {f.whole: _load(f) for f in of_caches},
        "said": {whole: inflight.said(inflight.curves(own), places[whole]) for whole, own in runs},
    }


def _load(found: memory_level.Finding) -> str:
    times = [f"{_time(o)} in {o.name}" for o in found.levels if o.time]
    return f"A load takes {', '.join(times)}."


def _time(of: memory_level.Level) -> str:
    """With its cycles, which are the same where the clock is another one."""
    return of.load + (f" ({of.load_cycles} cycles)" if of.cycles else "")


def _levels(found: Found, x: str, trials: Sequence[Trial]) -> Optional[Bands]:
    ids = {(t["whole"], t["id"]) for t in trials}
    of_curve = (f for f in found["findings"] if f.first and f.levels and f.trials & ids)
    finding = next(of_curve, None) if x == "size" else None
    return memory_level.bands(finding) if finding else None


def _sharing(db: duckdb.DuckDBPyConnection) -> Found:
    places = advice.places(db)
    found: dict[str, list[padding.Finding]] = {}
    said: dict[str, list[str]] = {}
    for whole, own in database.by_run(run_variation.of_time(db, "sharing")):
        curves = padding.findings(own)
        found[whole] = curves
        said[whole] = [padding.verdict(curves, places[whole])] if curves else []
    return {"runs": found, "said": said}


def _tables(db: duckdb.DuckDBPyConnection, benchmark: str) -> Tables:
    runs = database.by_run(run_variation.of_time(db, benchmark))
    return {whole: cpu_pairs.tables(own) for whole, own in runs}


def _coherence(db: duckdb.DuckDBPyConnection) -> Found:
    return {"runs": _tables(db, "coherence")}


def _core_to_core(db: duckdb.DuckDBPyConnection) -> Found:
    runs, machines = _tables(db, "core-to-core"), database.machines(db)
    answer = {whole: _hand_over(own[0], machines[whole]) for whole, own in runs.items() if own}
    return {"runs": runs, "answer": answer}


def _hand_over(trial: cpu_pairs.Table, machine: Machine) -> str:
    if evidence.is_noisy(trial):
        return f"The time to hand over a cache line is not given: {trial['name']} is noisy."
    times = [
        f"{' or '.join(units.quantity(time, 's') for time in level['seen'])} (median) between CPUs"
        f" that share {level['name']}"
        for level in trial["levels"]
    ]
    told = ", as the guest is told" if machine["virtual"] else ""
    return f"To hand over a cache line takes {', '.join(times)}{told} ({trial['name']})."


def _numa(db: duckdb.DuckDBPyConnection) -> Found:
    places, runs = advice.places(db), database.by_run(run_variation.of(db, "numa"))
    machines = database.machines(db)
    said = {
        whole: [*knee.said(knee.curves(own), places[whole]), peak.said(own, machines[whole])]
        for whole, own in runs
    }
    return {"said": {whole: [one for one in told if one] for whole, told in said.items()}}


def _cores(db: duckdb.DuckDBPyConnection) -> Found:
    """Of the time together over that alone the claims tell."""
    runs = database.by_run(run_variation.of_time(db, "cores"))
    said = {whole: each_cpu.said(own, each_cpu.of(db, own)) for whole, own in runs}
    return {"answer": {whole: text for whole, text in said.items() if text}}


REGISTERED = {
    "latency": Insight(_latency, _levels),
    "sharing": Insight(_sharing),
    "numa": Insight(_numa),
    "core-to-core": Insight(_core_to_core),
    "cores": Insight(_cores),
    "coherence": Insight(_coherence),
}
NONE = Insight(lambda db: {})


def of(benchmark: str) -> Insight:
    return REGISTERED.get(benchmark, NONE)
