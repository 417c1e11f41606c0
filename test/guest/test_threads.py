# SPDX-License-Identifier: Apache-2.0
"""SMT siblings are told from cores; a binding from outside is recorded, and kept."""

import guests
import pytest
from lacking import lacking
from test_numa import ONCE, trials, verified

STATIC = f"locus numa --variant static --size 1M {ONCE}"


@pytest.mark.guest("smt", f"locus topology; locus doctor; {STATIC} --layout packed,split,all")
def test_hardware_threads_are_told_from_cores(done):
    assert "2 packages, 2 nodes, 4 cores, 8 CPUs (2 a core)" in done.out, done.out
    assert "2 hardware threads a core; by default one of them is used" in done.out, done.out
    assert done.record[0]["machine"]["topology"]["smt"] == 2
    # One thread for each core, on the core's first hardware thread.
    seated = {trial["parameters"]["layout"]: trial["cpus"] for trial in trials(done, "static")}
    assert seated == {"2+0": [0, 2], "1+1": [0, 4], "2+2": [0, 2, 4, 6]}


@pytest.mark.guest("smt", f"{STATIC} --layout 4+0,4+4")
def test_siblings_come_after_all_cores(done):
    seated = {trial["parameters"]["layout"]: trial["cpus"] for trial in trials(done, "static")}
    assert seated == {"4+0": [0, 2, 1, 3], "4+4": [0, 2, 1, 3, 4, 6, 5, 7]}


LOADED = "locus latency --variant loaded --size 64K --load-size 1M --mix read --rate 0"
SHARING = "locus sharing --variant add --layout padded --threads 2"


@pytest.mark.guest("smt", f"{LOADED} --from all {ONCE}")
def test_by_default_a_core_has_one_thread(done):
    for trial in trials(done, "loaded"):
        assert sorted(trial["cpus"]) == [0, 2, 4, 6], trial


@pytest.mark.guest("2x2", f"numactl --cpunodebind=1 {STATIC} --layout all")
def test_layouts_are_made_of_the_cpus_that_are_ours(done):
    assert done.record[0]["binding"]["bound_by"] == "taskset or cpuset" and done.record[0][
        "binding"
    ]["affinity"] == [2, 3]
    (trial,) = trials(done, "static")
    assert (trial["parameters"]["layout"], trial["cpus"]) == ("2", [2, 3]) and verified(trial) == {
        1: 256
    }


@pytest.fixture
def likwid():
    if not guests.likwid():
        lacking("likwid-pin", "Debian: likwid")


# Without a layout, threads keep the CPUs that likwid-pin gave them; layouts use these CPUs only.
@pytest.mark.usefixtures("likwid")
@pytest.mark.guest(
    "2x2",
    f"likwid-pin -q -c 3,1 {SHARING} {ONCE}",
)
def test_likwid_pin_is_respected(done):
    binding = done.record[0]["binding"]
    assert (binding["bound_by"], binding["affinity"], binding["inherited"]) == (
        "likwid-pin",
        [1, 3],
        [3, 1],
    ), done
    for trial in trials(done, "add"):
        assert (trial["bind"], trial["cpus"]) == ("inherited", [3, 1])


@pytest.mark.usefixtures("likwid")
@pytest.mark.guest("2x2", f"likwid-pin -q -c M0:1@M1:0 {STATIC} --layout all")
def test_layouts_are_made_of_what_likwid_pin_left(done):
    assert done.status == 0 and done.record[0]["binding"]["bound_by"] == "likwid-pin", done
    for trial in trials(done, "static"):
        assert (trial["parameters"]["layout"], trial["cpus"]) == ("1+1", [1, 2])
