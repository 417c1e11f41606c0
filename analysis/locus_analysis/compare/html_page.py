# SPDX-License-Identifier: Apache-2.0
"""A comparison as one page: the table, and for each benchmark a picture of all runs before and
after."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

import jinja2
import markupsafe
import numpy as np

from ..base.folders import TEMPLATES
from ..pictures import charts, colours, draw
from ..pictures import vega_lite as vl
from ..records.database import BadInput, CannotWrite
from . import formats
from .comparison import Compared, Comparison

WIDE, NAMES, LETTER = 420, 70, 6  # pixels of the picture; characters of a name, and their width
MOST = 40  # points of a side: of more units, so many quantiles
OLD, NEW = colours.GREY, colours.BLUE
HELP = (
    "Each row is a metric, divided by the mean of the old runs. Circles: old runs; diamonds: new"
    f" ones; of more than {MOST} their quantiles. The line: the 95 % interval of the change;"
    " dashed: the threshold."
)


def write(made: Comparison, page: Path) -> None:
    """Writes the page, whose pictures are within it; replaces none."""
    groups: dict[str, list[Compared]] = {}
    for m in made.metrics:
        groups.setdefault(m["name"].split("/")[0], []).append(m)
    pictures: list[charts.Picture] = []
    for name, own in groups.items():
        parts = [own[i : i + charts.ROWS] for i in range(0, len(own), charts.ROWS)]
        named = charts.numbered(name, f"{name} before and after", parts)
        pictures += [picture(part, file, title) for file, title, part in named]
    with draw.Drawing() as drawing:
        for one in pictures:
            drawing.begin(one)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = (TEMPLATES / "report.css").read_text(encoding="utf-8") + colours.style()
    text = environment.get_template("compare.html.j2").render(
        style=markupsafe.Markup(style),
        heading=formats.heading(made),
        titles=formats.TITLES,
        rows=[(m["verdict"], formats.cells(made, m)) for m in made.metrics],
        summary=formats.summary(made),
        pictures=[(p.title, markupsafe.Markup(p.svg)) for p in pictures],
    )
    try:
        with page.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise BadInput(f"{page}: exists; give another name with --output") from None
    except OSError as error:
        raise CannotWrite(f"{page}: cannot be written: {error.strerror}") from error


def picture(metrics: Sequence[Compared], name: str, title: str) -> charts.Picture:
    rows, points = [], []
    for i, m in enumerate(metrics):
        label = formats.label(m)
        rows.append(
            {
                "row": i,
                "label": label if len(label) <= NAMES else label[: NAMES - 1] + "…",
                **dict(zip(("low", "high"), _interval(m))),
                "least": 1 - m["threshold"],
                "most": 1 + m["threshold"],
                "said": f"{formats.percent(m['change'])} {formats.way(m)}",
            }
        )
        points += [
            {"row": i, "ratio": ratio, "side": side, "trial": label}
            for side, ratios in (("old", m["runs"][0]), ("new", m["runs"][1]))
            for ratio in _few(ratios)
        ]
    ends = [end for m in metrics for end in (*_interval(m), 1 - m["threshold"], 1 + m["threshold"])]
    ends += [ratio for m in metrics for side in m["runs"] for ratio in _few(side)]
    scale = {
        "type": "log",
        "domain": [max(0.2, 0.99 * min(ends)), min(5, 1.01 * max(ends))],
        "clamp": True,
    }
    y = vl.ordinal("row", axis=None, scale={"type": "band", "paddingInner": 0.3})
    data = charts.Data()
    line, point = data.chart(rows).encode(y=y), data.chart(points).encode(y=y)
    axis = {"title": "value / mean of the old runs", "format": "~g", "tickCount": 6}

    x = functools.partial(vl.quantitative, scale=scale, axis=axis)
    told = [vl.nominal(key) for key in ("trial", "side")]
    told.append(vl.quantitative("ratio", format=".4f"))
    layers: list[charts.Drawing] = [
        line.mark("tick", color=colours.GREY, strokeDash=[2, 2]).encode(x=x(key))
        for key in ("least", "most")
    ]
    layers.append(line.mark("rule", size=2).encode(x=x("low"), x2=vl.end("high")))
    layers.append(
        point.mark("point", filled=False, size=28, opacity=1).encode(
            x=x("ratio"),
            shape=vl.nominal(
                "side",
                scale={"domain": ["old", "new"], "range": ["circle", "diamond"]},
                legend=None,
            ),
            color=vl.nominal(
                "side", scale={"domain": ["old", "new"], "range": [OLD, NEW]}, legend=None
            ),
            tooltip=told,
        )
    )
    height = charts.ROW * len(rows)
    long = LETTER * max(len(str(row["label"])) for row in rows)
    names, said = (
        charts.spec_of(
            line.mark("text", align=align, fontSize=11, color=colours.INK).encode(
                x=vl.value(at), text=vl.nominal(key)
            ),
            width=width,
            height=height,
            view={"stroke": None},
        )
        for key, align, at, width in (("label", "right", long, long), ("said", "left", 0, 180))
    )
    middle = charts.joined("layer", *layers, width=WIDE, height=height)
    panel = charts.joined("hconcat", names, middle, said, spacing=8)
    return charts.picture(name, title, HELP, [], [panel], data)


def _interval(m: Compared) -> tuple[float, float]:
    """The interval of new over old; where it is not known, both ends are the change."""
    low, high = (m["change"] if end is None else end for end in (m["low"], m["high"]))
    return 1 + low, 1 + high


def _few(ratios: Sequence[float]) -> list[float]:
    """All of them or, of many, quantiles from the least to the greatest."""
    if len(ratios) <= MOST:
        return list(ratios)
    return [float(r) for r in np.quantile(ratios, np.linspace(0, 1, MOST))]
