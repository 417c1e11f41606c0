# SPDX-License-Identifier: Apache-2.0
"""Which CPUs of a sick node are meant: the slow one and those that compute wrong, from the values
of each CPU that trials of `cores` have."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Optional

from ..base import units

if TYPE_CHECKING:
    import duckdb

SLOW = 1.02  # over the node's median
MOST_NAMED = 8
# Each metric of the trials of some hosts, worker by worker.
VALUES = """
SELECT r.host, m.name, t.cpus, m.by_worker
FROM parsed.metric m JOIN placed p USING (shard, run, line, id)
	JOIN parsed.trial t USING (shard, run, line, id) JOIN run r ON r.run = p.whole
WHERE t.benchmark = 'cores' AND m.name IN ('quantum', 'wrong') AND len(m.by_worker) = len(t.cpus)
	AND r.host IN (SELECT unnest(?))
"""


@dataclass
class Cpus:
    """In how many trials each CPU was the slowest, or wrong."""

    slow: Counter[int] = field(default_factory=Counter)
    wrong: Counter[int] = field(default_factory=Counter)


def of(db: duckdb.DuckDBPyConnection, hosts: Sequence[str]) -> dict[str, Cpus]:
    """By host, from a database that has the tables of trials."""
    found = {host: Cpus() for host in hosts}
    rows = db.execute(VALUES, [[*hosts]]).fetchall() if hosts else []
    for host, metric, cpus, values in rows:
        _add(found[host], metric, cpus, values)
    return found


def _add(found: Cpus, metric: str, cpus: Sequence[int], values: Sequence[Optional[float]]) -> None:
    by_cpu = {cpu: value for cpu, value in zip(cpus, values) if value is not None}
    if metric == "wrong":
        found.wrong.update(cpu for cpu, n in by_cpu.items() if n > 0)
    elif by_cpu:
        slowest = max(by_cpu, key=lambda cpu: by_cpu[cpu])
        if by_cpu[slowest] > SLOW * statistics.median(by_cpu.values()):
            found.slow[slowest] += 1


def named(cpus: Counter[int]) -> str:
    """CPUs with more than half as many trials as the first of them; "" if there are none."""
    most = max(cpus.values(), default=0)
    own = sorted(cpu for cpu, n in cpus.items() if 2 * n > most)
    return f"CPU {units.some([str(cpu) for cpu in own], MOST_NAMED)}" if own else ""
