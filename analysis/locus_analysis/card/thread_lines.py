# SPDX-License-Identifier: Apache-2.0
"""Lines of the card about threads: from core to core, false sharing, and what workloads gain."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Optional, TypedDict

import duckdb

from ..base import units
from ..insight import advice, each_cpu, evidence, padding
from ..pictures import cpu_pairs
from ..pictures.cpu_pairs import LEVELS
from ..records import lines as of_records
from ..records.database import select
from ..records.rows import Judged, Ratio, Trial
from .content import (
    CERTAIN,
    ROUGH,
    TOLD,
    UNTOLD,
    Host,
    Line,
    compared,
    noisy,
    phrase,
    sure,
    time,
    undecided,
    untold,
    worst,
)

FAR = {"SMT": "same core", "machine": "other package"}  # by what two CPUs share: words for it


def cores(host: Host) -> list[Line]:
    """The median latency at each level, of the protocol that was measured first. A virtual machine
    may be wrong about what its CPUs share, and one run sees but one place of them."""
    own = [(t, t["pairs"]) for t in host.of("core-to-core") if t["pairs"] and t["pairs"]["levels"]]
    if not own:
        return []
    first, pairs = own[0]
    if evidence.is_noisy(first):
        then = advice.of(host.place, advice.NOISY, advice.Wish("core-to-core", cpus=2))
        return [noisy("sharing", "core to core", then)]
    levels = {level["level"]: level for level in pairs["levels"] if level["0.5"]}
    seen = {n: cpu_pairs.times_seen(levels[n]) for n in LEVELS if n in levels}
    told = " · ".join(
        f"{' or '.join(map(time, ends))} {FAR.get(n, f'same {n}')}" for n, ends in seen.items()
    )
    virtual = host.machine["virtual"]
    told += ", as the guest is told" if virtual else ""
    odd = sorted({o["cpu"] for o in pairs["outstanding"]})
    if odd:
        told += f" · CPU {', '.join(map(str, odd[:4]))}{' ...' if len(odd) > 4 else ''} slower"
    doubted = (virtual and not first.get("tried")) or any(len(ends) > 1 for ends in seen.values())
    word = worst([sure(first), *[ROUGH] * doubted])
    numbers = {n: level["0.5"] for n, level in levels.items()}
    return [Line("sharing", "core to core", told, word, numbers)]


def each(host: Host) -> list[Line]:
    """The slowest CPU beside the median one, or those that compute wrong; then what all cost each
    other."""
    trials = [t for t in host.trials if t["benchmark"] == "cores"]
    if wrong := each_cpu.wrong(trials):
        return [Line("cores", "each CPU", wrong[0], CERTAIN)]
    own = host.of("cores")
    found = each_cpu.of(host.db, own)
    if not found:
        return []
    ratios = each_cpu.over_trials(found)
    slowest = max(ratios, key=lambda cpu: ratios[cpu])
    told = f"slowest {1 / ratios[slowest]:.2f} of the median (CPU {slowest})"
    numbers = {"slowest": 1 / ratios[slowest]}
    odd = sorted(each_cpu.outlying(ratios) - {slowest})
    told += f", CPU {units.some([str(cpu) for cpu in odd], 4)} apart, too" if odd else ""
    together = [r for t in own for r in t["ratios"] if r["value"]]
    if together:
        said, word = compared(together)
        told += f" · all at once over alone: {said}" if word != UNTOLD else ""
    return [Line("cores", "each CPU", told, worst([sure(e.trial) for e in found]), numbers)]


def sharing(host: Host) -> list[Line]:
    own = host.of("sharing")
    return [*_false_sharing(host, own), *_padding(host)] if own else []


def _pair(host: Host) -> advice.Advice:
    """What to run for a ratio between words on a line and words apart."""
    own = [t for t in host.trials if t["benchmark"] == "sharing" and t["threads"] > 1]
    wish = advice.Wish("sharing", (("variant", "fetch-add"),), cpus=2)
    return advice.of(host.place, advice.why(own), wish)


def _false_sharing(host: Host, own: list[Trial]) -> list[Line]:
    """The time of packed words over that of padded ones, with one atomic instruction if that was
    measured."""
    found = [
        (t, r)
        for t in own
        for r in t["ratios"]
        if r["of"] == "dense" and r["to"] == "padded" and r["value"] and t["threads"] > 1
    ]
    if not found:
        return [untold("sharing", "false sharing", "not measured", _pair(host))]
    atomic = [(t, r) for t, r in found if t["variant"] == "fetch-add"] or found
    trial, ratio = max(atomic, key=lambda of: of[0]["threads"])
    said, word = compared([ratio])
    told = phrase(_variant(trial), "takes", f"{said} on {trial['threads']} threads")
    others = [(t, r) for t, r in found if t is not trial and _is_clear(r)]
    most_of, most = max(others, key=_value_of, default=(trial, ratio))
    if _value(most) > _value(ratio):
        told += f", {_variant(most_of)} {compared([most])[0]}"
    if word == UNTOLD:
        return [undecided("sharing", "false sharing", told, _pair(host))]
    numbers = {} if evidence.is_noisy(ratio) else {"ratio": _value(ratio)}
    return [Line("sharing", "false sharing", told, word, numbers)]


def _value(ratio: Judged) -> float:
    return ratio["value"] or 0.0


def _value_of(of: tuple[Trial, Ratio]) -> float:
    return _value(of[1])


def _is_clear(ratio: Judged) -> bool:
    """Whether its value may be told, and is surely above 1."""
    return evidence.side(ratio) == evidence.ABOVE and not evidence.is_noisy(ratio)


def _numbers(found: Sequence[Judged]) -> dict[str, float]:
    """The least and the greatest of the ratios whose value may be told."""
    values = [_value(r) for r in found if not evidence.is_noisy(r)]
    return {"least": min(values), "most": max(values)} if values else {}


def _variant(trial: Trial) -> str:
    lock = trial["parameters"].get("lock")
    return f"{trial['variant']} {lock}" if lock else trial["variant"]


def _padding(host: Host) -> list[Line]:
    line = padding.line_size(host.machine)
    own = [t for t in host.trials if t["benchmark"] == "sharing"]
    found = [f for f in padding.findings(own) if f.whole in host.wholes]
    clear = [f for f in found if f.padding.least]
    if not clear:
        safe = units.size(line or padding.SAFE) + (
            " apart, the line reported" if line else " apart"
        )
        then = padding.advise(found[-1] if found else None, host.place)
        why = found[-1].padding.why if found else "not measured"
        return [untold("sharing", "padding", why, then, safe)]
    most = max(clear, key=lambda f: (f.padding.least or 0, f.padding.sure or float("inf")))
    told = padding.said(most.padding, brief=True)
    text = f"{told}{',' if ', or' in told else ''} between threads' data"
    text += f"; line {units.size(line)}" if line else ""
    then = padding.advise(most, host.place)
    text += then.after("; to be sure") if then.command else ""
    word = CERTAIN if most.padding.is_certain else ROUGH
    return [Line("sharing", "padding", text, word, {"bytes": most.padding.least or 0})]


# ---- workloads ----

TOLD_ABOVE = (
    "latency",
    "sharing",
    "cores",
)  # benchmarks that have lines of their own in other blocks


class Declared(TypedDict):
    run: str
    benchmark: str
    ratios: Optional[str]  # JSON


def work(host: Host, only: str = "") -> list[Line]:
    """For each benchmark that compares something, the first ratio of its line in the record, and
    the largest of the others."""
    described: dict[str, list[of_records.Ratio]] = {}
    of_run = _declared(host.db)
    for r in (r for run in host.runs for r in of_run.get(run["run"], [])):
        described[r["benchmark"]] = json.loads(r["ratios"] or "[]")
    lines = []
    for benchmark, ratios in described.items():
        if ratios and benchmark not in TOLD_ABOVE and only in ("", benchmark):
            line = _gain(host, host.of(benchmark), benchmark, ratios)
            lines += [line] if line else []
    return lines


@lru_cache(maxsize=1)
def _declared(db: duckdb.DuckDBPyConnection) -> dict[str, list[Declared]]:
    """Of all hosts, by run."""
    of_run: dict[str, list[Declared]] = {}
    query = "SELECT run, benchmark, json->'$.ratios' AS ratios FROM benchmark ORDER BY place"
    for r in select(db, Declared, query):
        of_run.setdefault(r["run"], []).append(r)
    return of_run


def _gain(
    host: Host, own: list[Trial], benchmark: str, ratios: list[of_records.Ratio]
) -> Optional[Line]:
    if not own:
        return None
    most = max(t["threads"] for t in own)
    measured = [(ratio, _measured(own, ratio, most)) for ratio in ratios]
    measured = [(ratio, found) for ratio, found in measured if found]
    if not measured:
        then = advice.of(host.place, advice.why(own), advice.Wish(benchmark))
        return untold("work", benchmark, "nothing to compare", then)
    (first, found), *others = measured
    said, word = compared(found)
    told = phrase(_name(first), "", said)
    clear = [(ratio, [r for r in own if _is_clear(r)]) for ratio, own in others]
    best = max(
        ((ratio, own) for ratio, own in clear if own),
        key=lambda of: max(map(_value, of[1])),
        default=None,
    )
    for more in ([_short(*best)] if best else []) + [units.several(most, "thread")]:
        told += f", {more}" if len(f"{told}, {more}") <= TOLD else ""
    if word == UNTOLD:
        then = advice.of(host.place, advice.why(own), advice.Wish(benchmark))
        return undecided("work", benchmark, told, then)
    return Line("work", benchmark, told, word, _numbers(found))


def _measured(own: list[Trial], ratio: of_records.Ratio, threads: int) -> list[Ratio]:
    """This ratio in all trials with most threads: several if another parameter varies."""
    by_threads = ratio["parameter"] == "threads"
    return [
        r
        for t in own
        for r in t["ratios"]
        if t["threads"] == threads
        and r["value"]
        and r["name"] == ratio["name"]
        and r["parameter"] == ratio["parameter"]
        and (by_threads or (r["of"], r["to"]) == (ratio["of"], ratio["to"]))
        and r["metric"] == ratio["metric"]
    ]


def _name(ratio: of_records.Ratio) -> str:
    """ "slowdown by false sharing"; "what false sharing costs"."""
    words = (ratio["help"] or f"{ratio['of']}/{ratio['to']}").removeprefix("... ")
    return words if words.startswith("what ") else f"{ratio['name']} {words}"


def _short(ratio: of_records.Ratio, found: Sequence[Judged]) -> str:
    return f"{ratio['of']}/{ratio['to']} {compared(found)[0]}"
