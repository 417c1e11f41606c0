# SPDX-License-Identifier: Apache-2.0
"""sharing, core-to-core, coherence, barriers, readers, checkpoint, atomics and prefetch on machines
of several nodes: where words and lines lie, and the closest level that each pair of CPUs shares."""

import math

import pytest
from guests import GUESTS
from some import some
from test_numa import ONCE, node_of, trials, verified

LINES = "--protocol two-lines --lines 1"
HANDED = f"locus core-to-core {LINES} --home all --threads all {ONCE}"
OF_A_PAIR = 9 * 256  # bytes of a pair's lines: of a meeting, 8 lines and a counter, padded


@pytest.mark.guest(["2x2", "smt"], HANDED)
def test_lines_go_between_all_cpus_and_lie_where_they_are_at_home(done):
    assert done.status == 0, done
    cpus = sorted(cpu for own in GUESTS[done.guest].cpus for cpu in own)
    homes = {trial["parameters"]["home"]: trial for trial in trials(done, "ping-pong")}
    assert [*homes] == [0, 1]
    for home, trial in homes.items():
        assert sorted(trial["cpus"]) == cpus and trial["pairs"]["rounds"] == len(cpus) - 1
        assert verified(trial) == {home: math.ceil(len(cpus) // 2 * OF_A_PAIR / 4096)}


@pytest.mark.guest(["2x2", "smt"], HANDED)
def test_pairs_are_told_apart_by_what_they_share(done):
    for trial in trials(done, "ping-pong"):
        cells = trial["pairs"]["cells"]
        for a, b, level in zip(cells["a"], cells["b"], cells["level"]):
            siblings = done.guest == "smt" and a // 2 == b // 2
            assert (level == "SMT", level == "machine") == (
                siblings,
                node_of(done, a) != node_of(done, b),
            ), (a, b, level)
        assert set(cells["n"]) == {1}
        assert all(level["crowding"] > 0 for level in some(trial["pairs"]["levels"]))


@pytest.mark.guest("smt", f"locus core-to-core {LINES} --home first {ONCE}")
def test_by_default_lines_go_between_cores(done):
    (trial,) = trials(done, "ping-pong")
    assert sorted(trial["cpus"]) == [0, 2, 4, 6] and {
        level["level"] for level in trial["pairs"]["levels"]
    } >= {"machine"}


SHARED = f"locus coherence --lines 64 --home all --threads all --state modified --sharers 2 {ONCE}"


@pytest.mark.guest(["2x2", "smt"], SHARED)
def test_lines_of_each_pair_lie_where_they_are_at_home(done):
    """Also where other threads than the two of a pair have loaded them."""
    assert done.status == 0, done
    cpus = sorted(cpu for own in GUESTS[done.guest].cpus for cpu in own)
    of = {v: trials(done, v) for v in ("load", "store", "stream")}
    assert [len(own) for own in of.values()] == [2, 2, 2]
    for trial in some([t for own in of.values() for t in own]):
        cells, home = trial["pairs"]["cells"], trial["parameters"]["home"]
        assert sorted(trial["cpus"]) == cpus and trial["pairs"]["rounds"] == len(cpus) - 1
        assert len(cells["n"]) == math.comb(len(cpus), 2) and set(cells["n"]) == {2}
        assert verified(trial) == {home: math.ceil(len(cpus) // 2 * 64 * 128 / 4096)}
        for a, b, level in zip(cells["a"], cells["b"], cells["level"]):
            assert (level == "machine") == (node_of(done, a) != node_of(done, b)), (a, b, level)


@pytest.mark.guest(
    "2x2", f"locus sharing --variant add --layout shared,padded --bind 2,0 --threads 2 {ONCE}"
)
def test_words_lie_with_the_first_thread(done):
    assert done.status == 0, done
    for trial in trials(done, "add"):
        assert verified(trial) == {1: 1}


@pytest.mark.guest("2x2", f"locus checkpoint --body reverse --threads 4 {ONCE}")
def test_strings_lie_with_who_reverses_them_and_counters_with_the_first(done):
    assert done.status == 0, done
    for variant in "together", "quadwords", "apart", "per-thread-dense", "per-thread", "best":
        (trial,) = trials(done, variant)
        assert verified(trial) == {0: 8 + 1, 1: 8}
    # 1024 CPUs, since that many have room in the least set of CPUs, 128 bytes each
    (trial,) = trials(done, "per-cpu")
    assert verified(trial) == {0: 8 + 32, 1: 8}


MEETING = f"locus barriers --threads all --bind spread {ONCE}"


@pytest.mark.guest(["2x2", "4x2+1"], MEETING)
def test_what_a_thread_waits_for_at_a_barrier_lies_on_its_node(done):
    """A page for each thread."""
    assert done.status == 0, done
    nodes = GUESTS[done.guest].cpus
    for variant in "central", "tree", "dissemination", "pthread", "openmp":
        (trial,) = trials(done, variant)
        assert sorted(trial["cpus"]) == sorted(cpu for own in nodes for cpu in own)
        assert verified(trial) == {node: len(own) for node, own in enumerate(nodes) if own}


@pytest.mark.guest("2x2", f"locus readers --threads 3 --bind 0,1,2 --pauses 10 {ONCE}")
def test_the_word_that_is_read_lies_with_its_writer(done):
    assert done.status == 0, done
    found = {trial["parameters"]["layout"]: verified(trial) for trial in trials(done, "load")}
    assert found == {layout: {1: 1} for layout in ("word", "line", "next", "padded")}


ATOMS = f"locus atomics --variant load,add --home all --threads 1 --bind 2 {ONCE}"
WALKS = f"locus prefetch --stride 64,4K --lines 256 --pages base --bind 2 {ONCE}"


@pytest.mark.guest(["2x2", "4x2+1"], ATOMS)
def test_atomic_words_lie_on_each_node(done):
    assert done.status == 0, done
    nodes = range(len(GUESTS[done.guest].cpus))
    for variant in "load", "add":
        found = {trial["parameters"]["home"]: trial for trial in trials(done, variant)}
        assert [*found] == [*nodes]
        for home, trial in found.items():
            assert trial["cpus"] == [2] and verified(trial) == {home: 1}


@pytest.mark.guest(["2x2", "4x2+1"], WALKS)
def test_elements_lie_with_who_walks(done):
    """256 lines a line apart fill 4 pages, a page apart 256; the table of 1 KiB has another."""
    assert done.status == 0, done
    for variant in "independent", "dependent":
        for trial in trials(done, variant):
            pages = 256 * trial["parameters"]["stride"] // 4096
            assert verified(trial) == {node_of(done, 2): pages + 1}
            assert trial["samples"]["units"] == 256
