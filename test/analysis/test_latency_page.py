# SPDX-License-Identifier: Apache-2.0
"""The page of latency: pictures, levels, matrices, load, TLBs."""

from __future__ import annotations

import re
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from locus_analysis.card import summary
from locus_analysis.records import database
from make_records import (
    FOUR,
    ONE,
    TWO,
    Line,
    Point,
    brief,
    flag,
    latency,
    numa,
    of_lines,
    record,
    run_id,
)
from pages import Page, make, trials
from some import some
from test_latency import KIB, MIB, curves


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Page, list[Line]]:
    folder = tmp_path_factory.mktemp("latency")
    lines = brief(record(FOUR, flag(latency(FOUR, octave=1), every=5), run_id("a")))
    bandwidth = brief(record(FOUR, [p for p in numa(FOUR) if p.variant == "matrix"], run_id("b")))
    return folder, make(folder, lines, bandwidth), lines


Whole = tuple[Path, Page, list[Line]]


def test_every_trial_is_in_a_picture_with_its_numbers(whole: Whole) -> None:
    _, page, lines = whole
    shown = {
        (r["id"], r["value"], r["low"], r["high"])
        for r in page.rows("id", "value", "low", "high")
        if r["id"]
    }
    for trial in trials([lines]):
        time = next(m for m in trial["metrics"] if m["name"] == "time")
        assert (trial["id"], time["value"], *(time["ci"] or (None, None))) in shown, trial[
            "identity"
        ]


def test_flagged_points_are_marked(whole: Whole) -> None:
    folder, page, lines = whole
    flagged = [t for t in trials([lines]) if t["status"] != "ok"]
    assert len(flagged) == 7
    rows = [r for r in page.rows("id", "flag", "value") if r["id"]]
    for trial in flagged:
        own = [r for r in rows if r["id"] == trial["id"]]
        assert own and all(r["mark"] == trial["status"] for r in own)
        assert all(r["why"].startswith(f"{trial['status']}: {trial['reasons'][0]}") for r in own)
    drawn = "".join(
        p.read_text(encoding="utf-8") for p in folder.glob("report-pictures/latency*.svg")
    )
    assert all(trial["reasons"][0][:20] in drawn for trial in flagged)


def test_pictures_of_latency(whole: Whole) -> None:
    folder, _, _ = whole
    names = sorted(p.stem.split("Z")[-1] for p in folder.glob("report-pictures/latency-*.svg"))
    own = ["", "-background", "-chains", "-claims", "-matrix", "-page-random", "-published"]
    assert names == own
    assert not list(folder.glob("report-pictures/numa*matrix*"))  # it is drawn beside latency's
    for svg in some(folder.glob("report-pictures/latency-*.svg")):
        assert "NaN" not in svg.read_text(encoding="utf-8") and "Infinity" not in svg.read_text(
            encoding="utf-8"
        )
    text = {
        p.stem.split("Z")[-1]: p.read_text(encoding="utf-8")
        for p in folder.glob("report-pictures/latency-*.svg")
    }
    for words in (
        "L1: 2.2",
        "L3 ends",
        "memory: 8",
        "cycle, system pages",
        "transparent huge",
        "64 KiB",
    ):
        assert words in text[""], words
    for words in ("L2 TLB ends", "page-random, transparent huge"):
        assert words in text["-page-random"], words
    for words in ("system/huge pages", "What translation costs"):
        assert words in text["-claims"], words
    for words in (
        "i7-7660U",
        "berestovskyy2019",
        "sestoft2017",
        "Peter Sestoft",
        "published of other machines",
        "cxl1",
    ):
        assert words in text["-published"], words
    for mix in ("read", "2r1w", "write", "GB/s"):
        assert mix in text["-background"], mix
    for words in ("16 KiB", "256 MiB", "perfect scaling"):
        assert words in text["-chains"], words
    for words in ("latency matrix: time", "numa matrix: bandwidth", "3 (memory only)"):
        assert words in text["-matrix"], words


def test_the_page_and_the_card_take_the_record_s_ratio_of_pages(tmp_path: Path) -> None:
    """A ratio sampled in turn is narrower than a quotient of two times, and need not equal it."""
    points = curves(TWO, "cycle", octave=1)
    of = {(p.parameters["size"], p.parameters["pages"]): p for p in points}
    for (size, pages), p in of.items():
        if pages == "base" and (size, "thp") in of:
            p.other = of[size, "thp"].id
            p.ratios = [("pages", "base", "thp", some_time(p) / 1.25)]
    lines = brief(record(TWO, points, run_id("a")))
    page = make(tmp_path, lines)
    names = sorted(p.stem for p in tmp_path.glob("report-pictures/latency*.svg"))
    assert names == [f"latency{of}" for of in ("", "-published", "-ratios-slowdown")]
    text = re.sub(r"\s+", " ", page.text)
    assert re.search(r"size 16 MiB ?1\.2[0-9]* \(", text)
    (run,) = summary.cards(database.tables(of_lines(lines)))
    (line,) = (one for one in run.lines if one.name == "huge pages")
    assert line.numbers["ratio"] == pytest.approx(1 / 1.25, rel=0.03)


def some_time(p: Point) -> float:
    assert p.seconds
    return p.seconds


def test_the_page_tells_levels_and_what_translation_costs(whole: Whole) -> None:
    _, page, lines = whole
    text = re.sub(r"\s+", " ", page.text)
    assert "Each load here needs the address that the one before it brought" in text
    assert "Caches found in cycle on transparent huge pages" in text
    assert "and the same on transparent huge pages" in text
    of = {
        (t["parameters"]["size"], t["parameters"]["pages"]): t["metrics"][0]["value"]
        for t in trials([lines])
        if t["variant"] == "cycle"
    }
    for size, words in ((64 * KIB, "64 KiB"), (256 * MIB, "256 MiB")):
        ratio = of[size, "base"] / of[size, "thp"]
        told = re.search(rf"size {words} ?([0-9.]+) \(", text)
        assert told and float(told[1]) == pytest.approx(ratio, rel=0.05), words


def test_the_matrices_of_two_runs_each_stand_alone(tmp_path: Path) -> None:
    points = [p for p in latency(TWO) if p.variant == "matrix"]
    runs = [
        brief(record(TWO, points, run_id(name), started=f"2025-03-1{i}T00:00:00.000Z"))
        for i, name in enumerate("ab")
    ]
    page = make(
        tmp_path,
        *runs,
        brief(record(TWO, [p for p in numa(TWO) if p.variant == "matrix"], run_id("c"))),
    )
    assert len(list(tmp_path.glob("report-pictures/*-matrix.svg"))) == 3
    assert len(list(page.rows("threads_node"))) == 3 * 4


def test_many_flagged_points_are_told_together(tmp_path: Path) -> None:
    points = curves(TWO, "cycle", pages=("base",), octave=4)
    for p in points[::2]:
        p.status, p.reasons = "noisy", ["others ran"]
    page = make(tmp_path, brief(record(TWO, points, run_id("a"))))
    drawn = (tmp_path / "report-pictures/latency.svg").read_text(encoding="utf-8")
    assert f"Hollow: {len(points[::2])} noisy; reasons on hover and in the table" in drawn
    assert "▲" not in drawn  # numbers are in the table
    assert sum(r["flag"] is not None for r in page.rows("id", "dots")) >= len(points[::2])


def test_curves_without_any_value_make_a_page(tmp_path: Path) -> None:
    points = curves(TWO, "cycle", "page-random", "loaded", "parallel", octave=1)
    for p, status in zip(points, cycle(("impossible", "failed"))):
        p.status, p.reasons = status, ["not here"]
    page = make(tmp_path, brief(record(TWO, points, run_id("a"))))
    assert "none could be told" in page.text
    assert "too few points: 0 sizes were measured" in page.text


def test_load_without_a_known_bandwidth_is_drawn_over_what_set_it(tmp_path: Path) -> None:
    points = curves(TWO, "loaded", pages=("thp",))
    for p in points:
        p.others["background"] = ("B/s", None)
    page = make(tmp_path, brief(record(TWO, points, run_id("a"))))
    shown = {r["id"]: r["x"] for r in page.rows("id", "x") if r["id"]}
    assert len(shown) == len(points)
    rates = sorted(p.parameters["rate"] for p in points)
    assert sorted(shown.values()) == pytest.approx(rates, rel=0.04)


def test_the_machine_s_tlbs_are_on_the_page(whole: Whole, tmp_path: Path) -> None:
    _, page, _ = whole
    assert "level 2, type unified, page 4 KiB, entries 1536, ways 6" in page.text
    hidden: Any = make(tmp_path, record(ONE, numa(ONE)[:1], run_id("a")))
    assert "unknown (CPUID describes none: a hypervisor may hide them)" in hidden.text
