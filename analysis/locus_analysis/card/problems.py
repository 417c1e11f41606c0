# SPDX-License-Identifier: Apache-2.0
"""Problems that spoil measurements on a machine, as far as the record shows them. `locus doctor`
finds more, because it tests the machine itself."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from ..base import units
from ..insight import advice
from ..records.lines import Header, Machine
from ..records.rows import Trial
from .content import Spoiler

MOST_CROWDED = 0.1  # of the samples: fewer hardly move a median


def spoilers(header: Header, trials: Sequence[Trial]) -> list[Spoiler]:
    """The gravest first."""
    return [
        *_load(trials),
        *_crowd(trials),
        *_limits(header["machine"]),
        *_clocks(header),
        *_pages(header["machine"]),
    ]


def _load(trials: Sequence[Trial]) -> Iterator[Spoiler]:
    noisy = sum(t["status"] == "noisy" for t in trials)
    if noisy:
        measured = sum(t["value"] is not None for t in trials)
        yield Spoiler(
            f"other work disturbed {noisy} of {measured} results",
            "ps -eo pcpu,pid,user,comm --sort=-pcpu | head",
        )


def _crowd(trials: Sequence[Trial]) -> Iterator[Spoiler]:
    watched = [t["crowded"] for t in trials if t["crowded"] is not None]
    share = statistics.median(watched) if watched else 0
    if share >= MOST_CROWDED:
        yield Spoiler(
            f"cores are shared: in {units.percent(round(share, 2))} of samples another hardware"
            " thread worked on the same core, perhaps another guest"
        )


def _limits(machine: Machine) -> Iterator[Spoiler]:
    cgroup = machine["cgroup"]
    if cgroup and cgroup["cpu_quota"]:
        yield Spoiler(
            f"the cgroup allows {cgroup['cpu_quota']:.3g} CPUs' time", "sbatch --exclusive ..."
        )
    topology = machine["topology"]
    if topology["allowed"] and topology["allowed"] != topology["online"]:
        some = "CPU" if advice.has_one_cpu(machine) else "CPUs"
        yield Spoiler(f"only {some} {topology['allowed']} of {topology['online']} may be used")


def _clocks(header: Header) -> Iterator[Spoiler]:
    frequency, source = header["machine"]["frequency"], header["clock"]["kernel_source"]
    governor = frequency and frequency["governor"]
    if governor and governor != "performance":
        yield Spoiler(
            f"governor is {governor}", "sudo cpupower frequency-set --governor performance"
        )
    if frequency and frequency["turbo"]:
        file = frequency["boost_source"] or ""
        value = 1 if "no_turbo" in file else 0
        yield Spoiler(
            "turbo: the clock depends on heat", f"echo {value} | sudo tee {file}" if file else ""
        )
    if source in ("hpet", "acpi_pm", "jiffies"):
        yield Spoiler(f"clock source is {source}", "sudo dmesg | grep -i tsc")


def _pages(machine: Machine) -> Iterator[Spoiler]:
    if machine["numa_balancing"] and len(machine["topology"]["nodes"]) > 1:
        yield Spoiler("NUMA balancing moves pages", "sudo sysctl kernel.numa_balancing=0")
    thp = machine["memory"]["thp"]
    if thp and thp["enabled"] == "never":
        yield Spoiler(
            "transparent huge pages: never",
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        )
