# SPDX-License-Identifier: Apache-2.0
"""The types of rows and lines have exactly the keys of the tables and the schema."""

from __future__ import annotations

import json
import types
import typing
from typing import Any, Union

import duckdb
import pytest
from locus_analysis.base.folders import PACKAGE
from locus_analysis.records import database, lines, rows
from make_records import ONE, TWO, core_to_core, numa, record, run_id, write
from some import some

Json = dict[str, Any]
TABLES = {
    "run": rows.Run,
    "outcome": rows.Outcome,
    "headline": rows.Headline,
    "told": rows.Told,
    "distribution": rows.Distribution,
    "pages": rows.Pages,
    "cell": rows.Cell,
    "matrix_cell": rows.MatrixCell,
    "drift": rows.Mark,
    "counter": rows.Counter,
    "counting": rows.Counting,
    "counters_asked": rows.CountersAsked,
    "event": rows.Event,
    "peer": rows.Peer,
}
OF_SQL = {"BIGINT": int, "INTEGER": int, "DOUBLE": float, "BOOLEAN": bool, "JSON": str}


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    points = [*numa(ONE)[:2], *core_to_core(TWO)[:1]]
    file = write(tmp_path_factory.mktemp("rows") / "a.jsonl", record(TWO, points, run_id("a")))
    return database.tables(database.read([file]), page=True)


def bare(kind: Any) -> Any:
    """The type without None."""
    if typing.get_origin(kind) is not Union:
        return kind
    left = [one for one in typing.get_args(kind) if one is not type(None)]
    return left[0] if len(left) == 1 else Union[tuple(left)]


def of_sql(kind: str) -> Any:
    """The Python type of a column; None: an object or a list of them."""
    if kind.startswith("STRUCT"):
        return None
    if kind.endswith("[]"):
        inner: Any = of_sql(kind[:-2])
        return inner and types.GenericAlias(list, (inner,))
    return OF_SQL.get(kind, str)


@pytest.mark.parametrize("table", TABLES)
def test_a_row_has_the_columns_of_its_table(db: duckdb.DuckDBPyConnection, table: str) -> None:
    hints = typing.get_type_hints(TABLES[table])
    columns = {name: kind for name, kind, *_ in db.execute(f"DESCRIBE {table}").fetchall()}
    assert hints.keys() == columns.keys()
    for name, kind in some(columns.items()):
        known, wanted = bare(hints[name]), of_sql(kind)
        if typing.get_origin(known) is list:
            known = types.GenericAlias(list, (bare(typing.get_args(known)[0]),))
        assert wanted in (None, known), name


def test_a_query_with_other_columns_is_refused(db: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(AssertionError, match=r"Run: \{'file'\}"):
        database.select(db, rows.Run, "SELECT * EXCLUDE (file) FROM run")


def test_a_trial_is_a_row_of_told_parsed(db: duckdb.DuckDBPyConnection) -> None:
    keys, metric = (k.__required_keys__ for k in (rows.Trial, rows.Metric))
    for name in ("numa", "core-to-core"):
        for trial in some(database.measured(db, name)):
            assert trial.keys() == keys
            assert all(of.keys() == metric for of in some([*trial["metrics"].values()]))
    (trial,) = database.measured(db, "core-to-core")
    assert trial["pairs"]
    assert trial["pairs"].keys() == typing.get_type_hints(rows.Pairs).keys()
    assert trial["pairs"]["cells"].keys() == typing.get_type_hints(rows.Cells).keys()


SCHEMA: Json = json.loads(
    (PACKAGE / "records/record-1.schema.json").read_text(encoding="utf-8"),
)
LINES = {"header": lines.Header, "benchmark": lines.Benchmark, "pairs": lines.Pairs}
OF_JSON = {"string": str, "integer": int, "number": float, "boolean": bool}


def compare(kind: Any, schema: Json, where: str, seen: list[str]) -> None:
    """Checks that a type allows exactly what the schema does: its keys, and everything within."""
    while "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]]
    of = bare(kind)
    if not hasattr(of, "__required_keys__"):
        if typing.get_origin(of) is list:
            compare(typing.get_args(of)[0], schema["items"], f"{where}[]", seen)
        elif typing.get_origin(of) is dict:
            assert "properties" not in schema, where
        elif isinstance(of, type) and "type" in schema:
            named = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
            assert [OF_JSON[name] for name in named if name != "null"] == [of], where
            assert ("null" in named) == (of is not kind), where
        return
    seen.append(where)
    properties = schema["properties"]
    hints = typing.get_type_hints(of)
    assert hints.keys() == properties.keys() | set(schema.get("required", [])), where
    # type and run, which all lines have
    always = {name for name, value in properties.items() if value is True}
    assert of.__required_keys__ == {*schema.get("required", []), *always}, where
    for name in properties.keys() & hints.keys():
        if properties[name] is not True:
            compare(hints[name], properties[name], f"{where}.{name}", seen)


@pytest.mark.parametrize("name", LINES)
def test_a_line_has_the_keys_of_the_schema(name: str) -> None:
    seen: list[str] = []
    compare(LINES[name], SCHEMA["$defs"][name], name, seen)
    assert len(seen) > {"header": 25, "benchmark": 8, "pairs": 4}[name], seen


def test_a_region_has_the_keys_of_the_schema() -> None:
    seen: list[str] = []
    compare(lines.Region, SCHEMA["$defs"]["trial"]["properties"]["region"], "region", seen)
    assert seen == ["region"]
