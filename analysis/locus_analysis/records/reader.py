# SPDX-License-Identifier: Apache-2.0
"""Takes the lines of files into a database (table `line`), each checked by the schema, and parses
them (parse.sql)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

import duckdb

from . import schema, sources
from .schema import Line
from .sources import BadInput

PARSE = Path(__file__).with_name("parse.sql").read_text(encoding="utf-8")
AT_ONCE = 1 << 23  # bytes of lines that are handed to the database together
MOST_FLAWS = 3  # of a file that are reported one by one
HOPELESS = 100  # flawed lines: after so many without a header the rest of a file is not read
# Lines as locus writes them, with their run, and the trial of samples.
OF = rb'", ?"run": ?"([0-9a-f]{16})"(?:, ?"trial": ?"([0-9a-f]{16})")?'
SAMPLES = re.compile(rb'\{"type": ?"samples' + OF)
BULK = re.compile(rb'\{"type": ?"(?:samples|matrix|distribution|peer)' + OF)
OTHERS = (
    rb'|\{"type": ?"trial", ?"run": ?"[0-9a-f]{16}", ?"id": ?"[0-9a-f]{16}",'
    rb' ?"benchmark": ?"(?!(?:%s)")'
)  # trials of benchmarks beside some


def others(only: Sequence[str]) -> re.Pattern[bytes]:
    """Lines that tell nothing of these benchmarks' trials."""
    return re.compile(BULK.pattern + OTHERS % "|".join(map(re.escape, only)).encode())


@dataclass
class Copy:
    """A run in a file."""

    number: int
    run: str
    file: str
    line: int  # of its header
    lines: int = 0
    begun: set[bytes] = field(default_factory=set)  # trials with samples
    ended: set[bytes] = field(default_factory=set)


Entry = tuple[int, int, str, str]  # a row of the table `line`


class Reader:
    def __init__(
        self,
        db: duckdb.DuckDBPyConnection,
        skipped: Optional[re.Pattern[bytes]] = None,
        lean: bool = False,
    ) -> None:
        self.db = db
        self.skipped = skipped  # lines that are only counted
        self.lean = lean  # without what stands beside the values of trials
        self.copies: list[Copy] = []  # since they were parsed last
        self.notes: list[str] = []
        self._waiting: list[Entry] = []
        self._size = 0  # bytes of their lines
        self.size = 0  # bytes of all lines that were taken
        self._number = 0

    def take(self, path: Path) -> int:
        """All lines of a file. What is wrong becomes notes, and is counted; raises the first flaw
        of a file without any valid line."""
        flaws: list[str] = []
        taken = False
        for row in self._rows(path, flaws):
            self._waiting.append(row)
            self._size += len(row[-1])
            self.size += len(row[-1])
            if self._size >= AT_ONCE:
                self._hand_over()
            taken = True
        if not taken:
            raise BadInput(
                flaws[0] if flaws else f"{sources.name(path)}: holds no line that this locus knows"
            )
        self.notes += told(path, flaws)
        return len(flaws)

    def parse(self, shard: int = 0, keep: bool = False) -> None:
        """What was taken, into the tables of parsed.sql. `keep`: the lines, too."""
        self._hand_over()
        told = [
            (c.number, c.run, c.file, c.line, c.lines, len(c.begun - c.ended)) for c in self.copies
        ]
        insert(self.db, "copied", told)
        self.copies = []
        self.db.execute(f"SET VARIABLE shard = {shard}; SET VARIABLE lean = {self.lean}")
        self.db.execute(PARSE)
        if not keep:
            empty(self.db, "line")

    def _hand_over(self) -> None:
        insert(self.db, "line", self._waiting)
        self._waiting, self._size = [], 0

    def begin(self, run: str, file: str, line: int) -> Copy:
        copy = Copy(self._number, run, file, line)
        self._number += 1
        self.copies.append(copy)
        return copy

    def _rows(self, path: Path, flaws: list[str]) -> Iterator[Entry]:
        """A file may have a run twice."""
        headers: dict[str, Optional[Copy]] = {}  # None: that run cannot be read
        declared = schema.Declared()
        undescribed: set[tuple[str, str]] = set()  # benchmarks of runs
        name = sources.name(path)
        for given in sources.lines(path):
            if not headers and len(flaws) >= HOPELESS:
                return
            if self.skipped and headers and self._skip(given.text, headers):
                continue
            try:
                line = _line(given)
                if line:
                    declared.check(line)
            except schema.Flaw as flaw:
                flaws.append(f"{name}:{given.number}: {flaw}")
                if header := schema.header_of(given.text):
                    headers[header] = None
                continue
            if line is None:
                continue
            run = line["run"]
            if line["type"] == "header":
                headers[run] = self.begin(run, name, given.number)
            elif run not in headers:
                headers[run] = None
                flaws.append(
                    f"{name}:{given.number}: run {run} has no header before this line: its lines"
                    " are left out"
                )
            copy = headers[run]
            if not copy:
                continue
            _count(copy, line)
            if declared.describe(line):
                yield copy.number, given.number, line["type"], given.text.decode("utf-8")
            elif (run, line["benchmark"]) not in undescribed:
                undescribed.add((run, line["benchmark"]))
                flaws.append(
                    f"{name}:{given.number}: no line before this one describes benchmark"
                    f" {line['benchmark']}: its trials are left out"
                )

    def _skip(self, text: bytes, headers: dict[str, Optional[Copy]]) -> bool:
        found = self.skipped and self.skipped.match(text)
        if not found:
            return False
        copy = headers.get(found[1].decode()) if found[1] else None
        if copy:
            copy.lines += 1
            if found[2] and SAMPLES.match(text):
                copy.begun.add(found[2])
        return True


def told(path: Path, flaws: Sequence[str]) -> list[str]:
    """The first flaws of a file, and the number of the others."""
    more = len(flaws) - MOST_FLAWS
    rest = [f"{sources.name(path)}: {more} more lines like these are left out"] if more > 0 else []
    return [*flaws[:MOST_FLAWS], *rest]


def insert(db: duckdb.DuckDBPyConnection, table: str, given: Sequence[tuple[object, ...]]) -> None:
    """By columns: one statement for each line takes 40 times as long."""
    if given:
        db.execute(
            f"INSERT INTO {table} SELECT {', '.join(['unnest(?)'] * len(given[0]))}",
            [list(column) for column in zip(*given)],
        )


def empty(db: duckdb.DuckDBPyConnection, table: str) -> None:
    """DELETE would keep the memory of its rows."""
    db.execute(f"CREATE OR REPLACE TABLE {table} AS FROM {table} LIMIT 0")


def _count(copy: Copy, line: Line) -> None:
    copy.lines += 1
    if line["type"] == "samples":
        copy.begun.add(line["trial"].encode())
    elif line["type"] == "trial":
        copy.ended.add(line["id"].encode())


def _line(given: sources.Line) -> Optional[Line]:
    """None: a type of a later version."""
    if given.flaw:
        raise schema.Flaw(given.flaw)
    line = schema.parse(given.text)
    kind = line.get("type") if isinstance(line, dict) else None
    if isinstance(kind, str) and kind not in schema.types():
        return None
    return schema.check(line, strict=False)
