# SPDX-License-Identifier: Apache-2.0
"""The network between the nodes of a job: a node that is slow to all, or a pair that is slow, is
named, and no other. The nodes share two CPUs, so only what is far slower than the scheduler shows.
"""

import contextlib
import json
import os
import subprocess

import pytest
from lacking import lacking
from retries import tries
from slurm import SOURCE
from some import some
from test_mpi import setting  # noqa: F401

WORDS = ("--variant", "pairs", "--repeats", "5")


@contextlib.contextmanager
def slow_link(node, *words):
    """While it lasts, what the node sends is delayed: slow_link's arguments."""
    here = SOURCE / "test/cluster"
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        lacking("/dev/net/tun", "a kernel with tun, and a container with the device")
    process = subprocess.Popen(
        [here / "minicluster", "on", node, here / "slow_link", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin and process.stdout
    with process:
        assert process.stdout.readline() == "ready\n"
        try:
            yield
        finally:
            process.stdin.close()


def judged(job):
    """Who is sick, by `locus sick` of the job's results."""
    done = subprocess.run(
        [os.environ["LOCUS"], "sick", "--format", "json", job.results],
        stdout=subprocess.PIPE,
        check=False,
        text=True,
    )
    found = json.loads(done.stdout)["findings"]
    assert done.returncode == (1 if found else 0)
    return {f["host"]: f["reason"] for f in found}


def test_every_pair_of_nodes(completed, read, nodes):
    job = completed("fabric", *WORDS, sbatch=["--nodes=4"])
    header, *lines = read(job.record("4-ranks"))
    assert header["ranks"] == 4 and "btl" in header["mpi"]["transport"]
    (trial,) = (line for line in lines if line["type"] == "trial")
    pairs = {frozenset((r["rank"], o)) for r in trial["rows"] for o in r.get("with", [])}
    assert len(pairs) == 6
    assert [row["host"] for row in some(trial["rows"])] == nodes
    assert [row["node"] for row in some(trial["rows"])] == [0, 1, 2, 3]
    assert judged(job) == {}


@pytest.mark.parametrize(
    ("node", "words", "host", "said", "why"),
    [
        ("n2", ["10", "-"], "n2", "slow to all (", "latency "),
        ("n3", ["0", "50"], "n3", "slow to all (", "bandwidth "),
        ("n1", ["10", "-", "10.77.0.3"], "n1 - n3", "slow (", "latency "),
    ],
)
def test_who_is_slow(completed, node, words, host, said, why):
    """10 ms, 50 Mbit/s; 10 ms between two nodes. Where other work delays healthy messages as much,
    nobody is named; nobody else ever is. On a slow link messages may also wait for each other."""
    for _ in tries(3, "other work delayed all messages"):
        with slow_link(node, *words):
            job = completed("fabric", *WORDS, sbatch=["--nodes=4"])
        found = judged(job)
        assert found.keys() <= {host}, found
        if found:
            break
    assert found[host].startswith(said) and why in found[host], found
