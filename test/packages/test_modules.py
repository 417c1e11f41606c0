# SPDX-License-Identifier: Apache-2.0
"""Modulefiles, loaded by the two programs that clusters have, each in a Debian of its own."""

import os
import re
import shutil

import pytest
from elsewhere import good, need

PROGRAMS = ("environment-modules", "lmod")
PREFIX = "opt/locus"
SHOWN = """
module use /opt/locus/share/locus/modulefiles
module load locus/VERSION || exit
command -v locus
locus --version
man --where locus
ls $LOCUS_JOBS/numa.slurm
module unload locus
echo "left: $(command -v locus) $LOCUS_JOBS"
"""


@pytest.fixture(scope="module")
def prefix(debian):
    """Where make install put locus, in that Debian."""
    shutil.rmtree(debian.folder / PREFIX, ignore_errors=True)
    build = os.environ["BUILD"]
    good("make", "-C", build, "install", f"DESTDIR={debian.folder}", f"prefix=/{PREFIX}")
    return debian.folder / PREFIX


@pytest.fixture(scope="module")
def needed(prefix):
    """man, and the packages of the libraries that locus links: the build has what is here."""
    need(dpkg="dpkg", ldd="libc-bin")
    linked = re.findall(r"=> (?:/usr)?(/\S+)", good("ldd", prefix / "bin/locus"))
    owners = good("dpkg", "-S", *(f"*{path}" for path in linked))
    return ["man-db", *sorted(set(re.findall(r"^([\w.+-]+):", owners, re.MULTILINE)))]


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_module_is_loaded_and_unloaded(debian, prefix, needed, version, program):
    # They exclude each other, and what one leaves in /etc disturbs the other.
    assert debian("apt-get", "purge", "--yes", *PROGRAMS).status == 0
    install = "apt-get install --yes --no-install-recommends"
    done = debian("sh", "-c", f"apt-get update && {install} {program} {' '.join(needed)}")
    assert done.status == 0, done.out[-3000:]
    done = debian("bash", "-l", "-c", SHOWN.replace("VERSION", version))
    assert done.out.splitlines() == [
        f"/{PREFIX}/bin/locus",
        f"locus {version}",
        f"/{PREFIX}/share/man/man1/locus.1",
        f"/{PREFIX}/share/locus/jobs/numa.slurm",
        "left:  ",
    ]
