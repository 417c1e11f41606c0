# SPDX-License-Identifier: Apache-2.0
"""What tests in Python say of something that is missing: as `lacking` does for those in shell."""

import os
from typing import NoReturn

import pytest


def lacking(what: str, remedy: str) -> NoReturn:
    """Skips the test with the reason; in CI, which has to have all, fails it."""
    (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(
        f"{what} is missing ({remedy})"
    )
