# SPDX-License-Identifier: Apache-2.0
"""test/arrows finds each #include that breaks a rule of the house, and no other."""

import pathlib
import subprocess

import pytest

ARROWS = pathlib.Path(__file__).resolve().parent.parent / "arrows"
FLOORS = (
    "Floors, top to bottom: programs > `bench/` > `harness/plan/` > `harness/ask/` >\n"
    "`kit/` > contract > `machine/threads/` > `machine/`. Nothing."
)


@pytest.fixture
def arrows(tmp_path):
    """arrows({file: its includes}): the exit status and lines of test/arrows for such a src/."""

    def run(includes):
        (tmp_path / "doc").mkdir()
        (tmp_path / "doc/design.md").write_text(f"# House\n{FLOORS}\n")
        for file, others in includes.items():
            path = tmp_path / "src" / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("/* one */\n" + "".join(f'#include "{o}"\n' for o in others))
        done = subprocess.run([ARROWS, tmp_path], stdout=subprocess.PIPE, text=True, check=False)
        return done.returncode, done.stdout.splitlines()

    return run


GOOD = {
    "main.c": ["bench/a/a.h", "trial.h"],
    "trial.h": ["machine/m.h"],
    "bench/a/a.c": ["bench/a/a.h", "kit/k.h"],
    "bench/a/a.h": ["trial.h"],
    "bench/b/b.h": [],
    "harness/ask/o.h": ["machine/n.h"],
    "harness/plan/p.h": ["harness/ask/o.h"],
    "kit/k.h": ["trial.h", "kit/l.h"],
    "kit/l.h": [],
    "machine/m.h": ["config.h"],
    "machine/n.h": ["machine/m.h"],
    "machine/threads/t.h": ["machine/n.h"],
}


def test_a_good_house(arrows):
    assert arrows(GOOD) == (0, [])


@pytest.mark.parametrize(
    ("file", "other", "line"),
    [
        ("machine/m.h", "trial.h", "trial.h is above it (contract > machine)"),
        ("trial.h", "kit/l.h", "kit/l.h is above it (kit > contract)"),
        ("kit/l.h", "bench/a/a.h", "bench/a/a.h is above it (bench > kit)"),
        ("harness/ask/o.h", "harness/plan/p.h", "is above it (harness/plan > harness/ask)"),
        ("machine/m.h", "machine/threads/t.h", "is above it (machine/threads > machine)"),
        ("bench/b/b.h", "bench/a/a.h", "bench/a/a.h is another benchmark's"),
        ("odd/o.h", "machine/m.h", "odd/ is no floor of doc/design.md"),
    ],
)
def test_a_rule_that_is_broken(arrows, file, other, line):
    status, lines = arrows({**GOOD, file: [*GOOD.get(file, []), other]})
    assert status == 1
    assert [said for said in lines if said.startswith(f"src/{file}:") and line in said]


def test_a_circle_of_three(arrows):
    status, lines = arrows({**GOOD, "kit/l.h": ["kit/m.h"], "kit/m.h": ["kit/k.h"]})
    assert status == 1
    assert lines == ["src/kit/k: includes come back to it: kit/k > kit/l > kit/m > kit/k"]


def test_a_source_and_its_header_are_one_room(arrows):
    """No header includes another here, and yet each of the two needs the other."""
    status, lines = arrows({**GOOD, "kit/k.c": ["kit/l.h"], "kit/l.c": ["kit/k.h"]})
    assert status == 1
    assert lines == ["src/kit/k: includes come back to it: kit/k > kit/l > kit/k"]
