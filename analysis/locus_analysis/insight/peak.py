# SPDX-License-Identifier: Apache-2.0
"""The bandwidth of memory beside the peak of its modules: 8 bytes a transfer and channel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Optional

from ..base import units
from ..records.database import is_sound, value_of
from ..records.lines import Machine
from ..records.rows import Trial

CHANNEL = 8  # bytes of a transfer


class Peak(NamedTuple):
    """`value`: B/s, or why it is not known."""

    value: Optional[float]
    why: str


def of(machine: Machine) -> Peak:
    """Of all channels that hold memory, at the speed that the slowest module is set to."""
    memory = machine["memory"]
    speeds = [m["configured_speed"] or m["speed"] for m in memory["modules"] or []]
    channels = memory["channels"]
    lacking = [
        what
        for what, known in (
            ("the modules' speed (root reads it)", all(speeds) and speeds),
            ("the channels in use (EDAC reports them)", channels),
        )
        if not known
    ]
    if lacking or not channels:
        return Peak(None, f"the record lacks {' and '.join(lacking)}")
    speed = min(s for s in speeds if s)
    told = f"{units.several(channels, 'channel')} of {units.quantity(speed, 'T/s')}"
    return Peak(CHANNEL * channels * speed, told)


def said(trials: Sequence[Trial], machine: Machine) -> str:
    """Of the largest working set; "" if there is nothing to compare."""
    own = [t for t in trials if t["metric"] == "bandwidth" and t["value"] and is_sound(t)]
    if not own:
        return ""
    largest = max(_size(t) for t in own)
    most = max((t for t in own if _size(t) == largest), key=value_of)
    peak = of(machine)
    told = units.quantity(value_of(most), "B/s")
    if peak.value is None:
        return f"The modules' peak, to compare with {told}, is not known: {peak.why}."
    share = value_of(most) / peak.value
    return (
        f"The most, {told}, is {share:.0%} of the modules' peak,"
        f" {units.quantity(peak.value, 'B/s')} ({peak.why})."
    )


def _size(trial: Trial) -> float:
    return float(trial["parameters"].get("size") or 0)
