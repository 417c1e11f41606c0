# SPDX-License-Identifier: Apache-2.0
"""Simulated clusters of equal machines, for tests of `sick`: logarithms of the metrics of runs,
with the properties of real clusters.

- A host's own values: 0.6 % of scatter, half of its variance shared by a component's metrics; a
  quarter of the hosts have the tails of a t distribution with 4 degrees of freedom.
- Noise of runs: from 0.2 to 6 %, different for each metric; 0.1 to 0.3 % for the clock.
- A tenth of the metrics have a second mode, 10 % slower, in 3 of 10 runs.
- A metric of `cores` shows the slowest of 64 cores: the greatest of as many normal deviates, 0.3 %
  for each core, and for runs as above.
- In 2 of 100 runs a neighbour slows half of the components, each metric by 8 % on average.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

# Metrics of each component, as many as the quick suite has on two NUMA nodes.
KINDS = {
    **{"clock": 24, "L1": 8, "L2": 8, "L3": 8, "TLB": 8, "huge pages": 6, "memory latency": 4},
    **{"memory bandwidth": 7, "remote node": 4, "core to core": 2, "contended line": 8},
    **{"cores": 8, "threads": 22, "work": 48},
}
NAMES = [kind for kind, n in KINDS.items() for _ in range(n)]
KIND = np.repeat(np.arange(len(KINDS)), [*KINDS.values()])
HOST, TAILED, SLOW, RUNS_SLOW = 0.006, 0.25, 0.10, 0.3
NEAR, SLOWER = 0.02, 0.08
CORE = 0.003
SLOWEST = (2.2, 0.41)  # of 64 normal deviates: place and scale of a Gumbel distribution


def columns(kind: str, share: float = 1.0) -> Array:
    """The metrics of a component, or its last ones."""
    own = np.flatnonzero(np.array(NAMES) == kind)
    return own[len(own) - max(1, round(share * len(own))) :]


@dataclass
class Fleet:
    own: Array  # each host's own value, by host and metric
    noise: Array
    slow: Array  # whether the metric is in its slow mode
    rng: np.random.Generator

    @staticmethod
    def of(hosts: int, seed: int) -> Fleet:
        rng = np.random.default_rng(seed)
        tailed = (rng.random(hosts) < TAILED)[:, None]

        def drawn(n: int) -> Array:
            return np.where(tailed, rng.standard_t(4, (hosts, n)), rng.normal(size=(hosts, n)))

        own = HOST * np.sqrt(0.5) * (drawn(len(KINDS))[:, KIND] + drawn(len(NAMES)))
        cores = NAMES.index("cores") + np.arange(KINDS["cores"])
        own[:, cores] = CORE * rng.gumbel(*SLOWEST, (hosts, 1))
        noise = np.exp(rng.uniform(np.log(0.002), np.log(0.06), len(NAMES)))
        clock = KIND == 0
        noise[clock] = rng.uniform(0.001, 0.003, clock.sum())
        return Fleet(own, noise, (rng.random(len(NAMES)) < SLOW) & ~clock, rng)

    def plant(self, hosts: Any, metrics: Array, change: float) -> None:
        """Makes these hosts slower in a share of these metrics."""
        self.own[np.ix_(np.atleast_1d(hosts), metrics)] += np.log1p(change)

    def really(self, components: Any, least: Array) -> Array:
        """By host and component: whether the host is so much slower in two metrics. Such a host is
        not healthy, whether the fault was planted or came by chance."""
        found = []
        for name, effect in zip(components, least):
            own = np.sort(self.own[:, columns(name)], axis=1)
            at = np.median(own, axis=1) if name == "clock" else own[:, -2]
            found.append(at > effect)
        return np.stack(found, axis=1)

    def measure(self, hosts: Array, runs: int) -> Array:
        """Values by host, run and metric."""
        shape = (len(hosts), runs, len(NAMES))
        cores = np.array(NAMES) == "cores"
        deviate = self.rng.normal(size=shape)
        deviate[:, :, cores] = self.rng.gumbel(*SLOWEST, (*shape[:2], cores.sum()))
        y = self.own[hosts][:, None, :] + deviate * self.noise
        y += 0.1 * (self.slow & (self.rng.random(shape) < RUNS_SLOW))
        near = self.rng.random((len(hosts), runs, 1)) < NEAR
        hit = (self.rng.random((len(hosts), runs, len(KINDS))) < 0.5)[:, :, KIND]
        return np.asarray(y + near * hit * self.rng.exponential(SLOWER, shape))
