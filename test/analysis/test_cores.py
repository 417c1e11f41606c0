# SPDX-License-Identifier: Apache-2.0
"""cores: the slow CPU of a node and the one that computes wrong are named, on a cluster, on the
card and on the page."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Optional

import pytest
from locus_analysis import __main__ as program
from locus_analysis.cluster import cores as again
from make_records import Machine, cores, record, run_id, write

BIG = Machine("big", "AMD EPYC 7543 32-Core Processor", cpu_nodes=2, cores=32)


def campaign(
    folder: Path, slow: Optional[int] = None, wrong: Optional[int] = None, by: float = 1 / 0.9
) -> Path:
    """Of 6 nodes with 64 CPUs; n003 has the odd one."""
    folder.mkdir()
    for i in range(6):
        name = f"n{i:03}"
        odd = {"slow": slow, "wrong": wrong} if i == 3 else {}
        points = cores(BIG, seed=f"{folder.name}{name}", by=by, **odd)
        write(folder / f"{name}.jsonl", record(BIG, points, run_id(f"{folder}{name}"), host=name))
    return folder


def sick(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    status = program.main(["sick", *map(str, words)])
    return status, capsys.readouterr().out


def test_a_slow_core_is_found_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Suspected, then confirmed by three fresh runs."""
    for name in "abcd":
        campaign(tmp_path / name, slow=17)
    status, out = sick(capsys, tmp_path)
    assert status == 1 and "SICK" in out and "n003  cores 1.10 times its class" in out
    assert "CPU 17" in out and out.count("n00") == 1


def test_healthy_cores_are_not_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out = sick(capsys, campaign(tmp_path / "a"))
    assert status == 0 and "no node is sick" in out


def test_a_cpu_that_computes_wrong_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out = sick(capsys, campaign(tmp_path / "a", wrong=40))
    assert status == 1 and "WRONG    n003  CPU 40; cores: 4 wrong" in out


def test_compressed_records_name_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = campaign(tmp_path / "a", slow=5)
    for file in [*folder.glob("*.jsonl")]:
        Path(f"{file}.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    status, out = sick(capsys, folder, "--format", "json")
    (found,) = json.loads(out)["findings"]
    assert status == 4 and found["component"] == "cores" and found["reason"] == "CPU 5"


def test_a_record_that_is_gone_names_no_cpu(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node is named all the same."""
    folder = campaign(tmp_path / "a", slow=5)
    read = again.trials_of  # the files lie elsewhere by then
    monkeypatch.setattr(again, "trials_of", lambda path: read(tmp_path / path.name))
    status, out = sick(capsys, folder)
    assert status == 4 and "SUSPECT  n003  cores 1.10" in out and "CPU" not in out.split("n003")[1]
