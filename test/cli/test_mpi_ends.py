# SPDX-License-Identifier: Apache-2.0
"""locus-mpi: whatever ends one rank ends all of them, and results so far are kept."""

import os
import pathlib
import signal

import pytest
from retries import tries
from waits import PATIENCE, wait_for, written

OTHER = pytest.mark.native("other values run the same code")
ENDLESS = (
    "dummy --variant sums,steady --oversubscribe --quiet --time-budget 600s --repeats 1000000"
    " --output"
)


def pids(process, count):
    """The process numbers of mpirun's ranks, once there are `count`. MPICH's are below a proxy."""

    def below(pid):
        for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split():
            name = pathlib.Path(f"/proc/{child}/comm").read_text("utf-8").strip()
            yield from [int(child)] if name == "locus-mpi" else below(child)

    wait_for(lambda: len(list(below(process.pid))) == count, f"{count} ranks")
    return list(below(process.pid))


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


@pytest.mark.parametrize("whom", ["mpirun", pytest.param(0, marks=OTHER), 1])
def test_sigterm_ends_all_ranks_with_what_was_measured(mpi, tmp_path, read, whom):
    file = tmp_path / "term.jsonl"
    with mpi.start(ENDLESS, file, ranks=3) as process:
        ranks = pids(process, 3)
        wait_for(written(file, "samples"), "a batch")
        os.kill(process.pid if whom == "mpirun" else ranks[whom], signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
    assert process.returncode != 0
    header, *_, end = read(file, whole=False)
    if whom == 1 and "MPICH" in header["program"]["built_with"]["mpi"]:
        return  # its mpirun kills the other ranks once one has ended
    assert (
        end["type"] == "end"
        and end["signal"] == "SIGTERM"
        and end["status"] == 128 + signal.SIGTERM
    )


@pytest.mark.parametrize(
    "whom", [pytest.param("mpirun", marks=OTHER), 0, pytest.param(1, marks=OTHER)]
)
def test_sigterm_ends_all_ranks_in_the_middle_of_a_sample(mpi, tmp_path, read, whom):
    """The last rank is in a sample of ten minutes, and the other waits for it."""
    file = tmp_path / "cut.jsonl"
    words = "dummy --variant stuck --where collect --delay 6e8 --oversubscribe --quiet --output"
    for _ in tries(3, "a busy machine had no second in which to close the record"):
        file.unlink(missing_ok=True)
        with mpi.start(words, file, ranks=2) as process:
            ranks = pids(process, 2)
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
    done = mpi(f"{words} --time-budget 500ms --output", file, ranks=2)
    assert done.err.count("locus-mpi: time budget spent: cut off while ") == 1
    trial, end = read(file)[-2:]
    assert trial["status"] == "interrupted" and (end["status"], end["signal"]) == (0, None)


def test_ranks_that_are_cut_off_while_they_exchange_say_it_once(mpi, tmp_path, read):
    """Open MPI would print a line for each read of the memory of a rank that has ended."""
    words = "search --size 64M --duration 20s --threads 1 --oversubscribe --quiet"
    for n in range(2):
        file = tmp_path / f"{n}.jsonl"
        done = mpi(f"{words} --time-budget 1s --output", file, ranks=2)
        said = " ".join(done.err.split())
        assert done.status == 0 and read(file)[-1]["status"] == 0
        assert said.startswith("locus-mpi: time budget spent: cut off while ")
        assert "errno" not in said and said.count("locus-mpi:") == 1


@pytest.mark.parametrize("whom", [0, pytest.param(1, marks=OTHER)])
def test_a_lost_rank_ends_the_others(mpi, tmp_path, read, whom):
    file = tmp_path / "lost.jsonl"
    with mpi.start(ENDLESS, file, ranks=3) as process:
        ranks = pids(process, 3)
        wait_for(written(file, "samples"), "a batch")
        os.kill(ranks[whom], signal.SIGKILL)
        said = "".join(process.communicate(timeout=PATIENCE))
    assert process.returncode != 0 and "signal 9" in said, said
    wait_for(lambda: all(map(gone, ranks)), "the end of all ranks")
    lines = read(file, whole=False)
    assert lines[0]["type"] == "header"
    # mpirun sends the others SIGTERM; rank 0 may have the time to close the record.
    assert lines[-1]["type"] != "end" or lines[-1]["signal"] == "SIGTERM"
    resumed = ENDLESS.replace("1000000", "2")
    assert mpi(resumed, file, "--resume", ranks=3).status == 0
    assert read(file)[-1]["status"] == 0
