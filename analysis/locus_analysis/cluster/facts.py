# SPDX-License-Identifier: Apache-2.0
"""Settings and parts in which a host differs from most of its class."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from ..compare import facts
from ..compare.observations import Run, Side

ALIKE = 0.8  # of a class have the same value of a fact: then another one is told


def modes(runs: Iterable[Run]) -> dict[str, tuple[str, int]]:
    """The value of each fact that most hosts have, and how many do; of facts in which nearly all
    are alike."""
    of_host = {r["host"]: r["settings"] for r in runs}
    values: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for alike, n in Counter(map(json.dumps, of_host.values())).items():
        for name, value in json.loads(alike).items():
            values[name][json.dumps(value)] += n
    modes = {name: found.most_common(1)[0] for name, found in values.items()}
    return {name: mode for name, mode in modes.items() if mode[1] >= ALIKE * len(of_host)}


def differing(run: Run, modes: Mapping[str, tuple[str, int]]) -> list[str]:
    found = []
    for name, (usual, n) in modes.items():
        own = json.dumps(run["settings"].get(name))
        if own != usual and name != "machine.class":
            path = name.removeprefix("machine.")
            short = path.replace("_", " ")
            found.append(f"{short} {_told(path, own)} ({n}: {_told(path, usual)})")
    return found


def _told(path: str, value: str) -> str:
    known = json.loads(value)
    if known is None:
        return "none" if path in facts.NONE else "unknown"
    if isinstance(known, list):
        return f"{len(known)} of them"
    return (known if isinstance(known, str) else value)[:40]


def of_hosts(part: Side) -> dict[str, list[str]]:
    """By host: what it differs in from its class. Most hosts are alike."""
    usual = modes(part.runs)
    last = {r["host"]: r for r in part.runs}
    text = {host: json.dumps(run["settings"]) for host, run in last.items()}
    one = {own: host for host, own in text.items()}
    found = {own: differing(last[host], usual) for own, host in one.items()}
    return {host: found[own] for host, own in text.items() if found[own]}
