# SPDX-License-Identifier: Apache-2.0
"""Which component of a machine a trial shows. The first line of the table that a trial fits says
it; a trial that fits none shows several components at once, and judges no node.

Working sets are compared with the caches of the machine's class. Latencies in caches that run at
the core's clock count in cycles, so that a slow clock is told once, as the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Optional

from ..records.rows import Parameter

if TYPE_CHECKING:
    from ..compare.observations import Run
    from ..compare.observations import Trial as Observed
    from ..records.lines import Cache

KiB = 1 << 10
NAMES = (
    *("clock", "L1", "L2", "L3", "TLB", "huge pages", "memory latency", "memory bandwidth"),
    *("remote node", "core to core", "contended line", "cores", "threads", "work"),
)
CORES = "cores"
# Between nodes, which a suite on each of them does not show (cluster/fabric.py).
NETWORK, FABRIC = "network", "fabric"


# Where these are slow, others are slow because of it.
CAUSES = ("clock", "huge pages")


class Caches(NamedTuple):
    """Bytes of the level that one CPU sees; 0: there is none."""

    l1: int
    l2: int
    l3: int

    @property
    def last(self) -> int:
        return max(self)


class Trial(NamedTuple):
    """What the table looks at."""

    benchmark: str
    variant: str
    parameters: Mapping[str, Parameter]
    threads: int


def trial_of(own: Observed) -> Trial:
    return Trial(own["benchmark"], own["variant"], own["parameters"], own["threads"] or 1)


class Fit(NamedTuple):
    component: str
    cycles: bool = False  # the time counts in cycles of the core


Pair = tuple[int, tuple[tuple[str, Parameter], ...]]  # threads, and parameters by name
Test = Callable[[Trial, Caches], bool]


def caches_of(run: Run) -> Caches:
    """The caches of a run's machine."""
    return caches(run["topology"]["caches"])


def caches(listed: Optional[Sequence[Cache]]) -> Caches:
    """Of a topology."""
    size = {1: 0, 2: 0, 3: 0}
    for cache in listed or []:
        if cache["type"] != "instruction" and cache["level"] in size:
            size[cache["level"]] = max(size[cache["level"]], int(cache["size"] or 0))
    return Caches(size[1], size[2], size[3])


def _size(trial: Trial) -> int:
    return int(trial.parameters.get("size") or 0)


def _between(low: float, high: float) -> Callable[[Trial], bool]:
    return lambda trial: low < _size(trial) <= high


def _chase(trial: Trial) -> bool:
    """One chain through all lines, each load alone."""
    own = trial.parameters
    return trial.benchmark == "latency" and trial.variant == "cycle" and own.get("chains") == 1


def _base(trial: Trial) -> bool:
    return trial.parameters.get("pages") == "base"


def _nodes_of(places: Parameter) -> list[int]:
    """The nodes with threads, of a layout such as 8+0."""
    return [node for node, n in enumerate(str(places).split("+")) if n not in ("0", "")]


def _crosses(trial: Trial) -> Optional[bool]:
    """Whether memory is on another node than the threads; None: on both, or it is not said."""
    own = trial.parameters
    threads = _nodes_of(own.get("from", own.get("layout", "")))
    to = own.get("to")
    if trial.benchmark == "latency" or to is None or len(threads) != 1:
        return None
    return bool(threads != [int(to)])


def _local(trial: Trial) -> bool:
    if trial.benchmark != "numa":
        return False
    one_node = "+" not in str(trial.parameters.get("from", trial.parameters.get("layout", "+")))
    return one_node or trial.variant == "static" or _crosses(trial) is False


def _remote(trial: Trial) -> bool:
    if trial.benchmark == "latency" and trial.variant == "matrix":
        return trial.parameters.get("from") != trial.parameters.get("to")
    return trial.benchmark == "numa" and _crosses(trial) is True


def _is(benchmark: str, *variants: str, **parameters: str) -> Test:
    return lambda trial, _: (
        trial.benchmark == benchmark
        and (not variants or trial.variant in variants)
        and all(trial.parameters.get(key) == value for key, value in parameters.items())
    )


# Beyond a cache from twice its size on. The largest size within L3, on both kinds of pages, shows
# whether half of it is missing.
TABLE: Sequence[tuple[Fit, Test]] = (
    (Fit("L1", True), lambda t, c: _chase(t) and _between(0, c.l1)(t)),
    (Fit("L2", True), lambda t, c: _chase(t) and _between(1.5 * c.l1, c.l2 / 2)(t)),
    (
        Fit("L3"),
        lambda t, c: c.l3 > 0 and _chase(t) and _between(2 * c.l2, c.l3)(t),
    ),
    (
        Fit("memory latency"),
        lambda t, c: _chase(t) and _between(2 * c.last - 1, float("inf"))(t),
    ),
    (
        Fit("TLB", True),
        lambda t, c: (
            t.benchmark == "latency"
            and t.variant == "page-random"
            and _base(t)
            and _between(256 * KiB, 4096 / 64 * c.l2)(t)
        ),
    ),
    (Fit("memory bandwidth"), lambda t, _: _local(t)),
    (Fit("remote node"), lambda t, _: _remote(t)),
    (Fit("core to core"), _is("core-to-core")),
    (Fit("core to core"), _is("coherence")),
    (Fit("contended line"), _is("sharing", layout="shared")),
    (Fit("contended line"), _is("sharing", layout="dense")),
    (Fit("contended line"), _is("atomics")),
    (Fit("contended line"), _is("locks")),
    (Fit(CORES), _is("cores")),
    (Fit("threads"), _is("sharing", layout="padded")),
    (Fit("threads"), _is("barriers")),
    (Fit("threads"), _is("actors")),
    *((Fit("work"), _is(name)) for name in ("checkpoint", "kmeans", "search", "hashmap")),
)


# By benchmark, the metric that shows the component, where that is not the headline: of all CPUs
# of a node the slowest one, beside the node's own median.
SHOWN = {"cores": "slowest"}


def fit(trial: Trial, caches: Caches) -> Optional[Fit]:
    return next((fit for fit, test in TABLE if test(trial, caches)), None)


def huge_pair(trial: Trial, caches: Caches) -> Optional[Pair]:
    """What a trial has in common with the one on the other kind of pages, where working sets are so
    large that translation costs something: the ratio of the two shows whether huge pages help."""
    pages = trial.parameters.get("pages")
    if not _chase(trial) or pages not in ("base", "thp") or _size(trial) <= 2 * caches.l2:
        return None
    others = {k: v for k, v in trial.parameters.items() if k != "pages"}
    return trial.threads, tuple(sorted(others.items()))
