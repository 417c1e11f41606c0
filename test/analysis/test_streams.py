# SPDX-License-Identifier: Apache-2.0
"""What a command prints, and how it ends, if output is closed, full or of another encoding, if
memory or disk is short, and if locus itself has a fault. No traceback reaches a user."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import locus_analysis
import pytest
from locus_analysis import __main__ as program
from locus_analysis.card import summary
from locus_analysis.records import database, schema
from make_records import ONE, numa, record, run_id, write
from some import some

GOOD, CANNOT, BAD_INPUT, FAULT = 0, 1, 2, 70
COMMANDS = ("summary", "levels", "export", "validate", "compare", "report")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lines = record(ONE, numa(ONE, kernels=("sum",))[:4], run_id("a"), host="höst·7")
    return write(tmp_path_factory.mktemp("given") / "a.jsonl", lines)


def words(command: str, file: Path) -> list[str]:
    if command == "help":
        return ["report", "--help"]
    more = {"compare": [str(file)], "report": ["--force", "--output", str(file.parent / "page")]}
    return [command, *more.get(command, []), str(file)]


class Done:
    """What a command, run in this process, wrote to these streams, and its status."""

    def __init__(self, given: list[str], encoding: str = "utf-8", **streams: Any) -> None:
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2))
        with pytest.MonkeyPatch.context() as patch:
            for name, stream in {"stdout": out, "stderr": err, **streams}.items():
                patch.setattr(sys, name, stream)
            try:
                self.status = program.main(given)
            except SystemExit as left:
                self.status = int(left.code or 0)
            err.flush()
            out.flush()
        self.out = out.buffer.getvalue()
        self.err = err.buffer.getvalue().decode(encoding)

    @property
    def line(self) -> str:
        """The one line on standard error."""
        (line,) = self.err.splitlines()
        assert len(line) <= 100, line
        return line


ALL = [*COMMANDS, "help"]
LOST = dict.fromkeys(("compare", "sick", "history"), FAULT)  # their 1 is a finding


@pytest.fixture(scope="module")
def kept() -> dict[str, database.Records]:
    return {}


@pytest.fixture
def read_once(kept: dict[str, database.Records], monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of output alone: records are read once, but for `compare`, which adds to them."""
    read, tables = database.read, database.tables

    def reads(paths: Sequence[Path], **how: Any) -> database.Records:
        if how.get("values"):
            return read(paths, **how)
        key = repr((paths, how))
        if key not in kept:
            kept[key] = read(paths, **how)
            tables(kept[key], page=True)
        return replace(kept[key])

    monkeypatch.setattr(database, "read", reads)
    monkeypatch.setattr(database, "tables", lambda records, **_: records.db)


@pytest.mark.usefixtures("read_once")
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "euc-jp", "cp1252"])
@pytest.mark.parametrize("command", ALL)
def test_any_encoding_can_be_written(command: str, encoding: str, file: Path) -> None:
    done = Done(words(command, file), encoding)
    assert (done.status, done.err) == (GOOD, "") and done.out


def test_signs_have_stand_ins_of_one_column(file: Path) -> None:
    plain, full = (Done(["summary", str(file)], e).out.decode(e) for e in ("ascii", "utf-8"))
    assert plain.splitlines()[0].startswith("locus 0.1 - h?st-7 - ")
    assert [len(line) for line in plain.splitlines()] == [len(line) for line in full.splitlines()]


@pytest.mark.parametrize(
    "form", ["export --format jsonl", "export --format csv", "compare --format json"]
)
def test_data_are_utf_8_everywhere(form: str, file: Path) -> None:
    given = [*form.split(), *([str(file)] if "compare" in form else []), str(file)]
    done = Done(given, "ascii")
    assert done.status == GOOD and "höst·7" in done.out.decode("utf-8")


def test_the_name_of_a_file_is_written_as_it_is(file: Path, tmp_path: Path) -> None:
    """Even one that is not UTF-8, or that has a meaning in a link."""
    page, given = (os.fsencode(tmp_path) + name for name in (b"/\xff#%20.html", b"/\xff.jsonl"))
    Path(os.fsdecode(given)).write_bytes(file.read_bytes() + b"a flaw\n")
    words = ["report", "--pictures", "--output", os.fsdecode(page), os.fsdecode(given)]
    done = Done(words)
    note = f"{tmp_path}/\\xff.jsonl:{len(file.read_bytes().splitlines()) + 1}: is not JSON: "
    assert done.status == GOOD and done.err.startswith(f"locus: note: {note}")
    assert done.out.splitlines()[0] == page
    text = Path(os.fsdecode(page)).read_text(encoding="utf-8")
    assert 'href="%FF%23%2520-pictures/' in text and note in text


@pytest.mark.usefixtures("read_once")
@pytest.mark.parametrize("command", ALL)
def test_a_full_disk_is_one_line(command: str, file: Path) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = Done(words(command, file), stdout=full)
    assert done.status == LOST.get(command, CANNOT)
    assert done.line == "locus: standard output: No space left on device"


@pytest.mark.usefixtures("read_once")
@pytest.mark.parametrize("command", ALL)
def test_a_reader_that_has_ended_is_no_error(command: str, file: Path) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    with os.fdopen(writes, "w", encoding="utf-8") as closed:
        done = Done(words(command, file), stdout=closed)
    assert (done.status, done.err) == (128 + 13, "")


@pytest.mark.parametrize("command", ALL)
def test_what_is_closed_is_written_nowhere(command: str, file: Path) -> None:
    """Python has no object for a stream that is closed when it starts."""
    for name in ("stdin", "stderr"):
        closed: dict[str, Any] = {name: None}
        assert Done(words(command, file), **closed).status == GOOD, name
    done = Done(words(command, file), stdout=None)
    assert done.status == LOST.get(command, CANNOT)
    assert done.line == "locus: standard output: Bad file descriptor"


def test_what_nobody_reads_changes_no_status() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        assert Done(["summary", "/nonexistent"], stderr=full).status == BAD_INPUT


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", ">/dev/full", "2>/dev/full"])
def test_python_itself_ends_quietly(closed: str) -> None:
    """Python flushes at exit, and would change the status."""
    given = [sys.executable, "-m", "locus_analysis", "summary", "/nonexistent"]
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh", *given]
    done = subprocess.run(shell, capture_output=True, text=True, check=False)
    assert done.returncode == BAD_INPUT and len(done.stderr.splitlines()) == ("2" not in closed)


# ---- faults ----


@pytest.mark.parametrize("command", COMMANDS)
def test_a_fault_is_one_line_with_its_place(
    command: str,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def wrong(text: object) -> None:
        raise KeyError("a\nb")

    monkeypatch.setattr(schema, "parse", wrong)
    monkeypatch.delenv("LOCUS_TRACEBACK", raising=False)
    assert program.main(words(command, file)) == FAULT
    out, err = capsys.readouterr()
    (line,) = err.splitlines()
    assert out == "" and len(line) <= 100
    assert line.startswith("locus: a fault of locus (KeyError, test_streams.py:")
    assert line.endswith(": rerun with LOCUS_TRACEBACK=1 and report it")
    monkeypatch.setenv("LOCUS_TRACEBACK", "1")
    assert program.main(words(command, file)) == FAULT
    traceback = capsys.readouterr().err
    assert traceback.startswith("Traceback ") and traceback.endswith(line + "\n")


class Panic(BaseException):
    """As raised by libraries in Rust."""


SHORT = {
    "memory": (MemoryError(), FAULT, "not enough memory for these records: give fewer of them"),
    "memory of the database": (
        *(duckdb.OutOfMemoryException("Out of Memory Error: 1 GiB is used\nmore"), FAULT),
        "Out of Memory Error: 1 GiB is used",
    ),
    "room": (
        *(duckdb.IOException("IO Error: No space left on device"), FAULT),
        "IO Error: No space left on device",
    ),
    "threads": (
        *(RuntimeError("can't start new thread"), FAULT),
        "no more threads are allowed: raise ulimit -u, or pids.max",
    ),
    "a file": (OSError(28, "No space left", "/a/b"), CANNOT, "/a/b: No space left"),
    "a panic": (Panic(), FAULT, "a fault of locus (Panic, test_streams.py"),
}


@pytest.mark.parametrize("name", SHORT)
def test_what_is_short_is_named(
    name: str,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    error, status, line = SHORT[name]

    def fail(given: object) -> str:
        raise error

    monkeypatch.setattr(summary, "text", fail)
    assert program.main(["summary", str(file)]) == status
    assert capsys.readouterr().err.startswith(f"locus: {line}")


NO_MAP = "_duckdb.so: failed to map segment from shared object"


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (MemoryError(), "not enough memory for these records"),
        (ImportError(NO_MAP), "not enough memory for these records"),
        (OverflowError("timestamp too large"), "a fault of locus (OverflowError, test_streams.py"),
        (ModuleNotFoundError("No module", name="duckdb"), f"{sys.executable} lacks the module"),
    ],
)
def test_what_fails_while_modules_are_imported_is_told(
    error: Exception,
    line: str,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Finder:
        @staticmethod
        def find_spec(name: str, *_: object) -> None:
            if name == "locus_analysis.commands":
                raise error

    monkeypatch.delitem(sys.modules, "locus_analysis.commands")
    monkeypatch.delattr(locus_analysis, "commands")
    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    assert program.main(["summary", str(file)]) == FAULT
    assert capsys.readouterr().err.startswith(f"locus: {line}")


def test_little_memory_of_the_database_is_said(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(database, "MOST_MEMORY", "1MB")
    assert program.main(["summary", str(file)]) == FAULT
    (line,) = some(capsys.readouterr().err.splitlines())
    assert "emory" in line


def test_without_a_folder_for_temporary_files(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none(prefix: str) -> str:
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr("tempfile.mkdtemp", none)
    assert program.main(["summary", str(file)]) == CANNOT
    assert capsys.readouterr().err == (
        "locus: no folder for temporary files: No usable temporary directory found in ['/tmp'];"
        " set TMPDIR\n"
    )


def test_a_module_that_is_lacking_is_named(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lacking(given: object) -> str:
        raise ModuleNotFoundError("No module named 'duckdb'", name="duckdb")

    monkeypatch.setattr(summary, "text", lacking)
    home = Path(program.__file__).parents[1]
    pip, needs = "-m pip install -r", f"{home}/requirements.txt"
    venv = f"-m venv {home.parent}/venv && {home.parent}/venv/bin/pip install -r {needs}"
    own = "-m venv ~/locus-python && ~/locus-python/bin/pip install -r"
    for prefix, given, command in (
        ("/a/venv", "", f"{pip} {needs}"),
        (sys.base_prefix, "", venv),
        (
            sys.base_prefix,
            "/python",
            f"{own} {needs} && export LOCUS_PYTHON=~/locus-python/bin/python",
        ),
    ):
        monkeypatch.setattr(sys, "prefix", prefix)
        monkeypatch.setenv("LOCUS_PYTHON", given)
        assert program.main(["summary", str(file)]) == FAULT
        assert capsys.readouterr().err == (
            f"locus: {sys.executable} lacks the module duckdb; to install what it needs:\n"
            f"  {sys.executable} {command}\n"
        )


def test_records_are_read_after_all_this(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["export", "--format", "jsonl", str(file)]) == GOOD
    assert json.loads(some(capsys.readouterr().out.splitlines())[0])["host"] == "höst·7"
