# SPDX-License-Identifier: Apache-2.0
"""Reads the switch of each node from a file, and finds slow switches: pairs of nodes across or
within them are slow.

Two switches form a pair, as two nodes do: its value is the median over the pairs between their
nodes, and the rule for nodes (cluster/fabric.py) finds the slow ones, level by level from the top
of the tree. What a slow switch costs is subtracted from the values of its pairs of nodes; else each
of its nodes would look slow, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..base import units
from ..records.sources import BadInput
from . import fabric, known
from .components import NETWORK
from .fabric import METRICS, Network
from .rule import Array, Whole
from .sick import SICK, Finding

Level = Mapping[str, str]  # the switch of each node
LEAST_NODES = 3  # of a switch that is judged: with two, one slow node would decide
LEAST_SWITCHES = 3
EXAMPLES = "'n[001-004] s1', or lines of SLURM's topology.conf (SwitchName=s1 Nodes=n[001-004])"


# ---- the file ----


def read(file: Path) -> list[Level]:
    """The levels of the tree, the top switches first."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise BadInput(f"{file}: cannot be read: {why}") from error
    nodes: dict[str, str] = {}
    above: dict[str, str] = {}
    for at, line in _lines(file, text):
        if "=" in line:
            _add_switch(at, line, nodes, above)
        else:
            words = re.split(r"\s+|\s*,\s*(?![^\[]*\])", line)
            if len(words) != 2:
                raise BadInput(f"{at}: {line[:60]!r}: expected {EXAMPLES}")
            _add(at, nodes, words[0], words[1])
    if not nodes:
        raise BadInput(f"{file}: names no node; expected {EXAMPLES}")
    levels = _levels(file, nodes, above)
    if not levels:
        raise BadInput(f"{file}: names one switch for all nodes; expected several, to compare")
    return levels


def _lines(file: Path, text: str) -> Iterator[tuple[str, str]]:
    """Lines without comments; one that ends in a backslash goes on in the next one."""
    held, first = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        first = first if held else number
        held += line.partition("#")[0].rstrip()
        if held.endswith("\\"):
            held = held[:-1]
        elif held := held.strip():
            yield f"{file}:{first}", held
            held = ""
    if held.strip():
        yield f"{file}:{first}", held.strip()


def _add_switch(at: str, line: str, nodes: dict[str, str], above: dict[str, str]) -> None:
    """A line of topology.conf; LinkSpeed, which SLURM does not use either, is skipped."""
    own = {}
    for word in line.split():
        key, equal, value = word.partition("=")
        if not equal or key.lower() not in ("switchname", "nodes", "switches", "linkspeed"):
            raise BadInput(f"{at}: {word[:60]!r}: expected SwitchName=, Nodes=, Switches=")
        own[key.lower()] = value
    name = own.get("switchname")
    below = [key for key in ("nodes", "switches") if own.get(key)]
    if not name or len(below) != 1:
        raise BadInput(f"{at}: expected SwitchName=, and either Nodes= or Switches=")
    _add(at, nodes if below == ["nodes"] else above, own[below[0]], name)


def _add(at: str, to: dict[str, str], names: str, switch: str) -> None:
    for name in known.hosts(names, at):
        if to.setdefault(name, switch) != switch:
            raise BadInput(f"{at}: {name} is below {to[name]} and {switch}; expected one switch")


def _levels(file: Path, nodes: Mapping[str, str], above: Mapping[str, str]) -> list[Level]:
    chains = {leaf: _chain(file, leaf, above) for leaf in {*nodes.values()}}
    most = max(len(chain) for chain in chains.values())
    levels: list[Level] = []
    for up in range(most - 1, -1, -1):
        own = {node: chains[leaf][up] for node, leaf in nodes.items() if len(chains[leaf]) > up}
        if len({*own.values()}) > 1:  # a switch above all nodes tells nothing
            levels.append(own)
    return levels


def _chain(file: Path, leaf: str, above: Mapping[str, str]) -> list[str]:
    """A switch and those above it."""
    chain = [leaf]
    while (up := above.get(chain[-1])) is not None:
        if up in chain:
            raise BadInput(f"{file}: switch {up} is below itself; expected a tree")
        chain.append(up)
    return chain


# ---- what is slow ----


@dataclass
class _Grouped:
    """Pairs of nodes by the switches of both."""

    names: list[str]
    # The numbers of each pair's two switches, the lower one in a; -1: none, or one that is small.
    a: Whole
    b: Whole

    @property
    def across(self) -> Array:
        return np.asarray((self.a >= 0) & (self.a != self.b))

    @property
    def within(self) -> Array:
        return np.asarray((self.a >= 0) & (self.a == self.b))


def judge(network: Network, levels: Sequence[Level]) -> tuple[list[Finding], Network, list[str]]:
    """Findings on switches; the network without what they explain; notes."""
    if not network.nodes:
        return [], network, []
    lacking = [n for n in network.nodes if not any(of(n, level) for level in levels)]
    if len(lacking) == len(network.nodes):
        raise BadInput(f"--group: names no node of these records, such as {lacking[0]}")
    found: dict[tuple[str, str], list[str]] = {}
    y = dict(network.y)
    for metric in fabric.PREEMPTED if network.noisy else fabric.QUIET:
        for level in levels:
            y[metric] = _explained(network, _grouped(network, level), metric, y[metric], found)
    findings = [
        Finding(SICK, f"switch {name}", NETWORK, reason=f"{what} ({', '.join(own)})")
        for (name, what), own in found.items()
    ]
    notes = []
    if lacking:
        are = "has" if len(lacking) == 1 else "have"
        notes.append(f"{units.some(lacking, 3)} {are} no switch in the file of --group")
    if all(len(_grouped(network, level).names) < LEAST_SWITCHES for level in levels):
        notes.append("no switch is judged: that needs 3 switches with 3 measured nodes each")
    return findings, replace(network, y=y), notes


def of(node: str, level: Level) -> str:
    """The switch of a node, by its name with or without the domain."""
    return level.get(node) or level.get(node.partition(".")[0], "")


def _grouped(network: Network, level: Level) -> _Grouped:
    each = [of(node, level) for node in network.nodes]
    names = sorted({s for s in each if s and each.count(s) >= LEAST_NODES})
    place = {name: i for i, name in enumerate(names)}
    number = np.array([place.get(name, -1) for name in each])
    ends = np.stack([number[network.a], number[network.b]])
    return _Grouped(names, ends.min(0), ends.max(0))


def _explained(
    network: Network, of: _Grouped, metric: str, y: Array, found: dict[tuple[str, str], list[str]]
) -> Array:
    """The values without what slow switches cost; adds these switches to `found`."""
    if len(of.names) < LEAST_SWITCHES:
        return y
    y = y.copy()
    between = _between(network, of, metric, y)
    parts = fabric.parts_of(between, metric)
    for i in parts.slow_nodes:
        name = between.nodes[i]
        _add_finding(found, name, "pairs across it are slow", metric, parts.node[i])
        one = of.names.index(name)
        y[of.across & ((of.a == one) | (of.b == one))] -= parts.node[i]
    for i in parts.slow_pairs:
        ends = [of.names.index(between.nodes[e[i]]) for e in (between.a, between.b)]
        name = " - ".join(of.names[e] for e in ends)
        _add_finding(found, name, "pairs between them are slow", metric, parts.pair[i])
        y[(of.a == min(ends)) & (of.b == max(ends))] -= parts.pair[i]
    for one, part in _slow_within(network, of, metric, y):
        _add_finding(found, of.names[one], "pairs within it are slow", metric, part)
        y[of.within & (of.a == one)] -= part
    for chosen in (of.across, of.within):  # a way through more switches takes longer
        if np.isfinite(y[chosen]).any():
            y[chosen] -= np.nanmedian(y[chosen])
    return y


def _add_finding(
    found: dict[tuple[str, str], list[str]], name: str, what: str, metric: str, part: float
) -> None:
    found.setdefault((name, what), []).append(fabric.told(metric, METRICS[metric], part))


def _between(network: Network, of: _Grouped, metric: str, y: Array) -> Network:
    """A network whose nodes are the switches."""
    own = of.across & np.isfinite(y)
    keys, place = np.unique(of.a[own] * len(of.names) + of.b[own], return_inverse=True)
    order = np.argsort(place, kind="stable")
    parts = np.split(y[own][order], np.cumsum(np.bincount(place, minlength=len(keys)))[:-1])
    middle = np.array([np.median(part) for part in parts if len(part)])
    a, b = np.divmod(keys, len(of.names))
    return Network(of.names, a, b, {metric: middle}, network.noisy)


def _slow_within(
    network: Network, of: _Grouped, metric: str, y: Array
) -> Iterator[tuple[int, float]]:
    """Switches whose own pairs are slow: further from the usual than the healthy half of switches
    differs. Lower quartiles are compared, since in a small switch one slow node has half of the
    pairs."""
    middle = {
        i: float(np.quantile(own, 0.25, method="lower"))
        for i in range(len(of.names))
        if len(own := y[of.within & (of.a == i) & np.isfinite(y)])
    }
    order = sorted(middle, key=lambda i: middle[i])
    if len(order) < LEAST_SWITCHES:
        return
    usual = float(np.median([*middle.values()]))
    least = fabric.least_of(network, metric)[0]
    half = order[: len(order) // 2 + 1]
    apart = middle[half[-1]] - middle[half[0]]  # of the faster half, which is healthy
    for i in order[len(half) :]:
        if middle[i] - usual > max(least, 4 * apart):
            yield i, middle[i] - usual
