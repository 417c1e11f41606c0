# SPDX-License-Identifier: Apache-2.0
"""Counters of emulated processors, those that count and those that read wrong values. QEMU's
clock advances by instructions here, so that these are counted exactly and repeatably."""

import re

import pytest
from some import some
from test_counters import (
    ALLOWED,
    BOTH,
    CYCLES,
    INSTRUCTIONS,
    ONCE,
    PARANOID,
    SHORT,
    TURNS,
    counted,
    of_type,
)
from test_restricted import as_user
from test_units import all_is_well, commands, unit

PMU = ["pmu", "pmu-n1"]
FORBIDDEN = f"echo 3 >{PARANOID}"
SMALL = "locus latency --variant cycle --size 4K --pages base"
CHASE = SMALL.replace("4K", "4K,8K")
# Instructions of a chase for each load. The loop has 16 loads, one that counts, and a jump, as
# test_latency_loops finds in the machine code.
OF_A_LOAD = 18 / 16
# Instructions that are counted beside the loop: reading the counters and the clock; and how much
# they may vary, since the clock is read again if the kernel was updating it.
BESIDE, AGAIN = range(100, 2000), 50


def samples(done, trial, name):
    """The counts of an event in the batches that counted it; a batch has one sample here."""
    found = [line["counters"] for line in of_type(done, "samples") if line["trial"] == trial["id"]]
    return [counters[name] for counters in found if name in counters]


def always_the_same(beside):
    assert min(beside) in BESIDE and max(beside) - min(beside) <= AGAIN, beside


def cycles_are_twice_the_instructions(done):
    found = [line["counters"] for line in of_type(done, "samples") if line["counters"]]
    assert found and all(counters[CYCLES] == 2 * counters[INSTRUCTIONS] for counters in found), (
        found
    )


@pytest.mark.guest(
    PMU,
    {
        name: f"{ALLOWED}; {command}"
        for name, command in commands(["test_counters", "test_papi", "test_papi_reasons"]).items()
    },
)
def test_units(done):
    all_is_well(done)


# {guest: the providers that can count the instructions of a known loop}
BY = {"pmu": {"perf", "papi"}, "pmu-n1": {"perf"}}


@pytest.mark.guest(PMU, f"{ALLOWED}; {unit('test_counters')}")
def test_a_known_loop_is_counted_exactly_and_alike(done):
    """Each of four threads on one CPU counts its own loop, plus a small, constant overhead."""
    parts = done.out.split("\nok ")
    for by in BY[done.guest]:
        (part,) = (
            before
            for before, after in zip(parts, parts[1:])
            if f"_known_loop_by_{by}" in after.splitlines()[0]
        )
        lines = re.findall(r"worker (\d): (\d+) instructions of (\d+)", part)
        assert len(lines) >= 12 and {int(worker) for worker, *_ in lines} == {0, 1, 2, 3}, done.out
        always_the_same([int(count) - int(wanted) for _, count, wanted in lines])


@pytest.mark.guest(
    "pmu",
    f"{ALLOWED}; {CHASE} {BOTH} {ONCE}; rm -f first; mv record.jsonl first; {CHASE} {BOTH} {ONCE}",
)
def test_a_load_takes_the_instructions_that_it_is_made_of(done, read):
    """Counts do not leak from one sample, trial or run into the next."""
    assert done.status == 0, done
    cycles_are_twice_the_instructions(done)
    trials = of_type(done, "trial")
    assert len(trials) == 2
    always_the_same(
        [
            count - OF_A_LOAD * trial["samples"]["units"]
            for trial in trials
            for count in samples(done, trial, INSTRUCTIONS)
        ]
    )
    for trial in trials:
        assert (
            counted(trial, INSTRUCTIONS)["samples"] == 2 and counted(trial, INSTRUCTIONS)["trusted"]
        ), trial
        assert counted(trial, INSTRUCTIONS)["value"] == pytest.approx(
            OF_A_LOAD, rel=max(BESIDE) / 440_000
        )
        assert counted(trial, "instructions per cycle")["value"] == 0.5
    first = some(line for line in read(done.folder / "first") if line["type"] == "trial")
    # The loads in a sample differ between runs: the kernel's timer interrupts calibration.
    always_the_same(
        [
            round((counted(trial, INSTRUCTIONS)["value"] - OF_A_LOAD) * trial["samples"]["units"])
            for trial in [*first, *trials]
        ]
    )


@pytest.mark.guest(
    "pmu",
    f"{ALLOWED}; locus numa --variant static --kernel sum,copy --size 1M,2M --pages base {BOTH}"
    f" {ONCE}",
)
def test_a_line_takes_the_same_instructions_whatever_the_size(done):
    assert done.status == 0, done
    cycles_are_twice_the_instructions(done)
    for kernel in "sum", "copy":
        small, large = (
            trial for trial in of_type(done, "trial") if trial["parameters"]["kernel"] == kernel
        )
        per_line = [counted(trial, INSTRUCTIONS)["value"] for trial in (small, large)]
        assert counted(small, INSTRUCTIONS)["per"] == "line" and per_line[0] == pytest.approx(
            per_line[1], rel=2e-3
        ), per_line
        for trial in small, large:
            counts = samples(done, trial, INSTRUCTIONS)
            assert len(counts) == 2 and max(counts) - min(counts) <= AGAIN, counts


@pytest.mark.guest("pmu", f"{ALLOWED}; {CHASE} {BOTH} --repeats 40 {SHORT}")
def test_reading_counters_changes_no_time(done):
    for trial in of_type(done, "trial"):
        with_counters, without = trial["counting"]["with"], trial["counting"]["without"]
        assert with_counters == pytest.approx(without, rel=1e-3), trial
        assert not [note for note in trial["notes"] if "count" in note], trial


@pytest.mark.guest(
    "pmu",
    f"{ALLOWED}; {TURNS} --threads 4 --oversubscribe --counters {INSTRUCTIONS},{CYCLES},cpu-time"
    f" {ONCE}",
)
def test_threads_count_their_own(done):
    """Four threads on one CPU: the sum of their counts is no more than the CPU can do in the
    time, so none counts the work of another."""
    assert done.status == 0, done
    cycles_are_twice_the_instructions(done)
    (trial,) = of_type(done, "trial")
    found = counted(trial, INSTRUCTIONS)
    assert len(found["per_thread"]) == 4 and all(share > 0 for share in found["per_thread"]), found
    assert sum(found["per_thread"]) == pytest.approx(found["value"])
    # A cycle is a nanosecond here. Cycles count the program only, CPU time also the kernel.
    assert 0.1 < counted(trial, CYCLES)["total"] * 1e-9 / counted(trial, "cpu-time")["total"] < 1, (
        trial["counters"]
    )


MANY = [
    "PAPI_L1_DCM",
    "PAPI_BR_MSP",
    "PAPI_LD_INS",
    "PAPI_SR_INS",
    "PAPI_L2_DCM",
    "PAPI_BR_INS",
    "PAPI_FP_INS",
    "PAPI_VEC_INS",
]


@pytest.mark.guest("pmu", f"{ALLOWED}; {TURNS} {BOTH},{','.join(MANY)} --repeats 6 {SHORT}")
def test_more_events_than_counters_take_passes(done):
    """Six counters for ten events. Events that this processor does not count read zero, and are
    reported as not to be trusted."""
    assert done.status == 0, done
    events = done.record[0]["counters"]["events"]
    passes = [
        {event["name"] for event in events if event["pass"] == n}
        for n in range(done.record[0]["counters"]["passes"])
    ]
    assert len(passes) > 1 and set.union(*passes) == {INSTRUCTIONS, CYCLES, *MANY}
    # A batch for each pass, then one without counters.
    expected = [*passes, set()]
    for n, line in enumerate(of_type(done, "samples")):
        assert set(line["counters"]) == expected[n % len(expected)]
    (trial,) = of_type(done, "trial")
    for name in MANY:
        found = counted(trial, name)
        assert (found["value"], found["trusted"]) == (
            0,
            False,
        ) and "reads zero in all samples" in found["why"], found
        assert f"{name} ?: 0 per" in done.out, done.out
        assert [note for note in trial["notes"] if note.startswith(f"{name} is not to be trusted")]
    assert counted(trial, INSTRUCTIONS)["trusted"] and counted(trial, INSTRUCTIONS)["samples"] == 2
    assert not [
        counter
        for counter in trial["counters"]
        if counter["source"] == "ratio" and not counter["trusted"]
    ], trial


# One event by ten names: perf ignores case.
SPELLED = [f"perf::{'instructions'[:n].upper()}{'instructions'[n:]}" for n in range(10)]
TAKE_TURNS = "--multiplex --time-budget 50s --output record.jsonl"


@pytest.mark.guest(
    PMU,
    f"{ALLOWED}; {SMALL} --counters {','.join(SPELLED)} --duration 1ms --case-budget 4s"
    f" {TAKE_TURNS}",
)
def test_counts_of_events_that_take_turns_are_of_the_samples_alone(done):
    """Six counters for ten events, with turns longer than a sample: an event that no counter
    was free for in one sample is counted in another."""
    assert done.status == 0, done
    assert done.record[0]["counters"]["passes"] == 1 and {
        e["source"] for e in done.record[0]["counters"]["events"]
    } == {"perf"}
    for trial in of_type(done, "trial"):
        found = [counted(trial, name) for name in SPELLED]
        assert [counter["value"] for counter in found] == pytest.approx(
            [OF_A_LOAD] * len(SPELLED), rel=0.02
        ), found
        # The last events of the list get a counter only after some samples.
        assert found[-1]["samples"] < found[0]["samples"]


@pytest.mark.guest(
    "pmu", f"{ALLOWED}; {SMALL} {BOTH},{','.join(MANY)} --duration 200ms --repeats 8 {TAKE_TURNS}"
)
def test_papis_estimates_are_good_for_many_turns(done):
    """With multiplexing a zero may mean that the event had no turn, so it is no value."""
    assert done.status == 0, done
    for trial in of_type(done, "trial"):
        assert counted(trial, INSTRUCTIONS)["value"] == pytest.approx(OF_A_LOAD, rel=0.05), trial
        assert counted(trial, CYCLES)["value"] == pytest.approx(2 * OF_A_LOAD, rel=0.05), trial
        assert {counted(trial, name)["value"] for name in MANY} == {None} and all(
            counted(trial, name)["why"] for name in MANY
        )


@pytest.mark.guest(
    PMU,
    f"{ALLOWED}; {SMALL} --counters default {ONCE}",
)
def test_default_counters(done):
    """The first alternative that exists is counted; an event without one has a reason."""
    assert done.status == 0, done
    (trial,) = of_type(done, "trial")
    cycles = counted(trial, {"pmu": CYCLES, "pmu-n1": "perf::CPU-CYCLES"}[done.guest])
    assert (
        cycles["value"] == pytest.approx(2 * OF_A_LOAD, rel=max(BESIDE) / 440_000)
        and cycles["per"] == "load"
    )
    missing = counted(trial, "PAPI_L3_TCM")
    assert (missing["source"], missing["value"], missing["total"]) == (
        None,
        None,
        None,
    ) and "papi_avail" in missing["why"]
    (said,) = [line for line in done.err.splitlines() if "PAPI_L3_TCM" in line]
    assert said.endswith(missing["why"]), said


@pytest.mark.guest(
    PMU,
    f"{ALLOWED}; {CHASE} --counters"
    f" INST_RETIRED,perf::INSTRUCTIONS,perf::CYCLES,perf::NONSENSE,L1D_CACH,{INSTRUCTIONS} {ONCE}",
)
def test_native_events(done):
    """Events by PAPI's native names and by perf's; wrong names do not affect the others."""
    assert done.status == 0, done
    for trial in of_type(done, "trial"):
        native, perf = (counted(trial, name) for name in ("INST_RETIRED", "perf::INSTRUCTIONS"))
        assert (
            native["source"] == "papi" and perf["trusted"] and perf["total"] == native["total"] > 0
        ), trial
        assert native["value"] == pytest.approx(OF_A_LOAD, rel=max(BESIDE) / 440_000)
        assert counted(trial, "perf::CYCLES")["total"] == 2 * perf["total"]
        assert counted(trial, INSTRUCTIONS)["value"] == (
            native["value"] if done.guest == "pmu" else None
        )
        for name in "perf::NONSENSE", "L1D_CACH":
            assert counted(trial, name)["value"] is None and counted(trial, name)["why"], trial


# The remedy for PAPI, which applies the limits of ordinary users to root, too.
REMEDY = "sudo sysctl kernel.perf_event_paranoid=1"


@pytest.mark.guest("pmu", f"{ALLOWED}; locus doctor")
def test_doctor_counts(done):
    """The doctor lists the events that count, and not those that this processor lacks."""
    (found,) = re.findall(r"(?m)^\[ok\] hardware counters.*\n(?: .*\n)*", done.out)
    found = " ".join(found.split())
    assert re.search(r" CYCLES, INSTRUCTIONS, in \d passe?s?", found), done.out
    assert "BRANCH-MISSES" not in found.split(", in ")[0], done.out


@pytest.mark.guest("pmu", f"{FORBIDDEN}; {TURNS} {BOTH} {ONCE}")
def test_what_is_forbidden_is_told_with_the_remedy(done):
    (line,) = done.err.splitlines()
    assert done.status == 3 and not done.out and not done.record, done
    assert line.startswith(f"locus: --counters: {INSTRUCTIONS}, {CYCLES}: ") and line.endswith(
        REMEDY
    ), line
    assert "paranoid=3" in line, line


@pytest.mark.guest("pmu", f"{FORBIDDEN}; {TURNS} {BOTH} --counters-optional {ONCE}")
def test_what_is_forbidden_and_optional_is_null(done):
    (trial,) = of_type(done, "trial")
    assert (
        done.status == 0
        and trial["status"] in ("ok", "unconverged", "bimodal", "noisy")
        and trial["counting"] is None
    ), done
    assert done.record[0]["counters"]["passes"] == 0 and done.record[0]["counters"]["papi"], (
        done.record[0]
    )
    for name in INSTRUCTIONS, CYCLES:
        found = counted(trial, name)
        assert (found["value"], found["source"], found["samples"]) == (None, None, 0), found
        assert found["why"].endswith(REMEDY)
        assert done.err == f"locus: --counters: {INSTRUCTIONS}, {CYCLES}: {found['why']}\n"


# At level 4 a user may not even open an event; the remedy that is named must work.
DEFAULT = f"{SMALL} --counters default"
MAY = "sudo sysctl kernel.perf_event_paranoid=2"


def by_a_user(level, options=""):
    return f"echo {level} >{PARANOID}; {as_user(f'{DEFAULT} {options} {ONCE}')}"


@pytest.mark.guest("pmu", by_a_user(4))
def test_what_a_user_may_not_count_is_told_with_the_remedy(done):
    assert done.status == 3 and not done.out and not done.record, done
    (line,) = [line for line in done.err.splitlines() if CYCLES in line]
    assert "paranoid=4" in line and MAY in line, line


@pytest.mark.guest("pmu", by_a_user(4, "--counters-optional"))
def test_a_user_who_may_not_count_measures_all_the_same(done):
    (trial,) = of_type(done, "trial")
    assert done.status == 0 and trial["status"] in ("ok", "unconverged", "bimodal", "noisy"), done
    assert counted(trial, CYCLES)["value"] is None and MAY in counted(trial, CYCLES)["why"], trial[
        "counters"
    ]


@pytest.mark.guest("pmu", by_a_user(2))
def test_a_user_who_may_counts(done):
    (trial,) = of_type(done, "trial")
    assert done.status == 0 and counted(trial, CYCLES)["value"] == pytest.approx(
        2 * OF_A_LOAD, rel=max(BESIDE) / 440_000
    ), done


# The kernel lets root count at any level: events by perf's names are counted, PAPI's are not.
@pytest.mark.guest(
    "pmu", f"{FORBIDDEN}; {CHASE} --counters perf::INSTRUCTIONS,perf::CYCLES,{INSTRUCTIONS} {ONCE}"
)
def test_the_kernel_counts_what_papi_does_not_dare(done):
    assert done.status == 0 and done.err.count("--counters:") == 1, done
    for trial in of_type(done, "trial"):
        instructions = counted(trial, "perf::INSTRUCTIONS")
        assert instructions["source"] == "perf" and instructions["value"] == pytest.approx(
            OF_A_LOAD, rel=max(BESIDE) / 440_000
        )
        assert counted(trial, INSTRUCTIONS)["value"] is None
