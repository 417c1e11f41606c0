# SPDX-License-Identifier: Apache-2.0
"""The command sick: its options, and what it reads. What computes is imported when it is needed."""

from __future__ import annotations

import argparse
import math
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..base import arguments, units
from ..compare import command_line
from ..records import likwid, sources, store
from ..records.sources import BadInput
from .components import NAMES

if TYPE_CHECKING:
    from ..compare.hosts import Changes
    from ..compare.observations import Side


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command to argparse's subparsers."""
    command = commands.add_parser(
        "sick",
        help="find sick nodes of a cluster",
        usage="%(prog)s [OPTION...] FILE|DIR...",
        description=(
            "Judges each node within its class of machines, component by component (clock, caches,"
            " memory, cores, ...), from the runs of locus suite on all nodes. A node is SUSPECT if"
            " one campaign (a folder of results) shows it to be slower than any healthy node, and"
            " SICK once another campaign, or the job's --again, confirms it. It also names nodes"
            " that gave wrong answers, and settings in which a node differs from its class."
        ),
        epilog=arguments.exits(
            "1 a node is sick, gave a wrong answer or is odd",
            "4 none is, but some are suspects, left no data, or cannot be judged",
            "0 all are healthy",
            "2 bad input",
            verdict=True,
        ),
    )
    command.add_argument("file", metavar="FILE|DIR", nargs="+", type=Path, help=sources.GIVEN)
    command.add_argument(
        "--effect",
        metavar="COMPONENT=SHARE",
        action="append",
        default=[],
        type=_effect,
        help="a sick node is slower by at least this share; default: 5%%, clock=3%%",
    )
    command.add_argument(
        "--suppress",
        metavar="FILE",
        type=Path,
        help=(
            "leave out known findings: lines of CSV with node (n[001-004]), component or *, reason,"
            " and the last day on which to leave it out (2027-01-31)"
        ),
    )
    command.add_argument(
        "--group",
        metavar="FILE",
        type=Path,
        help=(
            "the switch of each node (lines such as n[001-004] s1), or SLURM's topology.conf: then"
            " slow switches are named, too"
        ),
    )
    command.add_argument(
        "--again-list", action="store_true", help="print only the suspects' names, for sbatch"
    )
    command.add_argument(
        "--all", action="store_true", help="also show weaker findings, which are only worth a look"
    )
    command.add_argument(
        "--node",
        metavar="NAME",
        help="compare all components of this node with its class, as a table or json",
    )
    command.add_argument(
        "--format", choices=("table", "json", "md", "csv"), default="table", help="default: table"
    )
    command.set_defaults(run=_sick)


def by_host(old: Side, new: Side) -> Changes:
    """For compare: which hosts became slower, each by itself."""
    from . import changes

    return changes.judge(old, new)


def _effect(words: str) -> tuple[str, float]:
    component, _, share = words.rpartition("=")
    value = units.share(share)
    if not 0 < value < 1 or component not in NAMES:
        raise argparse.ArgumentTypeError(
            f"'{words}': expected a component and a share, such as memory latency=3%; components:"
            f" {', '.join(NAMES)}"
        )
    return component, math.log1p(value)


def _sick(options: argparse.Namespace) -> int:
    from ..compare import observations
    from ..records import database, nodes
    from . import fabric, known, node, sick, switches, told

    if options.node and (options.again_list or options.format not in ("table", "json")):
        raise BadInput("--node: goes with --format table or json, and without --again-list")
    likwid.refuse(options.file)
    suppressed = known.read(options.suppress) if options.suppress else []
    levels = switches.read(options.group) if options.group else []
    read = database.read(options.file, samples=False, values=True)
    db, notes = database.trials(read), read.notes
    side, network = observations.of(db, "these records"), fabric.read(db)
    verdict = sick.judge(db, side, dict(options.effect), nodes.lost(db, options.file))
    slow, network, untold = switches.judge(network, levels) if options.group else ([], network, [])
    alone = bool(network.variants) and not verdict.hosts
    verdict.add([*slow, *fabric.judge(network, alone)], network.head)
    verdict.notes += untold
    known.leave_out(verdict, suppressed)
    command_line.note(notes + verdict.notes)
    if options.node:
        one = node.of(verdict, options.node)
        print(node.as_json(one) if options.format == "json" else node.table(one), flush=True)
        return one.status
    if options.again_list:
        print(",".join(verdict.suspects), flush=True)
        return verdict.status
    again = (
        f"sbatch --nodelist={{}} jobs/suite.slurm --again {_folder(options.file, side)} --runs 3"
    )
    text = {
        "table": lambda: told.table(verdict, options.all, again),
        "json": lambda: told.as_json(verdict),
        "md": lambda: told.as_markdown(verdict),
        "csv": lambda: told.as_csv(verdict),
    }[options.format]()
    print(text, flush=True)
    return verdict.status


def _folder(paths: Sequence[Path], side: Side) -> str:
    """Where records of another job belong: a store has none."""
    first = Path(side.runs[-1]["file"]) if store.is_one(paths[0]) else paths[0]
    name = shlex.quote(str(first if first.is_dir() else first.parent))
    return name.replace("{", "{{").replace("}", "}}")
