# SPDX-License-Identifier: Apache-2.0
"""Vega-Lite as data: charts of one mark, and the channels that its columns are drawn on."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Row = Any  # not typed yet

COMPARE = {"equal": operator.eq, "lt": operator.lt, "gt": operator.gt, "gte": operator.ge}
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"


@dataclass(frozen=True)
class Chart:
    """A mark for each of some rows of a data set, which has a name. Each function returns a new
    chart, so that several may begin alike."""

    data: str
    rows: Sequence[Row]
    transforms: tuple[Row, ...] = ()
    drawn: Row = dataclasses.field(default_factory=dict)
    encoding: Row = dataclasses.field(default_factory=dict)

    def transform(self, *more: Row) -> Chart:
        return dataclasses.replace(self, transforms=(*self.transforms, *more))

    def where(self, *tests: Row) -> Chart:
        """Only rows that pass all tests, which are predicates of Vega-Lite. No column has NaN, and
        one that is compared has no null, which is 0 to Vega."""
        rows = [row for row in self.rows if all(_passes(row, test) for test in tests)]
        chart = self.transform(*({"filter": test} for test in tests))
        return dataclasses.replace(chart, rows=rows)

    def mark(self, kind: str, **how: Any) -> Chart:
        return dataclasses.replace(self, drawn={"type": kind, **how})

    def encode(self, **channels: Any) -> Chart:
        return dataclasses.replace(self, encoding={**self.encoding, **channels})

    @property
    def spec(self) -> Row:
        found: Row = {"data": {"name": self.data}, "mark": self.drawn, "encoding": self.encoding}
        return {**found, "transform": list(self.transforms)} if self.transforms else found


def _passes(row: Row, test: Row) -> bool:
    if "not" in test:
        return not _passes(row, test["not"])
    value = row[test["field"]]
    if "valid" in test:
        return value is not None
    return value is not None and all(by(value, test[k]) for k, by in COMPARE.items() if k in test)


def known(column: str) -> Row:
    return {"field": column, "valid": True}


def unknown(column: str) -> Row:
    return {"not": known(column)}


def holds(column: str) -> Row:
    return {"field": column, "equal": True}


def quantitative(column: str, **more: Any) -> Row:
    return {"field": column, "type": "quantitative", **more}


def ordinal(column: str, **more: Any) -> Row:
    return {"field": column, "type": "ordinal", **more}


def nominal(column: str, **more: Any) -> Row:
    return {"field": column, "type": "nominal", **more}


def end(column: str) -> Row:
    """The second end of a mark, on the scale of the first."""
    return {"field": column}


def value(given: Any, **more: Any) -> Row:
    """The same for all marks: pixels, or a colour."""
    return {"value": given, **more}


def datum(given: Any) -> Row:
    """A place on the data's scale."""
    return {"datum": given}
