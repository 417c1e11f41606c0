# SPDX-License-Identifier: Apache-2.0
"""Counters below the curves of time that they explain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from locus_analysis.insight import counters
from locus_analysis.page import counter_curves
from locus_analysis.pictures.sweeps import Scene
from locus_analysis.records import database, description
from make_records import (
    ONE,
    SIZES,
    TWO,
    brief,
    checkpoint,
    count,
    event,
    kmeans,
    latency,
    record,
    run_id,
    search,
    sharing,
)
from pages import make, trials
from test_counters import EVENTS, Events, curve, cycles, misses, panels, told

# Curves.


def drawn(spec: Any) -> dict[str, list[dict[str, Any]]]:
    """The rows of each panel, by its title; the panel of time has no title."""
    found: dict[str, list[dict[str, Any]]] = {}

    def look(part: Any) -> None:
        if isinstance(part, list):
            for each in part:
                look(each)
        elif isinstance(part, dict):
            if "layer" in part:
                title = part.get("title") or ""
                name = title.get("text", "") if isinstance(title, dict) else title
                sets = {layer["data"]["name"] for layer in part["layer"] if "data" in layer} | (
                    {part["data"]["name"]} if "data" in part else set()
                )
                found.setdefault(name, []).extend(
                    r
                    for s in sorted(sets)
                    for r in spec["datasets"][s]
                    if "x" in r and "value" in r
                )
            else:
                for key in ("vconcat", "hconcat", "concat"):
                    look(part.get(key, []))

    look(spec)
    return found


def x_scales(part: Any) -> list[Any]:
    """The x scales of all curves over the size."""
    if isinstance(part, list):
        return [found for each in part for found in x_scales(each)]
    if not isinstance(part, dict):
        return []
    x = part.get("x")
    own = [x["scale"]] if isinstance(x, dict) and x.get("field") == "x" else []
    return own + [
        found for key, each in part.items() if key != "datasets" for found in x_scales(each)
    ]


def test_counters_stand_below_the_curve_of_time(tmp_path: Path) -> None:
    steps: Events = {**EVENTS, "PAPI_L3_TCM": (event("PAPI_L3_TCM"), misses)}
    lines = count(record(TWO, curve(), run_id("a")), steps)
    page = make(tmp_path, lines)
    (spec,) = panels(page, "latency")
    found = drawn(spec)
    assert [name for name in found if name] == [f"{name} per load" for name in steps] + [
        "instructions per cycle"
    ]
    time = {(r["id"], r["x"]) for r in found[""] if r["value"] is not None}
    for name in steps:
        rows = [r for r in found[f"{name} per load"] if r["id"]]
        assert {(r["id"], r["x"]) for r in rows} == time
        of = {t["id"]: c for t in trials([lines]) for c in t["counters"] if c["name"] == name}
        assert {(r["id"], r["value"], r["low"], r["high"]) for r in rows} == {
            (i, c["value"], *c["ci"]) for i, c in of.items()
        }
    assert len({str(scale) for scale in x_scales(spec)}) == 1
    marks = [r["label"] for rows in spec["datasets"].values() for r in rows if "at" in r]
    assert {"L1 ends", "L2 ends", "L3 ends"} <= set(marks)


def test_what_is_not_trusted_is_not_drawn_and_the_rest_is(tmp_path: Path) -> None:
    part: Events = {
        "PAPI_L2_DCM": (
            event("PAPI_L2_DCM", proven=False),
            lambda t: 0.0 if t["parameters"]["size"] < 1 << 20 else 0.5,
        )
    }
    lines = count(record(TWO, curve(), run_id("a")), part)
    (spec,) = panels(make(tmp_path, lines), "latency")
    rows = [r for r in drawn(spec)["PAPI_L2_DCM per load"] if r["id"]]
    values = {r["id"]: r["value"] for r in rows}
    for t in trials([lines]):
        assert values[t["id"]] == (None if t["parameters"]["size"] < 1 << 20 else 0.5)


@pytest.mark.parametrize(
    ("points", "benchmark", "over"),
    [
        (lambda: sharing(TWO), "sharing", {"threads", "distance"}),
        (lambda: checkpoint(TWO), "checkpoint", {"threads"}),
        (kmeans, "kmeans", {"threads"}),
        (lambda: search(), "search", {"size"}),
        (lambda: latency(TWO, 1, last=32 << 20), "latency", {"size", "chains", "background"}),
    ],
)
def test_each_benchmark_with_a_curve_has_one_of_its_counters(
    points: Any, benchmark: str, over: set[str], tmp_path: Path
) -> None:
    lines = count(
        record(TWO, points(), run_id("a")), {"PAPI_TOT_CYC": (event("PAPI_TOT_CYC"), cycles)}
    )
    lines = brief(lines)
    db, own = told(lines, benchmark, tmp_path)
    machine = database.machines(db)[run_id("a")]
    columns = counters.section(db, own)[run_id("a")]["columns"]
    of = description.of(db, benchmark)
    scene = Scene(of, own, machine)
    pictures = counter_curves.pictures(scene, own, columns, benchmark, benchmark)
    assert {p.title.split(" over ")[1].split(" (")[0] for p in pictures} == over
    assert len({p.name for p in pictures}) == len(pictures)
    shown = [i for p in pictures for i in p.shows]
    assert set(shown) <= {t["id"] for t in own}
    for p in pictures:
        datasets: Any = p.spec["datasets"]
        sets = [rows for rows in datasets.values() if rows and "x" in rows[0]]
        assert any(r["value"] is not None for rows in sets for r in rows)


def test_best_is_in_the_panels_of_both_methods(tmp_path: Path) -> None:
    lines = count(record(ONE, search(sizes=SIZES[:3]), run_id("a")), EVENTS)
    db, own = told(brief(lines), "search", tmp_path)
    ((x, found),) = description.curved(description.of(db, "search"), own)
    assert x == "size"
    assert sorted(g.setting["search"] for g in found) == ["branchless", "branchy"]
    for group in found:
        assert {t["variant"] for t in group.trials} >= {"best", "whole", "divided"}


def test_one_point_is_no_curve(tmp_path: Path) -> None:
    lines = count(
        record(TWO, [p for p in curve() if p.parameters["size"] == 1 << 20], run_id("a")), EVENTS
    )
    page = make(tmp_path, lines)
    assert panels(page, "latency") == [] and "Counters of latency" in page.text
