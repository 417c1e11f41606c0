# SPDX-License-Identifier: Apache-2.0
"""Other ranks: of MPICH instead of Open MPI, on this machine, with all tests of ranks; and of Open
MPI on aarch64, where mpirun and each rank run in QEMU's emulation of single programs."""

import json
import os

import pytest
from conftest import FOLDER, LONG, RESULT
from elsewhere import good, need, run, tarball
from some import some

TESTS = ("test_mpi", "test_mpi_ends", "test_mpi_workloads", "test_fabric")


@pytest.fixture(scope="module")
def mpich():
    """How the tarball's commands run in a build with MPICH. That is not the mpirun in PATH, so a
    script of this name calls MPICH's, which looks for its helpers beside itself."""
    need(**{"mpicc.mpich": "libmpich-dev", "mpirun.mpich": "mpich"})
    file, here = tarball(), FOLDER / "mpich"
    good("rm", "-rf", here)
    (here / "bin").mkdir(parents=True)
    (here / "build").mkdir()
    good("tar", "-xf", file, "-C", here)
    (here / "bin/mpirun").write_text('#!/bin/sh\nexec mpirun.mpich "$@"\n', encoding="utf-8")
    (here / "bin/mpirun").chmod(0o755)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS", "LANE"))}
    more = {"cwd": here / "build", "env": {**kept, "PATH": f"{here}/bin:{os.environ['PATH']}"}}
    python = os.environ["PYTHON"] or "no"
    configure = here / file.name.removesuffix(".tar.gz") / "configure"
    said = good(configure, f"--with-python={python}", "--with-mpi", "MPICC=mpicc.mpich", **more)
    assert "MPICH" in said
    good("make", "-j2", **more)
    return more


@pytest.mark.parametrize("name", TESTS)
def test_ranks_of_mpich(mpich, name):
    words = (f"TESTS=test/cli/{name}.py", "OFTEN=10")
    done = run("make", "check", *words, timeout=LONG, **mpich)
    told = {word: int(n) for word, n in RESULT.findall(done.out)}
    print(told)
    assert done.status == 0, done.out[-6000:]
    assert told["PASS"] > 5


ARM = "aarch64-linux-gnu"
PACKAGES = (
    f"gcc-{ARM} libc6-dev-arm64-cross qemu-user libgomp1:arm64 libopenmpi-dev:arm64"
    " openmpi-bin:arm64"
)
# QEMU's processes share no memory by CMA, and Open MPI's daemon can't be started: so by TCP, and
# only by mpirun.
SETTING = (
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=self,tcp"
    " OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_rmaps_base_oversubscribe=1"
    " OMPI_MCA_mpi_yield_when_idle=1 PMIX_MCA_gds=hash LOCUS_EMULATED=yes"
)
MPIRUN = "qemu-aarch64 /usr/bin/mpirun.openmpi -n 3 /usr/bin/qemu-aarch64 ./locus-mpi"
QUICK = "--repeats 1 --duration 1ms --threads 1 --oversubscribe --quiet --output record.jsonl"
COMMANDS = (
    "dummy --variant sums,steady",
    "kmeans --points 200 --clusters 9",
    "search --size 64K",
    "fabric --pings 16 --size 4K",
)


@pytest.fixture(scope="module")
def arm(port):
    here = port("bookworm", "aarch64-mpi", PACKAGES, "arm64")
    words = f"--enable-werror --with-python=no --host={ARM} --with-mpi CFLAGS=-O2"
    libraries = f"PKG_CONFIG_LIBDIR=/usr/lib/{ARM}/pkgconfig:/usr/share/pkgconfig"
    wrapper = "MPICC='qemu-aarch64 /usr/bin/mpicc.openmpi'"
    here(f"{here.source}/configure {words} {libraries} {wrapper} && make -j2 locus-mpi")
    return here


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c.split()[0])
def test_ranks_of_aarch64(arm, command):
    arm(f"rm -f record.jsonl; {SETTING} {MPIRUN} {command} {QUICK} 2>&1 || test $? = 1")
    lines = [json.loads(line) for line in arm("cat record.jsonl").splitlines()]
    assert lines[0]["ranks"] == 3 and lines[-1]["type"] == "end"
    trials = some([line for line in lines if line["type"] == "trial"])
    assert not [t["reasons"] for t in trials if t["status"] in ("wrong", "failed")]
