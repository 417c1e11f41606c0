# SPDX-License-Identifier: Apache-2.0
"""Experiment 5 (kmeans) against scikit-learn: the same points and start centres must give the same
answer."""

import functools

import pytest
from lacking import lacking

try:
    import numpy as np
    from sklearn.cluster import KMeans  # type: ignore[import]
    from threadpoolctl import threadpool_limits  # type: ignore[import]
except ImportError:
    KMeans = None

LADDER = ["2p", "2q", "2q-padded", "3p", "private-dense", "private-padded"]
PRUNED = {
    "best": "auto",
    "best-none": "none",
    "best-cells": "cells",
    "best-balls": "balls",
    "best-boxes": "boxes",
}
MEASURED = ("ok", "unconverged", "bimodal", "noisy")
ROUNDING = {"double": 1e-12, "float": 1e-6}  # error of centres, relative to the largest coordinate
NEAR = {"double": 1e-8, "float": 1e-5}  # differences of squared distances, relative to their mean
FORCED = 4
CELLS = 3  # dimensions that a grid has at most


def uniform(random, n, d):
    return random.random((n, d))


def blobs(random, n, d):
    return random.uniform(-10, 10, (12, d))[random.integers(12, size=n)] + random.standard_normal(
        (n, d)
    )


def twice(random, n, d):
    return uniform(random, n // 5, d)[random.integers(n // 5, size=n)]


def far(random, n, d):
    return 1e6 + blobs(random, n, d)


def line(random, n, d):
    return random.random((n, 1)) * np.arange(1, d + 1)


# Generator of points, number of points, dimensions, clusters, type.
CASES = [
    (uniform, 3000, 2, 30, "double"),
    (uniform, 1000, 1, 9, "double"),
    (uniform, 1500, 7, 20, "double"),
    (uniform, 200, 3, 1, "double"),
    (uniform, 400, 2, 12, "float"),
    (blobs, 2000, 2, 12, "double"),
    (blobs, 1500, 16, 25, "double"),
    (blobs, 400, 33, 10, "float"),
    (twice, 2000, 3, 25, "double"),
    (far, 2000, 2, 12, "double"),
    (far, 1000, 5, 15, "double"),
    (line, 500, 3, 8, "double"),
]


def clear(x, centres, margin):
    """Whether the answer of a plain Lloyd's k-means cannot change by rounding: no point is nearly
    equally far from two centres, and no cluster is empty."""
    labels = None
    while True:
        squares = np.sort(d := ((x[:, None] - centres) ** 2).sum(2), axis=1)
        before, labels = labels, d.argmin(1)
        if len(centres) > 1 and (squares[:, 1] - squares[:, 0]).min() < margin * squares.mean():
            return False
        if len(set(labels)) < len(centres):
            return False
        if before is not None and (before == labels).all():
            return True
        centres = np.stack([x[labels == c].mean(0) for c in range(len(centres))])


def theirs(x, start, iterations):
    with threadpool_limits(1):  # more threads would spin for others whose CPUs other tests use
        found = KMeans(len(start), init=start, n_init=1, tol=0, max_iter=iterations).fit(
            x.astype("f8")
        )
    return found.cluster_centers_, found.labels_, found.inertia_, found.n_iter_


def posed(case, folder):
    """Points and start centres whose answer rounding cannot change, and files with them."""
    make, n, d, k, kind = case
    for seed in range(1000):
        random = np.random.default_rng(seed)
        x = make(random, n, d).astype({"double": "f8", "float": "f4"}[kind])
        start = np.unique(x, axis=0)
        start = start[random.choice(len(start), k, replace=False)]
        if clear(x.astype("f8"), start.astype("f8"), NEAR[kind]):
            break
    else:
        pytest.fail("no seed makes a problem with one answer")
    np.save(folder / "points.npy", x)
    np.save(folder / "start.npy", start)
    counts = (1000, FORCED, FORCED - 1)
    return x, start, kind, folder, [theirs(x, start, iterations) for iterations in counts]


@pytest.fixture(scope="module")
def problems(tmp_path_factory):
    """problems(CASE): each is posed and solved once, for all variants."""
    if not KMeans:
        lacking("scikit-learn", "python3 -m pip install -r analysis/requirements-dev.txt")
    return functools.cache(lambda case: posed(case, tmp_path_factory.mktemp("problem")))


@pytest.fixture
def problem(request, problems):
    return problems(request.param)


@pytest.fixture
def ours(locus, read, tmp_path, problem):
    _, _, kind, folder, _ = problem

    def cluster(variant, iterations):
        record, labels, centres = (
            tmp_path / f"{variant}-{iterations}.{end}" for end in ("jsonl", "labels", "centres")
        )
        done = locus(
            f"kmeans --threads 2 --oversubscribe --repeats 1 --quiet --type {kind} --iterations"
            f" {iterations}",
            *(
                "--variant",
                variant.split("-")[0] if variant in PRUNED else variant,
                "--output",
                record,
            ),
            *(("--prune", PRUNED[variant]) if variant in PRUNED else ()),
            *("--points", folder / "points.npy", "--centres", folder / "start.npy"),
            *("--save-labels", labels, "--save-centres", centres),
        )
        (trial,) = (line for line in read(record) if line["type"] == "trial")
        assert done.status == 0 and trial["status"] in MEASURED, (done, trial["reasons"])
        metric = {m["name"]: m["value"] for m in trial["metrics"]}
        return np.load(centres), np.load(labels), metric["inertia"], metric["iterations"]

    return cluster


def name(word):
    return "-".join([word[0].__name__, *map(str, word[1:])]) if isinstance(word, tuple) else word


@pytest.mark.parametrize(
    ("problem", "variant"),
    [
        (case, variant)
        for case in CASES
        for variant in [*LADDER, *PRUNED]
        if variant != "best-cells" or case[2] <= CELLS
    ],
    indirect=["problem"],
    ids=name,
)
def test_the_same_answer_as_another_library(problem, ours, variant):
    x, _, kind, _, (ended, forced, before) = problem
    rounding = ROUNDING[kind] * float(abs(x).max())
    centres, labels, inertia, iterations = ours(variant, 0)
    their_centres, their_labels, their_inertia, their_iterations = ended
    assert (labels == their_labels).all() and iterations == their_iterations
    assert centres == pytest.approx(their_centres, rel=0, abs=rounding)
    assert inertia == pytest.approx(their_inertia, rel=1e-4 if kind == "float" else 1e-9)
    # The same after FORCED iterations. scikit-learn's labels belong to the centres that it returns,
    # so those of one iteration less are the labels with which ours began the last one.
    centres, labels, _, iterations = ours(variant, FORCED)
    assert centres == pytest.approx(forced[0], rel=0, abs=rounding) and iterations == FORCED
    assert (labels == before[1]).all()
