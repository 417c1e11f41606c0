# SPDX-License-Identifier: Apache-2.0
"""What others published, held against the record. lessons/NAME.json says it as data:

    "claims": [{ "claim": "Divided is faster than whole.", "value": "whole / divided",
                 "metric": "search-time", "expected": "> 1", "where": { "search": "branchy" },
                 "published": { "figures": "time per packet" } }]

A value is a product of trials that differ in nothing else: `name[parameter=value]`, with `|`
between names of which the best counts, and without a name where all variants have it. A claim
without `expected` is a factor of others: it is drawn, and not judged. With `part` of three - what
costs, the cure, and what costs nothing - it says that the cure takes away most of the cost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Optional

from . import charts, curves, evidence, generic, published, units
from .charts import Picture
from .described import Described, Setting, curved, differing
from .evidence import AGREES, DIFFERS, UNSURE
from .records import can_be_judged, graver

Row = dict[str, Any]

TERM = re.compile(r"([*/]?)\s*([\w.|-]*)(?:\[([^]]*)\])?\s*")


MATTERS = 1.05  # a ratio within so much of 1 is none


@dataclass(frozen=True)
class Term:
    """Of a product: the trials that may stand there."""

    names: tuple[str, ...]  # of variants; empty: of any one
    where: tuple[tuple[str, str], ...]
    divides: bool


def terms(value: str) -> list[Term]:
    return [
        Term(
            tuple(filter(None, m[2].split("|"))),
            tuple((k, v) for k, _, v in (w.partition("=") for w in (m[3] or "").split(",") if w)),
            m[1] == "/",
        )
        for m in TERM.finditer(value.strip())
        if m[0]
    ]


def told(of: Described, trials: Sequence[Row]) -> list[Row]:
    """Each claim of which these trials say anything, with a row for each setting."""
    found = []
    for claim in published.lesson(of.name).get("claims", []):
        own = _rows(of, trials, claim)
        if own:
            theirs = _theirs(of.name, claim)
            judged = [r for r in own if r["verdict"]]
            found.append(
                {
                    **claim,
                    "value": claim.get("value") or PART.format(*claim["part"]),
                    "rows": own,
                    "theirs": theirs,
                    "published": _words(theirs),
                    "conclusion": _conclusion(of, judged) if judged else "",
                }
            )
    return found


def result(claims: Sequence[Row]) -> Optional[str]:
    """One sentence: what became of the first claim that can be judged."""
    first = next((c for c in claims if c["conclusion"]), None)
    return f"Published: {first['claim']} Here: {first['conclusion']}." if first else None


PART = "({0} - {1}) / ({0} - {2})"

# What trials say.


def _rows(of: Described, trials: Sequence[Row], claim: Row) -> list[Row]:
    parsed = [p for v in claim.get("part") or [claim["value"]] for p in terms(v)]
    metric = claim.get("metric", of.headline)
    without = {k for t in parsed for k, _ in t.where}
    without |= {"variant"} if any(t.names for t in parsed) else set()
    without |= set(claim.get("any", []))
    own = [t for t in trials if _has(t, metric) and any(_may_be(of, t, p) for p in parsed)]

    def rest(t: Row) -> Setting:
        return {k: v for k, v in of.setting(t).items() if k not in without}

    settings = list({tuple(rest(t).items()): rest(t) for t in own}.values())
    whole = [s for s in settings if not any(s.items() < other.items() for other in settings)]
    found = []
    for setting in _asked(whole, claim.get("where", {})):
        alike = [t for t in own if rest(t).items() <= setting.items()]
        picked = [_best(of, [t for t in alike if _may_be(of, t, p)], metric) for p in parsed]
        given = [t for t in picked if t]
        if len(given) == len(parsed):
            values = [_valued(t, metric) for t in given]
            if "part" in claim:
                told = _part(values)
            else:
                value = _in_turn(parsed, given, metric) or _product(parsed, values)
                told = {**value, **_judged(claim.get("expected"), value, values)}
            found.append({**given[0], **told, "setting": setting, "metric": metric})
    several = differing([r["setting"] for r in found])
    return [{**r, "where": of.words(r["setting"], several)} for r in found]


def _has(trial: Row, metric: str) -> bool:
    return bool((trial["metrics"].get(metric) or {}).get("value"))


def _may_be(of: Described, trial: Row, term: Term) -> bool:
    setting = of.setting(trial)
    return (not term.names or trial["variant"] in term.names) and all(
        setting.get(k) == v for k, v in term.where
    )


def _asked(settings: Sequence[Setting], where: Setting) -> list[Setting]:
    """Those of which the claim speaks. `most` threads are those that had a CPU each, or else the
    most; `> 2` are three and more."""
    alone = [int(s["threads"]) for s in settings if "threads" in s and "oversubscribed" not in s]
    most = max(alone or [int(s.get("threads", 0)) for s in settings], default=0)

    def fits(value: Optional[str], wanted: str) -> bool:
        if value is None:
            return True
        if wanted == "most":
            return int(value) == most > 1
        if wanted[0] == ">":
            return float(value) > float(wanted[1:])
        return value in wanted.split("|")

    return [s for s in settings if all(fits(s.get(k), v) for k, v in where.items())]


def _best(of: Described, trials: Sequence[Row], metric: str) -> Optional[Row]:
    sign = -1 if of.metrics.get(metric, {}).get("better") == "higher" else 1
    return min(trials, key=lambda t: sign * float(t["metrics"][metric]["value"]), default=None)


def _valued(trial: Row, metric: str) -> Row:
    """With what it is without noise: of what the kernel measured itself, as the time tells."""
    own, time = trial["metrics"][metric], trial["metrics"].get("time") or {}
    known = {key: own.get(key) for key in ("value", "low", "high", "without_noise")}
    if not known["without_noise"] and time.get("without_noise") and time.get("value"):
        known["without_noise"] = known["value"] * time["without_noise"] / time["value"]
    return {**known, **{k: trial[k] for k in ("variant", "flag", "status")}}


def _in_turn(parsed: Sequence[Term], trials: Sequence[Row], metric: str) -> Optional[Row]:
    """The ratio that the record has of these two, which were sampled in turn."""
    if [p.divides for p in parsed] != [False, True]:
        return None
    one, other = trials
    for r in one.get("ratios") or []:
        same = r.get("metric", metric) == metric and r["trial"] == other.get("id")
        if same and r["value"] is not None:
            low, high = r.get("ci") or (None, None)
            return {"value": r["value"], "low": low, "high": high, **graver(one, other)}
    return None


def _part(values: Sequence[Row]) -> Row:
    """How much of a cost the cure takes away."""
    worse, better, base = values
    names = {"worse": worse["variant"], "better": better["variant"], "base": base["variant"]}
    gain, cost = evidence.ratio(worse, better), evidence.ratio(worse, base)
    why = evidence.unfit(*values)
    assert gain and cost
    grave: Row = {"flag": None, "status": "ok", "value": None, "low": None, "high": None}
    for v in values:
        grave.update(graver(grave, v))
    if why:
        return {**grave, "verdict": UNSURE, "why": why}
    if gain["high"] <= MATTERS:
        faster = gain["high"] < 1 / MATTERS
        why = "{worse} is even faster" if faster else "{better} gains less than 5 % over {worse}"
        return {**grave, "verdict": DIFFERS, "why": why.format(**names)}
    if gain["low"] <= MATTERS:
        why = "the intervals allow that {better} gains nothing"
    elif cost["high"] <= MATTERS:
        why = "{worse} costs nothing over {base}"
    elif cost["low"] <= 1:
        why = "whether {worse} costs anything over {base} is open"
    else:
        part = evidence.taken_away(worse, better, base)
        return {**grave, **part, "verdict": evidence.of_most(part), "why": ""}
    return {**grave, "verdict": UNSURE, "why": why.format(**names)}


def _product(parsed: Sequence[Term], values: Sequence[Row]) -> Row:
    """With what all intervals allow."""
    known = all(v["low"] and v["high"] for v in values)
    found: Row = {"value": 1.0, "low": 1.0 if known else None, "high": 1.0 if known else None}
    for term, v in zip(parsed, values):
        ends = ("high", "low") if term.divides else ("low", "high")
        for key, end in zip(("value", "low", "high"), ("value", *ends)):
            if found[key] is not None:
                found[key] = found[key] / v[end] if term.divides else found[key] * v[end]
    worst: Row = values[0]
    for v in values[1:]:
        worst = graver(worst, v)
    return {**found, "flag": worst["flag"], "status": worst["status"]}


def _judged(expected: Optional[str], value: Row, trials: Sequence[Row]) -> Row:
    """By the interval: what it leaves open is not told, nor is anything that noise moved."""
    if not expected:
        return {"verdict": "", "why": ""}
    unsound = next((t for t in trials if not can_be_judged(t)), None)
    if unsound:
        return {"verdict": UNSURE, "why": f"{unsound['variant']} is {unsound['status']}"}
    if value["low"] is None:
        return {"verdict": UNSURE, "why": "there is no interval"}
    low, high = bounds(expected)
    if low <= value["low"] and value["high"] <= high:
        return {"verdict": AGREES, "why": ""}
    if value["high"] < low or high < value["low"]:
        return {"verdict": DIFFERS, "why": f"expected {expected}"}
    return {"verdict": UNSURE, "why": f"its interval allows {expected}, and that it is not"}


def bounds(expected: str) -> tuple[float, float]:
    """ "> 1", "< 1", "0.9 to 1.1"."""
    if expected[0] in "<>":
        at = float(expected[1:])
        return (at, float("inf")) if expected[0] == ">" else (0.0, at)
    low, high = expected.split(" to ")
    return float(low), float(high)


def _conclusion(of: Described, rows: Sequence[Row]) -> str:
    """Of one setting the value; of several how many say what, named where they differ in one
    thing."""
    if len(rows) == 1:
        (r,) = rows
        why = f": {r['why']}" if r["why"] else ""
        value = f", {evidence.times(r)}" if r["value"] is not None else ""
        return f"{r['verdict']}{value}{why}"
    several = differing([r["setting"] for r in rows])
    said = []
    for verdict in (AGREES, DIFFERS, UNSURE):
        own = [r for r in rows if r["verdict"] == verdict]
        if own and len(several) == 1:
            places = [of.amount(several[0], r["setting"].get(several[0], "")) for r in own]
            said.append(f"{verdict} at {several[0]} {', '.join(places)}")
        elif own:
            ends = [r["value"] for r in own if r["value"] is not None]
            least, most = (units.number(f(ends, default=0)) for f in (min, max))
            ends_said = f" ({least} to {most})" if ends and least != most else ""
            said.append(f"{verdict} in {len(own)} of {len(rows)} settings{ends_said}")
    return "; ".join(said)


# What was published.


def _theirs(benchmark: str, claim: Row) -> list[published.Theirs]:
    """As a ratio, or from published figures as from trials: those that differ in the variant
    alone; of repeats the median."""
    rule = claim.get("published")
    if not rule:
        return []
    names = rule.get("names", {})

    def theirs(f: published.Figure, value: float) -> published.Theirs:
        at = {names.get(k, k): v for k, v in f.parameters.items() if k not in rule.get("any", [])}
        return published.Theirs(f.source, f.machine, f.threads, at, value)

    if "ratio" in rule:
        return [
            theirs(f, f.value)
            for f in published.ratios(benchmark)
            if rule["ratio"] in (f.variant, f.parameters.get("compare")) and _speaks_of(claim, f)
        ]
    groups: dict[Any, dict[str, list[published.Figure]]] = {}
    for f in published.figures(benchmark, rule["figures"]):
        key = (f.machine, f.threads, *sorted(theirs(f, 0).at.items()))
        groups.setdefault(key, {}).setdefault(f.variant, []).append(f)
    found = []
    for by in groups.values():
        value = 1.0
        for term in terms(rule.get("value") or claim["value"]):
            figures = [f for name in term.names for f in by.get(name, [])]
            middle = sorted(f.value for f in figures)[len(figures) // 2] if figures else None
            value = 0 if not middle else value / middle if term.divides else value * middle
        first = next(iter(by.values()))[0]
        if value and _speaks_of(claim, first):
            found.append(theirs(first, value))
    return found


def _speaks_of(claim: Row, f: published.Figure) -> bool:
    wanted = claim.get("where", {}).get("threads")
    if f.threads is None or wanted is None:
        return True
    return str(f.threads) == wanted if wanted.isdecimal() else f.threads > 1


def _words(theirs: Sequence[published.Theirs]) -> str:
    """Of each machine and number of threads the range."""
    groups: dict[tuple[str, Optional[int]], list[float]] = {}
    for t in theirs:
        groups.setdefault((t.machine, t.threads), []).append(t.value)
    return "; ".join(
        " to ".join(dict.fromkeys(map(units.number, (min(values), max(values)))))
        + f" ({', '.join(filter(None, (short(machine), said_threads(threads))))})"
        for (machine, threads), values in groups.items()
    )


def short(machine: str) -> str:
    """2x Xeon E5-2680 v3, 24 cores."""
    return machine.split(",")[0].replace("Intel ", "").replace(" (", ", ").rstrip(")")


def said_threads(n: Optional[int]) -> str:
    return "" if n is None else f"{n} thread{'s' * (n != 1)}"


# Pictures.


KIND = "ratio"  # the metric that a claim's rows have
HELP = "What was published, and what it is here; {}. Lines across are 95 % intervals."


def pictures(
    of: Described, claims: Sequence[Row], machine: Row, name: str, title: str
) -> list[Picture]:
    """Curves where there is an x axis; else bars, with the published ones in grey."""
    claims = [c for c in claims if "part" not in c]
    rows = [_drawn(of, c, r) for c in claims for r in c["rows"]]
    meant = {c["name"]: c["claim"] for c in claims}
    metric = {"unit": "1", "better": None, "help": "how many times as much"}
    alike = replace(
        of,
        ratios=(),
        metrics={KIND: metric},
        variants=meant,
        theirs=tuple((c["name"], t) for c in claims for t in c["theirs"]),
    )
    found: list[Picture] = []
    shown: set[int] = set()
    for x, groups in curved(alike, rows):
        if not shown and x != "threads" and len(groups) <= generic.MANY:
            found = generic.over(alike, rows, machine, x, groups, KIND, name, title)
            shown = {id(t) for g in groups for t in g.trials}
    left = [
        (c, [r for r in rows if r["variant"] == c["name"] and id(r) not in shown]) for c in claims
    ]
    bars = [b for c, own in left if own for b in _bars(c, own)]
    if bars:
        data, panels = charts.ratios(bars[: charts.ROWS], KIND)
        said = HELP.format("; ".join(f"{n}: {m}" for n, m in meant.items()))
        file = f"{name}-bars" if found else name
        used = [r for _, own in left for r in own]
        cited = [
            f"{k}: {published.sources()[k]}"
            for k in {t.source for c in claims for t in c["theirs"]}
        ]
        found.append(charts.picture(file, title, said, used, panels, data, cited, curves.NOTES))
    return found


def _drawn(of: Described, claim: Row, row: Row) -> Row:
    """A row as if it were a trial."""
    setting = row["setting"]
    parameters = {k: v for k, v in row["parameters"].items() if k in setting}
    value = {**{k: row[k] for k in ("value", "low", "high")}, "unit": "1"}
    return {
        **row,
        **value,
        "variant": claim["name"],
        "parameters": {
            **parameters,
            **({"of": setting["variant"]} if "variant" in setting else {}),
        },
        "metrics": {KIND: value},
        "better": None,
        "panel": "",
        "point": row["where"],
        "quantiles": {},
    }


def _bars(claim: Row, rows: Sequence[Row]) -> list[Row]:
    """Of one claim: published ones, then ours."""
    groups: dict[str, list[float]] = {}
    for t in claim["theirs"]:
        said = ", ".join(filter(None, (short(t.machine), said_threads(t.threads))))
        groups.setdefault(said, []).append(t.value)
    theirs = [
        {**NO_TRIAL, "point": f"published: {said}{word}", "theirs": True, "value": value}
        for said, values in groups.items()
        for word, value in (
            (("", values[0]),)
            if min(values) == max(values)
            else ((", least", min(values)), (", most", max(values)))
        )
    ]
    ours = [{**r, "point": r["where"] or "here", "theirs": False} for r in rows]
    return [
        {**r, "first": "" if i else claim["name"], "trial": f"{claim['name']}, {r['point']}"}
        for i, r in enumerate([*theirs, *ours])
    ]


NO_TRIAL: Row = {"id": None, "low": None, "high": None, "flag": None, "status": "ok"}
