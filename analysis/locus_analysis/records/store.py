# SPDX-License-Identifier: Apache-2.0
"""A store: what lines of records tell (parsed.sql), as Parquet files (doc/store.md). What is added
at once is a shard, a number: files TABLE/month=YYYY-MM/SHARD.parquet, and last its manifest,
without which the others do not count."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Optional

from . import hosts, sources
from .sources import BadInput

if TYPE_CHECKING:
    import duckdb

MANIFEST = "manifest"
VERSION = "1.2"
KEY = "locus_store"  # of the version, in the files' metadata
FILES = "locus_files"  # ... in a manifest's: TABLE/month=YYYY-MM of its shard, a list in JSON
TABLES = ("run", "machine", "definition", "trial", "metric", "pair", "distribution", "other")
OF_BENCHMARK = ("trial", "metric")  # tables with a column of it
APART = 1_000_000  # shards of several stores are told apart by so much
ANEW = "aggregate the records into a new store"
MOST_LEFT = 10  # notes on lines that were left out
MOST_COMPLETE = "PARTITION BY run ORDER BY ended DESC, trials DESC, lines DESC"  # of its copies
SHARD = re.compile(r"([0-9]{8,})\.parquet")


def is_one(path: Path) -> bool:
    return bool(manifests(path))


def split(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """The stores, and the others."""
    stores = [path for path in paths if is_one(path)]
    return stores, [path for path in paths if path not in stores]


def shards(store: Path) -> set[int]:
    """Those that are complete, without those that a later one replaced."""
    return {int(found[1]) for file in manifests(store) if (found := SHARD.search(file))}


def manifests(store: Path) -> list[str]:
    return _files(store / MANIFEST)


def check(db: duckdb.DuckDBPyConnection, store: Path, to_write: bool = False) -> None:
    """Raises BadInput for a store with files of a later version, or without one that is promised.
    What is written must not lack what a later minor version has, which is read."""
    files = _all_files(store)
    with reading(db, files):
        found = db.execute(
            "SELECT file_name, decode(key), decode(value) FROM parquet_kv_metadata(?)"
            " WHERE decode(key) IN (?, ?)",
            [files, KEY, FILES],
        ).fetchall()
    _check_version(store, {text for _, key, text in found if key == KEY} or {"unknown"}, to_write)
    for manifest, key, text in found:
        for folder in json.loads(text) if key == FILES else []:
            file = store / folder / Path(manifest).name
            if not file.exists():
                raise BadInput(f"{file}: missing: {ANEW}")


def _check_version(store: Path, versions: set[str], to_write: bool) -> None:
    own = _numbers(VERSION)
    for version in sorted(versions):
        major, minor = _numbers(version)
        if major != own[0]:
            raise BadInput(
                f"{store}: a store of version {version}, this program reads 1.x: use the locus that"
                " wrote it, or aggregate the records anew"
            )
        if to_write and minor > own[1]:
            raise BadInput(
                f"{store}: a store of version {version}, this program writes {VERSION}: use the"
                " locus that wrote it, or another folder"
            )


def _numbers(version: str) -> tuple[int, int]:
    found = re.fullmatch(r"([0-9]+)\.([0-9]+)", version)
    return (int(found[1]), int(found[2])) if found else (-1, 0)


@contextmanager
def reading(db: duckdb.DuckDBPyConnection, files: Sequence[str]) -> Iterator[None]:
    """The database's errors do not always name the file that is damaged."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        if flaw := _damaged(files):
            raise BadInput(flaw) from error
        raise


def damaged(stores: Sequence[Path]) -> Optional[str]:
    """What is wrong with the first file of these stores that cannot be read wholly."""
    return _damaged([file for one in stores for file in _all_files(one)])


def _damaged(files: Sequence[str]) -> Optional[str]:
    import duckdb

    db = duckdb.connect()
    for file in files:
        try:
            db.execute("SELECT bit_xor(hash(row)) FROM read_parquet(?) row", [file]).fetchall()
        except duckdb.OutOfMemoryException:
            continue
        except duckdb.Error:
            return f"{file}: damaged, no whole file of Parquet: {ANEW}"
    return None


def add(db: duckdb.DuckDBPyConnection, stores: Sequence[Path], only: Sequence[str] = ()) -> None:
    """Makes views of the tables of parsed.sql: of what they hold, and what stores hold."""
    for store in stores:
        check(db, store)
    wanted = ", ".join(f"'{name}'" for name in only)
    for table in TABLES:
        of = columns(db, table)
        parts = [f"FROM parsed.{table}_read"]
        for i, store in enumerate(stores):
            files = files_of(store, table)
            if files:
                parts.append(_select(db, of, files, i * APART))
                if only and table in OF_BENCHMARK:
                    parts[-1] += f" WHERE benchmark IN ({wanted})"
        db.execute(f"ALTER TABLE parsed.{table} RENAME TO {table}_read")
        db.execute(f"CREATE VIEW parsed.{table} AS " + " UNION ALL ".join(parts))


def left_out(db: duckdb.DuckDBPyConnection, store: Path) -> list[str]:
    """Notes on lines that were left out as the store was filled: the first, and how many more."""
    query = (
        "SELECT unnest(left_out) FROM (FROM read_parquet(?) QUALIFY shard = max(shard)"
        " OVER (PARTITION BY file) ORDER BY shard, file)"
    )
    found = [note for (note,) in db.execute(query, [manifests(store)]).fetchall()]
    more = len(found) - MOST_LEFT
    return found[:MOST_LEFT] + ([f"{store}: {more} more notes like these"] if more > 0 else [])


def records_beside(store: Path) -> list[Path]:
    """Files of records in a store's folder."""
    own = (*TABLES, MANIFEST)
    return [
        file
        for entry in sorted(store.iterdir())
        if entry.name not in own
        for file in (sorted(entry.rglob("*")) if entry.is_dir() else [entry])
        if file.name.endswith(sources.SUFFIXES)
    ]


def unseen(db: duckdb.DuckDBPyConnection, store: Path) -> list[str]:
    """A note if there are records in a store's folder that it does not have."""
    beside = records_beside(store)
    if not beside:
        return []
    query = "SELECT DISTINCT file FROM read_parquet(?)"
    known = {name for (name,) in db.execute(query, [manifests(store)]).fetchall()}
    left = [file for file in beside if sources.name(file.resolve()) not in known]
    if not left:
        return []
    more = f" and {len(left) - 1} more" if len(left) > 1 else ""
    return [
        f"{store}: is a store: {sources.name(left[0].relative_to(store))}{more} in this folder, not"
        f" in the store, {'are' if more else 'is'} left out: locus aggregate adds records"
    ]


def columns(db: duckdb.DuckDBPyConnection, table: str) -> dict[str, str]:
    """The types of its columns, by name."""
    found = db.execute(f"DESCRIBE parsed.{table}").fetchall()
    return {name: kind for name, kind, *_ in found}


def files_of(store: Path, table: str) -> list[str]:
    """Of complete shards."""
    complete = shards(store)
    return [
        file
        for month in sorted((store / table).glob("month=*"))
        for file in _files(month)
        if (found := SHARD.search(file)) and int(found[1]) in complete
    ]


def _all_files(store: Path) -> list[str]:
    """The manifests, and the files of tables of complete shards."""
    return [*manifests(store), *(file for table in TABLES for file in files_of(store, table))]


def add_samples(db: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    """Reads samples from the files of few hosts' runs into a table, since a store has none. Returns
    notes on files that are not there, or no longer hold a run."""
    import duckdb

    from . import reader

    rows = db.execute(
        "SELECT r.file, r.run, r.shard, r.copy, h.host FROM parsed.run r JOIN chosen"
        " USING (shard, copy) JOIN host h USING (run) WHERE r.shard > 0 ORDER BY r.shard, r.copy"
    ).fetchall()
    if len({host for *_, host in rows}) > hosts.FEW:
        return []
    files: dict[str, dict[str, int]] = {}
    for file, run, shard, *_ in rows:
        files.setdefault(file, {})[run] = shard
    notes: list[str] = []
    for file, runs in files.items():
        try:
            try:
                found, own = _samples(Path(file), runs, checked=False)
                reader.insert(db, f"parsed.{table}", found)
            except (UnicodeDecodeError, duckdb.ConversionException):
                found, own = _samples(Path(file), runs, checked=True)
                reader.insert(db, f"parsed.{table}", found)
            notes += own
        except BadInput:
            notes.append(f"{file}: cannot be read: the samples of its runs are not shown")
    return notes


def _samples(
    path: Path, runs: dict[str, int], checked: bool
) -> tuple[list[tuple[object, ...]], list[str]]:
    """Rows of the table `other`, and notes. The schema is asked only if the database refused them:
    a line was damaged since the store was made."""
    from . import reader, schema

    rows, flaws = list[tuple[object, ...]](), list[str]()
    gone = dict.fromkeys(runs)
    for number, text, _ in sources.lines(path):
        if run := schema.header_of(text):
            gone.pop(run, None)
        found = reader.SAMPLES.match(text)
        run = found[1].decode() if found else None
        if run not in runs:
            continue
        try:
            if checked:
                schema.check(schema.parse(text), strict=False)
            rows.append((runs[run], run, number, "samples", text.decode("utf-8")))
        except schema.Flaw as flaw:
            flaws.append(f"{sources.name(path)}:{number}: {flaw}")
    notes = reader.told(path, flaws)
    if gone:
        more = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
        lost = f"no longer holds run {min(gone)}{more}"
        notes.append(f"{sources.name(path)}: {lost}: the samples are not shown")
    return rows, notes


def _select(
    db: duckdb.DuckDBPyConnection, of: dict[str, str], files: Sequence[str], offset: int
) -> str:
    """Columns that a later version of the format has are not among these; those that an earlier
    one has not are null."""
    listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
    source = f"FROM read_parquet([{listed}], union_by_name = true, hive_partitioning = false)"
    with reading(db, files):
        there = {name for name, *_ in db.execute(f"DESCRIBE {source}").fetchall()}
    value = {name: f'"{name}"' if name in there else "NULL" for name in of}
    value["shard"] = f"shard + {offset}"
    told = [f'({value[name]})::{kind} AS "{name}"' for name, kind in of.items()]
    return f"SELECT {', '.join(told)} {source}"


def _files(folder: Path) -> list[str]:
    try:
        return sorted(str(file) for file in folder.iterdir() if SHARD.fullmatch(file.name))
    except OSError:
        return []
