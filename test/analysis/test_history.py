# SPDX-License-Identifier: Apache-2.0
"""Nodes over time: steps, what changed beside them, drift; and how often steady nodes are named."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from locus_analysis import __main__ as program
from locus_analysis.cluster import change_points, history
from locus_analysis.compare.inference import Array
from make_records import ONE, Point, latency, numa, record, run_id, write

GOOD, WORSE, BAD_INPUT, CANNOT_TELL = 0, 1, 2, 4
RUNS, STEP = 16, 9  # days; the first slow day
OLD, NEW = "6.1.0-18-amd64", "6.1.0-21-amd64"
COMPONENTS = 10
LEVEL = history.LEVEL / (2 * COMPONENTS)

# How often, with fixed seeds.


@pytest.mark.parametrize("n, kind", [(12, "heavy"), (30, "normal"), (30, "skewed")])
def test_few_steady_nodes_are_named(n: int, kind: str) -> None:
    """If runs are independent, with any distribution: at most the promised share of 200 nodes, plus
    the allowance for chance."""
    rng = np.random.default_rng(7)
    draw: dict[str, Callable[[], Any]] = {
        "normal": lambda: rng.normal(size=n),
        "heavy": lambda: rng.standard_t(2, size=n),
        "skewed": lambda: rng.exponential(size=n),
    }
    times = np.arange(float(n))
    named = sum(any(is_named(times, draw[kind]()) for _ in range(COMPONENTS)) for _ in range(200))
    assert 0 < named <= 200 * history.LEVEL + 3 * np.sqrt(200 * history.LEVEL)


def is_named(times: Array, y: Array) -> bool:
    found = change_points.drift(times, y)
    return bool(change_points.steps(y, LEVEL)) or bool(found and found.p <= LEVEL)


@pytest.mark.parametrize("n, at", [(12, 6), (20, 10), (20, 14), (50, 44)])
def test_clear_steps_are_found_where_they_are(n: int, at: int) -> None:
    """Nearly all steps of 10 % are found, to within a run, if values scatter by 1 %; outliers do
    not matter."""
    rng = np.random.default_rng(11)
    found = 0
    for _ in range(100):
        y = rng.normal(0, 0.01, n)
        y[at:] += np.log(1.1)
        y[1] += 3 * (n > 20)
        told = change_points.steps(y, LEVEL)
        found += len(told) == 1 and abs(told[0].at - at) <= 1
    assert found >= 80


def test_several_steps_are_told_in_order() -> None:
    rng = np.random.default_rng(13)
    y = rng.normal(0, 0.01, 60) + np.repeat([0, 0.2, 0.1], 20)
    assert [one.at for one in change_points.steps(y, LEVEL)] == [20, 40]


def test_few_values_and_equal_values_are_no_change() -> None:
    assert change_points.step(np.zeros(change_points.FEWEST - 1)) is None
    assert change_points.steps(np.zeros(40), LEVEL) == []
    slope = change_points.drift(np.arange(40.0), np.zeros(40))
    assert slope is not None and slope.p == 1
    assert change_points.drift(np.zeros(40), np.arange(40.0)) is None


# The command, on records.


def run_of(folder: Path, host: str, day: int, factor: float, **header: Any) -> Path:
    """A run at noon; all latencies of memory take `factor` times as long."""
    machine = replace(ONE, host=host)
    points: list[Point] = numa(machine, kernels=("sum",))[:3]
    points += [p for p in latency(machine, octave=1) if p.variant == "cycle"]
    for point in points:
        if point.benchmark == "latency" and point.parameters["size"] > 1 << 26:
            point.seconds *= factor
    moment = f"2025-03-{day:02d}T12:00:00.000Z"
    lines = record(machine, points, run_id(f"{host}{day}"), seed=day, started=moment)
    lines[0]["machine"]["kernel"]["release"] = NEW if day >= STEP else OLD
    lines[0]["machine"].update(header)
    return write(folder / f"{host}-{day:02d}.jsonl", lines)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """n1 and n2 have a step, when the kernel changes; n3 has only the new kernel; n4 drifts."""
    folder = tmp_path_factory.mktemp("cluster")
    for day in range(1, RUNS + 1):
        for host in ("n1", "n2", "n3"):
            run_of(folder, host, day, 1.2 if day >= STEP and host != "n3" else 1)
        run_of(folder, "n4", day, 1 + 0.01 * day + 0.003 * (day % 3))
    return folder


def told(capsys: pytest.CaptureFixture[str], *words: object, status: int) -> tuple[str, str]:
    assert program.main(["history", *map(str, words)]) == status
    out, err = capsys.readouterr()
    return out, err


def test_a_step_has_its_day_and_what_changed_then(
    capsys: pytest.CaptureFixture[str], cluster: Path
) -> None:
    out, _ = told(capsys, "n1", cluster, status=WORSE)
    head, *lines = out.splitlines()
    assert head == f"n1: 16 runs, 2025-03-01 to 2025-03-16; {ONE.model}"
    (line,) = (text for text in lines if "steady" not in text)
    assert line.startswith("memory latency    ") and "% worse" in line
    assert "between 2025-03-08 12:00 and 2025-03-09 12:00" in line
    assert line.endswith(f": kernel.release {OLD} -> {NEW}")
    share = float(line.split("% worse")[0].split()[-1])
    assert share == pytest.approx(20, abs=3)
    assert any(text.startswith("L1 ") and "steady within" in text for text in lines)


def test_a_kernel_alone_is_no_change(capsys: pytest.CaptureFixture[str], cluster: Path) -> None:
    out, _ = told(capsys, "n3", cluster, status=GOOD)
    assert NEW not in out and "worse" not in out


def test_a_drift_is_no_step(capsys: pytest.CaptureFixture[str], cluster: Path) -> None:
    out, _ = told(capsys, "n4", cluster, status=WORSE)
    (line,) = (text for text in out.splitlines()[1:] if "steady" not in text)
    assert line.startswith("memory latency    drifts: ")
    assert line.endswith("worse from 2025-03-01 to 2025-03-16")


def test_a_change_of_several_hosts_is_one_line(
    capsys: pytest.CaptureFixture[str], cluster: Path
) -> None:
    out, _ = told(capsys, "--class", cluster, status=WORSE)
    head, *lines = out.splitlines()
    assert head.startswith(ONE.model) and head.endswith(": 4 hosts")
    assert any(text.startswith("  memory latency on 2 of 4 (n1, n2): ") for text in lines)
    assert any(text.startswith("  memory latency on 1 of 4 (n4): drifts") for text in lines)
    assert lines[-1] == "  1 host without a change"


def test_programs_read_it(capsys: pytest.CaptureFixture[str], cluster: Path) -> None:
    (one,) = json.loads(told(capsys, "--format", "json", "n1", cluster, status=WORSE)[0])
    (change,) = one["changes"]
    assert (one["host"], one["runs"], change["kind"]) == ("n1", RUNS, "step")
    assert change["component"] == "memory latency" and 0 < change["p"] < 0.01


def test_few_runs_are_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for day in (1, 2):
        run_of(tmp_path, "n1", day, 1)
    out, _ = told(capsys, "n1", tmp_path, status=CANNOT_TELL)
    assert "2 values without noise: too few to find a step, which takes 12" in out
    out, _ = told(capsys, "--class", tmp_path, status=CANNOT_TELL)
    assert out.splitlines()[1:] == [
        "  0 hosts without a change",
        "  1 host not judged: too few runs to find a step, which takes 12",
    ]


def test_a_step_that_no_run_could_show_is_not_denied(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The p of so few runs cannot be small enough for so many components, however large the step:
    nothing is steady, until there are enough."""
    few, enough = tmp_path / "few", tmp_path / "enough"
    for folder, runs in ((few, 10), (enough, 12)):
        folder.mkdir()
        for day in range(1, runs + 1):
            run_of(folder, "n1", day, 1.25 if day > runs / 2 else 1)
    out, _ = told(capsys, "n1", few, status=CANNOT_TELL)
    assert "steady" not in out
    assert out.count("10 values without noise: too few to find a step, which takes 12") > 3
    (one,) = json.loads(told(capsys, "--format", "json", "n1", few, status=CANNOT_TELL)[0])
    assert not one["judged"] and one["few"]["L1"] == {"values": 10, "needed": 12}
    out, _ = told(capsys, "n1", enough, status=WORSE)
    assert "too few" not in out and "between 2025-03-06 12:00 and 2025-03-07" in out


def test_which_numbers_of_values_can_show_a_step() -> None:
    """The exact p of a perfect step is 2 of all ways to choose half of the values, 4 of an odd
    number."""
    for n, exact in ((6, 2 / 20), (9, 4 / 126), (10, 2 / 252), (14, 2 / 3432)):
        assert change_points.least_p(n) == pytest.approx(exact, rel=0.4)
    assert change_points.least_p(change_points.FEWEST - 1) == 1
    assert [change_points.needed(0, history.LEVEL / n) for n in (2, 20, 24)] == [10, 12, 14]


def test_few_runs_may_show_a_drift(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for day in range(1, 10):
        run_of(tmp_path, "n1", day, 1 + 0.05 * day)
    out, _ = told(capsys, "n1", tmp_path, status=WORSE)
    assert "drifts: " in out and "steady" not in out and "too few to find a step" in out


@pytest.mark.parametrize(
    "words, says",
    [
        (["n11"], "n11: these records have no run of this host; did you mean n1?"),
        (["zzz"], "zzz: these records have no run of this host; they are of n1, n2, n3, n4"),
    ],
)
def test_a_host_that_is_not_there(
    capsys: pytest.CaptureFixture[str], cluster: Path, words: list[str], says: str
) -> None:
    _, err = told(capsys, *words, cluster, status=BAD_INPUT)
    assert says in err


def test_records_are_needed(capsys: pytest.CaptureFixture[str]) -> None:
    _, err = told(capsys, "n1", status=BAD_INPUT)
    assert "locus history HOST FILE|DIR..." in err
