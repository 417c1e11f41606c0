# SPDX-License-Identifier: Apache-2.0
"""What steps.py finds in a curve of latency. Apart from it, since it loads numpy, which records
without such a curve do not need."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Optional

Text = Callable[[float], str]  # what is said of a size
LONG_RAMP = 1.6  # octaves: an edge is softer than a jump, but not softer than that


@dataclass
class Plateau:
    first: float  # sizes, in bytes
    last: float
    time: float  # s: the median of its points
    low: float  # the quartiles of its points
    high: float
    points: int
    to_end: bool = False  # the curve ends before the plateau does


@dataclass
class Edge:
    """Between two plateaus, or from a plateau to a ramp that ends in none."""

    size: float  # the largest that still belongs to the lower plateau
    low: float  # surely still the lower plateau
    high: float  # surely above it
    settled: Optional[float]  # where the next plateau begins; None: none is reached
    below: int  # index of the plateau below; that above, if any, is the next one

    @property
    def octaves(self) -> float:
        """The width of the rise."""
        return math.log2((self.settled or self.high) / self.size)


@dataclass
class Steps:
    plateaus: list[Plateau] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)  # what it could not tell, and why
    noise: Optional[float] = None  # relative: how far a point is off its neighbours
    outliers: list[float] = field(default_factory=list)  # sizes of points that were set aside
    begins_on_ramp: bool = False  # so the first plateau found need not be the first there is
    ends_on_ramp: bool = False  # so the last plateau found is not the last there is
