# SPDX-License-Identifier: Apache-2.0
"""Other compilers than gcc of this machine. Each has the tests of machine code, too."""

import typing

import pytest


class Compiler(typing.NamedTuple):
    release: str  # of Debian
    packages: str
    arguments: tuple[str, ...]


COMPILERS = {
    "gcc-14": Compiler("trixie", "gcc-14", ("CC=gcc-14",)),
    "clang-14": Compiler("bookworm", "clang-14 libomp-14-dev", ("CC=clang-14",)),
    "clang-19": Compiler("trixie", "clang-19 libomp-19-dev", ("CC=clang-19",)),
    "C23": Compiler(
        "trixie", "clang-19 libomp-19-dev", ("CC=clang-19", "CFLAGS=-O2 -std=c23 -pedantic-errors")
    ),
}


@pytest.mark.parametrize("name", COMPILERS)
def test_the_unit_tests_pass(port, name):
    compiler = COMPILERS[name]
    here = port(compiler.release, name, compiler.packages)
    here.built("--without-mpi", *compiler.arguments)
    told = here.units()
    print(told)
    assert told["PASS"] > 900
    assert not here.skipped("loops_are"), "machine code has to be looked at"
