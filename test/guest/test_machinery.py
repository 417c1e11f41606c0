# SPDX-License-Identifier: Apache-2.0
"""The guests themselves: failures in a guest are reported, in bounded time; and if there can be
no guest, so is what is missing."""

import os
import pathlib
import select
import shutil
import subprocess
import sys

import guests
import pytest
from waits import killed_at_end

TESTS = pathlib.Path(__file__).parents[1]
FINE, HANGS = "echo fine; exit 3", "echo before; sleep 1000"
AFTER = "echo after; pidof sleep; nonsense"
KILLS, NEVER = "echo c >/proc/sysrq-trigger", "echo never"


@pytest.fixture(scope="module")
def came_of_it(boot, tmp_path_factory):
    """{step: what came of it}: of a first guest whose emulator ends at once, and of a second one
    that the fourth step kills."""
    qemu, folder = guests.GUESTS["one"].architecture.qemu, tmp_path_factory.mktemp("bin")
    (folder / qemu).write_text(
        f'#!/bin/sh\nmkdir {folder}/called 2>/dev/null && exit 3\nexec {shutil.which(qemu)} "$@"\n',
        encoding="utf-8",
    )
    (folder / qemu).chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(folder), prepend=os.pathsep)
        steps = [FINE, HANGS, AFTER, KILLS, NEVER]
        return boot("one", steps, limit=3, called="machinery", boots=2)


def test_what_a_dead_guest_left_undone_is_done_by_another(came_of_it):
    fine = came_of_it[FINE]
    assert (fine.status, fine.out) == (3, "fine\n")
    assert "ended before this step did (QEMU's status 3)" in fine.before


def test_a_step_that_kills_the_guest_takes_no_other_with_it(came_of_it):
    assert [came_of_it[step].out for step in (FINE, AFTER)] == ["fine\n", "after\n"]
    for one in came_of_it[KILLS], came_of_it[NEVER]:
        assert (
            "ended before this step did" in str(one)
            and "Kernel panic" in str(one)
            and "echo c >" in str(one)
        )


def test_a_step_that_hangs_is_ended(came_of_it):
    hung, after = came_of_it[HANGS], came_of_it[AFTER]
    assert (hung.status, hung.out) == (137, "before\n")
    assert (after.status, after.out) == (
        127,
        "after\n",
    ) and "nonsense: not found" in after.err, after


def test_a_guest_that_hangs_is_ended(boot):
    (died,) = boot("one", ["echo fine"], deadline=0.1, called="machinery").values()
    assert "ended after 0.1 s" in str(died)


IN_A_THREAD = """
import concurrent.futures, guests
with concurrent.futures.ThreadPoolExecutor() as pool:
    pool.submit(guests.boot, "one", ["echo fine"], called="machinery").result()
"""


def test_a_guest_ends_with_who_made_it_however_that_ends(need, tmp_path):
    """With an emulator that tells its process number, and keeps running."""
    need("one")
    pid, emulator = tmp_path / "pid", tmp_path / guests.GUESTS["one"].architecture.qemu
    os.mkfifo(pid)
    emulator.write_text(f"#!/bin/sh\necho $$ >{pid}\nexec sleep 120\n", encoding="utf-8")
    emulator.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    told = os.open(pid, os.O_RDWR)
    with killed_at_end([sys.executable, "-c", IN_A_THREAD], env=environment) as maker:
        assert select.select([told], [], [], 60)[0], "no emulator began"
        made = os.pidfd_open(int(os.read(told, 99)))
        maker.kill()
    assert select.select([made], [], [], 30)[0], "the emulator goes on"
    os.close(made)
    os.close(told)


@pytest.mark.parametrize("ci", ["true", "false"])
def test_without_qemu_the_remedy_is_named(ci):
    environment = {**os.environ, "PATH": "/nowhere", "CI": ci, "PYTHON": sys.executable}
    tests = [TESTS / "run-pytest", TESTS / "guest/test_pages.py"]
    said = subprocess.run(
        tests, env=environment, capture_output=True, text=True, timeout=180
    ).stdout
    assert "qemu-system-x86_64 is missing (Debian: qemu-system-x86)" in said
    assert ("\nok " in said, "\nnot ok " in said) == (
        (False, True) if ci == "true" else (True, False)
    ), said


def test_on_another_processor_the_reason_is_named(monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    assert guests.foreign("one") == "a guest of amd64 runs programs built here, and this is riscv64"
