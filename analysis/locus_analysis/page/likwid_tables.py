# SPDX-License-Identifier: Apache-2.0
"""The tables of LIKWID (likwid.py), joined to the trials by the names of the regions."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, TypedDict

import duckdb

from ..records.database import select
from ..records.likwid import Counted, Metric
from ..records.lines import Region
from ..records.rows import Headline

AGAIN = re.compile(r"\.(\d{1,9})\.[^.]*$")  # NODE.1.csv: of a job that was restarted
BANDWIDTH = re.compile(r"Memory bandwidth \[MBytes/s\]", re.IGNORECASE)


class _OfLine(Headline):
    """A trial that had a region."""

    file: str
    region: str  # JSON
    cpus: list[int]
    counts: bool  # of a trial that a run began and the next one repeated, the last one


@dataclass(frozen=True)
class Marked:
    """A trial that had a region."""

    trial: Headline
    file: str
    region: Region
    cpus: list[int]
    counts: bool

    @property
    def key(self) -> tuple[str, str]:
        return self.trial["whole"], self.trial["id"]


class Line(Headline):
    """The counts of a trial, beside its own values."""

    file: str
    share: Optional[float]
    nothing: bool
    doubt: Optional[str]
    lost: list[str]
    metrics: dict[str, Metric]
    ours: Optional[float]
    theirs: Optional[float]
    while_measured: Optional[float]
    ratio: Optional[float]
    zeros: list[str]
    unread: list[str]


class Group(TypedDict):
    name: str
    metrics: list[str]
    lines: list[Line]


def join(
    db: duckdb.DuckDBPyConnection, tables: Sequence[Counted], notes: list[str]
) -> dict[str, list[Group]]:
    """By benchmark, the counts: a dictionary for each group, with its metrics and a line for each
    trial. Notes say what was left out."""
    marked = _marked(db) if _has_regions(db) else {}
    found: dict[str, dict[str, Group]] = {}
    for marked_trial, own in _by_trial(marked, tables, notes):
        for table in own:
            groups = found.setdefault(marked_trial.trial["benchmark"], {})
            group = groups.setdefault(
                table.title, {"name": table.title, "metrics": [], "lines": []}
            )
            line = _line(marked_trial, table)
            group["metrics"] += [m for m in line["metrics"] if m not in group["metrics"]]
            group["lines"].append(line)
    return {
        benchmark: [
            {
                "name": g["name"],
                "metrics": g["metrics"],
                "lines": sorted(g["lines"], key=lambda t: t["place"]),
            }
            for g in groups.values()
        ]
        for benchmark, groups in found.items()
    }


def _has_regions(db: duckdb.DuckDBPyConnection) -> bool:
    query = "SELECT 1 FROM parsed.trial WHERE json_type(region) = 'OBJECT' LIMIT 1"
    return bool(db.execute(query).fetchall())


def _marked(db: duckdb.DuckDBPyConnection) -> dict[str, list[Marked]]:
    """Trials that had a region, by its name. A trial that a run began and the next one repeated is
    there twice; the last one counts."""
    found: dict[str, list[Marked]] = {}
    query = (
        "SELECT h.*, k.file, p.region, p.cpus, (p.run, p.line) = (placed.run, placed.line)"
        " AS counts FROM parsed.trial p JOIN kept k USING (shard, run) JOIN part ON part.part ="
        " p.run JOIN placed ON placed.whole = part.whole AND placed.id = p.id JOIN headline h ON"
        " h.whole = placed.whole AND h.id = p.id WHERE json_type(p.region) = 'OBJECT'"
        " ORDER BY place, counts"
    )
    for row in select(db, _OfLine, query):
        region: Region = json.loads(row["region"])
        own = Marked(row, row["file"], region, row["cpus"], row["counts"])
        found.setdefault(region["name"], []).append(own)
    return found


def _by_trial(
    marked: dict[str, list[Marked]], tables: Sequence[Counted], notes: list[str]
) -> Iterator[tuple[Marked, list[Counted]]]:
    """Trials with their tables, each from one file: if a job was restarted, from the file of its
    last start."""
    by_region: dict[tuple[str, str], list[Counted]] = {}
    for table in tables:
        by_region.setdefault((table.file, table.region), []).append(table)
    found: dict[tuple[str, str], tuple[Marked, list[Counted]]] = {}
    noted = set()
    for (file, region), own in sorted(by_region.items(), key=lambda item: _start(item[0][0])):
        trial = _trial(marked.get(region, []), own, file, region, notes)
        if not trial:
            noted.add(region)
        elif trial.counts:
            found[trial.key] = trial, own
    _note_missing(
        [t for name, own in marked.items() if name not in noted for t in own if t.counts],
        found.keys(),
        notes,
    )
    yield from found.values()


def _start(table: str) -> int:
    """0, or 1 for NODE.1.csv."""
    found = AGAIN.search(table)
    return int(found[1]) if found else 0


def _note_missing(
    trials: list[Marked], found: Collection[tuple[str, str]], notes: list[str]
) -> None:
    missing = Counter(t.file for t in trials if t.key not in found)
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
    candidates: list[Marked], own: list[Counted], file: str, region: str, notes: list[str]
) -> Optional[Marked]:
    """The trial that was measured in this region: entered as often, and if there are several, in
    the record next to the table."""
    if not candidates:
        notes.append(
            f"{file}: no trial of these records was measured in region {region}: it is left out"
        )
        return None
    calls = sum(max((c for c in table.calls if c), default=0) for table in own)
    fitting = [c for c in candidates if not calls or calls == c.region["calls"]]
    one = {c.key: c for c in _beside(file, fitting) or fitting}
    if len(one) == 1:
        return next(iter(one.values()))
    told = " and ".join(sorted({str(c.region["calls"]) for c in candidates}))
    why = (
        f"fits {len(one)} trials equally well"
        if one
        else f"was entered {calls:.0f} times by this table, but {told} times by the records"
    )
    notes.append(
        f"{file}: region {region} {why}: it is left out; give each table with the record of its run"
    )
    return None


def _beside(table: str, trials: list[Marked]) -> list[Marked]:
    """Runs of NODE.jsonl, next to NODE.csv and NODE.1.csv; of several such records, the one with
    the longest name."""
    path = Path(table)
    near = [
        t
        for t in trials
        if Path(t.file).parent == path.parent and path.name.startswith(Path(t.file).stem + ".")
    ]
    longest = max((len(t.file) for t in near), default=0)
    return [t for t in near if len(t.file) == longest]


def _line(marked: Marked, table: Counted) -> Line:
    trial, region, told = marked.trial, marked.region, table.told
    share = region["measured"] / region["seconds"] if region["seconds"] else None
    bandwidth = next((m["value"] for name, m in told.items() if BANDWIDTH.match(name)), None)
    lost = [] if table.nothing else _lost(marked, table)
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
        "file": marked.file,
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


def _lost(marked: Marked, table: Counted) -> list[str]:
    """CPUs of the trial for which LIKWID has no counts: a sum over the others would not be the
    trial's."""
    by_locus = [f"HWThread {cpu}" for cpu in marked.region.get("uncounted", [])]
    found = dict.fromkeys([*by_locus, *table.silent], "all its counters read zero")
    found.update(dict.fromkeys(table.absent(marked.cpus), "did not enter the region"))
    return [f"{name} {why}" for name, why in found.items()]
