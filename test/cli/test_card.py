# SPDX-License-Identifier: Apache-2.0
"""The card of the machine at the end of a suite, or the command that makes it elsewhere."""

import os
import re
import sys

import pytest
from conftest import SANITIZED
from lacking import need_modules
from retries import tries
from some import some

NATIVE = pytest.mark.native("suites with a card, and with none, are there")
MS = 3000 if SANITIZED else 300  # of a suite


@pytest.fixture
def python(tmp_path):
    """A script in place of Python: it prints its arguments after the code and the package's folder,
    and the number of lines on stdin."""
    file = tmp_path / "python"
    file.write_text(
        '#!/bin/sh\necho "made: $1 $5 $6"\n[ "$6" != - ] || echo "given: $(grep -c type)"\n'
    )
    file.chmod(0o755)
    return {"LOCUS_PYTHON": file}


@pytest.fixture
def suite(locus):
    """suite("--quiet", output=FILE): a suite of two benchmarks whose trials take no time; of="": of
    all. On a busy machine one step may take longer than the budget and two seconds: then the
    watchdog ends the suite, without a card, and says so; the next one has twice the time."""

    def run(*words, of="atomics barriers", output=None, **more):
        file = ["--output", output] if output else []
        for n in tries(6, "the watchdog ended the suite"):
            budget = f"--time-budget {MS << n}ms --repeats 1 --duration 100us"
            done = locus(f"suite {of} {budget}", *words, *file, **more)
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


ONE = "latency --variant cycle --pages base --size 16K --repeats 1 --duration 1ms"
ANSWERED = {"LOCUS_ANSWER": ""}  # the lanes of tests switch answers off, to save time


def test_a_benchmark_ends_with_its_lines_of_the_card(locus, python, tmp_path):
    """Whether or not its record is kept; after its table."""
    done = locus(ONE, env={**python, **ANSWERED})
    made, given = done.out.splitlines()[-2:]
    assert done.status == 0 and made == "made: -I summary -"
    assert int(given.removeprefix("given: ")) > 3 and re.search(
        r"(?m)^cycle .*[np]s/load", done.out
    )
    file = tmp_path / "a.jsonl"
    done = locus(ONE, "--output", file, env={**python, **ANSWERED})
    assert done.out.splitlines()[-1] == f"made: -I summary {file}"


def test_a_series_ends_with_its_answer_after_its_table(locus, python):
    done = locus(f"{ONE} --runs 2", env={**python, **ANSWERED})
    made, given = done.out.splitlines()[-2:]
    assert done.status == 0 and made == "made: -I summary -" and done.out.count("made:") == 1
    assert int(given.removeprefix("given: ")) > 6 and "2 of 2" in done.out


@NATIVE
@pytest.mark.parametrize(
    "words, env",
    [
        (ONE, {"LOCUS_ANSWER": "no"}),
        (f"{ONE} --quiet", ANSWERED),
        (f"{ONE} --format csv", ANSWERED),
        ("dummy --variant steady --repeats 1", ANSWERED),
    ],
)
def test_some_benchmarks_have_no_answer(locus, python, words, env):
    done = locus(words, env={**python, **env})
    assert done.status == 0 and "made:" not in done.out and "locus summary" not in done.out


@NATIVE
def test_the_answer_of_a_real_benchmark(locus):
    need_modules()
    done = locus(ONE, env={"LOCUS_PYTHON": sys.executable, **ANSWERED})
    answer = done.out.rsplit("\n\n", 1)[1].splitlines()
    assert done.status == 0 and answer[0].startswith("caches     ")
    assert len(answer) <= 16 and re.search("  (rough|cannot tell)$", answer[0])


LINE = r"(?m)^([a-z-]+) +(?:no|\d+) trials? in +\d+ s(?:: \d+ [a-z]+)?"


@NATIVE
def test_a_suite_with_a_card_has_a_line_for_each_benchmark(suite, python, tmp_path, read):
    """The record has everything that the tables would show."""
    file = tmp_path / "a.jsonl"
    done = suite(of="", output=file, env=python)
    benchmarks = some(line["name"] for line in read(file) if line["type"] == "benchmark")
    assert re.findall(LINE, done.out) == benchmarks
    assert "status" not in done.out and len(done.out.splitlines()) < len(benchmarks) + 7


@NATIVE
def test_a_suite_shows_tables_where_that_is_asked_for_or_there_is_no_card(suite, python):
    for done in (
        suite("--verbose", env=python),
        suite(env={"LOCUS_PYTHON": "/nonexistent/python"}),
    ):
        assert re.search("(?m)^variant .* status$", done.out) and not re.search(LINE, done.out)


@NATIVE
def test_a_series_of_suites_ends_with_the_card(suite, python):
    done = suite("--runs", "2", env=python)
    lines = done.out.splitlines()
    assert lines[-2] == "made: -I summary -" and done.out.count("made:") == 1
    assert [line for line in lines if re.match(r"run \d of 2: suite", line)]


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
