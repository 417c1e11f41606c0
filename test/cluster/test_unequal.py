# SPDX-License-Identifier: Apache-2.0
"""Nodes with unequal numbers of CPUs: n2 has one. These tests have a cluster of their own."""

import pytest
from lacking import lacking
from slurm import CPUS, ONE, check_complete


@pytest.fixture(autouse=True)
def a_second_cpu():
    if CPUS == 1:
        lacking("a second CPU", "a machine with two")


def test_each_node_has_all_of_its_own(submit, read):
    job = submit("numa", *ONE, "--size", "256K", "--repeats", "3", sbatch=["--nodes=2"])
    assert job.until("COMPLETED") == 0 and job.out() == ""
    for node, cpus in (("n1", CPUS), ("n2", 1)):
        check_complete(job, read, node, trials=1)
        header = read(job.record(node))[0]
        assert header["machine"]["environment"]["SLURM_CPUS_ON_NODE"] == str(cpus)
    # On n2, affinity is not checked: n2 has more CPUs than SLURM is told, and SLURM binds nobody.
    assert read(job.record("n1"))[0]["binding"]["affinity"] == list(range(CPUS))


def test_ranks_are_refused_with_the_reason(submit, over_ranks):
    job = submit("kmeans-mpi", *over_ranks, sbatch=["--nodes=2"])
    assert job.until("FAILED") == 3
    (said,) = job.out().splitlines()
    assert f"ranks need nodes of one kind, but n[1-2] have {CPUS},1 CPUs: choose equal ones" in said


def test_ranks_with_as_many_cpus_of_each(completed, read, over_ranks):
    job = completed("kmeans-mpi", *over_ranks, sbatch=["--nodes=2", "--cpus-per-task=1"])
    for ranks in (1, 2):
        header = read(job.record(f"{ranks}-ranks"))[0]
        assert len(header["binding"]["affinity"]) == 1 and header["binding"]["bound_by"] == "SLURM"
