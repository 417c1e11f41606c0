# SPDX-License-Identifier: Apache-2.0
"""Other processors: cross builds with the libraries of a Debian for them. Unit tests about
instructions, and a few commands, run in QEMU's emulation of single programs; times mean nothing."""

import json
import resource
import typing

import pytest
from emulated import ABOUT_INSTRUCTIONS, ABOUT_THE_KERNELS_PAGES
from some import some

KIB = 1 << 10
OF_THE_KERNEL = resource.getpagesize()
QUICK = "--repeats 1 --duration 1ms --time-budget 100s --quiet --oversubscribe --threads 1,2"
COMMANDS = (
    "numa --variant static,random --size 2M",
    "latency --variant cycle,page-random --size 256K",
    "sharing --variant fetch-add,lock",
    "hashmap --variant striped,best --range 1000",
    "kmeans --variant 2p,best --points 200 --clusters 9",
    "locks --section 0",
)


class Processor(typing.NamedTuple):
    release: str  # of Debian: the oldest that has it
    target: str
    compiler: str
    emulator: str
    page: int  # bytes, as most of its kernels have

    def run(self, unit=None):
        """The emulator, for locus or for a unit test."""
        own = self.page == OF_THE_KERNEL or unit in ABOUT_THE_KERNELS_PAGES
        return self.emulator if own else f"{self.emulator} -p {self.page}"


PROCESSORS = {
    "riscv64": Processor(
        "trixie", "riscv64-linux-gnu", "gcc-riscv64-linux-gnu", "qemu-riscv64", 4 * KIB
    ),
    "ppc64el": Processor(
        *("bookworm", "powerpc64le-linux-gnu", "gcc-powerpc64le-linux-gnu"),
        *("qemu-ppc64le", 64 * KIB),
    ),
}


@pytest.fixture(scope="module", params=PROCESSORS)
def built(request, port):
    """A port to a processor, and how its programs run."""
    name, p = request.param, PROCESSORS[request.param]
    packages = f"{p.compiler} libc6-dev-{name}-cross qemu-user libgomp1:{name}"
    here = port(p.release, name, packages, name)
    here.built(
        *(f"--host={p.target}", "--without-mpi", "CFLAGS=-O2"),
        f"PKG_CONFIG_LIBDIR=/usr/lib/{p.target}/pkgconfig:/usr/share/pkgconfig",
    )
    return here, p


def test_unit_tests_about_instructions(built):
    here, p = built
    lines = "\n".join(f"{unit} {p.run(unit)}" for unit in ABOUT_INSTRUCTIONS)
    run = f'{here.source}/test/run-unit "$@" test/unit/$unit || echo "died: $?"'
    run = f'unit=$1; shift; {{ echo "== $unit"; {run}; }} >test/unit/$unit.log 2>&1'
    here(f"export LOCUS_EMULATED=yes; echo '{lines}' | xargs -P 2 -L 1 sh -c '{run}' sh")
    out = here("cat test/unit/*.log")
    bad = [s for s in out.split("== ")[1:] if "not ok" in s or "died: " in s or "ok " not in s]
    print("\n".join(line for line in out.splitlines() if "# SKIP" in line))
    assert not bad, "".join(bad)[-6000:]
    assert out.count("\nok ") > 500


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c.split()[0])
def test_a_benchmark_runs_and_its_answers_are_right(built, command):
    here, p = built
    here("rm -f record.jsonl")
    locus = f"{p.run()} ./locus {command} {QUICK} --output record.jsonl"
    out = here(f"{locus} 2>&1 || test $? = 1")  # 1: QEMU does not say where threads and pages lie
    lines = [json.loads(line) for line in here("cat record.jsonl").splitlines()]
    assert lines[0]["machine"]["memory"]["page"] == p.page
    trials = some([line for line in lines if line["type"] == "trial"])
    assert not [t["reasons"] for t in trials if t["status"] in ("wrong", "failed")], out
