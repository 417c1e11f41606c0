# SPDX-License-Identifier: Apache-2.0
"""Cards of other machines and records: one node, virtual, many nodes, incomplete records."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from locus_analysis.card import by_class, content
from locus_analysis.card.content import CERTAIN, ROUGH, UNTOLD, Card
from make_records import (
    FOUR,
    ONE,
    TWO,
    Machine,
    as_written,
    brief,
    core_to_core,
    latency,
    numa,
    record,
    run_id,
    write,
)
from make_records import sharing as sharing_points
from some import some
from test_summary import GOOD, ROWS, RUN, all_of, card_of, cards, run, said_of, screen, told


@pytest.fixture(scope="module")
def four() -> Card:
    return card_of(FOUR, all_of(FOUR))


@pytest.fixture(scope="module")
def one() -> Card:
    return card_of(ONE, all_of(ONE))


def test_one_node_needs_no_placement(one: Card) -> None:
    made = one
    assert told(made, "first touch").text == "one NUMA node: cannot matter"
    assert not {"remote memory", "other nodes", "one node"} & {line.name for line in made.lines}
    assert len(screen(made)) <= ROWS


def test_a_virtual_machine_compares_ratios(one: Card) -> None:
    assert one.advice.startswith("a virtual machine (kvm): compare ratios, not times")
    assert any(line.startswith("a virtual machine") for line in screen(one)[:4])


def test_a_card_says_that_it_is_about_one_run(one: Card, four: Card) -> None:
    for made in (one, four):
        assert any(line.startswith("about this run, one process") for line in screen(made)[:3])


def test_a_virtual_machine_is_not_sure_of_what_its_cpus_share(one: Card, four: Card) -> None:
    guest = told(one, "core to core")
    assert guest.text.endswith(" same L3, as the guest is told") and guest.sure == ROUGH
    assert "guest" not in told(four, "core to core").text
    assert told(four, "core to core").sure == CERTAIN


def test_without_an_l3() -> None:
    host = said_of(TWO)
    host["topology"]["caches"] = [c for c in host["topology"]["caches"] if c["level"] < 3]
    points = [
        p for p in latency(TWO) if p.parameters["size"] <= 1 << 20 and "from" not in p.parameters
    ]
    made = card_of(TWO, points, host)
    assert "L3" not in [line.name for line in made.lines] and told(made, "L1").sure == CERTAIN
    screen(made)


def test_a_level_that_is_not_found_says_what_to_do() -> None:
    points = [p for p in latency(TWO) if p.parameters["size"] <= 256 << 10 and p.variant == "cycle"]
    card = card_of(TWO, points)
    lines = [told(card, name) for name in ("L3", "memory")]
    assert lines[0].text.endswith("22 MiB reported") and {x.sure for x in lines} == {UNTOLD}
    # once, for all levels that are missing
    assert lines[1].text.endswith("locus latency --variant cycle --pages thp --size 4K..256M*2")


def test_many_nodes() -> None:
    many = Machine("big", "AMD EPYC 9754 128-Core Processor", cpu_nodes=16, cores=4)
    made = card_of(many, numa(many, kernels=("sum",)) + core_to_core(many))
    assert "worst of 240" in told(made, "other nodes").text
    assert "16 x AMD" in screen(made)[0]


@pytest.mark.parametrize("benchmark", [latency, numa, core_to_core, sharing_points])
@pytest.mark.parametrize("machine", [ONE, FOUR])
def test_a_record_of_one_benchmark(machine: Machine, benchmark: Any) -> None:
    made = card_of(machine, benchmark(machine))
    assert made.lines and ": locus suite measures all" in made.missing
    assert any(line.startswith("missing") for line in screen(made))


def test_without_any_trial() -> None:
    lines = record(TWO, [], RUN)
    (made,) = cards(*lines)
    assert not made.lines and made.results == ["0 results: none"]
    assert "caches, bandwidth, cores, core to core" in made.missing
    screen(made)


def test_nothing_but_impossible_trials() -> None:
    points = all_of(TWO)
    for point in points:
        point.status, point.reasons = "impossible", ["no memory"]
    made = card_of(TWO, points)
    assert not [line for line in made.lines if line.sure == CERTAIN]
    assert f"{len(points)} impossible" in made.results[0]
    screen(made)


def test_an_interrupted_suite() -> None:
    lines = as_written(record(TWO, latency(TWO)[:20], RUN))
    (cut,) = cards(*lines[:-1])
    assert "cut off" in cut.results[1]
    lines[-1] = {**lines[-1], "signal": "SIGINT", "status": 130}
    (ended,) = cards(*lines)
    assert "SIGINT" in ended.results[1]
    screen(ended)


def test_of_a_repeat_the_last_counts() -> None:
    (point,) = [p for p in numa(ONE, kernels=("sum",)) if p.variant == "static"][:1]
    first = record(ONE, [point], run_id("1"), started="2025-03-14T09:00:00.000Z")
    point.seconds *= 2
    last = record(ONE, [point], run_id("2"), started="2025-03-14T10:00:00.000Z")
    (made,) = cards(*as_written(last), *as_written(first))
    assert told(made, "all cores").numbers["bandwidth"] == pytest.approx(ONE.local / 2, rel=0.1)
    assert "last of 2 runs" in " ".join(made.title) and made.results[0].startswith("1 result:")


def test_names_do_not_command_the_terminal() -> None:
    made = content.Card(["evil\x1b[31m\n·" + "x" * 300])
    assert "\x1b" not in content.text(made)
    screen(made)


# Many machines.


def test_many_hosts_have_a_table_for_each_class(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i in range(12):
        machine = Machine(f"n{i:03}", "a CPU", cpu_nodes=1, local=60e9 if i == 7 else 90e9)
        points = [*latency(machine, 1), *numa(machine, kernels=("sum",)), *core_to_core(machine)]
        lines = record(machine, points, run_id(str(i)), seed=i)
        lines[0]["machine"]["class"] = ("a" if i % 3 else "b") * 16
        lines = brief(lines)  # which summary skips
        write(tmp_path / f"{i}.jsonl", lines)
    monkeypatch.setenv("COLUMNS", "80")
    status, out, err = run(capsys, tmp_path)
    assert (status, err) == (GOOD, "") and "results" not in out
    first, second, _ = out.split("\n\n")
    assert first.startswith("8 hosts with a CPU · 8 cores, 1 NUMA node, ")
    assert second.startswith("4 hosts with a CPU") and "n007" not in second
    shown = first.splitlines()
    assert max(map(len, some(out.splitlines()))) <= 80 and len(shown) < 24
    (rate,) = [line for line in shown if line.startswith("bandwidth")]
    assert re.search(r"all cores +8 +\d\S* GB/s +\d\S* to \d\S* GB/s +n007 0\.67$", rate)
    (l1,) = [line for line in shown if line.startswith("caches")]
    assert re.search(r"L1 +8 +\d\.\d+ ns +\d\.\d+( to \d\.\d+)? ns$", l1)
    assert shown[1].endswith(by_class.APART) and first.count("n00") == 1


def test_hosts_apart_stand_below_a_row_where_the_terminal_is_narrow() -> None:
    names = "a-rather-long-name-001 1.25, a-rather-long-name-002 0.74"
    assert by_class.beside("x" * 70, names, 70) == ["x" * 70, f"{'':13}{names}"]
    assert by_class.beside("x", "n1 2.00", 3) == ["x    n1 2.00"]
