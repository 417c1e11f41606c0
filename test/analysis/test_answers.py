# SPDX-License-Identifier: Apache-2.0
"""The end of a benchmark's own run: its lines of the card; ratios in words, and the meaning of
words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from locus_analysis.card import content, summary, work_lines
from locus_analysis.records import database
from make_records import FOUR, ONE, TWO, Point, brief, cores, kmeans, latency, of_lines, record
from pages import make
from test_summary import RUN, all_of, card_of, known


def answer_of(points: Sequence[Point], benchmark: str) -> list[str]:
    """Without samples, which the command skips."""
    lines = brief(record(TWO, list(points), RUN))
    return summary.answer(database.tables(of_lines(lines)), benchmark).splitlines()


def test_a_benchmark_has_its_own_lines_of_the_card() -> None:
    for benchmark, names in (("latency", {"L1", "TLB"}), ("sharing", {"false sharing", "padding"})):
        rows = answer_of(all_of(TWO), benchmark)
        assert names <= {row[11:26].strip() for row in rows} and len(rows) <= 16
        assert not [row for row in rows if row.startswith(("locus", "results", "bandwidth"))]
    assert answer_of(kmeans(), "latency") == ["nothing of latency was measured"]
    matrix = [p for p in latency(ONE) if p.variant == "matrix"]
    assert matrix and answer_of(matrix, "latency") == [
        "of latency nothing was measured that tells about this machine by itself"
    ]


def test_one_cpu_has_nothing_to_compare() -> None:
    """Its trials stand above, so it is not said that nothing was measured."""
    lines = record(TWO, cores(replace(TWO, cpu_nodes=1, cores=1)), RUN)
    lines[0]["machine"]["topology"]["allowed"] = "1"
    told = summary.answer(database.tables(of_lines(lines)), "cores")
    assert told == "cores tells nothing about this machine by itself: there is one CPU"


def test_a_workload_by_itself_has_a_line_for_each_ratio() -> None:
    rows = answer_of(all_of(TWO), "kmeans")
    assert [row for row in rows if row[26:].startswith("false sharing of means and sums: ")]
    assert len([row for row in rows if "kmeans" in row]) > 1


def test_the_word_of_a_line_is_about_all_that_it_says() -> None:
    """Its second ratio, too, which has its direction in words."""

    def told(own: Any, other: Any) -> tuple[str, str]:
        made = two_ratios("sharing", {"fetch-add": own, "add": other}, ("layout", "dense"))
        (line,) = (line for line in made if line.name == "false sharing")
        assert line.text.startswith("2 threads on one line: ")
        return line.text.split(": ", 1)[1], line.sure

    sure, wide = (1.5, 1.49, 1.51), (3, 1.1, 9)
    assert told(sure, wide) == ("fetch-add 50 % slower, add 3 times slower", content.ROUGH)
    same, more = (1.0, 0.99, 1.01), (1.35, 1.34, 1.36)
    assert told(same, more) == ("fetch-add no difference, add 35 % slower", content.CERTAIN)
    unknown = told((1.0, 0.5, 2.0), more)
    assert unknown[0].startswith("fetch-add open (2 times faster to 2 times slower), add 35 % slow")
    assert unknown[1] == content.UNTOLD


def test_the_second_ratio_of_a_workload_counts_for_its_word() -> None:
    def word(other: Any) -> str:
        made = two_ratios("newcomer", {"dense": (1.5, 1.49, 1.51), "none": other}, None)
        return made[0].sure

    assert word((2.0, 1.99, 2.01)) == content.CERTAIN
    assert word((3.0, 1.1, 9.0)) == content.ROUGH


def two_ratios(
    benchmark: str, ratios: dict[str, tuple[float, float, float]], layout: Any
) -> list[content.Line]:
    """Lines about a benchmark whose variants have these ratios, value and interval: in a parameter
    if one is given, else to the variant padded."""
    base, points = Point(benchmark, "padded", {}, 2, 1e-6), []
    for variant in ratios:
        key, of = layout or ("variant", variant)
        given = {key: of} if layout else {}
        to = "padded"
        point = Point(benchmark, variant, given, 2, 1e-6, ratios=[(key, of, to, 1e-6)])
        point.other = base.id
        points.append(point)
    lines = record(TWO, [base, *points], RUN)
    for line in (line for line in lines if line.get("ratios")):
        value, low, high = ratios[line["variant"]]
        line["ratios"][0].update(value=value, ci=[low, high])
    (host,) = summary.machines(database.tables(of_lines(lines)))
    return summary.of_benchmark(host, benchmark) if layout else work_lines.of_all(host)


def walks(followed: Sequence[float], others: Sequence[float]) -> list[Point]:
    """Walks of prefetch: random order is four times slower at the strides that are followed."""
    points = []
    for stride in (*followed, *others):
        times = 1 + 3 * (stride in followed)
        one, other = (
            Point(
                "prefetch", "dependent", {"stride": int(stride), "order": order, "pages": "base"},
                1, 1e-8 * t,
            )
            for order, t in (("random", times), ("forward", 1))
        )  # fmt: skip
        one.ratios, one.other = [("order", "random", "forward", 1e-8)], other.id
        points += [one, other]
    return points


def test_which_strides_the_prefetchers_follow() -> None:
    line = answer_of(walks([64, 128], [4096]), "prefetch")[0]
    assert line.startswith(
        "prefetch   strides        dependent loads, base pages: strides up to 128"
    )
    said = " ".join(" ".join(answer_of(walks([64, 128], [4096]), "prefetch")[:2]).split())
    assert "strides up to 128 B are certain followed, 4 KiB is not" in said
    blind = " ".join(answer_of(walks([], [64, 4096]), "prefetch")[:2])
    assert "no stride is followed" in blind


@pytest.mark.parametrize(
    ("low", "high", "status", "word"),
    [
        (2.9, 3.1, "ok", content.CERTAIN),
        (1.5, 6, "unconverged", content.CERTAIN),  # no value is told
        (2.9, 3.1, "bimodal", content.ROUGH),
        (1.5, 6, "noisy", content.NOISY),
    ],
)
def test_strides_are_as_sure_as_the_ratios_that_they_rest_on(
    low: float, high: float, status: str, word: str
) -> None:
    line = strides(walks([64, 128], []), (low, high, status))
    assert line.text == "dependent loads, base pages: strides up to 128 B are followed"
    assert line.sure == word


def test_strides_that_may_be_followed() -> None:
    open_ = (0.8, 1.5, "noisy")
    line = strides(walks([64, 128], [4096]), (2.9, 3.1, "ok"), (2.9, 3.1, "ok"), open_)
    assert line.text.endswith("strides up to 128 B are followed, 4 KiB may be")
    assert line.sure == content.NOISY
    line = strides(walks([], [64, 4096]), open_)
    assert line.sure == content.UNTOLD and line.text == (
        "dependent loads, base pages: whether strides are followed is open; with nothing else"
        " running: locus prefetch --variant dependent --pages base --time-budget 5min"
    )
    line = strides(walks([128], [64]), (0.9, 1.5, "ok"), (2.9, 3.1, "ok"))
    assert line.text.endswith("128 B followed, 64 B may be") and line.sure == content.ROUGH
    none = strides(walks([], [64, 4096]), (0.97, 1.03, "ok"))
    assert none.text.endswith("no stride is followed") and none.sure == content.CERTAIN


def strides(points: Sequence[Point], *given: tuple[float, float, str]) -> content.Line:
    """The line on strides, whose ratios, in order of the strides, have these bounds and statuses;
    the last of them for all others."""
    lines = record(TWO, sorted(points, key=lambda p: p.parameters["stride"]), RUN)
    left = [*given]
    for line in (line for line in lines if line.get("ratios")):
        low, high, status = left.pop(0) if len(left) > 1 else left[0]
        line.update(status=status, reasons=[] if status == "ok" else ["so it is"])
        line["ratios"][0].update(value=(low + high) / 2, ci=[low, high])
    (host,) = summary.machines(database.tables(of_lines(lines)))
    return next(x for x in summary.of_benchmark(host, "prefetch") if x.name == "strides")


@pytest.mark.parametrize(
    ("status", "noise", "when", "many"),
    [("noisy", 1, "with nothing else running: ", summary.MOST_LONGER), ("unconverged", 5, "", 2)],
)
def test_advice_for_many_lines_is_given_once(
    status: str, noise: float, when: str, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the card and the 14 lines that the suite prints while it runs are at most 60 lines."""
    monkeypatch.setattr(summary, "MOST_LONGER", many)
    points = all_of(TWO)
    for p in points:
        p.status, p.reasons, p.noise = status, ["why"], noise
    made = card_of(TWO, points)
    text = content.text(made, 80)
    (count,) = re.findall(f"^next       ([0-9]+) lines: {when}locus suite", text, re.MULTILINE)
    assert int(count) > many and text.count("locus suite") == 1
    assert "one node" in text and not re.search("one node .*locus", text)
    assert len(text.splitlines()) <= 46


def test_a_card_tells_what_its_words_mean() -> None:
    text = " ".join(content.text(card_of(FOUR, all_of(FOUR))).split())
    assert "words certain: known within 5 %; cannot tell: not known results" in text


# ---- ratios in words ----


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (1.07, 1.13, "10 % slower"),
        (1.052, 1.054, "5.3 % slower"),
        (2.99, 3.01, "3 times slower"),
        (3.117, 3.123, "3.12 times slower"),
        (2.6, 3.64, "3.1 times slower"),
        (0.49, 0.51, "2 times faster"),
        (0.5, 3.0, "open (2 times faster to 3 times slower)"),
        (1.0, 1.08, "open (0 to 8 % slower)"),  # 1 is on neither side
        (0.2, 1.0, "open (1 to 5 times faster)"),
        (79.6, 119.6, "100 times slower"),
    ],
)
def test_a_ratio_in_words_has_the_digits_that_its_interval_supports(
    low: float, high: float, words: str
) -> None:
    assert content.compared([known(low, high)], "slower", "faster")[0] == words


def test_several_ratios_in_words() -> None:
    def told_of(*ratios: Any) -> str:
        return content.compared(ratios, "slower", "faster")[0]

    assert told_of(known(1.09, 1.11), known(1.29, 1.31)) == "10 to 30 % slower"
    assert told_of(known(1.19, 1.21), known(30, 32)) == "1.2 to 31 times slower"
    assert told_of(known(1.002, 1.056), known(1.59, 1.61)) == "2.9 to 60 % slower"
    assert told_of(known(1.0001, 1.056), known(2.99, 3.01)) == "1.03 to 3 times slower"
    assert told_of(known(2, 4, "noisy"), known(3, 4, "noisy")) == "slower"


def test_the_title_of_a_picture_is_the_finding_of_the_card(tmp_path: Path) -> None:
    """In its alternative text, too; the former title is the subtitle."""
    page = make(tmp_path, record(TWO, kmeans(), RUN))
    known = summary.findings(database.tables(database.read([tmp_path / "0.jsonl"])))
    (found,) = known.values()
    drawn = next(spec for name, spec in zip(page.figures, page.specs) if name == "kmeans")
    title = " ".join(drawn["title"]["text"])
    assert title.lower() == found["kmeans"].lower() and len(title) > 20
    assert drawn["title"]["subtitle"][0].startswith("kmeans on ")
    assert f'aria-label="{title}. kmeans on ' in (tmp_path / "report.html").read_text()
