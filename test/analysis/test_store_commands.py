# SPDX-License-Identifier: Apache-2.0
"""Commands say of a store what they say of the records."""

from __future__ import annotations

from pathlib import Path

import pytest
from locus_analysis import __main__ as program
from make_records import machine_record, write


def aggregate(*paths: Path, into: Path, more: tuple[str, ...] = ()) -> int:
    return program.main(["aggregate", *map(str, paths), "--into", str(into), *more])


def said(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    capsys.readouterr()
    status = program.main([*map(str, words)])
    return status, capsys.readouterr().out


def test_sick_names_nodes_without_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also those that the batch system lost after the records were added, and the last line of a
    node counts."""
    results, store = tmp_path / "results", tmp_path / "store"
    results.mkdir()
    write(results / "one.jsonl", machine_record("one"))
    for more in ("n007\tcut off\n", "n008\tnever started\nn007\tcomplete\n"):
        with (results / "nodes.tsv").open("a", encoding="utf-8") as file:
            file.write(more)
        assert aggregate(results, into=store) == 0
        told = said(capsys, "sick", results)
        assert told == said(capsys, "sick", store)
        assert f"NO DATA  {more[:4]}" in told[1] and told[1].count("NO DATA") == 1
    assert aggregate(results, into=store, more=("--compact",)) == 0
    assert said(capsys, "sick", store) == told
    assert said(capsys, "aggregate", results, "--into", store) == (0, "0 new files\n")
    later = tmp_path / "later"
    later.mkdir()
    write(later / "two.jsonl", machine_record("two"))
    (later / "nodes.tsv").write_text("n008\tcomplete\n")
    for first in (results, store):
        assert "NO DATA" not in said(capsys, "sick", first, later)[1]
