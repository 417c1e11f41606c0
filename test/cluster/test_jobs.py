# SPDX-License-Identifier: Apache-2.0
"""The job scripts on a cluster: the files of results, the CPUs that jobs get, and the status that
they end with."""

import os
import re
import shutil
import subprocess

import pytest
from lacking import lacking
from slurm import BUILD, CPUS, ENDLESS, ONE_TRIAL, SCRIPTS, SOURCE, ask, names, wait_for
from some import some

FEW = {  # options that select a trial or two of benchmarks with many
    "numa": ONE_TRIAL,
    "latency": ["--profile", "quick", "--variant", "cycle", "--size", "16K", "--repeats", "3"],
}
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


# One with a script of its own; one without; and one whose name has hyphens, as files' names have.
@pytest.mark.parametrize("name", ["numa", "latency", "core-to-core"])
def test_from_the_source_tree(submit, source, read, name):
    job = submit(name, *soon_done(name))
    assert job.until("COMPLETED") == 0
    assert names(source) == ["build", "jobs", "results", f"slurm-{job.id}.out"]
    assert names(job.results) == ["n1.jsonl", "n1.txt", "nodes.tsv"]
    header = check_good(job, read)[0]
    assert (
        header["command"][:2] == ["locus", name]
        and header["job"]["id"] == job.id
        and header["job"]["nodes"] == "1"
    )
    assert (source / f"slurm-{job.id}.out").read_text() == ""


@pytest.fixture
def from_elsewhere(submit, installed, tmp_path_factory):
    """from_elsewhere("numa", ...): a job of the installed script, submitted in an empty folder."""
    folder = tmp_path_factory.mktemp("empty")

    def run(name, *arguments):
        script = installed / f"share/locus/jobs/{name}.slurm"
        job = submit(script, *arguments, folder=folder, path=f"{installed}/bin:")
        assert job.until("COMPLETED") == 0
        assert names(folder) == ["results", f"slurm-{job.id}.out"]
        return job

    return run


def test_installed(from_elsewhere, read):
    job = from_elsewhere("numa", *soon_done("numa"))
    assert check_good(job, read)[0]["command"][:2] == ["locus", "numa"] and job.out() == ""


def test_links_of_one_release(from_elsewhere, installed, read):
    """Links named after benchmarks that had scripts of their own; a line names the new command."""
    files = some((installed / "share/locus/jobs").iterdir())
    links = {file.stem for file in files if file.is_symlink()}
    assert {file.readlink().name for file in files if file.is_symlink()} == {"locus.slurm"}
    assert links < set(BENCHMARKS) and "latency" in links and len(links) == 14
    assert {file.stem for file in files} - links == {file.stem for file in SCRIPTS}
    job = from_elsewhere("latency", *soon_done("latency"))
    assert check_good(job, read)[0]["command"][:2] == ["locus", "latency"]
    assert job.out() == (
        "locus-job: latency.slurm will be removed; use: sbatch locus.slurm latency\n"
    )


def test_from_the_build_folder(submit, read, tmp_path_factory):
    folder = tmp_path_factory.mktemp("build")
    for name in ("locus", "jobs"):
        (folder / name).symlink_to(BUILD / name)
    job = submit("jobs/numa.slurm", *ONE_TRIAL, folder=folder)
    assert job.until("COMPLETED") == 0
    assert names(folder) == ["jobs", "locus", "results", f"slurm-{job.id}.out"]
    check_good(job, read)


@pytest.mark.parametrize("tree", [False, True], ids=["elsewhere", "not built"])
def test_without_locus(submit, source, tmp_path_factory, tree):
    """In a source tree, a line says what to build."""
    folder = source if tree else tmp_path_factory.mktemp("empty")
    if tree:
        (source / "build").unlink()
    job = submit(SOURCE / "jobs/numa.slurm", folder=folder)
    assert job.until("FAILED") == 127 and not job.results.exists()
    (said,) = job.out().splitlines()
    expected = (
        f"locus-job: no locus in {folder}/build or PATH: build it (./quickstart)"
        if tree
        else f"numa.slurm: no locus-job in {folder}/jobs or PATH: submit in the source tree, or"
        " install locus"
    )
    assert said == expected


def test_the_suite(submit, read):
    """Ended after its first benchmark: it takes minutes."""
    job = submit("suite", "--profile", "quick", "--repeats", "2", "--duration", "1ms")
    job.has('"type":"benchmark"', times=2)
    assert read(job.record(), whole=False)[0]["command"][:2] == ["locus", "suite"]


def test_a_benchmark_has_to_be_named(submit):
    job = submit("locus", "--profile", "quick")
    assert job.until("FAILED") == 2
    assert job.out() == (
        "locus-job: no benchmark: sbatch jobs/locus.slurm latency, or jobs/likwid.slurm GROUPS"
        " BENCHMARK (MEM numa)\n"
    )
    command = submit("locus", "topology")
    assert command.until("FAILED") == 2 and not command.results.exists()
    assert command.out() == (
        "locus-job: 'topology' is no benchmark; expected one of:"
        f" {', '.join([*BENCHMARKS, 'suite'])}\n"
    )


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
        (1, ["--output", "/dev/full"], "locus: --output: /dev/full: No space left on device. "),
        (2, ["--kernel", "fold"], "locus numa: "),
        (
            3,
            ["--size", "900000G", "--kernel", "sum,triad"],
            r"status 3 \(impossible 2\): it needs 879 TiB of memory, .* is available",
        ),
    ],
)
def test_the_status_is_passed_on(submit, status, arguments, cause):
    """The cause is told, but no command to continue, which would fail again."""
    job = submit("numa", *ONE_TRIAL, *arguments)
    assert job.until("FAILED") == status
    said = job.out()
    assert re.search(rf"not completed on n1: {cause}.*, see results/numa-{job.id}/n1\.txt\n", said)
    assert "to continue" not in said


# As of a shell in another job (salloc), and of a site that likes other defaults.
SHELL = {
    "SLURM_CPU_BIND": "mask_cpu:1",
    "SLURM_EXPORT_ENV": "NONE",
    "SLURM_LABELIO": "1",
    "SLURM_MEM_PER_CPU": "100",
    "SLURM_MULTI_PROG": "1",
    "SLURM_NTASKS": "4",
    "SLURM_STDOUTMODE": "none",
    "SLURM_THREADS_PER_CORE": "1",
    "SRUN_CPUS_PER_TASK": "1",
}


def test_settings_of_the_shell_change_nothing(submit, read):
    """What would have changed the result is named."""
    job = submit("numa", *ONE_TRIAL, shell=SHELL)
    assert job.until("COMPLETED") == 0
    header = check_good(job, read)[0]
    assert header["binding"]["affinity"] == list(range(CPUS))
    assert job.out() == (
        "locus-job: ignored: SLURM_CPU_BIND=mask_cpu:1 SLURM_THREADS_PER_CORE=1, from sbatch or"
        " the shell that called it; choose CPUs by sbatch -c, or by --threads and --bind of"
        " locus\n"
        "locus-job: ignored: SLURM_MEM_PER_CPU=100, from sbatch or the shell that called it;"
        " choose memory by sbatch --mem\n"
    )
    refused = submit("numa", *ONE_TRIAL, "--size", "900000G", shell=SHELL)
    assert refused.until("FAILED") == 3
    assert "not completed on n1: status 3 (impossible 1): it needs 879 TiB" in refused.out()


@pytest.mark.parametrize("option", ["--hint=nomultithread", "-m block --threads-per-core 1"])
def test_settings_of_the_script(submit, source, option):
    """They are no fault of a shell."""
    script = source / "mine.slurm"
    head, rest = (SOURCE / "jobs/numa.slurm").read_text().split("#SBATCH", 1)
    script.write_text(f"{head}#SBATCH {option}\n#SBATCH{rest}")
    job = submit(script, *ONE_TRIAL)
    assert job.until("COMPLETED") == 0
    told = job.out().partition(", from #SBATCH lines of the job's script; choose CPUs by")[0]
    assert told.startswith("locus-job: ignored: ") and "SLURM_THREADS_PER_CORE=1" in told, job
    assert job.out().count("\n") == 1


@pytest.mark.parametrize("given", ["900M", "2G"])
def test_memory_of_the_job_is_its_own(submit, given):
    """It holds (see test_ends.py), so no line says that it is ignored."""
    job = submit("numa", *ONE_TRIAL, sbatch=[f"--mem={given}"])
    assert job.until("COMPLETED") == 0 and job.out() == ""


def test_cpus_per_task_of_the_shell(submit):
    """SLURM makes 1 of it, as if sbatch had got -c 1: it is named."""
    if CPUS == 1:
        lacking("a second CPU", "a machine with two")
    job = submit("numa", *ONE_TRIAL, shell={"SLURM_CPUS_PER_TASK": str(CPUS)})
    assert job.until("COMPLETED") == 0
    assert job.out() == (
        f"locus-job: -c 1, from sbatch or the shell that called it, gives 1 of {CPUS} CPUs of a"
        " node; for all: unset SLURM_CPUS_PER_TASK\n"
    )


def test_components(submit):
    """Only the first one's nodes would be measured."""
    job = submit("numa", *ONE_TRIAL, sbatch=["--nodes=1", ":", "--nodes=2"])
    assert job.until("FAILED") == 2
    assert job.out() == (
        "locus-job: this job has several components (sbatch ... : ...), and only the first would"
        " be measured: submit each as a job of its own\n"
    )


@pytest.fixture
def silent(tmp_path):
    """PATH with a scontrol that knows nothing of jobs, as where slurmctld is too busy."""
    stub = tmp_path / "scontrol"
    real = shutil.which("scontrol")
    stub.write_text(f'#!/bin/sh\n[ "$3" != job ] || exit 1\nexec {real} "$@"\n', encoding="utf-8")
    stub.chmod(0o755)
    return f"{tmp_path}:"


def test_slurm_does_not_answer(submit, read, silent):
    """Nothing is known of the job but its variables: no advice is made of that."""
    job = submit("numa", *ONE_TRIAL, path=silent)
    assert job.until("COMPLETED") == 0 and job.out() == ""
    check_good(job, read)
    job = submit("numa", *ONE_TRIAL, sbatch=["--nodes=1", ":", "--nodes=2"], path=silent)
    assert job.until("FAILED") == 2 and "several components" in job.out()
    job = submit("numa", *ONE_TRIAL, "--size", "900G", path=silent)
    assert job.until("FAILED") == 3 and "syntax error" not in job.out()


@pytest.mark.parametrize("words", [["jobs/locus-job", "numa"], ["bash", "jobs/numa.slurm"]])
def test_outside_a_job(words):
    """By a relative path, too."""
    own = {key: value for key, value in os.environ.items() if not key.startswith("SLURM_")}
    done = subprocess.run(words, cwd=BUILD, env=own, capture_output=True, text=True)
    assert done.returncode == 2, done
    assert done.stderr == "locus-job: locus-job runs in a job of SLURM: sbatch jobs/numa.slurm\n"


@pytest.mark.parametrize("count", [2, 3, 4])
def test_several_nodes(submit, read, nodes, count):
    job = submit("numa", *ONE_TRIAL, sbatch=[f"--nodes={count}"])
    assert job.until("COMPLETED") == 0
    files = [f"{node}.{kind}" for node in nodes[:count] for kind in ("jsonl", "txt")]
    assert names(job.results) == [*sorted(files), "nodes.tsv"]
    ends = "".join(f"{node}\tcomplete\n" for node in nodes[:count])
    assert (job.results / "nodes.tsv").read_text() == ends
    headers = [check_good(job, read, node)[0] for node in nodes[:count]]
    assert {header["job"]["nodes"] for header in headers} == {str(count)} and len(
        {header["run"] for header in headers}
    ) == count


def test_suspects_are_measured_again(submit, read):
    """In a folder of their own among the results that suspected them, so as another campaign."""
    first = submit("numa", *ONE_TRIAL, sbatch=["--nodes=2"])
    assert first.until("COMPLETED") == 0
    folder = f"results/numa-{first.id}"
    again = submit("numa", "--again", folder, *ONE_TRIAL, sbatch=["--nodelist=n2"])
    assert again.until("COMPLETED") == 0
    own = first.results / f"again-{again.id}"
    assert names(own) == ["n2.jsonl", "n2.txt", "nodes.tsv"]
    assert read(own / "n2.jsonl")[0]["host"] == "n2"
    wrong = submit("numa", "--again", "results/none", *ONE_TRIAL)
    assert wrong.until("FAILED") == 2
    assert wrong.out() == (
        "locus-job: --again: 'results/none' is no folder; expected a folder of results\n"
    )


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
    assert "locus-job: -c 1, from sbatch" in asked.out()
    check(masked, source / "masked.jsonl", 1)
    cpuset = {"cpuset.mems": "0", "cpuset.cpus": "1"}
    group("cpuset", cpuset, cpuset)
    confined = submit("numa", *ONE_TRIAL, sbatch=["--nodelist=n1"])
    assert check(confined, confined.record(), 1)["machine"]["cgroup"]["cpuset"] == "1"
    assert f"n1 measures on 1 of its {CPUS} CPUs" in confined.said()


@pytest.mark.parametrize(
    "what", ["--partition=", "--account=", "--constraint=", "--time=", "module load"]
)
def test_a_script_says_what_to_edit_on_another_cluster(what):
    for file in some(SCRIPTS):
        assert re.search(rf"^#.*{what}", file.read_text(), re.MULTILINE)


def test_each_script_can_be_run_and_is_in_the_manual():
    manual = (SOURCE / "doc/locus.1.in").read_text().replace("\\-", "-")
    jobs = manual[manual.index("\n.SH JOBS\n") : manual.index("\n.SH COUNTERS\n")]
    for file in some(SCRIPTS):
        assert os.access(file, os.X_OK) and re.search(rf"\b{re.escape(file.name)}\b", jobs)
