# SPDX-License-Identifier: Apache-2.0
"""A store gives the answers that the records give, whatever was done to either."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from locus_analysis import __main__ as program
from locus_analysis.records import database
from make_records import MACHINES, machine_record, write

TABLES = (
    *("run", "part", "trial", "metric", "by_cpu", "distribution", "ratio", "headline", "pages"),
    *("cell", "told", "counter", "event", "peer", "outcome", "batch", "sketch"),
)
COMMANDS = (
    *("sick", "sick --format json", "summary", "levels", "export", "export --format openmetrics"),
    *("export --expect", "export --format jsonl"),
)


def aggregate(*paths: Path, into: Path) -> int:
    return program.main(["aggregate", *map(str, paths), "--into", str(into)])


def tables(*paths: Path) -> dict[str, Any]:
    """All rows that readers see."""
    db = database.tables(database.read(paths))
    return {t: sorted(map(repr, db.execute(f"FROM {t}").fetchall())) for t in TABLES}


def said(capsys: pytest.CaptureFixture[str], command: str, path: Path) -> tuple[int, str]:
    capsys.readouterr()
    status = program.main([*command.split(), str(path)])
    return status, capsys.readouterr().out


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("all")
    for name in MACHINES:
        write(made / f"{name}.jsonl", machine_record(name))
    return made


def test_a_store_has_what_the_records_have(folder: Path, tmp_path: Path) -> None:
    """Each value of each table, to the last digit."""
    for file in sorted(folder.iterdir()):
        store = tmp_path / file.stem
        assert aggregate(file, into=store) == 0
        told, stored = tables(file), tables(store)
        assert told["headline"]
        for name in TABLES:
            assert told[name] == stored[name], (file.name, name)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_give_the_same_answer(
    folder: Path, tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert aggregate(folder, into=tmp_path / "store") == 0
    told = said(capsys, command, folder)
    assert told == said(capsys, command, tmp_path / "store")
    assert told[1]
