# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest: the cross build for aarch64, for its guests (test/guest) and for QEMU's
emulation of single programs."""

import os
import pathlib
import subprocess

import guests
import pytest
from elsewhere import good, run
from elsewhere import need as need_programs
from kinds import ARM64

HERE = pathlib.Path(__file__).parent
PROGRAMS = {
    "qemu-system-aarch64": "qemu-system-arm",
    "qemu-aarch64": "qemu-user",
    "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
}


@pytest.fixture(scope="session")
def cross():
    """What the cross build said. It is made before the first guest starts, as LIKWID is, since both
    are packed into guests; test_aarch64_likwid.py checks LIKWID."""
    need_programs(**PROGRAMS)
    folder = guests.BUILD / "guest"
    good(guests.HERE / "fetch", folder, "arm64", "arm64-16k", "likwid", timeout=3600)
    run(HERE / "likwid", folder, timeout=3600)
    return run(HERE / "cross", ARM64.folder, timeout=3600)


@pytest.fixture(scope="session")
def cross_built(cross):
    if cross.status:
        pytest.skip("it could not be built: see test_it_builds")


@pytest.fixture(scope="session")
def emulate(cross_built, tmp_path_factory):
    """emulate(processor, program) runs a unit test in QEMU's emulation of single programs, in which
    this machine's kernel handles system calls. That takes a fifth of a guest's time.

    On one CPU: between STLR and LDAR QEMU puts no barrier, so on x86 another CPU can see the load
    before the store, which aarch64 forbids (QEMU 7.2: in 5 % of 300,000 trials of such a pair)."""
    root, folder = ARM64.folder / "root", tmp_path_factory.mktemp("unit")
    paths = ":".join(str(path) for lib in ("lib", "usr/lib") for path in root.glob(f"{lib}/*-gnu"))
    libraries = ["-L", root, "-E", f"LD_LIBRARY_PATH={paths}", "-E", "LOCUS_EMULATED=yes"]
    one = ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0)))]
    path = f"{ARM64.build}/tools:{os.environ['PATH']}"  # the objdump of its machine code

    def emulated(processor, program):
        run_unit = [*one, HERE.parent / "run-unit", "qemu-aarch64", "-cpu", processor, *libraries]
        ended = subprocess.run(
            [*run_unit, ARM64.build / "test/unit" / program],
            cwd=folder,
            env={**os.environ, "PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=guests.LIMIT,
        )
        said = ended.returncode, ended.stdout, ended.stderr
        return guests.Done(processor, f"qemu-aarch64 {program}", *said, folder)

    return emulated
