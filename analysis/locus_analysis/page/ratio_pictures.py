# SPDX-License-Identifier: Apache-2.0
"""The ratios that a benchmark declares, from the record: as curves where there is an x axis, else
as bars; as a table; and the one that is furthest from 1 in a sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Optional

from ..insight import evidence
from ..insight.evidence import ABOVE, BELOW, is_noisy
from ..pictures import bars, sweeps
from ..pictures.charts import Picture
from ..records import description, published
from ..records.description import Described, Meaning
from ..records.rows import Judged, Metric, Trial, Value

HELP = "Both sides were sampled in turn."
SIDES = "Above 1, the side after the slash is better."
THREADS = "Of threads: above 1, more threads are better than the fewest."


class RatioRow(Trial):
    """A ratio as if it were a trial of its own."""

    ratio: str
    judged: Judged


def _rows(of: Described, trials: Sequence[Trial]) -> list[RatioRow]:
    """A row for each ratio of a trial, as if it were a trial of its own."""
    found: list[RatioRow] = []
    for t in trials:
        for r in t["ratios"]:
            if r["value"] is None:
                continue
            by_threads = r["parameter"] == "threads"
            parameters = {k: v for k, v in t["parameters"].items() if k != r["parameter"]}
            if r["parameter"] != "variant" and not by_threads:
                parameters["of"] = t["variant"]
            name = t["variant"] if by_threads else f"{r['of']}/{r['to']}"
            of_ratio: Metric = {
                "value": r["value"],
                "low": r["low"],
                "high": r["high"],
                "range": None,
                "with_noise": None,
                "modes": None,
                "unit": "1",
                "kind": "value",
                "why": None,
            }
            found.append(
                {
                    **t,
                    "value": r["value"],
                    "low": r["low"],
                    "high": r["high"],
                    "range": None,
                    "modes": None,
                    "unit": "1",
                    "flag": r["flag"],
                    "status": r["status"],
                    "reasons": r["reasons"],
                    "judged": r,
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


def pictures(of: Described, trials: Sequence[Trial], name: str, title: str) -> list[Picture]:
    """Curves where there is an x axis; else bars."""
    rows = _rows(of, trials)
    drawn: list[Picture] = []
    left: list[RatioRow] = []
    for kind in dict.fromkeys(r["ratio"] for r in rows):
        own = [r for r in rows if r["ratio"] == kind]
        told: Meaning = {"unit": "1", "better": None, "help": _meaning(of, kind)}
        alike = replace(of, ratios=(), metrics={kind: told}, variants=_names(of, own))
        scene = sweeps.Scene(alike, own)
        curved, others = sweeps.ratios(scene, own, kind, f"{name}-{kind}", f"{title}: {kind}")
        drawn, left = drawn + curved, left + others
    return drawn + _bars(of, left, name, title)


def _names(of: Described, rows: Sequence[RatioRow]) -> dict[str, str]:
    """The names of ratios in the order of their declaration, with their help."""
    declared = {f"{r['of']}/{r['to']}": r["help"] for r in of.ratios}
    names = {r["variant"] for r in rows}
    return {n: said for n, said in {**of.variants, **declared}.items() if n in names}


def _meaning(of: Described, kind: str) -> str:
    said = [r["help"] for r in of.ratios if r["name"] == kind]
    return said[0] if len(said) == 1 else "ratio of the two sides' times, or rates"


def _bars(of: Described, rows: Sequence[RatioRow], name: str, title: str) -> list[Picture]:
    several = [
        k
        for k in description.differing([of.setting(r) for r in rows])
        if k not in ("variant", "of")
    ]
    drawn: list[bars.RatioBar] = []
    for r in sorted(rows, key=lambda r: (r["ratio"], r["variant"], r["place"])):
        setting = of.setting(r)
        where = ", ".join(filter(None, (setting.get("of"), of.words(setting, several))))
        trial = f"{r['variant']} {r['ratio']}, {where}"
        drawn.append(
            {
                "id": r["id"],
                "flag": r["flag"],
                "status": r["status"],
                "reasons": r["reasons"],
                "value": r["value"],
                "low": r["low"],
                "high": r["high"],
                "range": r["range"],
                "variant": r["variant"],
                "point": where,
                "trial": trial,
                "theirs": False,
            }
        )
    of_sides = ["/" in r["variant"] for r in rows]
    meant = [SIDES] * any(of_sides) + [THREADS] * (not all(of_sides))
    return bars.ratios(drawn, "ratio", name, title, " ".join([HELP, *meant]))


class Line(Value):
    """What the table shows of a ratio."""

    whole: Optional[str]
    ratio: str
    variant: str
    where: str
    flag: Optional[int]
    modes: None
    unit: str
    range: None
    status: str
    says: str


def table(of: Described, trials: Sequence[Trial]) -> list[Line]:
    """All ratios, each with its meaning and its setting; the published ones come first."""
    found = _rows(of, trials)
    several = description.differing([of.setting(r) for r in found])
    declared = {(d["name"], f"{d['of']}/{d['to']}"): d["help"] for d in of.ratios}
    by_threads = [d["help"] for d in of.ratios if d["parameter"] == "threads"]
    theirs: list[Line] = [
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
            "modes": None,
            "unit": "1",
            "range": None,
            "status": "ok",
            "says": published.cited([f.source])[0],
        }
        for f in published.ratios(of.name)
        if found and "compare" in f.parameters
    ]
    return theirs + [
        {
            "whole": r["whole"],
            "ratio": r["ratio"],
            "variant": r["variant"],
            "value": r["value"],
            "low": r["low"],
            "high": r["high"],
            "flag": r["flag"],
            "modes": None,
            "unit": "1",
            "range": None,
            "status": r["status"],
            "says": declared.get((r["ratio"], r["variant"])) or next(iter(by_threads), ""),
            "where": of.words(of.setting(r), [k for k in several if k != "variant"]),
        }
        for r in found
    ]


def result(of: Described, trials: Sequence[Trial]) -> Optional[str]:
    """One sentence: of the declared ratios that are surely above or below 1, the one furthest from
    it; one of noisy trials, whose value is not told, only if there is no other."""
    sure = [r for r in _rows(of, trials) if evidence.side(r["judged"]) in (ABOVE, BELOW)]
    if not sure:
        return None
    most = max(sure, key=lambda r: (not is_noisy(r["judged"]), abs(math.log(r["value"] or 1))))
    setting = of.setting(most)
    several = description.differing([of.setting(t) for t in trials if not t["in_matrix"]])
    declared = next(
        (d["help"] for d in of.ratios if f"{d['of']}/{d['to']}" == most["variant"]), most["ratio"]
    )
    shown = [k for k in several if k not in ("variant", of.lines)]
    where = ", ".join(filter(None, (setting.get("of"), of.words(setting, shown))))
    named = f"{most['ratio']} {declared}" if declared != most["ratio"] else declared
    value = (
        evidence.told(most["judged"])
        or f"{evidence.side(most['judged'])} 1 (noise hides by how much)"
    )
    told = ", ".join(filter(None, (f"{most['variant']} {value}", where)))
    return f"{named}: {told}."
