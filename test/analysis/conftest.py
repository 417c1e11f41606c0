# SPDX-License-Identifier: Apache-2.0
"""Checks each picture that a test makes against the schema of Vega-Lite: the report itself does
not."""

from __future__ import annotations

import copy
import functools
import hashlib
import importlib.util
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any, Optional
from urllib.parse import quote

import pytest
from jsonschema_rs import Draft7Validator
from lacking import lacking
from locus_analysis.base.processes import Processes
from locus_analysis.compare import observations
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


def content_of(path: Path) -> Optional[tuple[bytes, ...]]:
    """A digest of each record there; None if there is anything else, such as a store or a pipe."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    if not all(file.is_file() and file.suffix == ".jsonl" for file in files):
        return None
    names = [str(file.relative_to(path)).encode() for file in files]
    return tuple(
        hashlib.sha256(name + b"\0" + file.read_bytes()).digest()
        for name, file in zip(names, files)
    )


@pytest.fixture(scope="module", autouse=True)
def sides_are_read_once(request: pytest.FixtureRequest) -> Iterator[None]:
    """Many tests compare the same records, with one option after another: they are read once, by
    what they hold, as paths differ. Each test has a copy, with its own paths. Not where the reader
    itself has faults."""
    kept: dict[Any, tuple[list[str], observations.Side, list[str]]] = {}
    load = observations.load

    def once(
        paths: Sequence[Path], name: str, bare: bool = False
    ) -> tuple[observations.Side, list[str]]:
        contents = [content_of(path) for path in paths]
        if None in contents:
            return load(paths, name, bare)
        key = (database.LARGE, *contents)
        own = [*map(str, paths)]
        if key not in kept:
            kept[key] = (own, *load(paths, name, bare))
        old, side, notes = kept[key]
        if not side.trials and not bare:
            return load(paths, name)

        def renamed(text: str) -> str:
            return functools.reduce(lambda t, pair: t.replace(*pair), zip(old, own), text)

        made = copy.deepcopy(replace(side, name=name))
        for run in made.runs:
            run["file"] = renamed(run["file"])
        return made, [renamed(note) for note in notes]

    with pytest.MonkeyPatch.context() as patch:
        if request.module.__name__ != "test_streams":
            patch.setattr(observations, "load", once)
        yield


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
