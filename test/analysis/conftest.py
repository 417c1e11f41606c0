# SPDX-License-Identifier: Apache-2.0
"""Checks each picture that a test makes against the schema of Vega-Lite: the report itself does
not."""

from __future__ import annotations

import functools
import importlib.util
import json
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from jsonschema_rs import Draft7Validator
from lacking import lacking
from locus_analysis.base.processes import Processes
from locus_analysis.pictures import draw
from locus_analysis.pictures.charts import Picture
from locus_analysis.records import database


def quoted(schema: Any) -> Any:
    """A schema with percent-encoded references, which the standard requires and Vega-Lite lacks."""
    if isinstance(schema, dict):
        return {
            key: quote(value, "#/") if key == "$ref" else quoted(value)
            for key, value in schema.items()
        }
    return [quoted(item) for item in schema] if isinstance(schema, list) else schema


@functools.cache
def vega_lite() -> Draft7Validator:
    """Taken from Altair's files: importing Altair takes longer than most test files."""
    altair = importlib.util.find_spec("altair")
    if not altair or not altair.origin:
        lacking("altair", "python -m pip install -r analysis/requirements-dev.txt")
    (file,) = Path(altair.origin).parent.glob("vegalite/v*/schema/vega-lite-schema.json")
    return Draft7Validator(quoted(json.loads(file.read_text(encoding="utf-8"))))


@pytest.fixture(scope="module", autouse=True)
def pictures_are_drawn_once(request: pytest.FixtureRequest) -> Iterator[None]:
    """Many tests make the page of one record, with the same pictures: they are drawn only for the
    first of them, except where drawing itself is tested."""
    drawn: dict[tuple[Any, ...], Future[Any]] = {}
    call = Processes.call

    def once(processes: Processes, function: str, *arguments: Any) -> Future[Any]:
        key = (function, *(a if isinstance(a, Future) else repr(a) for a in arguments))
        if key not in drawn or drawn[key].cancelled():
            drawn[key] = call(processes, function, *arguments)
        return drawn[key]

    with pytest.MonkeyPatch.context() as patch:
        if request.module.__name__ != "test_processes":
            patch.setattr(Processes, "call", once)
        yield


@pytest.fixture(scope="module", autouse=True)
def databases_end_with_their_file() -> Iterator[None]:
    """Several files share a process, which would keep the last 64 databases in memory."""
    yield
    database._measured.cache_clear()


@pytest.fixture(scope="session", autouse=True)
def pngs_are_small() -> Iterator[None]:
    """All pictures are drawn, but with few pixels, to save time: only test_report looks at their
    size. For the whole session, since fixtures of modules also make pages."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(draw, "SCALE", 0.2)
        yield


@pytest.fixture(scope="session", autouse=True)
def pictures_are_valid() -> Iterator[None]:
    make = Picture.__init__

    def made(picture: Picture, *arguments: Any, **named: Any) -> None:
        make(picture, *arguments, **named)
        if not vega_lite().is_valid(picture.spec):
            altair = importlib.import_module("altair")

            root: Any = altair.Root  # Altair has no types for it
            root(picture.spec).to_dict()  # Altair's error is the clearest
            flaw = next(vega_lite().iter_errors(picture.spec))
            raise AssertionError(f"{picture.name} is not valid: {flaw}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Picture, "__init__", made)
        patch.setattr(draw, "MOST", 1)  # a second process takes half a second to start
        yield
