# SPDX-License-Identifier: Apache-2.0
"""Runs two commands in turn, each time as a new process, and keeps their records."""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from ..base import streams
from ..records.sources import BadInput, CannotWrite

Sides = tuple[list[Path], list[Path]]
BAD_RESULT = 1  # status of a run that measured something wrong: its record says what


def measure(pairs: int, commands: Sequence[Sequence[str]], folder: Path) -> Sides:
    """Records of both commands, which get --output FILE. Each pair begins with the other side than
    the one before (A B, B A, ...), so that a steady drift cancels."""
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise BadInput(f"{folder}: exists; give another folder with --keep") from None
    except OSError as error:
        raise CannotWrite(f"{folder}: cannot be made: {error.strerror}") from error
    files: Sides = ([], [])
    begun = time.monotonic()
    for pair in range(pairs):
        for side in (0, 1) if pair % 2 == 0 else (1, 0):
            file = folder / f"{'ab'[side]}-{pair + 1:03}.jsonl"
            _report_progress(f"pair {pair + 1} of {pairs}, {'AB'[side]}", begun)
            _run([*commands[side], "--output", str(file)], file)
            files[side].append(file)
    _report_progress(f"{pairs} pairs measured; records in {folder}", begun)
    return files


def _run(command: Sequence[str], file: Path) -> None:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False
        )
    except OSError as error:
        raise BadInput(f"{command[0]}: cannot be run: {error.strerror}") from error
    if done.returncode not in (0, BAD_RESULT) or not file.exists():
        ended = f"signal {-done.returncode}" if done.returncode < 0 else f"status {done.returncode}"
        wrote = "" if file.exists() else ", and wrote no record"
        raise BadInput(f"{shlex.join(command)}: ended with {ended}{wrote}")


def _report_progress(what: str, begun: float) -> None:
    streams.report(f"{what} ({time.monotonic() - begun:.0f} s)")
