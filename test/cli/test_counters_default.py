# SPDX-License-Identifier: Apache-2.0
"""`--counters default`: what each benchmark counts, and the suite."""

import re

import pytest
from conftest import SMALL
from retries import tries
from some import some
from test_counters import CYCLES, check_sums, counted, of_type
from test_every import listed, rows


def names_of(locus):
    return some(line.split()[0] for line in locus("list").out.splitlines())


def per(locus, name):
    """The unit that a benchmark's counts are divided by."""
    (found,) = re.findall(
        r"^counters \(--counters default; for each ([^;]+);", locus("list", name).out, re.MULTILINE
    )
    return found


@pytest.mark.native("the suite counts the same")
def test_every_benchmark_counts_its_default_set(locus, read, tmp_path, with_papi):
    for name in names_of(locus):
        first = rows(listed(locus, name), "variants")[0][0]
        file = tmp_path / f"{name}.jsonl"
        words = (
            f"{name} --profile quick --time-budget 60s --duration 1ms --repeats 3 --oversubscribe"
            f" --counters default {SMALL.get(name, '')} --variant {first} --output"
        )
        done = locus(words, file, env=with_papi("counters=8"))
        assert done.status == 0, done.err
        lines = read(file)
        events = {e["name"]: e for e in lines[0]["counters"]["events"]}
        assert lines[0]["counters"]["asked"] == ["default"]
        assert events[CYCLES]["source"] == "papi"
        assert check_sums(lines) >= 2
        unit = per(locus, name)
        for trial in some(t for t in of_type(lines, "trial") if t["stopped"] == "repeats"):
            asked = [c for c in trial["counters"] if c["name"] in events]
            assert len(asked) == len(events) and {c["per"] for c in asked} == {unit}
            cycles = counted([trial], CYCLES)
            assert cycles["value"] > 0 and cycles["total"] > 0


def test_the_suite_counts_for_each_its_own(locus, read, tmp_path, with_papi):
    file = tmp_path / "a.jsonl"
    words = "suite --profile quick --time-budget 3s --counters default,faults"
    names: dict[str, set[str]] = {}
    for _ in tries(5, "the suite had no time for all benchmarks"):
        done = locus(
            f"{words} {'--resume' if names else ''} --output", file, env=with_papi("counters=8")
        )
        assert done.status == 0, done.err
        trials = of_type(read(file), "trial")
        names = {t["benchmark"]: {c["name"] for c in t["counters"]} for t in some(trials)}
        if {"search", "latency", "sharing"} <= names.keys():
            break
    assert "PAPI_BR_MSP" in names["search"] and "PAPI_BR_MSP" not in names["latency"]
    assert "PAPI_TLB_DM" in names["latency"] and "PAPI_TLB_DM" not in names["sharing"]
    assert all("faults" in of for of in some(names.values()))
