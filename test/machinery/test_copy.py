# SPDX-License-Identifier: Apache-2.0
"""A checkout that was copied with its build folder tests and runs its own files, not those it
was copied from."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest
from elsewhere import OF_MAKE

BUILD = pathlib.Path(os.environ.get("BUILD", "."))
SOURCE = pathlib.Path(__file__).parents[2]
PROBE = "#!/bin/sh\necho 1..1\necho ok 1 - $LOCUS $BUILD $TARBALL\n"


def copy(folder, to, own):
    """Makes a folder of links to the entries of another one; entries named in `own` are copied."""
    to.mkdir()
    for entry in folder.iterdir():
        if entry.name in own and entry.is_dir() and not entry.is_symlink():
            shutil.copytree(entry, to / entry.name)
        elif entry.name in own:
            shutil.copy2(entry, to / entry.name, follow_symlinks=False)
        elif entry.name not in ("build", "test"):
            (to / entry.name).symlink_to(entry)


@pytest.fixture
def copied(tmp_path):
    if not re.search(r"^srcdir = \.\.$", (BUILD / "Makefile").read_text(encoding="utf-8"), re.M):
        pytest.skip(
            "this build is not in a folder of its source tree: it does not go with a copy of that"
        )
    tree = tmp_path / "copy"
    copy(SOURCE, tree, ["analysis"])
    copy(SOURCE / "test", tree / "test", [])
    copy(BUILD, tree / "build", ["Makefile", "locus", "analysis"])
    copy(BUILD / "test", tree / "build/test", [])
    return tree


def test_its_own_program_is_tested(copied):
    probe = copied / "test/probe.test"
    probe.write_text(PROBE)
    probe.chmod(0o755)
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in (*OF_MAKE, "LANE", "RESULTS")
    }
    command = [
        environment.get("MAKE", "make"),
        "-C",
        copied / "build",
        "check-TESTS",
        "TESTS=test/probe.test",
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stdout + done.stderr
    told = (copied / "build/test/probe.log").read_text()
    assert f"ok 1 - {copied}/build/locus {copied}/build {copied}/build/locus-" in told, told


def test_its_own_analysis_is_run(copied):
    python = copied / "python"
    python.write_text('#!/bin/sh\necho "$4"\n')
    python.chmod(0o755)
    command = [copied / "build/locus", "report", "x.jsonl"]
    told = subprocess.run(
        command, env={"LOCUS_PYTHON": python}, capture_output=True, text=True, timeout=180
    ).stdout
    assert pathlib.Path(told.strip()).resolve() == (copied / "analysis").resolve(), told
