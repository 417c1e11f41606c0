# SPDX-License-Identifier: Apache-2.0
"""Lines of the card about the memory of NUMA nodes: latency, bandwidth, first touch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Optional

import duckdb

from ..base import units
from ..insight import advice, evidence
from ..insight.advice import Wish
from ..records.database import select, value_of
from ..records.rows import Cell, Judged, Metric, Trial, Value
from .content import (
    CERTAIN,
    NO_DIFFERENCE,
    NOISY,
    ROUGH,
    UNTOLD,
    Host,
    Line,
    advised,
    compared,
    noisy,
    sure,
    times,
    undecided,
    untold,
    worst,
)

DISTANCE_HERE = 10  # of a node to itself, as firmware writes it


def _then(
    host: Host, benchmark: str, variant: str = "", nodes: int = 1, **options: str
) -> advice.Advice:
    """What to run for trials that are not there, or have no value."""
    own = [
        t
        for t in host.trials
        if t["benchmark"] == benchmark and (not variant or t["variant"] == variant)
        if all(str(t.get(name)) == value for name, value in options.items())
    ]
    asked = {**({"variant": variant} if variant else {}), **options}
    wish = Wish(benchmark, tuple(asked.items()), nodes=nodes)
    return advice.of(host.place, advice.why(own), wish)


def columns(size: str, load: str, cycles: str, remark: str) -> str:
    """As the lines of caches and of remote memory are divided."""
    return f"{size:>10}  {load:>8}  {cycles:>11}  {remark}".rstrip()


def cells(host: Host, benchmark: str) -> list[Cell]:
    """The node x node matrix of the first variant and setting that has one: a trial for each cell,
    with its nodes."""
    of_run = _cells_of(host.db, benchmark)
    places = {c["id"]: c for whole in host.wholes for c in of_run.get(whole, [])}
    own = [
        _with(places[t["id"]], t["metrics"][t["metric"]], t["status"])
        for t in host.of(benchmark)
        if t["id"] in places
    ]
    return [c for c in own if c["panel"] == own[0]["panel"] and c["variant"] == own[0]["variant"]]


@lru_cache(maxsize=2)
def _cells_of(db: duckdb.DuckDBPyConnection, benchmark: str) -> dict[str, list[Cell]]:
    """The cells of all hosts, by run."""
    of_run: dict[str, list[Cell]] = {}
    for cell in select(db, Cell, "FROM cell WHERE benchmark = ? ORDER BY place", benchmark):
        of_run.setdefault(cell["whole"], []).append(cell)
    return of_run


def _with(cell: Cell, value: Metric, status: str) -> Cell:
    own: Value = {"value": value["value"], "low": value["low"], "high": value["high"]}
    return {**cell, **own, "modes": value["modes"], "status": status}


def _is_local(cell: Cell) -> bool:
    return cell["threads_order"] == cell["memory_order"]


def _judged(cell: Cell) -> Judged:
    return {
        "value": cell["value"],
        "low": cell["low"],
        "high": cell["high"],
        "modes": [mode["value"] for mode in cell["modes"] or []],
        "flag": cell["flag"],
        "status": cell["status"],
        "reasons": cell["reasons"],
    }


def shown(cell: Cell, unit: str) -> str:
    """Its value, or both of its modes."""
    return units.either(_judged(cell)["modes"], unit) or units.measured(cell, unit)


@dataclass(frozen=True)
class Remote:
    """The worst remote cell whose value may be told, beside the local ones."""

    cell: Optional[Cell]  # none: all are noisy
    local: Judged  # all of them as one value
    clear: int  # how many such cells there are
    noisy: Sequence[Cell]  # those that are left out of it

    def _beside(self, cell: Cell) -> Judged:
        return evidence.product([(_judged(cell), False), (self.local, True)])

    def against(self, what: str) -> tuple[str, str]:
        """What it is beside the local ones; and how far all of that can be trusted. Of noisy cells
        alone, on which sides they are."""
        if self.cell is None:
            said, word = compared([self._beside(cell) for cell in self.noisy])
            return f"{said} {what}", word
        said, word = against(self._beside(self.cell), what)
        return said, worst([sure(_judged(self.cell)), word, *[ROUGH] * bool(self.noisy)])

    def shown(self, unit: str) -> str:
        """The value, or both of its modes."""
        return shown(self.cell, unit) if self.cell else "–"

    @property
    def numbers(self) -> dict[str, float]:
        """Of both, the values that may be told."""
        both = {"local": self.local, **({"remote": _judged(self.cell)} if self.cell else {})}
        return {
            name: value_of(of)
            for name, of in both.items()
            if not of["modes"] and not evidence.is_noisy(of)
        }

    @property
    def where(self) -> str:
        """Its nodes, and those of cells that are left out."""
        told = [_nodes(self.cell)] if self.cell else []
        if self.cell and self.clear > 1:
            told.append(f"worst of {self.clear}")
        if self.noisy:
            told.append(f"{units.some([*map(_nodes, self.noisy)], 3)} noisy")
        return ", ".join(told)


def _nodes(cell: Cell) -> str:
    return f"{cell['threads_node']} -> {cell['memory_order']}"


def _remote(cells: Sequence[Cell], lower: bool) -> Optional[Remote]:
    known = [c for c in cells if c["value"]]
    local = [_judged(c) for c in known if _is_local(c)]
    other = [c for c in known if not _is_local(c)]
    if not local or not other:
        return None
    noisy_ones = [c for c in other if evidence.is_noisy(c)]
    clear = [c for c in other if c not in noisy_ones]
    most = (max if lower else min)(clear, key=value_of) if clear else None
    return Remote(most, evidence.middle(local), len(clear), noisy_ones)


def against(ratio: Judged, what: str) -> tuple[str, str]:
    """ "1.6x local", "no difference from local", ">1x local" where noise hides the value; all that
    it may be where that includes 1. And how far that can be trusted."""
    said, word = compared([ratio])
    if word != UNTOLD:
        beside = f"from {what.removeprefix('from ')}" if said == NO_DIFFERENCE else what
        return f"{said} {beside}", word
    ends = evidence.reach(ratio)
    if ends is None or evidence.is_noisy(ratio):
        return f"{said} against {what}", NOISY if evidence.is_noisy(ratio) else ROUGH
    return f"{times(*ends)} {what}", ROUGH


def remote(host: Host) -> list[Line]:
    """Latency of remote nodes' memory."""
    if len(host.nodes) < 2:
        return []
    found = _remote(cells(host, "latency"), lower=True)
    if found is None:
        if not host.of("latency"):
            return []
        return [
            untold(
                "caches",
                "remote memory",
                "not measured",
                _then(host, "latency", variant="matrix", nodes=2),
                _distance(host),
            )
        ]
    said, word = found.against("local")
    if word == UNTOLD:
        return [noisy("caches", "remote memory", _quieter(host, "latency"), _distance(host))]
    text = columns("", found.shown("s"), said, found.where)
    line = Line("caches", "remote memory", text, word, found.numbers)
    return [_advised(line, _quieter(host, "latency")) if found.noisy else line]


def _quieter(host: Host, benchmark: str) -> advice.Advice:
    """What to run for noisy cells."""
    return advice.of(host.place, advice.NOISY, Wish(benchmark, (("variant", "matrix"),), nodes=2))


def _advised(line: Line, then: advice.Advice) -> Line:
    """The line with what to run for the cells that it leaves out."""
    return advised(line, then, f"{line.text}; {then.before}{then.command or then.none}")


def _distance(host: Host) -> str:
    distances = host.machine["topology"]["distances"] or []
    most = max((d for row in distances for d in row if d is not None), default=0)
    if most <= DISTANCE_HERE:
        return ""
    return f"{times(most / DISTANCE_HERE)} local at most, as the firmware reports"


def bandwidth(host: Host) -> list[Line]:
    """Bandwidth of one core, of one node to local and remote memory, and of all."""
    own, bound = host.of("numa", "static"), host.of("numa", "bind")
    if not own and not host.of("numa"):
        return []
    kernel = own[0]["parameters"].get("kernel") if own else None
    own, bound = (
        [t for t in of if t["parameters"].get("kernel") == kernel and t["metrics"].get("bandwidth")]
        for of in (own, bound)
    )
    return [_core(host, own, bound), *_node(host, own), *_all(host, own)]


def _bandwidth(trial: Trial) -> float:
    return trial["metrics"]["bandwidth"]["value"] or 0


def _best(trials: Sequence[Trial]) -> Trial:
    return max(trials, key=_bandwidth)


def _core(host: Host, own: Sequence[Trial], bound: Sequence[Trial]) -> Line:
    """One core: local bandwidth, and that from the slowest node."""
    alone = [t for t in own if t["threads"] == 1]
    if not alone:
        return untold(
            "bandwidth", "one core", "not measured", _then(host, "numa", "static", threads="1")
        )
    best = _best(alone)
    alike = [
        t
        for t in bound
        if t["threads"] == 1
        and all(t["parameters"].get(k) == best["parameters"].get(k) for k in ("pages", "layout"))
    ]
    if len(alike) < 2:
        return _rate(host, "one core", best)
    least = min(alike, key=_bandwidth)
    if any(map(evidence.is_noisy, (best, least))):
        return _rate(host, "one core", best)
    ratio = evidence.ratio(*(evidence.valued(t, "bandwidth") for t in (least, best)))
    assert ratio
    said, word = against(ratio, f"from node {least['parameters'].get('to')}")
    line = _rate(host, "one core", best, f", {said}", word)
    line.numbers["remote"] = _bandwidth(least)
    return line


def _rate(host: Host, name: str, trial: Trial, more: str = "", word: str = CERTAIN) -> Line:
    """`more` is told beside it, and can be trusted as far as `word` says."""
    rate = evidence.valued(trial, "bandwidth")
    kernel = trial["parameters"].get("kernel")
    if evidence.is_noisy(rate):
        then = _then(host, "numa", trial["variant"], threads=str(trial["threads"]))
        return noisy("bandwidth", name, then)
    told = units.either(rate["modes"], "B/s") or units.measured(rate, "B/s")
    told += f"{more} ({kernel})"
    return Line("bandwidth", name, told, worst([sure(rate), word]), {"bandwidth": value_of(rate)})


def _filled(trial: Trial) -> int:
    """How many nodes have threads; 0: the layout does not say."""
    counts = str(trial["parameters"].get("layout", "")).split("+")
    return sum(c not in ("", "0") for c in counts) if all(c.isdigit() for c in counts) else 0


def _node(host: Host, own: Sequence[Trial]) -> list[Line]:
    if len(host.nodes) < 2:
        return []
    found = _remote(cells(host, "numa"), lower=False)
    lines = []
    of_node = [t for t in own if _filled(t) == 1 and t["threads"] > 1]
    if of_node:
        best = _best(of_node)
        lines.append(_rate(host, "one node", best, f" on {best['threads']} threads"))
    return [*lines, _others(host, found)]


def _others(host: Host, found: Optional[Remote]) -> Line:
    """From a node to the memory of another one."""
    name = "other nodes"
    if found is None:
        return untold("bandwidth", name, "not measured", _then(host, "numa", "matrix", nodes=2))
    said, word = found.against("the node's own")
    if word == UNTOLD:
        return noisy("bandwidth", name, _quieter(host, "numa"))
    told = f"{found.shown('B/s')}, {said}" if found.cell else said
    line = Line("bandwidth", name, f"{told} ({found.where})", word, found.numbers)
    return _advised(line, _quieter(host, "numa")) if found.noisy else line


def _all(host: Host, own: Sequence[Trial]) -> list[Line]:
    with_cpus = sum(bool(n["cpus"]) and not n["memory_only"] for n in host.nodes)
    of_all = [t for t in own if t["threads"] > 1 and _filled(t) == with_cpus]
    if not of_all:
        return []
    most = max(t["threads"] for t in of_all)
    best = _best([t for t in of_all if t["threads"] == most])
    cores = host.machine["topology"]["cores"]
    name = "all cores" if most >= cores else f"{most} threads"
    return [_rate(host, name, best, f" on {most} threads")]


# ---- first touch ----


def _ratio(one: Trial, other: Trial) -> Optional[Judged]:
    """The ratio of the times of two trials."""
    return evidence.ratio(*(evidence.valued(t, "time") for t in (one, other)))


def _of(ratio: Judged) -> float:
    return ratio["value"] or 0.0


PLACED = {"single": "by one thread", "interleave": "interleaved"}


def placement(host: Host) -> list[Line]:
    """The worst time of another placement over that of static, all else being equal."""
    if len(host.nodes) < 2:
        if not host.of("numa"):
            return []
        return [Line("placement", "first touch", "one NUMA node: cannot matter", CERTAIN)]
    settings: dict[tuple[tuple[str, ...], int], dict[str, Trial]] = {}
    for t in host.of("numa"):
        key = tuple(str(t["parameters"].get(k)) for k in ("kernel", "size", "pages", "layout"))
        settings.setdefault((key, t["threads"]), {})[t["variant"]] = t
    worst_of: dict[str, tuple[Judged, int]] = {}
    for by in settings.values():
        for variant in PLACED:
            ratio = _ratio(by[variant], by["static"]) if {variant, "static"} <= set(by) else None
            if ratio and _of(ratio) > (_of(worst_of[variant][0]) if variant in worst_of else 0):
                worst_of[variant] = ratio, by[variant]["threads"]
    if not worst_of:
        return (
            [untold("placement", "first touch", "not measured", _then(host, "numa", nodes=2))]
            if host.of("numa")
            else []
        )
    said = {
        variant: compared([ratio], "slower", "faster") for variant, (ratio, _) in worst_of.items()
    }
    told = ", ".join(f"{PLACED[variant]}: {text}" for variant, (text, _) in said.items())
    text = f"{told}, on {next(iter(worst_of.values()))[1]} threads"
    word = worst(word for _, word in said.values())
    if word == UNTOLD:
        return [undecided("placement", "first touch", text, _then(host, "numa", nodes=2))]
    clear = {v: _of(r) for v, (r, _) in worst_of.items() if not evidence.is_noisy(r)}
    return [Line("placement", "first touch", text, word, clear)]
