# SPDX-License-Identifier: Apache-2.0
"""The published figures of a claim (claims.py): those that its rule in lessons/NAME.json names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Optional

from ..base import units
from ..records import published
from ..records.published import Claim, ClaimRule, Figure
from ..records.rows import Trial
from .claim_terms import terms


def figures(benchmark: str, claim: Claim) -> list[Figure]:
    """The published values of a claim: ratios as published, or computed from published figures that
    differ in the variant alone; of repeats the median."""
    rule: ClaimRule = claim.get("published", {})
    if not {"ratio", "figures"} & set(rule):
        return []
    names = rule.get("names", {})

    def theirs(f: Figure, value: float) -> Figure:
        at = {names.get(k, k): v for k, v in f.parameters.items() if k not in rule.get("any", [])}
        return replace(f, parameters=at, value=value)

    if "ratio" in rule:
        return [
            theirs(f, f.value)
            for f in published.ratios(benchmark)
            if rule["ratio"] in (f.variant, f.parameters.get("compare")) and _speaks_of(claim, f)
        ]
    groups: dict[tuple[object, ...], dict[str, list[Figure]]] = {}
    for f in published.figures(benchmark, rule["figures"]):
        key = (f.machine, f.threads, *sorted(theirs(f, 0).parameters.items()))
        groups.setdefault(key, {}).setdefault(f.variant, []).append(f)
    found = []
    for by in groups.values():
        value = 1.0
        for term in terms(rule.get("value") or claim["value"]):
            figures = [f for name in term.names for f in by.get(name, [])]
            middle = sorted(f.value for f in figures)[len(figures) // 2] if figures else None
            value = 0 if not middle else value / middle if term.divides else value * middle
        first = next(iter(by.values()))[0]
        if value and _speaks_of(claim, first):
            found.append(theirs(first, value))
    return found


def differing(claim: Claim, trials: Sequence[Trial]) -> str:
    """What is not as published in these trials: parameters in which they differ from the `geometry`
    of the claim's rule, and what differs anyway."""
    rule: ClaimRule = claim.get("published", {})
    said = []
    for name, theirs in rule.get("geometry", {}).items():
        ours = {str(t["parameters"][name]) for t in trials if name in t["parameters"]} - {theirs}
        if ours:
            said.append(f"{name} {', '.join(sorted(ours))} instead of {theirs}")
    return "; ".join([*said, *filter(None, [rule.get("otherwise")])])


def _speaks_of(claim: Claim, f: Figure) -> bool:
    wanted = claim.get("where", {}).get("threads")
    if f.threads is None or wanted is None:
        return True
    return str(f.threads) == wanted if wanted.isdecimal() else f.threads > 1


def words(theirs: Sequence[Figure]) -> str:
    """The range of values for each machine and number of threads."""
    groups: dict[tuple[str, Optional[int]], list[float]] = {}
    for t in theirs:
        groups.setdefault((t.machine, t.threads), []).append(t.value)
    return "; ".join(
        " to ".join(dict.fromkeys(map(units.number, (min(values), max(values)))))
        + f" ({', '.join(filter(None, (published.short(machine), said_threads(threads))))})"
        for (machine, threads), values in groups.items()
    )


def said_threads(n: Optional[int]) -> str:
    return "" if n is None else units.several(n, "thread")
