# SPDX-License-Identifier: Apache-2.0
"""--counters: the counts beside the times, and the reasons for missing ones. The kernel's counts
are not predictable. Tests that need known counts use a stand-in for PAPI, which counts 1000 times
the number of the event, plus the number of the thread.
"""

import pathlib
import re
import resource
import sys

import pytest
from some import some

OWN = [
    "minor-faults",
    "major-faults",
    "voluntary-switches",
    "involuntary-switches",
    "migrations",
    "steal",
]
CYCLES, INSTRUCTIONS, L3 = "PAPI_TOT_CYC", "PAPI_TOT_INS", "PAPI_L3_TCM"
ROW = {CYCLES: 1, INSTRUCTIONS: 2, "PAPI_L1_DCM": 3, "PAPI_L2_DCM": 4, L3: 5}
DUMMY = "dummy --variant steady --oversubscribe --threads 2 --repeats 7"


def of_type(lines, kind):
    return some(line for line in lines if line["type"] == kind)


def counted(lines, name, variant=None):
    """A counter of a trial, by name."""
    trial = next(t for t in of_type(lines, "trial") if variant in (None, t["variant"]))
    return next(c for c in trial["counters"] if c["name"] == name)


def check_sums(lines):
    """Checks that workers' values add up to the value, and batches' counts to the total."""
    checked = 0
    for trial in of_type(lines, "trial"):
        batches = [b["counters"] for b in of_type(lines, "samples") if b["trial"] == trial["id"]]
        for counter in trial["counters"]:
            if counter["value"] is None or counter["per_thread"] is None:
                continue
            assert len(counter["per_thread"]) == trial["threads"]
            assert sum(v or 0 for v in counter["per_thread"]) == pytest.approx(counter["value"])
            assert sum(b.get(counter["name"], 0) for b in batches) == pytest.approx(
                counter["total"]
            )
            if counter["ci"]:
                assert counter["ci"][0] <= counter["value"] <= counter["ci"][1]
            checked += 1
    return checked


def cpu_time_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_the_kernel_counts_everywhere(locus, read, tmp_path):
    file = tmp_path / "a.jsonl"
    before = cpu_time_of_children()
    done = locus(
        DUMMY, "--counters", "faults,context-switches,cpu-time,migrations", "--output", file
    )
    spent = cpu_time_of_children() - before
    assert done.status == 0 and "--counters" not in done.err
    lines = read(file)
    assert check_sums(lines) == 4
    asked = lines[0]["counters"]
    assert asked["asked"] == ["faults", "context-switches", "cpu-time", "migrations"]
    assert [(e["source"], e["pass"], e["proven"]) for e in asked["events"]] == [
        ("kernel", 0, True)
    ] * 4
    seconds = counted(lines, "cpu-time")
    assert seconds["unit"] == "s" and seconds["per"] == "microsecond" and seconds["samples"] == 4
    # A thread that waits by the clock uses CPU time, no more than the whole process.
    assert 0 < seconds["total"] <= spent
    assert counted(lines, "faults")["trusted"]
    for name in ("faults", "context-switches", "cpu-time"):
        assert re.search(rf"^      {name}: .* per microsecond \(", done.out, re.MULTILINE), done.out


def test_a_team_that_grows_is_counted_whole(locus, read, tmp_path):
    """The second trial has workers that the first one lacked."""
    file = tmp_path / "a.jsonl"
    done = locus(
        "dummy --variant steady --oversubscribe --threads 1,3 --repeats 7 --counters cpu-time"
        " --output",
        file,
    )
    lines = read(file)
    assert done.status == 0 and check_sums(lines) == 2
    of = {trial["threads"]: trial["counters"][0] for trial in of_type(lines, "trial")}
    assert {threads: len(counter["per_thread"]) for threads, counter in of.items()} == {1: 1, 3: 3}
    assert all(seconds > 0 for counter in some(of.values()) for seconds in counter["per_thread"])


def test_without_the_option_only_the_kernels_own_are_told(locus, read, tmp_path, with_papi):
    file = tmp_path / "a.jsonl"
    done = locus(DUMMY, "--output", file, env=with_papi("loud"))
    lines = read(file)
    assert done.status == 0 and done.err == "", "PAPI is not even loaded"
    assert lines[0]["counters"] is None
    trial = of_type(lines, "trial")[0]
    assert trial["counters"] == [] and trial["counting"] is None
    (table,) = of_type(lines, "benchmark")
    assert [c["name"] for c in table["counters"]["kernel"]] == OWN
    assert set(trial["kernel"]) <= set(OWN) and " per microsecond" not in done.out
    assert all(b["counters"] == {} for b in of_type(lines, "samples"))


LACK = (
    "locus: --resume: {} complete trials in {} lack the events of --counters: give another --output"
    " to count them\n"
)


def test_counting_changes_no_identity(locus, read, tmp_path):
    """Counting does not change a trial's identity: --resume does not measure a complete trial again
    to count it, and a dry run does not show counters."""
    file = tmp_path / "a.jsonl"
    assert locus(DUMMY, "--output", file).status == 0
    again = locus(f"{DUMMY} --counters faults --resume --output", file)
    assert "1 trials were already complete in the file" in again.out
    assert len(of_type(read(file), "trial")) == 1
    assert again.status == 0 and again.err == LACK.format(1, file)
    dry = [locus(DUMMY, "--dry-run", *more) for more in ((), ("--counters", "PAPI_NO_SUCH,faults"))]
    assert dry[0] == dry[1] and dry[0].status == 0


def test_what_a_resumed_record_has_not_counted_is_said(locus, read, tmp_path, with_papi):
    file = tmp_path / "a.jsonl"
    words = DUMMY.replace("steady", "steady,jitter").split()

    def resumed(counters):
        return locus(
            *words,
            "--resume",
            "--output",
            file,
            "--counters",
            counters,
            env=with_papi(f"absent={L3}"),
        )

    assert locus(DUMMY, "--counters", "faults,cpu-time", "--output", file).status == 0
    first = resumed("faults,minor-faults")
    assert first.status == 0 and first.err == "", (
        "the one that is complete has it, the other is measured"
    )
    assert resumed(f"cpu-time,{CYCLES}").err == LACK.format(2, file)
    assert resumed("cpu-time").err == LACK.format(1, file)
    assert (
        f"--counters: {L3}: " in (optional := resumed(f"{L3},faults")).err
        and "--resume" not in optional.err
    ), "nobody could now"
    assert len(of_type(read(file), "trial")) == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--counters faults,", "empty name"),
        ("--counters ,faults", "empty name"),
        ("--counters=", "empty name"),
        ("--counters |", "empty name"),
        ("--counters faults|", "empty name"),
        ("--counters |faults", "empty name"),
        ("--counters faults||cpu-time,migrations", "empty name"),
        ("--counters faults,cpu-time,faults", "faults is given twice"),
        ("--counters default,default", "default is given twice"),
        ("--counters-optional", "needs --counters LIST"),
        ("--multiplex", "needs --counters LIST"),
    ],
)
def test_what_is_no_list(locus, words, says):
    done = locus(f"dummy {words}")
    assert done.status == 2 and done.out == "" and says in done.err


@pytest.mark.parametrize("control", ["\n", "\x1b"])
def test_a_name_is_told_in_a_line(locus, control):
    done = locus("dummy", "--counters", f"faults{control}cpu-time")
    assert done.status == 2 and done.out == "" and "a control character" in done.err


def test_where_nothing_can_be_counted_nothing_is_measured(locus, read, tmp_path, with_papi):
    file = tmp_path / "a.jsonl"
    wanted = ["PAPI_NO_SUCH", "perf::NO-SUCH", L3]
    words = [*DUMMY.split(), "--counters", ",".join(wanted), "--output", file]
    done = locus(*words, env=with_papi(f"absent={L3}"))
    assert done.status == 3 and done.out == "" and not file.exists()
    for name, line in zip(wanted, done.err.splitlines(), strict=True):
        assert line.startswith(f"locus: --counters: {name}: ")

    done = locus(*words, "--counters-optional", env=with_papi(f"absent={L3}"))
    assert done.status == 0
    lines = read(file)
    assert lines[0]["counters"]["optional"] and lines[0]["counters"]["passes"] == 0
    for name in wanted:
        counter = counted(lines, name)
        assert counter["value"] is None and counter["source"] is None
        assert f"{name}: {counter['why']}" in done.err
    assert of_type(lines, "trial")[0]["counting"] is None
    assert [c["name"] for c in of_type(lines, "trial")[0]["counters"]] == wanted


def test_some_can_be_counted_and_it_goes_on(locus, read, tmp_path, with_papi):
    file = tmp_path / "a.jsonl"
    done = locus(
        DUMMY, "--counters", f"PAPI_TOT_INZ,{INSTRUCTIONS}", "--output", file, env=with_papi()
    )
    assert done.status == 0
    assert re.fullmatch(
        r"locus: --counters: PAPI_TOT_INZ: .*did you mean PAPI_TOT_INS\?.*\n", done.err
    )
    lines = read(file)
    assert counted(lines, INSTRUCTIONS)["source"] == "papi"
    assert counted(lines, "PAPI_TOT_INZ")["value"] is None
    assert "PAPI_TOT_INZ" not in done.out


def test_what_does_not_fit_takes_turns(locus, read, tmp_path, with_papi):
    """Two counters for five events: three passes, and a batch without any."""
    file = tmp_path / "a.jsonl"
    words = DUMMY.replace("--repeats 7", "--repeats 12").split()
    done = locus(
        *words, "--counters", ",".join(ROW), "--output", file, env=with_papi("counters=2 loud")
    )
    assert done.status == 0 and "all given back" in done.err
    lines = read(file)
    header = lines[0]["counters"]
    assert header["passes"] == 3 and header["papi"] and not header["multiplexed"]
    passes = {e["name"]: e["pass"] for e in header["events"]}
    threads = 0 + 1  # their numbers
    for number, batch in enumerate(of_type(lines, "samples")):
        names = {name for name, one in passes.items() if one == number % 4}
        assert batch["counters"] == {name: 2 * 1000 * ROW[name] + threads for name in names}
    assert check_sums(lines) == len(ROW)
    for name, row in ROW.items():
        counter = counted(lines, name)
        assert counter["samples"] == 3 and counter["total"] == 3 * (2000 * row + 1)
    ratio = counted(lines, "instructions per cycle")
    assert ratio["value"] == pytest.approx(4001 / 2001) and ratio["per_thread"] is None
    counting = of_type(lines, "trial")[0]["counting"]
    assert counting["with"] > 0 and counting["without"] > 0


def test_what_does_not_fit_is_extrapolated_if_asked(locus, read, tmp_path, with_papi):
    file = tmp_path / "a.jsonl"
    done = locus(
        f"{DUMMY} --multiplex --counters",
        ",".join(ROW),
        "--output",
        file,
        env=with_papi("counters=2"),
    )
    assert done.status == 0
    header = read(file)[0]["counters"]
    assert header["passes"] == 1 and header["multiplexed"]


def test_each_allocation_has_all_passes_and_a_batch_without(locus, read, tmp_path, with_papi):
    file = tmp_path / "a.jsonl"
    done = locus(
        "dummy --profile standard --variant steady,jitter --case-budget 0.2s --counters",
        ",".join(ROW),
        "--output",
        file,
        env=with_papi("counters=1"),
    )
    assert done.status == 0
    lines = read(file)
    for trial in of_type(lines, "trial"):
        batches = [b for b in of_type(lines, "samples") if b["trial"] == trial["id"]]
        for allocation in some(range(len(trial["batches"]["allocations"]))):
            counted_here = [tuple(b["counters"]) for b in batches if b["allocation"] == allocation]
            assert {(), *((name,) for name in ROW)} == set(counted_here)


def test_energy_belongs_to_a_package(locus, read, tmp_path, with_papi):
    file = tmp_path / "a.jsonl"
    name = "rapl:::PACKAGE_ENERGY:PACKAGE0"
    done = locus(DUMMY, "--counters", name, "--output", file, env=with_papi())
    assert done.status == 0
    lines = read(file)
    counter = counted(lines, name)
    assert counter["scope"] == "package" and counter["unit"] == "J"
    assert counter["per_thread"][1] is None and counter["per_thread"][0] == pytest.approx(
        counter["value"]
    )
    assert check_sums(lines) == 1


def test_a_zero_that_nobody_saw_count_is_not_believed(locus, read, tmp_path, with_papi):
    file = tmp_path / "a.jsonl"
    done = locus(
        DUMMY, "--counters", f"{L3},{CYCLES}", "--output", file, env=with_papi(f"zero={L3}")
    )
    assert done.status == 0
    lines = read(file)
    counter = counted(lines, L3)
    assert (
        counter["value"] == 0
        and counter["total"] == 0
        and not counter["trusted"]
        and counter["why"]
    )
    assert counted(lines, CYCLES)["trusted"]
    notes = of_type(lines, "trial")[0]["notes"]
    assert any(note.startswith(f"{L3} is not to be trusted: ") for note in notes)
    assert re.search(rf"^      {L3} \?: 0 per microsecond", done.out, re.MULTILINE)
    assert [e["proven"] for e in lines[0]["counters"]["events"]] == [False, True]


def test_what_fails_later_is_null_with_a_reason(locus, read, tmp_path, with_papi):
    """If a probe counted, a thread may still fail to count. Each trial tries again, and reports its
    own failure."""
    file = tmp_path / "a.jsonl"
    words = DUMMY.replace("steady", "steady,jitter").split()
    done = locus(
        *words, "--counters", f"{L3},{CYCLES}", "--output", file, env=with_papi(f"late={L3} loud")
    )
    assert done.status == 0 and "all given back" in done.err and "--counters" not in done.err
    lines = read(file)
    why = "no counter of the processor is free"
    for variant in ("steady", "jitter"):
        counter = counted(lines, L3, variant)
        assert counter["value"] is None and counter["source"] == "papi" and why in counter["why"]
        assert counted(lines, CYCLES, variant)["value"] > 0
    assert done.out.count(f"\n      {L3}: {counter['why']}\n") == 2
    assert lines[0]["counters"]["events"][0]["why"] is None, "it was tried, and counted"


def test_where_nothing_was_counted_in_the_end_that_is_the_status(locus, read, tmp_path, with_papi):
    file = tmp_path / "a.jsonl"
    words = [*DUMMY.split(), "--counters", f"{L3},{CYCLES}"]
    broken = with_papi(f"late={L3} broken={CYCLES}")
    done = locus(*words, "--output", file, env=broken)
    assert done.status == 3 and of_type(read(file), "end")[0]["status"] == 3
    assert re.fullmatch(
        r"locus: --counters: no event was counted in any sample: PAPI started it, but could not"
        r" read it: .*\n",
        done.err,
    )
    assert of_type(read(file), "trial")[0]["metrics"][0]["value"] > 0
    assert locus(*words, "--counters-optional", env=broken).status == 0


def test_run_delay_takes_a_descriptor_of_each_thread(locus, read, tmp_path):
    """locus raises the soft limit of descriptors, as for other events. If the hard limit is too
    low, the reason names it, and does not blame the kernel."""
    if not int(pathlib.Path("/proc/self/schedstat").read_text().split()[0]):
        pytest.skip("this kernel keeps no schedstat")
    words = (
        "dummy --variant steady --oversubscribe --threads 40 --repeats 7 --counters"
        " run-delay,faults --output"
    )
    soft, hard = tmp_path / "soft.jsonl", tmp_path / "hard.jsonl"
    few = locus(words, soft, prefix=("sh", "-c", 'ulimit -Sn 40; exec "$@"', "-"))
    assert few.status == 0 and counted(read(soft), "run-delay")["value"] >= 0
    assert of_type(read(soft), "trial")[0]["noise"]["run_delay"] >= 0
    few = locus(words, hard, prefix=("sh", "-c", 'ulimit -n 40; exec "$@"', "-"))
    why = counted(read(hard), "run-delay")["why"]
    assert few.status == 0 and why.startswith("too few file descriptors: ") and "ulimit -n" in why
    assert f"\n      run-delay: {why}\n" in few.out
    assert counted(read(hard), "faults")["value"] is not None


def test_under_likwid_perfctr_it_has_the_processors_counters(locus, tmp_path, with_papi):
    """likwid-perfctr without -m sets no variable, but is found as the parent process: here a
    stand-in script, run by an interpreter as LIKWID's Lua script is."""
    script = tmp_path / "likwid-perfctr"
    script.write_text("import subprocess, sys\nsys.exit(subprocess.run(sys.argv[1:]).returncode)\n")
    done = locus(
        DUMMY,
        "--counters",
        f"{INSTRUCTIONS},perf::CYCLES",
        env=with_papi("loud"),
        prefix=(sys.executable, script),
    )
    assert done.status == 3 and "stand-in" not in done.err
    assert re.fullmatch(
        rf"locus: --counters: {INSTRUCTIONS}, perf::CYCLES: likwid-perfctr uses the processor's"
        r" counters \(it started locus\).*\n",
        done.err,
    )


def test_what_can_not_be_read_has_the_librarys_reason(locus, read, tmp_path, with_papi):
    file = tmp_path / "a.jsonl"
    done = locus(
        DUMMY,
        "--counters",
        f"{CYCLES},faults",
        "--output",
        file,
        env=with_papi(f"broken={CYCLES} loud"),
    )
    assert done.status == 0 and "all given back" in done.err
    counter = counted(read(file), CYCLES)
    assert (
        counter["value"] is None
        and counter["why"] == "PAPI started it, but could not read it: An error of its stand-in"
    )
    assert f"\n      {CYCLES}: {counter['why']}\n" in done.out


def test_what_fails_in_most_batches_has_a_note(locus, read, tmp_path, with_papi):
    file = tmp_path / "a.jsonl"
    done = locus(
        DUMMY, "--counters", f"{L3},{CYCLES}", "--output", file, env=with_papi(f"scarce={L3}")
    )
    lines = read(file)
    assert (
        done.status == 0
        and counted(lines, L3)["samples"] == 1
        and counted(lines, CYCLES)["samples"] == 4
    )
    notes = [note for note in of_type(lines, "trial")[0]["notes"] if " batches: " in note]
    assert len(notes) == 1 and notes[0].startswith(
        f"{L3} has a count in 1 of 4 batches: no counter of the processor is free"
    )


def test_why_a_trial_is_impossible_is_not_said_of_its_counters_too(locus, with_papi):
    done = locus("dummy --variant impossible --counters", f"{INSTRUCTIONS},faults", env=with_papi())
    assert done.status == 3 and (done.out + done.err).count("it was told to be impossible") == 1, (
        done
    )
