# SPDX-License-Identifier: Apache-2.0
"""What to run where an answer is missing, or wider than it need be. It follows from the reason why:
never what was run already, and nothing that is impossible here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Optional

import duckdb

from ..base import units
from ..records.database import is_sound, select
from ..records.lines import Header, Machine
from ..records.rows import HasStatus, Outcome

ABSENT = "not measured"
SHORT = "the time was spent before"
NOISY = "disturbed by other work"
BIMODAL = "bimodal"
WIDE = "the intervals are too wide"
RANGE = "measured too little"
COARSE = "measured points are far apart"
IMPOSSIBLE = "impossible here"
EXHAUSTED = "measured, and not there"


class Remedy(NamedTuple):
    """How the command that answers a question is to differ."""

    before: str = ""  # said before the command
    seconds: int = 0  # of --time-budget; 0: the profile's
    runs: int = 0


# The one table of reasons and remedies. None: nothing that could be run would help.
REMEDIES: dict[str, Optional[Remedy]] = {
    ABSENT: Remedy(),
    SHORT: Remedy(),
    RANGE: Remedy(),
    COARSE: Remedy(),
    NOISY: Remedy(before="with nothing else running: ", seconds=300),
    WIDE: Remedy(seconds=300),
    BIMODAL: Remedy(runs=6),
    IMPOSSIBLE: None,
    EXHAUSTED: None,
}
MOST_SECONDS = 3600  # longer ones are no advice
PROFILE_SECONDS = 60  # what a command has by itself
NO_QUESTION = ("output", "append", "resume", "quiet", "format", "tag", "seed")  # of options
EFFORT = (  # what changes how long, or how, the same trials are measured
    *("profile", "time-budget", "case-budget", "repeats", "duration", "runs", "begin-at"),
    *("counters", "counters-optional", "multiplex", "verbose"),
)
FLAGS = (  # without a value
    *("append", "resume", "quiet", "verbose", "oversubscribe", "counters-optional"),
    *("multiplex", "dry-run"),
)
WHOLE = ("variant", "pages")  # without these options all of their values are asked for


@dataclass(frozen=True)
class Wish:
    """A command that would answer a question, and what it takes."""

    benchmark: str
    options: tuple[tuple[str, str], ...] = ()
    cpus: int = 1
    nodes: int = 1
    size: float = 0  # bytes


@dataclass(frozen=True)
class Run:
    """A command that was run, and the seconds that it had."""

    benchmark: str
    options: dict[str, str]
    seconds: float
    only: tuple[str, ...] = ()  # benchmarks of a suite; empty: all

    def given(self, name: str) -> str:
        """The value of an option, which may be abbreviated."""
        return next(
            (v for given, v in self.options.items() if given and name.startswith(given)), ""
        )


@dataclass(frozen=True)
class Place:
    """A machine, and what was run on it."""

    machine: Machine
    runs: tuple[Run, ...] = ()


@dataclass(frozen=True)
class Advice:
    command: str = ""
    before: str = ""
    none: str = ""  # why there is no command
    why: str = ""  # the reason that the command is for

    @property
    def longer(self) -> bool:
        """Whether the command is to have more time than it had."""
        return bool(self.command and self.why in (NOISY, WIDE))

    def after(self, why: str) -> str:
        """The sentence that begins with what is missing."""
        if self.command:
            return f"{why}: {self.before}{self.command}"
        return f"{why}; {self.none}" if self.none else why


def of(place: Place, reason: str, wish: Wish) -> Advice:
    """What to run for this reason."""
    remedy, lack = REMEDIES[reason], _lack(place.machine, wish)
    if lack or remedy is None:
        return Advice(none=lack)
    had = [run.seconds for run in place.runs if _asked(run, wish, remedy, reason)]
    seconds = remedy.seconds
    if had and max(had) >= (seconds or PROFILE_SECONDS):
        seconds = int(2 * max(had))
    elif had and not seconds:
        seconds = 2 * PROFILE_SECONDS
    if seconds > MOST_SECONDS:
        return Advice(none=f"{_duration(max(had))} did not change that")
    words = ["locus", wish.benchmark, *(f"--{name} {value}" for name, value in wish.options)]
    words += [f"--runs {remedy.runs}"] if remedy.runs else []
    words += [f"--time-budget {_duration(seconds)}"] if seconds else []
    return Advice(" ".join(words), remedy.before, why=reason)


def _asked(run: Run, wish: Wish, remedy: Remedy, reason: str) -> bool:
    """Whether a run asked the same, or more, however long it took; or a part of it, where that had
    too little time already."""
    runs = run.given("runs")
    if run.benchmark != wish.benchmark or (int(runs) if runs.isdigit() else 1) < remedy.runs:
        return False
    wanted = dict(wish.options)
    given = {name: value for name in wanted if (value := run.given(name))}
    if not all(_values(wanted[name]) <= _values(value) for name, value in given.items()):
        return False
    if wanted and (not given or not {*wanted} <= {*given, *WHOLE}):
        return False
    return reason == SHORT or not (run.only or _others(run, wanted))


def _values(words: str) -> set[str]:
    return set(words.split(","))


def _others(run: Run, wanted: Iterable[str]) -> list[str]:
    """Options of a run that restrict it, and are not among those wanted."""
    return [own for own in run.options if not _is_of(own, (*wanted, *EFFORT))]


def _lack(machine: Machine, wish: Wish) -> str:
    """What this machine lacks for it."""
    topology = machine["topology"]
    if wish.cpus > 1 and has_one_cpu(machine):
        return "there is one CPU"
    if wish.nodes > max(1, len(topology["nodes"])):
        return "there is one NUMA node"
    if wish.size > room(machine):
        return f"memory has no room for {units.size(wish.size)}"
    if "thp" in dict(wish.options).get("pages", "").split(",") and not has_thp(machine):
        return "there are no transparent huge pages"
    return ""


def has_one_cpu(machine: Machine) -> bool:
    """Whether only one may be used."""
    return count_of(machine["topology"]["allowed"] or "0-1") < 2


def has_thp(machine: Machine) -> bool:
    """Whether transparent huge pages can be had, as far as the record says."""
    thp = machine["memory"].get("thp")
    return not thp or (thp["enabled"] != "never" and thp.get("allowed") is not False)


def room(machine: Machine) -> float:
    """Bytes that a working set may have."""
    cgroup = machine["cgroup"]
    limits = [machine["memory"]["available"], cgroup and cgroup["memory_limit"]]
    return min((limit for limit in limits if limit), default=float("inf")) / 2


def count_of(cpus: str) -> int:
    """How many CPUs are in a list: "0-3,8"."""
    ends = [part.partition("-") for part in cpus.split(",") if part]
    return sum(int(last or first) - int(first) + 1 for first, _, last in ends)


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f}min" if seconds >= 60 else f"{seconds:.0f}s"


# ---- why something is missing ----


def why(trials: Iterable[HasStatus]) -> str:
    """Why these trials of a record do not answer: by the status that most of them have."""
    reasons = [reason for t in trials if (reason := _of_status(t))]
    return max(sorted(set(reasons)), key=reasons.count, default=ABSENT)


def _of_status(trial: HasStatus) -> str:
    if is_sound(trial):
        return "" if trial["status"] == "ok" else WIDE
    return {"noisy": NOISY, "bimodal": BIMODAL, "interrupted": SHORT}.get(
        trial["status"], IMPOSSIBLE
    )


def left_out(points: Iterable[tuple[int, HasStatus]], most: int = 3) -> str:
    """Points of a curve that do not count, each with its size: "64 B noisy, 128 B and 2 more
    interrupted"."""
    by_status: dict[str, list[str]] = {}
    for size, point in points:
        by_status.setdefault(point["status"], []).append(units.size(size))
    return ", ".join(f"{units.some(points, most)} {s}" for s, points in by_status.items())


# ---- what was run ----


@lru_cache(maxsize=1)
def places(db: duckdb.DuckDBPyConnection) -> dict[str, Place]:
    """By run: its machine, and what was run on that host."""
    found = select(db, Outcome, "FROM outcome ORDER BY ordinal")
    runs: dict[str, list[Run]] = {}
    headers: dict[str, Header] = {r["run"]: json.loads(r["header"]) for r in found}
    for r in found:
        runs.setdefault(r["host"], []).append(_run(headers[r["run"]], r["elapsed"]))
    return {r["run"]: Place(headers[r["run"]]["machine"], tuple(runs[r["host"]])) for r in found}


def _run(header: Header, elapsed: Optional[float]) -> Run:
    name, *words = header["command"][1:] or [""]
    had = max(header["budget"]["time"] or 0.0, elapsed or 0.0)
    options, others = _options(words)
    return Run(name, options, had, tuple(others))


def _options(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Long options with their values, and the words that are neither."""
    found, others, rest = {}, [], list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-"):
            others.append(word)
            continue
        name, equals, value = word.removeprefix("--").partition("=")
        is_flag = equals or _is_of(name, FLAGS)
        found[name] = value if is_flag or not rest else rest.pop(0)
    return {n: v for n, v in found.items() if not _is_of(n, NO_QUESTION)}, others


def _is_of(given: str, names: Iterable[str]) -> bool:
    """Whether an option, which may be abbreviated, is one of these."""
    return bool(given) and any(name.startswith(given) for name in names)


def quantity(size: float) -> str:
    """Bytes as options take them: 48K, 2G."""
    for factor, letter in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if size >= factor and size % factor == 0:
            return f"{int(size // factor)}{letter}"
    return str(int(size))
