# SPDX-License-Identifier: Apache-2.0
"""packaging/slurm/locus-health beside a stub of scontrol: what it makes of a node's state and
reason. SLURM itself: test/cluster/test_health.py."""

import os
import pathlib
import subprocess

import pytest

HEALTH = pathlib.Path(__file__).resolve().parents[2] / "packaging/slurm/locus-health"
GOOD = "locus: n1 as expected: 3 facts, 2 trials"
SICK = "locus: n1 memory total 1 GiB, at least 2 GiB expected"
UNTOLD = "locus: health: cannot tell: no.such: this machine has no such fact"
DRAIN = f"update nodename=n1 state=drain reason={SICK}\n"
RESUME = "update nodename=n1 state=resume\n"


@pytest.fixture
def asked(tmp_path):
    """asked(status, said, shown): what scontrol is told if locus says this, and scontrol shows
    that: lines, between " | "."""

    def program(name, text):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)

    def ask(status, said, shown):
        program("locus", f"printf '%s' '{said}'; exit {status}")
        lines = "\n   ".join(["NodeName=n1 Arch=x86_64", *shown.split(" | "), "CurrentWatts=0"])
        show = f"*show*) echo '{lines}' ;;"
        program("scontrol", f'case $* in {show} *) echo "$*" >>updates ;; esac')
        (tmp_path / "updates").write_text("")
        environment = {
            **os.environ,
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "SLURMD_NODENAME": "n1",
        }
        subprocess.run([HEALTH], env=environment, cwd=tmp_path, capture_output=True, check=True)
        return (tmp_path / "updates").read_text()

    return ask


@pytest.mark.parametrize(
    "shown",
    (
        *("State=IDLE Weight=1", "State=IDLE | Partitions=cpu,DRAINTEST", "State=MIXED+CLOUD"),
        *("State=IDLE | Comment=State=DRAIN Reason=locus: x", "State=IDLE+DRAIN | Reason=locus: x"),
        *("State=DOWN", "State=DOWN* | Reason=Not responding [slurm@2026-01-01T00:00:00]"),
        "State=DOWN | Partitions=DRAIN | Reason=Node unexpectedly rebooted [slurm@x] | Comment=y:z",
        "State=DOWN | Reason=Not responding [slurm@x] | Comment=a Reason=x",
        "State=DOWN+DRAIN | Reason=locus: n1 x",
        "State=IDLE | Comment=see Reason=by hand",
    ),
)
def test_a_sick_node_is_drained(asked, shown):
    assert asked(1, SICK, f"OS=Linux 6.1 #1 SMP State=x | {shown}") == DRAIN


@pytest.mark.parametrize(
    "shown",
    (
        *("State=IDLE+DRAIN Weight=1", "State=IDLE+DRAIN | Reason=a fan", "State=IDLE+FAIL"),
        *("State=DOWN+DRAIN | Reason=a fan", "State=DOWN | Reason=a dimm [root@x]"),
        *("State=DOWN* | Reason=Not responding to me [root@x]", "State=FAIL | Reason=a dimm"),
        "State=IDLE+REBOOT_ISSUED | Reason=bios",
        "State=IDLE+DRAIN | Reason=by hand: see Reason=locus: x | Comment=foo",
        "State=IDLE+DRAIN | Reason=by hand:locus: x | Comment=Reason=locus: x",
        "State=MIXED+DRAIN+CLOUD | Reason=by locus: x",
    ),
)
def test_the_drain_of_others_stays(asked, shown):
    assert asked(1, SICK, shown) == "" == asked(0, GOOD, shown)


@pytest.mark.parametrize(
    ("said", "resumed"),
    (
        (GOOD, True),
        ("locus: n1 as expected: 1 fact, 1 trial", True),
        ("locus: n1 as expected: 3 facts; no trials: other work takes 3.1 CPUs", False),
        ("locus: n1 as expected: 3 facts", True),
        (f"{GOOD}\n{UNTOLD}", False),
        (UNTOLD, False),
        ("", False),
    ),
)
def test_it_is_resumed_only_if_all_was_checked(asked, said, resumed):
    """A trial may have drained it."""
    ours = "State=IDLE+DRAIN | Reason=locus: n1 clock 2 us, at most 1 us expected [x@y]"
    assert asked(0, said, ours) == RESUME * resumed
    assert asked(0, said, "State=IDLE | Partitions=cpu") == ""


@pytest.mark.parametrize("state", ("DOWN+DRAIN", "IDLE+DRAIN+REBOOT_ISSUED", "FAIL"))
def test_a_node_that_is_also_down_is_not_resumed(asked, state):
    """SLURM's ReturnToService, or an admin, decides on that."""
    assert asked(0, GOOD, f"State={state} | Reason=locus: n1 x") == ""


@pytest.mark.parametrize("said", ("", "ld.so: a warning", "\n"))
def test_the_reason_is_never_empty(asked, said):
    """Nor another program's: a node whose reason is not ours is never resumed."""
    drain = "update nodename=n1 state=drain reason=locus: n1 is not as expected\n"
    assert asked(1, said, "State=IDLE") == drain
    assert asked(1, f"{said}\n{SICK}", "State=IDLE") == DRAIN
