# SPDX-License-Identifier: Apache-2.0
"""How many threads the bandwidth of memory needs: the knee of bandwidth over threads.

The knee is the smallest number of threads whose bandwidth is within ENOUGH of the most that any
number of threads had: it lies above the number measured before it. Only trials that can be judged
count; others between the two are named."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Optional

from ..base import units
from ..records.database import is_sound, value_of
from ..records.rows import Trial

VARIANTS = ("scaling", "static")
ENOUGH = 0.95
LEAST_POINTS = 3
SETTING = ("kernel", "size", "pages")  # these, and the nodes in use, distinguish the curves


def _nodes(trial: Trial) -> tuple[bool, ...]:
    """Which nodes have threads: "2+0" is on the first of two."""
    return tuple(n != "0" for n in str(trial["parameters"].get("layout", "")).split("+"))


def curves(trials: Sequence[Trial]) -> list[list[Trial]]:
    """The curves of VARIANTS in one run, with points in order of threads, among them those that
    can't be judged."""

    def key(t: Trial) -> tuple[str, ...]:
        setting = (str(t["parameters"].get(name)) for name in SETTING)
        return (t["variant"], *setting, str(_nodes(t)))

    own = sorted(
        (t for t in trials if t["variant"] in VARIANTS),
        key=lambda t: (key(t), t["threads"]),
    )
    found = [list(points) for _, points in groupby(own, key)]
    return [
        points for points in found if len({t["threads"] for t in _judged(points)}) >= LEAST_POINTS
    ]


def _judged(points: Sequence[Trial]) -> list[Trial]:
    return [t for t in points if t["value"] and is_sound(t)]


def _bracket(knee: Trial, measured: Sequence[Trial], judged: Sequence[Trial]) -> str:
    """Between which numbers of threads it lies, unless these are neighbours."""
    high = knee["threads"]
    low = max((t["threads"] for t in judged if t["threads"] < high), default=high)
    left = {t["threads"]: t["status"] for t in measured if low < t["threads"] < high}
    told = "".join(f"; {n} {status}" for n, status in left.items())
    return f" (found {low}..{high}{told})" if high - low > 1 else ""


def said(measured: Sequence[Trial]) -> str:
    """The sentence on a curve."""
    points = _judged(measured)
    best = max(points, key=value_of)
    knee = next(t for t in points if value_of(t) >= ENOUGH * value_of(best))
    first, last = points[0], points[-1]
    names = [str(points[0]["parameters"].get("kernel")), _where(points[0])]
    curve = ", ".join(name for name in names if name)
    rate = units.quantity(knee["value"], "B/s")
    one = f"{first['threads']} {'has' if first['threads'] == 1 else 'have'}"
    base = f"{one} {units.quantity(first['value'], 'B/s')}"
    if knee is last:
        return (
            f"{curve}: bandwidth still grows at {last['threads']} threads, the most measured:"
            f" {rate}; {base}."
        )
    found = _bracket(knee, measured, points)
    share = f"{100 * value_of(knee) / value_of(best):.0f} %"
    return (
        f"{curve}: {knee['threads']} of {last['threads']} threads{found} reach {share} of the most"
        f" bandwidth, {rate} of {units.quantity(best['value'], 'B/s')}; {base}."
    )


def _where(trial: Trial) -> Optional[str]:
    used = [str(i) for i, has in enumerate(_nodes(trial)) if has]
    if len(_nodes(trial)) == 1:
        return None
    return f"node {used[0]}" if len(used) == 1 else f"nodes {', '.join(used)}"
