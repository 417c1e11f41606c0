# SPDX-License-Identifier: Apache-2.0
"""What is made of records of kmeans: the mystery held against them, published ratios beside,
scaling, other libraries."""

from __future__ import annotations

import copy
import random
import re
from pathlib import Path
from typing import Any, Optional

import pytest
from locus_analysis import __main__ as program
from locus_analysis import described, draw, kmeans, peers, records, scaling
from locus_analysis.evidence import AGREES, DIFFERS, IN_PART, UNSURE
from make_records import (
    FLAGS,
    PEERS,
    SMALL_CASE,
    Line,
    Machine,
    as_written,
    best,
    flag,
    header,
    peer,
    record,
    run_id,
    write,
)
from make_records import kmeans as points
from test_report import HOSTILE, Page, make, names, trials

GOOD, BAD_INPUT = 0, 2
RUN = run_id("a")
EIGHT = Machine("n8", "a machine", cpu_nodes=1, cores=8)


def told(*runs: list[Line]) -> list[dict[str, Any]]:
    brief = [line for lines in runs for line in lines if line["type"] != "samples"]
    given = records.of_lines(as_written(brief))
    return records.told(records.tables(given), "kmeans")


def scaled(*runs: list[Line]) -> list[dict[str, Any]]:
    db = records.tables(records.of_lines(as_written([line for run in runs for line in run])))
    return scaling.found_in(described.of(db, "kmeans"), records.told(db, "kmeans"))


def compared(*changes: Line) -> list[Line]:
    """A record with nothing but peers."""
    run = run_id("peers")
    return [header(EIGHT, run, random.Random(1)), *(peer(run, **c) for c in changes or PEERS)]


def text_of(page: Page) -> str:
    return re.sub(r"\s+", " ", page.text)


# What was published, by hand from the source's times.


def test_published_times_are_told_as_ratios() -> None:
    assert [(r["machine"], r["threads"], r["by"]) for r in kmeans.published_ratios()] == [
        ("i7-4870HQ", 1, {"2q": pytest.approx(4.019 / 4.24)}),
        (
            "i7-4870HQ",
            8,
            {
                "2q": pytest.approx(2.234 / 1.31),
                "3p": pytest.approx(1.264 / 1.31),
                "2q-padded": pytest.approx(1.342 / 1.344),  # in a run of its own
            },
        ),
        (
            "2x Xeon E5-2680 v3",
            48,
            {
                "2q": pytest.approx(6.587 / 0.853),
                "3p": pytest.approx(0.553 / 0.853),
                "2q-padded": pytest.approx(1.469 / 1.055),
            },
        ),
    ]
    assert [
        (s["machine"], s["variant"], s["threads"], s["value"]) for s in kmeans.published_speed_ups()
    ] == [
        ("i7-4870HQ", "2p", 8, pytest.approx(4.24 / 1.31)),
        ("i7-4870HQ", "2q", 8, pytest.approx(4.019 / 2.234)),
    ]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "The work is as published, but for points and centres, which were not."),
        (
            {"points": 200000},
            "The work is as published, but for points and centres, which were not.",
        ),
        (
            {"iterations": 0},
            "Not the published work: iterations until nothing changes instead of 108.",
        ),
        (
            {"points": "data/iris.csv", "clusters": 3},
            (
                "Not the published work: points iris.csv instead of 200\u00a0k, clusters 3 instead"
                " of 81."
            ),
        ),
    ],
)
def test_another_work_than_the_published_is_told(changes: dict[str, Any], said: str) -> None:
    assert kmeans.of_published_work([{"parameters": {**SMALL_CASE, **changes}}]) == said


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (999, "999"),
        ("200000", "200\u00a0k"),
        (2000000, "2\u00a0M"),
        (1500, "1500"),
        (0, "0"),
        ("a/b.npy", "b.npy"),
        ("-", "-"),
        ("²", "²"),
    ],
)
def test_amounts_read_well(value: Any, text: str) -> None:
    assert kmeans.amount(value) == text


# The mystery.


def of(
    variant: str, threads: int, value: Optional[float], width: Optional[float] = 0.01, **more: Any
) -> dict[str, Any]:
    known = value is not None and width is not None
    status = more.get("status", "ok")
    return {
        "variant": variant,
        "threads": threads,
        "parameters": SMALL_CASE,
        "value": value,
        "low": value * (1 - width) if value is not None and width is not None else None,
        "high": value * (1 + width) if known and value is not None and width is not None else None,
        "status": status,
        "flag": None if status == "ok" else 1,
        "oversubscribed": False,
        **more,
    }


def ladder(threads: int, **times: Optional[float]) -> list[dict[str, Any]]:
    """2p takes 1, unless it is said what."""
    known = {"p2": "2p", "q2": "2q", "padded": "2q-padded", "p3": "3p", "private": "private-padded"}
    return [of(known[name], threads, value) for name, value in {"p2": 1.0, **times}.items()]


def verdicts(own: list[dict[str, Any]]) -> dict[str, str]:
    return {c["claim"]: c["verdict"] for c in kmeans.claims(own)}


ONE, MANY, PADDING, OWN = (
    "On one thread 2q is faster than 2p.",
    "On many threads 2q is slower than 2p.",
    "Padding cures it.",
    "Not sharing beats both.",
)


def test_the_published_ratios_agree_with_the_lesson() -> None:
    own = ladder(1, q2=0.948) + ladder(48, q2=7.72, padded=1.39, p3=0.648)
    found = kmeans.claims(own)
    assert [(c["claim"], c["threads"], c["verdict"]) for c in found] == [
        (ONE, 1, AGREES),
        (MANY, 48, AGREES),
        (PADDING, 48, AGREES),
        (OWN, 48, AGREES),
    ]
    assert [c["ratio"]["value"] for c in found] == pytest.approx([0.948, 7.72, 1.39, 0.648])
    assert found[1]["ratio"]["low"] == pytest.approx(7.72 * 0.99 / 1.01)
    assert [c["why"] for c in found] == [
        "2q takes 5.2 % less than 2p",
        "2q takes 7.72 times as long as 2p",
        # (7.72 - 1.39) / (7.72 - 1)
        "it takes away 94.2 % (93.8 % to 94.6 %) of what 2q costs over 2p",
        "3p takes 35.2 % less than 2p",
    ]
    assert [c["published"] for c in found] == [
        "2q/2p 0.948 (1 thread)",
        "2q/2p 1.71 (8 threads), 7.72 (48 threads)",
        "2q-padded/2p 0.999 (8 threads), 1.39 (48 threads)",
        "3p/2p 0.965 (8 threads), 0.648 (48 threads)",
    ]


def test_a_record_that_says_otherwise_is_told_so() -> None:
    own = ladder(1, q2=1.2) + ladder(8, q2=0.8, padded=0.7, p3=1.3)
    assert verdicts(own) == {ONE: DIFFERS, MANY: DIFFERS, PADDING: UNSURE, OWN: DIFFERS}
    why = {c["claim"]: c["why"] for c in kmeans.claims(own)}
    assert why[PADDING] == "2q costs nothing here that could be cured"
    assert why[OWN] == "3p takes 85.7 % more than 2q-padded"  # the fastest of those that share


@pytest.mark.parametrize(
    ("padded", "verdict", "why"),
    [
        (0.9, AGREES, "it takes away 103 % (103 % to 104 %) of what 2q costs over 2p"),
        (2.5, UNSURE, "it takes away 50 % (48.3 % to 51.7 %) of what 2q costs over 2p"),
        (3.4, IN_PART, "it takes away 20 % (17.7 % to 22.2 %) of what 2q costs over 2p"),
        (4.0, UNSURE, "the interval allows that it is faster, and that it is slower"),
        (5.0, DIFFERS, "2q-padded takes 25 % more than 2q"),
    ],
)
def test_a_cure_is_measured_by_what_it_takes_away(padded: float, verdict: str, why: str) -> None:
    found = {c["claim"]: c for c in kmeans.claims(ladder(2, q2=4.0, padded=padded))}
    assert (found[PADDING]["verdict"], found[PADDING]["why"]) == (verdict, why)


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (of("2q", 2, 1.01), "the interval allows that it is faster, and that it is slower"),
        (of("2q", 2, 4.0, width=None), "there is no interval"),
        (of("2q", 2, 4.0, status="noisy"), "2q is noisy"),
        (of("2q", 2, 4.0, status="wrong"), "2q is wrong"),
    ],
)
def test_what_cannot_be_told_is_not_told(other: dict[str, Any], why: str) -> None:
    (found,) = kmeans.claims([of("2p", 2, 1.0), other])
    assert (found["claim"], found["verdict"], found["why"]) == (MANY, UNSURE, why)


def test_whether_padding_cures_is_open_where_the_disease_is() -> None:
    found = {
        c["claim"]: c
        for c in kmeans.claims(
            [of("2p", 2, 1.0, width=0.5), of("2q", 2, 1.2), of("2q-padded", 2, 0.8)]
        )
    }
    assert (found[PADDING]["verdict"], found[PADDING]["why"]) == (
        UNSURE,
        "whether 2q costs anything is open",
    )


def test_many_threads_are_those_with_a_cpu_each() -> None:
    own = [t for n in (1, 2, 4) for t in ladder(n, q2=2.0)]
    for t in own:
        t["oversubscribed"] = t["threads"] == 4
    assert kmeans.most_threads(own) == 2
    for t in own:
        t["oversubscribed"] = True
    assert kmeans.most_threads(own) == 4
    assert kmeans.claims([of("2p", 4, 1.0), of("2q", 2, 1.0)]) == []


def test_without_a_mystery_there_is_no_claim() -> None:
    assert kmeans.claims([of("best", 1, 1.0), of("best", 2, 0.5)]) == []
    assert list(verdicts(ladder(1, q2=0.9))) == [ONE]


# Ratios and speed-up.


def test_ratios_are_of_the_times_of_the_record() -> None:
    lines = record(EIGHT, points(threads=(1, 2)), RUN)
    time = {
        (t["variant"], t["threads"]): next(m for m in t["metrics"] if m["name"] == "time")
        for t in trials([lines])
    }
    found = kmeans.ratio_rows(told(lines))
    assert [row["threads"] for row in found] == [1, 2]
    for row in found:
        assert list(row["by"]) == [
            "2q",
            "2q-padded",
            "3p",
            "private-dense",
            "private-padded",
            "best",
        ]
        for variant, ratio in row["by"].items():
            one, base = time[variant, row["threads"]], time["2p", row["threads"]]
            assert ratio["value"] == one["value"] / base["value"]
            assert (ratio["low"], ratio["high"]) == (
                one["ci"][0] / base["ci"][1],
                one["ci"][1] / base["ci"][0],
            )


# Scaling.


def rank_run(
    ranks: int,
    *of_points: tuple[int, float, Optional[float]],
    machine: Machine = EIGHT,
    **changes: Any,
) -> list[Line]:
    """Trials of best by points, time of an iteration, and communication."""
    made = [best(2, {**SMALL_CASE, "points": str(n)}, time, spent) for n, time, spent in of_points]
    changes = {"started": f"2025-03-14T09:{ranks:02}:00.000Z", **changes}
    lines = record(machine, made, run_id(f"{ranks} {changes}"), ranks=ranks, **changes)
    for trial, (_, time, _) in zip(
        trials([lines]), of_points
    ):  # exact, to be computed with by hand
        next(m for m in trial["metrics"] if m["name"] == "time").update(
            value=time, ci=[time * 0.99, time * 1.01]
        )
    return lines


STRONG = (
    rank_run(1, (1200, 8.0, None)),
    rank_run(2, (1200, 4.2, 0.21), (2400, 8.4, 0.42)),
    rank_run(4, (1200, 2.5, 0.5), (4800, 10.0, 1.0)),
)


def test_strong_and_weak_scaling_by_hand() -> None:
    strong, weak = scaled(*STRONG)
    assert (strong["kind"], weak["kind"]) == ("strong", "weak")
    assert strong["name"] == "best, 1200" and weak["name"] == "best, 1200 a rank"
    assert (
        [line["ranks"] for line in strong["lines"]]
        == [line["ranks"] for line in weak["lines"]]
        == [1, 2, 4]
    )
    assert [line["speed_up"]["value"] for line in strong["lines"]] == pytest.approx(
        [1, 8 / 4.2, 3.2]
    )
    assert [line["efficiency"]["value"] for line in strong["lines"]] == pytest.approx(
        [1, 8 / 8.4, 0.8]
    )
    assert [line["communication_share"] for line in strong["lines"]] == [
        None,
        pytest.approx(0.05),
        pytest.approx(0.2),
    ]
    four = strong["lines"][2]["efficiency"]
    assert (four["low"], four["high"]) == pytest.approx((0.8 * 0.99 / 1.01, 0.8 * 1.01 / 0.99))
    assert [line["speed_up"] for line in weak["lines"]] == [None] * 3
    assert [line["efficiency"]["value"] for line in weak["lines"]] == pytest.approx(
        [1, 8 / 8.4, 0.8]
    )
    assert [line["amount"] for line in weak["lines"]] == ["1200", "2400", "4800"]


def test_what_does_not_compare_makes_no_curve() -> None:
    one, two, _ = STRONG
    assert scaled(one) == []
    other = rank_run(
        2, (1200, 4.0, 0.1), machine=Machine("n9", "another machine", cpu_nodes=1, cores=8)
    )
    assert scaled(one, other) == []
    assert scaled(one, rank_run(2, (1201, 4.0, 0.1))) == []
    assert scaled(one, rank_run(2, (1200, 4.0, 0.1), rank=1)) == []
    threads = copy.deepcopy(two)
    for trial in trials([threads]):
        trial["threads"] = 4
    assert scaled(one, threads) == []


def test_points_of_a_file_scale_strongly_alone() -> None:
    runs = [copy.deepcopy(run) for run in STRONG]
    for trial in trials(runs):
        trial["parameters"]["points"] = "data/points.npy"
    found = scaled(*runs)
    assert [curve["kind"] for curve in found] == ["strong"]
    assert found[0]["name"] == "best, points.npy"


def test_of_several_runs_with_as_many_ranks_the_last_counts() -> None:
    again = rank_run(2, (1200, 4.0, 0.1), started="2025-03-15T09:00:00.000Z")
    strong = scaled(*STRONG, again)[0]
    assert [line["value"] for line in strong["lines"]] == [8.0, 4.0, 2.5]


def test_scaling_is_on_the_page(tmp_path: Path) -> None:
    page = make(tmp_path, *STRONG)
    text = text_of(page)
    assert "Strong scaling: best, 1200, 2 threads a rank" in text
    assert "Weak scaling: best, 1200 a rank, 2 threads a rank" in text
    assert re.search(
        r"n8 ?1200 ?2\.50 s ?2\.48 to 2\.52 s ?500 ms ?20 % ?3\.20 \(3\.14 to 3\.26\) ?0\.800"
        r" \(0\.784 to 0\.816\)",
        text,
    )
    assert "n8, 4 ranks" in text and "Scaling: no two runs" not in text
    assert {"kmeans-scaling.svg", "kmeans-scaling.png"} <= set(names(tmp_path / "report-pictures"))
    # Both lines of both panels: five times, and four of communication; the ideal has no trial.
    shown = [(row["x"], row["value"]) for row in page.rows("x", "value", "id") if row["id"]]
    strong = [(1, 8.0), (2, 4.2), (4, 2.5), (2, 0.21), (4, 0.5)]
    assert sorted(shown) == sorted([*strong, (1, 8.0), (2, 8.4), (4, 10.0), (2, 0.42), (4, 1.0)])


# Other libraries.


@pytest.mark.parametrize(
    ("value", "ci", "goal", "reached"),
    [
        (47.0, [46.0, 48.5], 45, peers.REACHED),
        (45.0, [45.0, 48.5], 45, peers.REACHED),
        (47.0, [44.0, 48.5], 45, peers.OPEN),
        (44.0, [43.0, 45.0], 45, peers.OPEN),
        (44.0, [43.0, 44.9], 45, peers.MISSED),
        (47.0, None, 45, peers.REACHED),
        (44.0, None, 45, peers.MISSED),
        (47.0, [46.0, 48.5], None, None),
    ],
)
def test_a_goal_is_reached_by_the_whole_interval(
    value: float, ci: Optional[list[float]], goal: Optional[float], reached: Optional[str]
) -> None:
    low, high = ci or (None, None)
    assert peers.reached({"value": value, "low": low, "high": high, "goal": goal}) == reached


def test_a_record_of_peers_alone_makes_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = make(tmp_path, compared())
    text = text_of(page)
    assert "4 comparisons with other libraries." in text
    assert re.search(
        r"200k x 2, k=81double, uniform, 1 thread ?scikit-learn lloyd1\.9\.1 ?9 ?1\.41 s ?30\.0 ms"
        r" ?47\.0\(46\.0 to 48\.5\)"
        r" ?45\.0reached",
        text,
    )
    assert re.search(r"28\.0\(27\.1 to 28\.8\) ?30\.0missed ?inertia within 1e-6", text)
    assert re.search(r"7\.02\(6\.80 to 7\.20\) ?7\.00open", text)
    assert re.search(r"6\.20 ?–", text) and "2 threads" in text
    assert "locus, one thread" in text and "None" not in text
    made = {f"kmeans-peers.{kind}" for kind in draw.KINDS}
    assert set(names(tmp_path / "report-pictures")) == made
    bars = [(r["value"], r["low"], r["high"], r["goal"]) for r in page.rows("value", "goal")]
    assert bars == [
        (47.0, 46.0, 48.5, 45),
        (28.0, 27.1, 28.8, 30),
        (7.02, 6.8, 7.2, 7),
        (6.2, None, None, None),
    ]
    assert "adds the point to its sums" not in text  # no lesson without its measurement
    assert "Other libraries: no comparison" not in text
    for why in (
        "Time over threads",
        "Ratios, and published",
        "The fastest: best was not run",
        "Scaling: no two runs",
    ):
        assert why in text
    assert program.main(["validate", str(tmp_path / "0.jsonl")]) == GOOD
    assert "cut off" not in text  # it needs no end
    assert "5 lines" in capsys.readouterr().out
    assert program.main(["summary", str(tmp_path / "0.jsonl")]) == GOOD
    assert capsys.readouterr().out.startswith("nothing of a machine was measured")


@pytest.mark.parametrize(
    "changes",
    [
        {"ratio": 0},
        {"ci": [1.0]},
        {"ours": None},
        {"goal": "45"},
        {"agreement": ""},
        {"peer": "a\x1bb"},
        {"threads": 0},
        {"pairs": 0},
        {"price": 1},
    ],
)
def test_the_schema_refuses_peers_that_are_none(
    changes: Line, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "a.jsonl", compared(changes))
    assert program.main(["validate", str(path)]) == BAD_INPUT
    assert f"{path}:2: is not a line of a record: $" in capsys.readouterr().err


def test_what_a_peer_says_of_itself_stays_text(tmp_path: Path) -> None:
    page = make(
        tmp_path, compared(dict.fromkeys(("case", "peer", "version", "agreement"), HOSTILE))
    )
    assert page.text.count(HOSTILE) >= 4
    assert page.tags.count("script") == make(tmp_path / "plain", compared({})).tags.count("script")


# The whole page.


LARGE = {**SMALL_CASE, "points": "2000000", "dimensions": 8, "clusters": 256, "iterations": 10}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Page, list[Line]]:
    folder = tmp_path_factory.mktemp("kmeans")
    made = points() + points(work=LARGE, threads=(1, 8), prunes=("none", "bounds"))
    lines = record(EIGHT, flag(made, every=6), RUN)
    return folder, make(folder, lines), lines


Whole = tuple[Path, Page, list[Line]]


def test_numbers_in_curves_are_those_of_the_record(whole: Whole) -> None:
    _, page, lines = whole
    shown = {
        (row["id"], row["value"], row["low"], row["high"])
        for row in page.rows("id", "value", "x")
        if row["id"]
    }
    for trial in trials([lines]):
        for metric in trial["metrics"]:
            if metric["value"] is not None:
                ends = metric["ci"] or (None, None)
                assert (trial["id"], metric["value"], *ends) in shown, metric["name"]


def test_every_flagged_trial_is_marked(whole: Whole) -> None:
    folder, page, lines = whole
    drawn = (folder / "report-pictures/kmeans.svg").read_text(encoding="utf-8")
    flagged = [t for t in trials([lines]) if t["status"] != "ok"]
    assert {t["status"] for t in flagged} == set(FLAGS)
    for trial in flagged:
        assert trial["reasons"][0] in page.text
        assert f" {trial['status']}" in drawn


def test_published_ratios_stand_beside_ours(whole: Whole) -> None:
    _, page, _ = whole
    bars = list(page.rows("theirs", "point"))
    theirs = [(r["trial"], r["value"]) for r in bars if r["theirs"]]
    expected = [
        (
            (
                f"{variant}, published: {r['machine']}, {r['threads']}"
                f" thread{'s' * (r['threads'] > 1)}"
            ),
            r["by"][variant],
        )
        for variant in ("2q", "2q-padded", "3p")
        for r in kmeans.published_ratios()
        if variant in r["by"]
    ]
    assert theirs == expected and len(theirs) == 7
    # Of ours: with one thread, with as many as published, with the most; of the published work, not
    # of the other one.
    assert [(r["first"], r["point"]) for r in bars if not r["theirs"]] == [
        ("", f"here, {n}") for _ in ("2q", "2q-padded", "3p") for n in ("1 thread", "8 threads")
    ]
    assert any(r["line"].startswith("Here: 200 k × 2, k = 81") for r in page.rows("line", "row"))
    rows = kmeans.ratio_rows([t for t in told(whole[2]) if t["parameters"]["dimensions"] == 2])
    ours = {(r["threads"], v): x["value"] for r in rows for v, x in r["by"].items()}
    assert [r["value"] for r in bars if not r["theirs"]] == [
        ours[n, v] for v in ("2q", "2q-padded", "3p") for n in (1, 8)
    ]


def test_published_ratios_are_in_the_table_of_the_published_work_alone(whole: Whole) -> None:
    _, page, _ = whole
    text = text_of(page)
    assert text.count("published: 2x Xeon E5-2680 v348 threads") == 1
    assert (
        text.count("Not the published work: points 2 M instead of 200 k, dimensions 8 instead of 2")
        == 2
    )
    for value in ("0.948", "1.71", "7.72", "0.999", "1.39", "0.965", "0.648", "3.24", "1.80"):
        assert value in text


def test_tables_tell_what_best_did(whole: Whole) -> None:
    _, page, lines = whole
    text = text_of(page)
    pair = next(
        m
        for t in trials([lines])
        if t["variant"] == "best" and t["threads"] == 1
        for m in t["metrics"]
        if m["name"] == "pair-time"
    )
    assert pair["value"] == pytest.approx(100e-12)
    assert re.search(r"100 ps ?175 ms ?108 ?1234 ?4 % ?72 %", text)
    drawn = list(page.rows("line", "y"))
    assert {"best, none", "best, bounds"} <= {r["line"] for r in drawn}


def test_a_share_that_is_not_known_says_why(tmp_path: Path) -> None:
    lines = record(EIGHT, points(threads=(1,)), RUN)
    trial = next(t for t in trials([lines]) if t["variant"] == "best")
    metric = next(m for m in trial["metrics"] if m["name"] == "fma-share")
    metric.update(value=None, ci=None, without_noise=None, why="this core's FMA rate is not known")
    make(tmp_path, lines)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '<span class="why" title="not reported for this trial">–</span>' in page


def test_what_is_missing_is_named_and_what_is_there_is_not(tmp_path: Path) -> None:
    ladder_only = [p for p in points() if p.variant != "best"]
    for folder, own, missing in (
        ("all", [*STRONG, record(EIGHT, points(), RUN), compared()], []),
        (
            "ladder",
            [record(EIGHT, ladder_only, RUN)],
            ["The fastest", "Scaling", "Other libraries"],
        ),
        (
            "one",
            [record(EIGHT, points(threads=(1,)), RUN)],
            ["Time over threads", "The published mystery", "Scaling", "Other libraries"],
        ),
        (
            "best",
            [record(EIGHT, [p for p in points() if p.variant == "best"], RUN)],
            ["Ratios, and published", "Scaling", "Other libraries"],
        ),
    ):
        text = text_of(make(tmp_path / folder, *own))
        whys = (
            "Time over threads, and",
            "Ratios, and published",
            "The published mystery",
            "The fastest: ",
            "Scaling: ",
            "Other libraries: ",
        )
        assert [why for why in whys if f"{why}" in text] == [
            why for why in whys if any(why.startswith(m) for m in missing)
        ], folder
        assert ("Not on this page" in text) == bool(missing)


def test_one_number_of_threads_makes_bars(tmp_path: Path) -> None:
    lines = record(EIGHT, points(threads=(1,)), RUN)
    page = make(tmp_path, lines)
    found = names(tmp_path / "report-pictures")
    assert {"kmeans.svg", "kmeans-published.svg", "kmeans-values-1.svg"} <= set(found)
    shown = {row["id"] for row in page.rows("id", "value", "end")} - {None}
    assert shown == {t["id"] for t in trials([lines])}


def test_what_could_not_be_measured_makes_a_page(tmp_path: Path) -> None:
    own = points()
    for p in own:
        p.status, p.reasons = "impossible", ["8 threads don't fit on 2 CPUs"]
    text = text_of(make(tmp_path, record(EIGHT, own, RUN)))
    assert f"{len(own)} impossible" in text
    assert (
        "Time over threads, and speed-up: no work has values with several numbers of threads"
        in text
    )


def test_a_variant_that_is_not_known_is_shown_last(tmp_path: Path) -> None:
    page = make(tmp_path, record(EIGHT, points(threads=(1, 2), later=(1, 1)), RUN))
    rows = page.specs[page.figures.index("kmeans")]["datasets"].values()
    series = dict.fromkeys(r["series"] for own in rows for r in own if "series" in r)
    assert [name.split(" ", 1)[1] for name in series][-2:] == ["best", "later"]
