# SPDX-License-Identifier: Apache-2.0
"""Export to other tools: rows have the record's values, whatever names are in it."""

from __future__ import annotations

import csv
import functools
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from locus_analysis import __main__ as program
from make_records import (
    FLAGS,
    ONE,
    TWO,
    Line,
    Machine,
    Point,
    as_written,
    dummy,
    flag,
    numa,
    record,
    run_id,
    write,
)
from some import some

GOOD, BAD_INPUT = 0, 2
RUN = run_id("export")

Row = dict[str, Any]


def export(
    capsys: pytest.CaptureFixture[str], form: str, *files: Path, status: int = GOOD
) -> tuple[str, str]:
    assert program.main(["export", "--format", form, *map(str, files)]) == status
    out, err = capsys.readouterr()
    return out, err


def of_csv(text: str) -> list[Row]:
    return list(csv.DictReader(io.StringIO(text)))


def of_jsonl(text: str) -> list[Row]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def points() -> list[Point]:
    return flag(numa(TWO, kernels=("sum",)), every=1) + dummy()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory, points: list[Point]) -> Path:
    """Only read."""
    return write(tmp_path_factory.mktemp("export") / "a.jsonl", record(TWO, points, RUN))


@pytest.fixture(scope="module")
def exported(file: Path) -> Callable[[str], str]:
    """That record in a format: each is made once."""

    @functools.cache
    def made(form: str) -> str:
        output = file.with_name(f"made.{form}")
        words = ["export", "--format", form, "--output", str(output), str(file)]
        assert program.main(words) == GOOD
        return output.read_bytes().decode()

    return made


def metrics_of(lines: list[Line]) -> dict[tuple[str, str], Row]:
    return {
        (t["id"], name): m
        for t in lines
        if t["type"] == "trial"
        for name, m in t.get("metrics", {}).items()
    }


@pytest.mark.parametrize("form, rows_of", [("csv", of_csv), ("jsonl", of_jsonl)])
def test_a_row_for_each_trial_and_metric(
    exported: Callable[[str], str], file: Path, points: list[Point], form: str, rows_of: Any
) -> None:
    """Numbers come back exactly as they were written."""
    rows = rows_of(exported(form))
    written = metrics_of([json.loads(line) for line in file.read_text().splitlines()])
    assert len(rows) == sum(2 if p.benchmark == "numa" else 1 for p in points)
    for row in some(r for r in rows if r["value"] not in ("", None)):
        metric = written[row["trial"], row["metric"]]
        assert float(row["value"]) == metric["value"]
        assert [float(row["low"]), float(row["high"])] == metric["ci"]
    assert {r["benchmark"] for r in rows} == {"numa", "dummy"}
    assert {r["host"] for r in rows} == {"n042"}


@pytest.mark.parametrize("form, rows_of, null", [("csv", of_csv, ""), ("jsonl", of_jsonl, None)])
def test_what_has_no_value_has_its_reason(
    exported: Callable[[str], str], form: str, rows_of: Any, null: Any
) -> None:
    rows = rows_of(exported(form))
    for row in some(r for r in rows if r["status"] in ("impossible", "failed")):
        assert row["value"] == row["low"] == row["high"] == null
        assert row["why"] == FLAGS[row["status"]]
    assert all(r["why"] == null for r in some(r for r in rows if r["value"] != null))


def test_parameters_are_columns(exported: Callable[[str], str]) -> None:
    """CSV has columns for the parameters of all benchmarks; an object of JSON Lines has only its
    trial's."""
    first = of_csv(exported("csv"))[0]
    assert first["size"] == str(1 << 30) and first["delay"] == "" and first["layout"] == "16+0"
    objects = of_jsonl(exported("jsonl"))
    assert "delay" not in objects[0] and objects[0]["size"] == 1 << 30
    assert objects[-1]["delay"] == 0.002 and "size" not in objects[-1]


def test_a_parameter_does_not_take_the_place_of_a_column(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    point = Point("dummy", "fixed", {"value": 7, "host": "x", "why": "so"}, 1, 1e-6)
    given = write(tmp_path / "a.jsonl", record(ONE, [point], RUN))
    for rows in (
        of_csv(export(capsys, "csv", given)[0]),
        of_jsonl(export(capsys, "jsonl", given)[0]),
    ):
        assert str(rows[0]["parameter_value"]) == "7" and rows[0]["parameter_host"] == "x"
        assert rows[0]["host"] == "cloud-7" and rows[0]["parameter_why"] == "so"


HOSTILE = "a,\"b\";'c' \\ \u2028 =1+1 <i> é"  # a record has no control characters


def test_names_may_be_anything(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    point = Point("kmeans", "best", {"points": HOSTILE}, 1, 1e-6)
    lines = record(Machine(HOSTILE, "a CPU", cpu_nodes=1), [point], RUN)
    given = write(tmp_path / "a.jsonl", lines)
    (row,) = of_csv(export(capsys, "csv", given)[0])
    assert row["host"] == row["points"] == HOSTILE
    out, _ = export(capsys, "jsonl", given)
    (row,) = [json.loads(line) for line in out.split("\n") if line]
    assert row["host"] == row["points"] == HOSTILE
    exported = json.loads(export(capsys, "google-benchmark", given)[0])
    assert exported["context"]["host_name"] == HOSTILE


def test_round_numbers_stay_numbers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lines = as_written(record(ONE, [Point("dummy", "fixed", {"delay": 1}, 1, 1e-6)], RUN))
    trial = next(line for line in lines if line["type"] == "trial")
    trial["metrics"] = {"time": {"value": 1, "ci": [1, 2]}}
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (row,) = of_jsonl(export(capsys, "jsonl", tmp_path)[0])
    assert (row["value"], row["low"], row["high"], row["delay"]) == (1, 1, 2, 1)


def test_a_bad_line_costs_that_line(
    capsys: pytest.CaptureFixture[str], file: Path, tmp_path: Path
) -> None:
    bad = tmp_path / "a.jsonl"
    bad.write_text(file.read_text().replace("\n", "\n{\n", 1))
    out, err = export(capsys, "csv", bad)
    assert len(of_csv(out)) > 20 and "a.jsonl:2" in err


def test_what_is_no_record_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("no JSON\n")
    out, err = export(capsys, "csv", tmp_path / "a.jsonl", status=BAD_INPUT)
    assert not out and "a.jsonl:1" in err


def test_a_reader_that_has_seen_enough_ends_it_without_a_word(file: Path) -> None:
    """Ends silently, as SIGPIPE ends the commands in C: `locus export FILE | head`."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "locus_analysis", "export", file],
        stdout=writer,
        stderr=subprocess.PIPE,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")


def test_a_record_without_trials_has_a_head_alone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    given = write(tmp_path / "a.jsonl", record(ONE, [], RUN))
    assert export(capsys, "csv", given)[0].startswith("host,run,trial,started,benchmark,variant,")
    assert export(capsys, "jsonl", given)[0] == ""
    assert json.loads(export(capsys, "google-benchmark", given)[0])["benchmarks"] == []


# Google Benchmark: the members that its tools/compare.py reads, and that its own files have.


def test_google_benchmark_has_each_batch_as_a_repetition(
    capsys: pytest.CaptureFixture[str], file: Path, points: list[Point]
) -> None:
    out, err = export(capsys, "google-benchmark", file)
    exported = json.loads(out)
    entries = exported["benchmarks"]
    names = {e["run_name"] for e in entries}
    left_out = sum(p.status in ("impossible", "failed") for p in points)
    assert len(names) == len(points) - left_out
    assert f"{left_out} trials without a time are left out of this format" in err
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    trial = next(t for t in lines if t["type"] == "trial")
    own = [e for e in entries if e["run_name"] == entries[0]["run_name"]]
    assert [e["real_time"] / 1e9 for e in own[:-1]] == pytest.approx(
        [b * trial["scale"] for b in trial["batches"]["metrics"]["time"]]
    )
    assert [e["repetition_index"] for e in own[:-1]] == [*range(len(own) - 1)]
    assert own[-1]["run_type"] == "aggregate" and own[-1]["aggregate_name"] == "median"
    assert own[-1]["bandwidth"] == trial["metrics"]["bandwidth"]["value"]
    for entry in some(entries):
        assert {"name", "time_unit", "real_time", "cpu_time", "iterations"} <= entry.keys()
        assert entry["time_unit"] == "ns" and entry["threads"] >= 1


def test_names_of_google_benchmark_say_what_was_measured(
    exported: Callable[[str], str],
) -> None:
    """Names contain neither host nor run, since compare.py matches the names of two files."""
    entry = json.loads(exported("google-benchmark"))["benchmarks"][0]
    assert entry["name"] == (
        "numa/single/kernel:sum/size:1073741824/pages:base/layout:16+0/bind:layout/threads:16"
    )


def test_the_context_of_google_benchmark(exported: Callable[[str], str]) -> None:
    context = json.loads(exported("google-benchmark"))["context"]
    assert context["host_name"] == "n042" and context["num_cpus"] == 32
    assert context["mhz_per_cpu"] == 2300 and context["cpu_scaling_enabled"] is False
    assert context["caches"][0] == {
        "type": "Data",
        "level": 1,
        "size": 32 << 10,
        "num_sharing": 1,
    }


def test_google_benchmark_is_of_one_host(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, file: Path
) -> None:
    other = write(tmp_path / "b.jsonl", record(ONE, dummy(), run_id("b")))
    out, err = export(capsys, "google-benchmark", file, other, status=BAD_INPUT)
    assert not out and "these records are of 2: cloud-7, n042; export each by itself" in err


def test_one_format_is_asked_for(capsys: pytest.CaptureFixture[str], file: Path) -> None:
    words = ["export", "--format", "csv", "--anonymous", str(file)]
    assert program.main(words) == BAD_INPUT
    out, err = capsys.readouterr()
    assert not out and "--format csv and --format anonymous are asked for" in err
