# SPDX-License-Identifier: Apache-2.0
"""Networks and daemons that fail while a job runs: no measurement is lost, the cause is told, and
the advised command completes the records."""

import contextlib
import os
import pathlib
import time

import pytest
from slurm import MANY, ask, check_complete, check_good, minicluster, wait_for


@pytest.fixture
def at_work(submit, gate):
    """at_work("n1", "n2"): a running job that has a complete trial on each of these nodes, and
    others that wait for gate.open()."""

    def run(*nodes, sbatch=()):
        job = submit(
            "dummy",
            *MANY,
            sbatch=[f"--nodelist={','.join(nodes)}", f"--nodes={len(nodes)}", *sbatch],
            shell=gate.shell,
        )
        for node in nodes:
            job.has('"type":"trial"', node)
        return job

    return run


def test_a_network_that_fails_for_3_s(at_work, gate, read):
    job = at_work("n1", "n2")
    minicluster("cut", "n2")
    try:
        time.sleep(3)  # the fault
    finally:
        minicluster("mend", "n2")
    gate.open()
    check_good(job, read, "n1", "n2")


def test_a_network_that_fails_for_ever(at_work, gate, read, submit):
    """SLURM gives the node up. When the network is back, the advised command continues the
    node's record."""
    job = at_work("n1", "n2", sbatch=["--no-kill"])
    minicluster("on", "n2", "pkill", "-STOP", "-x", "locus")
    minicluster("cut", "n2")
    gate.open()
    try:
        assert job.until("FAILED") != 0
    finally:
        minicluster("mend", "n2")
    check_complete(job, read, "n1", runs=1)
    cause = "cut off: the node, its network or its slurmd was lost, see"
    assert f"not completed on n2: {cause}" in job.out()
    assert "not completed on n1" not in job.out()
    wait_for(
        lambda: not minicluster("on", "n2", "sh", "-c", "pgrep -x locus || true"),
        "the end of locus on n2",
    )
    again = job.go_on(submit)
    assert again.until("COMPLETED") == 0 and again["NodeList"] == "n2"
    check_complete(job, read, "n2", runs=2)


def test_slurmd_is_killed_and_started_again(at_work, gate, read):
    job = at_work("n1", "n2")
    minicluster("on", "n2", "sh", "-c", 'kill -KILL "$(cat "$MINICLUSTER/spool/slurmd.pid")"')
    minicluster("on", "n2", "slurmd", "-N", "n2")
    gate.open()
    check_good(job, read, "n1", "n2")


@pytest.fixture
def without_slurmctld():
    """with without_slurmctld(job): slurmctld is killed after it has saved the job, so that it
    knows the job when it is started again."""

    @contextlib.contextmanager
    def kill(job):
        state = pathlib.Path(os.environ["MINICLUSTER"], "state/job_state")
        ask("scontrol", "update", f"JobId={job.id}", f"Comment=job-{job.id}-is-saved")
        wait_for(
            lambda: f"job-{job.id}-is-saved".encode() in state.read_bytes(), f"the job in {state}"
        )
        ask("pkill", "-KILL", "-x", "slurmctld")
        try:
            yield
        finally:
            ask("slurmctld")

    return kill


def test_slurmctld_is_killed_and_started_again(at_work, gate, read, without_slurmctld):
    """The job must not end while slurmctld is down: SLURM would find it missing, and might requeue
    it."""
    job = at_work("n1", "n2")
    with without_slurmctld(job):
        gate.open(8)
        for node in ("n1", "n2"):
            job.writes('"type":"trial"', node, times=8)
    gate.open()
    check_good(job, read, "n1", "n2")


def test_without_slurmctld_the_advice_is_the_same(at_work, read, submit, without_slurmctld):
    """The advice uses what SLURM answered at the job's beginning."""
    job = at_work("n1", sbatch=["--time=00:40:00"])
    with without_slurmctld(job):
        minicluster("on", "n1", "pkill", "-KILL", "-x", "locus")
        wait_for(lambda: "to continue" in job.out(), "advice")
    job.cancel()  # else SLURM, which finds it missing, may requeue it
    assert "not completed on n1: killed by SIGKILL, which scancel" in job.out()
    assert "--time=00:40:00 --partition=main" in job.out()
    again = job.go_on(submit)
    assert again.until("COMPLETED") == 0
    check_complete(job, read, "n1", runs=2)


def test_stopped_for_20_s(at_work, gate, read):
    """20 s are longer than each of the timeouts in slurm.conf (minicluster)."""
    job = at_work("n1", "n2")
    minicluster("on", "n2", "pkill", "-STOP", "-x", "locus")
    try:
        time.sleep(20)  # the fault
    finally:
        minicluster("on", "n2", "pkill", "-CONT", "-x", "locus")
    gate.open()
    check_good(job, read, "n1", "n2")
