# SPDX-License-Identifier: Apache-2.0
"""Reports a missing tool from a test in Python, as the program `lacking` does from shell.

As a program: prints which modules of the report this Python lacks."""

import importlib.util
import os
import pathlib
import re
import sys
from typing import NoReturn

import pytest

ANALYSIS = pathlib.Path(__file__).resolve().parent.parent / "analysis"


def lacking(what: str, remedy: str) -> NoReturn:
    """Skips the test, or the file that calls it when it is imported, with the reason; in CI, which
    must have all tools, fails it."""
    reason = f"{what} is missing ({remedy})"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason, allow_module_level=True)


def lacking_modules() -> str:
    """Those of analysis/requirements.txt that this Python lacks; empty if it has all."""
    text = (ANALYSIS / "requirements.txt").read_text(encoding="utf-8")
    names = dict.fromkeys(re.findall(r"^[a-z][a-z0-9-]*", text, re.MULTILINE))
    modules = [name.removesuffix("-python").replace("-", "_") for name in names]
    return " ".join(name for name in modules if not importlib.util.find_spec(name))


def need_modules() -> None:
    """For tests that run locus report, or import what it imports."""
    if missing := lacking_modules():
        lacking(missing, f"{sys.executable} -m pip install -r analysis/requirements.txt")


if __name__ == "__main__":
    print(lacking_modules())
