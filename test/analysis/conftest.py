# SPDX-License-Identifier: Apache-2.0
"""Each picture that a test makes is checked against the schema of Vega-Lite: the report itself
does not check it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import altair as alt
import pytest
from jsonschema_rs import Draft7Validator
from locus_analysis import draw
from locus_analysis.charts import Picture


def quoted(schema: Any) -> Any:
    """A schema with percent-encoded references, as the standard wants; Vega-Lite's are not."""
    if isinstance(schema, dict):
        return {
            key: quote(value, "#/") if key == "$ref" else quoted(value)
            for key, value in schema.items()
        }
    return [quoted(item) for item in schema] if isinstance(schema, list) else schema


@pytest.fixture(autouse=True)
def pngs_are_small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """All are drawn, but with few pixels, to save time: only test_report looks at their size."""
    if request.module.__name__ != "test_report":
        monkeypatch.setattr(draw, "SCALE", 0.2)


@pytest.fixture(scope="session", autouse=True)
def pictures_are_valid() -> Iterator[None]:
    validator, make = Draft7Validator(quoted(alt.load_schema())), Picture.__init__
    root: Any = alt.Root  # altair gives it no types

    def made(picture: Picture, *arguments: Any, **named: Any) -> None:
        make(picture, *arguments, **named)
        if not validator.is_valid(picture.spec):
            root(picture.spec).to_dict()  # its error is the clearest
            raise AssertionError(
                f"{picture.name} is not valid: {next(validator.iter_errors(picture.spec))}"
            )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Picture, "__init__", made)
        yield
