# SPDX-License-Identifier: Apache-2.0
"""Validates records strictly against their format (doc/schema): every line, every key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from ..base.units import several
from . import hosts, schema, sources, store
from .lines import Header

MOST_TOLD = 20  # flaws of a file that are told one by one


@dataclass
class Checked:
    """The counts so far."""

    files: int = 0
    lines: int = 0
    wrong: int = 0  # lines, and files that hold none
    machines: list[hosts.Machine] = field(default_factory=list)  # of the runs

    def __str__(self) -> str:
        found = f"{self.wrong} wrong" if self.wrong else f"all as {schema.SCHEMA} says"
        return f"{several(self.files, 'file')}, {several(self.lines, 'line')}, {found}"


def flaws(paths: Sequence[Path], checked: Checked) -> Iterator[str]:
    """Flaws with file, line and what was expected: the first of each line, the first twenty of a
    file, and their number."""
    if stores := store.split(paths)[0]:
        raise sources.BadInput(
            f"{stores[0]}: a store has no lines to validate: give the records that it was made from"
        )
    unread = list[str]()
    files = sources.find(paths, unread)
    checked.files += len(unread)
    checked.wrong += len(unread)
    yield from unread
    for path in files:
        checked.files += 1
        told = 0
        try:
            for flaw in _flaws(path, checked):
                told += 1
                if told <= MOST_TOLD:
                    yield flaw
        except sources.BadInput as error:
            told += 1
            yield str(error)
        if told > MOST_TOLD:
            yield f"{sources.name(path)}: {told - MOST_TOLD} more lines are wrong"
        checked.wrong += told


def _flaws(path: Path, checked: Checked) -> Iterator[str]:
    runs: set[str] = set()
    declared = schema.Declared()
    undescribed: set[tuple[str, str]] = set()  # benchmarks of runs
    for given in sources.lines(path):
        checked.lines += 1
        try:
            if given.flaw:
                raise schema.Flaw(given.flaw)
            line = schema.check(schema.parse(given.text), strict=True)
            declared.check(line)
            if line["type"] == "header":
                runs.add(line["run"])
                checked.machines.append(hosts.of_header(cast("Header", line)))
            elif line["run"] not in runs:
                runs.add(line["run"])  # told once a run
                raise schema.Flaw(f"run {line['run']} has no header before this line")
            elif not declared.describe(line):
                of = (line["run"], line["benchmark"])
                if of not in undescribed:
                    undescribed.add(of)
                    raise schema.Flaw(f"no line before this one describes benchmark {of[1]}")
        except schema.Flaw as flaw:
            if header := schema.header_of(given.text):
                runs.add(header)
            yield f"{sources.name(path)}:{given.number}: {flaw}"
