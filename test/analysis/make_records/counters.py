# SPDX-License-Identifier: Apache-2.0
"""Adds counters to synthetic records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Optional

from .machines import Line

Model = Callable[
    [Line], Optional[float]
]  # count of an event per unit of a trial; None: the trial cannot count it
OWN = {
    "minor-faults": "minor_faults",
    "major-faults": "major_faults",
    "voluntary-switches": "voluntary",
    "involuntary-switches": "involuntary",
    "migrations": "migrations",
    "steal": "steal",
}  # the kernel's counters, and their keys in a trial's noise


def event(name: str, source: Optional[str] = "papi", turn: int = 0, **changes: Any) -> Line:
    """An event of a header's counters; `turn` is its pass."""
    why = None if source else "no PMU: this virtual machine has none; ask for one"
    found = {
        "name": name,
        "source": source,
        "unit": "1",
        "scope": "thread",
        "pass": turn if source else None,
    }
    return {**found, "proven": bool(source), "why": why, **changes}


def count(
    lines: list[Line], events: dict[str, tuple[Line, Model]], slower: float = 1.001, **changes: Any
) -> list[Line]:
    """A record with counters: these events, if any, and always the kernel's. `slower`: time with
    counting over time without."""
    passes = 1 + max((e["pass"] or 0 for e, _ in events.values()), default=0)
    told = {
        "asked": list(events),
        "optional": False,
        "multiplexed": False,
        "passes": passes,
        "papi": "7.0.0.0",
        "papi_why": None,
    }
    for line in lines:
        if line["type"] == "header":
            line["counters"] = (
                {**told, "events": [e for e, _ in events.values()], **changes} if events else None
            )
        elif line["type"] == "samples":
            line["counters"] = {}
        elif line["type"] == "trial":
            own = [_counter(line, e, model) for e, model in events.values()]
            line["counters"] = own + _ratio(own) + _own(line)
            line["counting"] = _counting(line, slower) if events else None
    return lines


def _counter(trial: Line, of: Line, model: Model) -> Line:
    value = model(trial) if trial["samples"] and of["source"] else None
    why = (
        of["why"] or (trial["reasons"] or ["no sample was counted throughout"])[0]
        if value is None
        else None
    )
    doubtful = value == 0 and not of["proven"]
    n, threads = trial["samples"]["n"] if trial["samples"] else 0, trial["threads"]
    return {
        **{key: of[key] for key in ("name", "source", "unit", "scope")},
        "per": trial["unit"],
        "value": value,
        "ci": None if value is None else [value * 0.99, value * 1.01],
        "per_thread": None if value is None else [value / threads] * threads,
        "total": None if value is None else value * n * 1000,
        "samples": n,
        "trusted": not doubtful,
        "why": (
            "it reads zero in all samples, and no probe saw it count either" if doubtful else why
        ),
    }


def _ratio(counters: list[Line]) -> list[Line]:
    by_name = {c["name"]: c for c in counters if c["value"] is not None}
    if not {"PAPI_TOT_INS", "PAPI_TOT_CYC"} <= set(by_name):
        return []
    of, over = by_name["PAPI_TOT_INS"], by_name["PAPI_TOT_CYC"]
    value = of["value"] / over["value"]
    named = {
        "name": "instructions per cycle",
        "source": "ratio",
        "per": "cycle",
        "per_thread": None,
        "total": None,
    }
    return [{**of, **named, "value": value, "ci": [value * 0.98, value * 1.02]}]


def _own(trial: Line) -> list[Line]:
    """The kernel's counters, which every trial has."""
    found = []
    for name, key in OWN.items():
        total = trial["noise"][key] if trial["noise"] else None
        n = trial["samples"]["n"] if trial["samples"] else 0
        found.append(
            {
                "name": name,
                "source": "kernel",
                "unit": "s" if name == "steal" else "1",
                "scope": "thread",
                "per": trial["unit"],
                "value": None if total is None else total / n,
                "ci": None,
                "per_thread": None,
                "total": total,
                "samples": n,
                "trusted": True,
                "why": (
                    (trial["reasons"] or ["the kernel did not tell it"])[0]
                    if total is None
                    else None
                ),
            }
        )
    return found


def _counting(trial: Line, slower: float) -> Optional[Line]:
    time = next(m for m in trial["metrics"] if m["name"] == "time")
    if time["value"] is None:
        return None
    return {
        "with": time["value"] * slower,
        "with_ci": time["ci"] and [end * slower for end in time["ci"]],
        "without": time["value"],
        "without_ci": time["ci"],
    }
