# SPDX-License-Identifier: Apache-2.0
"""locks on machines of several nodes: where locks and queues lie, and whom a lock goes to next."""

import pytest
from guests import GUESTS
from test_numa import ONCE, node_of, trials, verified

# Shares of the next holder, by distance
SHARES = ["to-self", "to-core", "to-cache", "to-node", "to-far"]
LOCKED = "locus locks --layout apart --section 100 --reads 0"
LONG = ONCE.replace("1ms", "50ms")  # and up to 20 times that: until all threads have a CPU
QUEUED = f"{LOCKED} --variant mcs,clh,cohort --threads all --bind spread {LONG}"
PASSES = 64  # how often in a row the threads of a node may pass a cohort lock on


def shares_of(trial):
    """{distance: share of hand-overs}; none where threads were never all at work."""
    found = {metric["name"]: metric["value"] for metric in trial["metrics"]}
    if found["to-self"] is None:
        return {}
    assert sum(found[name] for name in SHARES) == pytest.approx(1), trial["identity"]
    return {name: found[name] for name in SHARES}


def shares(trial):
    """Distances at which the lock was handed over."""
    return {name for name, share in shares_of(trial).items() if share}


@pytest.mark.guest("4x2+1", QUEUED)
def test_a_lock_goes_between_nodes_and_what_waits_lies_with_its_thread(done):
    """A thread's post has some pages of its node; the lock and what it guards are a page on that of
    the first thread."""
    assert done.status == 0, done
    nodes = GUESTS[done.guest].cpus
    for variant in "mcs", "clh", "cohort":
        (trial,) = trials(done, variant)
        assert shares(trial) <= {"to-self", "to-node", "to-cache", "to-far"}
        found = verified(trial)
        post = found[1] // len(nodes[1])
        assert post > 1 and found == {
            node: post * len(own) + (node == node_of(done, trial["cpus"][0]))
            for node, own in enumerate(nodes)
            if own
        }


@pytest.mark.guest("4x2+1", QUEUED)
def test_a_cohort_lock_seldom_leaves_its_node(done):
    """Where all threads of a node always want it, one hand-over in 65 goes to another node. A
    queue takes no heed of nodes."""
    far = {v: shares_of(trials(done, v)[0]).get("to-far") for v in ("mcs", "clh", "cohort")}
    assert far["cohort"] in (None, pytest.approx(1 / (PASSES + 1), rel=0.5))
    assert all(far[v] is None or far[v] > 0.25 for v in ("mcs", "clh")), far


# The CPUs that two threads are bound to in the guest, and what they then share.
BOUND = {"0,1": "to-core", "0,2": "to-cache", "0,4": "to-far"}


@pytest.mark.guest(
    "smt",
    {words: f"{LOCKED} --variant mcs,mutex --threads 2 --bind {words} {LONG}" for words in BOUND},
)
def test_handovers_are_told_apart_by_what_threads_share(done, request):
    assert done.status == 0, done
    (there,) = (BOUND[words] for words in BOUND if f"--bind {words} " in done.command)
    for variant in "mcs", "mutex":
        (trial,) = trials(done, variant)
        assert shares(trial) <= {"to-self", there}, (variant, there)
    (fair,) = trials(done, "mcs")
    assert there in shares(fair)
