# SPDX-License-Identifier: Apache-2.0
"""Nodes that are late, or dead, when the job starts its step: the advice must include nodes that
never began."""

import pytest
from retries import tries
from slurm import MANY, ask, check_complete, check_good, minicluster, script_of, wait_for


@pytest.fixture
def held(submit, source):
    """held("n1", "n2"): a job that has its nodes, but waits for held.go() before it measures."""

    class Held:
        def __call__(self, *nodes, script="dummy", arguments=MANY, sbatch=()):
            where, *named = script_of(script)
            text = (source / where).read_text()
            file = source / f"{script}.slurm"
            file.write_text(
                text.replace("locus_job=", "until [ -e go ]; do sleep 0.1; done\nlocus_job=", 1)
            )
            job = submit(
                file,
                *named,
                *arguments,
                sbatch=[f"--nodelist={','.join(nodes)}", f"--nodes={len(nodes)}", *sbatch],
            )
            job.until("RUNNING")
            return job

        def go(self):
            (source / "go").touch()

    return Held()


def test_a_node_that_is_late(held, read):
    job = held("n1", "n2")
    minicluster("on", "n2", "pkill", "-STOP", "-x", "slurmd")
    held.go()
    wait_for(lambda: f"{job.id}.0" in ask("squeue", "--noheader", "--steps", "--jobs", job.id), job)
    minicluster("on", "n2", "pkill", "-CONT", "-x", "slurmd")
    check_good(job, read, "n1", "n2")


def check_it_is_not_forgotten(job, submit, lost):
    """Node n2 is killed before the step starts: the advised job waits for it, and measures all."""
    minicluster("kill", "n2")
    try:
        (job.folder / "go").touch()
        assert job.until("FAILED") != 0
    finally:
        minicluster("boot", "n2")
    assert f"not completed on {lost}" in job.out()
    for _ in tries(3, "a rank died in MPI_Init"):
        job = job.go_on(submit)
        assert job["TimeLimit"] == "00:40:00"
        if job.until("COMPLETED", "FAILED") == 0:
            break
        assert job.died_in_mpi_init(), job


def test_a_node_that_dies_before_it_starts(held, submit, read):
    job = held("n1", "n2", sbatch=["--no-kill", "--time=00:40:00", "--cpus-per-task=1"])
    check_it_is_not_forgotten(
        job, submit, "n2: not started: the node, its network or its slurmd was lost"
    )
    assert "--cpus-per-task=1" in job.out()
    for node in ("n1", "n2"):
        check_complete(job, read, node)


def test_a_rank_that_dies_before_it_starts(held, submit, read, over_ranks):
    job = held(
        "n1",
        "n2",
        script="kmeans-mpi",
        arguments=over_ranks,
        sbatch=["--no-kill", "--time=00:40:00"],
    )
    check_it_is_not_forgotten(
        job, submit, "2 of 2 nodes: "
    )  # no cause: rank 0 may have been waiting for the other already, and then it was killed
    assert "failed on node n2" in job.out()
    for ranks in (1, 2):
        check_complete(job, read, f"{ranks}-ranks", trials=0)
