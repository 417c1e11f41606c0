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

from . import schema, sources, store
from .reader import Copy, Reader, empty
from .sources import BadInput

LINE = re.compile(
    rb'\{"type": ?"([a-z-]+)", ?"run": ?"([0-9a-f]{16})"(?:, ?"(?:trial|id)": ?"([0-9a-f]{16})")?'
)
BEGIN = 72  # bytes that type, run and trial of a line take at most
PIECE = 1 << 18  # bytes that are read at once: what the cache of a core holds
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
# What the schema may refuse in the text of lines, where the tables would not show it: lone
# surrogates and keys in disguise; in trials, a type that DuckDB would convert.
CONVERTED = (
    r'"threads"\s*:\s*(?:[^1-9\s]|[0-9]+[^0-9\s,}])|"cpus"\s*:\s*(?:[^\[\s]|\[[^\]]*[^0-9\s,\]])'
    r'|"(?:value|with_noise|low|high|scale|wall|elapsed)"\s*:\s*[^-0-9\s]'
    r'|"(?:ci|by_worker)"\s*:\s*(?:[^\[\sn]|\[[^\]]*["\[{tf])'
)
DOUBTFUL = rf"""
SELECT DISTINCT copy FROM line WHERE regexp_matches(json, '\\u(?:[dD]|00[2-7])')
	OR type = 'trial' AND regexp_matches(json, '{CONVERTED}')
"""
# Rows without what each such line has, or with a number that may be none of a record; trials
# without the line of their benchmark. The schema says more: what it would refuse beside these and
# DOUBTFUL is taken.
NAME = schema.definition("name")["pattern"]
PROFILES = schema.definition("header")["properties"]["profile"]["enum"]
SENTENCE = "[^\\x00-\\x1f\\x7f]+"
LACKING = f"""
SELECT DISTINCT r.copy FROM parsed.trial t JOIN parsed.run r USING (shard, run)
WHERE shard = getvariable('shard') AND (
	regexp_full_match(t.benchmark, '{NAME}') AND regexp_full_match(t.variant, '{NAME}')
	AND t.threads BETWEEN 1 AND {schema.MOST_INTEGER}
	AND regexp_full_match(t.bind, '{SENTENCE}')
	AND json_type(t.parameters) = 'OBJECT'
	AND t.status IN {(*schema.definition("status")["enum"],)}
	AND (t.status <> 'ok' OR (t.scale IS NOT NULL AND t.reasons = []))) IS NOT true
UNION
SELECT r.copy FROM parsed.metric m JOIN parsed.run r USING (shard, run)
WHERE shard = getvariable('shard') AND len([x FOR x IN [m.value, m.low, m.high, m.with_noise]
	IF x <> 0 AND abs(x) NOT BETWEEN {schema.LEAST} AND {schema.MOST_INTEGER}]) > 0
UNION
SELECT copy FROM parsed.run WHERE shard = getvariable('shard') AND (
	regexp_full_match(header->>'$.schema', '{schema.SCHEMA}\\.[0-9]+')
	AND json_type(header, ['$.rank', '$.ranks', '$.command', '$.altered', '$.resumes'])
		= ['UBIGINT', 'UBIGINT', 'ARRAY', 'ARRAY', 'ARRAY']
	AND json_type(header, '$.host') = 'VARCHAR'
	AND ranks >= 1 AND len(command) >= 1 AND regexp_full_match(host, '{SENTENCE}')
	AND regexp_full_match(started, '{schema.definition("moment")["pattern"]}')
	AND try_cast(started AS TIMESTAMP) IS NOT NULL AND machine IS NOT NULL
	AND profile IN {(*PROFILES,)}) IS NOT true
UNION
SELECT r.copy FROM (SELECT DISTINCT run, benchmark FROM parsed.trial
		WHERE shard = getvariable('shard')) t
	ANTI JOIN (SELECT run, d.benchmark FROM (SELECT run, unnest(definitions) AS hash
			FROM parsed.run WHERE shard = getvariable('shard'))
		JOIN parsed.definition d USING (hash)) d USING (run, benchmark)
	JOIN parsed.run r USING (run) WHERE r.shard = getvariable('shard')
"""


@dataclass
class Taken:
    """A file that was read. `whole`: bytes up to the end of its last whole line, or 0 of one that
    is compressed; `flaws`: what is wrong with it, as reader.told() puts it; `left`: how many lines
    are left out."""

    path: Path
    status: Optional[os.stat_result]  # before it was read; none: it could not be read
    whole: int = 0
    copies: list[Copy] = field(default_factory=list)
    flaws: list[str] = field(default_factory=list)
    left: int = 0
    is_record: bool = True
    is_checked: bool = False  # each line, by the schema
    nodes: Optional[str] = None  # the text of a file that is none (nodes.py)


class _NotPlain(Exception):
    """It has to be read line by line."""


class Bulk:
    """Fills the table `line` of a database, and skips what the reader skips."""

    def __init__(self, reader: Reader) -> None:
        self.db = reader.db
        self.reader = reader
        # Without a name, so that a process that is killed leaves nothing.
        self._text: IO[bytes] = tempfile.TemporaryFile(buffering=PIECE)  # noqa: SIM115

    def take(self, path: Path) -> Taken:
        """All lines of a file but those of samples, which are counted."""
        taken = Taken(path, status(path))
        copies = len(self.reader.copies)
        begin = self._text.tell()
        try:
            self._take(taken)
        except (_NotPlain, UnicodeDecodeError, OSError):
            self._text.truncate(begin)
            self._text.seek(begin)
            del self.reader.copies[copies:]
            self.slowly(taken)
        if self._text.tell() > AT_ONCE:
            self.hand_over()
        return taken

    def slowly(self, taken: Taken) -> None:
        """A line at a time, each checked by the schema."""
        taken.is_checked = True
        copies, notes = len(self.reader.copies), len(self.reader.notes)
        try:
            taken.left = self.reader.take(taken.path)
        except BadInput as error:
            self.reader.notes.append(str(error))
            taken.is_record = False
            if isinstance(error, sources.Unreadable):
                taken.status = None
        taken.copies = self.reader.copies[copies:]
        taken.flaws = self.reader.notes[notes:]
        del self.reader.notes[notes:]

    def parse(self, batch: Sequence[Taken], shard: int) -> list[Taken]:
        """The files, which were taken since the last call, into the tables of parsed.sql."""
        slow: set[Path] = set()
        while (wrong := self._parsed(batch, shard)) is not None:
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

    def _parsed(self, batch: Sequence[Taken], shard: int) -> Optional[set[int]]:
        """None: well; else the copies with a line that may be wrong; empty: not known which."""
        unchecked = {c.number for one in batch if not one.is_checked for c in one.copies}
        try:
            self.hand_over()
            if wrong := self._among(unchecked, DOUBTFUL):
                return wrong
            self.db.begin()
            self.reader.parse(shard)
            self.db.commit()
        except (duckdb.OutOfMemoryException, duckdb.IOException):
            raise
        except duckdb.Error:
            with suppress(duckdb.Error):
                self.db.rollback()
            return self._among(unchecked, MALFORMED)
        return self._among(unchecked, LACKING) or None

    def _among(self, copies: set[int], query: str) -> set[int]:
        return copies & {copy for (copy,) in self.db.execute(query).fetchall()}

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
        self.db.execute(COPY, [f"/proc/self/fd/{self._text.fileno()}"])
        self._text.seek(0)
        self._text.truncate()

    def _take(self, taken: Taken) -> None:
        name = sources.name(taken.path)
        headers: dict[bytes, Copy] = {}
        again: dict[bytes, Copy] = {}  # by the begin of lines of samples
        known = {kind.encode() for kind in schema.types()}
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
            if not text.isascii():
                text.decode("utf-8")
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
            taken.left = 1


def status(path: Path) -> Optional[os.stat_result]:
    """None: it is gone."""
    try:
        return path.stat()
    except OSError:
        return None


def batches(files: Sequence[Path], most: int) -> Iterator[list[Path]]:
    """The files, in parts of so many bytes."""
    batch, size = list[Path](), 0
    for path in files:
        own = sources.size([path])
        if batch and size + own > most:
            yield batch
            batch, size = [], 0
        batch.append(path)
        size += own
    if batch:
        yield batch
