# SPDX-License-Identifier: Apache-2.0
"""What the sides of a comparison differ in: settings of their runs, and trials without a
counterpart."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Optional, Union

from ..base import units

if TYPE_CHECKING:
    from .observations import FullTrial, Side, Value

# A value of a header.
Json = Union[None, bool, int, float, str, "list[Json]", "dict[str, Json]"]

# Keys of the header that may cause a change, whole branches with all that is beneath them.
SETTINGS = (
    *("machine.class", "machine.cpu.model", "machine.cpu.microcode", "machine.virtual"),
    *("machine.kernel", "machine.firmware", "machine.frequency", "machine.prefetchers"),
    *("machine.memory.thp", "machine.memory.page", "machine.memory.modules"),
    *("machine.topology.allowed", "machine.topology.smt", "machine.numa_balancing"),
    *("machine.mitigations", "machine.cgroup.cpu_quota", "machine.environment", "machine.libc"),
    *("program", "profile", "altered", "binding"),
)
IGNORED = ("machine.environment.SLURM", "binding.affinity", "binding.inherited")
KEYS = {path: path.split(".") for path in SETTINGS}
SOME = 3  # values of a field that are listed


def settings_of(old: Side, new: Side) -> list[tuple[str, str, str]]:
    """Settings that are not the same on both sides: name, values of the old and of the new."""
    of = [[r["settings"] for r in side.runs] for side in (old, new)]
    names = dict.fromkeys(name for side in of for run in side for name in run)
    told = []
    for name in names:
        both = [sorted({json.dumps(run.get(name)) for run in side}) for side in of]
        if both[0] != both[1]:
            texts = [", ".join(t.strip('"') for t in values) for values in both]
            told.append((name.removeprefix("machine."), texts[0], texts[1]))
    return told


def settings(header: Json) -> dict[str, Json]:
    """The value of each setting in a header, by name."""
    found: dict[str, Json] = {}
    for path, keys in KEYS.items():
        value = header
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        _add_leaves(found, path, value)
    return found


def _add_leaves(found: dict[str, Json], path: str, value: Json) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            _add_leaves(found, sys.intern(f"{path}.{key}"), inner)
    elif not path.startswith(IGNORED):
        found[path] = value


def trials_of(old: Side, new: Side) -> list[str]:
    """Trials that only one side has, by the fields in which they differ from the nearest ones of
    the other side."""
    own = [
        [t for i, t in side.trials.items() if i not in other.trials]
        for side, other in ((old, new), (new, old))
    ]
    groups: dict[tuple[str, tuple[str, ...]], tuple[list[FullTrial], list[FullTrial]]] = {}
    for side, trials in enumerate(own):
        for trial in trials:
            near = [
                _unlike(trial, o) for o in own[1 - side] if o["benchmark"] == trial["benchmark"]
            ]
            names = min(near, key=lambda n: (len(n), n)) if near else ()
            there = groups.setdefault((trial["benchmark"], names), ([], []))
            there[side].append(trial)
    return [_told(benchmark, names, *both) for (benchmark, names), both in groups.items()]


def _told(benchmark: str, names: Sequence[str], old: list[FullTrial], new: list[FullTrial]) -> str:
    if not names:
        sides = " and ".join(n for n, own in (("OLD", old), ("NEW", new)) if own)
        return f"{benchmark}: {len(old) + len(new)} trials only in {sides}"
    fields = [f"{n} ({_values(n, old)} against {_values(n, new)})" for n in names]
    return f"{benchmark}: {len(old)} against {len(new)} trials differ in {', '.join(fields)}"


def _values(name: str, trials: Sequence[FullTrial]) -> str:
    shown = (units.short(_fields(t).get(name, "none"), name in t.get("sizes", ())) for t in trials)
    values = dict.fromkeys(shown)
    told = [v.replace("\u00a0", " ") for v in values]
    return ", ".join(told[:SOME]) + (", ..." if len(told) > SOME else "") or "none"


def _fields(trial: FullTrial) -> dict[str, Optional[Value]]:
    told = {k: trial[k] for k in ("variant", "threads", "bind", "oversubscribed", "protocol")}
    return {**told, **trial["parameters"]}


def _unlike(one: FullTrial, other: FullTrial) -> tuple[str, ...]:
    """Names of the fields that differ; the contents of a file are part of the identity, too."""
    a, b = _fields(one), _fields(other)
    names = [n for n in dict.fromkeys([*a, *b]) if a.get(n) != b.get(n)]
    return tuple(names) or ("contents of files",)
