# SPDX-License-Identifier: Apache-2.0
"""Three or more sides: a table with each against the first."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from ..base import units
from . import formats
from . import hosts as by_host
from .comparison import CANNOT_TELL, FASTER, GOOD, SAME, SLOWER, UNTOLD, WORSE, Comparison
from .inference import LEVEL

TITLES = ("side", "runs", "time / first", "95 % interval", "slower", "faster", "same", "?", "worst")


def status(made: Sequence[Comparison]) -> int:
    """The worst status of all comparisons."""
    found = {one.status for one in made}
    return next((s for s in (WORSE, CANNOT_TELL) if s in found), GOOD)


def text(made: Sequence[Comparison]) -> str:
    to = formats.width()
    table = formats.aligned([TITLES, *(_cells(one, _prefix(made)) for one in made)], to)
    lines = [result(made), _first(made[0]), "", *table, "", *_more(made), *_meaning(made)]
    return "\n".join(part for line in lines for part in formats.wrapped(line, to) or [""])


def result(made: Sequence[Comparison]) -> str:
    worse = [one for one in made if one.status == WORSE]
    if worse:
        is_slower = any(formats.is_slower(one) for one in worse)
        names = units.some([one.new.name for one in worse], 4)
        return f"{'SLOWER' if is_slower else 'WORSE'} than {made[0].old.name}: {names}"
    if status(made) == CANNOT_TELL:
        return "CANNOT TELL"
    if any(one.reason for one in made):
        return "no verdict"
    is_open = any(m["verdict"] == UNTOLD for one in made for m in one.metrics)
    return f"no side is {'shown to be ' * is_open}slower than {made[0].old.name}"


def _more(made: Sequence[Comparison]) -> list[str]:
    """Hosts that became slower, and trials without a valid result."""
    return [
        f"{one.new.name}: {word}: {line}"
        for one in made
        for word, line in (*by_host.told(one.hosts), *formats.lost(one))
    ]


def _first(one: Comparison) -> str:
    return f"first: {one.old.name}, {units.several(len(one.old.runs), 'run')}"


def _meaning(made: Sequence[Comparison]) -> list[str]:
    several = len({one.reason for one in made}) == 1
    reasons = [
        one.reason if several else f"{one.new.name}: {one.reason}"
        for one in made[: 1 if several else None]
        if one.reason
    ]
    return [
        *reasons,
        *(
            f"{one.new.name}: {units.several(one.both, 'run')} of {one.old.name} also: verdicts do"
            " not hold"
            for one in made
            if one.both
        ),
        *unfound(made),
        f"each against the first, at {100 * LEVEL:.0f} % over its metrics; ?: cannot tell; details:"
        f" locus compare {made[0].old.name} OTHER",
    ]


def unfound(made: Sequence[Comparison]) -> list[str]:
    """Patterns that match no metric, and metrics that --require asks for in vain."""
    unused = [p for p in made[0].unused if all(p in one.unused for one in made)]
    lines = [f"--threshold {pattern}: no such metric is on two sides" for pattern in unused]
    return lines + [f"{one.new.name}: {line}" for one in made for line in formats.required(one)]


def _prefix(made: Sequence[Comparison]) -> str:
    """The folder of all sides, which a narrow table leaves out."""
    folders = {one.new.name.rpartition("/")[0] for one in made}
    return f"{folders.pop()}/" if len(folders) == 1 else ""


def _cells(one: Comparison, prefix: str) -> list[str]:
    counts = Counter(m["verdict"] for m in one.metrics)
    of = one.overall
    known = of and of.low is not None and of.high is not None
    worst = next((m for m in one.metrics if m["verdict"] == SLOWER), None)
    said = f"{formats.label(worst)} {formats.percent(worst['change'])}" if worst else ""
    certain = one.hosts.certain
    said = said or (f"host {certain[0].host} {certain[0].ratio:.2f}" if certain else "")
    return [
        one.new.name.removeprefix(prefix) or one.new.name,
        str(len(one.new.runs)),
        f"{of.ratio:.3f}" if of else "–",
        f"{of.low:.3f} to {of.high:.3f}" if of and known else "–",
        *(str(counts[verdict]) for verdict in (SLOWER, FASTER, SAME, UNTOLD)),
        said,
    ]


def markdown(made: Sequence[Comparison]) -> str:
    rows = [list(TITLES), ["---"] * len(TITLES), *(_cells(one, "") for one in made)]
    lines = [f"- {result(made)}", f"- {_first(made[0])}", "", *units.in_bars(rows), ""]
    return "\n".join([*lines, *_more(made), *_meaning(made)])


def table(made: Sequence[Comparison]) -> str:
    rows = [{"side": one.new.name, **formats.flat(m)} for one in made for m in one.metrics]
    return formats.in_csv(("side", *formats.COLUMNS), rows)


def document(made: Sequence[Comparison]) -> str:
    told = {
        "schema": "locus-comparisons-1.0",
        "first": made[0].old.name,
        "status": status(made),
        "sides": [{"side": one.new.name, **formats.members(one)} for one in made],
    }
    return json.dumps(told, indent=1, ensure_ascii=False)


FORMS = {"table": text, "md": markdown, "csv": table, "json": document}
