# SPDX-License-Identifier: Apache-2.0
"""A point for each CPU: its time of the same work over the median CPU's. Those that stand out have
their number beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from ..records.description import in_words
from ..records.rows import Trial
from . import vega_lite as vl
from .charts import Data, Drawing, Picture, joined, picture
from .colours import ALARM, INK, SOFT, TINTS
from .vega_lite import Row

LEAST = 3  # CPUs: of two none differs from the median more than the other
PANEL, HEIGHT = 700, 100  # pixels
HELP = (
    "Each point is a CPU: its time of the fixed work over that of the median CPU. Above the line is"
    " slower. CPUs that stand out are red, with their number."
)


class OfTrial(NamedTuple):
    trial: Trial
    ratios: Mapping[int, float]  # by CPU, to the median
    outlying: Set[int]


def pictures(found: Sequence[OfTrial], name: str, title: str) -> list[Picture]:
    """One, with a panel for each trial."""
    own = [each for each in found if len(each.ratios) >= LEAST]
    if not own:
        return []
    data = Data()
    panels: list[Drawing] = [_panel(each, data, _ends(own)) for each in own]
    rows = [each.trial for each in own]
    return [picture(name, f"{title}: each CPU beside the median", HELP, rows, panels, data)]


def _ends(own: Sequence[OfTrial]) -> list[float]:
    """Of all panels, so that they can be compared."""
    every = [r for each in own for r in each.ratios.values()]
    return [min(0.98, *every) - 0.01, max(1.02, *every) + 0.01]


def _panel(each: OfTrial, data: Data, ends: list[float]) -> Drawing:
    rows: list[Row] = [
        {"cpu": cpu, "ratio": ratio, "odd": cpu in each.outlying, "name": f"CPU {cpu}"}
        for cpu, ratio in sorted(each.ratios.items())
    ]
    base = data.chart(rows)
    x = vl.quantitative(
        "cpu", title="CPU", axis={"tickMinStep": 1, "grid": False}, scale=_all(rows)
    )
    y = vl.quantitative("ratio", title="time / median", scale={"domain": ends, "zero": False})
    colour = vl.value(TINTS[0], condition=[{"test": vl.holds("odd"), "value": ALARM}])
    tooltip = [vl.nominal("name"), vl.quantitative("ratio", format=".4f", title="time / median")]
    odd = base.where(vl.holds("odd"))
    return joined(
        "layer",
        base.mark("rule", color=SOFT, strokeDash=[4, 3]).encode(y=vl.datum(1)),
        base.mark("point", filled=True, size=36, opacity=0.9).encode(
            x=x, y=y, color=colour, tooltip=tooltip
        ),
        odd.mark("text", dx=9, align="left", fontSize=11, color=ALARM).encode(
            x=x, y=y, text=vl.nominal("name")
        ),
        width=PANEL,
        height=HEIGHT,
        title={"text": in_words(each.trial), "fontSize": 12, "fontWeight": "normal", "color": INK},
    )


def _all(rows: Sequence[Row]) -> dict[str, object]:
    cpus = [int(str(r["cpu"])) for r in rows]
    return {"domain": [min(cpus) - 1, max(cpus) + 1], "nice": False}
