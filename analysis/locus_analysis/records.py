# SPDX-License-Identifier: Apache-2.0
"""Reads records (JSON Lines, see doc/schema/README.md), refuses what is not one in a sentence,
and makes tables of the rest."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, cast

import duckdb
from jsonschema_rs import Draft202012Validator, ValidationError

HERE = Path(__file__).resolve().parent
SCHEMA, SCHEMA_FILE = "locus-record-1", "record-1.schema.json"
LONGEST = (
    1 << 26
)  # bytes of a line: beyond what 10,000 samples in full precision need, and still no burden

Line = dict[str, Any]


class BadInput(Exception):
    """What was given is not a record that we can read; the text says which, where and why."""


class CannotWrite(Exception):
    """The text says what, and why."""


@dataclass
class Records:
    """Lines of one or several files, in order, with what a reader of them should know."""

    lines: list[tuple[str, int, Line]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    counted: list[Any] = field(
        default_factory=list
    )  # likwid.Counted: tables given beside the records


def read(paths: Sequence[Path]) -> Records:
    """All lines of the files, each held against the schema. A run that is in two files is taken
    from the first."""
    records = Records()
    home: dict[str, Path] = {}
    for path in paths:
        elsewhere = set()
        for number, line in _lines(path, records.notes):
            first = (
                home.setdefault(line["run"], path)
                if line["type"] == "header"
                else home.get(line["run"])
            )
            if first is None:
                raise BadInput(f"{path}:{number}: run {line['run']} has no header before this line")
            if first == path:
                records.lines.append((str(path), number, line))
            elif line["run"] not in elsewhere:
                elsewhere.add(line["run"])
                records.notes.append(
                    f"{path}: run {line['run']} is in {first} already, and was taken from there"
                )
    return records


def tables(records: Records) -> duckdb.DuckDBPyConnection:
    """The records as tables (tables.sql)."""
    db = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    db.execute(
        "CREATE TABLE line (file VARCHAR, number INTEGER, run VARCHAR, type VARCHAR, json JSON)"
    )
    if records.lines:
        given = [
            (file, number, line["run"], line["type"], json.dumps(line))
            for file, number, line in records.lines
        ]
        # By columns, since a statement for each line takes 40 times as long.
        db.execute(
            f"INSERT INTO line SELECT {', '.join(['unnest(?)'] * 5)}",
            [list(column) for column in zip(*given)],
        )
    db.execute((HERE / "tables.sql").read_text(encoding="utf-8"))
    return db


def rows(db: duckdb.DuckDBPyConnection, sql: str, *values: Any) -> list[dict[str, Any]]:
    """What a query yields, a dictionary a row."""
    cursor = db.execute(sql, list(values))
    names = [column[0] for column in cursor.description or []]
    return [dict(zip(names, row)) for row in cursor.fetchall()]


def told(db: duckdb.DuckDBPyConnection, benchmark: str) -> list[dict[str, Any]]:
    """Its trials: `metrics` and `parameters` by name; `value`, `low` and `high` are of the time."""
    found = rows(db, "FROM told WHERE benchmark = ? ORDER BY place", benchmark)
    for row in found:
        for key in ("metrics", "parameters", "ratios", "pairs"):
            row[key] = json.loads(row[key] or "null")
        row.update(row["metrics"]["time"])
        row["ratios"] = row["ratios"] or []
    return found


# What a trial can have become, from the best to the gravest.
STATUSES = (
    "ok",
    "unconverged",
    "noisy",
    "interrupted",
    "misplaced",
    "wrong",
    "failed",
    "impossible",
)


def is_sound(trial: Line) -> bool:
    """Whether its interval can be trusted, however wide it is: others' noise may have moved all
    of it."""
    return trial["status"] in ("ok", "unconverged")


def graver(one: Line, other: Line) -> Line:
    """`flag` and `status` of what is said of both."""
    worse = max(one, other, key=lambda t: STATUSES.index(t["status"]))
    return {"flag": worse["flag"], "status": worse["status"]}


def machines(db: duckdb.DuckDBPyConnection) -> dict[str, Line]:
    """What the header of each run says of its machine."""
    return {
        r["run"]: json.loads(r["machine"])
        for r in rows(db, "SELECT run, header->'$.machine' AS machine FROM run ORDER BY ordinal")
    }


def _lines(path: Path, notes: list[str]) -> Iterator[tuple[int, Line]]:
    validator = _validator()
    number = 0
    try:
        with path.open("rb") as file:
            for number, text in enumerate(iter(lambda: file.readline(LONGEST), b""), 1):
                if not text.endswith(b"\n"):
                    if len(text) == LONGEST:
                        raise BadInput(
                            f"{path}:{number}: longer than {LONGEST >> 20} MiB: not a line of a"
                            " record"
                        )
                    notes.append(f"{path}:{number}: the last line was cut off, and is left out")
                    if number == 1:
                        raise BadInput(
                            f"{path}: holds no whole line: its run was cut off at once, or it is no"
                            " record"
                        )
                    return
                yield number, _parse(f"{path}:{number}", text, validator)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from error
    if number == 0:
        raise BadInput(f"{path}: is empty: the run that should have written it did not start")


def _parse(where: str, text: bytes, validator: Draft202012Validator) -> Line:
    try:
        line = json.loads(text.decode("utf-8"), parse_constant=_no_constant)
        json.dumps(line, ensure_ascii=False, allow_nan=False).encode(
            "utf-8"
        )  # halves of surrogates, 1e999
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{where}: is not JSON: {error}") from error
    schema = line.get("schema", SCHEMA) if isinstance(line, dict) else SCHEMA
    if schema != SCHEMA:
        raise BadInput(
            f"{where}: a record of schema {schema!r:.60}, this program reads {SCHEMA!r}: use the"
            " locus that wrote it"
        )
    try:
        flaw = next(validator.iter_errors(line), None)
    except (
        ValueError
    ) as error:  # older ones: an integer of more than 64 bits; all: what is too deep
        raise BadInput(f"{where}: is not a line of a record: $: {error}") from error
    if flaw:
        raise BadInput(f"{where}: is not a line of a record: {_flaw(flaw)}")
    return cast(Line, line)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _flaw(flaw: ValidationError) -> str:
    """Where, and what: in one line, whatever keys the input has."""
    path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in flaw.instance_path)
    text = f"${path:.200}: {flaw.message:.200}"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def _validator() -> Draft202012Validator:
    top = HERE.parents[1]
    installed, source = top / "schema" / SCHEMA_FILE, top / "doc" / "schema" / SCHEMA_FILE
    return Draft202012Validator(
        json.loads((installed if installed.exists() else source).read_text(encoding="utf-8"))
    )
