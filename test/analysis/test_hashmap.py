# SPDX-License-Identifier: Apache-2.0
"""The lesson of hashmap quotes reference/hashmap.csv, and its page compares it with a record."""

from __future__ import annotations

import json
from pathlib import Path

from locus_analysis.base.folders import LESSONS
from locus_analysis.insight import claims
from locus_analysis.insight.evidence import AGREES
from locus_analysis.records import database, description, published
from make_records import ONE, Line, Point, of_lines, record, run_id
from pages import make
from some import some


def test_the_lesson_says_what_was_published() -> None:
    lesson = " ".join((LESSONS / "hashmap.html.j2").read_text().split())
    gains: dict[str, list[float]] = {}
    for figure in published.ratios("hashmap"):
        gains.setdefault(figure.machine, []).append(figure.value)
    large, small = sorted(gains, key=lambda machine: -max(gains[machine]))
    assert "(24 cores" in large and "(4 cores" in small and gains[small] == [1.0]
    least, most = min(gains[large]), max(gains[large])
    assert f"worth {least:g} to {most:g} at many threads on 24 cores, and nothing on 4" in lesson


def padding(nothing: float, both: float) -> list[Line]:
    """A run that takes `nothing` without padding and `both` with all padding, on 2 and 8 threads;
    on one thread padding gains nothing."""
    made = [
        Point("hashmap", variant, {"padded": padded, "stripes": 32}, threads, time)
        for variant in ("striped", "striped-waitfree")
        for threads in (1, 2, 8)
        for padded, time in (("none", nothing if threads > 1 else both), ("both", both))
    ]
    return record(ONE, made, run_id("a"))


def test_the_gain_of_padding_is_held_against_the_published_one() -> None:
    db = database.tables(of_lines(padding(1.4e-7, 1e-7)))
    of = description.of(db, "hashmap")
    judged, drawn = claims.told(of, database.measured(db, "hashmap"))
    assert (judged["name"], drawn["name"]) == ("striped-waitfree", "striped")
    assert [(r["where"], r["verdict"]) for r in judged["rows"]] == [
        ("2 threads", AGREES),
        ("8 threads", AGREES),
    ]
    for r in some(judged["rows"]):
        assert r["value"] and r["low"] and r["high"]
        assert 1.3 < r["low"] < r["value"] < r["high"] < 1.5
    assert [r["verdict"] for r in drawn["rows"]] == ["", ""]
    assert judged["published"] == (
        "1.10 to 1.50 (2x Xeon E5-2680 v3, 24 cores); 1.00 (i7-4870HQ, 4 cores)"
    )


def test_the_page_has_curves_over_threads_and_the_claim(tmp_path: Path) -> None:
    page = make(tmp_path, padding(1e-7, 1e-7))
    text = " ".join(page.text.split())
    assert "Padding locks and counts gains where reads take no lock." in text
    (spec,) = tmp_path.glob("report-pictures/hashmap-claims*.vl.json")
    said = " ".join(json.loads(spec.read_text())["title"]["subtitle"])
    assert "take no lock; striped: The same where all operations take locks. Lines across" in said
    lines = {row["series"].split(" ", 1)[1] for row in page.rows("series", "x")}
    assert {"striped", "striped-waitfree"} <= lines
    bars = [row["value"] for row in page.rows("theirs", "value") if row["theirs"]]
    assert bars == [1.1, 1.5, 1.0]
