# SPDX-License-Identifier: Apache-2.0
"""The card of synthetic machines, whose lines are known: of one node, of many, of half a suite."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Optional

import pytest
from locus_analysis import __main__ as program
from locus_analysis.card import content, node_lines, problems, summary
from locus_analysis.card.content import CERTAIN, NOISY, ROUGH, UNTOLD, Card
from locus_analysis.records import database
from make_records import (
    FOUR,
    ONE,
    TWO,
    Line,
    Machine,
    Point,
    as_written,
    brief,
    core_to_core,
    cores,
    header,
    kmeans,
    latency,
    numa,
    of_lines,
    record,
    run_id,
    write,
)
from make_records import sharing as sharing_points
from pages import make
from some import some

GOOD, BAD_INPUT = 0, 2


RUN = run_id("card")


ROWS = 29  # of a terminal of 100 columns


def all_of(machine: Machine) -> list[Point]:
    return [
        *latency(machine),
        *numa(machine, kernels=("sum",)),
        *core_to_core(machine, protocols=("compare-exchange", "message")),  # the first is told
        *cores(machine),
        *sharing_points(machine),
        *kmeans(),
    ]


def cards(*lines: Line) -> list[Card]:
    return summary.cards(database.tables(of_lines(list(lines))))


def card_of(
    of: Machine, points: Sequence[Point], told: Optional[Line] = None, **changes: Any
) -> Card:
    """`told`: the machine in the header, if it should differ from `of`. Without samples, which the
    command skips."""
    lines = brief(record(of, list(points), RUN, **changes))
    lines[0]["machine"] = told or lines[0]["machine"]
    (made,) = cards(*lines)
    return made


def said_of(machine: Machine) -> Line:
    """The machine as a header describes it."""
    return dict(header(machine, RUN, random.Random(1))["machine"])


def told(made: Card, name: str) -> content.Line:
    (line,) = [line for line in made.lines if line.name == name]
    return line


def screen(made: Card) -> list[str]:
    """The card's lines as printed, which must fit the width, as narrower ones do."""
    lines = content.text(made, content.COLUMNS).splitlines()
    whole = replace(made, lines=[replace(line, more=()) for line in made.lines])
    letters = sorted("".join(content.text(whole).split()))
    for columns in (content.LEAST_COLUMNS, 80, content.COLUMNS):
        narrow = content.text(made, columns).splitlines()
        assert max(map(len, some(narrow))) <= columns, max(narrow, key=len)
        narrow = content.text(whole, columns).splitlines()
        assert not [line for line in narrow if re.match(r" +(ns|cycles|[KMG]i?B|GB/s|%)\b", line)]
        assert sorted("".join("".join(narrow).split())) == letters
    return lines


@pytest.fixture(scope="module")
def four() -> Card:
    return card_of(FOUR, all_of(FOUR))


def test_a_card_fits_on_a_screen_and_begins_with_the_machine(four: Card) -> None:
    lines = screen(four)
    assert len(lines) <= ROWS
    assert lines[0].startswith(f"locus 0.1 · cxl1 · 3 x {FOUR.model} · 96 cores, 4 NUMA nodes")
    assert not four.missing and not four.advice


def test_a_card_is_as_wide_as_the_terminal(four: Card, monkeypatch: pytest.MonkeyPatch) -> None:
    for columns, width in (("80", 80), ("40", content.LEAST_COLUMNS), ("300", content.COLUMNS)):
        monkeypatch.setenv("COLUMNS", columns)
        assert content.text(four) == content.text(four, width)


KINDS = [
    {"name": "IntelCore 3900 MHz", "rank": 0, "cores": 1, "cpus": [1]},
    {"name": "IntelAtom 2800 MHz", "rank": 1, "cores": 1, "cpus": [0]},
]


def test_a_card_names_the_kinds_of_cores() -> None:
    line = said_of(ONE)
    assert " (" not in screen(card_of(ONE, [], line))[0]
    line["topology"]["kinds"] = KINDS
    lines = screen(card_of(ONE, [], line))
    title = " ".join(" ".join(lines).split())
    assert "2 cores (1 IntelCore 3900 MHz, 1 IntelAtom 2800 MHz), 1 NUMA node" in title


def test_caches_have_their_size_time_and_cycles(four: Card) -> None:
    for name, size, numbers in (
        ("L1", "32 KiB", {"time": 2.2e-9}),
        ("L2", "1 MiB", {"time": 4e-9}),
        ("L3", "22 MiB", {"time": 15e-9}),
    ):
        line = told(four, name)
        assert line.text.split("  ")[0].strip() == size or size in line.text
        assert line.numbers["time"] == pytest.approx(numbers["time"], rel=0.05)
        assert " cycles" in line.text and line.sure == CERTAIN
    memory = told(four, "memory")
    assert memory.numbers["time"] == pytest.approx(82e-9, rel=0.05) and memory.sure == CERTAIN


def test_the_tlb_and_what_huge_pages_change(four: Card) -> None:
    tlb = told(four, "TLB")
    assert tlb.numbers["L1 TLB"] == pytest.approx(64, rel=0.1) and "of 4 KiB" in tlb.text
    huge = told(four, "huge pages")
    assert huge.text.startswith("loads 1") and " % faster at 256 MiB (thp" in huge.text


def test_what_huge_pages_change_is_open_where_the_interval_says_so() -> None:
    points = latency(TWO)
    for point in points:
        point.status, point.reasons, point.noise = "unconverged", ["the interval is wide"], 2
    huge = told(card_of(TWO, points), "huge pages")
    assert huge.text.startswith("open (") and huge.sure == UNTOLD


def test_other_nodes_are_told_by_the_worst(four: Card) -> None:
    """Memory without CPUs is the furthest: node 3."""
    line = told(four, "remote memory")
    assert "2.6x local" in line.text and "-> 3, worst of 9" in line.text
    assert told(four, "other nodes").numbers["remote"] == pytest.approx(
        FOUR.local * FOUR.remote * 0.5, rel=0.05
    )


def test_bandwidth_of_a_node_and_of_all(four: Card) -> None:
    assert told(four, "one node").numbers["bandwidth"] == pytest.approx(FOUR.local, rel=0.1)
    assert "on 32 threads" in told(four, "one node").text
    assert "GB/s" in told(four, "30 threads").text
    core = told(four, "one core")
    assert core.sure == UNTOLD and "locus numa --variant static --threads 1" in core.text


def test_one_core_is_told_where_it_was_measured() -> None:
    one = [p for p in numa(ONE) if p.variant == "static"][:1]
    one[0].threads, one[0].parameters["layout"] = 1, "1"
    line = told(card_of(ONE, one), "one core")
    assert line.sure == CERTAIN and "GB/s" in line.text


def test_one_core_is_told_with_the_node_that_gives_it_least() -> None:
    points = [p for p in numa(TWO, kernels=("sum",)) if p.variant in ("static", "bind")]
    local = next(p for p in points if p.variant == "static")
    first = next(p for p in points if p.variant == "bind")
    bound = [copy.deepcopy(first) for _ in range(2)]
    for node, point in enumerate(bound):
        point.parameters["to"], point.seconds = node, local.seconds * (1 + node)
    for point in (local, *bound):
        point.threads, point.parameters["layout"] = 1, "1+0"
    line = told(card_of(TWO, [local, *bound]), "one core")
    assert " GB/s, 0.5x from node 1 (sum)" in line.text
    assert line.numbers["remote"] == pytest.approx(line.numbers["bandwidth"] / 2, rel=0.05)


def test_core_to_core_goes_from_near_to_far(four: Card) -> None:
    text = told(four, "core to core").text
    near, node, far = (text.index(w) for w in ("same L3", "same node", "other package"))
    assert near < node < far


def test_false_sharing_and_the_padding(four: Card) -> None:
    line = told(four, "false sharing")
    assert line.text.startswith("16 threads on one line: fetch-add ")
    assert " times slower" in line.text and line.numbers["ratio"] > 2
    assert told(four, "padding").text == "64 B (found 48..64 B) between threads' data; line 64 B"


def test_padding_that_may_be_more_says_what_to_run() -> None:
    points = [p for p in sharing_points(TWO) if p.variant == "distance"]
    for p in points:
        p.noise = 0.2
    line = told(card_of(TWO, points), "padding")
    assert line.text == (
        "64 B or more (found 48..64 B) between threads' data; line 64 B; to be sure: locus sharing"
        " --variant distance --time-budget 5min"
    )
    assert line.sure == ROUGH


def test_padding_that_is_not_measured_says_what_is_safe() -> None:
    points = [p for p in sharing_points(TWO) if p.variant != "distance"]
    line = told(card_of(TWO, points), "padding")
    assert line.sure == UNTOLD
    assert "locus sharing --variant distance" in line.text and "until then 64 B apart" in line.text
    host = said_of(TWO)
    for cache in some(host["topology"]["caches"]):
        cache["line"] = None
    blind = told(card_of(TWO, points, host), "padding")
    assert blind.text.endswith("until then 128 B apart")


def test_first_touch_is_the_worst_of_all_settings(four: Card) -> None:
    line = told(four, "first touch")
    assert line.text.startswith("by one thread: ") and ", interleaved: " in line.text
    assert line.numbers["single"] > line.numbers["interleave"] > 1


def test_workloads_need_no_word_here() -> None:
    """Even an unknown benchmark has its line."""
    points = [
        Point("newcomer", "padded", {}, 8, 1e-6),
        Point("newcomer", "dense", {}, 8, 3e-6, ratios=[("variant", "dense", "padded", 1e-6)]),
    ]
    points[1].other = points[0].id
    made = card_of(TWO, points)
    assert told(made, "newcomer").sentence == "what differs: 3.03 times slower, 8 threads"
    assert told(made, "newcomer").sure == CERTAIN and told(made, "newcomer").block == "work"


def test_of_a_workload_the_most_threads_count() -> None:
    points = [
        Point("newcomer", "a", {}, threads, 1e-6 * f, ratios=[("variant", "a", "b", 1e-6)])
        for threads, f in ((1, 9), (4, 2))
    ]
    assert told(card_of(TWO, points), "newcomer").numbers["most"] == pytest.approx(2, rel=0.05)


@pytest.mark.parametrize(
    "status, width, word",
    [
        ("ok", 0.006, CERTAIN),
        ("unconverged", 1, ROUGH),
        ("bimodal", 0.006, ROUGH),
        ("noisy", 0.006, UNTOLD),
    ],
)
def test_confidence_in_a_word(status: str, width: float, word: str) -> None:
    (point,) = [p for p in numa(ONE, kernels=("sum",)) if p.variant == "static"][:1]
    point.status, point.noise = status, width
    point.reasons = [] if status == "ok" else ["other work"]
    line = told(card_of(ONE, [point]), "all cores")
    assert line.sure == word
    if word == UNTOLD:  # a noisy trial's value is never shown
        assert line.text == (
            "disturbed by other work: with nothing else running: locus numa --variant static"
            " --threads 2 --time-budget 5min"
        )
        assert not line.numbers


def ratio_of(low: float, high: float, status: str = "ok") -> content.Line:
    """The line of a workload whose ratio has this interval, from two trials with this status."""
    reasons = [] if status == "ok" else ["other work"]
    points = [
        Point("newcomer", "padded", {}, 8, 1e-6, status=status, reasons=reasons),
        Point(
            "newcomer", "dense", {}, 8, 2e-6, status=status, reasons=reasons,
            ratios=[("variant", "dense", "padded", 1e-6)],
        ),
    ]  # fmt: skip
    points[1].other = points[0].id
    lines = record(TWO, points, RUN)
    for line in lines:
        for ratio in line.get("ratios") or []:
            ratio.update(value=(low + high) / 2, ci=[low, high])
    (made,) = cards(*lines)
    return told(made, "newcomer")


def test_of_noisy_trials_only_the_side_of_a_ratio_is_told() -> None:
    slower, faster = ratio_of(2.9, 3.1, "noisy"), ratio_of(0.2, 0.4, "noisy")
    assert slower.sentence == "what differs: slower, 8 threads" and slower.sure == NOISY
    assert faster.sentence == "what differs: faster, 8 threads" and faster.sure == NOISY
    assert not slower.numbers


@pytest.mark.parametrize("status", ["ok", "noisy"])
def test_what_is_close_to_1_is_no_difference(status: str) -> None:
    line = ratio_of(0.97, 1.02, status)
    assert line.sentence == "what differs: no difference, 8 threads"
    assert line.sure == (CERTAIN if status == "ok" else NOISY)


def test_a_ratio_that_may_be_on_either_side_of_1_is_open() -> None:
    line = ratio_of(0.8, 1.2)
    assert line.sure == UNTOLD
    said = "what differs: open{}; {}: locus newcomer{}"
    assert line.text == said.format(" (25 % faster to 20 % slower)", "longer", "")
    assert ratio_of(0.8, 1.2, "noisy").text == said.format(
        "", "with nothing else running", " --time-budget 5min"
    )


def known(low: float, high: float, status: str = "ok", *modes: float) -> Any:
    value = (low + high) / 2
    return {"value": value, "low": low, "high": high, "status": status, "modes": modes}


def test_settings_are_told_by_the_side_on_which_they_are() -> None:
    near = known(1.99, 2.01)
    assert content.compared([near, known(2.9, 3.1)]) == ("2 to 3x", CERTAIN)
    assert content.compared([near, known(2, 4)]) == ("2 to 3x", ROUGH)
    assert content.compared([near, known(5, 6, "noisy")]) == ("2x", NOISY)
    assert content.compared([near, known(0.99, 1.01), known(0.7, 1.3)]) == (
        "2x in 1 of 3, no difference in 1 of 3, open (0.7 to 1.3x) in 1 of 3",
        ROUGH,
    )
    assert content.compared([known(1.9, 2.1, "bimodal", 1.5, 2.0)]) == ("1.5 to 2.1x", ROUGH)


def test_the_wider_half_of_an_interval_counts() -> None:
    for low, high, sure in ((96, 105, CERTAIN), (99, 106, ROUGH), (94, 101, ROUGH)):
        value: Any = {**known(low, high), "value": 100}
        assert content.sure(value) == sure


def test_a_ratio_close_to_1_keeps_its_digits() -> None:
    assert content.compared([known(1.001, 1.059), known(1.02, 1.08)])[0] == "1.03 to 1.05x"
    assert content.compared([known(1.001, 1.059), known(1.02, 1.58)])[0] == "1.03 to 1.3x"
    near: Any = {**known(1.0001, 1.06), "value": 1.003}
    assert content.compared([near]) == ("1.003x", ROUGH)
    assert content.times(1.43) == "1.43x" and content.times(1.1, 1.4) == "1.1 to 1.4x"


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (1.59, 1.61, "1.6x local"),
        (0.96, 0.98, "no difference from local"),
        (0.9, 1.1, "0.9 to 1.1x local"),
    ],
)
def test_another_node_is_told_beside_the_local_one(low: float, high: float, words: str) -> None:
    assert node_lines.against(known(low, high), "local")[0] == words


@pytest.mark.parametrize("noisy", [16 << 10, 32 << 10])
def test_the_time_of_a_noisy_plateau_is_not_told(noisy: int) -> None:
    points = [p for p in latency(FOUR) if p.variant == "cycle"]
    for p in points:
        if 8 << 10 < p.parameters["size"] <= noisy:
            p.status, p.reasons, p.seconds = "noisy", ["other work"], 1.02 * p.seconds
        elif noisy == 32 << 10 and p.parameters["size"] <= noisy:
            p.status, p.reasons = "noisy", ["other work"]
    line = told(card_of(FOUR, points), "L1")
    assert "32 KiB" in line.text
    if noisy == 16 << 10:  # the minority
        assert line.numbers["time"] == pytest.approx(2.2e-9, rel=0.01)
    else:
        assert line.text.endswith("; its time is disturbed by other work")
        assert line.sure == NOISY and " ns" not in line.text and set(line.numbers) == {"size"}


def test_of_noisy_memory_nothing_is_told() -> None:
    points = [p for p in latency(FOUR) if p.variant == "cycle"]
    for p in points:
        p.status, p.reasons = "noisy", ["other work"]
    line = told(card_of(FOUR, points), "memory")
    assert line.sure == UNTOLD and not line.numbers
    assert line.text.startswith("disturbed by other work: with nothing else running: locus latency")


# What disturbs measuring.


def spoiled(**machine: Any) -> list[str]:
    line: Any = header(TWO, RUN, random.Random(1))
    line["machine"].update(machine)
    return [f"{s.what}: {s.remedy}" for s in problems.spoilers(line, [])]


def test_what_spoils_has_its_remedy() -> None:
    frequency = {"governor": "ondemand", "turbo": True, "boost_source": "/sys/x/no_turbo"}
    found = spoiled(frequency=frequency, memory={"thp": {"enabled": "never"}})
    assert found == [
        "governor is ondemand: sudo cpupower frequency-set --governor performance",
        "turbo: the clock depends on heat: echo 1 | sudo tee /sys/x/no_turbo",
        "NUMA balancing moves pages: sudo sysctl kernel.numa_balancing=0",
        "transparent huge pages: never: echo madvise | sudo tee"
        " /sys/kernel/mm/transparent_hugepage/enabled",
    ]


def test_a_quiet_machine_has_nothing_that_spoils() -> None:
    frequency = {"governor": "performance", "turbo": False, "boost_source": None}
    assert not spoiled(frequency=frequency, numa_balancing=0)


def test_cores_that_others_share_spoil() -> None:
    line: Any = header(TWO, RUN, random.Random(1))
    quiet: Any = [{"status": "ok", "crowded": share} for share in (0.0, 0.05, 0.9, None, None)]
    crowded: Any = [{"status": "ok", "crowded": share} for share in (0.3, 0.5, 0.9, 0.0, None)]
    assert not [s for s in problems.spoilers(line, quiet) if "cores are shared" in s.what]
    (said,) = [s.what for s in problems.spoilers(line, crowded) if "cores are shared" in s.what]
    assert "in 40 % of samples" in said


def test_what_is_more_than_fits_is_counted() -> None:
    line = said_of(TWO)
    line["frequency"].update(governor="powersave", turbo=True)
    line["cgroup"]["cpu_quota"] = 1.5
    line["topology"]["allowed"] = "0-3"
    line["memory"]["thp"]["enabled"] = "never"
    made = card_of(TWO, [], line)
    assert [s.what for s in made.spoilers][-1] == "3 more" and len(made.spoilers) == 4
    assert made.spoilers[-1].remedy == "locus doctor"
    screen(made)


# The page.


def test_a_page_begins_with_the_card(tmp_path: Path) -> None:
    points = [p for p in numa(ONE, kernels=("sum",)) if p.parameters["pages"] == "base"]
    page = make(tmp_path, record(ONE, points, RUN, host="<b>evil</b>"))
    text = page.text
    assert text.index("compare ratios, not times") < text.index("Runs")
    assert "B/s on 2 threads (sum)" in text and "one NUMA node: cannot matter" in text
    assert "<b>evil</b>" in text and "Missing: caches, cores, core to core" in text
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '<details class="card" open>' in html


def test_of_several_hosts_cards_are_folded(tmp_path: Path) -> None:
    runs = [record(m, numa(m, kernels=("sum",))[:1], run_id(m.host)) for m in (ONE, TWO)]
    make(tmp_path, *runs)
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert html.count('<details class="card">') == 2


# The command.


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = program.main(["summary", *map(str, arguments)])
    out, err = capsys.readouterr()
    return status, out, err


def test_of_many_hosts_the_first_have_cards(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for i in range(5):
        machine = Machine(f"n{i:03}", "a CPU", cpu_nodes=1)
        write(tmp_path / f"{i}.jsonl", record(machine, [], run_id(str(i))))
    status, out, err = run(capsys, tmp_path)
    assert (status, err) == (GOOD, "") and out.count("\nresults") == summary.MOST
    assert out.splitlines()[-1].startswith("2 more hosts: locus summary FILE") and "n004" not in out


def test_what_is_no_record_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("no JSON\n")
    status, out, err = run(capsys, tmp_path / "a.jsonl")
    assert (status, out) == (BAD_INPUT, "") and "a.jsonl:1" in err


def test_a_bad_line_costs_that_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lines = [json.dumps(line) for line in as_written(record(ONE, numa(ONE)[:4], RUN))]
    lines.insert(2, "{")
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    status, out, err = run(capsys, tmp_path)
    assert status == GOOD and "a.jsonl:3" in err and "bandwidth" in out
