# SPDX-License-Identifier: Apache-2.0
"""What trials say about a published claim, judged by intervals. A claim stays undecided if its
interval leaves it open, or if noise may explain it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as corners
from typing import Any, Optional

from . import units
from .records import graver, is_sound

Row = dict[str, Any]

AGREES, IN_PART, DIFFERS, UNSURE = "agrees", "agrees in part", "differs", "cannot be told"
MOST = 0.5  # of a cost: a cause explains at least that much, and a cure removes as much


def ratio(one: Row, other: Row) -> Optional[Row]:
    """The value of one trial over that of another, with the bounds that both intervals allow."""
    return product([(one, False), (other, True)]) if one["value"] and other["value"] else None


def product(factors: Sequence[tuple[Row, bool]]) -> Row:
    """The product of values, or of their inverses, and the interval that theirs allow."""
    known = all(v["low"] and v["high"] for v, _ in factors)
    found: Row = {"value": 1.0, "low": 1.0 if known else None, "high": 1.0 if known else None}
    for v, divides in factors:
        ends = ("high", "low") if divides else ("low", "high")
        for key, end in zip(found, ("value", *ends)):
            if found[key] is not None:
                found[key] = found[key] / v[end] if divides else found[key] * v[end]
    worst = factors[0][0]
    for v, _ in factors:
        worst = graver(worst, v)
    return {**found, **worst}


def taken_away(worse: Row, better: Row, base: Row) -> Row:
    """How much of the cost of `worse` over `base` the `better` one removes, with the bounds
    that the three intervals allow."""
    ends = [
        _part(*corner)
        for corner in corners(*((of["low"], of["high"]) for of in (worse, better, base)))
    ]
    return {
        "value": _part(worse["value"], better["value"], base["value"]),
        "low": min(ends),
        "high": max(ends),
    }


def _part(worse: float, better: float, base: float) -> float:
    return (worse - better) / (worse - base)


def _is_known(*trials: Row) -> bool:
    return all(t["low"] is not None and t["high"] is not None for t in trials)


def unfit(*trials: Row) -> str:
    """Why these trials allow no conclusion, in words; empty if they do."""
    for t in trials:
        if not is_sound(t):
            return f"{t['variant']} is {t['status']}"
    for t in trials:
        if not t["value"]:
            return f"{t['variant']} has no value"
    return "" if _is_known(*trials) else "there is no interval"


def of_most(part: Row) -> str:
    """Judges whether a part is at least MOST of a cost."""
    return AGREES if part["low"] >= MOST else IN_PART if part["high"] < MOST else UNSURE


def said(part: Row) -> str:
    return (
        f"{units.percent(part['value'])} ({units.percent(part['low'])} to"
        f" {units.percent(part['high'])})"
    )


def times(ratio: Row) -> str:
    interval = (
        ""
        if ratio["low"] is None
        else f" ({units.number(ratio['low'])} to {units.number(ratio['high'])})"
    )
    flag = "" if ratio["flag"] is None else f" ▲{ratio['flag']}"
    return units.number(ratio["value"]) + interval + flag
