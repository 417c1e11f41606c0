# SPDX-License-Identifier: Apache-2.0
"""The command aggregate: records into a store (doc/store.md). What computes is imported when it is
needed."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..base import arguments, units
from ..compare import command_line
from ..records import sources
from ..records.sources import BadInput, CannotWrite

if TYPE_CHECKING:
    import duckdb

    from ..records.bulk import Taken
    from ..records.shards import Known

BATCH = 1 << 26  # bytes of files that make a shard
LOCK = "lock"
TOLD = 3  # lines that were left out


@dataclass
class Added:
    files: int = 0
    size: int = 0
    flaws: list[str] = field(default_factory=list)
    left: int = 0  # lines that are left out
    wrong: list[str] = field(default_factory=list)  # files that are no records
    runs: int = 0


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command to argparse's subparsers."""
    command = commands.add_parser(
        "aggregate",
        help="collect records in a store",
        usage="%(prog)s FILE|DIR... --into STORE [--compact]",
        description=(
            "Adds records, without their samples, to a store: a folder of Parquet files. sick,"
            " report, compare, history, levels, summary and export read it as they read records; so"
            " do other programs (doc/store.md). Files are read again only if they have grown. If"
            " the command is killed, run it again."
        ),
        epilog=arguments.exits(
            "0 good",
            "1 the store cannot be written, or another process writes it",
            "2 a file is missing, or none is a record",
        ),
    )
    command.add_argument("file", metavar="FILE|DIR", nargs="+", type=Path, help=sources.GIVEN_FILES)
    command.add_argument(
        "--into", metavar="STORE", type=Path, required=True, help="a folder; made if there is none"
    )
    command.add_argument(
        "--compact", action="store_true", help="then make one file of each month and table"
    )
    command.set_defaults(run=_aggregate)


def _aggregate(options: argparse.Namespace) -> int:
    from ..records import database, likwid, lock, nodes, shards
    from ..records import store as layout

    begin = time.monotonic()
    likwid.refuse(options.file)
    if sources.STANDARD_INPUT in options.file:
        raise BadInput("-: only files are aggregated, since samples stay in them")
    for path in options.file:
        if layout.is_one(path) and not layout.records_beside(path):
            raise BadInput(
                f"{path}: is a store, which has no lines: give its records; other commands read"
                f" several stores: locus report {path} {options.into}"
            )
    paths = [path.resolve() for path in options.file]
    unread = list[str]()
    files = sources.find(paths, unread) + nodes.find(paths)
    store, notes = options.into, list[str]()
    try:
        shards.refuse_others(store)
        store.mkdir(parents=True, exist_ok=True)
        with lock.held(store / LOCK, notes):
            db = database.connect("256MiB")
            layout.check(db, store, to_write=True)  # nothing is removed before
            with shards.writing(store):
                added = _into(db, store, files)
                if options.compact:
                    _compact(store)
    except OSError as error:
        raise CannotWrite(f"{store}: cannot be written: {error.strerror or error}") from error
    finally:
        command_line.note(notes)
    added.wrong = unread + added.wrong
    command_line.note(added.wrong[:TOLD])
    print(_said(added, time.monotonic() - begin), flush=True)
    if not added.runs:
        raise BadInput(f"{units.several(len(files), 'file')}: none is a record")
    return 0


def _said(added: Added, seconds: float) -> str:
    size = f", {added.size / 1e6:.1f} MB in {seconds:.1f} s" if added.files else ""
    parts = [f"{units.several(added.files, 'new file')}{size}"]
    if n := added.left:
        more = ", ..." if n > TOLD else ""
        shown = "; ".join(added.flaws[:TOLD])
        parts.append(f"{units.several(n, 'line')} left out ({shown}{more})")
    if n := len(added.wrong):
        parts.append(f"{units.several(n, 'file')} left out: no records, or not readable")
    return "; ".join(parts)


def _compact(store: Path) -> None:
    from ..records import database, shards

    shards.compact(database.connect("256MiB"), store, components_of)


def _short(flaw: str, path: Path) -> str:
    """Without the folder of its file."""
    told = flaw.removeprefix(sources.name(path)).replace(sources.CUT_OFF, "cut off")
    return sources.name(Path(path.name)) + told


def _into(db: duckdb.DuckDBPyConnection, store: Path, files: Sequence[Path]) -> Added:
    from ..records import bulk, database, nodes, reader, shards
    from ..records import store as layout

    shards.clean(store)
    known = shards.known(db, store)
    added = Added(runs=sum(one.runs for path in files if (one := known.get(str(path)))))
    taker = bulk.Bulk(reader.Reader(db, reader.SAMPLES))
    shard = max(layout.shards(store), default=0)
    new = [path for path in files if not _is_known(path, known)]
    if sources.size(new) <= database.SMALL:
        database.plan_briefly(db)
    for batch in bulk.batches(new, BATCH):
        shard += 1
        records = [path for path in batch if path.name != nodes.NAME]
        beside = [_nodes(path) for path in batch if path.name == nodes.NAME]
        taken = taker.parse([taker.take(path) for path in records], shard) + beside
        shards.write(db, store, shard, taken, components_of)
        taker.clear()
        _count(added, taken)
    return added


def _nodes(path: Path) -> Taken:
    from ..records import bulk, nodes

    status = bulk.status(path)  # before it is read, for it may grow
    try:
        return bulk.Taken(path, status, nodes=nodes.text(path))
    except BadInput as error:
        return bulk.Taken(path, None, flaws=[str(error)], is_record=False)


def _is_known(path: Path, known: Mapping[str, Known]) -> bool:
    from ..records import bulk

    s, one = bulk.status(path), known.get(sources.name(path))
    if not s or not one:
        return False
    return one[:4] == (s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns)


def _count(added: Added, taken: Sequence[Taken]) -> None:
    for one in taken:
        if one.status:
            added.files += 1
            added.size += one.status.st_size
        added.runs += len(one.copies)
        if one.is_record:
            added.flaws += [_short(flaw, one.path) for flaw in one.flaws]
            added.left += one.left
        else:
            added.wrong += one.flaws


def components_of(db: duckdb.DuckDBPyConnection) -> None:
    """Makes a table of the component that each trial shows on each machine."""
    from ..records import reader
    from . import components

    sizes = {
        machine: components.caches(json.loads(caches or "null"))
        for machine, caches in db.execute(
            "SELECT hash, json_extract(json, '$.topology.caches')::VARCHAR FROM parsed.machine"
        ).fetchall()
    }
    found = db.execute(
        "SELECT r.machine, t.id, any_value(benchmark), any_value(variant),"
        " any_value(parameters)::VARCHAR, any_value(threads) FROM parsed.trial t"
        " JOIN parsed.run r USING (run) GROUP BY r.machine, t.id"
    ).fetchall()
    rows = []
    for machine, id_, benchmark, variant, parameters, threads in found:
        trial = components.Trial(benchmark, variant, json.loads(parameters), threads)
        if fit := components.fit(trial, sizes[machine]):
            rows.append((machine, id_, fit.component))
    columns = "machine VARCHAR, id VARCHAR, component VARCHAR"
    db.execute(f"CREATE OR REPLACE TEMP TABLE component ({columns})")
    reader.insert(db, "component", rows)
