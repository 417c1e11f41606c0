# SPDX-License-Identifier: Apache-2.0
"""jobs/likwid.slurm: records, and LIKWID's tables beside them. The real LIKWID makes the job fail
if it can't count here; in most tests a stand-in counts."""

import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest
from lacking import lacking
from slurm import BUILD, ENDLESS, ONE_TRIAL, SOURCE, ask, names, wait_for

STANDIN = f"{SOURCE}/test/stand-in:"
TINY = ["numa", *ONE_TRIAL]


def regions(file):
    return {
        line.split(",")[1].removeprefix("Region ")
        for line in file.read_text().splitlines()
        if line.startswith("TABLE,")
    }


def marked(lines):
    return {line["region"]["name"] for line in lines if line["type"] == "trial"}


def running(job):
    """Folders in /proc of the job's processes: LIKWID's, and locus."""
    record = f"results/{job.name}-{job.id}/n1.jsonl".encode()
    return [
        words.parent
        for words in pathlib.Path("/proc").glob("[0-9]*/cmdline")
        if record in words.read_bytes()
    ]


def test_likwid_itself(submit, read):
    if not shutil.which("likwid-perfctr"):
        lacking("LIKWID", "Debian: likwid")
    counts = subprocess.run(
        ["likwid-perfctr", "-c", "0", "-g", "CLOCK", "true"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    job = submit("likwid", "CLOCK", *TINY)
    if counts.returncode == 0:
        assert job.until("COMPLETED") == 0
        assert regions(job.results / "n1.csv") == marked(read(job.record()))
        return
    assert job.until("FAILED") == 1
    assert (
        re.search(rf"not completed on n1: .*, see results/likwid-{job.id}/n1.txt\n", job.said())
        and "to continue" not in job.said()
    )
    cause = set(counts.stdout.splitlines()) - {""}
    assert cause & set((job.results / "n1.txt").read_text().splitlines())
    assert not job.record().exists()


@pytest.mark.parametrize("count", [1, 2])
def test_records_and_tables(submit, read, nodes, count):
    job = submit("likwid", "MEM,CLOCK", *TINY, sbatch=[f"--nodes={count}"], path=STANDIN)
    assert job.until("COMPLETED") == 0
    files = [f"{node}.{kind}" for node in nodes[:count] for kind in ("jsonl", "txt", "csv")]
    assert names(job.results) == [*sorted(files), "nodes.tsv"]
    for node in nodes[:count]:
        lines = read(job.record(node))
        assert lines[0]["command"][:2] == ["locus", "numa"] and lines[0]["markers"]["groups"] == [
            "MEM",
            "CLOCK",
        ]
        assert lines[0]["markers"]["cpus"] == ",".join(map(str, lines[0]["binding"]["affinity"]))
        assert (
            lines[0]["binding"]["bound_by"] is None
            and "± 95 %" in (job.results / f"{node}.txt").read_text()
        )
        assert regions(job.results / f"{node}.csv") == marked(lines)


def test_events_are_a_group(submit, read):
    job = submit(
        "likwid", "INSTR_RETIRED_ANY:FIXC0+CPU_CLK_UNHALTED_CORE:FIXC1", *TINY, path=STANDIN
    )
    assert job.until("COMPLETED") == 0
    assert read(job.record())[0]["markers"]["groups"] == [
        "INSTR_RETIRED_ANY:FIXC0,CPU_CLK_UNHALTED_CORE:FIXC1"
    ]


def test_the_status_is_passed_on(submit):
    job = submit("likwid", "MEM", *TINY, "--size", "900000G", path=STANDIN)
    assert job.until("FAILED") == 3 and "not completed on n1" in job.said()


@pytest.mark.parametrize("arguments", [[], ["MEM"]])
def test_without_a_benchmark(submit, arguments):
    job = submit("likwid", *arguments, path=STANDIN)
    assert job.until("FAILED") == 2 and "no benchmark: sbatch jobs/" in job.said()


def test_a_group_that_is_none_leaves_nothing_behind(submit):
    """LIKWID leaves the program stopped. It must be killed, or it would keep the step's output
    open."""
    job = submit("likwid", "BAD", *TINY, path=STANDIN)
    assert job.until("FAILED") == 1 and "not completed on n1" in job.said()
    assert not running(job)


def test_its_end_is_near(submit, read):
    """At SIGTERM locus closes the record, and LIKWID survives to write its tables. The resumed run
    writes those of its own trials to another file."""
    job = submit(
        "likwid",
        "MEM",
        "dummy",
        *ENDLESS,
        sbatch=["--nodelist=n1"],
        path=STANDIN,
    )
    job.has('"samples"')
    ask("scancel", "--signal=TERM", job.id)
    assert job.until("FAILED") == 128 + signal.SIGTERM
    lines = read(job.record())
    assert lines[-1]["signal"] == "SIGTERM" and regions(job.results / "n1.csv") == marked(lines)
    before = job.record().read_text().count('"type":"samples"')
    job = job.go_on(submit, path=STANDIN)
    job.has('"type":"samples"', times=before + 1)
    ask("scancel", "--signal=TERM", job.id)
    job.until("FAILED")
    assert names(job.results) == ["n1.1.csv", "n1.csv", "n1.jsonl", "n1.txt", "nodes.tsv"]
    assert regions(job.results / "n1.1.csv") == regions(job.results / "n1.csv")


@pytest.mark.parametrize("name", ["SIGINT", "SIGHUP", "SIGQUIT"])
def test_signals_that_likwid_ignores(submit, read, name):
    """As a process in the background does; locus obeys them."""
    if subprocess.run(["env", "--default-signal=INT", "true"], check=False).returncode:
        lacking("env --default-signal", "coreutils 8.31")
    sbatch = ["--nodelist=n1"]
    job = submit("likwid", "MEM", "dummy", *ENDLESS, sbatch=sbatch, path=STANDIN)
    job.has('"samples"')
    ask("scancel", f"--signal={name}", job.id)
    assert job.until("FAILED") == 128 + signal.Signals[name]
    lines = read(job.record())
    assert lines[-1]["signal"] == name and regions(job.results / "n1.csv") == marked(lines)


def test_requeued_when_all_is_done(submit, read):
    """As on a node that was done when another was lost: no trial is left to count, and there is
    no new table."""
    job = submit("likwid", "MEM", *TINY, path=STANDIN)
    assert job.until("COMPLETED") == 0
    ask("scontrol", "requeue", job.id)
    job.start_again()
    assert job.until("COMPLETED") == 0, job
    first, second = (line for line in read(job.record()) if line["type"] == "header")
    assert (first["markers"]["regions"] > 0) and second["markers"]["regions"] == 0
    assert "n1 has no trial left to count" in job.said() and names(job.results) == [
        "n1.csv",
        "n1.jsonl",
        "n1.txt",
        "nodes.tsv",
    ]


def test_suspended(submit, read):
    """A suspended job continues when it is resumed: a stopped process is not taken for ended. SLURM
    stops it by SIGTSTP, which LIKWID's session has nobody to obey for, and 2 s later by SIGSTOP:
    so the job is one that does not end by itself."""
    job = submit("likwid", "MEM", "dummy", *ENDLESS, path=STANDIN)
    job.has('"samples"')
    ask("scontrol", "suspend", job.id)
    wait_for(
        lambda: (
            {(process / "status").read_text().split("State:\t")[1][0] for process in running(job)}
            == {"T"}
        ),
        job,
    )
    before = job.record().read_text().count('"type":"samples"')
    ask("scontrol", "resume", job.id)
    job.has('"type":"samples"', times=before + 1)
    ask("scancel", "--signal=TERM", job.id)
    assert job.until("FAILED") == 128 + signal.SIGTERM
    assert regions(job.results / "n1.csv") == marked(read(job.record()))


def test_it_ends_where_likwid_is_missing(submit, tmp_path):
    """Only what the script needs is in PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("bash", "env", "sh"):
        (folder / name).symlink_to(shutil.which(name) or "")
    (folder / "locus").symlink_to(os.environ["LOCUS"])
    (folder / "locus-job").symlink_to(BUILD / "jobs/locus-job")
    script = tmp_path / "likwid.sh"
    script.write_text(
        f"#!/bin/bash\nPATH={folder}\nexport PATH\nSLURM_SUBMIT_DIR=/nowhere exec bash"
        f' {BUILD}/jobs/likwid.slurm "$@"\n'
    )
    job = submit(script, "MEM", *TINY)
    assert job.until("FAILED") == 127 and "no likwid-perfctr in PATH" in job.said()
