# SPDX-License-Identifier: Apache-2.0
"""cores: the slow CPU of a node, and one that computes wrong, are named: on a cluster, on the card
and on the page."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Optional

import pytest
from locus_analysis import __main__ as program
from locus_analysis.card import summary
from locus_analysis.insight import each_cpu, plugins
from locus_analysis.insight.each_cpu import Each
from locus_analysis.records import database
from make_records import TWO, Line, Machine, cores, numa, of_lines, record, run_id, write
from make_records.trials import Point
from some import some

BIG = Machine("big", "AMD EPYC 7543 32-Core Processor", cpu_nodes=2, cores=32)


def campaign(
    folder: Path, slow: Optional[int] = None, wrong: Optional[int] = None, by: float = 1 / 0.9
) -> Path:
    """The records of 6 nodes with 64 CPUs; n003 has the odd one."""
    folder.mkdir()
    for i in range(6):
        name = f"n{i:03}"
        odd = {"slow": slow, "wrong": wrong} if i == 3 else {}
        points = cores(BIG, seed=f"{folder.name}{name}", by=by, **odd)
        write(folder / f"{name}.jsonl", record(BIG, points, run_id(f"{folder}{name}"), host=name))
    return folder


def of(*points: Point) -> list[Each]:
    db = database.tables(of_lines(record(BIG, [*points], run_id("each"))))
    return each_cpu.of(db, database.measured(db, "cores"))


def test_a_cpu_stands_out_by_more_than_scatter() -> None:
    for each in some(of(*cores(BIG, slow=17))):
        assert each.outlying == {17} and 1.09 < each.ratios[17] < 1.13
    assert not any(each.outlying for each in some(of(*cores(BIG))))
    assert not any(each.outlying for each in some(of(*cores(BIG, slow=17, by=1.04))))


def test_few_cpus_have_no_scatter() -> None:
    assert each_cpu.outlying({0: 0.5, 1: 1.0, 2: 1.0, 3: 2.0}) == set()
    assert each_cpu.outlying({0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0, 4: 2.0}) == {4}
    assert not of(*cores(replace(BIG, cpu_nodes=1, cores=1)))  # no CPU to compare with


def test_the_card_names_the_slowest_cpu_and_a_wrong_one() -> None:
    slow = screen(cores(BIG, slow=17))
    assert "cores      each CPU       slowest: CPU 17, 0.90 of the median" in slow
    assert re.search(r"each CPU +all 64 CPUs are equal within [0-9.]+ %", screen(cores(BIG)))
    wrong = screen(cores(BIG, wrong=40))
    assert "each CPU       CPU 40 computes wrong" in wrong and "certain" in wrong


def test_a_slowest_cpu_is_beyond_the_interval() -> None:
    def said(ratio: float, doubt: float, apart: set[int]) -> bool:
        return each_cpu.Slowest(2, 0, ratio, doubt, apart).is_slower

    assert said(1.02, 0.01, set()) and said(1.02, 0.03, {0})
    assert not said(1.02, 0.03, set())
    assert not said(1.004, 0.001, set())  # would be shown as 1.00
    assert not said(1.02, 0.0, set())  # without an interval
    equal, unknown = (each_cpu.Slowest(2, 0, 1.004, doubt, set()) for doubt in (0.012, 0.4))
    assert equal.none_is == "all 2 CPUs are equal within 1.2 %"
    assert unknown.none_is == "whether a CPU is slower is open (±40 %)"


def screen(points: list[Point]) -> str:
    return summary.text(of_lines(record(BIG, points, run_id("card"))))


def test_the_page_draws_each_cpu(tmp_path: Path) -> None:
    file = write(tmp_path / "r.jsonl", record(BIG, cores(BIG, slow=17), run_id("page")))
    status = program.main(["report", "--pictures", str(file), "--output", str(tmp_path / "r.html")])
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert status == 0 and "CPU 17, the slowest of 64, has 0.90" in page
    assert "CPU 17 stands out" in page
    drawn = json.loads((tmp_path / "r-pictures/cores-cpus.vl.json").read_text(encoding="utf-8"))
    odd = [r["name"] for rows in drawn["datasets"].values() for r in rows if r.get("odd")]
    assert odd == ["CPU 17"] * 4


MODULE = {"count": 8, "type": "DDR5", "size": 1 << 35, "speed": 5.6e9, "configured_speed": 4.8e9}


def test_bandwidth_stands_beside_the_modules_peak() -> None:
    header = record(TWO, numa(TWO, kernels=("sum",)), run_id("peak"))
    memory = header[0]["machine"]["memory"]
    memory.update(modules=[MODULE], channels=8)
    assert "of the modules' peak, 307 GB/s (8 channels of 4.80 GT/s)." in said_of_numa(header)
    memory.update(channels=None)
    assert "is not known: the record lacks the channels in use" in said_of_numa(header)
    memory.update(modules=None, channels=8)
    assert "lacks the modules' speed (root reads it)." in said_of_numa(header)


def said_of_numa(lines: list[Line]) -> str:
    found = plugins.of("numa").find(database.tables(of_lines(lines)))
    return " ".join(text for own in found["said"].values() for text in own)


def sick(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    status = program.main(["sick", *map(str, words)])
    return status, capsys.readouterr().out


def test_a_slow_core_is_found_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Suspected, then confirmed by three fresh runs."""
    for name in "abcd":
        campaign(tmp_path / name, slow=17)
    status, out = sick(capsys, tmp_path)
    assert status == 1 and "SICK" in out and "n003  cores 1.10 times its class" in out
    assert "CPU 17" in out and out.count("n00") == 1


def test_healthy_cores_are_not_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out = sick(capsys, campaign(tmp_path / "a"))
    assert status == 0 and "no node is sick" in out


def test_a_cpu_that_computes_wrong_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out = sick(capsys, campaign(tmp_path / "a", wrong=40))
    assert status == 1 and "WRONG    n003  CPU 40; cores: 4 wrong" in out


def test_compressed_records_name_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = campaign(tmp_path / "a", slow=5)
    for file in [*folder.glob("*.jsonl")]:
        Path(f"{file}.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    status, out = sick(capsys, folder, "--format", "json")
    (found,) = json.loads(out)["findings"]
    assert status == 4 and found["component"] == "cores" and found["reason"] == "CPU 5"


@pytest.mark.parametrize("odd", [{"slow": 5}, {"wrong": 40}])
def test_a_store_names_it_without_the_records(
    tmp_path: Path, odd: dict[str, int], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, store = campaign(tmp_path / "a{b}", **odd), tmp_path / "store"
    told = sick(capsys, folder)
    assert program.main(["aggregate", str(folder), "--into", str(store)]) == 0
    shutil.rmtree(folder)
    capsys.readouterr()
    assert sick(capsys, store) == told
    assert f"CPU {next(iter(odd.values()))}" in told[1]
    assert ("slow" in odd) == (f"--again '{folder}' " in told[1])
