# SPDX-License-Identifier: Apache-2.0
"""The picture of a soak: its title is the verdict, its panels show what the machine reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Optional

import pytest
from locus_analysis import __main__ as program
from locus_analysis.page import soak
from make_records import ONE, Line, record, run_id
from pages import Page

FINE: Any = {"wrong": None, "failure": None}
STEADY: Any = {**FINE, "verdict": "steady", "after": None, "share": 1.0, "noise": 0.005}
FELL: Any = {**FINE, "verdict": "throttles", "after": 401.0, "share": 0.9, "noise": 0.005}
UNSURE: Any = {**STEADY, "verdict": "cannot tell", "noise": 0.0805}
SHORT: Any = {**FINE, "verdict": "too short", "after": None, "share": 1.0, "noise": None}
FAILED = "numa/static failed: no thread; cores/together steady; numa/static too short"
WRONG: Any = {**STEADY, "wrong": "CPU 3 computes wrong"}


def verdict(
    work: Any, bandwidth: Any, lost: Optional[int] = None, checks: Optional[int] = None
) -> soak.Verdict:
    loads: Any = [{"name": "cores/together", **work}, {"name": "numa/static", **bandwidth}]
    return {"errors": {"uncorrected": lost, "machine_checks": checks}, "loads": loads}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (verdict(STEADY, STEADY), "steady"),
        (verdict(SHORT, SHORT), "too short"),
        (
            verdict(FELL, STEADY),
            "cores/together throttles after 401 s to 0.90 of its rate; numa/static steady",
        ),
        (
            verdict(STEADY, UNSURE),
            "cores/together steady; cannot tell for numa/static (noise 8.05 % a round)",
        ),
        (verdict(WRONG, STEADY), "WRONG: cores/together: CPU 3 computes wrong; steady"),
        (verdict(STEADY, {**SHORT, "failure": "no thread"}), FAILED),
        (verdict(STEADY, STEADY, 1), "WRONG: 1 uncorrected error of memory; steady"),
        (verdict(STEADY, STEADY, 0, 2), "WRONG: 2 machine checks; steady"),
        (verdict(UNSURE, UNSURE), "cannot tell (noise 8.05 % a round)"),
        (None, "no verdict, the record was cut off"),
    ],
)
def test_the_verdict_in_words(given: Optional[soak.Verdict], words: str) -> None:
    assert soak.said(given) == words


def soaked(name: str, rounds: int, told: Optional[soak.Verdict], **sensors: Any) -> list[Line]:
    """A record; from the second third on it has 0.9 of its work."""
    run = run_id(name)
    header, end = record(ONE, [], run, host=name)
    lines = [
        {
            "type": "soak",
            "run": run,
            "at": i + 1.0,
            "loads": [
                {
                    "name": "cores/together",
                    "unit": "quantum/s",
                    "rate": 4e12 * (0.9 if 3 * i >= rounds else 1),
                },
                {"name": "numa/static", "unit": "B/s", "rate": 352e9},
            ],
            "clock": 3.2e9,
            "temperature": None if sensors else 60 + i / rounds,
            "power": sensors.get("power"),
        }
        for i in range(rounds)
    ]
    return [header, *lines, *([_line(run, told)] if told else []), end]


def _line(run: str, told: soak.Verdict) -> Line:
    errors = {"corrected": None, **told["errors"]}
    return {"type": "soak-verdict", "run": run, **told, "errors": errors}


def page(folder: Path, *records: list[Line]) -> Page:
    for i, lines in enumerate(records):
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        (folder / f"{i}.jsonl").write_text(text, encoding="utf-8")
    made = folder / "report.html"
    assert program.main(["report", str(folder), "--pictures", "--output", str(made)]) == 0
    return Page(made)


def test_on_the_page(tmp_path: Path) -> None:
    """1201 rounds give 401 points in a panel, and the fall in the right place."""
    found = page(tmp_path, soaked("n1", 1201, verdict(FELL, STEADY), power=280.0))
    assert found.figures == ["soak"]
    (spec,) = found.specs
    title = "Soak on n1, 20 min: cores/together throttles after 401 s to 0.90 of its rate"
    assert spec["title"]["text"] == f"{title}; numa/static steady"
    assert "Not known on this machine: temperature." in json.dumps(spec["datasets"])
    sizes = [len(rows) for rows in spec["datasets"].values()]
    assert sizes.count(401) == 4  # rates, clock, power
    falls = [rows for rows in spec["datasets"].values() if [*rows] == [{"at": 401.0}]]
    assert len(falls) == 3  # of cores, clock, power; numa is steady
    assert [row["value"] for row in found.rows("at", "value")][:1] == [4.0]
    assert "soak on n1" in found.text


def test_several_and_cut_off(tmp_path: Path) -> None:
    found = page(tmp_path, soaked("n1", 9, verdict(SHORT, SHORT)), soaked("n2", 9, None))
    assert found.figures == ["soak-1", "soak-2"]
    titles = {spec["title"]["text"] for spec in found.specs}
    assert titles == {
        "Soak on n1, 9 s: too short",
        "Soak on n2, 9 s: no verdict, the record was cut off",
    }
