# SPDX-License-Identifier: Apache-2.0
"""The command history: its options. What computes is imported when it is needed."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..base import arguments
from ..compare import command_line
from ..records import hosts, likwid, sources
from ..records.sources import BadInput

HELP = f"the node's name, but not with --class; then {sources.GIVEN}"


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command to argparse's subparsers."""
    command = commands.add_parser(
        "history",
        help="show how a node changed over time",
        usage="%(prog)s HOST FILE|DIR...\n       %(prog)s --class FILE|DIR...",
        description=(
            "Shows for each component of a node (clock, caches, memory, ...) whether it was "
            "steady, drifted, or changed from one run to the next; and when it changed, with "
            "the settings of the machine that changed at that time (kernel, microcode, "
            "firmware). --class shows this for all hosts, by class: a change that several "
            "hosts share is one line. At most 5 of 100 steady nodes are named by chance."
        ),
        epilog=arguments.exits(
            "0 nothing became worse",
            "1 something did",
            "4 there are too few runs to judge",
            "2 bad input",
            verdict=True,
        ),
    )
    command.add_argument("words", metavar="HOST FILE|DIR", nargs="+", help=HELP)
    command.add_argument("--class", dest="all", action="store_true", help="all hosts, by class")
    command.add_argument("--format", choices=("table", "json"), default="table")
    command.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    host = None if options.all else options.words[0]
    files = [Path(word) for word in options.words[host is not None :]]
    if not files:
        raise BadInput(
            f"history {host}: expected a host, and a record or a folder of records: locus history"
            " HOST FILE|DIR...; all hosts: locus history --class FILE|DIR..."
        )
    likwid.refuse(files)
    from ..compare import observations
    from . import history

    side, notes = observations.load(files, "these records")
    command_line.note(notes)
    if host is not None:
        if host not in side.hosts:
            why = hosts.missing(host, side.hosts, "these records have no run of this host")
            raise BadInput(f"{host}: {why}")
        side = side.of([i for i, run in enumerate(side.runs) if run["host"] == host])
    found = list(history.of_hosts(side))
    if options.format == "json":
        print(history.as_json(found), flush=True)
    else:
        print(history.classes(found) if options.all else history.table(found[0]), flush=True)
    return history.status(found)
