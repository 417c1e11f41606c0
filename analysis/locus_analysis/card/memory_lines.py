# SPDX-License-Identifier: Apache-2.0
"""Lines of the card about where data lie: caches, TLB, memory by node, first touch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from statistics import median
from typing import Optional

import duckdb

from ..base import units
from ..insight import advice, evidence, levels, tlb
from ..insight import caches as cache_levels
from ..insight.advice import Wish
from ..insight.caches import reported_caches
from ..insight.memory_level import BEYOND, Finding, Level, bracketed, count
from ..insight.tlb import reported_tlb
from ..records.database import select, value_of
from ..records.rows import Cell, Judged, Metric, Trial, Value, Verdict
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


def caches(host: Host) -> list[Line]:
    found = [f for f in levels.findings(host.db) if f.whole in host.wholes]
    best = _last(host, [f for f in found if f.what == "caches" and f.first])
    lines = [_cache(host, best, level) for level in best.levels] if best else []
    if best and not lines:
        then = cache_levels.missing(best, host.place)
        lines = [untold("caches", "", "no level can be found", then, _sizes(host))]
    what, then = cache_levels.narrower(best, host.place) if best else ("", advice.Advice())
    if what:
        lines.append(advised(Line("caches", "", "", ""), then, then.after(what)))
    translation = _last(host, [f for f in found if f.what == "TLB" and f.first])
    if best or translation:
        lines += [*remote(host), *_pages(host), *_tlb(host, translation)]
    return lines


def _last(host: Host, found: list[Finding]) -> Optional[Finding]:
    """The last of several runs that has levels."""
    by_run = sorted(found, key=lambda f: (bool(f.levels), host.wholes.index(f.whole)))
    return by_run[-1] if by_run else None


def _cache(host: Host, finding: Finding, level: Level) -> Line:
    if level.noisy:
        return _noisy_cache(host, finding, level)
    if _is_missing(level):
        reported = f", {level.reported} reported" if level.reported else ""
        last = [one for one in finding.levels if _is_missing(one)][-1]  # the advice is for all
        then = cache_levels.missing(finding, host.place) if level is last else advice.Advice()
        return untold("caches", level.name, f"no plateau of its own{reported}", then)
    assert level.time is not None
    cycles = "" if level.cycles is None else f"{level.load_cycles} cycles"
    size, remark = _end(level)
    if level.name == "memory":
        size, remark = "", _in_part(host, level) or level.remark
    return Line(
        "caches",
        level.name,
        _columns(size, level.load, cycles, remark),
        _sure_of(host, level),
        _numbers(level),
    )


def _numbers(level: Level) -> dict[str, float]:
    """Without its time where that has two modes."""
    time = {} if level.modes else {"time": level.time, "cycles": level.cycles}
    return {
        name: value for name, value in {**time, "size": _size(level)}.items() if value is not None
    }


def _is_missing(level: Level) -> bool:
    return not level.noisy and (level.time is None or level.plateau is None)


def _noisy_cache(host: Host, finding: Finding, level: Level) -> Line:
    """Where it ends is told, its time is not."""
    then = cache_levels.quieter(finding, host.place)
    if level.name == "memory":
        return noisy("caches", level.name, then)
    size, remark = _end(level)
    told = f"{size:>10}  {remark}".rstrip() + "; its time is disturbed by other work"
    numbers = {"size": found} if (found := _size(level)) else {}
    return Line("caches", level.name, told, NOISY, numbers)


def _end(level: Level) -> tuple[str, str]:
    """Where a level ends: what is reported, if that lies in the bracket, else the bracket."""
    if level.bracket is None:
        return level.reported, "reported: it did not end" if level.reported else ""
    found = bracketed(level.bracket, units.size)
    if level.size:
        return units.size(level.size), f"(found {found})"
    return found, f"{level.reported} reported" if level.reported else ""


def _size(level: Level) -> Optional[float]:
    """The size as one number: the middle of the bracket, where nothing better is known."""
    if level.bracket is None:
        return None
    return level.size or (level.bracket[0] * level.bracket[1]) ** 0.5


def _columns(size: str, load: str, cycles: str, remark: str) -> str:
    return f"{size:>10}  {load:>8}  {cycles:>11}  {remark}".rstrip()


def _in_part(host: Host, level: Level) -> str:
    """Says if caches may still serve a part of the largest size."""
    if not level.plateau or level.plateau.last >= BEYOND * _last_cache(host):
        return ""
    return f"{units.size(level.plateau.last)} may be in a cache"


def _last_cache(host: Host) -> float:
    found = reported_caches(host.machine)
    return max((size for sizes in found.values() for size in sizes), default=0.0)


def _sizes(host: Host) -> str:
    caches = reported_caches(host.machine)
    reported = [f"L{n} {units.size(max(sizes))}" for n, sizes in sorted(caches.items())]
    return f"{', '.join(reported)} as reported" if reported else ""


def _sure_of(host: Host, level: Level) -> str:
    """How far a level can be trusted: where it ends, and its time."""
    plateau, good = level.plateau, level.is_certain
    if level.name == "memory":
        good = not _in_part(host, level) and plateau is not None and plateau.points > 1
    return worst([CERTAIN if good else ROUGH, *([sure(level.judged)] if level.judged else [])])


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


def _pages(host: Host) -> list[Line]:
    """The gain by huge pages at the largest size measured with and without them."""
    by_size: dict[float, dict[str, Trial]] = {}
    for t in host.of("latency", "cycle"):
        p = t["parameters"]
        if p.get("element") == "pointer" and not p.get("stride") and p.get("chains") == 1:
            by_size.setdefault(float(p["size"]), {})[str(p.get("pages", "base"))] = t
    both = [(s, by) for s, by in sorted(by_size.items()) if "base" in by and len(by) > 1]
    if not both:
        return []
    size, by = both[-1]
    base = by["base"]
    huge = min((t for pages, t in by.items() if pages != "base"), key=lambda t: t["value"] or 0)
    in_turn = next((r for r in base["ratios"] if r["trial"] == huge["id"] and r["value"]), None)
    slower = in_turn or _ratio(base, huge)
    assert slower
    where = f"at {units.size(size)} ({huge['parameters']['pages']} against base pages)"
    told, word = _change(evidence.product([(slower, True)]))
    if word == UNTOLD:
        asked = {"variant": "cycle", "pages": "base,thp", "size": advice.quantity(size)}
        then = advice.of(
            host.place, advice.why([base, huge]), Wish("latency", tuple(asked.items()), size=size)
        )
        return [undecided("caches", "huge pages", f"{told} {where}", then)]
    numbers = {} if evidence.is_noisy(slower) else {"ratio": 1 / (slower["value"] or 1)}
    return [Line("caches", "huge pages", f"{told} {where}", word, numbers)]


def _ratio(one: Trial, other: Trial) -> Optional[Judged]:
    """The ratio of the times of two trials."""
    return evidence.ratio(*(evidence.valued(t, "time") for t in (one, other)))


def _change(ratio: Judged) -> tuple[str, str]:
    """What a ratio of times is as a change, as far as it may be told; and the trust in it."""
    said, word = compared([ratio], "slower", "faster")
    return said if word == UNTOLD or said == NO_DIFFERENCE else f"loads {said}", word


def _tlb(host: Host, finding: Optional[Finding]) -> list[Line]:
    reported = reported_tlb(host.machine)
    entries = [f"L{n} {int(max(e))}" for n, e in sorted(reported.items()) if e]
    page = units.size(host.machine["memory"]["page"])
    safe = f"{', '.join(entries)} entries of {page} as reported" if entries else ""
    found = [level for level in (finding.levels if finding else []) if level.edge]
    if finding is None or not found:
        why = "no step that is a TLB's" if finding else "not measured"
        then = tlb.missing(finding, host.place)
        return [untold("caches", "TLB", why, then, safe)]
    what, then = tlb.narrower(finding, host.place)
    told = " · ".join(_translation(level) for level in found)
    word = worst(_sure_of(host, level) for level in found)
    numbers = {level.name: size for level in found if (size := _size(level))}
    line = Line("caches", "TLB", f"{told}, of {page}", word, numbers)
    return [advised(line, then, f"{line.text}; {then.after(what)}") if what else line]


def _translation(level: Level) -> str:
    name = level.name.replace(" TLB", "")
    end = f"{bracketed(level.bracket, count)} pages" if level.bracket else ""
    if level.size:
        end = f"{count(level.size)} pages (found {end.removesuffix(' pages')})"
    return f"{name} {end}" + (f" {level.load}" if level.time else "")


# ---- memory by node ----


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
    return {**cell, **own, "status": status}


def _is_local(cell: Cell) -> bool:
    return cell["threads_order"] == cell["memory_order"]


def _remote(cells: Sequence[Cell], lower: bool) -> Optional[tuple[float, Cell, int]]:
    """The median of the local cells, the worst remote one, and how many remote ones there are."""
    local = [c["value"] for c in cells if _is_local(c) and c["value"] is not None]
    other = [c for c in cells if not _is_local(c)]
    if not local or not other:
        return None
    most = (max if lower else min)(other, key=_value)
    return median(local), most, len(other)


def _value(cell: Cell) -> float:
    return cell["value"] or 0.0


def _over(cell: Cell, local: float) -> Judged:
    """A cell over the local ones."""
    value, low, high = (end and end / local for end in (cell["value"], cell["low"], cell["high"]))
    grave: Verdict = {"status": cell["status"], "flag": None, "reasons": []}
    return {"value": value, "low": low, "high": high, "modes": [], **grave}


def against(ratio: Judged, what: str) -> str:
    """ "1.6x local", "no difference from local"; all that it may be where that includes 1."""
    said, _ = compared([ratio])
    if said == NO_DIFFERENCE:
        return f"{said} from {what}"
    ends = evidence.reach(ratio)
    return f"{times(*ends) if said[0] not in '0123456789' and ends else said} {what}"


def _where(cell: Cell, n: int) -> str:
    nodes = f"{cell['threads_node']} -> {cell['memory_order']}"
    return nodes + (f", worst of {n}" if n > 1 else "")


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
    local, cell, n = found
    if evidence.is_noisy(cell):
        then = _then(host, "latency", variant="matrix", nodes=2)
        return [noisy("caches", "remote memory", then, _distance(host))]
    text = _columns(
        "",
        units.quantity(_value(cell), "s", units.doubt(cell)),
        against(_over(cell, local), "local"),
        _where(cell, n),
    )
    numbers = {"local": local, "remote": _value(cell)}
    return [Line("caches", "remote memory", text, sure(cell), numbers)]


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
    node = f"node {least['parameters'].get('to')}"
    said = against(ratio, "").rstrip()
    told = f"no difference from {node}" if said.startswith(NO_DIFFERENCE) else f"{said} from {node}"
    line = _rate(host, "one core", best, f", {told}")
    line.numbers["remote"] = _bandwidth(least)
    return line


def _rate(host: Host, name: str, trial: Trial, more: str = "") -> Line:
    rate = evidence.valued(trial, "bandwidth")
    kernel = trial["parameters"].get("kernel")
    if evidence.is_noisy(rate):
        then = _then(host, "numa", trial["variant"], threads=str(trial["threads"]))
        return noisy("bandwidth", name, then)
    told = units.either(rate["modes"], "B/s") or units.measured(rate, "B/s")
    told += f"{more} ({kernel})"
    return Line("bandwidth", name, told, sure(rate), {"bandwidth": value_of(rate)})


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
    if found and evidence.is_noisy(found[1]):
        lines.append(noisy("bandwidth", "other nodes", _then(host, "numa", "matrix", nodes=2)))
    elif found:
        local, cell, n = found
        own_node = "the node's own"
        text = (
            f"{units.measured(cell, 'B/s')}, {against(_over(cell, local), own_node)}"
            f" ({_where(cell, n)})"
        )
        numbers = {"local": local, "remote": _value(cell)}
        lines.append(Line("bandwidth", "other nodes", text, sure(cell), numbers))
    else:
        lines.append(
            untold(
                "bandwidth", "other nodes", "not measured", _then(host, "numa", "matrix", nodes=2)
            )
        )
    return lines


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
