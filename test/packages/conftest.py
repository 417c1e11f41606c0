# SPDX-License-Identifier: Apache-2.0
"""Folders for tests of packages: all are made of the tarball of `make dist`."""

import os
import pathlib
import shutil

import elsewhere
import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
FOLDER = pathlib.Path(os.environ["BUILD"]) / "packages"
# In PREFIX/share/locus.
FOR_CLUSTERS = ("jobs/numa.slurm", "slurm/locus-health", "nhc/locus.nhc", "reframe/locus_test.py")


def empty(name):
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


@pytest.fixture(scope="session")
def tarball():
    return elsewhere.tarball()


@pytest.fixture(scope="session")
def version(tarball):
    return tarball.name.removeprefix("locus-").removesuffix(".tar.gz")


@pytest.fixture(scope="session")
def debian():
    return elsewhere.Debian(FOLDER / "debian")
