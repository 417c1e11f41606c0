# SPDX-License-Identifier: Apache-2.0
"""Writes a store (store.py): a shard at a time, from the tables of parsed.sql. Each file is written
beside its name, flushed, and renamed; the manifest last. A process that is killed leaves files that
do not count, and the next one removes them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, Optional

import duckdb

from . import reader, store
from .bulk import Taken
from .sources import CannotWrite

MONTH = "left(r.started, 7)"
# Beside the columns of parsed.sql.
BESIDE = """r.host, r.class, r.started::TIMESTAMP AS started"""
OF_TRIAL = f"t.*, {BESIDE}, c.component"
OF_METRIC = f"m.*, {BESIDE}, t.benchmark, t.variant, t.threads, t.status, c.component"
JOIN_COMPONENT = """
LEFT JOIN component c ON c.id = t.id AND c.machine = r.machine"""
KEPT = f"""(FROM parsed.run
	QUALIFY row_number() OVER ({store.MOST_COMPLETE}, copy) = 1) r"""
QUERIES = {
    "run": "SELECT r.* FROM parsed.run r WHERE {month} ORDER BY started, run, copy",
    "machine": "SELECT * FROM parsed.machine WHERE hash IN (SELECT machine FROM parsed.run r"
    " WHERE {month}) ORDER BY hash",
    "definition": "SELECT * FROM parsed.definition WHERE hash IN (SELECT unnest(definitions)"
    " FROM parsed.run r WHERE {month}) ORDER BY benchmark, hash",
    "trial": f"SELECT {OF_TRIAL} FROM parsed.trial t JOIN {KEPT} USING (run) {JOIN_COMPONENT}"
    " WHERE {month} ORDER BY t.benchmark, t.id, r.host, r.started, t.line",
    "metric": f"SELECT {OF_METRIC} FROM parsed.metric m JOIN parsed.trial t USING (run, line, id)"
    f" JOIN {KEPT} USING (run) {JOIN_COMPONENT}"
    " WHERE {month} ORDER BY t.benchmark, m.id, m.place, r.host, r.started, m.line",
    **{
        table: f"SELECT x.* FROM parsed.{table} x JOIN {KEPT} USING (run) WHERE {{month}}"
        " ORDER BY x.run, x.line"
        for table in ("pair", "distribution", "other")
    },
}
OF_MANIFEST = (
    "file VARCHAR, device BIGINT, inode BIGINT, size BIGINT, mtime_ns BIGINT, whole BIGINT,"
    " runs BIGINT, left_out VARCHAR[], nodes VARCHAR, shard BIGINT"
)

MANY = 2  # shards
COMPACT = f"""
CREATE TEMP TABLE latest AS
SELECT shard AS old, copy AS old_copy, run, ended, trials, lines,
	row_number() OVER (ORDER BY shard, copy) - 1 AS copy
FROM parsed.run_all QUALIFY shard = max(shard) OVER (PARTITION BY run, file);
CREATE TEMP TABLE best AS
SELECT old, run FROM latest QUALIFY row_number() OVER ({store.MOST_COMPLETE}, copy) = 1;
CREATE VIEW parsed.run AS
SELECT r.* REPLACE ({{shard}} AS shard, l.copy AS copy) FROM parsed.run_all r
	JOIN latest l ON r.shard = l.old AND r.copy = l.old_copy;
CREATE VIEW parsed.machine AS
FROM parsed.machine_all QUALIFY row_number() OVER (PARTITION BY hash) = 1;
CREATE VIEW parsed.definition AS
FROM parsed.definition_all QUALIFY row_number() OVER (PARTITION BY hash) = 1;
"""

# Of a record, also those that had its name before: they may have another one now, with the samples.
OF_MANIFESTS = store.LAST_READ.replace("file", "file, CASE WHEN runs > 0 THEN inode END", 1)
OWN = re.compile(store.SHARD.pattern + r"(\.tmp)?")  # names of files
UNSEEN = (".", "lock", "lost+found")  # begins of names that may be beside those of a store
ERRNO = re.compile(r'"errno": *"([0-9]+)"')  # in messages of the database

Component = Callable[[duckdb.DuckDBPyConnection], None]


class Known(NamedTuple):
    """A file as it was when it was read."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    runs: int


def known(db: duckdb.DuckDBPyConnection, folder: Path) -> dict[str, Known]:
    """The files that a store has, by name; of several versions the last one."""
    files = store.manifests(folder)
    if not files:
        return {}
    with store.reading(db, files):
        rows = db.execute(
            "SELECT file, device, inode, size, mtime_ns, runs FROM read_parquet(?)"
            " ORDER BY shard, mtime_ns",
            [files],
        ).fetchall()
    return {file: Known(*others) for file, *others in rows}


def clean(folder: Path) -> None:
    """Removes files that do not count: of writers that were killed."""
    complete = store.shards(folder)
    folders = [month for table in store.TABLES for month in (folder / table).glob("month=*")]
    for parent in (folder / store.MANIFEST, *filter(_is_month, folders)):
        for file in parent.glob("*.parquet*"):
            found = OWN.fullmatch(file.name)
            if found and (found[2] or int(found[1]) not in complete):
                file.unlink()


def refuse_others(folder: Path) -> None:
    """Raises CannotWrite for a folder that is no store and has things that are none of a store's:
    readers would not see them beside a store."""
    if store.is_one(folder) or not folder.is_dir():
        return
    for entry in sorted(folder.iterdir()):
        inner: list[Path] = []
        if entry.name in store.TABLES and entry.is_dir():
            inner = [one for one in sorted(entry.iterdir()) if not _is_month(one)]
        elif entry.name == store.MANIFEST and entry.is_dir():
            inner = [one for one in sorted(entry.iterdir()) if not OWN.fullmatch(one.name)]
        elif not entry.name.startswith(UNSEEN):
            inner = [entry]
        if inner:
            raise CannotWrite(
                f"{folder}: is no store, and has other things ({inner[0].relative_to(folder)}):"
                " give a new or empty folder"
            )


def _is_month(folder: Path) -> bool:
    return bool(re.fullmatch(r"month=[0-9]{4}-[0-9]{2}", folder.name)) and folder.is_dir()


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """What the database cannot write becomes an OSError. Nothing half is left."""
    try:
        yield
    except BaseException as error:
        with suppress(OSError):
            clean(folder)
        found = ERRNO.search(str(error)) if isinstance(error, duckdb.IOException) else None
        if found and str(folder) in str(error):
            raise OSError(int(found[1]), os.strerror(int(found[1]))) from error
        raise


def write(
    db: duckdb.DuckDBPyConnection, folder: Path, shard: int, taken: Sequence[Taken], told: Component
) -> None:
    """What the tables of parsed.sql hold. `told` makes the table component."""
    written = _write_tables(db, folder, shard, told)
    db.execute(f"CREATE OR REPLACE TEMP TABLE manifest ({OF_MANIFEST})")
    reader.insert(db, "manifest", [_row(one, shard) for one in taken if one.status])
    _write_manifest(db, folder, shard, written)


def compact(db: duckdb.DuckDBPyConnection, folder: Path, told: Component) -> int:
    """Makes one shard of all, which has the last version of each file's runs; returns how many
    there were. Until its manifest is there the older ones count; then both do, for of a run and a
    file the last shard counts."""
    old = store.shards(folder)
    if len(old) < MANY:
        return len(old)
    shard = max(old) + 1
    store.refuse_altered(db, folder)  # else it would be written anew, as if it were whole
    store.add(db, [folder])
    for table in store.TABLES:
        db.execute(f"ALTER VIEW parsed.{table} RENAME TO {table}_all")
    db.execute(COMPACT.format(shard=shard))
    for table in ("trial", "metric", "pair", "distribution", "other"):
        db.execute(
            f"CREATE VIEW parsed.{table} AS SELECT * REPLACE ({shard} AS shard)"
            f" FROM parsed.{table}_all x SEMI JOIN best b ON x.shard = b.old AND x.run = b.run"
        )
    written = _write_tables(db, folder, shard, told)
    db.execute(
        f"CREATE TEMP TABLE manifest AS SELECT * REPLACE ({shard} AS shard) FROM (FROM"
        " read_parquet(?, union_by_name = true)"
        f" QUALIFY row_number() OVER ({OF_MANIFESTS}) = 1)",
        [store.manifests(folder)],
    )
    _write_manifest(db, folder, shard, written, {store.COMPACT: "true"})
    for file in (folder / store.MANIFEST).glob("*.parquet"):
        if int(file.stem) in old:
            file.unlink()
    clean(folder)
    return len(old)


def _write_manifest(
    db: duckdb.DuckDBPyConnection,
    folder: Path,
    shard: int,
    tables: Sequence[Path],
    more: Optional[dict[str, str]] = None,
) -> None:
    """Readers miss a file of a table that is lost later, and name one that was damaged. `more`:
    metadata."""
    path = folder / store.MANIFEST / f"{shard:08}.parquet"
    sums = {file.parent.relative_to(folder).as_posix(): store.checksum(file) for file in tables}
    told = {store.FILES: json.dumps([*sums]), store.SUMS: json.dumps(sums), **(more or {})}
    _copy(db, "FROM manifest ORDER BY file", path, told)
    _publish([path])


def _write_tables(
    db: duckdb.DuckDBPyConnection, folder: Path, shard: int, told: Component
) -> list[Path]:
    told(db)
    months = [m for (m,) in db.execute(f"SELECT DISTINCT {MONTH} FROM parsed.run r").fetchall()]
    written = []
    for month in sorted(months):
        for table, query in QUERIES.items():
            path = folder / table / f"month={month}" / f"{shard:08}.parquet"
            asked = query.format(month=f"{MONTH} = '{month}'")
            if _copy(db, asked, path):
                written.append(path)
    _publish(written)
    return written


def _row(taken: Taken, shard: int) -> tuple[object, ...]:
    s = taken.status
    assert s
    name = os.fsencode(taken.path).decode("utf-8", "backslashreplace")
    same = (s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns)
    return (name, *same, taken.whole, len(taken.copies), taken.flaws, taken.nodes, shard)


def _copy(
    db: duckdb.DuckDBPyConnection, query: str, path: Path, more: Optional[dict[str, str]] = None
) -> bool:
    """Writes rows to a file beside its later name; none if there are no rows. `more`: metadata."""
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = [
        f'"{name}"::VARCHAR AS "{name}"' if kind == "JSON" else f'"{name}"'
        for name, kind, *_ in db.execute(f"DESCRIBE {query}").fetchall()
    ]
    beside = f"{path}.tmp".replace("'", "''")
    told = ", ".join(f"{k}: '{v}'" for k, v in {store.KEY: store.VERSION, **(more or {})}.items())
    ((rows,),) = db.execute(
        f"COPY (SELECT {', '.join(columns)} FROM ({query})) TO '{beside}' (FORMAT parquet,"
        f" COMPRESSION zstd, KV_METADATA {{{told}}})"
    ).fetchall()
    if not rows:
        Path(f"{path}.tmp").unlink()
    return bool(rows)


def _publish(paths: Sequence[Path]) -> None:
    """Flushes files, gives them their names, and flushes the folders."""
    for path in paths:
        _flush(Path(f"{path}.tmp"))
    for path in paths:
        Path(f"{path}.tmp").rename(path)
    folders = {parent for path in paths for parent in (path.parent, path.parents[1])}
    for folder in folders:
        _flush(folder)


def _flush(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    except OSError:
        if not path.is_dir():  # some file systems cannot flush folders
            raise
    finally:
        os.close(file)
