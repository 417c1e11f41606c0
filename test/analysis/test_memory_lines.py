# SPDX-License-Identifier: Apache-2.0
"""Lines of the card about caches, TLB and memory: what they tell, and how far they trust it."""

from __future__ import annotations

import math

import pytest
from locus_analysis.card import content
from locus_analysis.card.content import CERTAIN, ROUGH
from make_records import TWO, Point, latency
from test_summary import card_of, said_of, told

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
