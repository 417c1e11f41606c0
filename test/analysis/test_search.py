# SPDX-License-Identifier: Apache-2.0
"""What is made of records of search: what dividing gains and what that is made of, published
figures beside, skew, the fastest."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any, Optional

import pytest
from locus_analysis import __main__ as program
from locus_analysis import draw, records, scaling, search, units
from locus_analysis.evidence import AGREES, DIFFERS, UNSURE
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
    as_written,
    flag,
    header,
    over_ranks,
    peer,
    record,
    run_id,
    write,
)
from make_records import search as points
from some import some
from test_report import Page, make, names, trials

GOOD = 0
RUN = run_id("a")
NINE = Machine("n9", "a machine", cpu_nodes=1, cores=9)
KIB, MIB = 1 << 10, 1 << 20


def told(*runs: list[Line]) -> list[dict[str, Any]]:
    brief = [line for lines in runs for line in lines if line["type"] != "samples"]
    given = records.of_lines(as_written(brief))
    return search.headlined(records.told(records.tables(given), "search"))


def text_of(page: Page) -> str:
    return re.sub(r"\s+", " ", page.text)


def metric_of(trial: Line, name: str) -> Line:
    return next(m for m in trial["metrics"] if m["name"] == name)


# What was published, by hand from the source's times.


def test_published_gains_are_those_of_the_source() -> None:
    found = search.published_gains()
    assert list(found) == [
        16 * KIB,
        64 * KIB,
        256 * KIB,
        MIB,
        4 * MIB,
        16 * MIB,
        64 * MIB,
        256 * MIB,
    ]
    assert found[16 * KIB] == pytest.approx(7872.4 / 6753.8) and found[64 * MIB] == pytest.approx(
        47358.7 / 32146.3
    )
    assert search.published_times()["whole"][256 * MIB] == pytest.approx(81758.6e-9)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, []),
        ({"threads": "2"}, ["threads 2 instead of 9"]),
        ({"oversubscribed": "oversubscribed"}, ["more threads than CPUs"]),
        (
            {"type": "u64", "keys": "zipf 1"},
            ["type u64 instead of u32", "keys zipf 1 instead of uniform"],
        ),
        (
            {"search": "branchless", "packet": "64"},
            ["search branchless instead of branchy", "packet 64 instead of 128"],
        ),
    ],
)
def test_another_setting_than_the_published_is_told(
    changes: dict[str, str], said: list[str]
) -> None:
    assert search.differs_from_published({**search.PUBLISHED_SETTING, **changes}) == said


# Trials by hand.


def of(
    variant: str,
    value: Optional[float],
    width: Optional[float] = 0.01,
    threads: int = 9,
    **more: Any,
) -> dict[str, Any]:
    known = value is not None and width is not None
    status = more.pop("status", "ok")
    metrics = {
        name: {"value": v, "low": v, "high": v} for name, v in more.pop("metrics", {}).items()
    }
    parameters = {
        "size": 16 * KIB,
        "type": "u32",
        "search": "branchy",
        "packet": 128,
        "keys": "uniform",
        "skew": 0.0,
        "pages": "base",
    }
    return {
        "variant": variant,
        "threads": threads,
        "bind": "close",
        "parameters": {key: v for key, v in {**parameters, **more}.items() if v is not None},
        "value": value,
        "low": value * (1 - width) if value is not None and width is not None else None,
        "high": value * (1 + width) if known and value is not None and width is not None else None,
        "status": status,
        "flag": None if status == "ok" else 1,
        "metrics": metrics,
        "everything": "",
        "oversubscribed": threads > 9,
    }


def ladder(whole: float, routed: float, divided: float, **more: Any) -> list[dict[str, Any]]:
    return [
        of(v, value, **more)
        for v, value in {"whole": whole, "routed": routed, "divided": divided}.items()
    ]


BOTH = [*ladder(20, 16, 10), *ladder(15, 12.5, 8, search="branchless")]


def test_a_gain_is_the_product_of_its_parts() -> None:
    (found,) = search.gains(BOTH)
    assert found["name"] == "u32, uniform keys, packets of 128, 9 threads" and found["methods"] == [
        "branchy",
        "branchless",
    ]
    (line,) = found["lines"]
    values = {name: part["value"] for name, part in line["parts"].items()}
    assert values == pytest.approx(
        {"locality": 1.2, "prediction": 20 / 16 / 1.2, "shorter search": 1.6}
    )
    gain = line["by"]["branchy"]["whole/divided"]["value"]
    assert (
        gain
        == pytest.approx(2)
        == pytest.approx(values["locality"] * values["prediction"] * values["shorter search"])
    )
    # What all four intervals allow.
    allowed = line["parts"]["prediction"]
    factor = (1.01 / 0.99) ** 2
    assert (allowed["low"], allowed["high"]) == pytest.approx(
        (values["prediction"] / factor, values["prediction"] * factor)
    )
    assert line["most"] == "shorter search"
    assert (
        line["published"] == pytest.approx(7872.4 / 6753.8)
        and found["beside"]
        and found["other"] == []
    )


@pytest.mark.parametrize(
    ("whole", "routed", "divided", "most"),
    [
        (20, 10, 9, "prediction"),
        (20, 16, 10, "shorter search"),
        (20, 16, 12.5, UNSURE),  # 1.28 is not surely more than 1.25
        (10, 10, 10, ""),  # no gain
    ],
)
def test_the_greatest_part_is_named_where_intervals_tell(
    whole: float, routed: float, divided: float, most: str
) -> None:
    own = [
        *ladder(whole, routed, divided),
        *ladder(10, 10 if most != UNSURE else 8, 10, search="branchless"),
    ]
    assert search.gains(own)[0]["lines"][0]["most"] == most


def test_the_greatest_part_is_not_named_out_of_noise() -> None:
    own = [*ladder(20, 10, 9), *ladder(10, 10, 10, search="branchless", status="noisy")]
    assert search.gains(own)[0]["lines"][0]["most"] == UNSURE


def test_one_method_alone_has_gains_but_no_parts() -> None:
    (found,) = search.gains(ladder(20, 16, 10))
    assert found["methods"] == ["branchy"]
    assert found["lines"][0]["parts"] == {} and found["lines"][0]["most"] == ""
    (found,) = search.gains(ladder(20, 16, 10, search="branchless"))
    assert found["methods"] == ["branchless"] and found["conclusion"] == ""
    assert (
        search.gains([of("whole", 20.0)])
        == search.gains([of("whole", 20.0), of("divided", None)])
        == []
    )


def test_more_threads_than_cpus_are_told() -> None:
    (found,) = search.gains(ladder(20, 16, 10, threads=10))
    assert found["name"] == "u32, uniform keys, packets of 128, 10 threads, oversubscribed"


def test_gains_are_of_one_setting_each() -> None:
    """Other threads, other keys, other pages: nothing of the one is held against the other."""
    for change in (
        {"threads": 3},
        {"packet": 64},
        {"keys": "hot", "skew": 0.9},
        {"skew": 0.5, "keys": "zipf"},
        {"pages": "thp"},
    ):
        assert search.gains([of("whole", 20.0), of("divided", 10.0, **change)]) == []
        found = search.gains([*ladder(20, 16, 10), *ladder(30, 16, 10, **change)])
        assert [
            g["lines"][0]["by"]["branchy"]["whole/divided"]["value"] for g in found
        ] == pytest.approx([2, 3])
        assert (
            found[0]["name"] != found[1]["name"]
            and found[0]["beside"]
            and found[1]["beside"] == (change == {"pages": "thp"})
        )
    assert [
        g["lines"][0]["published"] for g in search.gains(ladder(2, 2, 1, keys="hot", skew=0.9))
    ] == [None]


def test_the_published_gain_is_held_against_each_size() -> None:
    own = [
        t
        for size, whole in ((16 * KIB, 20.0), (64 * KIB, 10.1), (256 * KIB, 5.0), (MIB, 20.0))
        for t in ladder(whole, 10, 10, size=size, status="noisy" if size == MIB else "ok")
    ]
    (found,) = search.gains(own)
    assert (
        found["conclusion"]
        == "agrees at 16 KiB; differs at 256 KiB; cannot be told at 64 KiB, 1 MiB"
    )
    assert [line["verdict"] for line in found["lines"]] == [AGREES, UNSURE, DIFFERS, UNSURE]


def test_what_the_dispatcher_bounded_is_marked() -> None:
    slow = {"dispatcher-bound": 1.0}
    assert search.bound(of("whole", 1.0, metrics=slow)) and not search.bound(
        of("whole", 1.0, metrics={"dispatcher-bound": 0.0})
    )
    assert not search.bound(of("best", 1.0))
    (found,) = search.gains([of("whole", 2.0, metrics=slow), of("routed", 2.0), of("divided", 1.0)])
    assert {name: r["bound"] for name, r in found["lines"][0]["by"]["branchy"].items()} == {
        "whole/divided": True,
        "whole/routed": True,
        "routed/divided": False,
    }


def test_a_variant_without_packets_is_timed_by_its_keys() -> None:
    by_key = of("partitioned", None, metrics={"key-time": 2e-9}, packet=None)
    assert search.timed(by_key)["value"] == pytest.approx(128 * 2e-9)
    assert search.timed(of("best", None, metrics={"key-time": 2e-9}, packet=64))[
        "value"
    ] == pytest.approx(64 * 2e-9)
    assert (
        search.timed(of("best", None, metrics={"key-time": 2e-9, "search-time": 1e-7}))["value"]
        == 1e-7
    )
    assert search.timed(of("best", None)) == {"value": None, "low": None, "high": None}


def test_best_is_of_every_setting_that_it_agrees_with() -> None:
    best = of("best", 1.0, search=None, pages="thp")
    other = of("best", 1.0, threads=1, search=None, pages="thp")
    found = search.by_setting([*BOTH, best, other])
    assert [(s.get("search"), s["threads"], [t["variant"] for t in own]) for s, own in found] == [
        ("branchy", "9", ["whole", "routed", "divided", "best"]),
        ("branchless", "9", ["whole", "routed", "divided", "best"]),
        (None, "1", ["best"]),
    ]
    assert [t["name"] for t in search.by_size([*BOTH, best, other])] == [
        f"{method}, u32, uniform keys, packets of 128, 9 threads"
        for method in ("branchy", "branchless")
    ]


def test_cures_are_judged_end_to_end() -> None:
    def rate(variant: str, keys: tuple[str, float], value: float) -> dict[str, Any]:
        return of(variant, 1.0, keys=keys[0], skew=keys[1], metrics={"throughput": value})

    own = [
        rate("stealing", HOT, 7e6),
        rate("divided", HOT, 2e6),
        rate("divided", UNIFORM, 8e6),
        rate("weighted", UNIFORM, 6e6),
    ]
    (found,) = search.skews(own)
    assert found["name"] == "16 KiB, branchy, u32, 9 threads"
    assert [
        (t["keys"], t["variant"], t["gain"] and t["gain"]["value"]) for t in found["lines"]
    ] == [
        ("uniform", "divided", None),
        ("uniform", "weighted", pytest.approx(0.75)),
        ("hot 0.9", "divided", None),
        ("hot 0.9", "stealing", pytest.approx(3.5)),
    ]
    assert search.skews([t for t in own if t["parameters"]["keys"] == "uniform"]) == []


def test_best_gains_by_threads_and_pays_by_layout() -> None:
    def best(threads: int, rate: float, kind: str = "u32") -> dict[str, Any]:
        found = {
            "key-time": threads / rate,
            "throughput": rate,
            "build-time": 0.004,
            "overhead": 0.0667,
        }
        return of("best", 1.0, threads=threads, type=kind, search=None, metrics=found)

    found = search.fastest([best(4, 3.8e9), best(1, 1e9), best(1, 0.5e9, "u64"), of("whole", 1.0)])
    assert [
        (t["parameters"]["type"], t["threads"], t["speed_up"] and t["speed_up"]["value"])
        for t in found
    ] == [
        ("u32", 1, None),
        ("u32", 4, pytest.approx(3.8)),
        ("u64", 1, None),
    ]
    assert [t["build_element"] for t in found] == pytest.approx(
        [0.004 / 4096, 0.004 / 4096, 0.004 / 2048]
    )


# Scaling over ranks.


def rank_run(
    ranks: int, *of_sizes: tuple[int, float], points: tuple[Point, ...] = (), **changes: Any
) -> list[Line]:
    """Trials by size and keys per second, of which communication takes a quarter of the time."""
    changes = {"started": f"2025-03-14T09:{ranks:02}:00.000Z", **changes}
    made = points or [over_ranks(ranks, size) for size, _ in of_sizes]
    lines = record(NINE, [*made], run_id(f"{ranks} {changes}"), ranks=ranks, **changes)
    for trial, (_, rate) in zip(trials([lines]), of_sizes):  # exact, to be computed with by hand
        time = 128 * 2 * ranks / rate
        metric_of(trial, "throughput").update(value=rate, ci=[rate * 0.99, rate * 1.01])
        metric_of(trial, "time").update(value=time, ci=[time / 1.01, time / 0.99])
        metric_of(trial, "communication").update(value=time / 4 * (ranks > 1))
    return lines


DIVIDED = (
    rank_run(1, (MIB, 1e9)),
    rank_run(2, (MIB, 1.8e9), (2 * MIB, 1.6e9)),
    rank_run(4, (MIB, 3e9), (4 * MIB, 2e9)),
)


def test_strong_and_weak_scaling_by_hand() -> None:
    strong, weak = scaling.found_in(
        [t for t in told(*DIVIDED) if t["variant"] == search.OVER_RANKS]
    )
    assert (strong["kind"], weak["kind"]) == ("strong", "weak")
    assert strong["name"] == "distributed, 1 MiB, u32, uniform keys, pages thp"
    assert weak["name"] == "distributed, 1 MiB a rank, u32, uniform keys, pages thp"
    assert (
        [line["ranks"] for line in strong["lines"]]
        == [line["ranks"] for line in weak["lines"]]
        == [1, 2, 4]
    )
    assert [line["amount"] for line in weak["lines"]] == ["1 MiB", "2 MiB", "4 MiB"]
    # More ranks are to answer more keys, whether the array grows with them or not.
    assert [line["speed_up"]["value"] for line in strong["lines"]] == pytest.approx([1, 1.8, 3])
    assert [line["efficiency"]["value"] for line in strong["lines"]] == pytest.approx(
        [1, 0.9, 0.75]
    )
    assert [line["speed_up"]["value"] for line in weak["lines"]] == pytest.approx([1, 1.6, 2])
    assert [line["efficiency"]["value"] for line in weak["lines"]] == pytest.approx([1, 0.8, 0.5])
    four = strong["lines"][2]["efficiency"]
    assert (four["low"], four["high"]) == pytest.approx((0.75 * 0.99 / 1.01, 0.75 * 1.01 / 0.99))
    assert [line["communication_share"] for line in strong["lines"]] == pytest.approx(
        [0, 0.25, 0.25]
    )
    assert [[m["value"] for m in line["others"]] for line in strong["lines"]] == [
        [0, 1],
        [4, 1],
        [6, 1],
    ]


def test_what_does_not_compare_makes_no_curve() -> None:
    one = rank_run(1, (MIB, 1e9))
    for other in (
        rank_run(2, (MIB + 4, 1e9)),
        rank_run(2, (MIB, 1e9), rank=1),
        rank_run(2, (MIB, 1e9), points=(over_ranks(2, MIB, kind="u64"),)),
        rank_run(2, (MIB, 1e9), points=(over_ranks(2, MIB, skew=HOT),)),
        rank_run(2, (MIB, 1e9), points=(over_ranks(2, MIB, pages="base"),)),
        rank_run(2, (MIB, 1e9), points=(over_ranks(2, MIB, threads=4),)),
    ):
        assert scaling.found_in(told(one, other)) == []
    odd = rank_run(3, (MIB, 1e9))  # no third of it is a whole number of bytes
    assert [curve["kind"] for curve in scaling.found_in(told(one, odd))] == ["strong"]


def test_scaling_is_on_the_page(tmp_path: Path) -> None:
    page = make(tmp_path, *DIVIDED)
    text = text_of(page)
    assert (
        "Strong scaling: distributed, 1 MiB, u32, uniform keys, pages thp, 2 threads a rank" in text
    )
    assert (
        "Weak scaling: distributed, 1 MiB a rank, u32, uniform keys, pages thp, 2 threads a rank"
        in text
    )
    assert re.search(
        r"4 ?n9 ?4 MiB ?2\.00 Gkey/s ?1\.98 to 2\.02 Gkey/s ?128 ns ?25 % ?6\.00 B ?1\.00 ?2\.00"
        r" \(1\.96 to 2\.04\)"
        r" ?0\.500 \(0\.490 to 0\.510\)",
        text,
    )
    assert "Scaling: no two runs" not in text and "What dividing gains: no setting" in text
    # It is no search of one process: no section, bars, or curves over size of its own.
    drawn = {
        name for name in names(tmp_path / "report-pictures") if not name.startswith("steadiness")
    }
    assert drawn == {f"search-scaling.{kind}" for kind in draw.KINDS}
    assert (
        "Time of a packet in search" not in text and "Search, waiting, and end to end" not in text
    )
    shown = [
        (row["x"], row["value"], row["text"]) for row in page.rows("x", "value", "id") if row["id"]
    ]
    strong, weak = [(1, 1e9), (2, 1.8e9), (4, 3e9)], [(1, 1e9), (2, 1.6e9), (4, 2e9)]
    assert [row[:2] for row in shown] == [*strong, *weak] and shown[1][2] == "1.80 Gkey/s"
    ideal = [(row["x"], row["value"]) for row in page.rows("x", "value", "id") if not row["id"]]
    assert ideal == [(1, 1e9), (4, 4e9)] * 2


def test_other_variants_stay_as_they_are_beside_ranks(tmp_path: Path) -> None:
    own = record(NINE, points(sizes=SIZES[:3]), RUN)
    alone, beside = make(tmp_path / "alone", own), make(tmp_path / "beside", own, *DIVIDED)
    with_ranks, without = text_of(beside), text_of(alone)
    begin, end = "Gains: u32", "Not on this page"
    section = without[without.index(begin) : without.index(end)]
    assert section in with_ranks.replace(
        with_ranks[with_ranks.index("Strong scaling") : with_ranks.index(end)], ""
    )
    drawn = {
        p.name: p.read_text(encoding="utf-8")
        for p in (tmp_path / "beside/report-pictures").glob("search-*.svg")
    }
    assert {name for name, text in drawn.items() if "distributed" in text} == {"search-scaling.svg"}
    of_run = {name.removesuffix(".svg") for name in drawn if "-n9_" in name}
    assert {re.sub(r"-.*Z", "", name) for name in of_run} == {
        "search",
        "search-parts",
        "search-flow",
        "search-best",
    }


def test_one_number_of_ranks_makes_bars_of_keys_per_second(tmp_path: Path) -> None:
    lines = rank_run(2, (MIB, 1.8e9), (2 * MIB, 1.6e9))
    page = make(tmp_path, lines)
    assert "Scaling: no two runs search the same array" in text_of(page)
    found = {name for name in names(tmp_path / "report-pictures") if name.startswith("search")}
    assert found == {f"search-ranks-bars.{kind}" for kind in draw.KINDS}
    assert [row["value"] for row in page.rows("id", "value", "end")] == [1.8e9, 1.6e9]
    assert "Gkey/s" in (tmp_path / "report-pictures/search-ranks-bars.svg").read_text(
        encoding="utf-8"
    )


def test_sizes_share_a_panel_and_pictures_fit_a_page(tmp_path: Path) -> None:
    runs = [
        rank_run(
            n,
            points=tuple(
                over_ranks(n, s, skew=k, kind=t)
                for t in ("u32", "u64")
                for k in (UNIFORM, ZIPF)
                for s in SIZES[5::-1]
            ),
        )
        for n in (1, 4)
    ]
    found = scaling.found_in(told(*runs))
    assert len(found) == 4 * (6 + 5)
    drawn = scaling.over_ranks(found, "search-scaling", "search")
    assert [p.name for p in drawn] == ["search-scaling-1", "search-scaling-2"]
    page = make(tmp_path, *runs)
    text = "".join(
        p.read_text(encoding="utf-8")
        for p in sorted((tmp_path / "report-pictures").glob("search-scaling-?.svg"))
    )
    for kind in ("strong", "weak"):
        for which in ("u32, uniform", "u32, zipf 1", "u64, uniform", "u64, zipf 1"):
            assert text.count(f">{kind}: distributed, {which} keys, pages thp<") == 1
    names_of = list(
        dict.fromkeys(
            row["series"].split(" ", 1)[1] for row in page.rows("series", "x") if row["id"]
        )
    )
    sizes = ["16 KiB", "64 KiB", "256 KiB", "1 MiB", "4 MiB", "16 MiB"]
    assert names_of == [*sizes, *(f"{size} a rank" for size in sizes[:5])]


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
    drawn = {
        name.removesuffix(".svg")
        for name in names(folder / "report-pictures")
        if name.endswith(".svg")
    }
    assert drawn == {
        "search",
        "search-parts",
        "search-flow",
        "search-skew",
        "search-best",
        "steadiness",
    }


def test_numbers_in_curves_are_those_of_the_record(whole: Whole) -> None:
    _, page, lines = whole
    of_id = {t["id"]: t for t in trials([lines])}
    expected = {}
    for i, trial in of_id.items():
        for name in ("search-time", "key-time", "throughput", "waiting"):
            found = metric_of(trial, name)
            expected[i, name] = (found["value"], *(found["ci"] or (None, None)))
    shown = [row for row in page.rows("id", "value", "x") if row["id"]]
    times = [
        r for r in shown if (r["value"], r["low"], r["high"]) == expected[r["id"], "search-time"]
    ]
    assert {r["id"] for r in times if r["value"]} == {
        i
        for i, t in of_id.items()
        if metric_of(t, "search-time")["value"]
        and t["parameters"].get("keys") in ("uniform", None)
        and t["threads"] == 9
    }
    for row in some(shown):
        known = [
            expected[row["id"], name]
            for name in ("search-time", "key-time", "throughput", "waiting")
        ]
        is_gain = row["text"].endswith("×")
        assert is_gain or (row["value"], row["low"], row["high"]) in known or row["value"] is None


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
    assert slow
    ringed = {row["id"] for row in page.rows("ring", "id") if row["ring"]}
    assert ringed == {
        t["id"] for t in trials([lines]) if t["id"] in slow and t["parameters"]["keys"] == "uniform"
    }
    notes = [
        row["line"]
        for row in page.rows("line", "row")
        if row["line"].startswith("Ringed: the dispatcher was the bottleneck")
    ]
    assert len(notes) == 2  # of the times, and of what is end to end
    assert re.search(r"(whole|routed|divided) ○", page.text)


def test_published_times_stand_beside_the_published_setting_alone(whole: Whole) -> None:
    _, page, _ = whole
    grey = [
        (row["trial"], row["x"], row["value"])
        for row in page.rows("trial", "x")
        if row["trial"].startswith("published: ")
    ]
    theirs = search.published_times()
    assert grey == [
        (f"published: {v}", size, value)
        for v, sizes in theirs.items()
        for size, value in sorted(sizes.items())
    ]
    text = text_of(page)
    assert text.count("whole, published") == 1 and "7.87 µs" in text and "81.8 µs" in text
    machine = search.published_machine()
    assert f"Published of another machine, {machine}: times belong to it." in text
    assert any(
        row["line"] == f"Grey: published of another machine, {machine}, to which its times belong."
        for row in page.rows("line", "row")
    )
    assert "jsl2023: Johnny's Software Lab" in str(
        [row["line"] for row in page.rows("line", "row")]
    )


def test_of_another_setting_only_ratios_are_beside(tmp_path: Path) -> None:
    page = make(tmp_path, record(NINE, points(threads=(3,), sizes=SIZES[:3]), RUN))
    text = text_of(page)
    assert not [row for row in page.rows("trial", "x") if row["trial"].startswith("published: ")]
    assert "Not the published setting: threads 3 instead of 9." in text
    assert "and of another setting: here threads 3 instead of 9." in text
    assert "1.17" in text and "7.87 µs" not in text and "whole, published" not in text


def test_one_searcher_owns_everything(tmp_path: Path) -> None:
    (found,) = search.gains([{**t, "threads": 2} for t in BOTH])
    assert found["alone"] and found["conclusion"] == "" and found["lines"][0]["most"] == ""
    text = text_of(make(tmp_path, record(NINE, points(threads=(2,), sizes=SIZES[:2]), RUN)))
    assert (
        "whole, routed and divided do the same here" in text
        and "that divided is faster" not in text
    )
    assert not list((tmp_path / "report-pictures").glob("*-parts*")), (
        "a picture of what a gain of nothing is made of"
    )


def test_packets_have_a_spread(tmp_path: Path) -> None:
    (point,) = points(sizes=SIZES[:1], methods=("branchy",), variants=("whole",))
    point.others.update(
        {"search-median": ("s", 5e-6), "search-p99": ("s", 6e-6), "search-deviation": ("s", 7e-9)}
    )
    text = text_of(make(tmp_path, record(NINE, [point], RUN)))
    assert "a packetmedianp99deviationa key" in text and "5.00 µs6.00 µs7.00 ns" in text


def test_gains_are_on_the_page(whole: Whole) -> None:
    _, page, lines = whole
    text = text_of(page)
    (found,) = search.gains([t for t in told(lines) if t["parameters"].get("keys") == "uniform"])
    assert "that divided is faster than whole, agrees at" in text
    assert found["conclusion"] in text
    for line in found["lines"]:
        for part in line["parts"].values():
            assert f"{units.number(part['value'])}({units.number(part['low'])} to" in text
    lines_of = {
        row["series"].split(" ", 1)[1]
        for row in page.rows("series", "x")
        if row["text"].endswith("×")
    }
    assert {"whole/divided", "published", *search.PARTS} <= lines_of


def test_skew_has_bars_and_a_table(whole: Whole) -> None:
    _, page, lines = whole
    of_id = {t["id"]: t for t in trials([lines])}
    bars = list(page.rows("column", "id", "value"))
    assert {row["column"] for row in bars} == {"imbalance", "idle", "waiting", "throughput"}
    for row in bars:
        assert row["value"] == metric_of(of_id[row["id"]], row["column"])["value"]
    shown = [(row["first"], row["point"]) for row in page.rows("first", "point", "beside")]
    assert shown == [
        (keys if variant == "divided" else "", variant)
        for keys in ("uniform", "zipf 1", "hot 0.9")
        for variant in OWNED
    ]
    text = text_of(page)
    assert "Skewed keys: 1 MiB, branchy, u32, 9 threads" in text
    assert re.search(r"hot 0\.9 ?divided ?7\.20 ?", text)


def test_skewed_rows_say_where_the_dispatcher_was_the_bottleneck(tmp_path: Path) -> None:
    """Beside the bars of these trials, and of no others."""
    made = [*points(sizes=(MIB,), methods=("branchy",), variants=OWNED), *skewed()]
    for point in made:
        point.others["dispatcher-bound"] = ("1", 0.5 if point.variant == "stealing" else 0.49)
    page = make(tmp_path, record(NINE, made, RUN))
    rows = list(page.rows("first", "point", "beside"))
    assert [(row["point"], row["beside"]) for row in some(rows)] == [
        (variant, "○ dispatcher-bound" if variant == "stealing" else "")
        for _ in ("uniform", "zipf", "hot")
        for variant in OWNED
    ]
    drawn = (tmp_path / "report-pictures/search-skew.svg").read_text(encoding="utf-8")
    assert drawn.count("○ dispatcher-bound") == 3


def test_best_has_a_table_of_its_own(whole: Whole) -> None:
    _, page, lines = whole
    text = text_of(page)
    assert f"best: how fast, and what its layout costs ({3 * len(SIZES)} trials)" in text
    assert "6.67 %" in text
    key = next(
        metric_of(t, "key-time")
        for t in trials([lines])
        if t["variant"] == "best" and t["threads"] == 4
    )
    assert units.quantity(key["value"], "s") in text
    ends = {row["series"].split(" ", 1)[1] for row in page.rows("series", "x")}
    assert {"1 thread", "4 threads", "9 threads"} <= ends


def test_what_is_missing_is_named_and_what_is_there_is_not(tmp_path: Path) -> None:
    compared = [
        header(NINE, run_id("peers"), random.Random(1)),
        peer(run_id("peers"), benchmark="search", case="256 MiB, u32"),
    ]
    everything = record(NINE, [*points(sizes=SIZES[:2]), *skewed()], RUN)
    whys = (
        "What dividing gains",
        "What the gain is made of",
        "What skewed keys do",
        "The fastest",
        "Scaling",
        "Other programs",
    )
    for folder, own, missing in (
        ("all", [everything, compared, *DIVIDED], ()),
        ("one", [record(NINE, points(sizes=SIZES[:2], methods=("branchy",)), RUN)], (1, 2, 4, 5)),
        ("best", [record(NINE, points(sizes=SIZES[:2], variants=("best",)), RUN)], (0, 2, 4, 5)),
        ("peers", [compared], (0, 2, 3, 4)),
    ):
        text = text_of(make(tmp_path / folder, *own))
        assert [why for why in whys if f"{why}:" in text] == [whys[i] for i in missing], folder
        assert ("Not on this page" in text) == bool(missing)
    assert program.main(["validate", str(write(tmp_path / "a.jsonl", everything))]) == GOOD


def test_one_size_makes_bars(tmp_path: Path) -> None:
    lines = record(NINE, points(sizes=(MIB,)), RUN)
    page = make(tmp_path, lines)
    assert {name for name in names(tmp_path / "report-pictures") if name.endswith("svg")} == {
        "search-bars.svg",
        "steadiness.svg",
    }
    shown = {row["id"]: row["value"] for row in page.rows("id", "value", "end")}
    assert shown == {t["id"]: metric_of(t, "search-time")["value"] for t in trials([lines])}


def test_what_could_not_be_measured_makes_a_page(tmp_path: Path) -> None:
    own = points(sizes=SIZES[:3])
    for p in own:
        p.status, p.reasons = "impossible", ["a dispatcher and 8 searchers don't fit on 2 CPUs"]
    text = text_of(make(tmp_path, record(NINE, own, RUN)))
    assert f"{len(own)} impossible" in text and "What dividing gains: no setting" in text


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
            for keys in ("uniform", "hot 0.9"):
                assert f"{method}, {kind}, {keys} keys" in drawn
    assert "whole, thp" in drawn and "whole, base" in drawn


def test_a_variant_that_is_not_known_is_shown_last(tmp_path: Path) -> None:
    own = told(record(NINE, points(sizes=SIZES[:2], variants=("whole", "divided", "later")), RUN))
    assert search.by_size(own)[0]["lines"] == ["whole", "divided", "later"]
    machine = header(NINE, RUN, random.Random(1))["machine"]
    assert search.pictures(own, machine, "search", "search")[0].name == "search"
