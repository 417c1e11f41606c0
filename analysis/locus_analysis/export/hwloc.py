# SPDX-License-Identifier: Apache-2.0
"""Measured latencies and bandwidths of a machine's memory as an XML file of hwloc (2.3 or later):
memory attributes, from the CPUs of a node to each node, and matrices of distances."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Optional, TextIO
from xml.sax.saxutils import quoteattr

from ..cluster import components
from ..compare import observations
from ..compare.observations import FullTrial, Run, Side
from ..records import database
from ..records.database import BadInput
from ..records.lines import Machine, Node
from .formats import one_host

MIB = 1 << 20


class Kind(NamedTuple):
    """A kind of values, and how hwloc shows it: attributes (name, flags), a matrix (name, kind)."""

    attributes: tuple[tuple[str, int], ...]
    matrix: tuple[str, int]
    of: Callable[[float], float]  # from base units: hwloc has whole ns and MiB/s
    metric: str
    component: str


# Flags: higher (1) or lower (2) is better, an initiator is needed (4). Kinds of matrices: given by
# a user (2), latencies (4) or bandwidths (8). Both trials only read.
KINDS = (
    Kind(
        (("Latency", 6), ("ReadLatency", 6)),
        ("LocusLatency", 6),
        lambda seconds: seconds * 1e9,
        "time",
        "memory latency",
    ),
    Kind(
        (("Bandwidth", 5), ("ReadBandwidth", 5)),
        ("LocusBandwidth", 10),
        lambda rate: rate / MIB,
        "bandwidth",
        "memory bandwidth",
    ),
)
BENCHMARKS = {"time": "latency", "bandwidth": "numa"}
Values = dict[tuple[int, int], float]  # by the nodes of the CPUs and of the memory


def write(files: Sequence[Path], to: TextIO) -> list[str]:
    """Writes the last values of one host."""
    given = database.read(files, samples=False)
    db = database.trials(given)
    side = observations.of(db, "these records").without_noisy()
    one_host("hwloc", side.hosts)
    machine = database.machines(db)[side.runs[-1]["run"]]
    nodes = machine["topology"]["nodes"]
    found = [_values(side, kind, nodes) for kind in KINDS]
    if not any(found):
        raise BadInput(
            "these records have no latency of memory, nor its bandwidth, that is not noisy: measure"
            " them with locus latency --variant matrix and locus numa --variant matrix; on a"
            " machine with one node, with locus suite"
        )
    for line in _document(machine, side.runs[-1], found):
        to.write(line + "\n")
    return given.notes


# ---- values ----


def _values(side: Side, kind: Kind, nodes: Sequence[Node]) -> Values:
    """Values of the matrix variant; with one node, of the trial that shows the component."""
    found: Values = {}
    columns = {key: i for i, key in enumerate(side.metrics)}
    for trial in _trials(side, kind, len(nodes) == 1):
        ends = _ends(trial, nodes)
        column = columns.get((trial["id"], kind.metric))
        if ends is None or column is None or ends in found:
            continue
        values = side.values[:, column]
        known = values[values == values]  # NaN where a run has none
        if known.size:
            found[ends] = kind.of(float(known[-1]))
    return found


def _trials(side: Side, kind: Kind, alone: bool) -> list[FullTrial]:
    """The best first: with most threads, the largest working set."""
    own = [t for t in side.trials.values() if t["benchmark"] == BENCHMARKS[kind.metric]]
    if alone:
        caches = components.caches_of(side.runs[-1])
        own = [t for t in own if _component(t, caches) == kind.component]
    else:
        own = [t for t in own if t["variant"] == "matrix"]
    return sorted(own, key=lambda t: (-(t["threads"] or 1), -float(t["parameters"].get("size", 0))))


def _component(trial: FullTrial, caches: components.Caches) -> Optional[str]:
    fit = components.fit(components.trial_of(trial), caches)
    return fit.component if fit else None


def _ends(trial: FullTrial, nodes: Sequence[Node]) -> Optional[tuple[int, int]]:
    """The nodes of CPUs and memory. `from` is a layout such as 8+0: threads of each node."""
    if len(nodes) == 1:
        return nodes[0]["node"], nodes[0]["node"]
    threads = str(trial["parameters"].get("from", "")).split("+")
    own = [i for i, n in enumerate(threads) if n not in ("", "0")]
    known = [node["node"] for node in nodes]
    to = str(trial["parameters"].get("to", ""))
    if len(own) != 1 or own[0] >= len(known) or not to.isdigit() or int(to) not in known:
        return None
    return known[own[0]], int(to)


# ---- the document ----


def _document(machine: Machine, run: Run, found: Sequence[Values]) -> Iterator[str]:
    nodes = sorted(machine["topology"]["nodes"], key=lambda n: n["node"])
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<!DOCTYPE topology SYSTEM "hwloc2.dtd">'
    yield '<topology version="2.0">'
    yield from _tree(nodes, machine, run)
    for kind, values in zip(KINDS, found):
        yield from _matrix(kind, values, nodes)
    for kind, values in zip(KINDS, found):
        for name, flags in kind.attributes:
            yield from _attribute(name, flags, values, nodes)
    yield "</topology>"


def _tree(nodes: Sequence[Node], machine: Machine, run: Run) -> Iterator[str]:
    """Machine, nodes and CPUs. The record does not tell which CPUs are a core's."""
    cpus = [cpu for node in nodes for cpu in node["cpus"]]
    own, all_nodes = [n for n in nodes if n["cpus"]], [n["node"] for n in nodes]
    apart = [n for n in nodes if not n["cpus"]]
    sets = _sets(cpus, all_nodes)
    allowed = f' allowed_cpuset="{_set(cpus)}" allowed_nodeset="{_set(all_nodes)}"'
    yield f'<object type="Machine" os_index="0" {sets}{allowed} gp_index="1">'
    for name, value in (
        ("Backend", "locus"),
        ("HostName", run["host"]),
        ("CPUModel", run["cpu"]),
        ("LocusStarted", run["started"]),
    ):
        yield f"<info name={quoteattr(name)} value={quoteattr(value)}/>"
    for node in apart:
        yield _memory(node, cpus)
    packages = machine["topology"]["packages"] == len(own)
    for i, node in enumerate(own):
        kind = f'type="Package" os_index="{i}"' if packages else 'type="Group" kind="0" subkind="0"'
        near = [node["node"], *(n["node"] for n in apart)]
        yield f'<object {kind} {_sets(node["cpus"], near)} gp_index="{_index("group", i)}">'
        yield _memory(node, node["cpus"])
        for cpu in sorted(node["cpus"]):
            index = _index("cpu", cpu)
            yield f'<object type="PU" os_index="{cpu}" {_sets([cpu], near)} gp_index="{index}"/>'
        yield "</object>"
    yield "</object>"


def _memory(node: Node, cpus: Sequence[int]) -> str:
    sets = _sets(cpus, [node["node"]])
    index = _index("node", node["node"])
    size = node["memory"] or 0
    return (
        f'<object type="NUMANode" os_index="{node["node"]}" {sets} gp_index="{index}"'
        f' local_memory="{size}"/>'
    )


def _index(kind: str, number: int) -> int:
    """A number that no other object has; the machine has 1."""
    return 2 + 3 * number + ("group", "node", "cpu").index(kind)


def _sets(cpus: Sequence[int], nodes: Sequence[int]) -> str:
    told = {"cpuset": _set(cpus), "complete_cpuset": _set(cpus)}
    told.update(nodeset=_set(nodes), complete_nodeset=_set(nodes))
    return " ".join(f'{name}="{value}"' for name, value in told.items())


def _set(members: Sequence[int]) -> str:
    """As hwloc writes bitmaps: words of 32 bits, the last first."""
    bits = sum(1 << member for member in set(members))
    words: list[str] = []
    while bits or not words:
        words.append(f"0x{bits & 0xFFFFFFFF:08x}")
        bits >>= 32
    return ",".join(reversed(words))


def _matrix(kind: Kind, values: Values, nodes: Sequence[Node]) -> Iterator[str]:
    """Between the nodes with CPUs, if all of its cells are known."""
    own = [n["node"] for n in nodes if n["cpus"]]
    cells = [values.get((a, b)) for a in own for b in own]
    told = [str(round(cell)) for cell in cells if cell is not None]
    if len(own) < 2 or len(told) < len(cells):
        return
    name, number = kind.matrix
    head = f'type="NUMANode" nbobjs="{len(own)}" kind="{number}" name="{name}" indexing="os"'
    yield f"<distances2 {head}>"
    for tag, row in (("indexes", [str(n) for n in own]), ("u64values", told)):
        text = " ".join(row) + " "
        yield f'<{tag} length="{len(text)}">{text}</{tag}>'
    yield "</distances2>"


def _attribute(name: str, flags: int, values: Values, nodes: Sequence[Node]) -> Iterator[str]:
    if not values:
        return
    cpus = {n["node"]: n["cpus"] for n in nodes}
    yield f'<memattr name="{name}" flags="{flags}">'
    for (a, b), value in sorted(values.items()):
        if cpus[a]:
            target = f'target_obj_type="NUMANode" target_obj_gp_index="{_index("node", b)}"'
            source = f'initiator_cpuset="{_set(cpus[a])}"'
            yield f'<memattr_value {target} value="{round(value)}" {source}/>'
    yield "</memattr>"
