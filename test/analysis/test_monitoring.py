# SPDX-License-Identifier: Apache-2.0
"""Values for monitoring, as other programs' parsers read them."""

from __future__ import annotations

import importlib
import io
import os
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from lacking import lacking
from locus_analysis import __main__ as program
from locus_analysis.export import monitoring
from make_records import ONE, TWO, Machine, latency, numa, record, run_id, write

GOOD, CANNOT, BAD_INPUT = 0, 1, 2
BACKSLASHES = "a,\"b\";'c' = \\ \u2028 <i> é\\"
FIRST, LAST = "2025-03-14T09:26:53.589Z", "2025-04-01T00:00:00.001Z"
LAST_SECONDS = 1743465600.001
KEYS = {"host", "class", "component", "metric"}


def module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        lacking(name, "python -m pip install -r analysis/requirements-dev.txt")


def exported(capsys: pytest.CaptureFixture[str], form: str, *files: Path) -> str:
    assert program.main(["export", "--format", form, *map(str, files)]) == GOOD
    return capsys.readouterr().out


def run_of(folder: Path, machine: Machine, started: str, factor: float = 1.0) -> Path:
    points = latency(machine, octave=1)[::3] + numa(machine, kernels=("sum",))[:4]
    for point in points:
        point.seconds *= factor
    name = f"{machine.host}{started}"
    lines = record(machine, points, run_id(name), started=started)
    return write(folder / f"{run_id(name)}.jsonl", lines)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("given")
    return [
        run_of(folder, TWO, FIRST),
        run_of(folder, TWO, LAST, factor=2),
        run_of(folder, ONE, FIRST),
    ]


def families(text: str, parser: str) -> dict[str, list[Any]]:
    read = module(parser).text_fd_to_metric_families
    return {family.name: family.samples for family in read(io.StringIO(text))}


@pytest.mark.parametrize(
    "parser", ["prometheus_client.openmetrics.parser", "prometheus_client.parser"]
)
def test_the_last_value_of_each_component(
    capsys: pytest.CaptureFixture[str], files: list[Path], parser: str
) -> None:
    """For readers of OpenMetrics and of the older text format, such as node_exporter."""
    text = exported(capsys, "openmetrics", *files)
    found = families(text, parser)
    assert found.keys() == {monitoring.VALUE, monitoring.MEASURED}
    values = {tuple(sorted(s.labels.items())): s.value for s in found[monitoring.VALUE]}
    assert len(values) == len(found[monitoring.VALUE]) > 6
    assert all(s.labels.keys() == KEYS and not s.timestamp for s in found[monitoring.VALUE])
    before = {
        tuple(sorted(s.labels.items())): s.value
        for s in families(exported(capsys, "openmetrics", files[0]), parser)[monitoring.VALUE]
    }
    times = {k for k in before if ("metric", "time") in k}
    assert times and all(values[k] == pytest.approx(2 * before[k], rel=0.2) for k in times)
    began = {s.labels["host"]: s.value for s in found[monitoring.MEASURED]}
    assert began.keys() == {ONE.host, TWO.host} and began[TWO.host] == LAST_SECONDS
    assert text.endswith("\n# EOF\n")


def test_each_value_of_each_run_as_line_protocol(
    capsys: pytest.CaptureFixture[str], files: list[Path]
) -> None:
    parse = module("line_protocol_parser").parse_line
    points = [parse(line) for line in exported(capsys, "influx", *files).splitlines()]
    assert {p["tags"]["hostname"] for p in points} == {ONE.host, TWO.host}
    assert {p["tags"]["type"] for p in points} == {"node"}
    assert {p["measurement"] for p in points} >= {"locus_l1", "locus_memory_bandwidth"}
    of_two = [p for p in points if p["tags"]["hostname"] == TWO.host]
    assert {p["time"] for p in of_two} == {1741944413589000000, 1743465600001000000}
    l1 = [p["fields"]["value"] for p in of_two if p["measurement"] == "locus_l1"]
    assert len(l1) == 2 and l1[1] == pytest.approx(2 * l1[0], rel=0.2)


def test_a_clock_far_in_the_future(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The line protocol has no such times; the last one that it has is written."""
    last, beyond = "2262-04-11T23:47:16.854Z", "9999-12-31T00:00:00.000Z"
    for started in (last, beyond):
        run_of(tmp_path, ONE, started)
    assert program.main(["export", "--format", "influx", str(tmp_path)]) == GOOD
    out, err = capsys.readouterr()
    assert {line.rsplit(" ")[-1] for line in out.splitlines()} == {"9223372036854000000"}
    assert f"{ONE.host}: its run of {beyond} is left out: influx has times" in " ".join(err.split())
    assert last not in err


@pytest.mark.parametrize("form", ["openmetrics", "influx"])
def test_a_host_may_have_any_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, form: str
) -> None:
    file = run_of(tmp_path, Machine(BACKSLASHES, "a CPU", cpu_nodes=1, cores=2), FIRST)
    text = exported(capsys, form, file)
    if form == "openmetrics":
        (began,) = families(text, "prometheus_client.openmetrics.parser")[monitoring.MEASURED]
        assert began.labels["host"] == BACKSLASHES
    else:
        parse = module("line_protocol_parser").parse_line
        names = {parse(line)["tags"]["hostname"] for line in text.split("\n") if line}
        assert names == {BACKSLASHES[:-1] + "_"}


def test_noisy_values_are_left_out(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    points = latency(ONE, octave=1)
    for point in points:
        point.status, point.reasons = "noisy", ["other work"]
    file = write(tmp_path / "a.jsonl", record(ONE, points, run_id("noisy")))
    text = exported(capsys, "openmetrics", file)
    assert f"{monitoring.VALUE}{{" not in text and f"{monitoring.MEASURED}{{" in text


# A reader always finds a complete file.


def test_a_file_is_renamed_when_it_is_whole(
    capsys: pytest.CaptureFixture[str], files: list[Path], tmp_path: Path
) -> None:
    words = ["export", "--format", "openmetrics", "--output", str(tmp_path), *map(str, files)]
    assert program.main(words) == GOOD
    (made,) = tmp_path.iterdir()
    assert made.name == "locus.prom"
    assert made.read_text() == exported(capsys, "openmetrics", *files)
    mask = os.umask(0)
    os.umask(mask)
    # for node_exporter, which runs as another user
    assert made.stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_failure_leaves_the_file_as_it_was(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    target, bad = tmp_path / "locus.prom", tmp_path / "bad.jsonl"
    target.write_text("before\n")
    bad.write_text("no JSON\n")
    words = ["export", "--format", "openmetrics", "--output", str(target), str(bad)]
    assert program.main(words) == BAD_INPUT
    assert target.read_text() == "before\n"
    assert {p.name for p in tmp_path.iterdir()} == {"locus.prom", "bad.jsonl"}
    words[4] = str(tmp_path / "no" / "where.prom")
    assert program.main(words) == CANNOT
    assert "where.prom: cannot be written: No such file or directory" in capsys.readouterr().err


def test_a_link_stays_and_its_target_is_replaced(
    capsys: pytest.CaptureFixture[str], files: list[Path], tmp_path: Path
) -> None:
    target, link = tmp_path / "here" / "a.prom", tmp_path / "there" / "link.prom"
    for file in (target, link):
        file.parent.mkdir()
    link.symlink_to(Path("..", "here", "a.prom"))
    words = ["export", "--format", "openmetrics", "--output", str(link), *map(str, files)]
    for _ in range(2):  # the first time there is no target
        assert program.main(words) == GOOD
        assert link.is_symlink()
        assert target.read_text() == exported(capsys, "openmetrics", *files)
    assert [*target.parent.iterdir(), *link.parent.iterdir()] == [target, link]


def test_a_pipe_is_written_to(
    capsys: pytest.CaptureFixture[str], files: list[Path], tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    words = ["export", "--format", "openmetrics", "--output", str(pipe), *map(str, files)]
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        try:
            assert program.main(words) == GOOD
            assert reader.stdout
            assert reader.stdout.read() == exported(capsys, "openmetrics", *files)
        finally:
            reader.kill()
    assert pipe.is_fifo()


def test_a_folder_that_is_not_there(
    capsys: pytest.CaptureFixture[str], files: list[Path], tmp_path: Path
) -> None:
    words = ["export", "--output", f"{tmp_path}/no/", *map(str, files)]
    assert program.main(words) == BAD_INPUT
    assert f"{tmp_path}/no/: is no folder: make it, or give" in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]
