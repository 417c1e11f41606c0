# SPDX-License-Identifier: Apache-2.0
"""Commands answer from a store as they do from the records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from locus_analysis import __main__ as program
from locus_analysis.base.processes import Processes
from locus_analysis.compare import command_line
from make_records import machine_record, write
from test_compare_hosts import lost
from test_history import run_of
from test_sick_records import campaign, named, same


def aggregate(*paths: Path, into: Path, more: tuple[str, ...] = ()) -> int:
    return program.main(["aggregate", *map(str, paths), "--into", str(into), *more])


def said(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    capsys.readouterr()
    status = program.main([*map(str, words)])
    return status, capsys.readouterr().out


def test_sick_names_nodes_without_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Including nodes that the batch system lost after the records were added; the last line of a
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


@pytest.mark.parametrize(
    ("nodes", "told"),
    [(9, '<td>NO DATA</td><td class="run">n900</td>'), (2, "n900 left no data: cut off")],
)
def test_a_report_names_nodes_without_data(
    tmp_path: Path, nodes: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    results, store = tmp_path / "results", tmp_path / "store"
    campaign(results, named(nodes), same)
    (results / "nodes.tsv").write_text("n000\tcomplete\nn900\tcut off\n")
    assert aggregate(results, into=store) == 0
    for given in (results, store):
        page = tmp_path / f"{given.name}.html"
        assert said(capsys, "report", given, "--output", page)[0] == 0
        assert told in page.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records a/, b/ and c/, each with a store beside it, a.store/; n005 of b is slow."""
    folder = tmp_path_factory.mktemp("sides")
    for side in "abc":
        campaign(folder / side, named(12), lost if side == "b" else same)
        assert aggregate(folder / side, into=folder / f"{side}.store") == 0
    return folder


@pytest.mark.parametrize("form", ["table", "json"])
def test_compare_stores(sides: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Two sides, each as records or as a store; three sides; several on a side."""

    def told(words: str) -> tuple[int, str]:
        given = [word if word == "--" else sides / word for word in words.split()]
        status, out = said(capsys, "compare", *given, "--format", form)
        return status, out.replace(".store", "")

    status, out = found = told("a b")
    assert status == 1 and "n005" in out
    for words in ("a.store b.store", "a b.store"):
        assert told(words) == found, words
    if form == "json":  # a table's columns are as wide as the names
        assert told("a b c") == told("a.store b.store c")
        return
    several = told("a c -- b")
    assert several == told("a.store c -- b.store")
    assert several != found


def test_a_second_process_reads_where_both_have_much(
    sides: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes count, not files; by default DuckDB reads a store with all CPUs."""
    asked = []
    call = Processes.call

    def noted(self: Processes, function: str, *arguments: Any) -> Any:
        asked.append(function)
        return call(self, function, *arguments)

    monkeypatch.setattr(Processes, "call", noted)
    half = sum(file.stat().st_size for file in (sides / "a").iterdir()) // 2
    told = said(capsys, "compare", sides / "a", sides / "b")
    for enough, old, new, processes in (
        (1, "a/n000.jsonl", "b/n000.jsonl", ["load"]),
        (half, "a", "b", ["load"]),
        (half, "a", "b/n000.jsonl", []),
        (1, "a.store", "b", []),
        (1, "a", "b.store", []),
    ):
        asked.clear()
        monkeypatch.setattr(command_line, "ENOUGH", enough)
        found = said(capsys, "compare", sides / old, sides / new)
        assert asked == processes, (enough, old, new)
        assert found == told or "n000" in new


@pytest.fixture(scope="module")
def years(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records of two nodes, old/ and new/, with stores; n1 has become slower."""
    folder = tmp_path_factory.mktemp("years")
    for half, days in (("old", range(1, 8)), ("new", range(8, 16))):
        (folder / half).mkdir()
        for day in days:
            run_of(folder / half, "n1", day, 1.2 if day > 8 else 1)
            run_of(folder / half, "n2", day, 1)
        assert aggregate(folder / half, into=folder / f"{half}.store") == 0
    return folder


@pytest.mark.parametrize("command", ["history n1", "history --format json n1", "levels", "summary"])
def test_records_and_stores_together(
    years: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Some months are in a store, some not yet."""
    whole = said(capsys, *command.split(), years / "old", years / "new")
    assert whole[1]
    for old, new in (("old.store", "new.store"), ("old.store", "new")):
        assert said(capsys, *command.split(), years / old, years / new) == whole


def test_records_that_a_store_has_count_once(
    years: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = said(capsys, "history", "n1", years / "old.store", years / "old")
    assert both == said(capsys, "history", "n1", years / "old")


def test_records_beside_a_store_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In its folder, and not in the store."""
    run_of(tmp_path, "n1", 1, 1)
    (old,) = tmp_path.iterdir()
    store = tmp_path / "store"
    assert aggregate(old, into=store) == 0
    old.rename(store / old.name)
    assert aggregate(store / old.name, into=store) == 0
    assert program.main(["summary", str(store)]) == 0
    assert "left out" not in capsys.readouterr().err
    (store / "later").mkdir()
    for day in (2, 3):
        run_of(store / "later", "n1", day, 1)
    first = min((store / "later").iterdir()).relative_to(store)
    assert program.main(["summary", str(store)]) == 0
    assert (
        f"{store}: is a store: {first} and 1 more in this folder, not in the store, are left out:"
        " locus aggregate adds records" in capsys.readouterr().err
    )


def test_aggregate_asks_for_records(
    sides: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of standard input it could not keep the samples, and a store has none."""
    store, other = sides / "a.store", tmp_path / "other"
    assert aggregate(sides / "a", store, into=other) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"locus: {store}: is a store, which has no lines: give its records;")
    assert line.endswith(f": locus report {store} {other}")
    assert aggregate(Path("-"), into=other) == 2 and not other.exists()
    with pytest.raises(SystemExit):
        program.main(["aggregate", "--help"])
    assert "standard input" not in capsys.readouterr().out
    copy = store / "copy.jsonl"  # records that lie in a store's folder can be added to it
    copy.write_bytes((sides / "a" / "n000.jsonl").read_bytes())
    assert aggregate(store, into=other) == 0
    copy.unlink()


def test_validate_asks_for_records(sides: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before it reads any file."""
    store = sides / "a.store"
    for paths in ([store], [sides / "a", store]):
        assert program.main(["validate", *map(str, paths)]) == 2
        out, err = capsys.readouterr()
        assert f"{store}: a store has no lines to validate: give the records" in err
        assert err.count("\n") == 1 and not out


def test_a_clock_beyond_times_in_ns(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """From the year 2262 on they do not fit into 64 bits. Each command shows these runs, or names
    what it leaves out."""

    def both(*words: object) -> tuple[str, str]:
        assert program.main([*map(str, words)]) == (words[0] == "history")
        out, err = capsys.readouterr()
        return out, err

    folder, store, last = tmp_path / "results", tmp_path / "store", tmp_path / "last.store"
    folder.mkdir()
    for day in range(1, 14):
        file = run_of(folder, "n1", day, 1.2 if day > 7 else 1)
        file.write_text(file.read_text().replace('"started": "20', '"started": "99', 1))
    both("aggregate", folder, "--into", store)
    both("aggregate", file, "--into", last)
    for given in (folder, store):
        out, err = both("history", "n1", given)
        assert "between 9925-03-07 12:00 and 9925-03-08 12:00" in out and not err
    for given in (file, last):
        for words in ("summary", "levels", "export --format openmetrics", "export --expect"):
            assert "99" in both(*words.split(), given)[0]
        page = tmp_path / "page.html"
        both("report", "--force", "--output", page, given)
        assert "9925-03-13" in page.read_text()
        err = both("export", "--format", "influx", given)[1]
        assert "its run of 9925-03-13" in err
