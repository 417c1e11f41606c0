# SPDX-License-Identifier: Apache-2.0
"""Experiment 1 (latency) as a user runs it."""

import math
import re

import pytest
from conftest import value
from some import some

STORES = ("nontemporal", "cached")
PATTERNS = ["cycle", "page-cycle", "page-random", "page-stride", "line-stride"]


@pytest.fixture(scope="module")
def patterns(locus, tmp_path_factory, trials):
    file = tmp_path_factory.mktemp("latency") / "patterns.jsonl"
    done = locus(
        f"latency --variant {','.join(PATTERNS)} --size 512K --pages base --repeats 6 --output",
        file,
    )
    return done, trials(file)


def test_every_pattern_is_measured_and_right(patterns):
    done, found = patterns
    assert done.status == 0 and sorted(found) == sorted(PATTERNS)
    for trial in found.values():
        assert trial["metrics"][0]["name"] == "time" and trial["metrics"][0]["unit"] == "s/load"
        # A dependent load takes more than a cycle, if the frequency was steady.
        assert value(trial, "time") > 0 and (trial["cycles"] is None or trial["cycles"] > 1)
        assert trial["placement"]["before"]["misplaced"] == 0


def test_elements_may_be_ints(locus, tmp_path, trials):
    file = tmp_path / "ints.jsonl"
    done = locus(
        "latency --variant cycle --element int --stride 64 --size 64K --pages base --repeats 2"
        " --output",
        file,
    )
    assert done.status == 0 and value(trials(file)["cycle"], "elements") == 1024


def test_numbers_of_elements(patterns):
    found = patterns[1]
    page = found["cycle"]["placement"]["before"]["page"]
    line = 512 * 1024 / value(found["cycle"], "elements")
    assert line in (32, 64, 128, 256)
    assert (
        value(found["page-cycle"], "elements")
        == value(found["line-stride"], "elements")
        == value(found["cycle"], "elements")
    )
    assert value(found["page-random"], "elements") == 512 * 1024 / page
    assert value(found["page-stride"], "elements") == (512 * 1024 - 8) // (page + 8) + 1


def test_small_sets_are_sampled_in_turn_and_large_ones_with_other_pages(
    locus, tmp_path, read, patterns
):
    assert (
        len(patterns[1]) == len(PATTERNS)
        and len({trial["group"] for trial in patterns[1].values()}) == 1
    )
    file = tmp_path / "large.jsonl"
    done = locus(
        "latency --variant cycle,line-stride --size 4M --pages base,thp --repeats 6 --output",
        file,
    )
    found = [line for line in read(file) if line["type"] == "trial"]
    assert sorted((t["group"], t["variant"], t["parameters"]["pages"]) for t in found) == [
        (group, variant, pages)
        for group, variant in enumerate(("cycle", "line-stride"))
        for pages in ("base", "thp")
    ]
    ratios = [(t["parameters"]["pages"], r) for t in found for r in t.get("ratios", [])]
    assert [(of, r["of"], r["to"], r["parameter"]) for of, r in ratios] == [
        ("base", "base", "thp", "pages")
    ] * 2
    assert len(re.findall(r"^slowdown base/thp  (?:cycle|line-stride) ", done.out, re.M)) == 2


@pytest.mark.parametrize("chains", [1, 2, 3, 4, 6, 8, 12, 16, 24, 32])
def test_parallel_chains(locus, tmp_path, trials, chains):
    file = tmp_path / "parallel.jsonl"
    done = locus(
        f"latency --variant parallel --size 64K --chains {chains} --pages base --repeats 2"
        " --output",
        file,
    )
    assert done.status == 0 and trials(file)["parallel"]["parameters"]["chains"] == chains


def test_a_number_of_chains_that_has_no_kernel(locus):
    done = locus("latency --variant parallel --size 64K --chains 5")
    assert done.status == 2 and "1, 2, 3, 4, 6, 8" in done.err


@pytest.mark.native("what is measured is no question of memory or threads")
def test_the_background_is_throttled(locus, tmp_path, read, cpus):
    if len(cpus) < 2:
        pytest.skip("one CPU")
    file = tmp_path / "loaded.jsonl"
    done = locus(
        "latency --variant loaded --size 1M --load-size 1M --pages base --mix read,1r1w,write"
        " --stores nontemporal,cached --rate 1 --repeats 1 --duration 100ms --output",
        file,
    )
    assert done.status == 0
    rate = {}
    for trial in some(line for line in read(file) if line["type"] == "trial"):
        background = value(trial, "background")
        given = trial["parameters"]
        rate[given["mix"], given["stores"]] = background
        assert value(trial, "share") > 0
        chase, others = trial["roles"]
        assert (chase["name"], chase["workers"]) == ("chase", 1)
        assert (others["name"], others["workers"]) == ("background", trial["threads"] - 1)
        line = background / others["throughput"]  # bytes
        assert line == pytest.approx(2 ** round(math.log2(line))) and 16 <= line <= 512
    # How lines are written makes no difference if none are written.
    mixes = [("read", "nontemporal"), *((m, s) for m in ("1r1w", "write") for s in STORES)]
    assert sorted(rate) == sorted(mixes)
    # A thread that was late makes up for some blocks, which are few in 100 ms.
    assert all(0 < background < 1.1e9 for background in rate.values())


def test_published_settings(locus):
    done = locus("latency --profile paper --dry-run --topology", "node:1 core:4 pu:1")
    plans = re.findall(
        r"latency/(\S+) size=(\d+) pages=base element=(\w+) stride=(\d+) chains=1 loads=(\d+)",
        done.out,
    )
    ints = [
        int(size)
        for variant, size, *rest in plans
        if (variant, *rest) == ("cycle", "int", "4", "33554432")
    ]
    assert ints == [8192 << i for i in range(15)]
    strided = [int(size) for variant, size, *_ in plans if variant == "page-stride"]
    overview = [16 << i for i in range(15)]
    zooms = [*range(16, 129, 16), *range(768, 2561, 256)]
    assert sorted(strided) == [elements * 4104 for elements in sorted({*overview, *zooms})]
    assert any(variant == "line-stride" for variant, *_ in plans)


def test_standard_profile_has_four_sizes_an_octave(locus):
    done = locus(
        "latency --profile standard --variant cycle --pages base --dry-run --topology",
        "node:1 core:4 pu:1",
    )
    sizes = sorted(int(size) for size in re.findall(r"latency/cycle size=(\d+)", done.out))
    assert sizes[0] == 1024
    for octave in range(10, 25):
        assert sum(1 << octave <= size < 2 << octave for size in sizes) >= 4


def quick_sizes(locus, cache):
    """The sizes of `cycle` on a machine whose last-level cache has so many MiB."""
    done = locus(
        "latency --variant cycle --pages thp --dry-run --topology",
        f"node:1 l3:1(size={cache << 20}) core:4 pu:1",
    )
    return [int(size) for size in re.findall(r"latency/cycle size=(\d+)", done.out)]


OCTAVES = [4096 << i for i in range(15)]  # to 64 MiB


@pytest.mark.parametrize(
    "cache, beyond", [(4, []), (16, []), (32, [128]), (105, [256, 420]), (480, [256, 1024, 1920])]
)
def test_quick_goes_to_four_times_the_last_cache(locus, cache, beyond):
    """In steps of two octaves beyond 64 MiB: large sizes take long to prepare."""
    assert quick_sizes(locus, cache) == [*OCTAVES, *(size << 20 for size in beyond)]


def test_trials_that_fill_caches_come_last(locus):
    """So that a short budget omits large trials, and not half of the other variants."""
    done = locus("latency --dry-run --topology", "node:1 core:4 pu:1")
    found = re.findall(r"latency/(\S+) size=(\d+) pages=base", done.out)
    assert ("page-random", str(64 << 20)) in found
    last = max(i for i, (variant, _) in enumerate(found) if variant == "page-random")
    assert [size for _, size in found[last + 1 :]] == [str(2 << i) for i in range(20, 26)]


def test_the_matrix_has_every_pair(locus):
    done = locus("latency --variant matrix --pages base --dry-run --topology", "node:3 core:2 pu:1")
    assert len(set(re.findall(r"from=(\S+) to=(\d)", done.out))) == 9


def test_sizes_too_small_for_a_chain(locus):
    done = locus("latency --variant cycle --size 8")
    assert done.status == 2 and "larger size" in done.err


def test_rows_tell_what_differs(locus, cpus):
    """The table has a column for a parameter that differs, even if some variants lack it."""
    if len(cpus) < 2:
        pytest.skip("one CPU")
    done = locus(
        "latency --variant cycle,loaded --size 64K --load-size 1M --pages thp --mix read,write"
        " --rate 1"
        " --repeats 1 --duration 1ms"
    )
    head = re.findall("(?m)^variant .*status$", done.out)
    assert len(head) == 1 and "mix" in head[0].split() and "rate" not in head[0].split()
    assert all(
        re.search(row, done.out, re.MULTILINE)
        for row in ("^cycle +1 ", r"^loaded +read +\d+ ", r"^loaded +write +\d+ ")
    ), done.out


def test_a_quick_suite_leaves_out_what_takes_its_time_to_prepare(locus):
    """On a machine with 480 MiB of L3; the plan says so, and how to measure them."""

    def sizes(words):
        done = locus(f"{words} --dry-run --verbose --topology", "l3:1(size=503316480) core:2 pu:1")
        said = "base pages beyond 64 MiB take a suite too long; locus latency" in " ".join(
            done.out.split()
        )
        found = re.findall(r"latency/cycle size=(\d+) pages=(\w+)", done.out)
        return said, {(int(size) >> 20, pages) for size, pages in some(found)}

    said, quick = sizes("suite latency")
    large = {(mib, pages) for mib, pages in quick if mib > 64}
    assert said and large == {(256, "thp"), (1024, "thp"), (1920, "thp")} and (64, "base") in quick
    for words in "latency --variant cycle", "suite latency --profile standard":
        said, found = sizes(words)
        assert not said and any(mib > 1024 and pages == "base" for mib, pages in found), words
