# SPDX-License-Identifier: Apache-2.0
"""Expected values with bounds, by class of machine: made from nodes that are known to be good, and
held against others, for acceptance."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from . import compare, inference, sides, units
from .inference import LEVEL
from .records import BadInput
from .sides import Side

Row = dict[str, Any]

SCHEMA = "locus-expected-1"
AS_EXPECTED, OUTSIDE, UNKNOWN = "as expected", "outside", "cannot tell"
NAMED = 2  # metrics that a node's line names
COLUMNS = ("host", "class", "verdict", "compared", "outside", "missing", "reason")


def _class(run: Row) -> str:
    return str(run["header"]["machine"].get("class"))


def _cpu(run: Row) -> str:
    return str(run["header"]["machine"]["cpu"].get("model"))


def _part(side: Side, runs: Sequence[Row]) -> Side:
    names = {r["run"] for r in runs}
    return replace(side, runs=list(runs), found=[r for r in side.found if r["whole"] in names])


def document(side: Side) -> str:
    """Of each class of machine and metric: the median over hosts (of one host, over runs), and the
    bounds within which another one is with 95 % for all metrics together, at least 3 % away."""
    classes = []
    for name in dict.fromkeys(map(_class, side.runs)):
        own = [r for r in side.runs if _class(r) == name]
        part = _part(side, own)
        seen = sides.observe(part, part, compare.LEAST_PAIRS)
        kinds = [f"{m['benchmark']} {m['name']}" for m in seen.metrics]
        deviation, df = inference.spread(seen.old, kinds)
        n = np.isfinite(seen.old).sum(0)
        far = inference.t_quantile(df, 1 - LEVEL / 2 / max(1, len(kinds)))
        half = np.nan_to_num(far * deviation * np.sqrt(1 + 1 / np.maximum(n, 1)))
        half = np.maximum(half, np.log1p(compare.THRESHOLD))
        middle = np.nanmedian(seen.old, axis=0) if kinds else np.array([])
        words = compare.words(seen.metrics)
        metrics = [
            {
                "trial": m["id"],
                "metric": m["name"],
                "name": f"{m['benchmark']}/{m['variant']}/{m['name']} {words[i]}".rstrip(),
                "unit": m["unit"],
                "better": m["better"],
                "n": int(n[i]),
                **{
                    key: float(f"{np.exp(middle[i] + by * half[i]):.6g}")
                    for key, by in (("value", 0), ("low", -1), ("high", 1))
                },
            }
            for i, m in enumerate(seen.metrics)
        ]
        classes.append(
            {"class": name, "cpu": _cpu(own[0]), "hosts": part.hosts, "metrics": metrics}
        )
    return json.dumps({"schema": f"{SCHEMA}.0", "classes": classes}, indent=1, ensure_ascii=False)


def read(file: Path) -> dict[str, Row]:
    """The classes of a file of expected values, by name."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        if str(found["schema"]).rpartition(".")[0] != SCHEMA:
            raise ValueError(f"its schema is {found['schema']!r:.40}")
        for of_class in found["classes"]:
            for m in of_class["metrics"]:
                if not 0 < m["low"] <= m["value"] <= m["high"]:
                    raise ValueError(f"{m['name']}: low, value and high are not in this order")
        return {c["class"]: c for c in found["classes"]}
    except OSError as error:
        raise BadInput(f"{file}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(
            f"{file}: no expected values as locus export --expect writes them: {error}"
        ) from error


def judge(side: Side, classes: dict[str, Row]) -> list[Row]:
    """A row for each host, those that are not as expected first."""
    judged = []
    for host in side.hosts:
        part = _part(side, [r for r in side.runs if r["host"] == host])
        last = part.runs[-1]
        told = {"host": host, "class": _class(last), "compared": 0, "outside": [], "missing": 0}
        wanted = classes.get(_class(last))
        if not wanted:
            known = ", ".join(dict.fromkeys(c["cpu"] for c in classes.values()))
            why = f"no values are expected of its class, {_cpu(last)}; the file is of {known}"
            judged.append({**told, "verdict": UNKNOWN, "reason": why})
            continue
        seen = sides.observe(part, part, compare.LEAST_PAIRS)
        values = {
            (m["id"], m["name"]): float(np.exp(np.nanmean(seen.old[:, i])))
            for i, m in enumerate(seen.metrics)
        }
        judged.append(_judged(told, wanted["metrics"], values))
    order = (OUTSIDE, UNKNOWN, AS_EXPECTED)
    return sorted(judged, key=lambda r: (order.index(r["verdict"]), -len(r["outside"])))


def _judged(told: Row, wanted: Sequence[Row], values: dict[tuple[str, str], float]) -> Row:
    outside = []
    there = [m for m in wanted if (m["trial"], m["metric"]) in values]
    for m in there:
        value = values[m["trial"], m["metric"]]
        worse = m["high"] / value if m["better"] == "lower" else value / m["low"]
        if worse < 1:
            outside.append((worse, {**m, "is": value}))
    outside.sort(key=lambda pair: pair[0])
    verdict = OUTSIDE if outside else AS_EXPECTED if there else UNKNOWN
    lacking = len(wanted) - len(there)
    said = [_said(m) for _, m in outside[:NAMED]]
    said += [f"{len(outside) - NAMED} more"] if outside[NAMED:] else []
    said += [f"{lacking} of {len(wanted)} metrics were not measured"] if lacking else []
    return {
        **told,
        "verdict": verdict,
        "compared": len(there),
        "outside": [m for _, m in outside],
        "missing": lacking,
        "reason": "; ".join(said) or f"{len(there)} metrics within their bounds",
    }


def _said(m: Row) -> str:
    bound = m["high"] if m["better"] == "lower" else m["low"]
    most = "at most" if m["better"] == "lower" else "at least"
    return (
        f"{m['name']} {units.quantity(m['is'], m['unit'])}, expected {most}"
        f" {units.quantity(bound, m['unit'])}"
    )


def told(judged: Sequence[Row], form: str) -> str:
    """A line for each host, whatever its length: it may be searched for."""
    if form == "json":
        return json.dumps(judged, indent=1, ensure_ascii=False)
    rows = [{**r, "outside": len(r["outside"])} for r in judged]
    if form == "csv":
        to = io.StringIO()
        table = csv.DictWriter(to, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
        return to.getvalue().rstrip("\n")
    if form == "md":
        lines = [("host", "verdict", "reason"), ("---",) * 3]
        lines += [(r["host"], r["verdict"], r["reason"].replace("|", "\\|")) for r in rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)
    wide = max(len(r["host"]) for r in rows)
    lines_ = [f"{r['host']:<{wide}}  {r['verdict']:<11}  {r['reason']}" for r in rows]
    text = "\n".join(lines_)
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


def status(judged: Sequence[Row]) -> int:
    if any(r["verdict"] == OUTSIDE for r in judged):
        return compare.WORSE
    unknown = any(r["verdict"] == UNKNOWN for r in judged)
    return compare.CANNOT_TELL if unknown else compare.GOOD
