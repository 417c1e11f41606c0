# SPDX-License-Identifier: Apache-2.0
"""What `locus sick` prints: a line for each node, as a table, Markdown, CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
import textwrap
from collections.abc import Sequence
from dataclasses import asdict

from ..base import units
from ..compare import formats
from . import together
from .sick import SICK, Finding, Verdict

WIDTH = 100
MOST_NAMED = 20  # hosts with the same text behind them, or lines of a verdict without --all
MOST_FACTS = 4
COLUMNS = ["verdict", "host", "component", "ratio", "metrics", "campaigns", "reason", "differs"]


def table(verdict: Verdict, all_: bool, again: str) -> str:
    """`again`: the command that measures suspects again, without their names."""
    lines = [head(verdict), ""]
    rows = [(f.verdict, f.host, text(f)) for f in verdict.findings]
    if all_:
        rows += [("(look)", f.host, text(f)) for f in verdict.lookers]
    rows = joined(rows)
    width = max((len(host) for _, host, _ in rows), default=0)
    for name, host, said in rows:
        begin = f"{name:8} {host:{width}}  "
        lines += textwrap.wrap(
            said, formats.width(), initial_indent=begin, subsequent_indent=" " * min(len(begin), 40)
        ) or [begin.rstrip()]
    if not rows:
        lines.append("no node is sick")
    lines.append("")
    if verdict.together:
        lines += [*verdict.together.table(), ""]
    if verdict.suspects:
        lines.append(f"measure again: {again.format(','.join(verdict.suspects))}")
    hint = "; what a suspect is: locus help suspect" * bool(verdict.suspects)
    lines += textwrap.wrap(foot(verdict, all_) + hint, formats.width(), subsequent_indent="  ")
    return "\n".join(lines)


def head(verdict: Verdict) -> str:
    if not verdict.hosts and verdict.network:
        return verdict.network
    kinds = ", ".join(f"{n} {cpu}" for cpu, n in verdict.classes)
    odd = verdict.hosts - sum(n for _, n in verdict.classes)
    more = f", {units.several(odd, 'odd machine')}" if odd else ""
    classes = f"{len(verdict.classes)} machine class{'es' * (len(verdict.classes) != 1)}"
    return (
        f"{units.several(verdict.hosts, 'node')}, {classes} ({kinds}){more}"
        + f"; {verdict.network}" * bool(verdict.network)
    )


def foot(verdict: Verdict, all_: bool) -> str:
    looks = len(verdict.lookers)
    first = f"worth a look: {looks} (--all). " if looks and not all_ else ""
    return (
        f"{first}False alarms to expect: {verdict.healthy:.2g} nodes a campaign of this size"
        " (simulated)"
    )


def text(f: Finding) -> str:
    told = []
    if f.component and f.ratio:
        told.append(f"{f.component} {_ratio(f)} ({f.metrics})")
        if f.verdict == SICK:
            told.append(f"in {units.several(f.campaigns, 'campaign')}")
    told += [f.reason] * bool(f.reason)
    said = ", ".join(told)
    if f.differs:
        facts = ", ".join(f.differs[:MOST_FACTS])
        more = f" and {len(f.differs) - MOST_FACTS} more" if f.differs[MOST_FACTS:] else ""
        said = f"{said}{'; ' if said else ''}differs: {facts}{more}"
    return said


def _ratio(f: Finding) -> str:
    """For a rate the share that is left, for a time how many times as long."""
    ratio = f.ratio or 1
    if f.component == "memory bandwidth":
        return f"{1 / ratio:.2f} of its class"
    return f"{ratio:.2f} times its class"


def joined(rows: Sequence[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Nodes with the same text in one line."""
    alike: dict[tuple[str, str], list[str]] = {}
    for name, host, text in rows:
        alike.setdefault((name, text), []).append(host)
    return [(name, units.some(hosts, MOST_NAMED), text) for (name, text), hosts in alike.items()]


def _row(f: Finding) -> list[object]:
    return [
        f.verdict,
        f.host,
        f.component,
        f"{f.ratio:.4g}" if f.ratio else "",
        f.metrics if f.component else "",
        f.campaigns or "",
        f.reason,
        "; ".join(f.differs),
    ]


def as_csv(verdict: Verdict) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_row(f) for f in verdict.findings)
    return file.getvalue().rstrip("\n")


def as_markdown(verdict: Verdict) -> str:
    rows = [[str(cell) for cell in _row(f)] for f in verdict.findings]
    table = units.in_bars([COLUMNS, ("---",) * len(COLUMNS), *rows])
    return "\n".join([head(verdict), "", *table, *_both(verdict)])


def _both(verdict: Verdict) -> list[str]:
    """Together over alone, as a table of Markdown."""
    if not verdict.together:
        return []
    rows = [together.HEAD, ("---",) * len(together.HEAD), *verdict.together.rows]
    return ["", verdict.together.head, "", *units.in_bars(rows)]


def as_json(verdict: Verdict) -> str:
    told = {
        "hosts": verdict.hosts,
        "classes": [{"cpu": cpu, "hosts": n} for cpu, n in verdict.classes],
        "status": verdict.status,
        "findings": [asdict(f) for f in verdict.findings],
        "look": [asdict(f) for f in verdict.lookers],
        "healthy_named": verdict.healthy,
        "together": verdict.together.as_dict() if verdict.together else None,
    }
    return json.dumps(told, indent=1, ensure_ascii=False)
