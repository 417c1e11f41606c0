# SPDX-License-Identifier: Apache-2.0
"""What the lesson of hashmap says was published is what reference/hashmap.csv has."""

from locus_analysis import published
from locus_analysis.records import HERE


def test_the_lesson_says_what_was_published() -> None:
    lesson = " ".join((HERE / "lessons/hashmap.html.j2").read_text().split())
    gains: dict[str, list[float]] = {}
    for figure in published.ratios("hashmap"):
        gains.setdefault(figure.machine, []).append(figure.value)
    large, small = sorted(gains, key=lambda machine: -max(gains[machine]))
    assert "(24 cores" in large and "(4 cores" in small and gains[small] == [1.0]
    least, most = min(gains[large]), max(gains[large])
    assert f"worth {least:g} to {most:g} at many threads on 24 cores, and nothing on 4" in lesson
