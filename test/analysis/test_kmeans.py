# SPDX-License-Identifier: Apache-2.0
"""The page of kmeans: published claims, judged by its trials; published ratios, scaling, other
libraries."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any, Optional

import pytest
from locus_analysis import __main__ as program
from locus_analysis.insight import claims, run_variation
from locus_analysis.insight.evidence import AGREES, DIFFERS, IN_PART, UNSURE
from locus_analysis.page import peers, scaling
from locus_analysis.pictures import draw
from locus_analysis.records import database, description
from locus_analysis.records.rows import Trial
from make_records import (
    FLAGS,
    PEERS,
    SMALL_CASE,
    Line,
    Machine,
    flag,
    header,
    of_lines,
    peer,
    record,
    run_id,
    write,
)
from make_records import kmeans as points
from pages import HOSTILE, Page, make, names, trials

GOOD, BAD_INPUT = 0, 2


RUN = run_id("a")


EIGHT = Machine("n8", "a machine", cpu_nodes=1, cores=8)


def told(*runs: list[Line]) -> list[Trial]:
    brief = [line for lines in runs for line in lines if line["type"] != "samples"]
    given = of_lines(brief)
    return run_variation.of_time(database.tables(given), "kmeans")


def scaled(*runs: list[Line]) -> list[scaling.Curve]:
    db = database.tables(of_lines([line for run in runs for line in run]))
    return scaling.found_in(description.of(db, "kmeans"), run_variation.of_time(db, "kmeans"))


def compared(*changes: Line) -> list[Line]:
    """A record with nothing but peers."""
    run = run_id("peers")
    return [header(EIGHT, run, random.Random(1)), *(peer(run, **c) for c in changes or PEERS)]


def text_of(page: Page) -> str:
    return re.sub(r"\s+", " ", page.text)


# The published claims.

ONE, MANY, PADDING, LEFT, OWN = (
    "On one thread 2q is faster than 2p.",
    "On many threads 2q is slower than 2p.",
    "Padding cures it.",
    "The cost that padding leaves.",
    "Not sharing beats both.",
)


TIMES = {"q2": "2q", "padded": "2q-padded", "p3": "3p", "private": "private-padded"}


def ladder(
    threads: int, width: float = 0.01, work: Line = SMALL_CASE, **times: float
) -> list[Line]:
    """A record of trials with so many threads and these times (s); 2p takes 1 s."""
    wanted = {"2p": 1.0, **{TIMES[name]: value for name, value in times.items()}}
    made = [p for p in points(work=work, threads=(threads,)) if p.variant in wanted]
    lines = record(EIGHT, made, RUN)
    for trial in trials([lines]):
        value = wanted[trial["variant"]]
        time = next(m for m in trial["metrics"] if m["name"] == "time")
        time.update(value=value, ci=[value * (1 - width), value * (1 + width)], with_noise=None)
    return lines


def judged(lines: list[Line]) -> list[claims.Told]:
    db = database.tables(of_lines(lines))
    return claims.told(description.of(db, "kmeans"), database.measured(db, "kmeans"))


def claimed(*runs: list[Line]) -> dict[str, dict[str, Any]]:
    """The conclusion on each claim, with its only row as `row`; all trials count as one run's."""
    lines = runs[0] + [line for run in runs[1:] for line in run if line["type"] == "trial"]
    found = {}
    for c in judged(lines):
        (row,) = c["rows"]
        found[c["claim"]] = {**c, "row": row}
    return found


def verdicts(found: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {name: c["row"]["verdict"] for name, c in found.items() if name != LEFT}


def test_the_published_ratios_agree_with_the_lesson() -> None:
    found = claimed(ladder(1, width=0.001, q2=0.948), ladder(8, q2=7.72, padded=1.39, p3=0.648))
    assert verdicts(found) == dict.fromkeys((MANY, PADDING, OWN, ONE), AGREES)
    own = {name: c["row"] for name, c in found.items()}
    assert [own[name]["trial"]["threads"] for name in (ONE, MANY, PADDING, OWN)] == [1, 8, 8, 8]
    assert [own[name]["value"] for name in (ONE, MANY, LEFT, OWN)] == pytest.approx(
        [0.948, 7.72, 1.39, 0.648]
    )
    assert own[PADDING]["value"] == pytest.approx((7.72 - 1.39) / (7.72 - 1))
    assert own[MANY]["low"] == pytest.approx(7.72 * 0.99 / 1.01)
    theirs = "{} (i7-4870HQ, 4 cores, 8 threads); {} (2x Xeon E5-2680 v3, 24 cores, 48 threads)"
    assert {name: found[name]["published"] for name in (MANY, PADDING, LEFT, OWN)} == {
        MANY: theirs.format("1.71", "7.72"),
        PADDING: theirs.format("0.999", "1.39"),  # from a separate run of the source's
        LEFT: theirs.format("0.999", "1.39"),
        OWN: theirs.format("0.965", "0.648"),
    }
    assert found[ONE]["published"] == "0.948 (i7-4870HQ, 4 cores, 1 thread)"


def test_a_record_that_says_otherwise_is_told_so() -> None:
    found = claimed(ladder(1, q2=1.2), ladder(8, q2=0.8, padded=0.7, p3=1.3))
    assert verdicts(found) == {ONE: DIFFERS, MANY: DIFFERS, PADDING: UNSURE, OWN: DIFFERS}
    # the fastest variant of each side
    assert found[OWN]["row"]["value"] == pytest.approx(1.3 / 0.7)


def test_a_cure_is_measured_by_what_it_takes_away() -> None:
    """In a record in which each of the cases is a setting of its own."""
    expected = {0.9: AGREES, 2.5: UNSURE, 3.4: IN_PART, 3.75: UNSURE, 4.0: DIFFERS, 5.0: DIFFERS}
    lines: list[Line] = []
    for i, padded in enumerate(expected):
        made = ladder(2, work={**SMALL_CASE, "points": f"{i + 1}000"}, q2=4.0, padded=padded)
        lines += trials([made]) if lines else made
    (cure,) = (c for c in judged(lines) if c["claim"] == PADDING)
    found = {row["trial"]["parameters"]["points"]: row["verdict"] for row in cure["rows"]}
    assert found == {f"{i + 1}000": verdict for i, verdict in enumerate(expected.values())}


def test_what_the_interval_leaves_open_is_not_told() -> None:
    assert verdicts(claimed(ladder(2, q2=1.04))) == {MANY: UNSURE}
    assert verdicts(claimed(ladder(2, q2=1.02))) == {MANY: DIFFERS}  # by less than what matters
    assert verdicts(claimed(ladder(2, width=0.5, q2=1.2, padded=0.8)))[PADDING] == UNSURE


@pytest.mark.parametrize("status", ["misplaced", "wrong"])
def test_what_is_unsound_is_not_told(status: str) -> None:
    lines = ladder(2, q2=4.0)
    own = next(t for t in trials([lines]) if t["variant"] == "2q")
    own.update(status=status, reasons=["it was made up so"])
    (found,) = claimed(lines).values()
    assert (found["row"]["verdict"], found["row"]["why"]) == (UNSURE, f"2q is {status}")


@pytest.mark.parametrize(
    ("lower", "verdict", "conclusion"),
    [
        (1.8, AGREES, "agrees, 1.80 to 2.04, in two modes ▲1"),
        (
            0.9,
            UNSURE,
            "cannot be told, 0.900 to 2.04, in two modes ▲1: only part of its modes and",
        ),
    ],
)
def test_both_modes_have_to_agree(lower: float, verdict: str, conclusion: str) -> None:
    lines = ladder(2, q2=2.0)
    (trial,) = (t for t in trials([lines]) if t["variant"] == "2q")
    trial.update(status="bimodal", reasons=["two modes"])
    trial["samples"]["modes"] = [{"time": t, "share": 0.5} for t in (lower, 2.0)]
    found = claimed(lines)[MANY]
    assert found["row"]["verdict"] == verdict and found["conclusion"].startswith(conclusion)


def test_part_of_a_cost_is_told_of_noisy_trials_without_its_value() -> None:
    lines = ladder(2, q2=4.0, padded=1.2)
    for trial in trials([lines]):
        trial.update(status="noisy", reasons=["noise"])
    row = claimed(lines)[PADDING]["row"]
    assert (row["verdict"], row["told"]) == (AGREES, "2q is noisy: value not given")


def test_many_threads_are_those_with_a_cpu_each() -> None:
    runs = [ladder(n, q2=2.0) for n in (1, 2, 4)]
    for trial in trials(runs[2:]):
        trial["oversubscribed"] = True
    assert claimed(*runs)[MANY]["row"]["trial"]["threads"] == 2


def test_without_a_mystery_there_is_no_claim() -> None:
    best_alone = record(EIGHT, [p for p in points() if p.variant == "best"], RUN)
    assert claimed(best_alone) == {}
    assert list(claimed(ladder(1, q2=0.9))) == [ONE]


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
    peer: Any = {"value": value, "low": low, "high": high, "goal": goal}
    assert peers.reached(peer) == reached


def test_a_record_of_peers_alone_makes_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = make(tmp_path, compared())
    text = text_of(page)
    assert "4 comparisons with other libraries." in text
    assert re.search(
        r"200k x 2, k=81double, uniform, 1 thread ?scikit-learn lloyd1\.9\.1 ?9 ?1\.41 s ?30\.0 ms"
        r" ?47\(46 to 48\)"
        r" ?45\.0reached",
        text,
    )
    assert re.search(r"28\.0\(27\.1 to 28\.8\) ?30\.0missed ?inertia within 1e-6", text)
    assert re.search(r"7\.0\(6\.8 to 7\.2\) ?7\.00open", text)
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
    assert program.main(["validate", str(tmp_path / "0.jsonl")]) == GOOD
    assert "cut off" not in text  # a record of peers needs no end line
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
    made = points() + points(work=LARGE, threads=(1, 8), prunes=("none", "boxes"))
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
    values: dict[str, set[float]] = {}
    for metric in (m for trial in trials([lines]) for m in trial["metrics"]):
        if metric["value"] is not None:
            values.setdefault(metric["name"], set()).add(metric["value"])
    drawn = set()
    for trial in trials([lines]):
        for metric in trial["metrics"]:
            if metric["value"] is not None and len(values[metric["name"]]) > 1:
                ends = metric["ci"] or (None, None)
                assert (trial["id"], metric["value"], *ends) in shown, metric["name"]
                drawn.add(metric["name"])
    assert len(drawn) >= 3 and "The same in all trials that have it: iterations 108" in page.text


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
    theirs = {r["trial"]: r["value"] for r in bars if r["theirs"]}
    published = ", published: {}, {} threads"
    i7, xeon = (
        published.format("i7-4870HQ, 4 cores", 8),
        published.format("2x Xeon E5-2680 v3, 24 cores", 48),
    )
    assert theirs == pytest.approx(
        {
            "2q/2p on many threads" + i7: 2.234 / 1.31,
            "2q/2p on many threads" + xeon: 6.587 / 0.853,
            "2q-padded/2p" + i7: 1.342 / 1.344,
            "2q-padded/2p" + xeon: 1.469 / 1.055,
            "not shared/shared" + i7: 1.264 / 1.31,
            "not shared/shared" + xeon: 0.553 / 0.853,
            "2q/2p on one thread, published: i7-4870HQ, 4 cores, 1 thread": 4.019 / 4.24,
        }
    )
    assert {r["trial"].partition(",")[0] for r in bars if not r["theirs"]} == {
        name.partition(",")[0] for name in theirs
    }


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
    of_best = [r["line"] for r in drawn if r["line"].startswith("best, ")]
    told = {name for line in of_best for name in line.removeprefix("best, ").split(" = ")}
    assert {"none", "boxes"} <= told  # lines that lie on each other share a label


def test_a_share_that_is_not_known_says_why(tmp_path: Path) -> None:
    lines = record(EIGHT, points(threads=(1,)), RUN)
    trial = next(t for t in trials([lines]) if t["variant"] == "best")
    metric = next(m for m in trial["metrics"] if m["name"] == "fma-share")
    metric.update(value=None, ci=None, with_noise=None, why="this core's FMA rate is not known")
    make(tmp_path, lines)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '<span class="why" title="not reported for this trial">–</span>' in page


def test_one_number_of_threads_makes_bars(tmp_path: Path) -> None:
    lines = record(EIGHT, points(threads=(1,)), RUN)
    page = make(tmp_path, lines)
    found = names(tmp_path / "report-pictures")
    assert {"kmeans.svg", "kmeans-claims.svg", "kmeans-values.svg"} <= set(found)
    shown = {row["id"] for row in page.rows("id", "value", "end")} - {None}
    assert shown == {t["id"] for t in trials([lines])}


def test_what_could_not_be_measured_makes_a_page(tmp_path: Path) -> None:
    own = points()
    for p in own:
        p.status, p.reasons = "impossible", ["8 threads don't fit on 2 CPUs"]
    text = text_of(make(tmp_path, record(EIGHT, own, RUN)))
    assert f"{len(own)} impossible" in text


def test_a_variant_that_is_not_known_is_shown_last(tmp_path: Path) -> None:
    page = make(tmp_path, record(EIGHT, points(threads=(1, 2), later=(1, 1)), RUN))
    rows = page.specs[page.figures.index("kmeans")]["datasets"].values()
    series = dict.fromkeys(r["series"] for own in rows for r in own if "series" in r)
    assert [name.split(" ", 1)[1] for name in series][-2:] == ["best", "later"]
