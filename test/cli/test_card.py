# SPDX-License-Identifier: Apache-2.0
"""The card of the machine at the end of a suite, or the command that makes it elsewhere."""

import os
import sys

import pytest
from lacking import need_modules
from retries import tries
from some import some

# The sanitizers' builds check the answers of large arrays for seconds.
NATIVE = pytest.mark.native("suites with a card, and with none, are there")
MS = 5000 if os.environ.get("SANITIZER") else 300  # of a suite


@pytest.fixture
def python(tmp_path):
    """A script in Python's place: prints its arguments behind the code and the package's folder,
    and the number of lines on stdin."""
    file = tmp_path / "python"
    file.write_text(
        '#!/bin/sh\necho "made: $1 $5 $6"\n[ "$6" != - ] || echo "given: $(grep -c type)"\n'
    )
    file.chmod(0o755)
    return {"LOCUS_PYTHON": file}


@pytest.fixture
def suite(locus):
    """suite("--quiet", output=FILE): a suite that came to its end. On a busy machine one step may
    take longer than the budget and two seconds: then the watchdog ends the suite, without a card,
    and says so; the next one has twice the time."""

    def run(*words, output=None, **more):
        file = ["--output", output] if output else []
        for n in tries(6, "the watchdog ended the suite"):
            done = locus(f"suite --time-budget {MS << n}ms --repeats 1", *words, *file, **more)
            if "locus: time budget spent: cut off while " not in done.err:
                break
            if output:
                output.unlink()
        return done

    return run


def test_a_suite_ends_with_the_card(suite, python):
    """Without --output, the record is passed on stdin only."""
    done = suite(env=python)
    made, given = done.out.splitlines()[-2:]
    assert done.status == 0 and made == "made: -I summary -"
    assert int(given.removeprefix("given: ")) > 20  # header, benchmarks, trials


def test_of_a_record_that_is_kept_the_card_is_made(suite, python, tmp_path):
    file = tmp_path / "a record.jsonl"
    done = suite(output=file, env=python)
    assert done.out.splitlines()[-1] == f"made: -I summary {file}"
    assert file.read_text().splitlines()[-1].startswith('{"type":"end"')


@NATIVE
@pytest.mark.parametrize(
    "options",
    ["--quiet", "--format csv", "--format json", "--format md", "--dry-run", "--output -"],
)
def test_where_nobody_reads_the_table_there_is_no_card(suite, python, options):
    done = suite(*options.split(), env=python)
    assert done.status == 0 and "made:" not in done.out + done.err
    assert "locus summary" not in done.out


@NATIVE
def test_a_benchmark_has_no_card(locus, python):
    done = locus("dummy --variant steady --repeats 1", env=python)
    assert done.status == 0 and "made:" not in done.out


@pytest.mark.parametrize(
    "variable, value", [("LOCUS_PYTHON", "/nonexistent/python"), ("LOCUS_ANALYSIS", "/nonexistent")]
)
def test_without_python_the_last_line_says_what_to_run_elsewhere(suite, tmp_path, variable, value):
    done = suite(env={variable: value})
    last = "for this machine's card (needs Python): "
    assert done.status == 0 and done.out.splitlines()[-1] == (
        f"{last}locus suite --output FILE, and locus summary FILE"
    )
    file = tmp_path / "a.jsonl"
    done = suite(output=file, env={variable: value})
    assert done.status == 0 and done.out.splitlines()[-1] == f"{last}locus summary {file}"


@NATIVE
def test_a_python_without_what_it_takes_changes_no_status(suite, tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho it lacks duckdb >&2\nexit 1\n")
    python.chmod(0o755)
    done = suite(env={"LOCUS_PYTHON": python})
    assert done.status == 0 and "it lacks duckdb" in done.err
    assert done.out.splitlines()[-1].endswith("locus suite --output FILE, and locus summary FILE")


@NATIVE
def test_the_card_of_a_real_suite(locus, tmp_path):
    """From a real measurement: the card fits into a terminal, and each result has its verdict."""
    need_modules()
    file, env = tmp_path / "a.jsonl", {"LOCUS_PYTHON": sys.executable}
    done = locus("suite --time-budget 8s --output", file, env=env)
    again = locus("summary", file, env=env)
    assert (done.status, again.status, again.err) == (0, 0, "")
    assert done.out.endswith("\n\n" + again.out)
    lines = some(again.out.splitlines())
    assert max(map(len, lines)) <= 100 and len(lines) <= 48
    assert lines[0].startswith("locus ") and f" · {os.uname().nodename} · " in lines[0]
    words = ("certain", "rough", "noisy", "cannot tell")
    told = [
        line
        for line in lines
        if line[11:26].strip() and not line.startswith(("results", "problems"))
    ]
    assert any(line.endswith(words) for line in some(told))
    assert any(line.startswith("results    ") for line in lines)
