# SPDX-License-Identifier: Apache-2.0
"""Folders and commands for tests of packages: all are made of the tarball of `make dist`."""

import collections
import os
import pathlib
import re
import shutil
import subprocess

import pytest
from lacking import lacking

SOURCE = pathlib.Path(__file__).resolve().parents[2]
FOLDER = pathlib.Path(os.environ["BUILD"]) / "packages"

MOUNTED = ("proc", "sys", "dev")

Done = collections.namedtuple("Done", "status out")


def run(*command, timeout=900, **options):
    """Runs a command; `out` has both of its streams."""
    process = subprocess.run(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=timeout,
        **options,
    )
    return Done(process.returncode, process.stdout)


def good(*command, **options):
    """Runs a command that has to succeed, and returns what it said."""
    done = run(*command, **options)
    assert done.status == 0, f"{' '.join(map(str, command))}: {done.status}\n{done.out[-4000:]}"
    return done.out


def need(**packages):
    """need(rpmbuild="rpm"): skips without these programs, which are in these packages of Debian."""
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    if missing := [name for name in packages if not shutil.which(name, path=path)]:
        lacking(" ".join(missing), f"Debian: {' '.join(packages[name] for name in missing)}")


def empty(name):
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


@pytest.fixture(scope="session")
def tarball():
    file = pathlib.Path(os.environ["TARBALL"])
    if not file.exists():
        lacking(str(file), "make dist")
    return file


@pytest.fixture(scope="session")
def version(tarball):
    return tarball.name.removeprefix("locus-").removesuffix(".tar.gz")


class Debian:
    """A Debian in a folder: debian("locus", "list") runs a command in it."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, *command):
        """In a process namespace of its own, whose mounts nobody else sees."""
        mounts = "".join(f"mount --rbind /{name} {self.folder}/{name} && " for name in MOUNTED)
        return run(
            *("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c"),
            f'{mounts}exec chroot {self.folder} "$@"',
            *("sh", *command),
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"},
        )

    def files(self):
        """All but what programs leave in /tmp, caches and logs."""
        left_out = re.compile(r"(proc|sys|dev|tmp|run|var/(cache|log|lib/(dpkg|apt)))(/|$)")
        found = (path.relative_to(self.folder) for path in self.folder.rglob("*"))
        return {str(path) for path in found if not left_out.match(str(path))}


@pytest.fixture(scope="session")
def debian():
    need(debootstrap="debootstrap", unshare="util-linux")
    folder = FOLDER / "debian"
    release = re.search(r"VERSION_CODENAME=(\w+)", pathlib.Path("/etc/os-release").read_text())
    if not (folder / "etc/locus-is-ready").exists():
        empty("debian")
        assert release
        good("debootstrap", "--variant=minbase", release[1], folder)
        (folder / "etc/locus-is-ready").touch()
    return Debian(folder)
