# SPDX-License-Identifier: Apache-2.0
"""`make check-scale`: the rule of `sick` on simulated clusters (fleet.py) of 100 to 10,000 nodes,
with fixed seeds. Prints how many healthy nodes are called sick and how many planted faults are
found, and fails if one of them is worse than doc/sick.md says."""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
import test_sick
from fleet import NAMES, Fleet, columns

SEED = 5000  # of the first cluster with a fault
PLANTED = 2  # nodes of a cluster


class Healthy(NamedTuple):
    nodes: int
    runs: int
    campaigns: int
    most: float  # nodes called sick in a campaign


class Fault(NamedTuple):
    name: str
    component: str
    share: float  # of the component's metrics
    change: float  # of times
    least: tuple[int, int]  # found of 100, in clusters of 100 and of 1000 nodes


HEALTHY = (
    Healthy(1000, 1, 100, 0.05),
    Healthy(1000, 3, 100, 0.05),
    Healthy(10000, 3, 4, 1),
)
FAULTS = (
    *(Fault(name, *fault, (95, 95)) for name, fault in test_sick.FAULTS.items()),
    Fault("bandwidth -12 % in 2 of 7 metrics", "memory bandwidth", 0.29, 0.136, (45, 35)),
    Fault("no huge pages, 10 %", "huge pages", 1.0, 0.10, (90, 90)),
    Fault("clock -5 %", "clock", 1.0, 0.0526, (95, 95)),
    Fault("clock -4 %", "clock", 1.0, 0.0417, (90, 90)),
    Fault("clock -3 %", "clock", 1.0, 0.031, (35, 15)),
)


def found(fault: Fault, nodes: int) -> int:
    """Shares in per cent of planted nodes that are suspected, and that are confirmed."""
    column = [*dict.fromkeys(NAMES)].index(fault.component)
    total = 0
    for seed in range(100 // PLANTED):
        fleet = Fleet.of(nodes, SEED + seed)
        fleet.plant(np.arange(PLANTED), columns(fault.component, fault.share), fault.change)
        _, sick = test_sick.campaign(fleet, 3)
        total += int(sick[:PLANTED, column].sum())
    return total


def main() -> int:
    failed = 0
    for nodes, runs, campaigns, most in HEALTHY:
        suspected, named = test_sick.named_healthy(nodes, runs, campaigns)
        is_worse = named / campaigns > most
        failed += is_worse
        print(
            f"{'not ' * is_worse}ok - {nodes} healthy nodes, {runs} runs each, {campaigns}"
            f" campaigns: {suspected / campaigns:.3g} suspects and {named / campaigns:.3g} called"
            " sick in each",
            flush=True,
        )
    for fault in FAULTS:
        for nodes, least in zip((100, 1000), fault.least):
            n = found(fault, nodes)
            failed += n < least
            print(
                f"{'not ' * (n < least)}ok - {fault.name}, {nodes} nodes: found {n} of 100,"
                f" {least} needed",
                flush=True,
            )
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
