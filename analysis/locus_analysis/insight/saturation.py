# SPDX-License-Identifier: Apache-2.0
"""Where a rate stops growing, over a number of things at once: threads, chains.

The knee is the smallest number whose rate is within ENOUGH of the most. It is a bracket: a number
is surely below where its whole reach is (evidence.py), and surely within where none of it is below;
the knee is the first that is surely within, after the last that is surely below. Noisy and bimodal
trials count in this way, but their values are not told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Optional

from ..records.database import is_sound
from ..records.rows import Trial
from . import advice, evidence
from .advice import Place, Wish
from .memory_level import NARROW

ENOUGH = 0.95
LEAST_POINTS = 3


class Point(NamedTuple):
    number: int
    trial: Trial
    rate: float
    low: float
    high: float


@dataclass
class Knee:
    points: list[Point]  # that count
    best: Point
    at: Point
    below: Optional[int] = None  # the last number that is surely below
    doubtful: list[tuple[int, Trial]] = field(default_factory=list)  # in the bracket, by number

    @property
    def is_open(self) -> bool:
        """Whether the rate grows until the largest number that was measured."""
        before = any((self.below or 0) < n < self.at.number for n, _ in self.doubtful)
        return self.at is self.points[-1] and not before

    @property
    def is_certain(self) -> bool:
        if self.doubtful or self.is_open:
            return not self.doubtful
        below, at = self.below or 0, self.at.number
        return at - below <= 1 or at <= NARROW * below

    @property
    def found(self) -> str:
        """Between which numbers it lies, unless these are neighbours; and who is in doubt."""
        notes = []
        if self.below and self.at.number - self.below > 1:
            notes.append(f"found {self.below}..{self.at.number}")
        by_status: dict[str, list[str]] = {}
        for number, trial in self.doubtful:
            word = "open" if is_sound(trial) else trial["status"]
            by_status.setdefault(word, []).append(str(number))
        notes += [f"{', '.join(numbers)} {word}" for word, numbers in by_status.items()]
        return f" ({'; '.join(notes)})" if notes else ""

    def advise(self, place: Place, wish: Wish) -> str:
        """What to run to know it better; empty where it is certain, or nothing would help."""
        if self.is_certain:
            return ""
        reason = advice.why(t for _, t in self.doubtful) if self.doubtful else advice.COARSE
        then = advice.of(place, reason, wish)
        return f" {then.after('To know better')}." if then.command else ""


def point(number: int, trial: Trial, slower: bool) -> Optional[Point]:
    """A trial that counts; `slower`: more of its value is less of a rate."""
    value = trial["value"]
    if not value or not evidence.counts(trial):
        return None
    low, high = evidence.reach_of(trial) or (value, value)
    if slower:
        return Point(number, trial, 1 / value, 1 / high, 1 / low)
    return Point(number, trial, value, low, high)


def knee(measured: Sequence[tuple[int, Trial]], slower: bool) -> Optional[Knee]:
    """The knee of trials in order of their numbers; None if too few of them count."""
    points = [p for n, t in measured if (p := point(n, t, slower))]
    sound = [p for p in points if is_sound(p.trial)]
    if len(points) < LEAST_POINTS or not sound:
        return None
    best = max(sound, key=lambda p: p.rate)
    below = max((p.number for p in points if p.high < ENOUGH * best.low), default=0)
    below = below if below < best.number else 0
    within = (p for p in points if p is best or p.low >= ENOUGH * best.rate)
    at = next(p for p in within if below < p.number <= best.number)
    sure = [at, *(p for p in points if p.number == below)]
    doubtful = [
        (n, t)
        for n, t in measured
        if below <= n <= at.number and not any(n == p.number and is_sound(p.trial) for p in sure)
    ]
    return Knee(points, best, at, below or None, doubtful)
