# SPDX-License-Identifier: Apache-2.0
"""test/mutants: its edits apply to the sources as they are, and it tells tests that see a fault
from tests that do not."""

import importlib.machinery
import os
import pathlib
import shutil
import subprocess
import sys
import types

import pytest
from elsewhere import OF_MAKE
from some import some

ROOT = pathlib.Path(__file__).parents[2]
EDITS = """# A comment.

lost: the sum lacks its first number
in sum.sh
 sum=0
-for x; do
+shift; for x; do
by test/sum.test

kept: nothing changes
in sum.sh
-sum=0
+sum=00
by test/sum.test

unseen: the sum is not printed
in sum.sh
-echo $sum
+echo
by test/other.test
"""


@pytest.fixture
def plant():
    path = str(ROOT / "test/mutants/plant")
    loader = importlib.machinery.SourceFileLoader("mutants_plant", path)
    module = types.ModuleType("mutants_plant")
    module.__file__ = path
    sys.modules["mutants_plant"] = module  # for its types
    loader.exec_module(module)
    return module


def test_each_edit_applies(plant):
    edits = some(plant.every_edit())
    names = [edit.name for edit in edits]
    assert len(names) == len(set(names))
    for edit in edits:
        assert edit.changed(ROOT) != (ROOT / edit.file).read_text(encoding="utf-8")


def test_each_names_tests_that_exist(plant):
    for edit in some(plant.every_edit()):
        for test in some(edit.tests):
            file = test.partition("::")[0] + (".c" if test.startswith("test/unit/") else "")
            assert test.startswith("locus ") or (ROOT / file).exists(), f"{edit.name}: {test}"


def test_an_edit_is_read(plant):
    lost, kept, unseen = plant.read(EDITS)
    assert lost.name == "lost" and lost.file == "sum.sh" and lost.tests == ["test/sum.test"]
    assert lost.before == "sum=0\nfor x; do\n" and lost.after == "sum=0\nshift; for x; do\n"
    assert kept.before == "sum=0\n" and unseen.after == "echo\n"


def test_text_that_is_not_there_once_is_an_error(plant, tmp_path):
    lost = next(iter(plant.read(EDITS)))
    (tmp_path / "sum.sh").write_text("sum=0\nfor x; do\n" * 2, encoding="utf-8")
    with pytest.raises(ValueError, match="lost: its text is not in"):
        lost.changed(tmp_path)
    with pytest.raises(ValueError, match="lost"):
        lost.changed(tmp_path / "nowhere")


CONFIGURE = """#!/bin/sh
cd "$(dirname "$0")" && source=$PWD && cd - >/dev/null
echo "source = $source" >Makefile
cat "$source/rules" >>Makefile
touch config.status
"""
# As test/driver prints it.
RULES = """check locus:
	@true
check-TESTS:
	@if sh $(source)/$(TESTS) $(source); then \\
		echo "ok    $(TESTS)     1 tests"; else echo "FAIL  $(TESTS)     1 tests"; fi
"""
SUM = "sum=0\nfor x; do\n\tsum=$((sum + x))\ndone\necho $sum\n"


@pytest.fixture
def package(tmp_path):
    """A folder of sources with edits, and what `plant NAME...` ends with and prints there."""
    source = tmp_path / "source"
    mutants = source / "test/mutants"
    mutants.mkdir(parents=True)
    (tmp_path / "build").mkdir()
    shutil.copy2(ROOT / "test/mutants/plant", mutants)
    (mutants / "some.edits").write_text(EDITS, encoding="utf-8")
    for name, text in (
        ("configure", CONFIGURE),
        ("rules", RULES),
        ("sum.sh", SUM),
        ("test/sum.test", 'test "$(sh $1/sum.sh 1 2)" = 3\n'),
        ("test/other.test", "true\n"),
    ):
        (source / name).write_text(text, encoding="utf-8")
    (source / "configure").chmod(0o755)

    def call(*names):
        clean = {k: v for k, v in os.environ.items() if k not in OF_MAKE}
        done = subprocess.run(
            [sys.executable, mutants / "plant", *names],
            cwd=tmp_path / "build",
            env=clean,
            capture_output=True,
            text=True,
            timeout=180,
        )
        assert (source / "sum.sh").read_text(encoding="utf-8") == SUM
        return done.returncode, done.stdout.splitlines(), done.stderr

    return types.SimpleNamespace(source=source, call=call)


def test_killed_and_survived_are_told(package):
    status, lines, _ = package.call()
    assert status == 1
    assert [line.split()[:2] for line in lines[:3]] == [
        ["ok", "lost"],
        ["FAIL", "kept"],
        ["FAIL", "unseen"],
    ]
    assert lines[3].startswith("survived: kept, unseen: see ")
    assert lines[-1] == "1 killed, 2 survived, 0 skipped"


def test_one_edit_is_tried_alone(package):
    status, lines, _ = package.call("lost")
    assert status == 0 and lines[-1] == "1 killed, 0 survived, 0 skipped"
    status, lines, error = package.call("lots")
    assert status == 1 and not lines and "no edit in" in error and "lots" in error


def test_a_test_that_fails_anyway_kills_nothing(package):
    (package.source / "test/sum.test").write_text("false\n", encoding="utf-8")
    status, lines, _ = package.call("lost")
    assert lines[0].split()[:2] == ["FAIL", "lost"] and "fails without it" in lines[0]
    assert status == 1 and lines[-1] == "0 killed, 1 survived, 0 skipped"


def test_a_test_that_is_skipped_kills_nothing(package):
    rules = package.source / "rules"
    rules.write_text("check locus:\ncheck-TESTS:\n\t@echo 'skip  $(TESTS)   '\n", encoding="utf-8")
    status, lines, _ = package.call("lost")
    assert status == 0 and lines[-1] == "0 killed, 0 survived, 1 skipped"


def test_a_stale_edit_ends_it(package):
    file = package.source / "test/mutants/some.edits"
    file.write_text(file.read_text(encoding="utf-8").replace("-echo $sum", "-echo $total"))
    status, lines, error = package.call()
    assert status == 1 and not lines and "unseen: its text is not in sum.sh" in error
