# SPDX-License-Identifier: Apache-2.0
"""Counters: the counts of hardware and kernel during the measurement, their meaning, the cost of
counting, and the events that could not be counted.

A zero of a counter that never counted anything although work was done is not shown as zero: the
counter may not work. The reason why something was not counted is given once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any, Optional

import duckdb

from ..base import units
from ..records import database
from ..records.database import graver
from ..records.rows import Judged
from .event_meanings import KERNEL, KERNELS_OWN, meaning
from .evidence import ratio
from .kernel_events import by_reason, kernel

Row = Any  # not typed yet

SOURCES = {
    "papi": "PAPI",
    "perf": "perf_event_open",
    KERNEL: "the kernel",
    "ratio": "from the others",
}
PREFIXED = {"nJ": (1e-9, "J"), "uJ": (1e-6, "J"), "ns": (1e-9, "s"), "us": (1e-6, "s")}
UNEQUAL = 1.5  # greatest over least count of the threads: above it their shares are shown
FEW = 100  # events: with fewer, differences among threads are chance
EACH = 8  # threads: up to so many are shown one by one


def counted(db: duckdb.DuckDBPyConnection, benchmark: str) -> list[Row]:
    """The trials of a benchmark with counts, or with events that could not be counted: `counters`
    by name, in the order of the record; `counting`."""
    trials: dict[tuple[str, str], Row] = {
        (t["whole"], t["id"]): {**t, "counters": {}, "counting": None}
        for t in database.measured(db, benchmark)
        if t["metrics"]["time"]["value"] is not None
    }
    query = (
        "SELECT c.* FROM counter c JOIN trial USING (whole, id) WHERE benchmark = ?"
        " ORDER BY whole, id, counter_place"
    )
    for c in database.rows(db, query, benchmark):
        if (c["whole"], c["id"]) in trials:
            trials[c["whole"], c["id"]]["counters"][c["name"]] = _in_base_units(c)
    for cost in database.rows(db, "FROM counting"):
        if (cost["whole"], cost["id"]) in trials:
            trials[cost["whole"], cost["id"]]["counting"] = cost
    return [t for t in trials.values() if t["counters"]]


def _in_base_units(counter: Row) -> Row:
    """Converts nJ, in which PAPI has energies."""
    factor, unit = PREFIXED.get(counter["unit"], (1.0, counter["unit"]))
    if factor == 1:
        return counter
    scaled = {
        key: None if counter[key] is None else counter[key] * factor
        for key in ("value", "low", "high", "total")
    }
    parts = counter["per_thread"] and [
        None if part is None else part * factor for part in counter["per_thread"]
    ]
    return {**counter, **scaled, "unit": unit, "per_thread": parts}


def drop_notes(db: duckdb.DuckDBPyConnection, trials: Iterable[Row]) -> None:
    """Removes those of the trials' `notes` that the page gives once for all trials."""
    doubts = database.rows(db, "SELECT whole, id, name, why FROM counter WHERE NOT trusted")
    said = {(c["whole"], c["id"], f"{c['name']} is not to be trusted: {c['why']}") for c in doubts}
    for t in trials:
        t["notes"] = [note for note in t["notes"] if (t["whole"], t["id"], note) not in said]


def section(db: duckdb.DuckDBPyConnection, trials: Sequence[Row]) -> dict[str, Row]:
    """Each run's part of the page about counters; {} for records without any."""
    found = {}
    for whole in dict.fromkeys(t["whole"] for t in trials):
        own = [t for t in trials if t["whole"] == whole]
        events = _measured(
            own, database.rows(db, "FROM event WHERE whole = ? ORDER BY ordinal, place", whole)
        )
        asked = _measured(
            own, database.rows(db, "FROM counters_asked WHERE whole = ? ORDER BY ordinal", whole)
        )
        most = max((a["passes"] for a in asked), default=0)
        by_name = {e["name"]: e for e in events}  # as the last run that asked for it found it
        found[whole] = _of_run(
            own, list(by_name.values()), {**asked[-1], "passes": most} if asked else None
        )
    return found


def _measured(trials: Iterable[Row], rows: Iterable[Row]) -> list[Row]:
    """The rows of runs that measured some of these trials. In a resumed record another run may have
    measured none of them, and asked for other events."""
    parts = {t["part"] for t in trials}
    return [row for row in rows if row["part"] in parts]


def _of_run(trials: list[Row], events: Sequence[Row], asked: Optional[Row]) -> Row:
    names = shown(trials, events)
    here = {name for t in trials for name in t["counters"]}
    own_events = [e for e in events if e["name"] in here]
    return {
        "asked": asked,
        "columns": [_column(name, trials, own_events) for name in names],
        "lines": ([line for t in trials if (line := _line(t, names))["cells"]] if names else []),
        "lacking": lacking(trials, own_events) if asked else [],
        "untrusted": untrusted(trials),
        "unequal": [
            u
            for t in trials
            for name in names
            if name in t["counters"] and (u := unequal(t, t["counters"][name]))
        ],
        "cost": cost(trials),
        "kernel": kernel(trials, {e["name"] for e in events}),
    }


def shown(trials: Iterable[Row], events: Iterable[Row]) -> list[str]:
    """Events that were asked for and counted at least once, and their quotients. Without the
    kernel's own events that nobody asked for."""
    asked = {e["name"] for e in events}
    by_name: dict[str, bool] = {}
    for t in trials:
        for name, c in t["counters"].items():
            if c["source"] != KERNEL or name in asked:
                by_name[name] = by_name.get(name, False) or c["value"] is not None
    return [name for name, has_value in by_name.items() if has_value]


def is_zero_in_doubt(counter: Row) -> bool:
    return counter["value"] is not None and not counter["trusted"]


def _column(name: str, trials: Iterable[Row], events: Iterable[Row]) -> Row:
    any_of = next(
        t["counters"][name]
        for t in trials
        if name in t["counters"] and t["counters"][name]["value"] is not None
    )
    per = None if any_of["source"] == "ratio" else any_of["per"]
    event: Row = next((e for e in events if e["name"] == name), {})
    return {
        "name": name,
        "meaning": meaning(name),
        "per": per,
        "heading": f"{name} per {per}" if per else name,
        "unit": any_of["unit"],
        "source": SOURCES.get(any_of["source"], any_of["source"]),
        "scope": (
            "once a package"
            if any_of["scope"] == "package"
            else "each thread"
            if any_of["source"] != "ratio"
            else ""
        ),
        "pass": event.get("pass"),
    }


def headline(trial: Row) -> Row:
    """The time beside the counts: the benchmark's headline if less of it is better (search-time for
    search), else the time per unit."""
    first = trial["metrics"].get(trial["metric"])
    return {**(first if trial["better"] == "lower" and first else trial["metrics"]["time"])}


def _line(trial: Row, names: Sequence[str]) -> Row:
    cells = [cell(trial["counters"].get(name)) for name in names]
    return {
        **trial,
        "time": headline(trial),
        "cells": cells if any(c["text"] for c in cells) else [],
    }


def cell(counter: Optional[Row]) -> Row:
    """The content of a cell: a text, and a paler one below it."""
    if counter is None or counter["value"] is None:
        return {"text": "", "below": "", "why": counter["why"] if counter else None}
    if is_zero_in_doubt(counter):
        return {"text": "not counted?", "below": "", "why": counter["why"]}
    return {"text": said(counter), "below": interval(counter), "why": None}


def said(counter: Row) -> str:
    return units.count(counter["value"], counter["unit"])


def interval(counter: Row) -> str:
    low, high = counter["low"], counter["high"]
    if low is None or high is None:
        return ""
    return f"{units.count(low, counter['unit'])} to {units.count(high, counter['unit'])}"


def lacking(trials: Iterable[Row], events: Sequence[Row]) -> list[Row]:
    """Events that could not be counted, in all trials or in some."""
    in_all = [(e["why"] or "", e["name"], None) for e in events if not e["source"]]
    told = {name for _, name, _ in in_all} | (KERNELS_OWN - {e["name"] for e in events})
    in_some = [
        (c["why"], name, t["id"])
        for t in trials
        for name, c in t["counters"].items()
        if c["value"] is None and name not in told and c["why"]
    ]
    return by_reason([*in_all, *in_some])


def untrusted(trials: Iterable[Row]) -> list[Row]:
    """Zeros of counters that may not have counted."""
    return by_reason(
        (c["why"] or "", name, t["id"])
        for t in trials
        for name, c in t["counters"].items()
        if is_zero_in_doubt(c)
    )


def unequal(trial: Row, counter: Row) -> Optional[Row]:
    """Counts that differ among threads by more than chance."""
    parts = [(i, p) for i, p in enumerate(counter["per_thread"] or []) if p is not None]
    whole = math.fsum(p for _, p in parts)
    few = counter["unit"] == "1" and counter["total"] is not None and counter["total"] < FEW
    if (
        len(parts) < 2
        or whole <= 0
        or few
        or max(p for _, p in parts) <= UNEQUAL * min(p for _, p in parts)
    ):
        return None
    shares = [(i, p / whole) for i, p in parts]
    if len(shares) <= EACH:
        text = ", ".join(f"{i}: {units.percent(s)}" for i, s in shares)
    else:
        least, most = min(shares, key=_share), max(shares, key=_share)
        middle = median(s for _, s in shares)
        text = (
            f"most {units.percent(most[1])} (thread {most[0]}), least {units.percent(least[1])}"
            f" (thread {least[0]}), median {units.percent(middle)}"
        )
    return {**trial, "name": counter["name"], "text": text, "even": 1 / len(parts)}


def _share(part: tuple[int, float]) -> float:
    return part[1]


def cost(trials: Iterable[Row]) -> Optional[Row]:
    """The effect of counting on the times: how many were compared, and those whose two intervals do
    not overlap."""
    compared = [
        (t, t["counting"])
        for t in trials
        if t["counting"] and t["counting"]["counted"] and t["counting"]["bare"]
    ]
    if not compared:
        return None
    lines = [{**t, **c, "ratio": _ratio(t, c)} for t, c in compared]
    known = [line for line in lines if line["ratio"]["low"] is not None]
    ratios = [line["ratio"]["value"] for line in lines]
    return {
        "n": len(lines),
        "median": median(ratios),
        "least": min(ratios),
        "most": max(ratios),
        "known": len(known),
        "apart": [
            c
            for c in known
            if c["counted_low"] > c["bare_high"] or c["counted_high"] < c["bare_low"]
        ],
    }


def _ratio(trial: Row, c: Row) -> Optional[Row]:
    """The time of batches that counted over that of the others."""
    verdict = graver(trial, trial)
    counted: Judged = {
        "value": c["counted"],
        "low": c["counted_low"],
        "high": c["counted_high"],
        "modes": [],
        **verdict,
    }
    bare: Judged = {
        "value": c["bare"],
        "low": c["bare_low"],
        "high": c["bare_high"],
        "modes": [],
        **verdict,
    }
    return ratio(counted, bare)
