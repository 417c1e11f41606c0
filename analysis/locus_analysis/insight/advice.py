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
    had = [run.seconds for run in place.runs if _asked(run, wish, remedy)]
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


def _asked(run: Run, wish: Wish, remedy: Remedy) -> bool:
    """Whether a run asked the same, or more, however long it took. What it left to a default it
    asked if it asked something else."""
    runs = (("runs", str(remedy.runs)),) if remedy.runs else ()
    asked = [(run.given(name), value) for name, value in (*wish.options, *runs)]
    same = [set(value.split(",")) <= set(given.split(",")) for given, value in asked if given]
    return run.benchmark == wish.benchmark and all(same) and (bool(same) or not asked)


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
    words = header["command"][1:]
    had = max(header["budget"]["time"] or 0.0, elapsed or 0.0)
    return Run(words[0] if words else "", _options(words[1:]), had)


def _options(words: Sequence[str]) -> dict[str, str]:
    """Long options with their values."""
    found = {}
    for word, after in zip(words, [*words[1:], ""]):
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            found[name] = value if equals else after
    return {name: value for name, value in found.items() if name not in NO_QUESTION}


def quantity(size: float) -> str:
    """Bytes as options take them: 48K, 2G."""
    for factor, letter in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if size >= factor and size % factor == 0:
            return f"{int(size // factor)}{letter}"
    return str(int(size))
