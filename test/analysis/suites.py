# SPDX-License-Identifier: Apache-2.0
"""Simulated runs of a whole suite, for tests of comparisons: logarithms of many metrics, with
properties of real records: runs that differ as a whole, a drift from run to run, metrics of one
kind that move together, spreads from 0.1 % to 10 %, rare disturbed values, two modes, unknown
values."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

KINDS = {"latency": 40, "numa": 16, "sharing": 24, "core": 2, "work": 30, "rate": 8}
NAMES = [kind for kind, n in KINDS.items() for _ in range(n)]
CORE = 5  # a metric that depends only on the core: latency of the L1
BANDWIDTH = 45


def runs(rng: np.random.Generator, n: int) -> Array:
    """A row for each of n runs in order."""
    steps = np.zeros(n)
    for i in range(1, n):
        steps[i] = 0.7 * steps[i - 1] + rng.normal(0, 0.01)
    y = np.empty((n, len(NAMES)))
    column = 0
    for many in KINDS.values():
        common = rng.normal(0, 0.01, n) + steps * rng.normal()
        spread = np.exp(rng.normal(np.log(0.01), 1.0, many))
        own = rng.standard_t(4, (n, many)) * spread
        y[:, column : column + many] = own + common[:, None] * rng.uniform(0, 1, many)
        column += many
    y[:, CORE] = rng.normal(0, 0.01, n)
    y[:, BANDWIDTH] = rng.normal(0, 0.02, n)
    two = rng.choice(len(NAMES), 8, replace=False)
    two = two[(two != CORE) & (two != BANDWIDTH)]
    y[:, two] += 0.2 * (rng.random((n, len(two))) < 0.3)
    y[rng.random(y.shape) < 0.01] += 0.3
    lacking = rng.random(y.shape) < 0.01
    lacking[:, [CORE, BANDWIDTH]] = False
    y[lacking] = np.nan
    return y


def halves(rng: np.random.Generator, y: Array) -> tuple[Array, Array]:
    """The runs, divided into two sides at random."""
    order = rng.permutation(len(y))
    return y[order[: len(y) // 2]], y[order[len(y) // 2 :]]
