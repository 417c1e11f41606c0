# SPDX-License-Identifier: Apache-2.0
"""Parses the value of a claim (claims.py): `whole[search=branchy] / divided[search=branchy]`."""

from __future__ import annotations

import re
from dataclasses import dataclass

TERM = re.compile(r"([*/]?)\s*([\w.|-]*)(?:\[([^]]*)\])?\s*")


@dataclass(frozen=True)
class Term:
    """A factor of a product: the trials that it may stand for."""

    names: tuple[str, ...]  # of variants; empty: any variant
    where: tuple[tuple[str, str], ...]
    divides: bool


def terms(value: str) -> list[Term]:
    return [
        Term(
            tuple(filter(None, m[2].split("|"))),
            tuple((k, v) for k, _, v in (w.partition("=") for w in (m[3] or "").split(",") if w)),
            m[1] == "/",
        )
        for m in TERM.finditer(value.strip())
        if m[0]
    ]
