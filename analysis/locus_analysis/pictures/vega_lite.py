# SPDX-License-Identifier: Apache-2.0
"""Vega-Lite as data: charts of one mark, and the channels that its columns are drawn on."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

Row = Mapping[str, object]  # of a data set
Spec = dict[str, object]  # a part of Vega-Lite
_Not = TypedDict("_Not", {"not": "Test"}, total=False)


class Test(_Not, total=False):
    """A predicate of Vega-Lite: a column, and what it is compared with; or `not` and another."""

    field: str
    valid: bool
    equal: float
    lt: float
    gt: float
    gte: float


COMPARE: dict[str, Callable[[float, float], bool]] = {
    "equal": operator.eq,
    "lt": operator.lt,
    "gt": operator.gt,
    "gte": operator.ge,
}
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"


@dataclass(frozen=True)
class Chart:
    """A mark for each of some rows of a data set, which has a name. Each function returns a new
    chart, so that several may begin alike."""

    data: str
    rows: Sequence[Row]
    transforms: tuple[Spec, ...] = ()
    drawn: Spec = dataclasses.field(default_factory=dict)
    encoding: Spec = dataclasses.field(default_factory=dict)

    def transform(self, *more: Spec) -> Chart:
        return dataclasses.replace(self, transforms=(*self.transforms, *more))

    def where(self, *tests: Test) -> Chart:
        """Only rows that pass all tests, which are predicates of Vega-Lite. No column has NaN, and
        one that is compared has no null, which is 0 to Vega."""
        rows = [row for row in self.rows if all(_passes(row, test) for test in tests)]
        filters: list[Spec] = [{"filter": test} for test in tests]
        chart = self.transform(*filters)
        return dataclasses.replace(chart, rows=rows)

    def mark(self, kind: str, /, **how: object) -> Chart:
        return dataclasses.replace(self, drawn={"type": kind, **how})

    def encode(self, **channels: object) -> Chart:
        return dataclasses.replace(self, encoding={**self.encoding, **channels})

    @property
    def spec(self) -> Spec:
        found: Spec = {"data": {"name": self.data}, "mark": self.drawn, "encoding": self.encoding}
        return {**found, "transform": list(self.transforms)} if self.transforms else found


def _passes(row: Row, test: Test) -> bool:
    if "not" in test:
        return not _passes(row, test["not"])
    value = row[test["field"]]
    if "valid" in test:
        return value is not None
    limits = [(COMPARE[k], v) for k, v in test.items() if isinstance(v, (int, float))]
    return isinstance(value, (int, float)) and all(by(value, limit) for by, limit in limits)


def known(column: str) -> Test:
    return {"field": column, "valid": True}


def unknown(column: str) -> Test:
    return {"not": known(column)}


def holds(column: str) -> Test:
    return {"field": column, "equal": True}


def quantitative(column: str, **more: object) -> Spec:
    return {"field": column, "type": "quantitative", **more}


def ordinal(column: str, **more: object) -> Spec:
    return {"field": column, "type": "ordinal", **more}


def nominal(column: str, **more: object) -> Spec:
    return {"field": column, "type": "nominal", **more}


def end(column: str) -> Spec:
    """The second end of a mark, on the scale of the first."""
    return {"field": column}


def value(given: object, **more: object) -> Spec:
    """The same for all marks: pixels, or a colour."""
    return {"value": given, **more}


def datum(given: object) -> Spec:
    """A place on the data's scale."""
    return {"datum": given}
