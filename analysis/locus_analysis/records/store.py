# SPDX-License-Identifier: Apache-2.0
"""A store: what lines of records tell (parsed.sql), as Parquet files (doc/store.md). What is added
at once is a shard, a number: files TABLE/month=YYYY-MM/SHARD.parquet, and last its manifest,
without which the others do not count."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Optional

from . import sources
from .sources import BadInput

if TYPE_CHECKING:
    import duckdb

MANIFEST = "manifest"
VERSION = "1.3"
KEY = "locus_store"  # of the version, in the files' metadata
# ... in a manifest's, as JSON: a list of its shard's TABLE/month=YYYY-MM; the CRC-32 of each; and
# true if the shard replaces all before it.
FILES, SUMS, COMPACT = "locus_files", "locus_sums", "locus_compact"
TABLES = ("run", "machine", "definition", "trial", "metric", "pair", "distribution", "other")
OF_BENCHMARK = ("trial", "metric")  # tables with a column of it
APART = 1_000_000  # shards of several stores are told apart by so much
ANEW = "aggregate the records into a new store"
MOST_LEFT = 10  # notes on lines that were left out
MOST_COMPLETE = "PARTITION BY run ORDER BY ended DESC, trials DESC, lines DESC"  # of its copies
LAST_READ = "PARTITION BY file ORDER BY shard DESC, mtime_ns DESC"  # row of a manifest
PIECE = 1 << 20  # bytes that are read at once
SHARD = re.compile(r"([0-9]{8,})\.parquet")


def is_one(path: Path) -> bool:
    return bool(manifests(path))


def split(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """The stores, and the others. Raises BadInput for a store without any manifest."""
    stores = [path for path in paths if is_one(path)]
    others = [path for path in paths if path not in stores]
    for path in filter(Path.is_dir, others):
        refuse_lost(path)
        for note in unfinished(path):
            raise BadInput(note)
    return stores, others


def refuse_lost(store: Path, compact: int = 0) -> None:
    """Raises BadInput for a shard whose manifest was lost: a writer that was killed leaves only the
    last shard without one. `compact`: a shard that replaced those before it."""
    without = _without_manifest(store)
    last = max(without | shards(store), default=0)
    for shard in sorted(without - {last}):
        if shard > compact:
            raise BadInput(f"{store / MANIFEST}/{shard:08}.parquet: missing: {ANEW}")


def unfinished(store: Path) -> list[str]:
    """A note if the last shard has no manifest."""
    last = max(without := _without_manifest(store), default=0)
    if not without or last < max(shards(store), default=0):
        return []
    return [
        f"{store}: shard {last:08} has no manifest, and is left out: locus aggregate is writing it,"
        " or has to be run again"
    ]


def _without_manifest(store: Path) -> set[int]:
    """Shards with a file of a table."""
    files = (file for table in TABLES for file in _files_of(store, table))
    return {_shard(file) for file in files} - shards(store)


def shards(store: Path) -> set[int]:
    """Those that are complete, without those that a later one replaced."""
    return {_shard(file) for file in manifests(store)}


def manifests(store: Path) -> list[str]:
    return _files(store / MANIFEST)


def check(db: duckdb.DuckDBPyConnection, store: Path, to_write: bool = False) -> None:
    """Raises BadInput for a store with files of a later version, or without one that is promised.
    What is written must not lack what a later minor version has, which is read."""
    if sources.name(store) != str(store):
        raise BadInput(
            f"{sources.name(store)}: the name of a store has to be UTF-8, for DuckDB: give another"
        )
    files = all_files(store)
    found: list[tuple[str, str, str]] = []
    if files:
        with reading(db, files):
            found = _metadata(db, files, KEY, FILES, COMPACT)
        versions = {text for _, key, text in found if key == KEY}
        _check_version(store, versions or {"unknown"}, to_write)
    for manifest, key, text in found:
        for folder in json.loads(text) if key == FILES else []:
            file = store / folder / Path(manifest).name
            if not file.exists():
                raise BadInput(f"{file}: missing: {ANEW}")
    compact = [_shard(manifest) for manifest, key, _ in found if key == COMPACT]
    refuse_lost(store, max(compact, default=0))


def _metadata(
    db: duckdb.DuckDBPyConnection, files: Sequence[str], *keys: str
) -> list[tuple[str, str, str]]:
    """File, key and text."""
    query = (
        "SELECT file_name, decode(key), decode(value) FROM parquet_kv_metadata(?)"
        " WHERE list_contains(?, decode(key))"
    )
    return db.execute(query, [files, keys]).fetchall()


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
    return _damaged([file for one in stores for file in all_files(one)])


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
    return _altered(db, files)


def refuse_altered(db: duckdb.DuckDBPyConnection, store: Path) -> None:
    """Raises BadInput for a file of a table whose content is not what was written."""
    if flaw := _altered(db, all_files(store)):
        raise BadInput(flaw)


def _altered(db: duckdb.DuckDBPyConnection, files: Sequence[str]) -> Optional[str]:
    """What does not decode has been told."""
    sums: dict[Path, dict[str, str]] = {}
    for file in map(Path, files):
        if file.parent.name == MANIFEST:
            try:
                for _, key, text in _metadata(db, [str(file)], FILES, SUMS):
                    told = json.loads(text)
                    if key == SUMS:
                        sums[file] = told
            except ValueError:
                return f"{file}: damaged, its metadata are not JSON: {ANEW}"
            continue
        folder = file.parents[2]
        own = sums.get(folder / MANIFEST / file.name, {})
        written = own.get(file.parent.relative_to(folder).as_posix())
        if written not in (None, checksum(file)):
            return f"{file}: damaged, its content is not what was written: {ANEW}"
    return None


def checksum(file: Path) -> str:
    value = 0
    with file.open("rb") as opened:
        while piece := opened.read(PIECE):
            value = zlib.crc32(piece, value)
    return f"{value:08x}"


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
        "SELECT unnest(left_out) FROM (FROM read_parquet(?)"
        f" QUALIFY row_number() OVER ({LAST_READ}) = 1 ORDER BY shard, file)"
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
    return [file for file in _files_of(store, table) if _shard(file) in complete]


def _files_of(store: Path, table: str) -> list[str]:
    months = sorted((store / table).glob("month=*"))
    return [file for month in months for file in _files(month)]


def _shard(file: str) -> int:
    return int(Path(file).stem)


def all_files(store: Path) -> list[str]:
    """The manifests, and the files of tables of complete shards."""
    return [*manifests(store), *(file for table in TABLES for file in files_of(store, table))]


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
