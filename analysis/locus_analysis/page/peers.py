# SPDX-License-Identifier: Apache-2.0
"""Other libraries at the same work, as `make peers` measured them: their time over ours, and the
goal of that ratio."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Optional

from ..base import units
from ..pictures import bars
from ..pictures.charts import Picture
from ..records.rows import Parameter, Peer

REACHED, MISSED, OPEN = "reached", "missed", "open"

HELP = (
    "Time of another library over that of locus for the same work, side by side (logarithmic"
    " axis): right of 1 locus is faster, left of it slower; whiskers are 95 % intervals, thick"
    " strokes goals."
)


class Compared(Peer):
    """A comparison with its outcome, and the work in words."""

    reached: Optional[str]
    flag: None
    setting: str


def reached(peer: Peer) -> Optional[str]:
    """Whether the ratio reaches its goal; None without a goal. Without an interval the value
    decides."""
    if peer["goal"] is None:
        return None
    low, high = (peer["value"] if end is None else end for end in (peer["low"], peer["high"]))
    return REACHED if low >= peer["goal"] else MISSED if high < peer["goal"] else OPEN


def section(found: Sequence[Peer]) -> list[Compared]:
    return [
        {**p, "reached": reached(p), "flag": None, "setting": _setting(json.loads(p["parameters"]))}
        for p in found
    ]


def _setting(parameters: dict[str, Parameter]) -> str:
    return ", ".join(
        v for v in parameters.values() if isinstance(v, str) and not v.isdecimal() and "/" not in v
    )


def pictures(found: Sequence[Compared], name: str, title: str) -> list[Picture]:
    """A bar for each comparison."""
    rows: list[bars.RatioBar] = [
        {
            "id": None,
            "flag": None,
            "reasons": [],
            "value": p["value"],
            "low": p["low"],
            "high": p["high"],
            "goal": p["goal"],
            "variant": _work(p),
            "point": p["peer"],
            "theirs": False,
            "status": "ok",
            "trial": f"{p['peer']} {p['version'] or ''}: {p['agreement']}",
        }
        for p in found
    ]
    axis = "time of the other / time of locus (more is better)"
    return bars.ratios(rows, axis, name, title, HELP)


def _work(peer: Compared) -> str:
    threads = units.several(peer["threads"], "thread")
    return ", ".join(filter(None, (peer["work"], peer["setting"], threads)))
