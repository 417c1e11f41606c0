# SPDX-License-Identifier: Apache-2.0
"""Vega-Lite as SVG with values on hover, and SVG as files. Run as a program it is a process
that does so for processes.py, since the library holds the interpreter's lock."""

from __future__ import annotations

import base64
import html
import json
import re
from pathlib import Path
from typing import Optional
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from ..base import processes
from . import slim
from .charts import Dense
from .vega_lite import Spec

SVG = "{http://www.w3.org/2000/svg}"
POINTED_AT = {"bar", "point", "rect"}  # marks with text on hover; others are thin, or lie on these
WRITTEN = ("Title text", "Subtitle text")  # labels that begin so repeat visible text
# The words before a value on hover, where they are not its column's name.
BEFORE = {"trial": "", "text": "", "why": "", "status": "", "interval": "95 % interval: "}

ElementTree.register_namespace("", SVG[1:-1])
ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")


def as_svg(spec: Spec, name: str) -> str:
    """A picture; its name makes its ids unique in a page."""
    import vl_convert  # here: processes.serve() tells what is missing

    return _tidied(vl_convert.vegalite_to_svg(_described(spec)), name)


def as_files(svg: str, file: str, scale: float, cells: Optional[Dense]) -> str:
    """Writes SVG, PNG with so many pixels to one of the SVG, and PDF; returns the SVG. With `cells`
    (Picture.dense) it is one around the PNG."""
    import vl_convert

    png = vl_convert.svg_to_png(svg, scale=scale)
    whole = _around(png, scale, svg, cells) if cells else svg
    pdf = vl_convert.svg_to_pdf(whole)
    for kind, content in (("svg", whole.encode()), ("png", png), ("pdf", pdf)):
        Path(f"{file}.{kind}").write_bytes(content)
    return whole


def as_image(svg: str, scale: float, cells: Dense) -> str:
    """The SVG around a PNG of as_files(), without files."""
    import vl_convert

    return _around(vl_convert.svg_to_png(svg, scale=scale), scale, svg, cells)


def _described(part: Spec) -> Spec:
    """Makes descriptions of the tooltips of marks, since only these reach an SVG."""
    whole = {k: v if k in ("data", "datasets") else _in_parts(v) for k, v in part.items()}
    mark, encoding = whole.get("mark"), whole.get("encoding")
    if not isinstance(encoding, dict):
        return whole
    tips = encoding.pop("tooltip", [])
    if tips and isinstance(mark, dict) and mark["type"] in POINTED_AT:
        told = " + '\\n' + ".join(_line(tip) for tip in tips)
        whole["mark"] = {**mark, "aria": True}
        encoding["description"] = {"value": {"expr": told}}
    return whole


def _in_parts(part: object) -> object:
    if isinstance(part, list):
        return [_in_parts(item) for item in part]
    return _described(part) if isinstance(part, dict) else part


def _line(tip: dict[str, str]) -> str:
    """A line of a tooltip, as an expression of Vega."""
    field = tip["field"]
    value = f"datum[{field!r}]"
    shown = f"format({value}, {tip['format']!r})" if "format" in tip else value
    before = BEFORE.get(field, f"{tip.get('title', field)}: ")
    return f"({before!r} + (isValid({value}) ? {shown} : '–'))"


def _tidied(svg: str, name: str) -> str:
    """Removes repetition, makes titles of descriptions (which browsers show), and makes ids unique
    in a page."""
    root = ElementTree.fromstring(svg)
    for element in root.iter():
        of = element.attrib
        said = of.pop("aria-label", None)
        if "class" in of and element.tag.endswith("}g"):  # the page's style uses marks' classes
            own = (c for c in of["class"].split() if c.startswith("mark-") and c != "mark-group")
            of["class"] = next(own, "")
        unused = ("role", "font-family", *["class"] * (not of.get("class")))
        for key in [k for k in of if k.startswith("aria-") or k in unused]:
            del of[key]
        for key, value in of.items():
            if key == "id":
                of[key] = f"{name}-{value}"
            elif "#" in value:
                of[key] = re.sub(r"^(url\()?#(?=[a-z_]+\d)", rf"\1#{name}-", value)
        if said and not said.startswith(WRITTEN):
            title = Element(SVG + "title")
            title.text = said
            element.insert(0, title)
    slim.slim(root)
    slim.share_clips(root)
    root.set("font-family", "Liberation Sans, Arial, Helvetica, sans-serif")
    return ElementTree.tostring(root, encoding="unicode")


def _around(png: bytes, scale: float, svg: str, cells: Dense) -> str:
    """An SVG around a PNG, in its size without the scale; the page's script finds its cells."""
    width, height = (int.from_bytes(png[i : i + 4], "big") / scale for i in (16, 20))
    corner = _corner(ElementTree.fromstring(svg))
    assert corner
    x, y = corner
    told = html.escape(json.dumps({"x": x, "y": y, **cells}, separators=(",", ":")))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" viewBox="0'
        f' 0 {width:g} {height:g}"><image width="{width:g}" height="{height:g}" data-cells="{told}"'
        f' href="data:image/png;base64,{base64.b64encode(png).decode()}"/></svg>'
    )


def _corner(
    element: Element, x: float = 0.0, y: float = 0.0, within: bool = False
) -> Optional[tuple[float, float]]:
    """The corner at which the cells begin: the least of their coordinates; None: no cell."""
    moved = re.match(r"translate\(([-\d.]+),\s*([-\d.]+)\)", element.get("transform", ""))
    if moved:
        x, y = x + float(moved[1]), y + float(moved[2])
    within = within or "mark-rect" in element.get("class", "")
    if within and element.tag == f"{SVG}path":
        begin = re.match(r"M([-\d.]+),([-\d.]+)", element.get("d", "M0,0"))
        return (x + float(begin[1]), y + float(begin[2])) if begin else (x, y)
    found = [at for child in element if (at := _corner(child, x, y, within))]
    return (min(at[0] for at in found), min(at[1] for at in found)) if found else None


if __name__ == "__main__":
    processes.serve(as_svg, as_files, as_image)
