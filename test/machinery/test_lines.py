# SPDX-License-Identifier: Apache-2.0
"""run-pytest prints a skip with its reason for each test that did not run, and counts retries;
test/vacuous finds assertions that hold of an empty list."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
import retries
from some import some

TEST = pathlib.Path(__file__).parents[1]
TESTS = """
from retries import tries

def test_first_time():
    for _ in tries(3, "never"):
        return

def test_third_time():
    for n in tries(3, "too busy"):
        if n == 2:
            return
"""


@pytest.fixture
def lines(tmp_path):
    """lines(options, text): the lines and exit status of run-pytest for a file with this text."""

    def run(options="", text=TESTS, **environment):
        file = tmp_path / "test_it.py"
        file.write_text(text)
        environment = {
            **os.environ,
            "PYTHON": sys.executable,
            "PYTEST_ADDOPTS": options,
            **environment,
        }
        done = subprocess.run(
            [TEST / "run-pytest", file],
            env=environment,
            capture_output=True,
            text=True,
            timeout=180,
        )
        return done.stdout.splitlines(), done.returncode

    return run


def test_retries_are_counted_behind_the_results(lines):
    printed = [
        "ok 1 - test_it.py::test_first_time",
        "ok 2 - test_it.py::test_third_time",
        "# 2 retries: too busy (2)",
        "1..2",
    ]
    assert lines() == (printed, 0)


def test_retries_end(lines):
    printed, _ = lines(text=TESTS.replace("n == 2", "n == 3"))
    assert "not ok 2 - test_it.py::test_third_time" in printed
    assert [line for line in printed if "AssertionError: too busy, in each of 3 tries" in line], (
        printed
    )


def test_retries_of_several_logs_are_added_up(tmp_path):
    one, two = tmp_path / "one.log", tmp_path / "two.log"
    one.write_text("ok 1 - x\n# 3 retries: a tick, (it says) (1), too busy (2)\n1..1\n")
    two.write_text("# 1 retry: too busy (1)\nok 1 - # 7 retries: none (7)\n")
    done = subprocess.run(
        [sys.executable, TEST / "retries.py", one, two], capture_output=True, text=True, check=True
    )
    assert done.stdout == "4 retries: a tick, (it says) (1), too busy (3)\n"
    assert retries.summary(retries.told([])) is None


def test_a_deselected_test_is_a_skip_with_its_reason(lines):
    printed, status = lines("-k 'not third'")
    left_out = 'ok 1 - test_it.py::test_third_time # SKIP deselected by -k "not third"'
    assert (printed, status) == ([left_out, "ok 2 - test_it.py::test_first_time", "1..2"], 0)
    assert lines("-k 'not third'", DESELECTED="it takes long")[0][0].endswith(
        " # SKIP it takes long"
    )


def test_a_file_of_which_all_is_deselected_is_skipped(lines):
    why = '# SKIP deselected by -k "nothing"'
    names = ["first_time", "third_time"]
    expected = [f"ok {n} - test_it.py::test_{name} {why}" for n, name in enumerate(names, 1)]
    assert lines("-k nothing") == ([*expected, "1..2"], 0)


LACKING = """
import lacking
lacking.lacking("a module", "install it")
def test_it():
    raise AssertionError
"""


@pytest.mark.parametrize(
    ("ci", "first", "failed"),
    [
        ("false", "ok 1 - test_it.py::collection # SKIP a module is missing (install it)", 0),
        ("true", "not ok 1 - test_it.py::collection", 2),
    ],
    ids=["skipped", "failed in CI"],
)
def test_a_file_that_lacks_a_module_is_skipped(lines, ci, first, failed):
    printed, status = lines(text=LACKING, CI=ci)
    assert (printed[0], status) == (first, failed)


def test_tests_of_the_analysis_need_its_modules(tmp_path):
    folder = tmp_path / "test/analysis"
    folder.mkdir(parents=True)
    (folder / "test_it.py").write_text("def test_it():\n    pass\n")
    python = tmp_path / "python"
    python.write_text(
        "#!/bin/sh\ncase $* in\n*lacking.py*) echo duckdb numpy ;;\n"
        f'*) exec {sys.executable} "$@" ;;\nesac\n'
    )
    python.chmod(0o755)
    done = subprocess.run(
        [TEST / "run-pytest", folder / "test_it.py"],
        env={**os.environ, "PYTHON": str(python), "CI": "false"},
        capture_output=True,
        text=True,
        timeout=180,
    )
    remedy = f"{python} -m pip install -r analysis/requirements.txt"
    assert done.stdout == f"1..0 # SKIP duckdb numpy is missing ({remedy})\n"
    assert done.returncode == 0


def test_a_file_without_tests_is_a_failure(lines):
    printed, status = lines(text="")
    assert status == 5 and printed[0].startswith("not ok 1 - pytest ended with status 5")


BODY = "def test_it(found):\n    "
VACUOUS = {
    "all": "assert all(x > 0 for x in found)",
    "all of what is left": "assert len(found) == 3 and all(x > 0 for x in found if x)",
    "all of a part": "assert all(x > 0 for x in found['parts'])",
    "none": "assert not any(x > 0 for x in found)",
    "subset": "assert {x for x in found} <= {1, 2}",
    "loop": "for x in [x for x in found if x]:\n        assert x > 0",
    "loop over a name": (
        "some_of = [x for x in found if x]\n    for x in some_of:\n        assert x > 0"
    ),
    "loop over another function": (
        "for x in those(found):\n        assert x > 0\ndef those(xs):\n    return [x for x in xs"
        " if x]"
    ),
}
SOUND = [
    "assert all(x > 0 for x in some(found))",
    "assert all(x > 0 for x in (1, 2))",
    "assert found and all(x > 0 for x in found)",
    "assert len(found) == 3\n    assert all(x > 0 for x in found)",
    "assert [x.name for x in found] == ['a']\n    assert not any(x > 0 for x in found)",
    "assert {x for x in some(found)} <= {1, 2}",
    "for x in some(x for x in found if x):\n        assert x > 0",
    (
        "some_of = [x for x in found if x]\n    assert some_of\n    for x in some_of:\n       "
        " assert x > 0"
    ),
    (
        "for x in those(found):\n        assert x > 0\ndef those(xs):\n    return some(x for x in"
        " xs if x)"
    ),
]


def vacuous(tmp_path, text):
    file = tmp_path / "test_it.py"
    file.write_text(BODY + text + "\n")
    return subprocess.run([sys.executable, TEST / "vacuous", file], capture_output=True, text=True)


@pytest.mark.parametrize("text", VACUOUS.values(), ids=VACUOUS)
def test_an_assertion_that_holds_of_nothing_is_found(tmp_path, text):
    done = vacuous(tmp_path, text)
    assert done.returncode == 1 and re.match(r"\S+test_it\.py:[2-4]: .*some\(\)\n$", done.stdout), (
        done
    )


@pytest.mark.parametrize("text", SOUND)
def test_an_assertion_about_something_is_left_alone(tmp_path, text):
    done = vacuous(tmp_path, text)
    assert (done.returncode, done.stdout) == (0, ""), done


def test_some_is_not_content_with_nothing():
    assert some(iter("ab")) == ["a", "b"]
    with pytest.raises(AssertionError, match="empty list"):
        some([])
