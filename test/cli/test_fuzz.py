# SPDX-License-Identifier: Apache-2.0
"""Command lines that nobody would write, made of the program's own words: planned, or refused with a reason. Nothing is run."""

import random

import pytest

STRANGE = [
    "",
    "0",
    "1",
    "-1",
    "2",
    "all",
    "auto",
    "1..4",
    "1K..1M*2",
    "1..9+1",
    "4..1",
    "1e9",
    "0x10",
    "nan",
    ",",
    "1,,2",
    "%s%n",
    "=",
    "--",
]
STRANGE += [
    "\udcff",
    "a" * 300,
    "1," * 200,
    "9" * 400,
    "node:0",
    "each",
    "packed,split",
    "1+1",
    "+",
    "0-4294967295",
    "inherited",
    "close",
]
MACHINES = ["node:2 core:2 pu:2", "core:1", "node:3 core:1 pu:1(indexes=2,0,1)", "pack:2 node:2 core:3 pu:1"]


@pytest.mark.parametrize("benchmark", ["numa", "latency", "dummy", "suite"])
def test_command_lines(locus, benchmark):
    known = ["numa", "dummy"] if benchmark == "suite" else [benchmark]
    options = sorted(set.intersection(*(set(locus("list --names", name).out.split()) for name in known)) - {"--topology"})
    values = [*STRANGE, *sorted(set(locus("list", known[0]).out.split()))]
    choose = random.Random(benchmark)
    planned = 0
    for _ in range(100):
        words = ["--dry-run", f"--topology={choose.choice(MACHINES)}"]
        for name in choose.choices(options, k=choose.randrange(1, 4)):
            value = choose.choice(values)
            words += choose.choice([[name, value], [f"{name}={value}"], [name]])
        done = locus(benchmark, *words, errors="replace")
        assert done.status in (0, 2, 3), (words, done)
        assert done.status == 0 or done.err.startswith("locus"), (words, done)
        planned += done.status == 0
    assert planned
