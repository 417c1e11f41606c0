# SPDX-License-Identifier: Apache-2.0
"""The command that draws doc/gallery.md's pictures."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from locus_analysis import __main__ as program
from make_records import ONE, latency, record, run_id, write
from some import some

DOC = Path(__file__).parents[2] / "doc"
LOCUS = os.environ.get("LOCUS", "locus")


def drawn(folder: Path, *records: Path) -> subprocess.CompletedProcess[str]:
    """Beside copies of the script and of the page, which says what is drawn."""
    (folder / "gallery").mkdir()
    for name in ("make-gallery", "gallery.md"):
        shutil.copy(DOC / name, folder)
    return subprocess.run(
        [folder / "make-gallery", *records],
        env={**os.environ, "LOCUS": str(LOCUS)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_pictures_are_of_anonymous_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    points = [p for p in latency(ONE) if p.variant == "cycle"]
    named = write(tmp_path / "named.jsonl", record(ONE, points, run_id("a")))
    assert program.main(["export", "--anonymous", str(named)]) == 0
    sent = tmp_path / "sent.jsonl"
    sent.write_text(capsys.readouterr().out)
    done = drawn(tmp_path, sent)
    assert done.returncode == 0, done.stderr
    assert sorted(file.name for file in (tmp_path / "gallery").iterdir()) == [
        "latency.svg",
        "machine.svg",
    ]
    (tmp_path / "other").mkdir()
    refused = drawn(tmp_path / "other", named)
    assert refused.returncode == 2 and "is not anonymous" in refused.stderr


def test_the_page_has_the_pictures_that_are_kept() -> None:
    kept = {file.name for file in some([*(DOC / "gallery").iterdir()])}
    page = (DOC / "gallery.md").read_text(encoding="utf-8")
    assert kept == {word.partition(")")[0] for word in page.split("(gallery/")[1:]}
    for file in (DOC / "gallery").iterdir():
        assert file.stat().st_size < 40000
