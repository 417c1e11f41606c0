# SPDX-License-Identifier: Apache-2.0
"""File systems for tests: Place has a given size and can be made read-only, even for root; Disk
lies on a disk that can be made to fail.

Place is mounted in a namespace of its own, and vanishes with that. Without root it needs a user
namespace, which not every kernel allows.
"""

import fcntl
import os
import pathlib
import struct
import subprocess
import sys

import pytest
from lacking import lacking

USER = bool(os.geteuid())


class Place:
    """An empty tmpfs at a folder: with Place(folder, "64k") as place: locus(...,
    prefix=place.prefix). A command with that prefix runs in the namespace, and finds the tmpfs
    there; processes outside find it at place.path. A host name, if given, holds in the namespace
    only.
    """

    def __init__(self, folder, size, host=None):
        folder.mkdir(exist_ok=True)
        self.folder, self.size, self.host = folder, size, host

    def __enter__(self):
        make = [
            "unshare",
            "--mount",
            "--uts",
            *(["--user", "--map-root-user"] if USER else []),
            "--",
        ]
        # /proc/sys/kernel/hostname would end the name at a newline
        name = "import os, socket, sys; socket.sethostname(os.fsencode(sys.argv[1]))"
        script = """[ $# = 4 ] || "$3" -c "$4" "$5" &&
            mount -t tmpfs -o "size=$1" place "$2" && echo made && exec cat"""
        pipe = subprocess.PIPE
        words = [self.size, self.folder, sys.executable, name]
        words += [] if self.host is None else [self.host]
        command = [*make, "sh", "-c", script, "sh", *words]
        self.keeper = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)
        assert self.keeper.stdout
        if self.keeper.stdout.readline() != b"made\n":
            why = self.keeper.communicate()[1].decode(errors="replace").strip()
            pytest.skip(
                f"no file system can be mounted here ({why}): it takes root, or a kernel that lets"
                " users make namespaces"
            )
        target = f"--target={self.keeper.pid}"
        self.prefix = [
            "nsenter",
            target,
            *(["--user", "--preserve-credentials"] if USER else []),
            "--mount",
            "--uts",
            "--",
        ]
        self.path = pathlib.Path(f"/proc/{self.keeper.pid}/root{self.folder}")
        return self

    def __exit__(self, *_):
        self.keeper.communicate()  # closes the input of `cat`, which ends with it

    def read_only(self):
        # The source is named, since mount would otherwise add options that a user may not give.
        subprocess.run(
            [*self.prefix, "mount", "-o", "remount,ro", "place", self.folder], check=True
        )


SHUT_DOWN = 0x8004587D  # FS_IOC_SHUTDOWN of ext4: later operations fail (EIO), nothing is flushed


class Disk:
    """An ext4 that is mounted at the folder, for all processes: with Disk(folder) as disk. It takes
    root.

    Its disk is a file on another ext4. If that one is shut down, the disk fails: writes go to the
    page cache and succeed, and only fdatasync() reports the error. If the file system itself is
    shut down, each write fails.
    """

    def __init__(self, folder):
        self.folder = folder
        self.below = folder.with_name(folder.name + ".disk")
        self.levels = (
            (self.below / "ram/disk", self.below / "disk"),
            (self.below / "disk/image", folder),
        )

    def __enter__(self):
        (self.below / "ram").mkdir(parents=True)
        for _, at in self.levels:
            at.mkdir(exist_ok=True)
        self.run("mount", "-t", "tmpfs", "ram", self.below / "ram")
        try:
            for (image, at), size in zip(self.levels, (96, 64)):
                with image.open("wb") as file:
                    file.truncate(size << 20)
                self.run("mkfs.ext4", "-q", image)
                self.run("mount", "-o", "loop", image, at)
        except (OSError, subprocess.CalledProcessError) as error:
            self.__exit__()
            why = getattr(error, "stderr", None) or error
            lacking("an ext4 on a loop device", f"{why}; root of a machine, Debian: e2fsprogs")
        return self

    def __exit__(self, *_):
        for at in (self.folder, self.below / "disk", self.below / "ram"):
            if os.path.ismount(at):
                self.run("umount", at)

    @staticmethod
    def run(*command):
        path = os.environ["PATH"] + ":/usr/sbin:/sbin"
        subprocess.run(
            [str(word) for word in command],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": path},
        )

    def fail(self, disk):
        """Makes the disk fail, or else the file system on it, until mend()."""
        file = os.open(self.levels[0 if disk else 1][1], os.O_RDONLY)
        fcntl.ioctl(file, SHUT_DOWN, struct.pack("I", 2))
        os.close(file)

    def mend(self):
        """Mounts both again: files then hold what had reached the disk."""
        for _, at in reversed(self.levels):
            self.run("umount", at)
        for image, at in self.levels:
            self.run("mount", "-o", "loop", image, at)
