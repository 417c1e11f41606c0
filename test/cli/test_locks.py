# SPDX-License-Identifier: Apache-2.0
"""locks as a user runs it."""

import pytest
from conftest import MEASURED, measured, value
from some import some

KINDS = ["mutex", "spin", "ticket", "mcs", "clh", "cohort", "rwlock", "flags"]
SPREAD = ["cohort", "flags"]  # these have a part for each thread or node
ONE = ["together", "apart"]  # one lock for all threads
LAYOUTS = [*ONE, "dense", "padded"]
SHARES = ["to-self", "to-core", "to-cache", "to-node", "to-far"]
BY_DISTANCE = ["handover-core", "handover-cache", "handover-node", "handover-far"]
SHORT = "--repeats 1 --duration 5ms"


def metric(trial, name):
    return next(m for m in trial["metrics"] if m["name"] == name)


def what(trial):
    of = trial["parameters"]
    return trial["variant"], of["layout"], of["reads"]


@pytest.fixture(scope="module")
def visited(run, cpus):
    """All kinds and layouts, with readers and without."""
    return run(
        f"--variant {','.join(KINDS)} --layout {','.join(LAYOUTS)} --section 10 --lines 2"
        f" --pause 10 --reads 0,50 --threads {min(len(cpus), 2)} {SHORT}"
    )


def test_every_kind_and_layout_is_right(visited):
    """The counts under each lock are verified."""
    done, trials = visited
    assert done.status == 0, done.err
    assert sorted(map(what, trials)) == sorted(
        (kind, layout, reads)
        for kind in KINDS
        for layout in (ONE if kind in SPREAD else LAYOUTS)
        for reads in (0, 50)
    )
    assert measured(trials)


def test_numbers_are_possible(visited):
    for trial in some(measured(visited[1])):
        assert value(trial, "throughput") * value(trial, "time") == pytest.approx(trial["threads"])
        assert 0 <= value(trial, "fairness") <= 1
        assert value(trial, "wait") <= value(trial, "wait-p99") <= value(trial, "wait-longest")
        found = metric(trial, "wait")["distribution"]
        quantiles = [found["quantiles"][q] for q in ("0.5", "0.9", "0.99", "0.999", "1")]
        assert found["n"] > 0 and quantiles == sorted(quantiles)


def test_long_sections_take_longer(run):
    """1000 multiplications that wait for each other: 3000 cycles on most processors."""
    done, trials = run(
        f"--variant {','.join(KINDS)} --section 0,1000 --layout apart --reads 0 --threads 1 {SHORT}"
    )
    assert done.status == 0
    times = {(t["variant"], t["parameters"]["section"]): value(t, "time") for t in trials}
    for kind in KINDS:
        assert times[kind, 1000] > times[kind, 0]


def test_shares_of_the_next_holder_add_up(visited, cpus):
    """There are none if no section wrote while all were at work, as on a busy machine."""
    found = []
    for trial in some(measured(visited[1])):
        shares = [value(trial, name) for name in SHARES]
        if trial["parameters"]["layout"] in ONE and trial["threads"] > 1:
            found += [shares] if shares[0] is not None else []
        else:
            assert shares == [None] * len(SHARES)
    for shares in some(found) if len(cpus) > 1 else ():
        assert sum(shares) == pytest.approx(1)


def test_handovers_are_those_of_one_lock_that_all_write(visited):
    for trial in some(measured(visited[1])):
        of = trial["parameters"]
        one = of["layout"] in ONE and of["reads"] == 0 and trial["threads"] > 1
        found = [value(trial, name) for name in ("handover", *BY_DISTANCE)]
        if not one:
            assert found == [None] * len(found), what(trial)
        elif found[0] is not None:
            # two CPUs have one distance
            assert [n for n in found[1:] if n is not None] == pytest.approx([found[0]])


def test_a_cohort_lock_is_left_out_on_one_node_unless_asked_for(locus):
    def out(machine, *words):
        return locus("locks --dry-run --topology", machine, *words).out

    assert "locks/cohort" in out("node:2 core:2 pu:1")
    once = out("core:4 pu:1")
    assert "locks/cohort" not in once and "this machine has one NUMA node" in once
    assert "locks/cohort" in out("core:4 pu:1", "--variant", "cohort")


def test_a_cohort_lock_or_flags_can_not_be_packed(locus):
    for kind in SPREAD:
        done = locus("locks", "--variant", kind, "--layout", "dense")
        assert done.status == 2 and "can't be packed" in done.err, done


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--lines 0", "--lines is from 1 to 1024"),
        ("--lines 1025", "--lines is from 1 to 1024"),
        ("--reads 101", "0 to 100"),
    ],
)
def test_what_can_not_be(locus, words, said):
    done = locus("locks", *words.split())
    assert done.status == 2 and said in done.err, done


@pytest.mark.parametrize("kind", KINDS)
def test_more_threads_than_cpus_get_the_lock(run, few, kind):
    done, (trial,) = run(
        f"--variant {kind} --layout apart --section 0 --reads 0 --threads 8 --oversubscribe"
        " --repeats 1 --duration 2ms",
        prefix=few,
    )
    assert done.status == 0 and trial["oversubscribed"] and trial["status"] in MEASURED
    assert trial["samples"]["n"] > 0


@pytest.mark.parametrize("kind", KINDS)
def test_all_get_the_lock_on_one_cpu(run, cpus, kind):
    done, trials = run(
        f"--variant {kind} --layout apart --section 0 --reads 0,50 --threads 3 --oversubscribe"
        " --repeats 1 --duration 2ms",
        prefix=["taskset", "-c", str(cpus[0])],
    )
    assert done.status == 0 and {trial["status"] for trial in some(trials)} <= {*MEASURED}
    for trial in trials:
        away = [value(trial, name) for name in SHARES[2:]]
        assert away in ([0, 0, 0], [None] * 3)  # all share a core


def test_threads_that_may_move_have_no_distance(run, cpus):
    if len(cpus) < 2:
        pytest.skip("one CPU")
    done, (trial,) = run(
        f"--variant mcs --layout apart --section 0 --threads 2 --bind float {SHORT}"
    )
    assert done.status == 0 and value(trial, "wait") is not None
    assert [value(trial, name) for name in SHARES] == [None] * len(SHARES)
