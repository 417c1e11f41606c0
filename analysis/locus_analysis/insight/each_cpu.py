# SPDX-License-Identifier: Apache-2.0
"""Compares CPUs: the time of fixed work on each over the median CPU's time; which CPU is slow, and
which computes wrong."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import Optional, TypedDict

import duckdb

from ..base import units
from ..records.database import UNUSABLE, select, value_of
from ..records.rows import Judged, Trial
from . import evidence

LEAST = 5  # CPUs: fewer have no scatter of their own
SHARE, SCATTER, NORMAL = 0.05, 5.0, 1.4826  # as for CPUs whose pairs stand out (core-to-core)
SLIGHT = 0.005  # a smaller difference would be shown as 1.00
NAMED = 8
QUERY = """
SELECT b.whole, b.id, cpu, b.value FROM by_cpu b JOIN headline h USING (whole, id)
WHERE b.benchmark = ? AND b.metric = h.metric ORDER BY b.position, worker
"""


class _Row(TypedDict):
    whole: str
    id: str
    cpu: int
    value: float


@dataclass(frozen=True)
class Each:
    """A trial whose headline has a value for each of several CPUs; above 1 is more than the median
    CPU's."""

    trial: Trial
    ratios: dict[int, float]

    @property
    def outlying(self) -> set[int]:
        return outlying(self.ratios)


def of(db: duckdb.DuckDBPyConnection, trials: Sequence[Trial]) -> list[Each]:
    """Of a benchmark's trials those that have such values."""
    benchmarks = {t["benchmark"] for t in trials if t["value"]}
    of = {benchmark: _values(db, benchmark) for benchmark in sorted(benchmarks)}
    found = []
    for t in trials:
        own = of.get(t["benchmark"], {}).get((t["whole"], t["id"]), {})
        median = statistics.median(own.values()) if len(own) > 1 else 0
        if median > 0:
            found.append(Each(t, {cpu: value / median for cpu, value in own.items()}))
    return found


@lru_cache(maxsize=4)
def _values(
    db: duckdb.DuckDBPyConnection, benchmark: str
) -> dict[tuple[str, str], dict[int, float]]:
    """Of all hosts: by run and trial."""
    values: dict[tuple[str, str], dict[int, float]] = {}
    for r in select(db, _Row, QUERY, benchmark):
        values.setdefault((r["whole"], r["id"]), {})[r["cpu"]] = r["value"]
    return values


def outlying(ratios: dict[int, float]) -> set[int]:
    """CPUs that are further from the median than scatter explains."""
    if len(ratios) < LEAST:
        return set()
    scatter = NORMAL * statistics.median(abs(r - 1) for r in ratios.values())
    return {cpu for cpu, r in ratios.items() if abs(r - 1) > max(SHARE, SCATTER * scatter)}


def over_trials(found: Sequence[Each]) -> dict[int, float]:
    """Of each CPU the median over trials."""
    of_cpu: dict[int, list[float]] = {}
    for each in found:
        for cpu, ratio in each.ratios.items():
            of_cpu.setdefault(cpu, []).append(ratio)
    return {cpu: statistics.median(own) for cpu, own in of_cpu.items()}


@dataclass(frozen=True)
class Slowest:
    """Of so many CPUs the slowest one, and its time over the median one's."""

    cpus: int
    cpu: int
    ratio: Judged
    apart: set[int]  # CPUs beyond scatter

    @property
    def is_slower(self) -> bool:
        """Whether its ratio surely lies above 1, or beyond the scatter of all CPUs."""
        beyond = value_of(self.ratio) - 1 > SLIGHT and evidence.exceeds(self.ratio, 1)
        return beyond or self.cpu in self.apart

    @property
    def is_open(self) -> bool:
        return not self.is_slower and evidence.side(self.ratio) != evidence.SAME

    @property
    def speed(self) -> Optional[float]:
        """Its speed as a share of the median CPU's; None: noise hides it."""
        return None if evidence.is_noisy(self.ratio) else 1 / value_of(self.ratio)

    @property
    def none_is(self) -> str:
        """ "all 64 CPUs are equal within 0.8 %"."""
        low, high = evidence.reach(self.ratio) or (0.0, inf)
        is_noisy = evidence.is_noisy(self.ratio)
        if self.is_open:
            known = high < inf and not is_noisy
            ends = f" ({low:.2g} to {high:.2g} times the median's time)" if known else ""
            return f"whether a CPU is slower is open{ends}"
        most = SHARE if is_noisy else max(high - 1, 1 - low)
        return f"all {self.cpus} CPUs are equal within {100 * most:.2g} %"


def slowest_of(found: Sequence[Each]) -> Slowest:
    of_cpu = {
        cpu: evidence.middle([_judged(each, cpu) for each in found if cpu in each.ratios])
        for cpu in over_trials(found)
    }
    ratios = {cpu: value_of(ratio) for cpu, ratio in of_cpu.items()}
    cpu = max(ratios, key=lambda c: ratios[c])
    return Slowest(len(ratios), cpu, of_cpu[cpu], outlying(ratios))


def _judged(each: Each, cpu: int) -> Judged:
    """A CPU's ratio: its interval lies about it as that of the metric that it comes from lies about
    its value. Modes of the time are none of this metric."""
    m, ratio = evidence.valued(each.trial, each.trial["metric"]), each.ratios[cpu]
    ends = m["low"], m["high"]
    low, high = (ratio * end / m["value"] if end and m["value"] else None for end in ends)
    return {
        "value": ratio,
        "low": low,
        "high": high,
        "modes": [],
        "flag": m["flag"],
        "status": m["status"],
        "reasons": m["reasons"],
    }


def wrong(trials: Sequence[Trial]) -> list[str]:
    """What trials with a wrong answer say of their CPUs, each once."""
    return [*dict.fromkeys(t["reasons"][0] for t in trials if t["status"] == "wrong")][:1]


def said(trials: Sequence[Trial], found: Sequence[Each]) -> str:
    """Wrong answers first; then the slowest CPU."""
    sound = [each for each in found if each.trial["status"] not in UNUSABLE]
    told = [f"{one}." for one in wrong(trials)]
    if sound:
        told.append(f"{slowest(sound)}.")
    return " ".join(told)


def slowest(found: Sequence[Each]) -> str:
    """ "CPU 17, the slowest of 64, has 0.900 of the median CPU's speed"."""
    one, ratios = slowest_of(found), over_trials(found)
    if not one.is_slower:
        return one.none_is[0].upper() + one.none_is[1:]
    slow = [str(c) for c in sorted(one.apart) if ratios[c] > 1]
    more = f"; CPU {units.some(slow, NAMED)} stand{'s' * (len(slow) < 2)} out" if slow else ""
    if one.speed is None:
        return f"CPU {one.cpu} is the slowest of {one.cpus}; noise hides by how much{more}"
    return (
        f"CPU {one.cpu}, the slowest of {one.cpus}, has {one.speed:.3f} of the median CPU's"
        f" speed{more}"
    )
