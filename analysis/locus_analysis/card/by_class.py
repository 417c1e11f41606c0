# SPDX-License-Identifier: Apache-2.0
"""The cards of many hosts as a table for each class of machines: the median of each number over the
hosts, the range of nine in ten of them, and the hosts that are far from the median."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import repeat
from statistics import median
from typing import NamedTuple

from ..base import units
from ..insight import levels_by_class
from .content import Card, Line, columns, times

MOST = 3  # classes that have a table
NAMED = 2  # hosts in a row
HEAD = ("", "", "hosts", "median", "5 % to 95 %")
APART = "apart"

Shown = Callable[[float], str]
SECONDS, RATE = partial(units.quantity, unit="s"), partial(units.quantity, unit="B/s")
PAGES = "{:.0f} pages".format
# Formats of the card's numbers, by block and name; an empty name is any other one of the block.
# Numbers that are computed from others are left out.
TOLD: Mapping[tuple[str, str], Shown] = {
    ("caches", "size"): units.size,
    ("caches", "time"): SECONDS,
    ("caches", "remote"): SECONDS,
    ("caches", "ratio"): times,
    ("caches", "L1 TLB"): PAGES,
    ("caches", "L2 TLB"): PAGES,
    ("bandwidth", "bandwidth"): RATE,
    ("bandwidth", "remote"): RATE,
    ("cores", "slowest"): "{:.3f} of the median".format,
    ("sharing", "ratio"): times,
    ("sharing", "bytes"): units.size,
    ("sharing", ""): SECONDS,
    ("placement", ""): times,
    ("work", "least"): times,
}


class Row(NamedTuple):
    """Names a number of the card."""

    block: str
    line: str
    number: str


def text(classes: Mapping[str, Sequence[str]], cards: Mapping[str, Card]) -> str:
    """`classes`: hosts by class, the largest first."""
    named = [own for own in classes.values() if any(h in cards for h in own)]
    parts = [_of_class([cards[h] for h in own if h in cards]) for own in named[:MOST]]
    if more := named[MOST:]:
        hosts = sum(map(len, more))
        parts.append(
            f"{units.several(hosts, 'host')} of {len(more)} smaller"
            f" class{'es' * (len(more) > 1)}: locus sick names those that are odd"
        )
    return "\n\n".join(parts)


def _of_class(cards: Sequence[Card]) -> str:
    title = cards[0].title
    found: dict[Row, dict[str, float]] = {}
    for card in cards:
        for row, value in _numbers(card.lines):
            found.setdefault(row, {})[card.title[1]] = value
    rows: list[Sequence[str]] = [HEAD]
    apart, block = [APART], ""
    for row, values in sorted(found.items(), key=lambda r: _place(r[0], cards)):
        far = [f"{host} {ratio:.2f}" for host, ratio in levels_by_class.far(values)]
        rows.append(_row(row, values, row.block != block))
        apart.append(units.some(far, NAMED))
        block = row.block
    lines = [f"{units.several(len(cards), 'host')} with {' · '.join(title[2:4])}"]
    table = units.aligned(rows, (2, 3))
    for line, names in zip(table, apart if any(apart[1:]) else repeat("")):
        lines += beside(line, names, max(map(len, table)))
    return "\n".join(lines)


def beside(line: str, names: str, width: int) -> list[str]:
    """The hosts that lie apart stand behind a row, or below it on a narrow terminal."""
    if not names:
        return [line]
    if width + 2 + len(names) <= columns():
        return [f"{line:{width}}  {names}"]
    return [line, f"{'':13}{names}"]


def _numbers(lines: Sequence[Line]) -> list[tuple[Row, float]]:
    return [
        (Row(line.block, line.name, name), value)
        for line in lines
        for name, value in line.numbers.items()
        if _shown(line.block, name)
    ]


def _shown(block: str, number: str) -> Shown | None:
    return TOLD.get((block, number)) or TOLD.get((block, ""))


def _place(row: Row, cards: Sequence[Card]) -> int:
    """Its place on the first card that has it."""
    for card in cards:
        own = [each for each, _ in _numbers(card.lines)]
        if row in own:
            return own.index(row)
    return 0


def _row(row: Row, values: dict[str, float], first: bool) -> tuple[str, ...]:
    shown = _shown(row.block, row.number) or units.number
    ordered = sorted(values.values())
    ends = [ordered[round(share * (len(ordered) - 1))] for share in (0.05, 0.95)]
    told = " to ".join(dict.fromkeys(map(shown, ends)))
    last = shown(ends[1]).rpartition(" ")[2]
    told = told.replace(f" {last} to ", " to ")
    return (
        row.block if first else "",
        _name(row),
        str(len(values)),
        shown(median(ordered)),
        told,
    )


def _name(row: Row) -> str:
    """The name of the card's line, and of the number, unless it is the usual one of such a line."""
    if row.number in ("time", "bandwidth", "ratio", "least", "bytes"):
        return row.line
    return row.number if row.line in row.number else f"{row.line}, {row.number}"
