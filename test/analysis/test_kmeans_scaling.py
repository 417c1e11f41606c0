# SPDX-License-Identifier: Apache-2.0
"""Scaling of k-means over ranks."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any, Optional

import pytest
from make_records import (
    SMALL_CASE,
    Line,
    Machine,
    best,
    record,
    run_id,
)
from pages import make, names, trials
from test_kmeans import EIGHT, scaled, text_of

# Scaling.


def rank_run(
    ranks: int,
    *of_points: tuple[int, float, Optional[float]],
    machine: Machine = EIGHT,
    **changes: Any,
) -> list[Line]:
    """A run of `best` with these points, iteration times, and communication times."""
    made = [best(2, {**SMALL_CASE, "points": str(n)}, time, spent) for n, time, spent in of_points]
    changes = {"started": f"2025-03-14T09:{ranks:02}:00.000Z", **changes}
    lines = record(machine, made, run_id(f"{ranks} {changes}"), ranks=ranks, **changes)
    for trial, (_, time, _) in zip(trials([lines]), of_points):  # exact, for results by hand
        next(m for m in trial["metrics"] if m["name"] == "time").update(
            value=time, ci=[time * 0.99, time * 1.01]
        )
    return lines


STRONG = (
    rank_run(1, (1200, 8.0, None)),
    rank_run(2, (1200, 4.2, 0.21), (2400, 8.4, 0.42)),
    rank_run(4, (1200, 2.5, 0.5), (4800, 10.0, 1.0)),
)


def test_strong_and_weak_scaling_by_hand() -> None:
    strong, weak = scaled(*STRONG)
    assert (strong["kind"], weak["kind"]) == ("strong", "weak")
    assert strong["name"] == "best, 1200" and weak["name"] == "best, 1200 a rank"
    assert (
        [line["ranks"] for line in strong["lines"]]
        == [line["ranks"] for line in weak["lines"]]
        == [1, 2, 4]
    )
    assert [
        line["speed_up"] and line["speed_up"]["value"] for line in strong["lines"]
    ] == pytest.approx([1, 8 / 4.2, 3.2])
    assert [line["efficiency"]["value"] for line in strong["lines"]] == pytest.approx(
        [1, 8 / 8.4, 0.8]
    )
    assert [line["communication_share"] for line in strong["lines"]] == [
        None,
        pytest.approx(0.05),
        pytest.approx(0.2),
    ]
    four = strong["lines"][2]["efficiency"]
    assert (four["low"], four["high"]) == pytest.approx((0.8 * 0.99 / 1.01, 0.8 * 1.01 / 0.99))
    assert [line["speed_up"] for line in weak["lines"]] == [None] * 3
    assert [line["efficiency"]["value"] for line in weak["lines"]] == pytest.approx(
        [1, 8 / 8.4, 0.8]
    )
    assert [line["amount"] for line in weak["lines"]] == ["1200", "2400", "4800"]


def test_what_does_not_compare_makes_no_curve() -> None:
    one, two, _ = STRONG
    assert scaled(one) == []
    changed: list[tuple[int, Line]] = [
        (1200, {"machine": Machine("n9", "another machine", cpu_nodes=1, cores=8)}),
        (1201, {}),
        (1200, {"rank": 1}),
    ]
    others = [
        rank_run(2, (n, 4.0, 0.1), started=f"2025-03-15T09:{i:02}:00.000Z", **change)
        for i, (n, change) in enumerate(changed)
    ]
    threads = copy.deepcopy(two)
    for trial in trials([threads]):
        trial["threads"] = 4
    assert scaled(one, threads, *others) == []


def test_points_of_a_file_scale_strongly_alone() -> None:
    runs = [copy.deepcopy(run) for run in STRONG]
    for trial in trials(runs):
        trial["parameters"]["points"] = "data/points.npy"
    found = scaled(*runs)
    assert [curve["kind"] for curve in found] == ["strong"]
    assert found[0]["name"] == "best, points.npy"


def test_speed_up_of_a_trial_with_two_modes_has_both() -> None:
    one, two = STRONG[0], rank_run(2, (1200, 4.0, 0.1))
    (trial,) = trials([two])
    trial.update(status="bimodal", reasons=["two modes"])
    trial["samples"]["modes"] = [{"time": time, "share": 0.5} for time in (4.0, 5.0)]
    speed_up = scaled(one, two)[0]["lines"][1]["speed_up"]
    assert speed_up and speed_up["modes"] == pytest.approx([8 / 5, 8 / 4])


def test_of_several_runs_with_as_many_ranks_the_last_counts() -> None:
    again = rank_run(2, (1200, 4.0, 0.1), started="2025-03-15T09:00:00.000Z")
    strong = scaled(*STRONG, again)[0]
    assert [line["value"] for line in strong["lines"]] == [8.0, 4.0, 2.5]


def test_scaling_is_on_the_page(tmp_path: Path) -> None:
    page = make(tmp_path, *STRONG)
    text = text_of(page)
    assert "Strong scaling: best, 1200, 2 threads a rank" in text
    assert "Weak scaling: best, 1200 a rank, 2 threads a rank" in text
    assert re.search(
        r"n8 ?1200 ?2\.50 s ?2\.48 to 2\.52 s ?500 ms ?20 % ?3\.20 \(3\.14 to 3\.26\) ?0\.80"
        r" \(0\.78 to 0\.82\)",
        text,
    )
    assert "n8, 4 ranks" in text
    assert {"kmeans-scaling.svg", "kmeans-scaling.png"} <= set(names(tmp_path / "report-pictures"))
    # The two lines of the two panels: six times, and four of communication; the ideal has no trial.
    shown = [(row["x"], row["value"]) for row in page.rows("x", "value", "id") if row["id"]]
    strong = [(1, 8.0), (2, 4.2), (4, 2.5), (2, 0.21), (4, 0.5)]
    assert sorted(shown) == sorted([*strong, (1, 8.0), (2, 8.4), (4, 10.0), (2, 0.42), (4, 1.0)])
