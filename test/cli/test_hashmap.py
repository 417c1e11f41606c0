# SPDX-License-Identifier: Apache-2.0
"""hashmap as a user runs it: properties that each trial must have at any speed."""

import pytest
from conftest import value
from some import some

STRIPED = ["striped", "striped-waitfree"]
MEASURED = ("ok", "unconverged", "bimodal", "noisy")
SHORT = "--repeats 2 --duration 1ms"


def measured(trials):
    """The trials that this build can measure: without liburcu, `library` is impossible."""
    for trial in some(trials):
        if trial["variant"] == "library" and trial["status"] == "impossible":
            assert any("liburcu" in reason for reason in trial["reasons"])
        else:
            assert trial["status"] in MEASURED, trial["reasons"]
            assert value(trial, "lost") == 0
            assert value(trial, "map-time") > 0 and value(trial, "draw-time") > 0
    return some(t for t in trials if t["status"] in MEASURED)


def test_the_course_grows_a_fresh_map_in_each_sample(run):
    """The map grows from a bucket per stripe to one per key, and has most of the keys at the
    end."""
    done, trials = run(f"--mix course --threads 1,2 --operations 100000 --range 20000 {SHORT}")
    assert done.status in (0, 2), done.err
    for trial in measured(trials):
        assert 0.75 * 20000 < value(trial, "keys") <= 20000
        if trial["variant"] != "library":
            # best goes from 64 buckets of three keys to 8192
            growths = {7} if trial["variant"] == "best" else {9, 10, 11}
            assert value(trial, "growths") in growths
            assert value(trial, "growth-time") > 0


@pytest.mark.parametrize(
    ("mix", "keys"), [("--turnover 100 --reads 50", 0.5), ("--turnover 0 --reads 50", 1)]
)
def test_a_steady_mix_keeps_its_size(run, mix, keys):
    _, trials = run(f"{mix} --threads 2 --range 10000 {SHORT}")
    for trial in measured(trials):
        assert abs(value(trial, "keys") / 10000 - keys) < 0.06
        # liburcu's own thread grows its table, and does not report it
        assert value(trial, "growths") == (None if trial["variant"] == "library" else 0)


@pytest.mark.parametrize("keys", ["uniform", "zipf", "hot"])
def test_keys_and_values_of_every_kind(run, keys):
    _, trials = run(
        f"--keys {keys} --value 8,72 --threads 2 --range 1000 --padded both --pages base,thp"
        f" {SHORT}"
    )
    skew = {"uniform": 0, "zipf": 0.99, "hot": 0.9}[keys]
    for trial in measured(trials):
        assert trial["parameters"]["skew"] == skew
        if trial["variant"] in STRIPED:
            assert value(trial, "bytes-a-key") > 24


def test_operations_are_timed_one_by_one_where_asked_for(run):
    _, trials = run(f"--every 1,0 --threads 2 --padded both --reads 0 --range 1000 {SHORT}")
    for trial in measured(trials):
        times = [value(trial, f"latency{end}") for end in ("", "-p99", "-p99.9", "-longest")]
        if trial["parameters"]["every"]:
            assert 0 < times[0] <= times[1] <= times[2] <= times[3]
        else:
            assert times == [None] * 4


@pytest.mark.parametrize("turnover", [0, 100])
def test_batches_do_the_same(run, turnover):
    _, trials = run(
        f"--calls single,batches --threads 2 --reads 50 --turnover {turnover} --range 5000 {SHORT}"
    )
    best = {t["parameters"]["calls"]: t for t in measured(trials) if t["variant"] == "best"}
    others = [t for t in trials if t["variant"] != "best"]
    assert all("calls" not in t["parameters"] for t in some(others))
    assert [(r["of"], r["to"]) for r in best["single"]["ratios"]] == [("single", "batches")]
    for trial in best.values():
        assert abs(value(trial, "keys") / 5000 - (0.5 if turnover else 1)) < 0.06
    assert value(best["batches"], "latency") is None


def test_readers_are_a_role(run):
    _, trials = run(f"--readers 1 --threads 2 --reads 0 --range 1000 --every 1 {SHORT}")
    for trial in measured(trials):
        assert [role["name"] for role in trial["roles"]] == ["thread", "reader"]
        assert [role["workers"] for role in trial["roles"]] == [1, 1]
        assert trial["roles"][0]["throughput"] > 0
        assert value(trial, "latency") > 0 and value(trial, "reader-latency") > 0


def test_what_is_never_used_again(run):
    """Without reclamation, the same work takes more bytes per key."""
    _, trials = run(
        f"--variant striped-waitfree --mix course --reclaim epoch,none --threads 2 --padded both"
        f" --operations 40000 --range 2000 {SHORT}"
    )
    by = {t["parameters"]["reclaim"]: t for t in measured(trials)}
    assert [(r["of"], r["to"]) for r in by["epoch"]["ratios"]] == [("epoch", "none")]
    assert value(by["none"], "bytes-a-key") > value(by["epoch"], "bytes-a-key")


def test_more_threads_than_cpus(run, few):
    _, trials = run(
        f"--threads 9 --oversubscribe --mix course --operations 50000 --range 5000 {SHORT}",
        prefix=few,
    )
    assert all(trial["oversubscribed"] for trial in some(measured(trials)))


def test_tables_are_placed_and_read_back(run):
    """The pages of all tables, including later growth, exist before the clock starts."""
    _, trials = run(
        "--variant striped,best --placement local,interleave --threads 1 --padded both"
        f" --mix course --operations 50000 --range 20000 {SHORT}"
    )
    placed = some(t for t in measured(trials))
    assert {(t["variant"], t["parameters"]["placement"]) for t in placed} == {
        (variant, placement)
        for variant in ("striped", "best")
        for placement in ("local", "interleave")
    }
    for trial in placed:
        before = trial["placement"]["before"]
        assert before["how"] == "verified", before
        tables = value(trial, "bytes-a-key") * value(trial, "keys")
        assert sum(before["on_node"].values()) * before["page"] >= tables


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--operations 2e12", "--operations"),
        ("--reads 101", "--reads"),
        ("--range 0", "--range"),
        ("--value 12", "--value"),
        ("--stripes 33", "--stripes"),
        ("--lock-bytes 2", "--lock-bytes"),
        ("--padding 0", "--padding"),
        ("--load 0", "--load"),
        ("--keys hot --skew 2", "--skew"),
        ("--skew -1", "--skew"),
    ],
)
def test_what_makes_no_sense_is_refused(locus, arguments, said):
    done = locus("hashmap", *arguments.split())
    assert done.status == 2 and said in done.err and not done.out


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("--readers 2 --threads 2", "at least one thread must do the mix"),
        (
            "--variant striped-waitfree --reclaim none --operations 0 --threads 1",
            "give --operations",
        ),
        ("--variant best --mix course --calls batches --threads 1", "--calls single"),
    ],
)
def test_what_is_left_out_says_why(locus, arguments, why):
    done = locus("hashmap", *arguments.split())
    assert done.status != 0 and why in " ".join((done.err + done.out).split())
