# SPDX-License-Identifier: Apache-2.0
"""Google Benchmark's format, for its tools/compare.py."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Optional, TextIO, TypedDict

import duckdb

from ..records import database
from ..records.database import column, each, select
from ..records.lines import Header
from ..records.rows import Parameter, Run
from .flat import Flat
from .formats import one_host

SECOND = 1e9  # in its unit of time, ns
TRIALS = """
WITH measured AS (
	SELECT whole, id,
		object(list(to_json(name) || ':' || to_json(value) ORDER BY place)) AS metrics,
		any_value(value) FILTER (name = 'time') AS time
	FROM metric WHERE value IS NOT NULL GROUP BY whole, id)
SELECT t.benchmark, t.variant, t.threads, t.bind, t.parameters::VARCHAR AS parameters, t.status,
	(t.samples->>'$.n')::BIGINT AS samples, measured.metrics::VARCHAR AS metrics, measured.time,
	[b * scale FOR b IN batch_times IF b IS NOT NULL] AS batches
FROM trial t JOIN measured USING (whole, id)
WHERE measured.time IS NOT NULL ORDER BY t.position
"""


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


def write(files: Sequence[Path], to: TextIO) -> list[str]:
    """An entry for each batch, as a repetition, so that compare.py can test for a difference; and
    one for the median, with the other metrics."""
    given = database.read(files, samples=False)
    db = database.tables(given)
    hosts = column(db, "SELECT DISTINCT host FROM run ORDER BY host")
    one_host("google-benchmark", hosts)
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
    return given.notes


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
