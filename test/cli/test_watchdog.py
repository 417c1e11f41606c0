# SPDX-License-Identifier: Apache-2.0
"""The watchdog: a signal or the end of the time budget ends the run in time, in whatever phase a
benchmark is, and the record is valid."""

import fcntl
import functools
import os
import pathlib
import re
import resource
import signal
import subprocess
import time

import pytest
from conftest import Program
from retries import tries
from some import some
from waits import wait_for, written

PATIENCE = 180  # s to end: a run that takes longer hangs
PROMISED = 2  # s from a signal, or beyond 110 % of the budget
# Tolerance, since other tests run at the same time; without a watchdog it would take minutes.
BUSY = float(os.environ.get("SLACK", "60"))  # s
PLACES = ["prepare", "enter", "reset", "collect", "verify", "release"]
STUCK = "dummy --variant stuck --size 0,4096 --delay 6e8 --where"  # for ten minutes


def end_by(process, number):
    """Its exit status, its output, and how long it took to end, in s."""
    begin = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err, time.monotonic() - begin


@pytest.mark.parametrize("where", [*PLACES, "work"])
def test_a_signal_ends_it_wherever_it_is(locus, tmp_path, read, where):
    file = tmp_path / "cut.jsonl"
    words = (
        f"{STUCK} {where}"
        if where != "work"
        else "dummy --variant steady --size 0,4096 --delay 6e8"
    )
    for _ in tries(5, "it was not there yet, or had no second to close the record"):
        file.unlink(missing_ok=True)
        process = locus.start(words, "--output", file)
        wait_for(written(file, "header"), "the header")
        time.sleep(0.3)  # only a moment: nothing waits for it
        status, out, err, took = end_by(process, signal.SIGTERM)
        if err and "before its record could be closed" not in err:
            break
    lines = read(file)
    assert status == 128 + signal.SIGTERM and took < PROMISED + BUSY
    assert [line["status"] for line in lines if line["type"] == "trial"] == ["interrupted"] * 2
    assert (
        lines[-1]["type"] == "end"
        and lines[-1]["signal"] == "SIGTERM"
        and lines[-1]["trials"] == {"interrupted": 2}
    )
    name = r"dummy/\w+ size=\w+ \w+"
    said = rf"locus: SIGTERM: cut off while [a-z ]+ {name}; what was measured before is in {file}\n"
    assert re.fullmatch(said, err), err
    left = "(2 trials not measured|1 trial not measured, 1 incomplete)"
    assert re.search(f"interrupted by SIGTERM: {left}; rerun with --resume to continue\n$", out), (
        out
    )


@pytest.mark.parametrize("where", PLACES)
def test_the_time_budget_ends_it_wherever_it_is(locus, tmp_path, read, where):
    file = tmp_path / "cut.jsonl"
    for _ in tries(3, "the disk took a second"):  # the run gets no more time than that
        file.unlink(missing_ok=True)
        begin = time.monotonic()
        done = locus(f"{STUCK} {where} --time-budget 500ms --output", file)
        if "before its record could be closed" not in done.err:
            break
    assert done.status == 0 and time.monotonic() - begin < 1.1 * 0.5 + PROMISED + BUSY
    lines = read(file)
    trials = [line for line in lines if line["type"] == "trial"]
    assert [t["status"] for t in trials] == ["interrupted"] * 2
    assert all(
        re.search("the time budget (was spent )?before .*--(time-budget|resume)", t["reasons"][0])
        for t in trials
    )
    assert lines[-1]["status"] == 0 and lines[-1]["signal"] is None
    assert (
        done.err.startswith("locus: time budget spent: cut off while ")
        and done.err.count("\n") == 1
    )


@pytest.mark.native("the watchdog is the same")
def test_a_disk_that_is_slow(locus, tmp_path, read):
    """The disk takes most of a second for what should be kept. The first trial's samples do not
    delay the second trial's line until it is lost: one wait for the disk keeps all."""
    file = tmp_path / "late.jsonl"
    disk = pathlib.Path(os.environ["BUILD"]) / "test/stand-in/libdisk.so"
    done = locus(
        f"{STUCK} verify --time-budget 500ms --output",
        file,
        env={"LD_PRELOAD": str(disk), "LATE": "0.7"},
    )
    assert "before its record could be closed" not in done.err
    assert [line["status"] for line in read(file) if line["type"] == "trial"] == ["interrupted"] * 2


def test_batches_and_finished_trials_stay(locus, tmp_path, read):
    """Samples of a trial whose check hangs are kept, and so is a trial of an earlier run."""
    file = tmp_path / "cut.jsonl"
    words = "dummy --variant stuck --where verify --repeats 4 --delay"
    assert locus(words, "10", "--output", file).status == 0
    before = file.read_bytes().count(b'"type":"samples"')
    process = locus.start(words, "10,6e8", "--output", file, "--resume")
    wait_for(lambda: file.read_bytes().count(b'"type":"samples"') > before, "a few batches")
    status, *_ = end_by(process, signal.SIGINT)
    lines = read(file)
    assert status == 128 + signal.SIGINT
    assert [line["status"] for line in lines if line["type"] == "trial"][1:] == ["interrupted"]
    last = [line for line in lines if line["type"] == "trial"][-1]
    counted = sum(
        len(line["times"])
        for line in lines
        if line["type"] == "samples" and line["trial"] == last["id"]
    )
    assert counted == last["samples"]["n"] > 0 and lines[-1]["skipped"] == 1


@pytest.mark.parametrize("where", ["reset", "collect"])
def test_a_batch_that_was_cut_is_left_out(locus, tmp_path, read, where):
    """A trial has the same samples as the record: those of whole batches. Here one takes 3 s."""
    file = tmp_path / "cut.jsonl"
    words = f"dummy --variant stuck --where {where} --delay 1.5e5 --repeats 100000 --output"
    process = locus.start(words, file)
    wait_for(written(file, "samples"), "a batch")
    time.sleep(0.5)  # only a moment: nothing waits for it
    status, *_ = end_by(process, signal.SIGTERM)
    lines = read(file)
    (trial,) = (line for line in lines if line["type"] == "trial")
    assert status == 128 + signal.SIGTERM and trial["status"] == "interrupted"
    batches = [line["times"] for line in lines if line["type"] == "samples"]
    assert trial["samples"]["n"] == sum(map(len, some(batches)))


def test_it_comes_while_lines_are_written(locus, tmp_path, read, often):
    """The main thread and the watchdog may both write trial lines: each trial must have one."""
    for n in range(max(often // 10, 1)):
        file = tmp_path / f"{n}.jsonl"
        process = locus.start(
            "dummy --variant stuck --where verify --delay 7e5 --repeats 2 --size 0,4096 --output",
            file,
        )
        wait_for(written(file, "header"), "the header")
        time.sleep(n * 0.01)  # so that the watchdog wakes about when the check is over
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
        lines = read(file)
        assert process.returncode == 128 + signal.SIGTERM and lines[-1]["type"] == "end"
        ids = [line["id"] for line in lines if line["type"] == "trial"]
        assert len(ids) == len(set(ids)) == 2


@pytest.mark.native("libomp dies where files may not be so large", of="thread")
@pytest.mark.parametrize("lines", [0.5, 2.5])
def test_a_full_disk(locus, tmp_path, lines):
    """A line that the watchdog could write only in part is cut off, with a message."""
    file = tmp_path / "full.jsonl"
    process = locus.start(f"{STUCK} verify --output", tmp_path / "whole.jsonl")
    wait_for(written(tmp_path / "whole.jsonl", "header"), "the header")
    end_by(process, signal.SIGINT)
    header, trial, *_ = (tmp_path / "whole.jsonl").read_bytes().splitlines(keepends=True)
    room = len(header) + 200 + int(lines * len(trial))
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))}
    process = locus.start(f"{STUCK} verify --size 0..400K+4K --output", file, **limit)
    wait_for(lambda: file.exists() and file.stat().st_size > 0, "the header")
    time.sleep(0.3)
    status, _, err, took = end_by(process, signal.SIGTERM)
    assert status in (1, 128 + signal.SIGTERM) and took < PROMISED + BUSY
    assert len([line for line in err.splitlines() if "--output" in line]) == 1
    assert file.stat().st_size <= room and file.read_bytes().endswith(b"\n")


SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ of <fcntl.h>; Python knows it from 3.10 on


def test_a_reader_that_hangs(locus):
    """The record goes to a pipe that nobody reads: the run ends in time, without an end line."""
    there, record = os.pipe()
    fcntl.fcntl(record, SET_PIPE_SIZE, 16384)  # the header fits, and the trials do not
    process = locus.start(
        f"{STUCK} verify --size 0..4M+4K --output /dev/fd/{record}", pass_fds=[record]
    )
    os.close(record)
    assert os.read(there, 1)
    time.sleep(0.5)
    status, _, err, took = end_by(process, signal.SIGTERM)
    os.close(there)
    assert status == 128 + signal.SIGTERM and took < PROMISED + BUSY
    lost = "locus: ended before its record could be closed: its last lines are missing"
    assert lost in err.splitlines(), err


def test_20000_trials_that_were_not_begun(locus, tmp_path, read):
    file = tmp_path / "many.jsonl"
    process = locus.start(
        f"{STUCK} prepare --size 1..20000+1 --output", file, stdout=subprocess.DEVNULL
    )
    wait_for(written(file, "header"), "the header")
    status, _, _, took = end_by(process, signal.SIGTERM)
    assert status == 128 + signal.SIGTERM and took < PROMISED + BUSY
    lines = read(file, whole=False)
    assert 0 < sum(line["type"] == "trial" for line in lines) <= 20000


# --- every benchmark, as large as possible on this machine ---


def parameters_of(name):
    """A benchmark's own parameters: listed before the options of all benchmarks."""
    names = Program()("list", "--names", name).out.split()
    return names[: names.index("--variant")]


def benchmarks():
    return [line.split()[0] for line in Program()("list").out.splitlines()]


def most_of_one():
    """The bytes that one trial may use here, since other tests run at the same time. Sanitizers
    multiply memory several times."""
    share = 100 if os.environ.get("SANITIZER") else 8
    words = pathlib.Path("/proc/meminfo").read_text(encoding="ascii")
    return int(words.split("MemAvailable:")[1].split()[0]) * 1024 / share


def is_possible(done, most):
    """Whether a dry run accepted its words, refused no trial (except those that ThreadSanitizer
    cannot see), and holds at most `most` bytes."""
    found = re.search(r"memory held at once: ([\d.]+) (\w+);", done.out)
    if done.status or not found or re.search("    impossible: (?!ThreadSan)", done.out):
        return False
    return float(found[1]) * 1024 ** ["B", "KiB", "MiB", "GiB", "TiB"].index(found[2]) <= most


def enlarge(planner, words, parameter, most):
    """The words with this parameter set to the largest power of 32 that is possible; unchanged if
    the parameter takes no number. By bisection, since larger values only need more."""
    found, powers = words, [2**i for i in range(5, 61, 5)]
    while powers:
        middle = len(powers) // 2
        longer = [*words, parameter, str(powers[middle])]
        done = planner(*longer, "--dry-run")
        if "expected one of" in done.err:
            return words
        if is_possible(done, most):
            found, powers = longer, powers[middle + 1 :]
        else:
            powers = powers[:middle]
    return found


@functools.lru_cache
def largest(planner, name):
    """A command line with each parameter as large as possible, in the order of the list."""
    plain, most = [name, "--quiet", "--profile", "quick"], most_of_one()
    words, parameters = plain, parameters_of(name)
    for parameter in parameters:
        words = enlarge(planner, words, parameter, most)
    if words == plain:  # unchanged if each parameter is a choice, or a node that exists
        taken = [p for p in parameters if planner(*words, p, "32", "--dry-run").status == 0]
        assert not taken, f"{taken} take numbers, and none was made larger"
    return words


AS_IT_COMES = pytest.mark.native("ThreadSanitizer holds signals until libc is called", of="thread")
OTHER = pytest.mark.native("the watchdog is the same")


@pytest.mark.parametrize("number", [None, pytest.param(signal.SIGTERM, marks=AS_IT_COMES)])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[OTHER] * (i > 0)) for i, name in enumerate(benchmarks())]
)
def test_every_benchmark_ends_in_time(locus, planner, tmp_path, read, name, number):
    words = largest(planner, name)
    file = tmp_path / "record.jsonl"
    budget = 3600 if number else 0.2
    begin = time.monotonic()
    process = locus.start(
        *words, "--time-budget", budget, "--output", file, cwd=tmp_path, stdout=subprocess.DEVNULL
    )
    if number:
        wait_for(written(file, "header"), "the header")
        time.sleep(0.2)  # only a moment: nothing waits for it
        begin = time.monotonic()
        process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE)
    took = time.monotonic() - begin
    assert took < (0 if number else 1.1 * budget) + PROMISED + BUSY, err
    # Status 3: trials that ThreadSanitizer can't see are impossible, and the others were cut off.
    ended = 3 if "ThreadSanitizer can't see" in err else 0
    assert process.returncode == (128 + number if number else ended), err
    assert read(file)[-1]["type"] == "end"
