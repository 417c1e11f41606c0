# SPDX-License-Identifier: Apache-2.0
"""The card: on one screen, what a machine has and what its use costs. Here are its lines as data,
the words for how far a value can be trusted, and the card as text for a terminal."""

from __future__ import annotations

import json
import re
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from math import floor, log10
from typing import Optional

import duckdb

from ..base import glossary, units
from ..insight import advice, evidence
from ..insight.advice import Advice, Place
from ..insight.evidence import ABOVE, BELOW, OPEN, SAME, Sure
from ..records.database import UNUSABLE
from ..records.lines import Header, Machine, Node
from ..records.rows import Judged, Outcome, Trial

NO_DIFFERENCE = evidence.SAME
CERTAIN, ROUGH, NOISY, UNTOLD = "certain", "rough", "noisy", "cannot tell"
MEANING = {word: glossary.terms()[word] for word in (CERTAIN, ROUGH, NOISY, UNTOLD)}
COLUMNS = 100  # without a terminal, and on a wide one
LEAST_COLUMNS = 72  # a narrower terminal wraps rows itself
BLOCK, NAME, SURE = 11, 26, 11  # columns: the block; block and name; the word at the right
TOLD = COLUMNS - NAME - SURE - 2


@dataclass(frozen=True)
class Line:
    """A line of the card. `numbers` are in base units, by name, to compare machines by."""

    block: str
    name: str
    text: str
    sure: str
    numbers: dict[str, float] = field(default_factory=dict)
    brief: Optional[str] = None  # the text without its advice, if that is to measure longer
    why: str = ""  # the reason for this advice
    more: Sequence[str] = ()  # what may be left out where a row has no room

    @property
    def sentence(self) -> str:
        """The line as a sentence, where there are no columns."""
        return re.sub(" {2,}", " · ", self.within(TOLD).strip())

    def within(self, columns: int) -> str:
        """The text, followed by the parts of `more` that still fit into one row."""
        told = self.text
        for text in self.more:
            told += f", {text}" if len(f"{told}, {text}") <= columns else ""
        return told


@dataclass(frozen=True)
class Spoiler:
    """Something that spoils measurements here, and its remedy, if there is one."""

    what: str
    remedy: str = ""


@dataclass
class Card:
    title: list[str]
    scope: str = ""  # what its numbers are about
    advice: str = ""  # how its numbers may be used
    lines: list[Line] = field(default_factory=list)
    missing: str = ""  # what was not measured
    longer: str = ""  # the advice for all lines that take a longer, or quieter, run
    results: list[str] = field(default_factory=list)
    statuses: list[str] = field(default_factory=list)  # of its results
    spoilers: list[Spoiler] = field(default_factory=list)


@dataclass
class Host:
    """A machine and its trials; of trials with the same id, the last."""

    db: duckdb.DuckDBPyConnection
    name: str
    runs: list[Outcome]  # in order
    wholes: list[str]  # runs that no other one resumed, in order: the `whole` of trials
    trials: list[Trial]  # of run_variation.of_time(), all benchmarks
    place: Place  # what advice goes by

    @cached_property
    def header(self) -> Header:
        """The header of the last run."""
        found: Header = json.loads(self.runs[-1]["header"])
        return found

    @property
    def machine(self) -> Machine:
        return self.header["machine"]

    def of(self, benchmark: str, *variants: str) -> list[Trial]:
        """A benchmark's trials that have a value."""
        return [
            t
            for t in self.trials
            if t["benchmark"] == benchmark
            and (not variants or t["variant"] in variants)
            and t["value"]
            and t["status"] not in UNUSABLE
        ]

    @property
    def nodes(self) -> list[Node]:
        return self.machine["topology"]["nodes"]


def sure(of: Sure) -> str:
    """How far a value can be trusted."""
    if evidence.is_noisy(of):
        return NOISY
    return CERTAIN if evidence.is_certain(of) else ROUGH


def compared(found: Sequence[Judged], more: str = "", less: str = "") -> tuple[str, str]:
    """A ratio in one or several settings, as far as it may be told: "1.1 to 1.4x", "no difference",
    ">1x" where noise hides the value; and how far that can be trusted. With words for more and less
    than 1: "10 to 40 % slower", "no difference", "slower"."""
    sides: dict[str, list[Judged]] = {}
    for r in found:
        sides.setdefault(evidence.side(r), []).append(r)
    said, words = [], []
    for side in (s for s in (ABOVE, BELOW, SAME, OPEN) if s in sides):
        text, word = _of_side(side, sides[side], more, less)
        said.append(f"{text} in {len(sides[side])} of {len(found)}" if len(sides) > 1 else text)
        words.append(word)
    told = [word for word in words if word != UNTOLD]
    return ", ".join(said), worst([*told, *[ROUGH] * (len(told) < len(words))]) if told else UNTOLD


def _of_side(side: str, own: Sequence[Judged], more: str, less: str) -> tuple[str, str]:
    """What ratios on one side of 1 say."""
    clear = [r for r in own if not evidence.is_noisy(r)]
    if side == SAME:
        return "no difference", CERTAIN if clear == list(own) else NOISY
    ends = [end for r in clear for end in _ends(r, side)]
    digits = _supported(clear[0]) if len(ends) == 1 else 0
    said = _factor(min(ends), max(ends), more, less, digits) if ends else ""
    if side == OPEN:
        return f"open ({said})" if said else "open", UNTOLD
    noisy = len(clear) < len(own)
    hidden = (more or ">1x") if side == ABOVE else (less or "<1x")
    return said or hidden, worst([*map(sure, clear), *[NOISY] * noisy])


def _ends(ratio: Judged, side: str) -> tuple[float, ...]:
    """The value; where there is no single one, and where it may be on either side of 1, all that it
    may be."""
    if ratio["modes"] or side == OPEN or ratio["value"] is None:
        return evidence.reach(ratio) or ()
    return (ratio["value"],)


def is_clear(ratio: Judged) -> bool:
    """Whether its value may be told, and is surely above 1."""
    return evidence.side(ratio) == ABOVE and not evidence.is_noisy(ratio)


def worst(words: Iterable[str]) -> str:
    """The least trust among several lines."""
    return max(words, key=(CERTAIN, ROUGH, NOISY, UNTOLD).index, default=CERTAIN)


def untold(block: str, name: str, why: str, then: Advice, safe: str = "") -> Line:
    """A line that says why a value is not known, what to run, if that helps, and what is safe
    until then."""
    text, more = then.after(why), f"; until then {safe}" if safe else ""
    return advised(Line(block, name, why + more, UNTOLD), then, text + more)


def _supported(of: Sure) -> int:
    """How many significant digits of a value its interval supports: at least two."""
    low, high, value = of["low"], of["high"], of["value"]
    half = max(value - low, high - value) if low and high and value else 0.0
    if half <= 0 or not value:
        return 0
    return min(3, max(2, floor(log10(value)) - floor(log10(half)) + 1))


def _factor(low: float, high: float, more: str, less: str, digits: int) -> str:
    """Ratios from low to high; in words if there are some: "50 % faster to 3 times slower"."""
    if not more:
        return times(low, high, digits)
    if low >= 1:
        return _by(low, high, more, digits)
    if high <= 1:
        return _by(1 / high, 1 / low, less, digits)
    return f"{_by(1 / low, 1 / low, less, 2)} to {_by(high, high, more, 2)}"


def _by(low: float, high: float, word: str, digits: int) -> str:
    """Ratios from 1 on: "3.2 % slower", "10 to 40 % slower"; from 2 on "3.4 times slower"."""
    if high >= 2:
        return f"{times(low, high, digits).removesuffix('x')} times {word}"
    ends = dict.fromkeys(f"{100 * (x - 1):{'.0f' if x >= 1.1 else '.2g'}}" for x in (low, high))
    return f"{' to '.join(ends)} % {word}"


def times(low: float, high: Optional[float] = None, digits: int = 0) -> str:
    """A ratio, or a range of them: 1.43x, 1.1 to 1.4x; close to 1 with all its digits, unless their
    number is given."""
    ends = (low, low if high is None else high)
    digits = digits or (3 if len({f"{x:.2g}" for x in ends} - {"1"}) < 2 else 2)
    return " to ".join(dict.fromkeys(_digits(x, digits) for x in ends)) + "x"


def _digits(x: float, digits: int) -> str:
    """Without an exponent, and with as many digits as distinguish it from 1, up to six."""
    if x >= 100:
        return f"{x:.0f}"
    said = next((s for n in range(digits, 7) if float(s := f"{x:.{n}g}") != 1), "1")
    return f"{Decimal(said):f}"


def noisy(block: str, name: str, then: Advice, safe: str = "") -> Line:
    """The line of a value that is not told, since noise may have moved it."""
    return untold(block, name, advice.NOISY, then, safe)


def advised(line: Line, then: Advice, text: str) -> Line:
    """The line with a longer text, which contains this advice."""
    return replace(line, text=text, brief=line.text if then.longer else None, why=then.why)


def undecided(block: str, name: str, told: str, then: Advice) -> Line:
    """The line of a ratio of which not even the side of 1 is known; `told` says so."""
    if not then.command:
        return untold(block, name, told, then)
    text = f"{told}; {then.before or 'longer: '}{then.command}"
    return advised(Line(block, name, told, UNTOLD), then, text)


def phrase(name: str, verb: str, said: str) -> str:
    """A sentence that ends with compared(): "lock takes 2.1x", "lock: no difference"."""
    if said[0] in "0123456789<>":
        return " ".join(filter(None, (name, verb, said)))
    return f"{name}: {said}"


def time(value: Optional[float]) -> str:
    return units.quantity(value, "s")


# ---- on a terminal ----

# Spaces at which no row ends: between a number and its unit, and within a range.
GLUED = re.compile(r"(?<=\d) (?=[A-Za-zµ%])|(?<=\d to) (?=\d)|(?<=\(found) ")
GLUE = "\ue000"


def text(card: Card, given: Optional[int] = None) -> str:
    """The card on so many columns; None: as many as the terminal has."""
    width = given or columns()
    lines = [*_title(card, width), "", *_rows(card.lines, width)]
    if card.missing:
        lines += _paragraph("missing", card.missing, width)
    lines += _foot(card.lines, card.longer, card.statuses, width)
    lines += ["", *_paragraph("results", " · ".join(card.results), width)]
    for i, spoiler in enumerate(card.spoilers):
        lines += _spoiler("" if i else "problems", spoiler, width)
    return _text(lines)


def answer(lines: Sequence[Line], longer: str, given: Optional[int] = None) -> str:
    """Lines of the card alone, as the end of a benchmark's output."""
    width = given or columns()
    return _text([*_rows(lines, width), *_foot(lines, longer, (), width)])


def _text(rows: Iterable[str]) -> str:
    return "\n".join(units.printable(row.rstrip()) for row in rows)


def _foot(lines: Sequence[Line], longer: str, statuses: Sequence[str], width: int) -> list[str]:
    """What to run for the open lines, and what the words on trust and on results mean."""
    rows = _paragraph("next", longer, width) if longer else []
    used = [word for word in MEANING if word in {line.sure for line in lines}]
    used += [status for status in statuses if status not in (*used, "ok")]
    words = "; ".join(f"{word}: {glossary.brief(word)}" for word in used)
    return rows + (_paragraph("words", words, width) if words else [])


def _rows(lines: Sequence[Line], width: int) -> list[str]:
    blocks = ["", *(line.block for line in lines)]
    return [
        row
        for line, before in zip(lines, blocks)
        for row in _line(line, line.block != before, width)
    ]


def columns() -> int:
    return min(COLUMNS, max(LEAST_COLUMNS, shutil.get_terminal_size((COLUMNS, 0)).columns))


def _wrapped(words: str, width: int, then: str = "") -> list[str]:
    """Rows, of which those after the first begin with `then`."""
    glued = GLUED.sub(GLUE, words)
    rows = textwrap.wrap(glued, width, subsequent_indent=then, break_on_hyphens=False)
    return [row.replace(GLUE, " ") for row in rows]


def _title(card: Card, width: int) -> list[str]:
    title = _wrapped(" · ".join(card.title), width, "  ")
    return title + [row for said in (card.scope, card.advice) for row in _wrapped(said, width)]


def _line(line: Line, first: bool, width: int) -> list[str]:
    """The word on trust ends the first row, however many rows there are; the others use its
    column."""
    own = width - NAME - SURE - 2
    rows = _wrapped(line.within(own), own) or [""]
    rows[1:] = _wrapped(" ".join(rows[1:]), width - NAME)
    head = f"{line.block if first else '':<{BLOCK}}{line.name:<{NAME - BLOCK}}"
    told = [f"{head}{rows[0]:<{own}}  {line.sure}"]
    return told + [" " * NAME + row for row in rows[1:]]


def _paragraph(name: str, words: str, width: int) -> list[str]:
    rows = _wrapped(words, width - BLOCK)
    return [f"{name if not i else '':<{BLOCK}}{row}" for i, row in enumerate(rows)]


def _spoiler(name: str, spoiler: Spoiler, width: int) -> list[str]:
    if len(spoiler.what) > 40 or len(spoiler.remedy) > width - BLOCK - 42:
        remedy = _wrapped(spoiler.remedy, width - BLOCK - 2)
        return [
            *_paragraph(name, spoiler.what, width),
            *(" " * BLOCK + "  " + row for row in remedy),
        ]
    return [f"{name:<{BLOCK}}{spoiler.what:<40}  {spoiler.remedy}"]
