# SPDX-License-Identifier: Apache-2.0
"""sharing and core-to-core as a user runs them. Tests relate numbers to each other, but expect no
absolute times."""

import functools
import re

import pytest
from conftest import measured, value
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


def check_fairness(trial):
    """Fairness is 0 only if a thread was off the CPU, and then the sample is noisy."""
    assert 0 <= value(trial, "fairness") <= 1
    assert value(trial, "fairness") > 0 or trial["noise"]["samples"] > 0, trial


@pytest.fixture(scope="module")
def run(recorded):
    return functools.partial(recorded, benchmark="sharing")


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
    for _ in tries(3, "the disk took a second"):  # the run gets no more time than that
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
        _, lines = run("--variant add --layout shared --threads 2 --repeats 3 --duration 10ms")
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
        )  # each thread has its own word


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
