# SPDX-License-Identifier: Apache-2.0
"""Counters on the page: every count with its interval, no doubtful zero as a number, each reason
once, curves below the time's curve."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any, Optional

import pytest
from locus_analysis.base import units
from locus_analysis.insight import counters, event_meanings
from locus_analysis.records import database
from make_records import (
    CACHES,
    MEMORY,
    ONE,
    OWN,
    TWO,
    Line,
    Model,
    Point,
    count,
    event,
    flag,
    latency,
    machine_record,
    numa,
    queried,
    record,
    run_id,
    write,
)
from pages import HOSTILE, Page, make, trials
from some import some

SOURCE = Path(__file__).parents[2] / "src"


CYCLE = 4.3e-10


PARANOID = (
    "perf_event_paranoid=3 forbids it: sysctl kernel.perf_event_paranoid=1, or in a container"
    " --cap-add PERFMON"
)


Events = dict[str, tuple[Line, Model]]


def time_of(trial: Line) -> float:
    return float(next(m["value"] for m in trial["metrics"] if m["name"] == "time"))


def cycles(trial: Line) -> Optional[float]:
    return time_of(trial) / CYCLE


def misses(trial: Line) -> Optional[float]:
    """L3 misses per load, estimated from its time."""
    return (
        min(1.0, time_of(trial) / MEMORY) if trial["parameters"]["size"] > CACHES[-1][0] else 0.001
    )


EVENTS: Events = {
    "PAPI_TOT_CYC": (event("PAPI_TOT_CYC"), cycles),
    "PAPI_TOT_INS": (event("PAPI_TOT_INS"), lambda _: 1.02),
    "PAPI_L3_TCM": (event("PAPI_L3_TCM", turn=1), lambda _: 0.25),
}


def curve(machine: Any = TWO, octave: int = 2) -> list[Point]:
    return [
        p
        for p in latency(machine, octave, last=128 << 20)
        if p.variant == "cycle" and p.parameters["chains"] == 1
    ]


def panels(page: Page, name: str) -> list[Any]:
    """Pictures with counters of a benchmark."""
    titled = [(spec, str(spec["title"]["text"])) for spec in page.specs]
    return [spec for spec, title in titled if title.startswith(name) and "counters over" in title]


def told(lines: list[Line], benchmark: str, folder: Path) -> tuple[Any, list[Any]]:
    """The tables, and the trials with their counters."""
    db = database.tables(database.read([write(folder / "told.jsonl", lines)]), page=True)
    return db, counters.counted(db, benchmark)


def of_run(lines: list[Line], benchmark: str, folder: Path) -> Any:
    db, own = told(lines, benchmark, folder)
    (found,) = counters.section(db, own).values()
    return found


def shown(folder: Path, lines: list[Line], benchmark: str = "numa") -> tuple[Page, Any]:
    """The page, and what it tells of a benchmark's counters in the only run."""
    kept: dict[str, Any] = {}
    section = counters.section

    def noted(db: Any, own: Any) -> Any:
        found = section(db, own)
        kept.update({t["benchmark"]: found[t["whole"]] for t in own})
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counters, "section", noted)
        page = make(folder, lines)
    return page, kept[benchmark]


def plain(points: int = 3) -> list[Line]:
    return record(ONE, numa(ONE, kernels=("sum",))[:points], run_id("a"))


def test_records_without_counters_say_nothing_of_them(tmp_path: Path) -> None:
    page = make(tmp_path, machine_record("one"))
    assert "Counters of" not in page.text and "counted" not in page.text
    assert "Counted by the kernel" not in page.text
    assert not any("counter" in name for name in some(page.ids))


def test_all_that_was_counted_is_in_the_table(tmp_path: Path) -> None:
    lines = count(record(TWO, flag(numa(TWO, kernels=("sum",)), every=2), run_id("a")), EVENTS)
    db, own = told(lines, "numa", tmp_path)
    given = [
        (
            t["id"],
            c["name"],
            c["source"],
            c["value"],
            *(c["ci"] or (None, None)),
            c["total"],
            c["per_thread"],
            c["trusted"],
        )
        for t in trials([lines])
        for c in t["counters"]
        if t["samples"] or c["name"] not in OWN
    ]
    kept = queried(db, "FROM counter")
    keys = ("id", "name", "source", "value", "low", "high", "total", "per_thread", "trusted")
    assert sorted([tuple(r[k] for k in keys) for r in kept], key=repr) == sorted(given, key=repr)
    measured = [t["id"] for t in trials([lines]) if t["samples"]]
    assert sorted(t["id"] for t in own) == sorted(measured)


def test_counts_stand_on_the_page_with_interval_and_unit(tmp_path: Path) -> None:
    """The record is not changed by looking."""
    lines = count(plain(), EVENTS)
    before = copy.deepcopy(lines)
    page = make(tmp_path, lines)
    assert lines == before
    assert "Counters of numa" in page.text
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    cells = re.findall(r'<td class="number">([^<]*)<br><span class="soft">([^<]*)</span>', text)
    for trial in trials([lines]):
        for c in trial["counters"]:
            if c["source"] in ("papi", "ratio"):
                assert (
                    units.count(c["value"]),
                    f"{units.count(c['ci'][0])} to {units.count(c['ci'][1])}",
                ) in cells
    assert "per pass" in page.text
    assert "In 2 passes" in page.text and "PAPI 7.0.0.0" in page.text
    for name in (*EVENTS, "instructions per cycle"):
        assert event_meanings.meaning(name) in page.text


def test_a_zero_in_doubt_is_never_shown_as_one(tmp_path: Path) -> None:
    doubtful: Events = {
        "perf::CACHE-MISSES": (event("perf::CACHE-MISSES", "perf", proven=False), lambda _: 0.0)
    }
    lines = count(record(TWO, curve(), run_id("a")), {**EVENTS, **doubtful})
    for t in trials([lines]):
        c = next(c for c in t["counters"] if not c["trusted"])
        t["notes"] = [f"{c['name']} is not to be trusted: {c['why']}", "something else"]
    page, found = shown(tmp_path, lines, "latency")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    n = len(trials([lines]))
    assert text.count('<span class="why">not counted?</span>') == n
    assert page.text.count("no probe saw it count") == 1
    assert f"read zero in {n} trials" in page.text
    assert page.text.count("something else") == n
    assert not any("CACHE-MISSES" in str(spec) for spec in some(page.specs))
    place = [c["name"] for c in found["columns"]].index("perf::CACHE-MISSES")
    assert {line["cells"][place]["text"] for line in found["lines"]} == {"not counted?"}


def test_a_proven_zero_is_a_number(tmp_path: Path) -> None:
    lines = count(
        plain(), {"perf::PAGE-FAULTS": (event("perf::PAGE-FAULTS", "perf"), lambda _: 0.0)}
    )
    found = of_run(lines, "numa", tmp_path)
    assert {line["cells"][0]["text"] for line in found["lines"]} == {"0"}
    assert found["untrusted"] == []


def test_what_could_not_be_counted_is_told_once_for_each_reason(tmp_path: Path) -> None:
    lacking: Events = {
        "PAPI_L3_TCA": (event("PAPI_L3_TCA", None, why=PARANOID), lambda _: 1.0),
        "PAPI_BR_MSP": (event("PAPI_BR_MSP", None, why=PARANOID), lambda _: 1.0),
        "perf::NODE-LOADS": (event("perf::NODE-LOADS", None), lambda _: 1.0),
        "PAPI_L1_DCM": (event("PAPI_L1_DCM"), lambda t: None if t["variant"] == "single" else 0.1),
    }
    lines = count(record(ONE, numa(ONE, kernels=("sum",))[:8], run_id("a")), {**EVENTS, **lacking})
    singles = sum(t["variant"] == "single" for t in trials([lines]))
    assert 0 < singles < 8
    page, of_numa = shown(tmp_path, lines)
    assert page.text.count(PARANOID) == 1
    found = {row["why"]: row for row in of_numa["lacking"]}
    assert (
        found[PARANOID]["names"] == ["PAPI_L3_TCA", "PAPI_BR_MSP"]
        and found[PARANOID]["trials"] is None
    )
    assert found["no sample was counted throughout"]["trials"] == singles
    assert [c["name"] for c in of_numa["columns"]] == [
        *EVENTS,
        "PAPI_L1_DCM",
        "instructions per cycle",
    ]


def test_a_benchmark_is_not_told_of_events_of_another(tmp_path: Path) -> None:
    lines = count(plain(), {**EVENTS, "PAPI_BR_MSP": (event("PAPI_BR_MSP", None), lambda _: 1.0)})
    for t in trials([lines]):
        t["counters"] = [c for c in t["counters"] if c["name"] != "PAPI_BR_MSP"]
    assert of_run(lines, "numa", tmp_path)["lacking"] == []


@pytest.mark.parametrize(("slower", "apart"), [(1.001, False), (1.2, True), (0.8, True)])
def test_what_counting_cost_is_told(slower: float, apart: bool, tmp_path: Path) -> None:
    lines = count(plain(), EVENTS, slower=slower)
    page, found = shown(tmp_path, lines)
    cost = found["cost"]
    assert (cost["n"], cost["known"], len(cost["apart"])) == (3, 3, 3 if apart else 0)
    assert cost["median"] == pytest.approx(slower)
    assert ("the two 95 % intervals do not overlap" in page.text) == apart
    assert ("The two 95 % intervals overlap in all of them" in page.text) == (not apart)


def test_without_intervals_nothing_is_concluded_of_the_cost(tmp_path: Path) -> None:
    lines = count(plain(), EVENTS, slower=2)
    for t in trials([lines]):
        t["counting"]["without_ci"] = None
    page, found = shown(tmp_path, lines)
    assert (found["cost"]["known"], found["cost"]["apart"]) == (0, [])
    assert "Too few batches for intervals" in page.text


def test_unequal_threads_are_told(tmp_path: Path) -> None:
    lines = count(record(TWO, numa(TWO, kernels=("sum",))[:3], run_id("a")), EVENTS)
    first, second, third = trials([lines])
    assert first["threads"] == 16
    counter = {c["name"]: c for c in first["counters"]}["PAPI_L3_TCM"]
    counter["per_thread"] = [0.1] + [0.01] * 15
    few = {c["name"]: c for c in second["counters"]}["PAPI_L3_TCM"]
    few.update(per_thread=[0.1] + [0.01] * 15, total=6)
    package = {c["name"]: c for c in third["counters"]}["PAPI_L3_TCM"]
    package.update(per_thread=[0.25] + [None] * 15, scope="package")
    (found,) = of_run(lines, "numa", tmp_path)["unequal"]
    assert (found["id"], found["name"]) == (first["id"], "PAPI_L3_TCM")
    assert found["text"] == "most 40 % (thread 0), least 4 % (thread 1), median 4 %"
    counter["per_thread"] = [0.2, 0.05, None, 0.0]
    (found,) = of_run(lines, "numa", tmp_path)["unequal"]
    assert found["text"] == "0: 80 %, 1: 20 %, 3: 0 %" and found["even"] == pytest.approx(1 / 3)


def test_energies_are_in_joules(tmp_path: Path) -> None:
    rapl: Events = {
        "rapl:::PACKAGE_ENERGY:PACKAGE0": (
            event("rapl:::PACKAGE_ENERGY:PACKAGE0", unit="nJ", scope="package"),
            lambda _: 4.2e9,
        )
    }
    found = of_run(count(plain(), rapl), "numa", tmp_path)
    assert {(c["text"], c["below"]) for line in found["lines"] for c in line["cells"]} == {
        ("4.20 J", "4.16 J to 4.24 J")
    }
    assert found["columns"][0]["scope"] == "once a package" and found["columns"][0]["meaning"]


# The kernel's counters.


def quiet(lines: list[Line]) -> list[Line]:
    for t in trials([lines]):
        if t["noise"]:
            t["noise"].update(dict.fromkeys(OWN.values(), 0))
    return lines


def test_where_nothing_happened_a_sentence_says_so(tmp_path: Path) -> None:
    lines = count(quiet(plain()), {})
    page = make(tmp_path, lines)
    assert f"Counted by the kernel: {', '.join(OWN)} were zero in all 3 trials." in page.text
    assert "not zero" not in page.text and "Counters of" not in page.text


def test_what_happened_is_told_of_the_trials_in_which_it_did(tmp_path: Path) -> None:
    lines = quiet(plain())
    trials([lines])[1]["noise"].update(migrations=7, steal=0.0125)
    lines = count(lines, {})
    page, of_numa = shown(tmp_path, lines)
    found = of_numa["kernel"]
    assert [c["name"] for c in found["columns"]] == ["migrations", "steal"]
    (line,) = found["lines"]
    assert line["variant"] == trials([lines])[1]["variant"] and line["trials"] == 1
    assert [c["text"] for c in line["cells"]] == ["7", "12.5 ms"]
    said = "Counted by the kernel: not zero in 1 of 3 trials (migrations in 1, steal in 1)"
    assert said in page.text


def test_of_many_trials_each_variant_has_a_row(tmp_path: Path) -> None:
    points = numa(TWO, kernels=("sum", "triad"))
    lines = quiet(record(TWO, points, run_id("a")))
    for t in trials([lines]):
        t["noise"]["involuntary"] = 2
    found = of_run(count(lines, {}), "numa", tmp_path)["kernel"]
    variants = {t["variant"] for t in trials([lines])}
    assert sorted(line["variant"] for line in found["lines"]) == sorted(variants)
    for line in found["lines"]:
        n = sum(t["variant"] == line["variant"] for t in trials([lines]))
        assert (line["trials"], line["cells"]) == (n, [{"text": str(2 * n), "trials": n}])


def test_what_the_kernel_does_not_tell_has_its_reason(tmp_path: Path) -> None:
    lines = quiet(plain())
    for t in trials([lines]):
        t["noise"]["steal"] = None
    found = of_run(count(lines, {}), "numa", tmp_path)
    told = {"why": "the kernel did not tell it", "names": ["steal"], "trials": 3}
    assert found["kernel"]["unknown"] == [told]
    assert "steal" not in found["kernel"]["quiet"] and found["lacking"] == []


def test_what_was_asked_for_of_the_kernel_is_no_aside(tmp_path: Path) -> None:
    asked: Events = {
        "migrations": (event("migrations", "kernel"), lambda _: 0.5),
        "cpu-time": (event("cpu-time", "kernel", unit="s"), time_of),
    }
    lines = count(quiet(plain()), asked)
    for t in trials([lines]):  # like the harness: an event that was requested appears once
        t["counters"] = [
            c
            for i, c in enumerate(t["counters"])
            if c["name"] not in [b["name"] for b in t["counters"][:i]]
        ]
    found = of_run(lines, "numa", tmp_path)
    assert [c["name"] for c in found["columns"]] == ["migrations", "cpu-time"]
    assert "migrations" not in found["kernel"]["quiet"]


# Records of several runs, and their words.


def test_runs_with_and_without_counters_make_one_page(tmp_path: Path) -> None:
    first, second, third = (
        record(ONE, curve(ONE, octave=1), run_id(str(i)), started=f"2025-03-1{i}T00:00:00.000Z")
        for i in (1, 2, 3)
    )
    page = make(tmp_path, first, count(second, EVENTS), count(third, {}))
    assert page.text.count("What was counted") == 1
    assert len(panels(page, "latency")) == 1 and "2025-03-12" in str(
        panels(page, "latency")[0]["title"]["text"]
    )
    assert page.text.count("Counted by the kernel: not zero") == 2


def test_a_resumed_run_keeps_what_both_parts_counted(tmp_path: Path) -> None:
    points = curve(ONE)
    first = count(record(ONE, points[:4], run_id("1")), EVENTS)
    again = record(
        ONE, points[4:], run_id("2"), resumes=[run_id("1")], started="2025-03-15T00:00:00.000Z"
    )
    second = count(again, {"PAPI_L2_DCM": (event("PAPI_L2_DCM"), lambda _: 0.5)})
    db, own = told(first[:-1] + second, "latency", tmp_path)
    found = counters.section(db, own)[run_id("2")]
    assert {c["name"] for c in found["columns"]} == {
        *EVENTS,
        "PAPI_L2_DCM",
        "instructions per cycle",
    }
    assert len(found["lines"]) == len(points)
    passes = {c["name"]: c["pass"] for c in found["columns"]}
    assert (passes["PAPI_L3_TCM"], passes["PAPI_L2_DCM"]) == (1, 0)
    assert found["asked"] and found["asked"]["passes"] == 2


def test_a_resumed_run_that_measured_nothing_has_no_word(tmp_path: Path) -> None:
    """A resumed run without new trials changes neither the number of passes nor an event's pass."""
    first = count(record(ONE, curve(ONE), run_id("1")), EVENTS)
    more: Events = {
        "PAPI_TOT_CYC": (event("PAPI_TOT_CYC", turn=1), cycles),
        "PAPI_L2_DCM": (event("PAPI_L2_DCM", turn=2), cycles),
    }
    again = record(ONE, [], run_id("2"), resumes=[run_id("1")], started="2025-03-15T00:00:00.000Z")
    found = of_run(first[:-1] + count(again, more), "latency", tmp_path)
    passes = {c["name"]: c["pass"] for c in found["columns"] if c["name"] in EVENTS}
    assert passes == {name: of["pass"] for name, (of, _) in EVENTS.items()}
    assert found["asked"]["passes"] == 2 and set(found["asked"]["asked"]) == set(EVENTS)


def test_nothing_that_a_record_says_of_counters_becomes_part_of_the_page(tmp_path: Path) -> None:
    lines = count(
        plain(),
        {
            HOSTILE: (event(HOSTILE), lambda _: 1.0),
            "b": (event("b", None, why=HOSTILE), lambda _: 1.0),
            "c": (event("c", proven=False), lambda _: 0.0),
        },
        papi=HOSTILE,
    )
    for t in trials([lines]):
        next(c for c in t["counters"] if not c["trusted"])["why"] = HOSTILE
    bare = make(tmp_path / "bare", plain())
    page = make(tmp_path / "page", lines)
    assert page.tags.count("script") == bare.tags.count("script")
    assert page.text.count(HOSTILE) >= 4


def test_every_event_of_a_default_set_and_every_ratio_has_a_meaning() -> None:
    names = set()
    events = (SOURCE / "kit/events.h").read_text(encoding="utf-8")
    shared = dict(re.findall(r'#define (EVENT_\w+)\s+(?:\\\n\s*)?((?:"[^"]+"[\s\\]*)+)', events))
    for path in sorted(SOURCE.glob("bench/**/*.c")):
        for table in re.findall(
            r"struct explained counters\[\] = \{(.*?)\n\};", path.read_text(encoding="utf-8"), re.S
        ):
            table = re.sub(r"\bEVENT_\w+", lambda name: shared[name[0]], table)
            # joins adjacent string literals
            table = re.sub(r'"[\s\\]*\n\s*"', "", table)
            names |= {
                name for row in re.findall(r'\{\s*"([^"]+)"', table) for name in row.split("|")
            }
    counting = (SOURCE / "harness/sample/counts.c").read_text(encoding="utf-8")
    ratios = re.findall(r'\{ "([^"]+)", "[^"]+", "([^"]+)", "([^"]+)" \}', counting)
    assert {"PAPI_TOT_CYC", "perf::CACHE-MISSES"} <= names and ratios
    names |= {name for row in ratios for name in row}
    names |= {*OWN, "faults", "context-switches", "cpu-time", "run-delay"}
    assert [name for name in sorted(names) if not event_meanings.meaning(name)] == []
    assert (
        event_meanings.meaning("no_such::EVENT") == ""
        and event_meanings.meaning("branches_of_oak") == ""
    )


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, "1", "0"),
        (1.5e-9, "1", "1.50e-9"),
        (0.0123, "1", "0.0123"),
        (999.4, "1", "999"),
        (2.5e7, "1", "25.0 M"),
        (3e-7, "s", "300 ns"),
    ],
)
def test_counts_read_well(value: float, unit: str, text: str) -> None:
    assert units.count(value, unit) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (16384, "16 Ki"),
        (1 << 30, "1 Gi"),
        (200000, "200 k"),
        (0, "0"),
        (81, "81"),
        ("base", "base"),
        (0.5, "0.5"),
    ],
)
def test_parameters_read_well(value: Any, text: str) -> None:
    assert units.short(value).replace("\u00a0", " ") == text
