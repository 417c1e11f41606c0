# SPDX-License-Identifier: Apache-2.0
"""How many loads a core keeps in flight, at each level."""

import re
from pathlib import Path

import pytest
from make_records import TWO, record, run_id
from make_records.trials import Point
from pages import make

KIB, MIB = 1 << 10, 1 << 20
CHAINS = (1, 2, 4, 8, 16, 32)


def over_chains(size: int, alone: float, most: float, chains: tuple[int, ...]) -> list[Point]:
    """A core that has at most so many loads in flight."""
    return [
        Point(
            "latency",
            "parallel",
            {
                "size": size,
                "pages": "thp",
                "element": "pointer",
                "stride": 0,
                "chains": k,
                "loads": 0,
            },
            threads=1,
            unit="load",
            seconds=alone / min(k, most),
            noise=1e-6,
            on_node={"0": 1},
            local=1.0,
        )
        for k in chains
    ]


def said(tmp_path: Path, *curves: list[Point]) -> str:
    points = [point for points in curves for point in points]
    return make(tmp_path, record(TWO, points, run_id("a"))).text


def test_each_level_has_its_number(tmp_path: Path) -> None:
    text = said(
        tmp_path,
        over_chains(256 * KIB, 4e-9, 12, CHAINS),
        over_chains(256 * MIB, 80e-9, 10, CHAINS),
    )
    assert (
        "L2 (256 KiB): 12.0 loads in flight, reached with 16 of 32 chains (found 8..16); a load"
        in text
    )
    assert (
        "memory (256 MiB): 10.0 loads in flight, reached with 16 of 32 chains (found 8..16);"
        in text
    )
    then = "locus latency --variant parallel --size 256M --chains 1,8,12,16,32"
    assert f"To know better: {then}." in text
    assert re.search(r"a load every 8\.\d\d ns instead of 80\.\d ns\.", text)


def test_a_curve_that_goes_on_has_no_knee(tmp_path: Path) -> None:
    text = said(tmp_path, over_chains(16 * KIB, 2e-9, 99, CHAINS))
    assert "L1 (16 KiB): at least 32.0 loads in flight with 32 chains, the most" in text


def test_a_noisy_load_alone_gives_no_number(tmp_path: Path) -> None:
    points = over_chains(256 * KIB, 4e-9, 12, CHAINS)
    points[0].status, points[0].reasons = "noisy", ["other work"]
    text = said(tmp_path, points)
    assert "L2 (256 KiB): the highest rate is reached with 16 of 32 chains (found 8..16);" in text
    assert not re.search(
        r"loads in flight,|chains \(found 8..16\); a load every \S+ ns instead", text
    )


@pytest.mark.parametrize("status", ["noisy", "interrupted"])
def test_chains_in_doubt_are_named(tmp_path: Path, status: str) -> None:
    points = over_chains(256 * KIB, 4e-9, 12, CHAINS)
    points[3].status, points[3].reasons = status, ["so it is"]
    text = said(tmp_path, points)
    below = 8 if status == "noisy" else 4
    assert f"reached with 16 of 32 chains (found {below}..16; 8 {status});" in text


@pytest.mark.parametrize("chains", [(1, 2), (2, 4, 8)])
def test_without_one_chain_or_with_two_points_nothing_is_said(
    tmp_path: Path, chains: tuple[int, ...]
) -> None:
    assert "in flight," not in said(tmp_path, over_chains(16 * KIB, 2e-9, 9, chains))
