# SPDX-License-Identifier: Apache-2.0
"""Files of records, and their lines: plain or gzip, in folders, from standard input. Each is read
once, a line at a time."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Optional

# Bytes of a line: more than 10,000 samples in full precision need, and still no burden.
LONGEST = 1 << 26
PIECE = 1 << 20  # bytes that are skipped at once
STANDARD_INPUT = Path("-")
SUFFIXES = (".jsonl", ".jsonl.gz")
GIVEN = (
    "a record, as --output of a benchmark wrote it, also compressed by gzip; - for standard input;"
    " or a folder of records (*.jsonl, *.jsonl.gz)"
)  # the help of each command's FILE|DIR
GZIP = b"\x1f\x8b"


class BadInput(Exception):
    """The input is not a readable record; the text says which, where and why."""


class CannotWrite(Exception):
    """The text says what, and why."""


@dataclass(frozen=True)
class Line:
    """A line of a file: its text, or what is wrong with it."""

    number: int
    text: bytes
    flaw: Optional[str] = None


def find(paths: Sequence[Path]) -> list[Path]:
    """The files, and those in folders (`*.jsonl`, `*.jsonl.gz`, at any depth, by name); each once,
    even if it is given under several names."""
    found: dict[tuple[int, int], Path] = {}
    for path in paths:
        if path == STANDARD_INPUT:
            found.setdefault((-1, -1), path)
            continue
        try:
            if path.is_dir():
                for file in _records_in(path):
                    found.setdefault(_identity(file), file)
            else:
                found.setdefault(_identity(path), path)
        except OSError as error:
            raise _unreadable(path, error) from error
    return list(found.values())


def name(path: Path) -> str:
    return "standard input" if path == STANDARD_INPUT else str(path)


def lines(path: Path) -> Iterator[Line]:
    """Every line. Raises BadInput for a file that has none, or cannot be read."""
    number = 0
    try:
        with _opened(path) as file:
            while text := file.readline(LONGEST):
                number += 1
                if text.endswith(b"\n"):
                    yield Line(number, text)
                elif len(text) < LONGEST:
                    if number == 1:
                        raise BadInput(
                            f"{name(path)}: holds no whole line: its run was cut off at once, or"
                            " it is no record"
                        )
                    yield Line(number, b"", "the last line was cut off, and is left out")
                else:
                    _pass_over(file)
                    yield Line(
                        number,
                        b"",
                        f"longer than {LONGEST >> 20} MiB: not a line of a record",
                    )
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        cut = isinstance(error, EOFError)
        what = "were cut off" if cut else f"are damaged ({error})"
        yield Line(number + 1, b"", f"the compressed data {what}: nothing is read from here on")
        number += 1
    except OSError as error:
        raise _unreadable(path, error) from error
    if number == 0:
        raise BadInput(f"{name(path)}: is empty: the run that should have written it did not start")


def _records_in(folder: Path) -> list[Path]:
    found = [file for file in sorted(folder.rglob("*")) if file.name.endswith(SUFFIXES)]
    if not found:
        raise BadInput(
            f"{folder}: holds no records (files {' or '.join('*' + s for s in SUFFIXES)})"
        )
    return found


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def _unreadable(path: Path, error: OSError) -> BadInput:
    return BadInput(f"{name(path)}: cannot be read: {error.strerror or error}")


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """Compression is recognised by the first bytes: a pipe has no name."""
    if path == STANDARD_INPUT:
        yield _plain(sys.stdin.buffer)
        return
    with path.open("rb") as file:
        yield _plain(file)


def _plain(file: IO[bytes]) -> IO[bytes]:
    assert isinstance(file, io.BufferedReader)
    if file.peek(len(GZIP)).startswith(GZIP):
        return io.BufferedReader(gzip.GzipFile(fileobj=file))
    return file


def _pass_over(file: IO[bytes]) -> None:
    """Skips the rest of a line."""
    while (piece := file.readline(PIECE)) and not piece.endswith(b"\n"):
        pass
