# SPDX-License-Identifier: Apache-2.0
"""A picture of fewer bytes has the same marks at the same places, and says the same on hover."""

from __future__ import annotations

from xml.etree import ElementTree

from locus_analysis.pictures.slim import share_clips, slim

GIVEN = """<svg xmlns="http://www.w3.org/2000/svg"><g transform="translate(0,0)">
<path class="background" d="M0,0h760v170h-760Z" /><g><g class="mark-rule">
<line transform="translate(8.04,93.49)" x2="0" y2="-17.66" stroke="#bbbbbb" opacity="1" />
<line transform="translate(9,90)" x2="0" y2="-4" stroke="#bbbbbb" stroke-width="1" />
<line transform="translate(1,2)" x2="3" y2="0" stroke="#222222" /></g></g>
<g class="mark-symbol"><path transform="translate(1,2)" d="M2,0Z" fill="blue"><title>one</title>
</path><path transform="translate(3,4)" d="M2,0Z" fill="blue"><title>two</title></path></g>
<g class="mark-rect"><path d="M1,1h1v1Z" fill="red" /><path d="M3.25,1h1v1Z" fill="red" /></g>
<path class="foreground" d="" display="none" /></g></svg>"""


def made(given: str) -> ElementTree.Element:
    root = ElementTree.fromstring("".join(line.strip() for line in given.splitlines()))
    slim(root)
    return root


def marks(kind: str) -> tuple[dict[str, str], list[dict[str, str]]]:
    group = next(e for e in made(GIVEN).iter() if e.get("class") == f"mark-{kind}")
    return group.attrib, [mark.attrib for mark in group]


def test_lines_that_look_alike_are_one_path() -> None:
    _, (both, other) = marks("rule")
    assert both == {"stroke": "#bbbbbb", "d": "M8,93.5l0,-17.7M9,90l0,-4"}
    assert other == {"transform": "translate(1,2)", "x2": "3", "stroke": "#222222"}


def test_what_says_something_on_hover_stays_alone() -> None:
    group, own = marks("symbol")
    assert group == {"class": "mark-symbol", "fill": "blue"}
    assert [m["transform"] for m in own] == ["translate(1,2)", "translate(3,4)"]
    assert [e.text for e in made(GIVEN).iter() if e.tag.endswith("title")] == ["one", "two"]


def test_shapes_are_one_path_and_what_draws_nothing_is_gone() -> None:
    assert marks("rect")[1] == [{"fill": "red", "d": "M1,1h1v1ZM3.2,1h1v1Z"}]
    assert not [e for e in made(GIVEN).iter() if e.get("class") in ("background", "foreground")]


def test_an_upright_gradient_stays_upright() -> None:
    root = made(
        '<svg xmlns="http://www.w3.org/2000/svg"><defs>'
        '<linearGradient id="a" x1="0" x2="0" y1="1" y2="0" /></defs></svg>'
    )
    (gradient,) = (e for e in root.iter() if e.tag.endswith("linearGradient"))
    assert gradient.attrib == {"id": "a", "x1": "0", "x2": "0", "y1": "1", "y2": "0"}


def test_what_cuts_off_alike_is_told_once() -> None:
    wide, high = ('<rect width="620" height="330" />', '<rect width="620" height="331" />')
    root = ElementTree.fromstring(
        '<svg xmlns="http://www.w3.org/2000/svg"><g clip-path="url(#a)" /><g clip-path="url(#b)" />'
        f'<g clip-path="url(#c)" /><defs><clipPath id="a">{wide}</clipPath><clipPath id="b">{wide}'
        f'</clipPath><clipPath id="c">{high}</clipPath></defs></svg>'
    )
    share_clips(root)
    used = [e.get("clip-path") for e in root.iter() if e.get("clip-path")]
    assert used == ["url(#a)", "url(#a)", "url(#c)"]
    assert [e.get("id") for e in root.iter() if e.tag.endswith("clipPath")] == ["a", "c"]
