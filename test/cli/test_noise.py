# SPDX-License-Identifier: Apache-2.0
"""Noise: a trial that other processes disturbed is marked noisy, with the evidence."""

import contextlib
import os
import pathlib
import re
import subprocess
import sys
import time

import pytest
import retries

# Limits for a quiet run with 60 samples of 1 ms. A trial is noisy only far beyond them: with a
# tenth of its samples or 2 % of its time.
SWITCHES, DELAY = 2, 500_000  # ns
TRIES = 40

pytestmark = pytest.mark.native("what is measured is no question of memory or threads")


@pytest.fixture
def hog(cpus):
    """A process that wants all of the last CPU."""
    wants = f"import os\nos.sched_setaffinity(0, [{cpus[-1]}])\nprint(flush=True)\nwhile True: pass"
    process = subprocess.Popen([sys.executable, "-c", wants], stdout=subprocess.PIPE)
    assert process.stdout and process.stdout.readline()
    yield cpus[-1]
    process.kill()
    process.wait()


def test_a_hog_on_the_same_core_is_flagged_in_all_runs(locus, hog, tmp_path, trials, often):
    flagged = 0
    for n in range(often):
        file = tmp_path / f"{n}.jsonl"
        locus(f"dummy --variant steady --bind {hog} --threads 1 --repeats 60 --output", file)
        trial = trials(file)["steady"]
        said = [*trial["reasons"], *trial["notes"]]
        flagged += any("disturbed" in text for text in said)
        if trial["status"] != "noisy":  # otherwise, the result without the hog
            assert trial["metrics"][-1]["value"] == pytest.approx(10e-6, rel=0.1)
    assert flagged == often


def alone(locus, cpu, file):
    """Measures as above, without a hog. Returns whether no other process had the CPU meanwhile,
    by the kernel's counts, independently of locus."""
    stolen = f"cpu{cpu} (\\d+ ){{7}}(\\d+)"
    before = re.search(stolen, pathlib.Path("/proc/stat").read_text(encoding="ascii"))
    delay, words = 0, f"dummy --variant steady --bind {cpu} --threads 1 --repeats 60 --output"
    first = [
        "chrt",
        "--fifo",
        "10",
    ]  # real-time priority, if permitted: no ordinary process gets the CPU then
    if subprocess.run([*first, "true"], stderr=subprocess.DEVNULL).returncode:
        first = []
    with locus.start(words, file, prefix=[*first, "taskset", "-c", str(cpu)]) as process:
        while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
            with contextlib.suppress(OSError, IndexError):
                delay = int(
                    pathlib.Path(f"/proc/{process.pid}/schedstat")
                    .read_text(encoding="ascii")
                    .split()[1]
                )  # ns
            time.sleep(0.002)
        process.returncode = os.waitstatus_to_exitcode(ended[1])
    after = re.search(stolen, pathlib.Path("/proc/stat").read_text(encoding="ascii"))
    assert process.returncode == 0 and before and after
    return ended[2].ru_nivcsw <= SWITCHES and delay <= DELAY and before[2] == after[2]


@pytest.fixture
def aside(cpus):
    """The last CPU, which this process leaves."""
    if len(cpus) < 2:
        pytest.skip("one CPU: whoever watches takes it")
    os.sched_setaffinity(0, cpus[:-1])
    yield cpus[-1]
    os.sched_setaffinity(0, cpus)


def test_without_a_hog_nothing_is_flagged(locus, tmp_path, trials, aside):
    """The control: if the kernel saw no other process on the CPU, a run is not noisy. A busy
    machine may have no such run; then the test is skipped."""
    quiet = 0
    for n in range(TRIES):
        file = tmp_path / f"{n}.jsonl"
        if not alone(locus, aside, file):
            retries.count("somebody else had the CPU that was to be quiet")
            continue
        trial = trials(file)["steady"]
        said = [*trial["reasons"], *trial["notes"]]
        assert not [text for text in said if "disturbed" in text], (said, trial["noise"])
        quiet += 1
        if quiet == 3:
            break
    if not quiet:
        pytest.skip(
            f"in {TRIES} runs somebody else was always on the CPU that was to be quiet: a busy"
            " machine"
        )


def test_the_evidence_of_a_hog(locus, hog, tmp_path, trials):
    file = tmp_path / "hog.jsonl"
    locus(f"dummy --variant steady --bind {hog} --threads 1 --repeats 60 --output", file)
    trial = trials(file)["steady"]
    noise = trial["noise"]
    assert noise["samples"] > 0.1 and noise["off_cpu"] > 0
    assert trial["kernel"]["involuntary-switches"] > 0
    assert noise["foreign"] is None or noise["foreign"] > 0
    assert noise["run_delay"] is None or noise["run_delay"] > 0


def test_noisy_samples_are_told_apart_and_not_dropped(locus, hog, tmp_path, trials, read):
    file = tmp_path / "kept.jsonl"
    locus(f"dummy --variant steady --bind {hog} --threads 1 --repeats 60 --output", file)
    trial = trials(file)["steady"]
    batches = [line for line in read(file) if line["type"] == "samples"]
    assert sum(len(batch["noisy"]) for batch in batches) == trial["samples"]["noisy"] > 0
    longest = max(time for batch in batches for time in batch["times"])
    five_digits = pytest.approx(longest, rel=5.01e-5)
    assert trial["samples"]["quantiles"]["1"] == five_digits
    if trial["status"] != "noisy":  # only what the clock waited for
        assert trial["metrics"][-1]["value"] == pytest.approx(10e-6, rel=0.2)


def test_threads_that_share_a_cpu_are_noisy(locus, tmp_path, trials, cpus):
    file = tmp_path / "crowd.jsonl"
    words = (
        f"dummy --variant steady --threads 2 --bind {cpus[0]} --oversubscribe --profile quick"
        " --time-budget 1s --output"
    )
    locus(words, file, prefix=["taskset", "-c", str(cpus[0])])
    trial = trials(file)["steady"]
    said = [*trial["reasons"], *trial["notes"]]
    assert any("disturbed" in text for text in said), trial["noise"]


def test_threads_that_float_are_disturbed_by_nobody(locus, hog, cpus, tmp_path, trials):
    """More threads than CPUs, beside a hog: with --bind float, switches are part of the result,
    and only steal makes it noisy."""
    file = tmp_path / "float.jsonl"
    threads = 2 * len(cpus)
    locus(
        "dummy --variant steady --bind float --oversubscribe --repeats 20 --delay 1000 "
        f"--threads {threads} --output",
        file,
    )
    trial = trials(file)["steady"]
    assert "bind=float" in trial["identity"] and len(trial["cpus"]) == threads
    assert trial["kernel"]["involuntary-switches"] > 0
    assert trial["noise"]["samples"] == 0 or "major-faults" in trial["kernel"]
    assert trial["status"] != "noisy" or "steal" in trial["kernel"]
