# SPDX-License-Identifier: Apache-2.0
"""--begin-at: a run that waits for a moment shared by the nodes of a cluster."""

import datetime
import re
import signal
import time

from waits import PATIENCE, wait_for

BRIEF = "dummy --variant steady --threads 1 --duration 50us --repeats 2"


def seconds(moment):
    """s since 1970 of "2026-11-28T20:15:00.000Z"."""
    return datetime.datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp()


def headers(read, file):
    return [line for line in read(file) if line["type"] == "header"]


def test_it_waits_and_its_time_begins_then(locus, tmp_path, read):
    """The budget is shorter than the wait, which costs none of it."""
    file = tmp_path / "a.jsonl"
    moment = round(time.time(), 3) + 3
    words = ("--begin-at", f"@{moment:.3f}", "--time-budget", "2s", "--output", file)
    done = locus(BRIEF, *words)
    (header,) = headers(read, file)
    assert done.status == 0 and re.match(r"begins at 2\S+Z, in [123] s\n", done.out)
    assert abs(seconds(header["begin"]["at"]) - moment) < 0.0011
    assert header["begin"]["late"] >= 0 and seconds(header["started"]) >= moment - 0.0011
    assert header["budget"]["time"] == 2
    assert [t["status"] for t in read(file) if t["type"] == "trial"] != ["interrupted"]


def test_a_past_moment_begins_at_once(locus, tmp_path, read):
    file = tmp_path / "a.jsonl"
    done = locus(BRIEF, "--begin-at", "2001-01-01T00:00:00Z", "--quiet", "--output", file)
    assert done.status == 0 and done.out == ""
    said = r"locus: --begin-at: 2001-01-01T00:00:00.000Z was \d+ h \d+ min ago: it begins at once\n"
    assert re.fullmatch(said, done.err)
    assert headers(read, file)[0]["begin"]["late"] > 86400


def test_the_first_run_of_a_series_waits(locus, tmp_path, read):
    file = tmp_path / "a.jsonl"
    moment = time.time() + 1
    words = ("--runs", 2, "--begin-at", f"@{moment}", "--time-budget", "30s", "--output", file)
    done = locus(BRIEF, *words)
    first, second = headers(read, file)
    assert done.status == 0 and done.err == ""
    assert "begin" in first and "begin" not in second
    assert first["budget"]["time"] <= 15 and seconds(first["started"]) >= moment - 0.002


def test_a_signal_ends_the_wait(locus, tmp_path, read):
    """Nothing was measured; the record says so, and can be resumed."""
    file = tmp_path / "a.jsonl"
    process = locus.start(BRIEF, "--begin-at", "2101-01-01T00:00:00Z", "--output", file)
    wait_for(lambda: process.stdout.readline().startswith("begins at 2101-01-01T"), "the line")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGTERM
    end = read(file)[-1]
    assert (end["signal"], end["trials"]) == ("SIGTERM", {"interrupted": 1})
    assert locus(BRIEF, "--resume", "--output", file).status == 0
    assert read(file)[-1]["status"] == 0


def test_without_it_no_key(locus, tmp_path, read):
    file = tmp_path / "a.jsonl"
    locus(BRIEF, "--output", file)
    assert "begin" not in headers(read, file)[0]
