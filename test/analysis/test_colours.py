# SPDX-License-Identifier: Apache-2.0
"""The two sets of colours: text stands out from the background, and lines differ for every kind of
colour vision. Contrast is measured by WCAG 2, full deficiencies are simulated by Machado and others
(2009), and differences measured by CIEDE2000."""

from __future__ import annotations

import math
from itertools import combinations

import pytest
from locus_analysis.pictures import colours
from locus_analysis.pictures.colours import ALARM, DARK, GREY, INK, LINES, PAPER, SOFT
from some import some

Triple = tuple[float, float, float]
LIGHT = {**{light: light for light in DARK}, PAPER: "#FFFFFF"}
SETS = pytest.mark.parametrize("shown", [LIGHT, DARK], ids=["light", "dark"])
VISION: dict[str, tuple[Triple, Triple, Triple]] = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
APART = 12  # CIEDE2000; a difference of 1 is barely visible side by side


def linear(colour: str) -> Triple:
    r, g, b = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return _line(r), _line(g), _line(b)


def _line(c: float) -> float:
    return float(c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    less, more = sorted(
        0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in (linear(one), linear(other))
    )
    return (more + 0.05) / (less + 0.05)


def lab(colour: str, vision: str) -> Triple:
    r, g, b = (
        min(1.0, max(0.0, sum(a * c for a, c in zip(row, linear(colour)))))
        for row in VISION[vision]
    )
    x = _root((0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047)
    y = _root(0.2126729 * r + 0.7151522 * g + 0.0721750 * b)
    z = _root((0.0193339 * r + 0.1191920 * g + 0.9503041 * b) / 1.08883)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def _root(t: float) -> float:
    return float(t ** (1 / 3) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116)


def difference(one: Triple, other: Triple) -> float:
    """CIEDE2000."""
    mean = (math.hypot(*one[1:]) + math.hypot(*other[1:])) / 2
    stretch = 1.5 - 0.5 * math.sqrt(mean**7 / (mean**7 + 25**7))
    a, b = one[1] * stretch, other[1] * stretch
    chroma = math.hypot(a, one[2]), math.hypot(b, other[2])
    hue = math.degrees(math.atan2(one[2], a)) % 360, math.degrees(math.atan2(other[2], b)) % 360
    turn = (hue[1] - hue[0] + 180) % 360 - 180 if all(chroma) else 0.0
    level, colour = (one[0] + other[0]) / 2, sum(chroma) / 2
    middle = math.radians(hue[0] + turn / 2 if all(chroma) else sum(hue))
    of_hue = 1 - 0.17 * math.cos(middle - math.radians(30)) + 0.24 * math.cos(2 * middle)
    of_hue += 0.32 * math.cos(3 * middle + math.radians(6))
    of_hue -= 0.2 * math.cos(4 * middle - math.radians(63))
    far = (math.degrees(middle) % 360 - 275) / 25
    rotation = -2 * math.sqrt(colour**7 / (colour**7 + 25**7))
    rotation *= math.sin(math.radians(60 * math.exp(-(far**2))))
    weight = 1 + 0.015 * (level - 50) ** 2 / math.sqrt(20 + (level - 50) ** 2)
    of_level = (other[0] - one[0]) / weight
    of_chroma = (chroma[1] - chroma[0]) / (1 + 0.045 * colour)
    by_hue = 2 * math.sqrt(chroma[0] * chroma[1]) * math.sin(math.radians(turn / 2))
    by_hue /= 1 + 0.015 * colour * of_hue
    return math.sqrt(of_level**2 + of_chroma**2 + by_hue**2 + rotation * of_chroma * by_hue)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, 2.5, 0), (73, 25, -18), 27.1492),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((22.7233, 20.0904, -46.6940), (23.0331, 14.9730, -42.5619), 2.0373),
    ],
)
def test_differences_are_those_of_the_published_pairs(
    one: Triple, other: Triple, expected: float
) -> None:
    """The test data of Sharma, Wu and Dalal (2005)."""
    assert difference(one, other) == pytest.approx(expected, abs=1e-4)


@SETS
def test_text_stands_out_from_the_paper(shown: dict[str, str]) -> None:
    assert all(contrast(shown[ink], shown[PAPER]) >= 4.5 for ink in (INK, SOFT, ALARM))


@SETS
def test_lines_and_marks_stand_out_from_the_paper(shown: dict[str, str]) -> None:
    assert all(contrast(shown[ink], shown[PAPER]) >= 3 for ink in (*LINES, GREY))


def test_text_stands_out_from_the_nodes_of_its_pages() -> None:
    assert all(contrast(colours.ON_LIGHT, node) >= 4.5 for node in some(colours.NODES))


@SETS
@pytest.mark.parametrize("vision", VISION)
def test_lines_differ_with_every_kind_of_colour_vision(vision: str, shown: dict[str, str]) -> None:
    seen = {line: lab(shown[line], vision) for line in LINES}
    apart = {pair: difference(seen[pair[0]], seen[pair[1]]) for pair in combinations(LINES, 2)}
    assert min(apart.values()) >= APART, min(apart, key=lambda pair: apart[pair])


def test_each_colour_has_one_for_dark_paper() -> None:
    style = colours.style()
    for light, dark in DARK.items():
        for of in ("fill", "stroke"):
            assert f'[{of}="{light}"] {{ {of}: {dark}; }}' in style
