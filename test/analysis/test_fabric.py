# SPDX-License-Identifier: Apache-2.0
"""Slow parts of a network: nodes and pairs planted in rows of fabric are named, and no others."""

import json
import random
from collections.abc import Container
from typing import Any, Optional

import numpy as np
import pytest
from locus_analysis.cluster import fabric
from locus_analysis.cluster.sick import SICK, UNJUDGED, WRONG
from some import some

US, GBS = 1e-6, 1e9


def lines(
    n: int,
    slow: Container[int] = (),
    pairs: Container[tuple[int, int]] = (),
    rounds: Optional[int] = None,
    ranks_each: int = 1,
    status: str = "ok",
    seed: int = 1,
    factor: float = 2.4,
) -> list[str]:
    """Rows of n nodes: those in `slow` are slower to all by the factor, and `pairs` to each other.
    `rounds`: how many others a node meets, instead of all."""
    dice = random.Random(seed)
    ranks = n * ranks_each
    rows = []
    for a in range(ranks):
        others = [
            b for b in range(a + 1, ranks) if rounds is None or 2 * min(b - a, n - b + a) <= rounds
        ]
        node = a // ranks_each
        far = [
            factor ** ((node in slow) + (b // ranks_each in slow))
            * (factor if (node, b // ranks_each) in pairs else 1)
            * (0.2 if node == b // ranks_each else 1)
            * dice.lognormvariate(0, 0.03)
            for b in others
        ]
        row = {
            "type": "row",
            "run": "r",
            "trial": "t",
            "rank": a,
            "host": f"n{node + 1:04}",
            "node": node * ranks_each,
            "with": others,
            "latency": [2 * US * f for f in far],
            "latency-least": [1.8 * US * f for f in far],
            "bandwidth": [12 * GBS / f**0.1 for f in far],
        }
        rows.append(json.dumps(row))
    trial = {"type": "trial", "run": "r", "id": "t", "benchmark": "fabric", "variant": "pairs"}
    return [*rows, json.dumps({**trial, "status": status, "reasons": ["why"]})]


def told(*arguments: Any, **more: Any) -> set[tuple[str, str]]:
    return {(f.host, f.reason) for f in fabric.judge(fabric.of_lines(lines(*arguments, **more)))}


@pytest.mark.parametrize("n", [3, 5, 8, 13, 40])
def test_a_healthy_network_has_no_findings(n: int) -> None:
    for seed in range(20):
        assert told(n, seed=seed) == set()


@pytest.mark.parametrize("n", [3, 4, 7, 8, 9, 40])
def test_a_slow_node_is_named_alone(n: int) -> None:
    for seed in range(10):
        found = told(n, slow={1}, seed=seed)
        assert [host for host, _ in found] == ["n0002"]
        assert all("slow to all (latency 2." in said for _, said in some(found))


@pytest.mark.parametrize("n", [3, 4, 7, 8, 9, 40])
def test_a_slow_pair_is_named_alone(n: int) -> None:
    for seed in range(10):
        ((host, said),) = told(n, pairs={(0, 2)}, seed=seed)
        assert host == "n0001 - n0003" and said.startswith("slow (latency 2.")


def test_nodes_and_pairs_beside_each_other() -> None:
    found = told(30, slow={3, 17}, pairs={(5, 9), (3, 4)}, factor=3)
    assert {host for host, _ in found} == {"n0004", "n0018", "n0006 - n0010"}


def test_rounds_are_enough() -> None:
    found = told(100, slow={41}, pairs={(7, 9)}, rounds=16)
    assert {host for host, _ in found} == {"n0042", "n0008 - n0010"}


@pytest.mark.parametrize(
    ("n", "ranks_each", "said"), [(2, 1, "1 pair of nodes"), (1, 3, "no pair of nodes")]
)
def test_fewer_than_three_nodes_cannot_be_judged(n: int, ranks_each: int, said: str) -> None:
    """Two nodes have nothing to be compared with; ranks of one node use no network."""
    network = fabric.of_lines(lines(n, ranks_each=ranks_each))
    (finding,) = fabric.judge(network)
    assert (finding.verdict, finding.host) == (UNJUDGED, "network")
    assert finding.reason == f"fabric: {said}; at least 3 nodes are needed"


def test_pairs_without_values_cannot_be_judged() -> None:
    """Such as those of a run that was cut off."""
    unknown = json.loads(lines(3)[0])
    unknown = {**unknown, **{metric: [None] * 2 for metric in fabric.METRICS}}
    network = fabric.of_lines([json.dumps(unknown), *lines(3)[1:]])
    (finding,) = fabric.judge(network)
    assert finding.reason == "fabric: 1 pair measured, 3 needed"


def test_one_rank_beside_other_benchmarks_is_no_network() -> None:
    """`locus-mpi suite` with one rank measures loopback, and that is no reason to judge nothing."""
    loopback = {"type": "trial", "run": "r", "id": "t", "benchmark": "fabric", "status": "ok"}
    network = fabric.of_lines([json.dumps({**loopback, "variant": "loopback"})])
    assert not fabric.judge(network)
    (finding,) = fabric.judge(network, alone=True)
    assert finding.verdict == UNJUDGED


def test_pairs_on_one_node_are_left_out() -> None:
    network = fabric.of_lines(lines(8, slow={2}, ranks_each=2))
    assert len(network.nodes) == 8 and len(network.a) == 28
    assert [f.host for f in fabric.judge(network)] == ["n0003"]


def test_preempted_ranks_are_named_only_for_more_than_the_scheduler() -> None:
    assert told(8, slow={2}, status="noisy") == set()
    ((host, said),) = told(8, slow={2}, status="noisy", factor=40)
    assert host == "n0003" and "latency 40 times" in said


def test_a_wrong_message_is_told() -> None:
    (finding,) = fabric.judge(fabric.of_lines(lines(4, status="wrong")))
    assert (finding.verdict, finding.reason) == (WRONG, "why")


def test_very_many_pairs_are_counted() -> None:
    found = fabric.judge(fabric.of_lines(lines(64, pairs={(2 * i, 2 * i + 1) for i in range(30)})))
    assert len(found) == fabric.NAMED + 1 and all(f.verdict == SICK for f in some(found))
    assert found[-1].reason == "and 10 more pairs of nodes"


def test_parts_add_up() -> None:
    network = fabric.of_lines(lines(12, slow={4}, pairs={(6, 7)}))
    node, pair = fabric.polished(network, network.y["latency"])
    total = network.y["latency"] - node[network.a] - node[network.b] - pair
    assert np.ptp(total) < 1e-9
    assert np.exp(node[4]) == pytest.approx(2.4, rel=0.03)
    assert fabric.pair_name(network, int(np.argmax(pair))) == "n0007 - n0008"
