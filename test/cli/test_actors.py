# SPDX-License-Identifier: Apache-2.0
"""actors as a user runs it: properties that each trial must have at any speed."""

import re

import pytest
from conftest import value
from some import some

VARIANTS = ["dedicated", "shuffled", "pool", "stealing", "openmp", "best"]
MEASURED = ("ok", "unconverged", "bimodal", "noisy")
SHORT = "--repeats 2 --duration 1ms"


def measured(trials):
    """The trials that this build can measure: ThreadSanitizer can't see OpenMP's tasks."""
    for trial in some(trials):
        if trial["variant"] == "openmp" and trial["status"] == "impossible":
            assert any("ThreadSanitizer" in reason for reason in trial["reasons"])
        else:
            assert trial["status"] in MEASURED, trial["reasons"]
            assert value(trial, "throughput") > 0
    return some(t for t in trials if t["status"] in MEASURED)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("to", ["self", "random"])
def test_all_who_run_actors(run, threads, to):
    """All variants run, and verify() accepts the number of times each message was handled."""
    _, trials = run(
        f"--threads {threads} --actors 100 --in-flight 1,3 --to {to} --state 64,4K {SHORT}"
    )
    assert {t["variant"] for t in trials} == {*VARIANTS}
    for trial in measured(trials):
        shares = [value(trial, f"same-{what}") for what in ("thread", "cache", "node")]
        assert 0 <= shares[0] <= shares[1] <= shares[2] <= 1
        if threads == 1 or trial["variant"] == "dedicated":
            assert shares[0] == 1 and value(trial, "steals") == 0
        assert value(trial, "moves") >= value(trial, "steals") >= 0
        assert value(trial, "migrations") == 0  # its threads are pinned


def test_waiting_is_timed_where_asked_for(run):
    _, trials = run(f"--every 1,0 --threads 2 --actors 20 --state 64 {SHORT}")
    for trial in measured(trials):
        times = [value(trial, f"waiting{end}") for end in ("", "-p99", "-longest")]
        if trial["parameters"]["every"]:
            assert 0 < times[0] <= times[1] <= times[2]
        else:
            assert times == [None] * 3


def test_nobody_waits_longer_than_a_sample(run):
    """Waiting does not include the late start of threads, so it never exceeds the sample."""
    messages, threads = 400, 9
    _, trials = run(
        f"--every 1 --threads {threads} --oversubscribe --actors 20 --state 64"
        f" --messages {messages} --repeats 1"
    )
    for trial in measured(trials):
        sample = value(trial, "time") * messages / threads
        assert 0 < value(trial, "waiting-longest") <= 1.02 * sample


def test_messages_at_a_set_rate(run):
    """The last thread sends the messages, none before it is due."""
    messages, rate = 300, 20000
    _, trials = run(
        f"--rate {rate} --messages {messages} --threads 2 --actors 10 --in-flight 1,4"
        f" --to self,random --every 1 --state 64 --repeats 3"
    )
    some(t for t in trials if t["variant"] == "best")
    for trial in trials:
        if trial["variant"] == "openmp":
            assert trial["status"] == "impossible"
            continue
        assert trial["status"] in MEASURED, trial["reasons"]
        assert 0 < value(trial, "throughput") <= 1.02 * rate * messages / (messages - 1)
        assert value(trial, "waiting") > 0


def test_a_rate_takes_a_thread(locus):
    done = locus("actors", "--rate", "1000", "--threads", "1", "--actors", "10")
    assert done.status != 0
    assert "one that sends and one" in " ".join((done.err + done.out).split())


def test_the_real_body(run):
    _, trials = run(f"--body real --entries 0,64,2000 --actors 24 --threads 2 {SHORT}")
    assert {t["parameters"]["entries"] for t in trials} == {64, 256, 2000}
    measured(trials)


def test_so_many_messages(run):
    """Few actors, a fixed number of messages, several in a row, the newest first."""
    _, trials = run(
        "--actors 200 --active 2 --messages 1000 --batch 1,4 --order oldest,newest"
        f" --home own,first,interleave --words 0 --state 1000 --threads 2 {SHORT}"
    )
    measured(trials)


def test_each_message_counts_once(run):
    """Including messages that OpenMP's threads handle after the team's workers have returned."""
    _, trials = run(f"--threads 4 --oversubscribe --actors 100 --state 64 --messages 20000 {SHORT}")
    for trial in measured(trials):
        assert trial["samples"]["parts"] == 20000 * trial["samples"]["n"]


def test_more_threads_than_cpus(run, few):
    words = f"--threads 9 --oversubscribe --actors 50 --to random --state 64 {SHORT}"
    _, trials = run(words, prefix=few)
    assert all(trial["oversubscribed"] for trial in some(measured(trials)))


def test_threads_that_float(run):
    """Floating threads have no fixed CPU, so whether two share a cache is unknown: null."""
    _, trials = run(f"--threads 2 --bind float --actors 50 --state 64 {SHORT}")
    for trial in measured(trials):
        assert 0 <= value(trial, "same-thread") <= 1
        assert value(trial, "same-cache") is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--actors 0", "--actors"),
        ("--actors 2e6", "--actors"),
        ("--state 6", "--state"),
        ("--words 5e9", "--words"),
        ("--body real --entries 1e9", "--entries"),
        ("--active 0", "--active"),
        ("--active 101", "--active"),
        ("--in-flight 0", "--in-flight"),
        ("--batch 0", "--batch"),
        ("--messages 2e12", "--messages"),
        ("--rate -1", "--rate"),
        ("--rate 2e9", "--rate"),
    ],
)
def test_what_makes_no_sense_is_refused(locus, arguments, said):
    done = locus("actors", *arguments.split())
    assert done.status == 2 and said in done.err and not done.out


def test_too_few_messages_are_left_out(locus):
    done = locus("actors", "--actors", "100", "--messages", "99", "--threads", "1")
    assert done.status != 0
    assert "fewer than the messages in flight" in " ".join((done.err + done.out).split())


def test_states_that_do_not_fit_are_refused_with_the_arithmetic(locus):
    done = locus("actors", "--actors", "1048576", "--state", "1G", "--threads", "1")
    assert done.status == 3
    assert re.search(r"needs 1 PiB of memory, .* only \S+ \S+ is available", done.err)
