# SPDX-License-Identifier: Apache-2.0
"""What a user without root in a container-like setting can do, and is told."""

import os
import pathlib
import re
import shutil
import subprocess
import tarfile

import pytest
from conftest import OPTIONS
from emulated import ABOUT_THE_KERNEL
from lacking import lacking
from some import some

HIDDEN = ["/sys/devices/system/node", "/sys/devices/system/cpu", "/sys/kernel/mm", "/sys"]
PLACEMENTS = "single,random,static,interleave,bind,migrate,matrix"
NUMA = [
    "numa",
    "--variant",
    PLACEMENTS,
    "--profile",
    "quick",
    "--layout",
    "packed",
    "--size",
    "4M",
    "--time-budget",
    "2s",
]
FINE = {"ok", "unconverged", "bimodal", "noisy", "interrupted"}  # interrupted: by the budget


def test_the_setting_is_what_it_says(user):
    done = user(
        "sh",
        "-c",
        "id -u; cat /proc/self/status; whoami; touch x ~/x /sys/x /proc/sys/kernel/x; "
        "ls -A /root /home /sys/firmware /tmp; ls -d /proc/[0-9]*",
    )
    status = dict(line.split(":\t", 1) for line in done.out.splitlines() if ":\t" in line)
    assert done.out.startswith("54321\n") and "cannot find name" in done.err
    assert (
        status["Groups"].strip() == "" and status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
    )
    assert {
        status[key].strip("0") for key in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
    } == {""}
    refused = [line.split("'")[1] for line in done.err.splitlines() if line.startswith("touch")]
    assert (
        refused == ["/nonexistent/x", "/sys/x", "/proc/sys/kernel/x"]
        and (user.folder / "x").exists()
    )
    assert done.out.split("Seccomp_filters")[-1].count("/proc/") < 5, (
        "other processes are to be seen"
    )


CALL = """
import ctypes, errno, sys
libnuma = ctypes.CDLL("libnuma.so.1", use_errno=True)
getattr(libnuma, sys.argv[1])(0, 0, 0, 0, 0, 0)
print(errno.errorcode.get(ctypes.get_errno()))
"""


@pytest.mark.parametrize(
    "call", ["get_mempolicy", "mbind", "migrate_pages", "move_pages", "set_mempolicy"]
)
def test_a_system_call_is_forbidden_and_no_other(user, call):
    python = os.environ["PYTHON"]
    other = "madvise"
    assert [
        user(python, "-c", CALL, call, forbid=forbidden).out == "EPERM\n"
        for forbidden in (call, f"{other},{call}", other)
    ] == [
        True,
        True,
        False,
    ]


def test_a_system_call_that_is_not_known_is_not_allowed_in_silence(user):
    done = user("true", forbid="mbimd")
    assert done.status == 2 and "mbimd" in done.err


def test_the_tarball_has_all_that_git_has():
    source = pathlib.Path(__file__).parents[2]
    git = subprocess.run(
        ["git", "-C", source, "ls-files", "-z"], capture_output=True, text=True, check=False
    )
    if git.returncode or not git.stdout:
        pytest.skip("no git checkout: there is nothing to hold the tarball against")
    with tarfile.open(os.environ["TARBALL"]) as tar:
        packed = {name.partition("/")[2] for name in tar.getnames()}
    hosts = {name for name in git.stdout.split("\0") if name.startswith((".github/", ".gitlab-"))}
    left_out = {*git.stdout.split("\0")} - {""} - packed
    assert left_out == {".git-blame-ignore-revs", ".gitignore", *hosts}


def test_the_tarball_builds_passes_its_tests_installs_and_cleans_up(user, built):
    """
    And another tarball can be made of it. It is built without PAPI and LIKWID. Its tests are
    the smoke tests, and the unit tests that depend on the kernel, and so on the user: what else
    depends on this user is asked below.
    """
    units = [f"test/unit/{unit}" for unit in ABOUT_THE_KERNEL]
    done = user(
        "make",
        f"-j{len(os.sched_getaffinity(0))}",
        "-C",
        built,
        "distcheck",
        f"DISTCHECK_CONFIGURE_FLAGS={OPTIONS}",
        f"TESTS={' '.join(units)} $(smoke_tests)",
        "RESULTS=/mnt/work/results",
        "CASES=10",  # without optimisation each takes longer; the native lane tries all
        timeout=2400,
    )
    told = [line for line in done.out.splitlines() if line.startswith(("FAIL", "   > "))]
    assert done.status == 0, "\n".join([*told, done.out[-3000:], done.err[-2000:]])
    results = [
        line.split("\t")
        for line in (user.folder / "results").read_text(encoding="utf-8").splitlines()
    ]
    skipped = [fields for fields in results if fields[0] == "SKIP"]
    for _, _, file, test, reason in skipped:
        print(f"SKIP: {file} {test} # SKIP {reason}")
    assert sum(fields[0] == "PASS" for fields in results) > len(skipped) and not any(
        fields[0] == "FAIL" for fields in results
    )


def test_doctor_says_what_is_forbidden_and_who_could_allow_it(locus):
    done = locus("doctor")
    assert done.status in (0, 1) and not done.err
    for finding in (
        (
            r"\[--\] move_pages +asking for a page's node: Operation not permitted\n +placement "
            r"can't be verified.*\n.*--cap-add SYS_NICE"
        ),
        r"\[--\] hardware counters +forbidden, .*seccomp(?:.*\n +)+\$ .*--cap-add PERFMON",
        r"\[--\] software counters +forbidden, .*seccomp(?:.*\n +)+\$ .*--cap-add PERFMON",
    ):
        assert re.search(finding, done.out), done.out
    assert "[ok] move_pages           allowed" in locus("doctor", forbid="mbind").out


@pytest.mark.parametrize("hidden", HIDDEN)
def test_doctor_says_what_is_hidden(locus, hidden):
    done = locus("doctor", hide=[hidden])
    assert done.status in (0, 1)
    words = {"node": "NUMA nodes", "cpu": "CPUs", "mm": "hugetlb pages", "sys": "NUMA nodes"}
    assert re.search(rf"\[\?\?\] {words[hidden.rsplit('/', 1)[-1]]} ", done.out), done.out


@pytest.mark.parametrize("hidden", [None, *HIDDEN])
def test_the_machine_is_seen_as_far_as_it_can_be(locus, hidden):
    done = locus("topology", hide=[hidden] if hidden else [])
    cpus = len(os.sched_getaffinity(0))
    assert done.status == 0 and re.search(rf"\d+ nodes?, \d+ cores?, {cpus} CPU", done.out), (
        done.out + done.err
    )
    assert not re.search(r"  0 B ", done.out), done.out


def test_pages_that_can_only_be_counted_are_said_to_be(measured):
    done, trials = measured(*NUMA)
    assert done.status == 0 and trials, done.out + done.err
    for trial in trials:
        before = trial["placement"]["before"]
        assert (
            trial["status"] in FINE
            and before["how"] == "counted"
            and "move_pages: Operation not permitted" in before["why"]
        )
        assert (
            before["misplaced"] == 0
            and sum(before["on_node"].values()) == before["pages"]
            and before["local_share"] is None
        )
    text = "counted by node, not checked one by one: move_pages: Operation not permitted"
    assert all(any(text in note for note in trial["notes"]) for trial in some(trials))
    assert done.out.count("counted by node") == 1


def test_pages_that_nobody_tells_of_are_unverified(measured):
    done, trials = measured(*NUMA, hide=["/proc"])
    assert done.status == 0 and trials, done.out + done.err
    for trial in trials:
        before = trial["placement"]["before"]
        assert (
            trial["status"] in FINE
            and before["how"] == "unverified"
            and before["misplaced"] is None
            and before["on_node"] == {}
        )
        assert before["huge_bytes"] is None and before["huge_bytes_why"]
    text = "unverified: move_pages: Operation not permitted; /proc/self/numa_maps"
    assert all(any(text in note for note in trial["notes"]) for trial in some(trials))
    assert done.out.count("the nodes of its pages are unverified") == 1


# The machine is seen, its nodes are not, or nothing of it is.
@pytest.mark.parametrize("hidden", [None, HIDDEN[0], HIDDEN[-1]])
def test_the_suite(measured, hidden):
    done, trials = measured(
        "suite", "--profile", "quick", "--time-budget", "1s", hide=[hidden] if hidden else []
    )
    assert done.status == 0, done.out + done.err
    assert {trial["benchmark"] for trial in trials} >= {"numa", "latency"} and {
        trial["status"] for trial in trials
    } <= FINE | {"impossible"}
    assert [
        trial for trial in some(trials) if trial["status"] != "ok" and not trial["reasons"]
    ] == []


def test_pages_that_are_not_to_be_had_are_impossible(measured):
    done, trials = measured(
        "numa", "--pages", "1G", "--size", "1G", "--repeats", "1", hide=["/sys/kernel/mm"]
    )
    assert done.status == 3 and {trial["status"] for trial in trials} == {"impossible"}, done.out
    assert "huge pages of 1 GiB" in done.out


def test_ranks_measure_together(user, built):
    if not shutil.which("mpirun"):
        lacking("mpirun", "Debian: openmpi-bin, Fedora: openmpi")
    words = ["dummy", "--variant", "sums", "--repeats", "2", "--oversubscribe"]
    done = user("mpirun", "-n", "2", "--oversubscribe", f"{built}/locus-mpi", *words)
    assert done.status == 0 and "\ndummy over 2 ranks" in done.out, done


def test_the_report(user, locus, built):
    if not os.environ["PYTHON"]:
        pytest.skip("configured without Python")
    assert locus(*NUMA, "--output", "mine.jsonl").status == 0
    done = locus("report", "--output", "mine.html", "mine.jsonl")
    assert done.status == 0 and "</html>" in (user.folder / "mine.html").read_text(
        encoding="utf-8"
    ), done.err


def test_a_home_and_a_folder_that_can_not_be_written(locus):
    done = locus(*NUMA, "--output", "/nonexistent/x.jsonl")
    assert done.status == 1 and "/nonexistent/x.jsonl" in done.err
