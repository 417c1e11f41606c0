# SPDX-License-Identifier: Apache-2.0
"""The report: all trials are there, flagged ones are marked, and the page needs no other file."""

from __future__ import annotations

import random
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any, Optional

import pytest
import vl_convert
from locus_analysis.base import glossary, units
from locus_analysis.page import report
from locus_analysis.pictures import charts, draw
from locus_analysis.pictures import vega_lite as vl
from make_records import (
    FLAGS,
    MACHINES,
    ONE,
    TWO,
    Line,
    Point,
    flag,
    header,
    machine_record,
    measure,
    numa,
    record,
    run_id,
)
from pages import HOSTILE, Page, make, names, trials
from some import some

SCALE = draw.SCALE  # before conftest makes it smaller


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Page, list[list[Line]]]:
    folder = tmp_path_factory.mktemp("report")
    runs = [machine_record(name) for name in MACHINES]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draw, "SCALE", SCALE)
        return folder, make(folder, *runs), runs


Everything = tuple[Path, Page, list[list[Line]]]


def test_the_page_needs_nothing_else(everything: Everything) -> None:
    folder, page, _ = everything
    for link in page.loaded:
        assert link.startswith(("#", "data:image/png;base64,", "report-pictures/")), link
        if link.startswith("report-pictures/"):
            assert (folder / link).exists()
        if link.startswith("#"):
            assert link[1:] in page.ids
    assert "link" not in page.tags and "iframe" not in page.tags
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in text and "unsafe" not in text
    ((kind, script),) = page.scripts
    assert kind is None and f"script-src '{report.digest(script)}'" in text
    assert not re.search(r'<[^>]* (style|on\w+)="', text)


def test_pictures_are_there_as_files(everything: Everything) -> None:
    folder, page, _ = everything
    svgs, pngs = (
        sorted(folder.glob("report-pictures/*.svg")),
        sorted(folder.glob("report-pictures/*.png")),
    )
    assert [p.stem for p in svgs] == [p.stem for p in pngs]
    assert len(svgs) == len(page.specs) >= 3 * 4
    assert len(names(folder / "report-pictures")) == len(draw.KINDS) * len(svgs)
    for svg in svgs:
        pdf = svg.with_suffix(".pdf").read_bytes()
        assert pdf.startswith(b"%PDF-") and len(pdf) > 5000
    for svg in svgs:
        marks = [e for e in ElementTree.parse(svg).iter() if e.tag.endswith(("path", "text"))]
        assert len(marks) > 10, svg
        assert "NaN" not in svg.read_text(encoding="utf-8"), svg
    for png in pngs:
        head = png.read_bytes()[:24]
        assert head.startswith(b"\x89PNG")
        assert int.from_bytes(head[16:20], "big") > 200 and int.from_bytes(head[20:24], "big") > 200
        assert png.stat().st_size > 5000


def test_every_flagged_trial_is_marked_everywhere(everything: Everything) -> None:
    _, page, runs = everything
    flagged = [t for t in trials(runs) if t["status"] != "ok"]
    assert {t["status"] for t in flagged} == set(FLAGS)
    rows = list(page.rows("id", "flag", "value"))
    for trial in flagged:
        own = [r for r in rows if r["id"] == trial["id"] and r["status"] != "ok"]
        assert own, trial["identity"]
        assert all(
            r["flag"] is not None and trial["status"] in r.get("mark", r["text"]) for r in own
        )
        assert f"flaw-{own[0]['flag']}" in page.ids
        assert trial["reasons"][0] in page.text
    numbers = sorted(int(i[5:]) for i in page.ids if i.startswith("flaw-"))
    assert numbers == list(range(1, len(flagged) + 1))
    assert {r["flag"] for r in rows if r["status"] == "ok"} == {None}
    flags = some(r["flag"] for r in page.rows("moment") if r["status"] not in ("ok", "unfinished"))
    assert set(flags) <= set(numbers)


def test_the_page_says_what_its_words_mean(everything: Everything) -> None:
    """Not only on hover, and in the glossary's words."""
    _, page, _ = everything
    for status in FLAGS:
        assert f"{status}: {glossary.brief(status)}" in page.text
    assert f"certain: {glossary.terms()['certain']}" in page.text


def test_a_picture_alone_says_what_is_wrong_in_it(tmp_path: Path) -> None:
    make(tmp_path, record(ONE, flag(numa(ONE), every=1), run_id("a")))
    drawn = "".join(p.read_text(encoding="utf-8") for p in tmp_path.glob("report-pictures/*.svg"))
    for status, reason in FLAGS.items():
        assert status in drawn
        assert reason[:20] in drawn


def test_numbers_in_pictures_are_those_of_the_record(everything: Everything) -> None:
    _, page, runs = everything
    shown = [
        (r["id"], r["value"], r["low"], r["high"])
        for r in page.rows("id", "value", "low", "high")
        if "theirs" not in r  # ratios that are drawn beside published ones
    ]
    told = []
    for trial in trials(runs):
        metric = trial["metrics"][0]
        told.append((trial["id"], metric["value"], *(metric["ci"] or (None, None))))
    assert sorted(shown, key=repr) == sorted(told, key=repr)


def test_pages_in_pictures_are_those_of_the_record(everything: Everything) -> None:
    _, page, runs = everything
    shown = sorted((r["id"], r["node"], r["pages"]) for r in page.rows("node", "pages"))
    told = []
    for trial in trials(runs):
        if trial["placement"] and trial["variant"] != "matrix":
            after = trial["placement"]["after"]
            told += [(trial["id"], int(node), n) for node, n in after["on_node"].items() if n]
    assert shown == sorted(told)


def test_the_matrix_knows_its_nodes(everything: Everything) -> None:
    _, page, runs = everything
    cells = {(r["id"], r["threads_node"], r["memory_node"]) for r in page.rows("threads_node")}
    told = set()
    for lines in runs:
        only = {
            str(n["node"]) for n in lines[0]["machine"]["topology"]["nodes"] if n["memory_only"]
        }
        for trial in trials([lines]):
            if trial["variant"] == "matrix":
                threads = [int(n) > 0 for n in trial["parameters"]["from"].split("+")].index(True)
                memory = str(trial["parameters"]["to"])
                told.add(
                    (
                        trial["id"],
                        str(threads),
                        memory + (" (memory only)" if memory in only else ""),
                    )
                )
    assert cells == told
    assert any("memory only" in memory for _, _, memory in cells)


@pytest.mark.parametrize("bind", ["layout", "0-2,4"])
def test_nodes_of_unequal_size_are_in_one_matrix(tmp_path: Path, bind: str) -> None:
    """Each row has the threads of its node, however they were bound."""
    points = [
        Point(
            "numa",
            "matrix",
            {"size": 1 << 20, "from": row, "to": to},
            threads,
            seconds=0.01,
            bind=bind,
        )
        for row, threads in (("3+0", 3), ("0+1", 1))
        for to in (0, 1)
    ]
    page = make(tmp_path, record(TWO, points, run_id("a")))
    assert {r["threads_node"] for r in page.rows("threads_node")} == {"0", "1"}
    drawn = (tmp_path / "report-pictures/numa-matrix.svg").read_text(encoding="utf-8")
    assert ">matrix" in drawn and not re.search(r">matrix, threads \d", drawn)


def test_what_is_not_known_is_never_zero(tmp_path: Path) -> None:
    points = numa(ONE, kernels=("sum",))[:6]
    for point in points[:3]:
        point.status, point.reasons = "impossible", ["no such page here"]
    lines = record(ONE, points, run_id("a"))
    lines[0]["machine"]["topology"]["nodes"][0].update(memory=None, memory_why="not told")
    lines[-2]["placement"]["after"]["local_share"] = None
    for metric in lines[-2]["metrics"]:
        metric["ci"] = None
    page = make(tmp_path, lines)
    bare = [r for r in page.rows("id", "value", "end") if r["value"] is None]
    assert len(bare) == 3
    assert all(
        r["low"] is r["high"] is r["end"] is None and r["text"].startswith("no value") for r in bare
    )
    assert any("(no interval)" in r["text"] for r in page.rows("id", "value", "end"))
    assert any(r["text"] == "local share unknown" for r in page.rows("row", "text"))
    assert not re.search(r"(?<![\d.])0 (GB/s|B/s|ms|s/pass)", page.text)
    assert re.search(r"nodes\s*node 0, memory unknown \(not told\)", page.text)


def test_a_metric_that_a_good_trial_does_not_have_says_why(tmp_path: Path) -> None:
    lines = record(ONE, numa(ONE, kernels=("sum",))[:2], run_id("a"))
    trial = next(line for line in lines if line["type"] == "trial")
    trial["metrics"][0].update(
        value=None, ci=None, with_noise=None, why="not reported for this trial"
    )
    page = make(tmp_path, lines)
    assert [r["text"] for r in page.rows("id", "end") if r["value"] is None] == [
        "no value: not reported for this trial"
    ]


def test_both_modes_stand_where_there_is_no_single_value(tmp_path: Path) -> None:
    """A rate has the amount over the times of both modes, and no interval, which would be of a
    single value."""
    lines = record(ONE, numa(ONE, kernels=("sum",))[:2], run_id("a"))
    trial = next(line for line in lines if line["type"] == "trial")
    time = next(m["value"] for m in trial["metrics"] if m["name"] == "time")
    rate = next(m["value"] for m in trial["metrics"] if m["name"] == "bandwidth")
    trial.update(status="bimodal", reasons=["two"])
    trial["samples"].update(
        modes=[{"time": time / 2, "share": 0.625}, {"time": time, "share": 0.375}],
        modes_of="allocations",
    )
    page = make(tmp_path, lines)
    both = f"{2 * rate / 1e9:.3g} and {rate / 1e9:.3g} GB/s (62 % / 38 %)"
    assert page.text.count(both) == 2  # in the table of flaws, and in the table of all values
    assert page.text.count(f"{both}–") == 1
    assert page.text.count("(62 % / 38 %)") == 3  # and the time, another metric


def test_values_below_zero_are_drawn(tmp_path: Path) -> None:
    points = [
        Point(
            "dummy",
            variant,
            {"error": -0.5},
            1,
            seconds=0.01,
            amount=("error", "1", 1),
            bind="close",
        )
        for variant in "ab"
    ]
    lines = record(ONE, points, run_id("a"))
    for trial in trials([lines]):
        trial["metrics"][0].update(value=-0.5, ci=[-0.6, -0.4], better=None)
    page = make(tmp_path, lines)
    bars = [r for r in page.rows("id", "end", "first") if "column" not in r]
    assert [r["value"] for r in bars] == [-0.5, -0.5]
    assert "-0.50" in (tmp_path / "report-pictures/dummy.svg").read_text(encoding="utf-8")


def test_nothing_that_a_record_says_becomes_part_of_the_page(tmp_path: Path) -> None:
    points = flag(numa(ONE, kernels=("sum",))[:4], every=1)
    points[1].reasons = points[2].reasons = [HOSTILE]
    points[3].parameters["kernel"] = HOSTILE
    lines = record(ONE, points, run_id("a"), host=HOSTILE, command=[HOSTILE])
    lines[0]["machine"]["environment"]["OMP_X"] = HOSTILE
    plain = make(
        tmp_path / "plain", record(ONE, flag(numa(ONE, kernels=("sum",))[:4], every=1), run_id("a"))
    )
    page = make(tmp_path / "hostile", lines)
    assert page.tags.count("script") == plain.tags.count("script") == 1
    assert page.text.count(HOSTILE) >= 5
    assert all(
        re.fullmatch(r"[A-Za-z0-9_-]+\.(svg|png|pdf|vl\.json)", name)
        for name in some(names(tmp_path / "hostile/report-pictures"))
    )


def test_several_runs_of_one_host_are_told_apart(tmp_path: Path) -> None:
    points = numa(TWO, kernels=("sum",))
    runs = [
        record(TWO, points, run_id(str(i)), seed=i, started=f"2025-03-1{i}T00:00:00.000Z")
        for i in (1, 2)
    ]
    page = make(tmp_path, *runs)
    titles = [str(spec["title"]["text"]) for spec in page.specs]
    assert len(set(titles)) == len(titles)
    assert sum("2025-03-11" in t for t in titles) == sum("2025-03-12" in t for t in titles) > 0
    bars = [row for row in page.rows("id", "value", "low") if "theirs" not in row]
    assert len(bars) == 2 * len(points)


def test_folds_do_not_repeat_their_heading(tmp_path: Path) -> None:
    points = numa(TWO, kernels=("sum",))
    page = make(tmp_path / "one", record(TWO, points, run_id("a")))
    assert page.text.count("numa on n042") == 1 and "Published claims" in page.text  # h1
    other = record(ONE, numa(ONE, kernels=("sum",)), run_id("b"))
    both = make(tmp_path / "two", record(TWO, points, run_id("a")), other)
    assert "n042: published claims" in both.text and "cloud-7: published claims" in both.text


def test_many_benchmarks_are_a_number_in_the_heading(tmp_path: Path) -> None:
    points = [Point(name, "v", {}, 1, 0.1, "job", bind="close") for name in ("a", "b", "c", "d")]
    few = make(tmp_path / "few", record(ONE, points[:3], run_id("a")))
    assert "a, b, c on cloud-7" in few.text
    many = make(tmp_path / "many", record(ONE, points, run_id("a")))
    assert "4 benchmarks on cloud-7" in many.text


def test_a_run_that_was_cut_off_is_told(tmp_path: Path) -> None:
    lines = record(ONE, numa(ONE, kernels=("sum",))[:3], run_id("a"))
    page = make(tmp_path, lines[:-3])
    assert "cut off: there is no end line" in page.text
    assert "1 begun and not finished" in page.text
    assert {r["status"] for r in page.rows("moment")} == {"ok", "unfinished"}


def test_a_run_that_measured_nothing_makes_a_page(tmp_path: Path) -> None:
    page = make(tmp_path, [header(ONE, run_id("a"), random.Random(1))])
    assert page.specs == []
    assert "No trial" in page.text and ONE.model in page.text


def test_many_trials_are_all_shown(tmp_path: Path) -> None:
    points = [
        Point("dummy", "fixed", {"way": f"w{n}"}, 1, seconds=0.001 * n, unit="call", bind="close")
        for n in range(1, 91)
    ]
    page = make(tmp_path, record(ONE, points, run_id("a")))
    assert len(list(page.rows("id", "value", "low"))) == 90
    assert len(list((tmp_path / "report-pictures").glob("dummy-*.svg"))) == 3


def test_the_ratios_of_the_lesson_are_those_of_the_times(tmp_path: Path) -> None:
    lines = record(TWO, numa(TWO, kernels=("sum",)), run_id("a"))
    page = make(tmp_path, lines)
    times = {
        (t["variant"], t["parameters"].get("layout"), t["parameters"]["pages"]): t["metrics"][-1][
            "value"
        ]
        for t in trials([lines])
    }
    text = re.sub(r"\s+", " ", page.text)
    for layout in ("16+0", "8+8"):
        ratio = times["single", layout, "base"] / times["static", layout, "base"]
        assert f"{ratio:.2f}" in text
    assert "1.02 to 2.65" in text and "1.01 to 1.47" in text
    assert "Published: Memory that one thread touched first costs time. This run: agrees" in text


@pytest.mark.parametrize(
    "test",
    [
        vl.known("at"),
        vl.unknown("at"),
        vl.holds("on"),
        {"field": "on", "equal": False},
        *({"field": "at", compare: 1} for compare in ("lt", "gt", "gte")),
    ],
)
def test_vega_draws_the_rows_that_pass(test: vl.Test) -> None:
    data = charts.Data()
    rows = [{"at": at, "on": on} for at in (None, 0, 1, 2, 2.5) for on in (True, False)]
    known = [vl.known("at")] if test.keys() & {"lt", "gt", "gte"} else []
    chart = data.chart(rows).where(*known, test).mark("text", text="here")
    drawn = vl_convert.vegalite_to_svg(charts.spec_of(chart, datasets=data.sets))
    assert 0 < len(chart.rows) < len(rows)
    assert drawn.count(">here<") == len(chart.rows)


def test_layers_that_draw_no_row_are_left_out() -> None:
    data = charts.Data()
    base = data.chart([{"flag": None}])
    good, flagged = (base.where(test).mark("point") for test in (charts.GOOD, charts.FLAGGED))
    assert charts.joined("layer", flagged, good) == charts.joined("layer", good)
    one: Any = charts.joined("layer", flagged, flagged)
    two: Any = charts.joined("hconcat", flagged, good)
    assert (len(one["layer"]), len(two["hconcat"])) == (1, 2)


def test_the_thinned_samples_cover_all(tmp_path: Path) -> None:
    rng = random.Random(3)
    lines = [header(ONE, run_id("a"), rng), *measure(numa(ONE)[0], run_id("a"), rng, 0.5)]
    page = make(tmp_path, lines)
    samples = [s for line in lines if line["type"] == "samples" for s in line["times"]]
    noisy = sum(len(line["noisy"]) for line in lines if line["type"] == "samples")
    marks = list(page.rows("moment"))
    assert sum(m["n"] for m in marks) == len(samples)
    assert sum(m["noisy"] for m in marks) == noisy
    middle = sorted(samples)[len(samples) // 2 - 1 : len(samples) // 2 + 1]
    assert max(m["greatest"] for m in marks) == pytest.approx(max(samples) / (sum(middle) / 2))
    assert min(m["moment"] for m in marks) > 0.5


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1.234e9, "B/s", "1.23 GB/s"),
        (999.9e9, "B/s", "1000 GB/s"),
        (0.0123, "s/pass", "12.3 ms/pass"),
        (3.2e-9, "s", "3.20 ns"),
        (0, "s", "0 s"),
        (-0.5, "1", "-0.500"),
        (12345, "1", "12345"),
        (None, "B/s", "–"),
    ],
)
def test_quantities_read_well(value: Optional[float], unit: str, text: str) -> None:
    assert units.quantity(value, unit) == text


@pytest.mark.parametrize(
    ("low", "high", "text", "ends"),
    [
        (1.920e-9, 1.925e-9, "1.921 ns", "1.920 to 1.925 ns"),
        (1.90e-9, 1.94e-9, "1.92 ns", "1.90 to 1.94 ns"),
        (1.6e-9, 2.2e-9, "1.9 ns", "1.6 to 2.2 ns"),
        (0.3e-9, 24.2e-9, "1.9 ns", "0.30 to 24 ns"),
        (None, None, "1.92 ns", "–"),
    ],
)
def test_a_value_has_the_digits_that_its_interval_supports(
    low: Optional[float], high: Optional[float], text: str, ends: str
) -> None:
    of = {"value": 1.9213e-9, "low": low, "high": high}
    assert units.quantity(1.9213e-9, "s", units.doubt(of)) == text
    assert units.interval(low, high, "s") == ends
