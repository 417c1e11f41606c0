# SPDX-License-Identifier: Apache-2.0
"""Many hosts: the work of reading, querying and drawing grows no faster than their number."""

from __future__ import annotations

import copy
import functools
import json
import random
import runpy
import sys
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
from locus_analysis import __main__ as program
from locus_analysis.base import processes
from locus_analysis.cluster import rule, sick
from locus_analysis.compare import command_line, comparison, html_page, observations
from locus_analysis.page import health, population
from locus_analysis.pictures import draw
from locus_analysis.records import database, schema
from locus_analysis.records.hosts import FEW
from make_records import ONE, Line, numa, record, run_id, write
from pages import Page, make
from some import some

SLOW = "node05"


@functools.cache
def made_up(number: int) -> list[list[Line]]:
    runs = []
    for i in range(number):
        name, rng = f"node{i:02}", random.Random(i)
        lines = record(ONE, numa(ONE, kernels=("sum",))[:4], run_id(name), host=name)
        factor = 0.75 if name == SLOW else rng.gauss(1, 0.002)
        for line in lines:
            if line["type"] == "trial":
                metric = line["metrics"][0]
                metric["value"] *= factor
        runs.append(lines)
    return runs


def hosts(number: int) -> list[list[Line]]:
    """Runs of hosts that differ by noise only, except one, which has three quarters of their
    bandwidth."""
    return copy.deepcopy(made_up(number))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Page]:
    folder = tmp_path_factory.mktemp("many")
    return folder, make(folder, *hosts(20))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "report-pictures").iterdir())


def test_a_few_hosts_are_drawn_one_by_one(tmp_path: Path) -> None:
    make(tmp_path, *hosts(FEW))
    assert len(names(tmp_path)) == 3 * len(draw.KINDS) * FEW  # bars, claims, steadiness


def test_hosts_beside_their_class(many: tuple[Path, Page]) -> None:
    """A heat map of hosts and components: the slow one is framed, and healthy cells have the
    background's colour."""
    drawn = json.loads((many[0] / "report-pictures" / "health.vl.json").read_text())
    (rows,) = drawn["datasets"].values()
    framed = {(r["host"], r["component"]) for r in rows if r["score"] > 1}
    assert framed == {(SLOW, "memory bandwidth")}
    assert max(r["ratio"] for r in rows) == pytest.approx(4 / 3, rel=0.01)
    assert all(abs(r["ratio"] - 1) > 0.009 for r in rows)


def test_strips_name_who_is_beyond(many: tuple[Path, Page]) -> None:
    """A row for each component; only the slow host is a point, with its name beside it."""
    drawn = json.loads((many[0] / "report-pictures" / "strips.vl.json").read_text())
    boxes, points = drawn["datasets"].values()
    assert [p["host"] for p in points] == [SLOW] and points[0]["ratio"] == pytest.approx(
        4 / 3, 0.01
    )
    named = {b["component"]: b["named"] for b in boxes}
    assert named == {"memory bandwidth": f"{SLOW} 1.33"}
    assert all(b["low5"] <= b["low"] <= b["high"] <= b["high95"] for b in some(boxes))


@pytest.mark.parametrize(("hosts", "shown"), [(1000, 1000), (1001, 200)])
def test_the_worst_of_very_many_hosts(hosts: int, shown: int) -> None:
    y = np.random.default_rng(1).normal(0, 0.005, (hosts, 8))
    y[77] += 0.2
    class_ = rule.refer(y, ["L2"] * 8)
    named = [f"n{i:04}" for i in range(hosts)]
    found = health.pictures(
        [sick.Campaign("a", "a CPU", 1, named, [3] * hosts, class_, rule.look(y, class_), y)]
    )
    chart: Any = found[1].spec["vconcat"]
    rows: Any = found[1].spec["datasets"]
    assert len(found) == 2 and ("the 200 worst, and quantiles" in found[1].title) == (shown < hosts)
    domain = chart[0]["layer"][0]["encoding"]["y"]["scale"]["domain"]
    rest = ["rest: 95%", "rest: 75%", "rest: 50%", "rest: 25%", "rest: 5%"] * (shown < hosts)
    assert len(domain) == shown + len(rest) and "n0077" in domain and domain[shown:] == rest
    assert any(r["host"] == "n0077" and r["score"] > 1 for own in rows.values() for r in own)


def test_many_hosts_are_distributions(many: tuple[Path, Page], tmp_path: Path) -> None:
    folder, page = many
    make(tmp_path, *hosts(FEW + 1))
    drawn = sorted(
        f"{name}.{kind}" for name in ("health", "numa-hosts", "strips") for kind in draw.KINDS
    )
    assert names(folder) == names(tmp_path) == drawn
    assert "20 hosts" in page.text and "20 runs" in page.text
    assert page.ids.count("machines") == 1 and page.text.count(ONE.model) == 2


def test_who_stands_out_is_named(many: tuple[Path, Page]) -> None:
    _, page = many
    points = list(page.rows("host", "ratio", "status"))
    assert {row["host"] for row in some(points)} == {SLOW}
    assert all(0.7 < row["ratio"] < 0.8 for row in some(points))
    assert "Verdict on the nodes (1)" in page.text and "memory bandwidth 0.75" in page.text
    assert page.text.count(SLOW) > 2


def test_a_median_is_that_of_the_hosts(many: tuple[Path, Page]) -> None:
    folder, _ = many
    runs = hosts(20)
    db = database.tables(database.read([folder / f"{i}.jsonl" for i in range(20)]))
    found = population.sections(db)["numa"]["trials"]
    values = sorted(
        next(line for line in lines if line["type"] == "trial")["metrics"][0]["value"]
        for lines in runs
    )
    assert found[0]["middle"] == pytest.approx((values[9] + values[10]) / 2)
    assert found[0]["hosts"] == 20 and found[0]["least_host"] == SLOW


def test_of_hosts_with_equal_values_the_first_is_told(tmp_path: Path) -> None:
    runs = hosts(FEW + 1)
    for lines in runs:
        next(line for line in lines if line["type"] == "trial")["metrics"][0]["value"] = 2e9
    names = sorted(lines[0]["host"] for lines in runs)
    for order in (runs, runs[::-1]):
        folder = tmp_path / str(order is runs)
        folder.mkdir()
        files = [write(folder / f"{i}.jsonl", lines) for i, lines in enumerate(order)]
        (first, *_) = population.sections(database.tables(database.read(files)))["numa"]["trials"]
        assert (first["least_host"], first["most_host"]) == (names[0], names[0])


def test_what_is_done_grows_with_the_hosts_and_no_faster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files opened, lines checked, queries to the database: counted, not timed."""
    opened, asked, checked = [], [], []
    first_open, first_select, first_check = Path.open, database.select, schema.check

    def noted_open(path: Path, *mode: Any, **named: Any) -> Any:
        if path.suffix == ".jsonl" and mode == ("rb",):
            opened.append(path)
        return first_open(path, *mode, **named)

    def noted_select(db: Any, kind: Any, sql: str, *values: Any) -> Any:
        asked.append(sql)
        return first_select(db, kind, sql, *values)

    def noted_check(line: Any, strict: bool) -> Line:
        checked.append(line)
        return first_check(line, strict)

    monkeypatch.setattr(Path, "open", noted_open)
    monkeypatch.setattr(database, "select", noted_select)
    monkeypatch.setattr(population, "select", noted_select)
    monkeypatch.setattr(schema, "check", noted_check)
    counts = []
    for number in (10, 20):
        runs = hosts(number)
        folder = tmp_path / str(number)
        folder.mkdir()
        files = [write(folder / f"{i}.jsonl", lines) for i, lines in enumerate(runs)]
        written = sum(file.read_bytes().count(b"\n") for file in files)
        for list_ in (opened, asked, checked):
            list_.clear()
        db = database.tables(database.read([folder]))
        found = population.sections(db)
        assert sick.judge(db, observations.of(db, "these"), {}, {}).findings
        counts.append((len(opened) / number, len(checked) / written, len(asked)))
        assert len(found["numa"]["pictures"]) == 1
    assert counts[0] == counts[1] and counts[0][:2] == (1, 1)


# Comparisons: test/peers/hosts makes any number of hosts; here there are few.


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[list[Line], int, int], Path]:
    """Makes records of n hosts from the lines of one record."""

    def hosts_like(lines: list[Line], n: int, seed: int) -> Path:
        template = write(tmp_path / f"template-{seed}.jsonl", lines)
        folder = tmp_path / f"hosts-{seed}"
        words = ["hosts", str(template), str(n), str(folder), "--seed", str(seed)]
        monkeypatch.setattr(sys, "argv", words)
        runpy.run_path(str(Path(__file__).parents[1] / "peers" / "hosts"), run_name="__main__")
        return folder

    return hosts_like


def test_a_comparison_of_many_hosts(made: Any, capsys: pytest.CaptureFixture[str]) -> None:
    points = numa(ONE, kernels=("sum",))[:4]
    old, new = (made(record(ONE, points, run_id("a")), 12, seed) for seed in (1, 2))
    assert program.main(["validate", str(old), str(new)]) == 0
    capsys.readouterr()
    assert program.main(["compare", "--format", "json", str(old), str(new)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["unit"] == "node" and told["old"]["units"] == told["new"]["units"] == 12
    assert len(told["metrics"]) == 4 and told["paired"]


def test_a_comparison_holds_no_more_than_values(made: Any) -> None:
    """However much was written beside them: samples, distributions, results of batches."""
    kept = []
    for seed, times in ((1, 1), (2, 50)):
        lines = record(ONE, numa(ONE, kernels=("sum",))[:4], run_id("a"))
        for line in lines:
            if line["type"] == "samples":
                line["times"] *= times
            if line["type"] == "trial":
                line["batches"]["metrics"]["time"] *= times
                line["batches"]["allocations"] = [n * times for n in line["batches"]["allocations"]]
                line["notes"] = ["so it was"] * times
        folder = made(lines, 3, seed)
        read = database.read([folder], samples=False, values=True)
        ((own,),) = read.db.execute("SELECT sum(length(t::VARCHAR)) FROM parsed.trial t").fetchall()
        written = sum(file.stat().st_size for file in folder.iterdir())
        kept.append((own, written))
    assert kept[1][1] > 10 * kept[0][1]
    # not all values have equally many digits
    assert kept[1][0] == pytest.approx(kept[0][0], rel=0.03)


def test_the_page_of_a_comparison_has_few_points(
    made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand points in each of hundreds of rows are unreadable: quantiles are drawn, with both
    ends."""
    monkeypatch.setattr(html_page, "MOST", 5)
    lines = record(ONE, numa(ONE, kernels=("sum",))[:4], run_id("a"))
    old, new = (observations.load([made(lines, n, n)], "a")[0] for n in (4, 12))
    metrics = comparison.compare(old, new).metrics
    data: Any = html_page.picture(metrics, "numa", "numa").spec["datasets"]
    points = [row for rows in data.values() for row in rows if "ratio" in row]
    for i, m in enumerate(some(metrics)):
        shown = [
            [r["ratio"] for r in points if (r["row"], r["side"]) == (i, side)]
            for side in ("old", "new")
        ]
        assert sorted(shown[0]) == sorted(m["runs"][0]) and len(shown[1]) == 5
        ends = [min(m["runs"][1]), max(m["runs"][1])]
        assert [min(shown[1]), max(shown[1])] == pytest.approx(ends)


@pytest.mark.parametrize("killed", (False, True))
def test_a_process_that_reads_one_side(
    made: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, killed: bool
) -> None:
    """A helper process finds what a single process would; if it is killed, the main process does
    its work."""
    points = numa(ONE, kernels=("sum",))[:4]
    folders = [str(made(record(ONE, points, run_id("a")), 6, seed)) for seed in (1, 2)]
    assert program.main(["compare", "--format", "json", *folders]) == 0
    alone = capsys.readouterr().out
    monkeypatch.setattr(command_line, "ENOUGH", 1)
    asked = []
    call = processes.Processes.call

    def noted(*words: Any) -> Future[Any]:
        asked.append(words[1:3])
        if not killed:
            return call(*words)
        failed: Future[Any] = Future()
        failed.set_exception(ChildProcessError(0, "it ended with status -9"))
        return failed

    monkeypatch.setattr(processes.Processes, "call", noted)
    assert program.main(["compare", "--format", "json", *folders]) == 0
    assert capsys.readouterr().out == alone and asked == [("load", [Path(folders[1])])]
