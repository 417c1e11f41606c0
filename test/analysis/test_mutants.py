# SPDX-License-Identifier: Apache-2.0
"""Every command copes with everything that the schema allows: in these records each field in turn
has each value that is valid there: null, nothing, zero, the least, the largest, any text. One in 17
of them, unless MUTANTS=all. And with records in which a line is missing or damaged."""

from __future__ import annotations

import copy
import io
import json
import os
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Union

import pytest
from locus_analysis import __main__ as program
from locus_analysis.base.processes import Processes
from locus_analysis.card import summary
from locus_analysis.compare import power
from locus_analysis.records import database, schema
from make_records import (
    PEERS,
    TWO,
    Line,
    as_written,
    checkpoint,
    core_to_core,
    count,
    event,
    kmeans,
    latency,
    numa,
    over_ranks,
    peer,
    record,
    run_id,
    search,
)
from make_records import sharing as sharing_points
from some import some

Where = tuple[Union[str, int], ...]
STATUSES = (0, 1, 2, 4)  # from the man page: statuses of commands that read records
IN_LINE = 3  # mutants of a line, at most: one may keep what follows from being looked at
TOGETHER = 8  # runs in a file, each of another machine: pages draw no more hosts one by one
COMMANDS: dict[str, list[str]] = {
    "summary": ["summary"],
    "levels": ["levels"],
    "validate": ["validate"],
    "report": ["report", "--force", "--output", "PAGE"],
    "compare": ["compare", "--all", "RECORD"],
    "plan": ["compare", "--plan", "--all"],
    "csv": ["export"],
    "google": ["export", "--format", "google-benchmark"],
    "expect": ["export", "--expect"],
}
OF_DAMAGED = {
    **{name: COMMANDS[name] for name in ("summary", "levels", "report", "compare", "csv")},
    "sick": ["sick"],
    "aggregate": ["aggregate", "--into", "STORE"],
}

# Values tried in every place; the schema says which are valid there.
LARGE, SMALL = 1e99, 1e-99  # the format's limits
ABSENT = object()
ODD = "\u2028<b>%s{}'\"\\x00 "
VALUES: tuple[Any, ...] = (
    *(ABSENT, None, True, False, 0, 2.0, 1 << 53, -(1 << 53), LARGE, -LARGE, SMALL),
    *("", ODD, [], {}, [None]),
)
OF_BENCHMARKS = ("variant", "parameters", "metrics", "pairs", "threads", "ratios")


class Mutant(NamedTuple):
    place: int  # of the line
    name: str
    path: Where
    value: Any


@cache
def base() -> list[Line]:
    """A record with lines of all types, and few trials of each benchmark."""
    points = [
        *latency(TWO, octave=1)[::8],
        *numa(TWO, kernels=("sum",))[::6],
        *core_to_core(TWO)[:1],
        *sharing_points(TWO, threads=(2,))[::6],
        *kmeans(threads=(1,))[::3],
        *checkpoint(TWO, threads=(1, 2))[:2],
        *search()[:3],
        over_ranks(1, 1 << 20),
    ]
    points[1].status, points[1].reasons = "noisy", ["the CPU was taken from it"]
    lines = record(TWO, points, run_id("base"))
    lines = count(lines, {"faults": (event("faults", "kernel"), lambda trial: 3.0)})
    # the others are like the first
    several = [line for line in lines if line["type"] == "samples"][4:]
    lines = [line for line in lines if line not in several]
    return as_written([*lines[:-1], peer(run_id("base"), **PEERS[0]), lines[-1]])


@cache
def enumerators() -> tuple[str, ...]:
    found: set[str] = set()

    def look(part: Any) -> None:
        for inner in part.values() if isinstance(part, dict) else part:
            if isinstance(inner, (dict, list)):
                look(inner)
        if isinstance(part, dict):
            found.update(x for x in part.get("enum", []) if isinstance(x, str))

    look(json.loads((schema.HERE / schema.SCHEMA_FILE).read_text(encoding="utf-8")))
    return tuple(sorted(some(found)))


def places(value: Any, path: Where = ()) -> Iterator[tuple[Where, Any]]:
    yield path, value
    keys: Sequence[Any] = ()
    if isinstance(value, dict):
        keys = list(value)
    elif isinstance(value, list):
        keys = range(min(len(value), 2))  # the others are alike
    for key in keys:
        yield from places(value[key], (*path, key))


def changed(line: Line, path: Where, value: Any) -> Line:
    """A copy, which shares what the path does not lead through."""
    line = copy.copy(line)
    at: Any = line
    for key in path[:-1]:
        at[key] = copy.copy(at[key])
        at = at[key]
    if value is ABSENT:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return line


@cache
def declared() -> schema.Declared:
    made = schema.Declared()
    for line in base():
        made.check(line)
    return made


def is_valid(line: Line) -> bool:
    try:
        schema.check(line, strict=True)
        known = declared() if line["type"] == "trial" else schema.Declared()
        for one in (line, *(base() if line["type"] == "benchmark" else ())):
            if one["type"] == "trial" or one is line:
                known.check(one)
    except schema.Flaw:
        return False
    return True


def mutants() -> Iterator[Mutant]:
    seen = set()
    for place, line in enumerate(base()):
        for path, value in places(line):
            of = line.get("benchmark", "") if path and path[0] in OF_BENCHMARKS else ""
            name = f"{line['type']} {of} " + ".".join(map(str, path))
            if path and path[0] not in ("type", "run") and name not in seen:
                seen.add(name)
                yield from of_one(place, name, path, value)


def of_one(place: int, name: str, path: Where, value: Any) -> Iterator[Mutant]:
    line = base()[place]
    free = is_valid(changed(line, path, "a" * 300))
    for other in (*VALUES, *(() if free or not isinstance(value, str) else enumerators())):
        if other is ABSENT or type(other) is not type(value) or other != value:
            made = changed(line, path, other)
            if is_valid(made):
                yield Mutant(
                    place, f"{name} = {'absent' if other is ABSENT else other!r:.40}", path, other
                )


def line_of(own: Sequence[Mutant]) -> Line:
    """The line with these mutants."""
    line = base()[own[0].place]
    for mutant in own:
        line = changed(line, mutant.path, mutant.value)
    return line


def agree(own: Sequence[Mutant], mutant: Mutant) -> bool:
    """Whether a line can have this mutant, too: none is within another, or moves its place in a
    list, and all together are valid."""
    if len(own) == IN_LINE or any(isinstance(m.path[-1], int) for m in (*own, mutant)):
        return not own
    apart = all(m.path[: len(mutant.path)] != mutant.path[: len(m.path)] for m in own)
    return not own or (apart and is_valid(line_of([*own, mutant])))


def files(all_of: Sequence[Mutant]) -> Iterator[list[list[Mutant]]]:
    """Mutants for each run of a file: in a run each line has few."""
    waiting = list(all_of)
    while waiting:
        runs: list[dict[int, list[Mutant]]] = [{} for _ in range(TOGETHER)]
        later = []
        for mutant in waiting:
            free = next((r for r in runs if agree(r.get(mutant.place, []), mutant)), None)
            if free is None:
                later.append(mutant)
            else:
                free.setdefault(mutant.place, []).append(mutant)
        waiting = later
        yield [[m for own in run.values() for m in own] for run in runs if run]


def write(path: Path, runs: Sequence[Sequence[Mutant]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for number, own in enumerate(runs):
            name = run_id(str(number))
            for place, line in enumerate(base()):
                here = [mutant for mutant in own if mutant.place == place]
                told = {**(line_of(here) if here else line), "run": name}
                if place == 0 and told["host"] == base()[0]["host"]:
                    told["host"] = f"host{number}"
                file.write(json.dumps(told) + "\n")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is read once for all commands; nothing is drawn, but every picture is defined. A plan
    simulates one comparison each: test_plan.py tests its numbers."""
    given: dict[Any, Any] = {}
    read, tables = database.read, database.tables

    def read_once(paths: Sequence[Path], **how: Any) -> database.Records:
        if how.get("values"):  # compare keeps less
            return read(paths, **how)
        key = [path.read_bytes() for path in paths]
        if given.get("read") != key:
            made = read(paths)
            given.update(read=key, records=made, db=tables(made, page=True))
        return database.Records(given["records"].db)

    def undrawn(processes: Processes, function: str, *arguments: Any) -> Future[Any]:
        drawn: Future[Any] = Future()
        drawn.set_result("<svg/>")
        return drawn

    monkeypatch.setattr(database, "read", read_once)
    monkeypatch.setattr(database, "tables", lambda *_, **__: given["db"])
    monkeypatch.setattr(Processes, "call", undrawn)
    monkeypatch.setattr(summary, "MOST", TOGETHER)
    monkeypatch.setattr(power, "TIMES", 1)
    monkeypatch.setattr(power, "SAMPLES", 1)


def fails(path: Path, command: Sequence[str]) -> str:
    """The traceback of a fault, or nothing."""
    caught: list[BaseException] = []
    words = {"PAGE": str(path.parent / "page"), "RECORD": str(path)}
    words["STORE"] = str(path.parent / "store")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(program, "_fault", lambda error: caught.append(error))
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as err:
            status = program.main([*(words.get(w, w) for w in command), str(path)])
    if caught:
        return "".join(traceback.format_exception(None, caught[0], caught[0].__traceback__)[-6:])
    bad = status not in STATUSES or (status == 2 and command != COMMANDS["google"])
    return f"status {status}: {err.getvalue():.300}" if bad else ""


def culprit(path: Path, runs: Sequence[Sequence[Mutant]], command: str, fault: str) -> list[str]:
    """The mutant that makes it fail; all of them, if none does alone."""
    every = [mutant for own in runs for mutant in own]
    for mutant in every:
        write(path, [[mutant]])
        if fails(path, COMMANDS[command]).splitlines()[-1:] == fault.splitlines()[-1:]:
            return [mutant.name]
    return [mutant.name for mutant in every]


def test_commands_bear_all_that_the_schema_allows(quick: None, tmp_path: Path) -> None:
    every = list(mutants())
    assert len(every) > 1000 and len({m.name for m in every}) == len(every)
    if os.environ.get("MUTANTS") != "all":
        every = every[::17]  # a step that is not a multiple of the number of a field's values
    path, told, known = tmp_path / "a.jsonl", [], set()
    for runs in files(every):
        write(path, runs)
        for command in COMMANDS:
            fault = fails(path, COMMANDS[command])
            if fault and fault not in known:
                known.add(fault)
                told.append(f"{command}: {culprit(path, runs, command, fault)}\n{fault}")
                write(path, runs)
    assert told == [], "\n".join(told)


SOAKED = {"name": "numa/static", "unit": "B/s", "rate": 352e9}
SENSORS = {"clock": 3.2e9, "temperature": 60, "power": None}
VERDICT = {"verdict": "steady", "after": None, "share": 1.0, "noise": 0.005, "wrong": None}
ERRORS = {"corrected": None, "uncorrected": 0, "machine_checks": None}


def whole() -> list[Line]:
    """Lines of all types, few of each; most stand before the trial that they are of."""
    *lines, end = base()
    curves = [line for line in lines if line.get("benchmark") in ("latency", "sharing")]
    lines = [line for line in lines if line not in curves[1:] or line in curves[::6]]
    measured = next(line for line in lines if line.get("benchmark") == "search")
    of = {"trial": measured["id"], "metric": "search-p99"}
    quantiles = dict.fromkeys(("0.5", "0.9", "0.99", "0.999", "1"), 1e-6)
    spread = {"n": 3, "quantiles": quantiles, "buckets": [[2892, 3]]}
    pair = {"rank": 0, "host": "n0", "node": 0, "with": [1], "latency": [2e-6]}
    told = {"name": SOAKED["name"], **VERDICT, "failure": None}
    beside = [
        {"type": "distribution", **of, **spread},
        {"type": "row", "trial": of["trial"], **pair},
        {"type": "soak", "at": 1.0, "loads": [SOAKED], **SENSORS},
        {"type": "soak-verdict", "loads": [told], "errors": ERRORS},
        {"type": "health", "facts": 1, "findings": 0, "finding": None, "no_trials": "none asked"},
    ]
    at = lines.index(measured)
    made = [*lines[:at], *({"run": end["run"], **one} for one in beside), *lines[at:], end]
    assert {schema.check(line, strict=True)["type"] for line in made} == schema.types()
    return made


def beyond(line: Line) -> Line:
    """With a number that the format does not allow."""
    numbers = (path for path, value in places(line) if path and type(value) is int)
    return changed(line, next(numbers, ("more",)), 1 << 60)


def damages() -> Iterator[tuple[str, list[str]]]:
    """The lines of a run, one of which is missing or damaged: of each type, the first of each
    benchmark; of trials, those that other lines are of. The two damages take turns."""
    lines, seen = whole(), set[str]()
    texts, with_others = [*map(json.dumps, lines)], {line.get("trial") for line in lines}
    for place, line in enumerate(lines):
        name = f"{line['type']} {line.get('benchmark') or line.get('name', '')}"
        if name not in seen and (line["type"] != "trial" or line["id"] in with_others):
            seen.add(name)
            damaged = texts[place][:-9] if len(seen) % 2 else json.dumps(beyond(line))
            for how, instead in (("missing", []), ("damaged", [damaged])):
                yield f"{name} {how}", [*texts[:place], *instead, *texts[place + 1 :]]


def write_damaged(path: Path, runs: Sequence[tuple[str, list[str]]]) -> None:
    own, host = (json.dumps(base()[0][key])[1:-1] for key in ("run", "host"))
    with path.open("w", encoding="utf-8") as file:
        for number, (_, texts) in enumerate(runs):
            text = "\n".join([*texts, ""]).replace(own, run_id(str(number)))
            file.write(text.replace(f'"host": "{host}"', f'"host": "host{number}"'))


def test_commands_bear_missing_and_damaged_lines(quick: None, tmp_path: Path) -> None:
    every, path = list(damages()), tmp_path / "a.jsonl"
    assert len(every) > 30
    told = []
    for first in range(0, len(every), TOGETHER):
        runs = every[first : first + TOGETHER]
        write_damaged(path, runs)
        for name, command in OF_DAMAGED.items():
            if fault := fails(path, command):
                told.append(f"{name}, {', '.join(of for of, _ in runs)}\n{fault}")
    assert told == [], "\n".join(told)
