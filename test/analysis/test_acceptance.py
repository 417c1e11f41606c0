# SPDX-License-Identifier: Apache-2.0
"""Expected values in the formats of ReFrame and SuperBench, as PyYAML reads them. The real ReFrame
runs in test/packages; the real SuperBench was tried by hand (doc/export.md), and here its rules are
compared with its documented format."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any, Optional

import pytest
from lacking import lacking
from locus_analysis import __main__ as program
from make_records import ONE, TWO, Machine, Point, brief, latency, numa, record, run_id, write

GOOD, BAD_INPUT = 0, 2
# From SuperBench's documentation, "Data Diagnosis": members of a rule, and functions.
RULE = {"function", "criteria", "categories", "metrics"}
FUNCTIONS = {"value": "metrics", "failure_check": "metrics"}


def yaml(text: str) -> Any:
    try:
        return importlib.import_module("yaml").safe_load(text)
    except ModuleNotFoundError:
        lacking("yaml", "python -m pip install -r analysis/requirements-dev.txt")


def points(machine: Machine) -> list[Point]:
    """A few points of each component."""
    return latency(machine, octave=1)[::3] + numa(machine, kernels=("sum",))[:3]


def runs(folder: Path, machine: Machine, job: Optional[dict[str, Any]] = None) -> list[Path]:
    """Three runs of a machine, without samples."""
    made = []
    for i in range(3):
        name = f"{machine.host}{i}{job}"
        lines = record(machine, points(machine), run_id(name), seed=i, job=job)
        made.append(write(folder / f"{run_id(name)}.jsonl", brief(lines)))
    return made


def job(partition: str) -> dict[str, Any]:
    told = {"system": "slurm", "cluster": "alps", "partition": partition}
    return {**dict.fromkeys(("id", "array_task", "step", "restart", "nodes")), **told}


def exported(
    capsys: pytest.CaptureFixture[str], form: str, *files: Path, status: int = GOOD
) -> tuple[str, str]:
    assert program.main(["export", "--format", form, *map(str, files)]) == status
    out, err = capsys.readouterr()
    return out, err


def bounds_of(capsys: pytest.CaptureFixture[str], files: list[Path]) -> dict[tuple[str, str], Any]:
    told = json.loads(exported(capsys, "expected", *files)[0])
    return {(m["trial"], m["metric"]): m for c in told["classes"] for m in c["metrics"]}


def test_references_are_by_partition_and_only_for_the_worse(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    of = {"alps:cpu": runs(tmp_path, TWO, job("cpu")), "*": runs(tmp_path, ONE)}
    told = yaml(exported(capsys, "reframe", *of["alps:cpu"], *of["*"])[0])
    assert told["LocusTest"].keys() == told["trials"].keys() == of.keys()
    for part, references in told["LocusTest"].items():
        bounds = bounds_of(capsys, of[part])
        assert {"L1", "memory_latency", "memory_bandwidth"} <= references.keys()
        for name, (value, low, high, unit) in references.items():
            own = bounds[tuple(told["trials"][part][name])]
            assert (value, unit) == (pytest.approx(own["value"]), own["unit"])
            if own["better"] == "lower":
                assert low is None and value * (1 + high) == pytest.approx(own["high"], rel=1e-5)
            else:
                assert high is None and value * (1 + low) == pytest.approx(own["low"], rel=1e-5)


def test_a_partition_has_the_references_of_its_largest_class(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    files = runs(tmp_path, TWO, job("cpu")) + runs(tmp_path, ONE, job("cpu"))
    out, err = exported(capsys, "reframe", *files)
    assert yaml(out)["LocusTest"].keys() == {"alps:cpu"}
    assert "alps:cpu: machines of another class" in err


def judged(rules: dict[str, Any], row: dict[str, Any]) -> list[str]:
    """The rules that a node breaks, as SuperBench's documentation says."""
    broken = []
    for name, rule in rules.items():
        assert rule.keys() == RULE and rule["function"] in FUNCTIONS
        worse = eval(rule["criteria"])
        assert isinstance(worse(0), bool)
        for pattern in rule["metrics"]:
            found = [value for metric, value in row.items() if re.search(pattern, metric)]
            assert len(found) == 1 and pattern.count("/") in (1, 2)
            broken += [name] * worse(found[0])
    return broken


def test_rules_judge_the_results(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The nodes from whose records the rules were made pass; a slower node, or one with a wrong
    result, does not."""
    files = runs(tmp_path, TWO)
    told = yaml(exported(capsys, "superbench", *files)[0])
    assert told.keys() == {"version", "superbench"}
    rules = told["superbench"]["rules"]
    assert len(rules) == 1 + len(bounds_of(capsys, files))
    (row,) = map(json.loads, exported(capsys, "superbench-results", *files)[0].splitlines())
    assert row.pop("node") == TWO.host and judged(rules, row) == []
    time = next(m for m in row if m.endswith("/time"))
    _, trial, metric = time.split("/")
    expected = bounds_of(capsys, files)[trial, metric]
    assert row[time] == pytest.approx(expected["value"] * 1e9, rel=0.01)  # four decimals are shown
    high = float(f"{expected['high'] * 1e9:.9g}")
    assert rules["locus-0"]["criteria"] == f"lambda x:x>{high}"
    assert judged(rules, {**row, time: 2e9}) == ["locus-0"]

    wrong = points(TWO)
    wrong[0].status, wrong[0].reasons = "wrong", ["the sum is 12.5, expected 13"]
    bad = write(tmp_path / "bad.jsonl", record(TWO, wrong, run_id("bad")))
    text, _ = exported(capsys, "superbench-results", bad)
    assert json.loads(text)["locus-latency/return_code"] == 1


def test_rules_are_of_one_class(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    files = runs(tmp_path, TWO) + runs(tmp_path, ONE)
    out, err = exported(capsys, "superbench", *files, status=BAD_INPUT)
    assert not out and "these records have 2:" in err


@pytest.mark.parametrize("form", ["reframe", "superbench"])
def test_few_runs_have_no_bounds(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, form: str
) -> None:
    out, err = exported(capsys, form, *runs(tmp_path, TWO)[:2], status=BAD_INPUT)
    assert not out and "records of at least three runs of a class are needed" in err
