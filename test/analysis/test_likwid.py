# SPDX-License-Identifier: Apache-2.0
"""LIKWID's tables: read as LIKWID 5.2.2 writes them (likwid-zeros.* is from a guest), joined with
records, and shown beside our results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

import pytest
from locus_analysis import __main__ as program
from locus_analysis.page import likwid_tables
from locus_analysis.records import database, likwid
from make_records import ONE, Line, numa, record, run_id, write
from pages import Page

HERE = Path(__file__).parent


ZEROS = HERE / "likwid-zeros.csv"


MEM: dict[str, list[float]] = {
    "Runtime (RDTSC) [s]": [0.5, 0.5],
    "CPI": [0.5, 1.5],
    "Memory bandwidth [MBytes/s]": [4000.0, 500.0],
}


REGION = {"name": "numa_static_0", "calls": 6, "seconds": 2.0, "measured": 1.5}


def table(
    region: str = "numa_static_0",
    group: str = "MEM",
    number: int = 1,
    calls: Sequence[Any] = (6, 6),
    events: Optional[Mapping[str, Sequence[Any]]] = None,
    metrics: Optional[Mapping[str, Sequence[Any]]] = None,
) -> str:
    """As printOutput() of likwid.lua writes it: each line padded with commas to the longest."""
    events = {"INSTR_RETIRED_ANY,FIXC0": [7, 8]} if events is None else events
    metrics = MEM if metrics is None else metrics
    cpus = [f"HWThread {i}" for i in range(len(calls))]

    def rows(head: str, body: Mapping[str, Sequence[Any]]) -> list[str]:
        return [",".join([head, *cpus])] + [
            ",".join([name, *map(str, values)]) for name, values in body.items()
        ]

    lines = ["STRUCT,Info,3", "CPU name:,x", "CPU type:,y", "CPU clock:,2.5 GHz"]
    lines += [f"TABLE,Region {region},Group {number} Raw,{group},{len(events)}"]
    lines += rows("Region Info", {"RDTSC Runtime [s]": [0.5] * len(calls), "call count": calls})
    lines += rows("Event,Counter", events)
    lines += [
        f"TABLE,Region {region},Group {number} Raw STAT,{group},{len(events)}",
        "Event,Counter,Sum,Min,Max,Avg",
    ]
    lines += [f"{name} STAT,1,1,1,1".replace(",", " STAT,", 1) for name in events]
    lines += [
        f"TABLE,Region {region},Group {number} Metric,{group},{len(metrics)}",
        *rows("Metric", metrics),
    ]
    lines += [
        f"TABLE,Region {region},Group {number} Metric STAT,{group},{len(metrics)}",
        "Metric,Sum,Min,Max,Avg",
    ]
    lines += [f"{name} STAT,1,inf,nan,1" for name in metrics]
    width = max(line.count(",") for line in lines)
    return "".join(line + "," * (width - line.count(",")) + "\n" for line in lines)


def few(machine: Any = ONE) -> list[Line]:
    """A record of a few trials of numa."""
    return record(machine, numa(machine, kernels=("sum",))[:3], run_id(machine.host))


def marked(
    folder: Path, name: str = "n1", changes: Optional[Line] = None, machine: Any = ONE
) -> tuple[Path, Line]:
    """A record whose first trial was measured in REGION; and that trial."""
    folder.mkdir(exist_ok=True)
    lines = few(machine)
    trial = next(line for line in lines if line["type"] == "trial")
    trial["region"] = {**REGION, **(changes or {})}
    trial["cpus"] = [0, 1]
    return write(folder / f"{name}.jsonl", lines), trial


def report(folder: Path, *files: Path) -> Page:
    assert program.main(["report", "--force", "--output", str(folder), *map(str, files)]) == 0
    return Page(folder / "report.html")


def shown(folder: Path, *files: Path) -> tuple[Page, dict[str, list[Any]]]:
    """The page, and what it joined."""
    kept: list[dict[str, list[Any]]] = []
    join = likwid_tables.join

    def noted(*given: Any) -> dict[str, list[Any]]:
        kept.append(join(*given))
        return kept[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(likwid_tables, "join", noted)
        page = report(folder, *files)
    (found,) = kept
    return page, found


def joined(record: Path, *tables: Path) -> tuple[dict[str, list[Any]], list[str]]:
    notes: list[str] = []
    return likwid_tables.join(
        database.tables(database.read([record])), likwid.read(tables), notes
    ), notes


def give(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_what_likwid_itself_wrote() -> None:
    one, other = likwid.read([ZEROS])
    assert (one.region, one.number, one.group) == ("numa_single_1c188ddc1aaa88f5", 1, "CLOCK")
    assert (
        one.threads == ["HWThread 0", "HWThread 1"]
        and one.calls == [6, 6]
        and one.times == [1.38788, 1.361571]
    )
    assert list(one.events) == [
        "ACTUAL_CPU_CLOCK (FIXC1)",
        "MAX_CPU_CLOCK (FIXC2)",
        "RETIRED_INSTRUCTIONS (PMC0)",
        "CPU_CLOCKS_UNHALTED (PMC1)",
        "RAPL_PKG_ENERGY (PWR1)",
    ]
    assert (
        one.metrics["CPI"] == [None, None]
        and one.metrics["Energy [J]"] == [0, 0]
        and "CPI STAT" not in one.metrics
    )
    assert one.nothing and other.nothing and other.region == "numa_static_44c831c0ce2304bb"


def test_zeros_are_no_measurement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, found = shown(tmp_path, HERE / "likwid-zeros.jsonl", ZEROS)
    assert (
        "LIKWID counted nothing in 2 of 2 regions of group CLOCK: all its counters read zero"
        in page.text
    )
    (group,) = found["numa"]
    assert not capsys.readouterr().err and [
        (line["variant"], line["nothing"], line["theirs"]) for line in group["lines"]
    ] == [
        ("single", True, None),
        ("static", True, None),
    ]


def test_a_region_without_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page and stderr say that its table is missing, and leave out records without regions."""
    record, _ = marked(tmp_path)
    said = (
        f"{record}: 1 trial was measured in a region of LIKWID's that no table given here has: give"
        " likwid-perfctr's CSV"
    )
    page = report(tmp_path, record).text
    assert (
        said in page
        and "What LIKWID counted" not in page
        and f"locus: note: {said}" in capsys.readouterr().err
    )
    assert "LIKWID" not in report(tmp_path, write(tmp_path / "plain.jsonl", few())).text
    assert not capsys.readouterr().err


INTERRUPTED: Line = {
    "status": "interrupted",
    "reasons": ["the run was interrupted before this trial was complete"],
}


def again(folder: Path, first: int, second: int, last: Optional[Line] = None) -> Path:
    """A record of two runs: the first was interrupted after `first` entries of a region, the second
    measured that trial again, with `second` entries."""
    record, trial = marked(folder, changes={"calls": first})
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    begun = next(line for line in lines if line["type"] == "trial" and line["id"] == trial["id"])
    whole = dict(begun)
    begun.update(INTERRUPTED)
    header = {
        **lines[0],
        "run": "a" * 16,
        "started": "2099-01-01T00:00:00.000Z",
        "resumes": [lines[0]["run"]],
    }
    tables = [{**line, "run": "a" * 16} for line in lines if line["type"] == "benchmark"]
    done = {**whole, "run": "a" * 16, "region": {**REGION, "calls": second}, **(last or {})}
    return write(folder / "n1.jsonl", [*lines, header, *tables, done])


@pytest.mark.parametrize("first", [4, 6])
def test_a_job_that_went_on(tmp_path: Path, first: int) -> None:
    """The counts of a trial that was measured again come from its last run, even if both runs
    entered the region equally often."""
    record = again(tmp_path, first, 6)
    old = give(
        tmp_path / "n1.csv",
        table(calls=(first, first), metrics={"Memory bandwidth [MBytes/s]": [1, 1]}),
    )
    new = give(tmp_path / "n1.1.csv", table())
    for files in ((old, new), (new, old)):
        found, notes = joined(record, *files)
        (group,) = found["numa"]
        (line,) = group["lines"]
        assert not notes and line["theirs"] == pytest.approx(4.5e9) and line["status"] == "ok"


def test_only_what_was_interrupted_has_a_table(tmp_path: Path) -> None:
    found, (note,) = joined(again(tmp_path, 4, 6), give(tmp_path / "n1.csv", table(calls=(4, 4))))
    assert (
        not found
        and "1 trial was measured in a region of LIKWID's that no table given here has" in note
    )


def test_an_interrupted_run_has_no_bandwidth(tmp_path: Path) -> None:
    """The signal may also have ended LIKWID's daemon."""
    record = again(tmp_path, 4, 6, INTERRUPTED)
    file = give(tmp_path / "n1.1.csv", table())
    page, found = shown(tmp_path, record, file)
    (line,) = found["numa"][0]["lines"]
    assert (
        line["theirs"] is None and line["while_measured"] is None and line["doubt"] == "interrupted"
    )
    assert (
        "What LIKWID counted" in page.text
        and "4.50 GB/s" not in page.text
        and "4500" not in page.text
        and "counted nothing" not in page.text
    )


def test_its_bandwidth_beside_ours(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The sum over the threads in the region; and the bandwidth while measuring, as if no bytes
    moved in the rest of the region's time."""
    record, trial = marked(tmp_path)
    page, found = shown(tmp_path, record, give(tmp_path / "n1.csv", table()))
    (group,) = found["numa"]
    (line,) = group["lines"]
    assert not capsys.readouterr().err and (group["name"], group["metrics"], line["id"]) == (
        "MEM",
        list(MEM),
        trial["id"],
    )
    assert (
        line["theirs"] == pytest.approx(4.5e9)
        and line["share"] == 0.75
        and line["while_measured"] == pytest.approx(6e9)
    )
    assert line["ours"] == trial["metrics"][0]["value"] and line["ratio"] == pytest.approx(
        6e9 / line["ours"]
    )
    assert (
        line["metrics"]["CPI"] == {"how": "mean", "value": 1.0}
        and not line["nothing"]
        and not line["zeros"]
    )
    assert (
        "What LIKWID counted: group MEM (1 trial)" in page.text
        and "4.50 GB/s" in page.text
        and "6.00 GB/s" in page.text
    )
    assert "75 %" in page.text and "counted nothing" not in page.text.replace(
        "nothing was counted", ""
    )


ZERO: dict[str, list[Any]] = {"INSTR_RETIRED_ANY,FIXC0": [7, 0], "L2,PMC0": [3, "-"]}


LOST: dict[str, tuple[Line, str, str]] = {
    "zeros": ({}, table(events=ZERO), "all its counters read zero"),
    "not entered": ({}, table(calls=(6, 0)), "did not enter the region"),
    "not there": (
        {},
        table(calls=(6,), events={"X,PMC0": [7]}, metrics={"CPI": [1]}),
        "did not enter the region",
    ),
    "by locus": ({"uncounted": [1]}, table(), "all its counters read zero"),
}


@pytest.mark.parametrize("case", LOST)
def test_a_thread_that_was_lost_is_not_left_out_of_a_sum_in_silence(
    tmp_path: Path, case: str
) -> None:
    """The page shows neither the other threads' sum nor a bandwidth from it, and says which thread
    is missing."""
    changes, text, why = LOST[case]
    record, _ = marked(tmp_path, changes=changes)
    file = give(tmp_path / "n1.csv", text)
    page, found = shown(tmp_path, record, file)
    (line,) = found["numa"][0]["lines"]
    assert (
        line["doubt"] == "threads not counted"
        and line["lost"] == [f"HWThread 1 {why}"]
        and line["theirs"] is None
    )
    said = "LIKWID lost threads of these trials in group MEM"
    assert said in page.text and f"HWThread 1 {why}" in page.text
    assert "4.50 GB/s" not in page.text and "4500" not in page.text


def test_what_a_socket_counts_is_read_on_one_cpu(tmp_path: Path) -> None:
    """Zeros of a socket's other CPUs are no loss, with or without events that each core counts; nor
    are zeros of CPUs outside the trial."""
    alone = {"CAS_COUNT_RD,MBOX0C0": [9, 0]}
    record, _ = marked(tmp_path)
    db = database.tables(database.read([record]))
    for text in (
        table(events=alone),
        table(events={**alone, "INSTR_RETIRED_ANY,FIXC0": [7, 8]}),
        table(calls=(6, 6, 0), events={"X,PMC0": [7, 8, 0]}, metrics={"CPI": [1, 1, "nan"]}),
    ):
        counted = likwid.read([give(tmp_path / "n1.csv", text)])
        (line,) = likwid_tables.join(db, counted, [])["numa"][0]["lines"]
        assert line["lost"] == [] and line["doubt"] is None


def test_some_counters_read_zero(tmp_path: Path) -> None:
    """A bandwidth of 0 is marked as doubtful, and the page names the memory counter."""
    events = {"INSTR_RETIRED_ANY,FIXC0": [7, 8], "DRAM_CHANNEL_0,DFC0": [0, 0]}
    metrics: dict[str, list[float]] = {**MEM, "Memory bandwidth [MBytes/s]": [0, 0]}
    record, _ = marked(tmp_path)
    page = report(
        tmp_path, record, give(tmp_path / "n1.csv", table(events=events, metrics=metrics))
    )
    assert (
        "DRAM_CHANNEL_0 (DFC0)" in page.text
        and page.text.count("0 B/s ?") == page.text.count("0 B/s") == 1
    )
    assert "0 Σ ?" in page.text


def test_counters_that_could_not_be_read_are_no_zeros(tmp_path: Path) -> None:
    events: dict[str, list[Any]] = {
        "INSTR_RETIRED_ANY,FIXC0": [7, 8],
        "A,PMC0": ["-", "nan"],
        "B,PMC1": ["-", 0],
        "C,PMC2": ["-", 5],
    }
    record, _ = marked(tmp_path)
    file = give(tmp_path / "n1.csv", table(events=events))
    page, found = shown(tmp_path, record, file)
    (line,) = found["numa"][0]["lines"]
    assert (line["zeros"], line["unread"]) == (["B (PMC1)"], ["A (PMC0)"])
    said = "Counters of group MEM that LIKWID could not read in a region:"
    assert said in page.text and "A (PMC0)" in page.text


def test_several_groups(tmp_path: Path) -> None:
    """Groups take turns: their entries add up to the region's."""
    clock = {"CPI": [2, 2]}
    text = table(calls=(3, 3)) + table(group="CLOCK", number=2, calls=(3, 3), metrics=clock)
    record, _ = marked(tmp_path)
    found, notes = joined(record, give(tmp_path / "n1.csv", text))
    assert not notes and [group["name"] for group in found["numa"]] == ["MEM", "CLOCK"]
    assert found["numa"][1]["metrics"] == ["CPI"] and found["numa"][1]["lines"][0]["theirs"] is None


def test_events_without_metrics(tmp_path: Path) -> None:
    """A table of custom events lists the runtime among them."""
    text = table(
        group="Custom",
        events={"Runtime (RDTSC) [s],TSC": [0.5, 0.5], "X,PMC0": ["-", "nan"]},
        metrics={},
    )
    (counted,) = likwid.read([give(tmp_path / "a.csv", text)])
    assert (
        counted.times == [0.5, 0.5]
        and counted.events == {"X (PMC0)": [None, None]}
        and counted.nothing
    )


def test_lists_of_events_are_told_apart_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """LIKWID calls each such list Custom."""
    runtime = {"Runtime (RDTSC) [s]": [0.5, 0.5]}
    first = table(group="Custom", calls=(3, 3), events={"X,PMC0": [7, 8]}, metrics=runtime)
    second = table(
        group="Custom", number=2, calls=(3, 3), events={"Y,PMC0": [20, 30]}, metrics=runtime
    )
    record, _ = marked(tmp_path)
    file = give(tmp_path / "n1.csv", first + second)
    page, found = shown(tmp_path, record, file)
    assert not capsys.readouterr().err and [group["name"] for group in found["numa"]] == [
        "Custom: X (PMC0)",
        "Custom: Y (PMC0)",
    ]
    assert [
        group["lines"][0]["metrics"][group["metrics"][-1]]["value"] for group in found["numa"]
    ] == [15, 50]
    assert "group Custom: X (PMC0) (1 trial)" in page.text and "50.0 Σ" in page.text


def test_threads_of_several_ranks(tmp_path: Path) -> None:
    """As likwid-mpirun writes it: without the region's info, and with calls and time among the
    events."""
    text = (
        "TABLE,Region r,Group 1 Raw,MEM,2,,\nEvent,Counter,n1:0:0,n2:1:0,\nRuntime (RDTSC)"
        " [s],TSC,1,2,\nRegion calls,CTR,6,6,\nX,PMC0,5,6,\nTABLE,Region r,Group 1 Raw"
        " STAT,MEM,2,,\nEvent,Counter,Sum,Min,Max,Avg\nX STAT,PMC0,1,2,3,4\nTABLE,Region r,Group 1"
        " Metric,MEM,1,,\nMetric,n1:0:0,n2:1:0,,\nMemory bandwidth [MBytes/s],10,20,,\n"
    )
    (counted,) = likwid.read([give(tmp_path / "a.csv", text)])
    assert (
        counted.threads == ["n1:0:0", "n2:1:0"]
        and counted.calls == [6, 6]
        and counted.times == [1, 2]
    )
    assert counted.events == {"X (PMC0)": [5, 6]}
