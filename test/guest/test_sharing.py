# SPDX-License-Identifier: Apache-2.0
"""sharing, core-to-core and checkpoint on machines of several nodes: where words and lines lie,
and the closest level that each pair of CPUs shares."""

import math

import pytest
from guests import GUESTS
from some import some
from test_numa import ONCE, node_of, trials, verified

LINES = "--protocol two-lines --lines 2"
HANDED = f"locus core-to-core {LINES} --home all --threads all {ONCE}"
OF_A_PAIR = 2 * 9 * 256  # bytes of a pair's lines: 2 meetings of (8 lines and a counter), padded


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
        assert set(cells["n"]) == {2}
        assert all(level["crowding"] > 0 for level in some(trial["pairs"]["levels"]))


@pytest.mark.guest("smt", f"locus core-to-core {LINES} --home first {ONCE}")
def test_by_default_lines_go_between_cores(done):
    (trial,) = trials(done, "ping-pong")
    assert sorted(trial["cpus"]) == [0, 2, 4, 6] and {
        level["level"] for level in trial["pairs"]["levels"]
    } >= {"machine"}


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
