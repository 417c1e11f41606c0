# SPDX-License-Identifier: Apache-2.0
"""The files of the report: which are overwritten, their places, full disks, impossible output."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from locus_analysis import __main__ as program
from locus_analysis.base.folders import PACKAGE
from locus_analysis.page import report
from locus_analysis.records import database
from make_records import (
    ONE,
    Point,
    numa,
    record,
    run_id,
    write,
)
from pages import names

GOOD, CANNOT, BAD_INPUT = 0, 1, 2


def test_nothing_is_overwritten_unless_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "a.jsonl", record(ONE, numa(ONE)[:2], run_id("a")))
    page = tmp_path / "report.html"
    page.write_text("mine")
    assert program.main(["report", str(path)]) == CANNOT
    assert f"{page}: exists" in capsys.readouterr().err
    assert page.read_text() == "mine" and names(tmp_path) == ["a.jsonl", "report.html"]
    assert program.main(["report", "--pictures", "--force", str(path)]) == GOOD
    assert program.main(["report", "--pictures", "--force", str(path)]) == GOOD
    assert names(tmp_path) == ["a.jsonl", "report-pictures", "report.html"]


def test_force_removes_only_what_a_former_report_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = write(tmp_path / "a.jsonl", record(ONE, numa(ONE)[:2], run_id("a")))
    points = [
        Point("dummy", "fixed", {"delay": n}, 1, seconds=0.001 * n, unit="call", bind="close")
        for n in (1, 2)
    ]
    second = write(tmp_path / "b.jsonl", record(ONE, points, run_id("b")))
    assert program.main(["report", "--pictures", str(first)]) == GOOD
    pictures = tmp_path / "report-pictures"
    (pictures / "mine").mkdir()
    (pictures / "mine" / "notes.txt").write_text("mine")
    (pictures / "mine.png").write_text("mine")
    assert program.main(["report", "--pictures", "--force", str(second)]) == GOOD
    assert (pictures / "mine" / "notes.txt").read_text() == "mine"
    assert (pictures / "mine.png").read_text() == "mine"
    assert not (pictures / "numa.svg").exists() and (pictures / "dummy.svg").exists()
    assert program.main(["report", "--force", str(second)]) == GOOD
    assert names(pictures) == ["mine", "mine.png"]
    assert program.main(["report", "--force", str(second)]) == GOOD  # no other file was requested
    (pictures / "dummy.svg").write_text("mine")
    words = ["report", "--pictures", "--force", str(second)]
    assert program.main(words) == CANNOT
    assert f"{pictures}/dummy.svg: was not made" in capsys.readouterr().err
    (pictures / "dummy.svg").unlink()
    assert program.main(words) == GOOD

    (tmp_path / "report.html").write_text("mine")
    before = (pictures / "dummy.svg").read_bytes()
    assert program.main(["report", "--pictures", "--force", str(second)]) == CANNOT
    assert f"{pictures}/dummy." in capsys.readouterr().err
    assert (pictures / "dummy.svg").read_bytes() == before
    assert (tmp_path / "report.html").read_text() == "mine"


def test_output_may_be_a_page_or_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "a.jsonl", record(ONE, numa(ONE)[:2], run_id("a")))
    assert program.main(["report", str(path), "--output", str(tmp_path / "x/b.html")]) == GOOD
    assert program.main(["report", str(path), "--output", str(tmp_path / "y")]) == GOOD
    assert names(tmp_path / "x") == ["b.html"] and names(tmp_path / "y") == ["report.html"]
    assert capsys.readouterr().out.splitlines()[0] == str(tmp_path / "x/b.html")
    (tmp_path / "z.html").mkdir()
    assert (
        program.main(["report", str(path), "--force", "--output", str(tmp_path / "z.html")])
        == CANNOT
    )


def test_the_page_is_there_before_its_files(tmp_path: Path) -> None:
    """The page waits for none of them, and is removed if they cannot be written."""
    path = write(tmp_path / "a.jsonl", record(ONE, numa(ONE)[:2], run_id("a")))
    page, pictures = tmp_path / "report.html", tmp_path / "report-pictures"
    page.write_text("mine")
    written = report.write(database.read([path]), page, force=True, files=True)
    assert next(written) == page and page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert not pictures.exists()
    written.close()
    assert page.read_text() == "mine" and names(tmp_path) == ["a.jsonl", "report.html"]
    written = report.write(database.read([path]), page, force=True, files=True)
    assert list(written) == [page, pictures] and page.read_text(encoding="utf-8") != "mine"


@pytest.mark.parametrize("what", ["write_text", "rename"])
def test_a_full_disk_leaves_nothing_behind(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "a.jsonl", record(ONE, numa(ONE)[:2], run_id("a")))

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, what, full)
    assert program.main(["report", "--pictures", str(path)]) == CANNOT
    assert "No space left on device" in capsys.readouterr().err
    assert names(tmp_path) == ["a.jsonl"]


def test_a_file_that_another_process_cannot_write_leaves_nothing_behind(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", record(ONE, numa(ONE)[:2], run_id("a")))
    most = 24 << 10  # bytes: a PNG has more
    done = subprocess.run(
        [sys.executable, "-m", "locus_analysis", "report", "--pictures", str(path)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == CANNOT
    assert "report.html: cannot be written: File too large" in done.stderr
    assert names(tmp_path) == ["a.jsonl"]


def test_an_output_that_cannot_be_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "a.jsonl", record(ONE, numa(ONE)[:2], run_id("a")))
    assert program.main(["report", str(path), "--output", str(path / "below.html")]) == CANNOT
    assert "cannot be written" in capsys.readouterr().err


def test_bad_input_makes_no_report(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("no record\n")
    assert program.main(["report", str(tmp_path / "a.jsonl")]) == BAD_INPUT
    assert names(tmp_path) == ["a.jsonl"]


def test_it_runs_as_a_module(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", record(ONE, numa(ONE)[:1], run_id("a")))
    package = PACKAGE.parent
    run = [sys.executable, "-m", "locus_analysis"]
    done = subprocess.run(
        [*run, "validate", str(path)], cwd=package, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (GOOD, "")
    done = subprocess.run(run, cwd=package, capture_output=True, text=True, check=False)
    assert done.returncode == BAD_INPUT and "required: COMMAND; locus --help" in done.stderr
