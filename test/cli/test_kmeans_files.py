# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F811 - fixtures of test_kmeans are arguments here
"""locus kmeans: points, centres and answers in files, and what is wrong with them."""

import pathlib
import re
import struct
import time

import pytest
from points import points, save, write_csv
from some import some
from test_kmeans import MEASURED, SHORT, VARIANTS, cluster, run  # noqa: F401

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
        assert means == ([3, 1], [10.5, 0.5, 500.0])  # a centre without points stays


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
        ("--data blobs --spread 1e308", "is not a number from 1e-90 to 1e90"),
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
    """The list of clusters near each box would not fit into memory: auto must choose another way of
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
    # time in which a file must be saved
    words = "kmeans --variant best --threads 1 --case-budget 2s --quiet --output"
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
    """The same contents elsewhere are the same trial; other contents there are another trial."""
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
