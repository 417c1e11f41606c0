# SPDX-License-Identifier: Apache-2.0
"""Sharing: what its sentences say beside its pictures: what false and true sharing cost, and the
padding that takes it away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from . import padding
from .evidence import times
from .records import graver

Row = dict[str, Any]

COMPARED = (("dense", "padded"), ("shared", "padded"))


def panels_of(trials: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Trials that differ in layout and threads alone, by what else they are; in order of first
    sight."""
    several = {key: len({t["parameters"].get(key) for t in trials}) > 1 for key in ("operations",)}
    several["bind"] = len({t["bind"] for t in trials}) > 1
    groups: dict[str, list[Row]] = {}
    for t in trials:
        of = {**t["parameters"], "bind": t["bind"]}
        name = t["variant"] + (f": {of['lock']}" if "lock" in of else "")
        if several["operations"]:
            name += ", fixed work" if of["operations"] else ", fixed time"
        if several["bind"]:
            name += f", {of['bind']}"
        groups.setdefault(name, []).append(t)
    yield from groups.items()


def slowdowns(trials: Sequence[Row]) -> list[Row]:
    """A row for each operation and number of threads: `by` layout, what it takes to what is
    padded."""
    lines: dict[tuple[Any, ...], Row] = {}
    of_id = {t["id"]: t for t in trials}
    for t in sorted(trials, key=lambda t: t["place"]):
        for ratio in t["ratios"]:
            if (ratio["of"], ratio["to"]) not in COMPARED or ratio["value"] is None:
                continue
            p = t["parameters"]
            key = (
                t["whole"],
                t["variant"],
                p.get("lock"),
                p.get("operations"),
                t["bind"],
                t["threads"],
            )
            line = lines.setdefault(
                key, {"whole": t["whole"], "trial": t, "threads": t["threads"], "by": {}}
            )
            low, high = ratio.get("ci") or (None, None)
            other = of_id.get(ratio["trial"], t)
            line["by"][ratio["of"]] = {
                **graver(t, other),
                "value": ratio["value"],
                "low": low,
                "high": high,
            }
    for name, group in panels_of([line["trial"] for line in lines.values()]):
        for line in lines.values():
            if line["trial"] in group:
                line["name"] = name
    return list(lines.values())


def sentence(lines: Sequence[Row], layout: str) -> str:
    """Of one run, at the threads of which it speaks: add 3.1 (2.9 to 3.3); lock: mutex 12 (11 to
    13)."""
    most = most_threads(lines)
    own = [line for line in lines if layout in line["by"] and line["threads"] == most]
    return (
        "; ".join(f"{line['name']} {times(line['by'][layout])}" for line in own) if most > 1 else ""
    )


def most_threads(lines: Sequence[Row]) -> int:
    """The most that had a CPU each; where none had, the most."""
    alone = [line["threads"] for line in lines if not line["trial"]["oversubscribed"]]
    return max(alone or [line["threads"] for line in lines], default=0)


def section(trials: Sequence[Row], machine: Row) -> Row:
    """Of one run: what stands above and between its pictures."""
    lines = slowdowns(trials)
    finding = padding.findings(trials)
    return {
        "most": most_threads(lines),
        "dense": sentence(lines, "dense"),
        "shared": sentence(lines, "shared"),
        "padding": finding,
        "padding_verdict": padding.verdict(finding, padding.line_size(machine)) if finding else "",
    }
