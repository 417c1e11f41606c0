# SPDX-License-Identifier: Apache-2.0
"""The format of records, as in doc/schema: what a line may hold, and what is wrong with one.
Readers ignore unknown keys and types of lines, which a later minor version may add; validation
refuses them."""

from __future__ import annotations

import json
import re
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, Optional, cast

from jsonschema_rs import Draft202012Validator, ValidationError

HERE = Path(__file__).resolve().parent
SCHEMA, SCHEMA_FILE = "locus-record-1", "record-1.schema.json"
VERSION = re.compile(r"(locus-record-[0-9]+)\.[0-9]+")

# Python reads what other readers refuse: lone surrogates, and numbers beyond a double. To look
# again takes as long as parsing the line, so it is done only where something is similar: `\ud`, an
# exponent of three digits, or 16 digits of a whole number. In ALIKE all digits are 0, and what may
# stand before a number is a colon.
ALIKE = bytes.maketrans(b"DE123456789,[ \t\r\n", b"de000000000::::::")
LARGE = re.compile(rb"0e000+[:}\]]")
# Numbers are within what all readers hold exactly, and can compute with.
MOST_INTEGER = 1 << 53
LEAST, MOST = 1e-99, 1e99
NUMBERS = ("count", "size", "real", "node", "found")  # types of parameters; others are texts
HEADER = re.compile(rb'\{"type": ?"header", ?"run": ?"([0-9a-f]{16})"')

Line = dict[str, Any]


class Flaw(Exception):
    """What is wrong with a line."""


@cache
def types() -> frozenset[str]:
    """The types of lines."""
    return frozenset(_document()["properties"]["type"]["enum"])


def parse(text: bytes) -> object:
    """The line's value, whatever it is."""
    try:
        value: object = _decoder().decode(text.decode("utf-8"))
        if _is_doubtful(text.translate(ALIKE, b"+-")):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
            json.loads(text, parse_int=_integer, parse_float=_real)
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])[1:-1]
        raise Flaw(f"{half} in a text is half of a character (a lone surrogate)") from error
    except (ValueError, RecursionError) as error:
        raise Flaw(f"is not JSON: {_why(error)}") from error
    return value


@cache
def _decoder() -> json.JSONDecoder:
    return json.JSONDecoder(parse_constant=_no_constant)


def _is_doubtful(alike: bytes) -> bool:
    long = b":0000000000000000" in alike or rb"\ud" in alike
    return long or (b"0e000" in alike and bool(LARGE.search(alike)))


def _why(error: Exception) -> str:
    """Python's words name a line of its own, which is always the first, and its functions."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start + 1} of the line is not UTF-8"
    if isinstance(error, json.JSONDecodeError):
        return _printable(f"{error.msg} at character {error.pos + 1} of the line")
    return _printable(str(error))


def header_of(text: bytes) -> Optional[str]:
    """The run of a line that looks like a header, valid or not: else each line of the run would be
    reported to lack one."""
    found = HEADER.match(text)
    return found[1].decode() if found else None


def check(line: object, strict: bool) -> Line:
    """Returns the line of a record; raises Flaw if it is none. With `strict` every key must be
    known."""
    schema = line.get("schema", SCHEMA + ".0") if isinstance(line, dict) else SCHEMA + ".0"
    version = VERSION.fullmatch(schema) if isinstance(schema, str) else None
    if not version or version[1] != SCHEMA:
        raise Flaw(
            f"a record of schema {schema!r:.60}, this program reads {SCHEMA!r}: use the locus that"
            " wrote it"
        )
    validator = _strict() if strict else _tolerant()
    try:
        valid = validator.is_valid(line)  # the quicker question
        flaw = None if valid else next(validator.iter_errors(line), None)
    except (
        ValueError
    ) as error:  # older ones: an integer of more than 64 bits; all: what is too deep
        raise Flaw(f"is not a line of a record: $: {error}") from error
    if flaw:
        raise Flaw(f"is not a line of a record: {_where_and_what(flaw)}")
    return cast("Line", line)


def definition(kind: str) -> Line:
    """What the format says of lines of this type."""
    return resolved({"$ref": f"#/$defs/{kind}"})


def resolved(form: Line) -> Line:
    """A part of the format without its references; of alternatives, the one that is not null."""
    while True:
        if "$ref" in form:
            form = cast("Line", _document()["$defs"][form["$ref"].rpartition("/")[2]])
        elif "oneOf" in form and "properties" not in form:
            form = {**form["oneOf"][-1], "nullable": True}
        else:
            return form


def may_be_null(form: Line) -> bool:
    """Whether null is valid for this part of the format, as resolved() returned it."""
    return (
        bool(form.get("nullable")) or "null" in form.get("type", ()) or None in form.get("enum", ())
    )


class Declared:
    """What earlier lines of a run say of later ones: which benchmarks it has, and which of their
    parameters are numbers."""

    def __init__(self) -> None:
        self._numbers: dict[str, dict[str, dict[str, bool]]] = {}  # by run and benchmark

    def check(self, line: Line) -> None:
        """To be called for each line of a file, in order. Raises Flaw."""
        run = line["run"]
        if line["type"] == "header":
            self._numbers[run] = {}
        elif line["type"] == "benchmark":
            self._numbers.setdefault(run, {})[line["name"]] = {
                p["name"]: p["type"] in NUMBERS for p in line["parameters"]
            }
        elif line["type"] == "trial":
            numbers = self._numbers.get(run, {}).get(line["benchmark"], {})
            for name, value in line.get("parameters", {}).items():
                if numbers.get(name, not isinstance(value, str)) == isinstance(value, str):
                    kind = "number" if numbers[name] else "text"
                    where = f"$.parameters.{name}: {json.dumps(value):.60}"
                    raise Flaw(_printable(f"is not a line of a record: {where} is no {kind}"))

    def describe(self, line: Line) -> bool:
        """Whether its benchmark is described, if the line is a trial."""
        return line["type"] != "trial" or line["benchmark"] in self._numbers.get(line["run"], {})


@cache
def _document() -> Line:
    document: Line = json.loads((HERE / SCHEMA_FILE).read_text(encoding="utf-8"))
    return document


@cache
def _strict() -> Draft202012Validator:
    return _validator(_document())


@cache
def _tolerant() -> Draft202012Validator:
    """Accepts a later minor version, too."""
    document = cast("Line", _loosened(_document()))
    del document["$defs"]["header"]["properties"]["schema"]  # check() looks at it
    return _validator(document)


def _validator(document: Line) -> Draft202012Validator:
    formats = {"date-time": _is_moment}
    return Draft202012Validator(document, validate_formats=True, formats=formats)


def _is_moment(text: str) -> bool:
    """Whether a text of the right form (`moment`) is a time that there is."""
    try:
        datetime.fromisoformat(text.removesuffix("Z"))
    except ValueError:
        return False
    return True


def _loosened(part: object) -> object:
    if isinstance(part, dict):
        return {
            key: _loosened(value)
            for key, value in part.items()
            if (key, value) != ("additionalProperties", False)
        }
    return [_loosened(item) for item in part] if isinstance(part, list) else part


def _integer(text: str) -> int:
    if len(text) > 20 or abs(int(text)) > MOST_INTEGER:
        raise Flaw(f"is not a line of a record: {text:.30} is beyond 2^53")
    return int(text)


def _real(text: str) -> float:
    value = float(text)
    if value and not LEAST <= abs(value) <= MOST:
        raise Flaw(f"is not a line of a record: {text:.30} is not between 1e-99 and 1e99")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _where_and_what(flaw: ValidationError) -> str:
    """On one line, whatever keys the input has."""
    path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in flaw.instance_path)
    return _printable(f"${path:.200}: {flaw.message:.200}")


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
