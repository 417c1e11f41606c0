# SPDX-License-Identifier: Apache-2.0
"""Each variant of each benchmark is measured, and each choice of each parameter, by the names in
`locus list`: a new one is tested without an edit here."""

from conftest import MEASURED, SMALL
from retries import tries
from some import some
from test_every import OTHER, QUICK, choices, every, listed, rows

DISTANCES = ("core", "cache", "node", "far")
# Metrics that need ranks, other machines, or other values of parameters than these tests take.
ELSEWHERE = {
    "hashmap": {"reader-latency"},
    "kmeans": {"communication"},
    "locks": {f"{what}-{where}" for what in ("handover", "to") for where in DISTANCES},
    "numa": {"moving"},
    "prefetch": {"obtained"},
    "search": {"communication", "wire"},
}


def measure_all(locus, read, tmp_path, name, option, values):
    """With two threads where that is possible."""
    file = tmp_path / f"{option}.jsonl"
    file.unlink(missing_ok=True)
    words = f"{name} {QUICK} {SMALL.get(name, '')} {option} {','.join(some(values))}"
    two = " --threads 2"
    two *= locus(words + two, "--dry-run").status == 0
    done = locus(words + two, "--output", file)
    assert done.status in (0, 3), done
    lines = read(file)
    trials = some([line for line in lines if line["type"] == "trial"])
    found = {trial["status"] for trial in trials}
    assert found - {"impossible"} and found <= {*MEASURED, "impossible"}, trials
    return lines


@every
def test_each_variant_is_measured(locus, read, tmp_path, name):
    """Sanitizers see benchmarks by this test: other tests check their results, in the native build,
    and kernels in unit tests."""
    variants = dict(rows(listed(locus, name), "variants"))
    for _ in tries(10, "workers never worked at the same time, so that their trial has no result"):
        lines = measure_all(locus, read, tmp_path, name, "--variant", variants)
        (table,) = (line["metrics"] for line in lines if line["type"] == "benchmark")
        trials = [line for line in lines if line["type"] == "trial"]
        reported = {m["name"] for t in trials for m in t["metrics"] if m["value"] is not None}
        lacking = {metric["name"] for metric in some(table)} - reported - ELSEWHERE.get(name, set())
        if not (lacking and any("never worked at the same" in str(t["reasons"]) for t in trials)):
            break
    assert not lacking, f"{name}: no trial reports these metrics of its table: {lacking}"


@OTHER
@every
def test_each_choice_is_measured(locus, read, tmp_path, name):
    """All but pages, which a machine may lack, and data in a file, which must be named."""
    for option, values in choices(listed(locus, name)).items():
        if option != "--pages":
            measure_all(locus, read, tmp_path, name, option, [v for v in values if v != "file"])
