# SPDX-License-Identifier: Apache-2.0
"""A number that others had a hand in says so."""

import subprocess
import sys

import pytest


@pytest.fixture
def hog(cpus):
    """A process that wants all of the last CPU."""
    wants = f"import os\nos.sched_setaffinity(0, [{cpus[-1]}])\nprint(flush=True)\nwhile True: pass"
    process = subprocess.Popen([sys.executable, "-c", wants], stdout=subprocess.PIPE)
    assert process.stdout and process.stdout.readline()
    yield cpus[-1]
    process.kill()
    process.wait()


def test_a_hog_on_the_same_core_is_flagged_in_all_of_100_runs(locus, hog, tmp_path, trials, often):
    flagged = 0
    for n in range(often):
        file = tmp_path / f"{n}.jsonl"
        locus(f"dummy --variant steady --bind {hog} --threads 1 --repeats 60 --output", file)
        trial = trials(file)["steady"]
        flagged += trial["status"] == "noisy" and any("disturbed" in reason for reason in trial["reasons"])
    assert flagged == often


def test_the_evidence_of_a_hog(locus, hog, tmp_path, trials):
    file = tmp_path / "hog.jsonl"
    locus(f"dummy --variant steady --bind {hog} --threads 1 --profile quick --time-budget 1s --output", file)
    noise = trials(file)["steady"]["noise"]
    assert noise["samples"] > 0.1 and noise["involuntary"] > 0 and noise["off_cpu"] > 0
    assert noise["foreign"] is None or noise["foreign"] > 0
    assert noise["run_delay"] is None or noise["run_delay"] > 0


def test_noisy_samples_are_told_apart_and_not_dropped(locus, hog, tmp_path, trials, read):
    file = tmp_path / "kept.jsonl"
    locus(f"dummy --variant steady --bind {hog} --threads 1 --profile quick --time-budget 1s --output", file)
    trial = trials(file)["steady"]
    batches = [line for line in read(file) if line["type"] == "samples"]
    assert sum(len(batch["noisy"]) for batch in batches) == trial["samples"]["noisy"] > 0
    assert trial["samples"]["quantiles"]["1"] == pytest.approx(max(time for batch in batches for time in batch["times"]))
    clean = trial["metrics"][-1]["without_noise"]
    if clean is not None:  # what the clock waited for alone
        assert clean == pytest.approx(10e-6, rel=0.2)


def test_threads_that_share_a_cpu_are_noisy(locus, tmp_path, trials, cpus):
    file = tmp_path / "crowd.jsonl"
    words = f"dummy --variant steady --threads 2 --bind {cpus[0]} --oversubscribe --profile quick --time-budget 1s --output"
    locus(words, file, prefix=["taskset", "-c", str(cpus[0])])
    trial = trials(file)["steady"]
    assert any("disturbed" in reason for reason in trial["reasons"]), trial["noise"]
