# SPDX-License-Identifier: Apache-2.0
"""Analysis of single benchmarks beyond their line in the record: plug-ins, registered at the end of
this file. The rest of the page depends on none of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import duckdb

from . import (
    charts,
    claims,
    claims_drawn,
    core_to_core,
    curves,
    described,
    generic,
    levels,
    padding,
    published,
    records,
    scaling,
)
from .charts import Picture
from .described import Described
from .records import rows

Row = dict[str, Any]


@dataclass
class Given:
    """What a plug-in gets; it may add to the pictures."""

    db: duckdb.DuckDBPyConnection
    benchmark: str
    names: dict[str, str]  # of runs
    pictures: list[Picture]


@dataclass(frozen=True)
class Insight:
    find: Callable[[Given], Row]  # returns the content of its part of the page
    draws: bool = False  # it draws all pictures of the benchmark; else generic.py does


def add(given: Given, section: Row) -> None:
    """A benchmark's pictures, and the contribution of its plug-in."""
    insight = REGISTERED.get(given.benchmark)
    of = described.of(given.db, given.benchmark)
    measured = records.measured(given.db, given.benchmark)
    scaled = scaling.found_in(of, measured)
    section["scaled"] = scaled
    section["claims"] = {whole: claims.told(of, own) for whole, own in records.by_run(measured)}
    if insight is None or not insight.draws:
        shown = {(t["whole"], t["id"]) for curve in scaled for t in curve["lines"]}
        left = [t for t in measured if (t["whole"], t["id"]) not in shown]
        _draw(given, of, left, section["claims"])
    name = given.benchmark
    given.pictures += scaling.over_ranks(scaled, f"{name}-scaling", f"{name} over MPI ranks")
    if insight:
        section["own"] = insight.find(given)


def _draw(given: Given, of: Described, trials: list[Row], claimed: dict[str, list[Row]]) -> None:
    """Draws a benchmark from its line in the record."""
    machines = records.machines(given.db)
    shown = published.lesson(of.name).get("pages")
    pages = rows(given.db, "FROM pages ORDER BY node") if shown else []
    for whole, own in records.by_run(trials):
        own_pages = [p for p in pages if p["whole"] == whole]
        file = file_name(given.benchmark, given.names, whole)
        title = f"{given.benchmark} on {given.names[whole]}"
        drawn = generic.pictures(of, own, machines[whole], file, title, own_pages)
        beside = f"{title}: published claims"
        told = claims_drawn.pictures(of, claimed[whole], machines[whole], f"{file}-claims", beside)
        given.pictures += [*drawn[:1], *told, *drawn[1:]]


def file_name(what: str, names: dict[str, str], run: str) -> str:
    """A name of characters that every file system allows, with the number of the run."""
    if len(names) == 1:
        return what
    place = list(names).index(run) + 1
    return f"{what}-{place}-{re.sub(r'[^A-Za-z0-9-]+', '_', names[run])[:60]}"


def _latency(given: Given) -> Row:
    """Adds the pictures; returns the rows of the tables."""
    db, names, pictures = given.db, given.names, given.pictures
    found = levels.findings(db)
    hosts = {
        r["run"]: r
        for r in rows(
            db, "SELECT run, host, (header->>'$.machine.memory.page')::INT AS page FROM run"
        )
    }
    saved = []
    for whole, of_run in groupby(rows(db, "FROM load ORDER BY place"), lambda r: r["whole"]):
        load, file, name = list(of_run), file_name("latency", names, whole), names[whole]
        caches, translation = (
            next((f for f in found if f.whole == whole and f.what == w and f.first), None)
            for w in ("caches", "TLB")
        )
        shares = curves.shares(load)
        drawn = (
            curves.sizes(load, caches, file, f"latency on {name}"),
            curves.tlb(
                load,
                translation,
                shares,
                hosts[whole]["page"],
                file + "-tlb",
                f"latency: what translation costs on {name}",
            ),
            curves.chains(load, file + "-chains", f"latency: several chains at once on {name}"),
            curves.loaded(load, file + "-loaded", f"latency under load on {name}"),
            curves.beside(
                load,
                hosts[whole]["host"],
                file + "-published",
                f"latency on {name} beside published curves",
            ),
        )
        pictures += [p for p in drawn if p]
        saved += [{**s, "whole": whole} for s in _telling(shares)]
    return {"findings": found, "head": levels.HEAD, "shares": saved}


def _sharing(given: Given) -> Row:
    machines = records.machines(given.db)
    runs = records.by_run(records.told(given.db, "sharing"))
    found = {}
    for whole, own in runs:
        curves_found = padding.findings(own)
        line = padding.line_size(machines[whole])
        verdict = padding.verdict(curves_found, line) if curves_found else ""
        found[whole] = {"padding": curves_found, "verdict": verdict}
    return {"runs": found}


def _core_to_core(given: Given) -> Row:
    db, names, pictures = given.db, given.names, given.pictures
    machines, found = records.machines(db), {}
    for whole, own in records.by_run(records.told(db, "core-to-core")):
        file, title = file_name("core-to-core", names, whole), f"core-to-core on {names[whole]}"
        drawn = core_to_core.maps(own, machines[whole], file, title)
        pictures += drawn + _rest(own, drawn, file, title)
        found[whole] = core_to_core.tables(own)
    return {"runs": found}


def _rest(trials: list[Row], drawn: list[Picture], file: str, title: str) -> list[Picture]:
    """Bars for trials that no curve and no map shows. The nodes of their pages are left out: the
    data are a few lines."""
    shown = {i for p in drawn for i in p.shows}
    return charts.bars(
        [{**t, "how": None} for t in trials if t["id"] not in shown], [], file + "-bars", title
    )


def _telling(shares: list[Row]) -> list[Row]:
    """Sizes that are factors of four apart, down from the largest for each kind of pages."""
    kept: list[Row] = []
    for s in sorted(shares, key=lambda s: (s["pages"], -s["x"])):
        if not kept or kept[-1]["pages"] != s["pages"] or s["x"] * 4 <= kept[-1]["x"] * 1.01:
            kept.append(s)
    return sorted((s for s in kept if s["x"] >= 1 << 16), key=lambda s: (s["pages"], s["x"]))


REGISTERED = {
    "latency": Insight(_latency, draws=True),
    "sharing": Insight(_sharing),
    "core-to-core": Insight(_core_to_core, draws=True),
}
