# SPDX-License-Identifier: Apache-2.0
"""The kinds of guests: processors, nodes and memory, as QEMU is told of them."""

import dataclasses
import itertools
import os
import pathlib

BUILD = pathlib.Path(os.environ.get("BUILD", "build")).resolve()


@dataclasses.dataclass(frozen=True)
class Architecture:
    """A processor architecture: its emulator, and where its programs come from."""

    debian: str  # its name in Debian, and that of its folder
    qemu: str
    package: str  # of qemu
    console: str
    shape: str  # of the machine, for QEMU
    lane: str  # whose tests have such guests: test/guest, or test/ports
    # whether it runs the programs and libraries of this machine; else those of a cross build, with
    # the libraries in root/
    host: bool = False
    tools: tuple[str, ...] = ("busybox", "numactl")  # from Debian's packages
    disk: str = "nvme"
    modules: tuple[str, ...] = ()  # that its kernel needs for the disk, or for a test
    kernel: str = ""  # the folder of its kernel in BUILD/guest, if not `debian`
    words: str = ""  # for the kernel's command line
    without: str = ""  # features that its processors do not have

    @property
    def folder(self):
        return BUILD / "guest" / self.debian

    @property
    def kernel_folder(self):
        return BUILD / "guest" / (self.kernel or self.debian)

    @property
    def build(self):
        return BUILD if self.host else self.folder / "build"


# no_timer_check: the kernel's test of a PC's timer fails if the emulator does not get a CPU in
# time. lpj: else each CPU calibrates its delays, 0.1 s; as for 5 GHz, since a delay may be longer.
# LIKWID reads the processor's registers (msr). erms: with it, kernel and libraries clear and copy
# with instructions that QEMU emulates byte by byte. la57: page tables of five levels.
AMD64 = Architecture(
    "amd64",
    "qemu-system-x86_64",
    "qemu-system-x86",
    "ttyS0",
    "-machine q35",
    "guest",
    host=True,
    modules=("msr",),
    words="no_timer_check lpj=20000000",
    without=",-erms,-la57",
)
ARM64 = Architecture(
    "arm64",
    "qemu-system-aarch64",
    "qemu-system-arm",
    "ttyAMA0",
    "-machine virt",
    "ports",
    tools=("busybox", "numactl", "objdump", "lua5.3"),
)
ARM64_16K = dataclasses.replace(
    ARM64, kernel="arm64-16k", disk="virtio-blk-pci", modules=("virtio_blk",)
)


@dataclasses.dataclass(frozen=True)
class Guest:
    cpus: tuple  # of each node
    shape: str  # CPUs, memory and nodes, for QEMU
    kernel: str  # the end of its command line
    architecture: Architecture
    emulator: str


# FAST: one thread of QEMU runs all CPUs in turn, and goes on with the next one where a CPU pauses
# while it waits for another. With a thread for each, waiting CPUs took their share: up to twice the
# CPU time. COUNTED: the clock is the number of instructions, 2 ns each, which QEMU needs to emulate
# counters.
FAST = "-accel tcg,thread=single"
COUNTED = "-accel tcg -icount shift=1,sleep=off"


def guest(
    *nodes,
    threads=1,
    cpu="max",
    distances=None,
    kernel="numa_balancing=disable",
    architecture=AMD64,
    emulator=FAST,
    access=None,
):
    """A guest with nodes of (CPUs, MiB), each 0 or more, and `threads` threads per core.

    A node with CPUs is a socket; if nodes have unequal numbers of CPUs, each core is a socket.
    Where `distances` has none, nodes 2i and 2i+1 are near each other, and all others far. NUMA
    balancing is off by default, since it would move pages that a test has placed.
    """
    numbers = itertools.count()
    cpus = tuple(tuple(itertools.islice(numbers, n)) for n, _ in nodes)
    sockets = {len(own) for own in cpus if own}
    cores = min(sockets) // threads if len(sockets) == 1 else 1
    total = sum(map(len, cpus))
    shape = f"-cpu {cpu}{architecture.without} -m {sum(memory for _, memory in nodes)}M"
    shape += f" -smp {total},sockets={total // cores // threads},cores={cores},threads={threads}"
    for i, (own, (_, memory)) in enumerate(zip(cpus, nodes)):
        shape += f" -object memory-backend-ram,id=m{i},size={memory}M" if memory else ""
        shape += (
            f" -numa node,nodeid={i}"
            + (f",memdev=m{i}" if memory else "")
            + (f",cpus={own[0]}-{own[-1]}" if own else "")
        )
    for i, j in itertools.combinations(range(len(nodes)), 2):
        far = (distances or {}).get((i, j), 20 if i // 2 == j // 2 else 32)
        shape += f" -numa dist,src={i},dst={j},val={far}"
    shape += " -machine hmat=on" if access else ""
    for (i, j), values in (access or {}).items():
        for what, value in zip(("latency", "bandwidth"), values):
            lb = f" -numa hmat-lb,initiator={i},target={j},hierarchy=memory,data-type="
            shape += f"{lb}read-{what},{what}={value} {lb}write-{what},{what}={value}"
    return Guest(cpus, shape, kernel, architecture, emulator)


# Access from the CPUs of a node to the memory of a node: latency (ns), bandwidth (B/s).
ACCESS = {(0, 0): (80, "40G"), (0, 1): (160, "20G"), (1, 0): (160, "20G"), (1, 1): (90, "36G")}

GUESTS = {
    "one": guest((1, 512)),
    "2x2": guest(
        (2, 2048), (2, 2048), kernel="numa_balancing=disable hugepagesz=1G hugepages=1:1"
    ),  # a page of 1 GiB, on node 1
    # Control groups of version 1, in a guest of its own: a controller that was used by one version
    # is not soon available to the other. A kernel with more possible CPUs than the 1024 of glibc's
    # sets, and firmware that tells how fast memory is (HMAT).
    "v1": guest(
        (2, 1024),
        (2, 1024),
        kernel="numa_balancing=disable cgroups=v1 possible_cpus=1100",
        access=ACCESS,
    ),
    # Node 0 has 3 CPUs and node 1 has one; node 2 has a CPU but no memory, and node 1 is nearest to
    # it; node 3 has little memory and no CPU.
    "uneven": guest(
        (3, 768),
        (1, 256),
        (1, 0),
        (0, 128),
        distances={(0, 1): 20, (0, 2): 30, (0, 3): 30, (1, 2): 15, (1, 3): 30, (2, 3): 25},
    ),
    # Four nodes, and one of memory only.
    "4x2+1": guest(
        (2, 512), (2, 512), (2, 512), (2, 512), (0, 512), distances={(0, 4): 17, (1, 4): 28}
    ),
    "smt": guest(
        (4, 1024), (4, 1024), threads=2, cpu="max,vendor=GenuineIntel"
    ),  # QEMU's AMD processors have no hardware threads
    "cortex-a57": guest(
        (1, 1024), (1, 1024), cpu="cortex-a57", architecture=ARM64
    ),  # without single-instruction atomics (LSE)
    "neoverse-n1": guest((1, 1024), (1, 1024), cpu="neoverse-n1", architecture=ARM64),  # with LSE
    "16k": guest(
        (1, 1536), (1, 1536), cpu="neoverse-n1", architecture=ARM64_16K
    ),  # pages of 16 KiB, huge ones of 32 MiB
    # Guests with counters. They have one CPU, since each emulated CPU counts the instructions of
    # all. PAPI has presets for "pmu", and only native events for "pmu-n1".
    "pmu": guest((1, 1024), cpu="cortex-a57", architecture=ARM64, emulator=COUNTED),
    # Two CPUs, for LIKWID, which counts by CPU.
    "pmu-2": guest((2, 1024), cpu="cortex-a57", architecture=ARM64, emulator=COUNTED),
    "pmu-n1": guest((1, 1024), cpu="neoverse-n1", architecture=ARM64, emulator=COUNTED),
    "zeros": guest(
        (2, 1024), cpu="EPYC-Rome"
    ),  # a processor that LIKWID knows, but whose counters always read zero
}
