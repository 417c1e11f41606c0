# SPDX-License-Identifier: Apache-2.0
"""A whole record: flags points, measures them, and writes them as the program does."""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import duckdb
from locus_analysis.records import database

from .counters import OWN
from .machines import MACHINES, Line, Machine, header
from .models.dummy import dummy
from .models.numa import numa
from .trials import Point, measure

FLAGS = {
    "noisy": "30 of 96 samples were interrupted: the CPU was taken from them for 60 ms in all",
    "unconverged": "the interval is 4.1 % wide, 1 % was wanted; the budget of 2 s was spent",
    "misplaced": "52428 of 262144 pages lie on node 0, node 1 was claimed",
    "wrong": "the sum is 12.5, expected 13",
    "impossible": (
        "pages=2M: 0 huge pages of 2 MiB are free, 512 are needed; as root: sysctl"
        " vm.nr_hugepages=512"
    ),
    "failed": "mmap of 1 GiB: cannot allocate memory",
    "interrupted": "SIGINT after 3 of 8 batches",
}


def flag(points: list[Point], every: int = 4) -> list[Point]:
    """Gives each status to one of the points."""
    for (status, reason), point in zip(FLAGS.items(), points[1::every]):
        point.status, point.reasons = status, [reason]
    points[0].notes = ["changed after allocation 16 of 24: 1.69 and 1.80 ns/load (67 % / 33 %)"]
    return points


def record(
    machine: Machine, points: list[Point], run: str, seed: int = 1, **changes: Any
) -> list[Line]:
    """The lines of a whole run."""
    rng = random.Random(seed)
    lines = [header(machine, run, rng, **changes)]
    at = 0.1
    for point in points:
        lines += measure(point, run, rng, at)
        at += lines[-1]["elapsed"]
    statuses = Counter(p.status for p in points)
    bad = any(statuses[s] for s in ("wrong", "misplaced", "failed"))
    return [
        *lines,
        {
            "type": "end",
            "run": run,
            "status": int(bad),
            "signal": None,
            "trials": dict(statuses),
            "skipped": 0,
            "elapsed": at,
        },
    ]


def run_id(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def machine_record(name: str) -> list[Line]:
    """One whole run on one of MACHINES: numa with every status, and dummy."""
    machine = MACHINES[name]
    return record(
        machine, flag(numa(machine), every=2) + flag(dummy(), every=2), run_id(name), seed=len(name)
    )


def lean(value: Any) -> Any:
    """A copy without null and empty values, as trial and samples lines are written."""
    if isinstance(value, list):
        nested = value and isinstance(value[0], (dict, list))  # all are alike
        return [lean(one) for one in value] if nested else value[:]
    slim = {}
    for key, one in value.items():
        kept = lean(one) if one and isinstance(one, (dict, list)) else one
        if kept is not None and (kept or not isinstance(kept, (dict, list))):
            slim[key] = kept
    return slim


# Benchmark lines as the program writes them; test_generic compares them with the program's.
BENCHMARKS: Line = json.loads(Path(__file__).parents[1].joinpath("benchmarks.json").read_text())


def _described(trials: list[Line]) -> Line:
    """The benchmark line of these trials: their metrics, and the rest from the program's own line
    if it has all their parameters."""
    told = BENCHMARKS.get(trials[0]["benchmark"], {})
    known = {p["name"] for p in told.get("parameters", [])}
    if any(set(t.get("parameters") or {}) - known for t in trials):
        told = {}
    help_of = {m["name"]: m for m in told.get("metrics", [])}
    named = {v["name"] for v in told.get("variants", [])}
    metrics = {m["name"]: m for t in trials for m in t["metrics"]}
    variants = dict.fromkeys(t["variant"] for t in trials)
    names = {c["name"] for t in trials for c in t.get("counters", [])}
    own = [name for name in OWN if name in names]
    ratios = {(r["parameter"], r["of"], r["to"]): r for t in trials for r in t.get("ratios", [])}
    return {
        "type": "benchmark",
        "run": trials[0]["run"],
        "name": trials[0]["benchmark"],
        "summary": "what it does, in a line",
        "protocol": {"version": 1, "text": trials[0].get("protocol", "as it was made up")},
        "source": None,
        "unit": trials[0].get("unit", "pass"),
        "scored": "span",
        "statistic": {
            "quantile": 0.5,
            "of": "samples in a batch",
            "then": "median over batches, then over allocations",
        },
        "parameters": told.get("parameters", []),
        "metrics": [
            {
                "name": name,
                "unit": m.get("unit", "s/pass"),
                "better": m.get("better") or help_of.get(name, {}).get("better"),
                "kind": m.get("kind", "value"),
                "help": help_of.get(name, {}).get("help", "what it is"),
            }
            for name, m in metrics.items()
        ],
        "ratios": [
            *told.get("ratios", []),
            *(
                {
                    "name": r["name"],
                    "parameter": r["parameter"],
                    "of": r["of"],
                    "to": r["to"],
                    "metric": r.get("metric", "time"),
                    "help": "by what differs",
                }
                for r in ratios.values()
                if not any(_is_of(r, declared) for declared in told.get("ratios", []))
            ),
        ],
        "variants": told.get("variants", [])
        + [
            {"name": name, "summary": "a way", "unused": [], "divided": False}
            for name in variants
            if name not in named
        ],
        "counters": {
            "per": trials[0].get("unit", "pass"),
            "explaining": [],
            "kernel": [{"name": n, "unit": "s" if n == "steal" else "1"} for n in own],
        },
    }


def _is_of(ratio: Line, declared: Line) -> bool:
    keys = ("parameter",) if ratio["parameter"] == "threads" else ("parameter", "of", "to")
    return all(ratio[key] == declared[key] for key in keys)


def _told(trial: Line, declared: list[Line]) -> Line:
    """The trial as written: without what its benchmark line has (`declared`: its ratios), or
    readers can derive."""
    counters = trial.get("counters", [])
    always = [c["name"] in OWN and not c.get("per_thread") for c in counters]
    own = {c["name"]: c for c, is_own in zip(counters, always) if is_own}
    asked = {**trial, "counters": [c for c, is_own in zip(counters, always) if not is_own]}
    for key in ("protocol", "unit", "statistic", "spread_within", "spread_between", "cycles"):
        asked.pop(key, None)
    if "=fnv1a64:" not in asked.get("identity", ""):
        asked.pop("identity", None)
    if not asked.get("oversubscribed", True):
        del asked["oversubscribed"]
    asked["metrics"] = {
        m["name"]: {key: value for key, value in m.items() if key not in TOLD_ABOVE}
        for m in trial["metrics"]
        if m.get("value") is not None
    }
    asked["ratios"] = [
        {
            **{k: v for k, v in r.items() if k in ("trial", "value", "ci")},
            **({"to": r["to"]} if r["parameter"] == "threads" else {}),
            "ratio": next(i for i, known in enumerate(declared) if _is_of(r, known)),
        }
        for r in trial.get("ratios", [])
    ]
    if trial.get("noise"):
        leave_out = {*OWN.values(), "run_delay_why", "samples"}
        asked["noise"] = {k: v for k, v in trial["noise"].items() if k not in leave_out}
    asked["kernel"] = {name: c["total"] for name, c in own.items() if c["total"]}
    if trial.get("samples"):
        asked["samples"] = {**trial["samples"], "parts": trial["samples"]["n"]}
        asked["samples"].pop("batches", None)
        asked["kernel_unknown"] = [n for n, c in own.items() if c["total"] is None]
        _scale(asked)
    if trial.get("placement"):
        before, after = (_place(trial["placement"][when]) for when in ("before", "after"))
        asked["placement"] = {**before, "after": after}
    return cast(Line, lean(asked))


def _scale(trial: Line) -> None:
    """Turns lists of times into multiples of `scale`, with ten digits."""
    columns = trial["batches"]["metrics"]
    trial["scale"] = 10.0 ** (math.floor(math.log10(min(trial["samples"]["quantiles"]))) - 9)
    trial["samples"]["quantiles"] = _multiples(trial["samples"]["quantiles"], trial["scale"])
    trial["samples"]["modes"] = [
        {**mode, "time": round(mode["time"] / trial["scale"])}
        for mode in trial["samples"].get("modes", [])
    ]
    trial["batches"] = {
        **trial["batches"],
        "metrics": {**columns, "time": _multiples(columns["time"], trial["scale"])},
    }


def _multiples(times: list[float], scale: float) -> list[int]:
    return [round(time / scale) for time in times]


def _place(of: Line) -> Line:
    return {k: v for k, v in of.items() if (k, v) not in UNSAID}


UNSAID = (("how", "verified"), ("unmapped", 0), ("misplaced", 0), ("huge_bytes", 0))
TOLD_ABOVE = ("name", "unit", "better", "kind", "why")  # of a metric


def as_written(lines: list[Line]) -> list[Line]:
    """Turns complete trials into a record's trials, after a line for each benchmark. Lines that
    already are a record stay as they are."""
    if any(line["type"] == "benchmark" for line in lines):
        return lines
    trials: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        if line["type"] == "trial":
            trials.setdefault((line["run"], line["benchmark"]), []).append(line)
    written = []
    described = {key: _described(own) for key, own in trials.items()}
    for line in lines:
        own = lean(line) if line["type"] == "samples" else dict(line)
        if line["type"] == "trial":
            own = _told(line, described[line["run"], line["benchmark"]]["ratios"])
            if "cells" in own.get("pairs", {}):
                cells = own["pairs"].pop("cells")
                matrix = {"type": "matrix", "run": line["run"], "trial": line["id"], **cells}
                written.append(matrix)
        written.append(own)
        if line["type"] == "header":
            written += [told for (run, _), told in described.items() if run == line["run"]]
    return written


def brief(lines: list[Line]) -> list[Line]:
    """Without samples, which many readers skip."""
    return [line for line in lines if line["type"] != "samples"]


def write(path: Path, lines: list[Line]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in as_written(lines)))
    return path


def queried(db: duckdb.DuckDBPyConnection, sql: str, *values: object) -> list[dict[str, Any]]:
    """The result of a query with any columns."""
    cursor = db.execute(sql, list(values))
    names = [column[0] for column in cursor.description or []]
    return [dict(zip(names, row)) for row in cursor.fetchall()]


def of_lines(lines: list[Line]) -> database.Records:
    """What the analysis reads from these lines."""
    with TemporaryDirectory() as folder:
        return database.read([write(Path(folder) / "made.jsonl", lines)])
