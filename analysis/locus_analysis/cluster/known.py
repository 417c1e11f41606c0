# SPDX-License-Identifier: Apache-2.0
"""Findings that are known: a file of nodes and components that are not to be told for a while."""

from __future__ import annotations

import csv
import datetime
import itertools
import re
from pathlib import Path
from typing import NamedTuple

from ..base import units
from ..records.sources import BadInput
from .components import NAMES, NETWORK
from .sick import Verdict

MOST_NODES = 100_000  # of one line


class Known(NamedTuple):
    nodes: frozenset[str]
    component: str  # or *
    reason: str
    until: datetime.date


def read(file: Path) -> list[Known]:
    """Lines that still hold today. An empty line, or one that begins with #, says nothing."""
    found = []
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise BadInput(f"{file}: cannot be read: {why}") from error
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            found.append(_parsed(f"{file}:{number}", line))
    today = datetime.date.today()
    return [known for known in found if known.until >= today]


def _parsed(at: str, line: str) -> Known:
    # A host list may have commas within its brackets.
    held = re.sub(r"\[[^]]*\]", lambda m: m[0].replace(",", ";"), line)
    row = [cell.strip() for cell in next(csv.reader([held]))]
    if len(row) != 4:
        raise BadInput(
            f"{at}: {len(row)} fields, 4 expected: n[001-004],memory latency,reason,2027-01-31"
        )
    nodes, component, reason, until = row
    if component not in (*NAMES, NETWORK, "*"):
        raise BadInput(
            f"{at}: no component {component!r}: * or one of {', '.join((*NAMES, NETWORK))}"
        )
    try:
        day = datetime.date.fromisoformat(until)
    except ValueError as error:
        raise BadInput(f"{at}: {until!r} is no day such as 2027-01-31") from error
    return Known(frozenset(hosts(nodes.replace(";", ","), at)), component, reason, day)


def hosts(text: str, at: str = "") -> list[str]:
    """The names in a host list as SLURM writes them: n[001-003,7]-ib, m1."""
    found: list[str] = []
    for part in re.findall(r"(?:[^,\[]|\[[^]]*\])+", text):
        pieces = re.split(r"\[([^]]*)\]", part)
        choices = [[piece] if i % 2 == 0 else _numbers(piece, at) for i, piece in enumerate(pieces)]
        found += ("".join(each) for each in itertools.product(*choices))
        if len(found) > MOST_NODES:
            raise BadInput(f"{at}: more than {MOST_NODES} nodes")
    return found


def _numbers(ranges: str, at: str) -> list[str]:
    found = []
    for each in ranges.split(","):
        first, dash, last = each.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise BadInput(f"{at}: [{ranges}]: expected numbers and ranges such as [001-004,7]")
        end = int(last or first)
        if end - int(first) >= MOST_NODES:
            raise BadInput(f"{at}: more than {MOST_NODES} nodes")
        found += [f"{n:0{len(first)}}" for n in range(int(first), end + 1)]
    return found


def leave_out(verdict: Verdict, known: list[Known]) -> None:
    """Takes known findings out of the verdict, and notes how many."""

    def is_known(host: str, component: str) -> bool:
        return any(host in k.nodes and k.component in ("*", component) for k in known)

    kept = [f for f in verdict.findings if not is_known(f.host, f.component)]
    if gone := len(verdict.findings) - len(kept):
        are = "is" if gone == 1 else "are"
        verdict.notes.append(f"{units.several(gone, 'known finding')} {are} left out (--suppress)")
    verdict.findings = kept
