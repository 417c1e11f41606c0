# SPDX-License-Identifier: Apache-2.0
"""Which unit tests run in QEMU's emulation of single programs."""

import pathlib

UNITS = sorted(file.stem for file in (pathlib.Path(__file__).parent / "unit").glob("test_*.c"))
# Unit tests that depend on the kernel, and run in a guest. All others test instructions only, and
# run in user-mode emulation.
ABOUT_THE_KERNEL = [
    "test_background",
    "test_class",
    "test_counters",
    "test_doctor",
    "test_doctor_tries",
    "test_frames",
    "test_hugepages",
    "test_kinds",
    "test_layouts",
    "test_likwid_stand_in",
    "test_limits",
    "test_markers",
    "test_membind",
    "test_multisize",
    "test_nodes",
    "test_numa",
    "test_numa_claims",
    "test_papi",
    "test_papi_reasons",
    "test_park",
    "test_perf",
    "test_places",
    "test_provenance",
    "test_providers",
    "test_region",
    "test_region_huge",
    "test_sysfs",
    "test_team",
    "test_topology",
]
ABOUT_INSTRUCTIONS = [unit for unit in UNITS if unit not in ABOUT_THE_KERNEL]
# Where QEMU emulates larger pages than the kernel's, the kernel still counts its own, and finds a
# part of a page that was touched in part; and a child of fork() keeps its parent's thread id (QEMU
# 7.2). So these tests get the kernel's pages.
ABOUT_THE_KERNELS_PAGES = ["test_agree", "test_pool", "test_watchdog"]
