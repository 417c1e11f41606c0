# SPDX-License-Identifier: Apache-2.0
"""Pictures as SVG with values on hover, and as files: SVG, PNG, PDF, and their Vega-Lite. Other
processes draw them while the caller goes on."""

from __future__ import annotations

import json
from concurrent.futures import Future, wait
from functools import cache
from pathlib import Path
from typing import Optional

from ..base import limits, processes
from ..base.processes import Processes
from .charts import Dense, Picture
from .vega_lite import Spec

SCALE = 1.5  # pixels of a PNG to a pixel of its chart
DENSE = 2  # the same where a cell has to have whole pixels
KINDS = ("svg", "png", "pdf", "vl.json")  # of files, by what their names end in
SMALL: Spec = {"data": {"values": [{}]}, "mark": {"type": "text", "text": "a"}}
MOST = 4  # processes: to load Vega, and to compile it as it runs, takes a third of all their time

_File = tuple[Future[str], str, float, Optional[Dense]]  # arguments of as_files()


@cache
def painters() -> Processes:
    """They load Vega before there is a picture to draw."""
    limits.need("drawing pictures", limits.DRAWING)
    many = max(1, min(MOST, processes.usable_cpus()))
    made = Processes("pictures.render", many)
    for _ in range(many):
        made.call("as_svg", SMALL, "first")
    return made


class Drawing:
    """The pictures of a page; with a folder, also as files there. As a context it makes the files
    last, since a page waits for none of them, and waits for all; or after an exception leaves out
    what was not begun."""

    def __init__(self, folder: Optional[Path] = None) -> None:
        self._folder = folder
        self._begun: list[Future[str]] = []
        self._files: list[_File] = []

    def __enter__(self) -> Drawing:
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        for arguments in [] if failed else self._files:
            self._call("as_files", *arguments)
        wait([drawn for drawn in self._begun if not failed or not drawn.cancel()])
        for drawn in [] if failed else self._begun:
            drawn.result()

    def begin(self, picture: Picture) -> None:
        """Draws it meanwhile."""
        picture.drawn = self._call("as_svg", picture.spec, picture.name)
        if self._folder:
            file = str(self._folder / picture.name)
            spec = json.dumps(picture.spec, separators=(",", ":"))
            Path(f"{file}.vl.json").write_text(spec, encoding="utf-8")
            if picture.dense:  # the page has its PNG
                picture.drawn = self._call("as_files", picture.drawn, file, DENSE, picture.dense)
            else:
                self._files.append((picture.drawn, file, SCALE, None))
        elif picture.dense:
            picture.drawn = self._call("as_image", picture.drawn, DENSE, picture.dense)

    def _call(self, function: str, *arguments: object) -> Future[str]:
        self._begun.append(painters().call(function, *arguments))
        return self._begun[-1]
