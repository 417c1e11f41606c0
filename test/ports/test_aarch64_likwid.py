# SPDX-License-Identifier: Apache-2.0
"""The real LIKWID with counters that count: built for aarch64 with its perf_event backend, on a
guest of two CPUs.

Versions differ in which threads they count: up to 5.4 only threads of the process that start later
inherit perf_event's counters, and counts are kept by CPU; since 5.5 they are kept by thread.
"""

import re

import guests
import pytest
from lacking import lacking
from test_aarch64_counters import OF_A_LOAD
from test_counters import INSTRUCTIONS, PARANOID, counted, of_type

VERSIONS = ["5.2.2", "5.4.1", "5.5.1"]
SHORT = (
    "--profile standard --duration 5ms --repeats 6 --time-budget 50s --quiet --output record.jsonl"
)
CHASE = f"locus latency --variant cycle --size 4K --pages base {SHORT}"
SUM = f"locus numa --variant static --kernel sum --size 256K --threads 2 --pages base {SHORT}"
EVENTS = "INST_RETIRED:PMC0,CPU_CYCLES:PMC1"


def folder(version):
    return f"/opt/likwid{version.replace('.', '')}"


def perfctr(version, paranoid, options, command=CHASE):
    return (
        f"echo {paranoid} >{PARANOID}; export PATH={folder(version)}/bin:$PATH; likwid-perfctr"
        f" {options} {command}"
    )


def under(*options, levels=(1,), command=CHASE):
    """A step for each version, level of perf_event_paranoid, and command line."""
    return {
        f"{version} {level} {words.split(' -g')[0]}": perfctr(version, level, words, command)
        for version in VERSIONS
        for level in levels
        for words in options
    }


@pytest.fixture(autouse=True)
def version_is_there(request, cross_built):
    """Skips a version that Debian's mirror did not have; one at least is needed."""
    there = guests.likwids()
    if not there:
        lacking("LIKWID for aarch64", "its source, from Debian's mirror")
    command = request.node.callspec.params["done"][1]
    (version,) = (version for version in VERSIONS if folder(version) in command)
    if version not in there:
        pytest.skip(
            f"LIKWID {version} is not there: its source was not to be had from Debian's mirror"
        )


def instructions(done):
    """{CPU: instructions} of the one region, its trial, and the units that each of its workers
    did in it."""
    assert done.status == 0 and done.record, done
    (trial,) = of_type(done, "trial")
    text = (done.folder / "counts.csv").read_text()
    assert re.findall(r"^TABLE,Region (\w+),Group 1 Raw,", text, re.MULTILINE) == [
        trial["region"]["name"]
    ]
    assert trial["region"]["uncounted"] == [] and "LIKWID's counters" not in done.err, done
    (cpus,) = re.findall(r"^Event,Counter,((?:HWThread \d+,?)+)", text, re.MULTILINE)
    (counts,) = re.findall(r"^INST_RETIRED,PMC0,(.*)", text, re.MULTILINE)
    found = zip(map(int, re.findall(r"\d+", cpus)), map(float, counts.split(",")))
    return dict(found), trial, trial["samples"]["units"] * trial["samples"]["n"]


TWO = f"-C 0,1 -g {EVENTS} -m -o counts.csv"
ONE = f"-C 1 -g {EVENTS} -m -o counts.csv"
ONE_OF_TWO = f"-c 0,1 -g {EVENTS} -m -o counts.csv"


def then_papi(step):
    """The same work by one thread, counted by PAPI; its record is papi.jsonl."""
    alone = SUM.replace("--threads 2", "--threads 1").replace("record.jsonl", "papi.jsonl")
    return f"{step} && echo 1 >{PARANOID} && {alone} --counters {INSTRUCTIONS}"


@pytest.mark.guest(
    "pmu-2", {k: then_papi(step) for k, step in under(TWO, levels=(0, 1, 2), command=SUM).items()}
)
def test_both_threads_are_counted_as_papi_does(done, read):
    """Each thread does half of the work that PAPI counted for one thread alone. The region has
    more: the first CPU's thread prepares each sample, while the other spins for some time. That
    adds to a count, and takes nothing away."""
    found, trial, units = instructions(done)
    assert trial["cpus"] == [0, 1] and sorted(found) == [0, 1], found
    (alone,) = (line for line in read(done.folder / "papi.jsonl") if line["type"] == "trial")
    by_papi = counted(alone, INSTRUCTIONS)
    of_a_unit = by_papi["total"] / (by_papi["samples"] * alone["samples"]["units"])
    half = of_a_unit / 2 * units
    for cpu, most in enumerate((1.1, 2.5)):
        assert 0.99 * half < found[cpu] < most * half, (found, half)


@pytest.mark.guest("pmu-2", {k: f"{v} --threads 1" for k, v in under(ONE, ONE_OF_TWO).items()})
def test_one_thread_is_counted(done):
    """All loads of the known loop, and little beside them."""
    found, trial, units = instructions(done)
    (cpu,) = trial["cpus"]
    assert found[cpu] / units == pytest.approx(OF_A_LOAD, rel=0.05), found
    if "-C 1" in done.command:
        assert (cpu, done.record[0]["binding"]["bound_by"]) == (1, "likwid-perfctr")
