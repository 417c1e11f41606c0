# SPDX-License-Identifier: Apache-2.0
"""A comparison as text for a terminal, as Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Optional

from ..base import units
from . import hosts as by_host
from . import inference
from .comparison import (
    CANNOT_TELL,
    FASTER,
    HARMLESS,
    ORDER,
    PERHAPS,
    SAME,
    SLOWER,
    UNTOLD,
    WITHIN,
    Compared,
    Comparison,
    Named,
)
from .inference import LEVEL
from .lost import Lost
from .observations import Side

NARROW, WIDE = 60, 100  # columns of the table, at least and at most
SHOWN = 20  # metrics, where the output is no terminal
NAME = 24  # characters of a metric's name, at least, for which the interval is left out
FEW = 0.01  # a least p that runs can reach is told beyond this
MANY = 9.995  # a change so great is told as a factor
TEXT = 30  # characters of a value of a setting, where a line has two
COLUMNS = (
    *("metric", "setting", "unit", "better", "old", "new", "change", "low", "high", "p", "least"),
    *("floor", "threshold", "verdict"),
)


def text(made: Comparison, everything: bool) -> str:
    rows, to = shutil.get_terminal_size((WIDE, 0)).lines, width()
    head = [part for line in heading(made) for part in wrapped(line, to)]
    most = (rows - len(head) - 6 if sys.stdout.isatty() and rows else SHOWN) or 1
    picked = made.metrics if everything else worst(made, max(5, most))
    lines = [*head, ""] if head else []
    if picked:
        lines += _table(made, picked, to)
    left = len(made.metrics) - len(picked)
    if left and picked:
        lines.append(f"{left} more metrics: --all")
    elif left:
        lines.append(f"{units.several(left, 'metric')} the same: --all")
    lines += [""] if made.metrics else []
    return "\n".join([*lines, *(part for line in summary(made) for part in wrapped(line, to))])


def width() -> int:
    """The terminal's width, within limits."""
    return max(NARROW, min(shutil.get_terminal_size((WIDE, 0)).columns, WIDE))


def worst(made: Comparison, most: int) -> list[Compared]:
    """Changes first, then what cannot be told; metrics that are the same are only counted. Where
    nothing can be shown, the greatest changes."""
    if made.reason:
        return sorted(made.metrics, key=lambda m: -abs(m["change"]))[:most]
    return [m for m in made.metrics if m["verdict"] != SAME][:most]


def is_slower(made: Comparison) -> bool:
    """Not only worse, because trials lost their valid result."""
    return made.hosts.certain != [] or any(m["verdict"] == SLOWER for m in made.metrics)


def result(made: Comparison) -> str:
    """The result in one line."""
    metrics, certain = [m for m in made.metrics if m["verdict"] == SLOWER], made.hosts.certain
    found = [units.several(len(metrics), "metric")] if metrics else []
    found += [units.several(len(certain), "host")] if certain else []
    if found:
        return f"SLOWER: {' and '.join(found)}"
    if any(lost.is_fault for lost in made.lost):
        return "WORSE: trials lost their valid result"
    if made.status == CANNOT_TELL:
        return "CANNOT TELL"
    if made.reason:
        return "no verdict"
    counts = Counter(m["verdict"] for m in made.metrics)
    more = f"; {units.several(counts[FASTER], 'metric')} faster" if counts[FASTER] else ""
    more += f"; {counts[UNTOLD]} of {len(made.metrics)} cannot be told" if counts[UNTOLD] else ""
    return f"nothing is {'shown to be ' * bool(counts[UNTOLD])}slower{more}"


def overall(made: Comparison) -> str:
    of = made.overall
    if not of:
        return ""
    known = of.low is not None and of.high is not None
    ends = f"{of.low:.3f} to {of.high:.3f}" if known else "no interval of one run"
    mean = f"geometric mean of {units.several(of.metrics, 'headline')}"
    return f"time {of.ratio:.3f} of the old ({ends}), {mean}"


def heading(made: Comparison) -> list[str]:
    """The result, the sides, and what differs: candidates for the cause."""
    old, new = made.units
    least = inference.least_p(old, new, made.paired)
    how = "in pairs" if made.paired else "not paired"
    hosts = [", ".join(s.hosts[:2]) + (", ..." if len(s.hosts) > 2 else "") for s in _sides(made)]
    many = f"{old} {made.what}{'s' * (old > 1)} of {hosts[0]} against {new} of {hosts[1]}"
    few = f"; the least p of so few is {least:.2g}" if FEW < least <= LEVEL else ""
    lines = [result(made), f"{many}, {how}{few}"]
    lines += [f"overall    {line}" for line in [overall(made)] if line]
    if made.hosts.judged:
        more = "" if made.hosts.certain else ": none became slower by itself"
        lines.append(f"hosts      {made.hosts.judged} judged beside each other{more}")
    lines += [f"{word:9}  {line}" for word, line in by_host.told(made.hosts)]
    lines += doubled(made)
    if made.reason:
        lines.append(made.reason)
    elif not made.paired and _in_blocks(made):
        lines.append(
            "all runs of one side came first: a drift of the machine would look like a change;"
            " --measure alternates"
        )
    lines += [f"{word:9}  {line}" for word, line in lost(made)]
    lines += [
        f"differs    {name}: {' -> '.join(shortened(one, other))}"
        for name, one, other in made.differs
    ]
    return lines + [f"unmatched  {line}" for line in made.unmatched]


def lost(made: Comparison) -> list[tuple[str, str]]:
    """Lines on trials without a valid result, each with the word before it."""
    told = [("fault", line) for line in faults(made)]
    told += [("missing", line) for line in missing(made)]
    return told + [("left out", line) for line in left_out(made)]


def faults(made: Comparison) -> list[str]:
    """Trials that are invalid now, alike ones in one line."""
    return [_said(one) for one in made.lost if one.is_fault]


def missing(made: Comparison) -> list[str]:
    """Trials that were not measured to the end, so that nothing can be told of them."""
    return [_said(one) for one in made.lost if one.is_missing]


def left_out(made: Comparison) -> list[str]:
    """Trials that only some runs of a host lack."""
    return [
        f"{one.counted} of {one.side}{one.on_hosts}: {units.some(one.trials)}; other runs count"
        for one in made.lost
        if one.is_of_runs
    ]


def _said(lost: Lost) -> str:
    where = f"in {lost.side}{lost.on_hosts}"
    if len(lost.trials) > 1:
        return f"{lost.counted} {where}: {units.some(lost.trials)}"
    name, _, parameters = lost.trials[0].partition(" ")
    return f"{name} {lost.status} {where}" + (f": {parameters}" if parameters else "")


def summary(made: Comparison) -> list[str]:
    """Counts, and what the words mean."""
    counts = Counter(m["verdict"] for m in made.metrics)
    if not made.metrics:
        lines = ["no metric is on both sides"]
    else:
        told = ", ".join(f"{counts[v]} {v}" for v in ORDER if counts[v])
        within = percents(m["threshold"] for m in made.metrics)
        lines = [
            f"{units.several(len(made.metrics), 'metric')}: {told}",
            f"slower, faster: shown at {100 * LEVEL:.0f} % over all metrics together, and by more"
            f" than {within}; within: by less; same: the 95 % interval is within {within}",
        ]
    if any(m["verdict"].endswith(PERHAPS) for m in made.metrics):
        harmless = percents(HARMLESS * m["threshold"] for m in made.metrics)
        lines.append(
            f"perhaps within: a change of {harmless} may look so by chance; more runs tell (--plan)"
        )
    if counts[UNTOLD] and not made.reason:
        lines.append(
            "cannot tell: with the change, below 100 %, that these runs would have shown; --plan:"
            " how many runs show less"
        )
    sides = (made.new.name, made.old.name), (made.old.name, made.new.name)
    for what, is_of in (("fault", "is_fault"), (UNTOLD, "is_missing")):
        for side, other in sides:
            own = [one for one in made.lost if getattr(one, is_of) and one.side == side]
            if own:
                told = ", ".join(one.counted + one.on_hosts for one in own)
                lines.append(f"{what}: {told}, valid in {other}")
    return lines + unfound(made)


def doubled(made: Comparison) -> list[str]:
    """Says if runs are on both sides."""
    if not made.both:
        return []
    runs = units.several(made.both, "run")
    return [f"{runs} on both sides: these show no change, and intervals and verdicts do not hold"]


def unfound(made: Comparison) -> list[str]:
    """Patterns that match no metric, and metrics that --require asks for in vain."""
    lines = [f"--threshold {pattern}: no such metric is on both sides" for pattern in made.unused]
    return lines + required(made)


def required(made: Comparison) -> list[str]:
    if not made.required:
        return []
    more = f", and {len(made.required) - 1} more" if made.required[1:] else ""
    return [f"required, but cannot be told: {made.required[0]}{more}"]


def percents(shares: Iterable[float]) -> str:
    return ", ".join(units.percent(share) for share in sorted(set(shares)))


def _sides(made: Comparison) -> tuple[Side, Side]:
    return made.old, made.new


def _in_blocks(made: Comparison) -> bool:
    times = [[r["started"] for r in s.runs] for s in _sides(made)]
    first, last = sorted(times)
    return bool(max(first) < min(last))


def shortened(*both: str) -> list[str]:
    """Whole, if they differ only beyond the cut."""
    cut = [_clipped(words, TEXT) for words in both]
    return cut if len({*cut}) == len({*both}) else [*both]


def wrapped(line: str, width: int) -> list[str]:
    first = len(line) - len(line.split("  ")[-1].lstrip())
    return textwrap.wrap(units.printable(line), width, subsequent_indent=" " * (first or 2))


def _clipped(cell: str, width: int) -> str:
    cell = units.printable(cell)
    return cell if len(cell) <= width else cell[: width - 1] + "…"


def percent(share: Optional[float], sign: str = "+") -> str:
    if share is None:
        return "–"
    if share >= MANY:
        return f"x{1 + share:.3g}"
    digits = 1 if abs(share) < 0.995 else 0
    return f"{round(100 * share, digits) + 0.0:{sign}.{digits}f} %"


def verdict(made: Comparison, m: Compared) -> str:
    if m["verdict"] == UNTOLD and made.reason:
        return "no verdict"
    if m["verdict"] == UNTOLD and m["least"] is not None and m["least"] < 1:
        return f"{UNTOLD}: {percent(m['least'], '')}"
    return way(m).replace(",", f" by {percent(abs(m['change']), '')},")


def way(m: Compared) -> str:
    """Slower; or slower, within 3 %."""
    verdict = str(m["verdict"])
    if not verdict.endswith(WITHIN):
        return verdict
    return f"{verdict.replace(' ', ', ', 1)} {units.percent(m['threshold'])}"


def label(m: Named) -> str:
    """The name of the metric is left out where it is the headline."""
    name = m["name"].rsplit("/", 1)[0] if m["headline"] else m["name"]
    return f"{name} {m['words']}".rstrip()


def cells(made: Comparison, m: Compared) -> list[str]:
    factor, unit = units.scale((m["old"], m["new"]), m["unit"])
    doubt = units.doubt({**m, "value": m["change"]}) * m["old"] / factor
    interval = "" if m["low"] is None else f"{percent(m['low'])} to {percent(m['high'])}"
    return [
        label(m),
        units.number(m["old"] / factor, doubt),
        f"{units.number(m['new'] / factor, doubt)} {unit}".rstrip(),
        percent(m["change"]),
        interval.replace(" % to", " to"),
        verdict(made, m),
    ]


TITLES = ("metric", "old", "new", "change", "95 % interval", "verdict")


def _table(made: Comparison, picked: Sequence[Compared], width: int) -> list[str]:
    """The interval gives way to names."""
    table = [list(TITLES), *(cells(made, m) for m in picked)]
    room = _room(table, width)
    short = room < min(_widths(table)[0], NAME) or not _differ(table, room)
    if short or not any(row[4] for row in table[1:]):
        table = [[*row[:4], re.sub(" by [^,]+", "", row[5])] for row in table]
    return aligned(table, width)


def aligned(table: Sequence[Sequence[str]], width: int) -> list[str]:
    """The first and the last column to the left; the first gives way. Names that would look alike
    if they were cut take several lines."""
    widths = _widths(table)
    widths[0] = min(widths[0], max(12, _room(table, width)))
    last, whole = len(widths) - 1, not _differ(table, widths[0])
    lines = []
    for row in table:
        name = units.printable(row[0])
        first, *more = _parts(name, widths[0]) if whole else [_clipped(name, widths[0])]
        lines.append(
            "  ".join(
                _clipped(c, w).ljust(w) if i in (0, last) else c.rjust(w)
                for i, (c, w) in enumerate(zip([first, *row[1:]], widths))
            ).rstrip()
        )
        lines += more
    return lines


def _parts(name: str, width: int) -> list[str]:
    return textwrap.wrap(name, width, subsequent_indent="  ") or [""]


def _room(table: Sequence[Sequence[str]], width: int) -> int:
    """What other columns leave to the first."""
    return width - sum(_widths(table)[1:]) - 2 * (len(table[0]) - 1)


def _differ(table: Sequence[Sequence[str]], width: int) -> bool:
    """Whether names that differ still do when they are cut."""
    names = {row[0] for row in table}
    return len({_clipped(name, width) for name in names}) == len(names)


def _widths(table: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*table)]


def markdown(made: Comparison, everything: bool) -> str:
    picked = made.metrics if everything else worst(made, SHOWN)
    lines = [f"- {line}" for line in heading(made)] + [""]
    rows = [list(TITLES), ["---"] * len(TITLES), *(cells(made, m) for m in picked)]
    return "\n".join([*lines, *units.in_bars(rows), "", *(f"{line}  " for line in summary(made))])


def table(made: Comparison, _: bool) -> str:
    return in_csv(COLUMNS, map(flat, made.metrics))


def in_csv(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    to = io.StringIO()
    writer = csv.DictWriter(to, columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return to.getvalue().rstrip("\n")


def flat(m: Compared) -> dict[str, object]:
    return {**{c: m.get(c) for c in COLUMNS}, "metric": m["name"], "setting": m["words"]}


def members(made: Comparison) -> dict[str, object]:
    return {
        "schema": "locus-comparison-1.0",
        "unit": made.what,
        "paired": made.paired,
        "level": LEVEL,
        **{
            key: {"runs": [r["run"] for r in side.runs], "hosts": side.hosts, "units": n}
            for key, side, n in zip(("old", "new"), _sides(made), made.units)
        },
        "reason": made.reason or None,
        "both": made.both,
        "differs": [{"name": n, "old": o, "new": w} for n, o, w in made.differs],
        "unmatched": made.unmatched,
        "faults": faults(made),
        "missing": missing(made),
        "left_out": left_out(made),
        "required": made.required,
        "unused": made.unused,
        "status": made.status,
        "overall": made.overall and made.overall._asdict(),
        "hosts": {
            "judged": made.hosts.judged,
            "slower": by_host.rows(made.hosts.certain),
            "look": by_host.rows(made.hosts.open),
        },
        "metrics": [flat(m) for m in made.metrics],
    }


def document(made: Comparison, _: bool) -> str:
    return json.dumps(members(made), indent=1, ensure_ascii=False)


FORMS = {"table": text, "md": markdown, "csv": table, "json": document}
