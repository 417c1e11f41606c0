# SPDX-License-Identifier: Apache-2.0
"""Tables of LIKWID as files: recognised by their content, joined with their run's record, whatever
text they hold."""

from __future__ import annotations

import json
import os
import random
import threading
from pathlib import Path

import pytest
from locus_analysis import __main__ as program
from locus_analysis.page import likwid_tables
from locus_analysis.records import database, likwid
from make_records import TWO
from test_likwid import MEM, ZEROS, give, marked, report, table


def test_a_file_is_told_by_its_content(tmp_path: Path) -> None:
    """Whatever its name and its place among the arguments; also after what locus printed, as with
    -O."""
    record, _ = marked(tmp_path)
    said = (
        "numa: all threads go over the arrays together\ntrial  threads\nnuma/static  2  1,2 GB/s\n"
    )
    long = said * 10000
    texts = {
        "a": table(),
        "b.jsonl": table(),
        "c.txt": said + table(),
        "d.csv": table().replace("\n", "\r\n"),
        "e": long + table(),
    }
    for name, text in texts.items():
        file = give(tmp_path / name, text)
        assert likwid.is_table(file) and not likwid.is_table(record)
        assert [own.region for own in likwid.read([file])] == ["numa_static_0"]
    assert "What LIKWID counted" in report(tmp_path, tmp_path / "b.jsonl", record).text


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    """As in locus validate <(xz -dc record.jsonl.xz): its type cannot be looked up first."""
    record, _ = marked(tmp_path)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(record.read_bytes(),))
    writer.start()
    assert program.main(["validate", str(pipe)]) == 0
    writer.join()


@pytest.mark.parametrize("command", ["validate", "levels"])
def test_only_the_report_reads_them(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main([command, str(marked(tmp_path)[0]), str(ZEROS)]) == 2
    assert (
        "likwid-zeros.csv: a table of LIKWID's, not a record: locus report reads it"
        in capsys.readouterr().err
    )


def test_without_its_record(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["report", str(ZEROS)]) == 2
    assert "give the record of its run, too" in capsys.readouterr().err


FIRST = "TABLE,Region numa_static_0,Group 1 Raw,MEM,1"


ERRORS = {
    "TABLE,Group 1 Raw,MEM,1": (FIRST, 5, "ran without -m"),
    "RDTSC Runtime [s],0.5,half": ("RDTSC Runtime [s],0.5,0.5", 7, "'half' is not a number"),
    "call count,6": ("call count,6,6", 8, "1 numbers for 2 hardware threads"),
    "call count,6,6,6": ("call count,6,6", 8, "3 numbers for 2 hardware threads"),
    "Event,Counter,HWThread 0,HWThread 7": (
        "Event,Counter,HWThread 0,HWThread 1",
        9,
        "are not those that its table began with",
    ),
    "INSTR,FIXC0,1,1": (
        "Region Info,HWThread 0,HWThread 1",
        6,
        "before the row that names the hardware threads",
    ),
}


@pytest.mark.parametrize("new", ERRORS)
def test_errors_name_the_line(tmp_path: Path, new: str, capsys: pytest.CaptureFixture[str]) -> None:
    old, line, said = ERRORS[new]
    record, _ = marked(tmp_path)
    lines = table().splitlines()
    (place,) = [i for i, text in enumerate(lines) if text.rstrip(",") == old]
    file = give(tmp_path / "bad.csv", "\n".join([*lines[:place], new, *lines[place + 1 :]]))
    assert program.main(["report", str(record), str(file)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"locus: {file}:{line}: ") and said in err and err.count("\n") == 1
    assert not (tmp_path / "report.html").exists()


def test_twice_and_cut_off(tmp_path: Path) -> None:
    for text, said in (
        (table() * 2, "is here a second time"),
        (FIRST + "\n", "it was cut off"),
        ("STRUCT,Info,3\n", "holds no region"),
    ):
        with pytest.raises(database.BadInput, match=said):
            likwid.read([give(tmp_path / "a.csv", text)])


def test_of_several_runs_the_one_beside_it(tmp_path: Path) -> None:
    """Nodes of a job have the same trials: the table's name decides."""
    first, _ = marked(tmp_path, "n1")
    second, _ = marked(tmp_path, "n2", machine=TWO)
    files = [
        give(tmp_path / "n1.csv", table()),
        give(tmp_path / "n2.1.csv", table(metrics={"CPI": [1, 1]})),
    ]
    notes: list[str] = []
    db = database.tables(database.read([first, second]))
    found = likwid_tables.join(db, likwid.read(files), notes)
    by_host = {line["file"]: line["metrics"] for group in found["numa"] for line in group["lines"]}
    assert (
        not notes
        and by_host[str(first)].keys() == MEM.keys()
        and by_host[str(second)].keys() == {"CPI"}
    )
    elsewhere = give(tmp_path / "other.csv", table())
    found = likwid_tables.join(db, likwid.read([elsewhere]), notes)
    assert not found and "fits 2 trials equally well" in notes[0]


def test_of_several_beside_it_the_one_of_its_name(tmp_path: Path) -> None:
    """Nodes' names may hold dots."""
    first, _ = marked(tmp_path, "n1")
    second, _ = marked(tmp_path, "n1.cluster", machine=TWO)
    notes: list[str] = []
    files = [
        give(tmp_path / "n1.cluster.csv", table(metrics={"CPI": [1, 1]})),
        give(tmp_path / "n1.csv", table()),
    ]
    found = likwid_tables.join(
        database.tables(database.read([first, second])), likwid.read(files), notes
    )
    by_record = {
        line["file"]: line["metrics"].keys() for group in found["numa"] for line in group["lines"]
    }
    assert not notes and by_record == {str(second): {"CPI"}, str(first): MEM.keys()}


def test_of_another_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record, _ = marked(tmp_path, changes={"calls": 9})
    page = report(
        tmp_path, record, give(tmp_path / "n1.csv", table() + table(region="numa_other_1"))
    )
    assert (
        "region numa_static_0 was entered 6 times by this table, but 9 times by the records: it"
        " is left out" in capsys.readouterr().err
    )
    assert (
        "region numa_static_0 was entered 6 times by this table, but 9 times by the records: it"
        " is left out" in page.text
    )
    assert (
        "no trial of these records was measured in region numa_other_1" in page.text
        and "What LIKWID counted" not in page.text
    )


def test_text_of_others_does_not_reach_the_page_as_such(tmp_path: Path) -> None:
    record, _ = marked(tmp_path)
    metrics = {"<script>alert(1)</script>": [1, 1]}
    page = report(
        tmp_path, record, give(tmp_path / "n1.csv", table(group="<b>G</b>", metrics=metrics))
    )
    assert "<script>alert(1)</script>" in page.text and "<b>G</b>" in page.text


def mutate(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    for _ in range(rng.randrange(1, 5)):
        i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
        kind = rng.randrange(6)
        if kind == 0:
            lines[i] = lines[j]
        elif kind == 1:
            del lines[i : i + rng.randrange(1, 4)]
        elif kind == 2:
            cells = lines[i].split(",")
            cells[rng.randrange(len(cells))] = rng.choice(
                ["", "-", "nan", "inf", "1e999", "-1", "x", "\x00", "é", "HWThread 0", "TABLE"]
            )
            lines[i] = ",".join(cells)
        elif kind == 3:
            lines[i] = lines[i][: rng.randrange(len(lines[i]) + 1)]
        elif kind == 4:
            lines[i] += "," * rng.randrange(1, 4) + rng.choice(["", "7", "STAT"])
        else:
            lines[i], lines[j] = lines[j], lines[i]
        lines = lines or [""]
    return "\n".join(lines)


def test_whatever_a_table_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read, or refused in a sentence with its name; what is read can be joined."""
    rng, file = random.Random(7), tmp_path / "n1.csv"
    record, _ = marked(tmp_path)
    db = database.tables(database.read([record]))
    trials = likwid_tables._marked(db)
    monkeypatch.setattr(likwid_tables, "_marked", lambda _: trials)  # the same each time
    whole = [ZEROS.read_text(), table() + table(group="L3", number=2)]
    refused = 0
    for n in range(600):
        give(file, mutate(whole[n % 2], rng))
        try:
            counted = likwid.read([file])
        except database.BadInput as error:
            assert str(error).startswith(str(file)) and "\n" not in str(error)
            refused += 1
            continue
        json.dumps(likwid_tables.join(db, counted, []), default=str, allow_nan=False)
    assert 40 < refused < 560


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(table().encode() + b"\xff\xfe\x00,\n")
    assert likwid.is_table(file) and likwid.read([file])
