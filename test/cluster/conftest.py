# SPDX-License-Identifier: Apache-2.0
"""Submits jobs to the cluster that ../cluster.test made, as a user does it."""

import os
import pathlib

import pytest
from slurm import SOURCE, Job, ask, wait_for


@pytest.fixture(scope="session")
def nodes():
    assert "MINICLUSTER" in os.environ, "to be run by test/cluster.test, which makes the cluster"
    return ask("sinfo", "--noheader", "--Node", "--format=%N").split()


@pytest.fixture
def source(tmp_path):
    """A source tree with its build folder, as one who built it has it."""
    (tmp_path / "jobs").symlink_to(SOURCE / "jobs")
    (tmp_path / "build").symlink_to(os.environ["BUILD"])
    return tmp_path


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """The prefix of an installation."""
    prefix = tmp_path_factory.mktemp("prefix")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("M")}  # MAKEFLAGS and its like
    ask(os.environ.get("MAKE", "make"), "-C", os.environ["BUILD"], "install", f"prefix={prefix}", env=environment)
    return prefix


@pytest.fixture
def submit(nodes, source):
    """submit("numa", "--size", "1M", sbatch=["--nodes=2"]): a job of the source tree. They end with the test, all nodes idle."""
    jobs = []

    def run(script, *arguments, sbatch=(), folder=source, path="", results=None):
        script = script if "/" in str(script) else f"jobs/{script}.slurm"
        environment = {**os.environ, "PATH": path + os.environ["PATH"], **({"LOCUS_RESULTS": results} if results else {})}
        number = ask("sbatch", "--parsable", *sbatch, script, *arguments, cwd=folder, env=environment).strip()
        jobs.append(Job(number, pathlib.Path(script).stem, folder, results))
        return jobs[-1]

    yield run
    for job in jobs:
        job.cancel()
    wait_for(lambda: set(ask("sinfo", "--noheader", "--Node", "--format=%T").split()) == {"idle"}, "all nodes idle")
