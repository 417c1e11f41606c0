# SPDX-License-Identifier: Apache-2.0
"""Experiment 2 as a user runs it; what only several nodes can show is shown elsewhere."""

import pathlib

import pytest

PLACEMENTS = ["single", "random", "static", "interleave", "bind", "migrate", "matrix"]
KERNELS = ["sum", "sum-scalar", "copy", "scale", "add", "triad", "copy-nt", "scale-nt", "add-nt", "triad-nt"]
WORDS = {"sum": (1, 0), "sum-scalar": (1, 0), "copy": (1, 1), "scale": (1, 1), "add": (2, 1), "triad": (2, 1)}


def value(trial, name):
    return next(m["value"] for m in trial["metrics"] if m["name"] == name)


@pytest.fixture(scope="module")
def placed(locus, tmp_path_factory, trials):
    file = tmp_path_factory.mktemp("numa") / "numa.jsonl"
    done = locus("numa --profile quick --size 8M --repeats 6 --time-budget 60s --output", file)
    return done, trials(file)


def test_every_placement_is_measured_and_verified(placed):
    done, found = placed
    assert done.status == 0 and sorted(found) == sorted(PLACEMENTS)
    for trial in found.values():
        assert trial["status"] in ("ok", "noisy", "unconverged"), trial["reasons"]
        for when in ("before", "after"):
            placement = trial["placement"][when]
            if "not permitted" in (placement["why"] or ""):
                pytest.skip(f"nothing can be verified here: {placement['why']}")
            assert placement["how"] == "verified" and placement["misplaced"] == 0 and placement["unmapped"] == 0
            assert sum(placement["on_node"].values()) == placement["pages"] == (8 << 20) // placement["page"]
            assert 0 < placement["local_share"] <= 1


def test_all_placements_were_alternated(placed):
    ids = {t["id"] for t in placed[1].values()}
    for trial in placed[1].values():
        assert set(trial["alternated_with"]) == ids - {trial["id"]}


def test_bandwidth_is_bytes_over_time(placed):
    for trial in placed[1].values():
        assert value(trial, "bandwidth") * value(trial, "time") == pytest.approx(8 << 20)
        assert value(trial, "stuck") == (0 if trial["variant"] == "migrate" else None)


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_is_right(locus, tmp_path, trials, kernel):
    file = tmp_path / "kernel.jsonl"
    words = f"numa --kernel {kernel} --variant static,single --size 1000040 --threads 1 --repeats 2 --pages base --output"
    done = locus(words, file)
    if done.status == 3 and "needs stores that pass the caches" in done.out + done.err:
        pytest.skip(done.out + done.err)
    assert done.status == 0, done.out
    reads, writes = WORDS[kernel.replace("-nt", "")]
    for trial in trials(file).values():
        time = value(trial, "time")
        assert value(trial, "bandwidth") * time == pytest.approx(1000040 * (reads + writes))
        allocated = 0 if kernel.endswith("-nt") else writes
        assert value(trial, "traffic") * time == pytest.approx(1000040 * (reads + writes + allocated))


def test_thp_is_read_back(locus, tmp_path, trials):
    file = tmp_path / "thp.jsonl"
    locus("numa --variant static --size 16M --pages base --repeats 1 --output", file)
    assert trials(file)["static"]["placement"]["before"]["huge_bytes"] == 0
    if "[never]" in pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text(encoding="ascii"):
        pytest.skip("transparent huge pages are off")
    file = tmp_path / "thp2.jsonl"
    locus("numa --variant static --size 16M --pages thp --repeats 1 --output", file)
    placement = trials(file)["static"]["placement"]["before"]
    assert placement["huge_bytes"] > 0 and placement["huge_page"] > placement["page"]


def test_layouts_that_come_to_the_same_are_run_once(locus, tmp_path, read, cpus):
    file = tmp_path / "layouts.jsonl"
    locus("numa --variant static --size 1M --pages base --kernel sum --layout packed,all --repeats 1 --output", file)
    ids = [line["id"] for line in read(file) if line["type"] == "trial"]
    assert len(ids) == len(set(ids)) >= 1


def test_within_a_cpuset_it_stays_there(locus, tmp_path, trials, cpus):
    file = tmp_path / "set.jsonl"
    words = "numa --variant static --size 1M --pages base --kernel sum --repeats 1 --output"
    done = locus(words, file, prefix=["taskset", "-c", str(cpus[-1])])
    assert done.status == 0 and trials(file)["static"]["cpus"] == [cpus[-1]]


def test_paper_profile_says_what_it_needs(locus):
    done = locus("numa --profile paper --dry-run --topology", "node:1 core:2 pu:1")
    assert done.status == 0 and "impossible" in done.out and "16" in done.out
