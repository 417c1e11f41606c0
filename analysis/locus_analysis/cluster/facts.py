# SPDX-License-Identifier: Apache-2.0
"""Settings and parts in which a host differs from most of its class."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache

from ..compare import facts
from ..compare.differences import Json
from ..compare.observations import Run, Side

ALIKE = 0.8  # of a class have the same value of a fact: then another one is told


@lru_cache(maxsize=1 << 14, typed=True)
def _once(value: Json) -> str:
    return json.dumps(value)


def _text(value: Json) -> str:
    """Most values are the same on all hosts."""
    return json.dumps(value) if isinstance(value, (dict, list)) else _once(value)


def modes(runs: Iterable[Run]) -> dict[str, tuple[str, int]]:
    """The value of each fact that most hosts have, and how many do; of facts in which nearly all
    are alike."""
    of_host = {r["host"]: r["settings"] for r in runs}
    values: dict[str, Counter[str]] = {}
    for own in of_host.values():
        for name, value in own.items():
            values.setdefault(name, Counter())[_text(value)] += 1
    modes = {name: found.most_common(1)[0] for name, found in values.items()}
    return {name: mode for name, mode in modes.items() if mode[1] >= ALIKE * len(of_host)}


def differing(run: Run, modes: Mapping[str, tuple[str, int]]) -> list[str]:
    found = []
    for name, (usual, n) in modes.items():
        own = _text(run["settings"].get(name))
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
    """By host: what it differs in from its class."""
    usual = modes(part.runs)
    last = {r["host"]: r for r in part.runs}
    return {host: found for host, run in last.items() if (found := differing(run, usual))}
