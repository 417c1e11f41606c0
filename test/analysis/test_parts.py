# SPDX-License-Identifier: Apache-2.0
"""Values by CPU and by pair of ranks as rows: exported, and as data frames."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
from pathlib import Path
from typing import Any, Optional

import pytest
from lacking import lacking
from locus_analysis import __main__ as program
from make_records import Line, Machine, as_written, cores, record, run_id, write
from make_records.trials import Point
from pages import Page

FEW = Machine("few", "AMD EPYC 7543 32-Core Processor", cpu_nodes=1, cores=4)
PAIR = Point("fabric", "pairs", {"rounds": 2}, 3, 2e-6)
RUN = run_id("parts")


def row(trial: str, rank: int, **own: Any) -> Line:
    host = f"n{rank}"
    return {
        "type": "row",
        "run": RUN,
        "trial": trial,
        "rank": rank,
        "host": host,
        "node": rank,
        **own,
    }


def fabric() -> list[Line]:
    """Three ranks, the last of which has no pair in its row."""
    lines = as_written(record(FEW, [PAIR], RUN))
    (declared,) = [line for line in lines if line["type"] == "benchmark"]
    (trial,) = [line for line in lines if line["type"] == "trial"]
    for name, unit in (("latency", "s"), ("bandwidth", "B/s")):
        trial["metrics"][name] = trial["metrics"]["time"]
        declared["metrics"].append(
            {**declared["metrics"][0], "name": name, "unit": unit, "kind": "row"}
        )
    rows = [
        row(trial["id"], 0, **{"with": [2, 1], "latency": [3e-6, 2e-6], "bandwidth": [1e9, None]}),
        row(trial["id"], 1, **{"with": [2], "latency": [4e-6], "bandwidth": [2e9]}),
        row(trial["id"], 2),
    ]
    at = lines.index(trial)
    return [*lines[:at], *rows, *lines[at:]]


def put(path: Path, lines: list[Line]) -> Path:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    put(tmp_path / "fabric.jsonl", fabric())
    return write(tmp_path / "cores.jsonl", record(FEW, cores(FEW), run_id("cores")))


def exported(capsys: pytest.CaptureFixture[str], form: str, *files: Path) -> list[dict[str, str]]:
    assert program.main(["export", "--format", form, *map(str, files)]) == 0
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))


def by_cpu(file: Path) -> dict[tuple[str, int, str], Optional[float]]:
    """Values by CPU, as in the record."""
    trials = [t for t in map(json.loads, file.read_text().splitlines()) if t["type"] == "trial"]
    return {
        (t["id"], cpu, name): value
        for t in trials
        for name, m in t["metrics"].items()
        for cpu, value in zip(t["cpus"], m.get("by_worker", []))
    }


def test_a_row_for_each_cpu_and_metric(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    rows = exported(capsys, "cpus", file.parent)
    found = {(r["trial"], int(r["cpu"]), r["metric"]): float(r["value"]) for r in rows}
    assert found == by_cpu(file) and len(found) == len(rows) > 8
    assert {r["benchmark"] for r in rows} == {"cores"} and {r["unit"] for r in rows} >= {"s"}
    one = [r["cpu"] for r in rows if r["trial"] == rows[0]["trial"]]
    assert one == sorted(one) and len(set(one)) == 4


PAIRS = [
    ("0", "n0", "1", "n1", "latency", "2e-06"),
    ("0", "n0", "2", "n2", "bandwidth", "1000000000.0"),
    ("0", "n0", "2", "n2", "latency", "3e-06"),
    ("1", "n1", "2", "n2", "bandwidth", "2000000000.0"),
    ("1", "n1", "2", "n2", "latency", "4e-06"),
]


def test_a_row_for_each_pair_and_metric(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    rows = exported(capsys, "pairs", file.parent)
    names = ("rank", "rank_host", "with_rank", "with_host", "metric", "value")
    assert [tuple(r[name] for name in names) for r in rows] == PAIRS
    assert [(r["rank_node"], r["with_node"]) for r in rows] == [(r[0], r[2]) for r in PAIRS]
    assert {(r["benchmark"], r["variant"], r["rounds"]) for r in rows} == {("fabric", "pairs", "2")}


def test_a_pair_whose_other_row_is_missing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    lines = [line for line in fabric() if line.get("rank") != 2 or line["type"] != "row"]
    rows = exported(capsys, "pairs", put(tmp_path / "cut.jsonl", lines))
    assert [r["with_host"] for r in rows] == ["n1", "", "", "", ""]


def test_as_data_frames(file: Path) -> None:
    if not importlib.util.find_spec("pandas"):
        lacking("pandas", "python -m pip install -r analysis/requirements-dev.txt")
    import locus_analysis

    records = locus_analysis.load([file.parent])
    cpus = records.cpus[["trial", "cpu", "metric", "value"]].itertuples(index=False)
    assert {(t, c, m): v for t, c, m, v in cpus} == by_cpu(file)
    assert set(records.cpus.benchmark) == {"cores"} and "width" in records.cpus
    pairs = records.pairs.sort_values(["rank", "with_rank", "metric"])
    names = ["rank", "rank_host", "with_rank", "with_host", "metric", "value"]
    assert [tuple(map(str, r)) for r in pairs[names].itertuples(index=False)] == PAIRS


def test_samples_as_a_data_frame_tell_which_were_disturbed(tmp_path: Path) -> None:
    """Indexes count the samples of all batches of a line."""
    if not importlib.util.find_spec("pandas"):
        lacking("pandas", "python -m pip install -r analysis/requirements-dev.txt")
    import locus_analysis

    lines = record(FEW, [Point("dummy", "steady", {}, 1, 1e-9)], RUN)
    (trial,) = [line for line in lines if line["type"] == "trial"]
    line = {
        **{"type": "samples", "run": lines[0]["run"], "trial": trial["id"]},
        **{"allocation": 0, "batch": 0, "at": [1.0, 2.0]},
        **{"units": 1e8, "n": [3, 2], "times": [1e-9, 2e-9, 3e-9, 4e-9, 5e-9]},
        **{"noisy": [1, 3], "crowded": [3, 4]},
    }
    own = [other for other in lines if other["type"] != "samples"]
    write(tmp_path / "samples.jsonl", [*own[:-1], line, own[-1]])
    table = locus_analysis.load([tmp_path]).samples.sort_values("moment")
    assert list(table["time"]) == line["times"]
    assert list(table["noisy"]) == [False, True, False, True, False]
    assert list(table["crowded"]) == [False, False, False, True, True]


def test_the_page_shows_a_network_of_few_nodes(tmp_path: Path) -> None:
    """A record of fabric has one host, however many nodes were measured."""
    page = tmp_path / "report.html"
    file = put(tmp_path / "fabric.jsonl", fabric())
    assert program.main(["report", str(file), "--output", str(page)]) == 0
    found = Page(page)
    assert "network: 3 pairs of 3 nodes" in found.text and "network-latency" in found.figures


def test_ranks_of_one_node_are_no_network(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is judged, so nothing is healthy."""
    host = next(line["host"] for line in fabric() if line["type"] == "row")
    lines = [
        {**line, "node": 0, "host": host} if line["type"] == "row" else line for line in fabric()
    ]
    file = str(put(tmp_path / "fabric.jsonl", lines))
    assert program.main(["sick", file]) == 4
    out = capsys.readouterr().out
    assert out.startswith("network: no pair of nodes\n") and "no node is sick" not in out
    assert "\nUNJUDGED network  fabric: no pair of nodes; at least 3 nodes are needed\n" in out
    assert program.main(["sick", "--format", "json", file]) == 4
    assert json.loads(capsys.readouterr().out)["status"] == 4
