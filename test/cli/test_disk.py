# SPDX-License-Identifier: Apache-2.0
"""Results on a file system that is read-only, full, or full for some time."""

import os

import pytest
from lacking import need_modules
from mounts import Place

MANY = (
    "dummy --variant steady,jitter,humps --delay 1,2,5,10,20 --repeats 60 --duration 200us --quiet"
)
TRIALS = 15


@pytest.fixture
def place(tmp_path):
    with Place(tmp_path / "place", "1m") as made:
        yield made


def names(place):
    return sorted(file.name for file in place.path.iterdir())


def test_a_read_only_file_system(locus, place):
    """The message names the file and the reason, once; existing contents stay as they are."""
    file = place.folder / "kept.jsonl"
    words = "dummy --variant steady --repeats 2 --output"
    assert locus(words, file, prefix=place.prefix).status == 0
    whole = (place.path / file.name).read_bytes()
    place.read_only()
    for arguments in ([place.folder / "new.jsonl"], [file, "--resume"], [file, "--append"]):
        done = locus(words, *arguments, prefix=place.prefix)
        assert (
            done.status == 1
            and done.err.count(f"--output: {arguments[0]}: Read-only file system") == 1
        ), done
    assert (place.path / file.name).read_bytes() == whole
    assert names(place) == [file.name]


def fill(place, room):
    """Fills the file system except `room` bytes; returns the file whose removal frees it again."""
    ballast = place.path / "ballast"
    free = os.statvfs(place.path)
    ballast.write_bytes(bytes(free.f_bavail * free.f_frsize - room))
    return ballast


@pytest.mark.parametrize("room", [0, 4096, 20480, 65536])
def test_a_full_disk_is_told_and_once_it_is_freed_the_run_goes_on(locus, place, read, room):
    """All lines that fitted are kept, and in the end each trial was measured exactly once."""
    file, seen = place.folder / "full.jsonl", place.path / "full.jsonl"
    ballast = fill(place, room)
    done = locus(MANY, "--output", file, prefix=place.prefix)
    assert done.status == 1 and done.err.count(f"--output: {file}: No space left on device") == 1, (
        done
    )
    kept = seen.read_bytes()
    assert len(kept) <= room
    lines = read(seen) if kept else []
    assert bool(lines) == (room > 4096) and "end" not in {line["type"] for line in lines}
    complete = [line["id"] for line in lines if line["type"] == "trial"]
    ballast.unlink()
    assert locus(MANY, "--output", file, "--resume", prefix=place.prefix).status == 0
    assert seen.read_bytes().startswith(kept)
    lines = read(seen)
    assert lines[-1]["type"] == "end" and lines[-1]["skipped"] == len(complete)
    trials = [line["id"] for line in lines if line["type"] == "trial"]
    assert len(trials) == len(set(trials)) == TRIALS
    for n in range(TRIALS):
        measured = next(
            line for line in lines if line["type"] == "trial" and line["id"] == trials[n]
        )
        assert measured["samples"]["n"] == 60


def test_labels_that_have_no_room(locus, place):
    fill(place, 4096)
    labels = place.folder / "labels.npy"
    words = "kmeans --points 5000 --clusters 3 --variant 2p --threads 1 --repeats 1 --save-labels"
    done = locus(words, labels, prefix=place.prefix)
    said = " ".join(done.out.split())
    assert done.status == 1 and f"{labels}: can't be written: No space left on device" in said, (
        done.out
    )
    assert names(place) == ["ballast"]


@pytest.mark.parametrize("why", ["No space left on device", "Read-only file system"])
def test_a_report_that_can_not_be_written(locus, place, tmp_path, why):
    record = tmp_path / "record.jsonl"
    assert locus("dummy --variant steady --repeats 8 --output", record).status == 0
    need_modules()
    if why == "Read-only file system":
        place.read_only()
    else:
        fill(place, 4096)
    before = names(place)
    done = locus("report", record, "--output", place.folder / "page.html", prefix=place.prefix)
    assert done.status == 1 and why in done.err and str(place.folder) in done.err, done
    assert len(done.err.splitlines()) == 1 and names(place) == before
