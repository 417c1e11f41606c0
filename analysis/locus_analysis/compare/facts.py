# SPDX-License-Identifier: Apache-2.0
"""Facts of machines, by their path in a header's `machine`: what good machines of a class have in
common, for locus health and compare --baseline. A fact is a value that is to be equal, or the least
or most of a number. None says that it is unknown or, at a path in NONE, that there is to be none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Union

from ..base import units
from .differences import Json

Fact = Union[None, str, int, float, bool, dict[str, float]]
Facts = Mapping[str, Json]  # by path; None: there is none

EQUAL = (
    *("topology.packages", "topology.cores", "topology.cpus", "topology.online", "topology.smt"),
    *("memory.thp.enabled", "memory.thp.defrag", "memory.thp.allowed", "memory.channels"),
    *("cgroup.cpu_quota", "numa_balancing"),
    *("frequency.driver", "frequency.governor", "frequency.maximum", "frequency.turbo"),
)
# Where null is no gap: nothing is set.
NONE = ("cgroup.cpu_quota",)
OF_MODULES = ("count", "type", "size", "configured_speed")
# Firmware and kernel keep some of it, not the same on equal machines: a module of 32 is missing.
LEAST = {"memory.total": 0.98}
# Errors since the machine's start: as many are no sign of a fault.
MOST = {"errors.corrected": 1000, "errors.uncorrected": 0, "errors.machine_checks": 0}


def of(machine: Json) -> dict[str, Json]:
    """The facts that are known."""
    modules = _at(machine, "memory.modules")
    kinds = range(len(modules) if isinstance(modules, list) else 0)
    paths = [f"memory.modules.{i}.{name}" for i in kinds for name in OF_MODULES]
    told = {path: _at(machine, path) for path in (*EQUAL, *paths, *LEAST, *MOST)}
    return {p: v for p, v in told.items() if v is not None or (p in NONE and is_none(machine, p))}


def is_none(machine: Json, path: str) -> bool:
    """Whether null at this path says that nothing is set."""
    folder, _, key = path.rpartition(".")
    inside = _at(machine, folder) if path in NONE else None
    return isinstance(inside, dict) and key in inside and inside[key] is None


@cache
def _keys(path: str) -> list[str]:
    return path.split(".")


def _at(machine: Json, path: str) -> Json:
    at = machine
    for key in _keys(path):
        at = at[int(key)] if isinstance(at, list) else at.get(key) if isinstance(at, dict) else None
    return at


def common(machines: Sequence[dict[str, Json]]) -> dict[str, Fact]:
    """What all of them have in common."""
    return dict(_common(machines))


def _common(machines: Sequence[dict[str, Json]]) -> Iterator[tuple[str, Fact]]:
    for path, first in machines[0].items():
        values = [machine.get(path) for machine in machines]
        numbers = [value for value in values if isinstance(value, (int, float))]
        if path in (*LEAST, *MOST):
            if len(numbers) == len(values):
                least = path in LEAST
                end = min(numbers) * LEAST[path] if least else max(*numbers, MOST[path])
                yield path, {"least" if least else "most": int(end)}
        elif not isinstance(first, (list, dict)) and all(value == first for value in values):
            yield path, first


# ---- a machine held against facts, in the words of locus health ----

ENDS = {"": "", "least": "at least ", "most": "at most "}
IN_BYTES = ("total", "size", "memory")  # how their paths end


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def check(fact: object) -> None:
    """Raises ValueError if it is none: the file may have been edited."""
    of = {*fact} if isinstance(fact, dict) else set()
    bounds = isinstance(fact, dict) and of and of <= {"least", "most"}
    if isinstance(fact, list) or (
        isinstance(fact, dict) and not (bounds and all(map(is_number, fact.values())))
    ):
        raise ValueError(f"{json.dumps(fact):.40} is neither a value nor its least or most")
    if isinstance(fact, dict) and fact.get("least", -math.inf) > fact.get("most", math.inf):
        raise ValueError(f"{json.dumps(fact):.60}: least and most are not in this order")


def differing(known: Facts, wanted: Mapping[str, Fact]) -> list[str]:
    """What is not as expected: "memory total 11.8 GiB, at least 23.1 GiB expected"."""
    told = []
    for path, fact in wanted.items():
        for way, end in (fact if isinstance(fact, dict) else {"": fact}).items():
            if path in known and is_judged(known, path, fact) and _is_beyond(way, known[path], end):
                own, expected = _said(path, known[path], end)
                told.append(f"{path.replace('.', ' ')} {own}, {ENDS[way]}{expected} expected")
    return told


def is_judged(known: Facts, path: str, fact: Fact) -> bool:
    """Whether it is known, and of the fact's kind: a slip in the file says nothing of a machine."""
    if path not in known or (fact is None and path not in NONE):
        return False
    kinds = (_kind(known[path]), "number" if isinstance(fact, dict) else _kind(fact))
    return kinds[0] == kinds[1] or type(None).__name__ in kinds


def _kind(value: object) -> str:
    return "number" if is_number(value) else type(value).__name__


def _is_beyond(way: str, value: Json, end: Json) -> bool:
    """A limit that is not set, None, is beyond every other."""
    if way and value is None:
        return way == "most"
    if way and isinstance(value, (int, float)) and isinstance(end, (int, float)):
        return value < end if way == "least" else value > end
    return value != end or isinstance(value, bool) != isinstance(end, bool)


def _said(path: str, *both: Json) -> list[str]:
    """Two values in a few words; as many digits as tell numbers apart."""

    def show(value: float, digits: int) -> str:
        if value < 1e6:
            return f"{value:.{max(digits, 6)}g}"
        if path.endswith(IN_BYTES):
            return units.size(value, digits)
        return units.with_digits(value, " ", digits).rstrip()

    numbers = [v for v in both if isinstance(v, (int, float)) and not isinstance(v, bool)]
    if len(numbers) == len(both):
        return units.apart(numbers, show)
    return [v if isinstance(v, str) else "none" if v is None else json.dumps(v) for v in both]
