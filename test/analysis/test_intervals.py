# SPDX-License-Identifier: Apache-2.0
"""The interval of a trial: a short run of the simulation behind the tables of
doc/methods/measuring.md, and records of the program, whose intervals follow from their batches by
the same rule."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import intervals
import numpy as np
import pytest
from intervals import CHANGES, POPULATIONS, PROFILES, TRIALS, Cell, constant, in_time, mixed
from some import some

# The tables have 4000 ok trials: TRIALS=4000.
ENOUGH = int(os.environ.get("TRIALS", "100"))


def is_covered(hit: int, n: int) -> bool:
    """94 %, minus 3 standard deviations of the count."""
    return bool(hit >= 0.94 * n - 3 * np.sqrt(0.94 * 0.06 * n))


def check(cell: Cell) -> None:
    print(cell.row())
    assert is_covered(cell.hit, cell.all) and is_covered(cell.hit_ok, cell.ok)


def test_ranks_are_those_of_the_table() -> None:
    assert intervals.RANK == {6: 1, 12: 2, 24: 6, 48: 15}


@pytest.mark.parametrize("title", PROFILES)
@pytest.mark.parametrize("name", POPULATIONS)
def test_trials_are_covered_up_to_the_scatter_that_the_target_allows(title: str, name: str) -> None:
    rng, profile = np.random.default_rng(1), PROFILES[title]
    for share in (1 / 3, 2 / 3, 0.97):
        check(constant(rng, name, profile, share * profile.most(), TRIALS, ENOUGH))
    if name != "modes 40/60":  # a trial alone does not see the other mode
        check(constant(rng, name, profile, 2 / 3 * profile.most(), 1, ENOUGH))


@pytest.mark.parametrize("title", PROFILES)
@pytest.mark.parametrize("name", POPULATIONS)
def test_mixes_are_covered(title: str, name: str) -> None:
    rng, profile = np.random.default_rng(2), PROFILES[title]
    for median in (0.005, 0.015, 0.05):
        cell = mixed(rng, name, profile, median, TRIALS, ENOUGH)
        check(cell)
        if name == "normal" and median <= 0.015:
            few = 0.02 * cell.ok
            assert cell.beyond <= few + 3 * np.sqrt(few)


@pytest.mark.parametrize("title", PROFILES)
@pytest.mark.parametrize("kind", CHANGES)
def test_the_mean_of_the_time_is_covered(title: str, kind: str) -> None:
    rng, profile = np.random.default_rng(3), PROFILES[title]
    for group in (1, TRIALS):
        check(in_time(rng, kind, profile, profile.most() / 3, group, ENOUGH))


def test_a_scatter_of_one_percent_is_ok() -> None:
    rng = np.random.default_rng(4)
    for title, least in ("quick suite", 0.95), ("standard", 0.65):
        cell = constant(rng, "normal", PROFILES[title], 0.01, TRIALS, 4000)
        assert cell.ok >= least * cell.all


# ---- records: trials of six allocations with a sample each ----

SHORT = "--threads 1 --repeats 6 --duration 1ms --bind float --seed 1 --quiet"


@pytest.fixture(scope="module", params=["locks", "latency --size 4K..64K*2"])
def groups(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[list[dict[str, Any]]]:
    """The measured trials of each group, in order: one large group, or many small ones. With
    floating threads, hardly a sample is noisy."""
    file = tmp_path_factory.mktemp("short") / "a.jsonl"
    command = [os.environ["LOCUS"], *request.param.split(), *SHORT.split(), "--output", str(file)]
    subprocess.run(command, check=True)
    lines = [json.loads(line) for line in Path(file).read_text().splitlines()]
    trials = [line for line in lines if line["type"] == "trial" and "batches" in line]
    if any(trial["samples"].get("noisy") for trial in trials):
        pytest.skip("samples were disturbed: the record has no medians without them")
    numbers = sorted({trial["group"] for trial in trials})
    return [[trial for trial in trials if trial["group"] == n] for n in numbers]


def times(trial: dict[str, Any]) -> Any:
    return np.array(trial["batches"]["metrics"]["time"]) * trial["scale"]


def pools(groups: list[list[dict[str, Any]]]) -> Iterator[Any]:
    """The trials by which each group is judged: itself or, if it is small, all earlier trials up to
    its end."""
    earlier: list[Any] = []
    for group in groups:
        earlier += [times(trial) for trial in group]
        yield np.array([times(trial) for trial in group] if len(group) >= TRIALS else earlier)


def test_records_have_these_intervals(groups: list[list[dict[str, Any]]]) -> None:
    for group, pool in zip(some(groups), pools(groups)):
        told = intervals.intervals(pool[None])
        for trial, low, high in zip(group, told.low[0][-len(group) :], told.high[0][-len(group) :]):
            assert trial["metrics"]["time"]["ci"] == pytest.approx([low, high], rel=1e-3)


def test_records_have_these_intervals_of_ratios(groups: list[list[dict[str, Any]]]) -> None:
    checked = 0
    for group in groups:
        logs = [np.log(times(trial)) for trial in group]
        pool = np.array([a - b for a, b in zip(logs, [*logs[1:], logs[0]])])
        at = {trial["id"]: i for i, trial in enumerate(group)}
        for trial in group:
            for ratio in trial.get("ratios", []):
                x = logs[at[trial["id"]]] - logs[at[ratio["trial"]]]
                # of times, or of rates, which are compared the other way round
                told = [intervals.ratio(x, way * pool) for way in (1, -1)]
                if ratio["value"] == pytest.approx(told[0].value, rel=1e-3):  # no other metric
                    assert any(
                        ratio["ci"] == pytest.approx([t.low, t.high], rel=2e-3) for t in told
                    )
                    checked += 1
    assert checked
