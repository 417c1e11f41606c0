# SPDX-License-Identifier: Apache-2.0
"""test/imports finds each import that goes up or round, and no other."""

import pathlib
import subprocess
import sys

import pytest

IMPORTS = pathlib.Path(__file__).resolve().parent.parent / "imports"
ORDER = "Packages, top to bottom: `page/` > `card/` >\n`base/`. Nothing."
GOOD = {
    "__main__": "from .page import report",
    "page/report": "from ..card.lines import Line\nfrom ..base import units\nfrom . import render",
    "page/render": "import json",
    "card/lines": "from ..base.units import K\nif TYPE_CHECKING:\n    from ..page import report",
    "base/units": "K = 1024",
}


@pytest.fixture
def check(tmp_path):
    """check({module: text}): the exit status and lines of test/imports for such a package."""

    def run(texts):
        (tmp_path / "doc").mkdir(exist_ok=True)
        (tmp_path / "doc/design.md").write_text(ORDER)
        for name, text in texts.items():
            path = tmp_path / "analysis/locus_analysis" / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")
        command = [sys.executable, IMPORTS, tmp_path]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        prefix = f"{tmp_path}/analysis/locus_analysis"
        return done.returncode, [
            line.removeprefix(prefix).lstrip("/: ") for line in done.stdout.splitlines()
        ]

    return run


def test_a_good_package(check):
    assert check(GOOD) == (0, [])


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("base/units", "from ..card import lines", "base/units.py:1: card.lines is above base"),
        (
            "card/lines",
            "def f():\n    from ..page.render import g",
            "card/lines.py:2: page.render is above card",
        ),
        (
            "base/units",
            "from .. import load",
            "base/units.py:1: the root is above base",
        ),
        ("base/units", "from .. import __main__", "base/units.py:1: __main__ is above base"),
        ("other/more", "", "other/more.py: other/ is no package of doc/design.md"),
    ],
)
def test_an_import_that_goes_up(check, name, text, line):
    assert check({**GOOD, name: text}) == (1, [line])


def test_imports_that_go_round(check):
    status, (line,) = check({**GOOD, "page/render": "from . import report"})
    assert status == 1 and line in (
        "a cycle: page.render > page.report > page.render",
        "a cycle: page.report > page.render > page.report",
    )


def test_modules_without_types(check):
    """As many as there may be, and one more."""
    names = [f"base/{letter}" for letter in "abcdfg"]
    typed = {**GOOD, "base/e": "from typing import AnyStr, Optional"}
    untyped = dict.fromkeys(names, "from typing import Any, Optional")
    assert check({**typed, **{name: untyped[name] for name in names[:5]}}) == (0, [])
    told = f"6 modules import Any, at most 5: {', '.join(f'{name}.py' for name in names)}"
    assert check({**typed, **untyped}) == (1, [told])
