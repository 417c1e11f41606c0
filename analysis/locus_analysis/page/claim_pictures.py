# SPDX-License-Identifier: Apache-2.0
"""Pictures of claims (claims.py): what was published beside what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..insight import claims_published
from ..pictures import bars, curves, sweeps
from ..pictures.charts import Picture
from ..pictures.sweeps import Scene
from ..records import published
from ..records.description import Described, Meaning

Row = Any  # not typed yet

KIND = "ratio"  # the metric that a claim's rows have
HELP = "Ratios of published claims (grey: as published); {}. Lines across are 95 % intervals."


def pictures(
    of: Described, claims: Sequence[Row], machine: Row, name: str, title: str
) -> list[Picture]:
    """Curves where there is an x axis; else bars, with the published ones in grey."""
    claims = [c for c in claims if "part" not in c]
    cites = any(c["published"] for c in claims)
    title = f"{title}: {'published claims' if cites else 'settings compared'}"
    ours = [_drawn(of, c, r) for c in claims for r in c["rows"]]
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
    return found + bars.ratios(rows, KIND, file, title, said, cited, curves.NOTES)


def _drawn(of: Described, claim: Row, row: Row) -> Row:
    """The row as if it were a trial."""
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
        "setting": row["where"],
        "point": row["where"],
        "quantiles": {},
    }


def _bars(claim: Row, rows: Sequence[Row]) -> list[Row]:
    """Bars of one claim: published values, then ours."""
    groups: dict[str, list[float]] = {}
    for t in claim["theirs"]:
        said = ", ".join(
            filter(None, (published.short(t.machine), claims_published.said_threads(t.threads)))
        )
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
    name = claim["name"]
    return [{**r, "variant": name, "trial": f"{name}, {r['point']}"} for r in [*theirs, *ours]]


NO_TRIAL: Row = {"id": None, "low": None, "high": None, "flag": None, "status": "ok"}
