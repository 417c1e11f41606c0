# SPDX-License-Identifier: Apache-2.0
"""test/versions finds a file that states another version."""

import pathlib
import shutil
import subprocess
import sys

import pytest
from some import some

SOURCE = pathlib.Path(__file__).resolve().parents[2]
STATING = {
    "NEWS": "0.1.0 (not released yet)",
    "CITATION.cff": "version: 0.1.0",
    "README.md": "locus-0.1.0.tar.gz",
    "packaging/debian/changelog": "locus (0.1.0-1) unstable",
    "packaging/easybuild/locus-*.eb": "version = '0.1.0'",
    "packaging/rpm/locus.spec": "Version: 0.1.0",
    "packaging/spack/package.py": '    version("0.1.0")',
}


def versions(folder):
    command = [sys.executable, SOURCE / "test/versions", folder]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert not done.stderr
    return done.returncode, done.stdout.splitlines()


@pytest.fixture
def tree(tmp_path):
    for name, text in {"analysis/VERSION": "0.1.0", **STATING}.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n", encoding="utf-8")
    return tmp_path


def test_equal_versions_are_good(tree):
    assert versions(tree) == (0, [])


@pytest.mark.parametrize("name", some(STATING))
def test_each_other_version_is_named(tree, name):
    file = tree / name
    file.write_text(STATING[name].replace("0.1.0", "0.1.1"), encoding="utf-8")
    assert versions(tree) == (1, [f"{name}: 0.1.1 where analysis/VERSION says 0.1.0"])
    file.write_text("none\n", encoding="utf-8")
    assert versions(tree) == (1, [f"{name}: no version where analysis/VERSION says 0.1.0"])


def test_a_tag_of_another_version_is_named(tree):
    if not shutil.which("git"):
        pytest.skip("no git")
    for words in (
        ["init", "-q"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a", "--allow-empty"],
        ["tag", "v0.1.1"],
        ["tag", "other"],
    ):
        subprocess.run(["git", "-C", tree, *words], check=True, timeout=60)
    assert versions(tree) == (
        1,
        ["the tag v0.1.1 of this commit: analysis/VERSION says 0.1.0"],
    )
