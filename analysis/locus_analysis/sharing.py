# SPDX-License-Identifier: Apache-2.0
"""Sharing: what its curves, tables and sentences show. Lines that go from core to core have a
module of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Optional

from . import charts, curves, padding, published, units
from .charts import GREY
from .curves import BLUE, GREEN, ORANGE, PINK, RANKED, RED, Axis, Panel, Series
from .records import graver
from .steps import size_text

Row = dict[str, Any]

LAYOUTS = {"shared": (RED, "diamond"), "dense": (ORANGE, "square"), "padded": (BLUE, "circle")}
OPERATIONS = {  # and kinds of lock
    "add": (RED, "diamond"),
    "fetch-add": (BLUE, "circle"),
    "compare-exchange": (GREEN, "square"),
    "mutex": (PINK, "cross"),
    "spin": (ORANGE, "triangle-right"),
    "ticket": (GREY, "triangle-down"),
    "mcs": (charts.INK, "stroke"),
}
PUBLISHED_LOCK = (  # of the kinds of lock here, what comes nearest to the lock of an object in Java
    "mutex"
)
SMALL, LOW = 205, 190  # pixels of a panel among several
BESIDE = 1.03
COMPARED = (("dense", "padded"), ("shared", "padded"))

THREADS_HELP = (
    "Time that each thread takes for an operation, over the number of threads (both axes"
    " logarithmic); lines across points are 95 % intervals. Level: the threads don't disturb each"
    " other. shared: one word for all; dense: a word for each, packed on lines; padded: a word for"
    " each on lines of its own."
)
RACE_HELP = (
    "Left, where all update one word: operations of the thread with the fewest over those of the"
    " one with the most; 100 % is fair. Right: the share of the updates that is lost when a load,"
    " an add and a store of several threads race for one word."
)
DISTANCE_HELP = (
    "Time of an update over the distance from one thread's word to the next one's (both axes"
    " logarithmic), relative to the far end of its curve: the median of the three largest"
    " distances. Lines across points are 95 % intervals; curves are drawn a little beside each"
    " other."
)


def operation(trial: Row) -> str:
    """What is done, by the shortest name that tells it."""
    return str(trial["parameters"].get("lock", trial["variant"]))


def updates(trials: Iterable[Row]) -> list[Row]:
    """Those that have a layout."""
    return [t for t in trials if "layout" in t["parameters"]]


def panels_of(trials: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Trials that differ in layout and threads alone, by what else they are; in order of first
    sight."""
    several = {key: len({t["parameters"].get(key) for t in trials}) > 1 for key in ("operations",)}
    several["bind"] = len({t["bind"] for t in trials}) > 1
    groups: dict[str, list[Row]] = {}
    for t in trials:
        of = {**t["parameters"], "bind": t["bind"]}
        name = t["variant"] + (f": {of['lock']}" if "lock" in of else "")
        if several["operations"]:
            name += ", fixed work" if of["operations"] else ", fixed time"
        if several["bind"]:
            name += f", {of['bind']}"
        groups.setdefault(name, []).append(t)
    yield from groups.items()


def many_threads(trials: Sequence[Row]) -> bool:
    """Whether there is a curve to draw."""
    return len({t["threads"] for t in trials}) > 1


def thread_axis(trials: Sequence[Row]) -> Axis:
    return curves.thread_axis([t["threads"] for t in trials])


def cpu_mark(trials: Sequence[Row], machine: Row) -> list[tuple[float, str]]:
    """Where there are as many threads as CPUs, if that is inside the curve."""
    cpus = machine["topology"]["cpus"]
    counts = {t["threads"] for t in trials}
    return [(float(cpus), f"{cpus} CPUs")] if min(counts) < cpus < max(counts) else []


def over_threads(
    trials: Sequence[Row], machine: Row, name: str, title: str
) -> Optional[charts.Picture]:
    """Time over threads: a panel for each operation, a line for each layout."""
    own = updates(trials)
    if not many_threads(own):
        return None
    groups = list(panels_of(own))
    most = max(t["threads"] for t in own)
    lines = {panel: _by_layout(group) + _published(panel, most) for panel, group in groups}
    y = curves.time_axis([line for of in lines.values() for line in of], "ns for an operation")
    x, mark = thread_axis(own), cpu_mark(own, machine)
    panels = [
        Panel(panel, x, y, lines[panel], SMALL, height=LOW, marks=mark) for panel, _ in groups
    ]
    grey = [line for of in lines.values() for line in of if line.colour == GREY]
    help_text = THREADS_HELP + (
        f" Grey, in the same shapes: published of {_published_machine()}; its times belong to it."
        if grey
        else ""
    )
    return curves.draw(name, title, help_text, own, panels, _citation() if grey else (), columns=3)


def beside(x: float, line: str, lines: Iterable[str], step: float = BESIDE) -> float:
    """Where to draw a point on a logarithmic axis: lines lie beside each other a little, not on
    each other."""
    places = list(lines)
    return float(x * step ** (places.index(line) - (len(places) - 1) / 2))


def _by_layout(trials: Sequence[Row]) -> list[Series]:
    lines = []
    for layout, (colour, shape) in LAYOUTS.items():
        own = sorted(
            (t for t in trials if t["parameters"]["layout"] == layout), key=lambda t: t["threads"]
        )
        if own:
            lines.append(
                Series(
                    layout,
                    colour,
                    shape,
                    [curves.point(t, beside(t["threads"], layout, LAYOUTS)) for t in own],
                )
            )
    return lines


def _published(panel: str, most: int) -> list[Series]:
    """Times of the same operation and layout, where the curve reaches so far."""
    found = []
    for f in published.figures("sharing", "latency"):
        layout = f.parameters.get("layout")
        of_panel = f.variant == panel.split(",")[0] or (
            f.variant == "lock" and panel.startswith(f"lock: {PUBLISHED_LOCK}")
        )
        if layout in LAYOUTS and of_panel and f.threads and f.threads <= most:
            point = {
                **curves.bare(beside(f.threads, layout, LAYOUTS), f.value),
                "trial": f"published: {f.machine}, {f.variant}, {layout}",
            }
            found.append(Series("", GREY, LAYOUTS[layout][1], [point]))
    return found


def _published_machine() -> str:
    return published.ratios("sharing")[0].machine


def _citation() -> list[str]:
    return [
        f"{key}: {text}"
        for key, text in published.sources().items()
        if key == published.ratios("sharing")[0].source
    ]


def race(trials: Sequence[Row], machine: Row, name: str, title: str) -> Optional[charts.Picture]:
    """Fairness of what is shared, and what is lost of plain additions, over threads."""
    shared = [
        t for t in updates(trials) if t["parameters"]["layout"] == "shared" and t["threads"] > 1
    ]
    if not many_threads(shared):
        return None
    x, mark = thread_axis(shared), cpu_mark(shared, machine)
    panels = []
    for metric, label in (
        ("fairness", "fewest / most operations of a thread"),
        ("lost", "share of the updates that is lost"),
    ):
        lines = []
        for panel, group in panels_of([t for t in shared if _of(t, metric)]):
            colour, shape = OPERATIONS.get(operation(group[0]), RANKED[0])
            own = sorted(group, key=lambda t: t["threads"])
            points = [
                {**curves.point({**t, **_of(t, metric)}, t["threads"]), **as_share(_of(t, metric))}
                for t in own
            ]
            lines.append(Series(panel.removeprefix("lock: "), colour, shape, points))
        if lines:
            ticks = [0, 0.2, 0.4, 0.6, 0.8, 1]
            y = Axis(label, (0, 1.02), ticks, "format(datum.value, '.0%')", log=False)
            panels.append(Panel(metric, x, y, lines, curves.HALF, height=LOW, marks=mark))
    return curves.draw(name, title, RACE_HELP, shared, panels) if panels else None


def _of(trial: Row, metric: str) -> Row:
    """The metric, or nothing where it was not reported."""
    found: Row = trial["metrics"].get(metric) or {}
    return found if found.get("value") is not None else {}


def as_share(metric: Row) -> Row:
    return {"text": units.percent(metric["value"]), "interval": share_interval(metric)}


def share_interval(metric: Row) -> str:
    if metric["low"] is None:
        return "–"
    return f"{units.percent(metric['low'])} to {units.percent(metric['high'])}"


def over_distance(
    trials: Sequence[Row], line: Optional[int], name: str, title: str
) -> Optional[charts.Picture]:
    """Relative to the far end, as the verdict is: a line for each operation and number of
    threads."""
    lines, drawn = [], []
    known = {
        curve: points
        for curve, points in padding.curves(trials)
        if len(points) > 1 and any(p["value"] for p in points)
    }
    step = 2 ** min(0.1, 0.5 / max(1, len(known)))  # distances are often 2 times the one before
    for i, (curve, points) in enumerate(known.items()):
        far = padding.far_end(padding.sound(points) or [p for p in points if p["value"]])
        drawn += points
        colour, shape = RANKED[i % len(RANKED)]
        dash = list(curves.DASHES)[i // len(RANKED) % len(curves.DASHES)]
        lines.append(
            Series(
                curve,
                colour,
                shape,
                [_relative(p, far, beside(p["distance"], curve, known, step)) for p in points],
                dash,
            )
        )
    if not lines:
        return None
    ends = [v for of in lines for p in of.rows for v in (p["value"], p["low"], p["high"]) if v]
    low, high = min(0.8, min(ends) / 1.1), max(2.2, max(ends) * 1.15)
    ticks = [
        t
        for t in (0.1, 0.2, 0.5, 1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 500, 1000)
        if low <= t <= high
    ]
    y = Axis(
        "time, relative to the far end", (low, high), ticks, "format(datum.value, '~g') + ' ×'"
    )
    distances = sorted({float(p["distance"]) for p in drawn})
    room = 1.12 * step ** (len(lines) / 2)
    label = (
        "datum.value >= 1024 ? format(datum.value / 1024, '~g') + ' KiB' : format(datum.value, 'd')"
        " + ' B'"
    )
    x = Axis(
        "from one thread's word to the next one's",
        (distances[0] / room, distances[-1] * room),
        distances,
        label,
    )
    marks = (
        [(float(line), f"line of {size_text(line)}, reported")]
        if line and x.domain[0] < line < x.domain[1]
        else []
    )
    return curves.draw(name, title, DISTANCE_HELP, drawn, [Panel("", x, y, lines, marks=marks)])


def _relative(point: Row, far: float, x: float) -> Row:
    found = curves.point(point, x)
    for key in ("value", "low", "high"):
        found[key] = None if point[key] is None else point[key] / far
    return found


# Tables.


def slowdowns(trials: Sequence[Row]) -> list[Row]:
    """A row for each operation and number of threads: `by` layout, what it takes to what is
    padded."""
    lines: dict[tuple[Any, ...], Row] = {}
    of_id = {t["id"]: t for t in trials}
    for t in sorted(trials, key=lambda t: t["place"]):
        for ratio in t["ratios"]:
            if (ratio["of"], ratio["to"]) not in COMPARED or ratio["value"] is None:
                continue
            p = t["parameters"]
            key = (
                t["whole"],
                t["variant"],
                p.get("lock"),
                p.get("operations"),
                t["bind"],
                t["threads"],
            )
            line = lines.setdefault(
                key, {"whole": t["whole"], "trial": t, "threads": t["threads"], "by": {}}
            )
            low, high = ratio.get("ci") or (None, None)
            other = of_id.get(ratio["trial"], t)
            line["by"][ratio["of"]] = {
                **graver(t, other),
                "value": ratio["value"],
                "low": low,
                "high": high,
            }
    for name, group in panels_of([line["trial"] for line in lines.values()]):
        for line in lines.values():
            if line["trial"] in group:
                line["name"] = name
    return list(lines.values())


def published_slowdowns() -> list[Row]:
    """As published: operation, threads (None where they are not told), and times by layout."""
    found: dict[tuple[str, Optional[int]], Row] = {}
    for f in published.ratios("sharing"):
        layout, to = f.parameters.get("compare", "/").split("/")
        if (layout, to) in COMPARED:
            line = found.setdefault(
                (f.variant, f.threads), {"name": f.variant, "threads": f.threads, "by": {}}
            )
            line["by"][layout] = f.value
    return list(found.values())


def sentence(lines: Sequence[Row], layout: str) -> str:
    """Of one run, at the threads of which it speaks: add 3.1 (2.9 to 3.3); lock: mutex 12 (11 to
    13)."""
    most = most_threads(lines)
    own = [line for line in lines if layout in line["by"] and line["threads"] == most]
    return (
        "; ".join(f"{line['name']} {times(line['by'][layout])}" for line in own) if most > 1 else ""
    )


def most_threads(lines: Sequence[Row]) -> int:
    """The most that had a CPU each; where none had, the most."""
    alone = [line["threads"] for line in lines if not line["trial"]["oversubscribed"]]
    return max(alone or [line["threads"] for line in lines], default=0)


def times(ratio: Row) -> str:
    interval = (
        ""
        if ratio["low"] is None
        else f" ({units.number(ratio['low'])} to {units.number(ratio['high'])})"
    )
    flag = "" if ratio["flag"] is None else f" ▲{ratio['flag']}"
    return units.number(ratio["value"]) + interval + flag


def section(trials: Sequence[Row], machine: Row) -> Row:
    """Of one run: what stands above and between its pictures."""
    lines = slowdowns(trials)
    finding = padding.findings(trials)
    return {
        "slowdowns": lines,
        "most": most_threads(lines),
        "dense": sentence(lines, "dense"),
        "shared": sentence(lines, "shared"),
        "races": [
            {
                **t,
                "name": name,
                "layout": t["parameters"]["layout"],
                **{m: _of(t, m) for m in ("throughput", "fairness", "lost")},
            }
            for name, group in panels_of(updates(trials))
            for t in group
            if t["threads"] > 1 and t["value"]
        ],
        "padding": finding,
        "padding_verdict": padding.verdict(finding, padding.line_size(machine)) if finding else "",
    }
