# SPDX-License-Identifier: Apache-2.0
"""Values in the base units of records as text with prefixes."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Optional, TypedDict

SI = (
    (1e12, "T"),
    (1e9, "G"),
    (1e6, "M"),
    (1e3, "k"),
    (1.0, ""),
    (1e-3, "m"),
    (1e-6, "µ"),
    (1e-9, "n"),
    (1e-12, "p"),
)
BINARY = ((1 << 40, "Ti"), (1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki"), (1, ""))
BARE = ("variant", "oversubscribed", "bind", "layout")  # parameters that need no name


def scale(values: Iterable[Optional[float]], unit: str) -> tuple[float, str]:
    """The factor and the unit in which the greatest of the values reads well: (1e9, "GB/s")."""
    greatest = max((abs(v) for v in values if v is not None), default=0.0)
    if unit in ("", "1") or greatest == 0:
        return 1.0, "" if unit == "1" else unit
    factor, prefix = next((s for s in SI if greatest >= s[0]), SI[-1])
    return factor, prefix + unit


DIGITS = (2, 4)  # fewest and most of a value with an interval, as in the program's tables


def doubt(of: Mapping[str, Any]) -> float:
    """The wider half of a value's interval, or of the range of its allocations; 0: there is
    neither."""
    ends = of if of["low"] is not None else of.get("range") or of
    value, low, high = of["value"], ends["low"], ends["high"]
    return 0.0 if None in (value, low, high) else max(value - low, high - value)


def number(value: float, doubt: float = 0.0) -> str:
    """Down to the first digit that an error of ±doubt reaches; three digits if none is known; and
    all before the point."""
    if value == 0:
        return "0"
    fewest, most = (_decimals(value, n) for n in (DIGITS if doubt > 0 else (3, 3)))
    known = -math.floor(math.log10(doubt)) if doubt > 0 else most
    return f"{value:.{min(most, max(fewest, known))}f}"


def _decimals(value: float, digits: int) -> int:
    """The decimals that give so many digits in all."""
    rounded = float(f"{value:.{digits - 1}e}")
    return max(0, digits - 1 - math.floor(math.log10(abs(rounded))))


def quantity(value: Optional[float], unit: str, doubt: float = 0.0, none: str = "–") -> str:
    if value is None:
        return none
    factor, name = scale([value], unit)
    return f"{number(value / factor, doubt / factor)} {name}".strip()


def apart(values: Sequence[float], show: Callable[[float, int], str]) -> list[str]:
    """Each by `show`, with as many digits as tell them apart, at least three."""
    told: list[str] = []
    for digits in range(3, 18):
        told = [show(value, digits) for value in values]
        if len({*told}) == len({*values}):
            break
    return told


def with_digits(value: float, unit: str, digits: int) -> str:
    """With so many digits, and all before the point."""
    factor, name = scale([value], unit)
    decimals = _decimals(value / factor, digits) if value else 0
    return f"{value / factor:.{decimals}f} {name}".strip()


def measured(of: Mapping[str, Any], unit: Optional[str] = None, none: str = "–") -> str:
    """A value with the digits that its interval supports, in its own unit or in this one."""
    return quantity(of["value"], of["unit"] if unit is None else unit, doubt(of), none)


def count(value: float, unit: str = "1") -> str:
    """Events for a unit of work: 12.3 M, 0.0123, 1.20e-9."""
    if unit != "1":
        return quantity(value, unit)
    if abs(value) >= 1e4:
        return quantity(value, " ").rstrip()
    return f"{value:.2e}".replace("e-0", "e-") if 0 < abs(value) < 1e-3 else number(value)


def parameter(name: str, value: str, unit: str = "") -> str:
    """A parameter in words: size 1 GiB, 2 threads; what is in BARE by its value alone."""
    if name == "threads":
        return f"{value} thread{'s' * (value != '1')}"
    return amount(value, unit) if name in BARE else f"{name} {amount(value, unit)}"


def amount(value: str, unit: str = "") -> str:
    """The value of a parameter; of a path the last part."""
    if unit == "B":
        try:
            return size(float(value))
        except ValueError:
            pass
    return short(value.rsplit("/", 1)[-1])


def aligned(rows: Sequence[Sequence[str]], right: Container[int]) -> list[str]:
    """A line for each row; columns `right` are flush right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return [
        "  ".join(
            cell.rjust(w) if i in right else cell.ljust(w)
            for i, (cell, w) in enumerate(zip(row, widths))
        ).rstrip()
        for row in rows
    ]


def share(text: str) -> float:
    """3% or 0.03; 0 if it is neither."""
    try:
        return float(text.rstrip("% ")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return 0


def printable(line: str) -> str:
    """Replaces control characters, which a terminal would obey: names come from outside."""
    return "".join(c if c.isprintable() else "?" for c in line)


def in_bars(rows: Iterable[Sequence[str]]) -> list[str]:
    """The rows of a table in Markdown."""
    return ["| " + " | ".join(c.replace("|", "\\|") for c in row) + " |" for row in rows]


def several(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"


def some(names: Sequence[str], most: int = 2) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(names) - most} more" if names[most:] else ""
    return ", ".join(names[:most]) + more


def short(value: object, in_bytes: bool = False) -> str:
    """A parameter as people write it: 1073741824 is 1 Gi, 10000000 is 10 M; 1 GiB, 10 MB."""
    try:
        n = int(str(value))
    except ValueError:
        return str(value)
    tens = ((10**9, "G"), (10**6, "M"), (1000, "k"))
    factor, prefix = next((s for s in (*BINARY[:4], *tens) if n and n % s[0] == 0), (1, ""))
    return f"{n // factor}\u00a0{prefix}{'B' * in_bytes}".strip()


def ranges(numbers: Sequence[int]) -> str:
    """0-3,8."""
    runs = [list(run) for _, run in groupby(enumerate(numbers), lambda at: at[1] - at[0])]
    return ",".join(f"{run[0][1]}-{run[-1][1]}" if len(run) > 1 else f"{run[0][1]}" for run in runs)


class Mode(TypedDict):
    value: float
    share: float


class Range(TypedDict):
    """From the least to the greatest of so many values."""

    of: int
    low: float
    high: float


def result(
    value: Optional[float], unit: str, modes: Optional[Sequence[Mode]], doubt: float = 0.0
) -> str:
    """A metric's value; where its trial has two modes, both: 1.69 and 1.80 ns (62 % / 38 %)."""
    if not modes:
        return quantity(value, unit, doubt)
    values = _modes([mode["value"] for mode in modes], unit)
    shares = " / ".join(f"{100 * mode['share']:.0f} %" for mode in modes)
    return f"{' and '.join(values)} ({shares})"


def either(modes: Sequence[float], unit: str) -> str:
    """Modes without their shares, from the least on: 1.69 or 1.80 ns."""
    return " or ".join(_modes(sorted(modes), unit))


def _modes(modes: Sequence[float], unit: str) -> list[str]:
    """Each with its unit; one that all have only after the last."""
    values = [quantity(mode, unit) for mode in modes]
    if len({value.partition(" ")[2] for value in values}) == 1:
        values[:-1] = [value.partition(" ")[0] for value in values[:-1]]
    return values


def interval(
    low: Optional[float], high: Optional[float], unit: str, range_: Optional[Range] = None
) -> str:
    """The ends of an interval, in the unit that suits the greater one; or, where there were too few
    allocations for one, of their range."""
    if low is not None and high is not None:
        return _from_to(low, high, unit)
    if range_ and range_["of"]:
        return f"range of {range_['of']}: {_from_to(range_['low'], range_['high'], unit)}"
    return "–"


def _from_to(low: float, high: float, unit: str) -> str:
    factor, name = scale([low, high], unit)
    ends = [number(end / factor, (high - low) / 2 / factor) for end in (low, high)]
    return f"{' to '.join(ends)} {name}".strip()


def size(value: Optional[float], digits: int = 3) -> str:
    """Bytes with binary prefixes: 1.5 GiB."""
    if value is None:
        return "unknown"
    factor, prefix = next((s for s in BINARY if value >= s[0]), BINARY[-1])
    digits = digits if value / factor < 999.5 else max(digits, 4)
    return f"{value / factor:.{digits}g} {prefix}B"


def percent(share: Optional[float]) -> str:
    return "–" if share is None else f"{100 * share:.3g} %"
