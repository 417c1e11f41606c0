# SPDX-License-Identifier: Apache-2.0
"""Debian packages: built without root, clean to lintian, and used in a Debian that has nothing
else."""

import re
import shutil

import pytest
from conftest import FOR_CLUSTERS, SOURCE, empty
from elsewhere import good, need, run
from some import some

PACKAGES = ("locus", "locus-mpi", "locus-analysis")


@pytest.fixture(scope="module")
def packages(tarball, version):
    """The folder with what dpkg-buildpackage made."""
    need(**{"dpkg-buildpackage": "dpkg-dev", "dh": "debhelper", "dh_python3": "dh-python"})
    folder = empty("deb")
    shutil.copy(tarball, folder / f"locus_{version}.orig.tar.gz")
    good("tar", "xf", tarball, cwd=folder)
    tree = folder / f"locus-{version}"
    shutil.copytree(SOURCE / "packaging/debian", tree / "debian")
    good("dpkg-buildpackage", "--unsigned-source", "--unsigned-changes", cwd=tree)
    return folder


def file_of(folder, package):
    (file,) = folder.glob(f"{package}_*.deb")
    return file


def test_the_version_is_the_tarballs(packages, version):
    for package in PACKAGES:
        assert file_of(packages, package).name.startswith(f"{package}_{version}-")


def test_lintian_has_no_complaint(packages):
    need(lintian="lintian")
    (changes,) = packages.glob("*.changes")
    done = run("lintian", "--fail-on", "error,warning", "--no-tag-display-limit", changes)
    complaints = [line for line in done.out.splitlines() if re.match("[EW]:", line)]
    assert (done.status, complaints) == (0, [])


def test_each_file_is_in_one_package(packages):
    owner: dict[str, str] = {}
    for package in PACKAGES:
        for line in good("dpkg-deb", "--contents", file_of(packages, package)).splitlines():
            kind, path = line[0], line.split(" ./", 1)[1].split(" -> ")[0]
            if kind != "d":
                assert owner.setdefault(path, package) == package
    assert owner["usr/bin/locus"] == "locus"
    for file in FOR_CLUSTERS:
        assert owner[f"usr/share/locus/{file}"] == "locus"
    assert owner["usr/bin/locus-mpi"] == "locus-mpi"
    assert owner["usr/share/locus/analysis/locus_analysis/__main__.py"] == "locus-analysis"
    assert not [path for path in some(owner) if "__pycache__" in path or "/local/" in path]


def test_it_is_installed_used_and_removed(packages, debian, version):
    names = [file_of(packages, package).name for package in PACKAGES]
    for name in names:
        shutil.copy(packages / name, debian.folder / "tmp")
    # What the packages depend on stays, so that what they leave behind can be told.
    needed = "apt-get update && apt-get install --yes --no-install-recommends"
    install = f"{needed} {' '.join(f'/tmp/{name}' for name in names)}"
    done = debian("sh", "-c", install)
    assert done.status == 0, done.out[-3000:]
    assert debian("apt-get", "remove", "--purge", "--yes", *PACKAGES).status == 0
    before = debian.files()
    done = debian("sh", "-c", install)
    assert done.status == 0, done.out[-3000:]

    done = debian("locus", "--version")
    assert (done.status, done.out.split()[1]) == (0, version)
    (debian.folder / "tmp/record.jsonl").unlink(missing_ok=True)  # of an earlier call
    once = ("--repeats", "1", "--duration", "1ms", "--output", "/tmp/record.jsonl")
    done = debian("locus", "numa", "--variant", "static", "--size", "1M", *once)
    assert done.status in (0, 1), done.out
    done = debian("locus", "summary", "/tmp/record.jsonl")
    assert done.status == 70 and "pip install -r" in done.out, done.out
    done = debian("locus-mpi", "--version")
    assert (done.status, done.out.split()[1]) == (0, version)

    done = debian("apt-get", "remove", "--purge", "--yes", *PACKAGES)
    assert done.status == 0, done.out
    left = debian.files() - before
    assert not {path for path in left if "locus" in path}
