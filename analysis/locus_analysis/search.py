# SPDX-License-Identifier: Apache-2.0
"""Search: what it gains to divide the data, and what that gain is made of; what skewed keys do,
and their cures; the fastest.

The published gain (reference/sources.csv, jsl2023) is the time of `whole` over that of
`divided`. Three things differ between them: a searcher touches a part of the array (locality),
its first branches always go the same way (prediction), and it takes fewer steps. `routed` has
the first two, and a search without branches has nothing to predict. So the gain of the branchy
one has these factors:

    locality        whole/routed, branchless
    prediction      whole/routed, branchy, over that
    shorter search  routed/divided, branchy
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Optional

from . import charts, curves, generic, published, units
from .charts import GREY, INK
from .curves import (
    BLUE,
    GREEN,
    HALF,
    ORANGE,
    PAGE_DASH,
    PINK,
    RANKED,
    RED,
    WIDE,
    Axis,
    Panel,
    Series,
)
from .evidence import AGREES, DIFFERS, UNSURE, ratio
from .kmeans import NO_TRIAL, UNITS, differing, time_unit
from .records import is_sound
from .steps import size_text

Row = dict[str, Any]
Setting = tuple[tuple[str, str], ...]

VARIANTS = {
    "whole": (RED, "diamond"),
    "routed": (ORANGE, "square"),
    "divided": (BLUE, "circle"),
    "weighted": (GREEN, "triangle-right"),
    "stealing": (PINK, "cross"),
    "partitioned": ("#56B4E9", "triangle-down"),
    "best": (INK, "triangle-left"),
}
FREE = ("partitioned", "best")  # without a dispatcher
OWNED = ("divided", "weighted", "stealing")  # what skewed keys do to the first, and the cures
KEYS = ("uniform", "zipf", "hot")
METHOD = "branchy"  # the published one; the other has nothing to predict
OTHER_METHOD = "branchless"
GAINS = (("whole", "divided"), ("whole", "routed"), ("routed", "divided"))
PARTS = {
    "locality": (GREEN, "square"),
    "prediction": (PINK, "diamond"),
    "shorter search": (ORANGE, "triangle-right"),
}
PUBLISHED_SETTING = {
    "type": "u32",
    "search": METHOD,
    "keys": "uniform",
    "packet": "128",
    "threads": "9",
}
OVER_RANKS = "distributed"  # has its place where ranks are compared, and nowhere else
LEFT_OUT = ("size", "pages", "skew")  # of what tells settings apart; skew is said with the keys
METRICS = (
    "search-median",
    "search-p99",
    "search-deviation",
    "key-time",
    "throughput",
    "waiting",
    "held-up",
    "imbalance",
    "idle",
    "build-time",
    "overhead",
)
NOTHING: Row = {"value": None, "low": None, "high": None}
CACHES = ("L1", "L2", "L3")
BOUND = "○"  # stands beside what the dispatcher bounded, in tables

TIME_HELP = (
    "Time in search alone for a packet of keys (in brackets: for a key) over the size of the array"
    " (both axes logarithmic); lines across points are 95 % intervals. With a dispatcher, one of"
    " the threads is that. whole: each searches all of the array; routed: the same, but only keys"
    " of its range; divided: only its part; partitioned: keys are grouped by range first; best: a"
    " tree of cache lines."
)
FLOW_HELP = (
    "Left: keys answered by all searchers together, end to end (both axes logarithmic). Right: the"
    " share of their time in which the searchers had no packet to search. Lines across points are"
    " 95 % intervals."
)
PARTS_HELP = (
    "How many times as fast divided is as whole, and the factors that this is made of, over the"
    " size of the array (both axes logarithmic). Locality: whole/routed without branches;"
    " prediction: whole/routed with branches over that; shorter search: routed/divided. Lines"
    " across points: what the 95 % intervals allow."
)
SKEW_HELP = (
    "Keys answered by the busiest searcher over their mean (1: even); the share of its time that"
    " the least busy one waited; the share that all searchers waited; and keys answered end to end."
    " weighted: ranges cut by observed weight; stealing: idle searchers take packets of others."
)
BEST_HELP = (
    "Left: time for a key of each thread over the size of the array, a line for each number of"
    " threads (both axes logarithmic); lines across points are 95 % intervals. Right: keys answered"
    " by all threads over those of the fewest, over the number of threads. Grey dotted: n threads"
    " answer n times as many."
)
RINGED = (
    "Ringed: the dispatcher was the bottleneck; what is end to end is then its own speed, and"
    " searchers meet less often."
)


# What trials have in common that are compared with each other.


def headlined(trials: Iterable[Row]) -> list[Row]:
    """With `value`, `low` and `high` of the time that a packet takes in search, which is what is
    compared."""
    return [{**t, **timed(t)} for t in trials]


def timed(trial: Row) -> Row:
    """The time of a packet in search; where there are no packets, that of as many keys."""
    packet, key = metric(trial, "search-time"), metric(trial, "key-time")
    if packet or not key:
        return packet or NOTHING
    return times(key, int(trial["parameters"].get("packet", PUBLISHED_SETTING["packet"])))


def metric(trial: Row, name: str) -> Row:
    """{} where it was not reported."""
    found: Row = trial["metrics"].get(name) or {}
    return found if found.get("value") is not None else {}


def known(trial: Row) -> dict[str, Row]:
    """What tables show of its metrics, also where they were not reported."""
    return {name: metric(trial, name) or NOTHING for name in METRICS}


def times(value: Row, factor: float) -> Row:
    return {
        **value,
        **{key: None if value[key] is None else value[key] * factor for key in NOTHING},
    }


def bound(trial: Row) -> bool:
    """Whether the dispatcher was the bottleneck, in most samples."""
    found = metric(trial, "dispatcher-bound")
    return bool(found and found["value"] >= 0.5)


def size_of(trial: Row) -> int:
    return int(trial["parameters"]["size"])


def pages_of(trial: Row) -> str:
    return str(trial["parameters"].get("pages", "base"))


def setting(trial: Row) -> dict[str, str]:
    """What is to be searched, and how, but for the variant and what LEFT_OUT names."""
    of = trial["parameters"]
    found = {key: str(value) for key, value in of.items() if key not in LEFT_OUT}
    if "keys" in of:
        found["keys"] = keys_of(trial)
    crowded = {"oversubscribed": "oversubscribed"} if trial["oversubscribed"] else {}
    return {**found, "threads": str(trial["threads"]), "bind": trial["bind"], **crowded}


def keys_of(trial: Row) -> str:
    """uniform; zipf 1; hot 0.9."""
    of = trial["parameters"]
    skew = "" if of.get("keys") == "uniform" or not of.get("skew") else f" {float(of['skew']):g}"
    return str(of.get("keys", "")) + skew


def by_setting(trials: Sequence[Row]) -> list[tuple[dict[str, str], list[Row]]]:
    """Trials of the same setting. One that lacks a parameter - best has no method - is of every
    setting that it agrees with."""
    found = list({tuple(setting(t).items()): setting(t) for t in trials}.values())
    whole = [s for s in found if not any(s.items() < other.items() for other in found)]
    return [(s, [t for t in trials if setting(t).items() <= s.items()]) for s in whole]


def words(of: dict[str, str], several: Iterable[str] = ()) -> str:
    """Of a setting: method and type; what else differs among several."""
    said = [of[key] for key in ("search", "type") if key in of]
    texts = {
        "keys": "{} keys",
        "packet": "packets of {}",
        "threads": "{} threads" if of.get("threads") != "1" else "{} thread",
        "bind": "bound {}",
    }
    said += [text.format(of[key]) for key, text in texts.items() if key in several and key in of]
    return ", ".join([*said, *([of["oversubscribed"]] if "oversubscribed" in of else [])])


def in_full(of: dict[str, str]) -> str:
    return words(of, ("keys", "packet", "threads"))


def line_of(trial: Row, among: Iterable[Row]) -> str:
    """Its variant, and the kind of pages where that differs."""
    several = {pages_of(t) for t in among if t["variant"] == trial["variant"]}
    return str(trial["variant"]) + (f", {pages_of(trial)}" if len(several) > 1 else "")


def rank_of(variant: str) -> int:
    """Its place among the variants; of one that is not known, the last."""
    return list(VARIANTS).index(variant) if variant in VARIANTS else len(VARIANTS)


def many_sizes(trials: Iterable[Row]) -> bool:
    """Whether there is a curve to draw."""
    return len({size_of(t) for t in trials}) > 1


def differs_from_published(of: dict[str, str]) -> list[str]:
    """What of the published setting is another one, in words."""
    found = [
        f"{key} {of.get(key, 'none')} instead of {its}"
        for key, its in PUBLISHED_SETTING.items()
        if of.get(key) != its
    ]
    return found + ["more threads than CPUs"] * ("oversubscribed" in of)


# Pictures.


def pictures(trials: Sequence[Row], machine: Row, name: str, title: str) -> list[charts.Picture]:
    """Of one run. What they do not show is for bars."""
    parts = _parts(trials, f"{name}-parts", f"{title}: what the gain is made of")
    best = _best(trials, machine, f"{name}-best", f"{title}: best")
    return [
        *_over_size(trials, machine, name, title),
        *([parts] if parts else []),
        *_flow(trials, f"{name}-flow", f"{title}: end to end, and waiting"),
        *_skewed(trials, f"{name}-skew", f"{title}: skewed keys"),
        *([best] if best else []),
    ]


def _curved(trials: Sequence[Row]) -> list[tuple[dict[str, str], list[Row]]]:
    """Settings with several sizes of something else than best, which has a picture of its own."""
    return [
        (of, own)
        for of, own in by_setting(trials)
        if many_sizes(t for t in own if t["value"] and t["variant"] != "best")
    ]


def _over_size(trials: Sequence[Row], machine: Row, name: str, title: str) -> list[charts.Picture]:
    """A panel for each method and type, and what else differs; a line for each variant."""
    found = _curved(trials)
    if not found:
        return []
    several = differing([tuple(of.items()) for of, _ in found])
    unit = time_unit(t["value"] for _, own in found for t in own)
    lines = [(of, [*_published_lines(of), *_by_variant(own)]) for of, own in found]
    x, mark = curves.size_axis(_all(lines), "size of the array"), _caches(machine)
    drawn = []
    for (of, own), (_, series) in zip(found, lines):
        packet = int(of.get("packet", PUBLISHED_SETTING["packet"]))
        y = curves.time_axis(
            _all(lines), f"{UNITS[unit]} for a packet of {packet} (ns for a key)", unit
        )
        y.label += f" + ' (' + format(datum.value / {packet} * 1e9, '.2~r') + ')'"
        width = HALF if len(lines) > 1 else WIDE
        drawn.append(
            (
                own,
                [
                    Panel(
                        words(of, several), x, y, series, width, height=300, marks=_inside(mark, x)
                    )
                ],
            )
        )
    cited = _cited(of for of, _ in found)
    return curves.in_parts(drawn, name, title, TIME_HELP, lambda shown: [*_ringed(shown), *cited])


def _all(lines: Iterable[tuple[Any, Sequence[Series]]]) -> list[Series]:
    return [line for _, own in lines for line in own]


def _by_variant(trials: Sequence[Row], of: Any = None, text: Any = None) -> list[Series]:
    """A line for each variant over size: of the time, or of what `of` says."""
    found = []
    names = {line_of(t, trials): t for t in trials}
    for line, any_of in sorted(
        names.items(), key=lambda item: (rank_of(item[1]["variant"]), item[0])
    ):
        own = sorted((t for t in trials if line_of(t, trials) == line), key=size_of)
        colour, shape = VARIANTS.get(any_of["variant"], (INK, "cross"))
        dash = PAGE_DASH.get(pages_of(any_of), "solid") if line != any_of["variant"] else "solid"
        rows = [_point(t, size_of(t), of(t) if of else t, text) for t in own]
        if any(r["value"] is not None for r in rows):
            found.append(Series(line, colour, shape, rows, dash))
    return found


def _point(trial: Row, x: float, value: Row, text: Any = None) -> Row:
    """Of a trial, with another value than its time; ringed where the dispatcher was the
    bottleneck."""
    shown = {key: (value or NOTHING)[key] for key in NOTHING}
    found = {**curves.point({**trial, **shown}, x), "ring": bound(trial)}
    return {**found, **text(shown)} if text and value else found


def _ringed(trials: Iterable[Row]) -> list[str]:
    return [RINGED] if any(bound(t) for t in trials) else []


def _caches(machine: Row) -> list[tuple[float, str]]:
    caches = machine["topology"]["caches"] or []
    return [
        (float(c["size"]), f"L{c['level']}, reported")
        for c in caches
        if f"L{c['level']}" in CACHES and c["type"] != "instruction"
    ]


def _inside(marks: Iterable[tuple[float, str]], x: Axis) -> list[tuple[float, str]]:
    return [(at, label) for at, label in marks if x.domain[0] < at < x.domain[1]]


def _flow(trials: Sequence[Row], name: str, title: str) -> list[charts.Picture]:
    """Throughput and waiting, a row of two panels for each setting."""
    found = [(of, own) for of, own in _curved(trials) if any(metric(t, "throughput") for t in own)]
    if not found:
        return []
    several = differing([tuple(of.items()) for of, _ in found])
    lines = [(of, _by_variant(own, _throughput, as_rate)) for of, own in found]
    x, y = curves.size_axis(_all(lines), "size of the array"), rate_axis(_all(lines))
    drawn = []
    for (of, own), (_, rates) in zip(found, lines):
        dealt = [t for t in own if t["variant"] not in FREE]
        waiting = _by_variant(dealt, lambda t: metric(t, "waiting"), _as_share)
        share = Axis(
            "share of the searchers' time",
            (0, 1.02),
            [0, 0.2, 0.4, 0.6, 0.8, 1],
            "format(datum.value, '.0%')",
            log=False,
        )
        panels = [Panel(f"{words(of, several)}: end to end", x, y, rates, HALF, height=230)]
        panels.append(Panel("waiting for packets", x, share, waiting, HALF, height=230))
        drawn.append((own, panels))
    return curves.in_parts(drawn, name, title, FLOW_HELP, _ringed)


def _throughput(trial: Row) -> Row:
    return metric(trial, "throughput")


def _as_share(value: Row) -> Row:
    return generic.said(value, "1")


def as_rate(value: Row) -> Row:
    return {
        "text": units.quantity(value["value"], "key/s"),
        "interval": units.interval({**value, "unit": "key/s"}),
    }


def rate_axis(lines: Sequence[Series]) -> Axis:
    axis = curves.time_axis(lines)
    factor, unit = units.scale([axis.domain[1]], "key/s")
    return Axis(unit, axis.domain, axis.ticks, f"format(datum.value / {factor!r}, '~g')")


# What the gain is made of.


def gains(trials: Sequence[Row]) -> list[Row]:
    """For each setting but for the method, and each kind of pages: by size the gains with each
    method, and their parts."""
    groups: dict[Any, list[Row]] = {}
    for t in trials:
        if t["variant"] in ("whole", "routed", "divided"):
            of = setting(t)
            method = of.pop("search", METHOD)
            groups.setdefault((tuple(of.items()), pages_of(t)), []).append({**t, "method": method})
    found: list[Row] = []
    for (items, pages), own in groups.items():
        of = dict(items)
        lines = [
            line
            for size in sorted({size_of(t) for t in own})
            if (line := _gain(size, own, of))["by"]
        ]
        if any(
            name.startswith("whole/")
            for line in lines
            for gained in line["by"].values()
            for name in gained
        ):
            found.append(
                {
                    "of": of,
                    "name": (
                        in_full(of)
                        + (f", pages {pages}" if len({p for _, p in groups}) > 1 else "")
                    ),
                    "methods": [
                        m for m in (METHOD, OTHER_METHOD) if any(m in line["by"] for line in lines)
                    ],
                    "lines": lines,
                    "other": _other(of),
                    "conclusion": "" if _alone(of) else _conclusion(lines),
                    "alone": _alone(of),
                }
            )
    least = min((len(line["other"]) for line in found), default=0)
    return [{**line, "beside": len(line["other"]) == least} for line in found]


def _alone(of: dict[str, str]) -> bool:
    """Whether there is but one searcher, beside the dispatcher: the owner of everything."""
    return of.get("threads") == "2"


def _other(of: dict[str, str]) -> list[str]:
    """What is not as published, whatever the method."""
    return differs_from_published({"search": METHOD, **of})


def _gain(size: int, trials: Sequence[Row], of: dict[str, str]) -> Row:
    at = {(t["method"], t["variant"]): t for t in trials if size_of(t) == size}
    by: dict[str, dict[str, Row]] = {}
    for method in (METHOD, OTHER_METHOD):
        for one, other in GAINS:
            pair = at.get((method, one)), at.get((method, other))
            value = ratio(pair[0], pair[1]) if pair[0] and pair[1] else None
            if value:
                value["bound"] = any(bound(t) for t in pair if t)
                by.setdefault(method, {})[f"{one}/{other}"] = value
    parts = parts_of(by)
    theirs = published_gains().get(size) if of.get("keys") == "uniform" else None
    gain = by.get(METHOD, {}).get("whole/divided")
    return {
        "size": size,
        "by": by,
        "parts": parts,
        "most": "" if _alone(of) else most_of(gain, parts),
        "published": theirs,
        "verdict": _verdict(gain),
    }


def parts_of(by: dict[str, dict[str, Row]]) -> dict[str, Row]:
    """The factors of whole/divided with branches; {} where a trial is missing."""
    with_branches = by.get(METHOD, {}).get("whole/routed")
    without = by.get(OTHER_METHOD, {}).get("whole/routed")
    steps = by.get(METHOD, {}).get("routed/divided")
    if not (with_branches and without and steps):
        return {}
    prediction = ratio(with_branches, without)
    assert prediction
    return {"locality": without, "prediction": prediction, "shorter search": steps}


def most_of(gain: Optional[Row], parts: dict[str, Row]) -> str:
    """Which part is the greatest, if its interval lies above the others'."""
    if (
        not parts
        or not gain
        or any(p["low"] is None for p in (gain, *parts.values()))
        or gain["low"] <= 1
    ):
        return ""
    name = max(parts, key=lambda part: float(parts[part]["value"]))
    clear = parts[name]["low"] > max(p["high"] for other, p in parts.items() if other != name)
    return name if clear and all(map(is_sound, parts.values())) else UNSURE


def _verdict(gain: Optional[Row]) -> str:
    """Whether divided is faster, as published."""
    if not gain or gain["low"] is None or not is_sound(gain):
        return UNSURE
    return AGREES if gain["low"] > 1 else DIFFERS if gain["high"] < 1 else UNSURE


def _conclusion(lines: Sequence[Row]) -> str:
    """What the record says of "divided is faster", over all sizes of a setting."""
    judged = [
        line for line in lines if METHOD in line["by"] and "whole/divided" in line["by"][METHOD]
    ]
    if not judged:
        return ""
    said = []
    for kind in (AGREES, DIFFERS, UNSURE):
        sizes = [size_text(line["size"]) for line in judged if line["verdict"] == kind]
        if sizes:
            said.append(f"{kind} at {', '.join(sizes)}")
    return "; ".join(said)


def published_gains() -> dict[int, float]:
    """Of whole over divided, by size."""
    found = published_times()
    return {size: found["whole"][size] / time for size, time in found["divided"].items()}


def published_times() -> dict[str, dict[int, float]]:
    """s for a packet, by variant and size."""
    found: dict[str, dict[int, float]] = {}
    for f in published.figures("search", "time per packet"):
        found.setdefault(f.variant, {})[int(f.parameters["array_bytes"])] = f.value
    return found


def published_machine() -> str:
    return published.figures("search", "time per packet")[0].machine


def _cited(settings: Iterable[dict[str, str]]) -> list[str]:
    """Whose grey lines these are, if there are any."""
    if all(differs_from_published(of) for of in settings):
        return []
    source = published.figures("search", "time per packet")[0].source
    return [
        f"Grey: published of another machine, {published_machine()}, to which its times belong.",
        _citation(source),
    ]


def _citation(source: str) -> str:
    return f"{source}: {published.sources()[source]}"


def _published_lines(of: dict[str, str]) -> list[Series]:
    """Where the setting is the published one."""
    if differs_from_published(of):
        return []
    return [
        Series(
            f"{variant}, published",
            GREY,
            VARIANTS[variant][1],
            [
                {**curves.bare(size, value), "trial": f"published: {variant}"}
                for size, value in sorted(sizes.items())
            ],
            "dashed",
            1.2,
        )
        for variant, sizes in published_times().items()
    ]


def _parts(trials: Sequence[Row], name: str, title: str) -> Optional[charts.Picture]:
    """The gain and its factors over size, a panel for each setting that has them; one searcher
    alone has nothing to divide."""
    found = [
        of
        for of in gains(trials)
        if not of["alone"] and sum(bool(line["parts"]) for line in of["lines"]) > 1
    ]
    if not found:
        return None
    drawn = [(of, _part_lines(of)) for of in found]
    x, y = curves.size_axis(_all(drawn), "size of the array"), _times_axis(_all(drawn))
    width = HALF if len(found) > 1 else WIDE
    panels = [Panel(of["name"], x, y, lines, width, height=230) for of, lines in drawn]
    used = [t for t in trials if t["variant"] in ("whole", "routed", "divided") and t["value"]]
    grey = [of for of in found if of["beside"] and any(line["published"] for line in of["lines"])]
    extra = []
    if grey:
        other = ", and of another setting" if grey[0]["other"] else ""
        extra = [f"Grey: published of another machine, {published_machine()}{other}."]
        extra += [f"Here {', '.join(grey[0]['other'])}."] if other else []
        extra.append(_citation(published.figures("search", "time per packet")[0].source))
    return curves.draw(name, title, PARTS_HELP, used, panels, extra, columns=2)


def _part_lines(of: Row) -> list[Series]:
    lines = [line for line in of["lines"] if line["parts"]]
    series = []
    if of["beside"]:
        rows = [
            _factor_of(line["size"], {**NO_TRIAL, "value": line["published"]}, "published")
            for line in lines
            if line["published"]
        ]
        series += [Series("published", GREY, "circle", rows, "dashed", 1.2)] if rows else []
    gain = [
        _factor_of(line["size"], line["by"][METHOD].get("whole/divided"), "whole/divided")
        for line in lines
    ]
    series.append(Series("whole/divided", BLUE, "circle", [g for g in gain if g], width=2.4))
    for part, (colour, shape) in PARTS.items():
        series.append(
            Series(
                part,
                colour,
                shape,
                [_factor_of(line["size"], line["parts"][part], part) for line in lines],
            )
        )
    return series


def _factor_of(size: int, value: Optional[Row], what: str) -> Row:
    if value is None:
        return {}
    of = {**value, "id": None, "variant": what, "everything": f"at {size_text(size)}"}
    said = units.number(value["value"]) + " ×"
    return {
        **curves.point(of, size),
        "text": said,
        "interval": units.interval({**value, "unit": "1"}),
    }


def _times_axis(lines: Sequence[Series]) -> Axis:
    ends = [v for line in lines for p in line.rows for v in (p["value"], p["low"], p["high"]) if v]
    low, high = min([0.95, *(v / 1.05 for v in ends)]), max([1.25, *(v * 1.05 for v in ends)])
    steps = [0.1, 0.2, 0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 20, 50, 100]
    if high / low < 3:
        steps = sorted({*steps, 0.8, 0.9, 1.1, 1.2, 1.3, 1.4, 1.7, 2.5})
    return Axis(
        "times as fast",
        (low, high),
        [t for t in steps if low <= t <= high],
        "format(datum.value, '~g') + ' ×'",
    )


# Skew.


def skews(trials: Sequence[Row]) -> list[Row]:
    """For each setting but for the keys that has skewed ones: what they do to each variant with
    owners."""
    groups: dict[Any, list[Row]] = {}
    for t in trials:
        if t["variant"] in OWNED and "keys" in t["parameters"]:
            of = setting(t)
            del of["keys"]
            groups.setdefault((size_of(t), tuple(of.items()), pages_of(t)), []).append(t)
    skewed = {
        key: own
        for key, own in groups.items()
        if any(t["parameters"]["keys"] != "uniform" for t in own)
    }
    several = differing([key[1] for key in skewed])
    found = []
    for (size, items, pages), own in skewed.items():
        name = f"{size_text(size)}, {words(dict(items), (*several, 'threads'))}"
        name += f", pages {pages}" if len({p for _, _, p in skewed}) > 1 else ""
        lines = []
        for t in sorted(own, key=_skew_order):
            plain = next(
                (u for u in own if u["variant"] == "divided" and keys_of(u) == keys_of(t)), None
            )
            gain = _rates(t, plain) if plain and plain is not t else None
            lines.append({**t, "of": known(t), "keys": keys_of(t), "bound": bound(t), "gain": gain})
        found.append({"name": name, "lines": lines})
    return found


def _skew_order(trial: Row) -> tuple[int, str, int]:
    keys = str(trial["parameters"]["keys"])
    return (
        KEYS.index(keys) if keys in KEYS else len(KEYS),
        keys_of(trial),
        rank_of(trial["variant"]),
    )


def _rates(one: Row, other: Row) -> Optional[Row]:
    """Throughput of one trial over that of another."""
    mine, its = metric(one, "throughput"), metric(other, "throughput")
    return ratio({**one, **mine}, {**other, **its}) if mine and its else None


def _skewed(trials: Sequence[Row], name: str, title: str) -> list[charts.Picture]:
    """Bars of what skew does, beside each other."""
    rows = []
    for of in skews(trials):
        for i, t in enumerate(of["lines"]):
            first = i == 0 or of["lines"][i - 1]["keys"] != t["keys"]
            rows.append(
                {
                    **{
                        key: t[key] for key in ("id", "whole", "flag", "status", "reasons", "value")
                    },
                    "panel": of["name"],
                    "first": t["keys"] if first else "",
                    "point": t["variant"],
                    "trial": f"{t['variant']} {t['everything']}",
                    "cells": t["of"],
                    "beside": "○ dispatcher-bound" if t["bound"] else "",
                }
            )
    columns = [
        charts.Column("imbalance", "busiest / mean", "1"),
        charts.Column("idle", "idle: least busy", "%"),
        charts.Column("waiting", "waiting: all", "%"),
        charts.Column("throughput", "end to end", "key/s"),
    ]
    return charts.columns(rows, columns, name, title, SKEW_HELP, curves.NOTES)


# The fastest.


def fastest(trials: Sequence[Row]) -> list[Row]:
    """Trials of best: time of a key, how many threads gain, what the layout costs."""
    own = [t for t in trials if t["variant"] == "best" and metric(t, "key-time")]
    found = []
    for t in sorted(
        own,
        key=lambda t: (
            str(t["parameters"].get("type")),
            keys_of(t),
            pages_of(t),
            size_of(t),
            t["threads"],
        ),
    ):
        alike = [u for u in own if _of_best(u) == _of_best(t) and size_of(u) == size_of(t)]
        fewest = min(alike, key=lambda u: int(u["threads"]))
        build = metric(t, "build-time")
        found.append(
            {
                **t,
                "key": metric(t, "key-time"),
                "work": best_words(t, own),
                "speed_up": _rates(t, fewest) if fewest is not t else None,
                "build_element": build["value"] / elements(t) if build else None,
                "of": known(t),
            }
        )
    return found


def elements(trial: Row) -> float:
    """Of the array."""
    return size_of(trial) / (8 if trial["parameters"].get("type") == "u64" else 4)


def _of_best(trial: Row) -> tuple[tuple[str, str], ...]:
    """What a line over size is of, but for the threads."""
    return (
        *((k, v) for k, v in setting(trial).items() if k != "threads"),
        ("pages", pages_of(trial)),
    )


def best_words(trial: Row, among: Iterable[Row]) -> str:
    several = differing([_of_best(t) for t in among])
    said = words(setting(trial), several)
    return said + (f", pages {pages_of(trial)}" if "pages" in several else "")


def _best(trials: Sequence[Row], machine: Row, name: str, title: str) -> Optional[charts.Picture]:
    """Two panels for each type: over size, and over threads."""
    own = fastest(trials)
    groups: dict[str, list[Row]] = {}
    for t in own:
        groups.setdefault(t["work"], []).append(t)
    lines = [(work, _over_size_by_threads(of)) for work, of in groups.items() if many_sizes(of)]
    gained = {
        work: _over_threads(of)
        for work, of in groups.items()
        if len({t["threads"] for t in of}) > 1
    }
    if not lines and not gained:
        return None
    panels = []
    width = WIDE if len(lines) == 1 and not gained else HALF
    axes = (
        (
            curves.size_axis(_all(lines), "size of the array"),
            curves.time_axis(_all(lines), "ns for a key"),
        )
        if lines
        else None
    )
    drawn = dict(lines)
    for work in groups:
        if axes and work in drawn:
            x, y = axes
            panels.append(
                Panel(
                    f"{work}: time for a key",
                    x,
                    y,
                    drawn[work],
                    width,
                    height=250,
                    marks=_inside(_caches(machine), x),
                )
            )
        if gained.get(work):
            ideal = gained[work][0].rows
            y = _times_axis([*gained[work]])
            y.title = "times the keys of the fewest threads"
            panels.append(
                Panel(f"{work}: threads", _over(ideal), y, gained[work], HALF, height=250)
            )
    shown = curves.in_order(
        t for work, of in groups.items() if work in drawn or work in gained for t in of
    )
    return curves.draw(name, title, BEST_HELP, shown, panels, columns=2)


def _over_size_by_threads(own: Sequence[Row]) -> list[Series]:
    found = []
    for i, threads in enumerate(sorted({t["threads"] for t in own})):
        colour, shape = RANKED[i % len(RANKED)]
        rows = [
            _point(t, size_of(t), t["key"])
            for t in sorted(own, key=size_of)
            if t["threads"] == threads
        ]
        dash = list(curves.DASHES)[i // len(RANKED) % len(curves.DASHES)]
        found.append(Series(f"{threads} thread{'s' * (threads > 1)}", colour, shape, rows, dash))
    return found


def _over_threads(own: Sequence[Row]) -> list[Series]:
    """How many times the keys of the fewest threads, a line for each size; first the ideal."""
    counts = sorted({t["threads"] for t in own})
    found = [
        Series(
            "",
            GREY,
            "circle",
            [curves.bare(n, n / counts[0]) for n in (counts[0], counts[-1])],
            "dotted",
            1,
            points=False,
        )
    ]
    sizes = sorted({size_of(t) for t in own})
    for i, size in enumerate(sizes):
        colour, shape = RANKED[i % len(RANKED)]
        dash = list(curves.DASHES)[i // len(RANKED) % len(curves.DASHES)]
        rows = []
        for t in sorted((t for t in own if size_of(t) == size), key=lambda t: int(t["threads"])):
            gain = t["speed_up"] or {**NO_TRIAL, "value": 1.0}
            rows.append(
                {**_point(t, t["threads"], gain), "text": f"{units.number(gain['value'])} ×"}
            )
        if len(rows) > 1:
            found.append(Series(size_text(size), colour, shape, rows, dash))
    return found


def _over(points: Sequence[Row]) -> Axis:
    return curves.thread_axis(_powers(int(points[0]["x"]), int(points[-1]["x"])))


def _powers(least: int, most: int) -> list[int]:
    found = [least]
    while found[-1] * 2 < most:
        found.append(found[-1] * 2)
    return [*found, most]


# Of one run: what stands above its pictures.


def by_size(trials: Sequence[Row]) -> list[Row]:
    """For each setting the times of a packet, by size and variant; published ones where the
    setting is theirs."""
    found = []
    for of, own in by_setting(trials):
        lines = {line_of(t, own): t for t in own if t["value"]}
        names = sorted(lines, key=lambda line: (rank_of(lines[line]["variant"]), line))
        theirs = {} if differs_from_published(of) else published_times()
        sizes = sorted(
            {size_of(t) for t in own if t["value"] and t["variant"] != "best"}
        )  # which has a table of its own
        rows = [
            {
                "size": size,
                "published": {v: theirs[v].get(size) for v in theirs},
                "by": {
                    line_of(t, own): {**t, "bound": bound(t)}
                    for t in own
                    if size_of(t) == size and t["value"]
                },
            }
            for size in sizes
        ]
        if rows:
            found.append(
                {"name": in_full(of), "lines": names, "rows": rows, "published": list(theirs)}
            )
    return found


def section(trials: Sequence[Row]) -> Row:
    return {
        "times": by_size(trials),
        "gains": gains(trials),
        "skews": skews(trials),
        "best": fastest(trials),
        "flow": [
            {
                **t,
                "of": known(t),
                "setting": words(setting(t), ("keys", "packet")),
                "bound": bound(t),
                "size": size_of(t),
                "line": line_of(t, trials),
            }
            for t in sorted(trials, key=_table_order)
            if t["value"]
        ],
    }


def _table_order(trial: Row) -> tuple[Any, ...]:
    of = trial["parameters"]
    keys = str(of.get("keys", ""))
    place = KEYS.index(keys) if keys in KEYS else len(KEYS)
    return (
        str(of.get("type")),
        trial["threads"],
        place,
        rank_of(trial["variant"]),
        str(of.get("search")),
        size_of(trial),
    )


def missing(runs: Iterable[Row], scaled: Sequence[Row], peers: Sequence[Row]) -> list[str]:
    """What is not on the page, and why."""
    own = list(runs)
    found = []
    if not any(of["gains"] for of in own):
        found.append(
            "What dividing gains: no setting has values of two of whole, routed and divided."
        )
    elif not any(line["parts"] for of in own for g in of["gains"] for line in g["lines"]):
        found.append(
            "What the gain is made of: that takes whole, routed and divided with --search"
            f" {METHOD}, and the first two with {OTHER_METHOD}."
        )
    if not any(of["skews"] for of in own):
        found.append(
            "What skewed keys do: no trial of divided, weighted or stealing has any (--keys"
            " uniform,zipf,hot)."
        )
    if not any(of["best"] for of in own):
        found.append("The fastest: best was not run, or has no value.")
    if not scaled:
        found.append(
            "Scaling: no two runs search the same array, or as much a rank, with different numbers"
            " of ranks (locus-mpi search)."
        )
    if not peers:
        found.append("Other programs: no comparison is in these records.")
    return found
