# SPDX-License-Identifier: Apache-2.0
"""The pictures of any benchmark, drawn from what its line in the record says: curves over each
parameter that is an x axis, and over threads; what it compares as ratios; distributions as
quantiles; bars for the rest. Every metric is drawn, the headline first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Optional

from . import charts, curves, described, published, units
from .charts import GREY, Column, Picture
from .curves import HALF, RANKED, WIDE, Axis, Panel, Series
from .described import Described, Group
from .records import graver

Row = dict[str, Any]

MANY = 12  # panels; of more, only the headline is drawn
LINES = 14  # of distributions in a panel; of more, those of the largest settings
COLUMNS = 4  # metrics beside each other, as bars
SCALED = "Lines across points are 95 % intervals."
RATIOS_HELP = (
    "What is compared was sampled in turn. More than 1 speaks for what stands behind the stroke."
)
QUANTILES_HELP = "What share of all took no longer (to the right: ever fewer exceptions)."


def pictures(
    of: Described, trials: Sequence[Row], machine: Row, name: str, title: str
) -> list[Picture]:
    """Of one run; what no curve shows is for bars."""
    own = [t for t in trials if not t["in_matrix"] and not t["pairs"]]
    drawn: list[Picture] = []
    axes = described.curved(of, own)
    for i, (x, groups) in enumerate(axes):
        file = name if i == 0 else f"{name}-{x}"
        said = f"{title}, over {x}" if len(axes) > 1 else title
        drawn += over(of, own, machine, x, groups, of.headline, file, said)
        others = _worth_drawing(of, [t for g in groups for t in g.trials])
        if i == 0 and others and len(groups) <= MANY:
            drawn += _metrics(of, own, machine, x, groups, others, f"{name}-metrics", said)
    shown = {i for p in drawn for i in p.shows}
    rest = [{**t, "how": None} for t in own if t["id"] not in shown]
    drawn += charts.bars(rest, [], f"{name}-bars" if drawn else name, title)
    drawn += _beside(of, rest, f"{name}-values", f"{title}: all that was measured")
    drawn += _ratios(of, own, f"{name}-ratios", f"{title}: ratios")
    return drawn + _quantiles(of, own, f"{name}-quantiles", title)


def _has(trial: Row, metric: str) -> bool:
    return (trial["metrics"].get(metric) or {}).get("value") is not None


# Curves.


def over(
    of: Described,
    among: Sequence[Row],
    machine: Row,
    x: str,
    groups: Sequence[Group],
    metric: str,
    name: str,
    title: str,
) -> list[Picture]:
    """A panel for each group."""
    several = described.differing([g.setting for g in groups])
    lines = [_lines(of, among, x, g, metric) for g in groups]
    axis = x_axis(of, x, [s for own in lines for s in own])
    y = y_axis(of, metric, [s for own in lines for s in own])
    width = HALF if len(groups) > 1 else WIDE
    drawn = [
        (
            g.trials,
            [
                Panel(
                    of.words(g.setting, several),
                    axis,
                    y,
                    [*_ideal(of, x, metric, own), *own],
                    width,
                    height=250 if len(groups) > 1 else curves.HEIGHT,
                    marks=marks(of, x, axis, machine),
                )
            ],
        )
        for g, own in zip(groups, lines)
    ]
    cited = [*_ringed(of, lines), *_cited([s for own in lines for s in own])]
    return curves.in_parts(drawn, name, title, _help(of, x, metric, groups), lambda _: cited)


def _ringed(of: Described, lines: Sequence[Sequence[Series]]) -> list[str]:
    some = any(r.get("ring") for own in lines for s in own for r in s.rows)
    return [published.lesson(of.name)["ringed"]["help"]] if some else []


def _metrics(
    of: Described,
    among: Sequence[Row],
    machine: Row,
    x: str,
    groups: Sequence[Group],
    metrics: Sequence[str],
    name: str,
    title: str,
) -> list[Picture]:
    """All other metrics: a panel for each of them and each group that has it."""
    several = described.differing([g.setting for g in groups])
    drawn = []
    for metric in metrics:
        of_metric = [(g, _lines(of, among, x, g, metric)) for g in groups]
        series = [s for _, own in of_metric for s in own]
        axis, y = x_axis(of, x, series), y_axis(of, metric, series)
        for g, own in of_metric:
            if not any(p["value"] is not None for s in own for p in s.rows):
                continue
            said = ", ".join(filter(None, (metric, of.words(g.setting, several))))
            found = marks(of, x, axis, machine)
            panel = Panel(said, axis, y, own, HALF, height=190, marks=found)
            drawn.append(([t for t in g.trials if _has(t, metric)], [panel]))
    words = [f"{m}: {of.metrics[m].get('help') or 'another metric'}" for m in metrics]
    said = f"What else was measured. {SCALED}"
    return curves.in_parts(drawn, name, f"{title}: {', '.join(metrics)}", said, lambda _: [*words])


def _lines(of: Described, among: Sequence[Row], x: str, group: Group, metric: str) -> list[Series]:
    found = []
    own = described.lines(of, group.trials, among)
    for i, line in enumerate(own):
        colour, shape, dash = curves.style(line)
        rows = [
            _point(t, beside(float(described.value_of(of, t, x)), i, len(own)), metric)
            for t in sorted(line.trials, key=lambda t: float(described.value_of(of, t, x)))
        ]
        if metric == of.headline or any(r["value"] is not None for r in rows):
            found.append(Series(line.name, colour, shape, rows, dash))
    return [*_published(of, x, group, own, metric, found), *found]


def beside(x: float, place: int, several: int) -> float:
    """Where to draw a point: lines lie beside each other a little, not on each other."""
    step: float = (1 + min(0.03, 0.12 / max(several, 1))) ** (place - (several - 1) / 2)
    return x * step


def _point(trial: Row, x: float, metric: str) -> Row:
    of = trial["metrics"].get(metric) or {}
    value = {key: of.get(key) for key in ("value", "low", "high")}
    unit = of.get("unit") or "1"
    point = curves.point({**trial, **value}, x)
    ring = published.lesson(trial["benchmark"]).get("ringed", {})
    ringed = (trial["metrics"].get(ring.get("metric")) or {}).get("value") or 0
    is_ringed = bool(ring) and ringed >= ring["from"]
    return {**point, **said(value, unit), "trial": in_words(trial), "ring": is_ringed}


def in_words(trial: Row) -> str:
    """By what tells it from the others of its benchmark."""
    return " ".join(filter(None, (trial["variant"], trial["panel"], trial["point"])))


def said(value: Row, unit: str) -> Row:
    """A value and its interval in words."""
    if is_share([value], unit):
        known = value["low"] is not None and value["high"] is not None
        return {
            "text": units.percent(value["value"]),
            "interval": (
                f"{units.percent(value['low'])} to {units.percent(value['high'])}" if known else "–"
            ),
        }
    return {
        "text": "no value" if value["value"] is None else units.quantity(value["value"], unit),
        "interval": units.interval({**value, "unit": unit}),
    }


def is_share(values: Sequence[Row], unit: str) -> bool:
    ends = [v for of in values for v in (of["value"], of["low"], of["high"]) if v is not None]
    return unit == "1" and bool(ends) and max(map(abs, ends)) <= 1


def _help(of: Described, x: str, metric: str, groups: Sequence[Group]) -> str:
    """What is drawn, and what the names of the lines mean."""
    what = of.metrics.get(metric, {}).get("help") or metric
    better = charts.BETTER[of.metrics.get(metric, {}).get("better")]
    line = {described.line_of(of, t) for g in groups for t in g.trials}
    meant = [
        f"{v}: {of.variants[v]}"
        for v in of.variants
        if line == {"variant"} and any(t["variant"] == v for g in groups for t in g.trials)
    ]
    of_line = of.parameters.get(of.lines, {}).get("help")
    if line == {of.lines} and of_line:
        meant = [f"{of.lines}: {of_line}"]
    return f"{metric}{better}: {what}; over {x}. {SCALED} {'; '.join(meant)}".strip()


def _ideal(of: Described, x: str, metric: str, lines: Sequence[Series]) -> list[Series]:
    """What the best line would be if threads cost nothing; where a speed-up is promised."""
    if x != "threads" or not any(
        r["parameter"] == "threads" and r["metric"] == metric for r in of.ratios
    ):
        return []
    power = 1 if of.metrics[metric]["better"] == "higher" else -1
    first = [(s.rows[0]["x"], s.rows[0]["value"]) for s in lines if s.name and s.rows[0]["value"]]
    if not first:
        return []
    least, value = min(first, key=lambda p: -power * p[1])
    most = max(p["x"] for s in lines for p in s.rows)
    rows = [curves.bare(n, value * (n / least) ** power) for n in (least, most)]
    return [Series("", GREY, "circle", rows, "dotted", 1, points=False)]


# Axes.


def x_axis(of: Described, x: str, lines: Sequence[Series]) -> Axis:
    values = sorted({p["x"] for s in lines for p in s.rows})
    if x == "threads":
        return curves.thread_axis([round(v) for v in values])
    low, high = values[0], values[-1]
    unit = of.unit(x)
    if low > 0 and unit == "B":
        return curves.size_axis(lines, f"{x} (bytes)")
    title = f"{x} ({unit})" if unit and unit != x else x
    if low > 0 and high / low >= 8:
        return curves.log_axis(title, low / 1.12, high * 1.12, 1.0)
    ticks = curves.linear_ticks(high)
    return Axis(title, (min(0.0, low), ticks[-1]), ticks, "format(datum.value, '~s')", log=False)


def y_axis(of: Described, metric: str, lines: Sequence[Series]) -> Axis:
    """Logarithmic where values are far apart, or are times or rates; a share in percent."""
    told = of.metrics.get(metric, {})
    unit = str(told.get("unit") or "1")
    points = [p for s in lines for p in s.rows if p["value"] is not None]
    ends = [v for p in points for v in (p["value"], p["low"], p["high"]) if v is not None] or [1.0]
    low, high = min(ends), max(ends)
    if is_share(points, unit):
        return share_axis(metric, low, high)
    factor, name = units.scale([median(ends)], unit)
    title = f"{metric} ({name})" if name else metric
    if low > 0 and (unit != "1" or high / low > 20):
        return curves.log_axis(title, low / 1.35, high * 1.25, factor)
    ticks = curves.linear_ticks(high) if low >= 0 else charts.round_ticks(low, max(high, 0))
    label = f"format(datum.value / {factor!r}, '~g')"
    room = (high - low) / 20 or 1.0
    return Axis(title, (min(0.0, low - room), max(ticks[-1], high)), ticks, label, log=False)


def share_axis(title: str, low: float, high: float) -> Axis:
    low, high = min(0.0, low, -0.005), max(high, 0.01)
    high = 1.0 if high > 0.4 else high
    room = (high - low) / 40
    steps = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
    step = next(s for s in steps if (high - low) / s <= 7)
    ticks = [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
    label = "format(datum.value, '.1~%')"
    return Axis(title, (low - room, high + room), ticks, label, log=False, every=True)


def median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]


def marks(of: Described, x: str, axis: Axis, machine: Row) -> list[tuple[float, str]]:
    """What of the machine lies on the axis: its CPUs; its lines and caches, as reported."""
    topology, found = machine["topology"], []
    if x == "threads" and topology["cpus"]:
        found = [(float(topology["cpus"]), f"{topology['cpus']} CPUs")]
    elif of.unit(x) == "B":
        caches = [c for c in topology["caches"] or [] if c["type"] != "instruction"]
        found = [(float(c["size"]), f"L{c['level']}, reported") for c in caches if c["size"]]
        line = max((c["line"] for c in caches if c["line"]), default=None)
        found += [(float(line), f"line of {line} B, reported")] if line else []
    low, high = axis.domain
    return [(at, text) for at, text in dict.fromkeys(found) if low * 1.2 < at < high / 1.2]


# Published figures.


def _published(
    of: Described,
    x: str,
    group: Group,
    lines: Sequence[described.Line],
    metric: str,
    drawn: Sequence[Series],
) -> list[Series]:
    """In grey, in the shape of the line that they are of, as far as its curve reaches."""
    reach = max((p["x"] for s in drawn for p in s.rows), default=0.0)
    shape = {line.name: (i, RANKED[line.place % len(RANKED)][1]) for i, line in enumerate(lines)}
    found = []
    for p in (*published.points(of.name, metric, x), *published.placed(of.theirs, x)):
        name = p.variant if of.lines == "variant" else p.parameters.get(of.lines, "")
        others = {**p.where, **({} if of.lines == "variant" else {"variant": p.variant})}
        agrees = all(group.setting.get(k) == v for k, v in others.items() if k != x)
        if name not in shape or not agrees or p.x > reach * 1.01:
            continue
        i, own_shape = shape[name]
        row = {
            **curves.bare(beside(p.x, i, len(lines)), p.value),
            **said({"value": p.value, "low": None, "high": None}, of.metrics[metric]["unit"]),
            "trial": f"published: {p.said}",
            "source": p.source,
        }
        found.append(Series("", GREY, own_shape, [row]))
    return found


def _cited(lines: Sequence[Series]) -> list[str]:
    """What grey points are, and where they come from."""
    rows = [r for s in lines for r in s.rows if "source" in r]
    machines = dict.fromkeys(r["trial"].split(": ", 1)[1].split(";")[0] for r in rows)
    sources = dict.fromkeys(r["source"] for r in rows)
    if not rows:
        return []
    text = f"Grey, in the same shapes: published of {'; '.join(machines)}; times belong to it."
    return [text, *(f"{key}: {published.sources()[key]}" for key in sources)]


# Ratios.


def _compared(of: Described, trials: Sequence[Row]) -> list[Row]:
    """A row for each ratio of a trial, as if it were a trial of its own."""
    of_id = {t["id"]: t for t in trials}
    found = []
    for t in trials:
        for r in t["ratios"]:
            if r["value"] is None:
                continue
            low, high = r.get("ci") or (None, None)
            by_threads = r["parameter"] == "threads"
            parameters = {k: v for k, v in t["parameters"].items() if k != r["parameter"]}
            if r["parameter"] != "variant" and not by_threads:
                parameters["of"] = t["variant"]
            name = t["variant"] if by_threads else f"{r['of']}/{r['to']}"
            of_ratio = {"value": r["value"], "low": low, "high": high, "unit": "1"}
            found.append(
                {
                    **t,
                    **of_ratio,
                    **graver(t, of_id.get(r["trial"], t)),
                    "variant": name,
                    "parameters": parameters,
                    "threads": int(r["to"]) if by_threads else t["threads"],
                    "metrics": {r["name"]: of_ratio},
                    "ratio": r["name"],
                    "better": None,
                    "metric": f"{name} {r['name']}",
                }
            )
    return found


def _ratios(of: Described, trials: Sequence[Row], name: str, title: str) -> list[Picture]:
    """Curves where there is an x axis; else bars."""
    rows = _compared(of, trials)
    drawn: list[Picture] = []
    left: list[Row] = []
    for kind in dict.fromkeys(r["ratio"] for r in rows):
        own = [r for r in rows if r["ratio"] == kind]
        told = {"unit": "1", "better": None, "help": _meaning(of, kind)}
        alike = replace(of, ratios=(), metrics={kind: told}, variants=_names(of, own))
        file = f"{name}-{kind}"
        shown: set[int] = set()
        for x, groups in described.curved(alike, own):
            if len(groups) <= MANY and not shown:
                drawn += over(alike, own, NO_MACHINE, x, groups, kind, file, f"{title}: {kind}")
                shown = {id(t) for g in groups for t in g.trials}
        left += [r for r in own if id(r) not in shown]
    return drawn + _ratio_bars(of, left, name, title)


NO_MACHINE: Row = {"topology": {"cpus": None, "caches": []}}


def _names(of: Described, rows: Sequence[Row]) -> dict[str, str]:
    """Of ratios, in the order in which they are declared, with what each says."""
    declared = {f"{r['of']}/{r['to']}": r["help"] for r in of.ratios}
    names = {r["variant"] for r in rows}
    return {
        **{n: said for n, said in {**of.variants, **declared}.items() if n in names},
    }


def _meaning(of: Described, kind: str) -> str:
    said = [r["help"] for r in of.ratios if r["name"] == kind]
    return said[0] if len(said) == 1 else "time, or rate, of the one over that of the other"


def _ratio_bars(of: Described, rows: Sequence[Row], name: str, title: str) -> list[Picture]:
    several = [
        k for k in described.differing([of.setting(r) for r in rows]) if k not in ("variant", "of")
    ]
    bars = []
    ordered = sorted(rows, key=lambda r: (r["ratio"], r["variant"], r["place"]))
    for i, r in enumerate(ordered):
        setting = of.setting(r)
        first = i == 0 or ordered[i - 1]["variant"] != r["variant"]
        where = ", ".join(filter(None, (setting.get("of"), of.words(setting, several))))
        bars.append(
            {
                **r,
                "first": f"{r['variant']}" if first else "",
                "point": where,
                "trial": f"{r['variant']} {r['ratio']}, {where}",
                "theirs": False,
            }
        )
    pictures = []
    for start in range(0, len(bars), charts.ROWS):
        part = [*bars[start : start + charts.ROWS]]
        data, panels = charts.ratios(part, "ratio")
        file = name if len(bars) <= charts.ROWS else f"{name}-{start // charts.ROWS + 1}"
        pictures.append(
            charts.picture(file, title, RATIOS_HELP, part, panels, data, (), curves.NOTES)
        )
    return pictures


# Bars of the other metrics, and distributions.


def _beside(of: Described, rest: Sequence[Row], name: str, title: str) -> list[Picture]:
    """The metrics of what no curve shows, beside each other."""
    others = _worth_drawing(of, rest)
    own = [t for t in rest if any(_has(t, m) for m in others)]
    shown = []
    for i in range(0, len(others), COLUMNS):
        part = others[i : i + COLUMNS]
        columns = []
        for m in part:
            values = [t["metrics"][m] for t in own if _has(t, m)]
            unit = str(of.metrics[m].get("unit") or "1")
            columns.append(Column(m, m, "%" if is_share(values, unit) else unit))
        rows = [
            {
                **t,
                "first": (
                    t["variant"]
                    if j == 0
                    or own[j - 1]["variant"] != t["variant"]
                    or own[j - 1]["panel"] != t["panel"]
                    else ""
                ),
                "trial": in_words(t),
                "cells": {m: t["metrics"][m] for m in part if _has(t, m)},
                "beside": "",
            }
            for j, t in enumerate(own)
        ]
        words = "; ".join(f"{m}: {of.metrics[m].get('help') or 'another metric'}" for m in part)
        file = f"{name}-{i // COLUMNS + 1}" if len(others) > COLUMNS else name
        named = f"{title} ({', '.join(part)})"
        shown += charts.columns(rows, columns, file, named, words, curves.NOTES)
    return shown


def _quantiles(of: Described, trials: Sequence[Row], name: str, title: str) -> list[Picture]:
    """A panel for each metric that is a distribution, a line for each trial: its quantiles."""
    metrics = dict.fromkeys(m for t in trials for m in t.get("quantiles") or {})
    drawn = []
    for metric in metrics:
        own = _largest(of, [t for t in trials if metric in (t.get("quantiles") or {})])
        several = described.differing([of.setting(t) for t in own])
        series = []
        for i, t in enumerate(own):
            colour, shape = RANKED[i % len(RANKED)]
            rows = [
                {**curves.point({**t, "value": v, "low": None, "high": None}, _nines(q))}
                for q, v in sorted(t["quantiles"][metric].items())
            ]
            unit = str(of.metrics.get(metric, {}).get("unit") or "1")
            rows = [
                {**r, **said(r, unit), "trial": f"{r['trial']}, quantile {q:g}"}
                for r, q in zip(rows, sorted(t["quantiles"][metric]))
            ]
            dash = list(curves.DASHES)[i // len(RANKED) % len(curves.DASHES)]
            series.append(
                Series(of.words(of.setting(t), several) or t["variant"], colour, shape, rows, dash)
            )
        x = Axis(
            "share of all that took no longer",
            (0.25, 5.2),
            [_nines(q) for q in NINES],
            "datum.value > 4.5 ? '100 %' : format(1 - pow(10, -datum.value), '.4~%')",
            log=False,
            every=True,
        )
        panel = Panel(metric, x, y_axis(of, metric, series), series)
        drawn.append((own, [panel]))
    said_of = [f"{m}: {of.metrics.get(m, {}).get('help') or m}" for m in metrics]
    return [
        p
        for own, panels in drawn
        for p in [
            curves.draw(
                f"{name}-{panels[0].title}",
                f"{title}: distribution of {panels[0].title}",
                QUANTILES_HELP,
                own,
                panels,
                said_of[:1],
            )
        ]
    ]


def _largest(of: Described, trials: Sequence[Row]) -> Sequence[Row]:
    """Where there would be too many lines, those with the most threads, the largest size and so
    on."""
    for name in described.differing([of.setting(t) for t in trials]):
        values = {value_of for t in trials if (value_of := of.setting(t).get(name, ""))}
        if len(trials) > LINES and name not in described.BARE and of.is_number(name, values):
            most = max(values, key=float)
            trials = [t for t in trials if of.setting(t).get(name, most) == most]
    return trials


NINES = (0.5, 0.9, 0.99, 0.999, 0.9999, 1.0)


def _nines(quantile: float) -> float:
    """0.9 is 1, 0.99 is 2; the greatest stands at the right end."""
    return 5.0 if quantile >= 1 else -math.log10(1 - quantile)


def other_metrics(of: Described, trials: Sequence[Row]) -> list[str]:
    """Beside the headline, those of which anything is known."""
    return [m for m in of.metrics if m != of.headline and any(_has(t, m) for t in trials)]


def _worth_drawing(of: Described, trials: Sequence[Row]) -> list[str]:
    """All of them, unless the lesson names some; tables have the others."""
    named = published.lesson(of.name).get("drawn")
    return [m for m in other_metrics(of, trials) if named is None or m in named]


def ratio_table(of: Described, trials: Sequence[Row]) -> list[Row]:
    """All ratios, each with what it says and where it was measured."""
    found = _compared(of, trials)
    several = described.differing([of.setting(r) for r in found])
    declared = {(d["name"], f"{d['of']}/{d['to']}"): d["help"] for d in of.ratios}
    by_threads = [d["help"] for d in of.ratios if d["parameter"] == "threads"]
    theirs = [
        {
            "whole": None,
            "ratio": "published",
            "variant": f.parameters["compare"],
            "where": ", ".join(
                filter(None, (f.variant, f"{f.threads} threads" if f.threads else None, f.machine))
            ),
            "value": f.value,
            "low": None,
            "high": None,
            "flag": None,
            "says": f"{f.source}: {published.sources()[f.source]}",
        }
        for f in published.ratios(of.name)
        if found and "compare" in f.parameters
    ]
    return theirs + [
        {
            **r,
            "says": declared.get((r["ratio"], r["variant"])) or next(iter(by_threads), ""),
            "where": of.words(of.setting(r), [k for k in several if k != "variant"]),
        }
        for r in found
    ]


def result(of: Described, trials: Sequence[Row]) -> Optional[str]:
    """One sentence: the declared ratio that is surely furthest from 1."""
    sure = [
        r
        for r in _compared(of, [t for t in trials if t["pairs"] is None])
        if r["low"]
        and r["high"]
        and not r["low"] <= 1 <= r["high"]
        and r["status"] in ("ok", "unconverged")
    ]
    if not sure:
        return None
    most = max(sure, key=lambda r: abs(math.log(r["value"])))
    setting = of.setting(most)
    several = described.differing([of.setting(t) for t in trials if not t["in_matrix"]])
    declared = next(
        (d["help"] for d in of.ratios if f"{d['of']}/{d['to']}" == most["variant"]), most["ratio"]
    )
    where = ", ".join(
        filter(
            None,
            (
                setting.get("of"),
                of.words(setting, [k for k in several if k not in ("variant", of.lines)]),
            ),
        )
    )
    value = f"{units.number(most['value'])} ({units.number(most['low'])} to"
    named = f"{most['ratio']} {declared}" if declared != most["ratio"] else declared
    return f"{named}: {most['variant']} {value} {units.number(most['high'])}), {where}."
