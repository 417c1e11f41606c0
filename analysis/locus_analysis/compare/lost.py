# SPDX-License-Identifier: Apache-2.0
"""Trials of one side that have no valid result on the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..base import units
from ..records.database import STATUSES, UNUSABLE
from .observations import ABSENT, INTERRUPTED, Side

FAULTS = UNUSABLE[1:]
LEFT_OUT = "left out"


@dataclass(frozen=True)
class Lost:
    """Trials that had a valid result, and the status that they have instead."""

    status: str  # of FAULTS, or interrupted, or LEFT_OUT
    trials: list[str]  # names
    hosts: list[str]  # that have the status; none where it was left out

    @property
    def is_fault(self) -> bool:
        return self.status in FAULTS

    @property
    def counted(self) -> str:
        return f"{self.status}: {units.several(len(self.trials), 'trial')}"


def without_result(trials: Mapping[str, str], side: Side) -> list[Lost]:
    """Trials that had a valid result, named by id, and have none now: those with a fault in some
    run of the side, the gravest first, and those without a valid result in any."""
    found: dict[str, list[str]] = {s: [] for s in (*FAULTS[::-1], STATUSES[INTERRUPTED], LEFT_OUT)}
    gravest = dict(zip(side.trials, side.status.max(0)))
    for id_ in trials:
        worst = gravest.get(id_, ABSENT)
        if worst > INTERRUPTED or id_ not in side.names:
            found[LEFT_OUT if worst == ABSENT else STATUSES[worst]].append(id_)
    return [
        Lost(status, [trials[id_] for id_ in own], side.having(status, own))
        for status, own in found.items()
        if own
    ]
