# SPDX-License-Identifier: Apache-2.0
"""File systems of a test's own: one of a given size, and read-only when it says so - also to root;
and one on a disk that fails.

The first is mounted in a namespace, and goes with it. Without root that takes a namespace of users,
which not every kernel allows.
"""

import fcntl
import os
import pathlib
import struct
import subprocess

import pytest
from lacking import lacking

USER = bool(os.geteuid())


class Place:
    """with Place(folder, "64k") as place: locus(..., prefix=place.prefix) finds an empty tmpfs
    there; others see it as place.path. A host name may be given, which holds in there alone.
    """

    def __init__(self, folder, size, host=b""):
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
        script = """[ -z "$1" ] || printf %s "$1" >/proc/sys/kernel/hostname &&
            mount -t tmpfs -o "size=$2" place "$3" && echo made && exec cat"""
        pipe = subprocess.PIPE
        command = [*make, "sh", "-c", script, "sh", self.host, self.size, self.folder]
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
        self.keeper.communicate()  # it ends with its input

    def read_only(self):
        # The source is named: mount would else add options that a user may not give.
        subprocess.run(
            [*self.prefix, "mount", "-o", "remount,ro", "place", self.folder], check=True
        )


SHUT_DOWN = 0x8004587D  # FS_IOC_SHUTDOWN of ext4: as after a loss of power, all else is EIO


class Disk:
    """with Disk(folder) as disk: an ext4 is mounted at the folder until it goes, for all to see.

    Its disk is a file on another ext4. Where that is shut down, the disk fails: what was written is
    in the cache alone, and told only to who asks the disk (fdatasync). Where the file system itself
    is shut down, each write fails. It takes root.
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
        """Until it is mended: the disk, or else the file system on it."""
        file = os.open(self.levels[0 if disk else 1][1], os.O_RDONLY)
        fcntl.ioctl(file, SHUT_DOWN, struct.pack("I", 2))
        os.close(file)

    def mend(self):
        """What is there then is what is on the disk."""
        for _, at in reversed(self.levels):
            self.run("umount", at)
        for image, at in self.levels:
            self.run("mount", "-o", "loop", image, at)
