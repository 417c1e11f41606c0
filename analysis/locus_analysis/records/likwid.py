# SPDX-License-Identifier: Apache-2.0
"""The tables of likwid-perfctr -m, as CSV: its counts in the regions of a run.

The format is that of LIKWID 5.x (printOutput() of its likwid.lua; printMpiOutput() of
likwid-mpirun): for each region and group a table of counts, one of metrics, and statistics of both,
which are skipped since they follow from the tables. A column is a hardware thread."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional, TypedDict

from .sources import BadInput

LONGEST = 1 << 28  # bytes of a file
LONGEST_LINE = 1 << 16  # bytes that are read as one line: a table's first line is shorter
TABLE = re.compile(r"TABLE,Region ([^,]*),Group (\d{1,6}) (Raw|Metric)( STAT)?,(.*)")
KIND = re.compile(rb"STRUCT,Info,|TABLE,(?:Region|Group) ")
CUSTOM = "Custom"  # the name of every group that is given as a list of events
TIMES = ("RDTSC Runtime [s]", "Runtime (RDTSC) [s]")
CALLS = ("call count", "Region calls")
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


class _MetricMay(TypedDict, total=False):
    event: bool  # it is a count


class Metric(_MetricMay):
    """A value over the hardware threads of a region."""

    value: Optional[float]
    how: str  # it comes from theirs: sum, mean


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


def _together(values: Values, summed: bool) -> Metric:
    known = [v for v in values if v is not None]
    value = sum(known) / (1 if summed else len(known)) if known else None
    return {"how": "sum" if summed else "mean", "value": value}


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


def refuse(paths: Iterable[Path]) -> None:
    """Raises BadInput for a table among files that should be records."""
    for path in filter(is_table, paths):
        raise BadInput(
            f"{path}: a table of LIKWID's, not a record: locus report reads it, beside its record"
        )


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
            f"{path}: holds no region: likwid-perfctr ran without -m, or locus measured no trial"
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
