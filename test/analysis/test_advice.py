# SPDX-License-Identifier: Apache-2.0
"""The advice what to run follows from why an answer is missing; it never repeats the last command,
and is never impossible here."""

from __future__ import annotations

from typing import Any

import pytest
from locus_analysis.card import summary
from locus_analysis.card.content import CERTAIN, UNTOLD, Card
from locus_analysis.insight import advice
from locus_analysis.insight.advice import Place, Run, Wish
from locus_analysis.records import database
from make_records import (
    ONE,
    TWO,
    Line,
    Machine,
    Point,
    kmeans,
    latency,
    numa,
    of_lines,
    record,
    run_id,
    sharing,
)

CURVE = Wish("latency", (("variant", "cycle"), ("size", "4K..2G*2")))
MIB = 1 << 20
LITTLE = {  # a machine on which the advised commands fit
    "topology": {"allowed": None, "nodes": [{}]},
    "memory": {"available": None},
    "cgroup": None,
}


def command(reason: str, *runs: Run, wish: Wish = CURVE, **machine: Any) -> str:
    known: Any = {**LITTLE, **machine}
    found = advice.of(Place(known, runs), reason, wish)
    return found.before + found.command or f"none: {found.none}"


BASE = "locus latency --variant cycle --size 4K..2G*2"


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (advice.ABSENT, BASE),
        (advice.SHORT, BASE),
        (advice.RANGE, BASE),
        (advice.COARSE, BASE),
        (advice.WIDE, f"{BASE} --time-budget 5min"),
        (advice.NOISY, f"with nothing else running: {BASE} --time-budget 5min"),
        (advice.BIMODAL, f"{BASE} --runs 6"),
        (advice.IMPOSSIBLE, "none: "),
        (advice.EXHAUSTED, "none: "),
    ],
)
def test_each_reason_has_its_remedy(reason: str, expected: str) -> None:
    assert command(reason) == expected


def test_every_reason_is_in_the_table() -> None:
    words = {
        value for name, value in vars(advice).items() if name.isupper() and isinstance(value, str)
    }
    assert words == set(advice.REMEDIES)


@pytest.mark.parametrize(
    ("options", "seconds", "more"),
    [
        ({"variant": "cycle", "size": "4K..2G*2"}, 60, " --time-budget 2min"),
        ({"size": "4K..2G*2"}, 60, " --time-budget 2min"),  # cycle is the default pattern
        ({"var": "cycle,page-random", "size": "4K..2G*2"}, 300, " --time-budget 10min"),
        ({"variant": "cycle", "size": "4K..64M*2"}, 60, ""),  # another question
        ({"variant": "page-random", "size": "4K..2G*2"}, 60, ""),
        ({"variant": "cycle"}, 3600, ""),  # the default sizes are others
        ({"variant": "cycle", "size": "4K..2G*2", "prof": "standard"}, 60, " --time-budget 2min"),
        ({}, 60, ""),
    ],
)
def test_what_was_run_is_not_repeated(options: dict[str, str], seconds: int, more: str) -> None:
    assert command(advice.SHORT, Run("latency", options, seconds)) == BASE + more


@pytest.mark.parametrize(
    ("reason", "options", "seconds", "more"),
    [
        (advice.NOISY, {}, 400, " --time-budget 13min"),
        (advice.NOISY, {"variant": "distance"}, 400, " --time-budget 5min"),  # a part of it
        (advice.NOISY, {"threads": "2"}, 3600, " --time-budget 5min"),
        (advice.SHORT, {"variant": "distance"}, 60, " --time-budget 2min"),  # all takes longer
        (advice.BIMODAL, {}, 60, " --runs 6"),
        (advice.BIMODAL, {"runs": "8"}, 60, " --runs 6 --time-budget 2min"),
    ],
)
def test_only_a_run_that_asked_as_much_counts(
    reason: str, options: dict[str, str], seconds: int, more: str
) -> None:
    told = command(reason, Run("sharing", options, seconds), wish=Wish("sharing", cpus=2))
    assert told.removeprefix("with nothing else running: ") == f"locus sharing{more}"


def test_runs_that_were_not_asked_for_come_before_more_time() -> None:
    had = Run("latency", dict(CURVE.options), 60)
    assert command(advice.BIMODAL, had) == f"{BASE} --runs 6"


def test_what_had_an_hour_is_no_advice() -> None:
    had = Run("latency", dict(CURVE.options), 3600)
    assert command(advice.SHORT, had) == "none: 60min did not change that"


@pytest.mark.parametrize(
    ("wish", "machine", "why"),
    [
        (
            Wish("sharing", cpus=2),
            {"topology": {"allowed": "3", "nodes": [{}]}},
            "there is one CPU",
        ),
        (Wish("sharing", cpus=2), {"topology": {"allowed": "0,4", "nodes": [{}]}}, ""),
        (Wish("numa", nodes=2), {"topology": {"allowed": "0-7", "nodes": [{}]}}, "one NUMA node"),
        (Wish("latency", size=64 * MIB), {"memory": {"available": 100 * MIB}}, "room for 64 MiB"),
        (
            Wish("latency", size=64 * MIB),
            {"memory": {"available": 1 << 40}, "cgroup": {"memory_limit": 100 * MIB}},
            "memory has no room for 64 MiB",
        ),
        (
            Wish("latency", (("pages", "base,thp"),)),
            {"memory": {"available": None, "thp": {"enabled": "never"}}},
            "there are no transparent huge pages",
        ),
    ],
)
def test_what_is_impossible_here_is_no_advice(wish: Wish, machine: Line, why: str) -> None:
    told = command(advice.ABSENT, wish=wish, **machine)
    assert told.startswith("none: ") and why in told if why else told == f"locus {wish.benchmark}"


def test_of_several_reasons_the_most_frequent_counts() -> None:
    def why(*statuses: str) -> str:
        return advice.why({"status": status} for status in statuses)

    assert why() == advice.ABSENT
    assert why("noisy", "interrupted", "interrupted", "ok", "ok", "ok") == advice.SHORT
    assert why("impossible", "failed", "noisy") == advice.IMPOSSIBLE


# The card.


def card_of(machine: Machine, points: list[Point], *command: str, allowed: str = "") -> Card:
    lines = record(machine, points, run_id("a"), command=["locus", *command])
    topology = lines[0]["machine"]["topology"]
    topology["allowed"] = allowed or topology["allowed"]
    (made,) = summary.cards(database.tables(of_lines(lines)))
    return made


def untold(made: Card, name: str) -> str:
    (line,) = [line for line in made.lines if line.name == name]
    assert line.sure == UNTOLD
    return line.text


def cut(points: list[Point], largest: int, status: str) -> list[Point]:
    """Gives larger sizes that status."""
    for p in points:
        if p.parameters["size"] > largest:
            p.status, p.reasons = status, ["so it is"]
    return points


def small(octave: int = 1) -> list[Point]:
    return [p for p in latency(TWO, octave) if p.variant == "cycle"]


FAR = "--variant cycle --pages thp --size 4K..256M*2"


@pytest.mark.parametrize(
    ("points", "given", "expected"),
    [
        # the curve ends early
        ([p for p in small() if p.parameters["size"] <= MIB >> 2], "", f": locus latency {FAR}"),
        # there was no time for the rest, and the same command would need more than that
        (cut(small(), MIB >> 2, "interrupted"), "--size 4K..256M*2", "*2 --time-budget 2min"),
        (cut(small(), MIB >> 2, "impossible"), "", "no plateau of its own"),
    ],
)
def test_a_level_that_is_missing(points: list[Point], given: str, expected: str) -> None:
    """The last of the missing ones has the advice for all."""
    made = card_of(TWO, points, "latency", *given.split())
    missing = [line.text for line in made.lines if line.text.startswith("no plateau")]
    assert untold(made, "L3").endswith("22 MiB reported") and missing[-1].endswith(expected)


@pytest.mark.parametrize("told", [True, False])
def test_where_huge_pages_cannot_be_had_none_are_asked_for(told: bool) -> None:
    """Whether the machine says so, or only its trials; until the curve is fine enough."""
    for octave, expected in ((1, "page-random --pages base --size 64K..64M*1.2"), (4, "")):
        points = latency(TWO, octave)
        points = [p for p in points if p.variant == "page-random" and p.parameters["size"] <= MIB]
        for p in points:
            p.seconds = 2e-9
            if p.parameters["pages"] == "thp":
                p.status, p.reasons = "impossible", ["transparent huge pages are switched off"]
        lines = record(TWO, points, run_id("a"), command=["locus", "latency"])
        if told:
            lines[0]["machine"]["memory"]["thp"].update(enabled="never", allowed=False)
        (made,) = summary.cards(database.tables(of_lines(lines)))
        text = untold(made, "TLB")
        assert text.startswith("no step that is a TLB's") and "thp" not in text
        assert expected in text and ("locus" in text) == bool(expected)


def test_where_only_one_cpu_may_be_used_nothing_takes_two() -> None:
    """Advice contains neither a curve over distances, nor a suite."""
    alone = [p for p in sharing(ONE, threads=(1,)) if p.variant != "distance"]
    made = card_of(ONE, alone, "sharing", allowed="0")
    (line,) = [line for line in made.lines if line.block == "sharing"]
    assert (line.text, line.sure) == ("one CPU: cannot matter", CERTAIN)
    assert [s.what for s in made.spoilers if "CPU 0 of" in s.what]
    assert "core to core: there is one CPU" in made.missing
    assert "caches, bandwidth, workloads: locus suite measures all" in made.missing


def test_a_workload_that_compares_threads_says_that_there_is_one_cpu() -> None:
    alone = [p for p in kmeans() if p.threads == 1]
    for point in alone:
        point.ratios = []
    assert untold(card_of(ONE, alone, "kmeans"), "kmeans").startswith("nothing to compare")
    assert untold(card_of(ONE, alone, "kmeans", allowed="0"), "kmeans") == "one CPU: cannot be had"


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("noisy", "nothing to compare: locus kmeans --variant "),  # the option, not noise
        ("interrupted", "nothing to compare: locus kmeans --time-budget 2min"),
    ],
)
def test_what_was_not_asked_for_is_why_nothing_is_compared(status: str, expected: str) -> None:
    points = [p for p in kmeans() if p.threads == 1]
    for point in points:
        point.ratios, point.status, point.reasons = [], "noisy", ["other work"]
    points[-1].status = status
    made = card_of(TWO, points, "kmeans", "--threads", "1")
    assert untold(made, "kmeans").startswith(expected)


def test_answers_that_differ_are_the_reason_for_no_comparison() -> None:
    """More time would not change that."""
    points = kmeans()
    for point in points:
        point.ratios = []
    points[-1].notes = ["no slowdown of 1q over 2q: their inertia differs, 1.5 and 1.25"]
    told = untold(card_of(ONE, points, "kmeans"), "kmeans")
    assert told == "1q and 2q can't be compared: their inertia differs"


@pytest.mark.parametrize(
    ("given", "more"),
    [("suite", " --time-budget 2min"), ("suite --quiet latency", ""), ("suite latency numa", "")],
)
def test_a_suite_is_not_told_to_run_the_same_suite(given: str, more: str) -> None:
    points = [p for p in latency(TWO, 1) if p.variant == "cycle"]
    made = card_of(TWO, points + cut_all(numa(TWO)), *given.split())
    assert "workloads: locus suite" + more in made.missing.split("; ")
    assert "core to core: locus core-to-core" in made.missing
    assert "bandwidth, first touch: impossible here: no memory" in made.missing


def cut_all(points: list[Point]) -> list[Point]:
    for p in points:
        p.status, p.reasons = "impossible", ["no memory"]
    return points
