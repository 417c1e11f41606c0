# SPDX-License-Identifier: Apache-2.0
"""Results of nodes measured together over those measured alone: in `locus sick`, in its formats,
and on the page."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Optional

import pytest
from locus_analysis import __main__ as program
from make_records import ONE, TWO, Line, Machine, latency, numa, record, run_id, write
from make_records.trials import Point
from pages import Page
from some import some

Loss = Callable[[int, Point], float]
AT = {"at": "2026-11-01T10:00:00.000Z", "late": 0.0001}


def points(machine: Machine) -> list[Point]:
    """Two or more trials for each level of memory."""
    chase = [p for p in latency(machine, octave=1) if p.variant == "cycle"]
    small = [p for p in chase if p.parameters["pages"] == "thp"][4::2]
    return small + numa(machine, kernels=("sum",))[:3]


def node(
    folder: Path, i: int, loss: Loss, machine: Machine = ONE, tags: Optional[dict[str, str]] = None,
    **header: Any,
) -> list[Line]:  # fmt: skip
    """A record of node i, whose trials take `loss` times as long."""
    own = [replace(p, seconds=p.seconds * loss(i, p)) for p in points(machine)]
    lines = record(machine, own, run_id(f"{folder} {i}"), host=f"n{i}")
    lines[0].update({"tags": tags or {}, **header})
    folder.mkdir(exist_ok=True)
    write(folder / f"n{i}.jsonl", lines)
    return lines


def less_bandwidth(i: int, p: Point) -> float:
    """Together nodes have 0.9 of the bandwidth, n5 0.8."""
    return 1 if p.benchmark != "numa" else 1.25 if i == 5 else 1 / 0.9


def nothing(_: int, __: Point) -> float:
    return 1.0


def told(capsys: pytest.CaptureFixture[str], *words: Any) -> Any:
    program.main(["sick", *map(str, words), "--format", "json"])
    return json.loads(capsys.readouterr().out)["together"]


@pytest.fixture
def both(tmp_path: Path) -> Path:
    for i in range(8):
        node(tmp_path / "alone", i, nothing, tags={"together": "1"})
        node(tmp_path / "together", i, less_bandwidth, tags={"together": "8"}, begin=AT)
    return tmp_path


def test_what_all_lose_and_who_most(both: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, both)
    assert found["base"] == "alone" and found["nodes"] == 8
    first, *others = found["parts"]
    assert first["component"] == "memory bandwidth"
    assert first["ratio"] == pytest.approx(0.9, abs=0.01)
    assert first["low"] <= first["ratio"] <= first["high"] < 0.92
    assert first["hosts"][0]["host"] == "n5"
    assert first["hosts"][0]["ratio"] == pytest.approx(0.8, abs=0.01)
    assert {"clock", "L1", "memory latency"} <= {p["component"] for p in others}
    assert all(p["ratio"] == pytest.approx(1, abs=0.01) for p in some(others))


def test_the_table_and_markdown(both: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.main(["sick", str(both)])
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("speed together over alone: 8 nodes (below 1: slower together)")
    assert " ".join(lines[at + 1].split()) == "component nodes ratio 95 % interval lowest nodes"
    assert lines[at + 2].startswith("memory bandwidth      8  0.9")
    assert lines[at + 2].endswith("  n5 0.800") and lines[at + 3].endswith("  1.000 to 1.000")
    program.main(["sick", str(both), "--format", "md"])
    assert "| memory bandwidth | 8 | 0.9" in capsys.readouterr().out


def test_without_runs_alone_others_stand_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """If there are runs alone, they are the base, else runs of no set time; a run that was resumed
    alone is neither alone nor together. With fewer than 6 nodes there is a range."""
    for i in range(3):
        node(tmp_path / "suite", i, nothing)
        node(tmp_path / "together", i, less_bandwidth, begin=AT)
    assert told(capsys, tmp_path)["base"] == "unsynchronized"
    assert told(capsys, tmp_path)["parts"][0]["low"] is None
    program.main(["sick", str(tmp_path)])
    assert "range of 3: 0.9" in capsys.readouterr().out
    node(tmp_path / "resumed", 0, nothing, tags={"together": "1"}, resumes=["0123456789abcdef"])
    assert told(capsys, tmp_path)["base"] == "unsynchronized"
    node(tmp_path / "alone", 2, nothing, tags={"together": "1"})
    assert told(capsys, tmp_path)["base"] == "alone" and told(capsys, tmp_path)["nodes"] == 1


def test_nothing_to_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each node was measured one way only, or has become another machine."""
    node(tmp_path / "alone", 1, nothing, tags={"together": "1"})
    node(tmp_path / "together", 2, nothing, tags={"together": "2"})
    assert told(capsys, tmp_path) is None
    node(tmp_path / "together", 1, nothing, TWO, tags={"together": "2"})
    assert told(capsys, tmp_path) is None
    node(tmp_path / "together", 1, nothing, tags={"together": "2"})
    assert told(capsys, tmp_path)["nodes"] == 1


@pytest.mark.parametrize("hosts", [3, 9])
def test_on_the_page(tmp_path: Path, hosts: int) -> None:
    """Even with few hosts, none of which is judged."""
    for i in range(hosts):
        node(tmp_path / "alone", i, nothing, tags={"together": "1"})
        node(tmp_path / "together", i, less_bandwidth, tags={"together": "9"}, begin=AT)
    page = tmp_path / "report.html"
    assert program.main(["report", str(tmp_path), "--output", str(page)]) == 0
    text = Page(page).text
    assert f"speed together over alone: {hosts} nodes" in text and "memory bandwidth" in text
    assert ("Who is sick?" in text) == (hosts == 9)
    assert "others measure at the same time, over its speed alone; below 1: slower together" in text
