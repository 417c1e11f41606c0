# SPDX-License-Identifier: Apache-2.0
"""cores as a user runs it: what each CPU did, alone and with the others, and which one errs."""

import re

import pytest
from conftest import MEASURED
from some import some

SHORT = "--quanta 100 --repeats 2"
BY_CPU = {"quantum", "rate", "clock", "lost", "tail", "gap", "wrong"}


def of_cpus(trial, name):
    """The metric's values by CPU."""
    (metric,) = (m for m in trial["metrics"] if m["name"] == name)
    assert len(metric["by_worker"]) == len(trial["cpus"])
    return dict(zip(trial["cpus"], metric["by_worker"]))


@pytest.fixture(scope="module")
def measured(run):
    done, trials = run(SHORT)
    assert done.status == 0, done.err
    return some([t for t in trials if t["status"] != "impossible"])


def test_every_cpu_works_alone_and_with_the_others(measured, cpus):
    assert {t["variant"] for t in measured} == {"alone", "together"}
    assert {t["parameters"]["width"] for t in measured} >= {"64", "128"}
    for trial in measured:
        assert trial["status"] in MEASURED and sorted(trial["cpus"]) == cpus
        assert trial["samples"]["units"] == 100


def test_each_cpu_has_its_values(run, cpus):
    """Of one sample: the medians of several rates and times need not belong together."""
    _, trials = run("--quanta 100 --repeats 1")
    for trial in some([t for t in trials if t["status"] != "impossible"]):
        of = {name: of_cpus(trial, name) for name in BY_CPU}
        lanes = int(trial["parameters"]["width"]) / 64
        for cpu in cpus:
            assert of["rate"][cpu] * of["quantum"][cpu] == pytest.approx(1024 * 12 * lanes, 1e-4)
            assert of["tail"][cpu] >= of["quantum"][cpu] > 0 and of["gap"][cpu] >= 0
            assert 0 <= of["lost"][cpu] < 1 and of["wrong"][cpu] == 0 and of["clock"][cpu] > 1e8


def test_the_slowest_is_told_beside_the_median(measured):
    for trial in measured:
        (slowest,) = (m["value"] for m in trial["metrics"] if m["name"] == "slowest")
        assert 0 < slowest <= 1


def test_together_is_compared_with_alone(measured):
    for trial in measured:
        found = {(r["of"], r["to"], r["metric"]) for r in trial["ratios"]}
        assert found == {("together", "alone", "quantum")} or trial["variant"] == "alone"


@pytest.mark.parametrize("variant", ["alone", "together"])
def test_a_cpu_that_computes_wrong_is_named(run, cpus, variant):
    bad = cpus[-1]
    planted = {"LOCUS_CORES_WRONG": str(bad)}
    done, (trial,) = run(f"--variant {variant} --width 128 {SHORT}", env=planted)
    assert done.status == 1 and trial["status"] == "wrong"
    assert f"CPU {bad} computes wrong" in trial["reasons"][0]
    assert f"CPU {bad} computes wrong" in done.out
    wrong = of_cpus(trial, "wrong")
    assert wrong.pop(bad) > 100 and set(wrong.values()) <= {0}


def test_all_wrong_cpus_are_named(run, cpus):
    done, (trial,) = run(f"--variant together --width 64 {SHORT}", env={"LOCUS_CORES_WRONG": "all"})
    names = " and ".join(map(str, cpus)) if len(cpus) < 3 else str(cpus[0])
    assert names in trial["reasons"][0] and len(done.err) < 1000


def test_the_slowest_cpus_stand_in_one_line(locus):
    """Two CPUs have no median; here three workers share them."""
    done = locus(f"cores --width 64 --threads 3 --oversubscribe {SHORT}")
    lines = re.findall(
        r"^ +quantum of CPUs over the median:(?: [\d.]+ \(CPU \d+\),?){3}$", done.out, re.M
    )
    assert done.status == 0 and len(lines) == 2


@pytest.mark.parametrize("words", ["--quanta 0", "--quanta 2M", "--bind float"])
def test_what_makes_no_sense_is_told(locus, words):
    done = locus(f"cores --width 64 {words}")
    assert done.status in (1, 2, 3) and words.split()[0] in done.out + done.err


def test_more_cpus_share_the_time_of_64(locus):
    few, many = (
        locus("cores --dry-run --width 64 --variant alone --topology", f"core:{n} pu:1").out
        for n in (64, 256)
    )
    assert "quanta=1000" in few and "quanta=250" in many
