# SPDX-License-Identifier: Apache-2.0
"""The meaning of words, from the one glossary (doc/methods/glossary.md)."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

FILE = Path(__file__).parents[1] / "reference" / "glossary.md"


@lru_cache(maxsize=1)
def terms() -> dict[str, str]:
    """The meaning by term: the rows of the table."""
    rows = FILE.read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in rows if "|" in row]
    return {row[0]: row[1] for row in cells[2:]}


def brief(term: str) -> str:
    """The first part of the meaning."""
    return terms()[term].partition(";")[0]
