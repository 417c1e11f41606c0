# SPDX-License-Identifier: Apache-2.0
"""A user without root in a setting like a container's (`setting`), who unpacks and builds the
tarball of `make dist`."""

import collections
import os
import pathlib
import shutil
import subprocess

import pytest
from lacking import lacking

SETTING = pathlib.Path(__file__).parent / "setting"
FOLDER = pathlib.Path(os.environ["BUILD"]) / "user"  # it is /mnt/work to the user
USER = 54321  # as in `setting`
# Built as `make distcheck` builds, in a folder as deep below its source: so the second compiler
# (ccache) and configure find what the first ones found. check-packages builds in the source tree.
OPTIONS = "--without-papi --without-likwid --cache-file=/mnt/work/config.cache"
BELOW = "build/user"

Done = collections.namedtuple("Done", "status out err")


class User:
    """user("locus", "doctor", hide=["/sys"], forbid="mbind") runs a command in the folder that
    is this user's own."""

    folder = FOLDER

    def __call__(self, *command, hide=(), forbid=None, timeout=180):
        options = [word for path in hide for word in ("--hide", path)] + (
            ["--forbid", forbid] if forbid else []
        )
        environment = {**os.environ, "FORBID": f"{os.environ['BUILD']}/test/forbid"}
        process = subprocess.run(
            [SETTING, *options, FOLDER, *command],
            env=environment,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        return Done(process.returncode, process.stdout, process.stderr)


@pytest.fixture(scope="session")
def user():
    """Runs a command as that user: user("make", "check", hide=["/sys"], forbid="mbind")."""
    if os.geteuid():
        pytest.skip(
            "only root can make somebody else of itself; you are without root, and `make check` and"
            " `make distcheck` are this test"
        )
    probe = subprocess.run([SETTING, "there"], capture_output=True, text=True)
    if probe.returncode:
        lacking(
            "the right to make a container's setting",
            f"{probe.stderr.strip()}; root with CAP_SYS_ADMIN, and util-linux",
        )
    FOLDER.mkdir(exist_ok=True)
    for path in set(FOLDER.iterdir()) - {FOLDER / "ccache"}:  # what was compiled once
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    os.chown(FOLDER, USER, USER)

    return User()


@pytest.fixture(scope="session")
def built(user):
    """The folder where the user has built the tarball."""
    tarball = pathlib.Path(os.environ["TARBALL"])
    shutil.copy(tarball, FOLDER)
    folder = tarball.name.removesuffix(".tar.gz")
    python = os.environ["PYTHON"] or "no"
    done = user(
        "sh",
        "-c",
        f"tar xf {tarball.name} && mkdir -p {folder}/{BELOW} && cd {folder}/{BELOW} &&"
        f" ../../configure --enable-werror CFLAGS=-O0 --with-python={python} {OPTIONS} &&"
        f" make -j{os.cpu_count()}",
        timeout=900,
    )
    assert done.status == 0, (done.out + done.err)[-5000:]
    return f"{folder}/{BELOW}"


@pytest.fixture
def locus(user, built):
    """Runs the user's program: locus("doctor")."""

    def run(*arguments, **setting):
        return user(f"{built}/locus", *map(str, arguments), **setting)

    return run


@pytest.fixture
def measured(user, locus, read):
    """Measures: what is said, and the trials of the record."""

    def run(*arguments, **setting):
        done = locus(*arguments, "--output", "record.jsonl", **setting)
        file = user.folder / "record.jsonl"
        lines = read(file) if file.exists() else []
        file.unlink(missing_ok=True)
        return done, [line for line in lines if line["type"] == "trial"]

    return run
