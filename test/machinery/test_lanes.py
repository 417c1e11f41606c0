# SPDX-License-Identifier: Apache-2.0
"""What test/driver, test/lane, test/again and test/total print for people: a line for each file and
lane, failures in full, what is unsteady, reasons of skips, and the totals, which decide the exit
status."""

import os
import pathlib
import re
import subprocess

import elsewhere
import pytest
from some import some

TEST = pathlib.Path(__file__).parents[1]
GOOD = "1..2\nok 1 - first\nok 2 - second"
BAD = "1..3\nok 1 - first\nnot ok 2 - second\n# expected 3\n# got 4\nok 3 - third\n# of the third"
SKIPPED = "1..3\nok 1 - first\nok 2 - second # SKIP no GPU here\nok 3 - third # SKIP no GPU here"


@pytest.fixture
def lane(tmp_path):
    """lane("guest", TAP, TAP): runs a lane of test files that print this TAP; the lane's lines. For
    a pair, (TAP, TAP), the file prints the second each further time; TAP may be a command, $ ..."""
    if not (TEST.parent / "build-aux/tap-driver.sh").exists():
        pytest.skip("no build-aux/tap-driver.sh here: run ./bootstrap")

    def printing(text):
        return text[2:] if text.startswith("$ ") else f"cat <<'END'\n{text}\nEND"

    def run(name, *files, status=0, names=(), then="true", shell="sh"):
        names = names or [f"file{n}" for n in range(len(files))]
        for path, text in zip(names, files):
            first, later = text if isinstance(text, tuple) else (text, text)
            file = tmp_path / path
            file.parent.mkdir(exist_ok=True)
            file.write_text(
                f"#!/bin/sh\nif mkdir $0.seen 2>/dev/null; then\n{printing(first)}\nelse\n"
                f"{printing(later)}\nfi\nexit {status}\n",
                encoding="utf-8",
            )
            file.chmod(0o755)
        one = (
            f"{shell} {TEST}/driver --test-name $t --log-file $t.log --trs-file $t.trs"
            " --color-tests yes -- ./$t"
        )
        all_of_them = f"for t in {' '.join(names)}; do rm -f $t.trs; {one}; done"
        failed = f"grep -q '^:test-result: [EF]' {' '.join(f'{t}.trs' for t in names)}"
        command = f"echo compiling; {all_of_them}; ! {failed} && {then}"  # as make does
        done = subprocess.run(
            [TEST / "lane", name, "sh", "-c", command],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0 and not done.stderr, done
        return done.stdout.splitlines()

    return run


@pytest.fixture
def total(tmp_path):
    """total("guest", "user"): the exit status and lines of test/total for these lanes."""

    def run(*names):
        (tmp_path / "lanes/all").write_text(" ".join(names), encoding="utf-8")
        done = subprocess.run(
            [TEST / "total", "all"], cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert not done.stderr, done
        return done.returncode, done.stdout.splitlines()

    return run


@pytest.fixture
def again(tmp_path):
    """again(): the lines of test/again, after lanes."""

    def run():
        done = subprocess.run(
            [TEST / "again"], cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0 and not done.stderr, done
        return done.stdout.splitlines()

    return run


def columns(line):
    """The line with one blank between words, and - for each number of seconds."""
    return " ".join(re.sub(r"\d+ s\b", "- s", line).split())


def test_a_line_for_each_file_and_one_for_the_lane(lane, total):
    first, second, of_lane = lane("guest", GOOD, SKIPPED)
    assert columns(first) == "ok guest: file0 2 tests - s"
    assert columns(second) == "ok guest: file1 3 tests - s 2 skipped"
    assert columns(of_lane) == "lane guest (CPU time: - s) 5 tests - s 2 skipped"
    assert (
        len({line.index(" s") for line in (first, second)}) == 1
        and max(map(len, (first, second, of_lane))) <= 100
    )
    status, lines = total("guest")
    assert status == 0 and lines[-1] == "3 passed, 0 failed, 2 skipped"


def test_a_failure_is_told_in_full(lane, total, tmp_path):
    lines = lane("guest", BAD)
    assert columns(lines[0]) == "FAIL guest: file0 3 tests - s 1 failed"
    assert lines[1:4] == ["   > not ok 2 - second", "   > # expected 3", "   > # got 4"]
    assert (
        lines[4] == f"   > All it printed is in {tmp_path}/file0.log"
        and (tmp_path / "file0.log").exists()
    )
    status, lines = total("guest")
    assert status == 1 and lines[-1] == "2 passed, 1 failed, 0 skipped"
    assert lines[-6:-3] == ["Failed:", "  guest: file0 second", "    expected 3"]


def test_the_error_of_a_failure_is_told_at_the_end(lane, total):
    words = " ".join(["why"] * 30)
    lane("guest", f"1..1\nnot ok 1 - first\n# x = 1\n# > assert x == 2\n# E   {words}\n# E   more")
    _, lines = total("guest")
    at = lines.index("  guest: file0 first")
    assert lines[at + 1].startswith("    why") and max(map(len, lines)) <= 100
    assert " ".join(line.strip() for line in lines[at + 1 : -3]) == words


@pytest.mark.parametrize(
    ("text", "status", "why"),
    [
        (GOOD, 3, "exited with status 3"),
        ("1..3\nok 1 - first", 0, "too few tests"),
        ("hello\n", 0, "missing test plan"),
        ("1..2\nok 1 - first\nBail out! no more", 0, "Bail out!"),
    ],
)
def test_a_file_that_ends_otherwise_has_failed(lane, total, text, status, why):
    lines = lane("guest", text, status=status)
    assert lines[0].startswith("FAIL") and any(
        line.startswith("   > ERROR") and why in line for line in lines
    ), lines
    assert total("guest")[0] == 1


def test_a_file_that_does_not_end_is_ended(tmp_path):
    """It says which test was the last, and what each of its processes waited for."""
    outside = {k: v for k, v in os.environ.items() if k not in ("LANE", "RESULTS")}
    (tmp_path / "file").write_text("echo ok 1 - first; sleep 1000; echo never", encoding="utf-8")
    said = subprocess.run(
        f"sh {TEST}/driver --test-name file --log-file log --trs-file trs -- sh file".split(),
        cwd=tmp_path,
        env={**outside, "TEST_LIMIT": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout.splitlines()
    assert said[0].startswith("FAIL") and any("ok 1 - first" in line for line in said)
    start = next(n for n, line in enumerate(said) if "ended after 1 s" in line)
    assert any("sleep 1000" in line for line in said[start:])
    stacks = [line for line in said[start:] if "Stacks of" in line]
    assert len(stacks) == 2 and "never" not in "".join(said)
    assert (tmp_path / "trs").read_text(encoding="utf-8").count("ERROR")


# What watches over this shell, which is its child, and which files it has open
WATCHED = """
read -r watcher </proc/$$/task/$$/children
until [ "$(cat /proc/$watcher/task/$watcher/children)" ]; do sleep 0.01; done
readlink /proc/$watcher/fd/*
readlink /proc/$$/fd/1
"""


def test_nobody_waits_for_who_watches_over_a_file(tmp_path):
    """The driver reads a file's output to its end: the watcher, which lives a second longer, must
    not have it open."""
    said = subprocess.run(
        ["sh", TEST / "limit", tmp_path / "stuck", "sh", "-c", WATCHED],
        capture_output=True,
        text=True,
        timeout=60,
    )
    *held, output = said.stdout.splitlines()
    assert output.startswith("pipe:") and output not in some(held), said


def test_a_lane_whose_command_fails_has_failed(tmp_path, total):
    command = "echo compiling; echo it does not compile >&2; exit 2"
    said = subprocess.run(
        [TEST / "lane", "guest", "sh", "-c", command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (
        "   > it does not compile" in said.stdout and f"{tmp_path}/lanes/guest.log" in said.stdout
    )
    status, lines = total("guest")
    assert status == 1 and lines[-1] == "0 passed, 1 failed, 0 skipped"


def test_a_lane_that_did_not_run_has_failed(lane, total):
    lane("guest", GOOD)
    status, lines = total("guest", "user")
    assert status == 1 and lines[-1] == "2 passed, 1 failed, 0 skipped"
    assert [line.split() for line in lines if "did not run" in line] == [
        ["user:", "did", "not", "run:", "see", "lanes/make.log"]
    ]


def test_nothing_that_passed_is_not_good(lane, total):
    lane("guest", "1..0 # SKIP no QEMU")
    assert total("guest") == (1, [*total("guest")[1][:-1], "0 passed, 0 failed, 1 skipped"])


def test_each_reason_of_skips_is_told_once(lane, total):
    lane("guest", SKIPPED, f"1..1\nok 1 - long # SKIP {'a reason of many words ' * 8}")
    lane("user", SKIPPED)
    _, lines = total("guest", "user")
    assert [line for line in lines if "no GPU" in line] == ["    4  no GPU here [guest, user]"]
    assert max(map(len, lines)) <= 100 and lines[-1] == "2 passed, 0 failed, 5 skipped"


def test_what_was_tried_again_is_told(lane, total):
    first, _ = lane("guest", "1..1\nok 1 - first\n# 3 retries: it was early (2), late (1)")
    assert first.endswith(", 3 tried again")
    assert "  guest: file0: 3 retries: it was early (2), late (1)" in total("guest")[1]


def test_what_make_and_compilers_print_is_left_out(lane):
    said = lane("guest", "1..1\nok 1 - first\n# ok   a comment\n   > neither")
    assert len(said) == 2, said


def test_what_passes_alone_is_unsteady_and_counts_as_passed(lane, again, total):
    lane("guest", (BAD, f"{GOOD}\n# now it is\nok 3 - third".replace("1..2", "1..3")))
    lane("user", GOOD, names=["other"])
    lines = again()
    assert lines[1] == "guest: file0 failed:"
    assert lines[2:5] == ["   > not ok 2 - second", "   > # expected 3", "   > # got 4"]
    assert columns(lines[lines.index("Once more, alone:") + 1]) == "ok file0 3 tests - s"
    (log,) = re.findall(r"All it printed is in (.*/again/.*)", "\n".join(lines))
    assert "now it is" in pathlib.Path(log).read_text(encoding="utf-8")
    status, lines = total("guest", "user")
    assert (status, lines[-2:]) == (0, ["1 unsteady", "5 passed, 0 failed, 0 skipped"])
    at = next(n for n, line in enumerate(lines) if line.startswith("Unsteady"))
    assert lines[at + 1 : at + 3] == ["  guest: file0 second", "    expected 3"]
    assert "failed" not in next(line for line in lines if line.startswith("lane  guest"))


def test_a_file_that_had_ended_early_counts_as_it_ends_now(lane, again, total):
    lane("guest", ("1..2\nok 1 - first", GOOD), SKIPPED)
    again()
    status, lines = total("guest")
    assert (status, lines[-2:]) == (0, ["1 unsteady", "3 passed, 0 failed, 2 skipped"])


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_the_second_run_has_what_the_first_had(lane, again, total, monkeypatch, tmp_path, shell):
    """The folder and the environment, but no jobserver, and no lane to add results to."""
    for name, value in {"GIVEN": "it's\n$HOME\\n", "MAKEFLAGS": "-j --jobserver-auth=3,4"}.items():
        monkeypatch.setenv(name, value)
    seen = 'pwd; printf "%s\\n" "$GIVEN${MAKEFLAGS-}${LANE-}"'
    later = f"$ echo 1..1; {{ {seen}; }} >{tmp_path}/seen; echo ok 1 - first"
    lane("guest", ("1..1\nnot ok 1 - first", later), shell=shell)
    again()
    seen = (tmp_path / "seen").read_text(encoding="utf-8")
    assert seen == f"{tmp_path}\n{os.environ['GIVEN']}\n" and total("guest")[0] == 0


@pytest.mark.parametrize(
    "then",
    [BAD, "1..2\nok 1 - first", SKIPPED, "1..0 # SKIP nothing"],
    ids=["failed", "ended", "skipped", "nothing"],
)
def test_what_does_not_pass_alone_has_failed(lane, again, total, then):
    """Also if it now skips what had failed: second."""
    lane("guest", (BAD, then))
    lines = again()
    assert "Once more, alone:" in lines
    status, lines = total("guest")
    assert (status, lines[-2:]) == (1, ["0 unsteady", "2 passed, 1 failed, 0 skipped"])


REPORT = "==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010"
GRAVE = [
    "$ echo 1..1; kill -SEGV $$",
    "$ echo 1..1; exec sh -c 'kill -ABRT $$'",
    f"$ echo 1..1; echo ok 1 - first; echo '{REPORT}'; exit 1",
    f"1..1\nnot ok 1 - first\n# {REPORT}",
    "1..1\nnot ok 1 - first\n# WARNING: ThreadSanitizer: data race (pid=7)",
    "1..1\nnot ok 1 - first\n# src/a.c:7:2: runtime error: signed integer overflow: 1 + 2",
    "1..1\nnot ok 1 - first\n# E    +  where 66 = Done(status=66, out='', err='').status",
    "1..1\nnot ok 1 - first\n# E    +  where -11 = Done(status=-11, out='', err='').status",
    "1..1\nnot ok 1 - first\n# E   subprocess.CalledProcessError: died with <Signals.SIGABRT: 6>.",
    "1..1\nnot ok 1 - first\n# Test failed with exception: Segmentation fault(11)",
]


@pytest.mark.parametrize("text", GRAVE, ids=range(len(GRAVE)))
def test_no_report_and_no_crash_is_tried_again(lane, again, total, text):
    lane("guest", (text, "1..1\nok 1 - first"))
    lines = again()
    assert "Once more, alone:" not in lines and lines[-1].startswith("It is not run again"), lines
    assert total("guest")[0] == 1


def test_reports_that_a_passed_test_prints_are_none(lane, again, total):
    lane("guest", (f"1..2\nok 1 - first\n# {REPORT}\nnot ok 2 - second\n# status=-15", GOOD))
    again()
    assert total("guest")[1][-2:] == ["1 unsteady", "2 passed, 0 failed, 0 skipped"]


def test_what_took_too_long_is_run_again(lane, again, total, monkeypatch):
    monkeypatch.setenv("TEST_LIMIT", "1")
    lane("guest", ("$ echo 1..2; echo ok 1 - first; sleep 1000", GOOD))
    assert "    It was ended after 1 s" in total("guest")[1]
    again()
    status, lines = total("guest")
    assert (status, lines[-2:]) == (0, ["1 unsteady", "2 passed, 0 failed, 0 skipped"])


@pytest.mark.parametrize("many", [3, 4])
def test_more_than_three_unsteady_files_fail_the_run(lane, again, total, many):
    lane("guest", *[(BAD, BAD.replace("not ok", "ok"))] * many)
    lines = again()
    assert any("more than 3" in line for line in lines) == (many > 3)
    status, lines = total("guest")
    assert status == (many > 3) and lines[-2] == f"{many} unsteady"
    assert lines[-1].split(", ")[1] == f"{4 if many > 3 else 0} failed"


@pytest.mark.parametrize("name", ["test/guest.test", "test/guest-2.test"])
def test_a_file_of_a_folder_is_run_alone(lane, again, total, name):
    """ONLY names it, and the results of the other files stay. A folder may be several tests."""
    first = "1..3\nok 1 - test_a.py::x\nnot ok 2 - test_b.py::x\nnot ok 3 - test_b.py::y\n# why"
    later = "$ echo 1..2; echo ok - $ONLY::x; echo ok - $ONLY::y"
    lane("guest", (first, later), GOOD, names=[name, "file"])
    lines = again()
    assert lines[1] == "guest: test/guest/test_b.py failed:" and "   > # why" in lines
    status, lines = total("guest")
    assert (status, lines[-2:]) == (0, ["1 unsteady", "5 passed, 0 failed, 0 skipped"])
    assert "  guest: test/guest/test_b.py test_b.py::y" in lines


def test_each_file_of_a_folder_has_its_own_verdict(lane, again, total):
    first = "1..3\nnot ok 1 - test_a.py::x\n# of a\nnot ok 2 - test_b.py::x\nok 3 - test_b.py::y"
    later = "$ echo 1..1; case $ONLY in *a.py) echo ok - $ONLY::x;; *) echo not ok - $ONLY::x; esac"
    lane("guest", (first, later), names=["test/guest.test"])
    lines = again()
    assert lines.count("   > # of a") == 1
    status, lines = total("guest")
    assert (status, lines[-2:]) == (1, ["1 unsteady", "2 passed, 1 failed, 0 skipped"])


def test_a_folder_that_ended_early_runs_again_as_a_whole(lane, again, total):
    first = "1..3\nok 1 - test_a.py::x\nnot ok 2 - test_b.py::x"
    later = "$ echo 1..2; echo ok - test_a.py::x; echo ok - test_b.py::x"
    lane("guest", (first, later), names=["test/guest.test"])
    assert again().count("Once more, alone:") == 1
    status, lines = total("guest")
    assert (status, lines[-2:]) == (0, ["1 unsteady", "2 passed, 0 failed, 0 skipped"])


def test_a_failure_beside_that_of_a_lane_is_not_all(lane, again, total, tmp_path):
    """The lane's command fails for another reason, which a second run of the test can't mend."""
    lane("guest", (BAD, BAD.replace("not ok", "ok")), then="exit 2")
    again()
    status, lines = total("guest")
    assert (status, lines[-2:]) == (1, ["1 unsteady", "3 passed, 1 failed, 0 skipped"])


def test_a_make_that_a_test_runs_has_its_own_variables(tmp_path, monkeypatch):
    """Also where `make check-packages TESTS=...` runs the test."""
    file = tmp_path / "makefile"
    file.write_text("TESTS = own\nall:\n\t@echo $(TESTS)\n")
    monkeypatch.setenv("MAKEFLAGS", " -- TESTS=ours")
    assert elsewhere.good("make", "-f", file) == "own\n"
