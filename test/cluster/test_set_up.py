# SPDX-License-Identifier: Apache-2.0
"""Nodes that are set up differently: `locus sick` names them by their records, `locus health` by
what is expected of good nodes. No trial of these looks at a speed."""

import json
import pathlib
import subprocess
import sys

import pytest
from lacking import lacking
from slurm import BUILD, ask, minicluster, wait_for, wait_until_idle

FEW = [
    "--profile",
    "quick",
    "--variant",
    "steady",
    "--repeats",
    "2",
    "--duration",
    "1ms",
]
THP = "/sys/kernel/mm/transparent_hugepage/enabled"
HALF = (
    {"cpu.cfs_quota_us": "50000"},
    {"cpu.max": "50000 100000"},
)  # of a CPU, by cgroups v1 and v2
# Becomes slurmd, whose children get no huge pages.
WITHOUT = """
import ctypes, os, sys
PR_SET_THP_DISABLE = 41
assert not ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)
os.execvp("slurmd", ["slurmd", "-N", sys.argv[1]])
"""


class Campaign:
    """Looks at all nodes, by records of a job and by health. Begun while all are alike."""

    def __init__(self, submit, folder):
        self.submit, self.expected = submit, folder / "expected.json"
        assert self.differing() == {}
        self.expected.write_text(ask(BUILD / "locus", "export", "--expect", self.job.results))
        assert self.unhealthy() == {}

    def differing(self):
        """{host: in what it differs from the seven others}, by `locus sick`."""
        self.job = self.submit("dummy", *FEW, sbatch=["--nodes=8"])
        assert self.job.until("COMPLETED") == 0
        done = subprocess.run(
            [BUILD / "locus", "sick", "--format", "json", self.job.results],
            capture_output=True,
            check=False,
            text=True,
        )
        assert done.returncode in (0, 1, 4), done.stderr
        found = json.loads(done.stdout)["findings"]
        return {
            f["host"]: [fact.split(" (7: ")[0] for fact in f["differs"]]
            for f in found
            if f["differs"]
        }

    def unhealthy(self):
        """{host: its line of `locus health`}, of hosts where that ends with status 1."""
        health = f"{BUILD.resolve()}/locus health --expect {self.expected} || [ $? = 1 ]"
        words = ["--nodes=8", "--ntasks-per-node=1", "--cpu-bind=none"]
        lines = ask("srun", *words, "sh", "-c", health).splitlines()
        assert len(lines) == 8
        return {line.split()[1]: line for line in lines if "as expected" not in line}


@pytest.fixture
def campaign(submit, tmp_path):
    if not pathlib.Path(THP).exists() or "[never]" in pathlib.Path(THP).read_text():
        lacking("transparent huge pages", f"echo madvise | sudo tee {THP}")
    return Campaign(submit, tmp_path)


def test_huge_pages_off_and_half_a_cpu(campaign, group, tmp_path):
    """Each on one node of eight."""
    never = tmp_path / "never"
    never.write_text("always madvise [never]\n")
    minicluster("on", "n2", "mount", "--bind", never, THP)
    try:
        group("cpu", *HALF)  # n1's
        differing, unhealthy = campaign.differing(), campaign.unhealthy()
    finally:
        minicluster("on", "n2", "umount", THP)
    assert differing == {
        "n1": ["cgroup.cpu quota 0.5"],
        "n2": ["memory.thp.enabled never", "memory.thp.allowed false"],
    }
    assert unhealthy.keys() == {"n1", "n2"}
    assert unhealthy["n1"].startswith("locus: n1 cgroup cpu_quota 0.5, ")
    assert unhealthy["n2"].startswith("locus: n2 memory thp enabled never, ")


def restart(node, *command):
    """Another slurmd instead of the node's."""
    alive = 'kill -0 "$(cat "$MINICLUSTER/spool/slurmd.pid")" 2>/dev/null'
    minicluster("on", node, "sh", "-c", 'kill "$(cat "$MINICLUSTER/spool/slurmd.pid")"')
    said = ["on", node, "sh", "-c", f"{alive} || echo gone"]
    wait_for(lambda: minicluster(*said) == "gone\n", f"slurmd of {node} is gone")
    minicluster("on", node, *command)
    wait_until_idle()


def test_a_daemon_without_huge_pages(campaign):
    """The node's setting is that of all others."""
    restart("n3", sys.executable, "-c", WITHOUT, "n3")
    try:
        differing, unhealthy = campaign.differing(), campaign.unhealthy()
    finally:
        restart("n3", "slurmd", "-N", "n3")
    assert differing == {"n3": ["memory.thp.allowed false"]}
    assert unhealthy.keys() == {"n3"}
    assert unhealthy["n3"].startswith("locus: n3 memory thp allowed false, true expected")
