# SPDX-License-Identifier: Apache-2.0
"""All components of one node beside its class, for `locus sick --node`."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict, dataclass

import numpy as np

from ..base import units
from ..records import hosts
from ..records.sources import BadInput
from . import told
from .sick import Finding, Verdict, status_of

MOST_FACTS = 3  # lines of the table
HEAD = ("component", "time / class", "score / limit", "metrics beyond", "campaigns")


@dataclass
class Component:
    """The medians over its campaigns. `score`, over the limit: above 1 is beyond that of any
    healthy node."""

    component: str
    ratio: float  # of times, to the class; above 1 is slower
    score: float
    beyond: int  # metrics that are beyond the limit by themselves, of `known`, in the last campaign
    known: int
    campaigns: int


@dataclass
class Node:
    host: str
    cpu: str
    beside: int  # nodes of its class
    is_odd: bool  # it has a class of its own, and is judged beside the nearest
    components: list[Component]
    findings: list[Finding]
    differs: list[str]

    @property
    def status(self) -> int:
        """As that of the command, of this node alone."""
        return status_of(self.findings)


def of(verdict: Verdict, host: str) -> Node:
    in_class = [c for c in verdict.campaigns if host in c.hosts]
    own = in_class or [c for c in verdict.beside if host in c.hosts]
    findings = [f for f in verdict.findings if f.host == host]
    if not own and not findings:
        known = {h for c in (*verdict.campaigns, *verdict.beside) for h in c.hosts}
        known |= {f.host for f in verdict.findings}
        why = hosts.missing(host, sorted(known), "these records have no such node")
        raise BadInput(f"--node {host}: {why}")
    looks: dict[str, list[tuple[float, float, int, int]]] = {}
    for campaign in own:
        row, seen = campaign.hosts.index(host), campaign.seen
        for c, name in enumerate(campaign.class_.components):
            if np.isfinite(seen.score[row, c]):
                over = float(seen.score[row, c] / campaign.class_.limit[c])
                effect, beyond = float(seen.effect[row, c]), int(seen.beyond[row, c])
                looks.setdefault(name, []).append((effect, over, beyond, int(seen.known[row, c])))
    found = [
        Component(
            name,
            float(np.exp(np.median([look[0] for look in each]))),
            float(np.median([look[1] for look in each])),
            *each[-1][2:],
            len(each),
        )
        for name, each in looks.items()
    ]
    found.sort(key=lambda c: -c.score)
    cpu = own[0].cpu if own else ""
    judged = {h for c in verdict.campaigns for h in c.hosts}
    beside = max((len(judged & {*c.hosts}) for c in own), default=0)
    is_odd = bool(own) and not in_class
    return Node(host, cpu, beside, is_odd, found, findings, verdict.facts.get(host, []))


def table(node: Node) -> str:
    """At most 20 lines."""
    said = "; ".join(f"{f.verdict}: {told.text(f)}" for f in node.findings) or "nothing found"
    of = "beside the nearest class:" if node.is_odd else "one of"
    beside = f", {of} {units.several(node.beside, 'node')} with {node.cpu}" if node.cpu else ""
    lines = [f"{node.host}{beside}", _short(said), ""]
    if node.components:
        rows = [HEAD, *(cells(c) for c in node.components)]
        lines += units.aligned(rows, range(1, len(HEAD)))
    shown = node.differs if len(node.differs) <= MOST_FACTS else node.differs[: MOST_FACTS - 1]
    lines += [_short(f"differs: {fact}") for fact in shown]
    if more := len(node.differs) - len(shown):
        lines.append(f"differs: {more} more (--format json)")
    return "\n".join(lines)


def cells(c: Component) -> tuple[str, ...]:
    return (
        c.component,
        f"{c.ratio:.3f}",
        f"{c.score:.2f}",
        f"{c.beyond} of {c.known}",
        str(c.campaigns),
    )


def _short(line: str) -> str:
    return textwrap.shorten(line, told.WIDTH, placeholder=" ...")


def as_json(node: Node) -> str:
    return json.dumps({**asdict(node), "status": node.status}, indent=1, ensure_ascii=False)
