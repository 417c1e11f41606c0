# SPDX-License-Identifier: Apache-2.0
"""What configure says where locus cannot be built, and which compilers of MPI it knows. Wrappers of
Intel's and of Cray's are stand-ins: the real ones are untried, as is nvc."""

import pathlib

import pytest
from elsewhere import need, run

SOURCE = pathlib.Path(__file__).resolve().parents[2]
QUICK = ("--quiet", "--with-python=no", "--without-papi", "--without-likwid", "--without-urcu")


def configure(folder, *arguments, **more):
    return run(SOURCE / "configure", *QUICK, *arguments, cwd=folder, **more)


@pytest.mark.parametrize("host", ["aarch64-apple-darwin23", "x86_64-unknown-freebsd14.1"])
def test_another_system_is_told_what_is_missing_and_what_works(tmp_path, host):
    done = configure(tmp_path, f"--host={host}")
    lines = [line for line in done.out.splitlines() if "WARNING" not in line]
    assert done.status == 1 and len(lines) == 1, done.out
    assert lines[0].startswith(f"configure: error: {host.split('-')[-1]}: locus measures on Linux")
    for word in "sched_setaffinity", "libnuma", "/proc", "/sys", "analysis", "--topology":
        assert word in lines[0]


def test_without_libraries_one_line_names_each(tmp_path):
    """Those of glibc are there, but musl's compiler does not link with them."""
    need(**{"musl-gcc": "musl-tools"})
    done = configure(tmp_path, "CC=musl-gcc", "--without-mpi")
    (line,) = done.out.splitlines()
    assert done.status == 1 and line.startswith("configure: error: missing: OpenMP ")
    for library in "hwloc", "numa", "jansson":
        assert f" {library} >= " in line and f"lib{library}-dev" in line


@pytest.mark.parametrize("cc", ["gcc", "clang"])
@pytest.mark.parametrize(
    "flags",
    [
        "CFLAGS=-O2 -ffast-math",
        "CFLAGS=-Ofast -fno-fast-math",
        "CFLAGS=-O3 -funsafe-math-optimizations",
        "CFLAGS=-O0 -ffinite-math-only",
        "LDFLAGS=-ffast-math",
    ],
)
def test_arithmetic_without_ieee_754_is_refused(tmp_path, cc, flags):
    done = configure(tmp_path, f"CC={cc}", flags, "--without-mpi")
    (line,) = done.out.splitlines()
    words = flags.split("=", 1)[1]
    assert done.status == 1 and line.startswith("configure: error: statistics and exact means need")
    assert f'"{cc} ' in line and words in line and "leave out -Ofast" in line


def test_arithmetic_without_ieee_754_of_another_processor_is_refused(tmp_path):
    """Nothing runs there: the compiler's macros tell it."""
    cross = "aarch64-linux-gnu"
    need(**{f"{cross}-gcc": f"gcc-{cross}"})
    done = configure(tmp_path, f"--host={cross}", "CFLAGS=-Ofast", "--without-mpi")
    assert done.status == 1 and "arithmetic of IEEE 754" in done.out, done.out


def script(path, *lines):
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]), encoding="utf-8")
    path.chmod(0o755)
    return path


def mpi_of(folder):
    """MPI_CC of the makefile."""
    text = (folder / "Makefile").read_text(encoding="utf-8")
    return next(line for line in text.splitlines() if line.startswith("MPI_CC = "))


def test_intels_wrapper_gets_the_compiler(tmp_path):
    need(**{"mpicc.mpich": "libmpich-dev"})
    own = ('[ "$1" != -show ] || exec mpicc.mpich -show',)
    call = 'exec env MPICH_CC="${I_MPI_CC:?}" mpicc.mpich "$@"'
    wrapper = script(tmp_path / "mpiicc", *own, call)
    done = configure(tmp_path, "--with-mpi", f"MPICC={wrapper}", "CC=gcc")
    assert done.status == 0 and "MPICH" in done.out, done.out
    assert "I_MPI_CC='gcc'" in mpi_of(tmp_path)


def test_a_compiler_that_is_a_wrapper_is_its_own(tmp_path):
    """Cray's cc, or CC=mpicc, which would call itself for ever."""
    need(**{"mpicc.mpich": "libmpich-dev"})
    cc = script(tmp_path / "cc", 'exec mpicc.mpich "$@"')
    done = configure(tmp_path, "--with-mpi", f"CC={cc}")
    assert done.status == 0 and "MPICH" in done.out, done.out
    assert mpi_of(tmp_path) == f"MPI_CC = {cc}"


def test_a_wrapper_that_was_named_has_to_work(tmp_path):
    named = (f"MPICC={tmp_path}/none",)
    done = configure(tmp_path, *named)
    assert done.status == 1
    assert f"error: MPICC={tmp_path}/none links no program with MPI: name another" in done.out
    assert configure(tmp_path, "--without-mpi", *named).status == 0


def test_without_mpi_it_says_so(tmp_path):
    none = script(tmp_path / "mpicc", "exit 1")
    done = configure(tmp_path, "--with-mpi", f"MPICC={none}")
    assert done.status == 1 and "MPI (mpicc) was not found" in done.out
