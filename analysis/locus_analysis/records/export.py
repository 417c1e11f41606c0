# SPDX-License-Identifier: Apache-2.0
"""Records for other tools: one flat row for each trial and metric, as CSV or JSON Lines; or Google
Benchmark's format, for its tools/compare.py."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from typing import Any, TextIO

import duckdb

from . import database
from .database import rows

Row = dict[str, Any]

AT_ONCE = 1000  # rows that are fetched together
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


def write(given: database.Records, form: str, to: TextIO) -> None:
    """`form`: one of FORMS. Adds to the notes on what was read."""
    FORMS[form](given, database.tables(given), to)
    to.flush()


def _fetched(db: duckdb.DuckDBPyConnection, sql: str) -> Iterator[Row]:
    cursor = db.cursor().execute(sql)
    names = [column[0] for column in cursor.description or []]
    while found := cursor.fetchmany(AT_ONCE):
        for values in found:
            yield dict(zip(names, values))


def _flat(db: duckdb.DuckDBPyConnection) -> Iterator[Row]:
    """Rows with parameters as columns."""
    for row in _fetched(db, METRICS):
        own = _named(json.loads(row.pop("parameters") or "{}"))
        yield {
            **{name: row[name] for name in BEFORE},
            **own,
            **{name: row[name] for name in BEHIND},
        }


def _named(parameters: Row) -> Row:
    """A parameter named like a column becomes parameter_NAME, as in locus_analysis.load()."""
    taken = {*BEFORE, *BEHIND}
    return {f"parameter_{n}" if n in taken else n: v for n, v in parameters.items()}


def _csv(_: database.Records, db: duckdb.DuckDBPyConnection, to: TextIO) -> None:
    """A column for each parameter of any benchmark; null is empty."""
    found = rows(
        db,
        "SELECT name FROM (SELECT unnest(json_keys(parameters)) AS name,"
        " generate_subscripts(json_keys(parameters), 1) AS place, position FROM trial)"
        " GROUP BY name ORDER BY min(position), min(place)",
    )
    names = _named({r["name"]: None for r in found})
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
    hosts = [r["host"] for r in rows(db, "SELECT DISTINCT host FROM run ORDER BY host")]
    if len(hosts) > 1:
        raise database.BadInput(
            f"--format google-benchmark is of one host, and these records are of {len(hosts)}:"
            f" {', '.join(hosts[:3])}{', ...' if len(hosts) > 3 else ''}; export each by itself"
        )
    to.write('{"context": ' + json.dumps(_context(db)) + ',\n"benchmarks": [')
    n = 0
    for trial in _fetched(db, TRIALS):
        for entry in _entries(trial):
            to.write((",\n" if n else "\n") + json.dumps(entry))
            n += 1
    to.write("\n]}\n")
    lacking = rows(db, "SELECT count(*) AS n FROM trial")[0]["n"] - len(rows(db, TRIALS))
    if lacking:
        given.notes.append(f"{lacking} trials without a time are left out of this format")


def _context(db: duckdb.DuckDBPyConnection) -> Row:
    (last,) = rows(db, "FROM run ORDER BY ordinal DESC LIMIT 1")
    header = json.loads(last["header"])
    machine = header["machine"]
    topology, frequency = machine["topology"], machine["frequency"] or {}
    governor = frequency.get("governor")
    return {
        "date": header["started"],
        "host_name": last["host"],
        "executable": header["command"][0] if header["command"] else "locus",
        "num_cpus": topology["cpus"],
        "mhz_per_cpu": round((frequency.get("base") or frequency.get("maximum") or 0) / 1e6),
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


def _entries(trial: Row) -> Iterator[Row]:
    parameters = json.loads(trial["parameters"] or "{}")
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


def _times(seconds: float) -> Row:
    """The format has a field for CPU time, which locus does not measure: wall time again."""
    return {
        "real_time": seconds * SECOND,
        "cpu_time": seconds * SECOND,
        "time_unit": "ns",
    }


FORMS = {"csv": _csv, "jsonl": _jsonl, "google-benchmark": _google_benchmark}
