# SPDX-License-Identifier: Apache-2.0
"""Shrinks an SVG without changing its look: attributes that Vega repeats at each mark move to their
group, lines that look alike become one path, equal clips become one, and elements that draw nothing
are removed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import Optional
from xml.etree.ElementTree import Element

SVG = "{http://www.w3.org/2000/svg}"
USUAL = {  # defaults: attributes with these values are left out
    "opacity": "1",
    "stroke-width": "1",
    "stroke-dasharray": "1,0",
    "font-weight": "normal",
    "text-anchor": "start",
    "pointer-events": "none",  # the page's style says so where it matters
    "transform": "translate(0,0)",
    "x2": "0",
    "y2": "0",
}
ENDS = ("x2", "y2")  # of a gradient, which has x1 too, the default of x2 is 100 %
INHERITED = (
    "fill",
    "stroke",
    "stroke-width",
    "stroke-dasharray",
    "font-size",
    "font-weight",
    "text-anchor",
)
PLACES = ("d", "transform", "x", "y", "x2", "y2", "width", "height")
MOVED = re.compile(r"translate\(([-\d.]+),([-\d.]+)\)$")

Look = tuple[tuple[str, str], ...]  # attributes


def slim(element: Element) -> None:
    """Shrinks an element in place, with all that it contains."""
    for child in list(element):
        slim(child)
        _rounded(child.attrib)
        if _is_empty(child):
            element.remove(child)
    flat = [own for child in element for own in (child if _is_bare(child) else [child])]
    element[:] = flat
    if element.get("class", "").startswith("mark-") and len(element):
        element[:] = _merged(flat)
        _share(element)
        if element.get("class") == "mark-text":  # its elements are <text> anyway
            del element.attrib["class"]


def share_clips(root: Element) -> None:
    """Keeps the first of equal clips, and points the references to the others at it."""
    first: dict[tuple[Look, ...], str] = {}
    same: dict[str, str] = {}
    for defs in root.iter(f"{SVG}defs"):
        for clip in list(defs.iter(f"{SVG}clipPath")):
            look = tuple(tuple(sorted(shape.attrib.items())) for shape in clip)
            name = f"url(#{clip.get('id')})"
            same[name] = first.setdefault(look, name)
            if same[name] != name:
                defs.remove(clip)
    for element in root.iter():
        clip_path = element.get("clip-path")
        if clip_path in same:
            element.set("clip-path", same[clip_path])


def _rounded(of: dict[str, str]) -> None:
    for key in PLACES:
        if key in of:
            of[key] = re.sub(
                r"\d+\.\d+", lambda n: f"{float(n[0]):.1f}".removesuffix(".0"), of[key]
            )
    for key, value in USUAL.items():
        if of.get(key) == value and not (key in ENDS and "x1" in of):
            del of[key]


def _is_empty(element: Element) -> bool:
    """Whether it draws nothing."""
    if element.tag == f"{SVG}g":
        return len(element) == 0
    hidden = element.get("display") == "none" or element.get("d") in ("", "M0,0h0v0h0Z")
    ground = element.get("class") in ("background", "foreground")
    return element.tag == f"{SVG}path" and (
        hidden or (ground and "fill" not in element.attrib and "stroke" not in element.attrib)
    )


def _is_bare(element: Element) -> bool:
    return bool(element.tag == f"{SVG}g" and not element.attrib)


def _merged(marks: Sequence[Element]) -> list[Element]:
    """Joins neighbours that look alike and have no text on hover into one path."""
    found: list[Element] = []
    for key, group in groupby(marks, _look):
        own = list(group)
        if key is None or len(own) == 1:
            found += own
            continue
        path = Element(f"{SVG}path", dict(key))
        path.set("d", "".join(_outline(m) for m in own))
        found.append(path)
    return found


def _look(mark: Element) -> Optional[Look]:
    """A key that marks share if they look alike; None: keep the mark as it is."""
    of = {k: v for k, v in mark.attrib.items() if k not in ("d", "transform", "x2", "y2")}
    is_line = mark.tag == f"{SVG}line" and MOVED.match(mark.get("transform", "translate(0,0)"))
    is_shape = mark.tag == f"{SVG}path" and "transform" not in mark.attrib
    return tuple(of.items()) if len(mark) == 0 and (is_line or is_shape) else None


def _outline(mark: Element) -> str:
    if mark.tag == f"{SVG}path":
        return str(mark.get("d"))
    at = MOVED.match(mark.get("transform", "translate(0,0)"))
    assert at
    return f"M{at[1]},{at[2]}l{mark.get('x2', '0')},{mark.get('y2', '0')}"


def _share(group: Element) -> None:
    """Moves attributes that all marks share to the group."""
    for key in INHERITED:
        values = {mark.get(key) for mark in group}
        alike = values.pop() if len(group) > 1 and len(values) == 1 else None
        if alike is not None:
            group.set(key, alike)
            for mark in group:
                del mark.attrib[key]
