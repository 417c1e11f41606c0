# SPDX-License-Identifier: Apache-2.0
"""Trials of one side that have no valid result where the other side has one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Optional

import numpy as np
from numpy.typing import NDArray

from ..base import units
from ..records.database import STATUSES, UNUSABLE
from .observations import ABSENT, INTERRUPTED, Side

FAULTS = UNUSABLE[1:]
LEFT_OUT, CUT_OFF = "left out", "cut-off"

Where = NDArray[np.bool_]


@dataclass(frozen=True)
class Lost:
    """Trials that the other side has a valid result of, and the status that they have instead."""

    side: str  # its name
    status: str  # of FAULTS, or interrupted, or LEFT_OUT; of some runs: interrupted, or CUT_OFF
    trials: list[str]  # names
    hosts: list[str]  # on which they have the status, if the side has several
    runs: int = 0  # that lack them, where other runs of these hosts have them

    @property
    def is_fault(self) -> bool:
        return self.status in FAULTS

    @property
    def is_missing(self) -> bool:
        """No run of some host has a result."""
        return not self.is_fault and not self.is_of_runs

    @property
    def is_of_runs(self) -> bool:
        """Other runs have a result."""
        return self.runs > 0

    @property
    def counted(self) -> str:
        n = len(self.trials)
        if self.is_of_runs:
            return (
                f"{units.several(n, f'{self.status} trial')} in {units.several(self.runs, 'run')}"
            )
        return f"{self.status}: {units.several(n, 'trial')}"

    @property
    def on_hosts(self) -> str:
        return f" on {units.some(self.hosts)}" if self.hosts else ""


def without_result(trials: Mapping[str, str], side: Side) -> list[Lost]:
    """Of trials, named by id, that had a valid result: those with a fault in some run of the side,
    the gravest first; those of which a host has no result, because they were interrupted or left
    out; and those that only some runs of a host lack."""
    return [*_lost(trials, side, None)]


def between(old: Side, new: Side) -> list[Lost]:
    """The same of two sides. Each host needs what the same host has on the other side, and only a
    run that was cut off left something out. A fault of the old side is no loss of the new one."""
    before = [lost for lost in _lost(new.names, old, new) if not lost.is_fault]
    return [*_lost(old.names, new, old), *before]


def _lost(trials: Mapping[str, str], side: Side, other: Optional[Side]) -> Iterator[Lost]:
    status = _status(trials, side)
    names, gravest = [*trials.values()], status.max(0, initial=ABSENT)

    def told(word: str, where: Where, hosts: list[str], runs: int = 0) -> Iterator[Lost]:
        """`where`: by host and trial."""
        if where.any():
            own = [names[i] for i in np.flatnonzero(where.any(0))]
            on = [hosts[i] for i in np.flatnonzero(where.any(1))]
            yield Lost(side.name, word, own, on if hosts[1:] else [], runs)

    for word in FAULTS[::-1]:
        is_gravest = gravest == STATUSES.index(word)
        yield from told(word, side.on_hosts((status == gravest) & is_gravest), side.hosts)
    valid = (status > ABSENT) & (status < INTERRUPTED)
    interrupted, absent = status == INTERRUPTED, status == ABSENT
    cut = np.array([r["cut"] for r in side.runs], bool)[:, None]
    due = _due(trials, side, other) & ~side.on_hosts(status > INTERRUPTED)
    some = side.on_hosts(valid)
    missing = due & ~some & side.on_hosts(interrupted)
    left_out = due & ~some & ~missing & (side.on_hosts(absent & cut) | (other is None))
    yield from told(STATUSES[INTERRUPTED], missing, side.hosts)
    yield from told(LEFT_OUT, left_out, side.hosts)
    row = [side.hosts.index(r["host"]) for r in side.runs]
    for word, of_runs in ((STATUSES[INTERRUPTED], interrupted), (CUT_OFF, absent & cut)):
        where = of_runs & (due & some)[row]
        yield from told(word, side.on_hosts(where), side.hosts, int(where.any(1).sum()))


def _status(trials: Mapping[str, str], side: Side) -> NDArray[np.int_]:
    """By run and trial."""
    found = np.full((len(side.runs), len(trials)), ABSENT)
    known = [(i, id_) for i, id_ in enumerate(trials) if id_ in side.trials]
    found[:, [i for i, _ in known]] = side.status[:, side.places(id_ for _, id_ in known)]
    return found


def _due(trials: Mapping[str, str], side: Side, other: Optional[Side]) -> Where:
    """By host and trial: whether the other side has a result, of the same host if it has it."""
    found = np.ones((len(side.hosts), len(trials)), bool)
    if other is not None:
        status = _status(trials, other)
        valid = other.on_hosts((status > ABSENT) & (status < INTERRUPTED))
        place = {host: i for i, host in enumerate(other.hosts)}
        for i, host in enumerate(side.hosts):
            found[i] = valid[place[host]] if host in place else True
    return found
