# SPDX-License-Identifier: Apache-2.0
"""locus-mpi: k-means and search give the answers of one process, for any number of ranks."""

import math
import os
import random
import re

import pytest
from conftest import SANITIZED
from points import save, write_csv

OTHER = pytest.mark.native("other values run the same code")


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
    """Points in three dimensions, in two clusters, one far from the origin."""
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
    for ranks, threads in [(3, 2)] if SANITIZED else numbers[:: 1 if often == 100 else 3]:
        assert cluster(ranks, *words, "--threads", threads) == alone, (
            f"{ranks} ranks of {threads} threads"
        )


def test_ranks_may_have_a_point_each(cluster):
    words = ["--points", 3, "--clusters", 2, "--dimensions", 2, "--threads", 2]
    assert cluster(3, *words) == cluster(0, *words)


def test_so_many_points_for_each_rank_are_as_many_as_for_all(cluster, mpi, locus):
    words = ["--clusters", 7, "--threads", 1, "--points"]
    assert cluster(3, *words, "500/rank") == cluster(0, *words, 1500)
    assert (
        "points=1500 "
        in mpi("kmeans --points 500/rank,1.5k --oversubscribe --dry-run", ranks=3).out
    )
    assert "points=500 " in locus("kmeans --points 500/rank --variant best --dry-run").out


@pytest.mark.native("what is measured is no question of memory or threads")
def test_numbers_of_all_ranks(mpi, locus, tmp_path, trials):
    """Metrics of locus-mpi cover all ranks together, and agree with locus."""
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
        pytest.param("--points 2 --clusters 1", 2, "each rank needs at least one", marks=OTHER),
        ("--points {csv} --clusters 2", 3, "on rank 2 ({host}): {csv}: line 100, value 1: 'nan'"),
        pytest.param("--points {csv}/rank", 2, "points.csv/rank: Not a directory", marks=OTHER),
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
    # A sanitizer draws keys of zipf for a second.
    large, keys = ("64K", "uniform,hot") if SANITIZED else ("1M", "uniform,zipf,hot")
    words = (
        f"search --size {8 * ranks * threads},1K,{large} --type {kind} --keys {keys}"
        " --pages base --packet 50"
    )
    done = mpi(
        f"{words} --threads {threads} --repeats 1 --duration 500us --oversubscribe --quiet"
        " --output",
        file,
        ranks=ranks,
    )
    assert done.status == 0, done
    found = [line for line in read(file) if line["type"] == "trial"]
    assert len(found) == 3 * len(keys.split(",")) and {trial["status"] for trial in found} <= {
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
            share, drawn = (ranks - 1) / ranks, trial["samples"]["units"] * threads * ranks * 50
            allowed = (
                6 * math.sqrt(share * (1 - share) / drawn) + 3 / 256
            )  # six deviations; parts differ by an element
            assert metric["wire"] == pytest.approx(
                (width + 4) * share, rel=0, abs=(width + 4) * allowed
            )


def test_an_array_has_an_element_for_each_rank(mpi):
    done = mpi("search --size 8 --pages base --oversubscribe --threads 1", ranks=3)
    said = "each searcher and each rank needs at least one element"
    assert done.status == 2 and said in done.err + done.out, done
