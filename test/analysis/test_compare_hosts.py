# SPDX-License-Identifier: Apache-2.0
"""Comparisons over many hosts: each host's change beside the others', on simulated clusters and on
records; one line for all metrics."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fleet import NAMES, Array, Fleet, columns
from locus_analysis import __main__ as program
from locus_analysis.cluster import changes, rule
from locus_analysis.compare import comparison
from locus_analysis.compare.hosts import HostChange
from locus_analysis.compare.observations import Observed
from make_records.trials import Point
from test_sick_records import campaign, named

GOOD, WORSE = 0, 1
MANY = 100


def side(fleet: Fleet, runs: int) -> Array:
    """All hosts at once: each column has its own median."""
    measured = fleet.measure(np.arange(len(fleet.own)), runs)
    columns = measured.transpose(1, 0, 2).reshape(runs, -1)
    return rule.of_host(columns).reshape(fleet.own.shape)


def compared(seed: int, runs: int, factor: float = 1, hosts: int = 64) -> list[HostChange]:
    """The same hosts twice; the second time, memory of the fourth host takes `factor` times as
    long."""
    fleet = Fleet.of(hosts, seed)
    y = side(fleet, runs)
    y = side(fleet, runs) - y
    y[3, columns("memory bandwidth")] += np.log(factor)
    return changes.found(y, NAMES, [str(h) for h in range(hosts)], [runs] * hosts)


def certain(found: list[HostChange]) -> list[tuple[str, str]]:
    return [(c.host, c.component) for c in found if c.is_certain]


@pytest.mark.parametrize("runs", (1, 3))
def test_hosts_that_did_not_change(runs: int) -> None:
    """Even with neighbours, tails and second modes."""
    assert sum(not certain(compared(seed, runs)) for seed in range(MANY)) >= 95


def test_one_host_lost_a_quarter_of_its_bandwidth() -> None:
    """One run a side suffices to name this host and no other."""
    found = [certain(compared(seed, 1, 4 / 3)) for seed in range(MANY // 2)]
    assert found.count([("3", "memory bandwidth")]) >= 0.9 * len(found)


def test_a_smaller_loss_needs_two_runs() -> None:
    once, twice = (compared(1, runs, 1.1) for runs in (1, 3))
    assert ("3", "memory bandwidth") not in certain(once)
    assert ("3", "memory bandwidth") in certain(twice)
    assert any(c.host == "3" and not c.is_certain for c in once)


def test_a_change_of_all_hosts_is_no_hosts_change() -> None:
    fleet = Fleet.of(64, 1)
    y = side(fleet, 3)
    y = side(fleet, 3) - y + np.log(1.2)
    assert not changes.found(y, NAMES, [str(h) for h in range(64)], [3] * 64)


def lost(name: str, p: Point) -> float:
    return 4 / 3 if name == "n005" and p.benchmark == "numa" else 1.0


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("sides")
    names = named(12)
    factors = {"a": {}, "b": {"factor": lost}, "c": {}}
    return [campaign(folder / n, names, **of) for n, of in factors.items()]  # type: ignore


def compare(capsys: pytest.CaptureFixture[str], *words: Any) -> tuple[int, str]:
    status = program.main(["compare", *map(str, words)])
    return status, capsys.readouterr().out


def test_the_host_is_named_and_the_result_is_the_heading(
    sides: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    status, out = compare(capsys, *sides[:2])
    said = " ".join(out.split())
    assert status == WORSE and out.startswith("SLOWER: 1 host\n")
    assert "hosts 12 judged beside each other slower n005: memory bandwidth takes 1.3" in said
    status, out = compare(capsys, sides[0], sides[2])
    assert status == GOOD and out.startswith("nothing is slower")
    assert "12 judged beside each other: none became slower by itself" in out


def test_programs_get_the_hosts_too(sides: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    made = json.loads(compare(capsys, "--format", "json", *sides[:2])[1])
    (slower,) = made["hosts"]["slower"]
    assert (slower["host"], slower["component"]) == ("n005", "memory bandwidth")
    assert made["status"] == WORSE and made["hosts"]["judged"] == 12
    assert made["overall"]["low"] < made["overall"]["ratio"] < made["overall"]["high"]


def test_few_hosts_are_not_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = (campaign(tmp_path / n, named(4)) for n in "ab")
    assert "judged" not in compare(capsys, old, new)[1]


def overall(old: Any, new: Any, paired: bool, better: str = "lower") -> Any:
    y = [np.log(np.array(rows, dtype=float)) for rows in (old, new)]
    metric: Any = {"headline": True, "better": better}
    return comparison.overall(
        Observed(y[0], y[1], (y[0], y[1]), [metric] * y[0].shape[1], paired, True)
    )


def test_one_line_for_all_metrics() -> None:
    pairs = overall([[1, 2], [3, 1], [2, 2]], [[1.1, 2.2], [3.3, 1.1], [2.2, 2.2]], True)
    assert pairs.ratio == pytest.approx(1.1) and pairs.low == pytest.approx(pairs.high)
    rates = overall([[1, 2]] * 3, [[1.1, 2.2]] * 3, True, "higher")
    assert rates.ratio == pytest.approx(1 / 1.1)
    apart = overall([[1, 2], [1.02, 2]], [[1.1, 2.2], [1.122, 2.2]], False)
    assert apart.low < 1.1 < apart.high and apart.ratio == pytest.approx(1.1)
    single = overall([[1, 2]], [[1.1, 2]], False)
    assert single.low is None and single.ratio == pytest.approx(1.1**0.5)


def test_each_of_several_sides_against_the_first(
    sides: list[Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(sides[0].parent)
    monkeypatch.setenv("COLUMNS", "100")
    status, out = compare(capsys, "a", "b", "c")
    lines = out.splitlines()
    assert status == WORSE and lines[:2] == ["SLOWER than a: b", "first: a, 12 runs"]
    rows = {line.split()[0]: line.split() for line in lines[4:6]}
    assert rows["b"][1] == "12" and rows["b"][-3:] == ["host", "n005", rows["b"][-1]]
    assert 0.99 < float(rows["c"][2]) < 1.01 and rows["c"][-1] == "0"
    assert any(line.startswith("b: slower: n005: memory bandwidth") for line in lines)
    status, out = compare(capsys, "a", "c", "a")
    assert status == GOOD and out.startswith("no side is slower than a\n")


def test_several_sides_for_programs(sides: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    status, out = compare(capsys, "--format", "json", *sides)
    made = json.loads(out)
    assert status == made["status"] == WORSE and made["first"] == str(sides[0])
    assert [(s["side"], s["status"]) for s in made["sides"]] == [
        (str(sides[1]), WORSE),
        (str(sides[2]), GOOD),
    ]
    rows = compare(capsys, "--format", "csv", *sides)[1].splitlines()
    assert rows[0].startswith("side,metric,") and len(rows) == 1 + 2 * len(
        made["sides"][0]["metrics"]
    )
    assert compare(capsys, "--format", "md", *sides)[1].count("\n| ") == 4
    assert compare(capsys, "--output", "a.html", *sides)[0] == 2


def test_one_run_a_side_cannot_tell(sides: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    files = [sides[0] / f"n00{i}.jsonl" for i in range(3)]
    status, out = compare(capsys, *files)
    assert status == GOOD and out.startswith("no verdict\n")
    assert out.count("no verdict: one run a side; 4 or more show changes") == 1
