# SPDX-License-Identifier: Apache-2.0
"""Lines of the card about workloads: what each ratio of a benchmark says, and which strides the
prefetchers follow. On the card a benchmark has one line; its own run ends with one for each
ratio."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Optional, TypedDict

import duckdb

from ..base import units
from ..insight import advice, evidence
from ..insight.evidence import ABOVE, OPEN
from ..records import lines as of_records
from ..records.database import UNUSABLE, is_sound, select, value_of
from ..records.rows import Judged, Ratio, Trial
from .content import (
    CERTAIN,
    NOISY,
    ROUGH,
    UNTOLD,
    Host,
    Line,
    compared,
    is_clear,
    undecided,
    untold,
    worst,
)

TOLD_ABOVE = ("latency", "sharing", "cores")  # have lines of their own in other blocks
# By the kind of a ratio: words for more and for less than 1.
WORDS = {"slowdown": ("slower", "faster"), "gain": ("faster", "slower")}
# The note of a trial that has no ratio, since two answers differ (src/harness/judge/ratios.c).
DIFFER = re.compile(r"no \S+ of (.+) over (.+): (their \S+ differs)")
PREPOSITIONS = ("by ", "of ", "from ")


class Declared(TypedDict):
    run: str
    benchmark: str
    ratios: Optional[str]  # JSON


@dataclass(frozen=True)
class Gain:
    """A ratio in all of its settings."""

    ratio: of_records.Ratio
    found: Sequence[Ratio]

    @property
    def told(self) -> tuple[str, str]:
        """What it says, and how far that can be trusted."""
        return compared(self.found, *WORDS.get(self.ratio["name"], WORDS["gain"]))

    @property
    def subject(self) -> str:
        """ "false sharing of means and sums", "reads without locks"."""
        words = self.ratio["help"] or f"{self.ratio['of']}/{self.ratio['to']}"
        for preposition in PREPOSITIONS:
            words = words.removeprefix(preposition)
        words = words.removeprefix("... ")
        return f"what {words.removeprefix('that ')}" if words.startswith("that ") else words


def of_all(host: Host) -> list[Line]:
    """A line for each benchmark that compares something: its first ratio that was measured, and
    the largest of the others."""
    lines = []
    for benchmark, ratios in _declared(host).items():
        if ratios and benchmark not in TOLD_ABOVE and host.of(benchmark):
            lines.append(_in_one(host, benchmark, _gains(host, benchmark, ratios)))
    return lines


def of_one(host: Host, benchmark: str) -> list[Line]:
    """All lines of a benchmark: for each ratio one."""
    ratios = _declared(host).get(benchmark)
    if not ratios or benchmark in TOLD_ABOVE or not host.of(benchmark):
        return []
    gains = _gains(host, benchmark, ratios)
    lines = [_line(host, benchmark, gain) for gain in gains]
    return [*_strides(host), *lines] or [_in_one(host, benchmark, gains)]


def _declared(host: Host) -> dict[str, list[of_records.Ratio]]:
    """The ratios of each benchmark, as its last run has declared them."""
    of_run = _declarations(host.db)
    return {
        r["benchmark"]: json.loads(r["ratios"] or "[]")
        for run in host.runs
        for r in of_run.get(run["run"], [])
    }


@lru_cache(maxsize=1)
def _declarations(db: duckdb.DuckDBPyConnection) -> dict[str, list[Declared]]:
    """The declarations of all hosts, by run."""
    of_run: dict[str, list[Declared]] = {}
    query = "SELECT run, benchmark, json->'$.ratios' AS ratios FROM benchmark ORDER BY place"
    for r in select(db, Declared, query):
        of_run.setdefault(r["run"], []).append(r)
    return of_run


def _gains(host: Host, benchmark: str, ratios: Sequence[of_records.Ratio]) -> list[Gain]:
    own = host.of(benchmark)
    most = max(t["threads"] for t in own)
    gains = [Gain(ratio, _measured(own, ratio, most)) for ratio in ratios]
    return [gain for gain in gains if gain.found]


def _measured(own: Sequence[Trial], ratio: of_records.Ratio, threads: int) -> list[Ratio]:
    """This ratio in all trials with most threads: several if another parameter varies."""
    by_threads = ratio["parameter"] == "threads"
    return [
        r
        for t in own
        for r in t["ratios"]
        if t["threads"] == threads
        and r["value"]
        and r["name"] == ratio["name"]
        and r["parameter"] == ratio["parameter"]
        and (by_threads or (r["of"], r["to"]) == (ratio["of"], ratio["to"]))
        and r["metric"] == ratio["metric"]
    ]


def _then(host: Host, benchmark: str) -> advice.Advice:
    return advice.of(host.place, advice.why(host.of(benchmark)), advice.Wish(benchmark))


def _in_one(host: Host, benchmark: str, gains: Sequence[Gain]) -> Line:
    if not gains:
        if differing := _differing(host.of(benchmark)):
            return untold("work", benchmark, differing, advice.Advice())
        if advice.has_one_cpu(host.machine):
            return untold("work", benchmark, "one CPU: cannot be had", advice.Advice())
        return untold("work", benchmark, "nothing to compare", _to_compare(host, benchmark))
    first, *others = gains
    best = max((g for g in others if _clear(g.found)), key=_greatest, default=None)
    more, word = _short(best) if best else ("", CERTAIN)
    threads = units.several(max(t["threads"] for t in host.of(benchmark)), "thread")
    return _line(host, benchmark, first, [*filter(None, [more]), threads], word)


def _to_compare(host: Host, benchmark: str) -> advice.Advice:
    """What to run for trials that are to be compared. Those of any status that has a value were, so
    the others were not asked for, or did not get that far."""
    own = [t for t in host.trials if t["benchmark"] == benchmark and t["status"] in UNUSABLE]
    compared = (r for r in _declared(host)[benchmark] if r["parameter"] == "variant")
    variants = [("variant", f"{r['of']},{r['to']}") for r in compared][:1]
    wish = advice.Wish(benchmark, () if own else tuple(variants))
    return advice.of(host.place, advice.why(own), wish)


def _differing(trials: Sequence[Trial]) -> str:
    """Which of them were not compared, and why; empty: that was not the reason."""
    found = next((f for t in trials for note in t["notes"] if (f := DIFFER.match(note))), None)
    return f"{found[1]} and {found[2]} can't be compared: {found[3]}" if found else ""


def _line(
    host: Host, benchmark: str, gain: Gain, more: Sequence[str] = (), its_word: str = CERTAIN
) -> Line:
    """What a ratio says; then `more`, as far as there is room, and as far as it can be trusted."""
    said, word = gain.told
    told = f"{gain.subject}: {said}"
    if word == UNTOLD:
        return undecided("work", benchmark, told, _then(host, benchmark))
    return Line("work", benchmark, told, worst([word, its_word]), _numbers(gain.found), more=more)


def _short(gain: Gain) -> tuple[str, str]:
    words = WORDS.get(gain.ratio["name"], WORDS["gain"])
    said, word = compared(_clear(gain.found), *words)
    return f"{gain.ratio['of']} against {gain.ratio['to']} {said}", word


def _clear(found: Sequence[Ratio]) -> list[Ratio]:
    return [r for r in found if is_clear(r)]


def _greatest(gain: Gain) -> float:
    return max(value_of(r) for r in _clear(gain.found))


def _numbers(found: Sequence[Judged]) -> dict[str, float]:
    """The least and the greatest of the ratios whose value may be told."""
    values = [value_of(r) for r in found if not evidence.is_noisy(r)]
    return {"least": min(values), "most": max(values)} if values else {}


# ---- which strides the prefetchers follow ----


def _strides(host: Host) -> list[Line]:
    """A line for each variant of prefetch and kind of pages."""
    found: dict[tuple[str, str], list[tuple[float, Ratio]]] = {}
    for t in host.of("prefetch"):
        for r in t["ratios"]:
            if (r["of"], r["to"]) == ("random", "forward") and r["value"]:
                key = t["variant"], str(t["parameters"].get("pages"))
                found.setdefault(key, []).append((float(t["parameters"]["stride"]), r))
    return [_followed(host, *key, sorted(own, key=lambda of: of[0])) for key, own in found.items()]


def _followed(host: Host, variant: str, pages: str, own: Sequence[tuple[float, Ratio]]) -> Line:
    """The largest stride up to which forward is surely faster than random. The ratios up to there,
    and the next one, decide how sure that is."""
    where = f"{variant} loads, {pages} pages"
    sides = [evidence.side(r) for _, r in own]
    sizes = [units.size(stride) for stride, _ in own]
    above = [size for size, side in zip(sizes, sides) if side == ABOVE]
    if not above and OPEN in sides:
        unknown = [r for _, r in own if evidence.side(r) == OPEN]
        wish = advice.Wish("prefetch", (("variant", variant), ("pages", pages)))
        then = advice.of(host.place, advice.why(unknown), wish)
        said = f"{where}: whether strides are followed is open"
        return undecided("prefetch", "strides", said, then)
    last = next((i for i, side in enumerate(sides) if side != ABOVE), len(own))
    decide, text = own[: last + 1], f"strides up to {sizes[last - 1]} are followed"
    if last == 0:
        decide, text = own, f"{units.some(above, 3)} followed" if above else "no stride is followed"
    word = CERTAIN
    if above and last < len(own):
        text += f", {sizes[last]} {'may be' if sides[last] == OPEN else 'is not'}"
        word = ROUGH if sides[last] == OPEN else CERTAIN
    words = [word, *(_rests_on(r) for _, r in decide)]
    return Line("prefetch", "strides", f"{where}: {text}", worst(words))


def _rests_on(ratio: Judged) -> str:
    """How far a side can be trusted that rests on this ratio."""
    if evidence.is_noisy(ratio):
        return NOISY
    return CERTAIN if is_sound(ratio) else ROUGH
