# SPDX-License-Identifier: Apache-2.0
"""Commands, and a Debian in a folder, for tests that build or install elsewhere."""

import collections
import os
import pathlib
import re
import shutil
import subprocess

from lacking import lacking

Done = collections.namedtuple("Done", "status out")
# Of the make that runs the tests: its TESTS= would be those of any make that they run.
OF_MAKE = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES")


def run(*command, timeout=900, **options):
    """Runs a command; `out` has both of its streams."""
    env = options.pop("env", os.environ)
    process = subprocess.run(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=timeout,
        env={name: value for name, value in env.items() if name not in OF_MAKE},
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


def tarball():
    """Of `make dist`."""
    file = pathlib.Path(os.environ["TARBALL"])
    if not file.exists():
        lacking(str(file), "make dist")
    return file


class Debian:
    """A Debian in a folder, made if it is not there: debian("locus", "list") runs a command in it,
    as root."""

    def __init__(self, folder, release=None):
        need(debootstrap="debootstrap", unshare="util-linux")
        self.folder = folder
        if (folder / "etc/locus-is-ready").exists():
            return
        if not release:
            text = pathlib.Path("/etc/os-release").read_text(encoding="utf-8")
            (release,) = re.findall(r"VERSION_CODENAME=(\w+)", text)
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        good("debootstrap", "--variant=minbase", release, folder)
        (folder / "etc/locus-is-ready").touch()

    def __call__(self, *command, timeout=900):
        """In a process namespace of its own, whose mounts nobody else sees."""
        mounts = f"mount -t proc proc {self.folder}/proc && "
        mounts += "".join(f"mount --rbind /{n} {self.folder}/{n} && " for n in ("sys", "dev"))
        return run(
            *("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c"),
            f'{mounts}exec chroot {self.folder} "$@"',
            *("sh", *command),
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"},
            timeout=timeout,
        )

    def install(self, packages, architecture=None):
        """From the apt source that debootstrap left."""
        if architecture:
            assert self("dpkg", "--add-architecture", architecture).status == 0
        words = f"apt-get update && apt-get install --yes --no-install-recommends {packages}"
        done = self("sh", "-c", words)
        assert done.status == 0, done.out[-3000:]

    def files(self):
        """All but what programs leave in /tmp, caches and logs."""
        left_out = re.compile(r"(proc|sys|dev|tmp|run|var/(cache|log|lib/(dpkg|apt)))(/|$)")
        found = (path.relative_to(self.folder) for path in self.folder.rglob("*"))
        return {str(path) for path in found if not left_out.match(str(path))}
