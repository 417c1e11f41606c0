# SPDX-License-Identifier: Apache-2.0
"""The page of latency: names of levels, compared with what the system reports; tables and
pictures."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Optional, cast

import pytest
from locus_analysis import __main__ as program
from locus_analysis.base import units
from locus_analysis.card import summary
from locus_analysis.card.content import ROUGH
from locus_analysis.insight import caches as cache_levels
from locus_analysis.insight import levels
from locus_analysis.insight import tlb as tlb_levels
from locus_analysis.insight.memory_level import (
    AGREES,
    DIFFERS,
    NOT_FOUND,
    UNREPORTED,
    UNSURE,
    Finding,
    Level,
    Sized,
    bracketed,
    count,
)
from locus_analysis.insight.plateaus import Edge, Plateau, Steps
from locus_analysis.insight.steps import find
from locus_analysis.records import database
from make_records import (
    ONE,
    TWO,
    Line,
    Machine,
    Point,
    brief,
    latency,
    numa,
    of_lines,
    record,
    run_id,
    time_of_load,
    write,
)

GOOD = 0


KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def findings(lines: list[Line]) -> list[Finding]:
    return levels.findings(database.tables(of_lines(brief(lines))))


def curves(
    machine: Machine, *variants: str, pages: tuple[str, ...] = ("base", "thp"), octave: int = 4
) -> list[Point]:
    return [
        p
        for p in latency(machine, octave)
        if p.variant in variants and p.parameters["pages"] in pages
    ]


def the_one(found: list[Finding], what: str) -> Finding:
    (one,) = (f for f in found if f.what == what and f.first)
    return one


def told(finding: Finding) -> list[tuple[str, str, str]]:
    return [(level.name, level.reported, level.verdict) for level in finding.levels]


def test_levels_are_named_and_agree_with_what_is_reported() -> None:
    found = findings(record(TWO, curves(TWO, "cycle", "page-random"), run_id("a")))
    caches = the_one(found, "caches")
    assert caches.pages == "thp"
    assert told(caches) == [
        ("L1", "32 KiB", AGREES),
        ("L2", "1 MiB", AGREES),
        ("L3", "22 MiB", AGREES),
        ("memory", "", ""),
    ]
    assert [level.time for level in caches.levels] == pytest.approx(
        [2.2e-9, 4e-9, 15e-9, 83e-9], rel=0.05
    )
    assert [level.cycles for level in caches.levels] == pytest.approx(
        [t.time / 4.3e-10 for t in caches.levels if t.time], rel=0.01
    )
    assert caches.remarks == []
    tlb = the_one(found, "TLB")
    assert told(tlb) == [("L1 TLB", "64 pages", AGREES), ("L2 TLB", "1536 pages", AGREES)]
    assert tlb.levels[0].ends == "64 to 76 pages (256 KiB to 304 KiB)"


def test_on_system_pages_steps_of_the_tlb_are_told_apart() -> None:
    found = findings(record(TWO, curves(TWO, "cycle", "page-random"), run_id("a")))
    base = next(f for f in found if f.what == "caches" and f.pages == "base")
    verdicts = [level.verdict for level in base.levels]
    assert verdicts == [f"the end of {name}" for name in ("L1", "L1 TLB", "L2", "L2 TLB", "L3")] + [
        ""
    ]
    assert not base.first and base.levels[-1].name == "memory"


def test_without_huge_pages_it_cautions() -> None:
    found = findings(record(TWO, curves(TWO, "cycle", "page-random", pages=("base",)), run_id("a")))
    caches, tlb = the_one(found, "caches"), the_one(found, "TLB")
    assert caches.pages == "base"
    assert any("the TLB has its steps in this curve too" in r for r in caches.remarks)
    assert any("names go by order, so one may be misnamed" in r for r in caches.remarks)
    assert any("huge pages were not measured" in r for r in tlb.remarks)
    # 512 pages are 512 lines, all that the L1 of 32 KiB holds: this step is not the TLB's.
    assert any(
        "at 512 pages is taken for a cache's: there the lines fill the cache that ends at 32 KiB"
        in r
        for r in tlb.remarks
    )
    assert told(tlb) == [("L1 TLB", "64 pages", AGREES), ("L2 TLB", "1536 pages", AGREES)]


def test_a_virtual_machine_may_report_more_cache_than_it_has() -> None:
    lines = record(ONE, curves(ONE, "cycle", "page-random"), run_id("a"))
    caches = lines[0]["machine"]["topology"]["caches"]
    next(c for c in caches if c["level"] == 3)["size"] = 260 * MIB
    found = findings(lines)
    level = the_one(found, "caches").levels[2]
    assert level.verdict == DIFFERS
    assert re.fullmatch(
        r"found at 19 MiB–26.9 MiB where 260 MiB is reported: a virtual machine may report its"
        r" host's cache, .*",
        level.remark,
    )
    assert any(
        "is less than 4 times the last cache that is reported" in r
        for r in the_one(found, "caches").remarks
    )
    assert [v for _, _, v in told(the_one(found, "TLB"))] == [UNREPORTED] * 2
    assert any("does not report how many entries" in r for r in the_one(found, "TLB").remarks)


@pytest.mark.parametrize("share", [0.3, 0.0])
def test_pages_that_are_not_huge_after_all_do_not_count(share: float) -> None:
    points = curves(TWO, "cycle")
    for p in points:
        p.huge = share if p.parameters["pages"] == "thp" and p.parameters["size"] > MIB else p.huge
    found = findings(record(TWO, points, run_id("a")))
    thp = next(f for f in found if f.pages == "thp")
    assert any(r.endswith("not on huge pages after all, and left out") for r in thp.remarks)
    assert max(level.plateau.last for level in thp.levels if level.plateau) <= MIB


def test_what_does_not_count_is_left_out_and_told() -> None:
    points = curves(TWO, "cycle", pages=("thp",))
    for i, (status, seconds) in enumerate(
        {"wrong": 9e-9, "misplaced": 8e-9, "noisy": None}.items()
    ):
        points[7 + i].status, points[7 + i].reasons = status, ["so it is"]
        points[7 + i].seconds = seconds or points[7 + i].seconds
    points[5].status, points[5].reasons = "impossible", ["no such page"]
    caches = the_one(findings(record(TWO, points, run_id("a"))), "caches")
    assert caches.remarks == [
        "left out: 2.38 KiB impossible, 3.31 KiB wrong, 4 KiB misplaced",
        "1 of 70 points are noisy or unconverged",
    ]
    assert [v for _, _, v in told(caches)] == [AGREES] * 3 + [""]


def steps(
    *levels_: tuple[float, float, float], edges: Optional[list[Edge]] = None, ends: bool = False
) -> Steps:
    plateaus = [
        Plateau(first, last, ns * 1e-9, ns * 1e-9, ns * 1e-9, 9) for first, last, ns in levels_
    ]
    given = [
        Edge(a.last, a.last, b.first, b.first, i)
        for i, (a, b) in enumerate(zip(plateaus, plateaus[1:]))
    ]
    return Steps(plateaus, given if edges is None else edges, ends_on_ramp=ends)


def named(
    found: Steps, reported: dict[int, list[float]], virtual: bool = False
) -> tuple[dict[str, Level], list[str]]:
    remarks: list[str] = []
    return {
        level.name: level for level in cache_levels.name_caches(found, reported, virtual, remarks)
    }, remarks


def test_memory_is_what_no_cache_could_take_so_long_for() -> None:
    found, _ = named(steps((KIB, 32 * KIB, 1), (40 * KIB, MIB, 4)), {})
    assert list(found) == ["L1", "L2", "memory"]
    assert found["memory"].verdict == NOT_FOUND and found["L2"].ends == "not before the curve does"
    assert found["memory"].remark == "its plateau was not reached"
    found, _ = named(steps((KIB, 32 * KIB, 1), (40 * KIB, GIB, 80)), {})
    assert list(found) == ["L1", "memory"]


def test_a_level_that_is_reported_and_not_found_is_told() -> None:
    found, remarks = named(
        steps((KIB, 32 * KIB, 1), (40 * KIB, GIB, 80)), {1: [32 * KIB], 2: [MIB]}
    )
    assert (found["L2"].verdict, found["L2"].reported) == (NOT_FOUND, "1 MiB")
    assert found["L2"].remark == "no plateau of its own was found"
    assert (
        "1 level of cache found, 2 reported: names go by order, so one may be misnamed" in remarks
    )


def test_an_edge_that_is_another_level_s_says_so() -> None:
    found, _ = named(
        steps((KIB, 32 * KIB, 1), (40 * KIB, 20 * MIB, 15), (30 * MIB, GIB, 80)),
        {2: [MIB], 3: [22 * MIB]},
    )
    assert found["L2"].verdict == DIFFERS
    assert (
        found["L2"].remark
        == "found at 20 MiB–30 MiB where 1 MiB is reported; L3 is reported to end there"
    )


@pytest.mark.parametrize(
    ("reported", "verdict"),
    [
        (31 * KIB, DIFFERS),
        (32 * KIB, AGREES),
        (36 * KIB, AGREES),
        (40 * KIB, AGREES),
        (48 * KIB, AGREES),  # in the rise, which is short
        (70 * KIB, DIFFERS),
        (None, UNREPORTED),
    ],
)
def test_agreement_is_within_the_interval_or_the_rise(
    reported: Optional[int], verdict: str
) -> None:
    edge = Edge(32 * KIB, 32 * KIB, 40 * KIB, 64 * KIB, 0)
    found, _ = named(
        steps((KIB, 32 * KIB, 1), (64 * KIB, GIB, 80), edges=[edge]),
        {1: [reported]} if reported else {},
    )
    assert found["L1"].verdict == verdict


def test_a_long_rise_agrees_with_nothing() -> None:
    edge = Edge(2 * MIB, 2 * MIB, 3 * MIB, 90 * MIB, 0)
    found, _ = named(steps((KIB, 2 * MIB, 4), (90 * MIB, GIB, 80), edges=[edge]), {1: [22 * MIB]})
    assert found["L1"].verdict == UNSURE
    assert (
        found["L1"].remark
        == "the rise begins at 2 MiB and goes on to 90 MiB; what is reported lies within"
    )


@pytest.mark.parametrize(
    ("reported", "high", "settled", "told", "certain"),
    [
        (48 * KIB, 64 * KIB, 64 * KIB, "32..64 KiB", False),  # an octave is no narrow bracket
        (36 * KIB, 40 * KIB, 64 * KIB, "32..40 KiB", True),
        (43 * KIB, 40 * KIB, 64 * KIB, "32..40 KiB", False),  # agrees, but lies above
        (60 * KIB, 40 * KIB, 64 * KIB, "32..64 KiB", False),  # within the rise, which is long
        (None, 40 * KIB, 64 * KIB, "32..40 KiB", True),
        (1 * MIB, 40 * KIB, 64 * KIB, "32..40 KiB", False),
    ],
)
def test_an_answer_is_a_bracket(
    reported: Optional[int], high: int, settled: int, told: str, certain: bool
) -> None:
    edge = Edge(32 * KIB, 32 * KIB, high, settled, 0)
    found, _ = named(
        steps((KIB, 32 * KIB, 1), (64 * KIB, GIB, 80), edges=[edge]),
        {1: [reported]} if reported else {},
    )
    level = found["L1"]
    assert level.bracket and bracketed(level.bracket, units.size) == told
    assert level.is_certain == certain
    within = reported and level.bracket[0] <= reported <= level.bracket[1]
    assert level.size == (reported if within else None)


def test_brackets_have_one_unit_where_they_can() -> None:
    assert bracketed((512 * KIB, MIB), units.size) == "512 KiB..1 MiB"
    assert bracketed((64, 128), count) == "64..128"
    assert bracketed((64, 64), count) == "64"


def spoil(points: list[Point], size: int, status: str) -> list[Point]:
    for p in points:
        if p.parameters["size"] == size:
            p.status, p.reasons = status, ["so it is"]
    return points


@pytest.mark.parametrize("status", ["noisy", "bimodal", "interrupted"])
def test_a_point_that_does_not_count_leaves_the_end_open(status: str) -> None:
    points = curves(TWO, "cycle", pages=("thp",))
    assert the_one(findings(record(TWO, points, run_id("a"))), "caches").levels[0].is_certain
    caches = the_one(findings(record(TWO, spoil(points, 32 * KIB, status), run_id("a"))), "caches")
    assert not caches.levels[0].is_certain and caches.levels[1].is_certain
    assert any(
        r.startswith(f"to be certain of L1 (32 KiB {status}): ")
        and "locus latency --variant cycle --pages thp --size 4K..256K*1.2" in r
        for r in caches.remarks
    )


def test_the_tlb_s_entries_are_in_a_bracket() -> None:
    """64 is the last fast size, 128 the first slow one: 96 would be the answer."""
    points = curves(TWO, "cycle", "page-random", octave=1)
    lines = record(TWO, points, run_id("a"))
    for entry in lines[0]["machine"]["tlb"]:
        entry["entries"] = 96 if entry["level"] == 1 else entry["entries"]
    level = the_one(findings(lines), "TLB").levels[0]
    assert (level.bracket, level.size, level.is_certain) == ((64, 128), 96, False)
    (made,) = summary.cards(database.tables(of_lines(lines)))
    (line,) = [line for line in made.lines if line.name == "TLB"]
    assert line.text.startswith("L1 96 pages (found 64..128) ") and line.sure == ROUGH
    assert "locus latency --variant page-random --pages base,thp --size 64K..64M*1.2" in line.text


def test_memory_is_told_from_one_size_that_is_far_beyond_the_caches() -> None:
    points = [
        p for p in curves(TWO, "cycle", octave=1) if p.parameters["size"] in (*OCTAVES, 128 * MIB)
    ]
    caches = the_one(findings(record(TWO, points, run_id("a"))), "caches")
    memory = caches.levels[-1]
    assert (memory.name, memory.remark) == ("memory", "128 MiB alone")
    assert memory.time == pytest.approx(82e-9, rel=0.05)


OCTAVES = [1 << i for i in range(12, 25)]  # to 16 MiB, within the L3


def test_cores_may_have_different_caches() -> None:
    found, _ = named(steps((KIB, 48 * KIB, 1), (64 * KIB, GIB, 80)), {1: [32 * KIB, 48 * KIB]})
    assert (found["L1"].verdict, found["L1"].reported) == (AGREES, "32 KiB or 48 KiB")


def test_steps_that_huge_pages_do_not_take_away_are_the_tlb_s_too() -> None:
    """If a hypervisor backs huge pages by small ones, their curve has the first step, too."""
    points = curves(TWO, "cycle", "page-random")
    for p in points:
        n = p.parameters["size"] / 4096
        if p.variant == "page-random":
            p.seconds = time_of_load(n, n if p.parameters["pages"] == "base" else min(n, 1536))
    tlb = the_one(findings(record(TWO, points, run_id("a"))), "TLB")
    assert told(tlb) == [("L1 TLB", "64 pages", AGREES), ("L2 TLB", "1536 pages", AGREES)]
    assert any(
        "the step at 64 pages is no cache's, and stays on huge pages" in r for r in tlb.remarks
    )


def test_the_difference_is_what_translation_costs() -> None:
    base = [
        {"size": n, "value": (5 + n) * 1e-9, "low": (4 + n) * 1e-9, "high": (6 + n) * 1e-9}
        for n in (1, 2, 3)
    ]
    huge = [
        {"size": n, "value": (4 + n) * 1e-9, "low": None if n == 2 else 4e-9, "high": 8e-9}
        for n in (1, 2)
    ]
    points = tlb_levels.difference(cast("list[Sized]", base), cast("list[Sized]", huge))
    assert [p["size"] for p in points] == [1, 2]
    assert [p["value"] for p in points] == pytest.approx([6e-9, 6e-9])
    assert (points[0]["low"], points[0]["high"]) == pytest.approx((2.5e-9, 8e-9))
    assert points[1]["low"] is points[1]["high"] is None


def test_levels_for_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(
        tmp_path / "a.jsonl", brief(record(TWO, curves(TWO, "cycle", "page-random"), run_id("a")))
    )
    other = write(
        tmp_path / "b.jsonl",
        brief(
            record(
                ONE,
                curves(ONE, "cycle", pages=("base",), octave=2),
                run_id("b"),
                started="2025-03-15T00:00:00.000Z",
            )
        ),
    )
    assert program.main(["levels", str(path), str(other)]) == GOOD
    text = capsys.readouterr().out
    assert [line for line in text.splitlines() if line.startswith(("n042", "cloud-7"))] == [
        "n042, 2025-03-14T09:26:53Z",
        "cloud-7, 2025-03-15T00:00:00Z",
    ]
    assert text.splitlines()[-1].startswith("about this run, one process")
    assert re.search(
        r"^  L2 +38 KiB to 1 MiB +4\.\d+ +9\.\d+ +1 MiB to 1\.19 MiB +1 MiB +agrees$",
        text,
        re.MULTILINE,
    )
    assert re.search(r"^  L2 TLB +76 to 1448 pages .* 1536 pages +agrees$", text, re.MULTILINE)


def test_levels_of_many_hosts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A block for each class of machines, and the hosts that differ, by name."""
    points = curves(TWO, "cycle", "page-random")
    slow = [replace(p, seconds=1.3 * p.seconds) for p in points]
    for i in range(9):
        lines = brief(record(TWO, slow if i == 3 else points, run_id(str(i)), host=f"n{i:02}"))
        write(tmp_path / f"{i}.jsonl", lines)
    assert program.main(["levels", str(tmp_path)]) == GOOD
    text = capsys.readouterr().out
    assert text.startswith(f"9 hosts with {TWO.model}\n") and len(text.splitlines()) < 30
    assert re.search(r"^  L2 +9 of 9 +4\.03 .* 1 MiB +agrees$", text, re.MULTILINE)
    assert "  - L2, time over the median: n03 1.30\n" in text and "n04" not in text


def test_records_without_curves_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "a.jsonl", brief(record(TWO, numa(TWO)[:2], run_id("a"))))
    assert program.main(["levels", str(path)]) == GOOD
    assert "no curve of latency over working set" in capsys.readouterr().out


def test_synthetic_curves_have_the_edges_they_were_made_with() -> None:
    points = [
        p for p in latency(TWO, octave=8) if p.variant == "cycle" and p.parameters["pages"] == "thp"
    ]
    found = find([p.parameters["size"] for p in points], [p.seconds for p in points])
    assert [edge.size for edge in found.edges][:2] == [32 * KIB, MIB]
    assert math.isclose(found.plateaus[0].time, 2.2e-9)
