# SPDX-License-Identifier: Apache-2.0
"""The folder of results: read-only, full, failing, or used by two jobs; and nodes whose clocks
differ, which date the records."""

import os
import pathlib
import re
import signal

import pytest
from lacking import lacking
from locus_analysis.records import database
from mounts import Disk
from slurm import MANY, ask, check_complete, minicluster, wait_until_idle


@pytest.fixture
def results(source):
    """results("size=64k"): mounts a file system for the results of jobs, which all nodes see;
    unmounted after the test."""
    folder = source / "results"
    folder.mkdir()

    def mount(options):
        ask("mount", "-t", "tmpfs", "-o", options, "results", folder)

    yield mount
    wait_until_idle()
    ask("umount", folder)


def test_read_only_results(submit, results, source):
    """The job says so at once, and names no file that does not exist."""
    results("ro")
    job = submit("dummy", *MANY)
    assert job.until("FAILED") == 1
    (said,) = job.out().splitlines()
    assert said.startswith(
        f"locus-job: no results can be written to results/dummy-{job.id}: Read-only file system;"
        " fix that and submit again"
    )


def test_read_only_results_of_one_node(submit, source, read):
    """The other node's record is complete. After the mend, the advised command does the rest."""
    job = None
    (source / "results").mkdir()
    minicluster("on", "n2", "mount", "--bind", source / "results", source / "results")
    try:
        minicluster("on", "n2", "mount", "-o", "remount,bind,ro", source / "results")
        job = submit("dummy", *MANY, sbatch=["--nodelist=n1,n2", "--nodes=2"])
        assert job.until("FAILED") == 1
    finally:
        minicluster("on", "n2", "umount", source / "results")
    check_complete(job, read, "n1", runs=1)
    said = job.out()
    assert (
        f"not completed on n2: results/dummy-{job.id}/n2.txt: Read-only file system\n" in said
        and "not completed on n1" not in said
    )
    assert job.go_on(submit).until("COMPLETED") == 0
    check_complete(job, read, "n2", runs=1)


def test_full_results(submit, results, source, read):
    """Nothing that was written is lost, and there is room for the cause in the job's output."""
    results("size=64k")
    job = submit("dummy", *MANY)
    assert job.until("FAILED") == 1
    full = (
        rf"not completed on n1: locus: --output: results/dummy-{job.id}/n1\.jsonl: No space left on"
        r" device\. .*, see results/"
    )
    assert re.search(full, job.out())
    before = job.record().read_text()
    assert before.count('"type":"trial"') > 0 and before.endswith("\n")
    ask("mount", "-o", "remount,size=64m", source / "results")
    assert job.go_on(submit).until("COMPLETED") == 0
    assert job.record().read_text().startswith(before)
    check_complete(job, read, runs=2)


@pytest.mark.parametrize("disk", [False, True], ids=["file system", "disk"])
def test_results_that_fail_while_it_measures(submit, source, read, gate, disk):
    """Every write fails, or only those that reach the disk: lines on the disk are kept, the cause
    is told, and after the mend the advised command completes the record."""
    with Disk(source / "results") as place:
        job = submit("dummy", *MANY, sbatch=["--nodelist=n1"], shell=gate.shell)
        job.has('"type":"trial"', times=4)
        lines = job.record().read_text().splitlines(keepends=True)
        trials = [n for n, line in enumerate(lines) if line.startswith('{"type":"trial"')]
        # Lines after the last trial but one may not be on the disk yet.
        whole = "".join(lines[: trials[-2] + 1])
        place.fail(disk)
        gate.open()
        assert job.until("FAILED") == 1
        # Read-only: if ext4 met the error before locus did, and remounted itself
        cause = r"(Input/output error|Read-only file system)\. Complete trials are kept"
        record = rf"results/dummy-{job.id}/n1\.jsonl"
        said = job.out()
        assert re.search(rf"not completed on n1: locus: --output: {record}: {cause}", said), said
        wait_until_idle()
        place.mend()
        assert job.record().read_text().startswith(whole)
        again = job.go_on(submit)
        assert again.until("COMPLETED") == 0 and again.out() == ""
        assert job.record().read_text().startswith(whole)
        check_complete(job, read, runs=2)
        wait_until_idle()


def test_two_jobs_in_one_folder(submit, source, read, over_ranks):
    """The second is told to wait, and does no harm to the first."""
    endless = [*over_ranks, "--repeats", "1000000", "--time-budget", "600s"]
    first = submit("kmeans-mpi", *endless, sbatch=["--nodelist=n1,n2"], results="results/same")
    first.has('"samples"', "1-ranks")
    second = submit("kmeans-mpi", *over_ranks, sbatch=["--nodelist=n3,n4"], results="results/same")
    assert second.until("FAILED") == 1
    assert re.search(
        r"1-ranks\.jsonl: another process is writing it; wait for its end", second.out()
    )
    assert "to continue" not in second.out()
    ask("scancel", "--signal=TERM", first.id)
    assert first.until("FAILED") == 128 + signal.SIGTERM
    headers = [line for line in read(first.record("1-ranks")) if line["type"] == "header"]
    assert [line["job"]["id"] for line in headers] == [first.id] and "to continue" in first.out()


FAKETIME = next(pathlib.Path("/").glob("usr/lib*/**/faketime/libfaketimeMT.so.1"), None)


def test_clocks_an_hour_apart(submit, source, read, gate):
    """Both clocks are wrong, too. A run that resumes after its clock was set back must still
    count as the later one."""
    if not FAKETIME:
        lacking("libfaketime", "Debian: faketime, Fedora: libfaketime")

    def set_clock(node, shift):
        (source / f"{node}.clock").write_text(f"{shift}\n")

    (source / "build").unlink()
    (source / "build").mkdir()
    locus = source / "build/locus"
    locus.write_text(
        f'#!/bin/sh\nexport FAKETIME="$(cat {source}/"$SLURMD_NODENAME".clock)"'
        f' FAKETIME_DONT_FAKE_MONOTONIC=1\nLD_PRELOAD={FAKETIME} exec {os.environ["LOCUS"]} "$@"\n'
    )
    locus.chmod(0o755)
    set_clock("n1", "+90m")
    set_clock("n2", "+30m")
    job = submit("dummy", *MANY, sbatch=["--nodelist=n1,n2", "--nodes=2"], shell=gate.shell)
    for node in ("n1", "n2"):
        job.has('"type":"trial"', node)
    ask("scancel", "--signal=TERM", job.id)
    assert job.until("FAILED") == 128 + signal.SIGTERM
    set_clock("n1", "-30m")
    set_clock("n2", "-90m")
    assert job.go_on(submit).until("COMPLETED") == 0
    for node in ("n1", "n2"):
        check_complete(job, read, node, runs=2)
        first, second = (
            line["started"] for line in read(job.record(node)) if line["type"] == "header"
        )
        assert first > second
        db = database.tables(database.read([job.record(node)]))
        shown = [status for (status,) in db.execute("SELECT status FROM headline").fetchall()]
        assert shown and "interrupted" not in shown
