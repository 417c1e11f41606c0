# SPDX-License-Identifier: Apache-2.0
"""The schema: what it accepts and refuses, and which keys it requires."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from locus_analysis.records import database
from make_records import MACHINES, Line, as_written, write
from make_records import machine_record as made_up
from test_records import SPARSE, count, drop, flaws, machine_record


@pytest.mark.parametrize("name", MACHINES)
def test_the_schema_accepts_what_the_document_says(name: str, tmp_path: Path) -> None:
    given = database.read([write(tmp_path / "a.jsonl", machine_record(name))])
    assert count(given) == len(machine_record(name))
    assert given.notes == []


def counted() -> list[Line]:
    """A record with counters."""
    lines = made_up("one")
    event = {"unit": "1", "scope": "thread"}
    faults = {"name": "faults", "source": "kernel", **event}
    misses = {"name": "PAPI_L3_TCM", "source": None, **event, "why": "no PMU"}
    for line in lines:
        if line["type"] == "header":
            events = [
                {**faults, "pass": 0, "proven": True, "why": None},
                {**misses, "pass": None, "proven": False},
            ]
            asked = ["faults", "PAPI_L3_TCM"]
            line["counters"] = {
                "asked": asked,
                "optional": False,
                "multiplexed": False,
                "passes": 1,
                "papi": "7.0.0.0",
                "events": events,
            }
        elif line["type"] == "samples":
            line["counters"] = {"faults": 3.0}
        elif line["type"] == "trial":
            none = {
                "per": "pass",
                "value": None,
                "ci": None,
                "per_thread": None,
                "total": None,
                "samples": 0,
                "trusted": True,
            }
            value = {
                "value": 0.5,
                "ci": [0.4, 0.6],
                "per_thread": [0.5, None],
                "total": 6,
                "samples": 12,
                "why": None,
            }
            line["counters"] = [{**faults, **none, **value}, {**none, **misses}]
            line["counting"] = {
                "with": 2e-3,
                "with_ci": [1e-3, 3e-3],
                "without": 2e-3,
                "without_ci": None,
            }
    return as_written(lines)


def test_what_was_counted_may_be_told(tmp_path: Path) -> None:
    assert database.read([write(tmp_path / "a.jsonl", counted())]).notes == []


def put(*path: Any) -> Callable[[Line], None]:
    """Sets the key at a path; the last argument is its value."""
    *keys, last, value = path

    def change(line: Any) -> None:
        for key in keys:
            line = line[key]
        line[last] = value

    return change


KINDS = [
    {"name": "IntelCore 3900 MHz", "rank": 0, "cores": 1, "cpus": [1]},
    {"name": "IntelAtom 2800 MHz", "rank": 1, "cores": 0, "cpus": []},
]


WRONG = [
    ("header", drop("machine")),
    ("header", put("host", None)),
    ("header", put("started", "yesterday")),
    ("header", put("resumes", ["no run"])),
    ("header", put("profile", "slow")),
    ("header", put("something", 1)),
    ("header", put("machine", "topology", "nodes", [])),
    ("header", put("machine", "topology", "kinds", [])),
    ("header", put("machine", "topology", "kinds", KINDS[:1])),
    ("header", put("machine", "cpu", "colour", "red")),
    ("header", put("machine", "memory", "page", None)),
    ("header", put("binding", "oversubscribe", 0)),
    ("samples", drop("times")),
    ("samples", put("times", ["1"])),
    ("samples", put("times", None)),
    ("samples", put("sketch", {"n": 1, "quantiles": [1] * 11})),
    ("samples", put("noisy", [-1])),
    ("samples", put("trial", "x")),
    ("header", put("counters", "events", 0, "why", "it can be counted, and has a reason why not")),
    ("header", put("counters", "events", 1, "why", None)),
    ("header", put("counters", "asked", [])),
    ("samples", put("counters", {"faults": "many"})),
    ("trial", put("counters", 0, "value", None)),
    ("trial", put("counters", 0, "source", "a guess")),
    ("trial", put("counters", 0, "source", None)),
    ("trial", put("counters", 0, "trusted", False)),
    ("trial", put("counters", 0, "per_thread", ["1"])),
    ("trial", put("counting", "with", "long")),
    ("trial", put("status", "good")),
    ("trial", put("status", "noisy")),
    ("trial", put("reasons", ["a trial that is ok has none"])),
    ("trial", put("metrics", {})),
    ("trial", put("metrics", "time", "value", "fast")),
    ("trial", put("metrics", "time", "value", None)),
    ("trial", put("metrics", "time", "ci", [1])),
    ("trial", put("metrics", "time", "unit", "")),
    ("trial", put("metrics", "time", "by_worker", [])),
    ("trial", put("metrics", "time", "by_worker", [None])),
    (
        "trial",
        put("metrics", "time", "distribution", {"n": 1, "quantiles": {}, "buckets": [[1, 1]]}),
    ),
    ("trial", put("parameters", "a name", 1)),
    ("trial", put("parameters", "pages", None)),
    ("trial", put("variant", "a\x1bb")),
    ("trial", put("kinds", "")),
    ("trial", put("placement", "after", "local_share", 1.5)),
    ("trial", put("placement", "after", "on_node", {"first": 3})),
    ("trial", put("placement", "after", "how", "unverified")),
    ("trial", put("placement", "how", "verified")),
    ("trial", put("placement", "after", "after", {"page": 1, "pages": 1})),
    ("trial", drop("scale")),
    ("trial", put("scale", 0)),
    ("trial", put("batches", "metrics", "time", [1.5])),
    ("trial", put("batches", "metrics", "other", 1.5)),
    ("trial", put("samples", "quantiles", [1] * 10)),
    ("benchmark", put("metrics", 0, "kind", "amount")),
    ("trial", put("noise", "wall", -1)),
    ("trial", put("stopped", "tired")),
    ("trial", put("unit_of_work", "pass")),
    ("end", put("trials", {"good": 3})),
    ("end", put("status", 256)),
    ("end", put("run", "1")),
    ("end", put("type", "epilogue")),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_the_schema_refuses_what_the_document_does_not_say(number: int, tmp_path: Path) -> None:
    kind, change = WRONG[number]
    lines = counted()
    place = next(i for i, line in enumerate(lines) if line["type"] == kind)
    change(lines[place])
    flaw, *more = flaws(write(tmp_path / "a.jsonl", lines))
    assert re.search(rf"a.jsonl:{place + 1}: is not a line of a record: \$", flaw)
    assert all("no line before this one describes benchmark" in one for one in more)
    assert len(more) == (kind == "benchmark")


def test_kinds_of_cores_may_be_told(tmp_path: Path) -> None:
    lines = counted()
    put("machine", "topology", "kinds", KINDS)(lines[0])
    trial = next(line for line in lines if line["type"] == "trial")
    trial["kinds"] = "1 IntelCore 3900 MHz"
    assert not flaws(write(tmp_path / "a.jsonl", lines))


# Keys that schema 1.0 lacks, and that most records do not need.
OPEN = "/row"  # its other keys are names of metrics
LATER = {
    "/topology": {"kinds"},
    "/machine": {"errors", "id"},
    "/memory/properties/thp": {"allowed"},
    "/row": {"with"},
    "/header": {"begin", "mpi"},
    "/header/properties/mpi": {"library", "transport"},
}


def test_every_key_is_required_and_no_other_allowed() -> None:
    """Except in lines that leave out null and empty values, and keys that most machines lack."""
    schema = json.loads((Path(__file__).parents[2] / "doc/schema/record-1.schema.json").read_text())

    def look(part: Any, path: str) -> None:
        if not isinstance(part, dict):
            return
        if "properties" in part and not path.endswith(("/if", "/then", "/else", "/contains")):
            assert part.get("additionalProperties") is False or path == OPEN, path
            patterns = part.get("patternProperties", {})
            required = {
                key
                for key in part.get("required", [])
                if not any(re.search(pattern, key) for pattern in patterns)
            }
            assert required <= set(part["properties"]), path
            if path.split("/")[1] not in SPARSE:
                optional = {"type", "run"} | LATER.get(path, set())
                assert set(part["properties"]) - required <= optional, path
        for key, value in part.items():
            look(value, f"{path}/{key}")

    look(schema["$defs"], "")
