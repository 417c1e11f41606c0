# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin: records, read and held against the schema."""

import json
import pathlib

import pytest
from lacking import lacking

SCHEMA = pathlib.Path(__file__).resolve().parents[1] / "doc/schema/record-1.schema.json"


@pytest.fixture(scope="session")
def schema():
    try:
        import jsonschema_rs
    except ImportError:
        lacking("jsonschema-rs", "python -m pip install -r analysis/requirements.txt")
    return jsonschema_rs.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


@pytest.fixture(scope="session")
def read(schema):
    """Reads a record, every line of which must be whole, and as the schema says."""

    def lines(path, whole=True):
        text = pathlib.Path(path).read_text(encoding="utf-8")
        if whole:
            assert text.endswith("\n"), "the last line is not whole"
        objects = [json.loads(line) for line in text.split("\n")[:-1]]
        for number, one in enumerate(objects, 1):
            errors = [
                f"{path}:{number}: {e.instance_path}: {e.message[:200]}"
                for e in schema.iter_errors(one)
            ]
            assert not errors, errors
        return objects

    return lines
