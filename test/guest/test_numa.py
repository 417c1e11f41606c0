# SPDX-License-Identifier: Apache-2.0
"""Placement of pages and threads on machines of several nodes, against the expected counts."""

import collections
import math

import pytest
from guests import GUESTS

SEVERAL = ["2x2", "4x2+1"]
MEASURED = ("ok", "unconverged", "bimodal", "noisy")
RECORD = "--profile quick --output record.jsonl"
# Counts, not times: a short sample of each is enough, and none is left out for lack of time.
ONCE = f"--repeats 1 --duration 1ms --time-budget 50s {RECORD}"
PLACED = (
    "locus numa --variant single,random,static,interleave,migrate --layout packed,split,all --size"
    f" 8M {ONCE}"
)
BOUND = f"locus numa --variant bind,matrix --layout split --size 256K {ONCE}"
LATENCY = f"locus latency --variant matrix --size 64K {ONCE}"
# The last one is of the two before it, and emulated threads take seconds to pass its keys on.
SEARCHES = ["whole", "divided", "weighted", "partitioned", "best", "best-partitioned"]
SEARCHED = (
    "locus search --size 1M --search branchless --pages base --threads 4 --variant"
    f" {','.join(SEARCHES)} {ONCE}"
)

# Pages of each thread, which has 1024 points: of their coordinates, labels and groups. With best,
# each has an index, too, of the same size.
OF_A_THREAD = {
    "2p": 4 + 1,
    "2q": 4 + 1,
    "2q-padded": 4 + 1,
    "3p": 4 + 1 + 2,
    "private-dense": 4 + 1,
    "private-padded": 4 + 1,
    "best": 4 + 1,
}
CLUSTERED = (
    "locus kmeans --points 4096 --clusters 9 --iterations 2 --threads 4 --bind spread --variant"
    f" {','.join(OF_A_THREAD)}"
)


def trials(done, variant):
    found = [line for line in done.record if line["type"] == "trial" and line["variant"] == variant]
    assert found, done
    return found


def node_of(done, cpu):
    return next(node for node, cpus in enumerate(GUESTS[done.guest].cpus) if cpu in cpus)


def users(done, trial):
    """The node of each worker."""
    return [node_of(done, cpu) for cpu in trial["cpus"]]


def with_cpus(done):
    return [node for node, cpus in enumerate(GUESTS[done.guest].cpus) if cpus]


def verified(trial):
    """{node: pages} of a placement that was read back page by page and is as claimed, before and
    after."""
    assert trial["status"] in MEASURED, trial
    for when in "before", "after":
        placement = trial["placement"][when]
        assert (placement["how"], placement["unmapped"], placement["misplaced"]) == (
            "verified",
            0,
            0,
        )
        assert sum(placement["on_node"].values()) == placement["pages"]
    assert trial["placement"]["before"]["on_node"] == placement["on_node"]
    return {int(node): pages for node, pages in placement["on_node"].items() if pages}


def local_share(trial):
    return trial["placement"]["after"]["local_share"]


# The expected placement of a variant: {node: pages}, the local share, and the pages by which it
# may differ by chance.


def on_the_first(workers, pages, memory):
    return {workers[0]: pages}, workers.count(workers[0]) / len(workers), 0


def on_the_user(workers, pages, memory):
    return (
        {node: pages * n / len(workers) for node, n in collections.Counter(workers).items()},
        1,
        0,
    )


def in_turn(workers, pages, memory):
    return dict.fromkeys(range(memory), pages / memory), 1 / memory, 1 if pages % memory else 0


def at_random(workers, pages, memory):
    share = {node: n / len(workers) for node, n in collections.Counter(workers).items()}
    chance = (
        5 * math.sqrt(pages) / 2 if len(share) > 1 else 0
    )  # five standard deviations of the binomial distribution, at its widest
    return (
        {node: pages * part for node, part in share.items()},
        sum(part**2 for part in share.values()),
        chance,
    )


THEORY = {
    "single": on_the_first,
    "static": on_the_user,
    "migrate": on_the_user,
    "interleave": in_turn,
    "random": at_random,
}


@pytest.mark.parametrize("variant", THEORY)
@pytest.mark.guest(SEVERAL, PLACED)
def test_pages_lie_where_theory_says(done, variant):
    assert done.status == 0, done
    for trial in trials(done, variant):
        workers, pages = users(done, trial), (8 << 20) // 4096
        expected, share, chance = THEORY[variant](
            workers, pages, memory=len(GUESTS[done.guest].cpus)
        )
        assert verified(trial) == pytest.approx(expected, rel=0, abs=chance), trial["identity"]
        # Each worker's part is interleaved, or placed at random, by itself, so errors add up.
        assert local_share(trial) == pytest.approx(
            share, rel=0, abs=chance * len(workers) / pages
        ), trial["identity"]


MISMATCHED = (
    "locus numa --variant static-dynamic,dynamic-static --layout packed,split,all --size 2M --chunk"
    f" 4096,700 {ONCE}"
)


@pytest.mark.guest("4x2+1", MISMATCHED)
def test_pages_of_mismatched_schedules_lie_where_they_were_initialised(done):
    assert done.status == 0, done
    pages = (2 << 20) // 4096
    for trial in trials(done, "static-dynamic"):
        workers = users(done, trial)
        assert verified(trial) == on_the_user(workers, pages, memory=0)[0], trial["identity"]
        assert local_share(trial) is None
    for trial in trials(done, "dynamic-static"):
        # Who takes how much depends on who runs when: each page lies with one of the workers,
        # and what one node has is what its workers use locally, at most.
        workers, found = users(done, trial), verified(trial)
        assert set(found) <= set(workers) and sum(found.values()) == pages, trial["identity"]
        parts = on_the_user(workers, pages, memory=0)[0]
        most = sum(min(found.get(node, 0), part) for node, part in parts.items())
        used = local_share(trial) * pages  # records have 7 digits
        assert used <= most + 0.001 or len(parts) == 1, trial["identity"]


TOUCHED = (
    "locus numa --variant touch,touch-interleave,touch-bind --layout split --to 1 --pages base"
    f" --size 8M {ONCE}"
)


@pytest.mark.guest("4x2+1", TOUCHED)
def test_pages_given_back_are_touched_again_where_they_were(done):
    assert done.status == 0, done
    pages, nodes = (8 << 20) // 4096, len(GUESTS[done.guest].cpus)
    for variant, placed in {
        "touch": lambda workers: on_the_user(workers, pages, nodes)[0],
        "touch-interleave": lambda workers: in_turn(workers, pages, nodes)[0],
        "touch-bind": lambda workers: {1: pages},
    }.items():
        (trial,) = trials(done, variant)
        assert verified(trial) == pytest.approx(placed(users(done, trial)), rel=0, abs=1)
        assert trial["kernel"]["minor-faults"] >= pages


@pytest.mark.guest(SEVERAL, PLACED)
def test_threads_sit_as_the_layout_says(done):
    cpus = [GUESTS[done.guest].cpus[node] for node in with_cpus(done)]
    rest = "+0" * (len(cpus) - 2)
    layouts = {
        f"2+0{rest}": [*cpus[0]],
        f"1+1{rest}": [cpus[0][0], cpus[1][0]],
        "+".join("2" for _ in cpus): [cpu for own in cpus for cpu in own],
    }
    for variant in THEORY:
        assert {
            trial["parameters"]["layout"]: trial["cpus"] for trial in trials(done, variant)
        } == layouts


@pytest.mark.guest(SEVERAL, BOUND)
def test_bound_pages_lie_on_the_node_whoever_uses_them(done):
    assert done.status == 0, done
    found = {trial["parameters"]["to"]: trial for trial in trials(done, "bind")}
    assert [*found] == [*range(len(GUESTS[done.guest].cpus))]
    for to, trial in found.items():
        assert verified(trial) == {to: 64}
        assert local_share(trial) == users(done, trial).count(to) / 2


@pytest.mark.guest(SEVERAL, {"numa": BOUND, "latency": LATENCY})
def test_the_matrix_has_every_cell(done):
    assert done.status == 0, done
    cells = [
        (*set(users(done, trial)), trial["parameters"]["to"]) for trial in trials(done, "matrix")
    ]
    assert sorted(cells) == [
        (source, to) for source in with_cpus(done) for to in range(len(GUESTS[done.guest].cpus))
    ]
    for (source, to), trial in zip(cells, trials(done, "matrix")):
        assert verified(trial) == {to: 64 if done.command == BOUND else 16} and local_share(
            trial
        ) == (source == to)


LOADED = (
    "locus latency --variant loaded --size 64K --load-size 128K --mix 1r1w --rate 0 --pages base"
)


@pytest.mark.guest(["2x2", "4x2+1"], f"{LOADED} --from each --to all {ONCE}")
def test_load_and_chain_lie_on_the_node_asked_for(done):
    """Also where that has no CPUs: 16 pages of the chain, 32 of the other thread's lines."""
    assert done.status == 0, done
    found = trials(done, "loaded")
    cells = [(*set(users(done, trial)), trial["parameters"]["to"]) for trial in found]
    assert sorted(cells) == [
        (source, to) for source in with_cpus(done) for to in range(len(GUESTS[done.guest].cpus))
    ]
    for (source, to), trial in zip(cells, found):
        assert verified(trial) == {to: 48} and local_share(trial) == (source == to)


@pytest.mark.guest("2x2", f"{LOADED} --from each {ONCE}")
def test_load_is_local_unless_asked_otherwise(done):
    assert done.status == 0, done
    found = trials(done, "loaded")
    assert [verified(trial) for trial in found] == [{0: 48}, {1: 48}]
    assert all(local_share(trial) == 1 for trial in found)


NO_NODE = "--to: there is no node 9 on this machine; there is 0, 1, 2, 3, 4"
NO_CPUS = "layout node:4: that node has no CPUs that this process may use; nodes with CPUs: 0-3"
NOT_HERE = {
    "numa --variant bind --to 9": NO_NODE,
    "latency --variant matrix --to 9": NO_NODE,
    "numa --variant matrix --from node:9": (
        "--from: layout node:9: there is no such node; nodes with CPUs: 0-3"
    ),
    "numa --variant matrix --from node:4": f"--from: {NO_CPUS}",
    "numa --variant static --layout node:4": f"--layout: {NO_CPUS}",
    "numa --variant static --layout 1+1+1": (
        "layout 1+1+1 has 3 numbers; expected one for each node with CPUs (0-3)"
    ),
    "numa --variant static --layout 3+0+0+0": (
        "layout 3+0+0+0 asks for 3 threads on node 0, which has 2 CPUs"
    ),
    "numa --variant static --layout split --threads 9": (
        "layout 3+2+2+2 asks for 3 threads on node 0, which has 2 CPUs"
    ),
}


@pytest.mark.guest("4x2+1", {words: f"locus {words}" for words in NOT_HERE})
def test_places_that_are_not_here_are_errors(done, request):
    assert done.status == 3 and NOT_HERE[done.command.partition(" ")[2]] in done.err, done


@pytest.mark.guest("4x2+1", "locus numa --variant bind --to two")
def test_what_is_no_node_is_an_error_of_the_command_line(done):
    assert done.status == 2 and "--to: 'two' is not a node" in done.err, done


@pytest.mark.guest("4x2+1", "locus topology")
def test_a_memory_only_node_is_named(done):
    assert [
        line.split(None, 1)[0]
        for line in done.out.splitlines()
        if line.endswith("none: memory only")
    ] == ["4"], done.out


@pytest.mark.guest("4x2+1", PLACED)
def test_a_memory_only_node_is_in_the_record(done):
    topology = done.record[0]["machine"]["topology"]
    nodes = [(node["node"], node["memory_only"], node["cpus"]) for node in topology["nodes"]]
    assert nodes == [*((n, False, [2 * n, 2 * n + 1]) for n in range(4)), (4, True, [])]
    assert topology["distances"] == [
        [10, 20, 32, 32, 17],
        [20, 10, 32, 32, 28],
        [32, 32, 10, 20, 32],
        [32, 32, 20, 10, 32],
        [17, 28, 32, 32, 10],
    ]


# A cpuset with all nodes except the memory-only one.
CONFINED = f"""all=/sys/fs/cgroup ours=/sys/fs/cgroup/confined
mount -t cgroup2 cgroup $all && echo +cpuset >$all/cgroup.subtree_control && mkdir $ours || exit 77
echo 0-3 >$ours/cpuset.mems && echo $$ >$ours/cgroup.procs || exit 77
locus numa --variant bind --to 4 --profile quick; echo "status $?"
locus numa --variant interleave,matrix --layout split --from node:0 --size 2M {ONCE}"""


@pytest.mark.guest("4x2+1", CONFINED)
def test_a_node_outside_the_cpuset_is_no_target(done):
    why = "can't lie on node 4, which has no memory that this process may use (cpuset)"
    assert why in done.err and "status 3\n" in done.out, done
    assert done.status == 0, done
    (interleaved,) = trials(done, "interleave")
    assert verified(interleaved) == dict.fromkeys(range(4), 128)
    assert [trial["parameters"]["to"] for trial in trials(done, "matrix")] == [0, 1, 2, 3]


SINGLE = (
    "locus numa --variant single --layout split --size 16M --repeats 30 --duration 1ms"
    " --time-budget 50s"
)
# NUMA balancing scans every 100 ms instead of every second.
MOVED = f"""mount -t debugfs debug /sys/kernel/debug
echo 1 >/proc/sys/kernel/numa_balancing || exit 77
trap 'echo 0 >/proc/sys/kernel/numa_balancing' EXIT
for scan in delay period_min; do
	echo 100 >/sys/kernel/debug/sched/numa_balancing/scan_${{scan}}_ms || exit 77
done
locus doctor >doctor
{SINGLE} {RECORD}"""


BALANCED = MOVED.replace(
    SINGLE,
    "locus numa --variant balance --layout split --size 8M --repeats 1 --duration 1ms"
    " --time-budget 50s",
)


@pytest.mark.guest("v1", BALANCED)
def test_what_the_kernel_balances_is_waited_for_and_counted(done):
    assert done.status == 0, [trial["reasons"] for trial in trials(done, "balance")]
    (trial,) = trials(done, "balance")
    before, after = trial["placement"]["before"], trial["placement"]["after"]
    assert trial["status"] in MEASURED, trial
    found = {metric["name"]: metric["value"] for metric in trial["metrics"]}
    stuck, moving = found["stuck"], found["moving"]
    pages = (8 << 20) // 4096
    # The kernel goes on afterwards, and hides pages that it samples.
    there = before["on_node"]["1"]
    assert 0 < there <= pages / 2 and moving > 0 and 0 <= stuck < pages / 2
    assert after["on_node"]["1"] >= there * 0.9


@pytest.mark.guest("v1", MOVED)
def test_single_is_detected_as_moved_where_the_kernel_balances(done):
    assert done.status == 1, done
    (trial,) = trials(done, "single")
    before, after = trial["placement"]["before"], trial["placement"]["after"]
    assert trial["status"] == "misplaced" and any(
        "after its samples" in reason for reason in trial["reasons"]
    ), trial
    assert (
        before["unmapped"] == after["unmapped"] == 0
        and sum(before["on_node"].values()) == sum(after["on_node"].values()) == 4096
    )
    assert (
        before["misplaced"] <= after["misplaced"] == after["on_node"]["1"] <= 2048
    )  # what node 1 uses
    assert done.record[0]["machine"]["numa_balancing"] == 1
    assert "NUMA balancing       on (1)" in (done.folder / "doctor").read_text(encoding="utf-8")


def check_ranges(done, variants):
    """Data that only one thread uses are on its node: the keys that it deals or searches, and
    the range that it alone searches."""
    assert done.status == 0, done
    for trial in (trial for variant in variants for trial in trials(done, variant)):
        assert set(users(done, trial)) <= set(verified(trial)), trial["identity"]
        assert local_share(trial) == 1, trial["identity"]


@pytest.mark.guest("2x2", SEARCHED)
def test_ranges_lie_with_their_owners(done):
    check_ranges(done, SEARCHES)


@pytest.mark.guest("4x2+1", SEARCHED.replace(f",{SEARCHES[-1]}", ""))
def test_ranges_of_four_nodes_lie_with_their_owners(done):
    check_ranges(done, SEARCHES[:-1])


@pytest.mark.parametrize("variant", ["best", "best-partitioned"])
@pytest.mark.guest("2x2", SEARCHED)
def test_the_upper_layers_of_a_tree_lie_on_each_node(done, variant):
    """Each of two threads on a node has as much there, and both nodes have the layers."""
    for trial in trials(done, variant):
        of = trial["parameters"]
        found = verified(trial)
        assert [*found] == [0, 1] and found[0] == found[1] > 0, (of, found)
        # 1/15 of the array each
        (overhead,) = [m["value"] for m in trial["metrics"] if m["name"] == "overhead"]
        assert overhead == pytest.approx(2 / 15, rel=0.05), of


@pytest.mark.guest("4x2+1", f"{CLUSTERED} {ONCE}")
def test_points_lie_with_who_clusters_them(done):
    """Shared data lie with the first thread, except pages that hold parts of several threads:
    these lie with one of them."""
    assert done.status == 0, done
    for variant, pages in OF_A_THREAD.items():
        (trial,) = trials(done, variant)
        first, *_ = workers = users(done, trial)
        found = verified(trial)
        shared = {node: n - pages * workers.count(node) for node, n in found.items()}
        assert set(found) == set(workers) == set(with_cpus(done)) and min(shared.values()) >= 0, (
            variant,
            found,
        )
        if variant == "best":
            (index,) = {n / workers.count(node) for node, n in shared.items() if node != first}
            assert index >= 1, found
            shared = {node: n - index * workers.count(node) for node, n in shared.items()}
        assert shared[first] >= 1 and sum(shared.values()) <= 3, (variant, found)
