# SPDX-License-Identifier: Apache-2.0
"""locus-mpi: ranks measure together, print each message once, and end together. Ranks outnumber
the CPUs, so the times mean nothing."""

import os
import pathlib
import re

import pytest
from conftest import Program
from lacking import lacking
from listed import unwrapped
from some import some
from waits import PATIENCE

OTHER = pytest.mark.native("other values run the same code")


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
        'test "${OMPI_COMM_WORLD_RANK-$PMI_RANK}" = 0 ||'
        ' PAPI_STAND_IN="counters=1 absent=PAPI_TOT_INS"; exec "$@"'
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
    # Samples of 50,000 turns include the 65 that use up the pool, however late they are calibrated.
    call = "dummy --oversubscribe --pool 4K --delay 1 --duration 50ms --repeats 2 --variant"
    done = mpi(call, variants, "--output", file, ranks=3)
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
        pytest.param("help dumy", 2, "there is no 'dumy'", marks=OTHER),
        pytest.param("list dumy", 2, "there is no benchmark 'dumy'", marks=OTHER),
        pytest.param("list dummy more", 2, "'more' is one argument too many", marks=OTHER),
        pytest.param("version more", 2, "'more' is one argument too many", marks=OTHER),
        ("list --help", 0, "usage: locus-mpi list"),
        ("help dummy", 0, "Usage: locus-mpi dummy"),
        ("dummy --repeats 0", 2, "--repeats: 0 is not between"),
        pytest.param("dummy --no-such", 2, "there is no option --no-such", marks=OTHER),
        pytest.param("dummy --delay", 2, "requires an argument", marks=OTHER),
        ("dummy --counters PAPI_NO_SUCH", 3, "--counters: PAPI_NO_SUCH"),
        ("dummy --resume", 2, "--resume"),
        pytest.param("dummy --delay x", 2, "'x' is not a number", marks=OTHER),
        pytest.param("dummy --variant stedy", 2, "did you mean 'steady'", marks=OTHER),
        ("dummy --output /dev/full", 1, "No space left"),
        pytest.param("dummy --output /nowhere/at/all", 1, "No such file", marks=OTHER),
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
        pytest.param("SLURM_STEP_NUM_TASKS=3 SLURM_PROCID=0", 3, marks=OTHER),
        pytest.param("PMI_SIZE=4 PMI_RANK=0", 4, marks=OTHER),
        ("PMI_SIZE=4 PMI_RANK=0 SLURM_STEP_NUM_TASKS=1", 4),  # mpirun in a task of srun
        pytest.param("OMPI_COMM_WORLD_SIZE=5", 5, marks=OTHER),
        pytest.param("MV2_COMM_WORLD_SIZE=6 MV2_COMM_WORLD_RANK=0", 6, marks=OTHER),
        ("PMI_SIZE=4 PMI_RANK=3", None),  # rank 0 prints it
        ("PMIX_RANK=1", 2),  # nothing tells their number
        ("PMIX_RANK=2", None),
        pytest.param("PMIX_RANK=0", 0, marks=OTHER),
        ("PMI_SIZE=1 SLURM_STEP_NUM_TASKS=2", 0),  # mpirun -n 1 in each of srun's tasks
        pytest.param("PMI_SIZE=1 OMPI_COMM_WORLD_SIZE=4", 0, marks=OTHER),
        pytest.param("SLURM_STEP_NUM_TASKS=1", 0, marks=OTHER),
    ],
)
def test_tasks_that_do_not_know_each_other(mpi, setting, tasks):
    """Launchers of another MPI, as a process recognises them: by their variables. `tasks` is the
    number in the message; None: no message, 0: not refused."""
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
    """A limit of each process is not divided."""
    words = "dummy --variant steady --oversubscribe --repeats 1 --size 900000G"
    shared = mpi(words, ranks=2)
    assert shared.status == 3 and re.search(r"because of the .*, shared by 2 ranks;", shared.err)
    own = mpi(words, ranks=2, prefix=["prlimit", f"--as={1 << 32}"])
    assert own.status == 3, own
    there = re.search(r"only ([\d.]+) GiB is available because of ulimit -v 4 GiB, less", own.err)
    assert there and 2 < float(there[1]) < 4 and "shared" not in own.err


@OTHER
def test_the_end_of_the_budget_within_a_sample(mpi):
    """mpirun prints no error of its own, and the status is ours."""
    done = mpi(
        "dummy --variant stuck --where collect --delay 1e9 --threads 1 --oversubscribe"
        " --time-budget 1s"
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
