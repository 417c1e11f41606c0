# SPDX-License-Identifier: Apache-2.0
"""`make peers`: one rule says whether a goal is reached, and what misses one ends nothing."""

import importlib
import importlib.machinery
import itertools
import math
import os
import pathlib
import subprocess
import sys
import types

import pytest
from lacking import need_modules
from some import some

need_modules()
PEERS = pathlib.Path(__file__).parents[1] / "peers"
sys.path[:0] = [str(PEERS), str(PEERS.parents[1] / "analysis")]
beside = __import__("beside")
report = importlib.import_module("locus_analysis.page.peers")

INTERVALS = [
    (low, high) for low, high in itertools.product((0.9, 1, 1.1, 2, 3), repeat=2) if low <= high
]


def test_report_and_scripts_judge_a_goal_alike():
    for low, high in some(INTERVALS):
        peer = {"goal": 1.1, "value": 2, "low": low, "high": high}
        assert beside.outcome((low, high), 1.1) == report.reached(peer)
    assert {beside.outcome(one, 1.1) for one in INTERVALS} == {
        "reached",
        "missed",
        "open",
    }


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
        [
            PEERS / "all",
            "echo first",
            failing,
            f"touch {tmp_path}/reached",
            "echo last",
        ],
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


def script(name):
    loader = importlib.machinery.SourceFileLoader(f"peers_{name}", str(PEERS / name))
    module = types.ModuleType(loader.name)
    loader.exec_module(module)
    return module


CPUS = sorted(os.sched_getaffinity(0))


def kmeans(peer, folder):
    numpy = __import__("numpy")
    numpy.save(folder / "points-double.npy", numpy.arange(64.0).reshape(32, 2))
    numpy.save(folder / "start-double.npy", numpy.arange(4.0).reshape(2, 2))
    case = types.SimpleNamespace(clusters=2)
    match = types.SimpleNamespace(case=case, real="double")
    return peer.ours(match, folder, 2, 1, "none")["took"]


def sharing(peer, _):
    peer.ALONE = peer.ALONE.replace("--repeats 33", "--repeats 2")
    found = peer.ours(CPUS)
    assert set(found) == {name for name in peer.LIMITS if len(CPUS) > 1 or name != "core-to-core"}
    return found.values()


def hogs(peer, _):
    found = [peer.trial("numa --variant static --kernel sum --size 64K --layout 1", CPUS[0])]
    assert 0 <= peer.cost(found) < 1
    assert peer.noisy(found) <= 1
    return peer.times(found)


def test_a_hog_is_to_be_seen_where_it_moves_the_time():
    peer = script("hogs")
    assert [peer.moved(i) for i in ((1.04, 1.2), (0.8, 0.96), (0.98, 1.02), (1.01, 1.2))] == [
        True,
        True,
        False,
        None,
    ]
    judged = {
        (changed, with_hog): peer.right(changed, with_hog, 0)
        for changed in (True, False, None)
        for with_hog in (0, 0.5, 1)
    }
    assert [cell for cell, good in judged.items() if good] == [
        (True, 1),
        (False, 0),
        (None, 0),
        (None, 0.5),
        (None, 1),
    ]
    assert not any(peer.right(changed, 0, 0.1) for changed in (True, False, None))


def pruning(peer, _):
    peer.PRODUCTS = 1 << 20
    ratio, (low, high) = peer.gain(16, 2, "float", 9)
    assert low <= ratio <= high
    return [ratio]


def run(peer, _):
    return [peer.ours("sum", 1 << 14, "base", 1)[0]]


@pytest.mark.parametrize("measure", [kmeans, sharing, hogs, pruning, run])
def test_scripts_read_what_the_program_writes(measure, tmp_path):
    found = measure(script(measure.__name__), tmp_path)
    assert all(0 < value < math.inf for value in some(list(found)))
