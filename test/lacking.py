# SPDX-License-Identifier: Apache-2.0
"""Reports a missing tool from a test in Python, as the program `lacking` does from shell."""

import os
from typing import NoReturn

import pytest


def lacking(what: str, remedy: str) -> NoReturn:
    """Skips the test with the reason; in CI, which must have all tools, fails it."""
    (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(
        f"{what} is missing ({remedy})"
    )
