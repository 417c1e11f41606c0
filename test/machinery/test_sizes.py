# SPDX-License-Identifier: Apache-2.0
"""test/sizes finds what is too large or too small in a house, and nothing else."""

import pathlib
import subprocess

import pytest

SIZES = pathlib.Path(__file__).resolve().parent.parent / "sizes"


@pytest.fixture
def sizes(tmp_path):
    """sizes({file: text}): the exit status of test/sizes for such a house, how the house stands,
    and the faults."""

    def run(files):
        for file, text in files.items():
            path = tmp_path / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([SIZES, tmp_path], stdout=subprocess.PIPE, text=True, check=False)
        state, *faults = done.stdout.splitlines()
        return done.returncode, state, faults

    return run


def function(lines, head="static int\n__attribute__((unused)) work(int a,\n\tint b)"):
    """A function of so many lines."""
    body = "\tdo_it(a);\n" * (lines - 2 - head.count("\n") - 1)
    return f"{head}\n{{\n{body}}}\n"


def file(lines):
    return "int a;\n" * lines


GOOD = {
    "src/a.c": "int before;\n/* says what\nit does */\n" + function(60),
    "src/kit/b.c": f"#include <a.h>\n{function(60)}\n{function(3, 'void f(void)')}",
    "src/kit/c.h": file(500),
    "test/unit/test_c.c": file(250) + function(250),
    "test/analysis/test_a.py": file(499),
    "test/data.json": file(501),
    "test/fuzz/corpus/a": file(501),
    "test/stand-in/papi.c": file(501),
    **{f"src/{n}/short.c": file(39) for n in range(60)},
    **{f"src/{n}/more.h": file(40) for n in range(337)},
}


def test_a_house_at_the_limits(sizes):
    assert sizes(GOOD) == (
        0,
        "src: 400 files, 60 under 40 lines, the longest 500; 3 functions, the longest 60;"
        " test: the longest file 500",
        [],
    )


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        ({"src/one/more.c": file(40)}, "src: 401 files, at most 400"),
        ({"src/0/more.h": file(39)}, "src: 61 files of under 40 lines, at most 60"),
        ({"src/0/more.h": file(501)}, "src/0/more.h: 501 lines, at most 500"),
        ({"test/unit/help.h": file(501)}, "test/unit/help.h: 501 lines, at most 500"),
        ({"test/analysis/b.py": file(501)}, "test/analysis/b.py: 501 lines, at most 500"),
        ({"test/cli/b.py": file(501)}, "test/cli/b.py: 501 lines, at most 500"),
        ({"test/driver": file(501)}, "test/driver: 501 lines, at most 500"),
        ({"src/a.c": f"int x;\n{function(61)}"}, "src/a.c:2: work() has 61 lines, at most 60"),
        ({"src/0/more.h": function(61)}, "src/0/more.h:1: work() has 61 lines, at most 60"),
    ],
)
def test_beyond_a_limit(sizes, files, fault):
    status, _, faults = sizes({**GOOD, **files})
    assert status == 1
    assert faults == [fault]
