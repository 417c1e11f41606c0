# SPDX-License-Identifier: Apache-2.0
"""The machine and the program, as the header of a record describes them: rows of a table. All that
it holds is shown; only the units of numbers are known here."""

from __future__ import annotations

from collections.abc import Iterator

from ..base import units
from .lines import Header, Topology

Node = dict[str, object]  # an object of the header

LEFT_OUT = ("cpu.flags", "topology.hwloc")  # long, and for programs
UNITS = {
    "B": (
        *("memory.total", "memory.available", "memory.page", "memory.huge_page"),
        *("nodes.memory", "nodes.free", "caches.size", "caches.line", "tlb.page"),
        *("hugepages.size", "modules.size", "cgroup.memory_limit"),
    ),
    "Hz": ("frequency.minimum", "frequency.base", "frequency.maximum"),
    "s": ("clock.overhead", "clock.resolution"),
}
UNIT_OF = {path: unit for unit, paths in UNITS.items() for path in paths}


def table(header: Header) -> list[tuple[str, list[str]]]:
    """By subject, the lines of its cell."""
    own = {"binding": header["binding"], "clock": header["clock"], "program": header["program"]}
    return list(_rows("machine", {**header["machine"], **own}))


def kinds(topology: Topology) -> str:
    """The kinds of cores that the program may use, where cores differ in speed."""
    told = [f"{kind['cores']} {kind['name']}" for kind in topology.get("kinds", [])]
    return f" ({', '.join(told)})" if told else ""


def _rows(subject: str, of: Node) -> Iterator[tuple[str, list[str]]]:
    inner = {key: value for key, value in of.items() if _is_nested(value)}
    if told := _line(subject, of):
        yield subject, [told]
    for key, value in inner.items():
        if isinstance(value, dict):
            yield from _rows(key, value)
        elif isinstance(value, list):
            yield key, [_line(key, each) for each in value]


def _is_nested(value: object) -> bool:
    """Whether it has rows, or lines, of its own."""
    parts = value if isinstance(value, list) else [value]
    return any(isinstance(part, dict) for part in parts)


def _line(subject: str, of: Node) -> str:
    shown = [key for key in of if not key.endswith("_why") and f"{subject}.{key}" not in LEFT_OUT]
    return ", ".join(
        f"{key} {_said(f'{subject}.{key}', of[key], of.get(f'{key}_why'))}"
        for key in shown
        if not _is_nested(of[key])
    )


def _said(path: str, value: object, why: object) -> str:
    unit = UNIT_OF.get(path)
    if value is None or value == []:
        return f"unknown ({why})" if why else "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if unit and isinstance(value, (int, float)):
        return units.size(value) if unit == "B" else units.quantity(value, unit)
    if isinstance(value, list):
        return units.ranges(value) if isinstance(value[0], int) else " ".join(map(_entry, value))
    return str(value)


def _entry(value: object) -> str:
    return f"[{' '.join(map(str, value))}]" if isinstance(value, list) else str(value)
