# SPDX-License-Identifier: Apache-2.0
"""Machines that share a name are distinguished wherever records are grouped."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path
from typing import Any, Optional

import pytest
from locus_analysis import __main__ as program
from locus_analysis.records import database
from locus_analysis.records.hosts import Machine, told_apart
from make_records import ONE, TWO, Line, header, latency, numa, queried, record, run_id, write
from some import some

GOOD, BAD_INPUT = 0, 2
A, B = "a" * 16, "b" * 16  # classes
COMMANDS = ("summary", "levels", "export", "validate", "report", "expect")


def machine(run: str, kind: Optional[str], board: Optional[str], name: str = "n1") -> Machine:
    return Machine(run, name, kind, board)


# Machines, as run, class and board; and the names that they get.
GROUPS = [
    ([("1", A, "X"), ("2", A, "X")], ["n1", "n1"]),
    ([("1", A, "X"), ("2", B, "X")], ["n1 (aaaaaaaa)", "n1 (bbbbbbbb)"]),
    ([("1", A, "X"), ("2", A, "Y")], ["n1 (X)", "n1 (Y)"]),
    ([("1", A, "X"), ("2", None, "X"), ("3", A, None)], ["n1", "n1", "n1"]),
    ([("1", None, None), ("2", None, None)], ["n1", "n1"]),
    (
        [("1", A, "X"), ("2", B, "X"), ("3", None, "X")],
        ["n1 (aaaaaaaa)", "n1 (bbbbbbbb)", "n1 (unknown class)"],
    ),
    (
        [("1", A, "X"), ("2", A, "Y"), ("3", A, None)],
        ["n1 (X)", "n1 (Y)", "n1 (unknown board)"],
    ),
    (
        [("1", A, "X"), ("2", A, "Y"), ("3", B, "X")],
        ["n1 (aaaaaaaa, X)", "n1 (aaaaaaaa, Y)", "n1 (bbbbbbbb)"],
    ),
]


@pytest.mark.parametrize("given, names", GROUPS)
def test_what_is_known_to_differ_is_another_machine(given: Any, names: list[str]) -> None:
    for order in (given, given[::-1]):
        found, notes = told_apart([machine(*one) for one in order])
        assert [found[run] for run, _, _ in given] == names
        assert len(notes) == (len(set(names)) > 1)


def test_equal_machines_of_other_names_stay_themselves() -> None:
    found, notes = told_apart([machine("1", A, "X"), machine("2", A, "X", "n2")])
    assert found == {"1": "n1", "2": "n2"} and notes == []


# Machines of one class and board, as run, name and id; the names that they get; and the notes.
RENAMED = "one machine id: a host that was renamed, or two that were made from one image"
IDS = [
    ([("1", "n1", "x"), ("2", "n1", "x")], ["n1", "n1"], []),
    ([("1", "n1", "x"), ("2", "n1", None)], ["n1", "n1"], []),
    (
        [("1", "n1", "fnv1a64:0123456789abcdef"), ("2", "n1", "y"), ("3", "n1", None)],
        ["n1 (id 01234567)", "n1 (id y)", "n1 (unknown id)"],
        ["n1 is the name of 3 machines, or of one that was changed: "],
    ),
    ([("1", "n1", "x"), ("2", "m7", "x")], ["n1", "m7"], [f"n1 and m7 have {RENAMED}"]),
    (
        [("1", "n1", "x"), ("2", "n2", "x"), ("3", "n3", "x"), ("4", "n4", "x")],
        ["n1", "n2", "n3", "n4"],
        ["4 hosts have one machine id (n1, n2, n3, ...): they were made from one image"],
    ),
    (
        [(f"{pair}{name}", f"{name}{pair}", f"{pair}") for pair in range(5) for name in "ab"],
        [f"{name}{pair}" for pair in range(5) for name in "ab"],
        [f"a{pair} and b{pair} have {RENAMED}" for pair in range(3)] + ["2 more pairs of names"],
    ),
]


@pytest.mark.parametrize("given, names, told", IDS)
def test_ids_tell_equal_machines_apart(given: Any, names: list[str], told: list[str]) -> None:
    found, notes = told_apart([Machine(run, name, A, "X", id_) for run, name, id_ in given])
    assert [found[run] for run, _, _ in given] == names
    assert len(notes) == len(told) and all(n.startswith(t) for n, t in zip(notes, told))


def run_of(name: str, of: Any, **changes: Any) -> list[Line]:
    """A run on a machine with the host name localhost."""
    points = [*latency(of, octave=1)[:8], *numa(of, kernels=("sum",))[:4]]
    return record(of, points, run_id(name), host="localhost", **changes)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("localhost")
    started = "2025-03-14T10:26:53.589Z"
    return [
        write(folder / "one.jsonl", run_of("one", ONE)),
        write(folder / "two.jsonl", run_of("two", TWO, started=started)),
    ]


def kinds() -> list[str]:
    """The names that the two machines get."""
    return [
        f"localhost ({header(of, run_id('a'), random.Random(1))['machine']['class'][:8]})"
        for of in (ONE, TWO)
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_so(
    command: str, files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = {"report": ["--output", str(tmp_path)], "expect": ["--expect"]}.get(command, [])
    words = ["export" if command == "expect" else command, *more, *map(str, files)]
    assert program.main(words) == GOOD
    assert capsys.readouterr().err.splitlines()[0] == (
        "locus: note: localhost is the name of 2 machines, or of one that was changed: "
        + ", ".join(sorted(kinds()))
    )


@pytest.mark.parametrize(
    "words, by", [(["history", "localhost"], ""), (["sick", "--node=localhost"], "--node ")]
)
def test_a_name_that_several_have_selects_none(
    words: list[str], by: str, files: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main([*words, *map(str, files)]) == 2
    one, two = sorted(kinds())
    said = f"{by}localhost: 2 machines have this name; choose '{one}' or '{two}'"
    assert said in capsys.readouterr().err


def test_each_has_a_card_with_its_own_numbers(
    files: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    own = []
    for file in files:
        assert program.main(["summary", str(file)]) == GOOD
        own.append(capsys.readouterr().out)
    assert program.main(["summary", *map(str, files)]) == GOOD
    cards = dict(zip(sorted(kinds()), capsys.readouterr().out.rstrip().split("\n\nlocus ")))
    for name, alone in zip(kinds(), own):
        card = cards[name]
        assert name in card and "last of" not in card
        lines = alone.rstrip().splitlines()
        assert card.splitlines()[-len(lines) + 2 :] == lines[2:]


def test_export_and_the_report_have_both(
    files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main(["export", *map(str, files)]) == GOOD
    rows = some(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    named = {run_id("one"): kinds()[0], run_id("two"): kinds()[1]}
    assert {(r["run"], r["host"]) for r in rows} == set(named.items())
    assert program.main(["export", "--format", "google-benchmark", *map(str, files)]) == BAD_INPUT
    assert "these records are of 2" in capsys.readouterr().err
    assert program.main(["report", "--output", str(tmp_path), *map(str, files)]) == GOOD
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(page.count(name) > 1 for name in some(kinds()))


def test_of_expected_values_each_is_a_host(
    files: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main(["export", "--expect", *map(str, files)]) == GOOD
    told = json.loads(capsys.readouterr().out)
    assert sorted(host for kind in told["classes"] for host in kind["hosts"]) == sorted(kinds())


def test_a_run_goes_on_with_none_of_another_machine_of_its_name(tmp_path: Path) -> None:
    one, two = run_of("one", ONE), run_of("two", TWO, resumes=[run_id("one")])
    db = database.tables(database.read([write(tmp_path / "a.jsonl", [*one, *two])]))
    wholes = queried(db, "SELECT DISTINCT whole FROM part")
    assert len(wholes) == 2
