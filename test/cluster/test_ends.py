# SPDX-License-Identifier: Apache-2.0
"""Ends of jobs: each node's record is valid and tells how it ended; a requeued job continues
its records."""

import os
import re
import shlex
import shutil
import signal

import pytest
from lacking import lacking
from slurm import ENDLESS, MANY, ONE, TRIALS, Gate, Job, ask, minicluster, wait_for


def check_interrupted(job, read, node="n1"):
    last = read(job.record(node))[-1]
    assert (
        last["type"] == "end"
        and last["signal"] == "SIGTERM"
        and last["status"] == 128 + signal.SIGTERM
    )
    assert "interrupted" in (job.results / f"{node}.txt").read_text()


def check_resumed(job, read, node="n1", restart="1"):
    """The record has two runs: the second measured all trials but those complete in the first.
    Returns how many those were."""
    lines = read(job.record(node))
    first, second = (i for i, line in enumerate(lines) if line["type"] == "header")
    assert (lines[second]["job"]["id"], lines[second]["job"]["restart"]) == (job.id, restart)
    assert lines[second]["resumes"] == [lines[first]["run"]]
    complete = [
        line["id"]
        for line in lines[:second]
        if line["type"] == "trial" and line["status"] != "interrupted"
    ]
    then = [line["id"] for line in lines[second:] if line["type"] == "trial"]
    assert (
        lines[-1]["type"] == "end"
        and lines[-1]["status"] == 0
        and lines[-1]["skipped"] == len(complete)
    )
    assert len(set(complete + then)) == len(complete + then) == TRIALS
    return len(complete)


def test_time_limit(submit, read):
    """SLURM checks time limits every half minute. One job gets the signal that it asked for; the
    other reaches its limit before any signal."""
    warned = submit("dummy", *ENDLESS, sbatch=["--nodelist=n1"])
    overrun = submit("dummy", *ENDLESS, sbatch=["--nodelist=n2", "--signal=KILL@0"])
    for job, node, left in ((warned, "n1", 50), (overrun, "n2", 1)):
        job.has('"samples"', node)
        ask("scontrol", "update", f"JobId={job.id}", f"EndTime=now+{left}seconds")
    assert warned.until("FAILED") == 128 + signal.SIGTERM
    way = "--nodes=1 --nodelist=n1 --time=02:00:00 --partition=main jobs/locus.slurm"
    way += " dummy --profile quick"
    assert f"to continue: LOCUS_RESULTS=results/dummy-{warned.id} sbatch {way}" in warned.said()
    assert re.search(
        r"not completed on n1: time: SIGTERM came \d+ s before the end of the job's time limit of",
        warned.said(),
    )
    overrun.until("TIMEOUT")
    check_interrupted(warned, read)
    check_interrupted(overrun, read, "n2")


def test_cancelled(submit, read):
    job = submit(
        "latency",
        "--profile",
        "quick",
        "--size",
        "16K",
        "--repeats",
        "1000000",
        "--time-budget",
        "600s",
        sbatch=["--nodes=2"],
    )
    for node in ("n1", "n2"):
        job.has('"samples"', node)
    ask("scancel", job.id)
    job.until("CANCELLED")
    for node in ("n1", "n2"):
        check_interrupted(job, read, node)
        wait_for(
            lambda lost=node: (
                f"not completed on {lost}: ended by SIGTERM, which scancel" in job.out()
            ),
            job,
        )
    wait_for(lambda: "to continue: " in job.out(), job)


@pytest.mark.parametrize("name", ["SIGINT", "SIGQUIT", "SIGUSR1"])
def test_other_signals(submit, read, name):
    """Every signal that ends locus is told by its name, though only locus obeys it."""
    job = submit("dummy", *ENDLESS, sbatch=["--nodes=2"])
    for node in ("n1", "n2"):
        job.has('"samples"', node)
    ask("scancel", f"--signal={name}", job.id)
    assert job.until("FAILED") == 128 + signal.Signals[name]
    for node in ("n1", "n2"):
        assert read(job.record(node))[-1]["signal"] == name
        said = f"not completed on {node}: ended by {name}, which scancel --signal and sbatch"
        assert said in job.out()
    assert "to continue: " in job.out()


def test_a_signal_of_ones_own_before_the_time_is_up(submit, read):
    job = submit("dummy", *ENDLESS, sbatch=["--nodelist=n1", "--signal=USR1@60"])
    job.has('"samples"')
    ask("scontrol", "update", f"JobId={job.id}", "EndTime=now+50seconds")
    assert job.until("FAILED") == 128 + signal.SIGUSR1
    assert read(job.record())[-1]["signal"] == "SIGUSR1"
    assert re.search(r"not completed on n1: time: SIGUSR1 came \d+ s before the end of", job.out())


def test_a_signal_ends_all_that_measure_in_turn(submit):
    """The nodes that have not begun are not begun."""
    job = submit("dummy", "--alone", *ENDLESS, sbatch=["--nodelist=n1,n2", "--nodes=2"])
    job.has('"samples"')
    ask("scancel", "--signal=USR2", job.id)
    assert job.until("FAILED") == 128 + signal.SIGUSR2
    assert not job.record("n2").exists()


def test_no_trial_is_complete(submit, read):
    """The program ends with 0, since its time was up; but the job has no result."""
    job = submit("dummy", *ENDLESS, "--delay", "1e9", "--time-budget", "1s")
    assert job.until("FAILED") == 1
    assert read(job.record())[-1]["trials"] == {"interrupted": 1}
    assert "not completed on n1: no trial is complete: locus: time budget spent" in job.out()
    assert "to continue: " in job.out()


def to_continue(job):
    """The advised script and its arguments."""
    (line,) = re.findall(r"to continue: LOCUS_RESULTS=.* --partition=main (.*)\n", job.out())
    return line


INCOMPLETE = [*ENDLESS, "--delay", "1e9", "--time-budget", "0.1s"]


def test_a_path_with_spaces(submit, source, tmp_path_factory):
    """SLURM tells script and arguments as one text."""
    folder = tmp_path_factory.mktemp("a") / "sp ace/with  two"
    shutil.copytree(source, folder, symlinks=True)
    job = submit("dummy", *INCOMPLETE, folder=folder)
    assert job.until("FAILED") == 1
    assert to_continue(job) == shlex.join(["jobs/locus.slurm", "dummy", *INCOMPLETE])


@pytest.mark.parametrize("words", ["--any dummy", "dummy"])
def test_without_a_script(submit, source, words):
    """The advice names one of ours that does the same."""
    words += f" {shlex.join(INCOMPLETE)}"
    wrapped = ["--exclusive", "--time=1", "--wrap", f"exec jobs/locus-job {words}"]
    job = Job(ask("sbatch", "--parsable", *wrapped, cwd=source).strip(), "dummy", source)
    assert job.until("FAILED") == 1
    assert to_continue(job) == shlex.join(["jobs/locus.slurm", "dummy", *INCOMPLETE])


def test_a_killed_step(submit):
    """SIGKILL leaves no word of the task, as the loss of a node does."""
    job = submit("dummy", *ENDLESS, sbatch=["--nodes=2"])
    for node in ("n1", "n2"):
        job.has('"samples"', node)
    ask("scancel", "--signal=KILL", f"{job.id}.0")
    assert job.until("FAILED") == 128 + signal.SIGKILL
    for node in ("n1", "n2"):
        assert f"not completed on {node}: killed by SIGKILL, which scancel --signal sends" in (
            job.out()
        )
    assert "to continue: " in job.out()


def requeue(job, submit):
    """Requeues the job, as SLURM does after the loss of a node."""
    ask("scontrol", "requeue", job.id)
    job.start_again()
    assert (
        "SLURM requeues this job, which then resumes by itself" in job.out()
        and "to continue:" not in job.out()
    )
    return job


def submit_again(job, submit):
    """Ends the job and submits it again, as its user would on the next day after its time was
    up."""
    ask("scancel", "--signal=TERM", job.id)
    assert job.until("FAILED") == 128 + signal.SIGTERM
    return job.go_on(submit)


@pytest.mark.parametrize(("act", "restart"), [(requeue, "1"), (submit_again, None)])
def test_it_goes_on(submit, read, gate, act, restart):
    job = submit("dummy", *MANY, sbatch=["--nodelist=n1"], shell=gate.shell)
    job.has('"type":"trial"', times=2)
    job = act(job, submit)
    gate.open()
    assert job.until("COMPLETED") == 0
    assert check_resumed(job, read, restart=restart) >= 2
    table = (job.results / "n1.txt").read_text()
    assert "interrupted" in table and "trials were already complete in the file" in table


def test_on_another_node_it_begins_anew(submit, read, gate):
    job = submit("dummy", *MANY, shell=gate.shell)
    job.has('"type":"trial"', times=2)
    requeue(job, submit)
    ask("scontrol", "update", f"JobId={job.id}", "ExcNodeList=n1")
    gate.open()
    assert job.until("COMPLETED") == 0
    (header,) = (line for line in read(job.record(job["NodeList"])) if line["type"] == "header")
    assert header["resumes"] == [] and header["job"]["restart"] == "1"
    check_interrupted(job, read)


def test_only_what_is_left_goes_on(submit, read, source, gate):
    """A node that fails by itself does not end the others. The advice names only the node whose
    locus was killed: not the one that is done, nor the one whose record can't be written. Results
    are in the folder of an array's task."""
    (source / "results/mine_1/n2.jsonl").mkdir(parents=True)
    sbatch = ["--array=1", "--nodes=3"]
    array = submit("dummy", *MANY, sbatch=sbatch, results="results/mine", shell=gate.shell)
    (job,) = array.tasks(1)
    assert job.results.name == "mine_1"
    for node in ("n1", "n3"):
        job.has('"type":"trial"', node)
    wait_for(lambda: "n2.jsonl" in (job.results / "n2.txt").read_text(), job)
    minicluster("on", "n3", "pkill", "-KILL", "-x", "locus")
    gate.open()
    assert job.until("FAILED") != 0
    assert read(job.record())[-1]["status"] == 0
    said = job.said()
    assert (
        "not completed on n1" not in said
        and "not completed on n2" in said
        and "not completed on n3" in said
    )
    assert "sbatch --nodes=1 --nodelist=n3 " in said
    job = job.go_on(submit)
    assert job.until("COMPLETED") == 0
    assert check_resumed(job, read, "n3", restart=None) >= 1


def test_loss_of_a_node(submit, read, source):
    """A job that loses a node is requeued. With --no-kill it continues without the node, and must
    fail, even if srun does not."""
    gates = [Gate(source / f"gate-{name}") for name in ("ends", "goes-on")]
    ends, goes_on = (
        submit("dummy", *MANY, sbatch=["--nodes=2", *more], shell=gate.shell)
        for gate, more in zip(gates, (["--nodelist=n1,n2"], ["--nodelist=n3,n4", "--no-kill"]))
    )
    for job, node in ((ends, "n1"), (ends, "n2"), (goes_on, "n3"), (goes_on, "n4")):
        job.has('"type":"trial"', node)
    try:
        for lost in ("n2", "n4"):
            minicluster("kill", lost)
        gates[1].open()
        ends.until("PENDING")
        assert goes_on.until("FAILED") != 0
    finally:
        for lost in ("n2", "n4"):
            minicluster("boot", lost)
    for job, there, lost in ((ends, "n1", "n2"), (goes_on, "n3", "n4")):
        assert read(job.record(there))[-1]["type"] == "end"
        assert read(job.record(lost), whole=False)[-1]["type"] != "end"
    assert "not completed on n4" in goes_on.said() and "not completed on n3" not in goes_on.said()
    ends.start_again()
    gates[0].open()
    assert ends.until("COMPLETED") == 0
    assert check_resumed(ends, read, "n1") >= 1 and check_resumed(ends, read, "n2") >= 1


LIMIT = 400  # MiB


def check_memory(submit, read, sbatch, cause):
    """A limit below the default size: the default trial is made smaller, and a given size is
    refused. Returns the header of the former."""
    default = [
        "--variant",
        "single",
        "--layout",
        "1",
        "--kernel",
        "sum",
        "--pages",
        "base",
        "--repeats",
        "3",
    ]
    words = ["numa", "--profile", "standard", "--dry-run", "--verbose", *default]
    planned = ask(os.environ["LOCUS"], *words)
    (size,) = map(int, re.findall(r" size=(\d+) ", planned))
    fitting = submit("numa", *default, sbatch=sbatch)
    refused = submit("numa", *ONE, "--size", "2G", sbatch=sbatch)
    assert fitting.until("COMPLETED") == 0
    assert refused.until("FAILED") == 3
    header, *lines = read(fitting.record())
    (smaller,) = (line["parameters"]["size"] for line in lines if line["type"] == "trial")
    trial, *more = (line for line in read(refused.record()) if line["type"] == "trial")
    assert (
        not more
        and trial["status"] == "impossible"
        and re.search(rf"it needs 2 GiB of memory.* because of {cause}", trial["reasons"][0])
    )
    assert re.search(rf"impossible.*{cause}", refused.said())
    if size < LIMIT << 20:
        lacking("a default size beyond the limit", "a machine with a larger last-level cache")
    assert smaller < LIMIT << 20
    return header


def test_memory_of_the_job(submit, read):
    """SLURM enforces --mem as a limit of the address space here (ulimit -v)."""
    check_memory(submit, read, [f"--mem={LIMIT}M", "--nodelist=n1"], f"ulimit -v {LIMIT} MiB")


def test_memory_of_the_group(submit, read, group):
    """A control group's limit, beyond which the kernel would kill."""
    name = group("memory", {"memory.limit_in_bytes": f"{LIMIT}M"}, {"memory.max": f"{LIMIT}M"})
    header = check_memory(
        submit, read, ["--nodelist=n1"], rf"memory\.\S+ {LIMIT} MiB of cgroup /{name}"
    )
    assert header["machine"]["cgroup"]["memory_limit"] == LIMIT << 20
