# SPDX-License-Identifier: Apache-2.0
"""The effect of counting on times, from batches that counted and batches that did not."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median
from typing import Optional, TypedDict

from ..records.database import graver, value_of
from ..records.rows import Counting, Judged
from .evidence import ratio
from .kernel_events import Counted


class Compared(Counted):
    """The time of batches that counted and of those that did not."""

    counted: Optional[float]
    bare: Optional[float]
    ratio: Judged


class Cost(TypedDict):
    """The effect of counting on times."""

    n: int  # trials
    median: float
    least: float
    most: float
    known: int  # have intervals
    apart: list[Compared]  # have intervals that do not overlap


def cost(trials: Iterable[Counted]) -> Optional[Cost]:
    """How many trials were compared, and those whose two intervals do not overlap."""
    compared: list[tuple[Compared, Counting]] = []
    for t in trials:
        c = t["counting"]
        of = _ratio(t, c) if c else None
        if c and of:
            line: Compared = {**t, "counted": c["counted"], "bare": c["bare"], "ratio": of}
            compared.append((line, c))
    if not compared:
        return None
    known = [(line, c) for line, c in compared if line["ratio"]["low"] is not None]
    ratios = [value_of(line["ratio"]) for line, _ in compared]
    return {
        "n": len(compared),
        "median": median(ratios),
        "least": min(ratios),
        "most": max(ratios),
        "known": len(known),
        "apart": [line for line, c in known if _is_apart(c)],
    }


def _is_apart(c: Counting) -> bool:
    """Whether the two intervals do not overlap."""
    low, high = c["counted_low"], c["counted_high"]
    bare_low, bare_high = c["bare_low"], c["bare_high"]
    assert low and high and bare_low and bare_high  # for the ratio has an interval
    return low > bare_high or high < bare_low


def _ratio(trial: Counted, c: Counting) -> Optional[Judged]:
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
