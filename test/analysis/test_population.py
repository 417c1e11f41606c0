# SPDX-License-Identifier: Apache-2.0
"""Many hosts: the work of reading, querying and drawing grows no faster than their number."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from locus_analysis import draw, population, records, schema
from make_records import ONE, Line, numa, record, run_id, write
from some import some
from test_report import Page, make

SLOW = "node05"


def hosts(number: int) -> list[list[Line]]:
    """Runs of hosts that differ by noise only, except one, which has three quarters of their
    bandwidth."""
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


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Page]:
    folder = tmp_path_factory.mktemp("many")
    return folder, make(folder, *hosts(20))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "report-pictures").iterdir())


def test_a_few_hosts_are_drawn_one_by_one(tmp_path: Path) -> None:
    make(tmp_path, *hosts(population.FEW))
    assert len(names(tmp_path)) == 3 * len(draw.KINDS) * population.FEW  # bars, claims, steadiness


def test_many_hosts_are_distributions(many: tuple[Path, Page], tmp_path: Path) -> None:
    folder, page = many
    make(tmp_path, *hosts(population.FEW + 1))
    drawn = sorted(f"numa-hosts.{kind}" for kind in draw.KINDS)
    assert names(folder) == names(tmp_path) == drawn
    assert "20 hosts" in page.text and "20 runs" in page.text
    assert page.ids.count("machines") == 1 and page.text.count(ONE.model) == 1


def test_who_stands_out_is_named(many: tuple[Path, Page]) -> None:
    _, page = many
    points = list(page.rows("host", "ratio"))
    assert {row["host"] for row in some(points)} == {SLOW}
    assert all(0.7 < row["ratio"] < 0.8 for row in some(points))
    assert "Hosts that stand out (1)" in page.text and page.text.count(SLOW) > 4


def test_a_median_is_that_of_the_hosts(many: tuple[Path, Page], tmp_path: Path) -> None:
    runs = hosts(20)
    files = [write(tmp_path / f"{i}.jsonl", lines) for i, lines in enumerate(runs)]
    db = records.tables(records.read(files))
    found = population.sections(db)["numa"]["trials"]
    values = sorted(
        next(line for line in lines if line["type"] == "trial")["metrics"][0]["value"]
        for lines in runs
    )
    assert found[0]["middle"] == pytest.approx((values[9] + values[10]) / 2)
    assert found[0]["hosts"] == 20 and found[0]["least_host"] == SLOW


def test_what_is_done_grows_with_the_hosts_and_no_faster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files opened, lines checked, queries to the database: counted, not timed."""
    opened, asked, checked = [], [], []
    first_open, first_rows, first_check = Path.open, records.rows, schema.check

    def noted_open(path: Path, *mode: Any, **named: Any) -> Any:
        if path.suffix == ".jsonl" and mode == ("rb",):
            opened.append(path)
        return first_open(path, *mode, **named)

    def noted_rows(db: Any, sql: str, *values: Any) -> Any:
        asked.append(sql)
        return first_rows(db, sql, *values)

    def noted_check(line: Any, strict: bool) -> None:
        checked.append(line)
        first_check(line, strict)

    monkeypatch.setattr(Path, "open", noted_open)
    monkeypatch.setattr(records, "rows", noted_rows)
    monkeypatch.setattr(population, "rows", noted_rows)
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
        db = records.tables(records.read([folder]))
        found = population.sections(db)
        assert population.hosts(db)
        counts.append((len(opened) / number, len(checked) / written, len(asked)))
        assert len(found["numa"]["pictures"]) == 1
    assert counts[0] == counts[1] and counts[0][:2] == (1, 1)
