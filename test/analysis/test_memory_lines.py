# SPDX-License-Identifier: Apache-2.0
"""Lines of the card about caches, TLB and memory: what they tell, and how far they trust it."""

from __future__ import annotations

import math

import pytest
from locus_analysis.card import content
from locus_analysis.card.content import CERTAIN, NOISY, ROUGH, UNTOLD
from make_records import FOUR, TWO, Machine, Point, latency, numa, record
from test_summary import RUN, card_of, cards, said_of, told

KIB, MIB = 1 << 10, 1 << 20


def cycle() -> list[Point]:
    return [p for p in latency(TWO) if p.variant == "cycle" and p.parameters["pages"] == "thp"]


def reported(points: list[Point], level: int, size: int) -> content.Line:
    """The line of a cache of which this size is reported."""
    host = said_of(TWO)
    for cache in host["topology"]["caches"]:
        cache["size"] = size if cache["level"] == level else cache["size"]
    return told(card_of(TWO, points, host), f"L{level}")


@pytest.mark.parametrize(
    ("size", "end", "remark", "word"),
    [
        (36 * KIB, "36 KiB", "(found 32..38 KiB)", CERTAIN),
        (40 * KIB, "32..38 KiB", "40 KiB reported", ROUGH),  # within a tenth of the bracket
        (64 * KIB, "32..38 KiB", "64 KiB reported", ROUGH),
    ],
)
def test_a_level_is_certain_where_its_bracket_contains_what_is_reported(
    size: int, end: str, remark: str, word: str
) -> None:
    line = reported(cycle(), 1, size)
    assert line.text.strip().startswith(f"{end} ") and line.text.endswith(remark)
    assert line.sure == word


def test_what_lies_within_a_long_rise_is_told_as_within() -> None:
    points = cycle()
    for p in points:
        octaves = math.log2(p.parameters["size"] / MIB)
        if 0 < octaves < 3:
            p.seconds = 4e-9 * (15 / 4) ** (octaves / 3)
    line = reported(points, 2, 2 * MIB)
    assert line.text.strip().startswith("2 MiB ")
    assert line.text.endswith("(found 861 KiB..9.51 MiB)")
    assert line.sure == ROUGH


@pytest.mark.parametrize("name", ["L1", "memory"])
def test_a_level_is_certain_only_where_its_time_is(name: str) -> None:
    """However narrow its bracket is."""
    line = told(card_of(TWO, cycle()), name)
    assert line.sure == CERTAIN
    points = cycle()
    for p in points:
        p.status, p.reasons, p.noise = "unconverged", ["the interval is wide"], 0.4
    lines = record(TWO, points, RUN)
    for of in lines:
        for metric in of.get("metrics") or []:
            if metric["name"] == "time":
                exact = next(p.seconds for p in points if p.id == of["id"])
                metric.update(value=exact, ci=[0.6 * exact, 1.4 * exact])
    (made,) = cards(*lines)
    assert told(made, name).sure == ROUGH
    assert told(made, name).text.split("  ")[0] == line.text.split("  ")[0]


def test_a_level_in_two_modes_has_no_single_time() -> None:
    points = cycle()
    lines = record(TWO, points, RUN)
    for of in lines:
        if of["type"] == "trial":
            time = next(p.seconds for p in points if p.id == of["id"])
            of["status"], of["reasons"] = "bimodal", ["two modes"]
            of["samples"]["modes"] = [
                {"time": time * factor, "share": 0.5} for factor in (0.75, 1.25)
            ]
    (made,) = cards(*lines)
    line = told(made, "memory")
    assert "61.5 or 102 ns  " in line.text and " cycles" in line.text
    assert line.sure == ROUGH and "time" not in line.numbers
    assert "1.65 or 2.75 ns" in told(made, "L1").text and told(made, "L1").numbers.keys() == {
        "size"
    }


def test_a_noisy_tlb_is_told_without_its_time() -> None:
    """As a cache is."""
    points = [p for p in latency(TWO) if p.variant in ("cycle", "page-random")]
    for p in points:
        if p.variant == "page-random" and 64 * KIB < p.parameters["size"] < 200 * KIB:
            p.status, p.reasons = "noisy", ["other work"]
    noisy = told(card_of(TWO, points), "TLB")
    assert noisy.text.startswith("L1 64 pages (found 64..76)") and " ns" in noisy.text
    assert " ns" not in noisy.text.partition(" · ")[0] and noisy.sure == NOISY


def wide(points: list[Point], *names: str) -> content.Card:
    """The card of points of these variants whose intervals reach far, and are not converged."""
    for p in points:
        if p.variant in names:
            p.status, p.reasons = "unconverged", ["the interval is wide"]
    lines = record(TWO, points, RUN)
    for of in (line for line in lines if line.get("variant") in names):
        for metric in (m for m in of.get("metrics") or [] if m["name"] == "time"):
            exact = next(p.seconds for p in points if p.id == of["id"])
            metric.update(value=exact, ci=[0.9 * exact, 1.1 * exact])
    (made,) = cards(*lines)
    return made


LONGER = "--size 4K..256M*1.2 --time-budget 5min"


def test_a_time_that_alone_is_rough_has_its_advice() -> None:
    made = wide(cycle(), "cycle")
    (line,) = [line for line in made.lines if line.text.startswith("for the time")]
    assert told(made, "L1").sure == ROUGH
    assert line.text == (
        f"for the times of L1, L2, L3, memory: locus latency --variant cycle --pages thp {LONGER}"
    )
    assert not [x for x in wide(cycle(), "none").lines if x.text.startswith("for the time")]


@pytest.mark.parametrize("name", ["", "memory"])
def test_a_time_that_noise_disturbed_has_its_advice(name: str) -> None:
    """Once, for all levels."""
    points = cycle()
    for p in points:
        size = p.parameters["size"]
        if 4 * KIB < size < 28 * KIB or (name == "memory" and size > 32 * MIB):
            p.status, p.reasons = "noisy", ["other work"]
    made = card_of(TWO, points)
    (line,) = [line for line in made.lines if "with nothing else running" in line.text]
    assert line.text.endswith(LONGER) and line.name == name


def test_a_tlb_whose_time_alone_is_rough_has_its_advice() -> None:
    points = [p for p in latency(TWO) if p.variant in ("cycle", "page-random")]
    line = told(wide(points, "page-random"), "TLB")
    assert line.sure == ROUGH
    assert line.text.endswith(
        "; for the times of L1 and L2: locus latency --variant page-random --pages base,thp"
        " --size 64K..64M*1.2 --time-budget 5min"
    )


def huge_pages(low: float, high: float, status: str) -> content.Line:
    """The line on huge pages where loads on base pages take so many times as long."""
    points = [p for p in latency(TWO) if p.variant == "cycle"]
    base, huge = (
        max((p for p in points if p.parameters["pages"] == pages), key=by_size)
        for pages in ("base", "thp")
    )
    base.ratios, base.other = [("pages", "base", "thp", huge.seconds)], huge.id
    base.status, base.reasons = status, ["other work"] if status == "noisy" else []
    lines = record(TWO, points, RUN)
    for line in lines:
        for ratio in line.get("ratios") or []:
            ratio.update(value=(low + high) / 2, ci=[low, high])
    (made,) = cards(*lines)
    return told(made, "huge pages")


def by_size(point: Point) -> int:
    return int(point.parameters["size"])


@pytest.mark.parametrize(
    ("low", "high", "status", "said", "word"),
    [
        (1.025, 1.035, "ok", "no difference", CERTAIN),
        (1.025, 1.035, "noisy", "no difference", NOISY),
        (0.99, 1.01, "ok", "no difference", CERTAIN),
        (0.99, 1.01, "noisy", "no difference", NOISY),
        (1.19, 1.21, "ok", "loads 20 % faster", CERTAIN),
        (1.1, 1.3, "noisy", "loads faster", NOISY),
        (0.9, 1.3, "noisy", "open", UNTOLD),
    ],
)
def test_huge_pages_are_judged_as_every_ratio(
    low: float, high: float, status: str, said: str, word: str
) -> None:
    line = huge_pages(low, high, status)
    assert line.text.startswith(f"{said} at 256 MiB (thp against base pages)")
    assert line.sure == word


# Memory of nodes.


def nodes(
    benchmark: str, status: str, local: bool, width: float = 0.01, modes: tuple[float, ...] = ()
) -> content.Line:
    """The line on remote memory, where cells that are local, or those that are not, have this
    status, and an interval and modes of so many times their values."""
    made = latency(TWO) if benchmark == "latency" else numa(TWO, kernels=("sum",))
    points = [p for p in made if benchmark == "numa" or p.variant in ("matrix", "cycle")]
    points = [p for p in points if p.variant != "cycle" or p.parameters["pages"] == "thp"]
    lines = record(TWO, points, RUN)
    for of in (line for line in lines if line.get("variant") == "matrix"):
        threads = [count != "0" for count in of["parameters"]["from"].split("+")].index(True)
        if (threads == int(of["parameters"]["to"])) != local:
            continue
        of["status"], of["reasons"] = status, [] if status == "ok" else ["so it is"]
        for metric in (m for m in of["metrics"] if m["value"]):
            metric["ci"] = [metric["value"] * (1 - width), metric["value"] * (1 + width)]
        time = next(m["value"] for m in of["metrics"] if m["name"] == "time")
        of["samples"]["modes"] = [{"time": time * m, "share": 1 / len(modes)} for m in modes]
    (card,) = cards(*lines)
    return told(card, "remote memory" if benchmark == "latency" else "other nodes")


@pytest.mark.parametrize(
    ("status", "local", "width", "modes", "said", "word"),
    [
        ("ok", True, 0.01, (), "ns 1.65x local", CERTAIN),
        ("noisy", True, 0.2, (), "ns >1x local", NOISY),
        ("noisy", True, 0.9, (), "ns open against local", NOISY),
        ("unconverged", True, 0.7, (), "ns 0.97 to 5.5x local", ROUGH),
        ("bimodal", True, 0.01, (0.5, 2), "ns 0.82 to 3.3x local", ROUGH),
        ("bimodal", False, 0.01, (0.5, 1.5), "68.2 or 205 ns 0.83 to 2.5x local", ROUGH),
        ("unconverged", False, 0.3, (), "ns 1.7x local", ROUGH),
    ],
)
def test_remote_memory_is_compared_with_all_that_local_memory_may_be(
    status: str, local: bool, width: float, modes: tuple[float, ...], said: str, word: str
) -> None:
    line = nodes("latency", status, local, width, modes)
    assert said in " ".join(line.text.split()) and line.sure == word
    assert ("local" in line.numbers) == (not local or status in ("ok", "unconverged"))
    assert ("remote" in line.numbers) == (local or not modes)


@pytest.mark.parametrize(
    ("status", "local", "width", "modes", "said", "word"),
    [
        ("ok", True, 0.01, (), "GB/s, 0.55x the node's own", CERTAIN),
        ("noisy", True, 0.2, (), "GB/s, <1x the node's own", NOISY),
        ("bimodal", False, 0.01, (0.4, 1), "49.1 or 123 GB/s, 0.54 to 1.4x the node's own", ROUGH),
    ],
)
def test_so_is_bandwidth_of_other_nodes(
    status: str, local: bool, width: float, modes: tuple[float, ...], said: str, word: str
) -> None:
    line = nodes("numa", status, local, width, modes)
    assert said in line.text and line.sure == word


def of_noisy(machine: Machine, benchmark: str, *noisy: tuple[int, int], width: float) -> str:
    """The line where these cells are noisy, of the nodes of threads and of memory: the word, and
    the text."""
    made = numa(machine, kernels=("sum",)) if benchmark == "numa" else latency(machine, 1)
    points = [p for p in made if benchmark == "numa" or p.variant in ("matrix", "cycle")]
    lines = record(machine, points, RUN)
    for of in (line for line in lines if line.get("variant") == "matrix"):
        threads = [count != "0" for count in of["parameters"]["from"].split("+")].index(True)
        if (threads, int(of["parameters"]["to"])) in noisy:
            of["status"], of["reasons"] = "noisy", ["other work"]
            for metric in (m for m in of["metrics"] if m["value"]):
                metric["ci"] = [metric["value"] * (1 - width), metric["value"] * (1 + width)]
    (card,) = cards(*lines)
    line = told(card, "remote memory" if benchmark == "latency" else "other nodes")
    return f"{line.sure}: {' '.join(line.text.split())}"


QUIETER = "with nothing else running: locus latency --variant matrix --time-budget 5min"


def test_of_remote_cells_those_are_told_that_are_not_noisy() -> None:
    """The worst of these, and which were left out."""
    far = [(node, 3) for node in range(3)]
    found = of_noisy(FOUR, "latency", far[0], width=0.1)
    assert found.startswith(ROUGH) and " 2.6x local " in found
    assert found.endswith(f", worst of 8, 0 -> 3 noisy; {QUIETER}")
    found = of_noisy(FOUR, "latency", *far, width=0.1)
    assert " 1.65x local " in found
    assert found.endswith(f", worst of 6, 0 -> 3, 1 -> 3, 2 -> 3 noisy; {QUIETER}")


@pytest.mark.parametrize(
    ("benchmark", "width", "said"),
    [
        ("latency", 0.1, f"noisy: – >1x local 0 -> 1, 1 -> 0 noisy; {QUIETER}"),
        ("latency", 0.5, "cannot tell: disturbed by other work: with nothing else running: locus "),
        ("numa", 0.1, "noisy: <1x the node's own (0 -> 1, 1 -> 0 noisy); with nothing else run"),
        ("numa", 0.9, "cannot tell: disturbed by other work: with nothing else running: locus "),
    ],
)
def test_of_noisy_cells_alone_the_side_is_told(benchmark: str, width: float, said: str) -> None:
    assert of_noisy(TWO, benchmark, (0, 1), (1, 0), width=width).startswith(said)


def test_bandwidth_of_other_nodes_leaves_out_noisy_cells() -> None:
    found = of_noisy(TWO, "numa", (0, 1), width=0.1)
    assert found.startswith(ROUGH) and ", 0.55x the node's own (1 -> 0, worst of 1" not in found
    assert "0.55x the node's own (1 -> 0, 0 -> 1 noisy); with nothing else" in found
