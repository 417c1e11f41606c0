# SPDX-License-Identifier: Apache-2.0
"""Analysis of single benchmarks beyond their line in the record: plug-ins with one interface,
registered at the end of this file. The rest of the page depends on none of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Optional

import duckdb

from . import advice, between, cpu_pairs, inflight, knee, level, levels, padding, records, units
from .described import Bands

Row = dict[str, Any]


@dataclass(frozen=True)
class Insight:
    # The content of its part of the page; by run, `answer`: the sentence that comes first, instead
    # of a generic one, and `said`: further sentences.
    find: Callable[[duckdb.DuckDBPyConnection], Row]
    # Of what was found: what belongs to a curve of these trials over this axis.
    bands: Callable[[Row, str, Sequence[Row]], Optional[Bands]] = lambda found, x, trials: None


def _latency(db: duckdb.DuckDBPyConnection) -> Row:
    machines, runs = records.machines(db), records.by_run(between.of_time(db, "latency"))
    findings = levels.findings(db)
    of_caches = [f for f in findings if f.first and f.what == "caches" and f.levels]
    return {
        "findings": findings,
        "answer": {f.whole: _load(f) for f in of_caches},
        "said": {
            whole: [inflight.said(c, machines[whole]) for c in inflight.curves(own)]
            for whole, own in runs
        },
    }


def _load(found: level.Finding) -> str:
    times = [f"{units.quantity(o.time, 's')} in {o.name}" for o in found.levels if o.time]
    return f"A load takes {', '.join(times)}."


def _levels(found: Row, x: str, trials: Sequence[Row]) -> Optional[Bands]:
    ids = {(t["whole"], t["id"]) for t in trials}
    of_curve = (f for f in found["findings"] if f.first and f.levels and f.trials & ids)
    finding = next(of_curve, None) if x == "size" else None
    return finding and level.bands(finding)


def _sharing(db: duckdb.DuckDBPyConnection) -> Row:
    places, found, said = advice.places(db), {}, {}
    for whole, own in records.by_run(between.of_time(db, "sharing")):
        curves = padding.findings(own)
        found[whole] = curves
        said[whole] = [padding.verdict(curves, places[whole])] if curves else []
    return {"runs": found, "said": said}


def _of_pairs(db: duckdb.DuckDBPyConnection, benchmark: str) -> Row:
    runs = records.by_run(between.of_time(db, benchmark))
    return {"runs": {whole: cpu_pairs.tables(own) for whole, own in runs}}


def _core_to_core(db: duckdb.DuckDBPyConnection) -> Row:
    found = _of_pairs(db, "core-to-core")
    return {
        **found,
        "answer": {whole: _hand_over(own[0]) for whole, own in found["runs"].items() if own},
    }


def _hand_over(trial: Row) -> str:
    times = [
        f"{units.quantity(level['quantiles'][2], 's')} (median) between CPUs that share"
        f" {level['name']}"
        for level in trial["levels"]
    ]
    return f"To hand over a cache line takes {', '.join(times)} ({trial['name']})."


def _numa(db: duckdb.DuckDBPyConnection) -> Row:
    runs = records.by_run(between.of(db, "numa"))
    return {"said": {whole: [knee.said(c) for c in knee.curves(own)] for whole, own in runs}}


REGISTERED = {
    "latency": Insight(_latency, _levels),
    "sharing": Insight(_sharing),
    "numa": Insight(_numa),
    "core-to-core": Insight(_core_to_core),
    "coherence": Insight(partial(_of_pairs, benchmark="coherence")),
}
NONE = Insight(lambda db: {})


def of(benchmark: str) -> Insight:
    return REGISTERED.get(benchmark, NONE)
