# SPDX-License-Identifier: Apache-2.0
"""Which machine a run is of: its name does not suffice, since many are called localhost. Machines
of one name are told apart by their class, those of one class by their boards, and those of one
board by their ids, where these are known. A machine stays the same across boots; once it was set up
anew it is another one, and so are its numbers. An id with several
names only causes a note: one machine was renamed, or several were made from one image."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Optional

from ..base import arguments
from .lines import Header

FEW = 8  # hosts that are shown one by one
SHOWN = 8  # digits of a class
MOST = 3  # machines that a note names


class Machine(NamedTuple):
    run: str
    name: str
    kind: Optional[str]  # its class
    board: Optional[str]
    id: Optional[str] = None


def of_header(header: Header) -> Machine:
    machine = header["machine"]
    firmware = machine["firmware"]
    named = (firmware["sys_vendor"], firmware["product_name"], firmware["board_name"])
    board = " ".join(filter(None, named))
    id_ = machine.get("id")
    return Machine(header["run"], header["host"], machine["class"], board or None, id_)


def told_apart(machines: Iterable[Machine]) -> tuple[dict[str, str], list[str]]:
    """A name for each run, the same for runs of one machine alone; and a note for each name that
    several have."""
    runs, notes = dict[str, str](), list[str]()
    named: dict[str, list[Machine]] = {}
    for machine in machines:
        named.setdefault(machine.name, []).append(machine)
    for name, alike in named.items():
        own = dict[str, str]()
        kinds = _by(alike, "kind")
        for kind, equal in kinds.items():
            boards = _by(equal, "board")
            for board, same in boards.items():
                ids = _by(same, "id")
                for id_, one in ids.items():
                    marks = [kind[:SHOWN] if kind else "unknown class"] * (len(kinds) > 1)
                    marks += [board or "unknown board"] * (len(boards) > 1)
                    marks += [_short(id_)] * (len(ids) > 1)
                    told = f"{name} ({', '.join(marks)})" if marks else name
                    own.update({machine.run: told for machine in one})
        runs.update(own)
        notes += _note(name, sorted(set(own.values())))
    return runs, [*notes, *_renamed(machine for alike in named.values() for machine in alike)]


def missing(host: str, known: Sequence[str], none: str) -> str:
    """Why this is none of the names that told_apart() gave: several machines have it, or `none`."""
    several = sorted(own for own in known if own.startswith(f"{host} (") and own.endswith(")"))
    if several:
        shown = arguments.listed([f"'{own}'" for own in several[:FEW]])
        return f"{len(several)} machines have this name; choose {shown}"
    return f"{none}; {arguments.instead(host, known)}"


def _short(id_: Optional[str]) -> str:
    return f"id {id_.rpartition(':')[2][:SHOWN]}" if id_ else "unknown id"


def _renamed(machines: Iterable[Machine]) -> list[str]:
    """Notes on ids with several names; each pair of names has its own."""
    names: dict[str, dict[str, None]] = {}
    for machine in machines:
        if machine.id:
            names.setdefault(machine.id, {})[machine.name] = None
    several = [[*own] for own in names.values() if len(own) > 1]
    renamed = [" and ".join(own) for own in several if len(own) == 2]
    notes = [
        f"{pair} have one machine id: a host that was renamed, or two that were made from one image"
        for pair in renamed[:MOST]
    ]
    if renamed[MOST:]:
        notes.append(f"{len(renamed) - MOST} more pairs of names have one machine id each")
    return notes + [
        f"{len(own)} hosts have one machine id ({', '.join(own[:MOST])}, ...): they were made from"
        " one image, so the id does not distinguish them"
        for own in several
        if len(own) > 2
    ]


def _by(machines: Iterable[Machine], key: str) -> dict[Optional[str], list[Machine]]:
    """Where one value alone is known, machines without one are of it, too."""
    groups: dict[Optional[str], list[Machine]] = {}
    for machine in machines:
        groups.setdefault(getattr(machine, key), []).append(machine)
    if len(groups) == 2 and None in groups:
        (value,) = groups.keys() - {None}
        return {value: [m for group in groups.values() for m in group]}
    return groups


def _note(name: str, names: Sequence[str]) -> list[str]:
    if len(names) < 2:
        return []
    shown = ", ".join(names[:MOST]) + (", ..." if len(names) > MOST else "")
    return [f"{name} is the name of {len(names)} machines, or of one that was changed: {shown}"]
