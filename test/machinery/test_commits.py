# SPDX-License-Identifier: Apache-2.0
"""test/commits holds messages of commits to what CONTRIBUTING.md says."""

import pathlib
import shutil
import subprocess
import sys

import pytest
from lacking import lacking

COMMITS = pathlib.Path(__file__).parents[1] / "commits"
LONG = "numa: " + "x" * 67


@pytest.fixture
def clone(tmp_path):
    """clone(message, file): commits that file; returns the status and lines of the check."""
    if not shutil.which("git"):
        lacking("git", "a package")

    def git(*arguments):
        user = ["-c", "user.name=A", "-c", "user.email=a@b"]
        subprocess.run(["git", *user, *arguments], cwd=tmp_path, check=True, capture_output=True)

    def commit(message, file):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        with (tmp_path / file).open("a") as out:
            out.write("line\n")
        git("add", ".")
        git("commit", "-m", message)
        done = subprocess.run(
            [sys.executable, COMMITS, tmp_path], capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout.splitlines()

    git("init", "-b", "main")
    assert commit("No area, no body, and it comes before the check.", "src/a.c")[0] == 0
    assert commit("Brings the check.", "test/commits")[0] == 0
    return commit


@pytest.mark.parametrize(
    ("message", "file"),
    [
        ("numa, latency: nodes without CPUs\n\nThey were counted.", "src/a.c"),
        ("test/arrows: one comment", "test/arrows"),
        ("numa: " + "x" * 66, "doc/design.md"),
    ],
)
def test_right(clone, message, file):
    assert clone(message, file) == (0, [""])


@pytest.mark.parametrize(
    ("message", "file", "fault"),
    [
        (LONG, "doc/design.md", "the subject has 73 columns, more than 72"),
        ("Numa counts nodes", "test/a.c", "the subject is not `area: what`"),
        ("Numa: counts nodes", "test/a.c", "the subject is not `area: what`"),
        ("numa: counts nodes.", "test/a.c", "the subject is not `area: what`"),
        ("numa: counts nodes", "src/a.c", "no body says why"),
    ],
)
def test_wrong(clone, message, file, fault):
    status, (line,) = clone(message, file)
    assert status == 1 and f"{message!r}: {fault}" in line


def test_all_later_commits_are_checked(clone):
    clone(LONG, "doc/a")
    status, lines = clone("numa: nodes\n\nThey count.", "src/a.c")
    assert status == 1 and len(lines) == 1
