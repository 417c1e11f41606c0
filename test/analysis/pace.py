# SPDX-License-Identifier: Apache-2.0
"""`make check-scale`: CPU time of `aggregate` beside DuckDB's bare read_ndjson of the same columns,
in turn, and its greatest memory. Fails if `aggregate` has half of the speed that is its goal, or
needs more memory: CPU times vary with what else the machine does, memory does not. The records are
made up, or with `pace.py RECORD` those of many nodes like it."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import fleet_of
from locus_analysis.records import database
from test_store import aggregate, named

MADE_UP, LIKE_ONE = 1000, 200  # records
TURNS = 5
GOAL, LEAST = 0.35, 0.17  # of the speed of read_ndjson
MOST_MEMORY = 512  # MiB
# The columns of each line given to DuckDB: those that parse.sql takes from a trial.
STATED = {
    **dict.fromkeys(("type", "run", "id", "benchmark", "variant", "bind", "status"), "VARCHAR"),
    **dict.fromkeys(("parameters", "samples", "placement", "batches", "ratios"), "JSON"),
    **dict.fromkeys(("pairs", "counters", "kernel", "counting", "region", "cycle"), "JSON"),
    **dict.fromkeys(("metrics", "noise"), "JSON"),
    **dict.fromkeys(("reasons", "notes", "kernel_unknown"), "VARCHAR[]"),
    **{"threads": "BIGINT", "cpus": "BIGINT[]", "scale": "DOUBLE", "oversubscribed": "BOOLEAN"},
}
Trials = list[tuple[str, ...]]


def of_aggregate(folder: Path, store: Path) -> tuple[float, Trials]:
    begin = time.process_time()
    assert aggregate(folder, into=store) == 0
    return time.process_time() - begin, trials(f"'{store}/trial/*/*.parquet'")


def of_duckdb(folder: Path) -> tuple[float, Trials]:
    db, begin = database.connect(), time.process_time()
    db.execute(f"CREATE TABLE alone AS FROM read_ndjson('{folder}/*.jsonl', columns = {STATED})")
    spent = time.process_time() - begin
    query = "SELECT run, id, status FROM alone WHERE type = 'trial' ORDER BY ALL"
    return spent, db.execute(query).fetchall()


def trials(files: str) -> Trials:
    query = f"SELECT run, id, status FROM {files} ORDER BY ALL"
    return database.connect().execute(query).fetchall()


def memory(folder: Path, store: Path) -> float:
    """MiB of a process of its own."""
    if not (child := os.fork()):
        words = [sys.executable, "-m", "locus_analysis", "aggregate", f"{folder}", "--into"]
        os.execv(sys.executable, [*words, f"{store}"])
    _, status, used = os.wait4(child, 0)
    assert status == 0
    return used.ru_maxrss / 1024


def make(folder: Path) -> None:
    folder.mkdir()
    if sys.argv[1:]:
        fleet_of.main(Path(sys.argv[1]), LIKE_ONE, folder)
        return
    for i in range(MADE_UP):
        (folder / f"{i}.jsonl").write_bytes(named(str(i)))


def main() -> int:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made, "results")
        make(folder)
        most = memory(folder, Path(made, "store"))
        pairs = []
        for turn in range(TURNS):
            (own, stored), (alone, found) = (
                of_aggregate(folder, Path(made, str(turn))),
                of_duckdb(folder),
            )
            assert stored == found != []
            pairs.append((own, alone))
        size = sum(file.stat().st_size for file in folder.iterdir())
    ratios = sorted(alone / own for own, alone in pairs)
    own, alone = (median(times) for times in zip(*pairs))
    bad = (median(ratios) < LEAST, most > MOST_MEMORY)
    print(
        f"{'not ' * bad[0]}ok - aggregate of {size / 1e6:.0f} MB: {own:.2f} CPU s, read_ndjson"
        f" {alone:.2f}: {median(ratios):.2f} of its speed ({ratios[0]:.2f} to {ratios[-1]:.2f};"
        f" goal {GOAL}, {LEAST} needed)\n"
        f"{'not ' * bad[1]}ok - aggregate used {most:.0f} MiB, {MOST_MEMORY} allowed",
        flush=True,
    )
    return int(any(bad))


if __name__ == "__main__":
    sys.exit(main())
