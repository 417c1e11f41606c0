# SPDX-License-Identifier: Apache-2.0
"""The job scripts on a cluster: the files of results, the CPUs that jobs get, and the status that
they end with."""

import os
import re

import pytest
from lacking import lacking
from slurm import BUILD, CPUS, ENDLESS, ONE_TRIAL, ask, names, wait_for
from some import some

FEW = {  # options that select a trial or two of benchmarks with many
    "numa": ONE_TRIAL,
    "latency": ["--profile", "quick", "--variant", "cycle", "--size", "16K", "--repeats", "3"],
    "sharing": ["--profile", "quick", "--variant", "fetch-add", "--repeats", "2"],
    "kmeans": [
        "--profile",
        "quick",
        "--variant",
        "2p,best",
        "--threads",
        "1",
        "--points",
        "1000",
        "--repeats",
        "2",
    ],
    "search": [
        "--profile",
        "quick",
        "--variant",
        "partitioned,best",
        "--threads",
        "1",
        "--size",
        "16K",
        "--repeats",
        "2",
    ],
}
SCRIPTS = sorted((BUILD / "jobs").glob("*.slurm"))
OWN = ["likwid"]  # scripts unlike the others
BENCHMARKS = [line.split()[0] for line in ask(os.environ["LOCUS"], "list").splitlines()]


def soon_done(name):
    return FEW.get(name, ["--profile", "quick", "--repeats", "2", "--duration", "1ms"])


def check_good(job, read, node="n1"):
    """A complete record, and its table; returns the record."""
    lines = read(job.record(node))
    assert lines[-1]["type"] == "end" and lines[-1]["status"] == 0 and lines[-1]["signal"] is None
    assert lines[0]["host"] == node
    assert set(some(line["status"] for line in lines if line["type"] == "trial")) <= {
        "ok",
        "unconverged",
        "bimodal",
        "noisy",
    }
    assert "± 95 %" in (job.results / f"{node}.txt").read_text()
    return lines


@pytest.mark.parametrize("name", BENCHMARKS)
def test_from_the_source_tree(submit, source, read, name):
    job = submit(name, *soon_done(name))
    assert job.until("COMPLETED") == 0
    assert names(source) == ["build", "jobs", "results", f"slurm-{job.id}.out"]
    assert names(job.results) == ["n1.jsonl", "n1.txt"]
    header = check_good(job, read)[0]
    assert (
        header["command"][:2] == ["locus", name]
        and header["job"]["id"] == job.id
        and header["job"]["nodes"] == "1"
    )
    assert (source / f"slurm-{job.id}.out").read_text() == ""


@pytest.mark.parametrize("name", BENCHMARKS)
def test_installed(submit, installed, read, tmp_path_factory, name):
    empty = tmp_path_factory.mktemp("empty")
    job = submit(
        installed / f"share/locus/jobs/{name}.slurm",
        *soon_done(name),
        folder=empty,
        path=f"{installed}/bin:",
    )
    assert job.until("COMPLETED") == 0
    assert names(empty) == ["results", f"slurm-{job.id}.out"]
    assert check_good(job, read)[0]["command"][:2] == ["locus", name]


def test_from_the_build_folder(submit, read, tmp_path_factory):
    folder = tmp_path_factory.mktemp("build")
    for name in ("locus", "jobs"):
        (folder / name).symlink_to(BUILD / name)
    job = submit("jobs/numa.slurm", *ONE_TRIAL, folder=folder)
    assert job.until("COMPLETED") == 0
    assert names(folder) == ["jobs", "locus", "results", f"slurm-{job.id}.out"]
    check_good(job, read)


def test_without_locus(submit, tmp_path_factory):
    job = submit(BUILD / "jobs/numa.slurm", folder=tmp_path_factory.mktemp("empty"))
    assert job.until("FAILED") == 127
    assert "no locus-job in PATH" in job.said() and not job.results.exists()


def test_the_node_is_ours_alone_and_whole(submit, read):
    """A second job waits, and all CPUs are in the record."""
    job = submit("dummy", *ENDLESS, sbatch=["--nodelist=n1"])
    other = submit("numa", *ONE_TRIAL, sbatch=["--nodelist=n1"])
    job.has('"samples"')
    wait_for(lambda: other["Reason"] == "Resources", other)
    assert job["OverSubscribe"] == "NO" and job["NumCPUs"] == str(CPUS)
    header = read(job.record(), whole=False)[0]
    assert header["machine"]["environment"]["SLURM_CPUS_ON_NODE"] == str(CPUS)
    assert (
        header["binding"]["affinity"] == list(range(CPUS)) and header["binding"]["bound_by"] is None
    )
    assert (job["JobState"], other["JobState"]) == ("RUNNING", "PENDING")
    ask("scancel", job.id)
    assert other.until("COMPLETED") == 0


@pytest.mark.parametrize(
    ("status", "arguments", "cause"),
    [
        (1, ["--output", "/dev/full"], "locus: --output: /dev/full: No space left on device; "),
        (2, ["--kernel", "fold"], "locus numa: "),
        (3, ["--size", "900000G"], 'status 3, trials {"impossible":1}'),
    ],
)
def test_the_status_is_passed_on(submit, status, arguments, cause):
    """The cause is told, but no command to go on, which would fail again."""
    job = submit("numa", *ONE_TRIAL, *arguments)
    assert job.until("FAILED") == status
    said = job.out()
    assert re.search(rf"no good end on n1: {cause}.*, see results/numa-{job.id}/n1\.txt\n", said)
    assert "to go on" not in said


@pytest.mark.parametrize("count", [2, 3, 4])
def test_several_nodes(submit, read, nodes, count):
    job = submit("numa", *ONE_TRIAL, sbatch=[f"--nodes={count}"])
    assert job.until("COMPLETED") == 0
    assert names(job.results) == sorted(
        f"{node}.{kind}" for node in nodes[:count] for kind in ("jsonl", "txt")
    )
    headers = [check_good(job, read, node)[0] for node in nodes[:count]]
    assert {header["job"]["nodes"] for header in headers} == {str(count)} and len(
        {header["run"] for header in headers}
    ) == count


def test_an_array_over_nodes(submit, read, nodes):
    """The tasks run at the same time, each on a node of its own."""
    tasks = submit("dummy", *ENDLESS, sbatch=[f"--array=1-{len(nodes)}"]).tasks(len(nodes))
    for job in tasks:
        job.until("RUNNING")
    where = [job["NodeList"] for job in tasks]
    assert sorted(where) == sorted(nodes)
    for task, (job, node) in enumerate(zip(tasks, where), 1):
        job.has('"samples"', node)
        assert names(job.results) == [f"{node}.jsonl", f"{node}.txt"]
        assert read(job.record(node), whole=False)[0]["job"]["array_task"] == str(task)


def test_without_arguments(submit, read):
    """The first command line that each script's comment shows."""
    job = submit("numa")
    job.has('"samples"')
    header = read(job.record(), whole=False)[0]
    assert header["profile"] == "standard" and header["altered"] == []


def test_fewer_cpus_than_the_node_has(submit, read, source, group):
    """Whether SLURM's options, a mask or a cpuset restrict the CPUs: only these are used, and the
    record tells the cause."""
    if CPUS == 1:
        lacking("a second CPU", "a machine with two")
    asked = submit("numa", *ONE_TRIAL, sbatch=["--cpus-per-task=1"])
    (source / "masked.sh").write_text(
        f"#!/bin/sh\nexec srun -n1 -c{CPUS} --cpu-bind=mask_cpu:2 build/locus numa --output"
        ' masked.jsonl "$@"\n'
    )
    masked = submit(source / "masked.sh", *ONE_TRIAL, sbatch=["--exclusive"])

    def check(job, record, cpu):
        assert job.until("COMPLETED") == 0
        header, *lines = read(record)
        assert header["binding"]["bound_by"] == "SLURM" and header["binding"]["affinity"] == [cpu]
        assert {tuple(line["cpus"]) for line in lines if line["type"] == "trial"} == {(cpu,)}
        return header

    check(asked, asked.record(), 0)
    check(masked, source / "masked.jsonl", 1)
    cpuset = {"cpuset.mems": "0", "cpuset.cpus": "1"}
    group("cpuset", cpuset, cpuset)
    confined = submit("numa", *ONE_TRIAL, sbatch=["--nodelist=n1"])
    assert check(confined, confined.record(), 1)["machine"]["cgroup"]["cpuset"] == "1"
    assert f"n1 measures on 1 of its {CPUS} CPUs" in confined.said()


def test_the_scripts_differ_in_name_alone():
    for suffix, least in (("-mpi", 2), ("", len(BENCHMARKS))):
        alike = [
            file
            for file in SCRIPTS
            if file.stem.endswith("-mpi") == bool(suffix) and file.stem not in OWN
        ]
        assert len(alike) >= least
        named = [
            re.sub(rf"\b{file.stem.removesuffix(suffix)}\b", "NAME", file.read_text())
            for file in alike
        ]
        assert len(set(named)) == 1


@pytest.mark.parametrize(
    "what", ["--partition=", "--account=", "--constraint=", "--time=", "module load"]
)
def test_a_script_says_what_to_edit_on_another_cluster(what):
    for file in SCRIPTS:
        assert re.search(rf"^#.*{what}", file.read_text(), re.MULTILINE)
