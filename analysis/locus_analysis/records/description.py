# SPDX-License-Identifier: Apache-2.0
"""A benchmark's description of itself in a record, and how pictures arrange trials by it: which
parameter is the x axis, which ones distinguish lines, and which ones panels."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Optional, TypedDict

import duckdb

from ..base import units
from . import published
from .database import column
from .lines import Benchmark, Parameter, Ratio
from .rows import Trial

if TYPE_CHECKING:
    from typing_extensions import ReadOnly

Setting = dict[str, str]
Key = tuple[tuple[int, float, str], tuple[tuple[str, str], ...]]  # of a line

ENOUGH = 3  # values that a parameter needs to be an x axis if it is not declared a curve
NUMBERS = ("count", "size", "real", "path")  # a path may be a number, too
LAID_OUT = re.compile(r"\d+(\+\d+)*")  # threads on each node
# Lines of a variant that differ in these share its colour; the dash says which pages a line has.
PAGES = "pages"
PAGE_NAMES = {
    "base": "system pages",
    "thp": "transparent huge pages",
    "2M": "2 MiB pages",
    "1G": "1 GiB pages",
    "thp-16K": "transparent, 16 KiB",
    "thp-64K": "transparent, 64 KiB",
    "thp-256K": "transparent, 256 KiB",
}


class _MeaningMay(TypedDict, total=False):
    kind: ReadOnly[str]


class Meaning(_MeaningMay):
    """What is drawn of a metric's description."""

    unit: str
    better: Optional[str]
    help: str


@dataclass(frozen=True)
class Described:
    """The `benchmark` line of a run."""

    name: str
    parameters: dict[str, Parameter] = field(default_factory=dict)
    metrics: Mapping[str, Meaning] = field(default_factory=dict)
    ratios: Sequence[Ratio] = ()
    variants: dict[str, str] = field(default_factory=dict)  # with their summary
    divided: Sequence[str] = ()  # variants whose work is divided over MPI ranks
    theirs: Sequence[
        tuple[str, published.Figure]
    ] = ()  # published values, each with the name of its line
    line_by: dict[str, str] = field(default_factory=dict)  # by variant: instead of `lines`
    x_by: dict[str, str] = field(default_factory=dict)  # by parameter: the metric to draw over

    @property
    def lines(self) -> str:
        """The parameters, or the variant, that tell lines of a curve apart: those that the ratios
        compare. Pages have dashes of their own."""
        compared = [r["parameter"] for r in self.ratios if r["parameter"] not in ("threads", PAGES)]
        return "variant" if "variant" in compared or not compared else str(compared[0])

    @property
    def headline(self) -> str:
        return next(iter(self.metrics), "time")

    def is_curve(self, parameter: str) -> bool:
        return parameter in self.parameters and self.parameters[parameter]["curve"]

    def unit(self, parameter: str) -> str:
        known = self.parameters.get(parameter)
        return (known and known["unit"]) or ""

    def meaning(self, metric: str) -> Meaning:
        """The description of a metric, even of one that the record does not describe."""
        return self.metrics.get(metric) or {"unit": "", "better": None, "help": ""}

    def is_number(self, parameter: str, values: Iterable[str]) -> bool:
        known = self.parameters.get(parameter)
        return (known is None or known["type"] in NUMBERS) and all(
            number(v) is not None for v in values
        )

    def order(self, line: str, value: str) -> tuple[int, float, str]:
        """The index among variants, or choices; unknown ones are last, by number."""
        known = list(self.variants) if line == "variant" else self._choices(line)
        place = known.index(value) if value in known else len(known)
        return place, number(value) or 0.0, value

    def _choices(self, parameter: str) -> list[str]:
        return self.parameters[parameter]["choices"] if parameter in self.parameters else []

    def setting(self, trial: Trial) -> Setting:
        """All that identifies a trial, without output files."""
        left_out = {n for n, p in self.parameters.items() if p["output"] or p["type"] == "found"}
        of = {k: str(v) for k, v in trial["parameters"].items() if k not in left_out}
        laid_out = LAID_OUT.fullmatch(of.get("layout", ""))
        threads = {} if laid_out else {"threads": str(trial["threads"])}
        crowded = {"oversubscribed": "oversubscribed"} if trial["oversubscribed"] else {}
        return {"variant": trial["variant"], **of, **threads, "bind": trial["bind"], **crowded}

    def words(self, setting: Setting, several: Sequence[str]) -> str:
        """The parts of a setting that differ among several."""
        named = {setting.get("variant")}  # a parameter of the same name shows its value alone
        return ", ".join(
            setting[k] if k in named else self.said(k, setting[k]) for k in setting if k in several
        )

    def said(self, parameter: str, value: str) -> str:
        return units.parameter(parameter, value, self.unit(parameter))

    def amount(self, parameter: str, value: str) -> str:
        return units.amount(value, self.unit(parameter))


def number(value: str) -> Optional[float]:
    try:
        return float(value)
    except ValueError:
        return None


def of(db: duckdb.DuckDBPyConnection, benchmark: str) -> Described:
    """The benchmark's line in the last of the runs, with the variants of all."""
    query = (
        "SELECT b.json FROM benchmark b JOIN run USING (run) WHERE benchmark = ? ORDER BY ordinal"
    )
    lines: list[Benchmark] = [json.loads(line) for line in column(db, query, benchmark)]
    if not lines:
        return Described(benchmark)
    last, lesson = lines[-1], published.lesson(benchmark)
    return Described(
        benchmark,
        {p["name"]: p for p in last["parameters"]},
        {m["name"]: m for m in last["metrics"]},
        last["ratios"],
        {v["name"]: v["summary"] for line in lines for v in line["variants"]},
        [v["name"] for v in last["variants"] if v["divided"]],
        line_by=lesson.get("lines", {}),
        x_by=lesson.get("x", {}),
    )


@dataclass
class Line:
    """The trials of one curve."""

    name: str
    place: int  # index of its variant, or value, among all of the benchmark: colour and shape
    dash: int  # index among lines of the same place
    pages: Optional[str]  # None also where all lines have the same
    trials: list[Trial]


@dataclass
class Group:
    """Trials that agree in all but the x axis and the parameter that tells lines apart."""

    setting: Setting
    trials: list[Trial]


class Plateau(TypedDict):
    first: float
    last: float
    value: float
    label: str


class End(TypedDict):
    low: float
    high: float
    at: float
    label: str


@dataclass
class Bands:
    """What was found along a curve: its plateaus, and where they end."""

    plateaus: list[Plateau] = field(default_factory=list)
    ends: list[End] = field(default_factory=list)  # from low to high: the interval
    help: str = ""


def differing(settings: Sequence[Setting]) -> list[str]:
    """The names of parts that differ. One that some lack and the others have alike is told only if
    the settings can't be told apart without it."""
    names = dict.fromkeys(k for s in settings for k in s)
    differ = [k for k in names if len({s.get(k) for s in settings}) > 1]
    told = [k for k in differ if len({s[k] for s in settings if k in s}) > 1]
    return told if _kinds(settings, told) == _kinds(settings, differ) else differ


def _kinds(settings: Sequence[Setting], names: Sequence[str]) -> int:
    """How many settings these parts tell apart."""
    return len({tuple(s.get(k) for k in names) for s in settings})


class Worded(TypedDict):
    variant: str
    setting: str


def in_words(trial: Worded) -> str:
    """The words that distinguish a trial from the others of its benchmark."""
    return f"{trial['variant']} {trial['setting']}".strip()


def line_of(of: Described, trial: Trial) -> str:
    """The name of the parameter whose value is a trial's line: if the trial does not have it, the
    variant."""
    line = of.line_by.get(trial["variant"], of.lines)
    return line if line in trial["parameters"] else "variant"


def value_of(of: Described, trial: Trial, parameter: str) -> str:
    return of.setting(trial).get(parameter, "")


def place_of(of: Described, trial: Trial, x: str) -> Optional[float]:
    """Where a trial lies on an x axis, which is a parameter or a metric."""
    setting = of.setting(trial)
    if x in setting:
        return float(setting[x])
    metric = None if x in of.parameters else trial["metrics"].get(x)
    return metric["value"] if metric else None


def own_parameters(of: Described, trials: Sequence[Trial]) -> dict[str, set[str]]:
    """By variant, the parameters that no other variant has: they distinguish lines, not panels."""
    has: dict[str, set[str]] = {}
    for t in trials:
        has.setdefault(t["variant"], set()).update(t["parameters"])
    if len(has) < 2 or of.lines != "variant":
        return {v: set() for v in has}
    return {
        v: {k for k in names if not any(k in other for w, other in has.items() if w != v)}
        for v, names in has.items()
    }


def groups(of: Described, trials: Sequence[Trial], without: Sequence[str]) -> list[Group]:
    """Groups trials by all other parameters. A trial that lacks a parameter is in each group that
    it agrees with."""
    own = own_parameters(of, trials)

    def rest(t: Trial) -> Setting:
        left_out = {*without, line_of(of, t), PAGES, *own[t["variant"]]}
        return {k: v for k, v in of.setting(t).items() if k not in left_out}

    return grouped(trials, rest)


def grouped(trials: Sequence[Trial], rest: Callable[[Trial], Setting]) -> list[Group]:
    """Groups trials whose settings agree; one that has less of a setting is in several groups."""
    own = [(t, rest(t)) for t in trials]
    found = list({tuple(s.items()): s for _, s in own}.values())
    whole = [s for s in found if not any(s.items() < other.items() for other in found)]
    return [Group(s, [t for t, mine in own if mine.items() <= s.items()]) for s in whole]


def curved(of: Described, trials: Sequence[Trial]) -> list[tuple[str, list[Group]]]:
    """Each x axis with the trials over it: for each variant the parameter that is declared a curve,
    or has most values; and the number of threads."""
    axes: dict[str, list[Trial]] = {}
    scaled: list[Trial] = []
    without = 0
    for variant in dict.fromkeys(t["variant"] for t in trials):
        own = [t for t in trials if t["variant"] == variant]
        x = axis_of(of, own)
        if x:
            axes.setdefault(x, []).extend(own)
        else:
            without += len(own)
        if not x or not of.is_curve(x):
            scaled += own
    found: list[tuple[str, list[Group]]] = []
    # The page shows the picture of the first axis unfolded, so that is the one with most trials.
    ordered = sorted(axes.items(), key=lambda axis: -len(axis[1]))
    before = sum(len(own) >= without for _, own in ordered)
    for x, own in (*ordered[:before], ("threads", scaled), *ordered[before:]):
        metric = of.x_by.get(x, x)
        over = metric if any(place_of(of, t, metric) is not None for t in own) else x
        named = [t for t in own if place_of(of, t, over) is not None]
        many = [g for g in groups(of, named, [x]) if several_values(of, g.trials, x)]
        found += [(over, many)] if many else []
    return found


def several_values(of: Described, trials: Sequence[Trial], x: str) -> bool:
    """Whether any line of these trials has enough points for a curve."""
    least = 2 if x == "threads" or of.is_curve(x) else ENOUGH
    by_line: dict[str, set[str]] = {}
    for t in trials:
        if t["value"] is not None:
            by_line.setdefault(value_of(of, t, line_of(of, t)), set()).add(value_of(of, t, x))
    return any(len(values) >= least for values in by_line.values())


def axis_of(of: Described, trials: Sequence[Trial]) -> Optional[str]:
    """The x axis of one variant's trials."""
    names = dict.fromkeys(k for t in trials for k in of.setting(t) if k != "threads")
    values = {
        name: {value_of(of, t, name) for t in trials if name in of.setting(t)} for name in names
    }
    numbers = [
        n
        for n, own in values.items()
        if n not in units.BARE
        and n not in (of.lines, line_of(of, trials[0]))
        and of.is_number(n, own)
        and several_values(of, trials, n)
    ]
    return max(numbers, key=lambda n: (of.is_curve(n), len(values[n])), default=None)


def unlike_pages(of: Described, trials: Sequence[Trial], among: Sequence[Trial]) -> set[str]:
    """The pages of these trials, if there are others among all; else none."""
    kinds = {value_of(of, t, PAGES) for t in among} - {""}
    return {value_of(of, t, PAGES) for t in trials} & kinds if len(kinds) > 1 else set()


def lines(of: Described, trials: Sequence[Trial], among: Sequence[Trial]) -> list[Line]:
    """The lines of one group. Colours and shapes follow from a line's place in `among`, so that
    they are the same in all panels."""
    kinds, unlike = {of.line_by.get(t["variant"]) for t in trials}, unlike_pages(of, trials, among)
    among = [t for t in among if of.line_by.get(t["variant"]) in kinds]
    own = own_parameters(of, among)

    def key(t: Trial) -> Key:
        setting, line = of.setting(t), line_of(of, t)
        more = [k for k in setting if k == PAGES or (k in own[t["variant"]] and k != "threads")]
        return of.order(line, setting[line]), tuple((k, setting[k]) for k in more)

    everywhere = sorted({key(t) for t in among})
    places = list(dict.fromkeys(k[0] for k in everywhere))
    found: dict[Key, Line] = {}
    for t in sorted(trials, key=key):
        first, more = key(t)
        alike = [k for k in everywhere if k[0] == first]
        several = differing([dict(k[1]) for k in alike])
        words = [
            PAGE_NAMES.get(v, v) if k == PAGES else v if number(v) is None else of.said(k, v)
            for k, v in more
            if k in several
        ]
        pages, kind = dict(more).get(PAGES), line_of(of, t)
        line: Line = Line(
            ", ".join((first[-1] if kind == "variant" else of.amount(kind, first[-1]), *words)),
            places.index(first),
            alike.index((first, more)),
            pages if pages in unlike else None,
            [],
        )
        found.setdefault((first, more), line).trials.append(t)
    return list(found.values())
