# SPDX-License-Identifier: Apache-2.0
"""The formats of `locus export`: one table, from which come its help and the checks of its options.
A writer is imported when it is used, so that none waits for the libraries of another."""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Optional, TextIO

from ..base import units
from ..records.sources import BadInput, CannotWrite

# Writes what the files hold; returns notes for the user.
Writer = Callable[[Sequence[Path], TextIO], list[str]]


@dataclass(frozen=True)
class Format:
    name: str
    extension: str
    writer: str  # "module.function" of this package
    help: str
    option: str = ""  # a short form of --format NAME

    def write(self, files: Sequence[Path], to: TextIO) -> list[str]:
        module, _, function = self.writer.partition(".")
        writer: Writer = getattr(importlib.import_module(f".{module}", __package__), function)
        return writer(files, to)


FORMATS = (
    Format(
        "csv",
        "csv",
        "flat.write_csv",
        "a flat row for each trial and metric, with a column for each parameter (the default)",
    ),
    Format("jsonl", "jsonl", "flat.write_jsonl", "such a row as an object on each line"),
    Format(
        "cpus",
        "csv",
        "flat.write_cpus",
        "a row for each CPU and metric, of trials that measure each CPU by itself (cores)",
    ),
    Format(
        "pairs",
        "csv",
        "flat.write_pairs",
        "a row for each pair of ranks and metric (locus-mpi fabric)",
    ),
    Format(
        "google-benchmark",
        "json",
        "google_benchmark.write",
        "that library's JSON for its tools/compare.py, for records of one host: an entry for each"
        " batch and one for the median, in ns; cpu_time repeats real_time",
    ),
    Format(
        "expected",
        "json",
        "expected.write",
        "facts and values with bounds by class of machine, for compare --baseline and locus health",
        "--expect",
    ),
    Format(
        "hwloc",
        "xml",
        "hwloc.write",
        "latencies and bandwidths of one host's memory as memory attributes and distances in an XML"
        " file of hwloc, for lstopo --memattrs",
    ),
    Format(
        "anonymous",
        "jsonl",
        "anonymous.write",
        "the record itself for other people: without names of hosts, users and files, serial"
        " numbers, environment and command line",
        "--anonymous",
    ),
    Format(
        "reframe",
        "yaml",
        "acceptance.write_reframe",
        "expected values as references of ReFrame, by partition, for"
        " packaging/reframe/locus_test.py",
    ),
    Format(
        "superbench",
        "yaml",
        "acceptance.write_superbench",
        "expected values as rules of SuperBench's data diagnosis",
    ),
    Format(
        "superbench-results",
        "jsonl",
        "acceptance.write_superbench_results",
        "what those rules judge: an object with the values of each host",
    ),
    Format(
        "openmetrics",
        "prom",
        "monitoring.write_openmetrics",
        "the last values of each host as locus_value{host,class,component,metric}, for"
        " node_exporter's textfile collector: --output its folder",
    ),
    Format(
        "influx",
        "lp",
        "monitoring.write_influx",
        "the values of each run in InfluxDB's line protocol, in ns, for Telegraf and"
        " ClusterCockpit",
    ),
)
NAMES = tuple(form.name for form in FORMATS)
OF_EXPECTED = ("expected", "reframe", "superbench")


def named(name: str) -> Format:
    return FORMATS[NAMES.index(name)]


def chosen(form: Optional[str], option: Optional[str]) -> str:
    """The format that --format, or an option such as --anonymous, asks for. --expect may stand
    beside the formats that are made of expected values."""
    fits = form is None or option in (None, form)
    if not fits and not (option == "expected" and form in OF_EXPECTED):
        raise BadInput(f"--format {form} and --format {option} are asked for: give one of them")
    return form or option or NAMES[0]


def one_host(name: str, hosts: Sequence[str]) -> None:
    """For formats that have no place for a host's name: raises BadInput if there are several."""
    if len(hosts) > 1:
        raise BadInput(
            f"--format {name} is of one host, and these records are of {len(hosts)}:"
            f" {units.some(hosts, 3)}; export each by itself"
        )


def described() -> str:
    """For --help: a line for each, its name before a tab."""
    return "\n".join(f"{form.name}\t{form.help}" for form in FORMATS)


def write_file(form: Format, files: Sequence[Path], path: Path) -> list[str]:
    """Writes a file, or locus.EXTENSION in a folder. Readers never see a part of it: it is written
    under another name, then renamed. What is no file, as a pipe, is written to."""
    if path.is_dir():
        path /= f"locus.{form.extension}"
    try:
        if path.exists() and not path.is_file():
            return _write_to(form, files, path)
        return _write_file(form, files, Path(os.path.realpath(path)))  # not the link to it
    except OSError as error:
        raise CannotWrite(f"{path}: cannot be written: {error.strerror or error}") from error


def folder_or_file(text: str) -> Path:
    """For --output. Path() would forget a slash at the end."""
    path = Path(text)
    if text.endswith("/") and not path.is_dir():
        raise BadInput(f"{text}: is no folder: make it, or give the name of a file")
    return path


def _write_to(form: Format, files: Sequence[Path], path: Path) -> list[str]:
    with path.open("w", encoding="utf-8") as to:
        return form.write(files, to)


def _write_file(form: Format, files: Sequence[Path], path: Path) -> list[str]:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    beside = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as to:
            notes = form.write(files, to)
            to.flush()
            os.fsync(to.fileno())
        beside.chmod(0o666 & ~_umask())
        beside.replace(path)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise
    return notes


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
