# SPDX-License-Identifier: Apache-2.0
"""K-means: its curves and tables, and what the measurement makes of the published mystery.

The mystery (reference/sources.csv, sestoft2017): to add a point to its cluster as soon as that
is known, `2q`, saves a pass and is faster than `2p` on one thread, but much slower on many,
since the means that all threads read lie on the lines that all write. Its cures: mean and sums
on lines of their own, `2q-padded`; or to share nothing, `3p`. Each of these is held against the
record, by intervals: what they leave open is not told.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Optional

from . import charts, curves, evidence, published, units
from .curves import many_threads
from .evidence import AGREES, DIFFERS, UNSURE, ratio

Row = dict[str, Any]

VARIANTS = ("2p", "2q", "2q-padded", "3p", "private-dense", "private-padded", "best")
BASE = "2p"  # what the others are held against
SHARED, OWN = (
    ("2p", "2q", "2q-padded"),
    ("3p", "private-dense", "private-padded"),
)  # sums of the clusters
OUTPUTS = ("save-labels", "save-centres")  # no part of the work
PUBLISHED_WORK = {"points": 200000, "dimensions": 2, "clusters": 81, "iterations": 108}
UNITS = {1.0: "s", 1e-3: "ms", 1e-6: "µs", 1e-9: "ns"}

PUBLISHED_HELP = (
    "Time of a variant over that of 2p with as many threads (logarithmic axis): left of 1 faster"
    " than 2p, right of it slower. Grey: published, of other machines; blue: measured here, with 95"
    " % intervals. Ratios can be compared, not times."
)


# The work: what trials have in common that are compared with each other.


def number(value: Any) -> Optional[int]:
    """Of a parameter that may also be a file; None then."""
    return int(value) if str(value).isdecimal() else None


def amount(value: Any) -> str:
    """200000 is 200 k; of a file its name."""
    n = number(value)
    if n is None:
        return str(value).rsplit("/", 1)[-1]
    factor, prefix = next(
        (
            f
            for f in ((10**9, "\u00a0G"), (10**6, "\u00a0M"), (1000, "\u00a0k"))
            if n >= f[0] and n % f[0] == 0
        ),
        (1, ""),
    )
    return f"{n // factor}{prefix}"


def work(trial: Row) -> tuple[tuple[str, str], ...]:
    """What is to be clustered, in full; `prune` is how `best` does it."""
    left_out = ("prune", *OUTPUTS)
    return (
        *((key, str(value)) for key, value in trial["parameters"].items() if key not in left_out),
        ("bind", trial["bind"]),
    )


def words(of: Row, several: Iterable[str] = ()) -> str:
    """Of the work; what is not always said is where it differs among several."""
    said = [
        f"{amount(of.get('points', '?'))} × {of.get('dimensions', '?')}",
        f"k\u00a0=\u00a0{of.get('clusters', '?')}",
    ]
    iterations = number(of.get("iterations", ""))
    if iterations is not None:
        said.append(f"{iterations} iterations" if iterations else "to the end")
    said += [str(of["type"])] * ("type" in of)
    said += [
        f"{key} {of[key]}"
        for key in of
        if key in several and key not in ("points", "dimensions", "clusters", "iterations", "type")
    ]
    return ", ".join(said)


def by_work(trials: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """Trials of the same work, by its name; in order of first sight."""
    groups: dict[Any, list[Row]] = {}
    for t in trials:
        groups.setdefault(work(t), []).append(t)
    several = differing(groups)
    return [(words(dict(key), several), own) for key, own in groups.items()]


def differing(groups: Iterable[tuple[tuple[str, str], ...]]) -> list[str]:
    """Names of what is not the same in all."""
    values: dict[str, set[Optional[str]]] = {}
    settings = [dict(g) for g in groups]
    for key in dict.fromkeys(key for of in settings for key in of):
        values[key] = {of.get(key) for of in settings}
    return [key for key, found in values.items() if len(found) > 1]


def differs_from_published(trial: Row) -> list[str]:
    """What of the published work is not that of a trial, in words."""
    found = []
    for key, theirs in PUBLISHED_WORK.items():
        ours = trial["parameters"].get(key)
        if number(ours) != theirs:
            to_the_end = key == "iterations" and number(ours) == 0
            found.append(
                f"{key} {'until nothing changes' if to_the_end else amount(ours)} instead of"
                f" {amount(theirs)}"
            )
    return found


def time_unit(values: Iterable[Optional[float]]) -> float:
    """In which the middle of the values reads well."""
    known = sorted(v for v in values if v) or [1.0]
    return next((u for u in UNITS if known[len(known) // 2] >= u), min(UNITS))


# Ratios.


def pick(trials: Sequence[Row], variant: str, threads: int) -> Optional[Row]:
    """The one that has a value; of several kinds of pruning the fastest."""
    own = [t for t in trials if (t["variant"], t["threads"]) == (variant, threads) and t["value"]]
    return min(own, key=lambda t: t["value"], default=None)


def over(trials: Sequence[Row], of: str, to: str, threads: int) -> Optional[Row]:
    one, other = pick(trials, of, threads), pick(trials, to, threads)
    return ratio(one, other) if one and other else None


def ratio_rows(trials: Sequence[Row]) -> list[Row]:
    """Of one work, for each number of threads: what the variants take to what 2p takes."""
    found = []
    for threads in sorted({t["threads"] for t in trials}):
        by = {v: r for v in VARIANTS if v != BASE and (r := over(trials, v, BASE, threads))}
        if by:
            found.append({"threads": threads, "by": by})
    return found


def published_ratios() -> list[Row]:
    """For each machine and number of threads: times of the variants over that of 2p in the same
    published run."""
    figures = published.figures("kmeans", "time")
    base = {_run(f): f.value for f in figures if f.variant == BASE}
    found: dict[tuple[str, int], Row] = {}
    for f in figures:
        if f.variant != BASE and _run(f) in base:
            row = found.setdefault(
                _run(f)[:2], {"machine": short(f.machine), "threads": f.threads, "by": {}}
            )
            row["by"][f.variant] = f.value / base[_run(f)]
    return list(found.values())


def _run(f: published.Figure) -> tuple[str, int, str]:
    return f.machine, f.threads or 0, f.parameters.get("run", "")


def published_speed_ups() -> list[Row]:
    """Over one thread, where that was published of the same machine."""
    time = {
        (f.machine, f.variant, f.threads or 0): f.value
        for f in published.figures("kmeans", "time")
        if "run" not in f.parameters
    }
    return [
        {"machine": short(m), "variant": v, "threads": n, "value": time[m, v, 1] / t}
        for (m, v, n), t in time.items()
        if n > 1 and (m, v, 1) in time
    ]


def short(machine: str) -> str:
    return machine.split("(")[0].replace("Intel ", "").strip()


def beside_published(trials: Sequence[Row], name: str, title: str) -> Optional[charts.Picture]:
    """Published ratios, and ours: with as many threads, with one, and with the most; of the work
    most like the published one."""
    works = [own for _, own in by_work(trials) if ratio_rows(own)]
    if not works:
        return None
    own = min(works, key=lambda of: len(differs_from_published(of[0])))
    theirs, ours = published_ratios(), ratio_rows(own)
    wanted = {
        1,
        most_threads(own),
        max(r["threads"] for r in ours),
        *(r["threads"] for r in theirs),
    }
    rows: list[Row] = []
    for variant in (v for v in VARIANTS if any(v in r["by"] for r in theirs)):
        of_variant = [
            {
                **NO_TRIAL,
                "point": f"published: {r['machine']}, {_threads(r['threads'])}",
                "theirs": True,
                "value": r["by"][variant],
            }
            for r in theirs
            if variant in r["by"]
        ]
        of_variant += [
            {
                **r["by"][variant],
                "id": None,
                "point": f"here, {_threads(r['threads'])}",
                "theirs": False,
            }
            for r in ours
            if variant in r["by"] and r["threads"] in wanted
        ]
        for i, r in enumerate(of_variant):
            rows.append(
                {
                    **r,
                    "first": "" if i else f"{variant}/{BASE}",
                    "trial": f"{variant}, {r['point']}",
                }
            )
    data, panels = charts.ratios(rows, f"time over that of {BASE} (less is better)")
    used = [t for t in own if t["threads"] in wanted and t["variant"] in {*SHARED, "3p"}]
    source = published.figures("kmeans", "time")[0].source
    extra = [
        f"Here: {words(own[0]['parameters'])}. {of_published_work(own)}",
        f"{source}: {published.sources()[source]}",
    ]
    return charts.picture(name, title, PUBLISHED_HELP, used, panels, data, extra, curves.NOTES)


NO_TRIAL: Row = {"id": None, "low": None, "high": None, "flag": None, "status": "ok"}


def of_published_work(trials: Sequence[Row]) -> str:
    """Whether this is the published work, in a sentence."""
    other = differs_from_published(trials[0])
    if other:
        return f"Not the published work: {', '.join(other)}."
    return "The work is as published, but for points and centres, which were not."


def _threads(n: int) -> str:
    return f"{n} thread{'s' * (n != 1)}"


# What the measurement makes of the mystery.


def most_threads(trials: Sequence[Row]) -> int:
    """The most that had a CPU each and did 2p and 2q; where none had, the most."""
    both = [
        n for n in {t["threads"] for t in trials} if pick(trials, "2p", n) and pick(trials, "2q", n)
    ]
    alone = [n for n in both if not any(t["oversubscribed"] for t in trials if t["threads"] == n)]
    return max(alone or both, default=0)


def claims(trials: Sequence[Row]) -> list[Row]:
    """Of one work: what was published, what was measured, and whether the two agree."""
    most, one = most_threads(trials), over(trials, "2q", "2p", 1)
    found = []
    if one:
        found.append(
            _claim(
                "On one thread 2q is faster than 2p.",
                "2q/2p",
                1,
                one,
                *_held(trials, "2q", "2p", 1, faster=True),
            )
        )
    if most < 2:
        return found
    slower = _held(trials, "2q", "2p", most, faster=False)
    found.append(
        _claim(
            "On many threads 2q is slower than 2p.",
            "2q/2p",
            most,
            over(trials, "2q", "2p", most),
            *slower,
        )
    )
    padded = over(trials, "2q-padded", "2p", most)
    if padded:
        found.append(
            _claim(
                "Padding cures it.", "2q-padded/2p", most, padded, *_cured(trials, most, slower[0])
            )
        )
    own = min(
        (t for v in OWN if (t := pick(trials, v, most))), key=lambda t: t["value"], default=None
    )
    if own:
        best_shared = min(
            (t for v in SHARED if (t := pick(trials, v, most))), key=lambda t: t["value"]
        )
        told = _held(trials, own["variant"], best_shared["variant"], most, faster=True)
        name = f"{own['variant']}/{best_shared['variant']}"
        found.append(_claim("Not sharing beats both.", name, most, ratio(own, best_shared), *told))
    return found


def _claim(text: str, name: str, threads: int, value: Optional[Row], verdict: str, why: str) -> Row:
    theirs = "3p/2p" if text.startswith("Not sharing") else name
    variant = theirs.split("/")[0]
    figures = [
        r
        for r in published_ratios()
        if variant in r["by"] and (r["threads"] == 1) == (threads == 1)
    ]
    said = ", ".join(
        f"{units.number(r['by'][variant])} ({_threads(r['threads'])})" for r in figures
    )
    return {
        "claim": text,
        "published": f"{theirs} {said}",
        "name": name,
        "threads": threads,
        "ratio": value,
        "verdict": verdict,
        "why": why,
    }


def _held(trials: Sequence[Row], of: str, to: str, threads: int, faster: bool) -> tuple[str, str]:
    """Whether one is faster than the other, or slower, as its interval says."""
    one, other = pick(trials, of, threads), pick(trials, to, threads)
    if one is None or other is None:
        return UNSURE, f"{of} or {to} has no value"
    found, why = ratio(one, other), evidence.unfit(one, other)
    if why or found is None:
        return UNSURE, why
    if found["low"] <= 1 <= found["high"]:
        return UNSURE, "the interval allows that it is faster, and that it is slower"
    is_faster = found["high"] < 1
    return (
        AGREES if is_faster == faster else DIFFERS
    ), f"{of} takes {_change(found['value'])} {to}"


def _change(value: float) -> str:
    if value >= 2:
        return f"{units.number(value)} times as long as"
    return f"{units.percent(abs(value - 1))} {'less' if value < 1 else 'more'} than"


def _cured(trials: Sequence[Row], threads: int, slower: str) -> tuple[str, str]:
    """How much of what 2q costs over 2p is gone with padding."""
    if slower == DIFFERS:
        return UNSURE, "2q costs nothing here that could be cured"
    verdict, why = _held(trials, "2q-padded", "2q", threads, faster=True)
    if verdict != AGREES or slower != AGREES:
        return (UNSURE if verdict == AGREES else verdict), (
            why if verdict != AGREES else "whether 2q costs anything is open"
        )
    padded, plain, base = (pick(trials, v, threads) for v in ("2q-padded", "2q", BASE))
    assert padded and plain and base
    part = evidence.taken_away(plain, padded, base)
    return evidence.of_most(part), f"it takes away {evidence.said(part)} of what 2q costs over 2p"


# Of one run: what stands above its pictures.


def section(trials: Sequence[Row]) -> Row:
    works: list[Row] = []
    groups = by_work(trials)
    alike = min((len(differs_from_published(own[0])) for _, own in groups), default=0)
    for name, own in groups:
        works.append(
            {
                "name": name,
                "claims": claims(own),
                "ratios": ratio_rows(own),
                "published": of_published_work(own),
                "beside": len(differs_from_published(own[0])) == alike,
                "trials": own,
            }
        )
    return {"works": works}


def fastest(trials: Sequence[Row]) -> list[Row]:
    """Of all runs: the trials of best."""
    own = [t for t in trials if t["variant"] == "best" and t["value"]]
    return [{**t, "work": name} for name, group in by_work(own) for t in group]


def missing(
    runs: Iterable[Row], best: Sequence[Row], scaled: Sequence[Row], peers: Sequence[Row]
) -> list[str]:
    """What is not on the page, and why."""
    works = [w for run in runs for w in run["works"]]
    found = []
    if not any(many_threads([t for t in w["trials"] if t["value"]]) for w in works):
        found.append(
            "Time over threads, and speed-up: no work has values with several numbers of threads"
            " (--threads 1,2,4)."
        )
    if not any(w["ratios"] for w in works):
        found.append(
            f"Ratios, and published figures beside: no work has values both of {BASE} and of"
            " another variant."
        )
    elif not any(c["threads"] > 1 for w in works for c in w["claims"]):
        found.append(
            "The published mystery on many threads: no work has values of 2p and 2q with two"
            " threads or more."
        )
    if not best:
        found.append("The fastest: best was not run, or has no value.")
    if not scaled:
        found.append(
            "Scaling: no two runs do the same work, or the same work a rank, with different numbers"
            " of ranks (locus-mpi kmeans)."
        )
    if not peers:
        found.append("Other libraries: no comparison is in these records (make peers).")
    return found
