# SPDX-License-Identifier: Apache-2.0
"""Names for the plateaus of latency: levels of cache and of TLB, compared with what the system
reports.

The curve of `cycle` gives the caches, in order. It is taken on huge pages if there are any, because
the TLB adds its own steps on base pages.

`page-random` gives the TLB. It visits one element a page, so N pages are N cache lines, too: the
caches add steps (at 512 pages for a cache of 512 lines), and lines may overflow single sets of a
cache. So the same permutation is also measured on huge pages, whose TLB entries reach much further:
caches and sets cost the same there, and the difference is translation. If huge pages do not help -
a hypervisor may build them from small ones, and then the TLB holds those - a step of the first
curve counts, too, unless a cache that `cycle` found fills up there."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from statistics import median
from typing import Any, Optional

import duckdb

from . import units
from .records import rows
from .steps import LONG_RAMP, Edge, Plateau, Steps, find, size_text

Row = dict[str, Any]

FASTEST_MEMORY = 30e-9  # s: a DRAM chip alone takes as long, to open a row and to read a column
BEYOND = 4  # times the last cache: at such a size at most a quarter of the loads still hit it
# A reported size agrees up to this factor above the interval: a stack, and lines of other programs,
# take a part of a cache.
TOP = 1.1
UNUSABLE = ("misplaced", "wrong", "failed", "impossible", "interrupted")
NAMES = {
    "base": "the system's pages",
    "thp": "transparent huge pages",
    "2M": "reserved pages of 2 MiB",
    "1G": "reserved pages of 1 GiB",
}
HUGE = ("thp", "2M", "1G")
AGREES, DIFFERS, UNREPORTED, NOT_FOUND, UNSURE = (
    "agrees",
    "differs",
    "not reported",
    "not found",
    "can't tell",
)


@dataclass
class Level:
    name: str
    plateau: Optional[Plateau] = None
    time: Optional[float] = None  # s
    cycles: Optional[float] = None
    edge: Optional[Edge] = None
    ends: str = ""  # in words
    reported: str = ""
    verdict: str = ""  # one of the words above, or empty where there is nothing to compare
    remark: str = ""


@dataclass
class Finding:
    """The levels found in one curve."""

    whole: str
    pages: str
    what: str  # "caches" or "TLB"
    curve: str  # in words
    levels: list[Level] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    noise: Optional[float] = None
    special: bool = False  # not one pointer on each line
    first: bool = False  # the finding whose names count for the run


@dataclass
class Curve:
    """Points that differ in size alone."""

    whole: str
    variant: str
    pages: str
    element: str
    stride: float
    points: list[Row]

    @property
    def setting(self) -> str:
        packed = f", {size_text(self.stride)} apart" if self.stride else ""
        return ("" if self.element == "pointer" else f", {self.element} elements") + packed


def curves(db: duckdb.DuckDBPyConnection, variant: str) -> list[Curve]:
    """The curves of single chains, in the order of the runs, then of their parameters."""
    found = rows(
        db,
        "FROM load WHERE variant = ? AND chains = 1 AND size IS NOT NULL "
        "ORDER BY whole, pages <> 'base', pages, element DESC, stride, size",
        variant,
    )
    groups = groupby(found, lambda r: (r["whole"], r["pages"], r["element"], r["stride"]))
    return [
        Curve(whole, variant, pages, element, stride, list(points))
        for (whole, pages, element, stride), points in groups
    ]


def usable(curve: Curve) -> tuple[list[Row], list[str]]:
    """The points to find steps in, and remarks on the others. Noisy values that moved are replaced
    by those of undisturbed samples."""
    good = [_quiet(p) for p in curve.points if p["value"] and p["status"] not in UNUSABLE]
    remarks, small = [], []
    if curve.pages != "base":
        small = [p for p in good if p["huge"] is not None and p["huge"] < 0.9]
        good = [p for p in good if p not in small]
        if small:
            remarks.append(f"{_so_many(len(small))} not on huge pages after all, and left out")
    left = len(curve.points) - len(good) - len(small)
    if left:
        why = ", ".join(sorted({p["status"] for p in curve.points} & set(UNUSABLE)))
        remarks.append(f"{_so_many(left)} left out: {why or 'no value'}")
    shaky = sum(p["status"] in ("noisy", "unconverged") for p in good)
    if shaky:
        remarks.append(f"{shaky} of {len(good)} points are noisy or unconverged")
    return good, remarks


def _quiet(point: Row) -> Row:
    value = point["quiet"] or point["value"]
    cycles = point["cycles"] and point["cycles"] * value / point["value"]
    return {**point, "value": value, "cycles": cycles}


def _so_many(n: int) -> str:
    return "1 size was" if n == 1 else f"{n} sizes were"


def findings(db: duckdb.DuckDBPyConnection) -> list[Finding]:
    """For each run: the caches from each curve of `cycle`, the TLB from `page-random`."""
    machines = {
        r["run"]: json.loads(r["header"])["machine"]
        for r in rows(db, "SELECT run, header FROM run ORDER BY ordinal")
    }
    found: list[Finding] = []
    for whole, own in groupby(curves(db, "cycle"), lambda c: c.whole):
        each = [_caches(curve, machines[whole]) for curve in own]
        min(
            each, key=lambda f: (not f.levels, f.pages == "base", f.special, -len(f.levels))
        ).first = True
        found += each
    for whole, own in groupby(curves(db, "page-random"), lambda c: c.whole):
        caches = next((f for f in found if f.whole == whole and f.first), None)
        found += _translations(list(own), caches, machines[whole])
    for whole in machines:
        _rename([f for f in found if f.whole == whole], machines[whole]["memory"]["page"])
    return sorted(found, key=lambda f: list(machines).index(f.whole))


def _find(points: Sequence[Row]) -> Steps:
    return find([p["size"] for p in points], [p["value"] for p in points], *_intervals(points))


def _caches(curve: Curve, machine: Row) -> Finding:
    points, remarks = usable(curve)
    steps = _find(points)
    finding = Finding(
        curve.whole,
        curve.pages,
        "caches",
        f"cycle on {NAMES.get(curve.pages, curve.pages)}{curve.setting}",
    )
    finding.noise, finding.remarks, finding.special = (
        steps.noise,
        steps.remarks + remarks,
        bool(curve.setting),
    )
    if curve.pages == "base" and steps.edges:
        finding.remarks.append(
            "on the system's pages the TLB has its steps in this curve too: a level may be one of"
            " the TLB's"
        )
    if steps.plateaus:
        finding.levels = name_caches(
            steps, reported_caches(machine), bool(machine["virtual"]), finding.remarks
        )
        for level in finding.levels:
            _add_cycles(level, points)
    return finding


def reported_caches(machine: Row) -> dict[int, list[float]]:
    caches: dict[int, list[float]] = {}
    for cache in machine["topology"]["caches"] or []:
        if cache["type"] != "instruction" and cache["size"]:
            caches.setdefault(cache["level"], []).append(cache["size"])
    return caches


def name_caches(
    steps: Steps, reported: dict[int, list[float]], virtual: bool, remarks: list[str]
) -> list[Level]:
    """L1, L2, ... in order, and memory; then caches that are reported, but were not found. Adds to
    the remarks."""
    levels = []
    edges = {edge.below: edge for edge in steps.edges}
    for i, plateau in enumerate(steps.plateaus):
        edge = edges.get(i)
        last = i == len(steps.plateaus) - 1
        if last and edge is None and plateau.time >= FASTEST_MEMORY:
            levels.append(Level("memory", plateau, plateau.time))
            break
        level = Level(f"L{i + 1}", plateau, plateau.time, edge=edge, ends=_ends(edge, size_text))
        _compare(level, reported.get(i + 1, []), virtual, size_text)
        _explain(level, i + 1, reported)
        levels.append(level)
    found = sum(level.name != "memory" for level in levels)
    last_cache = max(reported.get(max(reported, default=0), [0]))
    if levels[-1].name != "memory":
        levels.append(
            Level(
                "memory",
                verdict=NOT_FOUND,
                remark=f"its plateau was not reached: {farther(reported)}",
            )
        )
    elif levels[-1].plateau and levels[-1].plateau.last < BEYOND * last_cache:
        remarks.append(
            f"the largest size, {size_text(levels[-1].plateau.last)}, is less than {BEYOND} times"
            " the last cache that is reported: what is called memory here may be that cache in"
            " part"
        )
    if reported and found != len(reported):
        remarks.append(
            f"{found} level{'s' * (found != 1)} of cache found, {len(reported)} reported: names go"
            " by order, so one may be misnamed"
        )
    for number in sorted(n for n in reported if n > found):
        text = " or ".join(size_text(size) for size in reported[number])
        levels.insert(
            -1,
            Level(
                f"L{number}",
                reported=text,
                verdict=NOT_FOUND,
                remark=f"no plateau of its own could be told: {farther(reported)}",
            ),
        )
    return levels


def farther(reported: dict[int, list[float]]) -> str:
    """What to measure up to a size that exceeds all of these caches."""
    last = max((size for sizes in reported.values() for size in sizes), default=0.0)
    mebibytes = max(256, 1 << (int(BEYOND * last) >> 20).bit_length())
    most = f"{mebibytes}M" if mebibytes < 1024 else f"{mebibytes >> 10}G"
    return f"locus latency --size 4K..{most}*2"


def _ends(edge: Optional[Edge], text: Any) -> str:
    """The end of a level, in words."""
    if edge is None:
        return "not before the curve does"
    return (
        text(edge.low)
        if text(edge.low) == text(edge.high)
        else f"{text(edge.low)} to {text(edge.high)}"
    )


def _compare(level: Level, reported: Sequence[float], virtual: bool, text: Any) -> None:
    """Compares with what is reported: one number, or several if cores differ."""
    edge = level.edge
    level.reported = " or ".join(dict.fromkeys(text(size) for size in reported))
    if edge is None:
        level.verdict = NOT_FOUND if reported else ""
        level.remark = (
            f"the curve ends before it does: measure up to {text(BEYOND * max(reported))}"
            if reported
            else ""
        )
        return
    if not reported:
        level.verdict = UNREPORTED
        return
    if any(edge.low <= size <= edge.high * TOP for size in reported):
        level.verdict = AGREES
        return
    end = edge.settled or edge.high
    if any(edge.high < size <= end for size in reported):
        # Pages at random places fill some sets of a cache early, and random replacement keeps some
        # lines: the end is soft.
        level.verdict = AGREES if edge.octaves <= LONG_RAMP else UNSURE
        level.remark = (
            f"the rise begins at {text(edge.size)} and goes on to {text(end)}; what is reported"
            " lies within"
        )
        return
    level.verdict = DIFFERS
    level.remark = (
        f"found at {_ends(edge, text).replace(' to ', '–')} where {level.reported} is reported"
    )
    if virtual and min(reported) > edge.high:
        level.remark += (
            ": a virtual machine may report its host's cache, of which other guests use a part"
        )


def _explain(level: Level, number: int, reported: dict[int, list[float]]) -> None:
    """For an edge that differs: whether another level is reported to end there."""
    edge = level.edge
    if level.verdict not in (DIFFERS, UNREPORTED) or edge is None:
        return
    for other, sizes in reported.items():
        if other != number and any(edge.low <= size <= edge.high * TOP for size in sizes):
            level.remark += f"{'; ' if level.remark else ''}L{other} is reported to end there"


def _add_cycles(level: Level, points: Sequence[Row]) -> None:
    plateau = level.plateau
    if plateau:
        own = [
            p["cycles"]
            for p in points
            if plateau.first <= p["size"] <= plateau.last and p["cycles"] is not None
        ]
        level.cycles = median(own) if own else None


def _translations(own: Sequence[Curve], caches: Optional[Finding], machine: Row) -> list[Finding]:
    """The TLB, from page-random on the system's pages and on huge ones."""
    found = []
    page = machine["memory"]["page"]
    for curve in own:
        if curve.pages != "base":
            continue
        points, remarks = usable(curve)
        finding = Finding(
            curve.whole,
            "base",
            "TLB",
            "page-random on the system's pages",
            remarks=remarks,
            first=True,
        )
        huge = _partner(curve, own)
        steps = _find_in_pages(points, page)
        finding.noise, finding.remarks = steps.noise, steps.remarks + remarks
        edges = _drop_cache_edges(steps.edges, caches, machine, [] if huge else finding.remarks)
        if huge:
            finding.curve += f", and the same on {NAMES.get(huge.pages, huge.pages)}"
            edges = _both(
                edges,
                _find_in_pages(difference(points, usable(huge)[0]), page).edges,
                finding.remarks,
            )
        else:
            finding.remarks.append(
                "the same was not measured on huge pages: steps that the caches make (N pages are N"
                " lines) are told apart only as far as cycle found these caches"
            )
        if steps.plateaus or edges:
            first = min(p["size"] for p in points) / page
            finding.levels = name_translations(
                edges, first, reported_tlb(machine), page, finding.remarks
            )
            for level in finding.levels:
                _add_time(level, points, page)
        found.append(finding)
    return found


def _find_in_pages(points: Sequence[Row], page: int) -> Steps:
    return find(
        [p["size"] / page for p in points],
        [p["value"] for p in points],
        *_intervals(points),
        text=_pages,
    )


def _both(alone: Sequence[Edge], apart: Sequence[Edge], remarks: list[str]) -> list[Edge]:
    """The edges that huge pages remove, and those of the curve itself that are not a cache's."""
    edges = list(apart)
    for edge in alone:
        near = [e for e in apart if edge.low <= e.high and e.low <= edge.high]
        if not near:
            edges.append(edge)
            remarks.append(
                f"the step at {_pages(edge.size)} is no cache's, and huge pages do not take it"
                " away: a hypervisor may piece them together from small ones, or the TLB holds no"
                " more of them"
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


def _length(curve: Curve) -> int:
    return len(curve.points)


def difference(base: Sequence[Row], huge: Sequence[Row]) -> list[Row]:
    """The cost of translation on top of the shortest load, so that the curve has a level to start
    from and a logarithm."""
    of_size = {p["size"]: p for p in huge}
    floor = min(p["value"] for p in huge)
    points = []
    for p in base:
        same = of_size.get(p["size"])
        if same is None:
            continue
        value = max(p["value"] - same["value"], 0) + floor
        low = high = None
        if None not in (p["low"], p["high"], same["low"], same["high"]):
            low = max(p["low"] - same["high"] + floor, floor / 2)
            high = max(p["high"] - same["low"] + floor, value)
        points.append({**p, "value": value, "low": low, "high": high})
    return points


def _intervals(points: Sequence[Row]) -> tuple[list[float], list[float]]:
    low, high = (
        [math.nan if p[end] is None else p[end] for p in points] for end in ("low", "high")
    )
    return low, high


def _drop_cache_edges(
    edges: Sequence[Edge], caches: Optional[Finding], machine: Row, remarks: list[str]
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
                f"the step at {_pages(edge.size)} is where a cache, found to end at"
                f" {size_text(cache.size)}, is full of lines: taken for the cache's"
            )
    return kept


def reported_tlb(machine: Row) -> dict[int, list[float]]:
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
        ends = f"{_ends(edge, _count)} pages ({_ends(edge, lambda n: size_text(n * page))})"
        level = Level(f"L{i + 1} TLB", Plateau(first, edge.size, 0, 0, 0, 0), edge=edge, ends=ends)
        _compare(level, reported.get(i + 1, []), False, _pages)
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
        level.remark = (
            "no step that would be its end: locus latency --variant cycle,page-random --pages"
            " base,thp"
        )
        levels.append(level)
    if not reported:
        remarks.append("the processor does not tell how many entries its TLBs have")
    return levels


def _add_time(level: Level, points: Sequence[Row], page: int) -> None:
    """The time of a load whose page is in that TLB, on the system's pages."""
    plateau = level.plateau
    own = [p for p in points if plateau and plateau.first <= p["size"] / page <= plateau.last]
    if own:
        level.time = median(p["value"] for p in own)
        cycles = [p["cycles"] for p in own if p["cycles"] is not None]
        level.cycles = median(cycles) if cycles else None


def _count(pages: float) -> str:
    return f"{pages:.0f}"


def _pages(pages: float) -> str:
    return f"{pages:.0f} pages"


def _rename(found: Sequence[Finding], page: int) -> None:
    """On the system's pages caches and TLB share a curve: renames its steps by what the other
    curves found separately."""
    caches = next((f for f in found if f.what == "caches" and f.first), None)
    if caches is None or caches.pages == "base":
        return
    ends = [(level.name, level.edge, 1) for level in caches.levels if level.edge]
    ends += [
        (level.name, level.edge, page)
        for f in found
        if f.what == "TLB"
        for level in f.levels
        if level.edge
    ]
    for finding in found:
        if (
            finding.what != "caches"
            or finding.pages != "base"
            or finding.special
            or not finding.levels
        ):
            continue
        finding.levels = [level for level in finding.levels if level.plateau]
        finding.remarks = [
            r for r in finding.remarks if "go by order" not in r and "one of the TLB's" not in r
        ]
        finding.remarks.append(
            "here the TLB has its steps too: the names are those found on huge pages and by"
            " page-random"
        )
        for level in finding.levels:
            if level.name == "memory":
                continue
            edge = level.edge
            same = [
                name
                for name, other, size in ends
                if edge and edge.low <= other.high * size and other.low * size <= edge.high
            ]
            level.name, level.verdict, level.remark, level.reported = "–", "", "", ""
            if same:
                level.verdict = f"the end of {' and of '.join(same)}"
            elif edge:
                level.verdict = "no level found elsewhere ends there"


HEAD = ("level", "plateau", "ns", "cycles", "ends at", "reported", "")


def cells(level: Level) -> tuple[str, ...]:
    """A row of the table, under HEAD."""
    p = level.plateau
    size = _count if "TLB" in level.name else size_text
    span = f"{size(p.first)} to {size(p.last)}{' pages' if size is _count else ''}" if p else "–"
    return (
        level.name,
        span,
        "–" if level.time is None else units.number(level.time * 1e9),
        "–" if level.cycles is None else units.number(level.cycles),
        level.ends or "–",
        level.reported or "–",
        level.verdict + (f": {level.remark}" if level.remark else ""),
    )


def text(db: duckdb.DuckDBPyConnection) -> str:
    """For a terminal; empty without a curve."""
    found = findings(db)
    names = {
        r["run"]: f"{r['host']}, {r['started'][:19]}Z"
        for r in rows(db, "SELECT run, host, started FROM run")
    }
    parts = []
    for whole, own in groupby(found, lambda f: f.whole):
        parts.append(names[whole])
        for finding in own:
            parts += ["", f"{finding.what}: {finding.curve}", *_table(finding.levels)]
            parts += [f"  - {remark}" for remark in finding.remarks]
        parts.append("")
    return "\n".join(parts).rstrip()


def _table(levels: Sequence[Level]) -> list[str]:
    if not levels:
        return []
    lines = [HEAD, *map(cells, levels)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
    numbers = (2, 3)
    return [
        "  "
        + "  ".join(
            cell.rjust(w) if i in numbers else cell.ljust(w)
            for i, (cell, w) in enumerate(zip(line, widths))
        ).rstrip()
        for line in lines
    ]
