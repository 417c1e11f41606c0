# SPDX-License-Identifier: Apache-2.0
"""The rule for conclusions: a sign or a class holds if every bound and every mode lies on its side,
whatever the status; a noisy trial's value is not shown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import inf
from typing import Any, Optional

import pytest
from locus_analysis.card import summary
from locus_analysis.insight import evidence
from locus_analysis.insight.evidence import ABOVE, BELOW, OPEN, SAME
from locus_analysis.page import ratio_pictures, sections
from locus_analysis.records import database, description
from locus_analysis.records.rows import Judged
from make_records import (
    ONE,
    TWO,
    Line,
    Point,
    core_to_core,
    latency,
    numa,
    of_lines,
    record,
    run_id,
)
from some import some

RUN = run_id("evidence")


def known(
    value: float,
    low: Optional[float],
    high: Optional[float],
    status: str = "ok",
    flag: Optional[int] = None,
    modes: Sequence[float] = (),
) -> Judged:
    return {
        "value": value,
        "low": low,
        "high": high,
        "modes": [*modes],
        "status": status,
        "flag": flag,
        "reasons": [],
    }


@pytest.mark.parametrize("status", ["ok", "unconverged", "bimodal", "noisy"])
def test_bounds_decide_whatever_the_status(status: str) -> None:
    wide = known(3.24, 2.98, 3.5, status=status)  # sharing at 3.24 ±8 %
    assert evidence.holds(wide, 1, inf) is True
    assert evidence.holds(wide, 0, 1) is False
    assert evidence.holds(wide, 3, inf) is None


def test_every_mode_has_to_agree() -> None:
    assert evidence.holds(known(10.6, 8.65, 16.8, modes=[4.0, 10.7]), 1.05, inf) is True
    assert evidence.holds(known(10.6, 8.65, 16.8, modes=[1.0, 10.7]), 1.05, inf) is None
    assert evidence.holds(known(0.9, 0.8, 0.95, modes=[0.7, 0.99]), 1, inf) is False


def test_nothing_is_concluded_without_an_interval_or_from_another_trials_value() -> None:
    assert evidence.holds(known(10, None, None), 1, inf) is None
    for status in some(database.UNUSABLE):
        assert evidence.holds(known(10, 9, 11, status=status), 1, inf) is None


@pytest.mark.parametrize(
    ("ends", "side"),
    [
        ((1.2, 1.4), ABOVE),
        ((1.01, 1.2), ABOVE),
        ((0.3, 0.97), BELOW),
        ((0.96, 1.04), SAME),
        ((1.01, 1.04), SAME),  # too little to matter
        ((0.9, 1.01), OPEN),
        ((1.0, 1.08), OPEN),  # 1 is on neither side
        ((0.2, 1.0), OPEN),
        ((0.5, 24), OPEN),
        ((None, None), OPEN),
    ],
)
def test_on_which_side_of_1_a_ratio_is(ends: tuple[Any, Any], side: str) -> None:
    assert evidence.side(known(1, *ends)) == side
    assert evidence.side(known(1, *ends, status="noisy")) == side


def test_how_a_value_is_told() -> None:
    assert evidence.told(known(3.24, 2.98, 3.5)) == "3.2 (3.0 to 3.5)"
    assert evidence.told(known(3.24, 3.22, 3.26)) == "3.24 (3.22 to 3.26)"
    assert evidence.told(known(3.24, None, None, status="unconverged")) == "3.24"
    two = known(3.24, 2.98, 3.5, status="bimodal", modes=[2.0, 3.3])
    assert evidence.told(two) == "2.00 to 3.50, in two modes"
    assert evidence.told(known(65.3, 60, 70, status="noisy", flag=7)) == ""
    assert evidence.told(known(65.3, 60, 70, flag=7, status="unconverged")) == ("65 (60 to 70)")


def test_a_product_has_the_modes_of_its_factors() -> None:
    one = known(2, 1.9, 2.1, modes=[1.5, 2.0], status="bimodal")
    other = known(4, 3.9, 4.1)
    found = evidence.product([(one, False), (other, True)])
    assert found["modes"] == pytest.approx([0.375, 0.5]) and found["status"] == "bimodal"
    assert (found["low"], found["high"]) == pytest.approx((1.9 / 4.1, 2.1 / 3.9))
    assert evidence.product([(other, False), (other, True)])["modes"] == []


def test_several_values_are_one_by_their_medians() -> None:
    near = known(100, 98, 102)
    found = evidence.middle([near, known(101, 99, 104), known(200, 60, 900, status="unconverged")])
    assert (found["value"], found["low"], found["high"]) == (101, 98, 104)
    assert found["status"] == "unconverged"
    wide = known(100, 60, 140, status="unconverged")
    assert evidence.reach(evidence.middle([wide, wide, near])) == (60, 140)
    assert evidence.reach(evidence.middle([near, known(100, None, None)])) is None


@pytest.mark.parametrize(("noisy", "status"), [(1, "ok"), (2, "noisy"), (3, "noisy")])
def test_several_values_are_noisy_where_half_of_them_are(noisy: int, status: str) -> None:
    bad = known(900, 800, 1000, status="noisy")
    found = evidence.middle([bad] * noisy + [known(100, 98, 102)] * (4 - noisy))
    assert found["status"] == status and (status == "noisy" or found["value"] == 100)


@pytest.mark.parametrize(("two", "modes"), [(1, []), (2, [60, 140])])
def test_several_values_have_two_modes_where_half_of_them_do(two: int, modes: list[float]) -> None:
    both = known(100, 98, 102, status="bimodal", modes=[140, 60])
    found = evidence.middle([both] * two + [known(100, 98, 102)] * (4 - two))
    assert found["modes"] == modes and found["status"] == ("bimodal" if modes else "ok")
    assert evidence.reach(found) == ((60, 140) if modes else (98, 102))


# From records.


def bimodal(lines: list[Line], variant: str) -> list[Line]:
    """Makes trials of a variant take half of their time now and then."""
    for line in lines:
        if line["type"] == "trial" and line["variant"] == variant:
            time = next(m["value"] for m in line["metrics"] if m["name"] == "time")
            line["samples"]["modes"] = [
                {"time": time * 0.5, "share": 0.3},
                {"time": time, "share": 0.7},
            ]
    return lines


def measured(*points: Point) -> dict[str, Line]:
    db = database.tables(of_lines(bimodal(record(TWO, list(points), RUN), "dense")))
    return {t["variant"]: {**t} for t in database.measured(db, "newcomer")}


def values(metric: Line) -> list[float]:
    return [mode["value"] for mode in metric["modes"] or []]


def test_modes_of_the_time_are_modes_of_rates_and_of_ratios() -> None:
    padded = Point("newcomer", "padded", {}, 8, 1e-6, amount=("throughput", "op/s", 8.0))
    dense = Point(
        "newcomer", "dense", {}, 8, 3e-6, amount=("throughput", "op/s", 8.0), status="bimodal",
        ratios=[("variant", "dense", "padded", 1e-6)], other=padded.id, reasons=["two modes"],
    )  # fmt: skip
    found = measured(padded, dense)
    own, (ratio,) = found["dense"]["metrics"], found["dense"]["ratios"]
    assert values(own["time"]) == pytest.approx([1.5e-6, 3e-6], rel=0.05)
    assert values(own["throughput"]) == pytest.approx([16e6 / 3, 8e6 / 3], rel=0.05)
    assert ratio["modes"] == pytest.approx([1.5, 3], rel=0.05)
    assert ratio["status"] == "bimodal"
    assert not values(found["padded"]["metrics"]["time"])


def test_a_ratio_has_the_graver_status() -> None:
    padded = Point("newcomer", "padded", {}, 8, 1e-6, status="noisy", reasons=["noise"])
    dense = Point(
        "newcomer", "other", {}, 8, 3e-6, ratios=[("variant", "other", "padded", 1e-6)],
        other=padded.id,
    )  # fmt: skip
    (ratio,) = measured(padded, dense)["other"]["ratios"]
    assert ratio["status"] == "noisy" and ratio["flag"] and ratio["modes"] == []


def test_two_modes_of_a_placement_are_a_range_on_the_card() -> None:
    lines = bimodal(record(TWO, numa(TWO), RUN), "single")
    (made,) = summary.cards(database.tables(of_lines(lines)))
    (line,) = (line for line in made.lines if line.name == "first touch")
    assert line.text.startswith("by one thread: 1.3 to 2.6 times slower,")


# Sentences.


def barriers(status: str = "ok", width: float = 0.006, slow: float = 65e-8) -> str:
    """The sentence on barriers, a benchmark without ratios or a lesson's claims."""
    points = [
        Point("barriers", variant, {}, 2, seconds, unit="barrier", status=status, noise=width,
              reasons=[status] * (status != "ok"))
        for variant, seconds in (("tree", 1.1e-8), ("pthread", slow), ("central", 1e-8))
    ]  # fmt: skip
    db = database.tables(of_lines(record(TWO, points, RUN)), page=True)
    (said,) = sections.section(db, "barriers", {RUN: "here"})["results"]
    return str(said)


def test_the_two_furthest_apart_are_named_with_the_factor() -> None:
    assert re.fullmatch(
        r"central beats pthread by a factor of 65\.\d \(6\d\.\d to 6\d\.\d\): time 65\d ns/barrier"
        r" against 10\.\d+ ns/barrier\.",
        barriers(),
    )


def test_of_noisy_trials_the_factor_is_not_named() -> None:
    said = barriers("noisy")
    assert said == "central beats pthread in time; noise hides by how much."


def test_what_the_intervals_leave_open_is_not_named() -> None:
    assert barriers(width=1.0, slow=1.2e-8) == "No two of tree, pthread, central are surely apart."


@pytest.mark.parametrize(
    ("status", "said"), [("ok", "3.0"), ("noisy", "above 1 (noise hides by how much).")]
)
def test_the_ratio_furthest_from_1_is_told_as_far_as_it_may_be(status: str, said: str) -> None:
    padded = Point("newcomer", "padded", {}, 8, 1e-6, status=status, reasons=["noise"])
    dense = Point(
        "newcomer", "dense", {}, 8, 3e-6, ratios=[("variant", "dense", "padded", 1e-6)],
        other=padded.id,
    )  # fmt: skip
    db = database.tables(of_lines(record(TWO, [padded, dense], RUN)))
    told = ratio_pictures.result(description.of(db, "newcomer"), database.measured(db, "newcomer"))
    assert told and told.startswith(f"slowdown by what differs: dense/padded {said}"), told


def sentence(*points: Point) -> str:
    db = database.tables(of_lines(record(ONE, list(points), RUN)), page=True)
    (said, *_) = sections.section(db, points[0].benchmark, {RUN: "here"})["results"]
    return str(said)


def test_a_guest_tells_what_its_cpus_share() -> None:
    (point, *_) = core_to_core(ONE)
    said = sentence(point)
    assert re.match(r"To hand over .* takes \d\S+ ns \(median\) between CPUs that share", said)
    assert ", as the guest is told (" in said
    point.status, point.reasons = "noisy", ["noise"]
    assert sentence(point).startswith("The time to hand over a cache line is not given: ")


def test_loads_are_told_with_their_cycles() -> None:
    said = sentence(*(p for p in latency(ONE) if p.variant == "cycle"))
    assert re.match(r"A load takes \S+ ns \(\S+ cycles\) in L1, \S+ ns \(\S+ cycles\) in L2", said)
