# SPDX-License-Identifier: Apache-2.0
"""A machine as a picture: its nodes, caches and TLBs, with the times that were measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Optional

from ..base import units
from ..insight import evidence
from ..insight.tlb import reported_tlb
from ..pictures.machine import CACHE, CORE, MEMORY, TLB, Box, MachinePicture, Row
from ..records import database
from ..records.database import BadInput, CannotWrite
from ..records.lines import Cache, Node
from . import content, memory_lines, node_lines, summary
from .content import CERTAIN, Host, Line

UNMEASURED = (
    "No times: locus suite --output run.jsonl measures them, locus topology --picture FILE.svg"
    " run.jsonl shows them."
)


def write(files: Sequence[Path], picture: Path) -> list[str]:
    """Of the last run, with the last values."""
    given = database.read(files, samples=False)
    names = summary.hosts(given.db)
    if len(names) != 1:
        raise BadInput(f"a picture is of one host, and these records are of {len(names)}")
    (host,) = summary.machines(database.tables(given))
    try:
        picture.write_text(of(host).svg(), encoding="utf-8")
    except OSError as error:
        raise CannotWrite(f"{picture}: cannot be written: {error.strerror or error}") from error
    return given.notes


def of(host: Host) -> MachinePicture:
    lines = {line.name: line for line in memory_lines.caches(host) if line.name}
    rates = [line for line in node_lines.bandwidth(host) if line.numbers]
    notes = [f"{line.name}: {line.sentence} · {line.sure}" for line in rates]
    if not any(line.numbers for line in lines.values()) and not rates:
        notes.append(UNMEASURED)
    return MachinePicture(
        " · ".join(summary.title(host)[1:4]),
        [_box(node) for node in host.nodes],
        list(_rows(host, lines)),
        _times(host),
        notes,
    )


def _box(node: Node) -> Box:
    memory = f"{units.size(node['memory'])} of memory" if node["memory"] else "memory unknown"
    cpus = f"CPUs {units.ranges(sorted(node['cpus']))}" if node["cpus"] else "no CPUs"
    return Box(f"node {node['node']}", [memory, cpus])


def _rows(host: Host, lines: dict[str, Line]) -> Iterator[Row]:
    """What a node has, from its cores to its memory; counts are of the whole machine."""
    topology, page = host.machine["topology"], host.machine["memory"]["page"]
    nodes = max(1, sum(bool(node["cpus"]) for node in host.nodes))
    cores = max(1, topology["cores"] // nodes)
    smt = topology["smt"] or 1
    yield Row(CORE, "core" + (f" of {smt} threads" if smt > 1 else ""), cores)
    for level, entries in sorted(reported_tlb(host.machine).items()):
        told = f"L{level} TLB, {int(max(entries))} x {units.size(page)}"
        yield Row(TLB, told, cores, _reach(lines.get("TLB"), f"L{level} TLB"))
    for cache in sorted(topology["caches"] or [], key=lambda c: c["level"]):
        if cache["type"] != "instruction":
            name = f"L{cache['level']}"
            yield Row(CACHE, _cache(cache), max(1, cache["count"] // nodes), _time(lines.get(name)))
    yield Row(MEMORY, "memory", 1, _time(lines.get("memory")))


def _cache(cache: Cache) -> str:
    name = f"L{cache['level']}{'d' if cache['type'] == 'data' else ''}"
    return f"{name}, {units.size(cache['size'])}"


def _time(line: Optional[Line]) -> str:
    """1.07 ns, 3.9 cycles"""
    if not line or "time" not in line.numbers:
        return ""
    cycles = line.numbers.get("cycles")
    told = [content.time(line.numbers["time"])]
    told += [] if cycles is None else [f"{units.number(cycles)} cycles"]
    return ", ".join(told) + (f" ({line.sure})" if line.sure != CERTAIN else "")


def _reach(line: Optional[Line], level: str) -> str:
    pages = line.numbers.get(level) if line else None
    return f"found: {pages:.0f} pages" if pages else ""


def _times(host: Host) -> list[list[Optional[str]]]:
    """Node x node; nothing where it was not measured, or may be noise."""
    cells = {
        (c["threads_order"], c["memory_order"]): node_lines.shown(c, "s")
        for c in node_lines.cells(host, "latency")
        if not evidence.is_noisy(c)
    }
    nodes = range(len(host.nodes))
    if not cells or len(nodes) < 2:
        return []
    return [[cells.get((a, b)) for b in nodes] for a in nodes if host.nodes[a]["cpus"]]
