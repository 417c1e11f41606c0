# SPDX-License-Identifier: Apache-2.0
"""Takes many files quickly: their lines are told apart by how they begin, as locus writes them, and
DuckDB parses them. A file in which a line is not as it should be is read by reader.py, line by
line."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Optional

import duckdb

from . import sources, store
from .reader import Copy, Reader, empty
from .schema import types
from .sources import BadInput

LINE = re.compile(
    rb'\{"type": ?"([a-z-]+)", ?"run": ?"([0-9a-f]{16})"(?:, ?"(?:trial|id)": ?"([0-9a-f]{16})")?'
)
BEGIN = 72  # bytes that type, run and trial of a line take at most
PIECE = 1 << 22  # bytes that are read at once
AT_ONCE = 1 << 25  # ... that the database gets at once
LONG = 1 << 22  # a line of more is for reader.py
COPY = f"""
INSERT INTO line FROM read_csv(?, columns = {{'copy': 'BIGINT', 'number': 'BIGINT',
	'type': 'VARCHAR', 'json': 'VARCHAR'}}, delim = '\x01', quote = '', escape = '',
	header = false, auto_detect = false, new_line = '\\n',
	max_line_size = {2 * LONG}, buffer_size = {4 * LONG})
"""
OF_TRIAL = (b"samples", b"trial")
UNTOLD = (b"\x00", b"\x01")  # what DuckDB's CSV does not hold, and what stands between columns
MALFORMED = "SELECT DISTINCT copy FROM line WHERE NOT json_valid(json)"
# Without what each such line has. The schema says more: what it would refuse beside that is taken.
LACKING = """
SELECT DISTINCT r.copy FROM parsed.trial t JOIN parsed.run r USING (shard, run)
WHERE shard = getvariable('shard') AND (t.benchmark IS NULL OR t.variant IS NULL
	OR t.threads IS NULL OR t.bind IS NULL OR t.status IS NULL)
UNION
SELECT copy FROM parsed.run WHERE shard = getvariable('shard') AND (host IS NULL OR started IS NULL
	OR rank IS NULL OR ranks IS NULL OR command IS NULL OR machine IS NULL
	OR NOT regexp_full_match(started, '[-0-9]+T[:.0-9]+Z'))
"""


@dataclass
class Taken:
    """A file that was read. `whole`: bytes up to the end of its last whole line, or 0 of one that
    is compressed; `flaws`: what is wrong with it, each with its line."""

    path: Path
    status: os.stat_result
    whole: int = 0
    copies: list[Copy] = field(default_factory=list)
    flaws: list[str] = field(default_factory=list)
    is_record: bool = True
    nodes: Optional[str] = None  # the text of a file that is none (nodes.py)


class _NotPlain(Exception):
    """It has to be read line by line."""


class Bulk:
    """Fills the table `line` of a database, and skips what the reader skips."""

    def __init__(self, reader: Reader) -> None:
        self.db = reader.db
        self.reader = reader
        self._text: IO[bytes] = tempfile.NamedTemporaryFile(  # noqa: SIM115
            prefix="locus-lines-", buffering=PIECE
        )

    def take(self, path: Path) -> Taken:
        """All lines of a file but those of samples, which are counted."""
        taken = Taken(path, path.stat())
        copies = len(self.reader.copies)
        begin = self._text.tell()
        try:
            self._take(taken)
        except (_NotPlain, OSError):
            self._text.truncate(begin)
            self._text.seek(begin)
            del self.reader.copies[copies:]
            self.slowly(taken)
        if self._text.tell() > AT_ONCE:
            self.hand_over()
        return taken

    def slowly(self, taken: Taken) -> None:
        """A line at a time, each checked by the schema."""
        copies, notes = len(self.reader.copies), len(self.reader.notes)
        try:
            self.reader.take(taken.path)
        except BadInput as error:
            self.reader.notes.append(str(error))
            taken.is_record = False
        taken.copies = self.reader.copies[copies:]
        taken.flaws = self.reader.notes[notes:]
        del self.reader.notes[notes:]

    def parse(self, batch: Sequence[Taken], shard: int) -> list[Taken]:
        """The files, which were taken since the last call, into the tables of parsed.sql."""
        slow: set[Path] = set()
        while (wrong := self._parsed(shard)) is not None:
            assert len(slow) < len(batch), "the schema refuses less than the tables"
            own = {one.path for one in batch if wrong & {copy.number for copy in one.copies}}
            slow |= (own - slow) or {one.path for one in batch}
            self._forget()
            batch = [self._again(one, one.path in slow) for one in batch]
        return [*batch]

    def _again(self, one: Taken, slow: bool) -> Taken:
        if not slow:
            return self.take(one.path)
        taken = Taken(one.path, one.status)
        self.slowly(taken)
        return taken

    def _parsed(self, shard: int) -> Optional[set[int]]:
        """None: well; else the copies with a line that is wrong, or none if that is not known."""
        try:
            self.hand_over()
            self.db.begin()
            self.reader.parse(shard)
            self.db.commit()
            wrong = self.db.execute(LACKING).fetchall()
            return {copy for (copy,) in wrong} or None
        except (duckdb.OutOfMemoryException, duckdb.IOException):
            raise
        except duckdb.Error:
            with suppress(duckdb.Error):
                self.db.rollback()
            return {copy for (copy,) in self.db.execute(MALFORMED).fetchall()}

    def _forget(self) -> None:
        """What was taken since the last call of parse()."""
        for table in store.TABLES:
            if "shard" in store.columns(self.db, table):
                self.db.execute(f"DELETE FROM parsed.{table} WHERE shard = getvariable('shard')")
        self.db.execute("DELETE FROM line; DELETE FROM copied")
        self._text.seek(0)
        self._text.truncate()
        self.reader.copies = []

    def clear(self) -> None:
        """Empties the tables of parsed.sql."""
        for table in store.TABLES:
            empty(self.db, f"parsed.{table}")

    def hand_over(self) -> None:
        """Gives the lines to the database."""
        if not self._text.tell():
            return
        self._text.flush()
        self.db.execute(COPY, [self._text.name])
        self._text.seek(0)
        self._text.truncate()

    def _take(self, taken: Taken) -> None:
        name = sources.name(taken.path)
        headers: dict[bytes, Copy] = {}
        again: dict[bytes, Copy] = {}  # by the begin of lines of samples
        known = {kind.encode() for kind in types()}
        write, skipped = self._text.write, self.reader.skipped
        for number, text in self._lines(taken):
            if copy := again.get(text[:BEGIN]):
                copy.lines += 1
                continue
            found = LINE.match(text)
            if not found:
                raise _NotPlain
            kind, run, trial = found.groups()
            if kind == b"header":
                headers[run] = self.reader.begin(run.decode(), name, number)
                taken.copies.append(headers[run])
                again.clear()
            copy = headers.get(run)
            if copy is None or (trial is None and kind in OF_TRIAL):
                raise _NotPlain
            if kind not in known:
                continue
            copy.lines += 1
            if kind == b"samples":
                copy.begun.add(trial)
                if found.end() <= BEGIN:
                    again[text[:BEGIN]] = copy
                continue
            if kind == b"trial":
                copy.ended.add(trial)
            if skipped and skipped.match(text):
                continue
            write(b"%d\x01%d\x01%s\x01%s\n" % (copy.number, number, kind, text))
        if not headers:
            raise _NotPlain

    def _lines(self, taken: Taken) -> Iterator[tuple[int, bytes]]:
        """Whole lines; a last one that is cut off becomes a flaw."""
        rest, number = b"", 0
        with taken.path.open("rb") as file:
            while piece := file.read(PIECE):
                strange = any(byte in piece for byte in UNTOLD)
                if strange or (not number and not rest and piece[:1] != b"{"):
                    raise _NotPlain
                *lines, rest = (rest + piece).split(b"\n")
                if len(rest) > LONG:
                    raise _NotPlain
                yield from enumerate(lines, number + 1)
                number += len(lines)
                taken.whole = file.tell() - len(rest)
        if rest:
            taken.flaws.append(f"{sources.name(taken.path)}:{number + 1}: {sources.CUT_OFF}")


def batches(files: Sequence[Path], most: int) -> Iterator[list[Path]]:
    """The files, in parts of so many bytes."""
    batch, size = list[Path](), 0
    for path in files:
        own = path.stat().st_size
        if batch and size + own > most:
            yield batch
            batch, size = [], 0
        batch.append(path)
        size += own
    if batch:
        yield batch
