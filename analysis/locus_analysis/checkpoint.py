# SPDX-License-Identifier: Apache-2.0
"""Checkpoint: what the measurement makes of the published explanation.

The explanation (reference/sources.csv, nutter2008) was that two threads are slower than one
because the two counters, the tick and the count of firings, share a word or a line. If so,
taking the two apart - `apart` - must take the cost away; but the tick itself is shared by all
threads in both. So two ratios tell: what `together` takes to what `apart` takes, and how much of
what `together` costs over counters of one's own remains when they are apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any, Optional

from . import evidence, published, units
from .evidence import DIFFERS, IN_PART, UNSURE, ratio, times
from .records import is_sound

Row = dict[str, Any]

BODIES = {"loop": "bare loop", "reverse": "reversal of strings"}
MATTERS = 1.05  # a ratio within so much of 1 is none


def _body(trial: Row) -> str:
    return str(trial["parameters"].get("body", "loop"))


def verdict(together: Row, apart: Row, alone: Optional[Row]) -> Row:
    """Of three trials that differ in layout alone: whether it is the two counters on one line
    that cost."""
    costs = ratio(together, apart)
    left = ratio(apart, alone) if alone else None
    found: Row = {
        "ratio": costs,
        "left": left,
        "all": ratio(together, alone) if alone else None,
        "whole": together["whole"],
        "body": BODIES.get(_body(together), _body(together)),
        "threads": together["threads"],
    }
    why = evidence.unfit(together, apart)
    if why or costs is None:
        return {**found, "verdict": UNSURE, "why": why}
    if costs["high"] <= MATTERS:
        faster = costs["high"] < 1 / MATTERS
        gain = (
            "together is even faster"
            if faster
            else f"taking the counters apart gains less than {units.percent(MATTERS - 1)}"
        )
        return {**found, "verdict": DIFFERS, "why": gain + _rest(left)}
    if costs["low"] > MATTERS:
        return {**found, **_cause(together, apart, alone)}
    why = (
        f"the intervals allow that apart is as fast, and that it is {units.number(costs['high'])}"
        " times as fast"
    )
    return {**found, "verdict": UNSURE, "why": why}


def _rest(left: Optional[Row]) -> str:
    """What remains when the counters are apart."""
    if left is None or not is_sound(left):
        return ""
    if left["low"] is not None and left["low"] > MATTERS:
        return (
            f"; apart still takes {times(left)} times as long as counters of one's own: what costs"
            " is that all share the tick"
        )
    if left["high"] is not None and left["high"] <= MATTERS:
        return "; and neither costs anything over counters of one's own: these threads did not meet"
    return ""


def _cause(together: Row, apart: Row, alone: Optional[Row]) -> Row:
    """Taking the counters apart gains; how much of the cost that is."""
    whole = ratio(together, alone) if alone else None
    if alone is None:
        why = "how much of the cost that is, per-thread would tell"
    elif whole is None or evidence.unfit(alone):
        why = evidence.unfit(alone)
    elif whole["high"] <= MATTERS:
        why = "together costs nothing over counters of one's own"
    elif whole["low"] <= 1:
        why = "whether together costs anything over counters of one's own is open"
    else:
        part = evidence.taken_away(together, apart, alone)
        kind = evidence.of_most(part)
        rest = "; the rest is that all share the tick" if kind == IN_PART else ""
        why = (
            f"taking the counters apart takes away {evidence.said(part)} of what sharing them"
            f" costs{rest}"
        )
        return {"verdict": kind, "why": why}
    return {"verdict": UNSURE, "why": f"counters on two lines are faster, but {why}"}


def verdicts(trials: Sequence[Row]) -> list[Row]:
    """For every setting with two threads or more in which both layouts were measured."""
    settings: dict[str, dict[str, Row]] = {}
    for t in trials:
        if t["threads"] > 1:
            key = f"{sorted(t['parameters'].items())} {t['threads']} {t['bind']}"
            settings.setdefault(key, {})[t["variant"]] = t
    both = [s for s in settings.values() if {"together", "apart"} <= set(s)]
    return [verdict(s["together"], s["apart"], s.get("per-thread")) for s in both]


def conclusion(found: Sequence[Row]) -> str:
    """One sentence for a run."""
    if not found:
        return "cannot be told: together and apart were not both measured with two threads or more"
    kinds = list(dict.fromkeys(v["verdict"] for v in found))
    if len(found) == 1:
        return f"{kinds[0]}: {found[0]['why']}"
    if len(kinds) == 1:
        where = "any" if kinds == [UNSURE] else "all"
        return f"{kinds[0]} in {where} of {len(found)} settings; of the first: {found[0]['why']}"
    return "; ".join(
        f"{kind} in {sum(v['verdict'] == kind for v in found)} of {len(found)} settings"
        for kind in kinds
    )


def published_ratio() -> float:
    """Together over apart with two threads, of the medians of the repeats."""
    time = published.figures("checkpoint", "time")
    one, other = (
        median(f.value for f in time if (f.variant, f.threads) == (v, 2))
        for v in ("together", "apart")
    )
    return one / other


def section(trials: Sequence[Row]) -> Row:
    """Of one run."""
    found = verdicts(trials)
    return {"verdicts": found, "conclusion": conclusion(found)}
