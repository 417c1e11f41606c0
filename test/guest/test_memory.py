# SPDX-License-Identifier: Apache-2.0
"""Nodes whose memory is too small, absent, taken by others, or not allowed to this process."""

import dataclasses
import re

import pytest
from test_numa import MEASURED, ONCE, trials, verified
from test_restricted import said


def reasons(done):
    """The first reason of each trial; all of them must be impossible."""
    found = [trial for trial in done.record if trial["type"] == "trial"]
    assert done.status == 3 and {trial["status"] for trial in found} == {"impossible"}, done
    return [trial["reasons"][0] for trial in found]


# The tests below rely on these sizes of nodes 1 and 3.


@pytest.mark.guest("uneven", "cat /sys/devices/system/node/node[13]/meminfo")
def test_the_kernel_lies_on_no_small_node(done):
    total = [int(kib) / 1024 for kib in re.findall(r"MemTotal: +(\d+) kB", done.out)]
    assert len(total) == 2 and total[0] > 240 and total[1] > 112, done


# A bind policy is a limit, as a cpuset is: a process that exceeds it is killed by the kernel. Node
# 3 has less than 128 MiB.

ON_3 = "numactl --membind=3 locus"
TOO_LARGE = {
    "numa": f"{ON_3} numa --variant single,bind --to 3 --size 120M {ONCE}",
    "numa of all nodes": f"{ON_3} numa --variant static --size 200M {ONCE}",
    "search": f"{ON_3} search --variant divided --size 150M {ONCE}",
    "latency": f"{ON_3} latency --variant cycle --size 150M {ONCE}",
}


@pytest.mark.guest("uneven", TOO_LARGE)
def test_what_exceeds_a_policy_is_refused(done):
    for reason in reasons(done):
        assert "available on node 3, the only one that the memory policy bind:3 allows" in reason
    assert done.record[0]["binding"]["memory_policy"] == "bind:3"


DOWN = "116M 112M 108M 104M"
SWEEP = "--kernel sum --pages base --layout packed --threads 1 --repeats 1 --duration 1ms"


def swept(command):
    return f"for size in {DOWN}; do {command} {SWEEP} --size $size; echo status $?; done"


@pytest.mark.guest(
    "uneven",
    {
        "policy": swept(f"{ON_3} numa --variant single"),
        "bound": swept("locus numa --variant bind --to 3"),
    },
)
def test_each_size_is_refused_or_had_up_to_the_last_mebibytes(done):
    found = [int(status) for status in re.findall(r"status (\d+)", done.out)]
    assert set(found) == {0, 3} and found == sorted(found, reverse=True), done


# For this process, nodes outside a bind policy have no memory.


@pytest.mark.guest("uneven", f"{ON_3} numa --variant bind --to 0 --layout packed --size 2M {ONCE}")
def test_a_node_outside_a_policy_is_no_target(done):
    (reason,) = reasons(done)
    why = "which has no memory that this process may use (memory policy bind:3)"
    assert f"can't lie on node 0, {why}" in reason


ON_1 = "numactl --membind=1 locus numa --variant single,static,interleave,migrate"


@pytest.mark.guest("2x2", f"{ON_1} --layout packed --size 2M {ONCE}")
def test_first_touch_goes_where_a_policy_binds_it(done):
    assert done.status == 0, done
    for variant in "single", "static", "interleave", "migrate":
        (trial,) = trials(done, variant)
        assert verified(trial) == {1: 512} and trial["placement"]["after"]["local_share"] == 0
        why = "which has no memory that this process may use (memory policy bind:1)"
        told = f"threads sit on node 0, {why}: what they touch first lies on node 1"
        assert told in trial["notes"]


TOLD = {
    "--membind=1": r"\[--\] memory policy +bind:1: memory of these nodes only\n",
    "--interleave=0,1": r"\[!!\] memory policy +interleave:0-1: pages lie there",
    "--preferred=1": r"\[!!\] memory policy +prefer:1: pages lie there",
    "--localalloc": r"\[ok\] memory policy +local: pages lie with the threads",
}


@pytest.mark.guest("2x2", {policy: f"numactl {policy} locus doctor" for policy in TOLD})
def test_the_doctor_tells_a_policy_and_how_to_lift_it(done):
    policy = done.command.split()[1]
    said(done, TOLD[policy])
    lift = r"memory policy .*\n(?: .*\n)+ +\$ numactl --localalloc locus"
    assert bool(re.search(lift, done.out)) == (policy != "--localalloc"), done.out


STEERED = "locus numa --variant static,bind --to 0 --layout packed --size 2M"


STEERING = ("--interleave=0,1", "--preferred=1")


@pytest.mark.guest("2x2", {policy: f"numactl {policy} {STEERED} {ONCE}" for policy in STEERING})
def test_a_policy_that_undoes_first_touch_is_told(done):
    (static,), (bound,) = trials(done, "static"), trials(done, "bind")
    away = 512 if "preferred" in done.command else 256
    assert (done.status, static["status"]) == (1, "misplaced"), done
    assert static["placement"]["before"]["misplaced"] == away
    assert re.search("the inherited memory policy .* numactl --localalloc", static["reasons"][0])
    assert bound["status"] in MEASURED and verified(bound) == {0: 512}, "it has a policy of its own"


@pytest.mark.guest("2x2", f"numactl --interleave=0,1 numactl --localalloc {STEERED} {ONCE}")
def test_a_policy_can_be_lifted(done):
    assert done.status == 0 and verified(trials(done, "static")[0]) == {0: 512}, done
    assert done.record[0]["binding"]["memory_policy"] == "local"


# Nodes of unequal size.

FROM_0 = "--variant matrix --from node:0 --to 3 --size 150M"
ON_SMALL = {
    "bind": (f"locus numa --variant bind --to 3 --size 150M {ONCE}", "150 MiB", 3),
    "matrix": (f"locus numa {FROM_0} {ONCE}", "150 MiB", 3),
    "latency": (f"locus latency {FROM_0} {ONCE}", "150 MiB", 3),
    "interleave": (f"locus numa --variant interleave --size 420M {ONCE}", "140 MiB", 3),
    "single": (f"locus numa --variant single --layout node:1 --size 300M {ONCE}", "300 MiB", 1),
    "static": (f"locus numa --variant static --layout node:1 --size 300M {ONCE}", "300 MiB", 1),
}


@pytest.mark.guest("uneven", {name: command for name, (command, *_) in ON_SMALL.items()})
def test_what_has_no_room_on_its_node_is_refused_with_the_arithmetic(done):
    ((need, node),) = [words for command, *words in ON_SMALL.values() if command == done.command]
    needs = rf"it needs {need}, and \d\.?\d* MiB for page tables and samples, on node {node}"
    for reason in reasons(done):
        found = re.search(rf"{needs}, which has (\d+) MiB (?:available|free) of (\d+) MiB", reason)
        assert found and int(found[1]) <= int(found[2]), reason


# Memory that is in use: by tmpfs, which the kernel can't drop, and by cached files, which it can.

TAKE = "numactl --membind=1 dd bs=1M"
FULL = f"{TAKE} if=/dev/zero of=/dev/shm/full count=150; trap 'rm /dev/shm/full' EXIT"
ON_NODE_1 = "locus numa --variant single,bind --to 1 --layout node:1"


@pytest.mark.guest("uneven", f"{FULL}; locus doctor; {ON_NODE_1} --size 100M {ONCE}")
def test_a_full_node_has_no_room(done):
    for reason in reasons(done):
        found = re.search(r"100 MiB.* on node 1, which has ([\d.]+) MiB .* of \d+ MiB", reason)
        assert found and float(found[1]) < 90, reason
    left = said(done, r"\[--\] memory +([\d.]+) MiB of \d+ MiB available on node 1, the least")
    assert float(left[0]) < 90


# Descriptor 3 stays open: the kernel drops the cached pages of a device with its last close.
CACHED = f"exec 3</dev/nvme0n1; {TAKE} if=/dev/nvme0n1 of=/dev/null count=175"
DROPPED = "echo 3 >/proc/sys/vm/drop_caches; locus numa --variant single --layout node:1 --size 75M"
DROPPED += f" {ONCE.replace('record', 'dropped')}"
CACHED += f"; {ON_NODE_1} --size 75M {ONCE}; {DROPPED}"


@pytest.mark.guest("uneven", CACHED)
def test_cached_files_give_way_to_a_policy_but_not_to_first_touch(done):
    (single,), (bound,) = trials(done, "single"), trials(done, "bind")
    assert verified(bound) == {1: 75 * 256} and single["status"] == "impossible", done
    told = "MiB of cached files, for which first touch goes to another node"
    assert told in single["reasons"][0]


@pytest.mark.guest("uneven", CACHED)
def test_dropped_files_give_way_to_first_touch(done, read):
    dropped = dataclasses.replace(done, record=read(done.folder / "dropped.jsonl"))
    assert verified(trials(dropped, "single")[0]) == {1: 75 * 256}


# Node 2 has CPUs but no memory: pages that they touch first lie on the nearest node, 1.

MEMORYLESS = {
    "numa": "numa --variant single,random,static,migrate --layout node:2 --size 8M",
    "latency": "latency --variant cycle --size 64K --bind 4",
    "sharing": "sharing --variant add --layout shared --bind 4 --threads 1",
    "checkpoint": "checkpoint --body reverse --variant together --bind 4 --threads 1",
    "search": "search --variant whole --search branchless --size 1M --bind 4,3 --threads 2",
    "hashmap": "hashmap --variant striped,striped-waitfree,best --range 1000 --bind 4 --threads 1",
}


@pytest.mark.guest("uneven", {name: f"locus {words} {ONCE}" for name, words in MEMORYLESS.items()})
def test_first_touch_on_a_node_without_memory_goes_to_the_nearest(done):
    found = [trial for trial in done.record if trial["type"] == "trial"]
    assert done.status == 0 and found, done
    told = "threads sit on node 2, which has no memory: what they touch first lies on node 1"
    for trial in found:
        assert [*verified(trial)] == [1] and told in trial["notes"], trial
        assert not trial["placement"]["after"]["local_share"] or trial["cpus"] == [4, 3], trial
    nodes = done.record[0]["machine"]["topology"]["nodes"]
    assert [node["first_touch"] for node in nodes] == [0, 1, 1, 3] and nodes[2]["memory"] == 0


@pytest.mark.guest(
    "uneven",
    {
        "numa": f"locus numa --variant bind --to 2 --layout packed --size 2M {ONCE}",
        "core-to-core": f"locus core-to-core --home 2 {ONCE}",
    },
)
def test_a_node_without_memory_is_no_target(done):
    for reason in reasons(done):
        assert "can't lie on node 2, which has no memory;" in reason


@pytest.mark.guest("uneven", "locus doctor")
def test_the_doctor_tells_nodes_without_memory_from_those_of_a_cpuset(done):
    finding = "4; node 2 has no memory: what its CPUs touch first lies on node 1"
    (below,) = said(done, rf"\[--\] NUMA nodes +{finding}\n((?: .*\n)+)")
    assert "cpuset" not in below and "sbatch" not in below
    said(done, r"\[ok\] memory +\d+ MiB of 1\d\d MiB available on node 3, the least of 3 nodes\n")
    said(done, r"\[ok\] memory policy +default: pages lie with the threads that touch them first")
