# SPDX-License-Identifier: Apache-2.0
"""RPM packages: built by rpmbuild on this machine, which has no RPMs of what the build needs, and
without a complaint of rpmlint."""

import re
import shutil

import pytest
from conftest import FOR_CLUSTERS, SOURCE, empty
from elsewhere import good, need, run

SPEC = "packaging/rpm/locus.spec"
PACKAGES = ("locus", "locus-mpi", "locus-analysis")


@pytest.fixture(scope="module")
def packages(tarball):
    """The names of package files, by package."""
    need(rpmbuild="rpm")
    folder = empty("rpm")
    (folder / "SOURCES").mkdir()
    shutil.copy(tarball, folder / "SOURCES")
    topdir = f"_topdir {folder}"
    good("rpmbuild", "-ba", "--nodeps", "--define", topdir, SOURCE / SPEC, cwd=folder)
    found = {}
    for file in folder.glob("RPMS/*/*.rpm"):
        found[good("rpm", "-qp", "--queryformat", "%{NAME}", file)] = file
    return found


def test_the_version_is_the_tarballs(version):
    text = (SOURCE / SPEC).read_text(encoding="utf-8")
    assert re.findall(r"^Version:\s+(\S+)", text, re.M) == [version]
    assert f" - {version}-1\n" in text


def test_each_package_has_its_files(packages):
    assert set(PACKAGES) <= set(packages)
    files = {name: good("rpm", "-qpl", file).splitlines() for name, file in packages.items()}
    assert "/usr/bin/locus" in files["locus"]
    assert {f"/usr/share/locus/{file}" for file in FOR_CLUSTERS} <= set(files["locus"])
    assert "/usr/bin/locus-mpi" in files["locus-mpi"]
    assert "/usr/share/locus/analysis/locus_analysis/__main__.py" in files["locus-analysis"]
    assert not [path for own in files.values() for path in own if "__pycache__" in path]


def test_its_program_runs(packages, tmp_path, version):
    need(rpm2cpio="rpm", cpio="cpio")
    good("sh", "-c", f"rpm2cpio {packages['locus']} | cpio -id", cwd=tmp_path)
    assert good(tmp_path / "usr/bin/locus", "--version").split()[1] == version
    assert "numa" in good(tmp_path / "usr/bin/locus", "list")


def test_rpmlint_has_no_complaint(packages):
    need(rpmlint="rpmlint")
    config = SOURCE / "packaging/rpm/rpmlint.toml"
    files = [packages[name] for name in PACKAGES]
    done = run("rpmlint", "--config", config, SOURCE / SPEC, *files)
    complaints = [line for line in done.out.splitlines() if re.search(r": [EW]: ", line)]
    assert (done.status, complaints) == (0, []), done.out
