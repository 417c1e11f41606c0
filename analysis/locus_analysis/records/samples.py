# SPDX-License-Identifier: Apache-2.0
"""Samples of runs that a store has: it leaves them in the files of the records."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import duckdb

from . import hosts, reader, schema, sources, store
from .sources import BadInput

MOVED = "aggregate the file that has them now"


def add(db: duckdb.DuckDBPyConnection, table: str, stores: Sequence[Path]) -> list[str]:
    """Reads samples from the files of few hosts' runs into a table, since a store has none. Returns
    notes on files that are not there, or no longer hold a run."""
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
    renamed = _Renamed(db, stores)
    for file, runs in files.items():
        taken = _Samples(db, table, dict(runs))
        is_there = taken.take(sources.named(file))
        for other in renamed.of(file) if taken.runs else []:
            taken.take(other)
        notes += taken.notes
        if taken.runs and not is_there:
            notes.append(f"{file}: cannot be read: the samples of its runs are not shown: {MOVED}")
        elif taken.runs:
            more = f" and {len(taken.runs) - 1} more" if len(taken.runs) > 1 else ""
            lost = f"no longer holds run {min(taken.runs)}{more}"
            notes.append(f"{file}: {lost}: the samples are not shown: {MOVED}")
    return notes


class _Renamed:
    """Files that were renamed in their folder since a store read them, as logs are rotated. Their
    inodes are known; the number of a device may change when it is mounted again."""

    def __init__(self, db: duckdb.DuckDBPyConnection, stores: Sequence[Path]) -> None:
        self._inodes: dict[str, set[int]] = {}
        self._folders: dict[Path, dict[int, Path]] = {}
        for one in stores:
            query = "SELECT DISTINCT file, inode FROM read_parquet(?)"
            for file, inode in db.execute(query, [store.manifests(one)]).fetchall():
                self._inodes.setdefault(file, set()).add(inode)

    def of(self, file: str) -> list[Path]:
        """Perhaps others: an inode may be used again."""
        own = sources.named(file)
        folder = own.parent
        if folder not in self._folders:
            self._folders[folder] = _by_inode(folder)
        there = self._folders[folder]
        found = (there.get(inode) for inode in self._inodes.get(file, ()))
        return [path for path in found if path and path != own]


def _by_inode(folder: Path) -> dict[int, Path]:
    try:
        return {entry.inode(): Path(entry.path) for entry in os.scandir(folder) if entry.is_file()}
    except OSError:
        return {}


class _Samples:
    """Takes the samples of runs into a table; `runs` are those that were not found yet, with their
    shards."""

    def __init__(self, db: duckdb.DuckDBPyConnection, table: str, runs: dict[str, int]) -> None:
        self.db = db
        self.table = table
        self.runs = runs
        self.notes: list[str] = []
        self._there = set[str]()  # headers in the file that was read last

    def take(self, path: Path) -> bool:
        """Whether it can be read."""
        try:
            try:
                found, notes = self._rows(path, checked=False)
                reader.insert(self.db, f"parsed.{self.table}", found)
            except (UnicodeDecodeError, duckdb.ConversionException):
                found, notes = self._rows(path, checked=True)
                reader.insert(self.db, f"parsed.{self.table}", found)
        except BadInput:
            return False
        self.notes += notes
        for run in self._there:
            self.runs.pop(run, None)
        return True

    def _rows(self, path: Path, checked: bool) -> tuple[list[tuple[object, ...]], list[str]]:
        """Rows of the table `other`, and notes. The schema is asked only if the database refused
        them: a line was damaged since the store was made."""
        rows, flaws = list[tuple[object, ...]](), list[str]()
        there = set[str]()
        for number, text, _ in sources.lines(path):
            if header := schema.header_of(text):
                there.add(header)
            found = reader.SAMPLES.match(text)
            run = found[1].decode() if found else None
            if run not in self.runs or run not in there:
                continue
            try:
                if checked:
                    schema.check(schema.parse(text), strict=False)
                rows.append((self.runs[run], run, number, "samples", text.decode("utf-8")))
            except schema.Flaw as flaw:
                flaws.append(f"{sources.name(path)}:{number}: {flaw}")
        self._there = there
        return rows, reader.told(path, flaws)
