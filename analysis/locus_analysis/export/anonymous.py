# SPDX-License-Identifier: Apache-2.0
"""A record for other people: who ran it, where and on which machine stays out. Numbers stay, and
texts that cannot name anything: those that the format enumerates, and those that RULES allows,
which are made of known words (vocabulary.py). Any other text, also one that a later format adds, is
left out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional, TextIO

from ..base.folders import LESSONS
from ..records import database, schema
from ..records.schema import Line
from .vocabulary import known, words

Rule = Callable[["Cleaner", str], Optional[str]]

WHY = "left out of an anonymous record"
HIDDEN = "hidden"  # in place of a text or a name that the format requires
# Patterns of the format whose texts name nothing: ids are random or hashes, and the class of a
# machine is made of what all machines of its kind share.
CLOSED = ("^[0-9a-f]{16}$", "^0x[0-9a-f]+$", "^[1-9][0-9]*$", r"^locus-record-1\.[0-9]+$")
MOMENT = re.compile(r"^\^\[0-9\]\{4\}-")
LEAVES = ("peer",)  # types of lines that stay out: these name the author's own programs
OPTION = re.compile(r"--[a-z][a-z-]*")
VALUE = re.compile(r"[0-9]+(\.[0-9]+)?[A-Za-z]{0,3}")
NODE = r"([0-9]{1,5}|first|all|packed|split|each|node|auto|close|spread|layout|default)"
PLACE = re.compile(rf"{NODE}([:+,*.-]{NODE})*")
BENCHMARKS = {file.name.partition(".")[0] for file in LESSONS.iterdir()}


@dataclass
class Cleaner:
    """What is known while the lines of all files are cleaned."""

    hosts: Mapping[str, str]  # by run
    aliases: dict[tuple[str, str], str] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)  # that benchmarks declare, so no user chose them
    run: str = ""

    def alias(self, kind: str, text: str) -> str:
        """Another name for this text, always the same one: host-1, host-2."""
        number = 1 + sum(known_kind == kind for known_kind, _ in self.aliases)
        return self.aliases.setdefault((kind, text), f"{kind}-{number}")


# ---- rules: the text that stays; None: it is left out ----


def _known(cleaner: Cleaner, text: str) -> Optional[str]:
    """The whole text if all of it is known, else nothing."""
    return text if text in cleaner.names else known(text)


def _words(_: Cleaner, text: str) -> Optional[str]:
    return words(text)


def _models(_: Cleaner, text: str) -> Optional[str]:
    return words(text, model=True)


def _matching(pattern: str) -> Rule:
    return lambda _, text: text if re.fullmatch(pattern, text) else None


def _beginning(pattern: str) -> Rule:
    """The beginning of the text that matches."""

    def rule(_: Cleaner, text: str) -> Optional[str]:
        found = re.match(pattern, text)
        return found[0] if found else None

    return rule


def _host(cleaner: Cleaner, text: str) -> Optional[str]:
    return cleaner.alias("host", cleaner.hosts.get(cleaner.run, text))


def _other_host(cleaner: Cleaner, text: str) -> Optional[str]:
    """The host of another rank, which no header describes."""
    return cleaner.alias("host", text)


def _declared(cleaner: Cleaner, text: str) -> Optional[str]:
    return text if text in cleaner.names else None


def _event(cleaner: Cleaner, text: str) -> Optional[str]:
    return text if text in cleaner.names else cleaner.alias("event", text)


def _parameter(cleaner: Cleaner, text: str) -> Optional[str]:
    """Choices and places; files are told apart by number."""
    stays = text in cleaner.names or PLACE.fullmatch(text)
    return text if stays else cleaner.alias("file", text)


CPUS = _matching(r"[0-9]{1,5}([,-][0-9]{1,5})*")
CODE = _matching(r"(0x)?[0-9a-f]{1,8}")
VERSION = _beginning(r"[0-9]{1,4}(\.[0-9]{1,4})*")
BOOST = _matching(r"(/sys/devices/system/cpu/)?(intel_pstate/no_turbo|(cpu0/)?cpufreq/boost)")

RULES: dict[str, Rule] = {
    "header.host": _host,
    "header.job.system": _known,
    "header.program.version": VERSION,
    "header.program.compiler": _words,
    "header.program.built_with.*": _words,
    "header.altered": _known,
    "header.clock.source": _known,
    "header.clock.kernel_source": _known,
    "header.clock.cycle_chain": _known,
    "header.mpi.library": _words,
    "header.binding.bound_by": _known,
    "header.binding.bind": _matching(PLACE.pattern),
    "header.binding.memory_policy": _words,
    "header.counters.papi": VERSION,
    "header.counters.asked": _event,
    "header.counters.events.name": _event,
    "header.counters.events.unit": _words,
    "header.machine.cpu.vendor": _words,
    "header.machine.cpu.model": _models,
    "header.machine.cpu.architecture": _known,
    "header.machine.cpu.family": CODE,
    "header.machine.cpu.model_number": CODE,
    "header.machine.cpu.stepping": CODE,
    "header.machine.cpu.microcode": CODE,
    "header.machine.cpu.flags": _known,
    "header.machine.prefetchers.disabled": _words,
    "header.machine.firmware.bios_vendor": _words,
    "header.machine.firmware.sys_vendor": _words,
    "header.machine.firmware.product_name": _models,
    "header.machine.firmware.bios_version": _matching(r"[0-9]{1,3}(\.[0-9]{1,4})*"),
    "header.machine.firmware.bios_date": _matching(r"[0-9]{2}/[0-9]{2}/[0-9]{4}"),
    "header.machine.virtual": _known,
    "header.machine.topology.online": CPUS,
    "header.machine.topology.allowed": CPUS,
    "header.machine.topology.kinds.name": _models,
    "header.machine.topology.hwloc": _known,
    "header.machine.memory.thp.enabled": _known,
    "header.machine.memory.thp.defrag": _known,
    "header.machine.memory.modules.type": _words,
    "header.machine.kernel.release": VERSION,
    "header.machine.frequency.driver": _known,
    "header.machine.frequency.governor": _known,
    "header.machine.frequency.boost_source": BOOST,
    "header.machine.mitigations.*": _words,
    "header.machine.cgroup.cpuset": CPUS,
    "header.machine.libc": _words,
    "samples.metric": _declared,
    "distribution.metric": _declared,
    "row.host": _other_host,
    "trial.benchmark": _declared,
    "trial.variant": _declared,
    "trial.parameters.*": _parameter,
    "trial.bind": _matching(PLACE.pattern),
    "trial.kinds": _models,
    "trial.reasons": _words,
    "trial.notes": _words,
    "trial.roles.name": _known,
    "trial.counters.name": _event,
    "trial.counters.unit": _words,
    "trial.counters.per": _words,
    "end.signal": _matching("SIG[A-Z0-9]{2,6}"),
}
# Rules for keys of objects whose keys the format does not list; other such members stay out.
KEYS: dict[str, Rule] = {
    "header.program.built_with": _known,
    "header.machine.mitigations": _known,
    "samples.counters": _event,
    "row": _declared,
    "trial.parameters": _declared,
    "trial.metrics": _declared,
    "trial.batches.metrics": _declared,
    "trial.kernel": _declared,
    "trial.placement.on_node": CPUS,
    "trial.placement.after.on_node": CPUS,
    "trial.kernel_unknown": _declared,
    "end.trials": _matching("[a-z]+"),
}


def write(files: Sequence[Path], to: TextIO) -> list[str]:
    """The lines of all records, in their order."""
    given = database.read(files, lines=True)
    hosts: dict[str, str] = dict(given.db.execute("SELECT run, host FROM host").fetchall())
    there = given.db.execute("SELECT count(*) FROM line WHERE type = 'header'").fetchall()[0][0]
    if there < len(hosts):
        raise database.BadInput(
            f"{len(hosts) - there} of these {len(hosts)} runs are in a store, which has no lines:"
            " give their records"
        )
    cleaner = Cleaner(hosts)
    for host in sorted(set(hosts.values())):
        cleaner.alias("host", host)
    lines = given.db.cursor().execute("SELECT json FROM line ORDER BY rowid")
    while found := lines.fetchmany(100):
        for (text,) in found:
            line = clean(cleaner, json.loads(text))
            if line:
                to.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
    return given.notes


def clean(cleaner: Cleaner, line: Line) -> Optional[Line]:
    """The line that may be sent. A benchmark's line is a table of the program's own."""
    kind = line["type"]
    if kind in LEAVES or kind not in schema.types():
        return None
    if kind == "benchmark":
        cleaner.names |= _names(line)
        return line
    cleaner.run = line["run"]
    found = _members(cleaner, line, schema.definition(kind), kind)
    cleaned: Line = {"type": kind, "run": line["run"], **found}
    if kind == "header":
        cleaned["command"] = _command(cleaner, line["command"])
    return cleaned


def _names(benchmark: Line) -> set[str]:
    """The names that the benchmark's table declares."""
    own = {benchmark["name"]}
    for part in ("parameters", "metrics", "ratios", "variants"):
        own |= {row["name"] for row in benchmark[part]}
    own |= {choice for row in benchmark["parameters"] for choice in row["choices"]}
    own |= {event["name"] for event in benchmark["counters"]["kernel"]}
    for row in benchmark["counters"]["explaining"]:
        own |= {*row["events"].split("|")}
    return own


def _command(cleaner: Cleaner, given: list[str]) -> list[str]:
    """What advice depends on: the benchmark, options, and values that are numbers or known. Runs
    with the same command are repeats: another value stays another one."""
    kept = ["locus"]
    for word in given[1:]:
        option, equals, value = word.partition("=")
        if not OPTION.fullmatch(option):
            option, value = "", word
        if all(w in BENCHMARKS or known(w) == w or VALUE.fullmatch(w) for w in value.split(",")):
            shown = value
        else:
            shown = cleaner.alias("value", value)
        kept.append((option + equals + (shown if equals else "")) if option else shown)
    return kept


# ---- the walk, along the format ----


def _cleaned(cleaner: Cleaner, value: object, form: Line, path: str) -> object:
    if isinstance(value, str):
        return _text(cleaner, value, form, path)
    if isinstance(value, list):
        return _items(cleaner, value, form, path)
    return _members(cleaner, value, form, path) if isinstance(value, dict) else value


def _text(cleaner: Cleaner, text: str, form: Line, path: str) -> Optional[str]:
    pattern = form.get("pattern", "")
    if "enum" in form or "const" in form or pattern in CLOSED or MOMENT.match(pattern):
        return text
    rule = RULES.get(path)
    return rule(cleaner, text) if rule else None


def _items(cleaner: Cleaner, items: list[object], form: Line, path: str) -> list[object]:
    of = schema.resolved(form.get("items", {}))
    cleaned = [(item, _cleaned(cleaner, item, of, path)) for item in items]
    kept = [new for old, new in cleaned if new is not None or old is None]
    return kept or ([HIDDEN] if items and form.get("minItems") else [])


def _members(cleaner: Cleaner, value: Line, form: Line, path: str) -> Line:
    found: Line = {}
    for key, old in value.items():
        if key in ("type", "run") and path in schema.types():
            continue
        if key.endswith("_why"):
            found[key] = WHY if old else old
            continue
        name, of, inner = _member(cleaner, key, form, path)
        if name is None:
            continue
        new = _cleaned(cleaner, old, of, inner)
        if new is None and old is not None:
            if not schema.may_be_null(of):
                new = HIDDEN if key in form.get("required", ()) else None
            elif "_why$" in form.get("patternProperties", {}):
                found[f"{name}_why"] = WHY
        if new is not None or schema.may_be_null(of):
            found[name] = new
    return found


def _member(cleaner: Cleaner, key: str, form: Line, path: str) -> tuple[Optional[str], Line, str]:
    """Its name, what the format says of it, and its path. No name: it is left out."""
    own = form.get("properties", {})
    if key in own:
        return key, schema.resolved(own[key]), f"{path}.{key}"
    for pattern, of in form.get("patternProperties", {}).items():
        if re.search(pattern, key):
            return key, schema.resolved(of), f"{path}.*"
    rule, of = KEYS.get(path), form.get("additionalProperties", {})
    return rule and rule(cleaner, key), schema.resolved(of) if of else {}, f"{path}.*"
