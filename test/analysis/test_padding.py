# SPDX-License-Identifier: Apache-2.0
"""The padding that a machine needs, from times by distance, as locus levels reports it."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any, Optional

import pytest
from locus_analysis import __main__ as program
from locus_analysis.insight import advice, evidence, padding, run_variation
from locus_analysis.records import database
from make_records import (
    DISTANCES,
    ONE,
    distances,
    flag,
    of_lines,
    record,
    run_id,
    write,
)
from make_records import checkpoint as checkpoint_points
from some import some

GOOD = 0
RUN = run_id("a")


def curve(
    relative: dict[int, float], width: float = 0.005, noise: float = 0.0, seed: int = 1
) -> list[Any]:
    """Points with these times (ns) by distance, and intervals of that width; `noise` moves the
    values."""
    rng, points = random.Random(seed), []
    for distance, time in relative.items():
        value = time * 1e-9 * (1 + rng.uniform(-noise, noise))
        points.append(
            {
                "distance": distance,
                "value": value,
                "reach": (value * (1 - width), value * (1 + width)),
                "status": "ok",
            }
        )
    return points


def line_of(size: int, slow: float = 4.0) -> dict[int, float]:
    return {d: slow if d < size else 1.0 for d in DISTANCES}


PAIR = {**line_of(64), 64: 1.3, 96: 1.3}


@pytest.mark.parametrize(
    ("relative", "least"),
    [
        (line_of(64), 64),
        (line_of(64, slow=1.08), 64),
        (PAIR, 128),
        (line_of(128), 128),
        ({**line_of(64), 64: 1.04}, 64),  # too small a difference to matter
        ({**line_of(64), 16: 1.0}, 64),  # a single fast point below the line does not count
        ({**PAIR, 4096: 0.97}, 128),
        ({64: 1.3, 128: 1.0, 256: 1.0, 512: 1.0, 4096: 1.0}, 128),  # no distances within a line
    ],
)
def test_the_padding_is_found(relative: dict[int, float], least: int) -> None:
    found = padding.needed(curve(relative))
    assert (found.least, found.sure, found.why, found.remarks) == (least, least, "", [])


@pytest.mark.parametrize("least", [64, 128])
@pytest.mark.parametrize("seed", range(50))
def test_noise_within_the_intervals_moves_nothing(least: int, seed: int) -> None:
    relative = line_of(64) if least == 64 else PAIR
    found = padding.needed(curve(relative, width=0.02, noise=0.02, seed=seed))
    assert found.least == least
    assert found.sure is None or found.sure >= least


@pytest.mark.parametrize("at", [512, 1024, 4096])
def test_one_odd_distance_is_told_and_moves_nothing(at: int) -> None:
    found = padding.needed(curve({**PAIR, at: 1.5}))
    assert found.least == 128
    assert len(found.remarks) == 1 and re.search(
        "stands out: 1.50 times the far end", found.remarks[0]
    )


def test_two_odd_distances_are_no_accident() -> None:
    assert padding.needed(curve({**PAIR, 256: 1.5, 512: 1.5})).least == 1024


@pytest.mark.parametrize(
    ("relative", "width", "why"),
    [
        (
            {d: 100 / (i + 1) for i, d in enumerate(DISTANCES)},
            0.005,
            "the curve still falls at its end, 4 KiB",
        ),
        (dict.fromkeys(DISTANCES, 1.0), 0.005, "no distance is slower than the far end"),
        (line_of(64, slow=1.2), 0.2, "the intervals are too wide"),
        ({4: 4.0, 64: 1.0, 128: 1.0, 256: 1.0}, 0.005, "4 distances are too few, 5 are the least"),
        ({}, 0.005, "0 distances are too few, 5 are the least"),
    ],
)
def test_where_there_is_none_to_be_found_it_says_why(
    relative: dict[int, float], width: float, why: str
) -> None:
    found = padding.needed(curve(relative, width))
    assert (found.least, found.why) == (None, why)


def test_a_doubtful_distance_is_told() -> None:
    points = curve(PAIR)
    for p in points[5:7]:  # at 64 and 96 B, times are 1.3 times the far end's, or equal to it
        p["reach"] = 0.9e-9, 1.7e-9
    found = padding.needed(points)
    assert (found.least, found.sure) == (64, 128)
    assert padding.said(found) == "64 B (found 48..64 B), or to be sure 128 B"
    assert not found.is_certain


def test_a_doubt_about_the_far_end_is_no_distance_to_keep() -> None:
    """The far end is the reference for all distances: a difference there is noise, not a padding of
    4 KiB."""
    points = curve(line_of(64))
    for p in points[5:-1]:  # from 64 B to 2 KiB
        p["reach"] = p["value"], 1.2 * p["value"]
    found = padding.needed(points)
    assert (found.least, found.sure) == (64, None)
    assert padding.said(found).startswith("64 B or more")


def test_without_intervals_values_count() -> None:
    points: list[Any] = [{**p, "reach": None} for p in curve(PAIR)]
    found = padding.needed(points)
    assert (found.least, found.sure) == (128, None)
    assert padding.said(found) == (
        "128 B or more (found 96..128 B; intervals are too wide, or lacking, to be sure)"
    )
    assert found.remarks == ["13 of 13 distances have no interval, and count as if they were exact"]


@pytest.mark.parametrize(
    ("relative", "line", "words"),
    [
        (line_of(64), 64, "that is one line of 64 B, as the system reports it"),
        (PAIR, 64, "that is two lines of 64 B, as the system reports it: a line is not enough"),
        (line_of(128), 64, "that is two lines of 64 B"),
        (line_of(128), 128, "that is one line of 128 B"),
        (line_of(64), 128, "that is less than a line of 128 B"),
        (line_of(256), 64, "that is 4 lines of 64 B"),
        (PAIR, None, "the system does not report the size of a line"),
    ],
)
def test_it_is_held_against_the_line_that_is_reported(
    relative: dict[int, float], line: Optional[int], words: str
) -> None:
    lines = record(ONE, distances("add", 2, line_of(32)) + distances("fetch-add", 8, relative), RUN)
    for cache in lines[0]["machine"]["topology"]["caches"]:
        cache["line"] = line
    given = of_lines(lines)
    text = padding.text(database.tables(given))
    # The curve that needs the most padding decides.
    assert f"on this machine (fetch-add, 8 threads); {words}" in text
    assert "  add, 2 threads: 32 B (found 16..32 B)" in text


def test_levels_tells_the_padding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    points = flag(distances("fetch-add", 2, PAIR), every=1)
    path = write(tmp_path / "a.jsonl", record(ONE, points, RUN))
    assert program.main(["levels", str(path)]) == GOOD
    out = capsys.readouterr().out
    assert "no curve" not in out
    assert (
        "padding: Words that different threads update need 256 B (found 16..256 B; 32 B misplaced,"
        in out
    )
    assert "less may do: one line is 64 B, as the system reports it" in out
    left = "32 B misplaced, 48 B wrong, 64 B impossible, 96 B failed, 128 B interrupted"
    assert f"left out: {left}\n" in out
    assert "1 of 8 distances are unconverged" in out and "1 of 8 distances are noisy" in out


def test_noisy_distances_count_by_their_bounds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    points = distances("fetch-add", 2, PAIR)
    for p in points[2:]:
        p.status, p.reasons = "noisy", ["93 % of its samples were disturbed"]
    path = write(tmp_path / "a.jsonl", record(ONE, points, RUN))
    assert program.main(["levels", str(path)]) == GOOD
    out = capsys.readouterr().out
    assert "need 128 B or more (found 96..128 B; 96 B, 128 B, " in out
    assert "less may do" in out and "prefetcher" not in out
    then = "To know better: with nothing else running: locus sharing --variant distance"
    assert then in out and "11 of 13 distances are noisy" in out


def test_noisy_distances_without_bounds_do_not_count() -> None:
    points = distances("fetch-add", 2, PAIR)
    db = database.tables(of_lines(record(ONE, points, RUN)))
    trials = run_variation.of_time(db, "sharing")
    for trial in some(trials):
        assert evidence.counts(trial)
        trial["metrics"]["time"]["low"] = None
        assert evidence.counts(trial)
        trial["status"] = "noisy"
        assert not evidence.counts(trial)


def left_out(status: str, *lost: int) -> padding.Finding:
    """The finding if these distances have that status."""
    points = distances("fetch-add", 2, PAIR)
    for p in points:
        if p.parameters["distance"] in lost:
            p.status, p.reasons = status, ["so it is"]
    (found,) = padding.findings(
        run_variation.of_time(database.tables(of_lines(record(ONE, points, RUN))), "sharing")
    )
    return found


@pytest.mark.parametrize("status", ["interrupted", "wrong"])
def test_a_distance_that_was_left_out_keeps_the_answer_open(status: str) -> None:
    """128 B is only the upper end of a gap: it does not prove a prefetcher."""
    found = left_out(status, 64, 96)
    assert (found.padding.low, found.padding.least) == (48, 128)
    assert not found.padding.is_certain and found.padding.sure == 128
    assert found.said == f"128 B (found 48..128 B; 64 B, 96 B {status})"
    text = padding.verdict([found], advice.Place(LINES_OF_64))
    assert "less may do: one line is 64 B" in text and "prefetcher" not in text


LINES_OF_64: Any = {
    "topology": {"allowed": "0-3", "nodes": [{}], "caches": [{"type": "data", "line": 64}]},
    "memory": {"available": None},
    "cgroup": None,
}


@pytest.mark.parametrize("status", ["noisy", "bimodal"])
def test_a_distance_that_is_not_sound_makes_nothing_certain(status: str) -> None:
    found = left_out(status, 64, 96)
    assert (found.padding.low, found.padding.least, found.padding.sure) == (96, 128, 128)
    assert not found.padding.is_certain
    assert found.said == f"128 B (found 96..128 B; 96 B {status})"
    assert "less may do" in padding.verdict([found], advice.Place(LINES_OF_64))
    wanted = {"noisy": "with nothing else running: ", "bimodal": ""}
    then = padding.advise(found, advice.Place(LINES_OF_64))
    assert then.before == wanted[status] and ("--runs 6" in then.command) == (status == "bimodal")


def test_all_that_a_distance_may_be_counts() -> None:
    points: list[Any] = curve(line_of(64))
    points[6].update(status="bimodal", reach=(1e-9, 1.4e-9))  # 96 B
    found = padding.needed(points)
    assert (found.least, found.sure, found.shaky) == (64, 128, [points[6]])


def test_a_narrow_bracket_is_certain() -> None:
    found = left_out("noisy", 4)
    assert found.padding.is_certain and found.said == "128 B (found 96..128 B)"
    assert not left_out("noisy", 96).padding.is_certain  # it lies within 64..128
    wide = padding.needed(curve({d: t for d, t in PAIR.items() if d != 96}))
    assert (wide.low, wide.least, wide.is_certain) == (64, 128, False)


def test_levels_without_any_curve_says_what_to_measure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "a.jsonl", record(ONE, checkpoint_points(ONE)[:4], RUN))
    assert program.main(["levels", str(path)]) == GOOD
    assert "locus sharing --variant distance" in capsys.readouterr().out


@pytest.mark.parametrize("status", ["bimodal", "noisy"])
@pytest.mark.parametrize("slow", [4.0, 1.3])
def test_what_leaves_it_open_is_the_reason(slow: float, status: str) -> None:
    """Not the width of the intervals: a longer run would have two modes, too."""
    points = curve(line_of(64, slow))
    for p in points[-4:]:
        p["status"], p["reach"] = status, (0.9 * p["value"], 1.3 * p["value"])
    found = padding.needed(points)
    assert found.least == (64 if slow > 2 else None) and found.sure is None
    assert found.missing == (advice.BIMODAL if status == "bimodal" else advice.NOISY)
    assert found.why == ("" if found.least else found.missing)


def test_of_wide_intervals_alone_a_longer_run_is_advised() -> None:
    points = curve(line_of(64, slow=1.2), 0.2)
    assert padding.needed(points).missing == advice.WIDE
    points[3]["status"] = "noisy"
    assert padding.needed(points).missing == advice.NOISY


def test_a_padding_beside_a_noisy_far_end_is_not_certain() -> None:
    points = curve(line_of(64))
    points[-1]["status"] = "noisy"
    assert padding.needed(points).is_certain  # the median of three is not moved by one
    points[-2]["status"] = "noisy"
    found = padding.needed(points)
    assert not found.is_certain and found.missing == advice.NOISY
    assert "2 KiB, 4 KiB noisy" in padding.said(found)
