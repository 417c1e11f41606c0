# SPDX-License-Identifier: Apache-2.0
"""The commands of __main__: their options, and what they do."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Optional

from .base import arguments, streams
from .cluster import aggregate, history_command
from .cluster import command as sick_command
from .compare import command_line
from .export import formats
from .records import likwid
from .records.sources import GIVEN, BadInput, CannotWrite

GOOD, BAD_INPUT = 0, 2
# What other content than was written may lead to.
OF_DAMAGE = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError),
    RecursionError,
)
# Exit statuses of several commands.
NO_RECORD = "2 a file is missing or is no record"
NOT_WRITTEN = "1 the output could not be written"
DATA = ("csv", "json")  # formats for programs
NO_CURVE = (
    "no curve of latency over working set in these records, nor one of sharing over distance:"
    " measure one with locus latency --variant cycle,page-random, or with locus sharing --variant"
    " distance"
)

if TYPE_CHECKING:
    from .records.database import Records


def run(words: list[str]) -> int:
    """The exit status."""
    try:
        return _run(words)
    except BadInput as error:
        return streams.complain(error, BAD_INPUT)
    except CannotWrite as error:
        return streams.complain(error, streams.lost(words))
    except Exception as error:
        if flaw := _of_a_store(error, words):
            return streams.complain(flaw, BAD_INPUT)
        raise


def _of_a_store(error: Exception, words: Sequence[str]) -> Optional[str]:
    """The damaged file, if that is why a command failed: a page of it may be read late, or may
    decode into something else."""
    duckdb = sys.modules.get("duckdb")
    if duckdb is None or not isinstance(error, (duckdb.Error, *OF_DAMAGE)):
        return None
    from .records import store

    given = [Path(word.partition("=")[2] if word.startswith("--") else word) for word in words]
    return store.damaged([path for path in given if store.is_one(path)])


def _run(words: list[str]) -> int:
    end = words.index("--") if words[:1] == ["compare"] and "--" in words else len(words)
    try:
        options = _parser().parse_args(words[:end])
    finally:
        sys.stdout.flush()  # of --help: at exit Python could only say that it failed
    options.behind = words[end:]
    if options.run is _export or getattr(options, "format", "table") in DATA:
        streams.as_data()
    return int(options.run(options))


def _report(options: argparse.Namespace) -> int:
    from .pictures import draw

    first = options.file[0]
    output = options.output or (first if first.is_dir() else first.parent)
    page = output if output.suffix == ".html" else output / "report.html"
    tables = _tables(options)
    if len(tables) == len(options.file):
        raise BadInput(f"{tables[0]}: a table of LIKWID's: give the record of its run, too")
    draw.painters()
    from .cluster import switches
    from .page import one_node, report  # while they start
    from .records import database, nodes

    tree = switches.read(options.group) if options.group else []
    files, beside = [file for file in options.file if file not in tables], None
    if options.node:
        given, beside = one_node.read(files, options.node)
    else:
        given = database.read(files)
        given.lost = nodes.lost(given.db, files)
    with _noting(given):
        given.counted = likwid.read(tables)
        for path in report.write(given, page, options.force, options.pictures, beside, tree):
            print(path, flush=True)
    return GOOD


def _levels(options: argparse.Namespace) -> int:
    from .insight import levels, levels_by_class, padding, run_variation
    from .records import database

    with _read(options, only=("latency", "sharing")) as given:
        db = database.tables(given)
    if database.of_many(db):
        print(levels_by_class.text(db) or NO_CURVE, flush=True)
        return GOOD
    found = [text for text in (levels.text(db), padding.text(db)) if text]
    runs = max((len(wholes) for wholes in run_variation.series(db)), default=0)
    print("\n\n".join([*found, run_variation.about(runs)]) if found else NO_CURVE, flush=True)
    return GOOD


def _summary(options: argparse.Namespace) -> int:
    from .card import summary
    from .records import database

    with _read(options, only=[options.only] if options.only else ()) as given:
        told = (
            summary.answer(database.tables(given), options.only)
            if options.only
            else summary.text(given)
        )
    print(told, flush=True)
    return GOOD


def _export(options: argparse.Namespace) -> int:
    form = formats.named(formats.chosen(options.format, options.asked))
    likwid.refuse(options.file)
    if options.output:
        command_line.note(formats.write_file(form, options.file, options.output))
        return GOOD
    command_line.note(form.write(options.file, sys.stdout))
    sys.stdout.flush()
    return GOOD


def _topology(options: argparse.Namespace) -> int:
    from .card import picture

    likwid.refuse(options.file)
    command_line.note(picture.write(options.file, options.picture))
    return GOOD


def _validate(options: argparse.Namespace) -> int:
    from .records import hosts, validate

    likwid.refuse(options.file)
    checked = validate.Checked()
    for flaw in validate.flaws(options.file, checked):
        streams.complain(flaw, BAD_INPUT)
    command_line.note(hosts.told_apart(checked.machines)[1])
    print(checked, flush=True)
    return BAD_INPUT if checked.wrong else GOOD


def _tables(options: argparse.Namespace) -> list[Path]:
    """The files that are LIKWID's tables, recognised by their content."""
    return [file for file in options.file if likwid.is_table(file)]


@contextmanager
def _read(options: argparse.Namespace, only: Sequence[str] = ()) -> Iterator[Records]:
    """The records without their samples, for commands that need no samples, and if so of some
    benchmarks only."""
    from .records import database

    likwid.refuse(options.file)
    given = database.read(options.file, samples=False, only=only)
    with _noting(given):
        yield given


@contextmanager
def _noting(given: Records) -> Iterator[None]:
    """Prints the notes, also those that are added meanwhile."""
    try:
        yield
    finally:
        command_line.note(given.notes)


def _parser() -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = arguments.Parser(
        prog="locus-analysis" if Path(sys.argv[0]).name == "locus-analysis" else "locus",
        description="Reads the records that locus wrote (--output).",
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    command = _command(
        commands,
        "report",
        _report,
        beside="; and the CSV that likwid-perfctr -m wrote for it",
        help="make a page with pictures from records",
        description=(
            "Makes one HTML page from one or several records, readable without a network. It "
            "saves each of its pictures as SVG, and their values as CSV. It prints each path "
            "when the file is written."
        ),
        epilog=arguments.exits("0 good", "1 the report could not be written", NO_RECORD),
    )
    command.add_argument(
        "--output",
        metavar="DIR|FILE.html",
        type=Path,
        help=(
            "a folder for report.html, or the name of the page; default: the folder of the "
            "first FILE"
        ),
    )
    command.add_argument(
        "--node",
        metavar="NAME",
        help="show only this one of many hosts, and compare its components with its class",
    )
    command.add_argument(
        "--group",
        metavar="FILE",
        type=Path,
        help="the switch of each node, as for locus sick: the page names and shows slow ones",
    )
    command.add_argument(
        "--pictures",
        action="store_true",
        help="also make report-pictures/, with each picture as SVG, PNG, PDF and Vega-Lite",
    )
    command.add_argument(
        "--force",
        action="store_true",
        help="replace an existing page and its pictures; other files in the folder stay",
    )
    command = _command(
        commands,
        "summary",
        _summary,
        help="show a machine and its costs on one screen",
        description=(
            "Prints a screen for each host: caches and TLBs, bandwidth, core-to-core "
            "latency, what false sharing and a wrong first touch cost, what workloads gain, "
            "and how certain each number is; then what disturbs measurements. For a series "
            "(--runs) the card shows the medians of the runs and the intervals between them. "
            "Otherwise, if a host has measured a trial several times, the last measurement "
            "counts. For more than 8 hosts it prints a table for each class of machines: "
            "medians over the hosts, and the hosts that differ."
        ),
        epilog=(
            "`locus help WORD` explains the words on the right: certain, rough, noisy, 'cannot "
            "tell'. " + arguments.exits("0 good", NOT_WRITTEN, NO_RECORD)
        ),
    )
    command.add_argument(
        "--only",
        metavar="BENCHMARK",
        help="print only the lines that this benchmark prints at its end",
    )
    command_line.add(commands, sick_command.by_host)
    sick_command.add(commands)
    aggregate.add(commands)
    history_command.add(commands)
    _command(
        commands,
        "levels",
        _levels,
        help=(
            "find cache and TLB levels in records of latency, and the padding in records of sharing"
        ),
        description=(
            "Finds plateaus and edges in curves of latency over working set, from the curve alone."
            " It names them (L1, L2, L3 and memory from cycle; L1 and L2 TLB from page-random), and"
            " compares them with what the system reports. In curves of sharing over distance it"
            " finds the padding that words of different threads need, and compares it with the"
            " cache line that the system reports. For more than 8 hosts it prints medians for each"
            " class of machines, and the hosts that differ."
        ),
        epilog=arguments.exits("0 good, whatever was found", NOT_WRITTEN, NO_RECORD),
    )
    command = _command(
        commands,
        "export",
        _export,
        help="convert records for other tools",
        description=(
            "Writes records for other tools, to standard output or into a file. A row has"
            " host, run, trial and its parameters, the value with its 95 % interval in base units,"
            " or the reason why there is no value.\n\nValues of --format:\n" + formats.described()
        ),
        epilog=arguments.exits("0 good", NOT_WRITTEN, NO_RECORD),
    )
    command.add_argument(
        "--format", metavar="NAME", choices=formats.NAMES, help="see above; default: csv"
    )
    for form in formats.FORMATS:
        if form.option:
            command.add_argument(
                form.option,
                action="store_const",
                const=form.name,
                dest="asked",
                help=f"the same as --format {form.name}",
            )
    command.add_argument(
        "--output",
        metavar="FILE|DIR",
        type=formats.folder_or_file,
        help=(
            "write this file, or locus.EXTENSION in this folder: it appears once it is complete; "
            "default: standard output"
        ),
    )
    command = _command(
        commands,
        "topology",
        _topology,
        help="draw the machine that the records describe",
        description=(
            "Draws nodes, caches and TLBs of a host, with the measured times. All records must "
            "come from this host."
        ),
        epilog=arguments.exits(
            "0 good",
            "1 the picture could not be written",
            f"{NO_RECORD}, or there are several hosts",
        ),
    )
    command.add_argument(
        "--picture", metavar="FILE.svg", type=Path, required=True, help="the file to draw into"
    )
    _command(
        commands,
        "validate",
        _validate,
        help="check records against their format",
        description=(
            "Checks each line of the records strictly against the format: unknown keys and "
            "types of lines are errors. For each wrong line it prints the file, the line "
            "number, and what was expected."
        ),
        epilog=arguments.exits(
            "0 all lines are valid", NOT_WRITTEN, "2 a line is not, or a file is missing"
        ),
    )
    return parser


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    run: Callable[[argparse.Namespace], int],
    *,
    help: str,
    description: str,
    epilog: str,
    beside: str = "",
) -> argparse.ArgumentParser:
    """A command that reads records. `beside`: what else it reads."""
    command = commands.add_parser(name, help=help, description=description, epilog=epilog)
    told = GIVEN + beside
    command.add_argument("file", metavar="FILE|DIR", nargs="+", type=Path, help=told)
    command.set_defaults(run=run)
    return command
