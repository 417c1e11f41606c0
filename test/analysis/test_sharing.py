# SPDX-License-Identifier: Apache-2.0
"""The pages of sharing, core-to-core and checkpoint: the padding that a machine needs, maps,
tables, sentences."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest
from locus_analysis.base import units
from locus_analysis.insight import claims, run_variation
from locus_analysis.insight.evidence import AGREES, UNSURE
from locus_analysis.pictures import cpu_pairs, draw
from locus_analysis.records import database, description
from make_records import (
    FLAGS,
    LOCKS,
    ONE,
    TWO,
    Line,
    Machine,
    Point,
    brief,
    distances,
    flag,
    of_lines,
    record,
    run_id,
)
from make_records import checkpoint as checkpoint_points
from make_records import core_to_core as core_to_core_points
from make_records import sharing as sharing_points
from pages import Page, make, names, trials
from some import some
from test_padding import PAIR

GOOD = 0


RUN = run_id("a")


def told(lines: list[Line], benchmark: str = "sharing") -> list[Any]:
    given = of_lines(brief(lines))
    return run_variation.of_time(database.tables(given), benchmark)


# The whole page.


SMALL = Machine("n8", "a machine", cpu_nodes=2, cores=4)


def everything(machine: Machine) -> list[Point]:
    return (
        sharing_points(machine, threads=(1, 2, 8))
        + core_to_core_points(machine, odd=(5,))
        + checkpoint_points(machine)
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Page, list[Line]]:
    folder = tmp_path_factory.mktemp("sharing")
    lines = record(SMALL, flag(everything(SMALL), every=20), RUN)
    return folder, make(folder, lines), lines


Whole = tuple[Path, Page, list[Line]]


def test_numbers_in_curves_are_those_of_the_record(whole: Whole) -> None:
    _, page, lines = whole
    shown: dict[str, list[Any]] = {}
    for row in page.rows("id", "value", "x"):
        shown.setdefault(row["id"], []).append((row["value"], row["low"], row["high"]))
    for trial in trials([lines]):
        of = {m["name"]: (m["value"], *(m["ci"] or (None, None))) for m in trial["metrics"]}
        if trial["variant"] in ("ping-pong", "distance"):
            continue
        assert of["time"] in shown[trial["id"]], trial["identity"]
        if of["time"][0] is None or trial["threads"] == 1:
            continue
        for metric in ("fairness", "lost", "fired-error"):
            raced = trial["parameters"].get("layout") == "shared" or trial["variant"] in (
                "together",
                "apart",
            )
            if metric in of and of[metric][0] is not None and raced:
                assert any(s == pytest.approx(of[metric]) for s in shown[trial["id"]]), (
                    metric,
                    trial["identity"],
                )
        if trial["variant"] == "together":
            assert any(s == pytest.approx(of["kept"]) for s in shown[trial["id"]])


def test_distances_are_those_of_the_record_beside_the_line(whole: Whole) -> None:
    _, page, lines = whole
    picture = page.specs[page.figures.index("sharing-distance")]
    rows = [r for own in picture["datasets"].values() for r in own]
    shown = {r["id"]: (r["x"], r["value"]) for r in rows if r.get("id")}
    for t in trials([lines]):
        if t["variant"] == "distance":
            x, value = shown[t["id"]]
            assert x == t["parameters"]["distance"] and value == t["metrics"][0]["value"]
    assert "line of 64 B, reported" in {r.get("label") for r in rows}


def test_every_flagged_trial_is_marked(whole: Whole) -> None:
    folder, page, lines = whole
    drawn = "".join(p.read_text(encoding="utf-8") for p in folder.glob("report-pictures/*.svg"))
    flagged = [t for t in trials([lines]) if t["status"] != "ok"]
    assert {t["status"] for t in flagged} == set(FLAGS)
    for trial in flagged:
        assert trial["reasons"][0] in page.text
        assert f" {trial['status']}" in drawn


def of_sharing(lines: list[Line]) -> list[claims.Told]:
    db = database.tables(of_lines(lines))
    return claims.told(description.of(db, "sharing"), database.measured(db, "sharing"))


def paired(lines: list[Line]) -> list[Line]:
    """A copy in which each ratio names the padded trial that was sampled in turn with its own."""
    found = copy.deepcopy(lines)

    def like(trial: Line) -> Any:
        of = {k: v for k, v in trial["parameters"].items() if k != "layout"}
        return trial["variant"], trial["threads"], tuple(sorted(of.items()))

    layout = [(like(t), t["parameters"].get("layout"), t["id"]) for t in trials([found])]
    padded = {of: i for of, kind, i in layout if kind == "padded"}
    for trial in trials([found]):
        for r in trial["ratios"]:
            r["trial"] = padded[like(trial)]
    return found


def test_what_sharing_costs_is_what_the_record_says(whole: Whole) -> None:
    _, page, given = whole
    lines = paired(given)
    ratios = {
        (t["id"], r["of"]): (r["value"], r["ci"]) for t in trials([lines]) for r in t["ratios"]
    }
    for claim, layout in zip(of_sharing(lines), ("dense", "shared")):
        assert claim["name"] == f"{layout}/padded" and len(claim["rows"]) == 3 + len(LOCKS)
        for row in claim["rows"]:
            assert row["setting"]["threads"] == "8"
            assert row["verdict"] == (AGREES if database.is_sound(row) else UNSURE)
            value, ends = ratios[row["trial"]["id"], layout]
            assert row["value"] == pytest.approx(value)
            assert (row["low"], row["high"]) == pytest.approx(tuple(ends))
    text = " ".join(page.text.split())
    conclusion = of_sharing(given)[0]["conclusion"]
    assert re.match(rf"agrees in \d of {3 + len(LOCKS)} settings \(", conclusion)
    said = "False sharing costs: words of different threads on one line."
    assert f"Published: {said} This run: {conclusion}." in text
    assert "9.00 to 21.0 (2x Xeon E5-2680 v3, 24 cores); 12.3 (2x Xeon" in text
    for slowdown in ("12.0", "14.0", "9.00", "21.0", "12.3", "31.9"):  # published
        assert slowdown in page.text


def test_claims_are_of_threads_with_a_cpu_each() -> None:
    lines = record(SMALL, sharing_points(SMALL, threads=(2, 4, 8)), RUN)
    for trial in trials([lines]):
        trial["oversubscribed"] = trial["threads"] == 8
    dense, _ = of_sharing(lines)
    assert {r["setting"]["threads"] for r in some(dense["rows"])} == {"4"}
    for trial in trials([lines]):
        trial["oversubscribed"] = True
    dense, _ = of_sharing(lines)
    assert {r["setting"]["threads"] for r in some(dense["rows"])} == {"8"}


def test_maps_hold_what_the_record_says(whole: Whole) -> None:
    _, page, lines = whole
    pairs = [t["pairs"] for t in trials([lines]) if t["pairs"]]
    assert len(pairs) == 8
    columns = list(page.rows("a", "b", "median"))
    assert len(columns) == len(pairs)
    for found, expected in zip(columns, pairs):
        cells = expected["cells"]
        assert (found["a"], found["b"]) == (cells["a"], cells["b"])
        for quantile, key in cpu_pairs.QUANTILES.items():
            assert found[key] == pytest.approx([v * 1e9 for v in cells[quantile]], rel=0.005)
    folder, _, _ = whole
    drawn = (folder / "report-pictures/core-to-core-1.svg").read_text(encoding="utf-8")
    assert len(re.findall(r'aria-roledescription="rect mark"|<path [^>]*fill="rgb', drawn)) >= 8 * 7


def test_levels_are_in_a_table(whole: Whole) -> None:
    _, page, lines = whole
    text = re.sub(r"\s+", " ", page.text)
    first, *_ = (t["pairs"]["levels"][0] for t in trials([lines]) if t["pairs"])
    expected = [units.quantity(first["meetings"][q], "s") for q in cpu_pairs.QUANTILES]
    medians = [units.quantity(first[q], "s") for q in ("0", "0.99")]
    row = f"an L3 cache12768{''.join(expected)}{' to '.join(medians)}"
    assert re.search(rf"ping-pong protocol compare-exchange, home 0 ?(▲\d+ \w+)?{row}", text)
    assert "the machine only16" in text
    assert (
        "CPUs that stand out among pairs that share a NUMA node, where 70.0 ns is usual: CPU 5 (105"
        " ns)." in text
    )
    assert (
        "Side by side with others, 8 pairs took 1.02 times as long as alone (median; at most 1.07):"
        " they don't disturb" in text
    )


def test_files_of_every_picture_are_there(whole: Whole) -> None:
    folder, page, _ = whole
    found = names(folder / "report-pictures")
    for what in (
        "sharing-1",
        "sharing-metrics-1",
        "sharing-distance",
        "core-to-core-1",
        "checkpoint",
        "checkpoint-metrics",
    ):
        assert f"{what}.svg" in found and f"{what}.png" in found
    assert len(found) == len(draw.KINDS) * len(page.specs)
    for svg in some(folder.glob("report-pictures/*.svg")):
        assert "NaN" not in svg.read_text(encoding="utf-8"), svg


# Records that lack something.


def test_older_records_have_no_ratios_and_no_pairs(tmp_path: Path) -> None:
    lines = record(SMALL, everything(SMALL), RUN)
    for trial in trials([lines]):
        del trial["ratios"], trial["pairs"]
        trial["metrics"] = [m for m in trial["metrics"] if m["name"] == "time"]
    page = make(tmp_path, lines)
    assert (
        "Ratios of sharing" not in page.text
        and "Latency by what the two CPUs share" not in page.text
    )
    # Times are there, so the claims are judged all the same; a trial without a map is a bar.
    assert "This run: differs in 6 of 6 settings." in page.text
    shown = {row["id"] for row in page.rows("id", "value")} - {None}  # published figures have no id
    assert shown == {t["id"] for t in trials([lines])}


@pytest.mark.parametrize("threads", [1, 2])
def test_one_number_of_threads_makes_bars(tmp_path: Path, threads: int) -> None:
    two = Machine("two", "a machine", cpu_nodes=1, cores=threads)
    points = sharing_points(two, threads=(threads,)) + (
        core_to_core_points(two) if threads > 1 else []
    )
    lines = record(two, points + checkpoint_points(two, threads=(threads,)), RUN)
    page = make(tmp_path, lines)
    shown = {row["id"] for row in page.rows("id", "value")} - {None}  # published figures have no id
    assert shown == {t["id"] for t in trials([lines])}
    made = {
        re.sub(r"-\d+(?=\.)", "", name)
        for name in names(tmp_path / "report-pictures")
        if name.endswith("svg")
    }
    of_each = {f"{b}{kind}.svg" for b in ("sharing", "checkpoint") for kind in ("", "-values")}
    claimed_of = {"checkpoint-claims.svg", "sharing-claims.svg"}
    assert made == {*of_each, "sharing-ratios.svg", "steadiness.svg"} | (
        {"sharing-bars.svg", "core-to-core.svg", *claimed_of} if threads > 1 else set()
    )
    assert ("Published: Two threads are slow because" in page.text) == (threads > 1)


def test_what_could_not_be_measured_makes_a_page(tmp_path: Path) -> None:
    points = everything(SMALL)
    for p in points:
        p.status, p.reasons = "impossible", ["it needs at least two threads"]
    page = make(tmp_path, record(SMALL, points, RUN))
    own = sum(p.benchmark == "checkpoint" for p in points)
    assert f"No result: of {own} trials, {own} impossible." in page.text
    assert "Published: " not in page.text
    assert f"{len(points)} impossible" in page.text


def test_several_runs_have_each_their_own(tmp_path: Path) -> None:
    runs = [
        record(
            machine,
            distances("add", 2, PAIR) + checkpoint_points(machine, bodies=("loop",)),
            run_id(machine.host),
        )
        for machine in (ONE, TWO)
    ]
    page = make(tmp_path, *runs)
    for machine in (ONE, TWO):
        assert f"{machine.host}: Words that different threads update need 128 B" in page.text
        assert f"{machine.host}: Published: Two threads are slow because" in page.text
