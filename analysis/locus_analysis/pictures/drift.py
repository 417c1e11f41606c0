# SPDX-License-Identifier: Apache-2.0
"""Drift: the time of samples over the run, relative to the median of each trial."""

from __future__ import annotations

from collections.abc import Sequence

from ..base import units
from ..records.rows import Mark
from . import vega_lite as vl
from .charts import FLAGGED, GOOD, Data, Picture, joined, picture
from .colours import BLUE, INK, PAPER, RANGE

HELP = (
    "Each mark is the median of neighbouring samples of one trial, its grey line their range. Marks"
    " on one level mean a steady machine. Strokes at the foot: samples with evidence of noise."
    " ▴: the range goes on above the frame."
)
TOP = 1.5


def drift(marks: Sequence[Mark], name: str, title: str) -> Picture:
    least = max(0.5, min([0.9, *(m["least"] for m in marks if m["least"] is not None)]))
    rows = [
        {
            "moment": m["moment"],
            "ratio": m["ratio"],
            "least": m["least"],
            "greatest": m["greatest"],
            "n": m["n"],
            "noisy": m["noisy"],
            "flag": m["flag"],
            "status": m["status"],
            "trial": (
                f"{m['benchmark']} {m['variant']} {m['setting']}"
                if m["benchmark"]
                else "a trial that was not finished"
            ),
            "beyond": m["greatest"] is not None and m["greatest"] > TOP,
        }
        for m in marks
    ]
    x = vl.quantitative(
        "moment",
        title="time since the start of the run (s)",
        scale={"zero": False, "nice": False, "padding": 8},
        axis={"tickCount": 10, "labelOverlap": True},
    )
    scale = {"domain": [least, TOP], "clamp": True, "nice": False}
    axis = {"title": "time / median of its trial", "format": ".2f", "tickCount": 6}
    ratio = vl.quantitative("ratio", scale=scale, axis=axis)
    told = [vl.nominal(key) for key in ("trial", "status")]
    told += [
        vl.quantitative(key, format=".3f", title=key if key != "ratio" else "median")
        for key in ("ratio", "least", "greatest")
    ]
    told += [vl.quantitative("n", title="samples"), vl.quantitative("noisy", title="noisy samples")]
    data = Data()
    base = data.chart(rows).encode(x=x, tooltip=told)
    at_foot, at_top = vl.datum(least), vl.datum(TOP)
    chart = joined(
        "layer",
        base.mark("rule", color=RANGE).encode(
            y=vl.quantitative("least", scale=scale, axis=axis), y2=vl.end("greatest")
        ),
        base.where(GOOD).mark("point", filled=True, size=16, color=BLUE, opacity=1).encode(y=ratio),
        base.where(FLAGGED)
        .mark("point", size=20, stroke=BLUE, fill=PAPER, opacity=1)
        .encode(y=ratio),
        base.where({"field": "noisy", "gt": 0})
        .mark("tick", color=INK, thickness=1, size=9, orient="vertical", yOffset=-5)
        .encode(y=at_foot),
        base.where(vl.holds("beyond"))
        .mark("point", shape="triangle-up", filled=True, size=24, color=INK, opacity=1, yOffset=5)
        .encode(y=at_top),
        width=760,
        height=170,
    )
    flagged = len({m["flag"] for m in marks if m["flag"] is not None})
    named = f"Hollow: samples of {units.several(flagged, 'flagged trial')}."
    return picture(name, title, HELP, [], [chart], data, [named] if flagged else [])
