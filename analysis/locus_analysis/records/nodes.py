# SPDX-License-Identifier: Apache-2.0
"""How the nodes of a job ended, as locus-job writes it beside the records: nodes.tsv, or what a
store has of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from . import sources, store

if TYPE_CHECKING:
    import duckdb

NAME = "nodes.tsv"
COMPLETE = "complete"
STORED = f"""
SELECT file, nodes FROM read_parquet(?, union_by_name = true)
QUALIFY nodes IS NOT NULL AND row_number() OVER ({store.LAST_READ}) = 1
"""


def lost(db: duckdb.DuckDBPyConnection, paths: Sequence[Path]) -> dict[str, str]:
    """Nodes of jobs that did not end well, and how they ended; of several jobs the last one
    counts."""
    ended: dict[str, str] = {}
    for text in _texts(db, paths):
        for line in text.splitlines():
            node, _, how = line.partition("\t")
            ended[node] = how
    return {node: how for node, how in ended.items() if node and how != COMPLETE}


def find(paths: Sequence[Path]) -> list[Path]:
    """The files in folders; each once."""
    folders = (path for path in paths if path.is_dir())
    found = (file for folder in folders for file in sorted(folder.rglob(NAME)))
    return [*dict.fromkeys(file for file in found if file.is_file())]


def text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise sources.unreadable(file, error) from error


def _texts(db: duckdb.DuckDBPyConnection, paths: Sequence[Path]) -> Iterator[str]:
    for path in paths:
        if store.is_one(path):
            yield from _stored(db, path)
        else:
            yield from (text(file) for file in find([path]))


def _stored(db: duckdb.DuckDBPyConnection, path: Path) -> list[str]:
    """In the order of find(). Older stores have no such column."""
    files = store.manifests(path)
    told = db.execute("DESCRIBE FROM read_parquet(?, union_by_name = true)", [files]).fetchall()
    if "nodes" not in {name for name, *_ in told}:
        return []
    rows = db.execute(STORED, [files]).fetchall()
    return [nodes for _, nodes in sorted(rows, key=lambda row: Path(row[0]))]
