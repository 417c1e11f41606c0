# SPDX-License-Identifier: Apache-2.0
"""A machine as a picture in SVG: its nodes, and the way from a core to memory, level by level."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Optional
from xml.sax.saxutils import escape, quoteattr

from .colours import BLUE, EDGE, GREEN, GREY, INK, PALE, PAPER, SOFT, style

WIDTH, MARGIN, ROW, GAP = 760, 20, 34, 6
LABEL, VALUE = 200, 190  # widths of the text left and right of the boxes
LETTER = 6.6  # the mean width of a letter at 12 px
MOST_BOXES, NODES_A_ROW, MOST_NODES = 32, 4, 16
NODE_HEIGHT, CELL = 58, 62


CORE, TLB, CACHE, MEMORY = GREY, GREEN, BLUE, EDGE  # kinds of parts, by their colours


@dataclass(frozen=True)
class Row:
    """A kind of parts: how many a node has, and what was measured of one."""

    kind: str
    name: str
    count: int
    measured: str = ""

    @property
    def told(self) -> str:
        return f"{self.count} x {self.name}" if self.count > 1 else self.name


@dataclass(frozen=True)
class Box:
    """A node: its name, and lines about it."""

    name: str
    lines: Sequence[str]


@dataclass
class MachinePicture:
    title: str
    nodes: list[Box]
    rows: list[Row]  # from the core to memory
    times: list[list[Optional[str]]] = field(default_factory=list)  # nodes with CPUs x nodes
    notes: list[str] = field(default_factory=list)

    def svg(self) -> str:
        drawn = Drawn()
        drawn.text(MARGIN, 34, self.title, size=15, weight="bold")
        drawn.y = 52
        _nodes(drawn, self.nodes)
        _times(drawn, [box.name for box in self.nodes], self.times)
        _rows(drawn, self.rows, len(self.nodes) > 1)
        for line in (line for note in self.notes for line in _wrapped(note)):
            drawn.y += 18
            drawn.text(MARGIN, drawn.y, line, colour=SOFT)
        return drawn.whole(self.title, self._said())

    def _said(self) -> str:
        rows = [f"{row.told}{': ' * bool(row.measured)}{row.measured}" for row in self.rows]
        return "; ".join([*(f"{b.name}: {', '.join(b.lines)}" for b in self.nodes), *rows])


@dataclass
class Drawn:
    """What has been drawn, down to y."""

    parts: list[str] = field(default_factory=list)
    y: float = 0

    def text(
        self,
        x: float,
        y: float,
        words: str,
        size: int = 12,
        colour: str = INK,
        anchor: str = "start",
        weight: str = "normal",
    ) -> None:
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}"'
            f' text-anchor="{anchor}" font-weight="{weight}">{escape(words)}</text>'
        )

    def box(self, x: float, y: float, width: float, height: float, fill: str = PALE) -> None:
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="3"'
            f' fill="{fill}"/>'
        )

    def heading(self, words: str) -> None:
        self.y += 30
        self.text(MARGIN, self.y, words, size=13, weight="bold")
        self.y += 10

    def whole(self, title: str, said: str) -> str:
        height = self.y + MARGIN
        return "\n".join(
            [
                '<svg xmlns="http://www.w3.org/2000/svg" class="picture" role="img"'
                f' width="{WIDTH}" height="{height:.0f}" viewBox="0 0 {WIDTH} {height:.0f}"'
                f' font-family="sans-serif" aria-label={quoteattr(title)}>',
                f"<title>{escape(title)}</title>",
                f"<desc>{escape(said)}</desc>",
                f"<style>{style()}</style>",
                f'<rect width="{WIDTH}" height="{height:.0f}" fill="{PAPER}"/>',
                *self.parts,
                "</svg>\n",
            ]
        )


def _nodes(drawn: Drawn, nodes: Sequence[Box]) -> None:
    drawn.heading("NUMA nodes")
    shown = nodes[:MOST_NODES]
    columns = min(len(shown), NODES_A_ROW)
    width = (WIDTH - 2 * MARGIN - GAP * (columns - 1)) / columns
    for i, box in enumerate(shown):
        x = MARGIN + i % columns * (width + GAP)
        y = drawn.y + i // columns * (NODE_HEIGHT + GAP)
        drawn.box(x, y, width, NODE_HEIGHT)
        drawn.text(x + 8, y + 18, box.name, weight="bold")
        for j, line in enumerate(box.lines):
            drawn.text(x + 8, y + 35 + 16 * j, _cut(line, width - 16))
    drawn.y += -(-len(shown) // columns) * (NODE_HEIGHT + GAP)
    if len(nodes) > len(shown):
        drawn.y += 14
        drawn.text(MARGIN, drawn.y, f"and {len(nodes) - len(shown)} more nodes", colour=SOFT)


def _times(drawn: Drawn, names: Sequence[str], times: Sequence[Sequence[Optional[str]]]) -> None:
    """A table: the CPUs' node down, the memory's node across."""
    if not times:
        return
    drawn.heading("Latency of memory: from the CPUs of a node (down) to memory of a node (across)")
    room = WIDTH - 2 * MARGIN - CELL
    shown = room // CELL
    for i, row in enumerate([names, *times[:shown]]):
        first = "" if i == 0 else names[i - 1]
        drawn.text(MARGIN, drawn.y + 16, first, colour=SOFT)
        for j, cell in enumerate(row[:shown]):
            x = MARGIN + CELL * (j + 1.5)
            if i and i - 1 == j:
                drawn.box(x - CELL / 2 + 1, drawn.y, CELL - 2, 22)
            drawn.text(x, drawn.y + 16, cell or "–", anchor="middle", colour=INK if i else SOFT)
        drawn.y += 22


def _rows(drawn: Drawn, rows: Sequence[Row], several: bool) -> None:
    drawn.heading("From a core to memory" + (", in one node" if several else ""))
    room = WIDTH - 2 * MARGIN - LABEL - VALUE
    for row in rows:
        drawn.text(MARGIN, drawn.y + ROW / 2 + 2, _cut(row.told, LABEL - 8))
        boxes = row.count if row.count <= MOST_BOXES else 1
        width = (room - GAP / 2 * (boxes - 1)) / boxes
        for i in range(boxes):
            x = MARGIN + LABEL + i * (width + GAP / 2)
            drawn.box(x, drawn.y, width, ROW - GAP, row.kind)
        drawn.text(WIDTH - MARGIN, drawn.y + ROW / 2 + 2, row.measured, anchor="end")
        drawn.y += ROW


def _cut(words: str, room: float) -> str:
    most = int(room / LETTER)
    return words if len(words) <= most else words[: most - 1] + "…"


def _wrapped(note: str) -> list[str]:
    return textwrap.wrap(note, int((WIDTH - 2 * MARGIN) / LETTER))
