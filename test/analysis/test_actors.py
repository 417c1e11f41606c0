# SPDX-License-Identifier: Apache-2.0
"""The lesson of actors quotes reference/actors.csv: sums over sizes, and their quotients."""

from locus_analysis.base.folders import LESSONS
from locus_analysis.records import published


def sums(metric: str) -> dict[str, float]:
    return {
        f.variant: f.value
        for f in published.figures("actors", metric)
        if "run" not in f.parameters and "compare" not in f.parameters
    }


def test_quotients_are_those_of_the_sums() -> None:
    found = {
        (f.variant.split()[0], f.parameters["compare"]): f.value for f in published.ratios("actors")
    }
    assert len(found) == 4
    for metric in ("time", "cache-misses"):
        of = sums(metric)
        for variant in ("stealing", "pool"):
            quotient = found[metric, f"{variant}/dedicated"]
            assert abs(quotient - of[variant] / of["dedicated"]) < 1e-3


def test_the_lesson_says_what_was_published() -> None:
    lesson = " ".join((LESSONS / "actors.html.j2").read_text().split())
    times, misses = sums("time"), sums("cache-misses")
    for of, digits in ((times, (2, 1)), (misses, (1, 1))):
        stealing, pool = (of[v] / of["dedicated"] for v in ("stealing", "pool"))
        assert f"as 1 : {stealing:.{digits[0]}f} : {pool:.{digits[1]}f}" in lesson
    rates = {f.variant: f.value for f in published.figures("actors", "context-switch rate")}
    assert f"switched context {rates['pool']:,.0f} times a second" in lesson
    assert f"{rates['dedicated']:,.0f} and {rates['stealing']:,.0f}" in lesson
