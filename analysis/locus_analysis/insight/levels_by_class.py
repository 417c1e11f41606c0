# SPDX-License-Identifier: Apache-2.0
"""Levels of cache and TLB, and the padding, of many hosts: for each class of machines the medians
over its hosts, and the hosts that differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from statistics import median
from typing import Optional, TypedDict, TypeVar

import duckdb

from ..base import units
from ..records.database import select
from . import advice, levels, padding, run_variation
from .memory_level import Finding, Level

FAR = 3.5  # robust standard deviations from the median: such a host differs,
SLIGHT = 0.05  # and by more than this share
NAMED = 10  # hosts in a line
HEAD = ("level", "hosts", "ns", "cycles", "ends at", "reported", "")


T = TypeVar("T")


class _Run(TypedDict):
    run: str
    host: str


def text(db: duckdb.DuckDBPyConnection) -> str:
    """For a terminal; empty without a curve. Of several runs of a host the last one counts."""
    host_of = {r["run"]: r["host"] for r in select(db, _Run, "SELECT run, host FROM run")}
    places = advice.places(db)
    found: dict[str, dict[str, Finding]] = {}  # by what, and by host
    for finding in levels.findings(db):
        if finding.levels and (finding.first or finding.what == "TLB"):
            found.setdefault(finding.what, {})[host_of[finding.whole]] = finding
    told: dict[str, str] = {}
    trials = run_variation.of_time(db, "sharing")
    for whole, group in groupby(padding.findings(trials), lambda f: f.whole):
        told[host_of[whole]] = padding.verdict(list(group), places[whole])
    classes: dict[str, dict[str, str]] = {}  # hosts, with their CPU
    for whole, place in places.items():
        cpu = place.machine["cpu"]["model"] or place.machine["cpu"]["architecture"]
        classes.setdefault(str(place.machine["class"]), {})[host_of[whole]] = cpu or "unknown CPU"
    parts: list[str] = []
    for hosts in sorted(classes.values(), key=len, reverse=True):
        own = [line for what in found for line in _block(what, _of(found[what], hosts))]
        own += _paddings(_of(told, hosts))
        if own:
            parts += [f"{units.several(len(hosts), 'host')} with {next(iter(hosts.values()))}"]
            parts += [*own, ""]
    return "\n".join(parts).rstrip()


def _of(found: dict[str, T], hosts: dict[str, str]) -> dict[str, T]:
    return {host: one for host, one in found.items() if host in hosts}


def _block(what: str, of: dict[str, Finding]) -> list[str]:
    """The table of a class, and lines of hosts that differ."""
    by_level: dict[str, dict[str, Level]] = {}
    for host, finding in sorted(of.items()):
        for level in finding.levels:
            by_level.setdefault(level.name, {})[host] = level
    if not by_level:
        return []
    common = Counter(tuple(level.name for level in f.levels) for f in of.values())
    order = [*dict.fromkeys([*common.most_common(1)[0][0], *by_level])]
    rows = [HEAD, *(_row(name, by_level[name], len(of)) for name in order)]
    differ = [line for name in order for line in _differing(name, by_level[name], [*of])]
    table = [f"  {line}" for line in units.aligned(rows, (1, 2, 3))]
    return ["", f"{what}: medians over the hosts", *table, *differ]


def _row(name: str, of: dict[str, Level], hosts: int) -> tuple[str, ...]:
    times = [level.time * 1e9 for level in of.values() if level.time is not None]
    cycles = [level.cycles for level in of.values() if level.cycles is not None]
    return (
        name,
        f"{len(times)} of {hosts}",
        units.number(median(times)) if times else "–",
        units.number(median(cycles)) if cycles else "–",
        _most([level.ends for level in of.values()]) or "–",
        _most([level.reported for level in of.values()]) or "–",
        _most([level.verdict for level in of.values()]),
    )


def _most(texts: Sequence[str]) -> str:
    return Counter(texts).most_common(1)[0][0]


def _differing(name: str, of: dict[str, Level], hosts: Sequence[str]) -> list[str]:
    """Hosts whose time is far from the median, or that end the level elsewhere than most do."""
    lines = []
    if apart := far({h: level.time for h, level in of.items() if level.time is not None}):
        said = [f"{host} {ratio:.2f}" for host, ratio in apart]
        lines.append(f"  - {name}, time over the median: {units.some(said, NAMED)}")
    usual = _most([level.verdict for level in of.values()])
    others: dict[str, list[str]] = {}
    for host in sorted(hosts):
        level: Optional[Level] = of.get(host)
        if level is None or level.verdict != usual:
            others.setdefault(level.verdict if level else "not there", []).append(host)
    lines += [
        f"  - {name}, {verdict or 'nothing to compare'}: {units.some(own, NAMED)}"
        for verdict, own in others.items()
    ]
    return lines


def far(values: Mapping[str, float]) -> list[tuple[str, float]]:
    """The hosts whose value is far from the median, with their ratio to it, the farthest first."""
    middle = median(values.values()) if values else 0.0
    scatter = 1.4826 * median(abs(v - middle) for v in values.values()) if values else 0.0
    limit = max(FAR * scatter, SLIGHT * abs(middle))
    apart = [(host, v / middle) for host, v in values.items() if middle and abs(v - middle) > limit]
    return sorted(apart, key=lambda a: -abs(a[1] - 1))


def _paddings(of: dict[str, str]) -> list[str]:
    if not of:
        return []
    alike: dict[str, list[str]] = {}
    for host, said in sorted(of.items()):
        alike.setdefault(said, []).append(host)
    (usual, own), *others = sorted(alike.items(), key=lambda a: -len(a[1]))
    lines = ["", f"padding, {len(own)} of {units.several(len(of), 'host')}: {usual}"]
    return lines + [f"  - {units.some(hosts, NAMED)}: {said}" for said, hosts in others[:NAMED]]
