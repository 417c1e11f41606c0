# SPDX-License-Identifier: Apache-2.0
"""The kernel's own events, which every record has: a row for each variant that had
some."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Optional

from ..base import units
from .event_meanings import KERNEL, KERNELS_OWN, meaning

Row = Any  # not typed yet

ALWAYS = ("cpu-time",)  # never zero: left out of the table of kernel events that occurred


def kernel(trials: list[Row], asked: Iterable[str]) -> Optional[Row]:
    hidden = {*asked, *ALWAYS}
    own = [
        (name, c)
        for t in trials
        for name, c in t["counters"].items()
        if c["source"] == KERNEL and name not in hidden
    ]
    names = list(dict.fromkeys(name for name, c in own if c["total"] is not None))
    unknown = _unknown(trials, hidden)
    if not names:
        return {"lines": [], "quiet": [], "unknown": unknown} if unknown else None
    happened = {name: [t for t in trials if _total(t, name)] for name in names}
    loud = [name for name in names if happened[name]]
    rows = [t for t in trials if any(_total(t, name) for name in loud)]
    groups: dict[str, list[Row]] = {}
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


def _unknown(trials: Iterable[Row], asked: set[str]) -> list[Row]:
    """The kernel's own events that could not be read, by reason."""
    return by_reason(
        (c["why"] or "no reason is told", name, t["id"])
        for t in trials
        for name, c in t["counters"].items()
        if c["value"] is None and c["total"] is None and name in KERNELS_OWN - asked
    )


def by_reason(found: Iterable[tuple[str, str, Optional[str]]]) -> list[Row]:
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


def _total(trial: Row, name: str) -> float:
    c = trial["counters"].get(name)
    return (c["total"] or 0.0) if c else 0.0


def _cell(trials: Sequence[Row], name: str) -> Row:
    totals = [_total(t, name) for t in trials]
    unit = next((t["counters"][name]["unit"] for t in trials if name in t["counters"]), "1")
    total = math.fsum(totals)
    text = f"{total:.0f}" if unit == "1" and total < 1e4 else units.count(total, unit)
    return {"text": text, "trials": sum(n > 0 for n in totals)}
