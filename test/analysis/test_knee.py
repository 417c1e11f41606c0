# SPDX-License-Identifier: Apache-2.0
"""The number of threads at which a node's bandwidth stops growing."""

import re
from pathlib import Path

from locus_analysis.insight import advice, knee, run_variation
from locus_analysis.records import database
from make_records import TWO, of_lines, record, run_id
from make_records.trials import Point
from pages import make

SIZE = 1 << 30


def over_threads(speeds: dict[int, float], layout: str = "{}+0") -> list[Point]:
    return [
        Point(
            "numa",
            "static",
            {"kernel": "sum", "size": SIZE, "pages": "base", "layout": layout.format(n)},
            threads=n,
            seconds=SIZE / speed,
            amount=("bandwidth", "B/s", SIZE),
            on_node={"0": 1},
            local=1.0,
        )
        for n, speed in speeds.items()
    ]


def told(points: list[Point]) -> str:
    db = database.tables(of_lines(record(TWO, points, run_id("a"))))
    trials = run_variation.of(db, "numa")
    return " ".join(knee.said(knee.curves(trials), advice.places(db)[trials[0]["whole"]]))


def said(tmp_path: Path, points: list[Point]) -> str:
    return make(tmp_path, record(TWO, points, run_id("a"))).text


def test_the_knee_is_where_bandwidth_stops_growing(tmp_path: Path) -> None:
    text = said(tmp_path, over_threads({1: 20e9, 2: 40e9, 4: 78e9, 8: 80e9, 16: 79e9}))
    assert "sum, node 0: 4 of 16 threads (found 2..4) reach 98 % of the most bandwidth" in text
    assert re.search(r"bandwidth, 7[78]\S* GB/s of (79|80)\S* GB/s; 1 has (19|20)\S* GB/s\.", text)


def test_numbers_of_threads_that_do_not_count_are_named() -> None:
    points = over_threads({1: 20e9, 2: 40e9, 3: 50e9, 4: 78e9, 8: 80e9})
    points[2].status, points[2].reasons = "interrupted", ["the time was spent"]
    text = told(points)
    assert "sum, node 0: 4 of 8 threads (found 2..4; 3 interrupted) reach 98 %" in text
    then = "numa --variant static --threads 2,3,4,8 --layout packed"
    assert f"To know better: locus {then}." in text


def noisy(*numbers: int) -> list[Point]:
    points = over_threads({1: 20e9, 2: 40e9, 3: 50e9, 4: 78e9, 8: 80e9})
    for p in points:
        if p.threads in numbers:
            p.status, p.reasons = "noisy", ["other work"]
    return points


def test_noisy_trials_count_by_their_bounds() -> None:
    text = told(noisy(3))
    assert "sum, node 0: 4 of 8 threads (3 noisy) reach 98 % of the most bandwidth" in text
    assert "To know better: with nothing else running: locus numa --variant static" in text


def test_the_value_of_a_noisy_trial_is_not_told() -> None:
    points = noisy(1, 4)
    points[3].seconds = SIZE / 85e9  # more than any credible value
    text = told(points)
    assert re.search(r"4 of 8 threads \(4 noisy\) reach 95 % of the most band", text)
    assert re.search(r"bandwidth, (79|80)\S* GB/s, or more\.", text) and "1 has" not in text


def test_a_number_in_doubt_does_not_make_the_rate_grow() -> None:
    points = over_threads({1: 20e9, 2: 40e9, 4: 78e9, 8: 80e9})
    points[2].status, points[2].reasons = "interrupted", ["the time was spent"]
    text = told(points)
    assert "8 of 8 threads (found 2..8; 4 interrupted) reach 100 %" in text


def test_a_number_that_may_be_on_either_side_is_open() -> None:
    points = over_threads({1: 20e9, 2: 40e9, 3: 77e9, 4: 80e9, 8: 80e9})
    db = database.tables(of_lines(record(TWO, points, run_id("a"))))
    trials = run_variation.of(db, "numa")
    for trial in trials:
        if trial["threads"] == 3:
            own = trial["metrics"]["bandwidth"]
            own["low"], own["high"] = 70e9, 84e9
    (text,) = knee.said(knee.curves(trials), advice.places(db)[trials[0]["whole"]])
    assert "4 of 8 threads (found 2..4; 3 open) reach 100 %" in text


def test_noise_alone_is_no_curve() -> None:
    assert "threads reach" not in told(noisy(1, 2, 3, 4, 8))


def test_neighbours_are_no_bracket() -> None:
    text = told(over_threads({1: 20e9, 2: 40e9, 3: 78e9, 4: 80e9}))
    assert "sum, node 0: 3 of 4 threads reach 98 %" in text


def test_a_curve_that_grows_has_no_knee() -> None:
    text = told(over_threads({1: 20e9, 2: 40e9, 4: 80e9}))
    assert "sum, node 0: bandwidth still grows at 4 threads, the most measured: " in text


def test_two_numbers_of_threads_are_no_curve() -> None:
    text = told(over_threads({1: 20e9, 2: 40e9}) + over_threads({4: 60e9}, "2+2"))
    assert "threads reach" not in text and "still grows" not in text


def test_the_variant_for_it_is_a_curve_over_threads(tmp_path: Path) -> None:
    points = over_threads({1: 20e9, 2: 40e9, 4: 78e9, 8: 80e9})
    for p in points:
        p.variant, p.bind = "scaling", "close"
        del p.parameters["layout"]
    text = said(tmp_path, points)
    assert "sum: 4 of 8 threads (found 2..4) reach 98 % of the most bandwidth" in text
    (picture,) = tmp_path.glob("report-pictures/numa.svg")
    drawn = picture.read_text(encoding="utf-8")
    assert "threads" in drawn and "scaling" in drawn
