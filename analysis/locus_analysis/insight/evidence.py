# SPDX-License-Identifier: Apache-2.0
"""What can be concluded from trials: the one rule for the card, for sentences and for claims.

A statement about a sign, or about a class, holds where every bound of the 95 % interval and every
mode lies on its side, whatever the status of the trials. Otherwise it is not told. The value is not
told where a trial is noisy, since noise may have moved it, nor where it has two modes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import product as corners
from math import inf, isfinite, prod
from statistics import median
from typing import TYPE_CHECKING, Optional, TypedDict

from ..base import units
from ..records.database import UNUSABLE, graver, is_sound, value_of
from ..records.rows import HasStatus, Judged, OverRuns, Trial, Value, Verdict

if TYPE_CHECKING:
    from typing_extensions import ReadOnly


class Valued(Judged, OverRuns):
    """A metric of a trial."""

    variant: str


class Sure(HasStatus):
    """A value and what tells how far it can be trusted."""

    value: ReadOnly[Optional[float]]
    low: ReadOnly[Optional[float]]
    high: ReadOnly[Optional[float]]


class Part(TypedDict):
    """A share of a cost."""

    value: float
    low: float
    high: float


AGREES, IN_PART, DIFFERS, UNSURE = "agrees", "agrees in part", "differs", "cannot be told"
MOST = 0.5  # of a cost: a cause explains at least that much, and a cure removes as much


ABOVE, BELOW, SAME, OPEN = "above", "below", "no difference", "open"
WITHIN = 0.05  # of a value: how far its interval may reach where it counts as certain
MATTERS = 1.05  # a ratio within this factor of 1 counts as no difference


def reach(of: Judged) -> Optional[tuple[float, float]]:
    """From the least to the greatest of a value's bounds and modes; None without an interval, and
    where the value is not that of the trial."""
    if of["status"] in UNUSABLE or of["low"] is None or of["high"] is None:
        return None
    ends = [of["low"], of["high"], *of["modes"]]
    return min(ends), max(ends)


def holds(of: Judged, low: float, high: float) -> Optional[bool]:
    """Whether a value lies between these limits: true where all of its reach does, false where none
    of it does. None: it is not told."""
    ends = reach(of)
    if ends is None:
        return None
    if low <= ends[0] and ends[1] <= high:
        return True
    return False if ends[1] < low or high < ends[0] else None


def exceeds(of: Judged, limit: float) -> bool:
    """Whether all of a value's reach lies above a limit; a bound that equals it does not."""
    ends = reach(of)
    return ends is not None and ends[0] > limit


def side(ratio: Judged) -> str:
    """On which side of 1 a ratio is; a bound that equals 1 is on neither."""
    if holds(ratio, 1 / MATTERS, MATTERS):
        return SAME
    if exceeds(ratio, 1):
        return ABOVE
    ends = reach(ratio)
    return BELOW if ends and ends[1] < 1 else OPEN


def reach_of(trial: Trial) -> Optional[tuple[float, float]]:
    """The reach of the metric that the trial is shown by."""
    return reach(valued(trial, trial["metric"]))


def counts(trial: Trial) -> bool:
    """Whether its interval and modes can place it on a curve, whatever its status. Without an
    interval only a sound value counts, as if it were exact."""
    return bool(trial["value"]) and (is_sound(trial) or reach_of(trial) is not None)


def is_noisy(of: HasStatus) -> bool:
    """Whether its value is not to be told."""
    return of["status"] == "noisy"


def is_certain(of: Sure) -> bool:
    """Whether its interval can be trusted, and is narrow."""
    low, high, value = of["low"], of["high"], of["value"]
    if not is_sound(of) or low is None or high is None or not value:
        return False
    return max(value - low, high - value) <= WITHIN * abs(value)


def told(of: Judged) -> str:
    """As much of a value as may be told; of a noisy one nothing."""
    if is_noisy(of) or of["value"] is None:
        return ""
    ends = reach(of)
    if not of["modes"] or not ends:
        return times(of)
    return f"{units.number(ends[0])} to {units.number(ends[1])}, in two modes"


def valued(trial: Trial, metric: str) -> Valued:
    """A metric of a trial: value, interval and modes, with the trial's variant and status."""
    own = trial["metrics"][metric]
    found: Valued = {
        "value": own["value"],
        "low": own["low"],
        "high": own["high"],
        "modes": [mode["value"] for mode in own["modes"] or []],
        "variant": trial["variant"],
        "flag": trial["flag"],
        "status": trial["status"],
        "reasons": trial["reasons"],
    }
    if "tried" in own:
        found["sound_runs"], found["tried"] = own["sound_runs"], own["tried"]
    return found


def middle(of: Sequence[Judged]) -> Judged:
    """Several values as one: the median of the values, and of the ends of their reach. It is noisy,
    or has two modes, where half of them do, or more; fewer noisy ones do not count."""
    clear = [v for v in of if not is_noisy(v)] if _fewer(map(is_noisy, of)) else of
    in_two = not _fewer(bool(v["modes"]) for v in clear)
    ends = [reach(v) or (-inf, inf) for v in clear]
    low, high = (median(end) for end in zip(*ends))
    both = [(min(v["modes"]), max(v["modes"])) for v in clear if v["modes"]] if in_two else []
    verdicts: list[Verdict] = [v for v in clear if bool(v["modes"]) == in_two]
    verdict = reduce(graver, verdicts)
    return {
        "value": median(map(value_of, clear)),
        "low": low if isfinite(low) else None,
        "high": high if isfinite(high) else None,
        "modes": [median(mode) for mode in zip(*both)],
        "flag": verdict["flag"],
        "status": verdict["status"],
        "reasons": verdict["reasons"],
    }


def _fewer(those: Iterable[bool]) -> bool:
    """Whether less than half of them are true."""
    each = [*those]
    return 2 * sum(each) < len(each)


def ratio(one: Judged, other: Judged) -> Optional[Judged]:
    """The value of one trial over that of another, with the bounds that both intervals allow."""
    return product([(one, False), (other, True)]) if one["value"] and other["value"] else None


def product(factors: Sequence[tuple[Judged, bool]]) -> Judged:
    """The product of values, or of their inverses, and the interval and modes that theirs allow."""
    value, ends = 1.0, (1.0, 1.0)
    known = True
    worst: Verdict = factors[0][0]
    for v, divides in factors:
        value = value / value_of(v) if divides else value * value_of(v)
        low, high = v["low"], v["high"]
        if low and high:
            ends = (ends[0] / high, ends[1] / low) if divides else (ends[0] * low, ends[1] * high)
        else:
            known = False
        worst = graver(worst, v)
    return {
        "value": value,
        "low": ends[0] if known else None,
        "high": ends[1] if known else None,
        "modes": _modes(factors),
        "flag": worst["flag"],
        "status": worst["status"],
        "reasons": worst["reasons"],
    }


def _modes(factors: Sequence[tuple[Judged, bool]]) -> list[float]:
    if not any(v["modes"] for v, _ in factors):
        return []
    each = [
        [m**-1 if divides else m for m in v["modes"] or [value_of(v)]] for v, divides in factors
    ]
    return sorted(prod(corner) for corner in corners(*each))


def taken_away(worse: Judged, better: Judged, base: Judged) -> Part:
    """How much of the cost of `worse` over `base` the `better` one removes, with the bounds
    that the three intervals allow."""
    ends = [
        _part(*corner) for corner in corners(*(reach(of) or () for of in (worse, better, base)))
    ]
    return {
        "value": _part(*map(value_of, (worse, better, base))),
        "low": min(ends),
        "high": max(ends),
    }


def _part(worse: float, better: float, base: float) -> float:
    return (worse - better) / (worse - base)


def unfit(*trials: Valued) -> str:
    """Why these trials allow no conclusion, in words; empty if they do."""
    for t in trials:
        if t["status"] in UNUSABLE:
            return f"{t['variant']} is {t['status']}"
        if not t["value"]:
            return f"{t['variant']} has no value"
    return "" if all(map(reach, trials)) else "there is no interval"


def of_most(part: Part) -> str:
    """Judges whether a part is at least MOST of a cost."""
    return AGREES if part["low"] >= MOST else IN_PART if part["high"] < MOST else UNSURE


def times(ratio: Value) -> str:
    if ratio["low"] is None or ratio["high"] is None:
        return units.number(value_of(ratio))
    doubt = (ratio["high"] - ratio["low"]) / 2
    ends = f"{units.number(ratio['low'], doubt)} to {units.number(ratio['high'], doubt)}"
    return f"{units.number(value_of(ratio), doubt)} ({ends})"


def flag(of: Verdict) -> str:
    """The mark of a trial in the table of flaws."""
    return "" if of["flag"] is None else f" ▲{of['flag']}"
