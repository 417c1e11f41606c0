# SPDX-License-Identifier: Apache-2.0
"""A page of the report, made from runs of lines and parsed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Optional

from locus_analysis import __main__ as program
from make_records import (
    Line,
    write,
)

HOSTILE = "<script>alert('&\"')</script>${x}{{ y }}</title>"


class Page(HTMLParser):
    """What a browser would load and run, and what a person would read."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.pictures = file.with_name(file.stem + "-pictures")
        self.figures: list[str] = []
        self.drawn = 0  # nesting of SVG elements, whose text is not the page's
        self.loaded: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.scripts: list[tuple[Optional[str], str]] = []
        self.text = ""
        self.inside = ""
        self.between_cells = False
        self.feed(file.read_text(encoding="utf-8"))
        self.text = " ".join(self.text.split())  # as browsers show it

    def handle_starttag(self, tag: str, attributes: list[tuple[str, Optional[str]]]) -> None:
        found = dict(attributes)
        self.tags.append(tag)
        self.inside = tag
        self.between_cells = tag == "tr"
        self.drawn += tag == "svg"
        if tag == "figure":
            self.figures.append(str(found["id"]))
        self.loaded += [
            str(found[name])
            for name in ("src", "href", "srcset", "data", "poster")
            if found.get(name)
        ]
        self.ids += [str(found["id"])] if "id" in found else []
        if tag == "script":
            self.scripts.append((found.get("type"), ""))

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""
        self.drawn -= tag == "svg"
        self.between_cells = tag in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self.inside == "template":
            return
        if self.inside == "script":
            kind, text = self.scripts.pop()
            self.scripts.append((kind, text + data))
        elif self.inside == "style" or self.drawn or (self.between_cells and data.isspace()):
            return
        else:
            self.text += data

    @property
    def specs(self) -> list[Any]:
        """The specification from which each picture was drawn."""
        files = [self.pictures / f"{name}.vl.json" for name in self.figures]
        return [json.loads(file.read_text(encoding="utf-8")) for file in files]

    def rows(self, *keys: str) -> Iterator[dict[str, Any]]:
        """Rows of the pictures' data that have these keys."""
        for spec in self.specs:
            for rows in spec["datasets"].values():
                yield from (row for row in rows if set(keys) <= set(row))


def make(folder: Path, *runs: list[Line]) -> Page:
    folder.mkdir(exist_ok=True)
    files = [write(folder / f"{i}.jsonl", lines) for i, lines in enumerate(runs)]
    assert program.main(["report", "--pictures", *map(str, files)]) == 0
    return Page(folder / "report.html")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def trials(runs: list[list[Line]]) -> list[Line]:
    return [line for lines in runs for line in lines if line["type"] == "trial"]
