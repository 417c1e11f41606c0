# SPDX-License-Identifier: Apache-2.0
"""Experiment 8 (search) as a user runs it. Tests check counts, or relate times to each other, but
expect no absolute times."""

import re
import signal

import pytest
from conftest import value
from listed import unwrapped
from read_record import check_ratio
from retries import tries
from some import some
from waits import wait_for, written

DEALT = ["whole", "routed", "divided", "weighted", "stealing"]
TREES = ["best", "best-partitioned"]
VARIANTS = [*DEALT, "partitioned", *TREES]
OTHER = pytest.mark.native("other values run the same code")
MEASURED = ("ok", "unconverged", "bimodal", "noisy")
# Samples of several threads without a CPU each last up to 20 times as long. Each repeat fills
# memory and checks the answers anew: only tests about repeats ask for them.
SHORT = "--repeats 1 --duration 500us"
OF_PACKETS = ["search-median", "search-p99", "search-deviation"]
REPORTED = {
    "dealt": {"waiting", "held-up", "dispatcher-bound", "imbalance", "idle", *OF_PACKETS},
    "partitioned": {"imbalance", "build-time", *OF_PACKETS},
    "best": {"build-time", "overhead", "limit"},
    "best-partitioned": {"imbalance", "build-time", "overhead"},
}
ALWAYS = {"search-time", "key-time", "throughput", "time"}


def ratios(trial):
    return {(ratio["of"], ratio["to"]): ratio for ratio in trial["ratios"]}


@pytest.fixture(scope="module")
def run(run):
    """Runs search in the standard profile, unless the arguments have another."""

    def standard(arguments, **more):
        return run(
            f"--profile standard {arguments}" if "--profile" not in arguments else arguments, **more
        )

    return standard


def right(trials):
    for trial in trials:
        assert trial["status"] in MEASURED, trial["reasons"]
        assert (
            trial["placement"]["before"]["misplaced"]
            == trial["placement"]["after"]["misplaced"]
            == 0
        )
    return some(trials)


# Each variant, on two threads


@pytest.fixture(scope="module")
def searched(run):
    kinds = "--type u32,u64 --search branchy,branchless --keys uniform --pages base"
    return run(
        f"--variant {','.join(VARIANTS)} --size 64K {kinds} --threads 2 --oversubscribe --repeats 2"
        " --duration 2ms"
    )


def test_every_variant_type_and_search_is_right(searched):
    done, trials = searched
    assert done.status == 0, done.err
    found = [
        (t["variant"], t["parameters"]["type"], t["parameters"].get("search"))
        for t in right(trials)
    ]
    wanted = [
        (v, t, s)
        for v in VARIANTS
        if v not in TREES
        for t in ("u32", "u64")
        for s in ("branchy", "branchless")
    ]
    assert sorted(map(str, found)) == sorted(
        map(str, wanted + [(v, t, None) for v in TREES for t in ("u32", "u64")])
    )


def test_what_means_nothing_is_not_reported(searched):
    for trial in searched[1]:
        kind = trial["variant"] if trial["variant"] in REPORTED else "dealt"
        found = {m["name"] for m in trial["metrics"] if m["value"] is not None}
        assert found == ALWAYS | REPORTED[kind], trial["variant"]


def test_numbers_are_possible(searched):
    for trial in searched[1]:
        packet, feeders = trial["parameters"]["packet"], 1 if trial["variant"] in DEALT else 2
        assert trial["metrics"][0]["name"] == "search-time"
        assert value(trial, "search-time") == pytest.approx(
            packet * value(trial, "key-time"), rel=0.5
        )  # medians, each
        assert value(trial, "key-time") > 0
        if trial["variant"] not in TREES:
            assert 0 < value(trial, "search-median") <= value(trial, "search-p99")
            assert value(trial, "search-deviation") >= 0
        assert value(trial, "throughput") * value(trial, "time") == pytest.approx(packet * feeders)
        if trial["variant"] in DEALT:
            assert value(trial, "imbalance") == 1  # one searcher
            assert (
                0 <= value(trial, "waiting") == value(trial, "idle") <= 1
                and 0 <= value(trial, "held-up") <= 1
            )
            assert value(trial, "dispatcher-bound") in (0, 0.5, 1)
        if trial["variant"].endswith("partitioned"):
            assert 1 <= value(trial, "imbalance") < 1.1
        if trial["variant"] in TREES:
            assert 0 <= value(trial, "overhead") < 0.5
        if trial["variant"] == "best":
            assert value(trial, "limit") > 0


def test_ratios_have_their_partners(searched):
    by_id = {trial["id"]: trial for trial in searched[1]}
    metrics = {
        "whole": {"divided": "search-time", "routed": "search-time", "best": "search-time"},
        "routed": {"divided": "search-time"},
        "divided": {"weighted": "throughput", "stealing": "throughput"},
        "best": {"best-partitioned": "throughput"},
    }
    for trial in by_id.values():
        found = {
            ratio["to"]: ratio["metric"]
            for ratio in trial["ratios"]
            if ratio["parameter"] == "variant"
        }
        assert found == metrics.get(trial["variant"], {})
        assert (("branchy", "branchless") in ratios(trial)) == (
            trial["parameters"].get("search") == "branchy"
        )
        for ratio in trial["ratios"]:
            other = by_id[ratio["trial"]]
            assert other["group"] == trial["group"]
            check_ratio(ratio, trial, other)


def test_all_are_sampled_in_turn(searched):
    for trial in searched[1]:
        same = [
            t["group"]
            for t in searched[1]
            if t["parameters"]["type"] == trial["parameters"]["type"]
        ]
        assert set(same) == {trial["group"]}


@pytest.mark.native("few keys are no other threads", of="thread")
@pytest.mark.parametrize(
    "size", ["8", pytest.param("12", marks=OTHER), "64", pytest.param("68", marks=OTHER), "1020"]
)
@pytest.mark.parametrize("type", ["u32", pytest.param("u64", marks=OTHER)])
def test_small_and_odd_arrays(run, size, type):
    """In the smallest arrays, the hot tenth and Zipf's ranks depend on rounding, so they are
    tested with all distributions of keys."""
    keys = "uniform,zipf,hot" if int(size) < 64 else "uniform"
    kinds = f"--size {size} --type {type} --keys {keys} --pages base"
    done, trials = run(
        f"--variant {','.join(VARIANTS)} {kinds} --threads 2 --oversubscribe {SHORT}"
    )
    assert done.status == 0, done.err
    right(trials)


@pytest.mark.parametrize(
    "packet", [pytest.param(1, marks=OTHER), 7, pytest.param(128, marks=OTHER), 5000]
)
def test_packets_of_any_size(run, packet):
    kinds = f"--size 64K --packet {packet} --search branchless --keys uniform,hot --pages base"
    done, trials = run(
        f"--variant {','.join(VARIANTS)} {kinds} --threads 3 --oversubscribe {SHORT}"
    )
    assert done.status == 0, done.err
    right(trials)


@pytest.mark.parametrize("pages", ["base", "thp"])
def test_pages(run, pages):
    done, trials = run(
        f"--variant whole,best --size 4M --pages {pages} --threads 2 --oversubscribe {SHORT}"
    )
    assert done.status == 0 and {trial["parameters"]["pages"] for trial in right(trials)} == {pages}


# More threads than CPUs


@pytest.mark.parametrize(
    ("keys", "threads"),
    [
        ("uniform", 2),
        ("zipf", 3),
        *(pytest.param(*more, marks=OTHER) for more in [("hot", 3), ("zipf", 9)]),
    ],
)
def test_more_threads_than_cpus(run, few, keys, threads):
    done, trials = run(
        f"--variant {','.join(VARIANTS)} --search branchless --size 256K --keys {keys} --threads"
        f" {threads} --pages base --oversubscribe {SHORT}",
        prefix=few,
    )
    assert done.status == 0, done.err
    assert len(right(trials)) == len(VARIANTS)


@pytest.mark.parametrize("variant", VARIANTS)
def test_all_on_one_cpu(run, cpus, variant):
    one = ["taskset", "-c", str(cpus[0])]
    words = (
        f"--variant {variant} --size 64K --keys hot --threads 4 --pages base --oversubscribe"
        f" {SHORT}"
    )
    done, trials = run(words, prefix=one)
    assert done.status == 0 and right(trials)[0]["oversubscribed"]


@pytest.mark.native("what is measured is no question of memory or threads")
def test_no_sample_is_empty(run):
    """A sample may end by time before the dispatcher begins; it must still deal something."""
    kinds = "--size 64K --search branchless --keys uniform --pages base"
    done, trials = run(
        f"--variant {','.join(VARIANTS)} {kinds} --threads 9 --oversubscribe --repeats 2"
        " --duration 1us"
    )
    assert done.status == 0 and all(value(trial, "search-time") > 0 for trial in right(trials))


@pytest.mark.parametrize(
    "variant",
    [
        pytest.param(variant, marks=[OTHER] * (variant in ("routed", "weighted", "best")))
        for variant in VARIANTS
    ],
)
def test_a_signal_ends_it(locus, tmp_path, read, variant):
    """Samples with counters are in the record at once; others are collected for a second, while
    all threads are at work."""
    file = tmp_path / "cut.jsonl"
    words = (
        f"search --variant {variant} --keys zipf --size 4M --threads 9 --oversubscribe --repeats"
        " 100000 --duration 2ms --counters faults --output"
    )
    process = locus.start(words, file)
    wait_for(written(file, "samples"), "a batch")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=180)
    assert process.returncode == 128 + signal.SIGINT
    assert {line["status"] for line in read(file) if line["type"] == "trial"} == {"interrupted"}


# Skew


# Long enough for all 4 searchers to have the CPUs in turn: some 100 ms.
SKEWED = (
    "--search branchless --size 1M --keys uniform,zipf,hot --threads 5 --oversubscribe --repeats 1"
    " --duration 20ms"  # on a busy machine 5 ms may be one packet, which one searcher has
)


@pytest.fixture(scope="module")
def skewed(run):
    done, trials = run(f"--variant {','.join(DEALT)},partitioned {SKEWED}")
    assert done.status == 0, done.err
    return {(t["parameters"]["keys"], t["variant"]): t for t in right(trials)}


@pytest.mark.native("what is measured is no question of memory or threads")
def test_defaults_of_skew(skewed):
    assert {(keys, t["parameters"]["skew"]) for (keys, _), t in skewed.items()} == {
        ("uniform", 0),
        ("zipf", 1),
        ("hot", 0.9),
    }


@pytest.mark.native("what is measured is no question of memory or threads")
def test_keys_without_skew_are_balanced(skewed):
    for variant in ("whole", "routed", "divided", "weighted"):
        assert 1 <= value(skewed["uniform", variant], "imbalance") < 1.2


@pytest.mark.native("what is measured is no question of memory or threads")
def test_skew_unbalances_who_divides(skewed):
    """The first of 4 searchers has all hot keys, 3.7 times the mean; and the first quarter of the
    2^18 elements gets most of Zipf's keys."""
    for keys, least in (("hot", 3.5), ("zipf", 3.3)):
        for variant in ("routed", "divided"):
            assert least < value(skewed[keys, variant], "imbalance") <= 4
        assert value(skewed[keys, "whole"], "imbalance") < 1.2


@pytest.mark.native("what is measured is no question of memory or threads")
def test_cures_balance_again(skewed, run):
    """A searcher without a CPU steals nothing: if that happened, the test is tried again."""
    worst = {keys: value(skewed[keys, "divided"], "imbalance") for keys in ("hot", "zipf")}
    assert all(value(skewed[keys, "weighted"], "imbalance") < 1.3 < worst[keys] for keys in worst)
    stealing = [skewed[keys, "stealing"] for keys in worst]
    for _ in tries(10, "who was to steal had no CPU"):
        if all(value(t, "imbalance") < worst[t["parameters"]["keys"]] for t in stealing):
            return
        stealing = right(run(f"--variant stealing {SKEWED.replace('uniform,', '')}")[1])


@pytest.mark.native("what is measured is no question of memory or threads")
def test_skew_is_what_one_says(run):
    done, trials = run(
        "--variant divided --search branchless --keys uniform,hot --skew 0.5,1 --size 64K"
        f" --threads 3 --oversubscribe {SHORT}"
    )
    assert done.status == 0
    found = {
        (t["parameters"]["keys"], t["parameters"]["skew"]): value(t, "imbalance")
        for t in right(trials)
    }
    assert set(found) == {
        ("uniform", 0),
        ("hot", 0.5),
        ("hot", 1),
    }  # uniform keys have no skew, and are one trial
    assert found["uniform", 0] < found["hot", 0.5] < found["hot", 1] <= 2


# The command line


BAD = [
    ("--threads 1 --variant whole", 2, "two threads"),
    ("--packet 0", 2, "--packet"),
    ("--packet 0,128 --threads 4000", 2, "--packet"),
    ("--packet 2M", 2, "--packet"),
    ("--size 4 --threads 3 --oversubscribe --variant divided", 2, "at least one element"),
    ("--size 0", 2, "at least one element"),
    ("--keys hot --skew 1.5", 2, "share"),
    ("--keys zipf --skew -1", 2, "skew"),
    ("--keys heap", 2, "keys"),
    ("--search ternary", 2, "search"),
    ("--type u16", 2, "type"),
    ("--variant devided", 2, "divided"),
]


@pytest.mark.parametrize(("words", "status", "said"), BAD)
def test_bad_input(locus, words, status, said):
    done = locus(
        "search",
        "--dry-run",
        *([] if "--threads" in words else ["--threads", "2", "--oversubscribe"]),
        *words.split(),
    )
    assert done.status == status and said in done.err, done.err


@pytest.mark.parametrize(("type", "size"), [("u32", "16G"), ("u64", "32G")])
def test_answers_have_32_bits(locus, type, size):
    words = "search --variant whole --threads 2 --dry-run --type"
    done = locus(words, type, "--size", size, "--topology", "core:9 pu:1")
    assert done.status == 2 and "2^32" in done.err
    done = locus(
        words, type, "--size", str(int(size[:-1]) * 2**30 - 8), "--topology", "core:9 pu:1"
    )
    assert done.status == 0


def test_standard_shows_skew_and_its_cures(locus):
    plans = locus("search --profile standard --dry-run --topology", "core:9 pu:1").out
    for variant in DEALT:
        found = set(re.findall(rf"search/{variant} .* keys=(\w+) ", plans))
        assert found == (
            {"uniform", "zipf", "hot"}
            if variant in ("divided", "weighted", "stealing")
            else {"uniform"}
        )


def test_what_no_machine_has_room_for_is_not_weighed(locus):
    """The tree's size is not computed for 2^50 keys, which would need too many layers: the trial is
    impossible already, because of its threads."""
    done = locus(
        "search --variant best --type u64 --size 8388600G --threads 99 --dry-run --topology",
        "core:2 pu:1",
    )
    assert done.status == 0 and done.out.count("impossible: 99 threads") == 2, done.err


def test_published_settings(locus):
    done = locus("search", "--profile", "paper", "--dry-run", "--topology", "core:16 pu:1")
    plans = re.findall(
        r"search/(\w+) size=(\d+) type=u32 search=branchy packet=128 keys=uniform skew=0 pages=base"
        r" threads=9 ",
        done.out,
    )
    assert sorted(plans) == sorted(
        (variant, str(2**size)) for variant in ("whole", "divided") for size in range(14, 29, 2)
    )
    assert re.findall(r"estimated time: (\d+)", done.out) == [
        "1600"
    ]  # 16 points of 20 samples of 5 s


def test_published_settings_can_be_cut(run):
    words = "--profile paper --variant whole --size 16K --threads 2 --oversubscribe --duration 1ms"
    done, (trial,) = run(words)
    assert done.status == 0 and trial["samples"]["n"] == 20 and trial["stopped"] == "repeats"
    assert (
        trial["parameters"]["packet"] == 128
        and trial["parameters"]["search"] == "branchy"
        and trial["parameters"]["type"] == "u32"
    )
    done, (trial,) = run(f"{words} --repeats 3")
    assert done.status == 0 and trial["samples"]["n"] == 3
    done, (trial,) = run(f"{words} --case-budget 200ms")
    assert done.status == 0 and trial["stopped"] != "repeats"


def test_it_is_listed(locus):
    done = locus("list search")
    shown = unwrapped(done.out)
    for word in (
        *VARIANTS,
        "--packet",
        "search-p99",
        "dispatcher-bound",
        "whole/divided",
        "branchy,branchless",
    ):
        assert done.status == 0 and word in shown
    assert "(search-time, whole/divided)" in shown
    assert "search-time, whole/divided" in locus("list --man").out.replace("\\-", "-")
    done = locus("search --help")
    assert done.status == 0 and "--skew" in done.out and "--packet" in done.out
