# SPDX-License-Identifier: Apache-2.0
"""Guests: machines that QEMU emulates in software (no KVM), with the nodes, threads and
processors that a test asks for.

A guest runs shell scripts, the steps, on Debian's kernel, with programs that were built here or by
a cross build. Placement is real there, speed is not. BUILD/guest/ARCHITECTURE has the kernel
(vmlinuz) and Debian's packages, which are unpacked (root/) and never run here.
"""

import contextlib
import dataclasses
import functools
import itertools
import lzma
import os
import pathlib
import platform
import re
import shutil
import subprocess
import tarfile
import tempfile
import threading

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ.get("BUILD", "build")).resolve()
SLOT = 32  # MiB of the drive for the files of a step
LIMIT = 240  # s for a step
# s for a guest. This and LIMIT are many times the usual, for machines whose CPUs are busy.
DEADLINE = 1200
OPENED = (
    "libgcc_s.so.1",
    "libpthread.so.0",
)  # loaded at run time, so ldd does not list them: by glibc as a thread ends, and by likwid-pin


PACKING = threading.Lock()


@dataclasses.dataclass(frozen=True)
class Architecture:
    """A processor architecture: its emulator, and where its programs come from."""

    debian: str  # its name in Debian, and that of its folder
    qemu: str
    package: str  # of qemu
    console: str
    shape: str  # of the machine, for QEMU
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
# time. LIKWID reads the processor's registers (msr). erms: with it, kernel and libraries clear and
# copy with instructions that QEMU emulates byte by byte.
AMD64 = Architecture(
    "amd64",
    "qemu-system-x86_64",
    "qemu-system-x86",
    "ttyS0",
    "-machine q35",
    host=True,
    modules=("msr",),
    words="no_timer_check",
    without=",-erms",
)
ARM64 = Architecture(
    "arm64",
    "qemu-system-aarch64",
    "qemu-system-arm",
    "ttyAMA0",
    "-machine virt",
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
    Without `distances`, nodes 2i and 2i+1 are near each other, and all others far. NUMA
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
        far = distances[i, j] if distances else 20 if i // 2 == j // 2 else 32
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
    # is not soon available to the other.
    "v1": guest((2, 1024), (2, 1024), kernel="numa_balancing=disable cgroups=v1"),
    "4x2": guest((2, 512), (2, 512), (2, 512), (2, 512)),
    # Node 0 has 3 CPUs and node 1 has one; node 2 has a CPU but no memory, and node 1 is nearest to
    # it; node 3 has little memory and no CPU.
    "uneven": guest(
        (3, 768),
        (1, 512),
        (1, 0),
        (0, 256),
        distances={(0, 1): 20, (0, 2): 30, (0, 3): 30, (1, 2): 15, (1, 3): 30, (2, 3): 25},
    ),
    "cxl": guest((2, 512), (2, 512), (0, 1024), distances={(0, 1): 21, (0, 2): 17, (1, 2): 28}),
    # A kernel with more possible CPUs than the 1024 of glibc's sets, and firmware that tells how
    # fast memory is (HMAT).
    "many": guest(
        (2, 1024), (2, 1024), kernel="numa_balancing=disable possible_cpus=1100", access=ACCESS
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


@dataclasses.dataclass
class Done:
    """The results of a step."""

    guest: str
    command: str
    status: int
    out: str
    err: str
    folder: pathlib.Path
    record: list = dataclasses.field(default_factory=list)
    before: str = ""  # how the first guest died, if the step ran in a second one


class Died(Exception):
    """A guest that ended before a step, or within it."""


def foreign(name):
    """Why this machine can't have such a guest, whatever is installed; or None."""
    architecture = GUESTS[name].architecture
    if architecture.host and platform.machine() != "x86_64":
        return (
            f"a guest of {architecture.debian} runs programs built here, and this is"
            f" {platform.machine()}"
        )
    return None


def missing(name):
    """(what a guest would need here, how to get it), or None."""
    architecture = GUESTS[name].architecture
    if not shutil.which(architecture.qemu):
        return architecture.qemu, f"Debian: {architecture.package}"
    if not shutil.which("cpio"):
        return "cpio", "Debian: cpio"
    if not (architecture.kernel_folder / "vmlinuz").exists():
        return (
            f"the guests' kernel for {architecture.kernel or architecture.debian}",
            "./quickstart check fetches it",
        )
    if not (architecture.build / "locus").exists():
        return f"locus for {architecture.debian}", "./quickstart check builds it"
    return None


def units(architecture):
    """The unit tests that were built: {name in the guest: file}."""
    found = sorted((architecture.build / "test/unit").glob("test_*"))
    return {
        f"unit/{file.name}": file for file in found if not file.suffix and os.access(file, os.X_OK)
    }


def emulated(processor, program, folder):
    """Runs a unit test for aarch64 in QEMU's user-mode emulation, in which this machine's kernel
    handles system calls. That takes a fifth of a guest's time.

    On one CPU: between STLR and LDAR QEMU puts no barrier, so on x86 another CPU can see the load
    before the store, which aarch64 forbids (QEMU 7.2: in 5 % of 300,000 trials of such a pair)."""
    root = ARM64.folder / "root"
    paths = ":".join(str(path) for lib in ("lib", "usr/lib") for path in root.glob(f"{lib}/*-gnu"))
    libraries = ["-L", root, "-E", f"LD_LIBRARY_PATH={paths}", "-E", "LOCUS_EMULATED=yes"]
    unit = ARM64.build / "test/unit" / program
    one = ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0)))]
    command = [*one, HERE.parent / "run-unit", "qemu-aarch64", "-cpu", processor, *libraries, unit]
    path = f"{ARM64.build}/tools:{os.environ['PATH']}"  # the objdump of its machine code
    ended = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=LIMIT,
    )
    said = ended.returncode, ended.stdout, ended.stderr
    return Done(processor, f"qemu-aarch64 {program}", *said, folder)


def stand_ins(architecture):
    """Stand-ins for LIKWID's and PAPI's libraries, at the paths where unit tests look for them."""
    test = architecture.build / "test"
    found = {f"likwid/{file.name}": file for file in test.glob("likwid/*.so.*")}
    return {**found, **{f"stand-in/{file.name}": file for file in test.glob("stand-in/*.so.*")}}


# LIKWID's scripts ask for bash, but any shell can run them.
BASH = '#!/bin/sh\n[ "$1" != --noprofile ] || shift\nexec sh "$@"\n'


def likwids():
    """{version: folder} of LIKWID built for aarch64. The folder is /opt/likwidVERSION in a guest,
    with the version without dots."""
    return {
        folder.parent.name.removeprefix("likwid-"): folder
        for folder in sorted((BUILD / "guest").glob("likwid-*/root"))
    }


def likwid():
    """This machine's likwid-pin and likwid-perfctr with all files that they need, at the same
    paths in a guest; {} if they are not installed."""
    tool = shutil.which("likwid-perfctr")
    if not tool:
        return {}
    prefix = pathlib.Path(tool).resolve().parents[1]
    interpreter = (
        pathlib.Path(tool).read_text(encoding="utf-8").splitlines()[0].removeprefix("#!").split()[0]
    )
    files = [pathlib.Path(tool), pathlib.Path(interpreter), prefix / "share/lua/likwid.lua"]
    more = (
        "bin/likwid-pin sbin/likwid-accessD share/likwid/perfgroups/zen2/* lib/liblikwid*.so*"
        " lib/*/liblikwid*.so*"
    )
    files += itertools.chain.from_iterable(map(prefix.glob, more.split()))
    return {"bin/bash": BASH, **{str(file)[1:]: file for file in files}}


def papi():
    """This machine's PAPI library, at the same path in a guest; {} if it is not installed."""
    said = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    return {
        path[1:]: pathlib.Path(path)
        for path in re.findall(r"libpapi\.so\.\d+\.\d+ \(libc6,x86-64.*=> (\S+)", said)
    }


def libraries(architecture, programs):
    """The shared libraries of programs. For another architecture, all that were unpacked, since
    ldd can't resolve foreign programs."""
    if architecture.host:
        said = "".join(
            subprocess.run(["ldd", file], capture_output=True, text=True).stdout
            for file in programs
        )
        found = {pathlib.Path(path) for path in re.findall(r"(/\S+) \(0x", said)}
        by_name = {
            libc.with_name(name) for libc in found if libc.name == "libc.so.6" for name in OPENED
        }
        return {str(path)[1:]: path for path in found | by_name if path.exists()}
    root = architecture.folder / "root"
    folders = [
        folder
        for lib in ("lib", "usr/lib")
        for folder in (root / lib, *root.glob(f"{lib}/*-linux-gnu"))
    ]
    return {
        str(file.relative_to(root)): file for folder in folders for file in folder.glob("*.so*")
    }


def archive(files, image):
    """Appends an archive of {name: file, or its contents} to a guest's initramfs."""
    packed_as: dict = {}  # by real path: libraries have several names and are large, so link them
    with tempfile.TemporaryDirectory() as stage:
        for name, file in files.items():
            to = pathlib.Path(stage, name)
            to.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(file, bytes):
                to.write_bytes(file)
            elif isinstance(file, str):
                to.write_text(file, encoding="utf-8")
                to.chmod(0o755)
            elif (first := packed_as.setdefault(os.path.realpath(file), to)) is to:
                shutil.copy(file, to)
            else:
                os.link(first, to)
        pack = "find . -print0 | cpio --null --create --format=newc --owner=0:0 --quiet"
        subprocess.run(pack, shell=True, cwd=stage, stdout=image, check=True)


def system(architecture):
    """The result of packed(), which runs once, even if two guests start at the same time."""
    with PACKING:
        return packed(architecture)


@functools.cache
def packed(architecture):
    """The initramfs that all guests of an architecture share; not compressed, since emulated
    decompression is slow."""
    root = architecture.folder / "root"
    files = {
        "init": HERE / "init",
        "bin/locus": architecture.build / "locus",
        "bin/run-unit": HERE.parent / "run-unit",
    }
    files.update(stand_ins(architecture))
    for tool in architecture.tools:
        places = [f"bin/{tool}", f"usr/bin/{tool}", f"usr/bin/*-linux-gnu-{tool}"]
        files[f"bin/{tool}"] = next(file for place in places for file in root.glob(place))
    for module in architecture.modules:
        (file,) = architecture.kernel_folder.glob(f"root/lib/modules/**/{module}.ko*")
        files[f"modules/{file.name.removesuffix('.xz')}"] = (
            lzma.decompress if file.suffix == ".xz" else bytes
        )(file.read_bytes())
    if architecture.host:
        files.update({**likwid(), **papi()})
        files["bin/forbid"] = BUILD / "test/forbid"
    else:
        files["bin/bash"] = BASH
        for version, folder in likwids().items():
            own = (file for file in folder.rglob("*") if file.is_file())
            files.update(
                {
                    f"opt/likwid{version.replace('.', '')}/{file.relative_to(folder)}": file
                    for file in own
                }
            )
    programs = [file for file in files.values() if isinstance(file, pathlib.Path)]
    programs += units(architecture).values()
    files.update(libraries(architecture, programs))
    image = architecture.kernel_folder / "system"
    with image.open("wb") as to:
        archive(files, to)
    return image


def unpack(drive, slot, folder):
    """The status, output, errors and folder of the step with this slot; None if the step did not
    end."""
    drive.seek(slot * SLOT << 20)
    with tarfile.open(fileobj=drive, mode="r|") as tar:  # a slot of zeros is an empty archive
        tar.extraction_filter = getattr(tarfile, "data_filter", None)
        tar.extractall(folder)
    if not (folder / "status").exists():
        return None
    out, err, status = (
        (folder / name).read_text(encoding="utf-8", errors="replace")
        for name in ("out", "err", "status")
    )
    return int(status), out, err, folder


def boot(name, steps, deadline=DEADLINE, limit=LIMIT, called=None, boots=1):
    """
    Runs the steps in a guest, one after another: {step: Done, or Died}. Its console is kept in
    BUILD/guest/run/NAME, or in .../CALLED, since another guest of that name may run. Its initramfs
    and drive, some 100 MB, are kept if it died. Steps that it left undone are run in another boot,
    if `boots` allows one.
    """
    architecture = GUESTS[name].architecture
    folder = BUILD / "guest/run" / (called or name)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    initrd, drive, console = folder / "initrd", folder / "drive", folder / "console"
    with initrd.open("ab") as image:
        image.write(system(architecture).read_bytes())
        image.flush()
        own = {f"steps/{n:03}": step + "\n" for n, step in enumerate(steps)}
        words = " ".join(steps).split()
        # All unit tests would be half of the initramfs, and each MB makes guests slower to start.
        own |= {to: unit for to, unit in units(architecture).items() if unit.name in words}
        archive(own, image)
    drive.touch()
    os.truncate(drive, len(steps) * SLOT << 20)
    # QEMU is killed with the thread that waits for it, and so with this process, however that ends.
    command = ["setpriv", "--pdeathsig", "KILL", "--", architecture.qemu]
    command += [
        *architecture.shape.split(),
        *GUESTS[name].shape.split(),
        *GUESTS[name].emulator.split(),
    ]
    command += ["-kernel", architecture.kernel_folder / "vmlinuz", "-initrd", initrd, "-append"]
    # cryptomgr.notests: the kernel's tests of its cryptography take seconds when emulated, and once
    # hung. mitigations, kpti: the defences against Spectre and Meltdown at each system call take
    # two fifths of the time on aarch64. nokaslr: else 32 MiB of kernel lie on a random node.
    # init_on_alloc: Debian's kernel clears all pages as it allocates them, and most of them again.
    # softlockup: a kernel that hung once, for minutes, ends after 2 x 60 s, and is booted again.
    kernel = f"console={architecture.console} {architecture.words} quiet loglevel=3 panic=-1"
    command += [
        f"{kernel} cryptomgr.notests mitigations=off kpti=off nokaslr init_on_alloc=0"
        f" softlockup_panic=1 watchdog_thresh=60 SLOT={SLOT} LIMIT={limit} {GUESTS[name].kernel}"
    ]
    command += ["-drive", f"file={drive},format=raw,if=none,id=drive,cache=unsafe"]
    command += ["-device", f"{architecture.disk},drive=drive,serial=results"]
    command += [
        "-nodefaults",  # no VGA, whose BIOS and memory take a tenth of a boot
        "-display",
        "none",
        "-nic",
        "none",
        "-no-reboot",
        "-serial",
        "stdio",
        "-monitor",
        "none",
    ]
    ended = f"the guest '{name}' was ended after {deadline} s."
    with console.open("wb") as to, contextlib.suppress(subprocess.TimeoutExpired):
        status = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=to, stderr=to, timeout=deadline
        ).returncode
        ended = f"the guest '{name}' ended before this step did (QEMU's status {status})."
    with drive.open("rb") as file:
        left = [unpack(file, n, folder / f"{n:03}") for n in range(len(steps))]
    lines = console.read_text(encoding="utf-8", errors="replace").splitlines()
    died = Died("\n".join([ended, "Its console's last lines:", *lines[-50:]]))
    came_of_it = {step: Done(name, step, *it) if it else died for step, it in zip(steps, left)}
    undone = [step for step, it in came_of_it.items() if it is died]
    if not undone:  # else they are kept, to reproduce how the guest died
        initrd.unlink()
        drive.unlink()
    if undone and boots > 1:
        for step, it in boot(
            name, undone, deadline, limit, f"{called or name}-again", boots - 1
        ).items():
            came_of_it[step] = (
                it if isinstance(it, Died) else dataclasses.replace(it, before=str(died))
            )
    return came_of_it
