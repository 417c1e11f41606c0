# SPDX-License-Identifier: Apache-2.0
"""Records (JSON Lines, see doc/schema/README.md) as tables. A line that is not part of a record is
skipped, and reported with its file and number."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Optional, TypedDict, TypeVar, cast

import duckdb

from ..base import processes, units
from . import bulk, hosts, published, reader, sources, store
from . import samples as samples_of
from .lines import Machine
from .rows import Distribution, HasStatus, InRun, Told, Trial, Value, Verdict
from .sources import BadInput as BadInput  # for modules that import them from here
from .sources import CannotWrite as CannotWrite

if TYPE_CHECKING:
    from .likwid import Counted

R = TypeVar("R", bound=Mapping[str, object])
T = TypeVar("T", bound=InRun)

HERE = Path(__file__).resolve().parent
PARSED = (HERE / "parsed.sql").read_text(encoding="utf-8")
MOST_MEMORY = "1GiB"  # of the database; beyond that it uses temporary files
SMALL = 1 << 22  # bytes of lines; a plan for less costs more than it saves
PACKED = 16  # bytes of lines for each byte of a store, about
LARGE = 1 << 26  # bytes; samples of more than this stay in their files
FETCHED = 1000  # rows that are fetched together
OPTIMIZERS = ("filter_pushdown", "unused_columns")  # that pay off for few rows, too
# Views that become tables since several queries read them: of few rows, and of few hosts.
OF_FEW_ROWS = ("cells", "trial", "metric", "distribution", "batch", "sample")
OF_FEW_HOSTS = (
    *("benchmark", "ratio", "headline", "pages", "cell", "matrix_cell", "told"),
    *("counter", "counting"),
)

# What a trial's pairs may lack; its cells stand in a line of their own, which may be damaged.
NO_CELLS = dict.fromkeys(("a", "b", "level", "n", "0", "0.25", "0.5", "0.75", "0.99"), ())
NO_PAIRS = {"levels": (), "outstanding": (), "crowding": None, "cells": NO_CELLS}


@dataclass
class Records:
    """The lines that were read, in a database, and notes for the reader."""

    db: duckdb.DuckDBPyConnection
    notes: list[str] = field(default_factory=list)
    counted: list[Counted] = field(default_factory=list)  # tables given beside the records
    lost: dict[str, str] = field(default_factory=dict)  # nodes without a record, and why
    is_small: bool = False


def read(
    paths: Sequence[Path],
    samples: bool = True,
    only: Sequence[str] = (),
    values: bool = False,
    lines: bool = False,
) -> Records:
    """Reads files, and those in folders, with or without lines of samples, which are most of the
    lines. `only`: no trials of other benchmarks, and no lines beside those of trials. `values`:
    nothing but values. `lines`: also keeps all lines, in the table `line`. Of a run that is there
    several times, the most complete copy counts."""
    records = Records(connect())
    skipped = reader.others(only) if only else reader.BULK if values else reader.SAMPLES
    stores, others = store.split(paths)
    files = sources.find(others, records.notes)
    large = not lines and sources.size(files) > LARGE
    taken = reader.Reader(records.db, None if samples and not large else skipped, values)
    if large:
        _take_many(records, bulk.Bulk(taken), files)
    else:
        for path in files:
            try:
                taken.take(path)
            except BadInput as error:
                taken.notes.append(str(error))
        packed = sources.size([Path(file) for one in stores for file in store.all_files(one)])
        records.is_small = taken.size + PACKED * packed <= SMALL
        if records.is_small:
            plan_briefly(records.db)
        if taken.copies:
            taken.parse(keep=lines)
        records.notes += taken.notes
    if stores:
        store.add(records.db, stores, only)
        for told in store.left_out, store.unseen:
            records.notes += [note for one in stores for note in told(records.db, one)]
        records.notes += [note for one in stores for note in store.unfinished(one)]
    _named(records)
    if samples and (stores or large):
        records.notes += samples_of.add(records.db, "other_read" if stores else "other", stores)
    return records


def plan_briefly(db: duckdb.DuckDBPyConnection) -> None:
    """For few rows, planning a query takes longer than running it."""
    (names,) = db.execute(
        "SELECT string_agg(name, ',') FROM duckdb_optimizers() WHERE NOT list_contains(?, name)",
        [list(OPTIMIZERS)],
    ).fetchall()[0]
    db.execute(f"SET threads = 1; SET disabled_optimizers = '{names}'")


def _take_many(records: Records, taker: bulk.Bulk, files: Sequence[Path]) -> None:
    """As a store is filled, but into this database. Samples are left in the files."""
    for shard, batch in enumerate(bulk.batches(files, LARGE), 1):
        for taken in taker.parse([taker.take(path) for path in batch], shard):
            records.notes += taken.flaws


def _named(records: Records) -> None:
    """Chooses copies, and names machines."""
    records.notes += _choose(records.db)
    machines = select(
        records.db,
        _Machine,
        "SELECT run, host, class AS kind, board, machine_id AS id FROM parsed.run JOIN chosen"
        " USING (shard, copy) ORDER BY shard, copy",
    )
    if not machines:
        raise BadInput(records.notes[0] if records.notes else "the store holds no runs")
    names, notes = hosts.told_apart(
        hosts.Machine(m["run"], m["host"], m["kind"], m["board"], m["id"]) for m in machines
    )
    reader.insert(records.db, "host", list(names.items()))
    records.notes += notes


def trials(records: Records) -> duckdb.DuckDBPyConnection:
    """The records as tables of trials and metrics (trials.sql)."""
    _run(records, "trials.sql")
    return records.db


def _run(records: Records, script: str) -> None:
    of_few_rows = OF_FEW_ROWS if records.is_small else ()
    of_few_hosts = () if of_many(records.db) else OF_FEW_HOSTS
    text = (HERE / script).read_text(encoding="utf-8")
    for name in (*of_few_rows, *of_few_hosts):
        text = text.replace(f"CREATE VIEW {name} AS", f"CREATE TABLE {name} AS")
    records.db.execute(text)


def tables(records: Records, page: bool = False) -> duckdb.DuckDBPyConnection:
    """The records as all tables (trials.sql, details.sql, tables.sql); on demand also what the page
    alone shows (page.sql)."""
    db = trials(records)
    _run(records, "details.sql")
    values = db.execute("SELECT DISTINCT name, value, unit FROM parameter").fetchall()
    labels = [(*each, units.parameter(*each)) for each in values]
    db.execute("CREATE TABLE words_of (name VARCHAR, value VARCHAR, unit VARCHAR, label VARCHAR)")
    db.execute("CREATE TABLE panel_parameter (benchmark VARCHAR, name VARCHAR)")
    reader.insert(db, "words_of", labels)
    reader.insert(db, "panel_parameter", published.panels())
    _run(records, "tables.sql")
    if page:
        _run(records, "page.sql")
    return db


def of_many(db: duckdb.DuckDBPyConnection) -> bool:
    """Whether there are too many hosts to show each."""
    return len(column(db, "SELECT DISTINCT host FROM host")) > hosts.FEW


def select(db: duckdb.DuckDBPyConnection, kind: type[R], sql: str, *values: object) -> list[R]:
    """The result of a query, whose columns are the keys of `kind` (rows.py)."""
    cursor = db.execute(sql, list(values))
    names = _columns(cursor, kind)
    return [cast("R", dict(zip(names, row))) for row in cursor.fetchall()]


def each(db: duckdb.DuckDBPyConnection, kind: type[R], sql: str) -> Iterator[R]:
    """select(), but only a part of the rows is in memory."""
    cursor = db.cursor().execute(sql)
    names = _columns(cursor, kind)
    while found := cursor.fetchmany(FETCHED):
        yield from (cast("R", dict(zip(names, row))) for row in found)


def _columns(cursor: duckdb.DuckDBPyConnection, kind: type[R]) -> list[str]:
    names = [column[0] for column in cursor.description or []]
    wrong = set(names) ^ kind.__annotations__.keys()
    assert not wrong, f"{kind.__name__}: {wrong}"
    return names


def column(db: duckdb.DuckDBPyConnection, sql: str, *values: object) -> list[str]:
    """The result of a query for one column of texts."""
    return [text for (text,) in db.execute(sql, list(values)).fetchall()]


def measured(db: duckdb.DuckDBPyConnection, benchmark: str) -> list[Trial]:
    """A benchmark's trials: `metrics` and `parameters` by name, `quantiles` of distributions;
    `value`, `low` and `high` of the headline. The rows are the caller's, not what they hold."""
    return [row.copy() for row in _measured(db, benchmark)]


@lru_cache(maxsize=64)
def _measured(db: duckdb.DuckDBPyConnection, benchmark: str) -> list[Trial]:
    found = [
        _parsed(row)
        for row in select(db, Told, "FROM told WHERE benchmark = ? ORDER BY place", benchmark)
    ]
    _add_modes(found)
    of_trial = {(t["whole"], t["id"]): t["quantiles"] for t in found}
    for d in select(
        db,
        Distribution,
        "SELECT d.* FROM distribution d JOIN shown USING (whole, id) WHERE benchmark = ?",
        benchmark,
    ):
        quantiles = json.loads(d["quantiles"])
        of_trial[d["whole"], d["id"]][d["metric"]] = {float(q): v for q, v in quantiles.items()}
    return found


def _parsed(row: Told) -> Trial:
    pairs = json.loads(row["pairs"] or "null")
    if pairs:
        pairs = {**NO_PAIRS, **pairs}
    found: dict[str, object] = {
        **row,
        "metrics": json.loads(row["metrics"]),
        "parameters": json.loads(row["parameters"]),
        "ratios": json.loads(row["ratios"]),
        "pairs": pairs,
        "quantiles": {},
    }
    return cast("Trial", found)


def _add_modes(found: Sequence[Trial]) -> None:
    """Adds `modes` to ratios that follow from the time: what its modes make of them. Ratios have
    the graver status of their two trials."""
    by_id = {(t["whole"], t["id"]): t for t in found}
    for t in found:
        for r in t["ratios"]:
            other, value = by_id.get((t["whole"], r["trial"]), t), r["value"]
            metric = t["metrics"].get(r["metric"])
            follows = r["metric"] == "time" or (metric is not None and metric["kind"] == "rate")
            both = [(a, b) for a in _modes(t) or [1.0] for b in _modes(other) or [1.0]]
            r["modes"] = [value * a / b for a, b in both] if value and follows and both[1:] else []
            verdict = graver(t, other)
            r["status"], r["flag"] = verdict["status"], verdict["flag"]
            r["reasons"] = verdict["reasons"]


def _modes(trial: Trial) -> list[float]:
    """The modes of a trial's time, relative to its value."""
    time = trial["metrics"].get("time")
    value = time and time["value"]
    return [m["time"] / value for m in trial["time_modes"] or []] if value else []


def by_run(trials: Sequence[T]) -> Iterator[tuple[str, list[T]]]:
    for whole, group in groupby(trials, lambda t: t["whole"]):
        yield whole, list(group)


# The statuses of a trial, from the best to the gravest.
STATUSES = (
    "ok",
    "unconverged",
    "bimodal",
    "noisy",
    "interrupted",
    "misplaced",
    "wrong",
    "failed",
    "impossible",
)


UNUSABLE = STATUSES[4:]  # the value, if there is one, is not that of the trial


def is_sound(trial: HasStatus) -> bool:
    """Whether something can be concluded from a trial: its interval can be trusted, however wide.
    Noise that could not be set aside may shift all of it, and of two modes its value is only one.
    """
    return trial["status"] in ("ok", "unconverged")


def value_of(row: Value) -> float:
    """The value of a row that has one."""
    assert row["value"] is not None
    return row["value"]


def graver(one: Verdict, other: Verdict) -> Verdict:
    """The graver `flag` and `status` of the two, and the reasons for it."""
    worse = max(one, other, key=lambda t: STATUSES.index(t["status"]))
    return {"flag": worse["flag"], "status": worse["status"], "reasons": worse["reasons"]}


class _OfRun(TypedDict):
    run: str
    machine: str


@lru_cache(maxsize=1)
def machines(db: duckdb.DuckDBPyConnection) -> dict[str, Machine]:
    """The machine in each run's header."""
    query = "SELECT run, header->'$.machine' AS machine FROM run ORDER BY ordinal"
    return {r["run"]: json.loads(r["machine"]) for r in select(db, _OfRun, query)}


class _Named(TypedDict):
    run: str
    host: str
    started: str


def run_names(db: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Host and start of each run."""
    found = select(db, _Named, "SELECT run, host, started FROM run")
    return {r["run"]: f"{r['host']}, {r['started'][:19]}Z" for r in found}


def connect(memory: str = "") -> duckdb.DuckDBPyConnection:
    """An empty database, with the tables of parsed.sql."""
    # Only the name is wanted: the database makes the folder when it needs it, and removes it.
    try:
        folder = Path(tempfile.mkdtemp(prefix="locus-analysis-"))
        folder.rmdir()
    except OSError as error:
        raise CannotWrite(f"no folder for temporary files: {error.strerror}; set TMPDIR") from error
    db = duckdb.connect(
        config={
            "autoinstall_known_extensions": "false",
            "memory_limit": memory or MOST_MEMORY,
            "temp_directory": str(folder),
            "threads": str(min(8, processes.usable_cpus())),  # each takes memory of its own
        }
    )
    db.execute("SET enable_progress_bar = false")  # it would be among the results
    db.execute(PARSED)
    return db


class _Machine(TypedDict):
    """As hosts.Machine."""

    run: str
    host: str
    kind: Optional[str]
    board: Optional[str]
    id: Optional[str]


class _Left(TypedDict):
    file: str
    home: str
    n: int
    run: str


def _choose(db: duckdb.DuckDBPyConnection) -> list[str]:
    """Chooses one copy of each run: the one that ended, else the one with most trials, with most
    lines, whose file is there, or the first. Returns notes on the others."""
    db.execute(
        "CREATE TABLE latest AS SELECT shard, copy, run, file, ended, trials, lines FROM parsed.run"
        " QUALIFY shard = max(shard) OVER (PARTITION BY run, file)"  # a file that has grown
    )
    # A store knows a file that was renamed or compressed since by both names.
    several = column(
        db,
        "SELECT DISTINCT file FROM latest WHERE run IN"
        " (SELECT run FROM latest GROUP BY run HAVING count(DISTINCT file) > 1)",
    )
    gone = [file for file in several if not sources.named(file).exists()]
    db.execute(
        "CREATE TABLE chosen AS SELECT shard, copy FROM latest QUALIFY row_number() OVER"
        f" ({store.MOST_COMPLETE}, list_contains($gone, file), shard, copy) = 1",
        {"gone": gone},
    )
    left = select(
        db,
        _Left,
        "SELECT r.file, home.file AS home, count(DISTINCT run) AS n, min(run) AS run"
        " FROM latest r JOIN latest home USING (run) JOIN chosen c"
        " ON (home.shard, home.copy) = (c.shard, c.copy)"
        " WHERE (r.shard, r.copy) NOT IN (SELECT (shard, copy) FROM chosen)"
        " GROUP BY r.file, home.file ORDER BY min((r.shard, r.copy))",
    )
    return [
        f"{r['file']}: run {r['run']}"
        + (f" and {r['n'] - 1} more are" if r["n"] > 1 else " is")
        + (" there twice" if r["file"] == r["home"] else f" in {r['home']}, too")
        + ": the most complete copy counts"
        for r in left
        if (r["file"] in gone) == (r["home"] in gone)
    ]
