# SPDX-License-Identifier: Apache-2.0
"""Experiment 2 (numa) as a user runs it. Tests that need several nodes are in test/guest."""

import pathlib
import re

import pytest
from conftest import value

PLACEMENTS = [
    "single",
    "random",
    "static",
    "interleave",
    "bind",
    "migrate",
    "static-dynamic",
    "dynamic-static",
    "matrix",
]
KERNELS = [
    "sum",
    "sum-scalar",
    "copy",
    "scale",
    "add",
    "triad",
    "copy-nt",
    "scale-nt",
    "add-nt",
    "triad-nt",
]
WORDS = {
    "sum": (1, 0),
    "sum-scalar": (1, 0),
    "copy": (1, 1),
    "scale": (1, 1),
    "add": (2, 1),
    "triad": (2, 1),
}


@pytest.fixture(scope="module")
def placed(locus, tmp_path_factory, trials):
    file = tmp_path_factory.mktemp("numa") / "numa.jsonl"
    done = locus(
        f"numa --variant {','.join(PLACEMENTS)} --profile quick --layout packed --size 8M"
        " --repeats 6 --duration 1ms --time-budget 60s --output",
        file,
    )
    return done, trials(file)


def test_every_placement_is_measured_and_verified(placed):
    done, found = placed
    assert done.status == 0 and sorted(found) == sorted(PLACEMENTS)
    for trial in found.values():
        assert trial["status"] in ("ok", "unconverged", "bimodal", "noisy"), trial["reasons"]
        for when in ("before", "after"):
            placement = trial["placement"][when]
            if "not permitted" in (placement["why"] or ""):
                pytest.skip(f"nothing can be verified here: {placement['why']}")
            assert (
                placement["how"] == "verified"
                and placement["misplaced"] == 0
                and placement["unmapped"] == 0
            )
            assert (
                sum(placement["on_node"].values())
                == placement["pages"]
                == (8 << 20) // placement["page"]
            )
            if trial["variant"] == "static-dynamic":
                assert placement["local_share"] is None  # the user of a page differs by pass
            else:
                assert 0 < placement["local_share"] <= 1


def test_one_core_is_measured_against_each_node(locus):
    """Layouts of one core, of a node's cores, and of all cores."""
    done = locus("numa --dry-run --topology", "NUMANode:2 L3:1 core:8 pu:1")
    found = re.findall(r"numa/(static|bind) .* layout=([0-9+]+) (to=\d )?", done.out)
    layouts = ("1+0", "8+0", "4+4")
    static = [("static", layout, "") for layout in layouts]
    bind = [("bind", layout, f"to={node} ") for layout in layouts for node in range(2)]
    assert sorted(found) == sorted(static + bind)


def test_scaling_has_a_curve_over_threads_without_a_layout(locus):
    done = locus(
        "numa --variant scaling --profile standard --pages base --kernel sum --dry-run --topology",
        "node:2 core:6 pu:2",
    )
    assert re.findall(r"numa/scaling (?!.*layout=).* threads=(\d+) ", done.out) == [
        str(n) for n in (1, 2, 4, 8, 12)
    ]
    assert re.search(r"12 threads on CPUs 0-10:2 \(node 0\) 12-22:2 \(node 1\)", done.out)


def test_all_placements_were_alternated(placed):
    assert len(placed[1]) > 1 and len({trial["group"] for trial in placed[1].values()}) == 1


def test_bandwidth_is_bytes_over_time(placed):
    for trial in placed[1].values():
        assert value(trial, "bandwidth") * value(trial, "time") == pytest.approx(8 << 20)
        assert value(trial, "stuck") == (0 if trial["variant"] == "migrate" else None)
        dealt = trial["variant"] == "static-dynamic"
        assert dealt == (value(trial, "imbalance") is not None)


def test_first_touch_itself_is_measured(locus, tmp_path, read):
    """Faults follow from pages and time; unknown kernel behaviour has no value."""
    file = tmp_path / "touch.jsonl"
    words = "numa --variant touch --pages base,thp --layout 1 --size 8M --repeats 1 --output"
    done = locus(words, file)
    found = [trial for trial in read(file) if trial["type"] == "trial"]
    assert done.status == 0 and len(found) == 2, done
    for trial in found:
        assert "kernel" not in trial["parameters"] and trial["status"] != "wrong", trial
        pages = (8 << 20) / value(trial, "granule")
        assert value(trial, "faults") * value(trial, "time") == pytest.approx(pages, rel=0.01)
        assert value(trial, "bandwidth") * value(trial, "time") == pytest.approx(8 << 20)
        assert value(trial, "flops") is value(trial, "traffic") is value(trial, "vector") is None
    base = next(trial for trial in found if trial["parameters"]["pages"] == "base")
    assert base["kernel"]["minor-faults"] >= (8 << 20) // base["placement"]["before"]["page"]


def test_chunks_are_those_of_openmp(locus, tmp_path, read):
    """Chunks are in the identity of variants that deal them out, and of no other."""
    file = tmp_path / "chunks.jsonl"
    words = "numa --variant static,static-dynamic,dynamic-static --chunk 1,1000 --size 100000"
    words += " --kernel sum,triad --pages base --layout packed --repeats 1 --duration 1ms --output"
    done = locus(words, file)
    assert done.status == 0, done
    found = [
        (trial["variant"], trial["parameters"].get("chunk"), trial["parameters"]["kernel"])
        for trial in read(file)
        if trial["type"] == "trial"
    ]
    assert sorted(found, key=str) == sorted(
        (
            (variant, chunk, kernel)
            for variant in ("static", "static-dynamic", "dynamic-static")
            for chunk in ((None,) if variant == "static" else (1, 1000))
            for kernel in ("sum", "triad")
        ),
        key=str,
    )
    empty = locus("numa --variant static-dynamic --chunk 0 --size 1M --dry-run")
    assert "a chunk has at least one element" in empty.out + empty.err


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_is_right(locus, tmp_path, trials, kernel):
    file = tmp_path / "kernel.jsonl"
    words = (
        f"numa --kernel {kernel} --variant static,single --size 1000040 --threads 1 --repeats 2"
        " --pages base --output"
    )
    done = locus(words, file)
    if done.status == 3 and "needs stores that pass the caches" in done.out + done.err:
        pytest.skip(done.out + done.err)
    assert done.status == 0, done.out
    reads, writes = WORDS[kernel.replace("-nt", "")]
    for trial in trials(file).values():
        time = value(trial, "time")
        assert value(trial, "bandwidth") * time == pytest.approx(1000040 * (reads + writes))
        allocated = 0 if kernel.endswith("-nt") else writes
        assert value(trial, "traffic") * time == pytest.approx(
            1000040 * (reads + writes + allocated)
        )


def test_thp_is_read_back(locus, tmp_path, trials):
    file = tmp_path / "thp.jsonl"
    locus("numa --variant static --size 16M --pages base --repeats 1 --output", file)
    assert trials(file)["static"]["placement"]["before"]["huge_bytes"] == 0
    if "[never]" in pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text(
        encoding="ascii"
    ):
        pytest.skip("transparent huge pages are off")
    file = tmp_path / "thp2.jsonl"
    locus("numa --variant static --size 16M --pages thp --repeats 1 --output", file)
    placement = trials(file)["static"]["placement"]["before"]
    assert placement["huge_bytes"] > 0 and placement["huge_page"] > placement["page"]


def test_layouts_that_come_to_the_same_are_run_once(locus, tmp_path, read, cpus):
    file = tmp_path / "layouts.jsonl"
    locus(
        "numa --variant static --size 1M --pages base --kernel sum --layout packed,all --repeats 1"
        " --output",
        file,
    )
    ids = [line["id"] for line in read(file) if line["type"] == "trial"]
    assert len(ids) == len(set(ids)) >= 1


def test_within_a_cpuset_it_stays_there(locus, tmp_path, trials, cpus):
    file = tmp_path / "set.jsonl"
    words = "numa --variant static --size 1M --pages base --kernel sum --repeats 1 --output"
    done = locus(words, file, prefix=["taskset", "-c", str(cpus[-1])])
    assert done.status == 0 and trials(file)["static"]["cpus"] == [cpus[-1]]


def test_a_list_restricts_a_layout_as_a_cpuset_does(locus, tmp_path, trials, cpus):
    file = tmp_path / "list.jsonl"
    words = (
        f"numa --variant static --size 1M --pages base --kernel sum --repeats 1 --bind {cpus[-1]}"
        " --output"
    )
    done = locus(words, file)
    assert done.status == 0 and trials(file)["static"]["cpus"] == [cpus[-1]]
    assert (trials(file)["static"]["bind"], trials(file)["static"]["threads"]) == (str(cpus[-1]), 1)


def planned(done):
    """{(layout or node of the threads, of the memory): CPUs} of a dry run."""
    assert done.status == 0, done
    lines = done.out.splitlines()
    places = {}
    for line, place in zip(lines, lines[1:]):
        values = dict(word.split("=", 1) for word in line.split() if "=" in word)
        if "protocol" in values:
            places[values.get("layout", values.get("from")), values.get("to")] = (
                place.split(" CPU")[-1].lstrip("s ").split(";")[0]
            )
    return places


# Nodes of 3 and 1 CPUs, and of 1 and 3: each node gets as many threads as it has cores.
UNEQUAL = {
    "0-2,4": {
        "packed": "3+0: 0-2 (node 0)",
        "split": "2+1: 0 1 (node 0) 4 (node 1)",
        "all": "3+1: 0-2 (node 0) 4 (node 1)",
        "node:1": "0+1: 4 (node 1)",
        "split --threads 4": "3+1: 0-2 (node 0) 4 (node 1)",
    },
    "0,4-6": {
        "packed": "0+3: 4-6 (node 1)",
        "split": "1+2: 0 (node 0) 4 5 (node 1)",
        "node:0": "1+0: 0 (node 0)",
        "split --threads 4": "1+3: 0 (node 0) 4-6 (node 1)",
    },
}
FOUR = ["--profile", "quick", "--dry-run", "--topology", "node:2 core:4 pu:1"]


@pytest.mark.parametrize(
    ("cpus", "words"), [(cpus, words) for cpus, layouts in UNEQUAL.items() for words in layouts]
)
def test_layouts_on_unequal_nodes(locus, cpus, words):
    found = planned(locus(f"numa --variant static --bind {cpus} --layout {words}", *FOUR))
    assert [f"{layout}: {places}" for (layout, _), places in found.items()] == [
        UNEQUAL[cpus][words]
    ]


def test_the_matrix_of_unequal_nodes_has_every_cell(locus):
    found = planned(locus("numa --variant matrix --bind 0-2,4", *FOUR))
    rows = {"3+0": "0-2 (node 0)", "0+1": "4 (node 1)"}
    assert found == {(row, to): places for row, places in rows.items() for to in "01"}


def test_a_list_restricts_a_whole_suite(locus):
    done = locus("suite --bind 6,2", *FOUR)
    places = [
        re.sub(r"\(node \d\)", "", place).split()
        for place in re.findall(r" on CPUs? ([^;]*);", done.out)
    ]
    cpus = {cpu for place in places for cpu in place}
    # Trials with threads that a sanitizer can't see are impossible in its build.
    impossible = re.findall(r"impossible: (?!ThreadSanitizer).*", done.out)
    assert done.status == 0 and not impossible and cpus == {"2", "6"}, done
    assert re.search(
        r"numa/static .* layout=1\+0 threads=1 bind=6,2 .*\n    1 thread on CPU 2 \(node 0\)",
        done.out,
    )


def test_layouts_that_are_the_same_are_told(locus):
    one_core = locus("numa --dry-run --layout packed,each,split --topology", "node:2 core:1 pu:1")
    told = "locus numa: --layout: split is the same as packed on this machine, 1+0: measured once\n"
    assert (one_core.status, one_core.err) == (0, told) and "layout=1+0" in one_core.out
    assert locus("numa", *FOUR).err == ""


def test_spread_is_within_each_node(locus):
    words = "numa --variant static --profile quick --layout 2+2 --dry-run --bind"
    topology = "pack:2 [numa] l3:2 core:2 pu:1"
    assert planned(locus(words, "spread", "--topology", topology)) == {
        ("2+2", None): "0 2 (node 0) 4 6 (node 1)"
    }
    assert planned(locus(words, "close", "--topology", topology)) == {
        ("2+2", None): "0 1 (node 0) 4 5 (node 1)"
    }


def test_paper_profile_says_what_it_needs(locus):
    done = locus("numa --profile paper --dry-run --topology", "node:1 core:2 pu:1")
    assert done.status == 0 and "impossible" in done.out and "16" in done.out


def test_a_default_layout_against_the_number_of_threads_is_left_out(locus):
    """The default layout `all` has a thread for each core: with another --threads it is left
    out, not an error."""
    words = "numa --profile standard --threads 3 --dry-run --topology"
    done = locus(words, "node:2 core:4 pu:1")
    assert done.status == 0 and "layout=4+4" not in done.out
    assert "--threads contradicts the layout's number of threads" in done.out
