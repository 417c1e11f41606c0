# SPDX-License-Identifier: Apache-2.0
"""locus-mpi: ranks measure together, print each message once, and end together. Ranks outnumber
the CPUs, so the times mean nothing."""

import math
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess

import pytest
from conftest import Program
from lacking import lacking
from listed import unwrapped
from retries import tries
from some import some
from test_kmeans import save, write_csv
from waits import PATIENCE, wait_for, written

OTHER = pytest.mark.native("other values run the same code")
ENDLESS = (
    "dummy --variant sums,steady --oversubscribe --quiet --time-budget 600s --repeats 1000000"
    " --output"
)
SETTING = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    # Leaks in MPI's libraries are not tested.
    "ASAN_OPTIONS": ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "detect_leaks=0"])),
}


class Ranks(Program):
    """mpi("dummy --output", file, ranks=2): as locus("..."), on this number of ranks. `folder` is
    for Open MPI's files of a job: in the common one a job that ends may remove the folder in which
    another one, of another lane, is about to make its own."""

    def __init__(self, locus, folder):
        self.setting = {**SETTING, "OMPI_MCA_orte_tmpdir_base": str(folder)}
        self.path = str(pathlib.Path(locus.path).with_name("locus-mpi"))
        if not os.access(self.path, os.X_OK):
            lacking(
                "locus-mpi",
                "Debian: libopenmpi-dev openmpi-bin, Fedora: openmpi-devel; then configure again",
            )
        if not shutil.which("mpirun"):
            lacking("mpirun", "Debian: openmpi-bin, Fedora: openmpi, or a module of your site")
        done = Program.__call__(self, "list", ranks=1)
        if done.status:
            lacking("an mpirun that works", f"it says: {' '.join(done.err.split())[:300]}")

    def start(self, *words, ranks=2, env=None, prefix=(), **more):
        return super().start(
            *words,
            env={**self.setting, **(env or {})},
            prefix=["mpirun", "-n", str(ranks), *prefix],
            **more,
        )


@pytest.fixture(scope="module")
def mpi(locus, tmp_path_factory):
    return Ranks(locus, tmp_path_factory.mktemp("jobs"))


def pids(process, count):
    """The process numbers of mpirun's ranks, once there are `count`."""
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
    wait_for(lambda: len(children.read_text(encoding="ascii").split()) == count, f"{count} ranks")
    return [int(pid) for pid in children.read_text(encoding="ascii").split()]


def gone(pid):
    """Whether the process has ended; it may still be a zombie."""
    try:
        return (
            pathlib.Path(f"/proc/{pid}/stat")
            .read_text(encoding="ascii")
            .rsplit(")", 1)[1]
            .split()[0]
            in "ZX"
        )
    except OSError:
        return True


def test_ranks_count_together(mpi, tmp_path, read):
    """The counts of all workers of all ranks add up; an event that no rank can count is reported
    once."""
    file = tmp_path / "counted.jsonl"
    words = (
        "dummy --variant sums --repeats 5 --oversubscribe --threads 2 --counters"
        " faults,cpu-time,PAPI_NO_SUCH --output"
    )
    done = mpi(words, file, ranks=3)
    assert done.status == 0 and done.err.count("--counters: PAPI_NO_SUCH: ") == 1
    lines = read(file)
    (trial,) = (line for line in lines if line["type"] == "trial")
    batches = [line["counters"] for line in lines if line["type"] == "samples"]
    seconds = next(c for c in trial["counters"] if c["name"] == "cpu-time")
    assert len(seconds["per_thread"]) == 6 and sum(seconds["per_thread"]) == pytest.approx(
        seconds["value"]
    )
    assert seconds["total"] == pytest.approx(sum(b.get("cpu-time", 0) for b in batches))
    assert all(v > 0 for v in seconds["per_thread"])
    assert [c["value"] for c in trial["counters"] if c["name"] == "PAPI_NO_SUCH"] == [None]


@pytest.fixture(name="stand_in", scope="module")
def find_stand_in():
    """The folder with the stand-in for PAPI's library."""
    folder = pathlib.Path(os.environ.get("BUILD", "")) / "test/stand-in"
    if not list(folder.glob("libpapi.so.*")):
        pytest.skip("built without PAPI's header: there is no stand-in for its library")
    return str(folder)


def test_what_one_rank_can_not_count_takes_no_room_on_the_others(mpi, tmp_path, read, stand_in):
    file = tmp_path / "counted.jsonl"
    lacking_one = (
        'test $OMPI_COMM_WORLD_RANK = 0 || PAPI_STAND_IN="counters=1 absent=PAPI_TOT_INS"; exec'
        ' "$@"'
    )
    words = (
        "dummy --variant sums --repeats 4 --oversubscribe --threads 1 --counters"
        " PAPI_TOT_INS,PAPI_TOT_CYC --output"
    )
    env = {"LD_LIBRARY_PATH": stand_in, "PAPI_STAND_IN": "counters=1"}
    done = mpi(words, file, ranks=2, env=env, prefix=["sh", "-c", lacking_one, "sh"])
    header, *_, trial, _ = read(file)
    assert done.status == 0 and header["counters"]["passes"] == 1
    instructions, cycles = trial["counters"][:2]
    assert instructions["value"] is None and instructions["why"].startswith(
        f"on rank 1 ({os.uname().nodename}): PAPI "
    )
    assert done.err == f"locus-mpi: --counters: PAPI_TOT_INS: {instructions['why']}\n"
    assert cycles["total"] == 2 * 2 * 1000


def test_a_package_is_counted_once_by_ranks_that_share_it(mpi, tmp_path, read, stand_in):
    """A package with workers, one without, and the node: one worker of all ranks counts each."""
    file = tmp_path / "counted.jsonl"
    of_a_sample = {
        "rapl:::PACKAGE_ENERGY:PACKAGE0": 23e-6,
        "rapl:::PACKAGE_ENERGY:PACKAGE1": 24e-6,
        "net:::lo:rx:bytes": 26e3,
    }
    words = "dummy --variant sums --repeats 6 --oversubscribe --threads 2 --counters"
    done = mpi(
        words, ",".join(of_a_sample), "--output", file, ranks=3, env={"LD_LIBRARY_PATH": stand_in}
    )
    assert done.status == 0, done
    (trial,) = (line for line in read(file) if line["type"] == "trial")
    for name, count in of_a_sample.items():
        counter = next(c for c in trial["counters"] if c["name"] == name)
        assert counter["total"] == pytest.approx(3 * count) and counter["samples"] == 3
        shares = [v for v in counter["per_thread"] if v is not None]
        assert len(counter["per_thread"]) == 6 and shares == [pytest.approx(counter["value"])]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "ranks", [1, pytest.param(2, marks=OTHER), 3, pytest.param(4, marks=OTHER)]
)
def test_ranks_measure_together(mpi, locus, tmp_path, read, ranks, threads):
    file = tmp_path / "together.jsonl"
    words = f"dummy --variant sums --repeats 20 --oversubscribe --threads {threads} --output"
    done = mpi(words, file, ranks=ranks)
    assert done.status == 0, done
    header, *_, trial, end = read(file)
    assert (header["rank"], header["ranks"], header["command"][:2]) == (
        0,
        ranks,
        ["locus-mpi", "dummy"],
    )
    assert (
        trial["status"] in ("ok", "bimodal", "noisy")
        and trial["samples"]["n"] == 20
        and end["status"] == 0
    )
    assert (f" ranks={ranks} " in trial["identity"]) == (ranks > 1)
    (communication,) = (
        metric["value"] for metric in trial["metrics"] if metric["name"] == "communication"
    )
    assert (
        0 < communication < max(trial["samples"]["quantiles"].values()) * trial["samples"]["units"]
    )
    assert done.out.count("± 95 %") == 1 and done.err == ""
    assert done.out.startswith("dummy: 1 trial, profile ")
    assert done.out.split("\n\n", 1)[1].startswith(
        f"dummy over {ranks} rank{'s' if ranks > 1 else ''} with that many threads each: "
    )
    if ranks == 1 and threads == 2:  # nothing is divided: the same trial
        assert f"  {trial['id']}  " in locus(words.replace("--output", "--dry-run")).out


def test_what_is_wrong_on_one_rank_is_told_of_all(mpi, tmp_path, trials):
    file = tmp_path / "faults.jsonl"
    variants = "steady,failing,impossible,wrong,misplaced,grows"
    done = mpi(
        "dummy --oversubscribe --pool 4K --repeats 2 --variant", variants, "--output", file, ranks=3
    )
    assert done.status == 1, done
    found = trials(file)
    assert {name: trial["status"] for name, trial in found.items() if name != "steady"} == {
        name: {"failing": "failed", "grows": "failed"}.get(name, name)
        for name in ("failing", "impossible", "wrong", "misplaced", "grows")
    }
    host = os.uname().nodename
    for name, why in (
        ("failing", "its memory could not be prepared"),
        ("impossible", "it was told"),
        ("wrong", "it was told"),
        ("grows", "the turns: worker 0 has 4096 bytes"),
    ):
        assert found[name]["reasons"][0].startswith(f"on rank 2 ({host}): {why}")
    assert found["misplaced"]["placement"]["before"]["misplaced"] > 0


def test_pages_are_those_of_all_ranks(mpi, tmp_path, trials):
    file = tmp_path / "pages.jsonl"
    assert (
        mpi(
            "dummy --oversubscribe --repeats 2 --size 1M --variant steady,misplaced --output",
            file,
            ranks=4,
        ).status
        == 1
    )
    found = {name: trial["placement"]["before"] for name, trial in trials(file).items()}
    pages = 4 * (1 << 20) // os.sysconf("SC_PAGESIZE")
    assert {name: (place["pages"], place["misplaced"]) for name, place in found.items()} == {
        "steady": (pages, 0),
        "misplaced": (pages, pages // 4),
    }


def test_what_can_be_divided_is_listed_and_the_rest_refused(mpi, locus):
    listed = mpi("list").out.splitlines()
    assert not any(line.startswith(("numa ", "sharing ", "latency ")) for line in some(listed))
    done = mpi("numa")
    assert (
        done.status == 2
        and "numa is not divided over ranks; run `locus numa` on each node" in done.err
    )
    assert "can be divided over ranks" in unwrapped(locus("list dummy").out)


@pytest.mark.parametrize(
    ("words", "status", "what"),
    [
        ("", 2, "usage: locus-mpi BENCHMARK"),
        ("dumy", 2, "there is no 'dumy'"),
        ("help dumy", 2, "there is no 'dumy'"),
        ("list dumy", 2, "there is no benchmark 'dumy'"),
        ("list dummy more", 2, "'more' is one argument too many"),
        ("version more", 2, "'more' is one argument too many"),
        ("list --help", 0, "usage: locus-mpi list"),
        ("help dummy", 0, "Usage: locus-mpi dummy"),
        ("dummy --repeats 0", 2, "--repeats: 0 is not between"),
        ("dummy --no-such", 2, "there is no option --no-such"),
        ("dummy --delay", 2, "requires an argument"),
        ("dummy --counters PAPI_NO_SUCH", 3, "--counters: PAPI_NO_SUCH"),
        ("dummy --resume", 2, "--resume"),
        ("dummy --delay x", 2, "'x' is not a number"),
        ("dummy --variant stedy", 2, "did you mean 'steady'"),
        ("dummy --output /dev/full", 1, "No space left"),
        ("dummy --output /nowhere/at/all", 1, "No such file"),
        ("dummy --variant impossible", 3, "it was told to be impossible"),
    ],
)
def test_an_error_of_all_is_said_once(mpi, words, status, what):
    done = mpi(re.sub("^dummy ", "dummy --oversubscribe --repeats 1 ", words), ranks=3)
    assert done.status == status, done
    assert done.err.count(what) + done.out.count(what) == 1, done
    assert not re.search(r"(?m)^locus(?!-mpi)", done.err), "a message is another program's"


def test_other_arguments_on_another_rank(mpi):
    done = mpi(
        "dummy --repeats 1", prefix=[mpi.path, "dummy", "--repeats", "2", ":", "-n", "1"], ranks=1
    )
    assert done.status == 2, done
    assert done.err.count("on rank 1 ") == 1 and "its command line is" in done.err


@pytest.mark.parametrize(
    ("words", "places", "status", "what"),
    [
        (
            "--threads auto",
            ("0,1", "0"),
            2,
            ("trial 1 differs from rank 0's: dummy/steady delay=10 size=0 threads=1 ranks=2"),
        ),
        ("--bind 0", ("0", "1"), 2, 'CPU 0 of "0" is not there'),
    ],
)
def test_another_machine_on_another_rank(mpi, cpus, words, places, status, what):
    if cpus[:2] != [0, 1]:
        lacking("CPUs 0 and 1", "a machine with two")
    words = ["dummy", "--variant", "steady", "--repeats", "1", *words.split()]
    prefix = [
        "taskset",
        "-c",
        places[0],
        mpi.path,
        *words,
        ":",
        "-n",
        "1",
        "taskset",
        "-c",
        places[1],
    ]
    done = mpi(*words, prefix=prefix, ranks=1)
    assert done.status == status, done
    assert done.err.count("on rank 1 ") == 1 and what in done.err


@pytest.mark.parametrize(
    ("setting", "tasks"),
    [
        ("SLURM_STEP_NUM_TASKS=2", 2),
        ("SLURM_STEP_NUM_TASKS=3 SLURM_PROCID=0", 3),
        ("PMI_SIZE=4 PMI_RANK=0", 4),
        ("PMI_SIZE=4 PMI_RANK=0 SLURM_STEP_NUM_TASKS=1", 4),  # mpirun in a task of srun
        ("OMPI_COMM_WORLD_SIZE=5", 5),
        ("MV2_COMM_WORLD_SIZE=6 MV2_COMM_WORLD_RANK=0", 6),
        ("PMI_SIZE=4 PMI_RANK=3", None),  # the first one says it
        ("PMIX_RANK=1", 2),  # nobody says how many there are
        ("PMIX_RANK=2", None),
        ("PMIX_RANK=0", 0),
        ("PMI_SIZE=1 SLURM_STEP_NUM_TASKS=2", 0),  # mpirun -n 1 in each of srun's tasks
        ("PMI_SIZE=1 OMPI_COMM_WORLD_SIZE=4", 0),
        ("SLURM_STEP_NUM_TASKS=1", 0),
    ],
)
def test_tasks_that_do_not_know_each_other(mpi, setting, tasks):
    """Launchers of another MPI, as far as a process sees them: by their variables. `tasks` is what
    the message says; None: no message, 0: not refused."""
    env = dict(word.split("=") for word in setting.split())
    alone = Program.start(mpi, "list", env={**mpi.setting, **env})
    out, err = alone.communicate(timeout=PATIENCE)
    if tasks == 0:
        assert alone.returncode == 0 and out and err == ""
        return
    assert alone.returncode == 1 and out == ""
    said = f"locus-mpi: this is one of {tasks} tasks, but MPI sees only itself, 1 rank; start with"
    assert err.startswith(said) if tasks else err == ""


@OTHER
def test_only_shared_memory_is_divided(mpi):
    """A limit of each process is not."""
    words = "dummy --variant steady --oversubscribe --repeats 1 --size 900000G"
    shared = mpi(words, ranks=2)
    assert shared.status == 3 and re.search(r"because of the .*, shared by 2 ranks;", shared.err)
    own = mpi(words, ranks=2, prefix=["prlimit", f"--as={1 << 32}"])
    assert own.status == 3, own
    there = re.search(r"only ([\d.]+) GiB is available because of ulimit -v 4 GiB, less", own.err)
    assert there and 2 < float(there[1]) < 4 and "shared" not in own.err


@OTHER
def test_the_end_of_the_budget_within_a_sample(mpi):
    """The option of Open MPI 4 that the man page names: no error of mpirun's, and our status."""
    version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=True)
    if not re.search(r"Open MPI\) 4\.", version.stdout):
        lacking("Open MPI 4", "Debian: openmpi-bin")
    done = mpi(
        "dummy --variant stuck --where collect --delay 1e9 --threads 1 --oversubscribe --quiet"
        " --time-budget 1s",
        env={"OMPI_MCA_orte_allowed_exit_without_sync": "1"},
    )
    (said,) = done.err.splitlines()
    assert done.status == 0 and said.startswith("locus-mpi: time budget spent: cut off"), done


def test_a_single_rank_of_mpirun_in_srun(mpi):
    assert mpi("list", ranks=1, env={"SLURM_STEP_NUM_TASKS": "2"}).status == 0


def test_ranks_on_the_same_cpus_are_refused(mpi):
    prefix = ["taskset", "-c", "0"]
    done = mpi("dummy --variant steady --repeats 1", prefix=prefix)
    assert (
        done.status == 3
        and "2 ranks of this node may use CPU 0: bind each to CPUs of its own" in done.err
    ), done
    assert (
        "oversubscribed"
        in mpi("dummy --variant steady --dry-run --oversubscribe", prefix=prefix).out
    )


def test_resumed(mpi, tmp_path, read):
    file = tmp_path / "resumed.jsonl"
    words = ["dummy --variant steady,sums,wrong --oversubscribe --repeats 2 --output", file]
    assert mpi(*words).status == 1
    assert mpi(*words, "--resume").status == 1
    assert read(file)[-1]["skipped"] == 2
    assert mpi(*words, "--resume", ranks=3).status == 1
    assert read(file)[-1]["skipped"] == 0, "three ranks are other trials than two"


def test_runs_are_refused_with_what_to_do_instead(mpi):
    done = mpi("dummy --runs 3")
    assert done.status == 2 and done.err.count("--append to the same --output") == 1, done.err


@pytest.mark.parametrize("whom", ["mpirun", 0, 1])
def test_sigterm_ends_all_ranks_with_what_was_measured(mpi, tmp_path, read, whom):
    file = tmp_path / "term.jsonl"
    with mpi.start(ENDLESS, file, ranks=3) as process:
        ranks = pids(process, 3)
        wait_for(written(file, "samples"), "a batch")
        os.kill(process.pid if whom == "mpirun" else ranks[whom], signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
    assert process.returncode != 0
    end = read(file)[-1]
    assert (
        end["type"] == "end"
        and end["signal"] == "SIGTERM"
        and end["status"] == 128 + signal.SIGTERM
    )


@pytest.mark.parametrize("whom", ["mpirun", 0, 2])
def test_sigterm_ends_all_ranks_in_the_middle_of_a_sample(mpi, tmp_path, read, whom):
    """The last rank is in a sample of ten minutes, and the others wait for it."""
    file = tmp_path / "cut.jsonl"
    words = "dummy --variant stuck --where collect --delay 6e8 --oversubscribe --quiet --output"
    for _ in tries(3, "a busy machine had no second in which to close the record"):
        file.unlink(missing_ok=True)
        with mpi.start(words, file, ranks=3) as process:
            ranks = pids(process, 3)
            wait_for(written(file, "header"), "the header")
            os.kill(process.pid if whom == "mpirun" else ranks[whom], signal.SIGTERM)
            process.communicate(timeout=PATIENCE)
        assert process.returncode != 0
        trial, end = read(file)[-2:]
        if end["type"] == "end" and trial["type"] == "trial":
            break
    assert trial["status"] == "interrupted"
    assert end["type"] == "end" and end["signal"] == "SIGTERM"


def test_the_time_budget_ends_all_ranks_in_the_middle_of_a_sample(mpi, tmp_path, read):
    file = tmp_path / "cut.jsonl"
    words = "dummy --variant stuck --where verify --delay 6e8 --oversubscribe --quiet"
    done = mpi(f"{words} --time-budget 500ms --output", file, ranks=3)
    assert done.err.count("locus-mpi: time budget spent: cut off while ") == 1
    trial, end = read(file)[-2:]
    assert trial["status"] == "interrupted" and (end["status"], end["signal"]) == (0, None)


@pytest.mark.parametrize("whom", [0, 1])
def test_a_lost_rank_ends_the_others(mpi, tmp_path, read, whom):
    file = tmp_path / "lost.jsonl"
    with mpi.start(ENDLESS, file, ranks=3) as process:
        ranks = pids(process, 3)
        wait_for(written(file, "samples"), "a batch")
        os.kill(ranks[whom], signal.SIGKILL)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode != 0 and "signal 9" in err, err
    wait_for(lambda: all(map(gone, ranks)), "the end of all ranks")
    lines = read(file, whole=False)
    assert lines[0]["type"] == "header"
    # mpirun sends the others SIGTERM; rank 0 may have the time to close the record.
    assert lines[-1]["type"] != "end" or lines[-1]["signal"] == "SIGTERM"
    resumed = ENDLESS.replace("1000000", "2")
    assert mpi(resumed, file, "--resume", ranks=3).status == 0
    assert read(file)[-1]["status"] == 0


# locus-mpi kmeans


@pytest.fixture(scope="module")
def cluster(mpi, locus, tmp_path_factory):
    """cluster(3, "--threads 2 --points", file): the files of labels and centres from 3 ranks of
    locus-mpi; 0: from locus."""

    def run(ranks, *words):
        folder = tmp_path_factory.mktemp("answer")
        files = folder / "labels.npy", folder / "centres.npy"
        saved = ["--save-labels", files[0], "--save-centres", files[1]]
        command = ["kmeans --variant best --repeats 1 --quiet --oversubscribe", *saved, *words]
        done = mpi(*command, ranks=ranks) if ranks else locus(*command)
        assert done.status == 0, done
        return [file.read_bytes() for file in files]

    return run


@pytest.fixture(scope="module")
def rows():
    """Points in three dimensions, in two clusters, of which one is far from the origin."""
    numbers = random.Random(5)
    return [[1e4 * (i % 2) + numbers.gauss(0, 1) for _ in range(3)] for i in range(501)]


@pytest.mark.parametrize("data", ["uniform", pytest.param("blobs", marks=OTHER), "npy", "csv"])
def test_the_answer_is_the_same_for_any_number_of_ranks_and_threads(
    cluster, tmp_path, rows, data, often
):
    words = ["--clusters", 9]
    if data == "npy":
        words += ["--points", save(tmp_path / "points.npy", rows)]
    elif data == "csv":
        words += ["--points", write_csv(tmp_path / "points.csv", rows)]
    else:
        words += ["--points", 3001, "--dimensions", 5, "--data", data]
    alone = cluster(0, *words, "--threads", 1)
    numbers = [(ranks, threads) for ranks in (1, 2, 3, 4) for threads in (1, 2)]
    for ranks, threads in numbers[:: 1 if often == 100 else 3]:
        assert cluster(ranks, *words, "--threads", threads) == alone, (
            f"{ranks} ranks of {threads} threads"
        )


def test_ranks_may_have_a_point_each(cluster):
    words = ["--points", 4, "--clusters", 3, "--dimensions", 2, "--threads", 2]
    assert cluster(4, *words) == cluster(0, *words)


def test_so_many_points_for_each_rank_are_as_many_as_for_all(cluster, mpi, locus):
    words = ["--clusters", 7, "--threads", 1, "--points"]
    assert cluster(3, *words, "500/rank") == cluster(0, *words, 1500)
    assert (
        "points=1500 "
        in mpi("kmeans --points 500/rank,1.5k --oversubscribe --dry-run", ranks=3).out
    )
    assert "points=500 " in locus("kmeans --points 500/rank --variant best --dry-run").out


def test_numbers_of_all_ranks(mpi, locus, tmp_path, trials):
    """Metrics of locus-mpi are those of all ranks together, and agree with locus."""
    words = (
        "kmeans --variant best --points 5000 --clusters 20 --prune none --threads 1 --repeats 2"
        " --oversubscribe --output"
    )
    of = []
    for ranks, run in ((1, locus), (3, mpi)):
        done = run(words, tmp_path / f"{ranks}.jsonl", **({"ranks": 3} if ranks > 1 else {}))
        assert done.status == 0, done
        trial = trials(tmp_path / f"{ranks}.jsonl")["best"]
        of.append(
            {metric["name"]: metric["value"] for metric in trial["metrics"]}
            | {"identity": trial["identity"]}
        )
    alone, together = of
    assert (
        together["iterations"] == alone["iterations"]
        and together["computed"] == alone["computed"] == 1
    )
    assert together["inertia"] == pytest.approx(alone["inertia"], rel=1e-9)
    assert alone["communication"] is None and 0 < together["communication"] < together["time"]
    assert (
        together["identity"].replace(" ranks=3", "").replace(" oversubscribed", "")
        == alone["identity"]
    )


@pytest.mark.parametrize(
    ("words", "status", "what"),
    [
        ("--variant 2p", 2, "2p is not divided over ranks"),
        ("--points - --variant best", 2, "only one rank has standard input"),
        ("--points 2 --clusters 1", 2, "each rank needs at least one"),
        ("--points {csv} --clusters 2", 3, "on rank 2 ({host}): {csv}: line 100, value 1: 'nan'"),
        ("--points {csv}/rank", 2, "points.csv/rank: Not a directory"),
        (
            "--points 100 --clusters 2 --save-labels /nowhere/labels.npy",
            1,
            "/nowhere/labels.npy: No such file",
        ),
        (
            "--points 100 --clusters 2 --save-centres /nowhere/centres.npy",
            1,
            "/nowhere/centres.npy: No such file",
        ),
    ],
)
def test_what_is_wrong_with_points_is_said_once(mpi, tmp_path, words, status, what):
    csv = write_csv(tmp_path / "points.csv", [[i if i < 99 else math.nan] for i in range(100)])
    host = os.uname().nodename
    done = mpi(
        "kmeans --threads 1 --oversubscribe --repeats 1",
        *words.format(csv=csv).split(),
        ranks=3,
    )
    assert done.status == status, done
    assert " ".join((done.out + done.err).split()).count(what.format(csv=csv, host=host)) == 1, done


@pytest.fixture
def apart(mpi, tmp_path):
    """(folder, run): run() starts two ranks of the same command, the second in that folder."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    words = "kmeans --points points.npy --clusters 2 --threads 1 --oversubscribe"
    second = [mpi.path, *words.split(), ":", "-n", "1", "-wdir", str(elsewhere)]
    return elsewhere, lambda: mpi(words, prefix=second, ranks=1, cwd=tmp_path)


def test_a_file_that_another_rank_has_not(apart, tmp_path, rows):
    _, run = apart
    save(tmp_path / "points.npy", rows)
    done = run()
    assert done.status == 2, done
    assert re.search(r"on rank 1 .*--points: points.npy: No such file", done.err)


def test_a_file_that_is_another_on_another_rank(apart, tmp_path, rows):
    elsewhere, run = apart
    save(tmp_path / "points.npy", rows)
    save(elsewhere / "points.npy", rows[1:])
    done = run()
    assert done.status == 2, done
    assert re.search(
        r"on rank 1 .*: trial 1 differs from rank 0's: its file has 500 rows, and not 501:"
        r" kmeans/best",
        done.err,
    )


# locus-mpi search


@pytest.mark.parametrize(
    ("ranks", "threads", "kind"),
    [
        pytest.param(1, 1, "u32", marks=OTHER),
        (2, 2, "u64"),
        *(pytest.param(*more, marks=OTHER) for more in [(3, 1, "u64"), (4, 2, "u32")]),
    ],
)
def test_keys_travel_to_their_rank_and_answers_back(mpi, tmp_path, read, ranks, threads, kind):
    """Each rank checks the answers to its own keys; `wire` counts the bytes of keys that other
    ranks own, and of their answers."""
    file, width = tmp_path / "search.jsonl", {"u32": 4, "u64": 8}[kind]
    words = (
        f"search --size {8 * ranks * threads},1K,1M --type {kind} --keys uniform,zipf,hot --pages"
        " base --packet 50"
    )
    done = mpi(
        f"{words} --threads {threads} --repeats 1 --duration 500us --oversubscribe --quiet"
        " --output",
        file,
        ranks=ranks,
    )
    assert done.status == 0, done
    found = [line for line in read(file) if line["type"] == "trial"]
    assert len(found) == 9 and {trial["status"] for trial in found} <= {
        "ok",
        "unconverged",
        "bimodal",
        "noisy",
    }
    for trial in found:
        metric = {m["name"]: m["value"] for m in trial["metrics"]}
        assert 0 <= metric["wire"] <= width + 4 and 1 <= metric["imbalance"] <= ranks
        assert (metric["wire"] > 0) == (ranks > 1) and metric["communication"] > 0
        assert (metric["limit"] is not None) == (ranks > 1) and (metric["limit"] or 1) > 0
        if trial["parameters"]["keys"] == "uniform" and trial["parameters"]["size"] > 1000:
            share, keys = (ranks - 1) / ranks, trial["samples"]["units"] * threads * ranks * 50
            allowed = (
                6 * math.sqrt(share * (1 - share) / keys) + 3 / 256
            )  # six deviations; parts differ by an element
            assert metric["wire"] == pytest.approx(
                (width + 4) * share, rel=0, abs=(width + 4) * allowed
            )


def test_an_array_has_an_element_for_each_rank(mpi):
    done = mpi("search --size 8 --pages base --oversubscribe --threads 1", ranks=3)
    said = "each searcher and each rank needs at least one element"
    assert done.status == 2 and said in done.err + done.out, done
