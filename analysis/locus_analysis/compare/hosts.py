# SPDX-License-Identifier: Apache-2.0
"""Hosts that became slower by themselves, and the lines about them. A package above this one judges
them (cluster/changes.py)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from ..base import units

NAMED = 8  # hosts that have a line


@dataclass(frozen=True)
class HostChange:
    host: str
    component: str
    ratio: float  # new over old time, beside the other hosts' ratios
    beyond: int  # metrics of the component that are beyond the limit, of `known`
    known: int
    is_certain: bool  # False: one run a side cannot exclude other work
    others: int  # further components in which it may be slower


@dataclass
class Changes:
    judged: int = 0  # hosts
    slower: list[HostChange] = field(default_factory=list)  # the certain ones first

    @property
    def certain(self) -> list[HostChange]:
        return [c for c in self.slower if c.is_certain]

    @property
    def open(self) -> list[HostChange]:
        return [c for c in self.slower if not c.is_certain]


def told(changes: Changes) -> list[tuple[str, str]]:
    """Lines for a heading, each with the word before it."""
    lines = [("slower", _of(c)) for c in changes.certain[:NAMED]]
    if changes.certain[NAMED:]:
        lines.append(("slower", units.several(len(changes.certain) - NAMED, "more host")))
    if changes.open:
        names = [f"{c.host} ({c.component} {c.ratio:.2f})" for c in changes.open]
        lines.append(
            ("look", f"{units.some(names, 3)}: in one run, perhaps by other work; measure again")
        )
    return lines


def _of(c: HostChange) -> str:
    others = f", and in {units.several(c.others, 'other component')}" if c.others else ""
    return (
        f"{c.host}: {c.component} takes {c.ratio:.2f} times as long beside the other hosts"
        f" ({c.beyond} of {units.several(c.known, 'metric')}){others}"
    )


def rows(changes: Sequence[HostChange]) -> list[dict[str, object]]:
    return [asdict(c) for c in changes]
