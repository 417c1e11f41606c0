# SPDX-License-Identifier: Apache-2.0
"""Files of records: copies, folders, compressed files, standard input, and faults in them."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
import types
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Optional

import pytest
from locus_analysis import __main__ as program
from locus_analysis.records import database
from make_records import run_id, write
from test_records import BAD_INPUT, count, flaws, machine_record


@pytest.mark.parametrize("order", [("cut.jsonl", "whole.jsonl"), ("whole.jsonl", "cut.jsonl")])
def test_of_two_copies_the_whole_one_counts(tmp_path: Path, order: tuple[str, str]) -> None:
    lines = machine_record("one")
    write(tmp_path / "whole.jsonl", lines)
    write(tmp_path / "cut.jsonl", lines[: len(lines) // 2])
    given = database.read([tmp_path / name for name in order])
    assert count(given) == len(lines)
    assert given.notes == [
        f"{tmp_path}/cut.jsonl: run {run_id('one')} is in {tmp_path}/whole.jsonl, too: the most"
        " complete copy counts"
    ]


def test_a_run_that_is_twice_in_a_file_counts_once(tmp_path: Path) -> None:
    lines = machine_record("one")
    path = write(tmp_path / "a.jsonl", lines[:5] + lines)
    given = database.read([path])
    assert count(given) == len(lines)
    assert "is there twice" in given.notes[0]


def test_files_folders_and_compressed_ones_are_read_once_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "results"
    (folder / "deep").mkdir(parents=True)
    one, two = machine_record("one"), machine_record("two")
    plain = write(folder / "a.jsonl", one)
    packed = folder / "deep" / "b.jsonl.gz"
    packed.write_bytes(gzip.compress(write(tmp_path / "two", two).read_bytes()))
    (folder / "notes.txt").write_text("no record")
    (tmp_path / "link.jsonl").symlink_to(plain)
    opened: list[str] = []
    first = Path.open

    def noted(path: Path, *mode: Any, **named: Any) -> Any:
        opened.append(path.name)
        return first(path, *mode, **named)

    monkeypatch.setattr(Path, "open", noted)
    given = database.read([folder, plain, tmp_path / "link.jsonl", folder / "deep"])
    assert opened == ["a.jsonl", "b.jsonl.gz"]
    assert count(given) == len(one) + len(two) and given.notes == []


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
    "lzma": partial(lzma.compress, format=lzma.FORMAT_ALONE),  # its older format
}


@pytest.mark.parametrize("name", COMPRESS)
def test_a_folder_may_hold_compressed_records(name: str, tmp_path: Path) -> None:
    ending = {"gzip": "gz", "bzip2": "bz2"}.get(name, "xz")
    lines = machine_record("one")
    plain = write(tmp_path / "a", lines)
    (tmp_path / f"a.jsonl.{ending}").write_bytes(COMPRESS[name](plain.read_bytes()))
    assert count(database.read([tmp_path])) == len(lines)


# Formats recognised by their first bytes, and the commands that decompress them.
MADE_PLAIN = {
    "zstd": (b"\x28\xb5\x2f\xfd", "is compressed by zstd", "zstd -dc"),
    "lz4": (b"\x04\x22\x4d\x18", "is compressed by lz4", "lz4 -dc"),
    "zip": (b"PK\x03\x04", "is a zip archive", "unzip -p"),
    "Windows": ("\ufeff{}".encode("utf-16-le"), "is UTF-16", "iconv -f UTF-16 -t UTF-8"),
}


@pytest.mark.parametrize("name", MADE_PLAIN)
@pytest.mark.parametrize("command", ["validate", "summary"])
def test_what_is_not_read_here_is_named_with_the_command_that_makes_it_plain(
    name: str,
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for module in ("compression.zstd", "backports.zstd", "pyzstd"):
        monkeypatch.setitem(sys.modules, module, None)  # import fails
    begin, what, decode = MADE_PLAIN[name]
    path = tmp_path / "a b"
    path.write_bytes(begin + bytes(range(256)) * 20)
    assert program.main([command, str(path)]) == BAD_INPUT
    assert capsys.readouterr().err == (
        f"locus: {path}: {what}, which this Python does not read: {decode} '{path}' | locus"
        " COMMAND -\n"
    )


def test_zstd_is_read_where_a_module_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the class of Python 3.14, which raises EOFError for truncated data."""

    class ZstdFile(io.BytesIO):
        def __init__(self, file: Any) -> None:
            super().__init__(file.read()[4:])

        def read(self, size: Optional[int] = -1, /) -> bytes:
            got = super().read(size)
            if not got:
                raise EOFError
            return got

    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    monkeypatch.setitem(sys.modules, "backports.zstd", types.SimpleNamespace(ZstdFile=ZstdFile))
    lines = machine_record("one")
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd" + write(tmp_path / "plain", lines).read_bytes())
    given = database.read([tmp_path])
    assert count(given) == len(lines)
    assert given.notes == [
        f"{path}:{len(lines) + 1}: the compressed data were cut off: nothing is read from here on"
    ]


def test_a_byte_order_mark_costs_nothing(tmp_path: Path) -> None:
    """Editors write it, and `cat` may put it in the middle of a file. RFC 8259 lets a reader ignore
    it."""
    one, two = machine_record("one"), machine_record("two")
    mark = "\ufeff".encode()
    path = tmp_path / "a.jsonl"
    texts = [write(tmp_path / str(i), lines).read_bytes() for i, lines in enumerate((one, two))]
    path.write_bytes(b"".join(mark + text for text in texts))
    given = database.read([path])
    assert count(given) == len(one) + len(two) and given.notes == [] == flaws(path)


def test_standard_input_is_read(tmp_path: Path) -> None:
    lines = machine_record("one")
    text = write(tmp_path / "a.jsonl", lines).read_bytes()
    for given in (text, *(compress(text) for compress in COMPRESS.values())):
        told = subprocess.run(
            [sys.executable, "-m", "locus_analysis", "validate", "-"],
            input=given,
            capture_output=True,
            check=True,
        )
        assert told.stdout.decode() == f"1 file, {len(lines)} lines, all as locus-record-1 says\n"


def test_compressed_data_may_end_early(tmp_path: Path) -> None:
    lines = machine_record("one")
    whole = gzip.compress(write(tmp_path / "a.jsonl", lines).read_bytes())
    path = tmp_path / "b.jsonl.gz"
    path.write_bytes(whole[: len(whole) // 2])
    given = database.read([path])
    assert 0 < count(given) < len(lines)
    assert given.notes == [
        f"{path}:{count(given) + 1}: the compressed data were cut off: nothing is read from here on"
    ]
    path.write_bytes(whole[:20])
    with pytest.raises(database.BadInput, match="the compressed data were cut off"):
        database.read([path])
    path.write_bytes(whole[:1000] + bytes(100) + whole[1100:])
    (*_, flaw) = flaws(path)
    assert "the compressed data" in flaw


def test_a_bad_line_costs_that_line(tmp_path: Path) -> None:
    lines = machine_record("one")
    path = write(tmp_path / "a.jsonl", lines)
    text = path.read_bytes().splitlines(keepends=True)
    text[3], text[5] = b"\xff\xfe\n", b'{"type": "end"}\n'
    path.write_bytes(b"".join(text))
    given = database.read([path])
    assert count(given) == len(lines) - 2
    assert [note.partition(": ")[0] for note in given.notes] == [
        f"{path}:4",
        f"{path}:6",
    ]


def test_many_bad_lines_are_counted(tmp_path: Path) -> None:
    lines = machine_record("one")
    path = write(tmp_path / "a.jsonl", lines)
    path.write_bytes(path.read_bytes() + b"noise\n" * 1000)
    given = database.read([path])
    assert count(given) == len(lines) and len(given.notes) == 4
    assert given.notes[-1] == f"{path}: 997 more lines like these are left out"


def test_a_file_that_is_no_record_spoils_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "a.jsonl", machine_record("one"))
    (tmp_path / "b.jsonl").write_bytes(bytes(range(256)) * 10_000)
    (tmp_path / "c.jsonl").write_bytes(b"")
    (tmp_path / "d.jsonl").write_bytes(b"noise\n" * 100_000)
    given = database.read([tmp_path])
    assert count(given) == len(machine_record("one"))
    assert [note.partition(": ")[0] for note in given.notes] == [
        f"{tmp_path}/b.jsonl:1",
        f"{tmp_path}/c.jsonl",
        f"{tmp_path}/d.jsonl:1",
    ]
    path.unlink()
    assert program.main(["levels", str(tmp_path)]) == BAD_INPUT
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("command", ["summary", "levels", "validate", "aggregate --into store"])
def test_what_cannot_be_read_in_a_folder_spoils_no_other(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    """A link to nothing once refused the whole folder, and a pipe was waited for."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "results"
    folder.mkdir()
    write(folder / "a.jsonl", machine_record("one"))
    (folder / "gone.jsonl").symlink_to(tmp_path / "nothing")
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "runs.jsonl").mkdir()
    status = program.main([*command.split(), str(folder)])
    err = capsys.readouterr().err
    assert status == (BAD_INPUT if command == "validate" else 0)
    assert f"{folder}/gone.jsonl: cannot be read: No such file or directory" in err
    assert f"{folder}/pipe.jsonl: is a pipe or device: left out" in err
    assert "runs.jsonl" not in err
    (folder / "a.jsonl").unlink()
    assert program.main([*command.split(), str(folder)]) == BAD_INPUT
    assert f"{folder}/gone.jsonl: cannot be read" in capsys.readouterr().err
