# SPDX-License-Identifier: Apache-2.0
"""Counters where PAPI, or the processor's PMU, is missing. Those that count are in test/ports:
QEMU emulates them for aarch64 only."""

import guests
import pytest
from lacking import lacking
from some import some

INSTRUCTIONS, CYCLES = "PAPI_TOT_INS", "PAPI_TOT_CYC"
BOTH = f"--counters {INSTRUCTIONS},{CYCLES}"
# Debian's default forbids users to count, and PAPI applies it to root, too.
PARANOID = "/proc/sys/kernel/perf_event_paranoid"
ALLOWED = f"echo 1 >{PARANOID}"
SHORT = "--profile standard --duration 1ms --time-budget 50s --output record.jsonl"
ONCE = f"--repeats 4 {SHORT}"  # two samples with counters, two without
TURNS = "locus dummy --variant steady"


def of_type(done, kind):
    return some(line for line in done.record if line["type"] == kind)


def counted(trial, name):
    (found,) = (counter for counter in trial["counters"] if counter["name"] == name)
    return found


@pytest.fixture
def papi():
    """PAPI of this machine, for guests that run programs built here. Guests of another
    architecture have their own."""
    if not guests.papi() or not list(guests.BUILD.glob("test/stand-in/libpapi.so.*")):
        lacking(
            "PAPI, or a locus that was built with it", "Debian: libpapi-dev; then configure again"
        )


# PAPI knows this processor, but the kernel has no PMU for it. At level 3 PAPI does not try.
@pytest.mark.guest(
    "zeros",
    {
        level: f"echo {level} >{PARANOID}; {TURNS} {BOTH},perf::CYCLES {ONCE}"
        for level in ("1", "3")
    },
)
def test_no_pmu(papi, done):
    lines = done.err.splitlines()
    assert done.status == 3 and not done.record, done
    assert lines and all("no PMU" in line and "pmu=on" in line for line in lines), lines
    for name in INSTRUCTIONS, CYCLES, "perf::CYCLES":
        assert done.err.count(name) == 1, lines


# A locus built with PAPI may run on a node without the library.
@pytest.mark.guest(
    "smt",
    f"find /lib /usr/lib -name 'libpapi.so*' -exec rm {{}} +; {TURNS} {BOTH},perf::PAGE-FAULTS"
    f" {ONCE}",
)
def test_without_the_library_what_needs_none_is_counted(done):
    (line,) = done.err.splitlines()
    assert (
        done.status == 0
        and INSTRUCTIONS in line
        and CYCLES in line
        and "apt-get install libpapi" in line
    ), done
    assert (
        done.record[0]["counters"]["papi"] is None
        and "libpapi" in done.record[0]["counters"]["papi_why"]
    ), done.record[0]
    (trial,) = of_type(done, "trial")
    assert (
        counted(trial, "perf::PAGE-FAULTS")["source"] == "perf"
        and counted(trial, INSTRUCTIONS)["value"] is None
    )


@pytest.mark.guest(
    "zeros",
    f"{ALLOWED}; {TURNS} --counters {INSTRUCTIONS},perf::PAGE-FAULTS,faults,context-switches"
    f" {ONCE}",
)
def test_without_a_pmu_the_kernels_own_are_counted(done):
    assert done.status == 0, done
    (trial,) = of_type(done, "trial")
    assert counted(trial, INSTRUCTIONS)["value"] is None
    for name, source in {
        "perf::PAGE-FAULTS": "perf",
        "faults": "kernel",
        "context-switches": "kernel",
    }.items():
        found = counted(trial, name)
        assert (found["source"], found["trusted"], found["value"] >= 0) == (
            source,
            True,
            True,
        ), found
