# SPDX-License-Identifier: Apache-2.0
"""The page of search: the claim that dividing gains and the parts of that gain, published figures,
skewed keys, scaling over ranks."""

from __future__ import annotations

import math
import re
from pathlib import Path

import duckdb
import pytest
from locus_analysis.base import units
from locus_analysis.base.folders import LESSONS
from locus_analysis.insight import claim_terms, claims
from locus_analysis.insight.evidence import AGREES, DIFFERS, UNSURE
from locus_analysis.page import scaling
from locus_analysis.records import database, description, published
from make_records import (
    FLAGS,
    HOT,
    OWNED,
    SIZES,
    UNIFORM,
    ZIPF,
    Line,
    Machine,
    Point,
    flag,
    of_lines,
    record,
    run_id,
)
from make_records import search as points
from pages import Page, make, names, trials
from some import some

RUN = run_id("a")


NINE = Machine("n9", "a machine", cpu_nodes=1, cores=9)


KIB, MIB = 1 << 10, 1 << 20


def tables(*runs: list[Line]) -> duckdb.DuckDBPyConnection:
    brief = [line for lines in runs for line in lines if line["type"] != "samples"]
    return database.tables(of_lines(brief))


def scaled(*runs: list[Line]) -> list[scaling.Curve]:
    db = tables(*runs)
    return scaling.found_in(description.of(db, "search"), database.measured(db, "search"))


def claimed(lines: list[Line]) -> dict[str, claims.Told]:
    db = tables(lines)
    found = claims.told(description.of(db, "search"), database.measured(db, "search"))
    return {c["name"]: c for c in found}


def text_of(page: Page) -> str:
    return re.sub(r"\s+", " ", page.text)


def metric_of(trial: Line, name: str) -> Line:
    return next(m for m in trial["metrics"] if m["name"] == name)


# Published claims, judged by trials.


def ladder(whole: float, routed: float, divided: float, method: str = "branchy") -> list[Point]:
    """Three variants at one size, with these times per packet."""
    made = points(sizes=(16 * KIB,), methods=(method,), variants=("whole", "routed", "divided"))
    for point, value in zip(made, (whole, routed, divided)):
        point.headline = ("search-time", "s", value)
    return made


def exact(made: list[Point], status: str = "ok") -> list[Line]:
    """A record with exactly the given headlines, and intervals of 1 % about them. Trials that are
    not ok have no values without noise."""
    lines = record(NINE, made, RUN)
    for trial, point in zip(trials([lines]), made):
        assert point.headline
        value = point.headline[2]
        ends = [value * 0.99, value * 1.01]
        metric_of(trial, "search-time").update(value=value, ci=ends)
        if status != "ok":
            trial.update(status=status, reasons=["it was made up so"])
    return lines


BOTH = [*ladder(20e-6, 16e-6, 10e-6), *ladder(15e-6, 12.5e-6, 8e-6, "branchless")]


def test_published_gains_are_those_of_the_source() -> None:
    found = claimed(exact(BOTH))["whole/divided"]
    gains = {int(t.parameters["size"]): t.value for t in found["theirs"]}
    assert list(gains) == [4**i * 16 * KIB for i in range(8)]
    assert gains[16 * KIB] == pytest.approx(7872.4 / 6753.8)
    assert gains[64 * MIB] == pytest.approx(47358.7 / 32146.3)
    assert found["published"] == "1.17 to 1.47 (2x Xeon Gold 5218, 32 cores, 8 threads)"


def test_a_gain_is_the_product_of_its_parts() -> None:
    found = {name: c["rows"][0] for name, c in claimed(exact(BOTH)).items()}
    values = {name: database.value_of(row) for name, row in found.items()}
    assert values == pytest.approx(
        {
            "whole/divided": 2,
            "locality": 1.2,
            "prediction": 20 / 16 / 1.2,
            "shorter search": 1.6,
        }
    )
    # The widest range that the four intervals allow.
    factor = (1.01 / 0.99) ** 2
    allowed, value = found["prediction"], values["prediction"]
    assert (allowed["low"], allowed["high"]) == pytest.approx((value / factor, value * factor))
    assert [c["conclusion"] for c in claimed(exact(BOTH)).values()] == [
        "agrees, 2.00 (1.96 to 2.04)",
        "",
        "",
        "",
    ]


JUDGED = [
    (10, "ok", AGREES, ""),
    (30, "ok", DIFFERS, "expected > 1.05"),
    (20 / 1.02, "ok", DIFFERS, "expected > 1.05"),  # 1.00 to 1.04
    (20 / 1.04, "ok", UNSURE, "only part of its interval is > 1.05"),  # 1.02 to 1.06
    (10, "noisy", AGREES, ""),  # the sign holds, whatever the status
    (20 / 1.04, "noisy", UNSURE, "only part of its interval is > 1.05"),
    (10, "misplaced", UNSURE, "whole is misplaced"),
    (10, "unconverged", AGREES, ""),
]


def test_a_claim_is_judged_by_intervals() -> None:
    """In a record in which each of the cases is a setting of its own."""
    lines: list[Line] = []
    for packet, (divided, status, _, _) in enumerate(JUDGED, 1):
        own = ladder(20, 16, divided)
        for point in own:
            point.parameters["packet"] = packet
        made = exact(own, status)
        lines += trials([made]) if lines else made
    rows = claimed(lines)["whole/divided"]["rows"]
    found = {row["trial"]["parameters"]["packet"]: (row["verdict"], row["why"]) for row in rows}
    assert found == {i: (verdict, why) for i, (_, _, verdict, why) in enumerate(JUDGED, 1)}


def test_of_a_noisy_claim_the_value_is_not_told() -> None:
    found = claimed(exact(ladder(20, 16, 10), "noisy"))["whole/divided"]
    assert found["conclusion"] == "agrees, whole is noisy: value not given ▲1"
    assert found["rows"][0]["told"] == "whole is noisy: value not given"


def test_a_claim_without_all_its_trials_is_not_made() -> None:
    assert list(claimed(exact(ladder(20, 16, 10)))) == ["whole/divided", "shorter search"]
    assert list(claimed(exact(ladder(20, 16, 10, "branchless")))) == ["locality"]
    one = exact(ladder(20, 16, 10))
    metric_of(trials([one])[0], "search-time").update(value=None, ci=None)
    assert list(claimed(one)) == ["shorter search"]


def test_one_searcher_owns_everything() -> None:
    """A dispatcher with one searcher proves nothing."""
    made = points(threads=(2,), sizes=SIZES[:2])
    assert claimed(record(NINE, made, RUN)) == {}


def test_claims_are_of_one_setting_each() -> None:
    """Trials that differ in threads, packets, types or pages are not compared."""
    changes: list[tuple[int, Line]] = [
        (3, {}),
        (9, {"packet": 64}),
        (9, {"type": "u64"}),
        (9, {"pages": "thp"}),
    ]
    others = [ladder(30, 16, 10) for _ in changes]
    for other, (threads, change) in zip(others, changes):
        for point in other:
            point.threads = threads
            point.parameters.update(change)
    all_of = [*ladder(20, 16, 10), *(point for other in others for point in other)]
    found = claimed(exact(all_of))["whole/divided"]["rows"]
    assert [r["value"] for r in found] == pytest.approx([2, 3, 3, 3, 3])
    assert len({r["where"] for r in some(found)}) == 5
    mixed = claimed(exact([ladder(20, 16, 10)[0], *(divided for _, _, divided in others)]))
    assert mixed == {}


def test_a_claim_is_told_for_each_size() -> None:
    made = []
    for size, whole in ((16 * KIB, 20.0), (64 * KIB, 10.5), (256 * KIB, 5.0)):
        own = ladder(whole, 10, 10)
        for point in own:
            point.parameters["size"] = size
        made += own
    assert claimed(exact(made))["whole/divided"]["conclusion"] == (
        "agrees at size 16 KiB; differs at size 256 KiB; cannot be told at size 64 KiB"
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [("> 1", (1, math.inf)), ("< 0.5", (0, 0.5)), ("0.9 to 1.1", (0.9, 1.1))],
)
def test_what_is_expected_is_a_range(value: str, expected: tuple[float, float]) -> None:
    assert claims.bounds(value) == expected


def test_claims_need_an_effect_that_matters() -> None:
    """Intervals of one run do not describe its process so exactly that 1 % could decide."""
    for file in some(LESSONS.glob("*.json")):
        for claim in published.lesson(file.stem).get("claims", []):
            ends = claims.bounds(claim["expected"]) if "expected" in claim else ()
            assert not [e for e in ends if 0.951 < e < 1.049], claim["claim"]


def test_a_value_names_its_trials() -> None:
    one, other = claim_terms.terms("3p|private-dense[layout=dense,lock=none] / [layout=padded]")
    assert (one.names, one.divides) == (("3p", "private-dense"), False)
    assert one.where == (("layout", "dense"), ("lock", "none"))
    assert (other.names, other.where, other.divides) == ((), (("layout", "padded"),), True)


# The whole page.


def skewed() -> list[Point]:
    return points(sizes=(MIB,), methods=("branchy",), keys=(ZIPF, HOT), variants=OWNED)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Page, list[Line]]:
    folder = tmp_path_factory.mktemp("search")
    made = [*flag(points(), every=6), *skewed(), *points(threads=(1, 4), variants=("best",))]
    lines = record(NINE, made, RUN)
    return folder, make(folder, lines), lines


Whole = tuple[Path, Page, list[Line]]


def test_pictures_of_the_page(whole: Whole) -> None:
    folder, _, _ = whole
    found = {n.removesuffix(".svg") for n in names(folder / "report-pictures") if ".svg" in n}
    assert {re.sub(r"-\d$", "", name) for name in found} == {
        "search",
        "search-claims",
        "search-metrics",
        "search-bars",
        "search-values",
        "search-threads",
        "steadiness",
    }


def test_numbers_in_curves_are_those_of_the_record(whole: Whole) -> None:
    _, page, lines = whole
    drawn = ("search-time", "throughput", "limit", "waiting", "imbalance", "idle")
    of_id = {t["id"]: t for t in trials([lines])}
    for row in some([row for row in page.rows("id", "value", "x") if row["id"]]):
        known = [metric_of(of_id[row["id"]], name) for name in drawn]
        values = [(m["value"], *(m["ci"] or (None, None))) for m in known if m]
        is_factor = row["series"].split(" ", 1)[1] in ("whole/divided", *PARTS)
        assert is_factor or (row["value"], row["low"], row["high"]) in values or not row["value"]


PARTS = ("locality", "prediction", "shorter search")


def test_every_flagged_trial_is_marked(whole: Whole) -> None:
    folder, page, lines = whole
    drawn = (folder / "report-pictures/search.svg").read_text(encoding="utf-8")
    flagged = [t for t in trials([lines]) if t["status"] != "ok"]
    assert {t["status"] for t in flagged} == set(FLAGS)
    for trial in flagged:
        assert trial["reasons"][0] in page.text
        assert f" {trial['status']}" in drawn


def test_the_dispatchers_bottleneck_is_ringed(whole: Whole) -> None:
    _, page, lines = whole
    slow = {t["id"] for t in trials([lines]) if metric_of(t, "dispatcher-bound")["value"] == 1}
    ringed = {row["id"] for row in page.rows("ring", "id") if row["ring"]}
    uniform = {t["id"] for t in trials([lines]) if t["parameters"]["keys"] == "uniform"}
    assert set(some(ringed)) == slow & uniform
    notes = [row["line"] for row in page.rows("line", "row") if row["line"].startswith("Ringed: ")]
    assert some(notes) == [published.lesson("search")["ringed"]["help"]] * len(notes)


def test_published_times_stand_beside_the_published_setting_alone(whole: Whole) -> None:
    _, page, _ = whole
    grey = {
        (row["text"], row["value"])
        for row in page.rows("trial", "x")
        if row["trial"].startswith("published: ") and row["series"].split(" ", 1)[1] == ""
    }
    theirs = {f.value for f in published.figures("search", "time per packet")}
    assert theirs <= {value for _, value in grey}
    cited = str([row["line"] for row in page.rows("line", "row")])
    assert "Grey, same marks: published of 2x Intel Xeon Gold 5218" in cited
    assert "jsl2023: Johnny's Software Lab" in cited


def test_of_another_setting_only_ratios_are_beside(tmp_path: Path) -> None:
    page = make(tmp_path, record(NINE, points(threads=(3,), sizes=SIZES[:3]), RUN))
    theirs = [
        row["value"] for row in page.rows("trial", "x") if row["trial"].startswith("published: ")
    ]
    assert theirs == pytest.approx([7872.4 / 6753.8, 9510.8 / 8035.6, 11203.4 / 9399.3])


def test_gains_are_on_the_page(whole: Whole) -> None:
    _, page, lines = whole
    text = text_of(page)
    found = claimed(lines)
    conclusion = found["whole/divided"]["conclusion"]
    assert f"Divided is faster than whole. This run: {conclusion}." in text
    for claim in found.values():
        for row in some(claim["rows"]):
            assert units.number(row["value"] or 0, units.doubt(row)) in text
    lines_of = {row["series"].split(" ", 1)[1] for row in page.rows("series", "x")}
    assert {"whole/divided", *PARTS} <= lines_of


def test_skew_has_bars_of_what_it_does(whole: Whole) -> None:
    _, page, lines = whole
    of_id = {t["id"]: t for t in trials([lines])}
    bars = list(page.rows("column", "id", "value"))
    assert {row["column"] for row in bars} == {"imbalance", "idle", "waiting", "throughput"}
    for row in some(bars):
        assert row["value"] == metric_of(of_id[row["id"]], row["column"])["value"]
    hot = [t for t in of_id.values() if t["parameters"]["keys"] == "hot"]
    assert {t["id"] for t in some(hot)} <= {row["id"] for row in bars}


def test_tables_have_what_is_not_drawn(whole: Whole) -> None:
    _, page, _ = whole
    text = text_of(page)
    for name in ("search-p99", "build-time", "overhead", "held-up"):
        assert name in text
    assert "6.67 %" in text


def test_what_could_not_be_measured_makes_a_page(tmp_path: Path) -> None:
    own = points(sizes=SIZES[:3])
    for p in own:
        p.status, p.reasons = "impossible", ["a dispatcher and 8 searchers don't fit on 2 CPUs"]
    text = text_of(make(tmp_path, record(NINE, own, RUN)))
    assert f"{len(own)} impossible" in text and "Published claims" not in text


def test_types_keys_and_pages_have_panels_of_their_own(tmp_path: Path) -> None:
    made = points(sizes=SIZES[:3], types=("u32", "u64"), keys=(UNIFORM, HOT))
    again = points(sizes=SIZES[:3], methods=("branchy",), variants=("whole",))
    for p in again:
        p.parameters["pages"] = "thp"
    make(tmp_path, record(NINE, made + again, RUN))
    parts = sorted((tmp_path / "report-pictures").glob("search-?.svg"))
    assert [p.name for p in parts] == ["search-1.svg", "search-2.svg"]
    drawn = "".join(p.read_text(encoding="utf-8") for p in parts)
    for method in ("branchy", "branchless"):
        for kind in ("u32", "u64"):
            for keys, skew in (UNIFORM, HOT):
                assert f"type {kind}, search {method}, keys {keys}, skew {skew}" in drawn
    assert "transparent huge" in drawn and "whole, system pages" in drawn
