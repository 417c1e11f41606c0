# SPDX-License-Identifier: Apache-2.0
"""locus compare measures two commands in turn, and finds a planted change; what is given to it by
mistake."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from test_compare import BAD_INPUT, WORSE, as_json, runs, told, verdicts

# Measured in turn: the commands are scripts that write a record to --output.


def script(folder: Path, name: str, factor: float, status: int = 0) -> list[str]:
    """A command that writes one of twelve records prepared for it, the next at each call."""
    ready = runs(folder / f"{name}-ready", 12, {2: factor})
    for i, file in enumerate(sorted(ready.iterdir())):
        text = file.read_text().replace("2025-03-14T", f"20{25 + i}-03-14T")
        file.write_text(text if name == "a" else text.replace(":00.000Z", ":30.000Z"))
    path = folder / name
    path.write_text(
        f"#!/bin/sh\nn=$(ls {ready}/*.jsonl | head -1)\n[ $1 = --output ] && mv $n $2\n"
        f"echo of the command\nexit {status}\n"
    )
    path.chmod(0o755)
    return [str(path)]


def test_measured_in_turn(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    a, b = script(tmp_path, "a", 1), script(tmp_path, "b", 1.2, status=1)
    kept = tmp_path / "kept"
    given = ("--measure", "6", "--keep", kept, "--", *a, "--", *b)
    out, err = told(capfd, *given, status=WORSE)
    assert sorted(f.name for f in kept.iterdir())[:2] == ["a-001.jsonl", "a-002.jsonl"]
    assert len(list(kept.iterdir())) == 12 and "6 pairs measured; records in" in err
    assert "in pairs; the least p of so few is 0.031" in out and "of the command" not in out
    turns = re.findall(r"pair (\d) of 6, ([AB])", err)
    assert turns[:4] == [("1", "A"), ("1", "B"), ("2", "B"), ("2", "A")]
    assert "exists; give another folder" in told(capfd, *given, status=BAD_INPUT)[1]


def test_commands_that_cannot_be_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = script(tmp_path, "a", 1)
    for i, (words, why) in enumerate(
        (
            ([*a, "--", "false"], "false --output"),
            ([*a, "--", "true"], "and wrote no record"),
            ([*a, "--", str(tmp_path / "none")], "cannot be run"),
            (a, "needs two commands"),
            ([*a, "--"], "needs two commands"),
        )
    ):
        keep = ("--keep", tmp_path / f"kept{i}")
        assert why in told(capsys, "--measure", "2", *keep, "--", *words, status=BAD_INPUT)[1]
    assert (
        "needs two commands"
        in told(capsys, "--measure", "0", "--", *a, "--", *a, status=BAD_INPUT)[1]
    )


# The built program, with a change that `dummy` plants. It is so large that no noise hides it.

DUMMY = "dummy --variant steady --threads 1 --duration 1ms --repeats 20"


PLANT = "LOCUS_DUMMY_SLOWER"


SLOWER = 20  # times


def planted(capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, Any]:
    made = as_json(capsys, *words, status=WORSE)
    assert verdicts(made)["dummy/steady/time"] == "slower"
    (row,) = (m for m in made["metrics"] if m["metric"] == "dummy/steady/time")
    assert row["change"] > SLOWER / 2
    told = {d["name"]: (d["old"], d["new"]) for d in made["differs"]}
    assert {n: v for n, v in told.items() if "environment" in n} == {
        f"environment.{PLANT}": ("null", str(SLOWER))
    }
    return made


def test_a_planted_change_is_found_where_commands_alternate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    locus = [os.environ["LOCUS"], *DUMMY.split()]
    both = ("--", *locus, "--", "env", f"{PLANT}={SLOWER}", *locus)
    made = planted(capsys, "--measure", "6", "--keep", tmp_path / "kept", *both)
    assert made["paired"]


def test_a_planted_change_is_found_between_series_of_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--runs: each run counts, though all are in one file."""
    files = []
    for factor in ("1", str(SLOWER)):
        files.append(tmp_path / f"{factor}.jsonl")
        command = [os.environ["LOCUS"], *DUMMY.split(), "--runs", "5", "--output", str(files[-1])]
        own = {PLANT: factor} if factor != "1" else {}
        subprocess.run(command, check=True, env={**os.environ, **own}, capture_output=True)
    made = planted(capsys, *files)
    assert not made["paired"] and [made[side]["units"] for side in ("old", "new")] == [5, 5]


def test_a_plant_that_is_no_factor_is_refused() -> None:
    for given in ("", "-1", "0", "two", "1.05x", "inf", "nan"):
        command = [os.environ["LOCUS"], *DUMMY.split()]
        done = subprocess.run(
            command, check=False, env={**os.environ, PLANT: given}, capture_output=True, text=True
        )
        assert f"{PLANT}={given} is no factor above 0" in done.stdout + done.stderr


# What is given by mistake, and what is said of it.


def test_runs_on_both_sides_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, other = runs(tmp_path / "old", 6), runs(tmp_path / "new", 6)
    out, _ = told(capsys, old, old)
    assert "6 runs on both sides: " in out
    assert "6 runs on both sides: " in told(capsys, "--format", "csv", old, old)[1]
    assert as_json(capsys, old, old)["both"] == 6 and as_json(capsys, old, other)["both"] == 0
    sides = told(capsys, old, other, old)[0]
    assert f"{old}:6runsof{old}also:" in "".join(sides.split())
    assert "both sides" not in told(capsys, old, other)[0]


def test_what_cannot_be_told_is_not_said_to_be_no_slower(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = (runs(tmp_path / name, 4, spread=0.1) for name in ("old", "new"))
    assert told(capsys, old, new)[0].startswith("nothing is shown to be slower; ")
    first = told(capsys, old, new, new)[0].partition("\n")[0]
    assert first.startswith("no side is shown to be slower than ")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("--baseline B --threshold 1%", "--baseline takes no --threshold: the file has the bounds"),
        ("--baseline B --effect 1%", "--baseline takes no --effect"),
        ("--baseline B --plan", "--baseline takes no --plan"),
        ("--baseline B --output x.html", "--baseline takes no --output"),
        ("--plan --require numa", "--plan takes no --require"),
        ("--plan --measure 0", "--plan takes no --measure"),
        ("--effect 1%", "--effect needs --plan"),
        ("--keep DIR", "--keep needs --measure"),
    ],
)
def test_an_option_that_would_be_ignored_is_refused(
    given: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = runs(tmp_path / "old", 1)
    _, error = told(capsys, *given.split(), old, old, status=BAD_INPUT)
    assert error == f"locus: compare {said}\n"
