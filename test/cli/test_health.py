# SPDX-License-Identifier: Apache-2.0
"""`locus health`: its line, its exit status, and that it ends in time."""

import json
import os
import pathlib
import re
import signal
import subprocess

import pytest
from some import some
from waits import killed_at_end, wait_for

SOURCE = pathlib.Path(__file__).resolve().parents[2]
EVER = "--foreign 1000 --time-budget 5s"  # whatever other work runs


@pytest.fixture(scope="module")
def record(locus, tmp_path_factory, read):
    file = tmp_path_factory.mktemp("health") / "record.jsonl"
    options = "--variant steady,stuck,misplaced,wrong --repeats 1 --quiet --output"
    assert locus("dummy", *options.split(), file).status == 1  # some are meant to be bad
    return read(file)


@pytest.fixture(scope="module")
def machine(record):
    """The record's description of this machine."""
    return record[0]["machine"]


@pytest.fixture
def measured(expect, trials_of):
    """measured(variant, low, high) writes a file that expects the time of a trial of dummy, s."""

    def write(variant, low, high):
        own = {"trial": trials_of[variant], "metric": "time"}
        bounds = {**own, "name": f"dummy/{variant}/time", "unit": "s/turn", "better": "lower"}
        metrics = [{**bounds, "low": low, "high": high}]
        return expect(metrics=metrics, health=[{**own, "component": "clock"}])

    return write


@pytest.fixture(scope="module")
def trials_of(record):
    return {line["variant"]: line["id"] for line in record if line["type"] == "trial"}


@pytest.fixture
def expect(machine, tmp_path):
    """expect(facts, ...) writes a file of expected values of this machine's class."""

    def write(facts=None, **more):
        of_class = {
            "class": machine["class"],
            "cpu": machine["cpu"]["model"],
            "facts": facts or {},
            "metrics": [],
            "health": [],
            **more,
        }
        file = tmp_path / "expected.json"
        file.write_text(json.dumps({"schema": "locus-expected-1.1", "classes": [of_class]}))
        return file

    return write


def test_a_node_as_expected(locus, expect, machine):
    facts = {"topology.cpus": machine["topology"]["cpus"], "memory.total": {"least": 1 << 20}}
    done = locus("health --expect", expect(facts))
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("locus: ") and done.out.endswith(" as expected: 3 facts\n")


def test_facts_that_differ(locus, expect):
    done = locus("health --expect", expect({"topology.cpus": 0, "memory.total": {"most": 1}}))
    assert done.status == 1 and done.err == ""
    assert " topology cpus " in done.out and done.out.endswith(", 0 expected; 1 more\n")


def test_a_line_that_cannot_be_written(locus, expect):
    """The status tells of the node all the same."""
    with pathlib.Path("/dev/full").open("w") as full:
        good = locus("health --expect", expect({"topology.cpus": {"least": 1}}), stdout=full)
        bad = locus("health --expect", expect({"topology.cpus": 0}), stdout=full)
    assert (good.status, bad.status) == (0, 1)
    said = "locus: health: standard output: No space left on device; not written: locus: "
    assert good.err.startswith(said) and good.err.endswith(" as expected: 2 facts\n")
    assert bad.err.startswith(said) and bad.err.endswith(", 0 expected\n")


def test_a_slip_in_the_file_drains_no_node(locus, expect):
    for fact in ({"least": 5, "most": 1}, [1], [], True, "x"):
        done = locus("health --expect", expect({"memory.total": fact}))
        assert done.status == 0 and "cannot tell: " in done.err, done
        assert "fact memory.total: " in done.err
    done = locus("health --expect", expect({"topology.caches.x.level": 0}))
    assert done.status == 0 and "topology.caches.x.level: this machine has no such" in done.err
    marked = expect({"topology.cpus": {"least": 1}})
    marked.write_bytes(b"\xef\xbb\xbf" + marked.read_bytes())
    done = locus("health --expect", marked)
    assert (done.status, done.err) == (0, "") and done.out.endswith(": 2 facts\n")


def test_numbers_are_equal_by_value(locus, expect, machine):
    cpus = machine["topology"]["cpus"]
    (own, *_) = machine["topology"]["nodes"]
    numbers = [float(n) for n in own["cpus"]]
    facts = {"topology.cpus": float(cpus), "topology.nodes.0.cpus": numbers}
    done = locus("health --expect", expect(facts))
    assert (done.status, done.err) == (0, "") and done.out.endswith(": 3 facts\n")
    numbers[0] += 0.5
    assert locus("health --expect", expect(facts)).status == 1


def test_a_reader_that_is_gone_changes_no_status(locus, expect):
    for facts, status in (({}, 0), ({"topology.cpus": 0}, 1)):
        reader, writer = os.pipe()
        os.close(reader)
        done = locus("health --expect", expect(facts), stdout=writer)
        os.close(writer)
        assert done.status == status and "Broken pipe; not written: locus: " in done.err, done


def test_a_text_is_cut_between_characters(locus, expect, read, tmp_path):
    """Else the record's line would be no JSON."""
    file = tmp_path / "record.jsonl"
    for text in ("\N{LATIN SMALL LETTER E WITH ACUTE}" * 99, "x" + "\N{EURO SIGN}" * 99):
        done = locus("health --expect", expect({"kernel.release": text}), "--record", file)
        assert done.status == 1 and done.err == ""
        told = read(file)[-2]["finding"]
        assert text[:15] in told and told in done.out, done


def test_a_record_of_facts_alone(locus, expect, read, tmp_path):
    """Each run appends the machine, and why it measured no trial."""
    file = tmp_path / "record.jsonl"
    for facts in ({"topology.cpus": 0}, {}, {"no.such": 1}):
        locus("health --expect", expect(facts), "--record", file)
    lines = read(file)
    assert [line["type"] for line in lines] == ["header", "health", "end"] * 3
    assert all(line["machine"]["topology"]["cpus"] for line in some(lines[::3]))
    bad, good, unknown = lines[1::3]
    assert bad["no_trials"] == "the facts are not as expected" and bad["findings"] == 1
    assert bad["finding"].startswith("topology cpus ")
    assert good["no_trials"] == "the file names none" and good["finding"] is None
    assert unknown["no_trials"] == "no.such: this machine has no such fact"
    assert [line["status"] for line in lines[2::3]] == [1, 0, 0]


def test_a_record_that_cannot_be_written_is_not_unknown_of_the_node(locus, expect, tmp_path):
    """Its folder is no file."""
    good = locus("health --expect", expect({"topology.cpus": {"least": 1}}), "--record", tmp_path)
    assert good.status == 0 and good.out.endswith(" as expected: 2 facts\n"), good
    one = locus("health --expect", expect({"no.such": 1}), "--record", tmp_path)
    assert one.status == 0 and " no such fact\n" in one.err, one
    for done in (good, one):
        assert "locus: health: nothing was appended: locus: --record: " in done.err


def test_what_cannot_be_told_drains_no_node(locus, expect, tmp_path):
    unknown = locus("health --expect", expect({"no.such": 1}))
    strange = locus("health --expect", expect(**{"class": "0", "cpu": "of no machine"}))
    missing = locus("health --expect", tmp_path / "none")
    wrong = tmp_path / "wrong"
    wrong.write_text("{")
    bad = locus("health --expect", wrong)
    assert [done.status for done in (unknown, strange, missing, bad)] == [0] * 4
    assert "cannot tell: no.such: this machine has no such fact" in unknown.err
    assert "cannot tell: the file has no values for its class" in strange.err
    assert "none: cannot be read: No such file" in missing.err
    assert "wrong: line 1: " in bad.err
    assert missing.out == bad.out == strange.out == unknown.out == ""
    one = locus("health --expect", expect({"no.such": 1, "topology.cpus": {"least": 1}}))
    assert one.out.endswith(" as expected: 2 facts; 1 unknown\n") and "no.such" in one.err


@pytest.mark.parametrize(
    "words",
    (
        *("", "--expect", "--expect FILE more", "--what", "--expect FILE --foreign x"),
        *("--expect FILE --time-budget 21s", "--expect FILE --time-budget 0"),
    ),
)
def test_bad_command_lines(locus, words):
    done = locus("health", *words.split())
    assert done.status == 2 and done.out == "" and "locus health: " in done.err, done


def test_help(locus):
    assert "--expect=FILE" in locus("health --help").out


def test_sigterm_is_no_verdict(locus, tmp_path):
    """The child waits for a file that nobody writes. It does not hold the output, whose reader
    would wait for a child that cannot be killed."""
    os.mkfifo(tmp_path / "fifo")
    with locus.start("health --expect", tmp_path / "fifo") as process:
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        wait_for(children.read_text, "a child")
        files = pathlib.Path(f"/proc/{children.read_text().strip()}/fd")
        for stream in ("1", "2"):
            own = files / stream
            wait_for(lambda f=own: "memfd" in str(f.readlink()), "an output of its own")
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "")
    assert "cannot tell: ended by SIGTERM" in err


def test_a_trial_within_its_bounds(locus, measured, read, tmp_path):
    file = tmp_path / "record.jsonl"
    for _ in range(2):
        done = locus(
            "health --expect",
            measured("steady", 1e-9, 100),
            *EVER.split(),
            "--record",
            file,
        )
        assert (done.status, done.err) == (0, "")
        assert done.out.endswith(" as expected: 1 fact, 1 trial\n")
    lines = read(file)
    assert [line["type"] for line in lines].count("header") == 2
    assert {line["variant"] for line in lines if line["type"] == "trial"} == {"steady"}


def test_a_trial_beyond_its_bounds(locus, measured):
    """Beside other tests it may be noisy, or on shared cores, which is not a finding."""
    done = locus("health --expect", measured("steady", 1e-9, 1e-8), *EVER.split())
    told = done.out if done.status else done.err
    assert re.search(r" clock \d+\.\d+ us/turn, at most 0.01 expected \((\d+) of \1\)\n$", told)
    assert done.status == ("cannot tell" not in done.err)


def test_a_wrong_answer(locus, measured):
    done = locus("health --expect", measured("wrong", 1e-9, 1), *EVER.split())
    assert done.status == 1 and "clock: wrong: it was told to be wrong" in done.out, done


def test_trials_that_cannot_be_judged(locus, measured, expect, tmp_path):
    lost = locus("health --expect", measured("misplaced", 1e-9, 1), *EVER.split())
    own = {"trial": "f" * 16, "metric": "time"}
    bounds = {**own, "name": "dummy/x", "unit": "s", "better": "lower", "low": 1, "high": 2}
    file = expect(metrics=[bounds], health=[{**own, "component": "clock"}])
    words = [*EVER.split(), "--record", tmp_path / "record.jsonl"]
    unknown = locus("health --expect", file, *words)
    assert [(done.status, done.out) for done in (lost, unknown)] == [(0, "")] * 2
    assert "cannot tell: clock: misplaced: " in lost.err
    assert (
        "cannot tell: no trial was measured: " in unknown.err and "no trial is left" in unknown.err
    )


@pytest.mark.parametrize(
    ("file", "why"),
    (
        ("none/record", "locus: --record: {}: No such file or directory"),
        ("no record", "locus: --record: {}: line 1: this line is not JSON"),
        ("/dev/full", "--record: {}: is no file"),
        ("/dev/null", "--record: {}: is no file"),
    ),
)
def test_a_record_that_cannot_be_kept_changes_no_answer(locus, measured, tmp_path, file, why):
    """It has no --output, and nothing to --resume."""
    (tmp_path / "no record").write_text("no record\n")
    words = [*EVER.split(), "--record", tmp_path / file]
    good = locus("health --expect", measured("steady", 1e-9, 100), *words)
    bad = locus("health --expect", measured("wrong", 1e-9, 1), *words)
    assert good.status == 0 and good.out.endswith(" as expected: 1 fact, 1 trial\n"), good
    assert bad.status == 1 and "clock: wrong: it was told to be wrong" in bad.out, bad
    said = f"locus: health: nothing was appended: {why.format(tmp_path / file)}"
    for done in (good, bad):
        assert done.err.startswith(said), done
        assert "--output" not in done.err and "--resume" not in done.err


def test_beside_other_work_facts_alone(locus, measured, read, tmp_path):
    """Else the trial would be a finding."""
    file = tmp_path / "record.jsonl"
    with killed_at_end(["sh", "-c", "while :; do :; done"]):
        done = locus("health --expect", measured("steady", 1e-9, 1e-8), "--record", file)
    assert (done.status, done.err) == (0, "")
    assert re.search(r" as expected: 1 fact; no trials: other work takes \d+\.\d CPUs$", done.out)
    assert read(file)[1]["no_trials"].startswith("other work takes")


def test_a_trial_that_hangs_is_named(locus, measured):
    gate = {"LOCUS_DUMMY_GATE": "/none"}
    words = f"{EVER} --time-budget 0.5s".split()
    done = locus("health --expect", measured("stuck", 1e-9, 1), *words, env=gate)
    assert (done.status, done.err) == (1, "")
    assert re.search(r"^locus: \S+ dummy/stuck hung: no end after \d+ s$", done.out)


# The parts of NHC that the check uses.
NHC = """die() { echo "die $*"; }; log() { echo "log $*"; }; . "$0"; check_locus_health "$@"
echo $?"""


def test_the_check_for_nhc(locus, expect, tmp_path):
    """The program's line is the reason, whatever else is printed before it."""
    program = tmp_path / "locus"
    program.write_text(f'#!/bin/sh\necho ld.so: a warning >&2\nexec {locus.path} "$@"\n')
    program.chmod(0o755)

    def check(file, *options, path=locus.path):
        words = ["bash", "-c", NHC, SOURCE / "packaging/nhc/locus.nhc", file, *options]
        environment = {**os.environ, "LOCUS": path}
        return subprocess.run(
            words, env=environment, capture_output=True, text=True, check=True
        ).stdout

    good = check(expect({"topology.cpus": {"least": 1}}), "--foreign", "2")
    assert good.startswith("log check_locus_health:  locus: ") and good.endswith("facts\n0\n")
    bad = check(expect({"topology.cpus": 0}))
    assert bad.startswith("die 1 check_locus_health:  locus: ") and bad.endswith("expected\n1\n")
    assert check(expect({"topology.cpus": 0}), path=program) == bad
    strange = check(expect({"no.such": 0}))
    assert strange.startswith("log check_locus_health:  locus: health: cannot tell: ")
    assert strange.endswith("\n0\n")


def test_sigterm_in_a_trial_is_no_verdict(locus, measured):
    """To all processes, as SLURM sends it."""
    gate = {"LOCUS_DUMMY_GATE": "/none"}
    words = "health --expect", measured("stuck", 1e-9, 1), *EVER.split()
    with locus.start(*words, env=gate, start_new_session=True) as process:
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        wait_for(children.read_text, "a child")
        threads = pathlib.Path(f"/proc/{children.read_text().strip()}/task")
        wait_for(lambda: len(list(threads.iterdir())) > 1, "a watchdog")
        os.killpg(process.pid, signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "")
    assert "cannot tell: ended by SIGTERM" in err
