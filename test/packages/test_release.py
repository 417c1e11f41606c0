# SPDX-License-Identifier: Apache-2.0
"""What a release consists of: a tarball that can be made again, its bill of materials, the Python
package, the citation. Their own tools judge them."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import venv

import pytest
from conftest import FOLDER, SOURCE, empty
from elsewhere import good, run

TOOLS = ("build", "twine", "cffconvert", "spdx-tools")


@pytest.fixture(scope="module")
def tools():
    """The folder of these tools, which pip downloads."""
    folder = FOLDER / "tools"
    if not (folder / "ready").exists():
        venv.create(empty("tools"), with_pip=True)
        good(folder / "bin/pip", "install", "--quiet", *TOOLS)
        (folder / "ready").touch()
    return folder / "bin"


def test_a_clone_elsewhere_makes_the_same_tarball(tarball, tmp_path):
    """By a user with another umask, at another time, in another folder."""
    if not (SOURCE / ".git").exists():
        pytest.skip("no clone")
    if good("git", "-C", SOURCE, "status", "--porcelain"):
        pytest.skip("the source tree has changes that are in no commit")
    clone = tmp_path / "a clone"
    good("git", "clone", "--quiet", SOURCE, clone)
    (clone / "build").mkdir()
    python = os.environ["PYTHON"] or "no"
    made = f"umask 077 && ./bootstrap && cd build && ../configure --with-python={python}"
    good("sh", "-c", f"{made} && make dist", cwd=clone)
    again = clone / "build" / tarball.name
    assert digest(again) == digest(tarball), difference(again, tarball)


def digest(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


def difference(one, other):
    """The members in which two tarballs differ."""
    told = []
    for file in (one, other):
        with tarfile.open(file) as tar:
            told.append({(m.name, oct(m.mode), m.mtime, m.size) for m in tar})
    return sorted(told[0] ^ told[1])[:20]


def test_the_bill_of_materials_is_valid_spdx(tarball, tools, tmp_path, version):
    file = tmp_path / "locus.spdx.json"
    file.write_text(good(sys.executable, SOURCE / "packaging/sbom", tarball), encoding="utf-8")
    good(tools / "pyspdxtools", "--infile", file, "--version", "SPDX-2.3")
    told = json.loads(file.read_text(encoding="utf-8"))["packages"]
    assert {"locus", "hwloc", "numactl", "jansson", "duckdb"} <= {p["name"] for p in told}
    (ours,) = (p for p in told if p["name"] == "locus")
    assert ours["versionInfo"] == version
    assert ours["checksums"] == [{"algorithm": "SHA256", "checksumValue": digest(tarball)}]


def test_the_citation_is_valid(tools):
    good(tools / "cffconvert", "--validate", "--infile", SOURCE / "CITATION.cff")


@pytest.fixture(scope="module")
def distributions(tarball, tools, version):
    """sdist and wheel of the Python package, made of the tarball."""
    folder = empty("python")
    good("tar", "xf", tarball, cwd=folder)
    source = folder / f"locus-{version}/analysis"
    good(tools / "python", "-m", "build", "--outdir", folder / "dist", source)
    return sorted((folder / "dist").iterdir())


def test_wheel_and_sdist_are_good_to_twine(tools, distributions, version):
    name = f"locus_analysis-{version}"
    assert [d.name for d in distributions] == [f"{name}-py3-none-any.whl", f"{name}.tar.gz"]
    good(tools / "twine", "check", "--strict", *distributions)


def test_the_wheel_reads_a_record_in_an_environment_of_its_own(distributions, tmp_path):
    """Which pip fills with what the package needs."""
    record = tmp_path / "record.jsonl"
    once = ("--repeats", "1", "--duration", "1ms", "--quiet", "--output", record)
    done = run(os.environ["LOCUS"], "numa", "--variant", "static", "--size", "1M", *once)
    assert done.status in (0, 1), done.out
    own = tmp_path / "venv"
    venv.create(own, with_pip=True)
    good(own / "bin/pip", "install", "--quiet", distributions[0])
    told = good(own / "bin/locus-analysis", "export", record)
    assert len(told.splitlines()) > 1 and told.startswith("host,")


def test_release_refuses_what_is_not_ready(tmp_path):
    """A tree with changes, and a commit that the lane of packages has not passed."""
    if not (SOURCE / ".git").exists() or not shutil.which("git"):
        pytest.skip("no clone")
    clone = tmp_path / "clone"
    good("git", "clone", "--quiet", SOURCE, clone)
    (clone / "a file").touch()
    done = run(clone / "packaging/release", cwd=tmp_path)
    assert done.status == 1 and "a file" in done.out
    (clone / "a file").unlink()
    news = clone / "NEWS"
    if "not released yet" in news.read_text(encoding="utf-8"):
        done = run(clone / "packaging/release", cwd=tmp_path)
        assert done.status == 1 and "NEWS: write the day" in done.out
        news.write_text(news.read_text(encoding="utf-8").replace("not released yet", "today"))
        commit = ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qam", "news: a day")
        subprocess.run(["git", "-C", clone, *commit], check=True, timeout=60)
    done = run(clone / "packaging/release", cwd=tmp_path)
    assert done.status == 1 and "make check-packages has not passed" in done.out
    assert not (tmp_path / "release").exists()
