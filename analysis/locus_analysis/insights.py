# SPDX-License-Identifier: Apache-2.0
"""Analysis of single benchmarks beyond their line in the record: plug-ins with one interface,
registered at the end of this file. The rest of the page depends on none of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Optional

import duckdb

from . import cpu_pairs, knee, level, levels, padding, records
from .described import Bands

Row = dict[str, Any]


@dataclass(frozen=True)
class Insight:
    find: Callable[[duckdb.DuckDBPyConnection], Row]  # the content of its part of the page
    # Of what was found: what belongs to a curve of these trials over this axis.
    bands: Callable[[Row, str, Sequence[Row]], Optional[Bands]] = lambda found, x, trials: None


def _latency(db: duckdb.DuckDBPyConnection) -> Row:
    return {"findings": levels.findings(db)}


def _levels(found: Row, x: str, trials: Sequence[Row]) -> Optional[Bands]:
    ids = {(t["whole"], t["id"]) for t in trials}
    of_curve = (f for f in found["findings"] if f.first and f.levels and f.trials & ids)
    finding = next(of_curve, None) if x == "size" else None
    return finding and level.bands(finding)


def _sharing(db: duckdb.DuckDBPyConnection) -> Row:
    machines, found = records.machines(db), {}
    for whole, own in records.by_run(records.told(db, "sharing")):
        curves = padding.findings(own)
        line = padding.line_size(machines[whole])
        found[whole] = {"padding": curves, "verdict": curves and padding.verdict(curves, line)}
    return {"runs": found}


def _core_to_core(db: duckdb.DuckDBPyConnection) -> Row:
    runs = records.by_run(records.told(db, "core-to-core"))
    return {"runs": {whole: cpu_pairs.tables(own) for whole, own in runs}}


def _numa(db: duckdb.DuckDBPyConnection) -> Row:
    runs = records.by_run(records.measured(db, "numa"))
    return {"runs": {whole: [knee.said(c) for c in knee.curves(own)] for whole, own in runs}}


REGISTERED = {
    "latency": Insight(_latency, _levels),
    "sharing": Insight(_sharing),
    "numa": Insight(_numa),
    "core-to-core": Insight(_core_to_core),
}
NONE = Insight(lambda db: {})


def of(benchmark: str) -> Insight:
    return REGISTERED.get(benchmark, NONE)
