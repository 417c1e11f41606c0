# SPDX-License-Identifier: Apache-2.0
"""The pages of sharing, core-to-core and checkpoint: the padding that a machine needs, maps,
tables, sentences."""

from __future__ import annotations

import copy
import random
import re
from itertools import chain
from pathlib import Path
from typing import Any, Optional

import pytest
from locus_analysis import __main__ as program
from locus_analysis.base import units
from locus_analysis.base.folders import LESSONS
from locus_analysis.insight import advice, claims, evidence, padding, run_variation
from locus_analysis.insight.evidence import AGREES, DIFFERS, IN_PART, UNSURE
from locus_analysis.page import generic
from locus_analysis.pictures import cpu_pairs, draw
from locus_analysis.pictures.charts import INK
from locus_analysis.pictures.sweeps import Scene
from locus_analysis.records import database, description, published
from make_records import (
    DISTANCES,
    FLAGS,
    FOUR,
    LOCKS,
    ONE,
    STATES,
    TWO,
    Line,
    Machine,
    Point,
    distances,
    flag,
    header,
    of_lines,
    record,
    run_id,
    write,
)
from make_records import checkpoint as checkpoint_points
from make_records import coherence as coherence_points
from make_records import core_to_core as core_to_core_points
from make_records import sharing as sharing_points
from some import some
from test_report import Page, make, names, trials

GOOD = 0
RUN = run_id("a")


def told(lines: list[Line], benchmark: str = "sharing") -> list[Any]:
    brief = [line for line in lines if line["type"] != "samples"]
    given = of_lines(brief)
    return run_variation.of_time(database.tables(given), benchmark)


# Padding.


def curve(
    relative: dict[int, float], width: float = 0.005, noise: float = 0.0, seed: int = 1
) -> list[Any]:
    """Points with these times (ns) by distance, and intervals of that width; `noise` moves the
    values."""
    rng, points = random.Random(seed), []
    for distance, time in relative.items():
        value = time * 1e-9 * (1 + rng.uniform(-noise, noise))
        points.append(
            {
                "distance": distance,
                "value": value,
                "low": value * (1 - width),
                "high": value * (1 + width),
            }
        )
    return points


def line_of(size: int, slow: float = 4.0) -> dict[int, float]:
    return {d: slow if d < size else 1.0 for d in DISTANCES}


PAIR = {**line_of(64), 64: 1.3, 96: 1.3}


@pytest.mark.parametrize(
    ("relative", "least"),
    [
        (line_of(64), 64),
        (line_of(64, slow=1.08), 64),
        (PAIR, 128),
        (line_of(128), 128),
        ({**line_of(64), 64: 1.04}, 64),  # too small a difference to matter
        ({**line_of(64), 16: 1.0}, 64),  # a single fast point below the line does not count
        ({**PAIR, 4096: 0.97}, 128),
        ({64: 1.3, 128: 1.0, 256: 1.0, 512: 1.0, 4096: 1.0}, 128),  # no distance within a line
    ],
)
def test_the_padding_is_found(relative: dict[int, float], least: int) -> None:
    found = padding.needed(curve(relative))
    assert (found.least, found.sure, found.why, found.remarks) == (least, least, "", [])


@pytest.mark.parametrize("least", [64, 128])
@pytest.mark.parametrize("seed", range(50))
def test_noise_within_the_intervals_moves_nothing(least: int, seed: int) -> None:
    relative = line_of(64) if least == 64 else PAIR
    found = padding.needed(curve(relative, width=0.02, noise=0.02, seed=seed))
    assert found.least == least
    assert found.sure is None or found.sure >= least


@pytest.mark.parametrize("at", [512, 1024, 4096])
def test_one_odd_distance_is_told_and_moves_nothing(at: int) -> None:
    found = padding.needed(curve({**PAIR, at: 1.5}))
    assert found.least == 128
    assert len(found.remarks) == 1 and re.search(
        "stands out: 1.50 times the far end", found.remarks[0]
    )


def test_two_odd_distances_are_no_accident() -> None:
    assert padding.needed(curve({**PAIR, 256: 1.5, 512: 1.5})).least == 1024


@pytest.mark.parametrize(
    ("relative", "width", "why"),
    [
        (
            {d: 100 / (i + 1) for i, d in enumerate(DISTANCES)},
            0.005,
            "the curve still falls at its end, 4 KiB",
        ),
        (dict.fromkeys(DISTANCES, 1.0), 0.005, "no distance is slower than the far end"),
        (line_of(64, slow=1.2), 0.2, "the intervals are too wide"),
        ({4: 4.0, 64: 1.0, 128: 1.0, 256: 1.0}, 0.005, "4 distances are too few, 5 are the least"),
        ({}, 0.005, "0 distances are too few, 5 are the least"),
    ],
)
def test_where_there_is_none_to_be_found_it_says_why(
    relative: dict[int, float], width: float, why: str
) -> None:
    found = padding.needed(curve(relative, width))
    assert (found.least, found.why) == (None, why)


def test_a_doubtful_distance_is_told() -> None:
    points = curve(PAIR)
    for p in points[5:7]:  # 64 and 96 B: 1.3 times as long as at the far end, or no longer
        p.update(low=0.9e-9, high=1.7e-9)
    found = padding.needed(points)
    assert (found.least, found.sure) == (64, 128)
    assert padding.said(found) == "64 B (found 48..64 B), or to be sure 128 B"
    assert not found.is_certain


def test_a_doubt_about_the_far_end_is_no_distance_to_keep() -> None:
    """The far end is the level that all are held against: 4 KiB would be no padding, but noise."""
    points = curve(line_of(64))
    for p in points[5:-1]:  # from 64 B to 2 KiB
        p["high"] = 1.2 * p["value"]
    found = padding.needed(points)
    assert (found.least, found.sure) == (64, None)
    assert padding.said(found).startswith("64 B or more")


def test_without_intervals_values_count() -> None:
    points: list[Any] = [{**p, "low": None, "high": None} for p in curve(PAIR)]
    found = padding.needed(points)
    assert (found.least, found.sure) == (128, None)
    assert padding.said(found) == (
        "128 B or more (found 96..128 B; intervals are too wide, or lacking, to be sure)"
    )
    assert found.remarks == ["13 of 13 distances have no interval, and count as if they were exact"]


@pytest.mark.parametrize(
    ("relative", "line", "words"),
    [
        (line_of(64), 64, "that is one line of 64 B, as the system reports it"),
        (PAIR, 64, "that is two lines of 64 B, as the system reports it: a line is not enough"),
        (line_of(128), 64, "that is two lines of 64 B"),
        (line_of(128), 128, "that is one line of 128 B"),
        (line_of(64), 128, "that is less than a line of 128 B"),
        (line_of(256), 64, "that is 4 lines of 64 B"),
        (PAIR, None, "the system does not report the size of a line"),
    ],
)
def test_it_is_held_against_the_line_that_is_reported(
    relative: dict[int, float], line: Optional[int], words: str
) -> None:
    lines = record(ONE, distances("add", 2, line_of(32)) + distances("fetch-add", 8, relative), RUN)
    for cache in lines[0]["machine"]["topology"]["caches"]:
        cache["line"] = line
    given = of_lines(lines)
    text = padding.text(database.tables(given))
    # The curve that needs most decides.
    assert f"on this machine (fetch-add, 8 threads); {words}" in text
    assert "  add, 2 threads: 32 B (found 16..32 B)" in text


def test_levels_tells_the_padding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    points = flag(distances("fetch-add", 2, PAIR), every=1)
    path = write(tmp_path / "a.jsonl", record(ONE, points, RUN))
    assert program.main(["levels", str(path)]) == GOOD
    out = capsys.readouterr().out
    assert "no curve" not in out
    assert (
        "padding: Words that different threads update need 256 B (found 16..256 B; 32 B misplaced,"
        in out
    )
    assert "less may do: one line is 64 B, as the system reports it" in out
    left = "8 B noisy, 32 B misplaced, 48 B wrong, 64 B impossible, 96 B failed, 128 B interrupted"
    assert f"left out: {left}\n" in out
    assert "1 of 7 distances are unconverged" in out


def test_a_padding_out_of_noise_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    points = distances("fetch-add", 2, PAIR)
    for p in points[2:]:
        p.status, p.reasons = "noisy", ["93 % of its samples were disturbed"]
    path = write(tmp_path / "a.jsonl", record(ONE, points, RUN))
    assert program.main(["levels", str(path)]) == GOOD
    out = capsys.readouterr().out
    assert (
        "cannot be found: 11 of 13 distances left out: noisy: with nothing else running: locus"
        " sharing --variant distance --time-budget 5min" in out
    )


def left_out(status: str, *lost: int) -> padding.Finding:
    """The finding where these distances have that status."""
    points = distances("fetch-add", 2, PAIR)
    for p in points:
        if p.parameters["distance"] in lost:
            p.status, p.reasons = status, ["so it is"]
    (found,) = padding.findings(told(record(ONE, points, RUN)))
    return found


@pytest.mark.parametrize("status", ["noisy", "bimodal", "interrupted", "wrong"])
def test_a_distance_that_was_left_out_keeps_the_answer_open(status: str) -> None:
    """128 B is only the upper end of a gap: no prefetcher follows from it."""
    found = left_out(status, 64, 96)
    assert (found.padding.low, found.padding.least) == (48, 128)
    assert not found.padding.is_certain and found.padding.sure == 128
    assert found.said == f"128 B (found 48..128 B; 64 B, 96 B {status})"
    text = padding.verdict([found], advice.Place(LINES_OF_64))
    assert "less may do: one line is 64 B" in text and "prefetcher" not in text


LINES_OF_64: Any = {
    "topology": {"allowed": "0-3", "nodes": [{}], "caches": [{"type": "data", "line": 64}]},
    "memory": {"available": None},
    "cgroup": None,
}


def test_a_narrow_bracket_is_certain() -> None:
    found = left_out("noisy", 4)
    assert found.padding.is_certain and found.said == "128 B (found 96..128 B)"
    assert not left_out("noisy", 96).padding.is_certain  # it lies within 64..128
    wide = padding.needed(curve({d: t for d, t in PAIR.items() if d != 96}))
    assert (wide.low, wide.least, wide.is_certain) == (64, 128, False)


def test_levels_without_any_curve_says_what_to_measure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "a.jsonl", record(ONE, checkpoint_points(ONE)[:4], RUN))
    assert program.main(["levels", str(path)]) == GOOD
    assert "locus sharing --variant distance" in capsys.readouterr().out


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
    """A copy in which each ratio names the padded trial that its own was sampled beside."""
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


def test_one_pair_says_nothing_of_how_pairs_differ() -> None:
    two = Machine("two", "a machine", cpu_nodes=1, cores=2)
    (level,) = cpu_pairs.tables(
        told(record(two, core_to_core_points(two)[:1], RUN), "core-to-core")
    )[0]["levels"]
    assert (level["pairs"], level["meetings"], level["medians"]) == (1, 64, None)
    known = [q for q in level["quantiles"] if q is not None]
    assert known == sorted(known) and len(set(known)) == 5


def test_older_records_know_pairs_alone() -> None:
    lines = record(SMALL, core_to_core_points(SMALL)[:1], RUN)
    expected = []
    for level in trials([lines])[0]["pairs"]["levels"]:
        del level["meetings"]
        expected.append((None, [None] * 5, (level["0"], level["0.99"])))
    levels = cpu_pairs.tables(told(lines, "core-to-core"))[0]["levels"]
    assert [
        (level["meetings"], level["quantiles"], level["medians"]) for level in levels
    ] == expected


def test_pairs_along_a_curve_have_maps_curves_and_ratios(tmp_path: Path) -> None:
    points = coherence_points(SMALL)
    page = make(tmp_path, record(SMALL, points, RUN))
    assert {f"coherence-map-{i}" for i in range(1, len(points) + 1)} < {*page.figures}
    drawn = page.specs[page.figures.index("coherence")]
    rows = [r for own in drawn["datasets"].values() for r in own if r.get("id")]
    assert {r["series"][2:] for r in rows} == {*STATES} and len(rows) == len(points)
    assert "coherence-ratios-slowdown" in page.figures
    text = re.sub(r"\s+", " ", page.text)
    assert "load state modified, lines 256" in text
    assert "of lines that the other thread has modified, against lines it has only loaded" in text


def test_one_pair_along_a_curve_has_no_map(tmp_path: Path) -> None:
    two = Machine("two", "a machine", cpu_nodes=1, cores=2)
    page = make(tmp_path, record(two, coherence_points(two), RUN))
    assert "coherence" in page.figures
    assert not [name for name in page.figures if "map" in name or "bars" in name]


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


# Records of which something is missing.


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
    shown = {row["id"] for row in page.rows("id", "value")} - {None}  # published figures have none
    assert shown == {t["id"] for t in trials([lines])}


@pytest.mark.parametrize("threads", [1, 2])
def test_one_number_of_threads_makes_bars(tmp_path: Path, threads: int) -> None:
    two = Machine("two", "a machine", cpu_nodes=1, cores=threads)
    points = sharing_points(two, threads=(threads,)) + (
        core_to_core_points(two) if threads > 1 else []
    )
    lines = record(two, points + checkpoint_points(two, threads=(threads,)), RUN)
    page = make(tmp_path, lines)
    shown = {row["id"] for row in page.rows("id", "value")} - {None}  # published figures have none
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


# Core to core.


def test_cpus_are_in_the_order_of_the_machine() -> None:
    # Two nodes, whose CPUs are numbered in turn; SMT siblings are 8 apart; two cores share an L2.
    cpus = range(16)
    cells: Any = {"a": [], "b": [], "level": []}
    for a in cpus:
        for b in range(a + 1, 16):
            core_a, core_b = a % 8, b % 8
            level = (
                "SMT"
                if core_a == core_b
                else "machine"
                if a % 2 != b % 2
                else "L2"
                if core_a // 4 == core_b // 4
                else "L3"
            )
            for key, value in {"a": a, "b": b, "level": level}.items():
                cells[key].append(value)
    nodes = [{"node": n, "cpus": [c for c in cpus if c % 2 == n]} for n in (0, 1)]
    machine: Any = {"topology": {"nodes": nodes}}
    order, borders = cpu_pairs.in_order(cells, machine)
    assert order == [0, 8, 2, 10, 4, 12, 6, 14, 1, 9, 3, 11, 5, 13, 7, 15]
    assert borders == [8]


def test_what_is_not_told_of_nodes_makes_no_borders() -> None:
    pairs = core_to_core_points(SMALL)[0].pairs
    assert pairs
    machine: Any = {"topology": {"nodes": []}}
    order, borders = cpu_pairs.in_order(pairs["cells"], machine)
    assert (order, borders) == (list(range(8)), [])


def test_a_map_of_many_cores_stays_usable(tmp_path: Path) -> None:
    big = Machine("big", "a machine", cpu_nodes=4, cores=32)
    points = core_to_core_points(big, odd=(77,), protocols=("message",))[:1]
    page = make(tmp_path, record(big, points, RUN))
    spec = next(s for s in page.specs if "usermeta" in s)
    assert spec["usermeta"] == {"embedOptions": {"renderer": "canvas"}}
    svg, png = (
        (tmp_path / f"report-pictures/core-to-core.{kind}").read_bytes() for kind in ("svg", "png")
    )
    assert b"data:image/png;base64," in svg and svg.count(b"<") < 10
    assert len(svg) < 2 * len(png) and len(png) < 1 << 20
    # All pairs of 128 CPUs, with five quantiles each, are one row of columns, not a row for each.
    (columns,) = page.rows("a", "b", "median")
    assert len(columns["a"]) == 128 * 127 // 2
    assert len((tmp_path / "report.html").read_bytes()) < 4 << 20


def test_a_pair_far_below_the_others_can_be_read(tmp_path: Path) -> None:
    """It is as bright as the end of the scale, so its text must not be."""
    machine = Machine("n16", "a machine", cpu_nodes=1, cores=16)
    points = core_to_core_points(machine, protocols=("message",))
    assert points[0].pairs
    points[0].pairs["cells"]["0.5"][0] = 1.23e-9
    make(tmp_path, record(machine, points, RUN))
    svg = (tmp_path / "report-pictures/core-to-core.svg").read_text(encoding="utf-8")
    assert re.findall(r'fill="([^"]+)"[^>]*>1.23</text>', svg) == [INK] * 2


def test_more_cells_than_a_page_can_take_are_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_pairs, "CELLS", 5 * 8 * 8)
    own = told(record(SMALL, core_to_core_points(SMALL), RUN), "core-to-core")
    machine = header(SMALL, RUN, random.Random(1))["machine"]
    drawn = cpu_pairs.maps(own, machine, "core-to-core", "core-to-core")
    # Each protocol on the first node, and as many on the second as there is room for.
    assert [p.title.split(": ")[1] for p in drawn] == [
        "ping-pong protocol compare-exchange, home 0",
        "ping-pong protocol compare-exchange, home 1",
        "ping-pong protocol store-load, home 0",
        "ping-pong protocol two-lines, home 0",
        "ping-pong protocol message, home 0",
    ]
    assert len({p.name for p in drawn}) == 5
    assert set(some(i for p in drawn for i in p.shows)) < {t["id"] for t in own}


def test_many_cpus_that_stand_out_are_not_all_named() -> None:
    pairs: Any = {
        "outstanding": [
            {"cpu": c, "level": "L3", "median": (50 + c) * 1e-9, "of": 45e-9} for c in range(20)
        ]
    }
    text = cpu_pairs.outstanding(pairs)
    assert text.startswith(
        "CPUs that stand out among pairs that share an L3 cache, where 45.0 ns is usual: CPU 19"
        " (69.0 ns), "
    )
    assert text.endswith("and 8 more.")
    pairs["outstanding"] = []
    assert cpu_pairs.outstanding(pairs) == ""


@pytest.mark.parametrize(
    ("crowding", "end"),
    [
        ({"pairs": 8, "median": 1.02, "most": 1.05}, ": they don't disturb each other."),
        ({"pairs": 8, "median": 1.02, "most": 1.3}, "(median; at most 1.30)."),
        (
            {"pairs": 1, "median": 1.5, "most": 1.5},
            "and times there are longer than those of one pair alone.",
        ),
        (None, ""),
    ],
)
def test_crowding_is_said(crowding: Optional[Line], end: str) -> None:
    pairs: Any = {"levels": [], "crowding": crowding}
    assert cpu_pairs.crowding(pairs).endswith(end)


# The published explanation of checkpoint.


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
    """By name, the rows of those claims of checkpoint that these trials can judge."""
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
    # That `quadwords` gains over `together` is known all the same.
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
    # A curve that ends before their number of threads is not extended to it.
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
