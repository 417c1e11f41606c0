# SPDX-License-Identifier: Apache-2.0
"""What trials say about a published claim, judged by intervals. A claim stays undecided if its
interval leaves it open, or if noise may explain it."""

from __future__ import annotations

from itertools import product
from typing import Any, Optional

from . import units
from .records import graver, is_sound

Row = dict[str, Any]

AGREES, IN_PART, DIFFERS, UNSURE = "agrees", "agrees in part", "differs", "cannot be told"
MOST = 0.5  # of a cost: a cause explains at least that much, and a cure removes as much


def ratio(one: Row, other: Row) -> Optional[Row]:
    """The value of one trial over that of another, with the bounds that both intervals allow."""
    if not one["value"] or not other["value"]:
        return None
    known = _is_known(one, other) and other["low"] > 0
    return {
        "value": one["value"] / other["value"],
        "low": one["low"] / other["high"] if known else None,
        "high": one["high"] / other["low"] if known else None,
        **graver(one, other),
    }


def taken_away(worse: Row, better: Row, base: Row) -> Row:
    """How much of the cost of `worse` over `base` the `better` one removes, with the bounds
    that the three intervals allow."""
    ends = [
        _part(*corner)
        for corner in product(*((of["low"], of["high"]) for of in (worse, better, base)))
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
