# SPDX-License-Identifier: Apache-2.0
"""Before a comparison is measured: how many runs a side find a change, and which change the runs
at hand would find, from the scatter between runs that records have."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Optional

import numpy as np

from ..base import units
from . import comparison, formats, inference, observations, power
from .comparison import HARMLESS, LEAST_PAIRS
from .inference import LEVEL, Array
from .observations import HeadedMetric, Side

Thresholds = Sequence[tuple[str, float]]

EFFECT = 5 / 3  # the change to be found, of the threshold, where no other is given: 5 % of 3 %
STEPS = (*range(4, 9), 10, 12, 16, 24)  # units a side that are simulated; between, they are scaled
MOST = 200  # units a side
FEW = 6  # units, of fewer of which the scatter is rough
SHARES = (("half need", 0.5), ("90 % need", 0.9), ("all need", 1.0))  # of metrics
COLUMNS = ("metric", "setting", "unit", "scatter", "least", "threshold", "effect", "needed")


class Planned(comparison.Named):
    """How large a change of a metric the runs can find. Changes are shares."""

    scatter: Optional[float]  # between units; none where there is one
    threshold: float
    effect: float  # the change that is to be found
    least: Optional[float]  # the change that the units at hand find
    needed: Optional[int]  # units a side; none: more than MOST


@dataclass
class Plan:
    units: tuple[int, ...]  # of each side that was given
    hosts: list[str]
    what: str  # the unit: run, node
    paired: bool
    reason: str = ""  # why nothing can be planned
    metrics: list[Planned] = field(default_factory=list)  # those that need most runs first
    unused: list[str] = field(default_factory=list)  # options whose pattern has no metric, in words

    @property
    def at_hand(self) -> int:
        return min(self.units)

    @property
    def status(self) -> int:
        known = [m for m in self.metrics if m["scatter"] is not None]
        return comparison.GOOD if known else comparison.CANNOT_TELL


def plan(old: Side, new: Optional[Side], thresholds: Thresholds, effects: Thresholds) -> Plan:
    """From one side's runs, or both sides'; pairs where both alternated."""
    old, other = observations.comparable(old, new or old, LEAST_PAIRS)
    seen = observations.by_clock(observations.observe(old, other, LEAST_PAIRS))
    y = [seen.old, seen.new] if new else [seen.old]
    paired = seen.paired and new is not None
    hosts = sorted({*old.hosts, *other.hosts})
    made = Plan(tuple(map(len, y)), hosts, "node" if seen.nodes else "run", paired)
    where = "on both sides" if new else "in these runs"
    if not seen.metrics:
        made.reason = f"no metric with a valid result is {where}"
        return made
    of = [seen.new - seen.old] if paired else y
    kinds = [f"{m['benchmark']} {m['name']}" for m in seen.metrics]
    rest = _residuals(of)
    scatter, _ = inference.spread(rest, kinds, len(of))
    if not np.isfinite(scatter).any():
        made.reason = (
            f"one {made.what} a side: the scatter between {made.what}s is unknown; measure several:"
            " locus ... --runs 6"
        )
    said = comparison.words(seen.metrics)
    made.metrics = [
        _row(m, w, thresholds, effects, float(s)) for m, w, s in zip(seen.metrics, said, scatter)
    ]
    made.unused = [
        f"--{name} {pattern}: no such metric is {where}"
        for name, given in (("threshold", thresholds), ("effect", effects))
        for pattern in comparison.unused(made.metrics, given)
    ]
    known = np.flatnonzero(np.isfinite(scatter))
    if known.size:
        source = power.Source(rest[:, known], scatter[known], len(rest) - len(of))
        _find(made, [made.metrics[i] for i in known], source, [kinds[i] for i in known])
    made.metrics.sort(key=lambda m: (-(m["needed"] or np.inf), -(m["scatter"] or np.inf)))
    return made


def _residuals(y: Sequence[Array]) -> Array:
    """What differs from the mean of each side."""
    with np.errstate(invalid="ignore"):
        return np.vstack([of - np.nansum(of, 0) / np.isfinite(of).sum(0) for of in y])


def _row(
    m: HeadedMetric, words: str, thresholds: Thresholds, effects: Thresholds, scatter: float
) -> Planned:
    name = f"{m['benchmark']}/{m['variant']}/{m['name']}"
    threshold = comparison.of_pattern(name, words, thresholds, comparison.THRESHOLD)
    return {
        "name": name,
        "words": words,
        "headline": m["headline"],
        "unit": m["unit"],
        "scatter": float(np.expm1(scatter)) if np.isfinite(scatter) else None,
        "threshold": threshold,
        "effect": comparison.of_pattern(name, words, effects, EFFECT * threshold),
        "least": None,
        "needed": None,
    }


def _find(
    made: Plan, metrics: Sequence[Planned], source: power.Source, kinds: Sequence[str]
) -> None:
    """What the units at hand find, and how many are needed."""
    threshold, effect = (np.log1p([m[key] for m in metrics]) for key in ("threshold", "effect"))
    harmless = np.log1p([HARMLESS * m["threshold"] for m in metrics])
    simulated: dict[int, power.Simulated] = {}

    def least(n: int) -> Array:
        step = max(s for s in steps if s <= n)
        if step not in simulated:
            simulated[step] = power.simulate(source, kinds, step, made.paired)
        return simulated[step].least(n, source.scatter, threshold, harmless)

    steps = [s for s in STEPS if inference.least_p(s, s, made.paired) <= LEVEL]
    if made.at_hand >= steps[0]:
        for m, change in zip(metrics, least(made.at_hand)):
            m["least"] = float(np.expm1(change)) if np.isfinite(change) else None
    n = steps[0]
    while n <= MOST and not all(m["needed"] for m in metrics):
        for m, is_found in zip(metrics, least(n) <= effect):
            m["needed"] = m["needed"] or (n if is_found else None)
        n += max(1, n // 16)


# ---- what is said of it ----


def heading(made: Plan) -> list[str]:
    many = " and ".join(units.several(n, made.what) for n in made.units)
    hosts = ", ".join(made.hosts[:2]) + (", ..." if len(made.hosts) > 2 else "")
    lines = [f"{many} of {hosts}, {'in pairs' if made.paired else 'not paired'}"]
    if made.reason:
        return [*lines, made.reason, *made.unused]
    if made.at_hand < FEW:
        lines.append(
            f"so few {made.what}s give the scatter only roughly: measure more than planned"
        )
    if len(made.units) == 1:
        lines.append(
            f"{LEAST_PAIRS} or more runs that --measure alternates are compared in pairs: to plan"
            " for these, give such runs of both sides"
        )
    return lines


def summary(made: Plan) -> list[str]:
    known = [m for m in made.metrics if m["scatter"] is not None]
    if not known:
        return []
    within = formats.percents(m["threshold"] for m in known)
    found = [m for m in known if m["effect"] > m["threshold"]]
    lines = [_to_find(made, found)] if found else []
    if len(found) < len(known):
        lines.append(
            f"{units.several(len(known) - len(found), 'metric')}: the change to be found is within"
            " the threshold, so no number of runs shows it"
        )
    return [
        *lines,
        f"found: slower or faster, beyond {within}, in {100 * power.SHARE:.0f} % of comparisons, at"
        f" {100 * LEVEL:.0f} % over all metrics together",
        f"scatter: standard deviation between {made.what}s"
        + (", of the differences within pairs" if made.paired else ""),
        *made.unused,
    ]


def _to_find(made: Plan, found: Sequence[Planned]) -> str:
    needs = sorted(m["needed"] or MOST + 1 for m in found)
    ends = [(word, needs[int(np.ceil(share * len(needs))) - 1]) for word, share in SHARES]
    told = [f"{word} {_many(n)}" for word, n in {n: (word, n) for word, n in ends}.values()]
    return (
        f"{units.several(len(found), 'metric')}, {made.what}s a side to find"
        f" {formats.percents(m['effect'] for m in found)}: {', '.join(told)}"
    )


def _many(n: Optional[int]) -> str:
    return str(n) if n and n <= MOST else f"more than {MOST}"


def _needs(m: Planned) -> str:
    if m["effect"] <= m["threshold"]:
        return f"within {units.percent(m['threshold'])}"
    return _many(m["needed"])


def cells(made: Plan, m: Planned) -> list[str]:
    return [
        formats.label(m),
        formats.percent(m["scatter"], ""),
        formats.percent(m["least"], ""),
        units.percent(m["effect"]),
        _needs(m) if m["scatter"] is not None else "unknown",
    ]


def titles(made: Plan) -> list[str]:
    return ["metric", "scatter", f"{made.at_hand} a side find", "to find", "needs"]


def _picked(made: Plan, everything: bool) -> list[Planned]:
    return made.metrics if everything else made.metrics[: formats.SHOWN]


def text(made: Plan, everything: bool) -> str:
    width = formats.width()
    picked = _picked(made, everything)
    lines = [part for line in heading(made) for part in formats.wrapped(line, width)]
    if made.reason:
        return "\n".join(lines)
    lines += ["", *formats.aligned([titles(made), *(cells(made, m) for m in picked)], width)]
    left = len(made.metrics) - len(picked)
    lines += [f"{left} more metrics need no more: --all"] if left else []
    told = [part for line in summary(made) for part in formats.wrapped(line, width)]
    return "\n".join([*lines, *([""] if told else []), *told])


def markdown(made: Plan, everything: bool) -> str:
    rows = [titles(made), ["---"] * 5, *(cells(made, m) for m in _picked(made, everything))]
    lines = [*(f"- {line}" for line in heading(made)), "", *units.in_bars(rows), ""]
    return "\n".join([*lines, *(f"{line}  " for line in summary(made))])


def table(made: Plan, _: bool) -> str:
    return formats.in_csv(COLUMNS, map(_flat, made.metrics))


def document(made: Plan, _: bool) -> str:
    told = {
        **{"schema": "locus-plan-1.0", "unit": made.what, "paired": made.paired, "level": LEVEL},
        **{"share": power.SHARE, "units": made.units, "hosts": made.hosts},
        **{"reason": made.reason or None, "unused": made.unused, "most": MOST},
        "metrics": [*map(_flat, made.metrics)],
    }
    return json.dumps(told, indent=1, ensure_ascii=False)


def _flat(m: Planned) -> dict[str, object]:
    told: Mapping[str, object] = m
    return {"metric": m["name"], "setting": m["words"], **{c: told[c] for c in COLUMNS[2:]}}


FORMS = {"table": text, "md": markdown, "csv": table, "json": document}
