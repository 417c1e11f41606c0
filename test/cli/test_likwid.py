# SPDX-License-Identifier: Apache-2.0
"""Under LIKWID: a region for each trial, and detection of its pinning. A stand-in for LIKWID's
library aborts on calls that the real one would not allow."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import pytest
from lacking import lacking
from some import some
from waits import PATIENCE, wait_for, written

STANDIN = pathlib.Path(os.environ.get("BUILD", ".")) / "test/likwid"
# LIKWID's libraries leak if they cannot count, and are loaded before a sanitizer's.
FORGIVING = {
    "ASAN_OPTIONS": ":".join(
        filter(None, [os.environ.get("ASAN_OPTIONS"), "detect_leaks=0:verify_asan_link_order=0"])
    )
}
SHORT = "dummy --variant steady,jitter,sums --profile quick --repeats 6 --quiet --output"


def left_out():
    """True if this build has no regions, wherever it runs."""
    configured = subprocess.run(
        [STANDIN.parents[1] / "config.status", "--config"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return "--without-likwid" in configured or "--with-likwid=no" in configured


@pytest.fixture
def wrapped(tmp_path, cpus):
    """The environment that likwid-perfctr -m sets, with the stand-in as LIKWID's library."""

    def environment(groups="MEM", where=None, library=None, version="5.2", does=""):
        folder = tmp_path / version
        if not folder.exists():
            folder.mkdir()
            shutil.copy(STANDIN / "liblikwid.so.5.2", folder / f"liblikwid.so.{version}")
            (folder / "liblikwid.so").symlink_to(f"liblikwid.so.{version}")
        return {
            "LIKWID_STANDIN": does,
            "LD_LIBRARY_PATH": str(library or folder),
            "LIKWID_MODE": "1",
            "LIKWID_FILEPATH": str(tmp_path / "markers"),
            "LIKWID_EVENTS": groups,
            "LIKWID_THREADS": ",".join(map(str, where or cpus)),
        }

    assert (STANDIN / "liblikwid.so").exists(), "make check builds it"
    if left_out():
        pytest.skip("this locus was built --without-likwid")
    return environment


@pytest.fixture
def marked(tmp_path):
    """{(region, group): {CPU: calls}} of the file that LIKWID's library leaves for
    likwid-perfctr."""

    def read_file():
        first, *lines = (tmp_path / "markers").read_text().splitlines()
        names = dict(line.split(":") for line in lines if ":" in line)
        found: dict = {}
        for number, group, cpu, calls, *_ in some(
            line.split() for line in lines if ":" not in line
        ):
            region, _, its_group = names[number].rpartition("-")
            assert its_group == group
            found.setdefault((region, int(group)), {})[int(cpu)] = int(calls)
        assert int(first.split()[1]) == len(found)
        return found

    return read_file


def trial_lines(lines):
    return some(line for line in lines if line["type"] == "trial")


# The stand-in follows the rules of LIKWID 5.2, which counts by CPU, or of 5.5, by thread.
VERSIONS = ["5.2", "5.5"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_region_for_each_trial(locus, read, wrapped, marked, tmp_path, cpus, version):
    file = tmp_path / "a.jsonl"
    done = locus(SHORT, file, env=wrapped(version=version))
    assert done.status == 0 and done.err == "", done
    lines = read(file)
    assert lines[0]["markers"] == {
        "library": f"liblikwid.so.{version}",
        "mode": "accessdaemon",
        "cpus": ",".join(map(str, cpus)),
        "groups": ["MEM"],
        "regions": 3,
    }
    found = marked()
    assert len(found) == len(trial_lines(lines)) == 3
    for trial in trial_lines(lines):
        region = trial["region"]
        assert region["name"] == f"dummy_{trial['variant']}_{trial['id']}"
        assert region["calls"] == trial["samples"]["batches"]
        assert 0 < region["measured"] <= region["seconds"] <= trial["elapsed"]
        assert region["uncounted"] == [] and not [
            note for note in trial["notes"] if "LIKWID" in note
        ]
        calls = found[region["name"], 0]
        assert {cpu: n for cpu, n in calls.items() if n} == dict.fromkeys(
            trial["cpus"], region["calls"]
        )


def test_runs_leave_the_counts_of_the_last_one(locus, read, wrapped, marked, tmp_path):
    """LIKWID's table covers one run, and locus says so; the record has the counts of all."""
    file = tmp_path / "a.jsonl"
    words = "dummy --variant steady --repeats 2 --runs 2 --quiet --output"
    done = locus(words, file, env=wrapped())
    assert done.status == 0 and "its table will show the last run" in done.err
    calls = [t["region"]["calls"] for t in trial_lines(read(file))]
    assert len(calls) == 2 and all(calls)
    assert [sum(found.values()) for found in marked().values()] == calls[-1:]


def test_groups_take_turns(locus, read, wrapped, marked, tmp_path):
    file = tmp_path / "a.jsonl"
    done = locus(SHORT, file, env=wrapped("MEM|CLOCK"))
    assert done.status == 0 and done.err == "", done
    lines, found = read(file), marked()
    assert lines[0]["markers"]["groups"] == ["MEM", "CLOCK"]
    for trial in trial_lines(lines):
        region, (cpu, *_) = trial["region"], trial["cpus"]
        first, second = (found[region["name"], group][cpu] for group in (0, 1))
        assert (first + second, first - second) == (region["calls"], region["calls"] % 2)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "words", ["core-to-core --protocol two-lines", "search --variant partitioned --size 64K"]
)
def test_trials_of_many_kinds(locus, read, wrapped, marked, tmp_path, words, version):
    """Trials whose threads change CPUs, work in pairs, or end by a deadline: the stand-in aborts if
    a call breaks LIKWID's rules."""
    file = tmp_path / "a.jsonl"
    done = locus(
        f"{words} --profile quick --repeats 3 --quiet --output",
        file,
        env=wrapped("MEM|CLOCK", version=version),
    )
    assert done.status == 0 and done.err == "", done
    regions = {
        t["region"]["name"]: t["region"]["calls"] for t in trial_lines(read(file)) if t["region"]
    }
    sums: dict[str, int] = {}
    for (name, _), calls in marked().items():
        sums[name] = sums.get(name, 0) + max(calls.values())
    assert regions and regions == sums


@pytest.mark.parametrize("version", VERSIONS)
def test_fewer_threads_than_cpus(locus, read, wrapped, marked, tmp_path, cpus, version):
    """LIKWID 5.5 reads as many columns as it counts CPUs; a thread's counts are in the column of
    the CPU on which it registered."""
    file = tmp_path / "a.jsonl"
    words = (
        f"dummy --variant steady --threads 1 --bind {cpus[-1]} --profile quick --repeats 3 --quiet"
        " --output"
    )
    done = locus(words, file, env=wrapped(version=version))
    assert done.status == 0 and done.err == "", done
    (trial,) = trial_lines(read(file))
    assert trial["cpus"] == [cpus[-1]]
    calls = marked()[trial["region"]["name"], 0]
    assert {cpu: n for cpu, n in calls.items() if n} == {cpus[-1]: trial["region"]["calls"]}


def lost(locus, read, file, env, threads):
    """The trial's region, its note on what LIKWID lost, and the final message about that."""
    words = (
        f"dummy --variant steady --threads {threads} --profile quick --repeats 3 --quiet --output"
    )
    done = locus(words, file, env=env)
    assert done.status == 0, done
    (said,) = done.err.splitlines()
    (trial,) = trial_lines(read(file))
    (note,) = [note for note in trial["notes"] if "LIKWID" in note]
    assert "read only zeros on some CPU in 1 of 1 regions" in said, said
    return trial["region"], note


def test_a_cpu_whose_counters_read_zero(locus, read, wrapped, tmp_path, cpus):
    """If one CPU of several reads zero, the loss is reported."""
    if len(cpus) == 1:
        lacking("a second CPU", "a machine with two")
    region, note = lost(locus, read, tmp_path / "a.jsonl", wrapped(does=f"zero={cpus[1]}"), 2)
    assert region["uncounted"] == [cpus[1]]
    assert (
        f"all of LIKWID's counters read zero on CPU {cpus[1]}, where a thread of this trial ran"
        in note
    )


def test_all_counters_read_zero(locus, read, wrapped, tmp_path, cpus):
    region, note = lost(locus, read, tmp_path / "a.jsonl", wrapped(does="zero=all"), len(cpus))
    assert region["uncounted"] == cpus and "so it counted nothing" in note


def test_two_threads_on_a_cpu_have_no_region(locus, read, wrapped, tmp_path, cpus):
    file, threads = tmp_path / "a.jsonl", len(cpus) + 1
    words = (
        f"dummy --variant steady --threads 1,{threads} --oversubscribe --profile quick --repeats 3"
        " --quiet --output"
    )
    done = locus(words, file, env=wrapped())
    assert done.status == 0 and done.err == "", done
    lines = read(file)
    assert {t["threads"]: bool(t["region"]) for t in trial_lines(lines)} == {
        1: True,
        threads: False,
    }
    assert lines[0]["markers"]["regions"] == 1


def test_cpus_that_likwid_does_not_count(locus, read, wrapped, marked, tmp_path, cpus):
    if len(cpus) == 1:
        lacking("a second CPU", "a machine with two")
    file = tmp_path / "a.jsonl"
    done = locus(
        "dummy --variant steady --threads 2 --profile quick --repeats 3 --quiet --output",
        file,
        env=wrapped(where=cpus[:1]),
    )
    assert done.status == 0 and done.err == "", done
    (trial,) = trial_lines(read(file))
    assert any(
        f"LIKWID counted on CPUs {cpus[0]} only, but 1 of 2 threads ran elsewhere" in note
        for note in trial["notes"]
    )
    assert marked() == {(trial["region"]["name"], 0): {cpus[0]: trial["region"]["calls"]}}


def test_resumed(locus, read, wrapped, marked, tmp_path):
    """Trials that are complete in the file have no region."""
    file = tmp_path / "a.jsonl"
    assert locus(SHORT.replace(",sums", ""), file).status == 0
    done = locus(f"{SHORT} {file} --resume", env=wrapped())
    assert done.status == 0, done
    lines = read(file)
    assert [
        line["markers"] and line["markers"]["regions"] for line in lines if line["type"] == "header"
    ] == [None, 1]
    assert [name.split("_")[1] for name, _ in marked()] == ["sums"]


def test_resumed_with_nothing_left(locus, read, wrapped, tmp_path):
    """Without regions the library is not called: it would print a message, and write no file."""
    file = tmp_path / "a.jsonl"
    assert locus(SHORT, file).status == 0
    done = locus(f"{SHORT} {file} --resume", env=wrapped())
    assert done.status == 0 and done.err == "", done
    assert [line["markers"]["regions"] for line in read(file) if line.get("markers")] == [0]
    assert not (tmp_path / "markers").exists()


def test_interrupted_the_file_is_written(locus, read, wrapped, marked, tmp_path):
    file = tmp_path / "a.jsonl"
    with locus.start(
        "dummy --variant steady --repeats 1000000 --time-budget 100s --quiet --output",
        file,
        env=wrapped(),
    ) as process:
        wait_for(written(file, "samples"), "a batch")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGTERM
    (trial,) = trial_lines(read(file))
    assert max(marked()[trial["region"]["name"], 0].values()) == trial["region"]["calls"] > 0


def libraries(locus, tmp_path, env=None):
    """The names that the dynamic linker looked for."""
    log = tmp_path / "linker"
    done = locus(
        SHORT,
        tmp_path / "a.jsonl",
        env={**(env or {}), "LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": str(log)},
    )
    assert done.status == 0 and done.err == "", done
    return "".join(path.read_text() for path in tmp_path.glob("linker.*"))


def test_unwrapped_nothing_is_loaded(locus, read, tmp_path):
    assert "LIKWID_MODE" not in os.environ
    seen = libraries(locus, tmp_path)
    assert "libhwloc" in seen and "liblikwid" not in seen
    lines = read(tmp_path / "a.jsonl")
    assert lines[0]["markers"] is None and "markers_why" not in lines[0]
    assert [trial["region"] for trial in trial_lines(lines)] == [None] * 3


def test_wrapped_it_is(locus, wrapped, tmp_path):
    assert "library=liblikwid.so" in libraries(locus, tmp_path, wrapped())


def goes_on_without(locus, read, file, env, *words):
    done = locus(SHORT, file, env=env)
    assert done.status == 0, done
    (said,) = [line for line in done.err.splitlines() if line.startswith("locus: ")]
    lines = read(file)
    why = lines[0]["markers_why"]
    assert lines[0]["markers"] is None and said == f"locus: no regions for LIKWID: {why}"
    for word in words:
        assert word in why
    assert [trial["region"] for trial in trial_lines(lines)] == [None] * 3
    return done


def test_without_the_library_it_says_so_and_goes_on(locus, read, wrapped, tmp_path):
    """Broken files in the library path hide an installed LIKWID."""
    folder = tmp_path / "broken"
    folder.mkdir()
    for name in ("liblikwid.so", *(f"liblikwid.so.5.{minor}" for minor in range(6))):
        (folder / name).write_text("no library\n")
    env = wrapped(library=folder)
    done = goes_on_without(
        locus, read, tmp_path / "a.jsonl", env, "could not be loaded", "LD_LIBRARY_PATH"
    )
    assert len(done.err.splitlines()) == 1


def test_a_library_that_does_not_begin(locus, read, wrapped, tmp_path):
    env = wrapped(does="refuse")
    done = goes_on_without(
        locus,
        read,
        tmp_path / "a.jsonl",
        env,
        "liblikwid.so.5.2 could not begin to count",
        "access daemon",
    )
    assert len(done.err.splitlines()) == 1 and not (tmp_path / "markers").exists()


def test_events_that_nobody_can_read(locus, read, wrapped, tmp_path):
    """As if a variable were left over from another processor: LIKWID reads "not a number"."""
    env = wrapped("NONSENSE:PMC0", does="unreadable")
    words = ["no event of LIKWID_EVENTS (NONSENSE:PMC0) can be read", "likwid-perfctr -e"]
    done = goes_on_without(locus, read, tmp_path / "a.jsonl", env, *words)
    assert len(done.err.splitlines()) == 1 and not (tmp_path / "markers").exists()


def test_a_variable_that_was_left_over(locus, read, tmp_path):
    words = (
        ["built --without-likwid"] if left_out() else ["not LIKWID_FILEPATH", "unset LIKWID_MODE"]
    )
    goes_on_without(locus, read, tmp_path / "a.jsonl", {"LIKWID_MODE": "1"}, *words)


def test_the_real_library(locus, read, wrapped, tmp_path):
    """The real library counts, or locus says why not and continues. In direct mode, since without
    its daemon the library would end the program."""
    if not shutil.which("likwid-perfctr"):
        lacking("LIKWID", "Debian: likwid")
    env = {**wrapped(groups="CLOCK"), "LIKWID_MODE": "0", **FORGIVING}
    del env["LD_LIBRARY_PATH"]
    done = locus(SHORT, tmp_path / "a.jsonl", env=env)
    lines = read(tmp_path / "a.jsonl")
    assert done.status == 0 and lines[-1]["type"] == "end", done
    counts = lines[0]["markers"] is not None
    assert ("no regions for LIKWID" in done.err) != counts and {
        bool(t["region"]) for t in trial_lines(lines)
    } == {counts}


### Detection of pinning


def bound(locus, read, file, *prefix, env=None):
    done = locus(
        "dummy --variant steady --profile quick --repeats 3 --quiet --output",
        file,
        prefix=prefix,
        env={**FORGIVING, **(env or {})},
    )
    assert done.status == 0, done
    return read(file)[0]["binding"]


@pytest.fixture
def pin(cpus):
    """Arguments of likwid-pin, by positions in its own list of our CPUs: in a cpuset it takes plain
    numbers for positions, too."""
    if not shutil.which("likwid-pin"):
        lacking("likwid-pin", "Debian: likwid")
    said = subprocess.run(
        ["likwid-pin", "-p", "-c", f"N:0-{len(cpus) - 1}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    place = {int(cpu): str(i) for i, cpu in enumerate(said.split()[-1].split(","))}
    return lambda wanted: ("likwid-pin", "-q", "-c", "N:" + ",".join(place[cpu] for cpu in wanted))


def test_likwid_pin(locus, read, pin, tmp_path, cpus):
    """Threads get CPUs in the order given to likwid-pin."""
    for number, wanted in enumerate((cpus[::-1][:2], cpus[-1:])):
        binding = bound(locus, read, tmp_path / f"{number}.jsonl", *pin(wanted))
        assert (binding["bound_by"], binding["affinity"]) == ("likwid-pin", sorted(wanted))
        assert binding["inherited"] == (wanted if len(wanted) > 1 else None)


def test_likwid_mpirun(locus, read, pin, tmp_path, cpus):
    """likwid-mpirun writes a script that calls likwid-pin, or likwid-perfctr, by rank."""
    script = tmp_path / ".likwidscript_4711.txt"
    script.write_text(f'#!/bin/bash\n{" ".join(pin(cpus[:1]))} "$@"\nexit $?\n')
    script.chmod(0o755)
    binding = bound(locus, read, tmp_path / "a.jsonl", script)
    assert (binding["bound_by"], binding["affinity"]) == ("likwid-mpirun", cpus[:1])


def test_likwid_perfctr(locus, read, tmp_path, cpus):
    """A stand-in for likwid-perfctr -C, a script in Lua: an interpreter runs it."""
    script = tmp_path / "likwid-perfctr"
    script.write_text(
        "import os, subprocess, sys\n"
        f"os.environ['LIKWID_PIN'] = '{cpus[-1]}'\n"
        f"os.sched_setaffinity(0, [{cpus[-1]}])\n"
        "sys.exit(subprocess.run(sys.argv[1:]).returncode)\n"
    )
    binding = bound(locus, read, tmp_path / "a.jsonl", sys.executable, script)
    assert (binding["bound_by"], binding["affinity"]) == ("likwid-perfctr", cpus[-1:])


@pytest.mark.parametrize(
    ("set_by", "name"), [({}, "likwid-pin"), ({"LIKWID_MODE": "1"}, "likwid-perfctr")]
)
def test_where_no_ancestor_tells(locus, read, tmp_path, cpus, set_by, name):
    if len(cpus) == 1 or not shutil.which("taskset"):
        lacking("a second CPU, or taskset", "a machine with two; Debian: util-linux")
    env = {"LIKWID_PIN": str(cpus[0]), **set_by}
    assert (
        bound(locus, read, tmp_path / "a.jsonl", "taskset", "-c", str(cpus[0]), env=env)["bound_by"]
        == name
    )


# Options for benchmarks with many or large trials.
SMALL = {
    "latency": "--size 64K --load-size 1M --mix read --rate 0 --pages base",
    "numa": "--size 1M",
    "prefetch": "--lines 256 --stride 64 --pages base",
    "kmeans": "--points 1000",
    "search": "--size 64K",
    "hashmap": "--range 1000",
    "actors": "--state 64",
}


@pytest.mark.native("other values run the same code")
def test_names_of_regions_come_back_whole(locus, read, wrapped, marked, tmp_path):
    """For every benchmark and variant, the region's name has only characters that LIKWID's file,
    its CSV and likwid-mpirun keep."""
    for benchmark in [line.split()[0] for line in locus("list").out.splitlines()]:
        listed = locus("list", benchmark).out.partition("\nvariants\n")[2].partition("\n\n")[0]
        variants = re.findall(r"^  (\S+)", listed, re.M)
        file = tmp_path / f"{benchmark}.jsonl"
        words = (
            f"{benchmark} --variant {','.join(variants)} {SMALL.get(benchmark, '')} --profile quick"
            " --repeats 1 --duration 1us"
        )
        done = locus(f"{words} --time-budget 100s --quiet --output", file, env=wrapped())
        assert "stand-in" not in done.err and done.status in (0, 3), done
        trials = trial_lines(read(file))
        assert {t["variant"] for t in trials if t["region"] or t["status"] == "impossible"} == set(
            variants
        ), done
        names = [trial["region"]["name"] for trial in trials if trial["region"]]
        assert set(names) == {name for name, _ in marked()} and len(set(names)) == len(names) > 0
        assert all(re.fullmatch(r"[A-Za-z0-9_]{1,80}", name) for name in names)


def test_a_run_that_is_cut_off_leaves_its_counts(locus, wrapped, marked, trials, tmp_path):
    """The watchdog ends the run while verify() is stuck; LIKWID's counts are written."""
    file = tmp_path / "a.jsonl"
    words = "dummy --variant stuck --where verify --delay 6e8 --repeats 6 --time-budget 1s"
    done = locus(words, "--output", file, env=wrapped())
    assert done.status == 0 and "cut off while" in done.err, done.err
    regions = [trial["region"] for trial in trials(file).values() if trial["region"]]
    assert {name: max(calls.values()) for (name, _), calls in marked().items()} == {
        region["name"]: region["calls"] for region in some(regions)
    }
