# SPDX-License-Identifier: Apache-2.0
"""Standard output and standard error, which may be closed, full, or of an encoding that lacks some
characters."""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Sequence
from typing import TextIO

CANNOT, FAULT = 1, 70  # exit statuses
VERDICTS = ("compare", "sick", "history")  # commands whose status 1 is a finding

# One column each, so that tables stay straight; all others are question marks.
STAND_INS = {
    **{"·": "-", "–": "-", "×": "x", "…": "~", "µ": "u", "\u00a0": " "},
    **{"“": '"', "”": '"'},
    **{"↑": "^", "↓": "v", "▲": "^"},
}


def begin() -> None:
    """What the encoding lacks has a stand-in. What is closed is /dev/null; what is printed to a
    closed output is lost, and so cannot be written."""
    codecs.register_error("stand-in", _stand_in)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            flags = os.O_WRONLY if name == "stderr" else os.O_RDONLY
            nothing = os.open(os.devnull, flags)
            setattr(sys, name, os.fdopen(nothing, mode, encoding="utf-8"))
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="stand-in")


def as_data() -> None:
    """Programs read it: UTF-8 everywhere."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="stand-in")


def report(text: str) -> None:
    """A line on standard error. Who closed it does not want it."""
    try:
        print(f"locus: {text}", file=sys.stderr, flush=True)
    except OSError:
        abandon(sys.stderr)


def complain(error: object, status: int) -> int:
    """The same, and the exit status."""
    report(str(error))
    return status


def lost(words: Sequence[str]) -> int:
    """The exit status of a command whose output cannot be written."""
    return FAULT if words and words[0] in VERDICTS else CANNOT


def abandon(stream: TextIO) -> None:
    """What could not be written is not tried again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _stand_in(error: UnicodeError) -> tuple[bytes, int]:
    """Bytes of the names of files, which Python has as surrogates, are themselves again."""
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end]
    told = [
        bytes([ord(c) - 0xDC00])
        if "\udc80" <= c <= "\udcff"
        else STAND_INS.get(c, "?").encode("ascii")
        for c in text
    ]
    return b"".join(told), error.end
