# SPDX-License-Identifier: Apache-2.0
"""The container file, built and run by buildah without a daemon and without a registry, of a Debian
that debootstrap made and of the Debian packages."""

import pathlib
import re
import shutil

import pytest
from conftest import FOLDER, SOURCE, empty
from elsewhere import good, need, run
from test_deb import packages  # noqa: F401 (a fixture)

STORAGE = ("--root", FOLDER / "container/storage", "--runroot", FOLDER / "container/run")
BUILDAH = ("buildah", *STORAGE, "--storage-driver", "vfs")
CERTIFICATES = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")


@pytest.fixture(scope="module")
def context(packages, debian):  # noqa: F811
    need(buildah="buildah")
    folder = empty("container/context")
    shutil.copy(SOURCE / "packaging/container/Containerfile", folder)
    for file in packages.glob("*.deb"):
        if not re.search("dbgsym", file.name):
            shutil.copy(file, folder)
    own = ("--one-file-system", "--exclude=./tmp/*", "-cf", folder / "debian.tar", ".")
    good("tar", "-C", debian.folder, *own)
    yield folder
    run(*BUILDAH, "rm", "--all")
    run(*BUILDAH, "rmi", "--all", "--force")
    shutil.rmtree(folder, ignore_errors=True)


def test_the_image_is_built_and_runs(context, version):
    own: list[str] = []
    if CERTIFICATES.exists():  # a site may have certificates of its own
        conf = context.parent / "pip.conf"
        conf.write_text("[global]\ncert = /site.crt\n", encoding="utf-8")
        own += ["--volume", f"{CERTIFICATES}:/site.crt:ro"]
        own += ["--volume", f"{conf}:/etc/pip.conf:ro"]
    isolated = ("--isolation", "chroot")
    good(*BUILDAH, "build", *isolated, *own, "--tag", "locus", context, timeout=1500)
    name = good(*BUILDAH, "from", "--pull-never", "locus").split()[-1]
    inside = (*BUILDAH, "run", *isolated, name, "--")
    assert good(*inside, "locus", "--version").split()[1] == version
    once = ("--repeats", "1", "--duration", "1ms", "--output", "/tmp/record.jsonl")
    done = run(*inside, "locus", "numa", "--variant", "static", "--size", "1M", *once)
    assert done.status in (0, 1), done.out
    assert "bandwidth" in good(*inside, "locus", "summary", "/tmp/record.jsonl")
