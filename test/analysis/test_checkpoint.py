# SPDX-License-Identifier: Apache-2.0
"""The page of checkpoint: whether the published explanation holds; published figures."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any, Optional

import pytest
from locus_analysis.base.folders import LESSONS
from locus_analysis.insight import claims, evidence
from locus_analysis.insight.evidence import AGREES, DIFFERS, IN_PART, UNSURE
from locus_analysis.page import generic
from locus_analysis.pictures.sweeps import Scene
from locus_analysis.records import database, description, published
from make_records import (
    FOUR,
    Line,
    of_lines,
    record,
)
from make_records import checkpoint as checkpoint_points
from make_records import sharing as sharing_points
from pages import make
from test_sharing import RUN, SMALL, told

# Trials of checkpoint with the published explanation.


def of(
    variant: str, value: Optional[float], width: Optional[float] = 0.01, status: str = "ok"
) -> Any:
    known = value is not None and width is not None
    time = {
        "value": value,
        "low": value * (1 - width) if value is not None and width is not None else None,
        "high": value * (1 + width) if known and value is not None and width is not None else None,
        "modes": None,
    }
    return {
        **time,
        "whole": RUN,
        "variant": variant,
        "parameters": {"body": "loop"},
        "threads": 2,
        "bind": "close",
        "oversubscribed": False,
        "metrics": {"time": time},
        "ratios": [],
        "status": status,
        "flag": None if status == "ok" else 1,
        "reasons": [],
    }


def claimed(*trials: Any) -> dict[str, list[claims.ClaimRow]]:
    """By name, the rows of checkpoint's claims that these trials can judge."""
    found = claims.told(description.Described("checkpoint"), [t for t in trials if t])
    return {c["name"]: c["rows"] for c in found}


@pytest.mark.parametrize(
    ("together", "apart", "alone", "verdict", "part", "why"),
    [
        (4.0, 1.0, 1.0, AGREES, 1, ""),
        (4.0, 2.0, 1.0, AGREES, 2 / 3, ""),
        (4.0, 2.5, 1.0, UNSURE, 0.5, ""),
        (4.0, 3.5, 1.0, IN_PART, 1 / 6, ""),
        (4.0, 2.0, 5.0, UNSURE, None, "together costs nothing over per-thread"),
        (4.0, 2.0, 3.99, UNSURE, None, "together costs nothing over per-thread"),
        (4.0, 4.0, 1.0, DIFFERS, None, "quadwords gains less than 5 % over together"),
        (3.0, 4.0, 1.0, DIFFERS, None, "together is even faster"),
        (1.0, 1.0, 1.0, DIFFERS, None, "quadwords gains less than 5 % over together"),
    ],
)
def test_the_published_explanation_is_tested(
    together: float, apart: float, alone: float, verdict: str, part: Optional[float], why: str
) -> None:
    (row,) = claimed(of("together", together), of("quadwords", apart), of("per-thread", alone))[
        "cause"
    ]
    assert (row["verdict"], row["why"]) == (verdict, why)
    assert row["value"] == (pytest.approx(part) if part else None)
    if part:
        ends = [
            (a * together - b * apart) / (a * together - c * alone)
            for a in (0.99, 1.01)
            for b in (0.99, 1.01)
            for c in (0.99, 1.01)
        ]
        assert (row["low"], row["high"]) == pytest.approx((min(ends), max(ends)))


FOUR_LAYOUTS = {"together": 4.0, "quadwords": 4.0, "apart": 4.0, "per-thread": 1.0}


def test_what_is_left_is_told_beside_the_cause() -> None:
    found = claimed(*(of(v, t) for v, t in FOUR_LAYOUTS.items()))
    (gain,), (left,) = found["together/quadwords"], found["apart/per-thread"]
    assert (gain["verdict"], gain["value"]) == (DIFFERS, 1)
    assert (left["verdict"], left["value"], left["why"]) == (DIFFERS, 4, "expected 0.95 to 1.05")
    both = claimed(of("together", 4.0), of("quadwords", 2.0))
    assert (
        list(both) == ["together/quadwords"] and both["together/quadwords"][0]["verdict"] == AGREES
    )


@pytest.mark.parametrize(
    ("together", "apart", "why"),
    [
        (
            of("together", 4.2, width=0.05),
            of("quadwords", 4.0, width=0.05),
            "the intervals allow that quadwords gains nothing",
        ),
        (of("together", 4.0, width=None), of("quadwords", 1.0, width=None), "there is no interval"),
        (of("together", 4.0), of("quadwords", 1.0, status="failed"), "quadwords is failed"),
        (of("together", 4.0, status="wrong"), of("quadwords", 1.0), "together is wrong"),
    ],
)
def test_what_cannot_be_told_is_not_told(together: Line, apart: Line, why: str) -> None:
    (row,) = claimed(together, apart, of("per-thread", 1.0))["cause"]
    assert (row["verdict"], row["why"]) == (UNSURE, why)
    assert "cause" not in claimed(of("together", None), apart, of("per-thread", 1.0))


@pytest.mark.parametrize(
    ("alone", "why"),
    [
        (of("per-thread", 3.9, status="noisy"), "together costs nothing over per-thread"),
        (of("per-thread", 1.0, status="wrong"), "per-thread is wrong"),
        (of("per-thread", 1.0, width=None), "there is no interval"),
        (
            of("per-thread", 3.9, width=0.1),
            "whether together costs anything over per-thread is open",
        ),
    ],
)
def test_a_cost_that_is_not_known_is_divided_by_nothing(alone: Line, why: str) -> None:
    found = claimed(of("together", 4.0), of("quadwords", 2.0), alone)
    (row,) = found["cause"]
    assert (row["verdict"], row["why"], row["value"]) == (UNSURE, why, None)
    # The gain of `quadwords` over `together` is known all the same.
    assert found["together/quadwords"][0]["verdict"] == AGREES


def test_a_ratio_is_as_grave_as_the_graver_of_the_two() -> None:
    for one, other, graver in (
        ("unconverged", "noisy", "noisy"),
        ("noisy", "unconverged", "noisy"),
        ("noisy", "misplaced", "misplaced"),
        ("ok", "unconverged", "unconverged"),
    ):
        sides = of("quadwords", 2.0, status=one), of("together", 4.0, status=other)
        for side in sides:
            side["reasons"] = [side["status"]]
        found = evidence.ratio(*(evidence.valued(side, "time") for side in sides))
        assert found and (found["status"], found["value"]) == (graver, 0.5)
        assert found["reasons"] == [graver]


def test_a_ratio_to_an_interval_from_zero_has_none() -> None:
    to_zero = evidence.valued(of("together", 4.0), "time")
    to_zero["low"] = 0.0
    found = evidence.ratio(evidence.valued(of("quadwords", 2.0), "time"), to_zero)
    assert found and (found["value"], found["low"], found["high"]) == (0.5, None, None)


def test_a_wide_interval_that_is_clear_is_enough() -> None:
    together, apart = (
        of(v, t, 0.1, "unconverged") for v, t in (("together", 4.0), ("quadwords", 1.0))
    )
    (row,) = claimed(together, apart, of("per-thread", 1.0))["cause"]
    assert row["verdict"] == AGREES


def test_what_is_not_as_published_is_told_beside_the_figure(tmp_path: Path) -> None:
    points = sharing_points(FOUR, threads=(1, 16))
    text = make(tmp_path, record(FOUR, points, RUN)).text
    for said in ("word 8 instead of 4", "padding 128 instead of 64", "mutex 48"):
        assert said in text
    for p in points:
        p.parameters.update(padding=64)
        p.parameters.update({k: v for k, v in EXACT.items() if k in p.parameters})
    exact = tmp_path / "exact"
    exact.mkdir()
    text = make(exact, record(FOUR, points, RUN)).text
    assert "instead of" not in text and "mutex 48" in text


EXACT = {"word": "4", "section": "empty"}


def test_the_conclusion_tells_all_settings() -> None:
    own = told(record(SMALL, checkpoint_points(SMALL, threads=(1, 2, 4)), RUN), "checkpoint")
    cause, *_ = claims.told(description.Described("checkpoint"), own)
    assert [(r["where"], r["verdict"]) for r in cause["rows"]] == [
        (f"body {body}, {n} threads", DIFFERS) for body in ("loop", "reverse") for n in (2, 4)
    ]
    assert cause["conclusion"] == "differs in 4 of 4 settings"
    assert claims.result([cause]) == (
        "Published: Two threads are slow because tick and count lie in the same 16 bytes. This run:"
        " differs in 4 of 4 settings."
    )
    assert claims.result([]) is None


# Published figures.


def test_published_figures_stand_beside_the_same_operation_and_layout() -> None:
    def published_in(pictures: list[Any]) -> dict[str, float]:
        rows = chain.from_iterable(r for p in pictures for r in p.spec["datasets"].values())
        return {
            r["trial"]: r["value"] for r in rows if str(r.get("trial", "")).startswith("published")
        }

    machine = "2x Intel Xeon E5-2680 v3 (24 cores, 48 hardware threads)"
    found = drawn(record(FOUR, sharing_points(FOUR, threads=(1, 16)), RUN), "sharing")
    assert published_in(found) == {
        f"published: {machine}; lock; layout {layout}; operations 33554432": pytest.approx(
            ns * 1e-9
        )
        for layout, ns in {"shared": 1103, "dense": 423, "padded": 35}.items()
    }
    assert any(f"published of {machine}" in str(p.spec["datasets"]) for p in found)
    # A curve that ends before the others' number of threads is not extended to it.
    short = drawn(record(FOUR, sharing_points(FOUR, threads=(1, 2)), RUN), "sharing")
    assert published_in(short) == {}


def drawn(lines: list[Line], benchmark: str) -> list[Any]:
    """The pictures that the generic page draws."""
    db = database.tables(of_lines(lines))
    of, own = description.of(db, benchmark), database.measured(db, benchmark)
    scene = Scene(of, own, database.machines(db)[RUN])
    return generic.pictures(scene, benchmark, benchmark)


BOTH = [of("together", 4.0), of("quadwords", 2.0)]


def test_published_repeats_of_checkpoint_are_drawn() -> None:
    time, others, *_ = drawn(
        record(SMALL, checkpoint_points(SMALL, threads=(1, 2)), RUN), "checkpoint"
    )

    def published_rows(picture: Any) -> list[Line]:
        rows = chain.from_iterable(picture.spec["datasets"].values())
        return [r for r in rows if str(r.get("trial", "")).startswith("published")]

    figures = published.figures("checkpoint", "time")
    assert len(published_rows(time)) == len(figures) == 20
    assert sorted(r["value"] for r in published_rows(time)) == pytest.approx(
        sorted(f.value * (f.threads or 0) / 1e9 for f in figures)
    )
    assert {round(r["value"], 4) for r in published_rows(others)} >= {0.0, 0.0497, -0.0172}
    (row,) = [c for c in claims.told(description.Described("checkpoint"), BOTH) if c["theirs"]]
    assert [t.value for t in row["theirs"]] == [pytest.approx(3.805 / 1.233)]
    assert row["published"] == "3.09 (Core Duo MacBook Pro, 2 cores, 2 threads)"
    text = (LESSONS / "checkpoint.html.j2").read_text(encoding="utf-8")
    assert "3.09 times" in " ".join(text.split())
    assert {(f.variant, f.parameters["java"]) for f in figures} == {
        ("together", "6"),
        ("quadwords", "5"),
    }
    assert "together in Java 6, quadwords in Java 5" in text
