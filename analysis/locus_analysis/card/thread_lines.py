# SPDX-License-Identifier: Apache-2.0
"""Lines of the card about threads: from core to core, false sharing, and what workloads gain."""

from __future__ import annotations

from ..base import units
from ..insight import advice, each_cpu, evidence, padding
from ..pictures import cpu_pairs
from ..pictures.cpu_pairs import LEVELS
from ..records.database import is_sound, value_of
from ..records.rows import Trial
from .content import (
    CERTAIN,
    ROUGH,
    UNTOLD,
    Host,
    Line,
    advised,
    compared,
    is_clear,
    noisy,
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
    seen = {n: cpu_pairs.times_seen(first, levels[n]) for n in LEVELS if n in levels}
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
    numbers = {n: level["0.5"] for n, level in levels.items()} if is_sound(first) else {}
    return [Line("sharing", "core to core", told, word, numbers)]


def each(host: Host) -> list[Line]:
    """The slowest CPU beside the median one, if one is slower, or those that compute wrong; then
    what all cost each other."""
    trials = [t for t in host.trials if t["benchmark"] == "cores"]
    if wrong := each_cpu.wrong(trials):
        return [Line("cores", "each CPU", wrong[0], CERTAIN)]
    own = host.of("cores")
    found = each_cpu.of(host.db, own)
    if not found:
        return []
    slowest = each_cpu.slowest_of(found)
    told, speed = slowest.none_is, slowest.speed
    if slowest.is_slower:
        told = f"slowest: CPU {slowest.cpu}" + (f", {speed:.2f} of the median" if speed else "")
    numbers = {"slowest": speed} if speed and not slowest.is_open else {}
    odd = sorted(slowest.apart - {slowest.cpu})
    told += f", CPU {units.some([str(cpu) for cpu in odd], 4)} apart, too" if odd else ""
    words = [sure(slowest.ratio)]
    if together := [r for t in own for r in t["ratios"] if r["value"]]:
        said, word = compared(together, "slower", "faster")
        if word != UNTOLD:
            told += f" · all at once against alone: {said}"
            words.append(word)
    if slowest.is_open:
        then = advice.of(host.place, advice.why(own), advice.Wish("cores", cpus=2))
        return [undecided("cores", "each CPU", told, then)]
    return [Line("cores", "each CPU", told, worst(words), numbers)]


def sharing(host: Host) -> list[Line]:
    own = host.of("sharing")
    if advice.has_one_cpu(host.machine):
        if not any(t["benchmark"] == "sharing" for t in host.trials):
            return []
        return [Line("sharing", "false sharing", "one CPU: cannot matter", CERTAIN)]
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
    said, word = compared([ratio], "slower", "faster")
    told = f"{trial['threads']} threads on one line: {_variant(trial)} {said}"
    words = [word]
    others = [(t, r) for t, r in found if t is not trial and is_clear(r)]
    most_of, most = max(others, key=lambda of: value_of(of[1]), default=(trial, ratio))
    if value_of(most) > value_of(ratio):
        more, its_word = compared([most], "slower", "faster")
        told += f", {_variant(most_of)} {more}"
        words.append(its_word)
    if word == UNTOLD:
        return [undecided("sharing", "false sharing", told, _pair(host))]
    numbers = {} if evidence.is_noisy(ratio) else {"ratio": value_of(ratio)}
    return [Line("sharing", "false sharing", told, worst(words), numbers)]


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
    word = CERTAIN if most.padding.is_certain else ROUGH
    told_of = Line("sharing", "padding", text, word, {"bytes": most.padding.least or 0})
    return [advised(told_of, then, then.after(f"{text}; to be sure")) if then.command else told_of]
