# SPDX-License-Identifier: Apache-2.0
"""locus-mpi fabric: every pair of ranks is measured once, and is in one row of the record. Ranks
share the CPUs, so the times mean nothing."""

import itertools
import os
import signal
import subprocess
import time

import pytest
from some import some
from waits import PATIENCE, wait_for, written

OTHER = pytest.mark.native("other values run the same code")
MANY = 900  # s, at most, for many ranks on few CPUs
WORDS = "fabric --oversubscribe --pings 16 --size 4K --repeats 2"


def met(trial):
    """The pairs in the rows of a trial, with the values of its metrics."""
    pairs = {}
    for row in some(trial["rows"]):
        names = row.keys() - {"rank", "host", "node", "with"}
        for i, other in enumerate(row.get("with", [])):
            pair = (row["rank"], other)
            assert pair not in pairs
            pairs[pair] = {name: row[name][i] for name in names}
    return pairs


@pytest.mark.parametrize("ranks", [*(pytest.param(n, marks=OTHER) for n in (2, 3, 8)), 5])
def test_every_pair_meets_once(mpi, tmp_path, trials, ranks):
    file = tmp_path / "fabric.jsonl"
    done = mpi(
        f"{WORDS} --variant loopback,pairs,bisection,ring,loaded --output", file, ranks=ranks
    )
    assert done.status == 0, done
    found = trials(file)
    assert found.keys() == {"loopback", "pairs", "bisection", "ring"} | (
        {"loaded"} if ranks >= 4 else set()
    )
    everybody = range(ranks)
    expected = {
        "loopback": {(i, i) for i in everybody},
        "bisection": {(i, i + ranks // 2) for i in range(ranks // 2)},
        "ring": {(i, (i + 1) % ranks) for i in everybody},
    }
    for name, trial in found.items():
        pairs = met(trial)
        if name in expected:
            assert pairs.keys() == expected[name]
        else:
            both = [tuple(sorted(pair)) for pair in pairs]
            assert sorted(both) == list(itertools.combinations(everybody, 2))
        loaded = {"loaded-latency", "load-factor", "load-factor-p99"}
        for values in some(pairs.values()):
            assert all(value > 0 for value in some(values.values()))
            assert values.keys() == {"latency", "latency-p99", "latency-least"} | (
                loaded if name == "loaded" else {"bandwidth"}
            )


def test_rounds_choose_pairs(mpi, tmp_path, trials):
    file = tmp_path / "fabric.jsonl"
    done = mpi(f"{WORDS} --variant pairs --rounds 2,all --output", file, ranks=6)
    assert done.status == 2 and "--rounds" in done.err  # "rounds" has no such word
    done = mpi(f"{WORDS} --variant pairs --rounds 2 --output", file, ranks=6)
    assert done.status == 0, done
    pairs = met(trials(file)["pairs"])
    assert len(pairs) == 2 * 3
    for rank in range(6):
        assert sum(rank in pair for pair in pairs) == 2


def test_the_profile_chooses_the_variants(mpi):
    """As `locus-mpi list fabric` says: its lists are made for ranks."""
    quick = mpi("fabric --oversubscribe --dry-run --profile quick", ranks=2)
    assert quick.status == 0 and "left out" not in quick.out
    assert "loopback" in quick.out and "pairs" in quick.out and "bisection" not in quick.out
    alone = mpi("fabric --oversubscribe --dry-run --profile quick", ranks=1)
    assert "1 combination left out: it needs at least two ranks" in alone.out
    standard = mpi("fabric --oversubscribe --dry-run --profile standard", ranks=2)
    assert "bisection" in standard.out and "1 combination left out: " in standard.out


def test_the_record_names_the_transport(mpi, tmp_path, read):
    file = tmp_path / "fabric.jsonl"
    done = mpi(
        f"{WORDS} --variant loopback --output",
        file,
        ranks=2,
        env={"OMPI_MCA_btl": "tcp,self", "UCX_TLS": "all"},
    )
    assert done.status == 0, done
    told = read(file)[0]["mpi"]
    assert told["library"].startswith(("Open MPI", "MPICH"))
    assert "UCX_TLS=all" in told["transport"] and told["transport_why"] is None
    if told["library"].startswith("Open MPI"):
        assert "OMPI_MCA_btl=tcp,self" in told["transport"]


@pytest.mark.native("the same code runs, later")
def test_a_rank_that_stands_still(mpi, tmp_path, read):
    """The others wait for it, and the run goes on."""
    file, pid = tmp_path / "fabric.jsonl", tmp_path / "pid"
    own = f'[ "${{OMPI_COMM_WORLD_RANK-$PMI_RANK}}" != 1 ] || echo $$ >{pid}; exec "$0" "$@"'
    # Ranks of MPICH poll: on busy CPUs so many samples take minutes, so the budget ends them.
    words = f"{WORDS.replace('repeats 2', 'repeats 500')} --time-budget 20s --variant pairs"
    with mpi.start(words, "--output", file, ranks=3, prefix=["sh", "-c", own]) as process:
        wait_for(written(file, "benchmark"), "the run begins")
        os.kill(int(pid.read_text()), signal.SIGSTOP)
        time.sleep(1)
        os.kill(int(pid.read_text()), signal.SIGCONT)
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.terminate()  # so mpirun ends its ranks
            raise
    assert process.returncode == 0, err
    *_, end = read(file)
    assert end["type"] == "end" and end["status"] == 0 and "pairs" in out


def test_what_makes_no_sense_is_refused(mpi, locus, tmp_path):
    file = tmp_path / "fabric.jsonl"
    for ranks, words, why in (
        (1, "--variant pairs", "it needs at least two ranks"),
        (2, "--variant loaded", "it needs at least four ranks"),
        (2, "--threads 2", "one thread of a rank sends"),
        (2, "--pings 2", "16 to 1048576 for each meeting"),
        (2, "--size 12", "a multiple of 8"),
    ):
        done = mpi(f"fabric --oversubscribe {words}", ranks=ranks)
        assert done.status == 2 and why in done.err, done
    assert not file.exists()
    done = locus("fabric")
    assert done.status == 2 and "run `locus-mpi fabric`" in done.err


@pytest.mark.native("many processes: 4 run the same code")
def test_many_ranks(mpi, tmp_path, trials, often):
    """More ranks than an exchange has open at a time; all on few CPUs. Ranks of MPICH that wait
    poll: 64 of them take minutes."""
    ranks = 64 if often == 100 else 28
    file = tmp_path / "fabric.jsonl"
    words = "dummy --variant sums --oversubscribe --repeats 1 --threads 1"
    done = mpi(words, ranks=ranks, timeout=MANY)
    assert done.status == 0, done
    done = mpi(
        f"{WORDS} --variant pairs --rounds 8 --output".replace("repeats 2", "repeats 1"),
        file,
        ranks=ranks,
        timeout=MANY,
    )
    assert done.status == 0, done
    assert len(met(trials(file)["pairs"])) == 8 * ranks // 2
    assert {row["host"] for row in trials(file)["pairs"]["rows"]} == {os.uname().nodename}
