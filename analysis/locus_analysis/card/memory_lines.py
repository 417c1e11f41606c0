# SPDX-License-Identifier: Apache-2.0
"""Lines of the card about caches, memory and TLB."""

from __future__ import annotations

from typing import Optional

from ..base import units
from ..insight import advice, evidence, levels, tlb
from ..insight import caches as cache_levels
from ..insight.advice import Wish
from ..insight.caches import reported_caches
from ..insight.memory_level import BEYOND, Finding, Level, bracketed, count
from ..insight.tlb import reported_tlb
from ..records.rows import Judged, Trial
from . import node_lines
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
    undecided,
    untold,
    worst,
)


def caches(host: Host) -> list[Line]:
    found = [f for f in levels.findings(host.db) if f.whole in host.wholes]
    best = _last(host, [f for f in found if f.what == "caches" and f.first])
    lines = [_cache(host, best, level) for level in best.levels] if best else []
    if best and not lines:
        then = cache_levels.missing(best, host.place)
        lines = [untold("caches", "", "no level can be found", then, _sizes(host))]
    open_ = [cache_levels.narrower(best, host.place)] if best else []
    if best and not any(level.noisy for level in best.levels if level.name == "memory"):
        open_.append(cache_levels.timed(best, host.place))  # else memory's line has it, for all
    for what, then in open_:
        lines += [advised(Line("caches", "", "", ""), then, then.after(what))] if what else []
    translation = _last(host, [f for f in found if f.what == "TLB" and f.first])
    if best or translation:
        lines += [*node_lines.remote(host), *_pages(host), *_tlb(host, translation)]
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
        node_lines.columns(size, level.load, cycles, remark),
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
    if level.name == "memory":
        return noisy("caches", level.name, cache_levels.timed(finding, host.place)[1])
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
    slower = in_turn or evidence.ratio(*(evidence.valued(t, "time") for t in (base, huge)))
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
