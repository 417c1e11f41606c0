# SPDX-License-Identifier: Apache-2.0
"""The real LIKWID, on a processor that it knows but whose counters read zero: regions, tables,
and the report."""

import os
import re
import subprocess

import guests
import pytest
from lacking import lacking
from some import some

WRAPPED = "likwid-perfctr -g CLOCK -m -o counts.csv"
# The budget is large enough that no sample is left out.
SHORT = "--profile quick --repeats 4 --duration 1ms --time-budget 50s --quiet --output record.jsonl"
NUMA = f"locus numa --variant static,single --layout packed --size 256K {SHORT}"
REGION = re.compile(
    r"^TABLE,Region (\w+),Group (\d+) Raw,.*\nRegion Info,(.*)\n.*\ncall"
    r" count,(.*)\n((?:(?!TABLE|STRUCT).*\n)*)",
    re.MULTILINE,
)


@pytest.fixture(autouse=True)
def likwid():
    if not guests.likwid():
        lacking("LIKWID", "Debian: likwid")


def trials(done):
    assert done.status == 0 and done.record, done
    return some(line for line in done.record if line["type"] == "trial")


def counted(done):
    """{region: {group: {CPU: calls}}} of LIKWID's tables; and the set of all counts in them."""
    found: dict = {}
    values = set()
    for region, group, cpus, calls, events in REGION.findall(
        (done.folder / "counts.csv").read_text()
    ):
        columns = zip(re.findall(r"HWThread (\d+)", cpus), map(int, calls.rstrip(",").split(",")))
        found.setdefault(region, {})[int(group)] = {int(cpu): n for cpu, n in columns if n}
        values |= {
            value for line in events.splitlines()[1:] for value in line.rstrip(",").split(",")[2:]
        }
    return found, values


@pytest.mark.guest("zeros", f"{WRAPPED} -C 0,1 {NUMA}")
def test_regions_are_ours_and_counters_read_zero(done):
    header, (found, values) = done.record[0], counted(done)
    assert (header["binding"]["bound_by"], header["binding"]["inherited"]) == (
        "likwid-perfctr",
        [0, 1],
    ), done
    assert header["markers"]["library"].startswith("liblikwid.so.5.") and header["markers"][
        "mode"
    ] in ("direct", "accessdaemon")
    assert len(found) == len(trials(done)) == header["markers"]["regions"] == 2
    for trial in trials(done):
        region = trial["region"]
        assert (
            region["name"] == f"numa_{trial['variant']}_{trial['id']}"
            and region["calls"] == trial["samples"]["batches"]
        )
        assert found[region["name"]] == {1: dict.fromkeys(trial["cpus"], region["calls"])}
    assert values == {"0"}, "LIKWID counts here: then test what it counted"


@pytest.mark.guest("zeros", f"{WRAPPED} -C 0,1 {NUMA}")
def test_the_report_says_that_nothing_was_counted(done, tmp_path):
    """The report must not show a bandwidth of 0."""
    python = os.environ.get("PYTHON") or lacking("Python's modules of the report", "./quickstart")
    files = [done.folder / "record.jsonl", done.folder / "counts.csv"]
    environment = {**os.environ, "PYTHONPATH": str(guests.HERE.parents[1] / "analysis")}
    command = [python, "-m", "locus_analysis", "report", "--output", tmp_path, *files]
    made = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (made.returncode, made.stderr) == (0, "") and trials(done), made
    page = " ".join((tmp_path / "report.html").read_text().split())
    assert "LIKWID counted nothing in 2 of 2 regions of group CLOCK" in page


# The first CPU has no work: LIKWID's file takes the group of a region from the first CPU.
@pytest.mark.guest("zeros", f"{WRAPPED} -c 0,1 -g BRANCH {NUMA} --threads 1 --bind 1 --layout 1")
def test_groups_take_turns_and_a_cpu_without_work(done):
    found, _ = counted(done)
    assert (
        done.record[0]["markers"]["groups"] == ["CLOCK", "BRANCH"]
        and done.record[0]["binding"]["bound_by"] is None
    )
    assert len(found) == len(trials(done)) == 2
    for trial in trials(done):
        calls = dict.fromkeys(trial["cpus"], trial["region"]["calls"] // 2)
        assert trial["region"]["calls"] == 4 and found[trial["region"]["name"]] == {
            1: calls,
            2: calls,
        }


@pytest.mark.guest(
    "zeros", f"{WRAPPED} -c 0,1 locus dummy --variant steady --threads 1 --bind 1 {SHORT}"
)
def test_only_the_second_cpu_works(done):
    found, _ = counted(done)
    (trial,) = trials(done)
    assert trial["cpus"] == [1] and found == {
        trial["region"]["name"]: {1: {1: trial["region"]["calls"]}}
    }


# If not all CPUs are allowed, LIKWID takes numbers as indices among the allowed ones; N names all.
@pytest.mark.guest(
    "zeros", f"taskset -c 1 {WRAPPED} -c N locus dummy --variant steady --threads 1 {SHORT}"
)
def test_all_cpus_of_a_cpuset(done):
    found, _ = counted(done)
    (trial,) = trials(done)
    assert (done.record[0]["markers"]["cpus"], done.record[0]["binding"]["bound_by"]) == (
        "1",
        "taskset or cpuset",
    )
    assert found == {trial["region"]["name"]: {1: {1: trial["region"]["calls"]}}}


PIN = f"likwid-pin -q -c {{}} locus dummy --variant steady {SHORT}"


@pytest.mark.guest("4x2+1", f"{PIN.format('6,4,2,0')} --threads 4")
def test_pinned_on_four_nodes(done):
    """Threads are on the CPUs in the order that was asked for."""
    binding, (trial,) = done.record[0]["binding"], trials(done)
    assert (binding["bound_by"], binding["affinity"], binding["inherited"]) == (
        "likwid-pin",
        [0, 2, 4, 6],
        [6, 4, 2, 0],
    ), done
    assert trial["cpus"] == [6, 4, 2, 0]


@pytest.mark.guest("one", f"{PIN.format('0')} --threads 1")
def test_pinned_where_there_is_one_cpu(done):
    """With one CPU, affinity does not show a binding: only LIKWID's environment does."""
    binding = done.record[0]["binding"]
    assert (binding["bound_by"], binding["affinity"], binding["inherited"]) == (
        "likwid-pin",
        [0],
        None,
    ), done


@pytest.mark.guest(
    "4x2+1",
    {words: f"taskset -c 1,7 {PIN.format(words)} --threads 1" for words in ("N", "N:1,0", "0,1")},
)
def test_places_in_a_cpuset(done):
    """As doc/likwid.md says."""
    binding = done.record[0]["binding"]
    inherited = [7, 1] if "N:1,0" in done.command else [1, 7]
    assert (binding["bound_by"], binding["affinity"], binding["inherited"]) == (
        "likwid-pin",
        [1, 7],
        inherited,
    ), done


# SIGTERM to all processes, as at the end of a job's time. LIKWID, started as by jobs/likwid.slurm,
# survives to write its tables, although its access daemon does not. It comes before all trials are
# measured: LIKWID reports regions without calls, and its tables have the others.
STOPPED = f"""trap '' TERM PIPE
{WRAPPED} -C 0,1 locus suite --profile quick --quiet --output record.jsonl &
until grep -q '"samples"' record.jsonl 2>/dev/null; do sleep 0.2; done
kill -TERM -1 2>/dev/null
wait $!"""


@pytest.mark.guest("zeros", STOPPED)
def test_a_suite_and_a_signal(done):
    assert done.status == 128 + 15 and done.record[-1]["signal"] == "SIGTERM", done
    found, _ = counted(done)
    regions = {
        line["region"]["name"]: line["region"]["calls"]
        for line in done.record
        if line["type"] == "trial" and line["region"]
    }
    assert {name: max(groups[1].values()) for name, groups in found.items()} == regions, done
    assert done.record[0]["markers"]["regions"] > len(regions) > 0
    assert min(regions.values()) > 0
