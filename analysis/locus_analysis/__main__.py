# SPDX-License-Identifier: Apache-2.0
"""locus report, locus levels, locus validate: what of locus is written in Python."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

GOOD, CANNOT, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
NO_CURVE = (
    "no curve of latency over working set in these records, nor one of sharing over distance:"
    " measure one with locus latency --variant cycle,page-random, or with locus sharing --variant"
    " distance"
)

LACKING = (
    "locus: "
    + sys.executable
    + " lacks the module {}: run it with -m pip install -r analysis/requirements.txt"
)

try:
    from . import likwid, records
except ModuleNotFoundError as error:
    sys.exit(LACKING.format(error.name))


def main(arguments: Optional[Sequence[str]] = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        given = _read(options)
        try:
            said = options.run(options, given)
        finally:  # it may have added some
            for note in given.notes:
                print(f"locus: note: {note}", file=sys.stderr)
        print(said, flush=True)
    except records.BadInput as error:
        return _complain(error, BAD_INPUT)
    except records.CannotWrite as error:
        return _complain(error, CANNOT)
    except OSError as error:
        return _complain(f"standard output: {error.strerror}", CANNOT)
    except ModuleNotFoundError as error:
        sys.exit(LACKING.format(error.name))
    except KeyboardInterrupt:
        return INTERRUPTED
    return GOOD


def _read(options: argparse.Namespace) -> records.Records:
    """Tables of LIKWID's, told by their content, are for the report."""
    tables = [file for file in options.file if likwid.is_table(file)]
    if tables and options.run != _report:
        raise records.BadInput(
            f"{tables[0]}: a table of LIKWID's, not a record: locus report reads it, beside its"
            " record"
        )
    if len(tables) == len(options.file):
        raise records.BadInput(f"{tables[0]}: a table of LIKWID's: give the record of its run, too")
    given = records.read([file for file in options.file if file not in tables])
    given.counted = likwid.read(tables)
    return given


def _report(options: argparse.Namespace, given: records.Records) -> str:
    from . import report  # here, since it takes longer than all that the other commands do

    output = options.output or options.file[0].parent
    page = output if output.suffix == ".html" else output / "report.html"
    return "\n".join(map(str, report.write(given, page, options.force)))


def _validate(options: argparse.Namespace, given: records.Records) -> str:
    return (
        f"{', '.join(map(str, options.file))}: {len(given.lines)} lines, all as {records.SCHEMA}"
        " says"
    )


def _levels(options: argparse.Namespace, given: records.Records) -> str:
    from . import levels, padding

    db = records.tables(given)
    return "\n\n".join(filter(None, (levels.text(db), padding.text(db)))) or NO_CURVE


def _complain(error: object, status: int) -> int:
    print(f"locus: {error}", file=sys.stderr)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="locus", description="Reads the records that locus wrote (--output)."
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    command = commands.add_parser(
        "report",
        help="make a page with pictures from records",
        description=(
            "Makes one HTML page from one or several records, readable without a network, and"
            " beside it a folder with its pictures as SVG and PNG: report.html and"
            " report-pictures/."
        ),
        epilog=(
            "Exit status: 0 good; 1 the report could not be written, and nothing was; 2 a file is"
            " missing or is no record."
        ),
    )
    command.add_argument(
        "file",
        metavar="FILE",
        nargs="+",
        type=Path,
        help=(
            "a record, as --output of a benchmark wrote it; and, beside it, what likwid-perfctr -m"
            " counted (its CSV)"
        ),
    )
    command.add_argument(
        "--output",
        metavar="DIR|FILE.html",
        type=Path,
        help=(
            "where to: a folder, for report.html in it, or the name of the page; default: the"
            " folder of the first FILE"
        ),
    )
    command.add_argument(
        "--force",
        action="store_true",
        help="replace a page and a folder of pictures that are there already",
    )
    command.set_defaults(run=_report)

    command = commands.add_parser(
        "levels",
        help=(
            "name the levels of cache and TLB in records of latency, and the padding in those of"
            " sharing"
        ),
        description=(
            "Finds plateaus and edges in curves of latency over working set, from the curve alone,"
            " names them - L1, L2, L3, memory from cycle; L1 and L2 TLB from page-random - and"
            " holds them against what the system reports. From curves of sharing over distance: the"
            " bytes that keep words of different threads apart, held against the line that is"
            " reported."
        ),
        epilog="Exit status: 0 good, whatever was found; 2 a file is missing or is no record.",
    )
    command.add_argument(
        "file",
        metavar="FILE",
        nargs="+",
        type=Path,
        help="a record of locus latency, or of locus sharing",
    )
    command.set_defaults(run=_levels)

    command = commands.add_parser(
        "validate",
        help="hold records against their schema",
        description="Holds every line of the records against the schema.",
        epilog="Exit status: 0 good; 2 a file is missing or is no record.",
    )
    command.add_argument("file", metavar="FILE", nargs="+", type=Path)
    command.set_defaults(run=_validate)
    return parser


if __name__ == "__main__":
    sys.exit(main())
