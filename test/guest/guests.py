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

from kinds import BUILD, GUESTS

HERE = pathlib.Path(__file__).parent
SLOT = 32  # MiB of the drive for the files of a step
LIMIT = 240  # s for a step
# s for a guest. This and LIMIT are many times the usual, for machines whose CPUs are busy.
DEADLINE = 1200
OPENED = (
    "libgcc_s.so.1",
    "libpthread.so.0",
)  # loaded at run time, so ldd does not list them: by glibc as a thread ends, and by likwid-pin


PACKING = threading.Lock()


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
            f"test/guest/fetch build/guest {architecture.kernel or architecture.debian}",
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
    # norandmaps: else QEMU translates a program anew for each process, which took half the time.
    # softlockup: a kernel that hung once, for minutes, ends after 2 x 60 s, and is booted again.
    kernel = f"console={architecture.console} {architecture.words} quiet loglevel=3 panic=-1"
    command += [
        f"{kernel} cryptomgr.notests mitigations=off kpti=off nokaslr init_on_alloc=0"
        f" norandmaps softlockup_panic=1 watchdog_thresh=60 SLOT={SLOT} LIMIT={limit}"
        f" {GUESTS[name].kernel}"
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
