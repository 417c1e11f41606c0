# SPDX-License-Identifier: Apache-2.0
"""The tables of LIKWID (likwid.py), joined to the trials by the names of the regions."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Optional

import duckdb

from ..records.database import rows
from ..records.likwid import Counted

Row = Any  # not typed yet

AGAIN = re.compile(r"\.(\d{1,9})\.[^.]*$")  # NODE.1.csv: of a job that was restarted
BANDWIDTH = re.compile(r"Memory bandwidth \[MBytes/s\]", re.IGNORECASE)


def join(
    db: duckdb.DuckDBPyConnection, tables: Sequence[Counted], notes: list[str]
) -> dict[str, list[Row]]:
    """By benchmark, the counts: a dictionary for each group, with its metrics and a line for each
    trial. Notes say what was left out."""
    marked = _marked(db)
    found: dict[str, dict[str, Row]] = {}
    for trial, own in _by_trial(marked, tables, notes):
        for table in own:
            groups = found.setdefault(trial["benchmark"], {})
            group = groups.setdefault(
                table.title, {"name": table.title, "metrics": [], "lines": []}
            )
            line = _line(trial, table)
            group["metrics"] += [m for m in line["metrics"] if m not in group["metrics"]]
            group["lines"].append(line)
    return {
        benchmark: [
            {**g, "lines": sorted(g["lines"], key=lambda t: t["place"])} for g in groups.values()
        ]
        for benchmark, groups in found.items()
    }


def _marked(db: duckdb.DuckDBPyConnection) -> dict[str, list[Row]]:
    """Trials that had a region, by its name. A trial that a run began and the next one repeated is
    there twice; the last one counts."""
    found: dict[str, list[Row]] = {}
    query = (
        "SELECT h.*, line.file, json->>'$.region' AS region, json->>'$.cpus' AS cpus, (line.file,"
        " line.number) = (t.file, t.number) AS counts FROM line JOIN part ON line.run = part.part"
        " JOIN trial t ON t.whole = part.whole AND t.id = json->>'$.id' JOIN headline h ON h.whole"
        " = t.whole AND h.id = t.id WHERE type = 'trial' AND json_type(json->'$.region') = 'OBJECT'"
        " ORDER BY place, counts"
    )
    for trial in rows(db, query):
        trial["region"] = json.loads(trial["region"])
        trial["cpus"] = json.loads(trial["cpus"] or "[]")
        found.setdefault(trial["region"]["name"], []).append(trial)
    return found


def _by_trial(
    marked: dict[str, list[Row]], tables: Sequence[Counted], notes: list[str]
) -> Iterator[tuple[Row, list[Counted]]]:
    """Trials with their tables, each from one file: of a job that was restarted, from that of its
    last start."""
    by_region: dict[tuple[str, str], list[Counted]] = {}
    for table in tables:
        by_region.setdefault((table.file, table.region), []).append(table)
    found: dict[tuple[str, str], tuple[Row, list[Counted]]] = {}
    noted = set()
    for (file, region), own in sorted(by_region.items(), key=lambda item: _start(item[0][0])):
        trial = _trial(marked.get(region, []), own, file, region, notes)
        if not trial:
            noted.add(region)
        elif trial["counts"]:
            found[trial["whole"], trial["id"]] = trial, own
    _note_missing(
        [t for name, own in marked.items() if name not in noted for t in own if t["counts"]],
        found.keys(),
        notes,
    )
    yield from found.values()


def _start(table: str) -> int:
    """0, or 1 for NODE.1.csv."""
    found = AGAIN.search(table)
    return int(found[1]) if found else 0


def _note_missing(trials: list[Row], found: Collection[tuple[str, str]], notes: list[str]) -> None:
    missing = Counter(t["file"] for t in trials if (t["whole"], t["id"]) not in found)
    for file, count in missing.items():
        whose = (
            "1 trial was measured in a region"
            if count == 1
            else f"{count} trials were measured in regions"
        )
        notes.append(
            f"{file}: {whose} of LIKWID's that no table given here has: give likwid-perfctr's CSV"
            " of that run, too"
        )


def _trial(
    candidates: list[Row], own: list[Counted], file: str, region: str, notes: list[str]
) -> Optional[Row]:
    """The trial that was measured in this region: entered as often, and if there are several, in
    the record next to the table."""
    if not candidates:
        notes.append(
            f"{file}: no trial of these records was measured in region {region}: it is left out"
        )
        return None
    calls = sum(max((c for c in table.calls if c), default=0) for table in own)
    fitting = [c for c in candidates if not calls or calls == c["region"]["calls"]]
    one = {(c["whole"], c["id"]): c for c in _beside(file, fitting) or fitting}
    if len(one) == 1:
        return next(iter(one.values()))
    told = " and ".join(sorted({str(c["region"]["calls"]) for c in candidates}))
    why = (
        f"fits {len(one)} trials equally well"
        if one
        else f"was entered {calls:.0f} times by this table, but {told} times by the records"
    )
    notes.append(
        f"{file}: region {region} {why}: it is left out; give each table with the record of its run"
    )
    return None


def _beside(table: str, trials: list[Row]) -> list[Row]:
    """Runs of NODE.jsonl, next to NODE.csv and NODE.1.csv; of several such records, the one with
    the longest name."""
    path = Path(table)
    near = [
        t
        for t in trials
        if Path(t["file"]).parent == path.parent
        and path.name.startswith(Path(t["file"]).stem + ".")
    ]
    longest = max((len(t["file"]) for t in near), default=0)
    return [t for t in near if len(t["file"]) == longest]


def _line(trial: Row, table: Counted) -> Row:
    region, told = trial["region"], table.told
    share = region["measured"] / region["seconds"] if region["seconds"] else None
    bandwidth = next((m["value"] for name, m in told.items() if BANDWIDTH.match(name)), None)
    lost = [] if table.nothing else _lost(trial, table)
    events = {} if table.nothing else table.events
    doubt = (
        "LIKWID counted nothing"
        if table.nothing
        else "interrupted"
        if trial["status"] == "interrupted"
        else "threads not counted"
        if lost
        else None
    )
    theirs = None if bandwidth is None or doubt else bandwidth * 1e6
    ours = trial["value"] if trial["unit"] == "B/s" else None
    while_measured = theirs / share if theirs and share else None
    return {
        **trial,
        "share": share,
        "nothing": table.nothing,
        "doubt": doubt,
        "lost": lost,
        "metrics": told,
        "ours": ours,
        "theirs": theirs,
        "while_measured": while_measured,
        "ratio": while_measured / ours if while_measured and ours else None,
        "zeros": [name for name, values in events.items() if set(values) - {None} == {0}],
        "unread": [name for name, values in events.items() if set(values) == {None}],
    }


def _lost(trial: Row, table: Counted) -> list[str]:
    """CPUs of the trial that LIKWID has no counts of: a sum over the others would not be that of
    the trial."""
    by_locus = [f"HWThread {cpu}" for cpu in trial["region"].get("uncounted", [])]
    found = dict.fromkeys([*by_locus, *table.silent], "all its counters read zero")
    found.update(dict.fromkeys(table.absent(trial["cpus"]), "did not enter the region"))
    return [f"{name} {why}" for name, why in found.items()]
