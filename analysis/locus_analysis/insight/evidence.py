# SPDX-License-Identifier: Apache-2.0
"""What can be concluded from trials: the one rule for the card, for sentences and for claims.

A statement about a sign, or about a class, holds where every bound of the 95 % interval and every
mode lies on its side, whatever the status of the trials. Otherwise it is not told. The value is not
told where a trial is noisy, since noise may have moved it, nor where it has two modes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as corners
from math import inf, prod
from typing import Any, Optional

from ..base import units
from ..records.database import UNUSABLE, graver

Row = Any  # not typed yet

AGREES, IN_PART, DIFFERS, UNSURE = "agrees", "agrees in part", "differs", "cannot be told"
MOST = 0.5  # of a cost: a cause explains at least that much, and a cure removes as much


ABOVE, BELOW, SAME, OPEN = "above", "below", "no difference", "open"
MATTERS = 1.05  # a ratio within this factor of 1 counts as no difference


def reach(of: Row) -> Optional[tuple[float, float]]:
    """From the least to the greatest of a value's bounds and modes; None without an interval, and
    where the value is not that of the trial."""
    if of.get("status") in UNUSABLE or of["low"] is None or of["high"] is None:
        return None
    ends = [of["low"], of["high"], *of.get("modes", [])]
    return min(ends), max(ends)


def holds(of: Row, low: float, high: float) -> Optional[bool]:
    """Whether a value lies between these limits: true where all of its reach does, false where none
    of it does. None: it is not told."""
    ends = reach(of)
    if ends is None:
        return None
    if low <= ends[0] and ends[1] <= high:
        return True
    return False if ends[1] < low or high < ends[0] else None


def side(ratio: Row) -> str:
    """On which side of 1 a ratio is."""
    if holds(ratio, 1 / MATTERS, MATTERS):
        return SAME
    if holds(ratio, 1, inf):
        return ABOVE
    return BELOW if holds(ratio, 0, 1) else OPEN


def is_noisy(of: Row) -> bool:
    """Whether its value is not to be told."""
    return bool(of.get("status") == "noisy")


def told(of: Row) -> str:
    """As much of a value as may be told; of a noisy one nothing."""
    if is_noisy(of) or of["value"] is None:
        return ""
    ends = reach(of)
    if not of.get("modes") or not ends:
        return times(of)
    return f"{units.number(ends[0])} to {units.number(ends[1])}, in two modes"


def valued(trial: Row, metric: str) -> Row:
    """A metric of a trial: value, interval and modes, with the trial's variant and status."""
    own = trial["metrics"][metric]
    known = {key: own.get(key) for key in ("value", "low", "high", "sound_runs", "tried")}
    return {
        **known,
        "modes": [mode["value"] for mode in own.get("modes") or []],
        "variant": trial["variant"],
        **graver(trial, trial),
    }


def ratio(one: Row, other: Row) -> Optional[Row]:
    """The value of one trial over that of another, with the bounds that both intervals allow."""
    return product([(one, False), (other, True)]) if one["value"] and other["value"] else None


def product(factors: Sequence[tuple[Row, bool]]) -> Row:
    """The product of values, or of their inverses, and the interval and modes that theirs allow."""
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
    return {**found, "modes": _modes(factors), **worst}


def _modes(factors: Sequence[tuple[Row, bool]]) -> list[float]:
    if not any(v.get("modes") for v, _ in factors):
        return []
    each = [
        [m**-1 if divides else m for m in v.get("modes") or [v["value"]]] for v, divides in factors
    ]
    return sorted(prod(corner) for corner in corners(*each))


def taken_away(worse: Row, better: Row, base: Row) -> Row:
    """How much of the cost of `worse` over `base` the `better` one removes, with the bounds
    that the three intervals allow."""
    ends = [
        _part(*corner) for corner in corners(*(reach(of) or () for of in (worse, better, base)))
    ]
    return {
        "value": _part(worse["value"], better["value"], base["value"]),
        "low": min(ends),
        "high": max(ends),
    }


def _part(worse: float, better: float, base: float) -> float:
    return (worse - better) / (worse - base)


def unfit(*trials: Row) -> str:
    """Why these trials allow no conclusion, in words; empty if they do."""
    for t in trials:
        if t["status"] in UNUSABLE:
            return f"{t['variant']} is {t['status']}"
        if not t["value"]:
            return f"{t['variant']} has no value"
    return "" if all(map(reach, trials)) else "there is no interval"


def of_most(part: Row) -> str:
    """Judges whether a part is at least MOST of a cost."""
    return AGREES if part["low"] >= MOST else IN_PART if part["high"] < MOST else UNSURE


def times(ratio: Row) -> str:
    if ratio["low"] is None:
        return units.number(ratio["value"])
    ends = f"{units.number(ratio['low'])} to {units.number(ratio['high'])}"
    return f"{units.number(ratio['value'])} ({ends})"


def flag(of: Row) -> str:
    """The mark of a trial in the table of flaws."""
    return "" if of["flag"] is None else f" ▲{of['flag']}"
