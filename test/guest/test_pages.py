# SPDX-License-Identifier: Apache-2.0
"""Huge pages on machines of several nodes: transparent and reserved ones, 2 MiB and 1 GiB."""

import pytest
from test_numa import ONCE, local_share, trials, verified

MIB, GIB = 1 << 20, 1 << 30


def reserve(on_0, on_1):
    """The beginning of a script: reserves huge pages on nodes 0 and 1 until the script ends."""
    script = "trap 'echo 0 >/proc/sys/vm/nr_hugepages' EXIT\n"
    for node, n in enumerate((on_0, on_1)):
        pool = f"/sys/devices/system/node/node{node}/hugepages/hugepages-2048kB/nr_hugepages"
        script += f"echo {n} >{pool} && [ $(cat {pool}) = {n} ] || exit 77\n"
    return script


def on_huge_pages(trial, size, bytes_of_a_page):
    for when in "before", "after":
        placement = trial["placement"][when]
        assert (placement["huge_bytes"], placement["huge_page"]) == (
            size,
            bytes_of_a_page,
        ), placement


@pytest.mark.guest(
    "2x2",
    "locus numa --variant single,static,interleave --pages base,thp --layout split --size 8M"
    f" {ONCE}",
)
def test_transparent_huge_pages(done):
    halves = {0: 1024, 1: 1024}
    for variant, nodes in {"single": {0: 2048}, "static": halves, "interleave": halves}.items():
        base, thp = sorted(trials(done, variant), key=lambda trial: trial["parameters"]["pages"])
        on_huge_pages(base, 0, None)
        on_huge_pages(thp, 8 * MIB, 2 * MIB)
        assert verified(base) == verified(thp) == nodes


# With 20000 keys the tables of `best`, including those of its growth, take 2.8 MiB: a huge page on
# each node.
@pytest.mark.guest(
    "2x2",
    "locus hashmap --variant striped,best --placement local,interleave --mix course --padded both"
    f" --operations 20000 --range 20000 --bind 3 --threads 1 {ONCE}",
)
def test_tables_of_maps_that_grow(done):
    for variant in "striped", "best":
        interleaved, local = sorted(
            trials(done, variant), key=lambda trial: trial["parameters"]["placement"]
        )
        assert list(verified(local)) == [1] and local_share(local) == 1
        assert sorted(verified(interleaved)) == [0, 1]
    on_huge_pages(interleaved, 4 * MIB, 2 * MIB)
    # The address says which node has the first huge page; the last one is in use in part.
    whole = 2 * MIB // 4096
    assert sorted(verified(interleaved).values()) == [verified(local)[1] - whole, whole]


RESERVED = f"{reserve(8, 4)}locus numa --pages 2M --layout split"


# Exactly enough pages: 4 on node 0 for `single`, and 2 on each node for each of the other two.
@pytest.mark.guest("2x2", f"{RESERVED} --variant single,static,interleave --size 8M {ONCE}")
def test_reserved_pages(done):
    assert done.status == 0, done
    for variant, nodes in {
        "single": {0: 2048},
        "static": {0: 1024, 1: 1024},
        "interleave": {0: 1024, 1: 1024},
    }.items():
        (trial,) = trials(done, variant)
        on_huge_pages(trial, 8 * MIB, 2 * MIB)
        assert verified(trial) == nodes and local_share(trial) == (
            1 if variant == "static" else 0.5
        )


@pytest.mark.guest(
    "2x2",
    f"{reserve(4, 4)}locus numa --variant single --pages 2M --layout packed --size 16M {ONCE}",
)
def test_pages_of_another_node_where_the_own_has_too_few_are_misplaced(done):
    (trial,) = trials(done, "single")
    assert done.status == 1 and trial["status"] == "misplaced", done
    before = trial["placement"]["before"]
    assert (before["on_node"], before["misplaced"]) == ({"0": 2048, "1": 2048}, 2048)


MORE = {
    "in all": (
        f"{RESERVED} --variant static --size 64M {ONCE}",
        "needs 32 huge pages of 2 MiB, and 12 are free",
    ),
    "on a node": (
        f"{RESERVED} --variant bind --to 1 --size 16M {ONCE}",
        "on node 1, and 4 are free",
    ),
    "of 1 GiB": (
        f"locus numa --pages 1G --layout split --variant bind --to 0 {ONCE}",
        "on node 0, and 0 are free",
    ),
}


@pytest.mark.guest("2x2", {name: command for name, (command, _) in MORE.items()})
def test_more_than_is_reserved_is_impossible(done):
    words, said = dict(MORE.values())[done.command], " ".join(done.out.split())
    assert done.status == 3 and words in said and "reserve more, as root: echo" in said, done


@pytest.mark.guest(
    "2x2", f"locus numa --variant bind --to 1 --pages 1G --layout split --size 8M {ONCE}"
)
def test_a_page_of_1_gib(done):
    assert done.status == 0, done
    (trial,) = trials(done, "bind")
    on_huge_pages(trial, GIB, GIB)
    assert verified(trial) == {1: GIB // 4096}
    pools = {pool["size"]: pool for pool in done.record[0]["machine"]["memory"]["hugepages"]}
    assert [(node["node"], node["total"]) for node in pools[GIB]["per_node"]] == [(0, 0), (1, 1)]
