# SPDX-License-Identifier: Apache-2.0
"""Records for other tools: one flat row for each trial and metric, as CSV or JSON Lines; or Google
Benchmark's format, for its tools/compare.py."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from typing import Optional, TextIO, TypedDict

import duckdb

from . import database
from .database import column, each, select
from .lines import Header
from .rows import Parameter, Run

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
TRIALS = """
WITH measured AS (
	SELECT whole, id, json_group_object(name, value) AS metrics,
		any_value(value) FILTER (name = 'time') AS time
	FROM metric WHERE value IS NOT NULL GROUP BY whole, id)
SELECT t.benchmark, t.variant, t.threads, t.bind, t.parameters::VARCHAR AS parameters, t.status,
	(t.samples->>'$.n')::BIGINT AS samples, measured.metrics::VARCHAR AS metrics, measured.time,
	[b * (line.json->>'$.scale')::DOUBLE
		FOR b IN from_json(line.json->'$.batches.metrics.time', '["DOUBLE"]')
		IF b IS NOT NULL] AS batches
FROM trial t JOIN measured USING (whole, id)
	JOIN line ON line.run = t.part AND line.file = t.file AND line.number = t.number
WHERE measured.time IS NOT NULL ORDER BY t.position
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


class OfTrial(TypedDict):
    """A row of TRIALS."""

    benchmark: str
    variant: str
    threads: int
    bind: str
    parameters: str
    status: str
    samples: Optional[int]
    metrics: str
    time: float
    batches: Optional[list[float]]


class Time(TypedDict):
    real_time: float
    cpu_time: float
    time_unit: str


def write(given: database.Records, form: str, to: TextIO) -> None:
    """`form`: one of FORMS. Adds to the notes on what was read."""
    FORMS[form](given, database.tables(given), to)
    to.flush()


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


def _csv(_: database.Records, db: duckdb.DuckDBPyConnection, to: TextIO) -> None:
    """A column for each parameter of any benchmark; null is empty."""
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


def _jsonl(_: database.Records, db: duckdb.DuckDBPyConnection, to: TextIO) -> None:
    for row in _flat(db):
        to.write(json.dumps(row, ensure_ascii=False) + "\n")


# ---- Google Benchmark ----

SECOND = 1e9  # in its unit of time, ns


def _google_benchmark(given: database.Records, db: duckdb.DuckDBPyConnection, to: TextIO) -> None:
    """An entry for each batch, as a repetition, so that compare.py can test for a difference; and
    one for the median, with the other metrics."""
    hosts = column(db, "SELECT DISTINCT host FROM run ORDER BY host")
    if len(hosts) > 1:
        raise database.BadInput(
            f"--format google-benchmark is of one host, and these records are of {len(hosts)}:"
            f" {', '.join(hosts[:3])}{', ...' if len(hosts) > 3 else ''}; export each by itself"
        )
    to.write('{"context": ' + json.dumps(_context(db)) + ',\n"benchmarks": [')
    n = trials = 0
    for trial in each(db, OfTrial, TRIALS):
        trials += 1
        for entry in _entries(trial):
            to.write((",\n" if n else "\n") + json.dumps(entry))
            n += 1
    to.write("\n]}\n")
    lacking = len(column(db, "SELECT id FROM trial")) - trials
    if lacking:
        given.notes.append(f"{lacking} trials without a time are left out of this format")


def _context(db: duckdb.DuckDBPyConnection) -> Flat:
    (last,) = select(db, Run, "FROM run ORDER BY ordinal DESC LIMIT 1")
    header: Header = json.loads(last["header"])
    topology, frequency = header["machine"]["topology"], header["machine"]["frequency"]
    governor = frequency and frequency["governor"]
    clock = (frequency and (frequency["base"] or frequency["maximum"])) or 0
    return {
        "date": header["started"],
        "host_name": last["host"],
        "executable": header["command"][0] if header["command"] else "locus",
        "num_cpus": topology["cpus"],
        "mhz_per_cpu": round(clock / 1e6),
        "cpu_scaling_enabled": governor not in (None, "performance"),
        "caches": [
            {
                "type": str(cache["type"]).capitalize(),
                "level": cache["level"],
                "size": cache["size"],
                "num_sharing": cache["shared_by"],
            }
            for cache in topology["caches"] or []
        ],
        "load_avg": [],
        "library_build_type": "release",
        "locus_version": header["program"]["version"],
    }


def _entries(trial: OfTrial) -> Iterator[Flat]:
    parameters: dict[str, Parameter] = json.loads(trial["parameters"] or "{}")
    name = "/".join(
        [
            trial["benchmark"],
            trial["variant"],
            *(f"{key}:{value}" for key, value in parameters.items()),
            f"bind:{trial['bind']}",
            f"threads:{trial['threads']}",
        ]
    )
    batches = trial["batches"] or []
    shared = {"run_name": name, "threads": trial["threads"], "repetitions": len(batches)}
    iterations = max(1, (trial["samples"] or 0) // max(1, len(batches)))
    for i, seconds in enumerate(batches):
        yield {
            "name": name,
            **shared,
            "run_type": "iteration",
            "repetition_index": i,
            "iterations": iterations,
            **_times(seconds),
        }
    median = {
        "name": f"{name}_median",
        **shared,
        "run_type": "aggregate",
        "aggregate_name": "median",
        "aggregate_unit": "time",
        "iterations": len(batches),
        **_times(trial["time"]),
        "label": trial["status"],
    }
    yield {**json.loads(trial["metrics"]), **median}


def _times(seconds: float) -> Time:
    """The format has a field for CPU time, which locus does not measure: wall time again."""
    return {
        "real_time": seconds * SECOND,
        "cpu_time": seconds * SECOND,
        "time_unit": "ns",
    }


FORMS = {"csv": _csv, "jsonl": _jsonl, "google-benchmark": _google_benchmark}
