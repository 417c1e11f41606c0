# SPDX-License-Identifier: Apache-2.0
"""Expected values with bounds, by class of machine: made from nodes that are known to be good, and
held against others, for acceptance."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypedDict, cast

import numpy as np

from ..base import units
from ..records.database import BadInput
from . import comparison, differences, facts, inference, observations
from .inference import LEVEL, Array
from .lost import Lost, without_result
from .observations import Run, Side


class Bounds(TypedDict):
    """A metric as the file has it."""

    trial: str
    metric: str
    name: str
    unit: str
    better: str
    n: int
    value: float
    low: float
    high: float


class Asked(TypedDict):
    """A metric that locus health measures, as the file has it."""

    trial: str
    metric: str
    component: str


Choice = Callable[[Side, Sequence[Bounds]], list[Asked]]

# What a host has instead: `is`.
Outside = TypedDict(
    "Outside",
    {
        "trial": str,
        "metric": str,
        "name": str,
        "unit": str,
        "better": str,
        "n": int,
        "value": float,
        "low": float,
        "high": float,
        "is": float,
    },
)

# A class of machines as the file has it.
Class = TypedDict(
    "Class",
    {
        "class": str,
        "cpu": str,
        "hosts": list[str],
        "runs": int,
        "facts": dict[str, facts.Fact],
        "trials": dict[str, str],
        "unbounded": int,
        "metrics": list[Bounds],
        "health": list[Asked],
    },
)

# A host. `noisy`, `open`: metrics that are outside only in noisy results, or by a value whose
# interval is not. Of trials that have no valid result it has how many there are of each status; of
# facts, those that differ, in words, and the paths of those that its records do not have.
Judged = TypedDict(
    "Judged",
    {
        "host": str,
        "class": str,
        "compared": int,
        "outside": list[Outside],
        "verdict": str,
        "noisy": list[Outside],
        "open": list[Outside],
        "trials": dict[str, int],
        "missing": int,
        "facts": list[str],
        "unknown": list[str],
        "reason": str,
    },
)

SCHEMA = "locus-expected-1"
AS_EXPECTED, OUTSIDE, UNKNOWN = "as expected", "outside", "cannot tell"
LEAST = 3  # runs that bounds need: two say too little about their spread
WIDEST = np.log(10)  # bounds that are farther from the value exclude nothing
NAMED = 2  # metrics that a node's line names
COLUMNS = ("host", "class", "verdict", "compared", "outside", "missing", "reason")


def document(side: Side, choose: Choice) -> tuple[str, list[str]]:
    """For each class of machine: its facts; the trials with a valid result; for each metric the
    median over hosts (over runs, if there are fewer than three hosts), and bounds at least 3 %
    away, within which another host lies with 95 % for all metrics together; and the metrics that
    are chosen for locus health. Also notes on what has no bounds."""
    classes: list[Class] = []
    notes = []
    for name in dict.fromkeys(r["class"] for r in side.runs):
        part = side.of([i for i, r in enumerate(side.runs) if r["class"] == name])
        cpu, runs = part.runs[0]["cpu"], len(part.measured().runs)
        metrics, without = _metrics(part) if runs >= LEAST else ([], 0)
        if runs < LEAST:
            notes.append(f"{cpu}: {units.several(runs, 'run')}; {LEAST} needed: no bounds")
        elif without:
            why = f"fewer than {LEAST} values, or too far apart"
            notes.append(f"{cpu}: {units.several(without, 'metric')} without bounds: {why}")
        classes.append(
            {
                "class": name,
                "cpu": cpu,
                "hosts": part.hosts,
                "runs": runs,
                "facts": facts.common([r["facts"] for r in part.runs]),
                "trials": part.names,
                "unbounded": without,
                "metrics": metrics,
                "health": choose(part, metrics),
            }
        )
    told = {"schema": f"{SCHEMA}.1", "classes": classes}
    return json.dumps(told, indent=1, ensure_ascii=False), notes


def _metrics(side: Side) -> tuple[list[Bounds], int]:
    """Metrics with their bounds, and how many have none."""
    keys = observations.common(side)
    y = _values_of_good(side, keys)
    known = np.flatnonzero(np.isfinite(y).any(0))
    y, metrics = y[:, known], [side.metrics[keys[i]] for i in known]
    words = comparison.words(metrics)
    bounds = _bounds(y, [f"{m['benchmark']} {m['name']}" for m in metrics])
    told: list[Bounds] = [
        {
            "trial": m["id"],
            "metric": m["name"],
            "name": f"{m['benchmark']}/{m['variant']}/{m['name']} {words[i]}".rstrip(),
            "unit": m["unit"],
            "better": m["better"],
            "n": n,
            "value": _rounded(ends[0]),
            "low": _rounded(ends[1]),
            "high": _rounded(ends[2]),
        }
        for i, (m, n, ends) in enumerate(zip(metrics, np.isfinite(y).sum(0).tolist(), bounds))
        if n >= LEAST and max(abs(end - ends[0]) for end in ends) <= WIDEST
    ]
    return told, len(metrics) - len(told)


def _rounded(logarithm: float) -> float:
    return float(f"{np.exp(logarithm):.6g}")


def _values_of_good(side: Side, keys: Sequence[observations.Key]) -> Array:
    """Logarithms of the metrics of hosts, or of the runs of few hosts. Noisy ones count only where
    there are too few others."""
    nodes = len(side.hosts) >= LEAST
    sound, all_of = (
        observations.logarithms(s, keys, nodes)[0] for s in (side.without_noisy(), side)
    )
    return np.where(np.isfinite(sound).sum(0) >= LEAST, sound, all_of)


def _bounds(y: Array, kinds: Sequence[str]) -> list[list[float]]:
    """For each metric the median, and the ends of the prediction interval, widened to contain all
    values that it was made from: these are good."""
    if not kinds:
        return []
    deviation, df = inference.spread(y, kinds)
    far = inference.t_quantile(df, 1 - LEVEL / 2 / len(kinds))
    half = far * deviation * np.sqrt(1 + 1 / np.isfinite(y).sum(0))
    half = np.fmax(half, np.log1p(comparison.THRESHOLD))
    middle = np.nanmedian(y, axis=0)
    low = np.minimum(middle - half, np.nanmin(y, axis=0))
    high = np.maximum(middle + half, np.nanmax(y, axis=0))
    return [list(ends) for ends in zip(middle, low, high)]


def read(file: Path) -> dict[str, Class]:
    """The classes of a file of expected values, by name."""
    try:
        found = json.loads(
            file.read_text(encoding="utf-8-sig"),
            parse_int=_whole,
            parse_float=_finite,
            parse_constant=_finite,
        )
        if str(found["schema"]).rpartition(".")[0] != SCHEMA:
            raise ValueError(f"its schema is {found['schema']!r:.40}")
        for of_class in found["classes"]:
            trials = {m["trial"]: m["name"] for m in of_class["metrics"]}
            trials = of_class.setdefault("trials", trials)
            if not isinstance(trials, dict):
                raise ValueError(f"trials is {json.dumps(trials):.40}, expected texts by name")
            _needed(trials, [*trials])
            _needed(of_class, ("class", "cpu"))
            for fact in of_class.setdefault("facts", {}).values():
                facts.check(fact)
            for m in of_class["metrics"]:
                _needed(m, ("trial", "metric", "name", "unit", "better"))
                for key in ("low", "value", "high"):
                    if not facts.is_number(m[key]):
                        raise ValueError(
                            f"{m['name']}: {key} is {json.dumps(m[key]):.40}, no number"
                        )
                if not 0 < m["low"] <= m["value"] <= m["high"]:
                    raise ValueError(f"{m['name']}: low, value and high are not in this order")
        return {c["class"]: c for c in found["classes"]}
    except OSError as error:
        raise BadInput(f"{file}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadInput(
            f"{file}: no expected values as locus export --expect writes them: {error}"
        ) from error


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text} is no number that a double holds")
    return value


def _whole(text: str) -> int:
    _finite(text)
    return int(text)


def _needed(of: Mapping[str, object], keys: Sequence[str]) -> None:
    for key in keys:
        if not isinstance(of[key], str):
            raise ValueError(f"{key} is {of[key]!r:.40}, expected a text")


def judge(side: Side, classes: dict[str, Class], require: Sequence[str] = ()) -> list[Judged]:
    """A row for each host, those that are not as expected first. Facts that match `require` have to
    be known."""
    judged: list[Judged] = []
    _find_all(require, classes)
    for name in dict.fromkeys(r["class"] for r in side.runs):
        part = side.of([i for i, r in enumerate(side.runs) if r["class"] == name])
        of_class = classes.get(name)
        judged += _of_class(part, of_class, require) if of_class else _unknown(part, classes)
    order = (OUTSIDE, UNKNOWN, AS_EXPECTED)
    return sorted(judged, key=lambda r: (order.index(r["verdict"]), -len(r["outside"]), r["host"]))


def _find_all(require: Sequence[str], classes: Mapping[str, Class]) -> None:
    """Metrics need not be required: those of the file have to be measured anyway."""
    paths = [path for c in classes.values() for path in c["facts"]]
    names = [m["name"].partition(" ") for c in classes.values() for m in c["metrics"]]
    for p in require:
        if not any(fnmatchcase(path, p) for path in paths) and not any(
            comparison.matches(name, words, p) for name, _, words in names
        ):
            raise BadInput(f"--require {p}: the file has no such fact or metric")


def _unknown(side: Side, classes: dict[str, Class]) -> Iterator[Judged]:
    own = side.runs[0]
    why = "the file has no values for its class, "
    why += f"{own['class']} of {own['cpu']}{_nearest(own, classes)}"
    for host in side.hosts:
        yield {
            "host": host,
            "class": own["class"],
            "compared": 0,
            "outside": [],
            "verdict": UNKNOWN,
            "noisy": [],
            "open": [],
            "trials": {},
            "missing": 0,
            "facts": [],
            "unknown": [],
            "reason": why,
        }


def _nearest(run: Run, classes: Mapping[str, Class]) -> str:
    """What the file has instead: of the same processor, in what the most similar class differs."""
    if not classes:
        return ", nor for any"
    alike = {
        n: facts.differing(_known(run), c["facts"])
        for n, c in classes.items()
        if c["cpu"] == run["cpu"]
    }
    if not alike:
        return f", only for {units.some([*dict.fromkeys(c['cpu'] for c in classes.values())])}"
    name, differs = min(alike.items(), key=lambda pair: len(pair[1]))
    return "; ".join([f", only for {name} of it", *_few(differs)])


def _known(run: Run) -> dict[str, differences.Json]:
    """By path: facts, and settings, since people add such to the file."""
    settings = {n.removeprefix("machine."): v for n, v in run["settings"].items()}
    return {**{n: v for n, v in settings.items() if v is not None}, **run["facts"]}


def _of_class(side: Side, wanted: Class, require: Sequence[str]) -> Iterator[Judged]:
    metrics = [m for m in wanted["metrics"] if (m["trial"], m["metric"]) in side.metrics]
    clear = side.without_noisy()
    sound, best = _values(clear, metrics), _values(clear.at_best(), metrics)
    all_of = _values(side, metrics)
    for i, host in enumerate(side.hosts):
        own = side.of([j for j, r in enumerate(side.runs) if r["host"] == host])
        worse, noisy = _outside(metrics, sound[i]), _outside(metrics, all_of[i])
        known = [m["name"] for m in worse]
        surely = [m["name"] for m in _outside(metrics, best[i])]
        outside = [m for m in worse if m["name"] in surely]
        judged: Judged = {
            "host": host,
            "class": wanted["class"],
            "compared": int(np.isfinite(all_of[i]).sum()),
            "outside": outside,
            "verdict": AS_EXPECTED,
            "noisy": [m for m in noisy if m["name"] not in known],
            "open": [m for m in worse if m["name"] not in surely],
            "trials": {},
            "missing": 0,
            "facts": [],
            "unknown": [],
            "reason": "",
        }
        _hold_facts(judged, wanted, own.runs)
        _judge(judged, wanted, without_result(wanted["trials"], own), require)
        yield judged


def _hold_facts(told: Judged, wanted: Class, runs: Sequence[Run]) -> None:
    """A fact has to be so in each run."""
    known = [_known(run) for run in runs]
    found = dict.fromkeys(f for own in known for f in facts.differing(own, wanted["facts"]))
    told["facts"] = [*found]
    told["unknown"] = [
        path
        for path, fact in wanted["facts"].items()
        if not any(facts.is_judged(own, path, fact) for own in known)
    ]


def _values(side: Side, metrics: Sequence[Bounds]) -> Array:
    """By host and metric, the geometric mean over runs; zero for zeros."""
    keys = [(m["trial"], m["metric"]) for m in metrics]
    y, _ = observations.logarithms(side, keys, True)
    plain = observations.by_host(side, observations.values(side, keys))
    return np.where(plain == 0, 0, np.exp(y))


def _outside(metrics: Sequence[Bounds], values: Array) -> list[Outside]:
    """The metrics that are worse than their bound, the worst first."""
    found: list[tuple[float, Outside]] = []
    for m, value in zip(metrics, values):
        lower = m["better"] == "lower"
        if value > m["high"] if lower else value < m["low"]:
            worse = m["high"] / value if lower else value / m["low"]
            found.append((worse, cast("Outside", {**m, "is": float(value)})))
    return [m for _, m in sorted(found, key=lambda pair: pair[0])]


def _judge(told: Judged, wanted: Class, lost: Sequence[Lost], require: Sequence[str]) -> None:
    """No result of a noisy trial, or of one that was left out, is held against a host."""
    faults, gone = ([one for one in lost if getattr(one, of)] for of in ("is_fault", "is_missing"))
    asked = [f for f in told["unknown"] if any(fnmatchcase(f, p) for p in require)]
    sound = told["compared"] and not (gone or told["noisy"] or told["open"] or asked)
    missing = len(wanted["metrics"]) - told["compared"]
    said = [f"{one.counted} ({units.some(one.trials, 1)})" for one in faults]
    said += _few(told["facts"])
    said += _few(_all_said(told["outside"]))
    said += [one.counted for one in gone]
    said += [f"interval reaches the bound: {text}" for text in _few(_all_said(told["open"]))]
    said += [f"noisy: {text}" for text in _few(_all_said(told["noisy"]))]
    if not wanted["metrics"]:
        said.append(_unbounded(wanted))
    elif missing and not faults and not gone:
        said.append(f"{missing} of {len(wanted['metrics'])} metrics were not measured")
    bad = faults or told["facts"] or told["outside"]
    told["verdict"] = OUTSIDE if bad else AS_EXPECTED if sound else UNKNOWN
    told["trials"] = {one.status: len(one.trials) for one in (*faults, *gone)}
    told["missing"] = missing
    said += [f"unknown: {units.some(asked)}"] if asked else []
    said = said or [_within(told["compared"], wanted)]
    others = len(told["unknown"]) - len(asked)
    said += [f"{units.several(others, 'fact')} unknown"] if others else []
    said += [f"left out: {one.counted}" for one in lost if one.is_of_runs]
    told["reason"] = "; ".join(said)


def _within(compared: int, wanted: Class) -> str:
    without = wanted.get("unbounded", 0)
    return f"{units.several(compared, 'metric')} within their bounds" + (
        f"; {without} have none" if without else ""
    )


def _unbounded(wanted: Class) -> str:
    if wanted.get("runs", LEAST) < LEAST:
        return f"{units.several(wanted['runs'], 'run')}; {LEAST} needed"
    return "no metric of its class has bounds"


def _few(words: Sequence[str]) -> list[str]:
    more = [f"{len(words) - NAMED} more"] if words[NAMED:] else []
    return [*words[:NAMED], *more]


def _all_said(outside: Sequence[Outside]) -> list[str]:
    return [_said(m) for m in outside]


def _said(m: Outside) -> str:
    bound = m["high"] if m["better"] == "lower" else m["low"]
    most = "at most" if m["better"] == "lower" else "at least"
    own, end = units.apart((m["is"], bound), lambda v, n: units.with_digits(v, m["unit"], n))
    return f"{m['name']} {own}, expected {most} {end}"


def told(judged: Sequence[Judged], form: str) -> str:
    """A line for each host, whatever its length: it may be searched for."""
    if form == "json":
        return json.dumps(judged, indent=1, ensure_ascii=False)
    if form == "csv":
        to = io.StringIO()
        table = csv.DictWriter(to, COLUMNS, lineterminator="\n", extrasaction="ignore")
        table.writeheader()
        table.writerows({**r, "outside": len(r["outside"])} for r in judged)
        return to.getvalue().rstrip("\n")
    if form == "md":
        lines = [("host", "verdict", "reason"), ("---",) * 3]
        lines += [(r["host"], r["verdict"], r["reason"]) for r in judged]
        return "\n".join(units.in_bars(lines))
    wide = max(len(r["host"]) for r in judged)
    lines_ = [f"{r['host']:<{wide}}  {r['verdict']:<11}  {r['reason']}" for r in judged]
    return "\n".join(map(units.printable, lines_))


def status(judged: Sequence[Judged]) -> int:
    if any(r["verdict"] == OUTSIDE for r in judged):
        return comparison.WORSE
    unknown = any(r["verdict"] == UNKNOWN for r in judged)
    return comparison.CANNOT_TELL if unknown else comparison.GOOD
