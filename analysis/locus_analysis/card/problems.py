# SPDX-License-Identifier: Apache-2.0
"""Problems that spoil measurements on a machine, as far as the record shows them. `locus doctor`
finds more, because it tests the machine itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .content import Spoiler

Row = Any  # not typed yet


def spoilers(header: Row, trials: Sequence[Row]) -> list[Spoiler]:
    """The gravest first."""
    return [
        *_load(trials),
        *_limits(header["machine"]),
        *_clocks(header),
        *_pages(header["machine"]),
    ]


def _load(trials: Sequence[Row]) -> Iterator[Spoiler]:
    noisy = sum(t["status"] == "noisy" for t in trials)
    if noisy:
        measured = sum(t["value"] is not None for t in trials)
        yield Spoiler(
            f"other work disturbed {noisy} of {measured} results",
            "ps -eo pcpu,pid,user,comm --sort=-pcpu | head",
        )


def _limits(machine: Row) -> Iterator[Spoiler]:
    quota = (machine.get("cgroup") or {}).get("cpu_quota")
    if quota:
        yield Spoiler(f"the cgroup allows {quota:.3g} CPUs' time", "sbatch --exclusive ...")
    topology = machine["topology"]
    if topology["allowed"] and topology["allowed"] != topology["online"]:
        yield Spoiler(f"only CPUs {topology['allowed']} of {topology['online']} may be used")


def _clocks(header: Row) -> Iterator[Spoiler]:
    frequency = header["machine"]["frequency"] or {}
    governor, source = frequency.get("governor"), header["clock"].get("kernel_source")
    if governor and governor != "performance":
        yield Spoiler(
            f"governor is {governor}", "sudo cpupower frequency-set --governor performance"
        )
    if frequency.get("turbo"):
        file = frequency.get("boost_source") or ""
        value = 1 if "no_turbo" in file else 0
        yield Spoiler(
            "turbo: the clock depends on heat", f"echo {value} | sudo tee {file}" if file else ""
        )
    if source in ("hpet", "acpi_pm", "jiffies"):
        yield Spoiler(f"clock source is {source}", "sudo dmesg | grep -i tsc")


def _pages(machine: Row) -> Iterator[Spoiler]:
    if machine.get("numa_balancing") and len(machine["topology"]["nodes"] or []) > 1:
        yield Spoiler("NUMA balancing moves pages", "sudo sysctl kernel.numa_balancing=0")
    if (machine["memory"].get("thp") or {}).get("enabled") == "never":
        yield Spoiler(
            "transparent huge pages: never",
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        )
