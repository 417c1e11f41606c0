# SPDX-License-Identifier: Apache-2.0
"""Where the package's data lie."""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
LESSONS = PACKAGE / "lessons"  # of a benchmark: its text, and as JSON its claims and axes
REFERENCE = PACKAGE / "reference"  # published figures
TEMPLATES = PACKAGE / "templates"  # of pages
