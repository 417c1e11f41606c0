# SPDX-License-Identifier: Apache-2.0
"""Points: trials with given results, and the lines of a record made from them."""

from __future__ import annotations

import hashlib
import math
import random
import statistics
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Optional

from .machines import PAGE, Line

QUANTILES = (0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1)
BATCHES = 8
SAMPLES = 12  # in a batch


@dataclass
class Point:
    """A trial, and the results that it should have."""

    benchmark: str
    variant: str
    parameters: dict[str, Any]
    threads: int
    seconds: float  # s per unit
    unit: str = "pass"
    amount: Optional[tuple[str, str, float]] = None  # metric, unit, amount per unit of work
    headline: Optional[tuple[str, str, float]] = (
        None  # metric, unit, value, if it is neither `amount` nor time; varies like the time
    )
    bind: str = "layout"
    on_node: Optional[dict[str, int]] = None
    local: Optional[float] = None
    status: str = "ok"
    reasons: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    others: dict[str, tuple[str, Optional[float]]] = field(
        default_factory=dict
    )  # metrics after time: unit and value
    huge: float = 0  # share of its bytes on huge pages
    noise: float = 0.006
    ratios: list[tuple[str, str, str, float]] = field(
        default_factory=list
    )  # parameter, of, to, and the time of the other trial
    other: str = "0" * 16  # id of the other trial
    pairs: Optional[Line] = None
    by_worker: dict[str, list[float]] = field(default_factory=dict)  # by metric

    @property
    def identity(self) -> str:
        parameters = " ".join(f"{k}={v}" for k, v in self.parameters.items())
        return (
            f"{self.benchmark}/{self.variant} {parameters} threads={self.threads} bind={self.bind}"
            " protocol=1"
        )

    @property
    def id(self) -> str:
        return hashlib.sha256(self.identity.encode()).hexdigest()[:16]


def measure(point: Point, run: str, rng: random.Random, at: float) -> list[Line]:
    """The samples lines of a point, and its trial line."""
    if point.status in ("impossible", "failed"):
        return [_trial(point, run, [], [], at)]
    batches, noisy = [], []
    trial = point.id
    lines: list[Line] = []
    for batch in range(BATCHES):
        drift = 1 + 0.01 * batch / BATCHES
        times = [
            point.seconds * drift * (1 + abs(rng.gauss(0, point.noise))) for _ in range(SAMPLES)
        ]
        hit = [
            i for i in range(SAMPLES) if rng.random() < (0.3 if point.status == "noisy" else 0.01)
        ]
        for i in hit:
            times[i] *= rng.uniform(1.1, 2.5)
        lines.append(
            {
                "type": "samples",
                "run": run,
                "trial": trial,
                "allocation": batch % 2,
                "batch": batch,
                "at": round(at, 6),
                "units": 1,
                "times": times,
                "noisy": hit,
                "cycle": 4.3e-10,
            }
        )
        at += sum(times)
        batches.append(times)
        noisy.append(hit)
    return [*lines, _trial(point, run, batches, noisy, at)]


def _trial(
    point: Point, run: str, batches: list[list[float]], noisy: list[list[int]], at: float
) -> Line:
    samples = sorted(chain.from_iterable(batches))
    each = [statistics.median(b) for b in batches]
    medians = sorted(each)
    nothing = point.reasons[0] if not samples else None
    time = statistics.median(medians) if samples else None
    ci = [medians[0], medians[-1]] if samples else None
    metrics = [_metric("time", "s/" + point.unit, "lower", time, ci, nothing)]
    if point.amount:
        name, unit, amount = point.amount
        metrics.insert(
            0,
            _metric(
                name,
                unit,
                "higher",
                amount / time if time else None,
                [amount / ci[1], amount / ci[0]] if ci else None,
                nothing,
                "rate",
            ),
        )
    if point.headline:
        name, unit, typical = point.headline
        ends = [typical * end / time for end in ci] if time and ci else None
        metrics.insert(0, _metric(name, unit, "lower", typical if ends else None, ends, nothing))
    for name, (unit, value) in point.others.items():
        why = nothing or (None if value is not None else "not reported for this trial")
        metrics.append(
            _metric(
                name,
                unit,
                None,
                value if samples else None,
                [value, value] if samples and value else None,
                why,
            )
        )
    for metric in metrics:
        if samples and metric["name"] in point.by_worker:
            metric["by_worker"] = point.by_worker[metric["name"]]
    n_noisy = sum(map(len, noisy))
    return {
        "type": "trial",
        "run": run,
        "id": point.id,
        "identity": point.identity,
        "benchmark": point.benchmark,
        "variant": point.variant,
        "parameters": point.parameters,
        "threads": point.threads,
        "bind": point.bind,
        "cpus": list(range(point.threads)) if samples else [],
        "oversubscribed": False,
        "protocol": "threads sum their parts, barrier at both ends",
        "status": point.status,
        "reasons": point.reasons,
        "notes": point.notes,
        "unit": point.unit,
        "statistic": {
            "quantile": 0.5,
            "of": "samples in a batch",
            "then": "median over batches, then over allocations",
        },
        "metrics": metrics,
        "samples": (
            {
                "n": len(samples),
                "batches": len(batches),
                "noisy": n_noisy,
                "duration": time,
                "units": 1,
                "quantiles": [
                    samples[min(len(samples) - 1, int(q * len(samples)))] for q in QUANTILES
                ],
                "mean": (mean := statistics.fmean(samples)),
                "deviation": _deviation(samples, mean),
            }
            if samples
            else None
        ),
        "batches": (
            {
                "allocations": [-(-len(batches) // 2), len(batches) // 2],
                "metrics": {"time": each},
            }
            if samples
            else None
        ),
        "spread_within": 0.011 if samples else None,
        "spread_between": 0.004 if samples else None,
        "placement": _placements(point) if samples else None,
        "noise": (
            {
                "samples": n_noisy / len(samples),
                "off_cpu": 0.002 * n_noisy,
                "run_delay": None,
                "run_delay_why": "the kernel keeps no schedstat",
                "involuntary": n_noisy,
                "voluntary": 3,
                "minor_faults": 12,
                "major_faults": 0,
                "migrations": 0,
                "steal": 0.0,
                "foreign": 0.01,
                "wall": sum(samples),
            }
            if samples
            else None
        ),
        "cycle": 4.3e-10 if samples else None,
        "cycles": time / 4.3e-10 if time else None,
        "skew": 2e-7 if samples and point.threads > 1 else None,
        "group": 0,
        "ratios": [
            {
                "name": "slowdown",
                "parameter": p,
                "of": of,
                "to": to,
                "trial": point.other,
                **_over(time, ci, t),
            }
            for p, of, to, t in point.ratios
            if time and ci
        ],
        "pairs": point.pairs if samples else None,
        "stopped": STOPPED.get(point.status, "converged"),
        "at": 0.5,
        "elapsed": sum(samples) * 1.2 + 0.01,
    }


def _deviation(samples: list[float], mean: float) -> float:
    """statistics.stdev() reckons with fractions, which takes half of the time of a trial."""
    squares = math.fsum((sample - mean) ** 2 for sample in samples)
    return math.sqrt(squares / (len(samples) - 1))


def _over(time: float, ci: list[float], other: float) -> Line:
    return {"value": time / other, "ci": [ci[0] / other, ci[1] / other]}


STOPPED = {"impossible": None, "failed": None, "interrupted": "signal", "unconverged": "budget"}


def _metric(
    name: str, unit: str, better: Optional[str], value: Any, ci: Any, why: Any, kind: str = "value"
) -> Line:
    disturbed = value and value * (1.01 if better == "lower" else 0.99)
    return {
        "name": name,
        "unit": unit,
        "better": better,
        "kind": kind,
        "value": value,
        "ci": ci,
        "with_noise": disturbed,
        "why": why,
    }


def _placements(point: Point) -> Optional[Line]:
    if point.on_node is None:
        return None
    after = {
        "how": "verified",
        "why": None,
        "page": PAGE,
        "pages": sum(point.on_node.values()),
        "on_node": point.on_node,
        "unmapped": 0,
        "misplaced": int(0.2 * sum(point.on_node.values())) if point.status == "misplaced" else 0,
        "local_share": point.local,
        "huge_bytes": int(point.huge * PAGE * sum(point.on_node.values())),
        "huge_page": 2 << 20 if point.huge else None,
    }
    return {"before": after, "after": after}
