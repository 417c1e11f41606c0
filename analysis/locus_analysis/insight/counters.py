# SPDX-License-Identifier: Apache-2.0
"""Counters: the counts of hardware and kernel during the measurement, their meaning, and the events
that could not be counted.

A zero of a counter that never counted anything although work was done is not shown as zero: the
counter may not work. The reason why something was not counted is given once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Optional, TypedDict, TypeVar

import duckdb

from ..base import units
from ..records import database
from ..records.database import select, value_of
from ..records.rows import (
    Counter,
    CountersAsked,
    Counting,
    Event,
    Metric,
    Shown,
    Value,
)
from .counting_cost import Cost, cost
from .event_meanings import KERNEL, KERNELS_OWN, meaning
from .kernel_events import Counted, Kernel, Reason, by_reason, kernel

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


class Quantity(Value):
    unit: str


class InPart(TypedDict):
    part: str


P = TypeVar("P", bound=InPart)

_Pass = TypedDict("_Pass", {"pass": Optional[int]})


class Column(_Pass):
    name: str
    meaning: str
    per: Optional[str]
    heading: str
    unit: str
    source: Optional[str]  # in words
    scope: str  # in words


class Cell(TypedDict):
    text: str
    below: str  # paler
    why: Optional[str]


class Line(Counted):
    time: Metric
    cells: list[Cell]


class Unequal(Counted):
    """A count that differs among threads."""

    name: str
    text: str
    even: float  # the share of each thread if all were equal


class OfRun(TypedDict):
    """A run's part of the page about counters."""

    asked: Optional[CountersAsked]
    columns: list[Column]
    lines: list[Line]
    lacking: list[Reason]
    untrusted: list[Reason]
    unequal: list[Unequal]
    cost: Optional[Cost]
    kernel: Optional[Kernel]


def counted(db: duckdb.DuckDBPyConnection, benchmark: str) -> list[Counted]:
    """The trials of a benchmark with counts, or with events that could not be counted: `counters`
    by name, in the order of the record; `counting`."""
    trials: dict[tuple[str, str], Counted] = {
        (t["whole"], t["id"]): {**t, "counters": {}, "counting": None}
        for t in database.measured(db, benchmark)
        if t["metrics"]["time"]["value"] is not None
    }
    query = (
        "SELECT c.* FROM counter c JOIN trial USING (whole, id) WHERE benchmark = ?"
        " ORDER BY whole, id, counter_place"
    )
    for c in select(db, Counter, query, benchmark):
        if (c["whole"], c["id"]) in trials:
            trials[c["whole"], c["id"]]["counters"][c["name"]] = _in_base_units(c)
    for counting in select(db, Counting, "FROM counting"):
        if (counting["whole"], counting["id"]) in trials:
            trials[counting["whole"], counting["id"]]["counting"] = counting
    return [t for t in trials.values() if t["counters"]]


def _in_base_units(counter: Counter) -> Counter:
    """Converts nJ, in which PAPI has energies."""
    factor, unit = PREFIXED.get(counter["unit"], (1.0, counter["unit"]))
    if factor == 1:
        return counter

    def scaled(value: Optional[float]) -> Optional[float]:
        return None if value is None else value * factor

    return {
        **counter,
        "unit": unit,
        "value": scaled(counter["value"]),
        "low": scaled(counter["low"]),
        "high": scaled(counter["high"]),
        "total": scaled(counter["total"]),
        "per_thread": counter["per_thread"] and [scaled(part) for part in counter["per_thread"]],
    }


class _Doubt(TypedDict):
    whole: str
    id: str
    name: str
    why: Optional[str]


def drop_notes(db: duckdb.DuckDBPyConnection, trials: Iterable[Shown]) -> None:
    """Removes from the trials' `notes` what the page says once for all trials."""
    doubts = select(db, _Doubt, "SELECT whole, id, name, why FROM counter WHERE NOT trusted")
    said = {(c["whole"], c["id"], f"{c['name']} is not to be trusted: {c['why']}") for c in doubts}
    for t in trials:
        t["notes"] = [note for note in t["notes"] if (t["whole"], t["id"], note) not in said]


def section(db: duckdb.DuckDBPyConnection, trials: Sequence[Counted]) -> dict[str, OfRun]:
    """Each run's part of the page about counters; {} for records without any."""
    found: dict[str, OfRun] = {}
    for whole in dict.fromkeys(t["whole"] for t in trials):
        own = [t for t in trials if t["whole"] == whole]
        events = _measured(
            own, select(db, Event, "FROM event WHERE whole = ? ORDER BY ordinal, place", whole)
        )
        asked = _measured(
            own,
            select(
                db, CountersAsked, "FROM counters_asked WHERE whole = ? ORDER BY ordinal", whole
            ),
        )
        most = max((a["passes"] for a in asked), default=0)
        by_name = {e["name"]: e for e in events}  # as the last run that asked for it found it
        found[whole] = _of_run(
            own, list(by_name.values()), {**asked[-1], "passes": most} if asked else None
        )
    return found


def _measured(trials: Iterable[Counted], rows: Iterable[P]) -> list[P]:
    """The rows of runs that measured some of these trials. In a resumed record another run may have
    measured none of them, and asked for other events."""
    parts = {t["part"] for t in trials}
    return [row for row in rows if row["part"] in parts]


def _of_run(
    trials: Sequence[Counted], events: Sequence[Event], asked: Optional[CountersAsked]
) -> OfRun:
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


def shown(trials: Iterable[Counted], events: Iterable[Event]) -> list[str]:
    """Events that were asked for and counted at least once, and their quotients. Without the
    kernel's own events that nobody asked for."""
    asked = {e["name"] for e in events}
    by_name: dict[str, bool] = {}
    for t in trials:
        for name, c in t["counters"].items():
            if c["source"] != KERNEL or name in asked:
                by_name[name] = by_name.get(name, False) or c["value"] is not None
    return [name for name, has_value in by_name.items() if has_value]


def is_zero_in_doubt(counter: Counter) -> bool:
    return counter["value"] is not None and not counter["trusted"]


def _column(name: str, trials: Iterable[Counted], events: Iterable[Event]) -> Column:
    any_of = next(
        t["counters"][name]
        for t in trials
        if name in t["counters"] and t["counters"][name]["value"] is not None
    )
    source = any_of["source"]
    per = None if source == "ratio" else any_of["per"]
    event = next((e for e in events if e["name"] == name), None)
    return {
        "name": name,
        "meaning": meaning(name),
        "per": per,
        "heading": f"{name} per {per}" if per else name,
        "unit": any_of["unit"],
        "source": SOURCES.get(source or "", source),
        "scope": (
            "once a package"
            if any_of["scope"] == "package"
            else "each thread"
            if source != "ratio"
            else ""
        ),
        "pass": event["pass"] if event else None,
    }


def headline(trial: Counted) -> Metric:
    """The time beside the counts: the benchmark's headline if less of it is better (search-time for
    search), else the time per unit."""
    first = trial["metrics"].get(trial["metric"])
    return {**(first if trial["better"] == "lower" and first else trial["metrics"]["time"])}


def _line(trial: Counted, names: Sequence[str]) -> Line:
    cells = [cell(trial["counters"].get(name)) for name in names]
    return {
        **trial,
        "time": headline(trial),
        "cells": cells if any(c["text"] for c in cells) else [],
    }


def cell(counter: Optional[Counter]) -> Cell:
    """The content of a cell: a text, and a paler one below it."""
    if counter is None or counter["value"] is None:
        return {"text": "", "below": "", "why": counter["why"] if counter else None}
    if is_zero_in_doubt(counter):
        return {"text": "not counted?", "below": "", "why": counter["why"]}
    return {"text": said(counter), "below": interval(counter), "why": None}


def said(counter: Quantity) -> str:
    return units.count(value_of(counter), counter["unit"])


def interval(counter: Quantity) -> str:
    low, high = counter["low"], counter["high"]
    if low is None or high is None:
        return ""
    return f"{units.count(low, counter['unit'])} to {units.count(high, counter['unit'])}"


def lacking(trials: Iterable[Counted], events: Sequence[Event]) -> list[Reason]:
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


def untrusted(trials: Iterable[Counted]) -> list[Reason]:
    """Zeros of counters that may not have counted."""
    return by_reason(
        (c["why"] or "", name, t["id"])
        for t in trials
        for name, c in t["counters"].items()
        if is_zero_in_doubt(c)
    )


def unequal(trial: Counted, counter: Counter) -> Optional[Unequal]:
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
