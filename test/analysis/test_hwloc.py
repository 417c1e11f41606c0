# SPDX-License-Identifier: Apache-2.0
"""The XML of hwloc, as hwloc itself reads it: lstopo, and a program that asks for attributes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from lacking import lacking
from locus_analysis import __main__ as program
from make_records import FOUR, ONE, TWO, Machine, Point, latency, numa, record, run_id, write
from some import some

GOOD, BAD_INPUT = 0, 2
SOURCE = Path(__file__).with_name("memattr.c")
CHECKED = {"HWLOC_XML_VERBOSE": "1", "HWLOC_DEBUG_CHECK": "1"}
NS, MIB = 1e9, 1 << 20


@pytest.fixture(scope="module")
def memattr(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("cc") or not shutil.which("lstopo-no-graphics"):
        lacking("cc or lstopo-no-graphics", "Debian: gcc libhwloc-dev hwloc-nox")
    made = tmp_path_factory.mktemp("memattr") / "memattr"
    subprocess.run(["cc", "-Wall", "-Werror", "-o", made, SOURCE, "-lhwloc"], check=True)
    return made


def points(machine: Machine) -> list[Point]:
    measured = latency(machine, octave=1) + numa(machine, kernels=("sum",))
    return [p for p in measured if machine is ONE or p.variant == "matrix"]


def xml(folder: Path, lines_of: dict[Machine, list[Point]], status: int = GOOD) -> Path:
    files = [
        write(folder / f"{m.host}.jsonl", record(m, own, run_id(m.host)))
        for m, own in lines_of.items()
    ]
    made = folder / "made.xml"
    words = ["export", "--format", "hwloc", "--output", str(made), *map(str, files)]
    assert program.main(words) == status
    return made


def said(*command: object) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        env={**os.environ, **CHECKED},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


def times(points_of: list[Point]) -> dict[tuple[int, int], float]:
    """Times of a load, by the nodes of thread and memory."""
    return {
        (str(p.parameters["from"]).split("+").index("1"), int(p.parameters["to"])): p.seconds
        for p in points_of
        if p.benchmark == "latency"
    }


@pytest.mark.parametrize("machine", [TWO, FOUR])
def test_attributes_are_what_was_measured(machine: Machine, memattr: Path, tmp_path: Path) -> None:
    """Even for a node without CPUs; made-up samples have noise."""
    measured = points(machine)
    made = xml(tmp_path, {machine: measured})
    for (a, b), seconds in some(times(measured).items()):
        told = int(said(memattr, made, "Latency", a, b))
        assert told == pytest.approx(seconds * NS, rel=0.1)
        told = int(said(memattr, made, "Bandwidth", a, b))
        assert told == pytest.approx(machine.rate(a, b) / MIB, rel=0.1)


def test_lstopo_reads_it(memattr: Path, tmp_path: Path) -> None:
    made = xml(tmp_path, {FOUR: points(FOUR)})
    told = said("lstopo-no-graphics", "-i", made, "--of", "console", "--distances")
    assert "name LocusLatency kind 6) between 3 NUMANodes" in told
    assert "name LocusBandwidth kind 10) between 3 NUMANodes" in told
    told = said("lstopo-no-graphics", "-i", made, "--of", "console")
    assert told.count("Package") == 3 and told.count("NUMANode") == 4 and told.count("PU") == 96
    assert "NUMANode L#3 (P#3 64GB)" in told


def test_one_node_has_its_own_memory(memattr: Path, tmp_path: Path) -> None:
    made = xml(tmp_path, {ONE: points(ONE)})
    assert int(said(memattr, made, "ReadLatency", 0, 0)) > 80
    told = int(said(memattr, made, "ReadBandwidth", 0, 0))
    assert told == pytest.approx(ONE.local / MIB, rel=0.1)
    assert "distances2" not in made.read_text()


def test_it_is_of_one_host(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    xml(tmp_path, {m: points(m)[:2] for m in (ONE, TWO)}, status=BAD_INPUT)
    assert "these records are of 2: cloud-7, n042" in capsys.readouterr().err


def test_nothing_measured_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    measured = [p for p in points(TWO) if p.benchmark == "latency"]
    for point in measured:
        point.status, point.reasons = "noisy", ["other work"]
    made = xml(tmp_path, {TWO: measured}, status=BAD_INPUT)
    assert "locus latency --variant matrix" in capsys.readouterr().err
    assert not made.exists()
