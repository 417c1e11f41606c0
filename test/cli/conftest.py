# SPDX-License-Identifier: Apache-2.0
"""The built program, as a user runs it. LOCUS names it."""
import collections
import json
import os
import pathlib
import shutil
import subprocess

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
Done = collections.namedtuple("Done", "status out err")


def program() -> str:
    path = os.environ.get("LOCUS") or shutil.which("locus") or ""
    assert os.access(path, os.X_OK), "set LOCUS to the built program"
    return path


@pytest.fixture(scope="session")
def locus():
    """Runs the program: locus("numa", "--profile", "quick", env={...}, prefix=["taskset", "1"])."""

    def run(*arguments, env=None, prefix=(), timeout=60, **more):
        process = subprocess.run(
            [*prefix, program(), *map(str, arguments)], env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=timeout, **more
        )
        return Done(process.returncode, process.stdout, process.stderr)

    run.path = program()
    return run


@pytest.fixture(scope="session")
def schema():
    jsonschema = pytest.importorskip("jsonschema")
    with open(SOURCE / "doc/schema/record-1.schema.json", encoding="utf-8") as file:
        return jsonschema.Draft202012Validator(json.load(file))


@pytest.fixture(scope="session")
def read(schema):
    """Reads a record, every line of which must be whole, and as the schema says."""

    def lines(path, whole=True):
        text = pathlib.Path(path).read_text(encoding="utf-8")
        if whole:
            assert text.endswith("\n"), "the last line is not whole"
        objects = [json.loads(line) for line in text.split("\n")[:-1]]
        for number, one in enumerate(objects, 1):
            errors = [f"{path}:{number}: {list(e.path)}: {e.message[:200]}" for e in schema.iter_errors(one)]
            assert not errors, errors
        return objects

    return lines


@pytest.fixture(scope="session")
def trials(read):
    """{variant: trial line} of a record."""

    def by_variant(path):
        return {line["variant"]: line for line in read(path) if line["type"] == "trial"}

    return by_variant


@pytest.fixture(scope="session")
def cpus():
    return sorted(os.sched_getaffinity(0))
