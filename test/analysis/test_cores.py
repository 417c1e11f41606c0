# SPDX-License-Identifier: Apache-2.0
"""cores: the slow CPU of a node, and one that computes wrong, are named: on a cluster, on the card
and on the page."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Optional

import pytest
from locus_analysis import __main__ as program
from locus_analysis.card import content, summary
from locus_analysis.insight import each_cpu, plugins
from locus_analysis.insight.each_cpu import Each
from locus_analysis.records import database
from make_records import TWO, Line, Machine, cores, numa, of_lines, record, run_id, write
from make_records.trials import Point
from some import some
from test_evidence import known as judged

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
        return slowest(ratio, ratio - doubt, ratio + doubt, apart).is_slower

    assert said(1.02, 0.01, set()) and said(1.02, 0.03, {0})
    assert not said(1.02, 0.03, set())
    assert not said(1.004, 0.001, set())  # would be shown as 1.00
    assert not slowest(1.02, None, None).is_slower
    assert slowest(1.004, 0.99, 1.012).none_is == "all 2 CPUs are equal within 1.2 %"
    assert slowest(1.004, 0.99, 1.012, status="noisy").none_is == "all 2 CPUs are equal within 5 %"
    unknown = "whether a CPU is slower is open"
    assert slowest(1.1, 0.6, 2.8).none_is == f"{unknown} (0.6 to 2.8 times the median's time)"
    assert slowest(1.1, 0.6, 2.8, status="noisy").none_is == unknown
    assert slowest(1.004, None, None).none_is == unknown


def slowest(
    value: float,
    low: Optional[float],
    high: Optional[float],
    apart: Collection[int] = (),
    status: str = "ok",
) -> each_cpu.Slowest:
    return each_cpu.Slowest(2, 0, judged(value, low, high, status), {*apart})


@pytest.mark.parametrize(
    ("metric", "width", "said", "word"),
    [
        ("quantum", 0.01, "slowest: CPU 1, 0.83 of the median", "certain"),
        ("time", 1.5, "slowest: CPU 1, 0.83 of the median", "certain"),  # not of its interval
        ("quantum", 0.15, "slowest: CPU 1, 0.83 of the median", "rough"),
        (
            "quantum",
            0.6,
            "whether a CPU is slower is open (0.84 to 1.9 times the median's time); longer: locus"
            " cores",
            "cannot tell",
        ),
    ],
)
def test_the_interval_is_that_of_the_metric_of_the_ratios(
    metric: str, width: float, said: str, word: str
) -> None:
    line = card(pair(metric=metric, width=width))
    assert (line.text, line.sure) == (said, word)


def test_of_noisy_cpus_only_the_side_is_told() -> None:
    line = card(pair(status="noisy"))
    assert (line.text, line.sure, line.numbers) == ("slowest: CPU 1", "noisy", {})
    db = database.tables(of_lines(pair(status="noisy")))
    (said,) = plugins.of("cores").find(db)["answer"].values()
    assert said == "CPU 1 is the slowest of 2; noise hides by how much."


def test_of_a_trial_with_two_modes_the_ratios_are_rough() -> None:
    assert card(pair(status="bimodal")).sure == "rough"


def test_the_word_of_a_line_is_about_all_that_it_says() -> None:
    lines = pair(together=(1.5, 1.3, 1.9))
    assert card(lines).text.endswith(" · all at once against alone: 50 % slower")
    assert card(lines).sure == "rough" and card(pair()).sure == "certain"


def pair(
    metric: str = "quantum",
    width: float = 0.01,
    status: str = "ok",
    together: Collection[float] = (),
) -> list[Line]:
    """The record of two CPUs, of which CPU 1 takes 1.5 times as long: 1.2 times the median. One
    metric has this interval, the others ±1 %."""
    points = cores(replace(BIG, cpu_nodes=1, cores=2), slow=1, by=1.5)
    if together:
        points[2].ratios, points[2].other = [("variant", "together", "alone", 1e-6)], points[0].id
    lines = record(BIG, points, run_id("pair"))
    for line in (line for line in lines if line["type"] == "trial"):
        line.update(status=status, reasons=[] if status == "ok" else ["so it is"])
        for m in line["metrics"]:
            reach = width if m["name"] == metric else 0.01
            m["ci"] = [m["value"] * (1 - reach / 2), m["value"] * (1 + reach)]
        for r in line.get("ratios") or []:
            value, low, high = together
            r.update(value=value, ci=[low, high])
    return lines


def card(lines: list[Line]) -> content.Line:
    (made,) = summary.cards(database.tables(of_lines(lines)))
    (line,) = (line for line in made.lines if line.name == "each CPU")
    return line


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
