# SPDX-License-Identifier: Apache-2.0
"""A comparison as one page: the table, and for each benchmark a picture of all runs before and
after."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt
import jinja2
import markupsafe

from . import charts, compare_told, draw
from .compare import Comparison
from .records import HERE, CannotWrite

Row = dict[str, Any]

WIDE, NAMES = 420, 70  # pixels of the picture; characters of a name
OLD, NEW = "#767676", "#2F6C9F"
HELP = (
    "Each row is a metric, divided by the mean of the old runs. Circles: old runs; diamonds: new"
    " ones. The line: the 95 % interval of the change; dashed: the threshold."
)


def write(made: Comparison, page: Path) -> None:
    """Writes the page, whose pictures are within it; replaces none."""
    groups: dict[str, list[Row]] = {}
    for m in made.metrics:
        groups.setdefault(m["name"].split("/")[0], []).append(m)
    pictures: list[charts.Picture] = []
    for name, own in groups.items():
        parts = [own[i : i + charts.ROWS] for i in range(0, len(own), charts.ROWS)]
        named = charts.numbered(name, f"{name} before and after", parts)
        pictures += [_picture(part, file, title) for file, title, part in named]
    with tempfile.TemporaryDirectory() as scratch:
        for picture in pictures:
            draw.draw(picture, Path(scratch))
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    text = environment.get_template("compare.html.j2").render(
        style=markupsafe.Markup((HERE / "report.css").read_text(encoding="utf-8")),
        heading=compare_told.heading(made),
        titles=compare_told.TITLES,
        rows=[(m["verdict"], compare_told.cells(made, m)) for m in made.metrics],
        summary=compare_told.summary(made),
        pictures=[(p.title, markupsafe.Markup(p.svg)) for p in pictures],
    )
    try:
        with page.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise CannotWrite(f"{page}: exists; give another name with --output") from None
    except OSError as error:
        raise CannotWrite(f"{page}: cannot be written: {error.strerror}") from error


def _picture(metrics: Sequence[Row], name: str, title: str) -> charts.Picture:
    rows, points = [], []
    for i, m in enumerate(metrics):
        label = compare_told.label(m)
        rows.append(
            {
                "row": i,
                "label": label if len(label) <= NAMES else label[: NAMES - 1] + "…",
                "low": 1 + (m["low"] if m["low"] is not None else m["change"]),
                "high": 1 + (m["high"] if m["high"] is not None else m["change"]),
                "least": 1 - m["threshold"],
                "most": 1 + m["threshold"],
                "said": f"{compare_told.percent(m['change'])} {m['verdict']}",
            }
        )
        points += [
            {"row": i, "ratio": ratio, "side": side, "trial": label}
            for side, ratios in (("old", m["runs"][0]), ("new", m["runs"][1]))
            for ratio in ratios
        ]
    ends = [r[key] for r in rows for key in ("low", "high", "least", "most")]
    ends += [p["ratio"] for p in points]
    scale = alt.Scale(
        type="log", domain=[max(0.2, 0.99 * min(ends)), min(5, 1.01 * max(ends))], clamp=True
    )
    y = alt.Y("row:O", axis=None, scale=alt.Scale(type="band", paddingInner=0.3))
    data = charts.Data()
    line, point = data.chart(rows).encode(y=y), data.chart(points).encode(y=y)
    axis = alt.Axis(title="value / mean of the old runs", format="~g", tickCount=6)

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", scale=scale, axis=axis)

    told = [alt.Tooltip(f"{key}:N") for key in ("trial", "side")]
    told.append(alt.Tooltip("ratio:Q", format=".4f"))
    layers: list[charts.Drawing] = [
        line.mark_tick(color=charts.GREY, strokeDash=[2, 2]).encode(x=x(key))
        for key in ("least", "most")
    ]
    layers.append(line.mark_rule(color=charts.INK, size=2).encode(x=x("low"), x2=alt.X2("high:Q")))
    layers.append(
        point.mark_point(filled=False, size=28, opacity=1).encode(
            x=x("ratio"),
            shape=alt.Shape(
                "side:N",
                scale=alt.Scale(domain=["old", "new"], range=["circle", "diamond"]),
                legend=None,
            ),
            color=alt.Color(
                "side:N", scale=alt.Scale(domain=["old", "new"], range=[OLD, NEW]), legend=None
            ),
            tooltip=told,
        )
    )
    height = charts.ROW * len(rows)
    names, said = (
        charts.spec_of(text, width=width, height=height, view={"stroke": None})
        for text, width in (
            (_text(line.mark_text(align="right", fontSize=11, color=charts.INK), "label"), 1),
            (_text(line.mark_text(align="left", fontSize=11, color=charts.INK), "said"), 140),
        )
    )
    middle = charts.joined("layer", *layers, width=WIDE, height=height)
    panel = charts.joined("hconcat", names, middle, said, spacing=8)
    return charts.picture(name, title, HELP, [], [panel], data)


def _text(chart: alt.Chart, field: str) -> alt.Chart:
    return chart.encode(x=alt.value(0), text=f"{field}:N")
