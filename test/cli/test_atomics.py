# SPDX-License-Identifier: Apache-2.0
"""atomics as a user runs it."""

import itertools
import pathlib
import platform

import pytest
from conftest import measured, value
from some import some

SHORT = "--repeats 2 --duration 1ms"
MODIFY = ("add", "exchange", "compare-exchange")
X86 = platform.machine() == "x86_64"


@pytest.fixture(scope="module")
def done_alone(run):
    return run(f"--size 1,2,4,8,16 --threads 1 {SHORT}")


@pytest.fixture(scope="module")
def done_together(run, cpus):
    if len(cpus) < 2:
        pytest.skip("a second CPU is missing")
    return run(f"--size 4,8 --threads 2 {SHORT}")


def what(trial):
    p = trial["parameters"]
    return trial["variant"], p["size"], p["layout"]


def test_each_operation_is_right_at_each_size(done_alone):
    """16 bytes have no add and no exchange."""
    done, trials = done_alone
    found = {what(trial): trial["status"] for trial in some(trials)}
    possible = {key for key, status in found.items() if status != "impossible"}
    assert {key for key in found if key[1] != "16"} == {
        (variant, size, layout)
        for variant in ("load", "store", *MODIFY)
        for size in ("1", "2", "4", "8")
        for layout in ("shared", "padded")
    }
    assert {key[0] for key in found if key[1] == "16"} == {
        "load",
        "store",
        "compare-exchange",
    }
    lacking = {size for _, size, _ in found.keys() - possible}
    assert lacking in (set(), {"16"})
    assert done.status == (3 if lacking else 0), done
    measured([trial for trial in trials if what(trial) in possible])


def test_alone_every_compare_exchange_succeeds(done_alone):
    for trial in some(done_alone[1]):
        if trial["status"] == "impossible":
            continue
        of_it = trial["variant"] == "compare-exchange"
        assert value(trial, "success") == (1 if of_it else None)


def test_words_are_shared_or_each_thread_has_one(done_together):
    done, trials = done_together
    assert done.status == 0, done
    assert {what(trial) for trial in trials} == set(
        itertools.product(("load", "store", *MODIFY), ("4", "8"), ("shared", "padded"))
    )
    for trial in some(measured(trials)):
        if what(trial)[2] == "padded" and trial["variant"] == "compare-exchange":
            assert value(trial, "success") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--variant add --size 16", "no instruction adds or exchanges 16 bytes"),
        (
            "--variant load --alignment unaligned",
            "atomic only where the word is aligned",
        ),
        ("--variant add --size 1 --alignment across", "a byte is always aligned"),
        (
            "--variant compare-exchange --size 16 --alignment across",
            "cmpxchg16b faults on unaligned words",
        ),
    ],
)
def test_what_there_is_not_is_refused(locus, words, said):
    done = locus("atomics", *words.split())
    assert done.status in (2, 3) and said in " ".join(done.err.split()), done


@pytest.mark.parametrize("profile", ["quick", "standard", "paper"])
def test_no_profile_locks_across_lines(locus, profile):
    done = locus(
        f"atomics --dry-run --oversubscribe --profile {profile} --topology",
        "node:2 core:2 pu:1",
    )
    assert done.status == 0 and "alignment=aligned" in done.out, done
    assert "alignment=across" not in done.out


def test_unaligned_words_and_split_locks_are_measured_or_refused(run):
    """By name, and for 2 ms: an atomic operation on two lines locks the bus."""
    done, trials = run(
        f"--variant {','.join(MODIFY)} --size 8 --alignment unaligned,across --threads 1 {SHORT}"
    )
    given = pathlib.Path("/proc/cmdline").read_text(encoding="utf-8")
    for trial in some(trials):
        across = trial["parameters"]["alignment"] == "across"
        if trial["status"] != "impossible":
            assert X86 and done.status == 0, done
            measured([trial])
        elif X86:
            assert across and "split_lock_detect=fatal" in given and "SIGBUS" in str(trial)
        else:
            assert "has to be aligned" in trial["reasons"][0]
