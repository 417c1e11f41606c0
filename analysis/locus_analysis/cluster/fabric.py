# SPDX-License-Identifier: Apache-2.0
"""Which nodes are slow to all others, and which pairs of nodes are slow to each other, by the rows
of `locus-mpi fabric`.

A value is a logarithm, greater is worse. Of 8 nodes or more it is the sum of what is common to all
pairs, the two nodes' parts and the pair's own part: parts are medians over a node's pairs, taken
away in turn until nothing is left (median polish, Tukey 1977; the matrix is symmetric). Of fewer
nodes, pairs above the widest gap are slow.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Optional

import duckdb
import numpy as np

from ..base import units
from ..records.database import column
from ..records.schema import Line
from . import rule
from .components import NETWORK
from .rule import Array, Whole
from .sick import SICK, UNJUDGED, WRONG, Finding

METRICS = {"latency": 1, "latency-least": 1, "bandwidth": -1}  # 1: more is worse
# Where ranks were preempted, the quickest message counts.
QUIET, PREEMPTED = ("latency", "bandwidth"), ("latency-least", "bandwidth")
LEAST = 3  # nodes, and pairs, that can be judged
POLISHED = 8  # nodes from which parts are told apart by medians
STEPS = 40
NODE, PAIR = float(np.log(1.25)), float(np.log(1.5))  # the least that is told
# ... where ranks were preempted, by metric
NOISY = {"latency-least": float(np.log(12)), "bandwidth": float(np.log(6))}
FAR = 6.0  # standard deviations of a node's part
FAR_PAIR = 8.0  # ... of a pair's: there are many more
NAMED = 20  # pairs

# Rows, then trials.
LINES_OF = """
SELECT json FROM (
	SELECT false AS behind, ordinal, o.line, json::VARCHAR AS json
	FROM parsed.other o JOIN kept USING (shard, run) WHERE type = 'row'
	UNION ALL
	SELECT true, ordinal, t.line, json_object('type', 'trial', 'run', run, 'id', id,
		'benchmark', benchmark, 'variant', variant, 'status', status, 'reasons',
		reasons)::VARCHAR
	FROM parsed.trial t JOIN kept USING (shard, run) WHERE benchmark = 'fabric')
ORDER BY behind, ordinal, line
"""


@dataclass
class _Row:
    """What a rank measured with others."""

    rank: int
    node: int
    host: str
    others: list[int]
    values: list[tuple[Optional[float], ...]]  # of each other, by METRICS


@dataclass
class Network:
    """The pairs of nodes of all records, medians over runs and ranks."""

    nodes: list[str]
    a: Whole
    b: Whole
    y: dict[str, Array]  # by metric, of each pair
    noisy: bool
    wrong: list[str] = field(default_factory=list)  # reasons
    variants: set[str] = field(default_factory=set)  # that were to be measured

    @property
    def head(self) -> str:
        if not self.nodes:
            return "network: no pair of nodes" if self.variants else ""
        return (
            f"network: {units.several(len(self.a), 'pair')} of"
            f" {units.several(len(self.nodes), 'node')}"
        )


@dataclass
class Parts:
    """A metric, taken apart."""

    node: Array
    pair: Array
    slow_nodes: Whole
    slow_pairs: Whole


# ---- what was measured ----


def read(db: duckdb.DuckDBPyConnection) -> Network:
    """Of a database that has the tables of trials."""
    return of_lines(column(db, LINES_OF))


def of_lines(lines: Iterable[bytes | str]) -> Network:
    """Of lines `row` and of their trials, which follow them."""
    rows: dict[tuple[str, str], list[_Row]] = {}
    found: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    noisy, wrong, variants = False, [], set()
    for text in lines:
        try:
            line = json.loads(text)
        except ValueError:
            continue
        key = line["run"], line.get("trial") or line.get("id") or ""
        if line["type"] == "row":
            rows.setdefault(key, []).append(_row(line))
        elif line["type"] == "trial" and line["benchmark"] == "fabric":
            variants.add(line["variant"])
            if line["status"] == "wrong":
                wrong += line["reasons"][:1]
            if line["variant"] == "pairs":
                noisy |= line["status"] == "noisy"
                _take(rows.get(key, []), found)
    return replace(_network(found), noisy=noisy, wrong=wrong, variants=variants)


def _row(line: Line) -> _Row:
    others = line.get("with") or []
    columns = (line.get(name) or [None] * len(others) for name in METRICS)
    return _Row(line["rank"], line["node"], line["host"], others, [*zip(*columns)])


def _take(rows: Sequence[_Row], found: dict[tuple[str, str], list[tuple[float, ...]]]) -> None:
    """Adds a trial's pairs of different nodes, by their names."""
    node_of = {row.rank: (row.node, row.host) for row in rows}
    names = _names({*node_of.values()})
    for row in rows:
        for other, values in zip(row.others, row.values):
            if other not in node_of or node_of[other][0] == row.node:
                continue
            a, b = sorted((names[node_of[row.rank]], names[node_of[other]]))
            found.setdefault((a, b), []).append(tuple(np.nan if v is None else v for v in values))


def _names(nodes: set[tuple[int, str]]) -> dict[tuple[int, str], str]:
    """Hosts, with a number where several have one name."""
    count: dict[str, int] = {}
    named = {}
    for node, host in sorted(nodes):
        count[host] = count.get(host, 0) + 1
        named[node, host] = host if count[host] == 1 else f"{host}#{count[host]}"
    return named


def _network(found: dict[tuple[str, str], list[tuple[float, ...]]]) -> Network:
    nodes = sorted({name for pair in found for name in pair}, key=_natural)
    place = {name: i for i, name in enumerate(nodes)}
    pairs = sorted(found)
    middle = np.array(
        [own[0] if len(own := found[pair]) == 1 else np.nanmedian(own, axis=0) for pair in pairs]
    ).reshape(-1, len(METRICS))
    with np.errstate(divide="ignore", invalid="ignore"):
        y = {name: sign * np.log(middle[:, i]) for i, (name, sign) in enumerate(METRICS.items())}
    a, b = (np.array([place[pair[i]] for pair in pairs], dtype=int) for i in range(2))
    return Network(nodes, a, b, y, False)


def _natural(name: str) -> tuple[int, str]:
    return len(name), name


# ---- what is slow ----


def parts_of(network: Network, metric: str) -> Parts:
    y = network.y[metric]
    if len(network.nodes) < POLISHED:
        return _by_gap(network, y, least_of(network, metric)[1])
    node, pair = polished(network, y)
    least, least_pair = least_of(network, metric)
    slow = np.flatnonzero(node > max(least, FAR * _scatter(node)))
    own = ~(np.isin(network.a, slow) | np.isin(network.b, slow))
    limit = max(least_pair, FAR_PAIR * _scatter(pair))
    return Parts(node, pair, slow, np.flatnonzero(own & (pair > limit)))


def least_of(network: Network, metric: str) -> tuple[float, float]:
    """That is told: of a node's part and of a pair's."""
    return (NOISY[metric],) * 2 if network.noisy else (NODE, PAIR)


def _scatter(x: Array) -> float:
    known = x[np.isfinite(x)]
    return rule.NORMAL * float(np.median(np.abs(known - np.median(known)))) if len(known) else 0


def polished(network: Network, y: Array) -> tuple[Array, Array]:
    """The parts of nodes and pairs."""
    n = len(network.nodes)
    rows, columns, known = _rows(network)
    middle = np.nanmedian(y)
    node = np.zeros(n)
    pair = y - middle
    for _ in range(STEPS):
        table = np.full(known.shape, np.nan)
        table[rows, columns] = np.concatenate([pair, pair])
        node += 0.5 * rule.medians(table)
        node -= np.median(node)
        pair = y - middle - node[network.a] - node[network.b]
        shift = np.nanmedian(pair)
        middle, pair = middle + shift, pair - shift
    return node, pair


def _rows(network: Network) -> tuple[Whole, Whole, Array]:
    """A place for each pair in the rows of both of its nodes, packed to the left."""
    ends = np.concatenate([network.a, network.b])
    order = np.argsort(ends, kind="stable")
    count = np.bincount(ends, minlength=len(network.nodes))
    first = np.concatenate([[0], np.cumsum(count)[:-1]])
    columns = np.empty(len(ends), dtype=int)
    columns[order] = np.arange(len(ends)) - first[ends[order]]
    return ends, columns, np.zeros((len(network.nodes), max(count.max(), 1)))


def _by_gap(network: Network, y: Array, least: float) -> Parts:
    """Pairs above the widest gap; a node all of whose pairs are there is the one that is slow."""
    known = np.flatnonzero(np.isfinite(y))
    none = np.array([], dtype=int)
    n = len(network.nodes)
    if len(known) < LEAST:
        return Parts(np.zeros(n), np.zeros(len(y)), none, none)
    order = known[np.argsort(y[known])]
    gaps = np.diff(y[order])
    at = int(np.argmax(gaps))
    within = y[order[at]] - y[order[0]]  # of those that are not slow
    usual = float(np.median(y[order[: at + 1]]))
    pair = y - usual
    if gaps[at] < max(least, 2 * within):
        return Parts(_least_parts(network, pair), pair, none, none)
    slow = order[at + 1 :]
    nodes = [
        i
        for i in range(n)
        if (of := np.flatnonzero((network.a == i) | (network.b == i))).size > 1
        and np.isin(of[np.isfinite(y[of])], slow).all()
    ]
    own = ~(np.isin(network.a[slow], nodes) | np.isin(network.b[slow], nodes))
    return Parts(_least_parts(network, pair), pair, np.array(nodes, dtype=int), slow[own])


def _least_parts(network: Network, pair: Array) -> Array:
    """The least of each node's pairs: it is slow to all by so much at least."""
    node = np.full(len(network.nodes), np.inf)
    for ends in (network.a, network.b):
        np.fmin.at(node, ends, pair)
    return np.where(np.isfinite(node), node, 0.0)


# ---- the verdict ----


def judge(network: Network, alone: bool = False) -> list[Finding]:
    """`alone`: the records have nothing else to judge."""
    nodes: dict[int, list[str]] = {}
    pairs: dict[int, list[str]] = {}
    for metric in PREEMPTED if network.noisy else QUIET:
        sign = METRICS[metric]
        if not np.isfinite(network.y[metric]).any():
            continue
        parts = parts_of(network, metric)
        for i in parts.slow_nodes:
            nodes.setdefault(int(i), []).append(told(metric, sign, parts.node[i]))
        for i in parts.slow_pairs:
            pairs.setdefault(int(i), []).append(told(metric, sign, parts.pair[i]))
    findings = [Finding(WRONG, "network", NETWORK, reason=reason) for reason in network.wrong]
    findings += [
        Finding(SICK, network.nodes[i], NETWORK, reason=f"slow to all ({', '.join(own)})")
        for i, own in nodes.items()
    ]
    known = {i: own for i, own in pairs.items() if not {network.a[i], network.b[i]} & nodes.keys()}
    findings += [
        Finding(SICK, pair_name(network, i), NETWORK, reason=f"slow ({', '.join(own)})")
        for i, own in [*known.items()][:NAMED]
    ]
    if len(known) > NAMED:
        more = f"and {len(known) - NAMED} more pairs of nodes"
        findings.append(Finding(SICK, "network", NETWORK, reason=more))
    if why := _unjudged(network, alone):
        findings.append(Finding(UNJUDGED, "network", NETWORK, reason=why))
    return findings


def _unjudged(network: Network, alone: bool) -> str:
    """Why nothing can be told; "": it can, or a single rank measured fabric beside other things."""
    shown = PREEMPTED if network.noisy else QUIET
    most = max(int(np.isfinite(network.y[metric]).sum()) for metric in shown)
    if len(network.nodes) < LEAST:
        if not (network.nodes or alone or network.variants - {"loopback"}):
            return ""
        pairs = units.several(len(network.a), "pair") if network.nodes else "no pair"
        return f"fabric: {pairs} of nodes; at least {LEAST} nodes are needed"
    return f"fabric: {units.several(most, 'pair')} measured, {LEAST} needed" if most < LEAST else ""


def pair_name(network: Network, pair: int) -> str:
    return f"{network.nodes[network.a[pair]]} - {network.nodes[network.b[pair]]}"


def told(metric: str, sign: int, part: float) -> str:
    return f"{metric.partition('-')[0]} {np.exp(sign * part):.2g} times the others'"
