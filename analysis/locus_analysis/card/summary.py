# SPDX-License-Identifier: Apache-2.0
"""The cards of the machines in records (card.py defines a card)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import duckdb

from ..base import units
from ..insight import advice, run_variation
from ..insight.advice import Advice, Wish
from ..records import database, provenance
from ..records.database import STATUSES, UNUSABLE, column, select
from ..records.rows import Outcome, Trial
from . import by_class, content, memory_lines, node_lines, problems, thread_lines, work_lines
from .content import Card, Host, Line, Spoiler

MOST = 3  # cards that are shown
NOTHING = "nothing of a machine was measured: only libraries were compared"
MOST_SPOILERS = 4
MOST_LONGER = 3  # lines that each advise a longer or quieter run; for more, one advice for all
MOST_LINES = 8  # of the answer of one benchmark

# In the order of the card: the name that is given as missing if there are no lines, and the
# function that makes the lines.
# Then what measures it, if that is one benchmark.
BLOCKS: tuple[tuple[str, Callable[[Host], list[Line]], Wish], ...] = (
    ("caches", memory_lines.caches, Wish("latency")),
    ("bandwidth", node_lines.bandwidth, Wish("numa")),
    ("cores", thread_lines.each, Wish("cores", cpus=2)),
    ("core to core", thread_lines.cores, Wish("core-to-core", cpus=2)),
    ("false sharing", thread_lines.sharing, Wish("sharing", cpus=2)),
    ("first touch", node_lines.placement, Wish("numa", nodes=2)),
    ("workloads", work_lines.of_all, Wish("suite")),
)


def hosts(db: duckdb.DuckDBPyConnection) -> list[str]:
    """The machines by name. Needs no table but those of records.read()."""
    return column(db, "SELECT DISTINCT host FROM host ORDER BY host")


def keep(db: duckdb.DuckDBPyConnection, kept: Sequence[str]) -> None:
    """Drops the records of other hosts."""
    db.execute("DELETE FROM host WHERE NOT list_contains(?, host)", [list(kept)])


def text(given: database.Records) -> str:
    """For a terminal: the cards of the first hosts; of many, a table for each of the largest
    classes of machines."""
    named = hosts(given.db)
    if database.of_many(given.db):
        return _of_many(database.tables(given))
    if len(named) > MOST:
        keep(given.db, named[:MOST])
    told = [content.text(c) for c in cards(database.tables(given))]
    if len(named) > MOST:
        told.append(
            f"{len(named) - MOST} more hosts: locus summary FILE of each shows its card, locus"
            " report all of them together"
        )
    return "\n\n".join(told) or NOTHING


def _of_many(db: duckdb.DuckDBPyConnection) -> str:
    told = by_class.text(_classes(db), {c.title[1]: c for c in cards(db)})
    then = "apart: over the median. locus sick judges all; locus report shows them"
    return f"{told}\n\n{then}" if told else NOTHING


def answer(db: duckdb.DuckDBPyConnection, benchmark: str) -> str:
    """For a terminal: what the last host's trials of one benchmark say of the machine."""
    found = [(host, of_benchmark(host, benchmark)) for host in machines(db)[-1:]]
    if not any(lines for _, lines in found):
        return _no_answer([host for host, _ in found], benchmark)
    ((host, lines),) = found
    return content.answer(*_folded(host, lines[:MOST_LINES], 1, Wish(benchmark)))


def _no_answer(hosts: Sequence[Host], benchmark: str) -> str:
    """Why there is no line: nothing was measured, or the machine has nothing to compare."""
    own = [(h, t["status"]) for h in hosts for t in h.trials if t["benchmark"] == benchmark]
    places = [host.place for host, status in own if status not in UNUSABLE]
    wishes = [wish for _, _, wish in BLOCKS if wish.benchmark == benchmark]
    lacks = [advice.of(place, advice.ABSENT, wish).none for place in places for wish in wishes]
    if lack := next(filter(None, lacks), ""):
        return f"{benchmark} tells nothing about this machine by itself: {lack}"
    if places:
        return f"of {benchmark} nothing was measured that tells about this machine by itself"
    return f"nothing of {benchmark} was measured"


def of_benchmark(host: Host, benchmark: str) -> list[Line]:
    """The lines of the card that come from one benchmark."""
    own = [line for _, lines, wish in BLOCKS if wish.benchmark == benchmark for line in lines(host)]
    return own + work_lines.of_one(host, benchmark)


def findings(db: duckdb.DuckDBPyConnection) -> dict[str, dict[str, str]]:
    """A sentence for each benchmark of each run that alone makes its host's card: the benchmark's
    first line on the card that is known, else its first line."""
    found: dict[str, dict[str, str]] = {}
    for host in machines(db):
        if len(host.wholes) == 1:
            names = dict.fromkeys(t["benchmark"] for t in host.trials)
            own = {name: of_benchmark(host, name) for name in names}
            found[host.wholes[0]] = {n: _finding(lines) for n, lines in own.items() if lines}
    return found


def _finding(lines: Sequence[Line]) -> str:
    best = next((line for line in lines if line.sure != content.UNTOLD), lines[0])
    said = best.brief or best.sentence
    return said if best.block == "work" else f"{best.name}: {said}"


def _classes(db: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """Hosts by class of machine, the largest first. Needs no table but those of records.read()."""
    found: dict[str, list[str]] = {}
    for host, name in db.execute(
        "SELECT h.host, any_value(class) FROM parsed.run JOIN chosen USING (shard, copy)"
        " JOIN host h USING (run) GROUP BY h.host ORDER BY h.host"
    ).fetchall():
        found.setdefault(str(name), []).append(host)
    return dict(sorted(found.items(), key=lambda c: (-len(c[1]), c[0])))


def cards(db: duckdb.DuckDBPyConnection) -> list[Card]:
    """One card for each host, from all of its runs; `db` has the tables of tables.sql."""
    return [_card(host) for host in machines(db)]


def machines(db: duckdb.DuckDBPyConnection) -> list[Host]:
    """By name. Comparisons with libraries say nothing about the machine, and are left out."""
    runs: dict[str, list[Outcome]] = {}
    for r in select(db, Outcome, "FROM outcome WHERE comparisons = 0 ORDER BY ordinal"):
        runs.setdefault(r["host"], []).append(r)
    benchmarks = column(db, "SELECT DISTINCT benchmark FROM trial")
    trials: dict[str, list[Trial]] = {}
    for t in (t for b in sorted(benchmarks) for t in run_variation.of_time(db, b)):
        trials.setdefault(t["whole"], []).append(t)
    return [_host(db, name, own, trials) for name, own in sorted(runs.items())]


def _host(
    db: duckdb.DuckDBPyConnection,
    name: str,
    runs: list[Outcome],
    trials: Mapping[str, Sequence[Trial]],
) -> Host:
    wholes = [r["run"] for r in runs if r["resumed_by"] is None]
    own = [t for whole in wholes for t in trials.get(whole, [])]
    last = {t["id"]: t for t in own}
    place = advice.places(db)[runs[-1]["run"]]
    return Host(db, name, runs, wholes, sorted(last.values(), key=lambda t: t["place"]), place)


def _card(host: Host) -> Card:
    made = Card(title(host), run_variation.about(_tried(host)), _advice(host))
    missing = []
    for name, lines, wish in BLOCKS:
        own = lines(host)
        made.lines += own
        missing += [] if own else [(name, wish)]
    made.missing = _missing(host, missing)
    made.lines, made.longer = _folded(host, made.lines, MOST_LONGER, Wish("suite"))
    made.results = _results(host)
    made.statuses = [s for s in STATUSES if any(t["status"] == s for t in host.trials)]
    made.spoilers = problems.spoilers(host.header, host.trials)
    more = len(made.spoilers) - MOST_SPOILERS
    if more > 0:
        made.spoilers[MOST_SPOILERS - 1 :] = [Spoiler(f"{more + 1} more", "locus doctor")]
    return made


def _folded(host: Host, lines: list[Line], most: int, wish: Wish) -> tuple[list[Line], str]:
    """If more than `most` lines are to be measured longer, or where nothing else runs, the lines
    without this advice, and the advice for all of them."""
    reasons = [line.why for line in lines if line.brief is not None]
    if len(reasons) <= most:
        return lines, ""
    then = advice.of(host.place, advice.NOISY if advice.NOISY in reasons else advice.WIDE, wish)
    brief = [line if line.brief is None else replace(line, text=line.brief) for line in lines]
    return [line for line in brief if line.text], then.after(f"{len(reasons)} lines")


def _missing(host: Host, missing: Sequence[tuple[str, Wish]]) -> str:
    """What was not measured: by a suite, if there was none; else by its reason."""
    suite = any(run.benchmark == "suite" for run in host.place.runs)
    found: dict[str, list[str]] = {}
    for name, wish in missing:
        own = [t for t in host.trials if t["benchmark"] == wish.benchmark]
        reason = advice.why(own) if suite else advice.ABSENT
        then = advice.of(host.place, reason, wish)
        if then.command and not suite:
            then = Advice("locus suite measures all")
        why = f"{reason}: {own[0]['reasons'][0]}" if own and own[0]["reasons"] and suite else reason
        found.setdefault(then.command or then.none or why, []).append(name)
    return "; ".join(f"{', '.join(names)}: {then}" for then, names in found.items())


def title(host: Host) -> list[str]:
    last = host.runs[-1]
    header, machine = host.header, host.machine
    topology, memory = machine["topology"], machine["memory"]["total"]
    packages = topology["packages"]
    model = machine["cpu"]["model"] or machine["cpu"]["architecture"] or "unknown CPU"
    size = (
        f"{units.several(topology['cores'], 'core')}{provenance.kinds(topology)}, "
        f"{units.several(len(host.nodes), 'NUMA node')}"
    )
    took = f", {last['elapsed']:.0f} s" if last["elapsed"] else ""
    more = f", last of {len(host.runs)} runs" if len(host.runs) > 1 else ""
    return [
        f"locus {header['program']['version']}",
        host.name,
        f"{packages} x {model}" if (packages or 0) > 1 else str(model),
        f"{size}, {memory / (1 << 30):.0f} GiB" if memory else size,
        f"{last['profile']}{took}{more}",
        f"{last['started'][:16].replace('T', ' ')} UTC",
    ]


def _advice(host: Host) -> str:
    virtual = host.machine["virtual"]
    if not virtual:
        return ""
    return f"a virtual machine ({virtual}): compare ratios, not times, which other guests change"


def _tried(host: Host) -> int:
    """How many runs the host's numbers are medians of; 0: of one run, not of a series."""
    return max((t.get("tried") or 0 for t in host.trials), default=0)


def _results(host: Host) -> list[str]:
    counts = Counter(t["status"] for t in host.trials)
    told = [f"{counts[s]} {s}" for s in STATUSES if counts[s]]
    results = [f"{units.several(len(host.trials), 'result')}: {', '.join(told) or 'none'}"]
    if _tried(host):
        results.append(f"medians and intervals of {_tried(host)} runs, where these are ok")
    last = host.runs[-1]
    if last["signal"]:
        results.append(f"the run was ended by {last['signal']}: continue with --resume")
    elif not last["ended"]:
        results.append("the run was cut off: continue with --resume")
    return results
