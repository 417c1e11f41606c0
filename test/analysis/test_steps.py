# SPDX-License-Identifier: Apache-2.0
"""The step finder: on curves whose steps are known, on curves without steps, and on curves that
others published."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass, field
from typing import Any, Optional

import numpy as np
import pytest
from locus_analysis.base import units
from locus_analysis.base.folders import REFERENCE
from locus_analysis.insight.plateaus import Steps
from locus_analysis.insight.steps import find
from locus_analysis.records import published

KIB, MIB = 1 << 10, 1 << 20


@dataclass
class Synthetic:
    """A synthetic curve with known steps."""

    sizes: Any
    times: Any
    values: list[float]  # of the levels
    edges: list[tuple[float, float]] = field(
        default_factory=list
    )  # log2 of the sizes where each ramp begins and ends


def synthetic(
    seed: int, levels: int, noise: float, ramp: float, density: int, outliers: float = 0
) -> Synthetic:
    """Levels of 2 to 5 octaves, 1.8 to 5 times apart; between them ramps of up to `ramp` octaves,
    in two shapes."""
    rng = np.random.default_rng([seed, levels, round(1000 * noise), round(10 * ramp), density])
    at = 10 + rng.uniform(2.5, 5)
    curve = Synthetic(None, None, [rng.uniform(1e-9, 2e-9)])
    for _ in range(levels - 1):
        width = rng.uniform(0, ramp)
        curve.edges.append((at, at + width))
        curve.values.append(curve.values[-1] * rng.uniform(1.8, 5))
        at += width + rng.uniform(2, 4)
    x = np.arange(10, at, 1 / density)
    y = np.full(len(x), math.log2(curve.values[0]))
    straight_in_logarithms = bool(rng.integers(2))
    for (a, b), low, high in zip(curve.edges, curve.values, curve.values[1:]):
        risen = np.clip((x - a) / (b - a), 0, 1) if b > a else np.ones(len(x))
        up = (
            np.log2(low) + risen * np.log2(high / low)
            if straight_in_logarithms
            else np.log2(low + risen * (high - low))
        )
        y = np.where(x > a, up, y)
    y = y + rng.normal(0, math.log2(1 + noise), len(x))
    hit = rng.random(len(x)) < outliers
    y = np.where(hit, y + np.log2(rng.uniform(1.3, 3, len(x))), y)
    curve.sizes, curve.times = 2**x, 2**y
    return curve


def flaw(found: Steps, curve: Synthetic, noise: float, density: int) -> str:
    """The first error in the found steps; empty if there is none."""
    if len(found.edges) != len(curve.edges) or len(found.plateaus) != len(curve.values):
        return f"{len(found.plateaus)} plateaus and {len(found.edges)} edges"
    for edge, (begin, end), low, high in zip(
        found.edges, curve.edges, curve.values, curve.values[1:]
    ):
        # A ramp becomes visible when it leaves the noise.
        seen = begin + (end - begin) * min(
            1, max(3 * noise, 0.1) / min(high / low - 1, math.log(high / low))
        )
        if not math.log2(edge.low) <= seen + 1 / density or not begin <= math.log2(edge.high):
            return (
                f"an edge at {math.log2(edge.low):.2f} to {math.log2(edge.high):.2f} instead of"
                f" {begin:.2f} to {seen:.2f}"
            )
    for plateau, value in zip(found.plateaus, curve.values):
        if abs(plateau.time / value - 1) > 0.05 + 2 * noise:
            return f"a plateau at {plateau.time} instead of {value}"
    return ""


# The share of 300 curves that were found completely: all edges and plateaus, edges within their
# intervals. Most failures with outliers have one next to an edge, where it looks like a softer
# edge. The tests take fewer curves, and allow for that.
MEASURED = {  # (share of outliers, noise): by points an octave
    (0, 0): {2: 1.00, 4: 1.00, 8: 1.00},
    (0, 0.02): {2: 1.00, 4: 1.00, 8: 1.00},
    (0, 0.05): {2: 0.97, 4: 0.99, 8: 1.00},
    (0, 0.1): {2: 0.92, 4: 0.99, 8: 0.97},
    (0.03, 0): {2: 0.94, 4: 0.93, 8: 0.94},
    (0.03, 0.05): {2: 0.91, 4: 0.92, 8: 0.97},
    (0.03, 0.1): {2: 0.80, 4: 0.93, 8: 0.93},
}
SEEDS = {2: 45, 4: 24, 8: 14}  # by points an octave: more points take longer


@pytest.mark.parametrize(("outliers", "noise"), MEASURED)
@pytest.mark.parametrize("density", [2, 4, 8])
def test_known_steps_are_found(outliers: float, noise: float, density: int) -> None:
    flaws = []
    for seed in range(1000, 1000 + SEEDS[density]):
        curve = synthetic(seed, 2 + seed % 3, noise, (0, 1, 1.5)[seed // 3 % 3], density, outliers)
        flaws.append(flaw(find(curve.sizes, curve.times), curve, noise, density))
    rate = MEASURED[outliers, noise][density]
    margin = 3 * math.sqrt(max(rate * (1 - rate), 0.01) / SEEDS[density])
    assert flaws.count("") / len(flaws) >= rate - margin, [f for f in flaws if f]


@pytest.mark.parametrize("noise", [0, 0.02, 0.05, 0.1])
@pytest.mark.parametrize("density", [1, 2, 4, 8])
def test_a_flat_curve_has_one_plateau_and_no_edge(noise: float, density: int) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        sizes = 2 ** np.arange(10, 28, 1 / density)
        found = find(sizes, 5e-9 * 2 ** rng.normal(0, math.log2(1 + noise), len(sizes)))
        assert (len(found.plateaus), found.edges) == (1, [])
        assert found.plateaus[0].to_end and not found.begins_on_ramp and not found.ends_on_ramp
        assert found.plateaus[0].time == pytest.approx(5e-9, rel=0.02 + noise)


@pytest.mark.parametrize("slope", [0.5, 0.8, 1.2])
@pytest.mark.parametrize("noise", [0, 0.02, 0.05])
def test_a_ramp_all_the_way_has_no_level(slope: float, noise: float) -> None:
    for density in (2, 4, 8):
        for seed in range(10):
            rng = np.random.default_rng(seed)
            x = np.arange(10, 28, 1 / density)
            found = find(
                2**x, 1e-9 * 2 ** (slope * (x - 10) + rng.normal(0, math.log2(1 + noise), len(x)))
            )
            assert (found.plateaus, found.edges) == ([], [])
            assert "without a plateau: no level can be found" in found.remarks[0]


def test_a_slow_rise_all_the_way_is_no_level() -> None:
    x = np.arange(10, 28, 0.25)
    found = find(2**x, 1e-9 * 2 ** (0.2 * (x - 10)))
    assert (found.plateaus, found.edges) == ([], [])


def curve_of(*levels: tuple[float, float, float], density: int = 4) -> tuple[Any, Any]:
    """Levels: log2 of the first and of the last size, ns; between them straight ramps."""
    x = np.arange(levels[0][0], levels[-1][1] + 1e-9, 1 / density)
    at = [end for first, last, _ in levels for end in (first, last)]
    values = [math.log2(ns) for _, _, ns in levels for _ in range(2)]
    return 2**x, 1e-9 * 2 ** np.interp(x, at, values)


def test_an_edge_is_the_last_size_of_the_lower_plateau() -> None:
    sizes, times = curve_of((10, 15, 1.2), (15.25, 20, 4), (20.25, 24, 20), (25.25, 29, 90))
    found = find(sizes, times)
    assert [edge.size for edge in found.edges] == [32 * KIB, MIB, 16 * MIB]
    assert [edge.settled for edge in found.edges[:2]] == [2**15.25, 2**20.25]
    assert all(edge.low <= edge.size < edge.high for edge in found.edges)
    assert [p.first for p in found.plateaus[:3]] == [KIB, 2**15.25, 2**20.25]
    assert [p.to_end for p in found.plateaus] == [False, False, False, True]
    assert found.remarks == []


def test_order_and_repetition_of_points_do_not_matter() -> None:
    sizes, times = curve_of((10, 15, 1.2), (15.25, 20, 4), (20.25, 24, 20))
    mixed = np.random.default_rng(1).permutation(len(sizes))
    found = find(sizes, times)
    assert find(sizes[mixed], times[mixed]) == found
    assert find([*sizes, *sizes], [*times, *times]) == found


def test_points_that_are_no_times_are_left_out() -> None:
    sizes, times = curve_of((10, 15, 1.2), (15.25, 20, 4))
    found = find([*sizes, 3e4, 4e4, 0], [*times, math.nan, 0, 1])
    assert found == find(sizes, times)


def test_what_stands_alone_is_set_aside_and_told() -> None:
    sizes, times = curve_of((10, 15, 1.2), (15.25, 20, 4), (20.25, 24, 20))
    times[[8, 30]] *= [2.5, 0.4]
    found = find(sizes, times)
    assert [edge.size for edge in found.edges] == [32 * KIB, MIB]
    assert found.outliers == [sizes[8], sizes[30]]


def test_a_wide_interval_weighs_less() -> None:
    sizes, times = curve_of((10, 15, 1.2), (15.25, 20, 4), (20.25, 24, 20))
    bad = slice(28, 31)  # three in a row: a level of their own, if they counted
    times[bad] *= 1.8
    low, high = times * 0.99, times * 1.01
    assert len(find(sizes, times, low, high).edges) != 2
    low[bad], high[bad] = times[bad] / 6, times[bad] * 6
    assert [edge.size for edge in find(sizes, times, low, high).edges] == [32 * KIB, MIB]


@pytest.mark.parametrize("gap", [math.nan, None])
def test_intervals_may_be_missing(gap: Optional[float]) -> None:
    sizes, times = curve_of((10, 15, 1.2), (15.25, 20, 4))
    ends = None if gap is None else np.full(len(sizes), gap)
    assert len(find(sizes, times, ends, ends).edges) == 1


def test_it_says_when_it_cannot_tell() -> None:
    sizes, times = curve_of((10, 15, 1.2), (15.25, 20, 4), (20.25, 24, 20), (29, 29, 90))
    few, none = find(sizes[:5], times[:5]), find([], [])
    assert few.remarks == ["too few points: 5 sizes were measured, at least 6 are needed"]
    assert none.remarks[0].startswith("too few points: 0")
    noisy = find(sizes, times * np.random.default_rng(3).choice([1, 3], len(sizes)))
    assert noisy.remarks[0].startswith("too noisy") and not noisy.edges
    cut = find(sizes, times)
    assert (
        cut.ends_on_ramp
        and "at its end (512 MiB) it still rises: the last plateau is not reached" in cut.remarks
    )
    assert cut.edges[-1].settled is None
    late = find(*curve_of((10, 10, 0.3), (13, 17, 4), (17.25, 20, 20)))
    assert late.begins_on_ramp and any(
        r.startswith("it rises from its start (1 KiB)") for r in late.remarks
    )
    long = find(*curve_of((10, 15, 1), (15.25, 18, 5), (22, 26, 90)))
    assert any("it rises without a plateau: no level can be found there" in r for r in long.remarks)


def test_a_fall_is_no_edge() -> None:
    found = find(*curve_of((10, 15, 1.2), (15.25, 19, 10), (19.25, 23, 5), (23.25, 27, 90)))
    assert [edge.size for edge in found.edges] == [32 * KIB, 8 * MIB]
    assert any("the time falls, which no cache does" in r for r in found.remarks)


def test_caches_that_replace_at_random_end_softly() -> None:
    """Beyond its size C a cache with random replacement still answers C/size of the loads."""
    x = np.arange(10, 30.01, 0.25)
    times = np.full(len(x), 1.2)
    for size, more in ((32 * KIB, 3), (MIB, 15), (22 * MIB, 70)):
        times += (1 - np.clip(size / 2**x, 0, 1)) * more
    found = find(2**x, times * 1e-9)
    assert len(found.plateaus) == 4
    for edge, size in zip(found.edges, (32 * KIB, MIB, 22 * MIB)):
        assert edge.low <= size * 1.1 and size <= edge.high


def published_curve(machine: str, *runs: str) -> tuple[list[float], list[float]]:
    """Nodes, or bytes if the source gives no nodes; and times."""
    own = [f for f in published.figures("latency", "latency") if machine in f.machine]
    own = [f for f in own if not runs or f.parameters["run"] in runs]
    return [float(f.parameters.get("nodes") or f.parameters["working_set_bytes"]) for f in own], [
        f.value for f in own
    ]


def machine_of(name: str) -> dict[str, float]:
    with (REFERENCE / "machines.csv").open(encoding="utf-8", newline="") as file:
        return {r["item"]: float(r["value"]) for r in csv.DictReader(file) if name in r["machine"]}


@pytest.mark.parametrize(
    ("runs", "items"),
    [
        ((), ("dtlb 4KiB", "stlb 4KiB+2MiB")),
        (("l1-zoom",), ("dtlb 4KiB",)),
        (("l2-zoom",), ("stlb 4KiB+2MiB",)),
    ],
)
def test_the_tlb_of_kaby_lake_comes_out_of_its_published_curve(
    runs: tuple[str, ...], items: tuple[str, ...]
) -> None:
    nodes, times = published_curve("Kaby Lake", *runs)
    found, each = find(nodes, times), sorted(set(nodes))
    for entries in (machine_of("Kaby Lake")[item] for item in items):
        assert entries in (64, 1536)
        edge = next(e for e in found.edges if e.size == entries)
        assert (edge.low, edge.high) == (
            entries,
            each[each.index(entries) + 1],
        )  # as exactly as the published sizes allow


def test_the_overview_alone_gives_what_its_sizes_resolve() -> None:
    found = find(*published_curve("Kaby Lake", "overview"))
    assert [(e.low, e.high) for e in found.edges][:2] == [
        (64, 128),
        (512, 1024),
    ]  # the TLB; 512 lines, 32 KiB, of the L1
    assert [round(p.time * 1e9, 1) for p in found.plateaus] == [1.0, 3.3, 14.2]


@pytest.mark.parametrize("name", ["i7-4870HQ", "E5-2680"])
def test_the_caches_come_out_of_the_curves_of_sestoft(name: str) -> None:
    sizes, times = published_curve(name)
    found = find(sizes, times)
    machine = machine_of(name)
    caches = [machine[item] for item in ("l1d per core", "l2 per core", "l3 shared")]
    assert len(found.edges) == 3
    for edge, cache in zip(found.edges, caches):
        assert edge.high == 2 * edge.low and edge.low <= cache < edge.high
    reached = (
        name == "i7-4870HQ"
    )  # the other has 30 MiB of L3, and was measured up to 128 MiB: two points beyond the ramp
    assert len(found.plateaus) == 3 + reached and found.ends_on_ramp is not reached


def test_sizes_are_said_as_people_do() -> None:
    assert [units.size(n) for n in (64, 1 << 10, 1536, 1000 << 10, 5 << 20, 3 << 30)] == [
        "64 B",
        "1 KiB",
        "1.5 KiB",
        "1000 KiB",
        "5 MiB",
        "3 GiB",
    ]
