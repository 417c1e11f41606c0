# SPDX-License-Identifier: Apache-2.0
"""What test/driver, test/lane and test/total print for people: a line for each file and lane,
failures in full, reasons of skips, and the totals, which decide the exit status."""

import os
import pathlib
import re
import subprocess

import pytest
from some import some

TEST = pathlib.Path(__file__).parents[1]
GOOD = "1..2\nok 1 - first\nok 2 - second"
BAD = "1..3\nok 1 - first\nnot ok 2 - second\n# expected 3\n# got 4\nok 3 - third\n# of the third"
SKIPPED = "1..3\nok 1 - first\nok 2 - second # SKIP no GPU here\nok 3 - third # SKIP no GPU here"


@pytest.fixture
def lane(tmp_path):
    """lane("guest", TAP, TAP): runs a lane of test files that print this TAP; the lane's lines."""
    if not (TEST.parent / "build-aux/tap-driver.sh").exists():
        pytest.skip("no build-aux/tap-driver.sh here: run ./bootstrap")

    def run(name, *files, status=0):
        for n, text in enumerate(files):
            (tmp_path / f"file{n}").write_text(
                f"#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit {status}\n", encoding="utf-8"
            )
            (tmp_path / f"file{n}").chmod(0o755)
        names = " ".join(f"file{n}" for n in range(len(files)))
        one = (
            f"sh {TEST}/driver --test-name $t --log-file $t.log --trs-file $t.trs --color-tests yes"
            " -- ./$t"
        )
        command = (
            f"echo compiling; for t in {names}; do {one}; done; grep -q 'result: [EF]' *.trs &&"
            " exit 2; exit 0"
        )
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
    assert lines[-5:-2] == ["Failed:", "  guest: file0 second", "    expected 3"]


def test_the_error_of_a_failure_is_told_at_the_end(lane, total):
    words = " ".join(["why"] * 30)
    lane("guest", f"1..1\nnot ok 1 - first\n# x = 1\n# > assert x == 2\n# E   {words}\n# E   more")
    _, lines = total("guest")
    at = lines.index("  guest: file0 first")
    assert lines[at + 1].startswith("    why") and max(map(len, lines)) <= 100
    assert " ".join(line.strip() for line in lines[at + 1 : -2]) == words


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
