# SPDX-License-Identifier: Apache-2.0
"""A file system of a test's own: of a given size, and read-only when it says so - also to root.

It is mounted in a namespace, and goes with it. Without root that takes a namespace of users,
which not every kernel allows.
"""

import os
import pathlib
import subprocess

import pytest

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
