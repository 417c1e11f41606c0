# SPDX-License-Identifier: Apache-2.0
"""sharing and core-to-core as a user runs them. Tests relate numbers to each other, but expect no
absolute times."""

import functools
import re

import pytest
from conftest import MEASURED, measured, value
from listed import unwrapped
from read_record import check_ratio
from retries import tries
from some import some

LOCKS = ["mutex", "spin", "ticket", "mcs", "futex"]
PROTOCOLS = ["compare-exchange", "store-load", "two-lines", "message"]
LAYOUTS = ["shared", "dense", "padded"]
UPDATES = ["add", "fetch-add", "compare-exchange", "lock"]
QUANTILES = ["0", "0.25", "0.5", "0.75", "0.99"]
COLUMNS = ["least", "1/4", "median", "3/4", "99 %"]
SHORT = "--repeats 2 --duration 2ms"
LONGER = "--repeats 3 --duration 5ms"


def seconds(text):
    """12.3 ns"""
    number, unit = text.split()
    return float(number) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}[unit]


def check_fairness(trial):
    """Fairness is 0 only if a thread was off the CPU, and then the sample is noisy."""
    assert 0 <= value(trial, "fairness") <= 1
    assert value(trial, "fairness") > 0 or trial["noise"]["samples"] > 0, trial


@pytest.fixture(scope="session")
def two(cpus):
    if len(cpus) < 2:
        pytest.skip("one CPU")


@pytest.fixture(scope="module")
def run(locus, tmp_path_factory, read):
    """Runs sharing, or another benchmark, with a record: how it ended, and the lines of the
    record by their type."""

    def with_record(arguments, benchmark="sharing", **more):
        file = tmp_path_factory.mktemp("sharing") / "record.jsonl"
        done = locus(benchmark, *arguments.split(), "--output", file, timeout=300, **more)
        lines = read(file)
        return done, {
            kind: [line for line in lines if line["type"] == kind] for kind in ("samples", "trial")
        }

    return with_record


# Each operation with each layout and lock


@pytest.fixture(scope="module")
def updates(run, two):
    return run(
        f"--variant {','.join(UPDATES)} --lock {','.join(LOCKS)} --threads 2 --operations 100000"
        f" {SHORT}"
    )


def what(trial):
    return trial["variant"], trial["parameters"].get("lock", ""), trial["parameters"]["layout"]


def test_every_operation_layout_and_lock_is_right(updates):
    done, lines = updates
    operations = [(variant, "") for variant in UPDATES[:3]] + [("lock", lock) for lock in LOCKS]
    assert sorted(map(what, lines["trial"])) == sorted(
        (*operation, layout) for operation in operations for layout in LAYOUTS
    )
    assert measured(lines["trial"]) and done.status == 0


def test_operations_are_shared_out(updates):
    assert {samples["units"] for samples in updates[1]["samples"]} == {50000}


def test_numbers_are_possible(updates):
    for trial in some(measured(updates[1]["trial"])):
        assert (
            trial["metrics"][0]["name"] == "time" and trial["metrics"][0]["unit"] == "s/operation"
        )
        assert value(trial, "throughput") * value(trial, "time") == pytest.approx(2)
        check_fairness(trial)
        if trial["variant"] != "add":
            assert value(trial, "lost") is None
        elif trial["parameters"]["layout"] == "shared":
            assert 0 <= value(trial, "lost") < 1
        else:
            assert value(trial, "lost") == 0
    assert any(value(trial, "fairness") > 0 for trial in measured(updates[1]["trial"]))


def test_ratios_have_their_partners(updates):
    timed = {what(trial): trial for trial in measured(updates[1]["trial"])}
    for (variant, lock, layout), trial in timed.items():
        assert len(trial["ratios"]) == (layout != "padded" and (variant, lock, "padded") in timed)
        for ratio in trial["ratios"]:
            partner = timed[variant, lock, "padded"]
            assert (ratio["parameter"], ratio["of"], ratio["to"]) == ("layout", layout, "padded")
            assert ratio["trial"] == partner["id"] and partner["group"] == trial["group"]
            check_ratio(ratio, trial, partner)


def test_a_group_of_15000_trials(locus, tmp_path, read):
    """Nearly the largest possible group, held in memory at once: no line of the record grows with
    the group."""
    file = tmp_path / "many.jsonl"
    words = "sharing --variant distance --distance 4..60000+4 --operation add --threads 2"
    for _ in tries(3, "the disk took a second"):  # which is all that it gets
        file.unlink(missing_ok=True)
        done = locus(f"{words} --oversubscribe --quiet --time-budget 500ms --output", file)
        if "before its record could be closed" not in done.err:
            break
    assert done.status == 0
    lines = [line for line in read(file) if line["type"] == "trial"]
    assert lines and {line["group"] for line in lines} <= {0, 1}
    assert max(map(len, file.read_text().splitlines()[1:])) < 20000


def test_layouts_of_an_operation_are_sampled_in_turn(updates):
    for trial in updates[1]["trial"]:
        kin = [
            other["group"] for other in updates[1]["trial"] if what(other)[:2] == what(trial)[:2]
        ]
        assert set(kin) == {trial["group"]}


def test_what_does_not_divide_is_done_by_the_first(run, two):
    _, lines = run(f"--variant fetch-add --layout shared --threads 2 --operations 100001 {SHORT}")
    measured(lines["trial"])
    assert {samples["units"] for samples in lines["samples"]} == {50001}


def test_as_many_as_there_is_time_for(run, two):
    _, lines = run(f"--variant fetch-add,compare-exchange --threads 2 {LONGER}")
    assert len(lines["trial"]) == 6 and {
        trial["parameters"]["operations"] for trial in lines["trial"]
    } == {0}
    for trial in some(measured(lines["trial"])):
        check_fairness(trial)
    assert any(value(trial, "fairness") for trial in measured(lines["trial"]))


def test_shared_additions_get_lost(run, two):
    """On a busy machine the threads may run one after the other, and lose nothing: then the test is
    tried again."""
    for _ in tries(10, "no update was lost where two threads add to one word"):
        _, lines = run("--variant add --layout shared --threads 2 --repeats 10 --duration 10ms")
        if any(value(trial, "lost") > 0 for trial in measured(lines["trial"])):
            return


def test_one_thread_shares_with_nobody(run):
    done, lines = run(
        f"--variant add,lock --lock {','.join(LOCKS)} --layout shared --threads 1 {SHORT}"
    )
    assert done.status == 0 and len(lines["trial"]) == 1 + len(LOCKS)
    for trial in lines["trial"]:
        assert value(trial, "fairness") == 1
        assert value(trial, "lost") == (0 if trial["variant"] == "add" else None)


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_may_guard_nothing(run, lock):
    done, lines = run(
        f"--variant lock --lock {lock} --section empty,increment --layout dense --padding 64"
        f" --threads 1 {SHORT}"
    )
    assert done.status == 0
    assert [t["parameters"]["section"] for t in lines["trial"]] == ["empty", "increment"]
    assert measured(lines["trial"])


@pytest.mark.parametrize("padding", [0, 4, 100])
def test_paddings_that_words_can_not_have(locus, padding):
    done = locus("sharing", "--variant", "add", "--threads", 1, "--padding", padding)
    assert done.status == 2 and "multiple of 8 bytes" in done.err


# Distances


def test_words_apart(run, two):
    _, lines = run(
        "--variant distance --threads 2 --operation add,fetch-add --distance 4,8,12,64,4096"
        " --repeats 1 --duration 2ms"
    )
    assert len(lines["trial"]) == 10
    for trial in some(measured(lines["trial"])):
        assert (
            trial["threads"] == 2
            and "layout" not in trial["parameters"]
            and "operations" not in trial["parameters"]
        )
        assert value(trial, "lost") == (
            0 if trial["parameters"]["operation"] == "add" else None
        )  # each its own word


@pytest.mark.parametrize("distance", [0, 3, 6])
def test_distances_that_words_can_not_have(locus, distance):
    done = locus(
        "sharing",
        "--variant",
        "distance",
        "--threads",
        2,
        "--oversubscribe",
        "--distance",
        distance,
    )
    assert done.status == 2 and "4 bytes" in done.err


# Lines from core to core


@pytest.fixture(scope="module")
def pairs(run):
    return functools.partial(run, benchmark="core-to-core")


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
            assert medians == "-"  # one number says nothing of how pairs differ
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
    )  # of each protocol and home: a minute for four


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


def test_ratios_are_listed_with_what_they_compare(locus):
    for words in "list sharing", "list --man":
        done = locus(words)
        shown = unwrapped(done.out)
        assert done.status == 0 and "by false sharing" in shown and "dense/padded" in shown


def test_distances_are_sampled_in_turn(locus):
    done = locus(
        "sharing --variant distance --operation add --threads 2 --distance 4,64,128 --dry-run"
        " --topology",
        "core:2 pu:1",
    )
    assert "3 trials in 1 group;" in done.out


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
def taken(run):
    return functools.partial(run, benchmark="coherence")


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


# Locks with more threads than CPUs


@pytest.mark.parametrize("lock", LOCKS)
def test_more_threads_than_cpus_get_the_lock(run, few, lock):
    _, lines = run(
        f"--variant lock --lock {lock} --layout shared --threads 8 --oversubscribe --repeats 1"
        " --duration 2ms",
        prefix=few,
    )
    (trial,) = lines["trial"]
    measured([trial])
    assert trial["oversubscribed"] and trial["samples"]["n"] > 0


def test_fair_locks_are_left_out_where_they_would_take_hours(locus, cpus):
    crowd = f"--threads {2 * len(cpus)} --oversubscribe --operations 1000".split()
    done = locus("sharing", "--variant", "lock", "--lock", ",".join(LOCKS), *crowd, "--dry-run")
    assert done.status == 0 and "first-come-first-served" in done.out
    assert set(re.findall(r"lock=(\w+)", done.out)) == {"mutex", "spin", "futex"}
    for lock in ("ticket", "mcs"):
        done = locus("sharing", "--variant", "lock", "--lock", lock, *crowd)
        assert done.status == 2 and "first-come-first-served" in done.err


# As published


def test_published_settings(locus):
    done = locus("sharing", "--profile", "paper", "--dry-run", "--topology", "core:64 pu:1")
    pattern = (
        r"sharing/(?:add|fetch-add|compare-exchange|lock) layout=(\w+)(?: lock=\w+)?"
        r" operations=(\d+) (?:word=4 padding=64|padding=64 section=empty) threads=(\d+)"
    )
    plans = re.findall(pattern, done.out)
    assert {operations for _, operations, _ in plans} == {str(2**25)}
    assert {int(threads) for *_, threads in plans} == {1, 2, 4, 8, 16, 32, 64}
    assert len(plans) == (3 + len(LOCKS)) * len(LAYOUTS) * 7


def test_a_ratio_is_measured_again_with_both_of_its_trials(locus, read, tmp_path):
    """One trial of the ratio was complete when the run was killed; it is sampled again, in turn
    with the other."""
    file = tmp_path / "killed.jsonl"
    words = (
        "sharing --variant add --layout dense,padded --threads 1 --repeats 2 --duration 1ms"
        " --output"
    )
    assert locus(words, file).status == 0
    kept = [
        line
        for line in file.read_text().splitlines()
        if '"type":"end"' not in line and '"layout":"dense"' not in line
    ]
    file.write_text("\n".join(kept) + "\n")
    done = locus(words, file, "--resume")
    assert done.status == 0 and "complete in the file already" not in done.out
    dense = [
        line
        for line in read(file)
        if line["type"] == "trial" and line["parameters"]["layout"] == "dense"
    ]
    assert len(dense) == 1 and [ratio["to"] for ratio in dense[0]["ratios"]] == ["padded"]
    again = locus(words, file, "--resume")
    assert again.status == 0 and "2 trials were already complete in the file" in again.out
