# SPDX-License-Identifier: Apache-2.0
"""Makes synthetic records for the tests of the analysis: valid, reproducible, with every status.
Each benchmark has a model."""

from .counters import OWN, Model, count, event
from .lines import (
    BENCHMARKS,
    FLAGS,
    as_written,
    brief,
    flag,
    machine_record,
    of_lines,
    queried,
    record,
    run_id,
    write,
)
from .machines import FOUR, MACHINES, ONE, PAGE, TWO, Line, Machine, header
from .models.checkpoint import checkpoint
from .models.core_to_core import PROTOCOLS, STATES, TIMES, coherence, core_to_core
from .models.cores import cores
from .models.dummy import dummy
from .models.kmeans import LADDER, PAIR, SMALL_CASE, best, kmeans
from .models.latency import CACHES, MEMORY, latency, sizes, time_of_load
from .models.numa import numa
from .models.search import DEALT, HOT, MISSED, OWNED, SIZES, UNIFORM, ZIPF, search, searched, step
from .models.sharing import DISTANCES, LOCKS, distances, sharing
from .peers import PEERS, peer
from .ranks import over_ranks
from .trials import QUANTILES, STOPPED, Point, measure

__all__ = [
    "BENCHMARKS",
    "CACHES",
    "DEALT",
    "DISTANCES",
    "FLAGS",
    "FOUR",
    "HOT",
    "LADDER",
    "LOCKS",
    "MACHINES",
    "MEMORY",
    "MISSED",
    "ONE",
    "OWN",
    "OWNED",
    "PAGE",
    "PAIR",
    "PEERS",
    "PROTOCOLS",
    "QUANTILES",
    "SIZES",
    "SMALL_CASE",
    "STATES",
    "STOPPED",
    "TIMES",
    "TWO",
    "UNIFORM",
    "ZIPF",
    "Line",
    "Machine",
    "Model",
    "Point",
    "as_written",
    "best",
    "brief",
    "checkpoint",
    "coherence",
    "core_to_core",
    "cores",
    "count",
    "distances",
    "dummy",
    "event",
    "flag",
    "header",
    "kmeans",
    "latency",
    "machine_record",
    "measure",
    "numa",
    "of_lines",
    "over_ranks",
    "peer",
    "queried",
    "record",
    "run_id",
    "search",
    "searched",
    "sharing",
    "sizes",
    "step",
    "time_of_load",
    "write",
]
