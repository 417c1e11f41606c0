# SPDX-License-Identifier: Apache-2.0
"""Published claims, compared with the record.

lessons/NAME.json has them as data:

    "claims": [{ "claim": "Divided is faster than whole.",
                 "value": "whole / divided", "metric": "search-time", "expected": "> 1.05",
                 "where": { "search": "branchy" },
                 "published": { "figures": "time per packet" } }]

A value multiplies and divides trials that differ in nothing else: `name[parameter=value]`. With `|`
between names, or values, the best of these counts; without a name each variant that has such trials
gets a row. A claim without `expected` is a factor of other claims: it is drawn, not judged. A claim
with `part` instead names three trials (the costly one, the cure, the one without the cost), and its
value is the share of the cost that the cure removes. `expected` leaves out what does not matter:
faster is "> 1.05", not "> 1".
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Optional, TypedDict

from ..base import units
from ..records import published
from ..records.database import graver, value_of
from ..records.description import Described, Group, Setting, differing, grouped
from ..records.rows import Judged, Trial, Verdict
from . import claims_published, evidence
from .claim_terms import Term, terms
from .evidence import AGREES, DIFFERS, MATTERS, UNSURE, Valued, is_noisy, valued


class Judgement(TypedDict):
    verdict: str  # empty: the claim is not judged
    why: str


class ClaimRow(Judged, Judgement):
    """The value of a claim in one setting."""

    trial: Trial  # the first of those that it is computed from
    metric: str
    setting: Setting
    where: str  # the setting in words
    told: str  # the value as far as it may be told


class _ToldMay(TypedDict, total=False):
    name: str
    part: list[str]


class Told(_ToldMay):
    """A claim that was compared with trials."""

    claim: str
    value: str
    rows: list[ClaimRow]
    theirs: list[published.Figure]
    published: Optional[str]  # in words
    differs: str
    conclusion: str


def told(of: Described, trials: Sequence[Trial]) -> list[Told]:
    """Each claim that these trials bear on, with a row for each setting."""
    found: list[Told] = []
    for claim in published.lesson(of.name).get("claims", []):
        own = _rows(of, trials, claim)
        if own:
            theirs = claims_published.figures(of.name, claim)
            judged = [r for r in own if r["verdict"]]
            one: Told = {
                "claim": claim["claim"],
                "value": claim.get("value") or PART.format(*claim["part"]),
                "rows": own,
                "theirs": theirs,
                "published": claims_published.words(theirs)
                or claim.get("published", {}).get("words"),
                "differs": claims_published.differing(claim, [r["trial"] for r in own]),
                "conclusion": _conclusion(of, judged) if judged else "",
            }
            if "name" in claim:
                one["name"] = claim["name"]
            if "part" in claim:
                one["part"] = claim["part"]
            found.append(one)
    return found


def result(claims: Sequence[Told]) -> Optional[str]:
    """The outcome of the first claim that can be judged, in a sentence."""
    first = next((c for c in claims if c["conclusion"]), None)
    if not first:
        return None
    before = "Published: " if first["published"] else ""
    runs = max(r["trial"].get("tried") or 0 for r in first["rows"])
    about = f"{runs} runs" if runs else "This run"
    return f"{before}{first['claim']} {about}: {first['conclusion']}."


PART = "({0} - {1}) / ({0} - {2})"

# The rows of a claim, from trials.


def _rows(of: Described, trials: Sequence[Trial], claim: published.Claim) -> list[ClaimRow]:
    parsed = [p for v in claim.get("part") or [claim["value"]] for p in terms(v)]
    metric = claim.get("metric", of.headline)
    without = {k for t in parsed for k, _ in t.where}
    without |= {"variant"} if any(t.names for t in parsed) else set()
    own = [t for t in trials if _has(t, metric) and any(_may_be(of, t, p) for p in parsed)]

    def rest(t: Trial) -> Setting:
        return {k: v for k, v in of.setting(t).items() if k not in without}

    found: list[ClaimRow] = []
    for group in _asked(grouped(own, rest), claim.get("where", {})):
        picked = [_best(of, [t for t in group.trials if _may_be(of, t, p)], metric) for p in parsed]
        given = [t for t in picked if t]
        if len(given) == len(parsed):
            values = [valued(t, metric) for t in given]
            if "part" in claim:
                value, judgement = _part(values)
            else:
                value = _in_turn(parsed, given, metric) or evidence.product(
                    [(v, p.divides) for v, p in zip(values, parsed)]
                )
                judgement = _judged(claim.get("expected"), value, values)
            found.append(
                {
                    **value,
                    **judgement,
                    "trial": given[0],
                    "metric": metric,
                    "setting": group.setting,
                    "where": "",
                    "told": _told(value, values),
                }
            )
    several = differing([r["setting"] for r in found])
    for r in found:
        r["where"] = of.words(r["setting"], several)
    return found


def _has(trial: Trial, metric: str) -> bool:
    own = trial["metrics"].get(metric)
    return own is not None and bool(own["value"])


def _may_be(of: Described, trial: Trial, term: Term) -> bool:
    setting = of.setting(trial)
    return (not term.names or trial["variant"] in term.names) and all(
        setting.get(k) in v.split("|") for k, v in term.where
    )


def _asked(groups: Sequence[Group], where: Setting) -> list[Group]:
    """The trials that the claim is about. `most` threads: the most that had a CPU each, or else the
    most; `> 2`: three or more."""
    settings = [g.setting for g in groups]
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

    return [g for g in groups if all(fits(g.setting.get(k), v) for k, v in where.items())]


def _best(of: Described, trials: Sequence[Trial], metric: str) -> Optional[Trial]:
    sign = -1 if of.meaning(metric)["better"] == "higher" else 1
    return min(trials, key=lambda t: sign * value_of(t["metrics"][metric]), default=None)


def _in_turn(parsed: Sequence[Term], trials: Sequence[Trial], metric: str) -> Optional[Judged]:
    """The record's ratio of these two trials, if they were sampled in turn."""
    if [p.divides for p in parsed] != [False, True]:
        return None
    one, other = trials
    for r in one["ratios"]:
        if (r["metric"], r["trial"]) == (metric, other["id"]) and r["value"] is not None:
            return {
                "value": r["value"],
                "low": r["low"],
                "high": r["high"],
                "modes": r["modes"],
                "flag": r["flag"],
                "status": r["status"],
                "reasons": r["reasons"],
            }
    return None


def _part(values: Sequence[Valued]) -> tuple[Judged, Judgement]:
    """The share of a cost that the cure removes."""
    worse, better, base = values
    names = {"worse": worse["variant"], "better": better["variant"], "base": base["variant"]}
    gain, cost = evidence.ratio(worse, better), evidence.ratio(worse, base)
    why = evidence.unfit(*values)
    grave: Verdict = {"flag": None, "status": "ok", "reasons": []}
    for v in values:
        grave = graver(grave, v)
    none: Judged = {"value": None, "low": None, "high": None, "modes": [], **grave}
    if why or not gain or not cost:
        return none, {"verdict": UNSURE, "why": why}
    if evidence.holds(gain, 0, MATTERS):
        faster = evidence.holds(gain, 0, 1 / MATTERS)
        why = "{worse} is even faster" if faster else "{better} gains less than 5 % over {worse}"
        return none, {"verdict": DIFFERS, "why": why.format(**names)}
    if not evidence.holds(gain, MATTERS, inf):
        why = "the intervals allow that {better} gains nothing"
    elif evidence.holds(cost, 0, MATTERS):
        why = "{worse} costs nothing over {base}"
    elif not evidence.exceeds(cost, 1):
        why = "whether {worse} costs anything over {base} is open"
    else:
        part = evidence.taken_away(worse, better, base)
        return {**none, **part}, {"verdict": evidence.of_most(part), "why": ""}
    return none, {"verdict": UNSURE, "why": why.format(**names)}


def _judged(expected: Optional[str], value: Judged, trials: Sequence[Valued]) -> Judgement:
    """Judges by the bounds and modes (evidence.py)."""
    if not expected:
        return {"verdict": "", "why": ""}
    why = evidence.unfit(*trials)
    if why or not evidence.reach(value):
        few = next((t for t in trials if t.get("tried")), None)
        runs = f": {few['sound_runs']} of {few['tried']} runs are ok" if few else ""
        return {"verdict": UNSURE, "why": f"{why or 'there is no interval'}{runs}"}
    held = evidence.holds(value, *bounds(expected))
    if held is None:
        part = "of its modes and bounds" if value["modes"] else "of its interval"
        return {"verdict": UNSURE, "why": f"only part {part} is {expected}"}
    return {"verdict": AGREES if held else DIFFERS, "why": "" if held else f"expected {expected}"}


def _told(value: Judged, values: Sequence[Valued]) -> str:
    """The value as far as it may be told; of noisy trials the reason why it may not be."""
    if value["value"] is None:
        return ""
    noisy = next((v for v in values if is_noisy(v)), None)
    return f"{noisy['variant']} is noisy: value not given" if noisy else evidence.told(value)


def bounds(expected: str) -> tuple[float, float]:
    """ "> 1", "< 1", "0.9 to 1.1"."""
    if expected[0] in "<>":
        at = float(expected[1:])
        return (at, float("inf")) if expected[0] == ">" else (0.0, at)
    low, high = expected.split(" to ")
    return float(low), float(high)


def _conclusion(of: Described, rows: Sequence[ClaimRow]) -> str:
    """The value, if there is one setting; else how many settings agree, named where they differ in
    one parameter."""
    if len(rows) == 1:
        (r,) = rows
        why = f": {r['why']}" if r["why"] else ""
        hidden = is_noisy(r) and r["verdict"] == UNSURE  # nothing of it is told
        value = f", {r['told']}{evidence.flag(r)}" if r["told"] and not hidden else ""
        return f"{r['verdict']}{value}{why}"
    several = differing([r["setting"] for r in rows])
    said = []
    for verdict in (AGREES, DIFFERS, UNSURE):
        own = [r for r in rows if r["verdict"] == verdict]
        if own and len(several) == 1:
            places = [of.amount(several[0], r["setting"].get(several[0], "")) for r in own]
            said.append(f"{verdict} at {several[0]} {', '.join(places)}")
        elif own:
            ends = [r["value"] for r in own if r["value"] is not None and not is_noisy(r)]
            numbers = dict.fromkeys(units.number(f(ends)) for f in (min, max) if ends)
            noisy = sum(map(is_noisy, own))
            parts = [*[" to ".join(numbers)] * bool(ends), *[f"{noisy} noisy"] * bool(noisy)]
            ends_said = f" ({'; '.join(parts)})" if parts else ""
            said.append(f"{verdict} in {len(own)} of {len(rows)} settings{ends_said}")
    return "; ".join(said)
