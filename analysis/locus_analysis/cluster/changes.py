# SPDX-License-Identifier: Apache-2.0
"""Hosts that became slower between two sides of a comparison, by the rule of `sick`: a host's
change is judged beside the other hosts' changes, component by component. What changed on all hosts
is no host's change: the metrics show it.

A run beside other work is slower in half of its components. With one run a side nothing else tells
it from a sick host, so that a host is named only where the change is large, and in few components.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..compare.hosts import Changes, HostChange
from ..compare.observations import Side
from . import rule, sick
from .rule import Array

FALSE = 0.05  # about so many healthy hosts exceed the limit in a comparison
SEVERAL = 2  # runs of a host on each side
# With fewer runs, a change is certain only if it is LARGE, and in at most FEW components.
LARGE = float(np.log(1.15))
FEW = 2


def judge(old: Side, new: Side) -> Changes:
    """Judges the hosts that both sides have, in each class with enough of them."""
    made = Changes()
    there = {*new.hosts}
    for hosts in sick.classes_of(old).values():
        both = sorted(host for host in hosts if host in there)
        if len(both) >= rule.LEAST_HOSTS:
            made.judged += len(both)
            made.slower += _of_class(sick.of_hosts(old, both), sick.of_hosts(new, both), both)
    made.slower.sort(key=lambda c: (not c.is_certain, -c.ratio, c.host))
    return made


def _of_class(old: Side, new: Side, hosts: Sequence[str]) -> list[HostChange]:
    before, after = sick.matrix(old), sick.matrix(new)
    place = {told: i for i, told in enumerate(after.told)}
    kept = [i for i, told in enumerate(before.told) if told in place]
    if not kept:
        return []
    y = _by_host(new, after.y[:, [place[before.told[i]] for i in kept]], hosts)
    y -= _by_host(old, before.y[:, kept], hosts)
    runs = [min(own) for own in zip(_runs(old, hosts), _runs(new, hosts))]
    return found(y, [before.component[i] for i in kept], hosts, runs)


def found(
    y: Array, of: Sequence[str], hosts: Sequence[str], runs: Sequence[int]
) -> list[HostChange]:
    """`y`: logarithms of changes, a row for each host, a column for each metric, whose component is
    in `of`; greater is worse. `runs`: of each host, on the side that has fewer."""
    class_ = rule.refer(y, of, majority=True, false=FALSE)
    seen = rule.look(y, class_)
    found = []
    for h, host in enumerate(hosts):
        if own := _of_host(class_, seen, h, runs[h] >= SEVERAL):
            c, is_certain, others = own
            ratio = float(np.exp(seen.effect[h, c]))
            counts = int(seen.beyond[h, c]), int(seen.known[h, c])
            found.append(HostChange(host, class_.components[c], ratio, *counts, is_certain, others))
    return found


def _of_host(
    class_: rule.Reference, seen: rule.Look, h: int, several: bool
) -> tuple[int, bool, int] | None:
    """The component in which the host became slower, whether that is certain, and in how many
    others it may be slower; None: it did not."""
    least = rule.least_effects(class_.components, {})
    strong = np.flatnonzero((seen.score[h] > class_.limit) & (seen.effect[h] > least))
    if not len(strong):
        return None
    slight = (seen.score[h] > class_.limit / 2) & (seen.effect[h] > rule.SLIGHT)
    others = int(slight.sum()) - 1
    clock = [int(c) for c in strong if class_.components[c] == rule.CLOCK]
    c = clock[0] if clock else int(max(strong, key=lambda c: seen.effect[h, c]))
    large = seen.effect[h, c] > LARGE and (others < FEW or bool(clock))
    return c, several or bool(large), others


def _by_host(side: Side, y: Array, hosts: Sequence[str]) -> Array:
    rows: dict[str, list[int]] = {host: [] for host in hosts}
    for i, run in enumerate(side.runs):
        rows[run["host"]].append(i)
    return np.stack([rule.of_host(y[rows[host]]) for host in hosts])


def _runs(side: Side, hosts: Sequence[str]) -> list[int]:
    own = [run["host"] for run in side.runs]
    return [own.count(host) for host in hosts]
