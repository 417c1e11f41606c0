# SPDX-License-Identifier: Apache-2.0
"""packaging/reframe/locus_test.py, run by the real ReFrame on SLURM: nodes of test/cluster. Bounds
are planted that every machine meets, or none: nothing here depends on a speed."""

import os
import re
import shutil

import pytest
from conftest import FOLDER, SOURCE, empty
from elsewhere import good, need, run

RELEASE = "ReFrame-HPC>=4.10"  # the first with references in files of their own
BUILD = FOLDER.parent
COMMAND = "latency --variant cycle --size 4K --repeats 3"
SITE = """
site_configuration = {"systems": [{
    "name": "mini", "hostnames": [".*"], "modules_system": "nomod",
    "partitions": [{"name": "main", "scheduler": "squeue", "launcher": "srun",
                    "environs": ["builtin"]}]}]}
"""


@pytest.fixture(scope="module")
def reframe():
    """A folder with the test, and ReFrame in an environment of its own."""
    need(slurmctld="slurmctld", slurmd="slurmd", munged="munge")
    if os.geteuid() != 0:
        pytest.skip("the cluster needs root")
    python = FOLDER / "reframe"
    if not (python / "ready").exists():
        good("python3", "-m", "venv", empty("reframe"))
        good(python / "bin/pip", "install", "--quiet", RELEASE)
        (python / "ready").touch()
    folder = empty("reframe-test")
    shutil.copy(SOURCE / "packaging/reframe/locus_test.py", folder)
    (folder / "site.py").write_text(SITE)
    return folder


@pytest.fixture(scope="module")
def references(reframe):
    """Of three records, for the cluster's partition."""
    records = [reframe / f"good{i}.jsonl" for i in range(3)]
    for record in records:
        good(BUILD / "locus", *COMMAND.split(), "--quiet", "--output", record)
    file = reframe / "locus.yaml"
    good(BUILD / "locus", "export", "--format", "reframe", *records, "--output", file)
    return file.read_text().replace('"*":', '"mini:main":')


def run_test(folder, *options):
    return run(
        *(SOURCE / "test/cluster/minicluster", "2", FOLDER / "reframe/bin/reframe", "--nocolor"),
        *("-C", "site.py", "-c", "locus_test.py", "-S", f"LocusTest.command={COMMAND}"),
        *("--prefix", "out", *options, "-r"),
        cwd=folder,
        env={**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}"},
    )


def with_bounds(text, value, above):
    """All references with this value, and how far above it a time may be."""
    changed, n = re.subn(r'\[[^,]*, null, [^,]*, "s/', f'[{value}, null, {above}, "s/', text)
    assert n == 1
    return changed


def test_a_node_within_its_references_passes(reframe, references):
    (reframe / "locus.yaml").write_text(with_bounds(references, "1.0", "1.0e+03"))
    shutil.rmtree(reframe / "out", ignore_errors=True)
    done = run_test(reframe)
    assert done.status == 0, done.out
    (log,) = (reframe / "out/perflogs").rglob("LocusTest.log")
    head, line = (text.split("|") for text in log.read_text().splitlines())
    told = dict(zip(head, line))
    assert told["result"] == "pass"
    assert told["L1_unit"] == "s/load" and float(told["L1_value"]) > 0
    assert (told["L1_ref"], told["L1_upper_thres"]) == ("1.0", "1000.0")


def test_each_node_is_judged(reframe, references):
    (reframe / "locus.yaml").write_text(with_bounds(references, "1.0e-15", "1.0e-01"))
    done = run_test(reframe, "--distribute=idle")
    assert done.status == 1
    assert "Ran 2/2 test case(s) from 2 check(s) (2 failure(s)" in done.out
    assert {"%.nid=n1", "%.nid=n2"} <= set(done.out.split()), done.out
    assert done.out.count("s/load, expected 1e-15") == 2


def test_a_trial_that_was_not_measured_fails(reframe, references):
    text = re.sub(r'"L1": \["[0-9a-f]{16}"', '"L1": ["0123456789abcdef"', references)
    (reframe / "locus.yaml").write_text(with_bounds(text, "1.0", "1.0e+03"))
    done = run_test(reframe)
    assert done.status == 1 and "L1=nan" in done.out, done.out


def test_without_references_results_have_to_be_right(reframe):
    (reframe / "locus.yaml").unlink(missing_ok=True)
    done = run_test(reframe, "--performance-report")
    assert done.status == 0 and "P: latency/cycle:" in done.out
    done = run_test(reframe, "-S", "LocusTest.command=dummy --variant wrong")
    assert done.status == 1 and "1 results are wrong: dummy/wrong" in done.out, done.out
