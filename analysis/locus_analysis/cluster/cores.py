# SPDX-License-Identifier: Apache-2.0
"""Which CPUs of a sick node are meant: the slow one and those that compute wrong, from the values
of each CPU that trials of `cores` have. Read again from the records: only few nodes are asked."""

from __future__ import annotations

import json
import re
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Optional, TypedDict

from ..base import units
from ..records import sources
from ..records.sources import BadInput

if TYPE_CHECKING:
    from ..compare.observations import Run

MARKS = re.compile(rb'"type": ?"header"|"benchmark": ?"cores"')
SLOW = 1.02  # over the node's median
MOST_NAMED = 8


class _Metric(TypedDict, total=False):
    by_worker: list[Optional[float]]


class _AnyLine(TypedDict):
    type: str
    run: str


class _Line(_AnyLine, total=False):
    """A header or a trial."""

    resumes: list[str]
    cpus: list[int]
    metrics: dict[str, _Metric]


@dataclass
class Cpus:
    """In how many trials each CPU was the slowest, or wrong."""

    slow: Counter[int] = field(default_factory=Counter)
    wrong: Counter[int] = field(default_factory=Counter)


def of(runs: Sequence[Run]) -> Cpus:
    found = Cpus()
    for trial in _trials(runs):
        quanta, wrong = (_by_cpu(trial, name) for name in ("quantum", "wrong"))
        slowest = max(quanta, key=lambda cpu: quanta[cpu], default=None)
        if slowest is not None and quanta[slowest] > SLOW * statistics.median(quanta.values()):
            found.slow[slowest] += 1
        found.wrong.update(cpu for cpu, n in wrong.items() if n > 0)
    return found


def named(cpus: Counter[int]) -> str:
    """CPUs with more than half as many trials as the first of them; "" if there are none."""
    most = max(cpus.values(), default=0)
    own = sorted(cpu for cpu, n in cpus.items() if 2 * n > most)
    return f"CPU {units.some([str(cpu) for cpu in own], MOST_NAMED)}" if own else ""


def _by_cpu(trial: _Line, metric: str) -> dict[int, float]:
    values = trial.get("metrics", {}).get(metric, {}).get("by_worker", [])
    return {cpu: v for cpu, v in zip(trial.get("cpus", []), values) if v is not None}


def _trials(runs: Sequence[Run]) -> Iterator[_Line]:
    """Also those of runs that these resumed."""
    ids = {r["run"] for r in runs}
    for file in dict.fromkeys(r["file"] for r in runs):
        own = trials_of(Path(file))
        ids.update(id_ for h in own if h["run"] in ids for id_ in h.get("resumes", []))
        yield from (t for t in own if t["type"] == "trial" and t["run"] in ids)


def trials_of(path: Path) -> list[_Line]:
    """Headers, and trials of the benchmark that have values; none of a file that cannot be read
    again, as standard input."""
    try:
        texts = [line.text for line in sources.lines(path) if MARKS.search(line.text)]
    except BadInput:
        return []
    found: list[_Line] = [json.loads(text) for text in texts]
    return [line for line in found if line["type"] == "header" or line.get("metrics")]
