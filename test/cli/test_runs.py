# SPDX-License-Identifier: Apache-2.0
"""--runs: the same command several times, each in a new process; how much the runs differ."""

import json
import os
import pathlib
import re
import signal
import statistics

import pytest
from conftest import ENDING
from some import some
from waits import PATIENCE, wait_for, written

BRIEF = "dummy --variant steady,jitter --threads 1 --duration 50us --repeats 20"


def runs_in(lines):
    """{run of the series: [the lines of each part]}, of a record with one series."""
    series: dict = {}
    parts: dict = {}
    for line in lines:
        if line["type"] == "header":
            series.setdefault(line["series"]["id"], []).append(line["series"]["run"])
            parts[line["run"]] = (line["series"]["run"], [])
        parts[line["run"]][1].append(line)
    assert len(series) == 1
    found: dict = {}
    for run, own in parts.values():
        found.setdefault(run, []).append(own)
    return found


def trials_of(run):
    return [line for part in run for line in part if line["type"] == "trial"]


def test_each_run_is_whole_and_the_table_is_of_all(locus, tmp_path, read):
    file = tmp_path / "series.jsonl"
    done = locus(f"{BRIEF} --runs 3 --tag why=test --output", file)
    assert done.status == 0, done.err
    runs = runs_in(read(file))
    assert sorted(runs) == [1, 2, 3]
    for part in some(parts for run in runs.values() for parts in run):
        assert part[0]["series"]["of"] == 3 and part[0]["tags"] == {"why": "test"}
        assert part[0]["command"][:2] == ["locus", "dummy"] and "--runs" in part[0]["command"]
        assert part[0]["resumes"] == [] and part[-1]["type"] == "end"
        assert len(trials_of([part])) == 2
    for n in (1, 2, 3):
        assert done.out.count(f"run {n} of 3: dummy: 2 trials") == 1
    table = done.out[done.out.index("runs of series") :].splitlines()
    assert table[1].split()[:2] == ["trial", "metric"]
    assert [row.split()[0] for row in table[2:] if " time " in row] == [
        "steady",
        "jitter",
    ]
    assert all(re.search(r" [0-3] of 3 ", row) for row in some(table[2:]))


def test_the_rows_of_a_series_follow_from_its_record(locus, tmp_path, read):
    """JSON output has only the rows of the series."""
    file = tmp_path / "series.jsonl"
    done = locus(f"{BRIEF} --runs 4 --format json --output", file)
    assert done.status == 0, done.err
    trials = [line for line in read(file) if line["type"] == "trial"]
    rows = [row for row in json.loads(done.out) if row["metric"] == "time"]
    assert len(rows) == 2
    for row in rows:
        own = [t for t in trials if t["id"] == row["id"]]
        ok = [t for t in own if t["status"] == "ok"]
        values = [next(m for m in t["metrics"] if m["name"] == "time")["value"] for t in ok or own]
        assert (row["tried"], row["ok"], row["of"]) == (4, len(ok), len(values))
        assert row["value"] == pytest.approx(statistics.median(values))
        assert (row["low"], row["high"]) == pytest.approx((min(values), max(values)))


def test_csv_has_one_head(locus):
    done = locus(f"{BRIEF} --runs 2 --format csv")
    head, *rows = done.out.splitlines()
    assert done.status == 0 and head.startswith("benchmark,id,trial,metric,")
    assert all(row.startswith('"dummy",') for row in some(rows))


def test_without_output_there_is_a_table_too(locus):
    done = locus(f"{BRIEF} --runs 2")
    assert done.status == 0 and "dummy: runs of series " in done.out


def test_quiet(locus):
    done = locus(f"{BRIEF} --runs 2 --quiet")
    assert (done.status, done.out) == (0, "") and done.err.count("neither shown nor kept") == 1


def test_the_time_budget_is_that_of_all_runs(locus, tmp_path, read):
    file = tmp_path / "series.jsonl"
    done = locus("dummy --variant steady --threads 1 --time-budget 3s --runs 3 --output", file)
    assert done.status == 0, done.err
    budgets = [line["budget"]["time"] for line in read(file) if line["type"] == "header"]
    assert 0 < budgets[0] <= 1 and all(0 < b <= 3 for b in some(budgets))


def test_what_the_first_run_refuses_is_said_once(locus, tmp_path):
    file = tmp_path / "there.jsonl"
    file.write_text("", encoding="ascii")
    done = locus(f"{BRIEF} --runs 5 --output", file)
    assert done.status == 2 and done.err.count("exists") == 1 and done.out == ""


@pytest.mark.parametrize("words", ["--runs 0", "--runs two", "--runs 1001"])
def test_a_number_that_makes_no_sense(locus, words):
    done = locus(f"dummy {words}")
    assert done.status == 2 and "runs" in done.err


def test_one_run_is_no_series(locus, tmp_path, read):
    file = tmp_path / "one.jsonl"
    assert locus(f"{BRIEF} --runs 1 --output", file).status == 0
    assert [line["series"] for line in read(file) if line["type"] == "header"] == [None]


LONG = "dummy --variant steady,jitter --threads 1 --delay 5 --repeats 100000 --runs 3 --output"


def begin(locus, file):
    process = locus.start(LONG, file)
    wait_for(written(file, "samples"), "a batch")
    return process


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_ends_the_series(locus, tmp_path, read, number):
    """Sent only to the first process, as by `kill`, and not to the run."""
    file = tmp_path / "cut.jsonl"
    process = begin(locus, file)
    process.send_signal(number)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number
    lines = read(file)
    assert lines[-1]["type"] == "end" and lines[-1]["signal"] == number.name
    assert sorted(runs_in(lines)) == [1] and "run 2 of 3" not in out


def child_of(process):
    path = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return int(path.read_text(encoding="ascii").split()[0])


def test_a_run_that_is_killed_ends_the_series(locus, tmp_path):
    file = tmp_path / "killed.jsonl"
    process = begin(locus, file)
    os.kill(child_of(process), signal.SIGKILL)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGKILL
    assert "run 1 of 3 was killed by signal 9" in err


def test_a_run_ends_when_the_series_is_killed(locus, tmp_path):
    file = tmp_path / "killed.jsonl"
    process = begin(locus, file)
    process.kill()
    process.communicate(timeout=PATIENCE)
    wait_for(written(file, "end"), "the end of the run")


def test_resume_goes_on_with_the_run_that_is_missing(locus, tmp_path, read):
    file = tmp_path / "resumed.jsonl"
    assert locus(f"{BRIEF} --runs 2 --output", file).status == 0
    first = runs_in(read(file))
    assert sorted(first) == [1, 2]
    whole = file.read_bytes().splitlines(keepends=True)
    last = [n for n, line in enumerate(whole) if b'"type":"trial"' in line][-1]
    file.write_bytes(b"".join(whole[:last]))  # the second trial of run 2 is missing
    assert locus(f"{BRIEF} --runs 3 --resume --output", file).status == 0
    runs = runs_in(read(file))
    assert {run: len(parts) for run, parts in runs.items()} == {1: 1, 2: 2, 3: 1}
    assert [len(trials_of([part])) for part in runs[2]] == [1, 1]
    assert runs[2][1][0]["resumes"] == [runs[2][0][0]["run"]]
    again = locus(f"{BRIEF} --runs 3 --resume --output", file)
    assert again.status == 0 and len(runs_in(read(file))) == 3
    assert "run 1 of 3" not in again.out and "runs of series" in again.out


def test_the_suite_has_runs_too(locus, tmp_path, read):
    file = tmp_path / "suite.jsonl"
    done = locus(
        "suite sharing atomics --repeats 1 --duration 20us --time-budget 6s --runs 2 --verbose"
        " --output",
        file,
    )
    assert done.status == 0, done.err
    assert sorted(runs_in(read(file))) == [1, 2] and "runs of series" in done.out
