# SPDX-License-Identifier: Apache-2.0
"""Experiment 4 (checkpoint) as a user runs it."""

import ctypes
import re

import pytest
from conftest import measured, value
from read_record import check_ratio
from retries import tries
from some import some


def restartable():
    """Whether the C library has registered restartable sequences."""
    try:
        return ctypes.c_uint.in_dll(ctypes.CDLL(None), "__rseq_size").value > 0
    except ValueError:
        return False


LAYOUTS = ["together", "quadwords", "apart", "per-thread-dense", "per-thread", "per-cpu", "best"]
POSSIBLE = [layout for layout in LAYOUTS if layout != "per-cpu" or restartable()]
SHORT = "--repeats 2 --duration 2ms"


@pytest.fixture(scope="module")
def ticked(run, cpus):
    """All layouts and bodies, on one thread and on two."""
    threads = "1,2" if len(cpus) > 1 else "1"
    return run(
        f"--variant {','.join(POSSIBLE)} --threads {threads} --body loop,reverse --ticks 100000"
        f" --every 256 {SHORT}"
    )


def what(trial):
    return trial["variant"], trial["parameters"]["body"], trial["threads"]


def test_every_layout_and_body_is_right(ticked, cpus):
    done, trials = ticked
    assert done.status == 0
    threads = [1, 2] if len(cpus) > 1 else [1]
    assert sorted(map(what, trials)) == sorted(
        (layout, body, n) for layout in POSSIBLE for body in ("loop", "reverse") for n in threads
    )
    for trial in some(measured(trials)):
        assert trial["samples"]["units"] == 100000 / trial["threads"]


def test_own_counters_are_exact(ticked):
    """Each of two threads fires 50000 / 256 times, not 100000 / 256 times together."""
    for trial in some(measured(ticked[1])):
        own = trial["variant"].startswith("per-") or trial["variant"] == "best"
        if trial["threads"] == 1 or own:
            assert value(trial, "kept") == 1 and value(trial, "fired-error") == 0


def test_shared_counters_keep_a_share(ticked):
    for trial in some(measured(ticked[1])):
        assert 0 < value(trial, "kept") <= 1 and value(trial, "fired-error") >= -1
        assert value(trial, "throughput") * value(trial, "time") == pytest.approx(trial["threads"])


def test_shared_ticks_get_lost(run, cpus):
    """On a busy machine the threads may run one after the other, and lose nothing: then the test is
    tried again."""
    if len(cpus) < 2:
        pytest.skip("one CPU")
    for _ in tries(10, "no tick was lost where two threads tick one counter"):
        done, trials = run("--variant together --threads 2 --repeats 3 --duration 10ms")
        assert done.status == 0
        if value(trials[0], "kept") < 1:
            return


def test_ratios_have_their_partners(ticked):
    by_id = {trial["id"]: trial for trial in measured(ticked[1])}
    partners = {
        "together": ["per-thread", "apart", "quadwords"],
        "quadwords": [],
        "apart": ["per-thread"],
        "per-thread-dense": ["per-thread"],
        "per-thread": ["best"],
        "per-cpu": ["per-thread"],
        "best": [],
    }
    timed = {what(trial) for trial in by_id.values()}
    for trial in by_id.values():
        _, body, threads = what(trial)
        by_threads = [ratio for ratio in trial["ratios"] if ratio["parameter"] == "threads"]
        of_layouts = [ratio for ratio in trial["ratios"] if ratio not in by_threads]
        assert [ratio["to"] for ratio in of_layouts] == [
            layout for layout in partners[trial["variant"]] if (layout, body, threads) in timed
        ]
        for ratio in by_threads:
            other = by_id[ratio["trial"]]
            assert (trial["threads"], other["threads"], ratio["metric"]) == (1, 2, "throughput")
            assert other["variant"] == trial["variant"] and other["group"] == trial["group"]
            check_ratio(ratio, trial, other)
        assert len(by_threads) == (threads == 1 and (trial["variant"], body, 2) in timed)
        for ratio in of_layouts:
            other = by_id[ratio["trial"]]
            assert (other["variant"], other["threads"], other["parameters"]) == (
                ratio["to"],
                trial["threads"],
                trial["parameters"],
            )
            check_ratio(ratio, trial, other)
            assert other["group"] == trial["group"]


@pytest.mark.parametrize("every", [1, 2, 1024])
def test_as_often_as_asked(run, every):
    done, trials = run(f"--variant per-thread --threads 1 --every {every} --ticks 10000 {SHORT}")
    assert done.status == 0 and value(trials[0], "fired-error") == 0


@pytest.mark.parametrize("every", [0, 3, 255])
def test_what_is_no_power_of_two(locus, every):
    done = locus("checkpoint", "--every", every)
    assert done.status == 2 and "power of two" in done.err


def test_fewer_ticks_than_a_firing_takes(run):
    """No firing is due, so the error of firings, relative to those due, has no value."""
    done, trials = run(f"--variant per-thread --threads 1 --ticks 100 {SHORT}")
    assert (
        done.status == 0
        and value(trials[0], "kept") == 1
        and value(trials[0], "fired-error") is None
    )


def test_counters_of_cpus_lose_nothing_where_threads_move(run, few):
    """Threads are preempted within a tick, and continue on other CPUs."""
    if not restartable():
        pytest.skip("no restartable sequences")
    done, trials = run(
        "--variant per-cpu --bind float --threads 8 --oversubscribe --body loop,reverse"
        " --repeats 2 --duration 20ms",
        prefix=few,
    )
    assert done.status == 0
    for trial in some(measured(trials)):
        assert value(trial, "kept") == 1 and value(trial, "fired-error") == 0, trial


def test_without_restartable_sequences_only_counters_of_cpus_are_impossible(run):
    done, trials = run(
        f"--variant per-thread,per-cpu --threads 1 {SHORT}",
        env={"GLIBC_TUNABLES": "glibc.pthread.rseq=0"},
    )
    of = {trial["variant"]: trial for trial in trials}
    assert of["per-cpu"]["status"] == "impossible"
    assert "restartable sequences" in of["per-cpu"]["reasons"][0]
    assert done.status == 3 and value(of["per-thread"], "kept") == 1


def test_more_threads_than_cpus_end(run, few):
    done, trials = run(
        f"--variant {','.join(POSSIBLE)} --threads 8 --oversubscribe --repeats 1 --duration 2ms",
        prefix=few,
    )
    assert done.status == 0 and trials and all(trial["oversubscribed"] for trial in trials)


def test_published_settings(locus):
    done = locus("checkpoint", "--profile", "paper", "--dry-run", "--topology", "core:4 pu:1")
    plans = re.findall(
        r"checkpoint/(\S+) ticks=(\d+) every=(\d+) body=(\w+) threads=(\d+)", done.out
    )
    assert {(ticks, every) for _, ticks, every, *_ in plans} == {("1000000000", "256")}
    assert sorted((layout, body, int(n)) for layout, _, _, body, n in plans) == sorted(
        (layout, body, n) for layout in LAYOUTS for body in ("loop", "reverse") for n in (1, 2)
    )
