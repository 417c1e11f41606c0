# SPDX-License-Identifier: Apache-2.0
"""Ranks on several nodes: the same answer as one process, a record for each number of nodes, and
the end of the job when a rank or a node is lost."""

import os
import re
import signal

import pytest
from lacking import lacking
from retries import tries
from slurm import BUILD, SOURCE, ask, minicluster, names
from some import some

SOON = ["--profile", "quick", "--points", "2k,500/rank", "--clusters", "7", "--repeats", "2"]
ENDLESS = ["--points", "2k", "--clusters", "7", "--repeats", "1000000", "--time-budget", "600s"]


@pytest.fixture(autouse=True)
def setting(over_ranks):
    """All tests here need locus-mpi and the environment for ranks."""


def check_good(job, read, ranks, benchmark="kmeans"):
    lines = read(job.record(f"{ranks}-ranks"))
    assert lines[-1]["type"] == "end" and lines[-1]["status"] == 0 and lines[0]["host"] == "n1"
    assert (
        lines[0]["ranks"] == ranks
        and lines[0]["rank"] == 0
        and lines[0]["command"][:2] == ["locus-mpi", benchmark]
    )
    trials = [line for line in lines if line["type"] == "trial"]
    assert {trial["status"] for trial in some(trials)} <= {"ok", "unconverged", "bimodal", "noisy"}
    assert (job.results / f"{ranks}-ranks.txt").read_text().count("± 95 %") == 1
    return lines[0], {trial["parameters"].get("points") for trial in trials}


@pytest.mark.parametrize("count", [2, 4])
def test_search_over_nodes(completed, read, count):
    """Every answer is checked by the rank that asked."""
    job = completed(
        "search-mpi",
        "--size",
        "64K,1M",
        "--repeats",
        "2",
        "--duration",
        "2ms",
        sbatch=[f"--nodes={count}"],
    )
    for ranks in [1, 2, 4][: count // 2 + 1]:
        check_good(job, read, ranks, "search")


@pytest.mark.parametrize(("count", "ranks"), [(2, [1, 2]), (3, [1, 2, 3]), (4, [1, 2, 4])])
def test_one_rank_a_node(completed, source, read, count, ranks):
    job = completed("kmeans-mpi", *SOON, sbatch=[f"--nodes={count}"])
    assert names(source) == ["build", "jobs", "results", f"slurm-{job.id}.out"]
    assert names(job.results) == [f"{n}-ranks.{kind}" for n in ranks for kind in ("jsonl", "txt")]
    for n in ranks:
        header, points = check_good(job, read, n)
        assert header["binding"]["affinity"] == list(range(os.sysconf("SC_NPROCESSORS_ONLN")))
        assert points == {"2000", str(500 * n)}
    said = (source / f"slurm-{job.id}.out").read_text().splitlines()
    waited = (
        "step creation temporarily disabled",
        "Step created for job",
    )  # srun's lines while it waits for nodes that are slow to end the last step
    assert [line for line in said if not any(words in line for words in waited)] == []


def test_several_ranks_a_node(completed, read):
    cpus = os.sysconf("SC_NPROCESSORS_ONLN")
    if cpus == 1:
        lacking("a second CPU", "a machine with two")
    job = completed("kmeans-mpi", *SOON, sbatch=["--nodes=2", f"--ntasks-per-node={cpus}"])
    for ranks in (cpus, 2 * cpus):
        header, _ = check_good(job, read, ranks)
        assert len(header["binding"]["affinity"]) == 1 and header["binding"]["bound_by"] == "SLURM"


def test_installed(completed, installed, read, tmp_path_factory):
    empty = tmp_path_factory.mktemp("empty")
    job = completed(
        installed / "share/locus/jobs/kmeans-mpi.slurm",
        *SOON,
        folder=empty,
        path=f"{installed}/bin:",
    )
    for ranks in (1, 2):
        check_good(job, read, ranks)


def test_without_locus_mpi(submit, source):
    """Built without MPI: a line says what to build."""
    (source / "build").unlink()
    (source / "build").mkdir()
    (source / "build/locus").symlink_to(BUILD / "locus")
    job = submit("kmeans-mpi")
    assert job.until("FAILED") == 127 and not job.results.exists()
    assert job.out() == (
        f"locus-job: no locus-mpi in {source}/build or PATH: build it (./quickstart), where mpicc"
        " is in PATH\n"
    )


@pytest.mark.parametrize(
    ("status", "arguments"),
    [(2, ["--clusters", "0"]), (2, ["--variant", "2p"]), (3, ["--points", "900G"])],
)
def test_the_status_is_passed_on(submit, status, arguments):
    job = submit("kmeans-mpi", *SOON, *arguments)
    assert job.until("FAILED") == status
    assert re.search(
        rf"not completed on 1 of 2 nodes: .*, see results/kmeans-mpi-{job.id}/1-ranks.txt\n",
        job.said(),
    )
    assert "to continue" not in job.said()


@pytest.mark.parametrize("launcher", ["srun --mpi=pmix", "mpirun --bind-to none"])
@pytest.mark.parametrize("count", [2, 4])
def test_the_answer_of_one_process(completed, source, launcher, count):
    """Labels and centres, byte for byte."""
    words = (
        "kmeans --variant best --points 3001 --dimensions 3 --data blobs --clusters 9 --threads 2"
        " --oversubscribe --repeats 1"
    )
    save = "--save-labels {0}-labels.npy --save-centres {0}-centres.npy"
    ask(os.environ["LOCUS"], *words.split(), *save.format("one").split(), cwd=source)
    script = source / "answer.sh"
    script.write_text(f"#!/bin/sh\nexec {launcher} build/locus-mpi {words} {save.format('all')}\n")
    completed(script, sbatch=[f"--nodes={count}", "--ntasks-per-node=1", "-c2"])
    for what in ("labels", "centres"):
        assert (source / f"all-{what}.npy").read_bytes() == (
            source / f"one-{what}.npy"
        ).read_bytes()


@pytest.fixture
def at_work(submit, source):
    """at_work("--no-kill"): an endless job that has only the step with ranks on both nodes, n1
    and n2."""

    def run(*sbatch):
        program = (SOURCE / "jobs/locus-job").read_text()
        text = program.replace("[[ $1 != fabric ]] || fewest=$all", "fewest=$all")
        assert text != program
        tree = source / "tree"
        if not tree.exists():
            (tree / "jobs").mkdir(parents=True)
            (tree / "build").symlink_to(BUILD)
        (tree / "jobs/locus-job").write_text(text)
        (tree / "jobs/locus-job").chmod(0o755)
        script = (source / "jobs/kmeans-mpi.slurm").read_text()
        file = source / "kmeans-mpi.slurm"
        file.write_text(script.replace("/jobs/locus-job", "/tree/jobs/locus-job", 1))
        for _ in tries(3, "a rank died in MPI_Init"):
            job = submit(file, *ENDLESS, sbatch=["--nodelist=n1,n2", *sbatch])
            try:
                job.has('"samples"', "2-ranks")
            except AssertionError:
                if not job.died_in_mpi_init():
                    raise
            else:
                return job
        return pytest.fail(str(job))

    return run


def test_cancelled(at_work, read):
    job = at_work()
    ask("scancel", job.id)
    job.until("CANCELLED")
    end = read(job.record("2-ranks"))[-1]
    assert (
        end["type"] == "end"
        and end["signal"] == "SIGTERM"
        and end["status"] == 128 + signal.SIGTERM
    )


def test_sigterm_before_the_time_is_up(at_work, submit, source, read):
    job = at_work()
    ask("scancel", "--signal=TERM", job.id)
    assert job.until("FAILED") == 128 + signal.SIGTERM
    assert read(job.record("2-ranks"))[-1]["signal"] == "SIGTERM"
    again = job.go_on(submit, source / "kmeans-mpi.slurm")
    again.has('"header"', "2-ranks", times=2)
    first, second = (
        line for line in read(job.record("2-ranks"), whole=False) if line["type"] == "header"
    )
    assert (
        second["resumes"] == [first["run"]]
        and second["job"]["id"] == again.id
        and again["NodeList"] == job["NodeList"]
    )


def test_another_signal(at_work, read):
    """The first is told, though srun sends SIGTERM to a rank when another has ended."""
    job = at_work()
    ask("scancel", "--signal=INT", job.id)
    assert job.until("FAILED") == 128 + signal.SIGINT
    assert read(job.record("2-ranks"))[-1]["signal"] == "SIGINT"
    assert "not completed on 2 of 2 nodes: ended by SIGINT, which scancel --signal" in job.out()


@pytest.mark.parametrize("node", ["n1", "n2"])
def test_a_lost_rank_ends_the_job(at_work, read, node):
    job = at_work()
    minicluster("on", node, "pkill", "-KILL", "-x", "locus-mpi")
    assert job.until("FAILED") != 0
    assert (
        re.search("Killed|killed by SIGKILL", job.out())
        and "not completed on 2 of 2 nodes" in job.out()
    )
    last = read(job.record("2-ranks"), whole=False)[-1]
    # Rank 0 may have had time to write the end line.
    assert last["type"] != "end" or (node == "n2" and last["signal"] == "SIGTERM")


def test_a_lost_node_ends_the_job(at_work, read):
    """The job is requeued. With --no-kill it must fail, and not wait for the lost node."""
    for more in ([], ["--no-kill"]):
        job = at_work(*more)
        try:
            minicluster("kill", "n2")
            assert job.until(*(["FAILED", "NODE_FAIL"] if more else ["PENDING"])) != 0 or not more
        finally:
            minicluster("boot", "n2")
        read(job.record("2-ranks"), whole=False)
        if not more:
            job.cancel()
