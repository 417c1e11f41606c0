# SPDX-License-Identifier: Apache-2.0
"""How long dummy takes on a made-up machine."""

from __future__ import annotations

from ..trials import Point


def dummy() -> list[Point]:
    return [
        Point(
            "dummy",
            variant,
            {"delay": delay, "noise": noise},
            threads,
            seconds=delay * threads,
            unit="call",
            bind="close",
        )
        for variant in ("fixed", "random")
        for delay in (0.001, 0.002)
        for noise in (0, 0.5)
        for threads in (1, 2)
    ]
