# SPDX-License-Identifier: Apache-2.0
"""Submits jobs, as a user does, to the cluster that ../cluster.test made."""

import os
import pathlib
import shutil

import pytest
from lacking import lacking
from slurm import SOURCE, Gate, Job, ask, minicluster, script_of, wait_for, wait_until_idle


@pytest.fixture(scope="session")
def nodes():
    assert "MINICLUSTER" in os.environ, "to be run by test/cluster.test, which makes the cluster"
    return ask("sinfo", "--noheader", "--Node", "--format=%N").split()


@pytest.fixture
def source(tmp_path):
    """A source tree with its build folder, as a user has after building."""
    (tmp_path / "jobs").symlink_to(SOURCE / "jobs")
    (tmp_path / "build").symlink_to(os.environ["BUILD"])
    return tmp_path


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """The prefix of an installation, without the bytecode of its Python, which no job runs."""
    prefix = tmp_path_factory.mktemp("prefix")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("M")
    }  # MAKEFLAGS and its like
    ask(
        os.environ.get("MAKE", "make"),
        "-C",
        os.environ["BUILD"],
        "install",
        f"prefix={prefix}",
        "PYTHON=",
        env=environment,
    )
    return prefix


@pytest.fixture
def submit(nodes, source):
    """submit("numa", "--size", "1M", sbatch=["--nodes=2"]): a job of the source tree, from a shell
    with the variables of `shell`. After the test all jobs are cancelled, and all nodes idle."""
    jobs = []

    def run(script, *arguments, sbatch=(), folder=source, path="", results=None, shell=()):
        name = pathlib.Path(script).stem
        words = (script,) if "/" in str(script) else script_of(script)
        environment = {
            **os.environ,
            "PATH": path + os.environ["PATH"],
            **dict(shell),
            **({"LOCUS_RESULTS": results} if results else {}),
        }
        number = ask(
            "sbatch", "--parsable", *sbatch, *words, *arguments, cwd=folder, env=environment
        ).strip()
        jobs.append(Job(number, name, folder, results))
        return jobs[-1]

    yield run
    for job in jobs:
        job.cancel()
    wait_until_idle()


@pytest.fixture
def completed(submit):
    """As submit, and waits until the job is complete. A job that died in MPI_Init is removed with
    its results, and submitted again."""

    def run(*arguments, **more):
        for _ in range(3):
            job = submit(*arguments, **more)
            if job.until("COMPLETED", "FAILED") == 0:
                return job
            if not job.died_in_mpi_init():
                break
            print(f"Submitted again: {job}")
            (job.folder / f"slurm-{job.id}.out").unlink()
            shutil.rmtree(job.results, ignore_errors=True)
        pytest.fail(str(job))

    return run


@pytest.fixture
def gate(source):
    return Gate(source / "gate")


@pytest.fixture
def over_ranks(monkeypatch):
    """Options of a short run of kmeans-mpi. Open MPI is told that waiting ranks yield, which here
    is to sleep, since all nodes share the same CPUs; and that root may run it."""
    if not os.access(os.environ["BUILD"] + "/locus-mpi", os.X_OK):
        lacking(
            "locus-mpi",
            "Debian: libopenmpi-dev openmpi-bin, Fedora: openmpi-devel; then configure again",
        )
    for name in (
        "OMPI_MCA_mpi_yield_when_idle",
        "OMPI_ALLOW_RUN_AS_ROOT",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
    ):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("LD_PRELOAD", f"{os.environ['BUILD']}/test/stand-in/libyield.so")
    return ["--profile", "quick", "--points", "2k,500/rank", "--clusters", "7", "--repeats", "2"]


@pytest.fixture
def group():
    """group("memory", {"memory.limit_in_bytes": "1G"}, {"memory.max": "1G"}): moves n1's daemon,
    and so its jobs, into a control group with these limits, of version 1 or 2. Returns the group's
    name, which is the cluster's, so that minicluster removes it if we can't."""
    name = pathlib.Path(os.environ["MINICLUSTER"]).name
    made = []

    def put(folder):
        minicluster(
            "on", "n1", "sh", "-c", f'cat "$MINICLUSTER/spool/slurmd.pid" >{folder}/cgroup.procs'
        )

    def make(controller, *versions):
        for top, limits in zip((f"/sys/fs/cgroup/{controller}", "/sys/fs/cgroup"), versions):
            folder = pathlib.Path(top, name)
            try:
                folder.mkdir()
                made.append(folder)
                for file, limit in limits.items():
                    (folder / file).write_text(limit)
                break
            except OSError as error:
                why = error
        else:
            lacking(
                f"a group of {controller}",
                f"{why}; root of a machine, or of a container that may write to /sys/fs/cgroup",
            )
        put(folder)
        return name

    yield make
    for folder in made:
        procs = folder / "cgroup.procs"
        if procs.read_text():
            put(folder.parent)
            wait_for(lambda file=procs: not file.read_text(), f"{folder} is empty")
        folder.rmdir()
