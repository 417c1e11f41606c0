# SPDX-License-Identifier: Apache-2.0
"""Text from outside that is not UTF-8, or has control characters: the record shows such a byte as
\\xHH, and no text is lost or causes an error."""

import pytest
from mounts import Place
from points import save

KMEANS = "kmeans --clusters 2 --variant 2p --threads 1 --repeats 1"
ROWS = [[float(i % 2), float(i)] for i in range(20)]
RAW = {"errors": "surrogateescape"}  # the program's output may have such bytes, too


def trial_of(lines):
    (trial,) = [line for line in lines if line["type"] == "trial"]
    return trial


def test_a_path(locus, tmp_path, read):
    """A name with the byte, and a name with the four characters that represent it, are two files;
    with different contents they are two trials."""
    ids: set = set()
    for name, written in (("p\udcff", r"p\xff"), (r"p\xff", r"p\x5cxff"), ("pä\\", "pä\\")):
        points = save(tmp_path / f"{name}.npy", ROWS[len(ids) :])
        words = [KMEANS, "--points", points, "--output", tmp_path / f"{len(ids)}.jsonl"]
        assert locus(*words, **RAW).status == 0
        header, *_, trial, _ = read(words[-1])
        path = f"{tmp_path}/{written}.npy"
        assert header["command"][-4:] == ["--points", path, "--output", str(words[-1])]
        assert trial["parameters"]["points"] == path and path not in trial["identity"]
        ids.add(trial["id"])
        again = locus(*words, "--resume", **RAW)
        assert again.status == 0 and "1 trials were already complete" in again.out
    assert len(ids) == 3


def test_a_path_that_is_not_there(locus, tmp_path):
    done = locus(KMEANS, "--points", tmp_path / "p\udcff.npy", **RAW)
    assert done.status == 2 and "p\udcff.npy: No such file" in done.err


def test_a_terminal_gets_no_control_character(locus, tmp_path):
    done = locus(KMEANS, "--points", tmp_path / "p\x1b[2J\n.npy")
    assert done.status == 2 and "p?[2J?.npy: No such file" in done.err, done
    done = locus("dummy --variant steady --repeats 1 --output", tmp_path / "no\x1b[2J" / "r.jsonl")
    assert done.status == 1 and "/no?[2J/r.jsonl: No such file" in done.err, done


def test_a_reason_that_names_a_path(locus, tmp_path, read):
    file = tmp_path / "record.jsonl"
    labels = tmp_path / "no\udcff" / "labels.npy"
    done = locus(
        KMEANS,
        "--points",
        save(tmp_path / "p.npy", ROWS),
        "--save-labels",
        labels,
        "--output",
        file,
        **RAW,
    )
    trial = trial_of(read(file))
    assert done.status == 1 and trial["status"] == "wrong"
    assert rf"{tmp_path}/no\xff/labels.npy: No such file" in trial["reasons"][0]


def test_the_environment_and_the_job(locus, tmp_path, read):
    file = tmp_path / "record.jsonl"
    environment = {
        "SLURM_JOB_ID": "7\udcfe",
        "SLURM_\udcff": "x",
        "SLURM_JOB_PARTITION": "p\n\x1b[2J",
        "LOCUS_TEXT": "a\udcffb\x07",
    }
    assert locus("dummy --variant steady --repeats 1 --output", file, env=environment).status == 0
    header = read(file)[0]
    assert header["job"]["id"] == r"7\xfe"
    found = header["machine"]["environment"]
    assert (found[r"SLURM_\xff"], found["LOCUS_TEXT"]) == ("x", r"a\xffb\x07")
    assert header["job"]["partition"] == r"p\x0a\x1b[2J"


def test_counters(locus, tmp_path, read):
    file = tmp_path / "record.jsonl"
    done = locus(
        "dummy --variant steady --repeats 2 --counters", "faults,no\udcff", "--output", file, **RAW
    )
    assert done.status == 0, done
    lines = read(file)
    assert lines[0]["counters"]["asked"] == ["faults", r"no\xff"]
    assert [event["name"] for event in lines[0]["counters"]["events"]] == ["faults", r"no\xff"]
    counter = next(c for c in trial_of(lines)["counters"] if c["name"] == r"no\xff")
    assert counter["value"] is None and counter["why"]


@pytest.mark.parametrize(
    "name, written",
    [
        (b"n\xff1", r"n\xff1"),
        (b'n\n1"\x1b[31m', r'n\x0a1"\x1b[31m'),
        (b"n\xc2\x9b31m\t", r"n\xc2\x9b31m\x09"),
        (b"", "(none)"),
    ],
)
def test_a_host_name(locus, tmp_path, read, name, written):
    """A resumed run recognises the same host."""
    with Place(tmp_path / "place", "1m", host=name) as place:
        words = ["dummy --variant steady --repeats 2 --output", place.folder / "record.jsonl"]
        assert locus(*words, prefix=place.prefix).status == 0
        assert locus(*words, "--resume", prefix=place.prefix).status == 0
        lines = read(place.path / "record.jsonl")
    assert {line["host"] for line in lines if line["type"] == "header"} == {written}
    assert lines[-1]["skipped"] == 1


@pytest.mark.parametrize(
    "option",
    ["--output", "--threads", "--bind", "--variant", "--topology", "--time-budget", "--size"],
)
def test_other_options(locus, tmp_path, option):
    """Such a value is refused in one line, except a file name, which may be any bytes."""
    done = locus("dummy --repeats 1 --dry-run", option, "\udcff", cwd=tmp_path, **RAW)
    assert done.status in ((0,) if option == "--output" else (2, 3)), done
    assert done.status == 0 or ("\udcff" in done.err and done.err.count("\n") == 1), done


def test_an_output_of_such_a_name(locus, tmp_path, read):
    file = tmp_path / "r\udcff.jsonl"
    assert locus("dummy --variant steady --repeats 1 --output", file).status == 0
    assert read(file)[0]["command"][-1] == f"{tmp_path}/r\\xff.jsonl" and list(
        tmp_path.iterdir()
    ) == [file]


@pytest.mark.parametrize("option", ["--time-budget", "--case-budget", "--duration"])
def test_a_number_that_its_unit_makes_infinite(locus, option):
    done = locus("dummy --variant steady", option, "1e308h")
    assert done.status == 2 and f"{option}: '1e308h' is not a time" in done.err
