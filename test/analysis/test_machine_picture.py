# SPDX-License-Identifier: Apache-2.0
"""The picture of a machine: what a record says, and the times that it has."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Protocol
from xml.etree import ElementTree

import pytest
from locus_analysis import __main__ as program
from make_records import FOUR, ONE, TWO, Machine, latency, numa, record, run_id, write
from some import some

GOOD, BAD_INPUT = 0, 2
SVG = "{http://www.w3.org/2000/svg}"


class Draw(Protocol):
    def __call__(self, machine: Machine, measured: bool = True) -> ElementTree.Element: ...


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Draw:
    """Each picture is only read."""

    @functools.cache
    def draw(machine: Machine, measured: bool = True) -> ElementTree.Element:
        folder = tmp_path_factory.mktemp("drawn")
        points = latency(machine) + numa(machine, kernels=("sum",)) if measured else []
        file = write(folder / f"{machine.host}.jsonl", record(machine, points, run_id("a")))
        made = folder / "machine.svg"
        words = ["topology", "--picture", str(made), str(file)]
        assert program.main(words) == GOOD
        return ElementTree.parse(made).getroot()

    return draw


def texts(picture: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in picture.iter(f"{SVG}text")]


def boxes(picture: ElementTree.Element) -> int:
    return len(list(picture.iter(f"{SVG}rect"))) - 1  # the paper


def test_two_nodes_with_their_times(drawn: Draw) -> None:
    picture = drawn(TWO)
    told = texts(picture)
    for words in ("node 0", "node 1", "CPUs 0-15", "CPUs 16-31", "16 x L2, 1 MiB", "L3, 22 MiB"):
        assert words in told
    assert [t for t in told if t.endswith(" cycles")] == [
        "2.22 ns, 5.16 cycles",
        "4.03 ns, 9.38 cycles",
        "15.1 ns, 35.2 cycles",
        "82.8 ns, 192 cycles",
    ]
    assert "found: 64 pages" in told
    assert any(t.startswith("Latency of memory") for t in told)
    assert any(t.startswith("one node: ") for t in told)
    # nodes, local cells, cores, TLBs and caches of each core, L3, memory
    assert boxes(picture) == 2 + 2 + 5 * 16 + 2


def test_memory_without_cpus_has_no_row(drawn: Draw) -> None:
    told = texts(drawn(FOUR))
    assert told.count("node 2") == 3 and told.count("node 3") == 2 and "no CPUs" in told


def test_a_machine_of_which_nothing_was_measured(drawn: Draw) -> None:
    told = texts(drawn(ONE, measured=False))
    assert "L3, 22 MiB" in told and not any("cycles" in t for t in some(told))
    assert any(t.startswith("No times: locus suite") for t in told)


def test_it_says_the_same_without_eyes(drawn: Draw) -> None:
    picture = drawn(TWO)
    said = picture.findtext(f"{SVG}desc") or ""
    assert picture.get("aria-label") == picture.findtext(f"{SVG}title")
    assert "16 x L1d, 32 KiB: 2.22 ns" in said and "node 1: 64 GiB of memory" in said


def test_words_stay_within_the_picture(drawn: Draw) -> None:
    for machine in (ONE, TWO, FOUR):
        picture = drawn(machine)
        width, height = (float(picture.get(of) or 0) for of in ("width", "height"))
        for text in picture.iter(f"{SVG}text"):
            x, y = float(text.get("x") or 0), float(text.get("y") or 0)
            room = x if text.get("text-anchor") == "end" else width - x
            assert y < height and 6 * len(text.text or "") < room


def test_many_hosts_have_no_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [
        str(write(tmp_path / f"{m.host}.jsonl", record(m, numa(m)[:1], run_id(m.host))))
        for m in (ONE, TWO)
    ]
    assert program.main(["topology", "--picture", str(tmp_path / "a.svg"), *files]) == BAD_INPUT
    assert "of one host, and these records are of 2" in capsys.readouterr().err
