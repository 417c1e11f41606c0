# SPDX-License-Identifier: Apache-2.0
"""locus core-to-core, locus coherence: lines that go from core to core."""

import functools
import re

import pytest
from conftest import MEASURED, value
from listed import unwrapped


def seconds(text):
    """12.3 ns"""
    number, unit = text.split()
    return float(number) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}[unit]


PROTOCOLS = ["compare-exchange", "store-load", "two-lines", "message"]
QUANTILES = ["0", "0.25", "0.5", "0.75", "0.99"]
COLUMNS = ["least", "1/4", "median", "3/4", "99 %"]
SHORT = "--repeats 2 --duration 2ms"
LONGER = "--repeats 3 --duration 5ms"


# Lines from core to core


@pytest.fixture(scope="module")
def pairs(recorded):
    return functools.partial(recorded, benchmark="core-to-core")


def test_lines_go_from_core_to_core(pairs, two):
    words = "--profile standard --variant ping-pong --threads 2 --lines 3 --repeats 2"
    done, lines = pairs(words)
    assert done.status == 0 and sorted(
        trial["parameters"]["protocol"] for trial in lines["trial"]
    ) == sorted(PROTOCOLS)
    for trial in lines["trial"]:
        met, cells = trial["pairs"], trial["pairs"]["cells"]
        assert trial["status"] in MEASURED, trial["reasons"]
        assert met["rounds"] == 1 and met["crowding"] is None and met["outstanding"] == []
        assert trial["statistic"]["of"] == "meetings of a pair in a batch"
        assert sorted(cells["a"] + cells["b"]) == sorted(trial["cpus"]) and cells["n"] == [
            2 * 3
        ]  # so many lines in each batch
        quantiles = [cells[q][0] for q in QUANTILES]
        assert quantiles == sorted(quantiles) and quantiles[0] > 0
        assert met["levels"][0]["meetings"] == {"n": 2 * 3, **dict(zip(QUANTILES, quantiles))}
        assert [(level["level"], level["pairs"]) for level in met["levels"]] == [
            (cells["level"][0], 1)
        ]
        assert trial["placement"]["before"]["misplaced"] == 0


def test_one_way_times_have_a_bound(pairs, two):
    """Or the reason why the CPUs' tick counters may differ."""
    done, lines = pairs("--variant one-way --threads 2 --lines 3 --repeats 2")
    (trial,) = lines["trial"]
    if trial["status"] == "impossible":
        assert done.status == 3 and any("tick counter" in reason for reason in trial["reasons"])
        return
    assert done.status == 0 and trial["status"] in MEASURED, trial["reasons"]
    assert "protocol" not in trial["parameters"] and trial["pairs"]["cells"]["n"] == [2 * 3]
    # The fastest transfer of each meeting takes as long as its bound; buckets are 1/64 wide.
    assert value(trial, "one-way") >= 0.98 * value(trial, "skew-bound") > 0


def test_a_quick_run_has_no_one_way_times(locus):
    words = "core-to-core --dry-run --topology"
    assert "one-way" not in locus(words, "core:2 pu:1", "--profile", "quick").out
    assert "one-way" in locus(words, "core:2 pu:1", "--profile", "standard").out


@pytest.mark.parametrize("threads", [2, 4])
def test_levels_on_the_terminal_are_of_all_meetings(pairs, two, threads):
    done, lines = pairs(
        f"--protocol store-load --threads {threads} --oversubscribe --lines 4 --repeats 2"
    )
    levels = lines["trial"][0]["pairs"]["levels"]
    table = done.out.splitlines()
    head = next(i for i, line in enumerate(table) if line.split()[:1] == ["share"])
    assert re.split(r"\s{2,}", table[head].strip()) == [
        "share",
        "pairs",
        *COLUMNS,
        "medians of pairs",
    ]
    for level, line in zip(levels, table[head + 1 :]):
        name, of, *quantiles, medians = re.split(r"\s{2,}", line.strip())
        assert (name, int(of), level["meetings"]["n"]) == (
            level["level"],
            level["pairs"],
            4 * 2 * level["pairs"],
        )
        assert [seconds(q) for q in quantiles] == pytest.approx(
            [level["meetings"][q] for q in QUANTILES], rel=1e-3
        )
        if level["pairs"] == 1:
            assert medians == "-"  # one number does not show how pairs differ
        else:
            assert [seconds(m) for m in medians.split(" to ")] == pytest.approx(
                [level["0"], level["0.99"]], rel=1e-3
            )


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_lines_go_to_and_fro_on_one_cpu(pairs, cpus, protocol):
    one = ["taskset", "-c", str(cpus[0])]
    done, lines = pairs(
        f"--protocol {protocol} --threads 2 --oversubscribe --lines 2 --repeats 1", prefix=one
    )
    (trial,) = lines["trial"]
    assert done.status == 0 and trial["oversubscribed"]
    assert trial["pairs"]["cells"]["a"] == trial["pairs"]["cells"]["b"] == [cpus[0]]
    assert [level["level"] for level in trial["pairs"]["levels"]] == ["CPU"]


@pytest.mark.parametrize("threads", [7, 8])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_more_threads_than_cpus_meet(pairs, few, protocol, threads):
    done, lines = pairs(
        f"--protocol {protocol} --threads {threads} --oversubscribe --lines 1 --repeats 1",
        prefix=few,
    )
    (trial,) = lines["trial"]
    assert done.status == 0 and trial["status"] in MEASURED, trial["reasons"]
    assert (
        trial["pairs"]["rounds"] == 7
        and len(trial["pairs"]["cells"]["a"]) == threads * (threads - 1) / 2
    )
    assert set(trial["pairs"]["cells"]["n"]) == {1} and trial["pairs"]["crowding"]["pairs"] > 0


def test_pairs_take_two(locus):
    for words in ("core-to-core", "sharing --variant distance"):
        done = locus(words, "--threads", 1)
        assert done.status == 2 and "two threads" in done.err
    done = locus("core-to-core", "--oversubscribe", "--threads", 2, "--lines", 0)
    assert done.status == 2 and "line" in done.err


def test_a_node_of_128_cores_is_127_rounds(locus):
    seconds = {}
    for lines in 16, 160:
        words = f"core-to-core --protocol compare-exchange --lines {lines} --dry-run --topology"
        done = locus(words, "package:2 l3:8 core:8 pu:1")
        assert (
            done.status == 0 and f"127 rounds of 64 disjoint pairs, {lines} times each" in done.out
        )
        seconds[lines] = float(re.findall(r"estimated time: (\d+) s", done.out)[0])
    assert (
        1 < seconds[16] < 15 and 9 < seconds[160] / seconds[16] < 11
    )  # for each protocol and home: a minute for four


@pytest.mark.parametrize("machine", ["package:2 l3:8 core:8 pu:1", "package:2 l3:8 core:8 pu:2"])
@pytest.mark.parametrize("nodes", [1, 2])
def test_a_node_of_128_cores_takes_a_minute(locus, machine, nodes):
    """With all protocols, homes and batches. By default one thread per core takes part; siblings do
    if --threads asks for them."""
    machine = machine.replace("package:2", "package:2 numa:1" if nodes == 2 else "numa:1 package:2")
    words = "core-to-core --profile standard --variant ping-pong --dry-run --topology"
    done = locus(words, machine)
    assert done.status == 0 and done.out.count("127 rounds of 64 disjoint pairs") == 4 * nodes
    assert int(re.findall(r"estimated time: (\d+) s", done.out)[0]) <= 60
    if "pu:2" in machine:
        assert (
            "255 rounds of 128 disjoint pairs"
            in locus(words.replace("--dry-run", "--threads all --dry-run"), machine).out
        )


def test_lines_have_a_home_on_each_node(locus):
    machine = "numa:4 core:2 pu:1"
    done = locus(
        "core-to-core --profile standard --variant ping-pong",
        "--protocol",
        "message",
        "--dry-run",
        "--topology",
        machine,
    )
    assert sorted(re.findall(r"home=(\d)", done.out)) == ["0", "1", "2", "3"]
    assert len(re.findall(r"^group ", done.out, re.MULTILINE)) == 1  # sampled in turn


# Lines that another core has


@pytest.fixture(scope="module")
def taken(recorded):
    return functools.partial(recorded, benchmark="coherence")


STATES = {
    "load": ("modified", "exclusive", "memory"),
    "store": ("modified", "exclusive", "both", "memory"),
    "stream": (None,),
    "memset": (None,),
}


def test_lines_are_taken_in_each_state(taken, two):
    done, lines = taken("--threads 2 --lines 64,256 --repeats 2 --duration 1ms")
    of = {
        (t["variant"], t["parameters"].get("state"), t["parameters"]["lines"]): t
        for t in lines["trial"]
    }
    assert done.status == 0 and of.keys() == {
        (variant, state, n) for variant, own in STATES.items() for state in own for n in (64, 256)
    }
    for (_, state, n), trial in of.items():
        cells = trial["pairs"]["cells"]
        assert trial["status"] in MEASURED, trial["reasons"]
        assert cells["n"] == [2 * 2]  # a meeting in each direction, in each of two batches
        assert trial["placement"]["before"]["misplaced"] == 0
        line = value(trial, "time") * value(trial, "bandwidth")
        assert line == pytest.approx(round(line)) and round(line) in (32, 64, 128, 256)
        (single,) = (m for m in trial["metrics"] if m["name"] == "single")
        if state is None:
            assert single["value"] is None
        elif single["value"] is not None:  # ticks may be too long
            assert single["distribution"]["n"] == 2 * 2 * n
    compared = {(r["of"], r["to"]) for t in lines["trial"] for r in t["ratios"]}
    assert compared == {(state, "exclusive") for state in ("modified", "both", "memory")}


def test_more_threads_than_cpus_take_lines_that_others_share(taken, few):
    done, lines = taken(
        "--threads 5 --oversubscribe --sharers 0,3 --lines 16 --repeats 1 --duration 1ms",
        prefix=few,
    )
    assert done.status == 0
    shared = [(t["variant"], t["parameters"].get("sharers")) for t in lines["trial"]]
    assert {of: shared.count(of) for of in shared} == {
        ("load", 0): 3,
        ("load", 3): 2,
        ("store", 0): 4,
        ("store", 3): 3,
        ("stream", None): 1,
        ("memset", None): 1,
    }
    for trial in lines["trial"]:
        assert trial["status"] in MEASURED, trial["reasons"]
        assert trial["pairs"]["rounds"] == 5 and len(trial["pairs"]["cells"]["n"]) == 10


def test_sharers_are_threads_beside_the_pair(locus):
    words = "coherence --variant load --threads 3 --dry-run --topology"
    assert locus(words, "core:3 pu:1", "--sharers", 1).status == 0
    done = locus(words, "core:3 pu:1", "--sharers", 2)
    assert done.status == 2 and "that many threads" in done.err


def test_what_two_cores_cannot_show_is_left_out_with_a_reason(locus):
    words = "coherence --profile standard --dry-run --topology"
    few, many = (locus(words, f"core:{cores} pu:1").out for cores in (2, 4))
    assert "sharers=1" not in few and "sharers=1" in many
    assert "combinations left out: --sharers: needs that many threads" in unwrapped(few)
