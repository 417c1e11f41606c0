# SPDX-License-Identifier: Apache-2.0
"""Records for other tools: one flat row for each trial and metric, as CSV or JSON Lines."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Optional, TextIO, TypedDict

import duckdb

from ..records import database
from ..records.database import column, each
from ..records.rows import Parameter

Flat = dict[str, object]

BEFORE = ("host", "run", "trial", "started", "benchmark", "variant")
BEHIND = ("threads", "bind", "status", "metric", "unit", "better", "value", "low", "high", "why")
METRICS = """
SELECT w.host, t.whole AS run, t.id AS trial, w.started, t.benchmark, t.variant, t.threads, t.bind,
	t.status, m.name AS metric, m.unit, m.better, m.value, m.low, m.high, m.why,
	t.parameters::VARCHAR AS parameters
FROM metric m JOIN trial t USING (whole, id) JOIN run w ON w.run = t.whole
ORDER BY t.position, m.place
"""


class OfMetric(TypedDict):
    """A row of METRICS."""

    host: str
    run: str
    trial: str
    started: str
    benchmark: str
    variant: str
    threads: int
    bind: str
    status: str
    metric: str
    unit: str
    better: Optional[str]
    value: Optional[float]
    low: Optional[float]
    high: Optional[float]
    why: Optional[str]
    parameters: str


def write_csv(files: Sequence[Path], to: TextIO) -> list[str]:
    """A column for each parameter of any benchmark; null is empty."""
    given = database.read(files, samples=False)
    db = database.tables(given)
    found = column(
        db,
        "SELECT name FROM (SELECT unnest(json_keys(parameters)) AS name,"
        " generate_subscripts(json_keys(parameters), 1) AS place, position FROM trial)"
        " GROUP BY name ORDER BY min(position), min(place)",
    )
    names = _named(dict.fromkeys(found, ""))
    table = csv.DictWriter(to, [*BEFORE, *names, *BEHIND], restval="", lineterminator="\n")
    table.writeheader()
    table.writerows(_flat(db))
    return given.notes


def write_jsonl(files: Sequence[Path], to: TextIO) -> list[str]:
    given = database.read(files, samples=False)
    for row in _flat(database.tables(given)):
        to.write(json.dumps(row, ensure_ascii=False) + "\n")
    return given.notes


def _flat(db: duckdb.DuckDBPyConnection) -> Iterator[Flat]:
    """Rows with parameters as columns."""
    for of_metric in each(db, OfMetric, METRICS):
        row: Flat = {**of_metric}
        own = _named(json.loads(of_metric["parameters"] or "{}"))
        yield {
            **{name: row[name] for name in BEFORE},
            **own,
            **{name: row[name] for name in BEHIND},
        }


def _named(parameters: dict[str, Parameter]) -> Flat:
    """A parameter named like a column becomes parameter_NAME, as in locus_analysis.load()."""
    taken = {*BEFORE, *BEHIND}
    return {f"parameter_{n}" if n in taken else n: v for n, v in parameters.items()}
