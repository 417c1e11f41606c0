# SPDX-License-Identifier: Apache-2.0
"""Records (JSON Lines, see doc/schema/README.md) as tables. A line that is not part of a record is
skipped, and reported with its file and number."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Optional, TypedDict, TypeVar, cast

import duckdb

from ..base import processes, units
from . import hosts, published, schema, sources
from .lines import Header, Machine
from .rows import Distribution, HasStatus, InRun, Told, Trial, Value, Verdict
from .schema import Line
from .sources import BadInput as BadInput  # for modules that import them from here
from .sources import CannotWrite as CannotWrite

if TYPE_CHECKING:
    from .likwid import Counted

R = TypeVar("R", bound=Mapping[str, object])
T = TypeVar("T", bound=InRun)

HERE = Path(__file__).resolve().parent
AT_ONCE = 1 << 23  # bytes of lines that are handed to the database together
MOST_MEMORY = "1GiB"  # of the database; beyond that it uses temporary files
FETCHED = 1000  # rows that are fetched together
MOST_FLAWS = 3  # of a file that are reported one by one
SAMPLES = re.compile(rb'\{"type": ?"samples"')
BULK = re.compile(rb'\{"type": ?"(?:samples|matrix|row|distribution|peer)"')
OTHERS = (
    rb'|\{"type": ?"trial", ?"run": ?"[0-9a-f]{16}", ?"id": ?"[0-9a-f]{16}",'
    rb' ?"benchmark": ?"(?!(?:%s)")'
)  # trials of benchmarks beside some, as locus writes them
HOPELESS = 100  # flawed lines: after so many without a header the rest of a file is not read

Entry = tuple[str, int, int, str, str, str]  # a row of the table `line`


@dataclass
class Records:
    """The lines that were read, in a database, and notes for the reader."""

    db: duckdb.DuckDBPyConnection
    notes: list[str] = field(default_factory=list)
    counted: list[Counted] = field(default_factory=list)  # tables given beside the records
    runs: dict[str, hosts.Machine] = field(default_factory=dict)
    doubled: bool = False  # some run is there more than once
    lean: Optional[Callable[[Line], Line]] = None  # what is kept of a line
    skipped: Optional[re.Pattern[bytes]] = None  # lines that are not read
    waiting: list[Entry] = field(default_factory=list)  # rows that the database is yet to get
    size: int = 0  # bytes of their lines

    def take(self, row: Entry) -> None:
        self.waiting.append(row)
        self.size += len(row[-1])
        if self.size >= AT_ONCE:
            self.hand_over()

    def hand_over(self) -> None:
        _insert(self.db, "line", self.waiting)
        self.waiting, self.size = [], 0


def read(
    paths: Sequence[Path],
    samples: bool = True,
    lean: Optional[Callable[[Line], Line]] = None,
    only: Sequence[str] = (),
) -> Records:
    """Reads files, and those in folders, with or without lines of samples, which are most of the
    lines. `lean` makes of a line what is kept of it; then lines beside those of trials are not
    read. `only`: nor are trials of other benchmarks. Of a run that is there several times, keeps
    the most complete copy."""
    skipped = BULK if lean or only else None if samples else SAMPLES
    if only:
        skipped = re.compile(BULK.pattern + OTHERS % "|".join(map(re.escape, only)).encode())
    records = Records(_database(), lean=lean, skipped=skipped)
    for path in sources.find(paths):
        try:
            _take(records, path)
        except BadInput as error:
            records.notes.append(str(error))
    records.hand_over()
    if not records.runs:
        raise BadInput(records.notes[0])
    if records.doubled:
        records.notes += _keep_one_of_each(records.db)
    names, notes = hosts.told_apart(records.runs.values())
    _insert(records.db, "host", list(names.items()))
    records.notes += notes
    return records


def trials(records: Records) -> duckdb.DuckDBPyConnection:
    """The records as tables of trials and metrics (trials.sql)."""
    records.db.execute((HERE / "trials.sql").read_text(encoding="utf-8"))
    return records.db


def tables(records: Records) -> duckdb.DuckDBPyConnection:
    """The records as all tables (trials.sql, details.sql, tables.sql)."""
    db = trials(records)
    db.execute((HERE / "details.sql").read_text(encoding="utf-8"))
    values = db.execute("SELECT DISTINCT name, value, unit FROM parameter").fetchall()
    labels = [(*each, units.parameter(*each)) for each in values]
    db.execute("CREATE TABLE words_of (name VARCHAR, value VARCHAR, unit VARCHAR, label VARCHAR)")
    db.execute("CREATE TABLE panel_parameter (benchmark VARCHAR, name VARCHAR)")
    _insert(db, "words_of", labels)
    _insert(db, "panel_parameter", published.panels())
    db.execute((HERE / "tables.sql").read_text(encoding="utf-8"))
    return db


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
        "SELECT d.* FROM distribution d JOIN trial USING (whole, id) WHERE benchmark = ?",
        benchmark,
    ):
        quantiles = json.loads(d["quantiles"])
        of_trial[d["whole"], d["id"]][d["metric"]] = {float(q): v for q, v in quantiles.items()}
    return found


def _parsed(row: Told) -> Trial:
    pairs = json.loads(row["pairs"] or "null")
    if pairs:
        pairs = {"levels": [], "outstanding": [], "crowding": None, **pairs}
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


def _database() -> duckdb.DuckDBPyConnection:
    # Only the name is wanted: the database makes the folder when it needs it, and removes it.
    try:
        folder = Path(tempfile.mkdtemp(prefix="locus-analysis-"))
        folder.rmdir()
    except OSError as error:
        raise CannotWrite(f"no folder for temporary files: {error.strerror}; set TMPDIR") from error
    db = duckdb.connect(
        config={
            "autoinstall_known_extensions": "false",
            "memory_limit": MOST_MEMORY,
            "temp_directory": str(folder),
            "threads": str(min(8, processes.usable_cpus())),  # each takes memory of its own
        }
    )
    db.execute("SET enable_progress_bar = false")  # it would be among the results
    db.execute(
        "CREATE TABLE line"
        " (file VARCHAR, number INTEGER, copy INTEGER, run VARCHAR, type VARCHAR, json JSON)"
    )
    db.execute("CREATE TABLE host (run VARCHAR, host VARCHAR)")
    return db


def _insert(db: duckdb.DuckDBPyConnection, table: str, given: Sequence[tuple[object, ...]]) -> None:
    """By columns: one statement for each line takes 40 times as long."""
    if given:
        db.execute(
            f"INSERT INTO {table} SELECT {', '.join(['unnest(?)'] * len(given[0]))}",
            [list(column) for column in zip(*given)],
        )


def _take(records: Records, path: Path) -> None:
    """Reads all lines of a file into the database. Raises the first flaw of a file without any
    valid line; else flaws become notes."""
    flaws: list[str] = []
    taken = False
    for row in _rows(records, path, flaws):
        records.take(row)
        taken = True
    if not taken:
        raise BadInput(
            flaws[0] if flaws else f"{sources.name(path)}: holds no line that this locus knows"
        )
    records.notes += flaws[:MOST_FLAWS]
    if len(flaws) > MOST_FLAWS:
        records.notes.append(
            f"{sources.name(path)}: {len(flaws) - MOST_FLAWS} more lines like these are left out"
        )


def _rows(records: Records, path: Path, flaws: list[str]) -> Iterator[Entry]:
    """Rows of the table `line`. `copy` is the line of the run's header, since a file may have a run
    twice."""
    headers: dict[str, Optional[int]] = {}  # None: that run cannot be read
    declared = schema.Declared()
    name = sources.name(path)
    for given in sources.lines(path):
        if not headers and len(flaws) >= HOPELESS:
            return
        if records.skipped and headers and records.skipped.match(given.text):
            continue
        try:
            line = _line(given)
            if line:
                declared.check(line)
        except schema.Flaw as flaw:
            flaws.append(f"{name}:{given.number}: {flaw}")
            if header := schema.header_of(given.text):
                headers[header] = None
            continue
        if line is None:
            continue
        run = line["run"]
        if line["type"] == "header":
            records.doubled |= run in records.runs
            records.runs[run] = hosts.of_header(cast("Header", line))
            headers[run] = given.number
        elif run not in headers:
            headers[run] = None
            flaws.append(
                f"{name}:{given.number}: run {run} has no header before this line: its lines are"
                " left out"
            )
        home = headers[run]
        if home is not None:
            text = json.dumps(records.lean(line)) if records.lean else given.text.decode("utf-8")
            yield name, given.number, home, run, line["type"], text


def _line(given: sources.Line) -> Optional[Line]:
    """None: a type of a later version."""
    if given.flaw:
        raise schema.Flaw(given.flaw)
    line = schema.parse(given.text)
    kind = line.get("type") if isinstance(line, dict) else None
    if isinstance(kind, str) and kind not in schema.types():
        return None
    return schema.check(line, strict=False)


class _Left(TypedDict):
    file: str
    home: str
    n: int
    run: str


def _keep_one_of_each(db: duckdb.DuckDBPyConnection) -> list[str]:
    """Keeps one copy of each run: the one that ended, else the one with most trials, with most
    lines, or the first. Returns notes."""
    db.execute(
        "CREATE TEMP TABLE chosen AS SELECT *, row_number() OVER (PARTITION BY run ORDER BY ended"
        " DESC, trials DESC, lines DESC, place) AS choice, first(file) OVER (PARTITION BY run ORDER"
        " BY ended DESC, trials DESC, lines DESC, place) AS home FROM (SELECT run, file, copy,"
        " bool_or(type = 'end') AS ended, count(*) FILTER (type = 'trial') AS trials,"
        " count(*) AS lines, min(rowid) AS place FROM line GROUP BY run, file, copy)"
    )
    db.execute(
        "DELETE FROM line USING chosen c WHERE line.run = c.run AND line.file = c.file"
        " AND line.copy = c.copy AND choice > 1"
    )
    left = select(
        db,
        _Left,
        "SELECT file, home, count(DISTINCT run) AS n, min(run) AS run FROM chosen WHERE choice > 1"
        " GROUP BY file, home ORDER BY min(place)",
    )
    return [
        f"{r['file']}: run {r['run']}"
        + (f" and {r['n'] - 1} more are" if r["n"] > 1 else " is")
        + (" there twice" if r["file"] == r["home"] else f" in {r['home']}, too")
        + ": the most complete copy counts"
        for r in left
    ]
