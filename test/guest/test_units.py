# SPDX-License-Identifier: Apache-2.0
"""Unit tests about places of pages, in a guest with more nodes than this machine. Those whose nodes
are made up do the same everywhere."""

import guests
import pytest
from lacking import lacking

PLACES = [
    "test_membind",
    "test_provenance",
    "test_region",
    "test_region_huge",
]
# Tests that must not be skipped in a guest.
ESSENTIAL = {
    "many_pages",
    "reserved_pages",
    "reserved_pages_on_another_node",
    "test_loops_are_what_was_meant",
}


def unit(program):
    return f"sh /bin/run-unit {program}"


def commands(programs):
    return {program: unit(program) for program in programs}


def all_is_well(done):
    program = done.command.split()[-1]
    if f"unit/{program}" not in guests.units(guests.GUESTS[done.guest].architecture):
        lacking(
            f"{program}, and with it cmocka,",
            "Debian: libcmocka-dev; then configure again, and make check",
        )
    lines = [line for line in done.out.splitlines() if line.startswith(("ok ", "not ok "))]
    skipped = [line for line in lines if "# SKIP" in line]
    assert not [line for line in lines if line.startswith("not ok")], f"{done.out}{done.err}"
    assert done.status == 0 and len(lines) > len(skipped), done
    print(*skipped, sep="\n")
    assert not [line for line in skipped if ESSENTIAL & set(line.split())], done.out


@pytest.mark.guest("2x2", commands(PLACES))
def test_on_two_nodes(done):
    all_is_well(done)
