# SPDX-License-Identifier: Apache-2.0
"""Pairs of CPUs on the page of core-to-core: maps, their borders and order, crowding."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any, Optional

import pytest
from locus_analysis.card import summary
from locus_analysis.pictures import cpu_pairs
from locus_analysis.pictures.colours import ON_LIGHT
from locus_analysis.records import database
from make_records import (
    STATES,
    Line,
    Machine,
    header,
    of_lines,
    record,
)
from make_records import coherence as coherence_points
from make_records import core_to_core as core_to_core_points
from pages import make, trials
from some import some
from test_sharing import RUN, SMALL, told


def test_one_pair_says_nothing_of_how_pairs_differ() -> None:
    two = Machine("two", "a machine", cpu_nodes=1, cores=2)
    (level,) = cpu_pairs.tables(
        told(record(two, core_to_core_points(two)[:1], RUN), "core-to-core")
    )[0]["levels"]
    assert (level["pairs"], level["meetings"], level["medians"]) == (1, 64, None)
    known = [q for q in level["quantiles"] if q is not None]
    assert known == sorted(known) and len(set(known)) == 5


def test_a_pair_with_two_modes_has_two_times() -> None:
    two = Machine("two", "a machine", cpu_nodes=1, cores=2)
    (point, *_) = core_to_core_points(two)
    point.status, point.reasons = "bimodal", ["two modes"]
    lines = record(two, [point], RUN)
    for line in lines:
        if line["type"] == "trial":
            line["samples"]["modes"] = [{"time": t, "share": 0.5} for t in (126e-9, 25e-9)]
    (level,) = cpu_pairs.tables(told(lines, "core-to-core"))[0]["levels"]
    assert level["seen"] == pytest.approx((25e-9, 126e-9))
    (made,) = summary.cards(database.tables(of_lines(lines)))
    (said,) = (own for own in made.lines if own.name == "core to core")
    assert said.text.startswith("25.0 ns or 126 ns same ") and said.sure == "rough"
    assert not said.numbers


def test_older_records_know_pairs_alone() -> None:
    lines = record(SMALL, core_to_core_points(SMALL)[:1], RUN)
    expected = []
    for level in trials([lines])[0]["pairs"]["levels"]:
        del level["meetings"]
        expected.append((None, [None] * 5, (level["0"], level["0.99"])))
    levels = cpu_pairs.tables(told(lines, "core-to-core"))[0]["levels"]
    assert [
        (level["meetings"], level["quantiles"], level["medians"]) for level in levels
    ] == expected


def test_pairs_along_a_curve_have_maps_curves_and_ratios(tmp_path: Path) -> None:
    points = coherence_points(SMALL)
    page = make(tmp_path, record(SMALL, points, RUN))
    assert {f"coherence-map-{i}" for i in range(1, len(points) + 1)} < {*page.figures}
    drawn = page.specs[page.figures.index("coherence")]
    rows = [r for own in drawn["datasets"].values() for r in own if r.get("id")]
    assert {r["series"][2:] for r in rows} == {*STATES} and len(rows) == len(points)
    assert "coherence-ratios-slowdown" in page.figures
    text = re.sub(r"\s+", " ", page.text)
    assert "load state modified, lines 256" in text
    assert "of lines that the other thread has modified, against lines it has only loaded" in text


def test_one_pair_along_a_curve_has_no_map(tmp_path: Path) -> None:
    two = Machine("two", "a machine", cpu_nodes=1, cores=2)
    page = make(tmp_path, record(two, coherence_points(two), RUN))
    assert "coherence" in page.figures
    assert not [name for name in page.figures if "map" in name or "bars" in name]


# Core to core.


def test_cpus_are_in_the_order_of_the_machine() -> None:
    # Two nodes, whose CPUs are numbered alternately; SMT siblings are 8 apart; two cores share an
    # L2.
    cpus = range(16)
    cells: Any = {"a": [], "b": [], "level": []}
    for a in cpus:
        for b in range(a + 1, 16):
            core_a, core_b = a % 8, b % 8
            level = (
                "SMT"
                if core_a == core_b
                else "machine"
                if a % 2 != b % 2
                else "L2"
                if core_a // 4 == core_b // 4
                else "L3"
            )
            for key, value in {"a": a, "b": b, "level": level}.items():
                cells[key].append(value)
    nodes = [{"node": n, "cpus": [c for c in cpus if c % 2 == n]} for n in (0, 1)]
    machine: Any = {"topology": {"nodes": nodes}}
    order, borders = cpu_pairs.in_order(cells, machine)
    assert order == [0, 8, 2, 10, 4, 12, 6, 14, 1, 9, 3, 11, 5, 13, 7, 15]
    assert borders == [8]


def test_what_is_not_told_of_nodes_makes_no_borders() -> None:
    pairs = core_to_core_points(SMALL)[0].pairs
    assert pairs
    machine: Any = {"topology": {"nodes": []}}
    order, borders = cpu_pairs.in_order(pairs["cells"], machine)
    assert (order, borders) == (list(range(8)), [])


def test_a_map_of_many_cores_stays_usable(tmp_path: Path) -> None:
    big = Machine("big", "a machine", cpu_nodes=4, cores=32)
    points = core_to_core_points(big, odd=(77,), protocols=("message",))[:1]
    page = make(tmp_path, record(big, points, RUN))
    spec = next(s for s in page.specs if "usermeta" in s)
    assert spec["usermeta"] == {"embedOptions": {"renderer": "canvas"}}
    svg, png = (
        (tmp_path / f"report-pictures/core-to-core.{kind}").read_bytes() for kind in ("svg", "png")
    )
    assert b"data:image/png;base64," in svg and svg.count(b"<") < 10
    assert len(svg) < 2 * len(png) and len(png) < 1 << 20
    # All pairs of 128 CPUs, with five quantiles each, are one row of columns, instead of a row for
    # each pair.
    (columns,) = page.rows("a", "b", "median")
    assert len(columns["a"]) == 128 * 127 // 2
    assert len((tmp_path / "report.html").read_bytes()) < 4 << 20


def test_a_pair_far_below_the_others_can_be_read(tmp_path: Path) -> None:
    """Its cell is as bright as the end of the scale, so its text must be dark."""
    machine = Machine("n16", "a machine", cpu_nodes=1, cores=16)
    points = core_to_core_points(machine, protocols=("message",))
    assert points[0].pairs
    points[0].pairs["cells"]["0.5"][0] = 1.23e-9
    make(tmp_path, record(machine, points, RUN))
    svg = (tmp_path / "report-pictures/core-to-core.svg").read_text(encoding="utf-8")
    assert re.findall(r'fill="([^"]+)"[^>]*>1.23</text>', svg) == [ON_LIGHT] * 2


def test_more_cells_than_a_page_can_take_are_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_pairs, "CELLS", 5 * 8 * 8)
    own = told(record(SMALL, core_to_core_points(SMALL), RUN), "core-to-core")
    machine = header(SMALL, RUN, random.Random(1))["machine"]
    drawn = cpu_pairs.maps(own, machine, "core-to-core", "core-to-core")
    # Each protocol on the first node, and as many on the second as there is room for.
    assert [p.title.split(": ")[1] for p in drawn] == [
        "ping-pong protocol compare-exchange, home 0",
        "ping-pong protocol compare-exchange, home 1",
        "ping-pong protocol store-load, home 0",
        "ping-pong protocol two-lines, home 0",
        "ping-pong protocol message, home 0",
    ]
    assert len({p.name for p in drawn}) == 5
    assert set(some(i for p in drawn for i in p.shows)) < {t["id"] for t in own}


def test_many_cpus_that_stand_out_are_not_all_named() -> None:
    pairs: Any = {
        "outstanding": [
            {"cpu": c, "level": "L3", "median": (50 + c) * 1e-9, "of": 45e-9} for c in range(20)
        ]
    }
    text = cpu_pairs.outstanding(pairs)
    assert text.startswith(
        "CPUs that stand out among pairs that share an L3 cache, where 45.0 ns is usual: CPU 19"
        " (69.0 ns), "
    )
    assert text.endswith("and 8 more.")
    pairs["outstanding"] = []
    assert cpu_pairs.outstanding(pairs) == ""


@pytest.mark.parametrize(
    ("crowding", "end"),
    [
        ({"pairs": 8, "median": 1.02, "most": 1.05}, ": they don't disturb each other."),
        ({"pairs": 8, "median": 1.02, "most": 1.3}, "(median; at most 1.30)."),
        (
            {"pairs": 1, "median": 1.5, "most": 1.5},
            "and times there are longer than those of one pair alone.",
        ),
        (None, ""),
    ],
)
def test_crowding_is_said(crowding: Optional[Line], end: str) -> None:
    pairs: Any = {"levels": [], "crowding": crowding}
    assert cpu_pairs.crowding(pairs).endswith(end)
