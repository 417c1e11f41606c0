# SPDX-License-Identifier: Apache-2.0
"""Nodes that measure at the same moment, or one after the other; and what a suite ends with."""

import datetime
import os
import pathlib
import re

import pytest
from lacking import lacking
from slurm import MANY, ask, check_complete, minicluster, wait_for

FEW = ["--profile", "quick", "--variant", "steady", "--repeats", "2", "--duration", "1ms"]
FAKETIME = next(pathlib.Path("/").glob("usr/lib*/**/faketime/libfaketimeMT.so.1"), None)


def seconds(moment):
    return datetime.datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp()


@pytest.fixture
def headers(read):
    """headers(job, "n1"): those of the node's record."""

    def of(job, node):
        return [line for line in read(job.record(node)) if line["type"] == "header"]

    return of


@pytest.fixture
def wrapped(source):
    """wrapped("commands of sh"): they stand before locus in its build folder."""

    def wrap(commands):
        (source / "build").unlink()
        (source / "build").mkdir()
        locus = source / "build/locus"
        locus.write_text(f'#!/bin/sh\n{commands}\nexec {os.environ["LOCUS"]} "$@"\n')
        locus.chmod(0o755)

    return wrap


def test_all_begin_at_the_same_moment(submit, headers, nodes):
    job = submit("dummy", *FEW, "--together", sbatch=["--nodes=4"])
    assert job.until("COMPLETED") == 0
    (own,) = zip(*(headers(job, node) for node in nodes))
    assert len({h["begin"]["at"] for h in own}) == 1
    assert all(seconds(h["started"]) >= seconds(h["begin"]["at"]) - 0.002 for h in own)
    assert [h["tags"] for h in own] == [{"together": "4"}] * 4
    assert "the clock of" not in job.out() and "not completed" not in job.out()


def test_one_after_the_other(submit, read, headers):
    job = submit("dummy", "--alone", *FEW, sbatch=["--nodelist=n1,n2", "--nodes=2"])
    assert job.until("COMPLETED") == 0
    (first,), (second,) = (headers(job, node) for node in ("n1", "n2"))
    end = seconds(first["started"]) + read(job.record("n1"))[-1]["elapsed"]
    assert seconds(second["started"]) >= end - 0.002
    assert first["tags"] == second["tags"] == {"together": "1"} and "begin" not in first
    assert job.out() == ""


def test_what_makes_no_sense_together(submit):
    for script, words, said in (
        ("dummy", ["--alone", *FEW, "--together"], "--together or --alone, not both"),
        ("fabric", ["--together"], "ranks of one run begin together anyway"),
    ):
        job = submit(script, *words, sbatch=["--nodes=2"])
        assert job.until("FAILED") == 2 and said in job.out()


def test_a_node_that_is_lost_goes_on(submit, read, headers, gate):
    """What it measured with the others stays; the rest it measures alone, and is told so."""
    words = ["--nodelist=n1,n2,n3", "--nodes=3", "--no-kill"]
    job = submit("dummy", "--together", *MANY, sbatch=words, shell=gate.shell)
    for node in ("n1", "n2", "n3"):
        job.has('"type":"trial"', node)
    minicluster("kill", "n2")
    gate.open()
    try:
        assert job.until("FAILED") != 0
    finally:
        minicluster("boot", "n2")
    for node in ("n1", "n3"):
        check_complete(job, read, node, runs=1)
    assert "not completed on n2: cut off" in job.out()
    wait_for(lambda: "idle" in ask("sinfo", "--noheader", "--nodes=n2", "--format=%T"), "n2 boots")
    again = job.go_on(submit)
    assert again.until("COMPLETED") == 0
    check_complete(job, read, "n2", runs=2)
    assert [h["tags"]["together"] for h in headers(job, "n2")] == ["3", "1"]
    assert again.out().startswith("locus-job: one node alone: nothing is measured")


def test_wrong_clocks_are_told_and_corrected(submit, headers, source, wrapped):
    if not FAKETIME:
        lacking("libfaketime", "Debian: faketime, Fedora: libfaketime")
    fake = f"FAKETIME=+1h FAKETIME_DONT_FAKE_MONOTONIC=1 LD_PRELOAD={FAKETIME}"
    wrapped(f'[ "$SLURMD_NODENAME" != n2 ] || export {fake}')
    (source / "date").write_text(f'#!/bin/sh\n[ "$SLURMD_NODENAME" != n2 ] || export {fake}\n'
                                 'exec /bin/date "$@"\n')  # fmt: skip
    (source / "date").chmod(0o755)
    job = submit("dummy", "--together", *FEW, sbatch=["--nodelist=n1,n2", "--nodes=2"],
                 path=f"{source}:")  # fmt: skip
    assert job.until("COMPLETED") == 0
    (first,), (second,) = (headers(job, node) for node in ("n1", "n2"))
    apart = seconds(second["begin"]["at"]) - seconds(first["begin"]["at"])
    assert 3540 < apart < 3660
    (line,) = [line for line in job.out().splitlines() if "the clock of" in line]
    assert re.match(r"locus-job: the clock of n2 is [+]3[56]\d\d[.]\d s off: ", line)


@pytest.fixture
def suite(submit, wrapped):
    """suite(...): a job of jobs/suite.slurm whose suite has a trial of dummy alone."""
    wrapped('[ "$1" != suite ] || { shift; set -- dummy "$@"; }')
    return lambda *words, **more: submit("suite", *words, *FEW, **more)


def test_a_suite_ends_with_who_is_sick(suite):
    job = suite(sbatch=["--nodes=3"])
    assert job.until("FAILED") == 4
    assert "UNJUDGED n1, n2, n3  3 nodes of its class, 5 needed" in job.out()
    one = suite(sbatch=["--nodelist=n1"])
    assert one.until("COMPLETED") == 0 and one.out() == ""  # it has no neighbours


def test_without_python_a_suite_says_what_to_run(suite):
    job = suite(sbatch=["--nodes=2"], shell={"LOCUS_PYTHON": "/nowhere"})
    assert job.until("COMPLETED") == 0
    said = "locus-job: no Python here, which locus sick needs; elsewhere run: locus sick "
    assert job.out() == f"{said}results/suite-{job.id}\n"


def test_tasks_of_an_array_say_what_to_run(suite):
    (job, _) = suite(sbatch=["--array=1-2"]).tasks(2)
    assert job.until("COMPLETED") == 0
    assert "when all tasks of the array have ended: locus sick results/suite-" in job.out()
    assert job.out().endswith("_*\n")
