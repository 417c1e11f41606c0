# SPDX-License-Identifier: Apache-2.0
"""The tarball of `make dist`, built in a Debian of another release, or for another processor, and
its unit tests run there. And guests with such a processor."""

import os
import pathlib
import re
import shlex
import sys

import pytest
from elsewhere import Debian, good, tarball
from some import some

GUESTS = pathlib.Path(__file__).resolve().parents[1] / "guest"
sys.path.append(str(GUESTS))  # not before our own folder: it has a conftest.py, too
pytest_plugins = ["steps", "aarch64"]

FOLDER = pathlib.Path(os.environ["BUILD"]) / "ports"
LIBRARIES = ["hwloc", "numa", "jansson", "cmocka"]
TOOLS = "make pkgconf binutils libc6-dev"
LONG = 3600  # s: the machine may do other work
RESULT = re.compile(r"^# (TOTAL|PASS|SKIP|FAIL|ERROR): +(\d+)", re.MULTILINE)


class Port:
    """A build of the tarball in a Debian."""

    def __init__(self, release, name, packages, architecture=None):
        """With the libraries of another architecture, if it is given."""
        file = tarball()
        self.debian = Debian(FOLDER / release, release)
        suffix = f":{architecture}" if architecture else ""
        libraries = " ".join(f"lib{library}-dev{suffix}" for library in LIBRARIES)
        self.debian.install(f"{TOOLS} {packages} {libraries}", architecture)
        self.source = "/srv/" + file.name.removesuffix(".tar.gz")
        self.build = f"/srv/{name}"
        inside = self.debian.folder / "srv"
        good("rm", "-rf", f"{inside}/{name}", f"{self.debian.folder}{self.source}")
        good("tar", "-xf", file, "-C", inside, "--no-same-owner")
        (inside / name).mkdir()

    def __call__(self, command, status=0):
        done = self.debian("sh", "-c", f"cd {self.build} && {command}", timeout=LONG)
        assert done.status == status, f"{command}: {done.status}\n{done.out[-6000:]}"
        return done.out

    def built(self, *arguments):
        """A warning is an error. Returns what configure said."""
        words = shlex.join(["--enable-werror", "--with-python=no", *arguments])
        said = self(f"{self.source}/configure {words}")
        self("make -k -j2 built")
        return said

    def units(self):
        """Runs all unit tests and the fuzz targets' corpus: {PASS: n, SKIP: n, ...}. Random cases
        are a tenth: what another compiler gets wrong, few of them show, too."""
        out = self("make -k -j2 check CASES=10 TESTS='$(programs)' 2>&1; cat test-suite.log")
        told = {name: int(n) for name, n in some(RESULT.findall(out))}
        assert (told["FAIL"], told["ERROR"]) == (0, 0), out[-6000:]
        return told

    def skipped(self, word):
        """The skipped tests with this word in their names."""
        found = self("grep -h '^ok .*# SKIP' test/unit/*.log || true")
        return [line for line in found.splitlines() if word in line]


@pytest.fixture(scope="session")
def port():
    return Port


@pytest.fixture(scope="session")
def need(need, cross_built):
    """What guests need (test/guest/steps.py) is fetched and built before one starts."""
    return need
