# SPDX-License-Identifier: Apache-2.0
"""Files of records, and their lines: plain or compressed, in folders, from standard input. Each is
read once, a line at a time."""

from __future__ import annotations

import importlib
import io
import os
import re
import shlex
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, Optional

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

# Bytes of a line: more than 10,000 samples in full precision need, and still no burden.
LONGEST = 1 << 26
PIECE = 1 << 20  # bytes that are skipped at once
STANDARD_INPUT = Path("-")
SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.bz2", ".jsonl.xz", ".jsonl.zst")
_RECORD = (
    "a record, as --output of a benchmark wrote it, also compressed by gzip, bzip2, xz or zstd;"
)
_FOLDER = " or a folder of records (*.jsonl, also with .gz, .bz2, .xz, .zst)"
# The help of each command's FILE|DIR; of one that does not read standard input.
GIVEN, GIVEN_FILES = f"{_RECORD} - for standard input;{_FOLDER}", _RECORD + _FOLDER
CUT_OFF = "the last line was cut off, and is left out"
ESCAPED = re.compile(rb"\\x([89a-f][0-9a-f])")  # a byte in what name() returns
MARK = b"\xef\xbb\xbf"  # the byte order mark of UTF-8, which editors write, and `cat` puts anywhere


class BadInput(Exception):
    """The input is not a readable record; the text says which, where and why."""


class Unreadable(BadInput):
    """A file that is gone, or that the system does not let us read."""


class CannotWrite(Exception):
    """The text says what, and why."""


class Line(NamedTuple):
    """A line of a file: its text, or what is wrong with it."""

    number: int
    text: bytes
    flaw: Optional[str] = None


def find(paths: Sequence[Path], notes: list[str]) -> list[Path]:
    """The files, and those in folders (SUFFIXES, at any depth, by name); each once, even if it is
    given under several names. Adds to the notes what is in a folder but cannot be read."""
    found: dict[tuple[int, int], Path] = {}
    for path in paths:
        if path == STANDARD_INPUT:
            found.setdefault((-1, -1), path)
            continue
        try:
            if path.is_dir():
                for identity, file in _records_in(path, notes):
                    found.setdefault(identity, file)
            else:
                found.setdefault(_identity(path.stat()), path)
        except OSError as error:
            raise unreadable(path, error) from error
    return list(found.values())


def size(files: Sequence[Path]) -> int:
    """The bytes of all files that are there; 0 if one can be read only once."""
    total = 0
    for path in files:
        if path == STANDARD_INPUT:
            return 0
        with suppress(OSError):
            total += path.stat().st_size
    return total


def name(path: Path) -> str:
    """As text: bytes that are not UTF-8 as in records (`\\xHH`)."""
    if path == STANDARD_INPUT:
        return "standard input"
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def named(text: str) -> Path:
    """The file of which name() is this text."""
    path = Path(text)
    if "\\x" not in text or path.exists():
        return path
    return Path(os.fsdecode(ESCAPED.sub(lambda m: bytes([int(m[1], 16)]), os.fsencode(text))))


def lines(path: Path) -> Iterator[Line]:
    """Every line. Raises BadInput for a file that has none, or cannot be read."""
    number = 0
    try:
        with _opened(path) as file:
            while text := file.readline(LONGEST):
                number += 1
                if text.endswith(b"\n"):
                    yield Line(number, text.removeprefix(MARK))
                elif len(text) < LONGEST:
                    if number == 1:
                        raise BadInput(
                            f"{name(path)}: holds no whole line: its run was cut off at once,"
                            " its line feeds (LF) are lost, or it is no record"
                        )
                    yield Line(number, b"", CUT_OFF)
                else:
                    _pass_over(file)
                    yield Line(
                        number,
                        b"",
                        f"longer than {LONGEST >> 20} MiB: not a line of a record",
                    )
    except _Damaged as error:
        yield Line(number + 1, b"", f"the compressed data {error}: nothing is read from here on")
        number += 1
    except OSError as error:
        raise unreadable(path, error) from error
    if number == 0:
        raise BadInput(f"{name(path)}: is empty: its run did not start, or could not write")


def _records_in(folder: Path, notes: list[str]) -> list[tuple[tuple[int, int], Path]]:
    found, told = [], len(notes)
    for file in sorted(folder.rglob("*")):
        if not file.name.endswith(SUFFIXES):
            continue
        try:
            status = file.stat()
        except OSError as error:  # a link to nothing
            notes.append(str(unreadable(file, error)))
            continue
        if stat.S_ISREG(status.st_mode):
            found.append((_identity(status), file))
        elif not stat.S_ISDIR(status.st_mode):
            notes.append(f"{name(file)}: is a pipe or device: left out")
    if not found:
        raise BadInput(
            f"{folder}: holds no records (files *.jsonl, or *.jsonl.gz, .bz2, .xz, .zst)"
            if len(notes) == told
            else notes[told]
        )
    return found


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def unreadable(path: Path, error: OSError) -> Unreadable:
    return Unreadable(f"{name(path)}: cannot be read: {error.strerror or error}")


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    if path == STANDARD_INPUT:
        yield _plain(path, sys.stdin.buffer)
        return
    with path.open("rb") as file:
        yield _plain(path, file)


# ---- what is not plain ----


@dataclass(frozen=True)
class _Encoding:
    """Recognised by the first bytes, since a pipe has no name. `decode`: the command that makes it
    plain. `reader`: raises ImportError where this Python has none."""

    magic: bytes
    name: str
    decode: str
    reader: Optional[Callable[[IO[bytes]], io.BufferedIOBase]] = None


class _Damaged(Exception):
    """What happened to compressed data."""


class _Decoded(io.RawIOBase):
    """Any error of a decoder is a flaw of the data, but not one of the file beneath."""

    def __init__(self, file: io.BufferedIOBase) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        room = memoryview(buffer)
        try:
            piece = self._file.read(len(room))
        except EOFError as error:
            raise _Damaged("were cut off") from error
        except Exception as error:
            if isinstance(error, OSError) and error.errno:
                raise
            raise _Damaged(f"are damaged ({error})") from error
        room[: len(piece)] = piece
        return len(piece)


def _gzip(file: IO[bytes]) -> io.BufferedIOBase:
    import gzip

    return gzip.GzipFile(fileobj=file)


def _xz(file: IO[bytes]) -> io.BufferedIOBase:
    import lzma  # which a Python may have been built without

    return lzma.LZMAFile(file)


def _bzip2(file: IO[bytes]) -> io.BufferedIOBase:
    import bz2

    return bz2.BZ2File(file)


def _zstd(file: IO[bytes]) -> io.BufferedIOBase:
    """Python has it since 3.14; before, a package may be there. Not zstandard, which says nothing
    of data that were cut off."""
    for module in ("compression.zstd", "backports.zstd"):
        with suppress(ImportError):
            return _zstd_of(module, file)
    return _zstd_of("pyzstd", file)


def _zstd_of(module: str, file: IO[bytes]) -> io.BufferedIOBase:
    found: io.BufferedIOBase = importlib.import_module(module).ZstdFile(file)
    return found


ENCODINGS = (
    _Encoding(b"\x1f\x8b", "compressed by gzip", "gzip -dc", _gzip),
    _Encoding(b"\xfd7zXZ\0", "compressed by xz", "xz -dc", _xz),
    _Encoding(b"\x5d\0\0", "compressed by lzma", "xz -dc", _xz),
    _Encoding(b"\x28\xb5\x2f\xfd", "compressed by zstd", "zstd -dc", _zstd),
    _Encoding(b"BZh", "compressed by bzip2", "bzip2 -dc", _bzip2),
    _Encoding(b"\x04\x22\x4d\x18", "compressed by lz4", "lz4 -dc"),
    _Encoding(b"PK\3\4", "a zip archive", "unzip -p"),
    _Encoding(b"\xff\xfe", "UTF-16", "iconv -f UTF-16 -t UTF-8"),
    _Encoding(b"\xfe\xff", "UTF-16", "iconv -f UTF-16 -t UTF-8"),
)


def _plain(path: Path, file: IO[bytes]) -> IO[bytes]:
    assert isinstance(file, io.BufferedReader)
    begin = file.peek(max(len(e.magic) for e in ENCODINGS))
    found = next((e for e in ENCODINGS if begin.startswith(e.magic)), None)
    if not found:
        return file
    try:
        if found.reader:
            return io.BufferedReader(_Decoded(found.reader(file)))
    except ImportError:
        pass
    command = found.decode if path == STANDARD_INPUT else f"{found.decode} {shlex.quote(str(path))}"
    raise BadInput(
        f"{name(path)}: is {found.name}, which this Python does not read: {command}"
        " | locus COMMAND -"
    )


def _pass_over(file: IO[bytes]) -> None:
    """Skips the rest of a line."""
    while (piece := file.readline(PIECE)) and not piece.endswith(b"\n"):
        pass
