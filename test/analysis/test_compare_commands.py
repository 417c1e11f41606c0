# SPDX-License-Identifier: Apache-2.0
"""locus compare measures two commands in turn, and finds a planted change."""

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
