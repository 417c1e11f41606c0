# SPDX-License-Identifier: Apache-2.0
"""Records as data frames, for your own tools: locus_analysis.load() (doc/frames.md)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import duckdb

from . import database, parts

try:
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "locus_analysis.load() needs pandas: pip install 'locus-analysis[frames]', or pip install"
        " pandas",
        name=error.name,
    ) from error

# The columns that identify a trial; its parameters follow them.
IDENTITY = ("run", "trial", "host", "benchmark", "variant", "threads", "bind")
TRIALS = """
SELECT whole AS run, id AS trial, host, benchmark, variant, threads, bind,
	t.parameters::VARCHAR AS parameters, status, reasons, (samples->>'$.n')::BIGINT AS samples,
	spread_within, spread_between
FROM trial t JOIN run ON run.run = whole ORDER BY position
"""
RUNS = """
SELECT run, host, rank, ranks, try_cast(started AS TIMESTAMP) AS started, elapsed, profile,
	exit_status, header->>'$.machine.cpu.model' AS cpu, header->>'$.machine.virtual' AS virtual,
	header->>'$.program.version' AS version, file, command
FROM outcome ORDER BY ordinal
"""
METRICS = """
SELECT m.whole AS run, m.id AS trial, m.name AS metric, m.unit, m.better, m.value, m.low, m.high,
	m.why
FROM metric m JOIN trial USING (whole, id) ORDER BY position, m.place
"""
RATIOS = """
SELECT whole AS run, id AS trial, name AS ratio, metric, "of" AS of_value, "to" AS to_value,
	trial AS other, value, low, high
FROM ratio ORDER BY position, place
"""
SAMPLES = """
SELECT whole AS run, id AS trial, moment, time, noisy, crowded
FROM sample ORDER BY whole, moment
"""
COUNTERS = """
SELECT c.whole AS run, c.id AS trial, c.name AS counter, c.source, c.unit, c.per, c.value, c.low,
	c.high, c.total, c.trusted, c.why
FROM counter c JOIN trial USING (whole, id) ORDER BY position, counter_place
"""
# Names of columns of these tables: a parameter with such a name is called parameter_NAME.
TAKEN = frozenset(
    (
        *IDENTITY,
        *("status", "reasons", "samples", "spread_within", "spread_between"),
        *("metric", "unit", "better", "value", "low", "high", "why"),
        *("ratio", "of_value", "to_value", "other"),
        *("counter", "source", "per", "total", "trusted"),
        *("cpu", "rank", "rank_host", "rank_node", "with_rank", "with_host", "with_node"),
    )
)


class Frames:
    """Tables of records, each made when it is first used. Numbers are in base units. `run` and
    `trial` join tables. All but `runs` and `samples` repeat what identifies a trial, so that a
    picture needs no join."""

    def __init__(self, db: duckdb.DuckDBPyConnection, notes: Sequence[str]) -> None:
        self.db = db
        self.notes = list(notes)  # what was left out, and why

    def sql(self, query: str) -> pd.DataFrame:
        """The result of a query over the report's tables (tables.sql, page.sql)."""
        return self.db.execute(query).df()

    @cached_property
    def runs(self) -> pd.DataFrame:
        """A row for each run: machine, program, command, and how it ended."""
        return self.sql(RUNS)

    @cached_property
    def trials(self) -> pd.DataFrame:
        """A row for each trial: a column for each parameter, and its status."""
        found = self.sql(TRIALS)
        parameters = pd.DataFrame.from_records(
            [json.loads(text) for text in found.pop("parameters")], index=found.index
        )
        own = {name: f"parameter_{name}" for name in parameters if name in TAKEN}
        told = found.loc[:, IDENTITY].join(parameters.rename(columns=own))
        return told.join(found.drop(columns=list(IDENTITY)))

    @cached_property
    def metrics(self) -> pd.DataFrame:
        """A row for each metric of each trial: its value, and the interval from low to high."""
        return self._of_trials(METRICS)

    @cached_property
    def ratios(self) -> pd.DataFrame:
        """A row for each ratio of a trial to another one that was sampled in turn with it."""
        return self._of_trials(RATIOS)

    @cached_property
    def samples(self) -> pd.DataFrame:
        """A row for each sample: time in s per unit, at a moment in s since its run began."""
        return self.sql(SAMPLES)

    @cached_property
    def counters(self) -> pd.DataFrame:
        """A row for each event that a trial counted, or could not count."""
        return self._of_trials(COUNTERS)

    @cached_property
    def cpus(self) -> pd.DataFrame:
        """A row for each metric of each CPU, of trials that tell them apart."""
        return self._of_trials(parts.CPUS)

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """A row for each metric of each pair of ranks that met."""
        return self._of_trials(parts.PAIRS)

    def _of_trials(self, query: str) -> pd.DataFrame:
        told = self.trials.drop(columns=["reasons", "samples", "spread_within", "spread_between"])
        return told.merge(self.sql(query), on=["run", "trial"])


def load(paths: Sequence[Path]) -> Frames:
    """See locus_analysis.load()."""
    read = database.read(paths)
    return Frames(database.tables(read, page=True), read.notes)
