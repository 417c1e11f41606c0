# SPDX-License-Identifier: Apache-2.0
"""Expected values for tools that accept nodes: ReFrame's file of references, and SuperBench's rule
file with the results that it judges. Both are YAML that holds only numbers and quoted texts, so it
takes no library to write them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

import numpy as np

from ..cluster import health_trials
from ..compare import expected, observations
from ..compare.expected import Bounds, Class
from ..compare.observations import Side
from ..records.database import STATUSES, BadInput

TEST = "LocusTest"  # the class in packaging/reframe/locus_test.py
ANY = "*"  # partition of runs outside a batch system
FAILED = "return_code"  # of SuperBench: 0 for a benchmark that went well
NANO = 1e9  # SuperBench shows four decimals of a value: times are in ns
FAULTS = [STATUSES.index(status) for status in ("misplaced", "wrong", "failed")]
NO_BOUNDS = "none of these metrics has bounds: records of at least three runs of a class are needed"


def _classes(files: Sequence[Path]) -> tuple[Side, list[Class], list[str]]:
    """The classes that have bounds, the largest first."""
    side, notes = observations.load(files, "these records")
    text, without = expected.document(side, health_trials.choose)
    found: list[Class] = [c for c in json.loads(text)["classes"] if c["metrics"]]
    if not found:
        raise BadInput("; ".join([NO_BOUNDS, *without]))
    return side, sorted(found, key=lambda c: (-len(c["hosts"]), c["class"])), notes + without


def _number(value: float) -> str:
    """As YAML 1.1 reads numbers: with a dot and a signed exponent."""
    return f"{value:.6e}"


def _quoted(text: str) -> str:
    """A text of YAML, as of JSON."""
    return json.dumps(text)


# ---- ReFrame ----


def write_reframe(files: Sequence[Path], to: TextIO) -> list[str]:
    """References by system and partition, as SLURM named them when the records were made, and the
    trial and metric of each. One trial shows each component, as in locus health."""
    side, classes, notes = _classes(files)
    parts: dict[str, Class] = {}
    for one in classes:
        for part in _partitions(side, one["class"]):
            if part in parts:
                notes.append(f"{part}: machines of another class, {one['cpu']}, are left out")
            parts.setdefault(part, one)
    to.write(f"# Of locus, for {TEST} in locus_test.py.\n{TEST}:\n")
    for part, of in parts.items():
        to.write(f"  {_quoted(part)}:\n")
        for name, bounds in _asked(of):
            to.write(f"    {_quoted(name)}: [{_reference(bounds)}]\n")
    to.write("trials:\n")
    for part, of in parts.items():
        to.write(f"  {_quoted(part)}:\n")
        for name, bounds in _asked(of):
            to.write(f"    {_quoted(name)}: [{_quoted(bounds['trial'])}, {bounds['metric']}]\n")
    return notes


def _partitions(side: Side, name: str) -> list[str]:
    runs = [run for run in side.runs if run["class"] == name]
    return sorted({run["partition"] or ANY for run in runs})


def _asked(of: Class) -> Iterator[tuple[str, Bounds]]:
    """The bounds that locus health asks for, by the name of their component."""
    by_key = {(m["trial"], m["metric"]): m for m in of["metrics"]}
    for asked in of["health"]:
        name = asked["component"].replace(" ", "_")
        yield name, by_key[asked["trial"], asked["metric"]]


def _reference(bounds: Bounds) -> str:
    """The value and its bounds, as fractions of it; only the bound on the worse side."""
    low, high = (_number(bounds[end] / bounds["value"] - 1) for end in ("low", "high"))
    if bounds["better"] == "lower":
        low = "null"
    else:
        high = "null"
    return f"{_number(bounds['value'])}, {low}, {high}, {_quoted(bounds['unit'])}"


# ---- SuperBench ----


def write_superbench(files: Sequence[Path], to: TextIO) -> list[str]:
    """A rule for each metric, since each has bounds of its own. Rules hold for all nodes of the
    results, so they are of one class of machines."""
    _, classes, notes = _classes(files)
    if len(classes) > 1:
        cpus = ", ".join(c["cpu"] for c in classes)
        raise BadInput(
            "--format superbench takes one class of machines, but these records have"
            f" {len(classes)}: {cpus}; export each by itself"
        )
    (of,) = classes
    to.write("# Of locus: rules for the results of --format superbench-results.\n")
    to.write("version: v0.12\nsuperbench:\n  rules:\n")
    to.write('    locus-failed:\n      function: failure_check\n      criteria: "lambda x:x>0"\n')
    to.write("      categories: Failed\n      metrics:\n")
    for benchmark in dict.fromkeys(_benchmark(m["name"]) for m in of["metrics"]):
        to.write(f"        - {benchmark}/{FAILED}\n")
    for i, bounds in enumerate(of["metrics"]):
        worse = "<" if bounds["better"] == "higher" else ">"
        bound = bounds["low" if bounds["better"] == "higher" else "high"]
        shown = float(f"{bound * _scale(bounds['unit']):.9g}")  # without the product's rounding
        name = _metric(bounds["name"], bounds["trial"], bounds["metric"])
        to.write(
            f"    locus-{i}:\n      function: value\n"
            f'      criteria: "lambda x:x{worse}{shown!r}"\n'
            f"      categories: {_quoted(bounds['name'].partition('/')[0])}\n"
            f"      metrics:\n        - {_quoted(name + '$')}\n"
        )
    return notes


def write_superbench_results(files: Sequence[Path], to: TextIO) -> list[str]:
    """An object for each host: the mean over its runs, as in the bounds, of each metric that has a
    better direction; and for each benchmark whether a trial failed."""
    side, notes = observations.load(files, "these records")
    keys = observations.common(side)
    y, _ = observations.logarithms(side.without_noisy(), keys, True)
    for host, values in zip(side.hosts, np.exp(y).tolist()):
        own = {
            _metric(side.metrics[key]["benchmark"], *key): value * _scale(side.metrics[key]["unit"])
            for key, value in zip(keys, values)
            if np.isfinite(value)
        }
        told = {"node": host, **_failed(side, host), **own}
        to.write(json.dumps(told, ensure_ascii=False) + "\n")
    return notes


def _failed(side: Side, host: str) -> dict[str, int]:
    """By benchmark: 1 if a trial of it failed or was wrong."""
    rows = [i for i, run in enumerate(side.runs) if run["host"] == host]
    status = side.status[rows]
    found: dict[str, int] = {}
    for trial, own in zip(side.trials.values(), status.T):
        if (own > observations.ABSENT).any():
            name = f"{_benchmark(trial['benchmark'])}/{FAILED}"
            found[name] = max(found.get(name, 0), int(np.isin(own, FAULTS).any()))
    return found


def _scale(unit: str) -> float:
    """What values in this unit are multiplied by."""
    return NANO if unit.split("/")[0] == "s" else 1


def _benchmark(name: str) -> str:
    """SuperBench takes what is before the slash for the benchmark."""
    return f"locus-{name.partition('/')[0]}"


def _metric(name: str, trial: str, metric: str) -> str:
    return f"{_benchmark(name)}/{trial}/{metric}"
