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
from locus_analysis.card import content, summary
from locus_analysis.records import database
from make_records import FOUR, TWO, Point, cores, kmeans, of_lines, record
from pages import make
from test_summary import RUN, all_of, card_of, known


def answer_of(points: Sequence[Point], benchmark: str) -> list[str]:
    db = database.tables(of_lines(record(TWO, list(points), RUN)))
    return summary.answer(db, benchmark).splitlines()


def test_a_benchmark_has_its_own_lines_of_the_card() -> None:
    for benchmark, names in (("latency", {"L1", "TLB"}), ("sharing", {"false sharing", "padding"})):
        rows = answer_of(all_of(TWO), benchmark)
        assert names <= {row[11:26].strip() for row in rows} and len(rows) <= 16
        assert not [row for row in rows if row.startswith(("locus", "results", "bandwidth"))]
    assert answer_of(kmeans(), "latency") == ["nothing of latency was measured"]


def test_one_cpu_has_nothing_to_compare() -> None:
    """Its trials stand above, so it is not said that nothing was measured."""
    lines = record(TWO, cores(replace(TWO, cpu_nodes=1, cores=1)), RUN)
    lines[0]["machine"]["topology"]["allowed"] = "1"
    told = summary.answer(database.tables(of_lines(lines)), "cores")
    assert told == "cores tells nothing about this machine by itself: there is one CPU"


def test_a_workload_by_itself_has_a_line_for_each_ratio() -> None:
    told_of = [row[26:] for row in answer_of(all_of(TWO), "kmeans")]
    assert [text for text in told_of if text.startswith("false sharing of means and sums: ")]
    assert len([row for row in answer_of(all_of(TWO), "kmeans") if "kmeans" in row]) > 1


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
