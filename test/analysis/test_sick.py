# SPDX-License-Identifier: Apache-2.0
"""Which nodes are sick: the rule on simulated clusters (fleet.py), and the command on records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import suites
from fleet import NAMES, Fleet, columns
from locus_analysis.cluster import rule

Array = np.ndarray[Any, np.dtype[Any]]


def values(y: Array) -> Array:
    """The value of each host: the median of its runs."""
    return np.asarray(y[:, 0] if y.shape[1] == 1 else np.median(y, axis=1))


def test_identical_hosts_have_scores_that_can_be_told() -> None:
    """Copies of one record: no scatter, no tail, and still no division by zero."""
    y = np.tile(np.log(np.arange(1.0, 1 + len(NAMES))), (8, 1))
    class_ = rule.refer(y, NAMES)
    seen = rule.look(y, class_)
    with np.errstate(all="raise"):
        over = seen.score / class_.limit
    assert not over.any() and not rule.is_beyond(class_, seen, np.asarray(rule.SLIGHT)).any()
    y[0, 0] += 1e-3  # one that is not a copy
    with np.errstate(all="raise"):
        (far, *_) = (rule.look(y, class_).score / class_.limit)[0]
    assert np.isfinite(far)


def campaign(fleet: Fleet, runs: int) -> tuple[Array, Array]:
    """By host and component: suspects of so many runs, and those that three fresh runs confirm."""
    everybody = np.arange(len(fleet.own))
    y = values(fleet.measure(everybody, runs))
    class_ = rule.refer(y, NAMES)
    suspects = rule.is_beyond(class_, rule.look(y, class_), np.asarray(rule.SLIGHT))
    sick = np.zeros_like(suspects)
    if len(own := np.flatnonzero(suspects.any(1))):
        again = rule.look(values(fleet.measure(own, 3)), class_)
        least = rule.least_effects(class_.components, {})
        sick[own] = rule.is_beyond(class_, again, least) & suspects[own]
    return suspects, sick


def named_healthy(hosts: int, runs: int, campaigns: int) -> tuple[int, int]:
    """Healthy hosts that are suspected, and those that are called sick, over all campaigns."""
    suspected = named = 0
    for seed in range(campaigns):
        fleet = Fleet.of(hosts, seed)
        suspects, sick = campaign(fleet, runs)
        components = tuple(dict.fromkeys(NAMES))
        really = fleet.really(components, rule.least_effects(components, {}))
        suspected += int(suspects.any(1).sum())
        named += int((sick & ~really).any(1).sum())
    return suspected, named


@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize(("hosts", "campaigns"), [(10, 200), (30, 200), (100, 200)])
def test_healthy_hosts_are_not_called_sick(hosts: int, campaigns: int, runs: int) -> None:
    """At most 0.05 per campaign; the number that the simulation finds is bounded by 0.08."""
    suspected, named = named_healthy(hosts, runs, campaigns)
    upper = named + 1.65 * np.sqrt(named + 1) + 1  # upper bound of a Poisson count, one-sided 95 %
    print(f"{hosts} hosts, {runs} runs: {suspected} suspects, {named} named in {campaigns}")
    assert named / campaigns <= 0.05 and upper / campaigns <= 0.08


@pytest.mark.parametrize(("hosts", "runs"), [(48, 1), (16, 3)])
def test_runs_of_one_machine_dealt_as_hosts(hosts: int, runs: int) -> None:
    """48 runs of a suite on one machine, with the drifts and modes of real ones (suites.py), are
    divided among made-up hosts, with three fresh runs for suspects: in 95 of 100 divisions nobody
    is named."""
    named = suspected = 0
    least = rule.least_effects(tuple(dict.fromkeys(suites.NAMES)), {})
    for seed in range(100):
        rng = np.random.default_rng(seed)
        several = hosts * (runs + 3)
        y = suites.runs(rng, several)[rng.permutation(several)]
        y = y.reshape(hosts, runs + 3, -1)
        first = np.stack([rule.of_host(own[:runs]) for own in y])
        again = np.stack([rule.of_host(own[runs:]) for own in y])
        class_ = rule.refer(first, suites.NAMES)
        suspects = rule.is_beyond(class_, rule.look(first, class_), np.asarray(rule.SLIGHT))
        sick = suspects & rule.is_beyond(class_, rule.look(again, class_), least)
        suspected += int(suspects.any())
        named += int(sick.any())
    print(f"{hosts} hosts, {runs} runs: suspects in {suspected} deals, names in {named}")
    assert named <= 5


FAULTS = {
    "a DIMM": ("memory bandwidth", 1.0, 0.136),  # 12 % less
    "slow memory": ("memory latency", 1.0, 0.20),
    "half an L3": ("L3", 0.25, 0.50),  # only sizes beyond half of it
    "no huge pages": ("huge pages", 1.0, 0.15),
    "remote pages": ("memory bandwidth", 1.0, 0.50),
    "a governor": ("clock", 1.0, 0.25),
    "a slow core": ("cores", 1.0, 0.11),  # 10 % slower than the other 63
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_sick_host_is_found(fault: str) -> None:
    component, share, change = FAULTS[fault]
    found, sick_hosts = 0, 2
    for seed in range(20):
        fleet = Fleet.of(100, seed)
        fleet.plant(range(sick_hosts), columns(component, share), change)
        _, sick = campaign(fleet, 3)
        found += int(sick[:sick_hosts, [*dict.fromkeys(NAMES)].index(component)].sum())
    print(f"{fault}: {found} of {20 * sick_hosts}")
    assert found >= 0.95 * 20 * sick_hosts
