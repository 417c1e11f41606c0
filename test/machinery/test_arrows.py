# SPDX-License-Identifier: Apache-2.0
"""test/arrows finds each #include and each symbol that breaks a rule of the house, and no other."""

import pathlib
import shutil
import subprocess

import pytest
from lacking import lacking

ARROWS = pathlib.Path(__file__).resolve().parent.parent / "arrows"
FLOORS = (
    "Floors, top to bottom: programs > `bench/` > `solve/` > `harness/plan/` > `harness/ask/` >\n"
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
        return check_house(tmp_path)

    return run


def check_house(root):
    """The exit status and lines of test/arrows for root/src/ and the objects in root/build/."""
    done = subprocess.run(
        [ARROWS, root, root / "build"], stdout=subprocess.PIPE, text=True, check=False
    )
    return done.returncode, done.stdout.splitlines()


@pytest.fixture
def called(arrows, tmp_path):
    """called({.c file: text}): compiles such files, which include nothing, beside a good house;
    the exit status and lines of test/arrows."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        lacking("a C compiler", "as cc, gcc or clang")

    def run(texts):
        arrows(GOOD)
        for file, text in texts.items():
            source, built = (tmp_path / folder / file for folder in ("src", "build/src"))
            for path in source, built:
                path.parent.mkdir(parents=True, exist_ok=True)
            source.write_text(f"{text}\n")
            command = [compiler, "-c", "-o", built.with_suffix(".o"), source]
            subprocess.run(command, check=True)
        return check_house(tmp_path)

    return run


GOOD = {
    "main.c": ["bench/a/a.h", "trial.h"],
    "trial.h": ["machine/m.h"],
    "bench/a/a.c": ["bench/a/a.h", "kit/k.h"],
    "bench/a/a.h": ["trial.h"],
    "bench/b/b.h": [],
    "solve/x/x.h": ["kit/k.h"],
    "solve/y/y.h": [],
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
        ("solve/y/y.h", "solve/x/x.h", "solve/x/x.h is another solver's"),
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


def uses(symbol, name="own"):
    return f"extern int {symbol}(void); int {name}(void) {{ return {symbol}(); }}"


def defines(symbol):
    return f"int {symbol}(void) {{ return 1; }}"


CALLED = {
    "bench/a/life.c": uses("plan_it", "life"),
    "bench/a/more.c": uses("life", "more"),
    "harness/plan/p.c": defines("plan_it"),
}


def test_calls_that_go_down(called):
    assert called(CALLED) == (0, [])


@pytest.mark.parametrize(
    ("files", "line"),
    [
        ({"kit/k.c": uses("plan_it")}, "kit/k.c: uses plan_it: harness/plan/p.c is above it"),
        (
            {
                "kit/k.c": "extern int life_data; int *own(void) { return &life_data; }",
                "bench/a/data.c": "int life_data = 1;",
            },
            "kit/k.c: uses life_data: bench/a/data.c is above it (bench > kit)",
        ),
        ({"bench/b/b.c": uses("life")}, "bench/b/b.c: uses life: bench/a/life.c is another bench"),
        (
            {"solve/x/x.c": uses("solve_y"), "solve/y/y.c": defines("solve_y")},
            "solve/x/x.c: uses solve_y: solve/y/y.c is another solver's",
        ),
        (
            {
                "bench/a/life.c": f"{uses('last')} {defines('life')}",
                "bench/a/l.c": uses("more", "last"),
            },
            "bench/a/l.c: calls come back to it: "
            "bench/a/l.c > bench/a/more.c > bench/a/life.c > bench/a/l.c",
        ),
    ],
)
def test_a_call_that_no_include_shows(called, files, line):
    status, lines = called({**CALLED, **files})
    assert status == 1
    assert len(lines) == 1
    assert lines[0].startswith(f"src/{line}")


def test_what_an_include_shows_is_told_once(called):
    include = '#if 0\n#include "harness/plan/p.h"\n#endif\n'
    status, lines = called({**CALLED, "kit/k.c": include + uses("plan_it")})
    assert status == 1
    assert lines == ["src/kit/k.c:2: harness/plan/p.h is above it (harness/plan > kit)"]


def test_an_object_without_its_source_is_old(called, tmp_path):
    assert called({**CALLED, "kit/k.c": uses("plan_it")})[0] == 1
    (tmp_path / "src/kit/k.c").unlink()
    assert check_house(tmp_path) == (0, [])
