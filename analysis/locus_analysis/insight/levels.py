# SPDX-License-Identifier: Apache-2.0
"""Names for the plateaus of latency: levels of cache and of TLB, compared with what the system
reports."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby

import duckdb

from ..base import units
from ..records import database
from . import advice, caches, run_variation, tlb
from .memory_level import HEAD, Finding, Level


@lru_cache(maxsize=1)
def findings(db: duckdb.DuckDBPyConnection) -> list[Finding]:
    """For each run, or series of runs: the caches from each curve of `cycle`, the TLB from
    `page-random`."""
    places = advice.places(db)
    found: dict[str, list[Finding]] = {whole: [] for whole in places}
    trials = run_variation.of_time(db, "latency")
    for whole, own in groupby(caches.curves(trials, "cycle"), lambda c: c.whole):
        each = [caches.found(curve, places[whole]) for curve in own]
        min(
            each, key=lambda f: (not f.levels, f.pages == "base", f.special, -len(f.levels))
        ).first = True
        found[whole] += each
        for finding in (f for f in each if f.first and f.levels):
            _advise(finding, *caches.narrower(finding, places[whole]))
            _advise(finding, *caches.timed(finding, places[whole]))
    for whole, own in groupby(caches.curves(trials, "page-random"), lambda c: c.whole):
        of_caches = next((f for f in found[whole] if f.first), None)
        of_pages = tlb.found(list(own), of_caches, places[whole])
        for finding in of_pages:
            _advise(finding, *tlb.narrower(finding, places[whole]))
        found[whole] += of_pages
    for of_run in found.values():
        _rename(of_run)
    return [finding for of_run in found.values() for finding in of_run]


def _advise(finding: Finding, what: str, then: advice.Advice) -> None:
    finding.remarks += [then.after(what)] if what else []


def _rename(found: Sequence[Finding]) -> None:
    """On the system's pages caches and TLB share a curve: renames its steps by what the other
    curves found separately."""
    of_caches = next((f for f in found if f.what == "caches" and f.first), None)
    if of_caches is None or of_caches.pages == "base":
        return
    ends = [
        (level.name, level.edge, f.unit)
        for f in (of_caches, *(f for f in found if f.what == "TLB"))
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
            "here the TLB has steps, too: the names are from the curves on huge pages and from"
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


def text(db: duckdb.DuckDBPyConnection) -> str:
    """For a terminal; empty without a curve."""
    names, parts = database.run_names(db), []
    for whole, own in groupby(findings(db), lambda f: f.whole):
        parts.append(names[whole])
        for finding in own:
            parts += ["", f"{finding.what}: {finding.curve}", *_table(finding.levels)]
            parts += [f"  - {remark}" for remark in finding.remarks]
        parts.append("")
    return "\n".join(parts).rstrip()


def _table(levels: Sequence[Level]) -> list[str]:
    if not levels:
        return []
    lines = units.aligned([HEAD, *(level.cells for level in levels)], (2, 3))
    return [f"  {line}" for line in lines]
