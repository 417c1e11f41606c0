# SPDX-License-Identifier: Apache-2.0
"""Synthetic machines, and the header of a run on one of them."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass
from itertools import chain
from typing import Any, Optional

Line = dict[str, Any]
PAGE = 1 << 12


@dataclass(frozen=True)
class Machine:
    host: str
    model: str
    cpu_nodes: int
    memory_nodes: int = 0  # without CPUs
    cores: int = 8  # per node
    local: float = 90e9  # B/s of a node's memory to its own cores
    remote: float = 0.55  # memory from another node, as a share of `local`
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
        "series": None,
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
                "thp": {
                    "enabled": "madvise",
                    "defrag": "madvise",
                    "khugepaged_defrag": 1,
                    "allowed": True,
                },
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
