# SPDX-License-Identifier: Apache-2.0
"""What likwid-perfctr -m counted in the regions of a run: its tables, as CSV, joined to the trials by the regions' names.

The format is that of LIKWID 5.x (printOutput() of its likwid.lua; printMpiOutput() of likwid-mpirun): for each region and group
a table of what was counted, one of its metrics, and statistics of both, which are left out: they follow from the tables. A
column is a hardware thread.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

import duckdb

from .records import BadInput, rows

LONGEST = 1 << 28  # bytes of a file
HEAD = 1 << 16  # bytes in which its first table begins, behind what -O has before it: the table of locus
TABLE = re.compile(r"TABLE,Region ([^,]*),Group (\d{1,6}) (Raw|Metric)( STAT)?,(.*)")
KIND = re.compile(rb"^(?:STRUCT,Info,|TABLE,(?:Region|Group) )", re.MULTILINE)
TIMES = ("RDTSC Runtime [s]", "Runtime (RDTSC) [s]")
CALLS = ("call count", "Region calls")
BANDWIDTH = re.compile(r"Memory bandwidth \[MBytes/s\]", re.IGNORECASE)
SUMMED = ("[MBytes/s]", "[GBytes]", "[MFLOP/s]", "[J]", "[W]")  # of all hardware threads; of the other metrics a mean says more

Values = list[Optional[float]]


@dataclass
class Counted:
    """A region in a group: what each hardware thread counted."""

    file: str
    line: int
    region: str
    number: int
    group: str
    threads: list[str] = field(default_factory=list)
    times: Values = field(default_factory=list)
    calls: Values = field(default_factory=list)
    events: dict[str, Values] = field(default_factory=dict)
    metrics: dict[str, Values] = field(default_factory=dict)

    @property
    def nothing(self) -> bool:
        """All counters read zero, or not a number, though the region was run: what follows from them is no measurement."""
        return not any(value for values in self.events.values() for value in values)


def is_table(path: Path) -> bool:
    """Told by its content: lines of a record begin with a brace. What is no plain file is left to who reads records."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            start = file.read(HEAD)
    except OSError:
        return False
    return not start.lstrip().startswith(b"{") and bool(KIND.search(start))


def read(paths: Iterable[Path]) -> list[Counted]:
    return [counted for path in paths for counted in _parse(path)]


def _parse(path: Path) -> list[Counted]:
    found: dict[tuple[str, int], Counted] = {}
    table: Optional[Counted] = None
    part, columns = "", 0  # which rows these are; cells before the first thread's
    for number, text in enumerate(_text(path).split("\n"), 1):
        where, cells = f"{path}:{number}", text.rstrip("\r").split(",")
        if cells[0] == "TABLE":
            match = TABLE.fullmatch(text.rstrip("\r"))
            if not match:
                raise BadInput(f"{where}: a table without a region: likwid-perfctr ran without -m, or this is not its CSV")
            part = "" if match[4] else match[3]
            key = (match[1], int(match[2]))
            table = found.setdefault(key, Counted(str(path), number, *key, group=_group(match[5]))) if part else None
            if part == "Raw" and table and table.line != number:
                raise BadInput(f"{where}: region {match[1]} is here a second time in group {match[2]}: one run a file, please")
            columns = 0
        elif cells[0] == "STRUCT" or not any(cells):
            part, table = "", None
        elif table:
            columns = _row(where, table, part, cells, columns)
    for counted in found.values():
        if not counted.threads:
            raise BadInput(f"{path}:{counted.line}: the table of region {counted.region} has no hardware thread: it was cut off")
    if not found:
        raise BadInput(f"{path}: holds no region: likwid-perfctr ran without -m, or locus came to no trial")
    return list(found.values())


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > LONGEST:
            raise BadInput(f"{path}: more than {LONGEST >> 20} MiB: not a table of LIKWID's")
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from error


def _group(rest: str) -> str:
    """The name is followed by the number of rows, and by commas that fill the line."""
    return rest.rstrip(",").rpartition(",")[0] or rest.rstrip(",") or "unknown"


def _row(where: str, table: Counted, part: str, cells: list[str], columns: int) -> int:
    """Takes over a row; returns how many cells stand before the first thread's in the rows that follow."""
    heads = {"Region Info": 1, "Event": 2, "Metric": 1}
    if cells[0] in heads:
        columns = heads[cells[0]]
        threads = _trimmed(cells[columns:])
        if not threads or (table.threads and threads != table.threads):
            raise BadInput(f"{where}: the hardware threads of region {table.region} are not those that its table began with")
        table.threads = threads
        return columns
    if not columns:
        raise BadInput(f"{where}: a row of numbers before the row that names the hardware threads")
    values = [_number(where, cell) for cell in cells[columns : columns + len(table.threads)]]
    if len(values) != len(table.threads) or any(cells[columns + len(table.threads) :]):
        raise BadInput(f"{where}: {len(_trimmed(cells[columns:]))} numbers for {len(table.threads)} hardware threads")
    if part == "Metric":
        table.metrics[cells[0]] = values
    elif cells[0] in CALLS:
        table.calls = values
    elif cells[0] in TIMES:
        table.times = values
    else:
        table.events[f"{cells[0]} ({cells[1]})" if columns > 1 else cells[0]] = values
    return columns


def _trimmed(cells: list[str]) -> list[str]:
    while cells and not cells[-1]:
        cells = cells[:-1]
    return cells


def _number(where: str, cell: str) -> Optional[float]:
    """LIKWID writes "-" or "nan" where a counter could not be read, and "inf" or "nan" where it divided by zero."""
    if cell.strip() in ("", "-"):
        return None
    try:
        value = float(cell)
    except ValueError as error:
        raise BadInput(f"{where}: {cell!r:.60} is not a number") from error
    return value if math.isfinite(value) else None


### Beside the records


def join(db: duckdb.DuckDBPyConnection, tables: Sequence[Counted], notes: list[str]) -> dict[str, list[dict[str, Any]]]:
    """By benchmark, what was counted, a dictionary a group: its metrics, a line for each trial. Notes tell what was left out."""
    marked = _marked(db)
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for (file, region), own in _by_region(tables):
        trial = _trial(marked.get(region, []), own, file, region, notes)
        if not trial:
            continue
        for table in own:
            groups = found.setdefault(trial["benchmark"], {})
            group = groups.setdefault(table.group, {"name": table.group, "metrics": [], "lines": []})
            line = _line(trial, table)
            group["metrics"] += [m for m in line["metrics"] if m not in group["metrics"]]
            group["lines"].append(line)
    return {
        benchmark: [{**g, "lines": sorted(g["lines"], key=lambda t: t["place"])} for g in groups.values()]
        for benchmark, groups in found.items()
    }


def _marked(db: duckdb.DuckDBPyConnection) -> dict[str, list[dict[str, Any]]]:
    """Trials that had a region, by its name: that of a trial that several runs measured, several times."""
    found: dict[str, list[dict[str, Any]]] = {}
    query = (
        "SELECT h.*, line.file, json->>'$.region' AS region FROM line JOIN part ON line.run = part.part "
        "JOIN headline h ON h.whole = part.whole AND h.id = json->>'$.id' "
        "WHERE type = 'trial' AND json_type(json->'$.region') = 'OBJECT' ORDER BY place"
    )
    for trial in rows(db, query):
        trial["region"] = json.loads(trial["region"])
        found.setdefault(trial["region"]["name"], []).append(trial)
    return found


def _by_region(tables: Sequence[Counted]) -> Iterator[tuple[tuple[str, str], list[Counted]]]:
    found: dict[tuple[str, str], list[Counted]] = {}
    for table in tables:
        found.setdefault((table.file, table.region), []).append(table)
    yield from found.items()


def _trial(
    candidates: list[dict[str, Any]], own: list[Counted], file: str, region: str, notes: list[str]
) -> Optional[dict[str, Any]]:
    """The one that was measured in this region: as often entered, and, of several, in the record beside the table."""
    if not candidates:
        notes.append(f"{file}: no trial of these records was measured in region {region}: it is left out")
        return None
    calls = sum(max((c for c in table.calls if c), default=0) for table in own)
    fitting = [c for c in candidates if not calls or calls == c["region"]["calls"]]
    beside = [c for c in fitting if _beside(file, c["file"])]
    one = beside if len(beside) == 1 else fitting
    if len(one) == 1:
        return one[0]
    told = " and ".join(sorted({str(c["region"]["calls"]) for c in candidates}))
    why = f"fits {len(one)} trials alike" if one else f"was entered {calls:.0f} times, and by the records {told} times"
    notes.append(f"{file}: region {region} {why}: it is left out; give each table with the record of its run")
    return None


def _beside(table: str, record: str) -> bool:
    """NODE.csv, and NODE.1.csv of a job that went on, beside NODE.jsonl."""
    one, other = Path(table), Path(record)
    return one.parent == other.parent and one.name.startswith(other.stem + ".")


def _line(trial: dict[str, Any], table: Counted) -> dict[str, Any]:
    region = trial["region"]
    share = region["measured"] / region["seconds"] if region["seconds"] else None
    metrics = {name: _together(name, values) for name, values in table.metrics.items()}
    bandwidth = next((m["value"] for name, m in metrics.items() if BANDWIDTH.match(name)), None)
    theirs = None if bandwidth is None or table.nothing else bandwidth * 1e6
    ours = trial["value"] if trial["unit"] == "B/s" else None
    while_measured = theirs / share if theirs is not None and share else None
    return {
        **trial,
        "share": share,
        "threads_counted": len(table.threads),
        "nothing": table.nothing,
        "metrics": metrics,
        "ours": ours,
        "theirs": theirs,
        "while_measured": while_measured,
        "ratio": while_measured / ours if while_measured and ours else None,
        "zeros": [] if table.nothing else [name for name, values in table.events.items() if not any(values)],
    }


def _together(name: str, values: Values) -> dict[str, Any]:
    known = [v for v in values if v is not None]
    summed = name.rstrip().endswith(SUMMED)
    if not known:
        return {"how": "sum" if summed else "mean", "value": None}
    return {"how": "sum" if summed else "mean", "value": sum(known) / (1 if summed else len(known))}
