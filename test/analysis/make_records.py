# SPDX-License-Identifier: Apache-2.0
"""Makes records of machines and runs that never were, for the tests of the analysis: valid,
repeatable, with every status.

python make_records.py DIR writes one file for each machine.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import statistics
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Optional, cast

Line = dict[str, Any]

PAGE = 1 << 12
QUANTILES = (0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1)
BATCHES = 8
SAMPLES = 12  # in a batch


@dataclass(frozen=True)
class Machine:
    host: str
    model: str
    cpu_nodes: int
    memory_nodes: int = 0  # without CPUs
    cores: int = 8  # of a node
    local: float = 90e9  # B/s of a node's memory to its own cores
    remote: float = 0.55  # of that, from another node
    virtual: Optional[str] = None
    governor: Optional[str] = "performance"

    @property
    def nodes(self) -> int:
        return self.cpu_nodes + self.memory_nodes

    def rate(self, cpu_node: int, memory_node: int) -> float:
        if cpu_node == memory_node:
            return self.local
        return self.local * self.remote * (0.5 if memory_node >= self.cpu_nodes else 1)


ONE = Machine(
    "cloud-7",
    "AMD EPYC 7R13 Processor",
    cpu_nodes=1,
    cores=2,
    local=23e9,
    virtual="kvm",
    governor=None,
)
TWO = Machine("n042", "Intel(R) Xeon(R) Gold 5218 CPU @ 2.30GHz", cpu_nodes=2, cores=16)
FOUR = Machine("cxl1", "Intel(R) Xeon(R) 6972P", cpu_nodes=3, memory_nodes=1, cores=32, local=240e9)
MACHINES = {"one": ONE, "two": TWO, "four": FOUR}


def header(machine: Machine, run: str, rng: random.Random, **changes: Any) -> Line:
    cpus = [
        list(range(n * machine.cores, (n + 1) * machine.cores)) for n in range(machine.cpu_nodes)
    ]
    cpus += [[]] * machine.memory_nodes
    all_cpus = [*chain.from_iterable(cpus)]
    free = [rng.randrange(20 << 30, 60 << 30) for _ in cpus]
    line: Line = {
        "type": "header",
        "run": run,
        "schema": "locus-record-1.0",
        "started": "2025-03-14T09:26:53.589Z",
        "host": machine.host,
        "rank": 0,
        "ranks": 1,
        "job": None,
        "tags": {},
        "resumes": [],
        "program": {
            "version": "0.1",
            "revision": None,
            "revision_why": "not built from a git checkout",
            "checksum": "build-id:a25f3bf4d3172c75",
            "compiler": "gcc 12.2.0",
            "flags": "-O2 -g",
            "built_with": {
                "hwloc": "2.9.0",
                "libnuma": "2.0.16",
                "jansson": "2.14",
                "openmp": "201511",
                "mpi": None,
            },
        },
        "command": ["locus", "numa", "--output", "numa.jsonl"],
        "profile": "standard",
        "altered": [],
        "seed": 1,
        "budget": {"time": None, "case": None},
        "clock": {
            "source": "CLOCK_MONOTONIC_RAW",
            "overhead": 2.4e-8,
            "resolution": 1e-9,
            "kernel_source": "tsc",
            "cycle_chain": "imul, 3 cycles",
        },
        "binding": {
            "bound_by": None,
            "affinity": all_cpus,
            "bind": "close",
            "inherited": None,
            "oversubscribe": False,
            "memory_policy": "default",
        },
        "counters": None,
        "markers": None,
        "machine": {
            "class": hashlib.sha256(f"{machine.model} {machine.nodes}".encode()).hexdigest()[:16],
            "cpu": {
                "vendor": machine.model.split("(")[0].split()[0],
                "model": machine.model,
                "architecture": "x86_64",
                "family": 6,
                "model_number": 85,
                "stepping": 7,
                "microcode": "0x5003303",
                "flags": ["sse2", "avx", "avx2"],
            },
            "virtual": machine.virtual,
            "firmware": {
                "bios_vendor": "Dell Inc.",
                "bios_version": "2.21.2",
                "bios_date": "02/19/2024",
                "board_name": "0H28RR",
                "sys_vendor": "Dell Inc.",
                "product_name": "PowerEdge C6420",
            },
            "prefetchers": None,
            "prefetchers_why": "/dev/cpu/0/msr: Permission denied",
            "topology": {
                "packages": machine.cpu_nodes,
                "cores": len(all_cpus),
                "cpus": len(all_cpus),
                "online": f"0-{len(all_cpus) - 1}",
                "allowed": f"0-{len(all_cpus) - 1}",
                "smt": 1,
                "nodes": [
                    {
                        "node": n,
                        "memory": 64 << 30,
                        "free": free[n],
                        "cpus": c,
                        "memory_only": not c,
                        "first_touch": n,
                    }
                    for n, c in enumerate(cpus)
                ],
                "caches": [
                    _cache(1, "data", 32 << 10, 8, len(all_cpus), 1),
                    _cache(2, "unified", 1 << 20, 16, len(all_cpus), 1),
                    _cache(3, "unified", 22 << 20, 11, machine.cpu_nodes, machine.cores),
                ],
                "distances": [
                    [10 if a == b else 21 for b in range(machine.nodes)]
                    for a in range(machine.nodes)
                ],
                "hwloc": f"numa:{machine.nodes} core:{machine.cores} pu:1",
            },
            "tlb": [
                _tlb(1, "data", PAGE, 64, 4),
                _tlb(1, "data", 2 << 20, 32, 4),
                _tlb(1, "instruction", PAGE, 64, 8),
                _tlb(2, "unified", PAGE, 1536, 6),
                _tlb(2, "unified", 2 << 20, 1536, 6),
            ],
            "memory": {
                "total": machine.nodes * (64 << 30),
                "available": sum(free),
                "page": PAGE,
                "huge_page": 2 << 20,
                "thp": {"enabled": "madvise", "defrag": "madvise", "khugepaged_defrag": 1},
                "hugepages": [
                    {
                        "size": 2 << 20,
                        "total": 0,
                        "free": 0,
                        "per_node": [
                            {"node": n, "total": 0, "free": 0} for n in range(machine.nodes)
                        ],
                    }
                ],
                "overcommit": 0,
                "swappiness": 60,
                "zone_reclaim": 0,
                "modules": [
                    {
                        "count": 4 * machine.nodes,
                        "type": "DDR4",
                        "size": 16 << 30,
                        "speed": 2933e6,
                        "configured_speed": 2666e6,
                    }
                ],
                "slots": 6 * machine.nodes,
                "channels": None,
                "channels_why": "/sys/devices/system/edac/mc has none",
            },
            "kernel": {
                "release": "6.1.0-18-amd64",
                "version": "#1 SMP Debian 6.1.76-1",
                "command_line": "ro quiet",
            },
            "frequency": {
                "driver": "intel_pstate" if machine.governor else None,
                "governor": machine.governor,
                "minimum": 1e9 if machine.governor else None,
                "maximum": 3.9e9 if machine.governor else None,
                "base": 2.3e9 if machine.governor else None,
                "turbo": True if machine.governor else None,
                "boost_source": "intel_pstate/no_turbo" if machine.governor else None,
            },
            "numa_balancing": 1,
            "mitigations": {"spectre_v2": "Mitigation: Enhanced IBRS", "meltdown": "Not affected"},
            "cgroup": {
                "version": 2,
                "path": "/user.slice",
                "memory_limit": None,
                "cpu_quota": None,
                "cpuset": None,
            },
            "perf_event_paranoid": 3,
            "environment": {"OMP_NUM_THREADS": "16"},
            "libc": "glibc 2.36",
        },
    }
    if machine.governor is None:
        line["machine"]["frequency_why"] = "the guest has no /sys/devices/system/cpu/cpu0/cpufreq"
    if machine.virtual:
        line["machine"].update(tlb=[], tlb_why="CPUID describes none: a hypervisor may hide them")
    line.update(changes)
    return line


def _cache(level: int, kind: str, size: int, ways: int, count: int, shared_by: int) -> Line:
    return {
        "level": level,
        "type": kind,
        "size": size,
        "line": 64,
        "ways": ways,
        "count": count,
        "shared_by": shared_by,
    }


def _tlb(level: int, kind: str, page: int, entries: int, ways: int) -> Line:
    return {"level": level, "type": kind, "page": page, "entries": entries, "ways": ways}


@dataclass
class Point:
    """What is to be measured, and what is to come out."""

    benchmark: str
    variant: str
    parameters: dict[str, Any]
    threads: int
    seconds: float  # s per unit
    unit: str = "pass"
    amount: Optional[tuple[str, str, float]] = None  # metric, unit, amount of a unit of work
    headline: Optional[tuple[str, str, float]] = (
        None  # metric, unit, value, where neither that nor time is: as steady as time
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
    )  # parameter, of, to, and the time of the other
    other: str = "0" * 16  # its id
    pairs: Optional[Line] = None

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
    """The samples of a point, and its trial."""
    if point.status in ("impossible", "failed"):
        return [_trial(point, run, [], [], at)]
    batches, noisy = [], []
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
                "trial": point.id,
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
    medians = sorted(statistics.median(b) for b in batches)
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
                "mean": statistics.fmean(samples),
                "deviation": statistics.stdev(samples),
            }
            if samples
            else None
        ),
        "batches": (
            {
                "allocations": [-(-len(batches) // 2), len(batches) // 2],
                "metrics": {"time": [statistics.median(batch) for batch in batches]},
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


def _over(time: float, ci: list[float], other: float) -> Line:
    return {"value": time / other, "ci": [ci[0] / other, ci[1] / other]}


STOPPED = {"impossible": None, "failed": None, "interrupted": "signal", "unconverged": "budget"}


def _metric(name: str, unit: str, better: Optional[str], value: Any, ci: Any, why: Any) -> Line:
    quiet = value and value * (0.99 if better == "lower" else 1.01)
    return {
        "name": name,
        "unit": unit,
        "better": better,
        "value": value,
        "ci": ci,
        "without_noise": quiet,
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


def numa(
    machine: Machine, kernels: tuple[str, ...] = ("sum", "triad"), size: int = 1 << 30
) -> list[Point]:
    """Placements, kernels and layouts; the matrix. Bandwidth from a model: the slowest part of
    the work decides."""
    pages = size // PAGE
    n, m = machine.cpu_nodes, machine.cores
    layouts = {"+".join(str(m if i == 0 else 0) for i in range(n)): [1.0] + [0.0] * (n - 1)}
    if n > 1:
        layouts["+".join([str(m // n)] * n)] = [1 / n] * n
    points = []
    for kernel in kernels:
        for huge in ("base", "thp"):
            for layout, users in layouts.items():
                for variant in ("single", "random", "static", "interleave", "bind", "migrate"):
                    on, local = _model(variant, users, n)
                    speed = (
                        min(
                            machine.local * len([u for u in users if u]),
                            min(machine.local / share for share in on if share)
                            * (machine.remote + (1 - machine.remote) * local),
                        )
                        * (0.9 if kernel == "triad" else 1)
                        * (1.06 if huge == "thp" else 1)
                    )
                    parameters: dict[str, Any] = {
                        "kernel": kernel,
                        "size": size,
                        "pages": huge,
                        "layout": layout,
                    }
                    if variant == "bind":
                        parameters["node"] = 0
                    points.append(
                        Point(
                            "numa",
                            variant,
                            parameters,
                            threads=sum(map(int, layout.split("+"))),
                            seconds=size / speed,
                            amount=("bandwidth", "B/s", size),
                            on_node={str(i): round(share * pages) for i, share in enumerate(on)},
                            local=local,
                        )
                    )
    for cpu_node in range(machine.cpu_nodes):
        for memory_node in range(machine.nodes):
            source = "+".join(str(m if i == cpu_node else 0) for i in range(n))
            points.append(
                Point(
                    "numa",
                    "matrix",
                    {
                        "kernel": "sum",
                        "size": size,
                        "pages": "base",
                        "from": source,
                        "to": memory_node,
                    },
                    threads=m,
                    seconds=size / machine.rate(cpu_node, memory_node),
                    amount=("bandwidth", "B/s", size),
                    on_node={str(memory_node): pages},
                    local=float(cpu_node == memory_node),
                )
            )
    return points


def _model(variant: str, users: list[float], nodes: int) -> tuple[list[float], float]:
    """Share of the pages on each node, and the share that is local to its user."""
    if variant in ("single", "bind"):
        return [1.0] + [0.0] * (nodes - 1), users[0]
    if variant == "interleave":
        return [1 / nodes] * nodes, 1 / nodes
    if variant == "random":
        return users, sum(u * u for u in users)
    return users, 1.0


LINE = 64
CACHES = (
    (32 << 10, 2.2e-9),
    (1 << 20, 4.0e-9),
    (22 << 20, 15e-9),
)  # bytes; s for each load while in it, then:
MEMORY = 82e-9
TLBS = ((64, 3e-9), (1536, 12e-9))  # pages; s more for each load beyond


def time_of_load(lines: float, pages: float) -> float:
    """Sharp edges, but for the softer ones of the L3 and of the second TLB."""
    size = lines * LINE
    time = next((t for c, t in CACHES if size <= c), MEMORY)
    last = CACHES[-1][0]
    if last < size < 2 * last:
        time = CACHES[-1][1] + (MEMORY - CACHES[-1][1]) * (size / last - 1)
    return time + sum(
        t * min(1.0, max(0.0, math.log2(pages / n)) + (n == 64)) for n, t in TLBS if pages > n
    )


def sizes(first: int, last: int, octave: int) -> list[int]:
    return sorted(
        {
            round(first * 2 ** (i / octave)) // LINE * LINE
            for i in range(int(math.log2(last / first) * octave) + 1)
        }
    )


def latency(machine: Machine, octave: int = 4, last: int = 256 << 20) -> list[Point]:
    """Curves of all patterns, several chains, load in the background, the matrix."""
    points = []

    def add(
        variant: str, size: int, pages: str, seconds: float, threads: int = 1, **more: Any
    ) -> None:
        parameters = {
            "size": size,
            "pages": pages,
            "element": "pointer",
            "stride": 0,
            "chains": 1,
            "loads": 0,
            **more,
        }
        background = parameters.pop("background", None)
        bind = "layout" if "from" in parameters else "close"
        points.append(
            Point(
                "latency",
                variant,
                parameters,
                threads,
                seconds=seconds,
                unit="load",
                bind=bind,
                on_node={str(parameters.get("to", 0)): max(1, size // PAGE)},
                local=1.0,
                others={
                    "background": ("B/s", background),
                    "elements": (
                        "element",
                        size // (PAGE if variant in ("page-random", "page-stride") else LINE),
                    ),
                },
                huge=float(pages != "base"),
            )
        )

    for pages in ("base", "thp"):
        share = 1 if pages == "base" else 512
        for size in sizes(1 << 10, last, octave):
            lines, of_pages = size / LINE, max(1, size / PAGE / share)
            add("cycle", size, pages, time_of_load(lines, of_pages))
            add("page-cycle", size, pages, time_of_load(lines, 1) * 0.9)
            add("line-stride", size, pages, min(3e-9, time_of_load(lines, 1)))
        for size in sizes(64 << 10, last, octave):
            n = size // PAGE
            add("page-random", size, pages, time_of_load(n, max(1, n / share)))
            if pages == "base":
                add("page-stride", size, pages, time_of_load(n, n))
    for size in (16 << 10, 1 << 20, last):
        for chains in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32):
            one = time_of_load(size / LINE, 1)
            add("parallel", size, "thp", max(one / chains, one / 14, 0.4e-9), chains=chains)
    for mix, most in (("read", 0.9), ("copy", 0.75), ("write", 0.6)):
        for pause in (0, 50, 100, 200, 400, 800, 1600, 6400):
            rate = machine.local * most / (1 + pause / 100)
            used = rate / machine.local / (most + 0.05)
            add(
                "loaded",
                last,
                "thp",
                MEMORY / (1 - used * 0.8),
                machine.cores,
                mix=mix,
                pause=pause,
                background=rate,
            )
    for cpu_node in range(machine.cpu_nodes):
        for node in range(machine.nodes):
            source = "+".join(str(int(i == cpu_node)) for i in range(machine.cpu_nodes))
            far = 1 if cpu_node == node else 1.65 if node < machine.cpu_nodes else 2.6
            more: dict[str, Any] = {"from": source, "to": node}
            add("matrix", last, "thp", MEMORY * far, **more)
    return points


LOCKS = ("mutex", "spin", "ticket", "mcs")
FLOOR = {
    "add": 1.2e-9,
    "fetch-add": 5e-9,
    "compare-exchange": 6e-9,
    "mutex": 18e-9,
    "spin": 9e-9,
    "ticket": 11e-9,
    "mcs": 16e-9,
}
CROSSING = 60e-9  # s for a line, from core to core


def sharing(
    machine: Machine, threads: tuple[int, ...] = (1, 2, 4, 8, 16), line: int = 64
) -> list[Point]:
    """Words on one line and apart, locks; distances. On one line the threads take turns."""
    points = []
    for name, floor in FLOOR.items():
        variant, lock = ("lock", {"lock": name}) if name in LOCKS else (name, {})
        for n in threads:
            crossing = CROSSING * (n - 1) * (2 if lock else 1)
            times = {"shared": floor + crossing * 2, "dense": floor + crossing, "padded": floor}
            for layout, seconds in times.items():
                points.append(
                    Point(
                        "sharing",
                        variant,
                        {"layout": layout, **lock, "operations": 0},
                        n,
                        seconds,
                        unit="operation",
                        bind="close",
                        others={
                            "throughput": ("operation/s", n / seconds),
                            "fairness": ("1", 0.4 if layout == "shared" and n > 1 else 0.98),
                            "lost": (
                                "1",
                                (
                                    (1 - 1 / n if layout == "shared" else 0.0)
                                    if name == "add"
                                    else None
                                ),
                            ),
                        },
                        ratios=[] if layout == "padded" else [("layout", layout, "padded", floor)],
                    )
                )
    many = [n for n in (2, max(threads)) if 1 < n <= max(threads)]
    for operation in ("add", "fetch-add"):
        for n in dict.fromkeys(many):
            points += distances(operation, n, {d: 4 if d < line else 1 for d in DISTANCES})
    return points


DISTANCES = (4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)


def distances(operation: str, threads: int, relative: dict[int, float]) -> list[Point]:
    """A curve, by its times relative to words far apart."""
    return [
        Point(
            "sharing",
            "distance",
            {"distance": d, "operation": operation},
            threads,
            FLOOR[operation] * times,
            unit="operation",
            bind="close",
        )
        for d, times in relative.items()
    ]


TIMES = {"SMT": 12e-9, "L2": 25e-9, "L3": 45e-9, "node": 70e-9, "package": 95e-9, "machine": 180e-9}
PROTOCOLS = {"compare-exchange": 1.0, "store-load": 1.1, "two-lines": 1.9, "message": 0.7}
QUARTILES = {"0": 0.9, "0.25": 0.97, "0.5": 1.0, "0.75": 1.04, "0.99": 1.4}


def core_to_core(
    machine: Machine,
    odd: tuple[int, ...] = (),
    crowding: Optional[float] = 1.02,
    protocols: Any = PROTOCOLS,
) -> list[Point]:
    """Cores two by two; four share an L3, one node is one package. The odd ones take 1.5 times
    as long as they should."""
    return [
        Point(
            "core-to-core",
            "ping-pong",
            {"protocol": protocol, "lines": 16, "home": home},
            machine.cpu_nodes * machine.cores,
            TIMES["L3"] * PROTOCOLS[protocol],
            unit="transfer",
            bind="close",
            pairs=_pairs(machine, PROTOCOLS[protocol] * (1 + 0.1 * home), odd, crowding),
        )
        for protocol in protocols
        for home in range(machine.cpu_nodes)
    ]


def _pairs(machine: Machine, times: float, odd: tuple[int, ...], crowding: Optional[float]) -> Line:
    cpus = machine.cpu_nodes * machine.cores
    rng = random.Random(cpus)
    cells: Line = {"a": [], "b": [], "level": [], "n": [], **{q: [] for q in QUARTILES}}
    for a in range(cpus):
        for b in range(a + 1, cpus):
            level = (
                "machine"
                if a // machine.cores != b // machine.cores
                else "L3"
                if a // 4 == b // 4
                else "node"
            )
            median = (
                TIMES[level]
                * times
                * rng.uniform(0.97, 1.03)
                * (1.5 if a in odd or b in odd else 1)
            )
            for key, value in {
                "a": a,
                "b": b,
                "level": level,
                "n": 64,
                **{q: median * f for q, f in QUARTILES.items()},
            }.items():
                cells[key].append(value)
    levels = []
    for level in dict.fromkeys(sorted(cells["level"], key=list(TIMES).index)):
        own = sorted(m for m, of in zip(cells["0.5"], cells["level"]) if of == level)
        medians = {q: own[int(float(q) * (len(own) - 1))] for q in QUARTILES}
        meetings = {"n": 64 * len(own), **{q: medians[q] * f for q, f in QUARTILES.items()}}
        levels.append(
            {
                "level": level,
                "pairs": len(own),
                "meetings": meetings,
                "crowding": crowding,
                **medians,
            }
        )
    return {
        "rounds": cpus - 1 + cpus % 2,
        "levels": levels,
        "outstanding": [
            {"cpu": c, "level": "node", "median": 1.5 * TIMES["node"], "of": TIMES["node"]}
            for c in odd
        ],
        "crowding": {"pairs": 8, "median": crowding, "most": crowding * 1.05} if crowding else None,
        "cells": cells,
    }


def checkpoint(
    machine: Machine,
    threads: tuple[int, ...] = (1, 2, 4, 8),
    bodies: tuple[str, ...] = ("loop", "reverse"),
    apart: float = 1.0,
) -> list[Point]:
    """One pair of counters for all, and one for each; `apart`: what taking the two of a pair
    apart makes of the time."""
    points = []
    for body in bodies:
        floor = 0.8e-9 if body == "loop" else 6e-9
        for n in threads:
            shared = floor + 4e-9 * (n - 1)
            times = {
                "together": shared,
                "apart": floor + (shared - floor) * apart,
                "per-thread-dense": (floor + shared) / 2,
            }
            for variant, seconds in {**times, "per-thread": floor}.items():
                raced = n > 1 and variant in ("together", "apart")
                points.append(
                    Point(
                        "checkpoint",
                        variant,
                        {"ticks": 0, "every": 256, "body": body},
                        n,
                        seconds,
                        unit="tick",
                        bind="close",
                        others={
                            "throughput": ("tick/s", n / seconds),
                            "kept": ("1", 0.6 if raced else 1.0),
                            "fired-error": ("1", -0.12 if raced else 0.0),
                        },
                    )
                )
    return points


SMALL_CASE = {
    "points": "200000",
    "dimensions": 2,
    "clusters": 81,
    "iterations": 108,
    "type": "double",
    "data": "uniform",
}
PAIR = 2e-9  # s for a point and a cluster, on one thread
# Time over that of 2p: on one thread, and on several.
LADDER = {
    "2p": (1, 1),
    "2q": (0.95, 4),
    "2q-padded": (0.95, 1.2),
    "3p": (1, 0.8),
    "private-dense": (0.98, 0.85),
    "private-padded": (0.98, 0.7),
}


def kmeans(
    threads: tuple[int, ...] = (1, 2, 4, 8),
    work: Any = SMALL_CASE,
    prunes: tuple[str, ...] = ("auto",),
    **ladder: Any,
) -> list[Point]:
    """Published shapes, but for what `ladder` says; `best` is 20 times as fast."""
    pairs = int(work["points"]) * work["clusters"]
    points = []
    for n in threads:
        base = PAIR * pairs / n**0.9
        times = {**LADDER, **ladder}
        for variant, relative in times.items():
            seconds = base * relative[n > 1]
            ratios = [("variant", variant, "2p", base)] if variant.startswith("2q") else []
            points.append(
                Point(
                    "kmeans",
                    variant,
                    dict(work),
                    n,
                    seconds,
                    "iteration",
                    bind="close",
                    others=_solved(seconds, pairs),
                    ratios=ratios,
                )
            )
        for prune in prunes:
            points.append(best(n, {**work, "prune": prune}, base / 20))
    return points


def best(threads: int, work: Any, seconds: float, communication: Optional[float] = None) -> Point:
    others = {
        **_solved(seconds, int(work["points"]) * work["clusters"]),
        "computed": ("1", 0.04),
        "fma-share": ("1", 0.72),
    }
    if communication is not None:
        others["communication"] = ("s/iteration", communication)
    return Point(
        "kmeans", "best", dict(work), threads, seconds, "iteration", bind="close", others=others
    )


def _solved(seconds: float, pairs: int) -> dict[str, tuple[str, Optional[float]]]:
    return {
        "pair-time": ("s", seconds / pairs),
        "total": ("s", seconds * 108),
        "iterations": ("1", 108),
        "inertia": ("1", 1234.5),
    }


SIZES = tuple(1 << i for i in range(14, 30, 2))  # of the published array
LEVELS = (
    (32 << 10, 1.2e-9),
    (1 << 20, 3e-9),
    (22 << 20, 9e-9),
    (1 << 62, 40e-9),
)  # s for a step of a search, by what is searched
MISSED, DEALT, PACKET = (
    3.5e-9,
    2.5e-9,
    128,
)  # s for a branch that goes wrong half of the time, and to deal a key
DEALERS = ("whole", "routed", "divided", "weighted", "stealing")
OWNED = DEALERS[2:]
UNIFORM, ZIPF, HOT = ("uniform", 0.0), ("zipf", 1.0), ("hot", 0.9)
BUSIEST = {UNIFORM: 1.0, ZIPF: 4.0, HOT: 7.2}  # times the mean


def step(size: float) -> float:
    return next(cost for most, cost in LEVELS if size <= most)


def key_time(variant: str, method: str, size: int, owners: int) -> float:
    """Halving: a step of the whole array, or of a part, on what that step has of it; of a part
    the first steps are foreseen."""
    steps, first = math.log2(size / 4), math.log2(owners)
    if variant == "best":
        return steps * 0.12e-9 + step(size) / 10
    of_part = variant not in ("whole", "routed")
    took = 0.0
    for i in range(int(steps - (first if of_part else 0))):
        touched = 64 * 2.0**i / (1 if variant == "whole" or of_part else min(owners, 2**i))
        took += step(min(touched, size)) + (
            MISSED if method == "branchy" and (variant != "routed" or i >= first) else 0.3e-9
        )
    return took


def search(
    threads: tuple[int, ...] = (9,),
    sizes: tuple[int, ...] = SIZES,
    methods: tuple[str, ...] = ("branchy", "branchless"),
    keys: tuple[tuple[str, float], ...] = (UNIFORM,),
    types: tuple[str, ...] = ("u32",),
    variants: tuple[str, ...] = (*DEALERS, "partitioned", "best"),
) -> list[Point]:
    """A dispatcher that deals as fast as DEALT allows, and searchers; or threads that search
    packets of their own."""
    points = []
    for variant in variants:
        for n in threads:
            for method in methods if variant != "best" else ("",):
                for kind in types:
                    for skew in keys:
                        points += [searched(variant, n, method, kind, skew, size) for size in sizes]
    return points


def searched(
    variant: str, threads: int, method: str, kind: str, skew: tuple[str, float], size: int
) -> Point:
    dealt = variant in DEALERS
    searchers = threads - dealt
    key = key_time(variant, method, size, searchers) * (1.3 if kind == "u64" else 1)
    busiest = (
        min(BUSIEST[skew], searchers) if variant in ("routed", "divided", "partitioned") else 1.02
    )
    slow = busiest if variant in ("routed", "divided", "partitioned") else 1.03
    most = searchers / key / slow
    rate = min(most, 1 / DEALT) if dealt else most
    waiting = 1 - rate * key / searchers
    parameters: Line = {"size": size, "type": kind}
    if variant != "best":
        parameters["search"] = method
    parameters.update(
        packet=PACKET, keys=skew[0], skew=skew[1], pages="thp" if variant == "best" else "base"
    )
    others: dict[str, tuple[str, Optional[float]]] = {
        "key-time": ("s", key),
        "search-median": ("s", key * PACKET * 0.98 if variant != "best" else None),
        "search-p99": ("s", key * PACKET * 1.4 if variant != "best" else None),
        "search-deviation": ("s", key * PACKET * 0.15 if variant != "best" else None),
        "throughput": ("key/s", rate),
        "waiting": ("1", waiting if dealt else None),
        "held-up": ("1", 0.0 if rate < most else 0.4 if dealt else None),
        "dispatcher-bound": ("1", float(rate < most) if dealt else None),
        "imbalance": ("1", busiest if variant != "best" else None),
        "idle": ("1", 0.02 + (1 - 1 / slow) * 0.95 if dealt else None),
        "build-time": ("s", size / 4e9 if not dealt else None),
        "overhead": ("1", 0.0667 if variant == "best" else None),
    }
    return Point(
        "search",
        variant,
        parameters,
        threads,
        PACKET / rate * searchers,
        "packet",
        headline=("search-time", "s", key * PACKET),
        bind="close",
        others=others,
    )


def over_ranks(
    ranks: int,
    size: int,
    threads: int = 2,
    skew: tuple[str, float] = UNIFORM,
    kind: str = "u32",
    pages: str = "thp",
) -> Point:
    """An array in parts, one a rank: half of what it takes to send keys and answers is hidden
    behind the search."""
    key = key_time("best", "", size // ranks, threads) * (1.3 if kind == "u64" else 1)
    wire = (12 if kind == "u64" else 8) * (ranks - 1) / ranks
    spent = PACKET * threads * wire / 10e9 / 2
    busiest = min(BUSIEST[skew], ranks)
    seconds = PACKET * key * busiest + spent
    others: dict[str, tuple[str, Optional[float]]] = {
        "key-time": ("s", key),
        "search-p99": ("s", None),
        "throughput": ("key/s", PACKET * threads * ranks / seconds),
        "imbalance": ("1", busiest),
        "build-time": ("s", size / ranks / 4e9),
        "communication": ("s", spent),
        "wire": ("B", wire),
    }
    parameters = {
        "size": size,
        "type": kind,
        "packet": PACKET,
        "keys": skew[0],
        "skew": skew[1],
        "pages": pages,
    }
    headline = ("search-time", "s", key * PACKET)
    return Point(
        "search",
        "distributed",
        parameters,
        threads,
        seconds,
        "packet",
        headline=headline,
        bind="close",
        others=others,
    )


def peer(run: str, **changes: Any) -> Line:
    """A line of `make peers`."""
    line: Line = {
        "type": "peer",
        "run": run,
        "benchmark": "kmeans",
        "case": "200k x 2, k=81",
        "parameters": dict(SMALL_CASE),
        "threads": 1,
        "peer": "scikit-learn lloyd",
        "version": "1.9.1",
        "pairs": 9,
        "ours": 0.03,
        "theirs": 1.41,
        "ratio": 47.0,
        "ci": [46.0, 48.5],
        "goal": 45,
        "agreement": "all labels alike, centres within 2e-15",
    }
    return {**line, **changes}


Model = Callable[
    [Line], Optional[float]
]  # what an event counts for each unit of a trial; None: it can't be counted in that trial
OWN = {
    "minor-faults": "minor_faults",
    "major-faults": "major_faults",
    "voluntary-switches": "voluntary",
}
OWN.update(
    {"involuntary-switches": "involuntary", "migrations": "migrations", "steal": "steal"}
)  # in a trial's noise


def event(name: str, source: Optional[str] = "papi", turn: int = 0, **changes: Any) -> Line:
    """Of a header's counters; `turn` is its pass."""
    why = None if source else "no PMU: this virtual machine has none; ask for one"
    found = {
        "name": name,
        "source": source,
        "unit": "1",
        "scope": "thread",
        "pass": turn if source else None,
    }
    return {**found, "proven": bool(source), "why": why, **changes}


def count(
    lines: list[Line], events: dict[str, tuple[Line, Model]], slower: float = 1.001, **changes: Any
) -> list[Line]:
    """A record with counters: these events, and the kernel's own; without events, those alone.
    `slower`: what counting costs."""
    passes = 1 + max((e["pass"] or 0 for e, _ in events.values()), default=0)
    told = {
        "asked": list(events),
        "optional": False,
        "multiplexed": False,
        "passes": passes,
        "papi": "7.0.0.0",
        "papi_why": None,
    }
    for line in lines:
        if line["type"] == "header":
            line["counters"] = (
                {**told, "events": [e for e, _ in events.values()], **changes} if events else None
            )
        elif line["type"] == "samples":
            line["counters"] = {}
        elif line["type"] == "trial":
            own = [_counter(line, e, model) for e, model in events.values()]
            line["counters"] = own + _ratio(own) + _own(line)
            line["counting"] = _counting(line, slower) if events else None
    return lines


def _counter(trial: Line, of: Line, model: Model) -> Line:
    value = model(trial) if trial["samples"] and of["source"] else None
    why = (
        of["why"] or (trial["reasons"] or ["no sample was counted throughout"])[0]
        if value is None
        else None
    )
    doubtful = value == 0 and not of["proven"]
    n, threads = trial["samples"]["n"] if trial["samples"] else 0, trial["threads"]
    return {
        **{key: of[key] for key in ("name", "source", "unit", "scope")},
        "per": trial["unit"],
        "value": value,
        "ci": None if value is None else [value * 0.99, value * 1.01],
        "per_thread": None if value is None else [value / threads] * threads,
        "total": None if value is None else value * n * 1000,
        "samples": n,
        "trusted": not doubtful,
        "why": (
            "it reads zero in all samples, and no probe saw it count either" if doubtful else why
        ),
    }


def _ratio(counters: list[Line]) -> list[Line]:
    by_name = {c["name"]: c for c in counters if c["value"] is not None}
    if not {"PAPI_TOT_INS", "PAPI_TOT_CYC"} <= set(by_name):
        return []
    of, over = by_name["PAPI_TOT_INS"], by_name["PAPI_TOT_CYC"]
    value = of["value"] / over["value"]
    named = {
        "name": "instructions per cycle",
        "source": "ratio",
        "per": "cycle",
        "per_thread": None,
        "total": None,
    }
    return [{**of, **named, "value": value, "ci": [value * 0.98, value * 1.02]}]


def _own(trial: Line) -> list[Line]:
    """The kernel's own, which every trial has."""
    found = []
    for name, key in OWN.items():
        total = trial["noise"][key] if trial["noise"] else None
        n = trial["samples"]["n"] if trial["samples"] else 0
        found.append(
            {
                "name": name,
                "source": "kernel",
                "unit": "s" if name == "steal" else "1",
                "scope": "thread",
                "per": trial["unit"],
                "value": None if total is None else total / n,
                "ci": None,
                "per_thread": None,
                "total": total,
                "samples": n,
                "trusted": True,
                "why": (
                    (trial["reasons"] or ["the kernel did not tell it"])[0]
                    if total is None
                    else None
                ),
            }
        )
    return found


def _counting(trial: Line, slower: float) -> Optional[Line]:
    time = next(m for m in trial["metrics"] if m["name"] == "time")
    if time["value"] is None:
        return None
    return {
        "with": time["value"] * slower,
        "with_ci": time["ci"] and [end * slower for end in time["ci"]],
        "without": time["value"],
        "without_ci": time["ci"],
    }


PEERS: tuple[Line, ...] = (
    {},
    {
        "peer": "FAISS",
        "version": "1.11.0",
        "theirs": 0.84,
        "ratio": 28.0,
        "ci": [27.1, 28.8],
        "goal": 30,
        "agreement": "inertia within 1e-6",
    },
    {
        "case": "2M x 8, k=256",
        "ours": 0.9,
        "theirs": 6.3,
        "ratio": 7.02,
        "ci": [6.8, 7.2],
        "goal": 7,
    },
    {
        "case": "2M x 8, k=256",
        "threads": 2,
        "ours": 0.5,
        "theirs": 3.1,
        "ratio": 6.2,
        "ci": None,
        "goal": None,
        "peer": "locus, one thread",
        "version": None,
    },
)


def dummy() -> list[Point]:
    return [
        Point(
            "dummy",
            variant,
            {"delay": delay, "noise": noise},
            threads,
            seconds=delay * threads,
            unit="call",
            bind="close",
        )
        for variant in ("fixed", "random")
        for delay in (0.001, 0.002)
        for noise in (0, 0.5)
        for threads in (1, 2)
    ]


FLAGS = {
    "noisy": "30 of 96 samples were interrupted: the CPU was taken from them for 60 ms in all",
    "unconverged": "the interval is 4.1 % wide, 1 % was wanted; the budget of 2 s was spent",
    "misplaced": "52428 of 262144 pages lie on node 0, node 1 was claimed",
    "wrong": "the sum is 12.5, expected 13",
    "impossible": (
        "pages=2M: 0 huge pages of 2 MiB are free, 512 are needed; as root: sysctl"
        " vm.nr_hugepages=512"
    ),
    "failed": "mmap of 1 GiB: cannot allocate memory",
    "interrupted": "SIGINT after 3 of 8 batches",
}


def flag(points: list[Point], every: int = 4) -> list[Point]:
    """Gives each status to one of the points."""
    for (status, reason), point in zip(FLAGS.items(), points[1::every]):
        point.status, point.reasons = status, [reason]
    points[0].notes = ["bimodal: 1.69 ns/load (62 % of samples) and 1.8 ns/load (38 %)"]
    return points


def record(
    machine: Machine, points: list[Point], run: str, seed: int = 1, **changes: Any
) -> list[Line]:
    """A whole run."""
    rng = random.Random(seed)
    lines = [header(machine, run, rng, **changes)]
    at = 0.1
    for point in points:
        lines += measure(point, run, rng, at)
        at += lines[-1]["elapsed"]
    statuses = Counter(p.status for p in points)
    bad = any(statuses[s] for s in ("wrong", "misplaced", "failed"))
    return [
        *lines,
        {
            "type": "end",
            "run": run,
            "status": int(bad),
            "signal": None,
            "trials": dict(statuses),
            "skipped": 0,
            "elapsed": at,
        },
    ]


def run_id(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def machine_record(name: str) -> list[Line]:
    """One whole run on one of MACHINES: numa with every status, and dummy."""
    machine = MACHINES[name]
    return record(
        machine, flag(numa(machine), every=2) + flag(dummy(), every=2), run_id(name), seed=len(name)
    )


def lean(value: Any) -> Any:
    """Without what is null, or empty, as trial and samples lines are written."""
    if isinstance(value, list):
        return [lean(one) for one in value]
    if not isinstance(value, dict):
        return value
    slim = {key: lean(one) for key, one in value.items()}
    return {key: one for key, one in slim.items() if one is not None and one != [] and one != {}}


# What the program says of its benchmarks; test_report holds it against the program.
BENCHMARKS: Line = json.loads(Path(__file__).with_name("benchmarks.json").read_text())


def _described(trials: list[Line]) -> Line:
    """The benchmark line of these trials, which say themselves what their numbers are; the rest
    is the program's, where they have its parameters."""
    told = BENCHMARKS.get(trials[0]["benchmark"], {})
    known = {p["name"] for p in told.get("parameters", [])}
    if any(set(t.get("parameters") or {}) - known for t in trials):
        told = {}
    help_of = {m["name"]: m for m in told.get("metrics", [])}
    named = {v["name"] for v in told.get("variants", [])}
    metrics = {m["name"]: m for t in trials for m in t["metrics"]}
    variants = dict.fromkeys(t["variant"] for t in trials)
    names = {c["name"] for t in trials for c in t.get("counters", [])}
    own = [name for name in OWN if name in names]
    ratios = {(r["parameter"], r["of"], r["to"]): r for t in trials for r in t.get("ratios", [])}
    return {
        "type": "benchmark",
        "run": trials[0]["run"],
        "name": trials[0]["benchmark"],
        "summary": "what it does, in a line",
        "protocol": {"version": 1, "text": trials[0].get("protocol", "as it was made up")},
        "source": None,
        "unit": trials[0].get("unit", "pass"),
        "scored": "span",
        "statistic": {
            "quantile": 0.5,
            "of": "samples in a batch",
            "then": "median over batches, then over allocations",
        },
        "parameters": told.get("parameters", []),
        "metrics": [
            {
                "name": name,
                "unit": m.get("unit", "s/pass"),
                "better": m.get("better") or help_of.get(name, {}).get("better"),
                "kind": "value",
                "help": help_of.get(name, {}).get("help", "what it is"),
            }
            for name, m in metrics.items()
        ],
        "ratios": told.get("ratios")
        or [
            {
                "name": r["name"],
                "parameter": r["parameter"],
                "of": r["of"],
                "to": r["to"],
                "metric": r.get("metric", "time"),
                "help": "by what differs",
            }
            for r in ratios.values()
        ],
        "variants": told.get("variants", [])
        + [
            {"name": name, "summary": "a way", "unused": [], "divided": False}
            for name in variants
            if name not in named
        ],
        "counters": {
            "per": trials[0].get("unit", "pass"),
            "explaining": [],
            "kernel": [{"name": n, "unit": "s" if n == "steal" else "1"} for n in own],
        },
    }


def _told(trial: Line) -> Line:
    """As a trial line tells it: what its benchmark's line says, or the rest of it, is left out."""
    counters = trial.get("counters", [])
    always = [c["name"] in OWN and not c.get("per_thread") for c in counters]
    own = {c["name"]: c for c, is_own in zip(counters, always) if is_own}
    asked = {**trial, "counters": [c for c, is_own in zip(counters, always) if not is_own]}
    for key in ("protocol", "unit", "statistic", "spread_within", "spread_between", "cycles"):
        asked.pop(key, None)
    if "=fnv1a64:" not in asked.get("identity", ""):
        asked.pop("identity", None)
    if not asked.get("oversubscribed", True):
        del asked["oversubscribed"]
    asked["metrics"] = [
        {key: value for key, value in m.items() if key not in ("unit", "better", "why")}
        for m in trial["metrics"]
        if m.get("value") is not None
    ]
    if trial.get("noise"):
        leave_out = {*OWN.values(), "run_delay_why", "samples"}
        asked["noise"] = {k: v for k, v in trial["noise"].items() if k not in leave_out}
    asked["kernel"] = {name: c["total"] for name, c in own.items() if c["total"]}
    if trial.get("samples"):
        asked["samples"] = {**trial["samples"], "parts": trial["samples"]["n"]}
        asked["samples"].pop("batches", None)
        asked["kernel_unknown"] = [n for n, c in own.items() if c["total"] is None]
    if trial.get("placement"):
        asked["placement"] = {
            when: {k: v for k, v in place.items() if v != 0 or k not in UNSAID}
            for when, place in trial["placement"].items()
        }
    return cast(Line, lean(asked))


UNSAID = ("unmapped", "misplaced", "huge_bytes")  # where zero


def as_written(lines: list[Line]) -> list[Line]:
    """Trials that tell all of themselves become those of a record, behind a line for each
    benchmark; what is a record stays one."""
    if any(line["type"] == "benchmark" for line in lines):
        return lines
    trials: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        if line["type"] == "trial":
            trials.setdefault((line["run"], line["benchmark"]), []).append(line)
    written = []
    for line in lines:
        small = {"trial": _told, "samples": lean}.get(line["type"], dict)
        own = small(line)
        if line["type"] == "trial" and "cells" in own.get("pairs", {}):
            cells = own["pairs"].pop("cells")
            written.append({"type": "matrix", "run": line["run"], "trial": line["id"], **cells})
        written.append(own)
        if line["type"] == "header":
            written += [_described(own) for (run, _), own in trials.items() if run == line["run"]]
    return written


def write(path: Path, lines: list[Line]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in as_written(lines)))
    return path


if __name__ == "__main__":
    for machine_name, its_machine in MACHINES.items():
        print(write(Path(sys.argv[1]) / f"{machine_name}.jsonl", machine_record(machine_name)))
        lines = record(
            its_machine, flag(latency(its_machine), every=23), run_id("latency" + machine_name)
        )
        print(write(Path(sys.argv[1]) / f"latency-{machine_name}.jsonl", lines))
        shared = (
            sharing(its_machine) + core_to_core(its_machine, odd=(5,)) + checkpoint(its_machine)
        )
        lines = record(its_machine, flag(shared, every=13), run_id("sharing" + machine_name))
        print(write(Path(sys.argv[1]) / f"sharing-{machine_name}.jsonl", lines))
        lines = record(its_machine, flag(kmeans(), every=5), run_id("kmeans" + machine_name))
        print(write(Path(sys.argv[1]) / f"kmeans-{machine_name}.jsonl", lines))
        searches = search() + search(
            sizes=SIZES[2:3], methods=("branchy",), keys=(ZIPF, HOT), variants=OWNED
        )
        lines = record(its_machine, flag(searches, every=9), run_id("search" + machine_name))
        print(write(Path(sys.argv[1]) / f"search-{machine_name}.jsonl", lines))
        for ranks in (1, 2, 4):
            divided = [
                over_ranks(ranks, size, pages=pages) for size in SIZES for pages in ("base", "thp")
            ]
            lines = record(
                its_machine,
                flag(divided, every=9),
                run_id(f"search {ranks} {machine_name}"),
                ranks=ranks,
            )
            print(write(Path(sys.argv[1]) / f"search-{machine_name}-{ranks}-ranks.jsonl", lines))
