# SPDX-License-Identifier: Apache-2.0
"""Scaling of search over threads and ranks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from locus_analysis.page import scaling
from locus_analysis.pictures import draw
from make_records import (
    HOT,
    SIZES,
    UNIFORM,
    ZIPF,
    Line,
    Point,
    over_ranks,
    record,
    run_id,
)
from make_records import search as points
from pages import make, names, trials
from some import some
from test_search import MIB, NINE, RUN, metric_of, scaled, text_of

# Scaling over ranks.


def rank_run(
    ranks: int, *of_sizes: tuple[int, float], points: tuple[Point, ...] = (), **changes: Any
) -> list[Line]:
    """A run with trials of these sizes and keys per second; communication takes a quarter of the
    time."""
    changes = {"started": f"2025-03-14T09:{ranks:02}:00.000Z", **changes}
    made = points or [over_ranks(ranks, size) for size, _ in of_sizes]
    lines = record(NINE, [*made], run_id(f"{ranks} {changes}"), ranks=ranks, **changes)
    for trial, (_, rate) in zip(trials([lines]), of_sizes):  # exact, for results by hand
        time = 128 * 2 * ranks / rate
        metric_of(trial, "throughput").update(value=rate, ci=[rate * 0.99, rate * 1.01])
        metric_of(trial, "time").update(value=time, ci=[time / 1.01, time / 0.99])
        metric_of(trial, "communication").update(value=time / 4 * (ranks > 1))
    return lines


DIVIDED = (
    rank_run(1, (MIB, 1e9)),
    rank_run(2, (MIB, 1.8e9), (2 * MIB, 1.6e9)),
    rank_run(4, (MIB, 3e9), (4 * MIB, 2e9)),
)


def test_strong_and_weak_scaling_by_hand() -> None:
    strong, weak = scaled(*DIVIDED)
    assert (strong["kind"], weak["kind"]) == ("strong", "weak")
    assert strong["name"] == "distributed, 1 MiB" and weak["name"] == "distributed, 1 MiB a rank"
    assert (
        [line["ranks"] for line in strong["lines"]]
        == [line["ranks"] for line in weak["lines"]]
        == [1, 2, 4]
    )
    assert [line["amount"] for line in weak["lines"]] == ["1 MiB", "2 MiB", "4 MiB"]
    # The ideal is more keys with more ranks, whether or not the array grows with them.
    assert [
        line["speed_up"] and line["speed_up"]["value"] for line in strong["lines"]
    ] == pytest.approx([1, 1.8, 3])
    assert [line["efficiency"]["value"] for line in strong["lines"]] == pytest.approx(
        [1, 0.9, 0.75]
    )
    assert [
        line["speed_up"] and line["speed_up"]["value"] for line in weak["lines"]
    ] == pytest.approx([1, 1.6, 2])
    assert [line["efficiency"]["value"] for line in weak["lines"]] == pytest.approx([1, 0.8, 0.5])
    four = strong["lines"][2]["efficiency"]
    assert (four["low"], four["high"]) == pytest.approx((0.75 * 0.99 / 1.01, 0.75 * 1.01 / 0.99))
    assert [line["communication_share"] for line in strong["lines"]] == pytest.approx(
        [0, 0.25, 0.25]
    )
    assert [[m["value"] for m in line["others"]] for line in strong["lines"]] == [
        [0, 1],
        [4, 1],
        [6, 1],
    ]


def test_what_does_not_compare_makes_no_curve() -> None:
    one = rank_run(1, (MIB, 1e9))
    changed: list[Line] = [
        {"rank": 1},
        {"points": (over_ranks(2, MIB, kind="u64"),)},
        {"points": (over_ranks(2, MIB, skew=HOT),)},
        {"points": (over_ranks(2, MIB, pages="base"),)},
        {"points": (over_ranks(2, MIB, threads=4),)},
    ]
    others = [
        rank_run(2, (MIB, 1e9), started=f"2025-03-15T09:{i:02}:00.000Z", **change)
        for i, change in enumerate(changed)
    ]
    assert scaled(one, rank_run(2, (MIB + 4, 1e9)), *others) == []
    odd = rank_run(3, (MIB, 1e9))  # a third of it is not a whole number of bytes
    assert [curve["kind"] for curve in scaled(one, odd)] == ["strong"]


def test_scaling_is_on_the_page(tmp_path: Path) -> None:
    page = make(tmp_path, *DIVIDED)
    text = text_of(page)
    assert "Strong scaling: distributed, 1 MiB, 2 threads a rank" in text
    assert "Weak scaling: distributed, 1 MiB a rank, 2 threads a rank" in text
    assert re.search(
        r"4 ?n9 ?4 MiB ?2\.00 Gkey/s ?1\.98 to 2\.02 Gkey/s ?128 ns ?25 % ?6\.00 B ?1\.00 ?2\.00"
        r" \(1\.96 to 2\.04\)"
        r" ?0\.50 \(0\.49 to 0\.51\)",
        text,
    )
    # It is not a search in one process, so it has no section, bars or curves over size.
    drawn = {
        name for name in names(tmp_path / "report-pictures") if not name.startswith("steadiness")
    }
    assert drawn == {f"search-scaling.{kind}" for kind in draw.KINDS}
    points = [row for row in page.rows("x", "value", "id") if row["id"]]
    shown = [(row["x"], row["value"], row["text"]) for row in points if row["dots"]]
    strong, weak = [(1, 1e9), (2, 1.8e9), (4, 3e9)], [(1, 1e9), (2, 1.6e9), (4, 2e9)]
    assert [row[:2] for row in shown] == [*strong, *weak] and shown[1][2] == "1.80 Gkey/s"
    ideal = [(row["x"], row["value"]) for row in page.rows("x", "value", "id") if not row["id"]]
    assert ideal == [(1, 1e9), (4, 4e9)] * 2
    # What MPI can carry is drawn beside them; with one rank, nothing is.
    limits = [(row["x"], row["value"]) for row in points if not row["dots"]]
    assert [x for x, _ in limits] == [2, 4] * 2
    assert [value for _, value in limits[:2]] == pytest.approx([2 * 10e9 / 4, 4 * 10e9 / 6], 0.1)
    picture = (tmp_path / "report-pictures/search-scaling.svg").read_text(encoding="utf-8")
    assert ">limit</text>" in picture and "Grey dashed: limit, upper limit of throughput" in picture


def test_throughput_over_threads_has_its_limit_and_perfect_scaling(tmp_path: Path) -> None:
    page = make(tmp_path, record(NINE, points((1, 2, 4), (64 * MIB,), variants=("best",)), RUN))
    rows = [row for row in page.rows("x", "value", "dots") if row["value"] > 1e6]  # no times
    line = {
        dots: [(round(row["x"]), row["value"]) for row in rows if row["id"] and row["dots"] is dots]
        for dots in (True, False)
    }
    assert [x for x, _ in line[True]] == [x for x, _ in line[False]] == [1, 2, 4]
    wanted = [4 * value for _, value in line[True]]
    assert [value for _, value in line[False]] == pytest.approx(wanted, 0.1)
    first = line[True][0][1]
    assert [(r["x"], r["value"]) for r in rows if not r["id"]] == [(1, first), (4, 4 * first)]
    picture = (tmp_path / "report-pictures/search-metrics.svg").read_text(encoding="utf-8")
    assert all(s in picture for s in (">limit</text>", "Grey dashed: limit", "Grey dotted"))


def test_many_scaling_tables_are_in_one_fold(tmp_path: Path) -> None:
    sizes = [MIB * n for n in (1, 2, 4, 8, 16)]
    runs = [rank_run(n, *((size, n * 1e9) for size in sizes)) for n in (1, 2)]
    text = text_of(make(tmp_path, *runs))
    # 1 to 8 MiB a rank are in both runs.
    assert "Scaling over MPI ranks (9 curves)" in text
    assert text.count("Strong scaling: ") == 5 and text.count("Weak scaling: ") == 4


def test_other_variants_stay_as_they_are_beside_ranks(tmp_path: Path) -> None:
    own = record(NINE, points(sizes=SIZES[:3]), RUN)
    beside = make(tmp_path, own, *DIVIDED)
    assert "Strong scaling" in text_of(beside)
    drawn = {
        p.name: p.read_text(encoding="utf-8").replace("(distributed: rank)", "")  # a metric's help
        for p in (tmp_path / "report-pictures").glob("search-*.svg")
    }
    assert {name for name, text in drawn.items() if "distributed" in text} == {"search-scaling.svg"}
    assert some([name for name in drawn if "-n9_" in name])


def test_one_number_of_ranks_makes_bars(tmp_path: Path) -> None:
    lines = rank_run(2, (MIB, 1.8e9), (2 * MIB, 1.6e9))
    page = make(tmp_path, lines)
    assert "Strong scaling" not in text_of(page)
    shown = {row["value"] for row in page.rows("column", "value")}
    assert {1.8e9, 1.6e9} <= shown


def test_sizes_share_a_panel_and_pictures_fit_a_page(tmp_path: Path) -> None:
    runs = [
        rank_run(
            n,
            points=tuple(
                over_ranks(n, s, skew=k, kind=t)
                for t in ("u32", "u64")
                for k in (UNIFORM, ZIPF)
                for s in SIZES[5::-1]
            ),
        )
        for n in (1, 4)
    ]
    found = scaled(*runs)
    assert len(found) == 4 * (6 + 5)
    drawn = scaling.over_ranks(found, "search-scaling", "search")
    assert [p.name for p in drawn] == ["search-scaling-1", "search-scaling-2"]
    page = make(tmp_path, *runs)
    text = "".join(
        p.read_text(encoding="utf-8")
        for p in sorted((tmp_path / "report-pictures").glob("search-scaling-?.svg"))
    )
    for kind in ("strong", "weak"):
        for of, keys in ((of, k) for of in ("u32", "u64") for k in (UNIFORM, ZIPF)):
            said = f"{kind}: distributed, type {of}, keys {keys[0]}, skew {keys[1]}"
            assert text.count(f">{said}<") == 1, said
    names_of = list(
        dict.fromkeys(
            row["series"].split(" ", 1)[1] for row in page.rows("series", "x", "id") if row["dots"]
        )
    )
    sizes = ["16 KiB", "64 KiB", "256 KiB", "1 MiB", "4 MiB", "16 MiB"]
    assert names_of == [*sizes, *(f"{size} a rank" for size in sizes[:5])]
