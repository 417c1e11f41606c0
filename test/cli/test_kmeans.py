# SPDX-License-Identifier: Apache-2.0
"""Experiment 5 (kmeans) as a user runs it: all variants agree; points and centres from files;
messages for wrong input."""

import array
import itertools
import pathlib
import random
import re
import struct
import time

import pytest
from conftest import value
from listed import unwrapped
from read_record import check_ratio
from some import some

SHARING = ["2p", "2q", "2q-padded", "3p", "private-dense", "private-padded"]
VARIANTS = [*SHARING, "best"]
MEASURED = ("ok", "unconverged", "bimodal", "noisy")
SHORT = "--profile standard --repeats 1"


def save(path, rows, code="d"):
    """An NPY file, version 1."""
    kind = {"d": "<f8", "f": "<f4"}[code]
    shape = f"({len(rows)}, {len(rows[0])})"
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    path.write_bytes(
        b"\x93NUMPY\x01\x00"
        + struct.pack("<H", len(header))
        + header.encode()
        + array.array(code, itertools.chain(*rows)).tobytes()
    )
    return path


def load(path):
    """The shape and the numbers of an NPY file."""
    content = path.read_bytes()
    header = 10 + struct.unpack("<H", content[8:10])[0]
    words = content[10:header].decode()
    numbers = array.array({"<f8": "d", "<u4": "I"}[re.findall(r"'descr': '(.*?)'", words)[0]])
    numbers.frombytes(content[header:])
    return [int(n) for n in re.findall(r"\d+", words.split("shape")[1])], list(numbers)


def points(n, d, seed=1):
    numbers = random.Random(seed)
    return [[numbers.random() for _ in range(d)] for _ in range(n)]


def write_csv(path, rows, header=None):
    lines = [",".join(map(repr, row)) for row in rows]
    path.write_text("\n".join(([header] if header else []) + lines) + "\n")
    return path


@pytest.fixture
def run(locus, tmp_path, read):
    """Runs kmeans with a record: how it ended, and its trials."""

    def with_record(*arguments, **more):
        file = tmp_path / f"record-{len(list(tmp_path.iterdir()))}.jsonl"
        done = locus("kmeans", *SHORT.split(), *arguments, "--output", file, **more)
        return done, (
            [line for line in read(file) if line["type"] == "trial"] if file.exists() else []
        )

    return with_record


def test_all_memory_of_best_is_read_back(run):
    """Points, labels and the index (floats and labels): 16, 4 and 12 bytes a point."""
    words = "--points 20000 --clusters 9 --variant 2p,best --threads 1,2 --oversubscribe"
    _, trials = run(*words.split())
    pages = {(one["variant"], one["threads"]): one["placement"]["before"] for one in some(trials)}
    for threads in 1, 2:
        best = pages["best", threads]
        assert (best["how"], best.get("misplaced", 0)) == ("verified", 0)
        assert best["pages"] * best["page"] >= 20000 * (16 + 4 + 12)
        assert best["pages"] > pages["2p", threads]["pages"]


@pytest.fixture
def cluster(run, tmp_path):
    """Runs one trial: the trial, its labels, its centres."""

    def one(variant, *arguments, threads=1, **more):
        labels, centres = (
            tmp_path / f"{name}-{len(list(tmp_path.iterdir()))}.npy"
            for name in ("labels", "centres")
        )
        done, (trial,) = run(
            *(
                "--variant",
                variant,
                "--threads",
                threads,
                "--save-labels",
                labels,
                "--save-centres",
                centres,
                *arguments,
            ),
            **more,
        )
        assert done.status == 0 and trial["status"] in MEASURED, (done, trial["reasons"])
        return trial, load(labels), load(centres)

    return one


# Every variant


@pytest.mark.parametrize(
    "words",
    [
        "--points 3000 --clusters 40",
        "--points 3000 --clusters 40 --data blobs --spread 0.5 --dimensions 5",
        "--points 500 --clusters 1 --dimensions 1",
        "--points 60 --clusters 60",
        "--points 3000 --clusters 30 --iterations 4",
    ],
)
def test_all_variants_agree_with_best(cluster, words):
    best, labels, centres = cluster("best", *words.split())
    n, k, d = (best["parameters"][name] for name in ("points", "clusters", "dimensions"))
    assert labels[0] == [int(n)] and centres[0] == [k, d] and max(labels[1]) < k
    for variant in SHARING:
        trial, own, means = cluster(variant, *words.split())
        assert own == labels and value(trial, "iterations") == value(best, "iterations")
        assert means[1] == pytest.approx(centres[1], abs=1e-12)
        assert value(trial, "inertia") == pytest.approx(value(best, "inertia"), abs=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_more_threads_than_cpus(cluster, few, variant):
    words = ("--points", 1000, "--clusters", 20, "--oversubscribe")
    one, labels, _ = cluster("best", *words)
    trial, own, _ = cluster(variant, *words, threads=4, prefix=few)
    assert (
        trial["threads"] == 4
        and trial["oversubscribed"]
        and own == labels
        and value(trial, "iterations") == value(one, "iterations")
    )


def test_variants_are_right_in_float(run):
    done, trials = run(
        "--points", 2000, "--clusters", 30, "--type", "float", "--threads", "1,2", "--oversubscribe"
    )
    assert done.status == 0 and [trial["variant"] for trial in trials] == [
        v for v in VARIANTS for _ in range(2)
    ]
    assert {trial["parameters"]["type"] for trial in trials} == {"float"}


PRUNED = ["auto", "none", "cells", "balls", "boxes"]


@pytest.mark.parametrize(
    ("kind", "place", "outlier"),
    [
        ("float", 0.0, -9999.0),
        ("float", 40.0, 0.0),
        ("float", 0.0, 65504.0),
        ("double", 0.0, 1e9),
        ("double", 1e6, -1e18),
        ("double", 0.0, 1e300),
    ],
)
def test_a_point_far_out_merges_no_clusters(run, tmp_path, kind, place, outlier):
    """Clusters 1 apart, 3 points each, and one point far out in one dimension."""
    rows = [[place + c, place + i / 8] for c in range(20) for i in range(3)] + [[outlier, place]]
    files = [save(tmp_path / f"{name}.npy", rows[::step]) for name, step in (("p", 1), ("c", 3))]
    for prune in PRUNED:
        labels = tmp_path / f"{prune}.npy"
        done, trials = run(
            *(
                "--points",
                files[0],
                "--centres",
                files[1],
                "--type",
                kind,
                "--variant",
                "best",
            ),
            *("--prune", prune, "--threads", 1, "--save-labels", labels),
        )
        assert done.status == 0 and trials[0]["status"] in MEASURED, done
        assert load(labels)[1] == [i // 3 for i in range(len(rows))]


def test_no_gain_between_different_answers(run, tmp_path):
    """A point as far from two centres, but for the rounding of squares in float."""
    tie = [float.fromhex("0x1.9ed6dep+0"), float.fromhex("0x1.d6a928p+1")]
    two = [[-1.875, 0.75], [1.875, -0.875]]
    rows, centres = (
        save(tmp_path / f"{name}.npy", rows)
        for name, rows in (("p", [two[0], *two, tie]), ("c", two))
    )
    words = f"--points {rows} --centres {centres} --iterations 1 --threads 1 --variant 2p,best"
    for kind in "double", "float":
        done, (first, second) = run(*words.split(), "--type", kind)
        same = value(first, "inertia") == pytest.approx(value(second, "inertia"), rel=1e-6)
        assert done.status == 0 and same == (kind == "double")
        assert len(first["ratios"]) == same
        notes = [note for note in first["notes"] if "inertia" in note]
        assert len(notes) == (not same) and ("gain 2p/best" in done.out) == same
        assert same or "no gain of 2p over best: their inertia differs" in done.out


def test_iterations_are_forced(run):
    _, trials = run("--points", 500, "--clusters", 5, "--iterations", "1,7", "--threads", 1)
    assert len(trials) == 2 * len(VARIANTS)
    for trial in trials:
        assert value(trial, "iterations") == trial["parameters"]["iterations"]


def test_numbers_are_possible(run):
    _, trials = run("--points", 2000, "--clusters", 10, "--threads", 1, "--variant", "2p,best")
    for trial in trials:
        assert (
            trial["metrics"][0]["name"] == "time" and trial["metrics"][0]["unit"] == "s/iteration"
        )
        assert value(trial, "total") == pytest.approx(
            value(trial, "time") * value(trial, "iterations")
        )
        assert value(trial, "pair-time") == pytest.approx(value(trial, "time") / 2000 / 10)
        assert 0 < value(trial, "computed") <= 1 and value(trial, "communication") is None
        assert (
            trial["placement"]["before"]["misplaced"] == 0
            and trial["placement"]["before"]["pages"] > 0
        )
    assert (
        value(trials[0], "computed") == 1
        and value(trials[0], "fma-share") is None
        and value(trials[1], "fma-share") > 0
    )
    assert value(trials[0], "inertia") == pytest.approx(value(trials[1], "inertia"))


def test_ratios(run):
    _, trials = run(
        "--points",
        500,
        "--clusters",
        10,
        "--threads",
        "1,2,4",
        "--oversubscribe",
        "--prune",
        "auto,none",
    )
    by = {
        (trial["variant"], trial["parameters"].get("prune"), trial["threads"]): trial
        for trial in trials
    }
    assert len(by) == 3 * (len(SHARING) + 2)
    found = set()
    for (variant, _, threads), trial in by.items():
        for ratio in trial["ratios"]:
            other = next(t for t in trials if t["id"] == ratio["trial"])
            check_ratio(ratio, trial, other)
            assert other["group"] == trial["group"]
            found.add((ratio["name"], ratio["parameter"], ratio["of"], ratio["to"]))
            if ratio["parameter"] == "threads":
                assert threads == 1 and (ratio["of"], ratio["to"]) == ("1", str(other["threads"]))
                assert (other["variant"], other["parameters"]) == (variant, trial["parameters"])
            else:
                assert other["threads"] == threads
    assert found == {
        ("slowdown", "variant", "2q", "2p"),
        ("slowdown", "variant", "2q-padded", "2p"),
        ("slowdown", "variant", "private-dense", "private-padded"),
        ("gain", "variant", "2p", "best"),
        ("gain", "prune", "none", "auto"),
        ("speed-up", "threads", "1", "2"),
        ("speed-up", "threads", "1", "4"),
    }


def test_as_published(locus):
    done = locus("kmeans --profile paper --dry-run --topology", "core:24 pu:2")
    plans = re.findall(
        r"kmeans/(\S+) points=(\d+) dimensions=(\d+) clusters=(\d+) iterations=(\d+) .*"
        r" threads=(\d+)",
        done.out,
    )
    assert {plan[1:5] for plan in plans} == {("200000", "2", "81", "108")}
    assert {(plan[0], int(plan[5])) for plan in plans} == {
        (variant, threads) for variant in VARIANTS for threads in (1, 8, 24, 48)
    }


def test_defaults_are_listed(locus):
    lines = [line.strip() for line in unwrapped(locus("list kmeans").out).splitlines()]
    assert "quick: 0; paper: 108" in lines
    assert "quick: 1,auto; standard: 1..auto*2,auto; paper: 1,8,48,auto" in lines and any(
        "private-dense" in line for line in lines
    )


# Files


def test_files_of_all_kinds_are_the_same_points(cluster, tmp_path):
    rows = points(300, 3)
    npy, csv = (
        save(tmp_path / "points.npy", rows),
        write_csv(tmp_path / "points.csv", rows, "x,y,z"),
    )
    words = ("--clusters", 7)
    trial, labels, _ = cluster("best", "--points", npy, *words)
    assert (
        trial["parameters"]["dimensions"] == 3
        and trial["parameters"]["data"] == "file"
        and labels[0] == [300]
    )
    for variant in ("2q", "best"):
        assert cluster(variant, "--points", csv, *words)[1] == labels
        with csv.open() as stdin:
            assert cluster(variant, "--points", "-", *words, stdin=stdin)[1] == labels
        with npy.open("rb") as stdin:
            assert cluster(variant, "--points", "-", *words, stdin=stdin)[1] == labels
    assert (
        cluster("3p", "--points", csv, "--centres", write_csv(tmp_path / "centres.csv", rows[:7]))[
            0
        ]["parameters"]["clusters"]
        == 7
    )


def test_a_guess_about_a_file_is_told_once(run, tmp_path):
    names = write_csv(tmp_path / "names.csv", points(9, 2), "x,y")
    numbers = write_csv(tmp_path / "numbers.csv", points(9, 2), "0,1")
    clear = write_csv(tmp_path / "clear.csv", points(9, 2))
    done, trials = run("--points", f"{names},{numbers},{clear}", "--clusters", 2, "--threads", 1)
    assert done.err.splitlines() == [
        f"locus kmeans: {names}: line 1 taken for names: x, y",
        f"locus kmeans: {numbers}: line 1 taken for a point: 0, 1; if these are names, "
        "delete the line",
    ]
    for told, file in zip([*done.err.splitlines(), None], [names, numbers, clear]):
        notes = [
            [note for note in trial["notes"] if "line 1" in note]
            for trial in trials
            if trial["parameters"]["points"] == str(file)
        ]
        expected = [told.removeprefix("locus kmeans: ")] if told else []
        assert notes == [expected] * len(VARIANTS)


def test_columns_one_by_one(cluster, tmp_path):
    """As df.values is saved: in Fortran order."""
    rows = points(200, 3)
    by_row, by_column = save(tmp_path / "c.npy", rows), tmp_path / "f.npy"
    values = b"".join(struct.pack("<d", row[j]) for j in range(3) for row in rows)
    header = by_row.read_bytes().replace(b"False", b"True ")
    by_column.write_bytes(header[: len(header) - len(values)] + values)
    words = ("--clusters", 5, "--points")
    assert cluster("best", *words, by_column)[1:] == cluster("best", *words, by_row)[1:]


def test_a_comma_in_a_name(cluster, tmp_path):
    file = save(tmp_path / "x,y.npy", points(30, 2))
    trial, labels, _ = cluster("best", "--points", str(file).replace(",", "\\,"), "--clusters", 3)
    assert trial["parameters"]["points"] == str(file) and labels[0] == [30]


def test_a_pipe_feeds_all_trials(locus):
    text = "".join(f"{x} {y}\n" for x, y in points(50, 2))
    with locus.start(f"kmeans --points - --clusters 3 --threads 1 {SHORT}", stdin=-1) as process:
        out, err = process.communicate(text, timeout=180)
    assert process.returncode == 0 and all(f"\n{variant} " in out for variant in VARIANTS), (
        out,
        err,
    )


def test_it_begins_where_it_is_told(cluster, tmp_path):
    rows = [[0.0], [1.0], [10.0], [11.0]]
    npy = save(tmp_path / "points.npy", rows)
    for variant in VARIANTS:
        _, labels, means = cluster(
            variant,
            "--points",
            npy,
            "--centres",
            save(tmp_path / f"{variant}.npy", [[11.0], [0.0], [500.0]]),
        )
        assert labels == ([4], [1, 1, 0, 0])
        assert means == ([3, 1], [10.5, 0.5, 500.0])  # without points it stays


def test_single_values_are_read_as_the_type_wanted(cluster, tmp_path):
    rows = points(200, 2)
    short = [[struct.unpack("f", struct.pack("f", x))[0] for x in row] for row in rows]
    words = ("--clusters", 5)
    assert (
        cluster("2p", "--points", save(tmp_path / "f.npy", short, "f"), *words)[1:]
        == cluster("2p", "--points", save(tmp_path / "d.npy", short), *words)[1:]
    )


def test_a_number_with_a_suffix_is_the_same_trial(locus):
    done = locus("kmeans --points 2k,2000,2e3 --variant 2p --threads 1 --dry-run")
    assert done.status == 0 and "1 trial in" in done.out and "points=2000 " in done.out
    done = locus(
        "kmeans --points 2k --spread 1,2 --data uniform,blobs --variant 2p --threads 1 --dry-run"
    )
    assert "3 trials" in done.out  # uniform points have no spread


# What is wrong


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--points 0", "at least one"),
        ("--clusters 0", "at least one"),
        ("--points 10 --clusters 11", "no more than there are points"),
        ("--points 4294967295 --clusters 4294967281 --dry-run", "more than 4294901760"),
        ("--dimensions 0", "1 to 65536"),
        ("--dimensions 70000", "1 to 65536"),
        ("--data blobs --spread 1e308", "blobs that wide"),
        ("--data blobs --spread 1e38 --type float", "blobs that wide"),
        ("--points 20000x", "it is no number of points"),
        ("--points nowhere.npy", "nowhere.npy: No such file"),
        ("--centres nowhere.npy", "nowhere.npy: No such file"),
        ("--data file", "FILE"),
        ("--prune exponion --variant best", "expected one of auto,none,cells,balls,boxes"),
        ("--points {npy} --dimensions 5", "have 3, not 5"),
        ("--points {npy} --data blobs", "generated"),
        ("--points {npy} --clusters 21", "no more than there are points"),
        ("--points {npy} --centres {two}", "2 dimensions, the points have 3"),
        ("--centres {two} --clusters 5", "4 centres, not 5"),
        ("--points - --centres -", "standard input"),
        ("--save-labels {npy} --variant 2p --threads 1", "exists already"),
        ("--save-centres {npy} --variant 2p --threads 1", "exists already"),
        ("--save-labels new.npy", "a single trial"),
        ("--save-labels new.npy --save-centres new.npy --variant 2p --threads 1", "another name"),
    ],
)
def test_command_lines_that_are_wrong(locus, tmp_path, words, said):
    npy, two = (
        save(tmp_path / "points.npy", points(20, 3)),
        save(tmp_path / "two.npy", points(4, 2)),
    )
    with npy.open("rb") as stdin:
        done = locus("kmeans", *words.format(npy=npy, two=two).split(), cwd=tmp_path, stdin=stdin)
    assert done.status == 2 and said in done.err and done.out == ""
    assert len(done.err.splitlines()) == 1 and done.err.startswith("locus kmeans: ")


def test_memory_is_no_reason_to_refuse_auto_where_none_fits(locus):
    """Which clusters are near each box would not fit into memory: auto must choose another way of
    pruning."""
    total = (
        int(
            pathlib.Path("/proc/meminfo")
            .read_text(encoding="ascii")
            .split("MemTotal:")[1]
            .split()[0]
        )
        * 1024
    )
    words = "kmeans --variant best --dimensions 4 --type float --clusters 65000 --threads 1"
    words += f" --points {total // 200} --dry-run --prune"
    refused = {
        prune: "impossible: it needs" in locus(words, prune).out
        for prune in ("none", "boxes", "auto")
    }
    assert refused == {"none": False, "boxes": True, "auto": False}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1,2\n3,nan\n5,6\n", "line 2, value 2: 'nan'"),
        ("1,2\n3\n5,6\n", "line 2: 1 value; expected 2"),
        ("x,y\n1,2\n3,inf\n", "line 3, value 2: 'inf'"),
    ],
)
def test_values_that_are_none(run, tmp_path, text, said):
    csv = tmp_path / "points.csv"
    csv.write_text(text)
    for option in ("--points", "--centres"):
        done, trials = run(
            option, csv, *(["--clusters", 1] if option == "--points" else []), "--threads", 1
        )
        assert done.status == 3 and len(trials) == len(VARIANTS)
        assert done.out.count("impossible\n") == len(VARIANTS)
        assert " ".join(done.out.split()).count(said) == 1
        for trial in trials:
            assert (
                trial["status"] == "impossible"
                and said in trial["reasons"][0]
                and "points.csv" in trial["reasons"][0]
            )


@pytest.mark.parametrize("option", ["--points", "--centres"])
def test_a_file_of_words_is_blamed_itself(locus, option):
    done = locus("kmeans --threads 1", option, "/etc/passwd")
    assert done.status == 2 and f"{option}: /etc/passwd: line 2, value 1: " in done.err, done


@pytest.mark.parametrize("option", ["--points", "--centres"])
def test_a_file_that_changes_while_others_are_measured(locus, tmp_path, read, option):
    stays, changes, record = (
        save(tmp_path / "stays.npy", points(500, 2)),
        tmp_path / "changes.npy",
        tmp_path / "record.jsonl",
    )
    save(changes, points(500, 2, 2))
    # in which we have to save a file
    words = "kmeans --variant best --threads 1 --case-budget 4s --quiet --output"
    files = ["--points", stays, "--centres", f"{stays},{changes}"]
    if option == "--points":
        files = ["--clusters", 9, "--points", f"{stays},{changes}"]
    with locus.start(words, record, *files) as process:
        while not (record.exists() and b'"samples"' in record.read_bytes()):
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        save(changes, points(500, 600))
        process.communicate(timeout=180)
    first, second = (line for line in read(record) if line["type"] == "trial")
    assert (
        process.returncode == 3 and first["status"] in MEASURED and second["status"] == "impossible"
    )
    assert (
        f"{changes}: has 500 rows of 600 now, but 500 of 2 when the trials were planned"
        in second["reasons"][0]
    )


def test_an_empty_file(locus, tmp_path):
    empty = tmp_path / "empty.csv"
    empty.touch()
    done = locus("kmeans", "--points", empty)
    assert done.status == 2 and "empty" in done.err


def test_more_points_than_any_machine_holds(locus):
    """More points than fit into memory, up to sizes whose bytes overflow 64 bits."""
    for words in (
        "--points 9e15 --dimensions 65536",
        "--points 9e15 --clusters 4e9 --dimensions 65536",
    ):
        done = locus("kmeans --threads 1", *words.split())
        assert done.status == 3 and "of memory" in done.err


def test_memory_is_that_of_the_pruning_asked_for(locus):
    done = locus(
        "kmeans --points 8M --clusters 60k --variant best --prune none,boxes --threads 1 --dry-run"
    )
    none, boxes = (line for line in done.out.splitlines() if "thread on CPU" in line)
    assert "MiB" in none and "GiB" in boxes


def test_pruning_that_does_not_fit_is_impossible(run):
    done, (trial,) = run(
        "--points",
        100,
        "--clusters",
        4,
        "--dimensions",
        50,
        "--variant",
        "best",
        "--prune",
        "cells",
        "--threads",
        1,
    )
    assert done.status == 3 and trial["status"] == "impossible" and "--prune" in trial["reasons"][0]


def test_where_answers_go_is_no_part_of_a_trial(locus, read, tmp_path):
    """Options that save answers do not change a trial's identity: --resume works without them."""
    record, labels = tmp_path / "record.jsonl", tmp_path / "labels.npy"
    words = f"kmeans --points 100 --clusters 3 --variant 2p --threads 1 {SHORT} --output"
    assert locus(words, record, "--save-labels", labels).status == 0
    (trial,) = [line for line in read(record) if line["type"] == "trial"]
    assert "save" not in trial["identity"] and not any(
        "save" in name for name in some(trial["parameters"])
    )
    again = locus(words, record, "--resume")
    assert again.status == 0 and "1 trials were already complete" in again.out


def test_what_can_not_be_saved_is_an_error(run, tmp_path):
    done, (trial,) = run(
        "--points",
        100,
        "--clusters",
        3,
        "--variant",
        "2p",
        "--threads",
        1,
        "--save-labels",
        tmp_path / "no" / "where.npy",
    )
    assert done.status == 1 and "where.npy" in trial["reasons"][0]


def test_files_with_long_names_are_different_trials(locus, tmp_path):
    folder = tmp_path / ("x" * 200) / ("y" * 200)
    folder.mkdir(parents=True)
    files = [save(folder / f"{i}.npy", points(20, 2, i)) for i in range(2)]
    done = locus(
        "kmeans",
        "--points",
        f"{files[0]},{files[1]}",
        "--clusters",
        2,
        "--variant",
        "2p",
        "--threads",
        1,
        "--dry-run",
    )
    assert (
        done.status == 0
        and "2 trials" in done.out
        and all(f"    points={file}\n" in done.out for file in files)
    )


def test_the_contents_of_a_file_are_the_trial_and_not_its_path(locus, tmp_path, read):
    """The same contents elsewhere are the same trial; other contents there are another."""
    plan = "kmeans --clusters 3 --variant 2p --threads 1 --dry-run --points"
    first, same, other = (tmp_path / f"{name}.npy" for name in ("first", "same", "other"))
    for path, seed in ((first, 0), (same, 0), (other, 1)):
        save(path, points(20, 2, seed))
    names = []
    for path in (first, same, other):
        done = locus(plan, path)
        (name,) = re.findall(r"^  [0-9a-f]{16}  kmeans/.*$", done.out, re.M)
        assert str(tmp_path) not in name and re.search(r" points=fnv1a64:[0-9a-f]{16} ", name)
        assert f"    points={path}\n" in done.out
        names.append(name)
    assert names[0] == names[1] != names[2]
    assert "1 trial in" in locus(plan, f"{first},{same}").out
    record = tmp_path / "record.jsonl"
    run = "kmeans --clusters 3 --variant 2p --threads 1 --repeats 1 --output"
    assert locus(run, record, "--points", first).status == 0
    (trial,) = [line for line in read(record) if line["type"] == "trial"]
    assert trial["parameters"]["points"] == str(first)
    assert names[0] == f"  {trial['id']}  {trial['identity']}"
    again = locus(run, record, "--resume", "--points", same)
    assert again.status == 0 and "1 trials were already complete" in again.out
    save(first, points(20, 2, 1))
    again = locus(run, record, "--resume", "--points", first)
    assert again.status == 0 and "trials were already complete" not in again.out


def test_the_contents_of_centres_are_part_of_the_trial(locus, tmp_path):
    for name, seed in (("a", 0), ("b", 1)):
        save(tmp_path / f"{name}.npy", points(3, 2, seed))
    both = ",".join(str(tmp_path / f"{name}.npy") for name in "ab")
    words = "kmeans --points 100 --variant 2p --threads 1 --dry-run --centres"
    out = locus(words, both).out
    assert "2 trials" in out and len(set(re.findall(r" centres=(fnv1a64:\w{16}) ", out))) == 2
    assert " points=100 " in out and " centres=drawn " in locus(words, "drawn").out
