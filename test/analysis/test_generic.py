# SPDX-License-Identifier: Apache-2.0
"""An unknown benchmark, or a new variant, has a page as good as any: everything drawn follows from
the benchmark's line in the record."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from locus_analysis.insight import plugins
from locus_analysis.page import ratio_pictures
from locus_analysis.pictures import axes, curves, drift
from locus_analysis.pictures.render import SVG
from locus_analysis.records import database, description, published
from locus_analysis.records.rows import Mark
from make_records import (
    BENCHMARKS,
    ONE,
    TWO,
    Line,
    Point,
    as_written,
    checkpoint,
    of_lines,
    record,
    run_id,
)
from pages import Page, make, trials
from some import some

RUN = run_id("a")


def parameter(name: str, **changes: Any) -> Line:
    plain: Line = {"type": "count", "unit": None, "choices": [], "curve": False, "output": False}
    return {"name": name, **plain, "help": f"what {name} is", **changes}


def bare(load: int, threads: int) -> dict[str, tuple[str, float]]:
    """Metrics without a unit, up to 1: a share, a count, and one that never changes."""
    return {"kept": ("1", 0.25 * threads), "turns": ("1", 1 / load), "lost": ("1", 0.0)}


def unknown() -> list[Line]:
    """A run of a benchmark that the analysis has never heard of: two variants and a curve, two
    kinds, two numbers of threads; five metrics: a share, a count, a distribution; a ratio."""
    points = [
        Point(
            "novel",
            variant,
            {"load": load, "kind": kind},
            threads,
            seconds=1e-6 * load * (2 if variant == "slow" else 1) / threads,
            unit="job",
            bind="close",
            others={"throughput": ("job/s", 1e6 / load), **bare(load, threads)},
            ratios=[("variant", "slow", "fast", 1e-6 * load / threads)] * (variant == "slow"),
        )
        for variant in ("slow", "fast")
        for kind in ("round", "square")
        for threads in (1, 2)
        for load in (1, 2, 4, 8)
    ]
    lines = as_written(record(TWO, points, RUN))
    told = next(line for line in lines if line["type"] == "benchmark")
    told["parameters"] = [
        parameter("load", unit="jobs", curve=True),
        parameter("kind", type="choice", choices=["square", "round"]),
    ]
    told["ratios"] = [
        {
            **{"name": "slowdown", "parameter": "variant", "of": "slow", "to": "fast"},
            **{"metric": "time", "help": "what slowness costs"},
        }
    ]
    told["metrics"][0]["help"] = "wall time of a job"
    next(m for m in told["metrics"] if m["name"] == "turns")["kind"] = "count"
    spread = {
        "n": 1000,
        "quantiles": {"0.5": 1e-6, "0.9": 2e-6, "0.99": 5e-6, "0.999": 9e-6, "1": 2e-5},
        "buckets": [[100, 400, 600]],
    }
    for trial in trials([lines]):
        delay = 1e-6 * trial["parameters"]["load"]
        trial["metrics"]["delay"] = {"value": delay, "ci": [delay / 2, 2 * delay]}
        of = {"type": "distribution", "run": RUN, "trial": trial["id"], "metric": "delay"}
        lines.insert(lines.index(trial), {**of, **spread})
    told["metrics"].append(
        {**{"name": "delay", "unit": "s", "better": "lower"}, "kind": "distribution", "help": "it"}
    )
    return lines


@pytest.fixture(scope="module")
def novel(tmp_path_factory: pytest.TempPathFactory) -> tuple[Page, list[Line]]:
    lines = unknown()
    return make(tmp_path_factory.mktemp("novel"), lines), lines


def spec(page: Page, name: str) -> Any:
    return page.specs[page.figures.index(name)]


def titles(of: Any) -> set[str]:
    """The titles of a picture's panels."""
    return {p["title"]["text"] for p in of["vconcat"][0].get("concat", []) if p.get("title")}


def test_no_plugin_knows_it() -> None:
    assert "novel" not in plugins.REGISTERED and "dummy" not in plugins.REGISTERED
    assert published.lesson("novel") == {}


def test_its_curve_is_the_axis_variants_are_lines_and_the_rest_panels(
    novel: tuple[Page, list[Line]],
) -> None:
    page, lines = novel
    drawn = spec(page, "novel")
    assert titles(drawn) == {
        f"kind {kind}, {n} thread{'s' * (n > 1)}" for kind in ("square", "round") for n in (1, 2)
    }
    rows = [r for own in drawn["datasets"].values() for r in own if r.get("id")]
    of = {t["id"]: t for t in trials([lines])}
    assert {r["id"] for r in rows} == set(of)
    for r in rows:
        assert r["series"][2:] == of[r["id"]]["variant"]
        assert r["x"] == pytest.approx(of[r["id"]]["parameters"]["load"], rel=0.05)
        metric = of[r["id"]]["metrics"]["time"]
        assert (r["value"], r["low"], r["high"]) == (metric["value"], *metric["ci"])
    assert "wall time of a job" in " ".join(drawn["title"]["subtitle"])


def test_every_metric_is_drawn_a_share_in_percent(novel: tuple[Page, list[Line]]) -> None:
    page, _ = novel
    drawn = [s for s, name in zip(page.specs, page.figures) if name.startswith("novel-metrics")]
    said = {title.split(",")[0] for s in drawn for title in titles(s)}
    assert said == {"throughput", "kept", "turns", "delay"}
    texts = {r["text"] for s in drawn for own in s["datasets"].values() for r in own if "text" in r}
    assert {"25 %", "50 %", "1.00"} <= texts and "100 %" not in texts


def test_what_never_changes_is_a_sentence(novel: tuple[Page, list[Line]]) -> None:
    page, _ = novel
    assert "The same in all trials that have it: lost 0 %." in page.text


def test_ratios_and_distributions_have_their_pictures(novel: tuple[Page, list[Line]]) -> None:
    page, lines = novel
    ratios = [r for t in trials([lines]) for r in t.get("ratios", [])]
    drawn = spec(page, "novel-ratios-slowdown")
    values = [r["value"] for own in drawn["datasets"].values() for r in own if r.get("id")]
    assert sorted(values) == pytest.approx(sorted(r["value"] for r in ratios))
    assert "what slowness costs" in str(drawn["title"]["subtitle"])
    quantiles = spec(page, "novel-quantiles-delay")
    shown = {r["value"] for own in quantiles["datasets"].values() for r in own if "trial" in r}
    assert shown == {1e-6, 2e-6, 5e-6, 9e-6, 2e-5}


def test_its_sentence_and_its_tables_are_there(novel: tuple[Page, list[Line]]) -> None:
    page, lines = novel
    assert "slowdown what slowness costs: slow/fast 2.0" in page.text
    for t in trials([lines]):
        for r in t.get("ratios", []):
            assert f"{r['value']:.2f}" in page.text
    assert "throughput" in page.text and "All values of novel" in page.text


def test_threads_alone_make_a_scaling_plot(tmp_path: Path) -> None:
    points = [
        Point("novel", v, {}, n, seconds=1e-6 / n, unit="job", bind="close")
        for v in ("slow", "fast")
        for n in (1, 2, 4)
    ]
    drawn = spec(make(tmp_path, record(TWO, points, RUN)), "novel")
    xs = {round(r["x"]) for own in drawn["datasets"].values() for r in own if r.get("id")}
    assert xs == {1, 2, 4} and "threads" in str(drawn["vconcat"][0])


@pytest.mark.parametrize(
    ("slow", "fast", "dashes", "said"),
    [
        ("thp", "thp", {"solid"}, ""),
        ("base", "base", {"solid"}, ""),
        ("base", "thp", {"solid", "dashed"}, "Dashed: transparent huge pages."),
        ("2M", "thp", {"dotted", "dashed"}, "Dashed: transparent huge pages; dotted: 2 MiB pages."),
    ],
)
def test_dashes_of_pages_are_told(
    tmp_path: Path, slow: str, fast: str, dashes: set[str], said: str
) -> None:
    """Lines are dashed only where this distinguishes them, and the picture explains it."""
    points = [
        Point("novel", v, {"pages": pages}, n, seconds=1e-6 / n, unit="job", bind="close")
        for v, pages in (("slow", slow), ("fast", fast))
        for n in (1, 2, 4)
    ]
    drawn = spec(make(tmp_path, record(TWO, points, RUN)), "novel")
    rows = [r for own in drawn["datasets"].values() for r in own if r.get("id")]
    help_text = " ".join(drawn["title"]["subtitle"])
    assert {r["dash"] for r in rows} == dashes
    assert said in help_text and ("Dashed" in help_text) == bool(said)


@pytest.mark.parametrize(
    ("flagged", "said"),
    [(0, ""), (1, "samples of 1 flagged trial."), (30, "samples of 30 flagged trials.")],
)
def test_a_drift_counts_flagged_trials(flagged: int, said: str) -> None:
    marks: Any = [
        {**dict.fromkeys(Mark.__annotations__), "flag": n, "least": 1.0, "greatest": 1.1}
        for n in range(1, flagged + 1)
    ] or [{**dict.fromkeys(Mark.__annotations__)}]
    drawn = json.dumps(drift.drift(marks, "steadiness", "Drift").spec)
    assert said in drawn and ("Hollow" in drawn) == bool(said)


def test_lines_drawn_side_by_side_have_the_ticks_of_their_threads(tmp_path: Path) -> None:
    """The line farthest to the right is drawn at 16.8 threads."""
    points = checkpoint(ONE, threads=(1, 4, 16))
    drawn = spec(make(tmp_path, record(ONE, points, RUN)), "checkpoint")
    assert max(r["x"] for own in drawn["datasets"].values() for r in own if r.get("id")) > 16.5
    assert '"values": [1.0, 2.0, 4.0, 16.0]' in json.dumps(drawn)  # 2: published


def test_flagged_points_keep_the_look_of_their_line(tmp_path: Path) -> None:
    """Hollow, in the colour and shape of their line; only the text on hover says what is wrong."""
    points = [
        Point("novel", v, {}, n, seconds=near * 1e-6 / n, unit="job", bind="close")
        for v, near in (("slow", 2.0), ("fast", 1.0), ("best", 3.0))
        for n in (1, 2, 4)
    ]
    for p in points:
        p.status, p.reasons = "noisy", ["others ran"]
    drawn = make(tmp_path, record(TWO, points, RUN)).pictures / "novel.svg"
    svg = ElementTree.parse(drawn)
    shown = [p for p in svg.iter(f"{SVG}path") if p.find(f"{SVG}title") is not None]
    assert len(shown) == len(points)
    texts = "".join(t for e in svg.iter(f"{SVG}text") for t in e.itertext())
    assert "Hollow: 9 noisy" in texts and "▲" not in texts and "others ran" not in texts
    assert all("noisy: others ran" in str(p.findtext(f"{SVG}title")) for p in shown)
    assert len({p.get("stroke") for p in shown}) == 3


def test_a_variant_of_checkpoint_that_is_new_is_in_its_curve(tmp_path: Path) -> None:
    """It must not be left out silently."""
    points = checkpoint(ONE, bodies=("loop",))
    points += [
        Point(
            "checkpoint", "sharded", p.parameters, p.threads, p.seconds * 0.9, "tick", bind="close"
        )
        for p in points
        if p.variant == "apart"
    ]
    lines = record(ONE, points, RUN)
    page = make(tmp_path, lines)
    rows = [r for own in spec(page, "checkpoint")["datasets"].values() for r in own]
    own = {t["id"] for t in trials([lines]) if t["variant"] == "sharded"}
    assert len(own) == 4 and own <= {r.get("id") for r in rows}
    labels = [str(r.get("line")).split(" = ") for r in rows]  # of lines; some lie on each other
    assert {"sharded", "apart", "together"} <= {name for label in labels for name in label}


def test_what_the_program_says_is_what_made_up_records_say(tmp_path: Path) -> None:
    """Synthetic records are made from benchmarks.json, which must equal what the program writes."""
    program = os.environ.get("LOCUS")
    if not program:
        pytest.skip("no program was built")
    listed = subprocess.run([program, "list"], check=True, capture_output=True, text=True).stdout
    assert {line.split()[0] for line in listed.splitlines()} == {*BENCHMARKS}
    for name, told in BENCHMARKS.items():
        path = tmp_path / f"{name}.jsonl"
        subprocess.run(
            [program, name, f"--output={path}", "--time-budget=1ms", "--quiet"],
            check=False,
            capture_output=True,
        )
        lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        said = next(line for line in lines if line["type"] == "benchmark")
        assert {key: said[key] for key in told} == told, name


def test_what_one_variant_alone_has_tells_its_lines_apart() -> None:
    points = [
        Point("novel", "plain", {}, n, seconds=1e-6, unit="job", bind="close") for n in (1, 2)
    ] + [
        Point("novel", "best", {"way": way}, n, seconds=1e-6, unit="job", bind="close")
        for way in ("this", "that")
        for n in (1, 2)
    ]
    db = database.tables(of_lines(record(ONE, points, RUN)))
    of, own = description.of(db, "novel"), database.measured(db, "novel")
    ((x, groups),) = description.curved(of, own)
    assert x == "threads" and len(groups) == 1
    lines = description.lines(of, groups[0].trials, own)
    assert [line.name for line in lines] == ["plain", "best, that", "best, this"]
    assert ratio_pictures.result(of, own) is None


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ([{"v": "a", "load": "1"}, {"v": "a", "load": "2"}, {"v": "b"}], ["v", "load"]),
        ([{"v": "a", "load": "1"}, {"v": "b"}], ["v"]),
        ([{"v": "a", "load": "1"}, {"v": "a"}], ["load"]),  # else the two would be the same
    ],
)
def test_a_constant_that_some_lack_is_not_told(
    settings: list[description.Setting], told: list[str]
) -> None:
    assert description.differing(settings) == told


@pytest.mark.parametrize(
    ("values", "least"),
    [
        ([(0.0, -0.01, 0.02), (0.5, 0.4, 0.6)], 0),  # shares
        ([(0.0, -1.0, 2.0), (5.0, 4.0, 6.0)], 0),  # counts
        ([(-0.2, -0.3, -0.1), (0.5, 0.4, 0.6)], -1),
        ([(-2.0, -3.0, -1.0), (5.0, 4.0, 6.0)], -1),
    ],
)
def test_an_axis_of_counts_or_shares_begins_below_zero_only_with_a_value(
    values: list[tuple[float, float, float]], least: int
) -> None:
    """An interval that extends below zero does not count."""
    lines = record(TWO, checkpoint(ONE, threads=(1,)), RUN)
    of = description.of(database.tables(of_lines(lines)), "checkpoint")
    axis = axes.y_axis(of, "kept", [{"value": v, "low": a, "high": b} for v, a, b in values])
    assert (axis.domain[0] < 0) == (least < 0) and (axis.domain[0] == 0) == (least == 0)
    assert all(tick >= axis.domain[0] for tick in some(axis.ticks))


def test_lines_that_lie_on_each_other_share_a_label() -> None:
    axis = axes.Axis("time", (1.0, 100.0), [1.0, 10.0, 100.0], "datum.value")

    def line(name: str, *values: float) -> curves.Series:
        rows = [curves.bare(10.0**x, value) for x, value in enumerate(values)]
        return curves.Series(name, "#000000", "circle", "solid", rows)

    own = [
        line("forward, system pages", 2, 50),
        line("random, system pages", 80, 50),  # meets the first at its end only
        line("forward, huge pages", 2.001, 50.1),
        line("", 2, 50),
    ]
    panel = curves.Panel("", axis, axis, own)
    groups = [[one.name for one in group] for group in curves.together(panel)]
    assert groups == [
        ["forward, system pages", "forward, huge pages"],
        ["random, system pages"],
    ]
    assert curves.joint(groups[0]) == "forward, system pages = huge pages"
    assert curves.joint(["a", "b"]) == "a = b" and curves.joint(["a, b"]) == "a, b"
