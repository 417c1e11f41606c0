# SPDX-License-Identifier: Apache-2.0
"""Unusual sets of CPUs: on nodes of unequal size, more than glibc's sets have room for, offline,
or chosen by hand."""

import pytest
from guests import GUESTS

# Counts, not times: a short sample of each is enough, and none is left out for lack of time.
ONCE = "--profile quick --output record.jsonl --repeats 1 --duration 1ms --time-budget 50s"
MEASURED = ("ok", "unconverged", "bimodal", "noisy")


def trials(done):
    found = [line for line in done.record if line["type"] == "trial"]
    assert found and all(trial["status"] in MEASURED for trial in found), done
    return found


LAYOUTS = f"locus numa --variant bind --to 0 --layout packed,split,all,each --size 2M {ONCE}"
MATRIX = f"locus numa --variant matrix --size 2M {ONCE}"


@pytest.mark.guest("uneven", LAYOUTS)
def test_each_node_has_as_many_threads_as_cores(done):
    assert done.status == 0, done
    found = {trial["parameters"]["layout"]: trial["cpus"] for trial in trials(done)}
    each = {"0+1+0": [3], "0+0+1": [4]}
    assert found == {"3+0+0": [0, 1, 2], "1+1+1": [0, 3, 4], "3+1+1": [0, 1, 2, 3, 4], **each}


@pytest.mark.guest("uneven", MATRIX)
def test_the_matrix_of_unequal_nodes_has_every_cell(done):
    assert done.status == 0, done
    memory = [
        node["node"] for node in done.record[0]["machine"]["topology"]["nodes"] if node["memory"]
    ]
    rows = {"3+0+0": [0, 1, 2], "0+1+0": [3], "0+0+1": [4]}
    cells = {
        (trial["parameters"]["from"], trial["parameters"]["to"]): trial["cpus"]
        for trial in trials(done)
    }
    assert cells == {(row, to): cpus for row, cpus in rows.items() for to in memory}


@pytest.mark.guest(
    "4x2+1", f"locus numa --variant static --layout packed,all --bind 1,4,7,6 --size 2M {ONCE}"
)
def test_a_list_restricts_layouts(done):
    assert done.status == 0, done
    found = {
        trial["parameters"]["layout"]: (trial["bind"], trial["cpus"]) for trial in trials(done)
    }
    assert found == {"0+0+2": ("1,4,7,6", [6, 7]), "1+1+2": ("1,4,7,6", [1, 4, 6, 7])}


MANY = (
    "grep -q '^0-1099$' /sys/devices/system/cpu/possible && locus latency --variant matrix --size"
    f" 64K {ONCE}"
)


@pytest.mark.guest("v1", MANY)
def test_a_kernel_with_room_for_more_cpus_than_1024(done):
    assert done.status == 0, done
    cells = {
        (trial["parameters"]["from"], trial["parameters"]["to"]): trial["cpus"]
        for trial in trials(done)
    }
    assert cells == {
        (row, to): cpus for row, cpus in {"1+0": [0], "0+1": [2]}.items() for to in (0, 1)
    }


@pytest.mark.guest("v1", "locus topology")
def test_what_firmware_says_of_memory_is_shown(done):
    heading, *rows = done.out[
        done.out.index("memory as the firmware describes it (HMAT)") :
    ].splitlines()[1:4]
    assert heading.split()[0] == "node" and [row.split() for row in rows] == [
        ["0", "80", "ns", "80", "ns", "40", "GiB/s", "40", "GiB/s", "0-1"],
        ["1", "90", "ns", "90", "ns", "36", "GiB/s", "36", "GiB/s", "2-3"],
    ]


# The CPU is put online again for the other tests, even if locus fails.
OFFLINE = f"""echo 0 >/sys/devices/system/cpu/cpu3/online || exit 77
locus doctor >doctor; {LAYOUTS}
status=$?; echo 1 >/sys/devices/system/cpu/cpu3/online; locus doctor >after; exit $status"""


@pytest.mark.guest("v1", OFFLINE)
def test_an_offline_cpu_is_left_out_and_told(done):
    assert done.status == 0, done
    doctor, after = (
        (done.folder / name).read_text(encoding="utf-8") for name in ("doctor", "after")
    )
    assert (
        "[--] CPUs                 all 3 CPUs may be used; CPU 3 is offline\n" in doctor
        and "sudo chcpu -e 3\n" in doctor
    )
    assert (
        "[ok] CPUs                 all 4 CPUs may be used\n" in after
    )  # possible CPUs that are not present do not count as offline
    found = {trial["parameters"]["layout"]: trial["cpus"] for trial in trials(done)}
    assert found == {"2+0": [0, 1], "1+1": [0, 2], "2+1": [0, 1, 2], "0+1": [2]}
    assert GUESTS[done.guest].cpus == ((0, 1), (2, 3))
