# SPDX-License-Identifier: Apache-2.0
"""The kernel's own events, which every record has: a row for each variant that had
some."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Optional, TypedDict

from ..base import units
from ..records.rows import Counter, Counting, Trial
from .event_meanings import KERNEL, KERNELS_OWN, meaning

ALWAYS = ("cpu-time",)  # never zero: left out of the table of kernel events that occurred


class Counted(Trial):
    """A trial with its counters, by name, and what counting cost."""

    counters: dict[str, Counter]
    counting: Optional[Counting]


class Reason(TypedDict):
    """Why events were not counted, and in how many trials; None: in all."""

    why: str
    names: list[str]
    trials: Optional[int]


class Column(TypedDict):
    name: str
    meaning: str
    trials: int  # in which it is not zero


class Cell(TypedDict):
    text: str
    trials: int


class Line(TypedDict):
    variant: str
    trials: int
    cells: list[Cell]


class Kernel(TypedDict):
    """The kernel's own events of a run."""

    columns: list[Column]
    lines: list[Line]
    happened: int  # trials in which some event is not zero
    of: int  # trials
    quiet: list[str]  # events that are zero in all
    unknown: list[Reason]


def kernel(trials: Sequence[Counted], asked: Iterable[str]) -> Optional[Kernel]:
    hidden = {*asked, *ALWAYS}
    own = [
        (name, c)
        for t in trials
        for name, c in t["counters"].items()
        if c["source"] == KERNEL and name not in hidden
    ]
    names = list(dict.fromkeys(name for name, c in own if c["total"] is not None))
    unknown = _unknown(trials, hidden)
    if not names and not unknown:
        return None
    happened = {name: [t for t in trials if _total(t, name)] for name in names}
    loud = [name for name in names if happened[name]]
    rows = [t for t in trials if any(_total(t, name) for name in loud)]
    groups: dict[str, list[Counted]] = {}
    for t in rows:
        groups.setdefault(t["variant"], []).append(t)
    return {
        "columns": [
            {"name": name, "meaning": meaning(name), "trials": len(happened[name])} for name in loud
        ],
        "lines": [
            {"variant": v, "trials": len(own), "cells": [_cell(own, name) for name in loud]}
            for v, own in groups.items()
        ],
        "happened": len(rows),
        "of": len(trials),
        "quiet": [name for name in names if name not in loud],
        "unknown": unknown,
    }


def _unknown(trials: Iterable[Counted], asked: set[str]) -> list[Reason]:
    """The kernel's own events that could not be read, by reason."""
    return by_reason(
        (c["why"] or "no reason is given", name, t["id"])
        for t in trials
        for name, c in t["counters"].items()
        if c["value"] is None and c["total"] is None and name in KERNELS_OWN - asked
    )


def by_reason(found: Iterable[tuple[str, str, Optional[str]]]) -> list[Reason]:
    """From reasons, events and trials (None: all) a row for each reason; `trials`: how many."""
    rows: dict[str, tuple[dict[str, None], set[Optional[str]]]] = {}
    for why, name, trial in found:
        names, ids = rows.setdefault(why, ({}, set()))
        names[name] = None
        ids.add(trial)
    return [
        {"why": why, "names": list(names), "trials": None if None in ids else len(ids)}
        for why, (names, ids) in rows.items()
    ]


def _total(trial: Counted, name: str) -> float:
    c = trial["counters"].get(name)
    return (c["total"] or 0.0) if c else 0.0


def _cell(trials: Sequence[Counted], name: str) -> Cell:
    totals = [_total(t, name) for t in trials]
    unit = next((t["counters"][name]["unit"] for t in trials if name in t["counters"]), "1")
    total = math.fsum(totals)
    text = f"{total:.0f}" if unit == "1" and total < 1e4 else units.count(total, unit)
    return {"text": text, "trials": sum(n > 0 for n in totals)}
