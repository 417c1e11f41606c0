# SPDX-License-Identifier: Apache-2.0
"""The page of one node of many: its own records, and above them how it lies beside its class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..base import units
from ..card import summary
from ..cluster import node, sick, told
from ..cluster.node import Node
from ..compare import observations
from ..pictures.charts import Picture
from ..records import database
from ..records.database import Records
from ..records.sources import BadInput
from . import health


@dataclass
class Beside:
    """A node beside its class; its cells are those of `locus sick --node`."""

    node: Node
    findings: list[str]
    rows: list[tuple[str, ...]]
    pictures: list[Picture]

    @property
    def head(self) -> str:
        of = "beside the nearest class:" if self.node.is_odd else "one of"
        return f"{of} {units.several(self.node.beside, 'node')} with {self.node.cpu}"


def read(paths: Sequence[Path], name: str) -> tuple[Records, Beside]:
    """The records of the node alone, and what all of them say of it."""
    all_ = database.read(paths, samples=False, values=True)
    db, notes = database.trials(all_), all_.notes
    side = observations.of(db, "these records")
    verdict = sick.judge(db, side, {}, {})
    one = node.of(verdict, name)
    files = dict.fromkeys(Path(r["file"]) for r in side.runs if r["host"] == name)
    if not files or not all(file.is_file() for file in files):
        raise BadInput(f"--node {name}: its records are read twice: give files or folders")
    given = database.read([*files])
    given.notes[:0] = [note for note in notes if note not in given.notes]
    named = summary.hosts(given.db)
    if name in named and len(named) > 1:
        summary.keep(given.db, [name])
    own = [c for c in (*verdict.campaigns, *verdict.beside) if name in c.hosts]
    findings = [f"{f.verdict}: {told.text(f)}" for f in one.findings]
    rows = [node.cells(c) for c in one.components]
    return given, Beside(one, findings, rows, health.beside(own, name))
