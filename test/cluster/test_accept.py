# SPDX-License-Identifier: Apache-2.0
"""jobs/accept.slurm: all steps in one job, one table, one status; and how it goes on."""

import json
import os
import signal

import pytest
from slurm import FINAL, STUCK, ask, names, wait_for
from some import some

# Two minutes a job on two CPUs, of which each node has both.
BY_HAND = pytest.mark.skipif(
    not os.environ.get("ONLY"), reason="takes minutes: ONLY=test_accept.py make check-cluster"
)
FEW = ["--variant", "steady", "--repeats", "2", "--duration", "1ms"]
HELD = [*STUCK, "--delay", "1e3", "--repeats", "20", "--size", "4K..20K+4K"]  # by a gate
STEPS = ["facts", "cores", "suite", "together", "fabric", "sick"]


@pytest.fixture
def accept(submit, source, over_ranks):
    """A job on all nodes. Its suite and cores are a trial of dummy, its fabric a round; `before`
    stands before locus."""
    (source / "build").unlink()
    (source / "build").mkdir()

    def run(*words, before=":", nodes=4, script="accept", **more):
        few = " ".join(FEW)
        short = {
            "locus": f'case $1 in suite) shift; set -- dummy "$@" ;;'
            f' cores) shift; set -- dummy "$@" {few} ;; esac',
            "locus-mpi": '[ "$1" != fabric ] || set -- "$@" --variant pairs --rounds 1 --repeats 1',
        }
        for name, words_of in short.items():
            program = source / "build" / name
            real = f"{os.environ['BUILD']}/{name}"
            program.write_text(f'#!/bin/sh\n{before}\n{words_of}\nexec {real} "$@"\n')
            program.chmod(0o755)
        return submit(script, *words, sbatch=[f"--nodes={nodes}"], **more)

    return run


def ended(job):
    job.until("COMPLETED", "FAILED")
    return job


def table(job):
    """{step: result}"""
    steps, *_ = (job.results / "table.txt").read_text().strip("\n").split("\n\n")
    head, *lines = steps.splitlines()
    assert head.split() == ["step", "result"]
    return dict(line.split(None, 1) for line in lines)


@BY_HAND
def test_from_start_to_end_and_again(accept, source, read):
    """Four nodes are too few to say who is sick: 4. The second time only that is asked."""
    job = ended(accept(*FEW))
    found = table(job)
    assert list(found) == STEPS, job
    assert {found[step] for step in STEPS[:-1]} == {"good"}, job
    assert found["sick"].startswith("cannot tell") and int(job["ExitCode"].split(":")[0]) == 4
    assert "to continue" not in job.out()
    both = (job.results / "table.txt").read_text().partition("\n\n")[2]
    assert both.startswith("speed together over unsynchronized: "), job
    runs = [line for line in read(job.results / "suite/n1.jsonl") if line["type"] == "header"]
    assert [line["series"]["run"] for line in runs] == [1, 2, 3]
    assert read(job.results / "together/n4.jsonl")[0]["tags"] == {"together": "4"}
    before = {step: names(job.results / step) for step in STEPS[:-1]}
    again = ended(accept(*FEW, results=f"results/accept-{job.id}"))
    assert [line for line in again.out().splitlines() if line.startswith("accept: ")] == [
        "accept: sick"
    ]
    assert table(again) == found
    assert before == {step: names(job.results / step) for step in STEPS[:-1]}


@BY_HAND
def test_a_step_that_fails_is_done_again(accept, source):
    """A node has no locus that works for the suite; after the mend the advised command goes on."""
    bad = '[ "$SLURMD_NODENAME $1" != "n3 suite" ] || exit 1'
    job = ended(accept(*FEW, before=bad))
    assert int(job["ExitCode"].split(":")[0]) == 1
    assert table(job)["suite"] == "bad (1), see suite.txt" and table(job)["cores"] == "good"
    assert "not completed on n3" in job.out()
    said = f"locus-job: to continue: LOCUS_RESULTS=results/accept-{job.id} sbatch --nodes=4"
    assert said in job.out()
    again = ended(accept(*FEW, results=f"results/accept-{job.id}"))
    assert table(again)["suite"] == "good" and "accept: cores" not in again.out()


def test_cut_off_and_gone_on_and_beside_expected_values(accept, submit, source, gate, over_ranks):
    """SIGUSR1 comes during the suite of a site's copy; the advised command does the rest with it.
    With expected values that no node reaches the last step is bad."""
    copy = source / "site/accept.slurm"
    copy.parent.mkdir()
    copy.write_bytes((source / "jobs/accept.slurm").read_bytes())
    job = accept("--alone", *HELD, nodes=2, script=copy, shell=gate.shell)
    record = job.results / "suite/n1.jsonl"

    def at_work():
        found = record.read_text() if record.exists() else ""
        return found.count('"type":"trial"') >= 4 or job["JobState"] in FINAL

    wait_for(at_work, job)
    ask("scancel", "--signal=USR1", "--full", job.id)
    assert job.until("FAILED") == 128 + signal.SIGUSR1
    assert " site/accept.slurm --alone " in job.out()
    assert table(job) == {
        "facts": "good",
        "cores": "good",
        "suite": "cut off (138), see suite.txt",
    }
    gate.open()
    again = ended(job.go_on(submit))
    assert list(table(again)) == [*STEPS[:3], "alone", *STEPS[3:]], str(again)
    assert {table(again)[step] for step in ("suite", "alone", "together")} == {"good"}, str(again)
    assert "\nspeed together over alone: " in again.out()
    assert "accept: cores" not in again.out() and "accept: suite" in again.out()
    expected = job.folder / "expected.json"
    records = job.results / "suite"
    expected.write_text(ask(os.environ["LOCUS"], "export", "--expect", records))
    text = json.loads(expected.read_text())
    for of_class in text["classes"]:
        for bounds in some(of_class["metrics"]):
            bounds.update(low=1e-30, value=1.5e-30, high=2e-30, better="lower")
    expected.write_text(json.dumps(text))
    last = ended(accept("--baseline", expected, *HELD, nodes=2, results=job.results))
    assert table(last)["compare"] == "bad (1), see compare.txt", str(last)
    assert last["ExitCode"].split(":")[0] == "1" and "accept: together" not in last.out()


@pytest.mark.parametrize("words", [["nowhere.json"], ["jobs"], []])
def test_bad_input(submit, words):
    """In any place."""
    job = submit("accept", "--profile", "quick", "--baseline", *words, sbatch=["--nodes=1"])
    assert job.until("FAILED") == 2
    assert job.out() == f"accept.slurm: --baseline: no file '{' '.join(words)}'\n"


# A program that does nothing: each step fails or is left out at once.
NOTHING = """[ "$1" != list ] || exit 1
[ "$1" = doctor ] || exit 3
"""


def test_a_node_without_facts(accept):
    lost = '[ "$SLURMD_NODENAME" != n2 ] || exec rm "$LOCUS_RESULTS/n2.txt"\n'
    job = ended(accept(*FEW, before=NOTHING + lost, nodes=2))
    assert table(job)["facts"] == "bad (1), see facts.txt", job


def test_steps_that_cannot_be_noted(accept, source):
    """On a full disk no step is good."""
    results = source / "results"
    (results / "steps.tsv").mkdir(parents=True)
    job = ended(accept(*FEW, before=NOTHING, nodes=2, results=results))
    assert job["ExitCode"].split(":")[0] != "0" and "the table lacks steps" in job.out()
