# SPDX-License-Identifier: Apache-2.0
"""Commands that measure nothing: help, list, topology, doctor, dry runs."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from lacking import lacking
from listed import unwrapped
from mounts import Place
from some import some


def test_without_arguments_it_says_how_it_is_used(locus):
    done = locus()
    assert done.status == 2 and "usage: locus BENCHMARK" in done.err and not done.out


@pytest.mark.parametrize("ask", ["help", "--help", "-h"])
def test_help_names_every_command_and_benchmark(locus, ask):
    done = locus(ask, env={"COLUMNS": "80"})
    assert done.status == 0
    rows = re.findall(r"^([\w-]+) +\S", done.out.split("commands that measure:\n")[1], re.MULTILINE)
    headings = {"commands"}
    assert set(rows) - headings == set(some(locus("list --names").out.split()))
    assert "dummy" not in done.out and max(map(len, done.out.splitlines())) <= 80
    assert not re.search(r"^ {14}", done.out, re.MULTILINE)  # a line each, for scripts, too


@pytest.mark.parametrize(
    "command", ["list", "topology", "doctor", "help", "version", "suite", "numa"]
)
def test_help_of_each_command(locus, command):
    for words in (f"{command} --help", f"help {command}", f"--help {command}"):
        done = locus(words)
        assert done.status == 0 and not done.err, (words, done)
        assert (
            re.match(rf"usage: locus {command}\b", done.out, re.I)
            and len(done.out.splitlines()) > 2
        ), (words, done.out)
    if command not in ("suite", "numa"):  # options of getopt
        assert locus(command, "-h").out == done.out


def test_help_of_what_is_not_there(locus):
    assert "did you mean 'numa'" in locus("help nmua").err
    for words in ("help nmua", "help list numa", "version now", "doctor --halp"):
        assert locus(words).status == 2, words


def test_help_fits_a_terminal(locus):
    for word in ("help", "doctor --help", "list --help", "topology --help"):
        assert all(len(line) <= 100 for line in some(locus(word).out.splitlines())), word


def test_version(locus):
    done = locus("--version")
    assert done.status == 0 and re.match(r"locus \d+\.\d+", done.out)


def test_list_is_made_from_the_table(locus):
    assert re.search(r"^numa ", locus("list").out, re.M)
    whole = locus("list numa").out
    variants = ["single", "random", "static", "interleave", "bind", "static-dynamic", "matrix"]
    for word in (*variants, "--kernel", "--layout", "bandwidth", "jsl2023", "s/pass"):
        assert word in whole


def test_tables_of_the_man_page(locus):
    page = locus("list --man").out
    assert ".SS numa" in page and "kernel" in page and "dummy" not in page
    assert locus("list --man more").status == 2


def test_each_default_event_has_its_line_in_the_methods(locus):
    """The list of events in doc/methods/counters.md has exactly the events of default sets."""
    text = (pathlib.Path(__file__).parents[2] / "doc/methods/counters.md").read_text(
        encoding="utf-8"
    )
    part = text.split("\n## What the events mean")[1].split("\n## ")[0]
    rows = re.findall(r"^- ((?:`[^`]+`,?\s+)*`[^`]+`):", part, re.M)
    explained = [name for row in rows for name in re.findall("`([^`]+)`", row)]
    named = set()
    for benchmark in (*(line.split()[0] for line in locus("list").out.splitlines()), "dummy"):
        own = re.findall(
            r"^  (\S+)$", unwrapped(locus("list", benchmark).out).partition("\ncounters (")[2], re.M
        )
        assert own, benchmark
        named |= {event for alternatives in own for event in alternatives.split("|")}
    assert sorted(explained) == sorted(named)


@pytest.fixture
def page(locus):
    file = pathlib.Path(locus.path).parent / "doc/locus.1"
    if not file.exists():
        pytest.skip("not beside the program: it is an installed one, or a cross build's")
    return file


def test_the_man_page_names_its_version(locus, page):
    assert (
        f'"locus {locus("--version").out.split()[1]}"'
        in page.read_text(encoding="utf-8").splitlines()[1]
    )


def test_the_man_page_lists_the_statuses_that_it_mentions(page):
    before, _, rest = page.read_text(encoding="utf-8").partition("\n.SH EXIT STATUS\n")
    own, _, _ = rest.partition("\n.SH ")
    listed = re.findall(r"^\.TP\n(\d+)$", own, re.M)
    mentioned = re.findall(r"\b(\d) if\b", before.replace("\n", " "))
    assert listed and "4" in mentioned and set(mentioned) <= set(listed)


@pytest.mark.native("groff reads the page")
@pytest.mark.parametrize("columns", [60, 78, 100])
def test_groff_has_no_complaint_about_the_man_page(page, columns):
    """No complaint about a line that cannot be broken or adjusted."""
    if not shutil.which("groff"):
        lacking("groff", "Debian: groff-base")
    done = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8", f"-rLL={columns}n", "-z", page],
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_completion_asks_for_names(locus):
    assert {"numa", "latency", "suite", "report"} <= set(locus("list --names").out.split())
    words = locus("list --names numa").out.split()
    assert {"--kernel", "--output"} <= set(words) and all(word.startswith("--") for word in words)


@pytest.mark.parametrize(
    "command",
    ["report", "summary", "compare", "sick", "levels", "aggregate", "export", "validate"],
)
def test_commands_of_the_analysis_are_handed_on(locus, tmp_path, command):
    """The commands run LOCUS_PYTHON, isolated, with the package's folder before the command."""
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\nfor word; do echo "$word"; done\nexit 5\n')
    python.chmod(0o755)
    told = locus("help", command, env={"LOCUS_PYTHON": python}).out.splitlines()
    assert told[-2:] == [command, "--help"]
    done = locus(command, "--output", "a page.html", env={"LOCUS_PYTHON": python})
    isolated, *_, analysis, name, option, file = done.out.splitlines()
    assert done.status == 5 and [name, option, file] == [command, "--output", "a page.html"]
    assert isolated == "-I" and (pathlib.Path(analysis) / "locus_analysis/page/report.py").exists()


def test_a_venv_beside_the_package_is_found_when_it_is_made(locus, tmp_path):
    """Even one created after the build."""
    (tmp_path / "share/locus").mkdir(parents=True)
    package = pathlib.Path(__file__).resolve().parents[2] / "analysis"
    (tmp_path / "share/locus/analysis").symlink_to(package)
    (tmp_path / "bin").mkdir()
    shutil.copy(locus.path, tmp_path / "bin")
    installed = type(locus)(str(tmp_path / "bin/locus"))
    python = tmp_path / "share/locus/venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\nfor word; do echo "$word"; done\nexit 5\n')
    assert installed("report").status != 5
    python.chmod(0o755)
    done = installed("report", env={"LOCUS_PYTHON": ""})
    assert done.status == 5 and done.out.splitlines()[-1] == "report"
    other = tmp_path / "other"
    other.write_text("#!/bin/sh\nexit 6\n")
    other.chmod(0o755)
    assert installed("report", env={"LOCUS_PYTHON": other}).status == 6


@pytest.mark.parametrize(
    "variable, value", [("LOCUS_PYTHON", "/nonexistent/python"), ("LOCUS_ANALYSIS", "/nonexistent")]
)
def test_what_the_report_needs_is_said(locus, variable, value):
    done = locus("report", env={variable: value})
    assert done.status == 3 and variable in done.err and len(done.err.splitlines()) == 1


def test_too_little_memory_to_begin_is_said(locus, tmp_path):
    package = tmp_path / "locus_analysis"
    package.mkdir()
    (package / "__main__.py").write_text("raise MemoryError\n")
    done = locus("report", "a.jsonl", env={"LOCUS_ANALYSIS": tmp_path})
    assert done.status == 70 and done.err == "locus: not enough memory\n"


def test_help_of_a_benchmark_has_its_parameters_and_the_common_options(locus):
    done = locus("numa --help")
    assert done.status == 0
    for option in (
        "--kernel",
        "--pages",
        "--variant",
        "--threads",
        "--output",
        "--resume",
        "--dry-run",
        "--time-budget",
    ):
        assert option in done.out


@pytest.mark.parametrize("ask", ["--help", "--usage", "--he", "-?"])
def test_help_ends_the_command_and_says_so_where_it_was_not_written(locus, ask):
    done = locus("numa", ask)
    assert done.status == 0 and not done.err and "--kernel" in done.out
    with pathlib.Path("/dev/full").open("w") as full:
        done = locus("numa", ask, stdout=full)
    assert done.status == 1 and "No space left" in done.err


@pytest.fixture(params=["No space left on device", "Broken pipe"])
def refused(request):
    """A file that cannot be written, and the reason."""
    reader, writer = os.pipe()
    os.close(reader)
    full = os.open("/dev/full", os.O_WRONLY)
    yield (full if "space" in request.param else writer), request.param
    os.close(full)
    os.close(writer)


@pytest.mark.parametrize(
    "words",
    [
        "list",
        "list numa",
        "topology",
        "suite --dry-run",
        "dummy --variant steady --threads 1 --repeats 1",
        "dummy --variant steady --threads 1 --repeats 1 --output {}/record.jsonl",
    ],
)
def test_it_says_why_output_was_not_written(locus, words, refused, tmp_path):
    """Even if the failure was an earlier write, and other calls have failed since."""
    file, why = refused
    # Python ignores SIGPIPE, and its children do, too, unless signals are restored
    done = locus(words.format(tmp_path), stdout=file, restore_signals=False)
    assert done.status == 1 and f"locus: standard output: {why}\n" in done.err


def test_topology_of_this_machine_and_of_one_that_is_described(locus):
    assert "this machine" in locus("topology").out
    described = locus("topology", "node:2 core:64 pu:2")
    assert described.status == 0 and "128 cores" in described.out and "256 CPUs" in described.out
    assert locus("topology nonsense:?").status == 2


def test_memory_of_the_only_node_is_that_of_the_machine(locus, tmp_path):
    """A guest's node may only show the memory that its host has provided so far."""
    if len(list(pathlib.Path("/sys/devices/system/node").glob("node[0-9]*"))) != 1:
        pytest.skip("not one node")
    with Place(tmp_path / "place", "64k") as place:
        (place.path / "meminfo").write_text("Node 0 MemTotal: 1048576 kB\nNode 0 MemFree: 9 kB\n")
        bound = 'mount --bind "$0" /sys/devices/system/node/node0/meminfo && exec "$@"'
        shell = [*place.prefix, "sh", "-c", bound, place.folder / "meminfo"]
        node = re.search(r"\n +0 +0 +(\S+ [KMGT]iB)", locus("topology", prefix=shell).out)
    total = re.search(r"MemTotal: +(\d+) kB", pathlib.Path("/proc/meminfo").read_text())
    assert node and total
    number, unit = node[1].split()
    of_unit = float(total[1]) * 1024 / 1024 ** (" KMGT".index(unit[0]))
    assert float(number) == pytest.approx(of_unit, rel=0.01)


# XML of a machine with two nodes, in hwloc's format.
SETS = 'cpuset="{0}" complete_cpuset="{0}" nodeset="{0}" complete_nodeset="{0}"'
TWO_NODES = """<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
<object type="Machine" os_index="0" {all} allowed_cpuset="3" allowed_nodeset="3" gp_index="1">
{packages}</object>
<distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os">
<indexes length="4">0 1 </indexes><u64values length="12">10 21 17 10 </u64values>
</distances2></topology>"""
PACKAGE = """<object type="Package" os_index="{n}" {sets} gp_index="{n}2">
<object type="NUMANode" os_index="{n}" {sets} local_memory="1073741824" gp_index="{n}3"/>
<object type="Core" os_index="{n}" {sets} gp_index="{n}4">
<object type="PU" os_index="{n}" {sets} gp_index="{n}5"/></object></object>
"""


def two_nodes(folder):
    packages = "".join(PACKAGE.format(n=n, sets=SETS.format(1 << n)) for n in range(2))
    file = folder / "machine.xml"
    file.write_text(TWO_NODES.format(all=SETS.format(3), packages=packages))
    return file


def test_topology_of_a_later_hwloc(locus, tmp_path):
    file = two_nodes(tmp_path)
    file.write_text(file.read_text().replace('version="2.0"', 'version="97.0"'))
    done = locus("topology", file)
    assert (done.status, done.out) == (2, "")
    said = f"locus: topology {file}: is of hwloc 97; this locus reads up to "
    assert done.err.startswith(said) and len(done.err.splitlines()) == 1


KINDS = """<cpukind cpuset="0x1" forced_efficiency="0"><info name="CoreType" value="IntelAtom"/>
</cpukind><cpukind cpuset="0x2" forced_efficiency="1"><info name="CoreType" value="IntelCore"/>
</cpukind></topology>"""


def test_threads_sit_on_fast_cores_first(locus, tmp_path):
    file = two_nodes(tmp_path)
    file.write_text(file.read_text().replace("</topology>", KINDS))
    out = locus("topology", file).out
    assert re.search(r"\nIntelCore +1 +1 +1\nIntelAtom +2 +1 +0\n", out), out

    def places(*words):
        done = locus("latency --variant cycle --size 16K --dry-run --topology", file, *words)
        assert (done.status, done.err) == (0, "")
        return re.findall(r"threads? on (CPUs? .*?);", done.out)

    assert set(places()) == {"CPU 1 (node 1), 1 IntelCore"}
    assert set(places("--bind", "spread")) == {"CPU 1 (node 1), 1 IntelCore"}
    assert set(places("--bind", "0")) == {"CPU 0 (node 0), 1 IntelAtom"}
    words = ("numa --variant static --layout packed,all --size 1M --dry-run",)
    out = locus(*words, "--topology", file).out
    assert "1 thread on CPU 1 (node 1), 1 IntelCore;" in out
    assert "2 threads on CPUs 0 (node 0) 1 (node 1), 1 IntelCore + 1 IntelAtom;" in out


def test_topology_has_the_distances_of_nodes(locus, tmp_path):
    file = two_nodes(tmp_path)
    done = locus("topology", file)
    assert done.status == 0, done
    table = done.out[done.out.index("\ndistance") :].split()
    assert table[:9] == ["distance", "0", "1", "0", "10", "21", "1", "17", "10"], done.out


def test_another_machine_in_the_environment_is_ignored(locus, tmp_path, read):
    other = {"HWLOC_SYNTHETIC": "node:8 core:16 pu:2", "HWLOC_THISSYSTEM": "1"}
    told = "locus: ignored: HWLOC_SYNTHETIC, HWLOC_THISSYSTEM; locus reads this machine itself"
    for words in ("topology", "numa --size 1M --dry-run"):
        misled = locus(words, env=other)
        assert (
            misled.out == locus(words).out
            and misled.err.count("\n") == 1
            and misled.err.startswith(told)
        )
    file = tmp_path / "record.jsonl"
    done = locus("dummy --variant steady --threads 1 --repeats 1 --quiet --output", file, env=other)
    assert done.status == 0 and done.err.startswith(told)
    assert len(read(file)[0]["machine"]["topology"]["nodes"]) < 8
    described = locus("numa --size 1M --dry-run --topology", "node:2 core:4 pu:1", env=other)
    assert (described.status, described.err) == (0, "") and "on node:2 core:4 pu:1" in described.out


def test_no_plugin_is_loaded_to_start(locus):
    """hwloc's plugins took half of the time to start, and find devices that nobody asks for."""
    done = locus("numa --dry-run", env={"LD_DEBUG": "files"})
    assert done.status == 0 and "libhwloc.so" in done.err
    assert not re.findall(r"file=.*/hwloc_\w+\.so", done.err)


def test_topology_says_what_is_left_by_a_cpuset(locus, cpus):
    if len(cpus) < 2:
        pytest.skip("one CPU")
    assert (
        f"only CPUs {cpus[-1]} of "
        in locus("topology", prefix=["taskset", "-c", str(cpus[-1])]).out
    )


def test_doctor_has_a_word_on_every_check_and_never_needs_root(locus):
    done = locus("doctor")
    assert done.status in (0, 1)
    assert len(re.findall(r"^\[(ok|!!|--|\?\?)\] ", done.out, re.M)) > 15


def test_doctor_tells_of_huge_pages_that_a_parent_forbids(locus):
    thp = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not thp.exists() or "[never]" in thp.read_text():
        pytest.skip("no transparent huge pages")
    forbid = "ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)"  # PR_SET_THP_DISABLE
    code = f"import ctypes, os, sys; {forbid}; os.execv(sys.argv[1], sys.argv[1:])"
    done = locus("doctor", prefix=[sys.executable, "-c", code])
    assert re.search(r"^\[--\] transparent pages .* but a parent forbids them", done.out, re.M)


def test_dry_run_measures_nothing_and_shows_places(locus, tmp_path):
    done = locus(
        "numa --dry-run --topology",
        "node:2 core:16 pu:2",
        "--profile",
        "paper",
        "--output",
        tmp_path / "none.jsonl",
    )
    assert done.status == 0 and not list(tmp_path.iterdir())
    assert (
        "layout=16+0" in done.out
        and "layout=8+8" in done.out
        and "(node 1)" in done.out
        and "estimated time" in done.out
    )
    assert "kernel=sum-scalar size=8589934592" in done.out


def test_dry_run_of_the_matrix_has_every_pair_of_nodes(locus):
    done = locus(
        "numa --variant matrix --kernel sum --pages base --dry-run --topology", "node:4 core:2 pu:1"
    )
    pairs = set(re.findall(r"from=(\S+) to=(\d)", done.out))
    assert pairs == {
        (layout, str(to))
        for layout in ("2+0+0+0", "0+2+0+0", "0+0+2+0", "0+0+0+2")
        for to in range(4)
    }


def test_a_long_plan_for_a_large_machine_is_planned_at_once(locus):
    done = locus(
        "numa --dry-run --topology", "node:8 core:16 pu:2", "--threads", "1..16*2", timeout=60
    )
    assert done.status == 0 and "impossible" not in done.out


def test_dry_run_from_an_xml_file(locus, tmp_path):
    bad = tmp_path / "bad.xml"
    bad.write_text("<topology>")
    assert locus("numa --dry-run --topology", bad).status == 2


def test_more_threads_than_cores_use_siblings_last(locus):
    done = locus("dummy --variant steady --threads 2 --dry-run --topology", "node:1 core:2 pu:2")
    assert re.search(r"on CPUs 0 2 ", done.out), done.out


@pytest.mark.parametrize("words", ["numa --variant static", "core-to-core --threads 2"])
def test_what_is_about_places_cannot_float(locus, words):
    done = locus(f"{words} --profile quick --bind float --oversubscribe --dry-run")
    assert done.status == 0
    assert (
        "impossible: it needs threads that stay on their CPUs, and --bind float lets them"
        in done.out
    )


def test_more_trials_than_a_plan_has(locus):
    done = locus("dummy --variant steady --size 1..20001+1 --dry-run")
    assert (done.status, done.out) == (2, "")
    assert done.err == "locus dummy: more than 20000 trials; choose fewer values\n"


def test_a_picture_of_this_machine_and_of_a_record(locus, tmp_path):
    made = tmp_path / "machine.svg"
    done = locus("topology", "--picture", made)
    assert done.status == 0 and not done.err, done.err
    assert "No times: locus suite" in made.read_text() and "node 0" in made.read_text()
    file = tmp_path / "a.jsonl"
    locus("dummy --repeats 2 --output", file)
    assert locus("topology", f"--picture={made}", file).status == 0
    for words in (["--picture"], ["--picture="]):
        refused = locus("topology", *words)
        assert refused.status == 2 and "needs the name of a file" in refused.err
    assert locus("topology", "--picture", made, tmp_path / "none.jsonl").status == 2
