# SPDX-License-Identifier: Apache-2.0
"""Pictures of claims (claims.py): what was published beside what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Optional

from ..insight import claims_published
from ..insight.claims import ClaimRow, Told
from ..pictures import bars, sweeps
from ..pictures.charts import Picture
from ..pictures.sweeps import Scene
from ..records import published
from ..records.description import Described, Meaning
from ..records.lines import Machine
from ..records.rows import Metric, Trial

KIND = "ratio"  # the metric that a claim's rows have
HELP = "Ratios of published claims (grey: as published); {}. Lines across are 95 % intervals."


def pictures(
    of: Described, claims: Sequence[Told], machine: Machine, name: str, title: str
) -> list[Picture]:
    """Curves where there is an x axis; else bars, with the published ones in grey."""
    claims = [c for c in claims if "part" not in c]
    cites = any(c["published"] for c in claims)
    title = f"{title}: {'published claims' if cites else 'settings compared'}"
    ours = [_drawn(c, r) for c in claims for r in c["rows"]]
    meant = {c["name"]: c["claim"].rstrip(".") for c in claims}
    metric: Meaning = {"unit": "1", "better": None, "help": "the ratio that each claim is about"}
    alike = replace(
        of,
        ratios=(),
        metrics={KIND: metric},
        variants=meant,
        theirs=tuple((c["name"], t) for c in claims for t in c["theirs"]),
    )
    scene = Scene(alike, ours, machine)
    found, left = sweeps.ratios(scene, ours, KIND, name, title, ["threads"])
    of_claim = [(c, [r for r in left if r["variant"] == c["name"]]) for c in claims]
    rows = [b for c, own in of_claim if own for b in _bars(c, own)]
    said = HELP.format("; ".join(f"{n}: {m}" for n, m in meant.items()))
    cited = published.cited(t.source for c in claims for t in c["theirs"])
    file = f"{name}-bars" if found else name
    return found + bars.ratios(rows, KIND, file, title, said, cited)


def _drawn(claim: Told, row: ClaimRow) -> Trial:
    """The row as if it were a trial."""
    trial, setting = row["trial"], row["setting"]
    parameters = {k: v for k, v in trial["parameters"].items() if k in setting}
    if "variant" in setting:
        parameters["of"] = setting["variant"]
    value: Metric = {
        "value": row["value"],
        "low": row["low"],
        "high": row["high"],
        "range": None,
        "with_noise": None,
        "modes": None,
        "unit": "1",
        "kind": "value",
        "why": None,
    }
    return {
        **trial,
        "value": row["value"],
        "low": row["low"],
        "high": row["high"],
        "range": None,
        "modes": None,
        "unit": "1",
        "flag": row["flag"],
        "status": row["status"],
        "reasons": row["reasons"],
        "variant": claim["name"],
        "parameters": parameters,
        "metric": row["metric"],
        "metrics": {KIND: value},
        "better": None,
        "setting": row["where"],
        "point": row["where"],
        "quantiles": {},
    }


def _bars(claim: Told, rows: Sequence[Trial]) -> list[bars.RatioBar]:
    """Bars of one claim: published values, then ours."""
    groups: dict[str, list[float]] = {}
    for t in claim["theirs"]:
        said = ", ".join(
            filter(None, (published.short(t.machine), claims_published.said_threads(t.threads)))
        )
        groups.setdefault(said, []).append(t.value)
    name = claim["name"]
    theirs = [
        _bar(name, f"published: {said}{word}", value)
        for said, values in groups.items()
        for word, value in (
            (("", values[0]),)
            if min(values) == max(values)
            else ((", least", min(values)), (", most", max(values)))
        )
    ]
    return [*theirs, *(_bar(name, r["point"] or "here", r["value"], r) for r in rows)]


def _bar(
    name: str, point: str, value: Optional[float], trial: Optional[Trial] = None
) -> bars.RatioBar:
    """The bar of a published value; there may be no trial."""
    return {
        "id": trial and trial["id"],
        "flag": trial and trial["flag"],
        "status": trial["status"] if trial else "ok",
        "reasons": trial["reasons"] if trial else [],
        "value": value,
        "low": trial and trial["low"],
        "high": trial and trial["high"],
        "variant": name,
        "point": point,
        "trial": f"{name}, {point}",
        "theirs": trial is None,
    }
