# SPDX-License-Identifier: Apache-2.0
"""Records for other tools: one flat row for each trial and metric, as CSV or JSON Lines; or for
each CPU, or pair of ranks, of those trials that tell them apart."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, TextIO, TypedDict

import duckdb

from ..records import database, parts
from ..records.database import column, each
from ..records.rows import Parameter

Flat = dict[str, object]

BEFORE = ("host", "run", "trial", "started", "benchmark", "variant")
OF_METRIC = ("metric", "unit", "better", "value")
TRIAL = """w.host, t.whole AS run, t.id AS trial, w.started, t.benchmark, t.variant, t.threads,
	t.bind, t.status, t.parameters::VARCHAR AS parameters"""
METRICS = f"""
SELECT {TRIAL}, m.name AS metric, m.unit, m.better, m.value, m.low, m.high, m.why
FROM metric m JOIN trial t USING (whole, id) JOIN run w ON w.run = t.whole
ORDER BY t.position, m.place
"""
PARTS = f"""
SELECT {TRIAL}, p.* EXCLUDE (run, trial)
FROM ({{}}) p JOIN trial t ON (t.whole, t.id) = (p.run, p.trial) JOIN run w ON w.run = t.whole
ORDER BY t.position, {{}}, metric
"""
PARAMETERS = """
SELECT name FROM (SELECT unnest(json_keys(parameters)) AS name,
	generate_subscripts(json_keys(parameters), 1) AS place, position FROM trial)
GROUP BY name ORDER BY min((position, place))
"""


class OfTrial(TypedDict):
    """What all rows have."""

    host: str
    run: str
    trial: str
    started: str
    benchmark: str
    variant: str
    threads: int
    bind: str
    status: str
    parameters: str
    metric: str
    unit: str
    better: Optional[str]
    value: Optional[float]


class OfMetric(OfTrial):
    low: Optional[float]
    high: Optional[float]
    why: Optional[str]


class OfCpu(OfTrial):
    cpu: int


class OfPair(OfTrial):
    rank: int
    rank_host: str
    rank_node: int
    with_rank: int
    with_host: Optional[str]  # None: its row is missing
    with_node: Optional[int]


@dataclass(frozen=True)
class Kind:
    """A kind of rows: their columns behind the parameters, and the query for them."""

    row: type[OfTrial]
    behind: tuple[str, ...]
    sql: str

    @property
    def taken(self) -> set[str]:
        return {*BEFORE, *self.behind}


BY_METRIC = Kind(OfMetric, ("threads", "bind", "status", *OF_METRIC, "low", "high", "why"), METRICS)
BY_CPU = Kind(
    OfCpu, ("threads", "bind", "status", "cpu", *OF_METRIC), PARTS.format(parts.CPUS, "cpu")
)
OF_PAIR = ("rank", "rank_host", "rank_node", "with_rank", "with_host", "with_node")
BY_PAIR = Kind(
    OfPair,
    ("threads", "bind", "status", *OF_PAIR, *OF_METRIC),
    PARTS.format(parts.PAIRS, "rank, with_rank"),
)


def write_csv(files: Sequence[Path], to: TextIO) -> list[str]:
    return _write_csv(files, to, BY_METRIC)


def write_cpus(files: Sequence[Path], to: TextIO) -> list[str]:
    return _write_csv(files, to, BY_CPU)


def write_pairs(files: Sequence[Path], to: TextIO) -> list[str]:
    return _write_csv(files, to, BY_PAIR)


def _write_csv(files: Sequence[Path], to: TextIO, kind: Kind) -> list[str]:
    """A column for each parameter of any benchmark; null is empty."""
    given = database.read(files, samples=False)
    db = database.tables(given)
    names = _named(dict.fromkeys(column(db, PARAMETERS), ""), kind)
    table = csv.DictWriter(to, [*BEFORE, *names, *kind.behind], restval="", lineterminator="\n")
    table.writeheader()
    table.writerows(_flat(db, kind))
    return given.notes


def write_jsonl(files: Sequence[Path], to: TextIO) -> list[str]:
    given = database.read(files, samples=False)
    for row in _flat(database.tables(given), BY_METRIC):
        to.write(json.dumps(row, ensure_ascii=False) + "\n")
    return given.notes


def _flat(db: duckdb.DuckDBPyConnection, kind: Kind) -> Iterator[Flat]:
    """Rows with parameters as columns."""
    for found in each(db, kind.row, kind.sql):
        row: Flat = {**found}
        own = _named(json.loads(found["parameters"] or "{}"), kind)
        yield {
            **{name: row[name] for name in BEFORE},
            **own,
            **{name: row[name] for name in kind.behind},
        }


def _named(parameters: dict[str, Parameter], kind: Kind) -> Flat:
    """A parameter named like a column becomes parameter_NAME, as in locus_analysis.load()."""
    return {f"parameter_{n}" if n in kind.taken else n: v for n, v in parameters.items()}
