# SPDX-License-Identifier: Apache-2.0
"""The colours of pictures: two sets, for light paper and for dark. A picture is drawn in the light
ones; the page's style replaces each by its dark one where a reader prefers that. Text has at least
4.5 times the luminance of its paper or the other way round, lines and points 3 times; the colours
of lines differ with every kind of colour vision (test/analysis/test_colours.py measures both)."""

from __future__ import annotations

PAPER, INK, SOFT, GREY, PALE, ALARM = (
    "white",
    "#222222",
    "#555555",
    "#767676",
    "#E4E4E4",
    "#B23A00",
)
BLUE, ORANGE, GREEN, PINK, RED, SKY = (
    "#0E5A98",
    "#CA8503",
    "#2D8958",
    "#A57AA1",
    "#B24E04",
    "#0C9AEA",
)
LINES = (BLUE, ORANGE, GREEN, PINK, RED, SKY, INK)  # in the order in which lines take them
TINTS = ["#2F6C9F", "#A9CBE4", "#6B9AC4", "#D6E5F1"]  # bars of the same point have the same tint
THEIRS = "#C4C4C4"  # bars of published figures
BAND, EDGE, RANGE = "#BDBDBD", "#9A9A9A", "#BBBBBB"
DARK = {
    PAPER: "#191919",
    INK: "#E4E4E4",
    SOFT: "#A8A8A8",
    GREY: "#8C8C8C",
    PALE: "#383838",
    ALARM: "#FF9D66",
    BLUE: "#307ED1",
    ORANGE: "#FDCA44",
    GREEN: "#5AB679",
    PINK: "#C78FB7",
    RED: "#FD4211",
    SKY: "#A2D2FF",
    **dict(zip(TINTS, ("#7DB4E2", "#33628A", "#4C86B8", "#2A465E"))),
    THEIRS: "#5C5C5C",
    BAND: "#5A5A5A",
    EDGE: "#747474",
    RANGE: "#626262",
}
# Cells and parts of bars have the same colours on any paper, and so has the text on them.
ON_DARK, ON_LIGHT = "#FFFFFF", "#000000"
NODES = ["#56B4E9", "#E69F00", "#009E73", "#F0E442", "#CC79A7", "#E0701A", "#999999", "#4C9BD9"]


def style() -> str:
    """Rules of a style sheet that replace the light colours by the dark ones."""
    rules = [
        f'.picture [{of}="{light}"] {{ {of}: {dark}; }}'
        for light, dark in DARK.items()
        for of in ("fill", "stroke")
    ]
    return "@media screen and (prefers-color-scheme: dark) {\n" + "\n".join(rules) + "\n}\n"
