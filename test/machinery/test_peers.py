# SPDX-License-Identifier: Apache-2.0
"""`make peers`: one rule says whether a goal is reached, and what misses one ends nothing."""

import itertools
import pathlib
import subprocess
import sys

import pytest
from some import some

PEERS = pathlib.Path(__file__).parents[1] / "peers"
sys.path[:0] = [str(PEERS), str(PEERS.parents[1] / "analysis")]
beside = __import__("beside")
report = __import__("locus_analysis.peers").peers

INTERVALS = [
    (low, high) for low, high in itertools.product((0.9, 1, 1.1, 2, 3), repeat=2) if low <= high
]


def test_report_and_scripts_judge_a_goal_alike():
    for low, high in some(INTERVALS):
        peer = {"goal": 1.1, "value": 2, "low": low, "high": high}
        assert beside.outcome((low, high), 1.1) == report.reached(peer)
    assert {beside.outcome(one, 1.1) for one in INTERVALS} == {"reached", "missed", "open"}


def test_programs_judge_a_goal_as_scripts_do(tmp_path):
    calls = "\n".join(
        f"puts(goal_outcome({low}, {high}, 1.1, {most}));"
        for low, high in INTERVALS
        for most in ("INFINITY", 2)
    )
    source = tmp_path / "rule.c"
    source.write_text(
        '#include <math.h>\n#include <stdio.h>\n#include "goal.h"\n'
        f"int main(void)\n{{\n{calls}\nreturn 0;\n}}\n"
    )
    program = tmp_path / "rule"
    subprocess.run(["cc", f"-I{PEERS}", "-o", program, source], check=True)
    said = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    assert said == [
        beside.outcome(interval, 1.1, most)
        for interval in some(INTERVALS)
        for most in (float("inf"), 2)
    ]


@pytest.mark.parametrize("failing", ["false", "cat no-such-file", "no-such-program"])
def test_a_miss_ends_no_other_comparison(failing, tmp_path):
    done = subprocess.run(
        [PEERS / "all", "echo first", failing, f"touch {tmp_path}/reached", "echo last"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout.startswith("first\n") and "\nlast\n" in "\n" + done.stdout
    assert (tmp_path / "reached").exists()
    assert f"\n  {failing} (status " in done.stdout


def test_what_is_missing_is_no_miss(tmp_path):
    missing = tmp_path / "missing"
    missing.write_text("#!/bin/sh\nexit 77\n")
    missing.chmod(0o755)
    subprocess.run([PEERS / "all", "true", missing], check=True)
