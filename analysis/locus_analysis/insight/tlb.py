# SPDX-License-Identifier: Apache-2.0
"""Levels of the TLB from the curve of `page-random`.

It visits one element a page, so N pages are N cache lines, too: the caches add steps (at 512 pages
for a cache of 512 lines), and lines may overflow single sets of a cache. So the same permutation is
also measured on huge pages, whose TLB entries reach much further: caches and sets cost the same
there, and the difference is translation. If huge pages do not help - a hypervisor may build them
from small ones, and then the TLB holds those - a step of the first curve counts, too, unless a
cache that `cycle` found fills up there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Optional

from ..base import units
from ..records.database import is_sound, value_of
from ..records.description import PAGE_NAMES
from ..records.lines import Machine
from . import advice, memory_level
from .advice import Advice, Place, Wish
from .caches import FINE, HUGE, Curve, intervals, usable
from .memory_level import (
    NOT_FOUND,
    Finding,
    Level,
    Sized,
    compare,
    count,
    doubt,
    ends,
    judge,
    median_within,
    step_of,
)
from .plateaus import Edge, Plateau, Steps


def found(own: Sequence[Curve], caches: Optional[Finding], place: Place) -> list[Finding]:
    """The TLB, from page-random on the system's pages and on huge ones."""
    found = []
    machine = place.machine
    page = machine["memory"]["page"]
    for curve in own:
        if curve.pages != "base":
            continue
        points, remarks = usable(curve)
        finding = Finding(
            curve.whole,
            "base",
            "TLB",
            "page-random on system pages",
            remarks=remarks,
            first=True,
            points=curve.points,
            unit=page,
        )
        huge = _partner(curve, own)
        finding.huge = huge is not None
        finding.has_huge = advice.has_thp(machine) and not any(map(_is_impossible, own))
        steps = _find_in_pages(points, page)
        finding.remarks = steps.remarks + remarks
        edges = _drop_cache_edges(steps.edges, caches, machine, [] if huge else finding.remarks)
        if huge:
            finding.curve += f", and the same on {PAGE_NAMES.get(huge.pages, huge.pages)}"
            edges = _both(
                edges,
                _find_in_pages(difference(points, usable(huge)[0]), page).edges,
                finding.remarks,
            )
        else:
            finding.remarks.append(
                "huge pages were not measured: steps of caches (N pages are N lines) are recognised"
                " only if cycle found these caches"
            )
        if steps.plateaus or edges:
            first = min(p["size"] for p in points) / page
            finding.levels = name_translations(
                edges, first, reported_tlb(machine), page, finding.remarks
            )
            counted = [p for p in points if p["size"] / page not in steps.outliers]
            doubt(finding.levels, curve.points, counted, page)
            for level in finding.levels:
                if level.edge is None:
                    level.remark = missing(finding, place).after("no step that would be its end")
                level.time = median_within(level.plateau, points, "value", page)
                level.cycles = median_within(level.plateau, points, "cycles", page)
                judge(level, points, page)
        found.append(finding)
    return found


def _find_in_pages(points: Sequence[Sized], page: int) -> Steps:
    from .steps import find

    return find(
        [p["size"] / page for p in points],
        [value_of(p) for p in points],
        *intervals(points),
        text=_pages,
    )


def _both(alone: Sequence[Edge], apart: Sequence[Edge], remarks: list[str]) -> list[Edge]:
    """The edges that huge pages remove, and the curve's own edges that are not a cache's."""
    edges = list(apart)
    for edge in alone:
        near = [e for e in apart if edge.low <= e.high and e.low <= edge.high]
        if not near:
            edges.append(edge)
            remarks.append(
                f"the step at {_pages(edge.size)} is no cache's, and stays on huge pages: a"
                " hypervisor may make them of small pages, or the TLB holds no more of them"
            )
        for e in near:  # the same edge: keeps the narrower interval of the two curves
            if edge.high / edge.low < e.high / e.low:
                edges[edges.index(e)] = edge
    unique: list[Edge] = []
    for edge in sorted(edges, key=lambda e: e.size):
        if not unique or unique[-1].high < edge.high:
            unique.append(edge)
    return unique


def _partner(curve: Curve, own: Sequence[Curve]) -> Optional[Curve]:
    sizes = {p["size"] for p in usable(curve)[0]}
    good = [
        c for c in own if c.pages in HUGE and (c.element, c.stride) == (curve.element, curve.stride)
    ]
    return max(
        (c for c in good if len(sizes & {p["size"] for p in usable(c)[0]}) > len(sizes) / 2),
        key=_length,
        default=None,
    )


def _is_impossible(curve: Curve) -> bool:
    """Whether it asked in vain for the pages that advice asks for."""
    return curve.pages == "thp" and advice.why(curve.points) == advice.IMPOSSIBLE


def _length(curve: Curve) -> int:
    return len(curve.points)


def difference(base: Sequence[Sized], huge: Sequence[Sized]) -> list[Sized]:
    """The cost of translation on top of the shortest load, so that the curve has a level to start
    from and a logarithm."""
    of_size = {p["size"]: p for p in huge}
    floor = min(map(value_of, huge))
    points: list[Sized] = []
    for p in base:
        same = of_size.get(p["size"])
        if same is None:
            continue
        value = max(value_of(p) - value_of(same), 0) + floor
        own, other = (_interval_of(p), _interval_of(same))
        low, high = None, None
        if own and other:
            low = max(own[0] - other[1] + floor, floor / 2)
            high = max(own[1] - other[0] + floor, value)
        point = p.copy()
        point.update({"value": value, "low": low, "high": high})
        points.append(point)
    return points


def _interval_of(point: Sized) -> Optional[tuple[float, float]]:
    low, high = point["low"], point["high"]
    return None if low is None or high is None else (low, high)


def _drop_cache_edges(
    edges: Sequence[Edge], caches: Optional[Finding], machine: Machine, remarks: list[str]
) -> list[Edge]:
    """Removes edges at which a cache that cycle found fills up: sets of random lines overflow from
    half of its size on."""
    line = next((c["line"] for c in machine["topology"]["caches"] or [] if c["line"]), 0)
    of_caches = [level.edge for level in caches.levels if level.edge] if caches and line else []
    kept = []
    for edge in edges:
        cache = next(
            (c for c in of_caches if c.low / line / 2 <= edge.high and edge.low <= c.high / line),
            None,
        )
        if cache is None:
            kept.append(edge)
        else:
            remarks.append(
                f"the step at {_pages(edge.size)} is taken for a cache's: there the lines fill the"
                f" cache that ends at {units.size(cache.size)}"
            )
    return kept


def reported_tlb(machine: Machine) -> dict[int, list[float]]:
    """Entries for the system's pages, by level. Loads use TLBs for data, for loads, and unified
    ones."""
    found: dict[int, list[float]] = {}
    for tlb in machine.get("tlb") or []:
        if tlb["type"] in ("data", "load", "unified") and tlb["page"] == machine["memory"]["page"]:
            found.setdefault(tlb["level"], []).append(tlb["entries"])
    return found


def name_translations(
    edges: Sequence[Edge],
    first: float,
    reported: dict[int, list[float]],
    page: int,
    remarks: list[str],
) -> list[Level]:
    """The first two edges are the TLB's levels; sizes are in pages, from the first one measured.
    Adds to the remarks."""
    levels = []
    for i, edge in enumerate(edges[:2]):
        told = f"{ends(edge, count)} pages ({ends(edge, lambda n: units.size(n * page))})"
        level = Level(f"L{i + 1} TLB", Plateau(first, edge.size, 0, 0, 0, 0), edge=edge, ends=told)
        compare(level, reported.get(i + 1, []), False, _pages)
        levels.append(level)
        first = (
            edge.settled
            if edge.settled
            and edge.settled < min((e.size for e in edges[i + 1 :]), default=math.inf)
            else edge.high
        )
    if len(edges) > 2:
        text = ", ".join(_pages(edge.size) for edge in edges[2:])
        remarks.append(
            f"further steps at {text}: walks through page tables that no longer fit into caches"
        )
    for i in range(len(levels), 2):
        level = Level(
            f"L{i + 1} TLB",
            reported=" or ".join(map(_pages, reported.get(i + 1, []))),
            verdict=NOT_FOUND,
        )
        levels.append(level)
    if not reported:
        remarks.append("the processor does not report how many entries its TLBs have")
    return levels


def _pages(pages: float) -> str:
    return f"{pages:.0f} pages"


def wish(factor: float, has_huge: bool) -> Wish:
    """The curves that tell the TLB's steps from those of caches. `cycle` has other sizes, and is
    not needed where huge pages tell them apart."""
    size = (("size", f"64K..64M*{factor:g}"),) if factor else ()
    variant = "page-random" if factor else "cycle,page-random"
    pages = "base,thp" if has_huge else "base"
    return Wish("latency", (("variant", variant), ("pages", pages), *size))


def missing(finding: Optional[Finding], place: Place) -> Advice:
    """What to run for a TLB that was not found, by the reason why."""
    if finding is None:
        return advice.of(place, advice.ABSENT, wish(0, advice.has_thp(place.machine)))
    has_huge = finding.has_huge
    good = [p for p in finding.points if p["value"] and is_sound(p)]
    lost = [p for p in finding.points if p not in good]
    if 2 * len(lost) >= len(finding.points):
        return advice.of(place, advice.why(lost), wish(0, has_huge))
    is_coarse = step_of(good, (0, math.inf), finding.unit) > FINE * FINE
    if is_coarse or (has_huge and not finding.huge):
        return advice.of(place, advice.COARSE, wish(FINE, has_huge))
    return advice.of(place, advice.EXHAUSTED, wish(FINE, has_huge))


def narrower(finding: Finding, place: Place) -> tuple[str, Advice]:
    """Why a level's end, or else its time, is not certain, and what to run; empty where nothing
    would help."""
    wide = [level for level in finding.levels if level.bracket and not level.is_certain]
    doubtful = [p for level in wide for p in level.doubtful]
    points = [p for p in finding.points if p["value"]]
    if not doubtful and not any(
        step_of(points, level.bracket, finding.unit) > FINE * FINE
        for level in wide
        if level.bracket
    ):
        return _timed(finding, place)
    reason = advice.why(doubtful) if doubtful else advice.COARSE
    left = f"{advice.left_out((p['size'], p) for p in doubtful)}; " if doubtful else ""
    return f"{left}to be certain", advice.of(place, reason, wish(FINE, finding.has_huge))


def _timed(finding: Finding, place: Place) -> tuple[str, Advice]:
    """The same for levels of which only the time is not certain."""
    own = [level for level in finding.levels if not level.is_timed]
    names = " and ".join(level.name.removesuffix(" TLB") for level in own)
    return memory_level.timed(own, names, place, wish(FINE, finding.has_huge))
