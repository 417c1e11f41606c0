# SPDX-License-Identifier: Apache-2.0
"""The counts of likwid-perfctr -m in the regions of a run: its tables, as CSV, joined to the trials
by the names of the regions.

The format is that of LIKWID 5.x (printOutput() of its likwid.lua; printMpiOutput() of
likwid-mpirun): for each region and group a table of counts, one of metrics, and statistics of both,
which are skipped since they follow from the tables. A column is a hardware thread."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

import duckdb

from .records import BadInput, rows

LONGEST = 1 << 28  # bytes of a file
LONGEST_LINE = 1 << 16  # bytes that are read as one line: a table's first line is shorter
TABLE = re.compile(r"TABLE,Region ([^,]*),Group (\d{1,6}) (Raw|Metric)( STAT)?,(.*)")
KIND = re.compile(rb"STRUCT,Info,|TABLE,(?:Region|Group) ")
CUSTOM = "Custom"  # the name of every group that is given as a list of events
AGAIN = re.compile(r"\.(\d{1,9})\.[^.]*$")  # NODE.1.csv: of a job that was restarted
TIMES = ("RDTSC Runtime [s]", "Runtime (RDTSC) [s]")
CALLS = ("call count", "Region calls")
BANDWIDTH = re.compile(r"Memory bandwidth \[MBytes/s\]", re.IGNORECASE)
OF_CORES = re.compile(
    r"\((?:FIXC|PMC)\d+"
)  # counters that each core has; those of a socket are read on one of its CPUs
HWTHREAD = re.compile(r"HWThread (\d{1,9})")
SUMMED = (
    "[MBytes/s]",
    "[GBytes]",
    "[MFLOP/s]",
    "[J]",
    "[W]",
)  # units of metrics that are summed over hardware threads; others are averaged

Values = list[Optional[float]]
Metric = dict[
    str, Any
]  # value; how it comes from those of the hardware threads (sum, mean); event: it is a count


@dataclass
class Counted:
    """A region in a group: each hardware thread's counts."""

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
        """All counters read zero, or not a number, although the region was run: nothing can be
        concluded."""
        return not any(value for values in self.events.values() for value in values)

    @property
    def entered(self) -> list[bool]:
        """Whether each hardware thread entered the region."""
        return [bool(calls) for calls in self.calls] or [True] * len(self.threads)

    @property
    def silent(self) -> list[str]:
        """Hardware threads that entered the region and read only zeros, while others counted."""
        core = [values for name, values in self.events.items() if OF_CORES.search(name)]
        counted = [any(values[i] for values in core) for i in range(len(self.threads))]
        return (
            [t for t, c, e in zip(self.threads, counted, self.entered) if e and not c]
            if any(counted)
            else []
        )

    def absent(self, cpus: Collection[int]) -> list[str]:
        """The trial's CPUs that did not enter the region; [] if the table does not name CPUs."""
        numbers = [HWTHREAD.fullmatch(name) for name in self.threads]
        known = {
            int(match[1]) for match, entered in zip(numbers, self.entered) if match and entered
        }
        return [f"HWThread {cpu}" for cpu in cpus if cpu not in known] if all(numbers) else []

    @property
    def title(self) -> str:
        return self.group if self.group != CUSTOM else f"{CUSTOM}: {', '.join(self.events)}"

    @property
    def told(self) -> dict[str, Metric]:
        """The group's metrics; the counts themselves if it has none."""
        events = self.events if self.group == CUSTOM else {}
        return {
            **{
                name: _together(values, name.rstrip().endswith(SUMMED))
                for name, values in self.metrics.items()
            },
            **{name: {**_together(values, True), "event": True} for name, values in events.items()},
        }


def is_table(path: Path) -> bool:
    """Recognised by content: lines of a record begin with a brace; with -O the output of locus
    comes before the tables. Anything but a plain file is left to the reader of records."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            if file.read(1) == b"{":
                return False
            file.seek(0)
            return any(map(KIND.match, iter(lambda: file.readline(LONGEST_LINE), b"")))
    except OSError:
        return False


def read(paths: Iterable[Path]) -> list[Counted]:
    return [counted for path in paths for counted in _parse(path)]


def _parse(path: Path) -> list[Counted]:
    found: dict[tuple[str, int], Counted] = {}
    table: Optional[Counted] = None
    part, columns = "", 0  # the kind of rows at hand; how many cells precede the first thread's
    for number, text in enumerate(_text(path).split("\n"), 1):
        where, cells = f"{path}:{number}", text.rstrip("\r").split(",")
        if cells[0] == "TABLE":
            match = TABLE.fullmatch(text.rstrip("\r"))
            if not match:
                raise BadInput(
                    f"{where}: a table without a region: likwid-perfctr ran without -m, or this is"
                    " not its CSV"
                )
            part = "" if match[4] else match[3]
            key = (match[1], int(match[2]))
            table = (
                found.setdefault(key, Counted(str(path), number, *key, group=_group(match[5])))
                if part
                else None
            )
            if part == "Raw" and table and table.line != number:
                raise BadInput(
                    f"{where}: region {match[1]} is here a second time in group {match[2]}: give a"
                    " file for each run"
                )
            columns = 0
        elif cells[0] == "STRUCT" or not any(cells):
            part, table = "", None
        elif table:
            columns = _row(where, table, part, cells, columns)
    for counted in found.values():
        if not counted.threads:
            raise BadInput(
                f"{path}:{counted.line}: the table of region {counted.region} has no hardware"
                " thread: it was cut off"
            )
    if not found:
        raise BadInput(
            f"{path}: holds no region: likwid-perfctr ran without -m, or locus came to no trial"
        )
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
    """Takes over a row; returns how many cells come before the first thread in the rows that
    follow."""
    heads = {"Region Info": 1, "Event": 2, "Metric": 1}
    if cells[0] in heads:
        columns = heads[cells[0]]
        threads = _trimmed(cells[columns:])
        if not threads or (table.threads and threads != table.threads):
            raise BadInput(
                f"{where}: the hardware threads of region {table.region} are not those that its"
                " table began with"
            )
        table.threads = threads
        return columns
    if not columns:
        raise BadInput(f"{where}: a row of numbers before the row that names the hardware threads")
    values = [_number(where, cell) for cell in cells[columns : columns + len(table.threads)]]
    if len(values) != len(table.threads) or any(cells[columns + len(table.threads) :]):
        raise BadInput(
            f"{where}: {len(_trimmed(cells[columns:]))} numbers for {len(table.threads)} hardware"
            " threads"
        )
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
    """LIKWID writes "-" or "nan" if a counter could not be read, and "inf" or "nan" after dividing
    by zero."""
    if cell.strip() in ("", "-"):
        return None
    try:
        value = float(cell)
    except ValueError as error:
        raise BadInput(f"{where}: {cell!r:.60} is not a number") from error
    return value if math.isfinite(value) else None


### Beside the records


def join(
    db: duckdb.DuckDBPyConnection, tables: Sequence[Counted], notes: list[str]
) -> dict[str, list[dict[str, Any]]]:
    """By benchmark, the counts: a dictionary for each group, with its metrics and a line for each
    trial. Notes say what was left out."""
    marked = _marked(db)
    found: dict[str, dict[str, dict[str, Any]]] = {}
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


def _marked(db: duckdb.DuckDBPyConnection) -> dict[str, list[dict[str, Any]]]:
    """Trials that had a region, by its name. A trial that a run began and the next one repeated is
    there twice; the last one counts."""
    found: dict[str, list[dict[str, Any]]] = {}
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
    marked: dict[str, list[dict[str, Any]]], tables: Sequence[Counted], notes: list[str]
) -> Iterator[tuple[dict[str, Any], list[Counted]]]:
    """Trials with their tables, each from one file: of a job that was restarted, from that of its
    last start."""
    by_region: dict[tuple[str, str], list[Counted]] = {}
    for table in tables:
        by_region.setdefault((table.file, table.region), []).append(table)
    found: dict[tuple[str, str], tuple[dict[str, Any], list[Counted]]] = {}
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


def _note_missing(
    trials: list[dict[str, Any]], found: Collection[tuple[str, str]], notes: list[str]
) -> None:
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
    candidates: list[dict[str, Any]], own: list[Counted], file: str, region: str, notes: list[str]
) -> Optional[dict[str, Any]]:
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


def _beside(table: str, trials: list[dict[str, Any]]) -> list[dict[str, Any]]:
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


def _line(trial: dict[str, Any], table: Counted) -> dict[str, Any]:
    region, told = trial["region"], table.told
    share = region["measured"] / region["seconds"] if region["seconds"] else None
    bandwidth = next((m["value"] for name, m in told.items() if BANDWIDTH.match(name)), None)
    lost = [] if table.nothing else _lost(trial, table)
    interrupted = trial["status"] == "interrupted"
    doubt = (
        "LIKWID counted nothing"
        if table.nothing
        else "interrupted"
        if interrupted
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
        "threads_counted": len(table.threads),
        "nothing": table.nothing,
        "doubt": doubt,
        "lost": lost,
        "metrics": told,
        "ours": ours,
        "theirs": theirs,
        "while_measured": while_measured,
        "ratio": while_measured / ours if while_measured and ours else None,
        "zeros": (
            []
            if table.nothing
            else [name for name, values in table.events.items() if set(values) - {None} == {0}]
        ),
        "unread": (
            []
            if table.nothing
            else [name for name, values in table.events.items() if set(values) == {None}]
        ),
    }


def _lost(trial: dict[str, Any], table: Counted) -> list[str]:
    """CPUs of the trial that LIKWID has no counts of: a sum over the others would not be that of
    the trial."""
    by_locus = [f"HWThread {cpu}" for cpu in trial["region"].get("uncounted", [])]
    found = dict.fromkeys([*by_locus, *table.silent], "all its counters read zero")
    found.update(dict.fromkeys(table.absent(trial["cpus"]), "did not enter the region"))
    return [f"{name} {why}" for name, why in found.items()]


def _together(values: Values, summed: bool) -> Metric:
    known = [v for v in values if v is not None]
    value = sum(known) / (1 if summed else len(known)) if known else None
    return {"how": "sum" if summed else "mean", "value": value}
