# SPDX-License-Identifier: Apache-2.0
"""Who is sick: the verdict on each node of a cluster, from the records of its runs.

A node is judged within its class of machines (header: machine.class), by the runs of one campaign
at a time: those of a folder of results, or with the same tag `campaign`. A node that one campaign
suspects is sick once another one, or `--again`, confirms it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Optional

import numpy as np

from ..base import units
from ..compare import observations
from ..compare.observations import Run, Side
from ..records.database import STATUSES
from . import components, cores, facts, restless, rule, together
from .rule import Array

if TYPE_CHECKING:
    import duckdb

SICK, SUSPECT, WRONG, ODD, NOISY = "SICK", "SUSPECT", "WRONG", "ODD", "NOISY"
NO_DATA, UNJUDGED = "NO DATA", "UNJUDGED"
VERDICTS = (WRONG, SICK, SUSPECT, ODD, NOISY, NO_DATA, UNJUDGED)  # the gravest first
UNHEALTHY = (WRONG, SICK, ODD)
OPEN = (SUSPECT, NO_DATA, UNJUDGED)

FEW_HOSTS = 3  # a class of fewer is odd, whatever other classes there are,
FEW_SHARE = 0.01  # and so is one of a smaller share beside a larger one of the same CPU
FRESH = 3  # runs that confirm a suspect: of real ones a single run names healthy hosts


class Place(NamedTuple):
    """A run's host and campaign."""

    host: str
    campaign: str


@dataclass
class Finding:
    verdict: str
    host: str
    component: str = ""
    ratio: Optional[float] = None  # to the class; above 1 is slower
    beyond: int = 0  # metrics of the component that are beyond the limit, of `known`
    known: int = 0
    campaigns: int = 0  # in which it is beyond
    reason: str = ""
    differs: list[str] = field(default_factory=list)  # facts, never called the cause

    @property
    def metrics(self) -> str:
        return f"{self.beyond} of {units.several(self.known, 'metric')}"


@dataclass
class Campaign:
    """What a campaign shows of a class; its hosts are the rows."""

    name: str
    cpu: str
    group: int  # the number of its class
    hosts: list[str]
    runs: list[int]  # of each host
    class_: rule.Reference
    seen: rule.Look
    y: Array


@dataclass
class Verdict:
    hosts: int
    classes: list[tuple[str, int]]  # CPU and hosts, of classes that can be judged
    findings: list[Finding]
    lookers: list[Finding]  # worth a look: beyond the limit once, and not confirmed, or too small
    healthy: float  # nodes that the rule would name in a healthy cluster of this size
    notes: list[str]
    campaigns: list[Campaign]  # of classes that can be judged
    facts: dict[str, list[str]]  # by host: in what it differs from its class
    beside: list[Campaign]  # odd machines, each with the hosts of the nearest class
    network: str = ""  # between how many nodes
    together: Optional[together.Together] = None

    def add(self, findings: Iterable[Finding], network: str) -> None:
        """What was measured between nodes, which no run of a single host shows."""
        self.network = network
        self.findings += findings
        self.findings.sort(key=lambda f: VERDICTS.index(f.verdict))

    @property
    def status(self) -> int:
        return status_of(self.findings)

    @property
    def suspects(self) -> list[str]:
        return sorted({f.host for f in self.findings if f.verdict == SUSPECT})


def status_of(findings: Iterable[Finding]) -> int:
    """The exit status that they make."""
    found = {f.verdict for f in findings}
    return 1 if found & {*UNHEALTHY} else 4 if found & {*OPEN} else 0


def judge(
    db: duckdb.DuckDBPyConnection, side: Side, effects: Mapping[str, float], lost: Mapping[str, str]
) -> Verdict:
    """`effects`: least logarithms for a sick node, by component. `lost`: nodes without a record,
    and why."""
    side = _of_one_host(side)
    findings: list[Finding] = []
    lookers: list[Finding] = []
    seen: list[Campaign] = []
    beside: list[Campaign] = []
    differing: dict[str, list[str]] = {}
    judged: list[tuple[str, int]] = []
    classes = classes_of(side)
    small = _odd_classes(classes, side)
    for name, hosts in classes.items():
        part = of_hosts(side, hosts)
        if name in small:
            odd = _odd_machines(part, small[name], classes, side, effects)
            findings += odd.findings
            beside += odd.campaigns
            continue
        judged.append((part.runs[-1]["cpu"], len(hosts)))
        if len(hosts) < rule.LEAST_HOSTS:
            why = f"{units.several(len(hosts), 'node')} of its class, 5 needed"
            findings += [_unjudged(h, why) for h in hosts]
        else:
            of = _of_class(part, effects)
            findings += of.findings
            lookers += of.lookers
            seen += [replace(c, group=len(judged)) for c in of.campaigns]
        findings += _wrong(part)
        differing.update(facts.of_hosts(part))
    _add_cpus(db, findings)
    _add_facts(differing, findings)
    there = {*side.hosts}
    findings += [Finding(NO_DATA, n, reason=why) for n, why in lost.items() if n not in there]
    differing.update({f.host: f.differs for f in findings if f.differs})
    findings.sort(key=lambda f: (VERDICTS.index(f.verdict), -abs(np.log(f.ratio or 1)), f.host))
    n = len(side.hosts)
    healthy, both = rule.healthy_named(n), together.of(side)
    return Verdict(
        *(n, judged, findings, lookers, healthy, [], seen, differing, beside), together=both
    )


def nobody(side: Side) -> Verdict:
    """The verdict on too few hosts to judge: it has only their speed together over alone."""
    return Verdict(0, [], [], [], 0.0, [], [], {}, [], together=together.of(side))


def _of_one_host(side: Side) -> Side:
    """Without runs that measured between hosts only."""
    own = [t["benchmark"] != components.FABRIC for t in side.trials.values()]
    between = (side.status > observations.ABSENT)[:, np.logical_not(own)].any(1)
    return side.of(np.flatnonzero((side.status > observations.ABSENT)[:, own].any(1) | ~between))


def _campaign(run: Run) -> str:
    return str(run["tags"].get("campaign") or Path(run["file"]).parent)


def _unjudged(host: str, why: str) -> Finding:
    return Finding(UNJUDGED, host, reason=why)


def of_hosts(side: Side, hosts: Iterable[str]) -> Side:
    """Their runs alone."""
    chosen = {*hosts}
    return side.of([i for i, r in enumerate(side.runs) if r["host"] in chosen])


# ---- classes ----


def classes_of(side: Side) -> dict[str, list[str]]:
    """The hosts of each class, the largest first; the last run of a host tells its class."""
    of_host = {r["host"]: r["class"] for r in side.runs}
    found: dict[str, list[str]] = {}
    for host, name in of_host.items():
        found.setdefault(name, []).append(host)
    return dict(sorted(found.items(), key=lambda c: (-len(c[1]), c[0])))


def _odd_classes(classes: Mapping[str, Sequence[str]], side: Side) -> dict[str, Optional[str]]:
    """Classes of so few hosts that something must be wrong with them, and for each the largest
    class of the same CPU, if there is one."""
    cpu = {r["class"]: r["cpu"] for r in side.runs}
    small: dict[str, Optional[str]] = {}
    largest = max((len(h) for h in classes.values()), default=0)
    for name, hosts in classes.items():
        alike = [c for c in classes if c != name and cpu[c] == cpu[name]]
        near = max(alike, key=lambda c: len(classes[c]), default=None)
        beside = len(classes[near]) if near else 0
        if len(hosts) < FEW_HOSTS <= largest or len(hosts) < FEW_SHARE * beside:
            small[name] = near
    return small


def _odd_machines(
    part: Side,
    near: Optional[str],
    classes: Mapping[str, Sequence[str]],
    side: Side,
    effects: Mapping[str, float],
) -> _Judged:
    """What an odd machine differs in, and how its values lie beside those of the nearest class."""
    if near is None:
        alone = [Finding(ODD, h, reason="no other machine has its CPU") for h in part.hosts]
        return _Judged(alone, [], [])
    usual = facts.modes(of_hosts(side, classes[near]).runs)
    last = {r["host"]: r for r in part.runs}
    slow: dict[str, Finding] = {}
    campaigns: list[Campaign] = []
    if len(classes[near]) >= rule.LEAST_HOSTS:
        both = of_hosts(side, [*classes[near], *part.hosts])
        judged = _of_class(both, effects)
        slow = {f.host: f for f in reversed(judged.findings) if f.component}
        campaigns = judged.campaigns
    findings = [
        replace(
            slow.get(host, Finding(ODD, host)),
            verdict=ODD,
            reason="a machine of its own class",
            differs=facts.differing(last[host], usual),
        )
        for host in part.hosts
    ]
    return _Judged(findings, [], campaigns)


# ---- values ----


@dataclass
class Matrix:
    """Logarithms, a row for each run, a column for each metric; greater is worse."""

    y: Array
    component: list[str]  # of each column
    told: list[tuple[object, ...]]  # names each column, the same in all records


def matrix(part: Side) -> Matrix:
    """One metric of each trial, mostly its headline: the others are made of the same samples."""
    caches = components.caches_of(part.runs[-1])
    first: dict[str, observations.Key] = {}
    for key, m in part.metrics.items():
        if m["name"] == components.SHOWN.get(m["benchmark"], m["name"]):
            first.setdefault(m["id"], key)
    keys = [*first.values()]
    y, _ = observations.logarithms(part, keys, False)
    clock = part.cycle[:, part.places(first)]
    columns: list[Array] = []
    names: list[str] = []
    told: list[tuple[object, ...]] = []
    pairs: dict[components.Pair, dict[str, Array]] = {}
    for i, key in enumerate(keys):
        m = part.metrics[key]
        trial = components.trial_of(m)
        worse = y[:, i] if m["better"] == "lower" else -y[:, i]
        fit = components.fit(trial, caches)
        in_cycles = bool(fit and fit.cycles and _known(clock[:, i]))
        if fit:
            names.append(fit.component)
            columns.append(worse - clock[:, i] if in_cycles else worse)
            told.append((key, in_cycles))
        if in_cycles:
            names.append(rule.CLOCK)
            columns.append(clock[:, i])
            told.append((key, rule.CLOCK))
        if pair := components.huge_pair(trial, caches):
            pairs.setdefault(pair, {})[str(m["parameters"]["pages"])] = worse
    for pair, both in pairs.items():
        if len(both) > 1:
            told.append(pair)
            names.append("huge pages")
            columns.append(both["thp"] - both["base"])
    return Matrix(np.stack(columns, axis=1) if columns else np.empty((len(y), 0)), names, told)


def _known(values: Array) -> bool:
    return bool(np.isfinite(values).mean() > 0.5)


# ---- one class ----


class _Judged(NamedTuple):
    findings: list[Finding]
    lookers: list[Finding]
    campaigns: list[Campaign]


def _of_class(part: Side, effects: Mapping[str, float]) -> _Judged:
    of, cpu = matrix(part), part.runs[-1]["cpu"]
    if not np.isfinite(of.y).any():
        why = "none of its trials shows a component of a node"
        return _Judged([_unjudged(host, why) for host in part.hosts], [], [])
    places = [Place(r["host"], _campaign(r)) for r in part.runs]
    campaigns = Counter({p.campaign: 0 for p in places})
    campaigns.update(c for _, c in {*places})
    runs = Counter(places)
    looks: list[Campaign] = []
    main: Optional[rule.Reference] = None
    for name, n in campaigns.most_common():
        hosts, y = _by_host(of.y, places, name)
        if n >= rule.LEAST_HOSTS:
            class_ = rule.refer(y, of.component)
            main = main or class_
        elif not main:
            continue
        else:
            class_ = main
        own = [runs[Place(host, name)] for host in hosts]
        looks.append(Campaign(name, cpu, 0, hosts, own, class_, rule.look(y, class_), y))
    if not main:
        hosts = sorted({p.host for p in places})
        return _Judged(
            [_unjudged(h, "no campaign has 5 nodes of its class") for h in hosts], [], []
        )
    least = rule.least_effects(main.components, dict(effects))
    findings, lookers = _conclude(looks, main, least)
    noisy = [
        Finding(NOISY, host, reason=why) for host, why in restless.found(part, of.y, places).items()
    ]
    return _Judged(findings + noisy + _too_few(looks, main), lookers, looks)


class _Seen(NamedTuple):
    """What a campaign shows of a component of a host."""

    beyond: bool
    strong: bool  # beyond, by as much as a sick host needs
    look: Campaign
    row: int  # of the host

    @property
    def runs(self) -> int:
        return self.look.runs[self.row]


def _by_host(y: Array, places: Sequence[Place], campaign: str) -> tuple[list[str], Array]:
    rows: dict[str, list[int]] = {}
    for i, place in enumerate(places):
        if place.campaign == campaign:
            rows.setdefault(place.host, []).append(i)
    return [*rows], np.stack([rule.of_host(y[own]) for own in rows.values()])


def _conclude(
    looks: Sequence[Campaign], main: rule.Reference, least: Array
) -> tuple[list[Finding], list[Finding]]:
    findings: list[Finding] = []
    lookers: list[Finding] = []
    for (host, c), own in _suspected(looks, least).items():
        finding = _finding(host, main.components[c], c, [s for s in own if s.beyond])
        is_open = _confirm(finding, own)
        (findings if is_open or finding.verdict == SICK else lookers).append(finding)
    return _gravest(findings), lookers


def _suspected(looks: Sequence[Campaign], least: Array) -> dict[tuple[str, int], list[_Seen]]:
    """By host and component: what all campaigns show of it, where one shows it beyond."""
    beyond = [rule.is_beyond(c.class_, c.seen, np.asarray(rule.SLIGHT)) for c in looks]
    suspects = {
        (look.hosts[h], int(c)) for look, at in zip(looks, beyond) for h, c in zip(*np.nonzero(at))
    }
    seen: dict[tuple[str, int], list[_Seen]] = {}
    for look, at in zip(looks, beyond):
        strong = rule.is_beyond(look.class_, look.seen, least)
        for h, c in zip(*np.nonzero(np.isfinite(look.seen.score))):
            if (key := (look.hosts[h], int(c))) in suspects:
                own = _Seen(bool(at[h, c]), bool(strong[h, c]), look, int(h))
                seen.setdefault(key, []).append(own)
    return seen


def _confirm(finding: Finding, own: Sequence[_Seen]) -> bool:
    """Makes a suspect SICK that enough fresh runs confirm: those of other campaigns than the one
    that suspects it. Returns whether more of them are to decide."""
    first = next(s for s in own if s.beyond)
    others = [s for s in own if s is not first]
    fresh = sum(s.runs for s in others if s.strong)
    if fresh >= FRESH:
        finding.verdict = SICK
    elif fresh:
        again = "once" if fresh == 1 else f"by {fresh} runs"
        finding.reason = (
            f"measured again {again}: {units.several(FRESH - fresh, 'more run')} needed"
        )
    return all(s.strong for s in others)


def _finding(host: str, component: str, c: int, own: Sequence[_Seen]) -> Finding:
    effect = np.median([s.look.seen.effect[s.row, c] for s in own])
    last = own[-1]
    return Finding(
        SUSPECT,
        host,
        component,
        float(np.exp(effect)),
        int(last.look.seen.beyond[last.row, c]),
        int(last.look.seen.known[last.row, c]),
        len(own),
    )


def _gravest(findings: Sequence[Finding]) -> list[Finding]:
    """One finding for each host, that of the gravest component; the others are named behind it."""
    of_host: dict[str, list[Finding]] = {}
    for f in findings:
        of_host.setdefault(f.host, []).append(f)
    told = []
    for own in of_host.values():
        own.sort(
            key=lambda f: (
                VERDICTS.index(f.verdict),
                f.component not in components.CAUSES,
                -(f.ratio or 1),
            )
        )
        others = [f.component for f in own[1:] if f.verdict == own[0].verdict]
        also = [f"also {', '.join(others)}"] if others else []
        own[0].reason = ", ".join(filter(None, [own[0].reason, *also]))
        told.append(own[0])
    return told


def _too_few(looks: Sequence[Campaign], main: rule.Reference) -> list[Finding]:
    """Hosts with fewer than half of the metrics that most of their class have."""
    needed = np.isfinite(main.middle)
    most: dict[str, float] = {}
    for look in looks:
        share = np.isfinite(look.y[:, needed]).mean(1) if needed.any() else np.zeros(len(look.y))
        for host, own in zip(look.hosts, share):
            most[host] = max(most.get(host, 0), float(own))
    return [
        _unjudged(host, f"it has {share:.0%} of its class's metrics, half needed")
        for host, share in most.items()
        if share < 0.5
    ]


# ---- answers and facts ----


def _wrong(part: Side) -> list[Finding]:
    trials = [*part.trials.values()]
    counts: dict[str, Counter[tuple[str, str]]] = {}
    for status in ("wrong", "misplaced", "failed"):
        bad = part.status == STATUSES.index(status)
        for t in np.flatnonzero(bad.any(0)):
            for run in np.flatnonzero(bad[:, t]):
                of_host = counts.setdefault(part.runs[run]["host"], Counter())
                of_host[trials[t]["benchmark"], status] += 1
    return [
        Finding(WRONG, host, reason="; ".join(f"{b}: {n} {s}" for (b, s), n in own.items()))
        for host, own in sorted(counts.items())
    ]


def _add_cpus(db: duckdb.DuckDBPyConnection, findings: Iterable[Finding]) -> None:
    """Which CPUs are slow, or compute wrong, stands first among the reasons."""
    wrong = [f for f in findings if f.verdict == WRONG and f"{components.CORES}: " in f.reason]
    slow = [f for f in findings if f.component == components.CORES and f not in wrong]
    of = cores.of(db, [*{f.host for f in wrong + slow}])
    for f in wrong + slow:
        name = cores.named(of[f.host].wrong if f in wrong else of[f.host].slow)
        f.reason = "; ".join(filter(None, (name, f.reason)))


def _add_facts(of: Mapping[str, list[str]], findings: list[Finding]) -> None:
    """What a host differs in stands behind its finding; one without is ODD."""
    by_host = {f.host: f for f in findings}
    for host, own in of.items():
        if host in by_host:
            by_host[host].differs = own
        else:
            findings.append(Finding(ODD, host, reason="no value differs", differs=own))
