# SPDX-License-Identifier: Apache-2.0
"""The command compare: its options, and where its two sides come from. The modules that compute are
imported when they are needed, since that takes longer than other commands."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..base import arguments, processes, streams, units
from ..records import likwid, sources, store

if TYPE_CHECKING:
    from .hosts import Changes
    from .observations import Side

ENOUGH = 1 << 24  # bytes of files: less is read as fast as a process begins


def add(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    by_host: Callable[[Side, Side], Changes],
) -> None:
    """Adds the command to argparse's subparsers. `by_host` judges each host by itself."""
    command = commands.add_parser(
        "compare",
        help="find what became slower or faster",
        usage=(
            "%(prog)s [OPTION...] OLD NEW\n       %(prog)s [OPTION...] OLD... -- NEW...\n"
            "       %(prog)s [OPTION...] FIRST OTHER OTHER...\n"
            "       %(prog)s [OPTION...] --measure N -- CMD_A -- CMD_B\n"
            "       %(prog)s [OPTION...] --baseline FILE FILE|DIR...\n"
            "       %(prog)s [OPTION...] --plan FILE|DIR... [-- NEW...]"
        ),
        description=(
            "Compares the trials that both sides have, metric by metric: slower or faster, "
            "beyond or within a threshold, the same, or undecided. Runs are compared, or "
            "hosts if there are several: give several runs per side, best measured "
            "alternately. For three or more sides it prints a table that compares each with "
            "the first. It first lists the settings in which the sides differ: they may be "
            "the cause."
        ),
        epilog=arguments.exits(
            "0 nothing is slower beyond its threshold",
            "1 something is slower, or lost its valid result",
            "2 a file is missing or is no record, or the name of the output is taken",
            "4 cannot tell: something is slower, perhaps within its threshold, trials were "
            "interrupted or left out, nothing is on both sides, a metric of --require has no "
            "verdict, or a host cannot be judged (--baseline)",
            verdict=True,
        ),
    )
    command.add_argument(
        "file", metavar="OLD... [--] NEW...", nargs="*", type=Path, help=sources.GIVEN
    )
    command.add_argument(
        "--threshold",
        metavar="[PATTERN=]SHARE",
        action="append",
        default=[],
        type=_threshold,
        help="largest change that does not matter: 3%% (default), or latency=5%%, "
        "'*/bandwidth=10%%'",
    )
    command.add_argument(
        "--require",
        metavar="PATTERN",
        action="append",
        default=[],
        help="metrics that need a verdict: '*', latency, numa/static, '*/bandwidth'; with "
        "--baseline: facts that have to be known: 'memory.*'",
    )
    command.add_argument(
        "--measure",
        metavar="N",
        type=int,
        help="measure first: run CMD_A and CMD_B N times each, in turn, with --output",
    )
    command.add_argument(
        "--keep",
        metavar="DIR",
        type=Path,
        help="folder for the records of --measure; default: compare-DATE-TIME",
    )
    command.add_argument(
        "--baseline",
        metavar="FILE",
        type=Path,
        help="compare each host with expected facts and values, from locus export --expect",
    )
    command.add_argument(
        "--plan",
        action="store_true",
        help="before measuring: compute, from the scatter of these runs, how many runs per side "
        "it takes to find a change",
    )
    command.add_argument(
        "--effect",
        metavar="[PATTERN=]SHARE",
        action="append",
        default=[],
        type=_threshold,
        help="the change that --plan should find; default: 5/3 of the threshold, so 5%%",
    )
    command.add_argument(
        "--output",
        metavar="FILE.html",
        type=Path,
        help="also write a page: all metrics, and pictures of all runs before and after",
    )
    command.add_argument("--all", action="store_true", help="show all metrics, not only the worst")
    command.add_argument(
        "--format", choices=("table", "json", "md", "csv"), default="table", help="default: table"
    )
    command.set_defaults(run=_compare, by_host=by_host)


def _threshold(words: str) -> tuple[str, float]:
    pattern, _, share = words.rpartition("=")
    value = units.share(share)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"'{words}': expected a share such as 3% or latency=3%")
    return pattern or "*", value


# Options that have no meaning beside another one, and those that have none without it.
WITHOUT_MEANING = {
    "baseline": ("threshold", "effect", "measure", "keep", "plan", "output"),
    "plan": ("require", "measure", "keep", "output"),
}
NEEDED = {"effect": "plan", "keep": "measure"}


def _refuse(options: argparse.Namespace) -> None:
    """Options that would be ignored."""
    of = vars(options)
    given = [name for name, value in of.items() if value or (name, value) == ("measure", 0)]
    for name, others in WITHOUT_MEANING.items():
        for other in (o for o in others if name in given and o in given):
            why = ": the file has the bounds" if other == "threshold" else ""
            raise sources.BadInput(f"compare --{name} takes no --{other}{why}")
    for name, other in NEEDED.items():
        if name in given and other not in given:
            raise sources.BadInput(f"compare --{name} needs --{other}")


def _compare(options: argparse.Namespace) -> int:
    from . import comparison, formats

    _refuse(options)
    if options.baseline:
        from . import expected, observations

        classes = expected.read(options.baseline)
        side, notes = observations.load(_given(options), "these records", True)
        note(notes)
        judged = expected.judge(side, classes, options.require)
        print(expected.told(judged, options.format), flush=True)
        return expected.status(judged)
    if options.plan:
        return _plan(options)
    if options.measure is None and not options.behind and len(options.file) > 2:
        return _each(options)
    old, new = _measured(options) if options.measure is not None else _two_sides(options)
    (first, notes), (last, more) = _loaded(old, new)
    note([*notes, *more])
    made = comparison.compare(first, last, options.threshold, options.require, options.by_host)
    if options.output:
        from . import html_page

        html_page.write(made, options.output)
    _note_in(options.format, formats.doubled(made) + formats.unfound(made))
    print(formats.FORMS[options.format](made, options.all), flush=True)
    return made.status


def _each(options: argparse.Namespace) -> int:
    """Three or more sides, each against the first."""
    from . import comparison, observations, sides

    if options.output:
        raise sources.BadInput("compare --output needs two sides: a page compares OLD with NEW")
    likwid.refuse(options.file)
    first, notes = observations.load(options.file[:1], str(options.file[0]), True)
    note(notes)
    made = []
    for path in options.file[1:]:
        other, notes = observations.load([path], str(path), True)
        note(notes)
        made.append(
            comparison.compare(first, other, options.threshold, options.require, options.by_host)
        )
    _note_in(options.format, sides.unfound(made))
    print(sides.FORMS[options.format](made), flush=True)
    return sides.status(made)


def _plan(options: argparse.Namespace) -> int:
    """Two files or folders are two sides, as for a comparison; otherwise -- stands between."""
    from . import observations, plan

    if not options.file:
        raise sources.BadInput(
            "compare --plan needs records alone: one side's, or OLD... -- NEW..."
        )
    old, new = options.file, [Path(word) for word in options.behind[1:]]
    if not options.behind and len(old) == 2:
        old, new = old[:1], old[1:]
    likwid.refuse(old + new)
    first, notes = observations.load(old, "OLD")
    last, more = observations.load(new, "NEW") if new else (None, [])
    note([*notes, *more])
    made = plan.plan(first, last, options.threshold, options.effect)
    _note_in(options.format, made.unused)
    print(plan.FORMS[options.format](made, options.all), flush=True)
    return made.status


def _given(options: argparse.Namespace) -> list[Path]:
    if options.behind or not options.file:
        raise sources.BadInput("compare --baseline FILE needs records, and no --: FILE|DIR...")
    likwid.refuse(options.file)
    return list(options.file)


def _measured(options: argparse.Namespace) -> tuple[list[Path], list[Path]]:
    """--measure N -- CMD_A -- CMD_B."""
    from . import alternation, comparison

    words = options.behind[1:]
    cut = words.index("--") if "--" in words else 0
    commands = words[:cut], words[cut + 1 :]
    if not all(commands) or options.file or options.measure < 1:
        raise sources.BadInput(
            "compare --measure N needs two commands: locus compare --measure 6 -- CMD_A -- CMD_B"
        )
    paired = options.measure >= comparison.LEAST_PAIRS
    reason = comparison.too_few(options.measure, options.measure, paired, "run")
    note([reason] if reason else [])
    started = time.strftime("compare-%Y%m%d-%H%M%S", time.gmtime())
    return alternation.measure(options.measure, commands, options.keep or Path(started))


def _two_sides(options: argparse.Namespace) -> tuple[list[Path], list[Path]]:
    """Two files or folders; of more, -- stands between the sides."""
    old, new = options.file, [Path(word) for word in options.behind[1:]]
    if not options.behind and len(old) == 2:
        old, new = old[:1], old[1:]
    if not old or not new or "--" in options.behind[1:]:
        raise sources.BadInput(
            "compare needs two sides: locus compare OLD NEW, or locus compare OLD... -- NEW..."
        )
    likwid.refuse(old + new)
    return old, new


def _takes_long(paths: Sequence[Path]) -> bool:
    """A store does not: DuckDB reads it with all CPUs."""
    return sources.size(sources.find(store.split(paths)[1], [])) >= ENOUGH


def _loaded(old: list[Path], new: list[Path]) -> list[tuple[Side, list[str]]]:
    """Both sides. Where each has much to read, a process beside this one reads the new one."""
    from . import observations

    beside = None
    if _takes_long(old) and _takes_long(new):
        beside = processes.Processes("compare.command_line", 1).call("load", new, "NEW", True)
    first = observations.load(old, "OLD", True)
    try:
        return [first, beside.result() if beside else observations.load(new, "NEW", True)]
    except ChildProcessError:  # it was killed
        return [first, observations.load(new, "NEW", True)]


def _note_in(form: str, notes: Sequence[str]) -> None:
    """CSV has no place for sentences."""
    note(notes if form == "csv" else [])


def note(notes: Sequence[str]) -> None:
    for text in notes:
        streams.report(f"note: {text}")


if __name__ == "__main__":
    from . import observations

    processes.serve(observations.load)
