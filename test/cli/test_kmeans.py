# SPDX-License-Identifier: Apache-2.0
"""Experiment 5 (kmeans) as a user runs it: all variants agree; points and centres from files;
messages for wrong input."""

import re

import pytest
from conftest import value
from listed import unwrapped
from points import load, save
from read_record import check_ratio
from some import some

SHARING = ["2p", "2q", "2q-padded", "3p", "private-dense", "private-padded"]
VARIANTS = [*SHARING, "best"]
MEASURED = ("ok", "unconverged", "bimodal", "noisy")
SHORT = "--profile standard --repeats 1"


@pytest.fixture
def run(locus, tmp_path, read):
    """Runs kmeans with a record: how it ended, and its trials."""

    def with_record(*arguments, **more):
        file = tmp_path / f"record-{len(list(tmp_path.iterdir()))}.jsonl"
        done = locus("kmeans", *SHORT.split(), *arguments, "--output", file, **more)
        return done, (
            [line for line in read(file) if line["type"] == "trial"] if file.exists() else []
        )

    return with_record


def test_all_memory_of_best_is_read_back(run):
    """Points, labels and the index (floats and labels): 16, 4 and 12 bytes a point."""
    words = "--points 20000 --clusters 9 --variant 2p,best --threads 1,2 --oversubscribe"
    _, trials = run(*words.split())
    pages = {(one["variant"], one["threads"]): one["placement"]["before"] for one in some(trials)}
    for threads in 1, 2:
        best = pages["best", threads]
        assert (best["how"], best.get("misplaced", 0)) == ("verified", 0)
        assert best["pages"] * best["page"] >= 20000 * (16 + 4 + 12)
        assert best["pages"] > pages["2p", threads]["pages"]


@pytest.fixture
def cluster(run, tmp_path):
    """Runs one trial: the trial, its labels, its centres."""

    def one(variant, *arguments, threads=1, **more):
        labels, centres = (
            tmp_path / f"{name}-{len(list(tmp_path.iterdir()))}.npy"
            for name in ("labels", "centres")
        )
        done, (trial,) = run(
            *(
                "--variant",
                variant,
                "--threads",
                threads,
                "--save-labels",
                labels,
                "--save-centres",
                centres,
                *arguments,
            ),
            **more,
        )
        assert done.status == 0 and trial["status"] in MEASURED, (done, trial["reasons"])
        return trial, load(labels), load(centres)

    return one


# Every variant


@pytest.mark.parametrize(
    "words",
    [
        "--points 3000 --clusters 40",
        "--points 3000 --clusters 40 --data blobs --spread 0.5 --dimensions 5",
        "--points 500 --clusters 1 --dimensions 1",
        "--points 60 --clusters 60",
        "--points 3000 --clusters 30 --iterations 4",
    ],
)
def test_all_variants_agree_with_best(cluster, words):
    best, labels, centres = cluster("best", *words.split())
    n, k, d = (best["parameters"][name] for name in ("points", "clusters", "dimensions"))
    assert labels[0] == [int(n)] and centres[0] == [k, d] and max(labels[1]) < k
    for variant in SHARING:
        trial, own, means = cluster(variant, *words.split())
        assert own == labels and value(trial, "iterations") == value(best, "iterations")
        assert means[1] == pytest.approx(centres[1], abs=1e-12)
        assert value(trial, "inertia") == pytest.approx(value(best, "inertia"), abs=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_more_threads_than_cpus(cluster, few, variant):
    words = ("--points", 1000, "--clusters", 20, "--oversubscribe")
    one, labels, _ = cluster("best", *words)
    trial, own, _ = cluster(variant, *words, threads=4, prefix=few)
    assert (
        trial["threads"] == 4
        and trial["oversubscribed"]
        and own == labels
        and value(trial, "iterations") == value(one, "iterations")
    )


def test_variants_are_right_in_float(run):
    done, trials = run(
        "--points", 2000, "--clusters", 30, "--type", "float", "--threads", "1,2", "--oversubscribe"
    )
    assert done.status == 0 and [trial["variant"] for trial in trials] == [
        v for v in VARIANTS for _ in range(2)
    ]
    assert {trial["parameters"]["type"] for trial in trials} == {"float"}


PRUNED = ["auto", "none", "cells", "balls", "boxes"]


@pytest.mark.parametrize(
    ("kind", "place", "outlier"),
    [
        ("float", 0.0, -9999.0),
        ("float", 40.0, 0.0),
        ("float", 0.0, 65504.0),
        ("double", 0.0, 1e9),
        ("double", 1e6, -1e18),
        ("double", 0.0, 1e300),
    ],
)
def test_a_point_far_out_merges_no_clusters(run, tmp_path, kind, place, outlier):
    """Clusters 1 apart, 3 points each, and one point far out in one dimension."""
    rows = [[place + c, place + i / 8] for c in range(20) for i in range(3)] + [[outlier, place]]
    files = [save(tmp_path / f"{name}.npy", rows[::step]) for name, step in (("p", 1), ("c", 3))]
    for prune in PRUNED:
        labels = tmp_path / f"{prune}.npy"
        done, trials = run(
            *(
                "--points",
                files[0],
                "--centres",
                files[1],
                "--type",
                kind,
                "--variant",
                "best",
            ),
            *("--prune", prune, "--threads", 1, "--save-labels", labels),
        )
        assert done.status == 0 and trials[0]["status"] in MEASURED, done
        assert load(labels)[1] == [i // 3 for i in range(len(rows))]


def test_no_gain_between_different_answers(run, tmp_path):
    """A point equally far from two centres, except for the rounding of squares in float."""
    tie = [float.fromhex("0x1.9ed6dep+0"), float.fromhex("0x1.d6a928p+1")]
    two = [[-1.875, 0.75], [1.875, -0.875]]
    rows, centres = (
        save(tmp_path / f"{name}.npy", rows)
        for name, rows in (("p", [two[0], *two, tie]), ("c", two))
    )
    words = f"--points {rows} --centres {centres} --iterations 1 --threads 1 --variant 2p,best"
    for kind in "double", "float":
        done, (first, second) = run(*words.split(), "--type", kind)
        same = value(first, "inertia") == pytest.approx(value(second, "inertia"), rel=1e-6)
        assert done.status == 0 and same == (kind == "double")
        assert len(first["ratios"]) == same
        notes = [note for note in first["notes"] if "inertia" in note]
        assert len(notes) == (not same) and ("gain 2p/best" in done.out) == same
        assert same or "no gain of 2p over best: their inertia differs" in done.out


def test_iterations_are_forced(run):
    _, trials = run("--points", 500, "--clusters", 5, "--iterations", "1,7", "--threads", 1)
    assert len(trials) == 2 * len(VARIANTS)
    for trial in trials:
        assert value(trial, "iterations") == trial["parameters"]["iterations"]


def test_numbers_are_possible(run):
    _, trials = run("--points", 2000, "--clusters", 10, "--threads", 1, "--variant", "2p,best")
    for trial in trials:
        assert (
            trial["metrics"][0]["name"] == "time" and trial["metrics"][0]["unit"] == "s/iteration"
        )
        assert value(trial, "total") == pytest.approx(
            value(trial, "time") * value(trial, "iterations")
        )
        assert value(trial, "pair-time") == pytest.approx(value(trial, "time") / 2000 / 10)
        assert 0 < value(trial, "computed") <= 1 and value(trial, "communication") is None
        assert (
            trial["placement"]["before"]["misplaced"] == 0
            and trial["placement"]["before"]["pages"] > 0
        )
    assert (
        value(trials[0], "computed") == 1
        and value(trials[0], "fma-share") is None
        and value(trials[1], "fma-share") > 0
    )
    assert value(trials[0], "inertia") == pytest.approx(value(trials[1], "inertia"))


def test_ratios(run):
    _, trials = run(
        "--points",
        500,
        "--clusters",
        10,
        "--threads",
        "1,2,4",
        "--oversubscribe",
        "--prune",
        "auto,none",
    )
    by = {
        (trial["variant"], trial["parameters"].get("prune"), trial["threads"]): trial
        for trial in trials
    }
    assert len(by) == 3 * (len(SHARING) + 2)
    found = set()
    for (variant, _, threads), trial in by.items():
        for ratio in trial["ratios"]:
            other = next(t for t in trials if t["id"] == ratio["trial"])
            check_ratio(ratio, trial, other)
            assert other["group"] == trial["group"]
            found.add((ratio["name"], ratio["parameter"], ratio["of"], ratio["to"]))
            if ratio["parameter"] == "threads":
                assert threads == 1 and (ratio["of"], ratio["to"]) == ("1", str(other["threads"]))
                assert (other["variant"], other["parameters"]) == (variant, trial["parameters"])
            else:
                assert other["threads"] == threads
    assert found == {
        ("slowdown", "variant", "2q", "2p"),
        ("slowdown", "variant", "2q-padded", "2p"),
        ("slowdown", "variant", "private-dense", "private-padded"),
        ("gain", "variant", "2p", "best"),
        ("gain", "prune", "none", "auto"),
        ("speed-up", "threads", "1", "2"),
        ("speed-up", "threads", "1", "4"),
    }


def test_as_published(locus):
    done = locus("kmeans --profile paper --dry-run --topology", "core:24 pu:2")
    plans = re.findall(
        r"kmeans/(\S+) points=(\d+) dimensions=(\d+) clusters=(\d+) iterations=(\d+) .*"
        r" threads=(\d+)",
        done.out,
    )
    assert {plan[1:5] for plan in plans} == {("200000", "2", "81", "108")}
    assert {(plan[0], int(plan[5])) for plan in plans} == {
        (variant, threads) for variant in VARIANTS for threads in (1, 8, 24, 48)
    }


def test_defaults_are_listed(locus):
    lines = [line.strip() for line in unwrapped(locus("list kmeans").out).splitlines()]
    assert "quick: 0; paper: 108" in lines
    assert "quick: 1,auto; standard: 1..auto*2,auto; paper: 1,8,48,auto" in lines and any(
        "private-dense" in line for line in lines
    )
