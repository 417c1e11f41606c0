# SPDX-License-Identifier: Apache-2.0
"""Limits of a process's memory. Libraries in C and C++ end a process that reaches one, with words
and a status of their own, so what is known to be too little is refused before."""

from __future__ import annotations

import resource
from collections.abc import Mapping

OF = {  # by option of ulimit
    "-v": ("address space", resource.RLIMIT_AS),
    "-d": ("data", resource.RLIMIT_DATA),
}
MIB = 1 << 20
# Measured on x86-64 with 2 CPUs, in steps: numpy's, DuckDB's or Rust's library ended some commands
# at 1000 MB and 200 MB, and none at 1200 MB and 300 MB. V8, which draws pictures, starts with 100
# GB, not with 64: it reserves addresses that it does not use.
READING = {"-v": 1200 * MIB, "-d": 300 * MIB}
DRAWING = {"-v": 100_000 * MIB}


class TooLittle(Exception):
    """A limit is too low."""


def need(what: str, sizes: Mapping[str, int]) -> None:
    """Raises TooLittle if the process may not have so many bytes."""
    for option, size in sizes.items():
        of, limit = OF[option]
        allowed, _ = resource.getrlimit(limit)
        if allowed != resource.RLIM_INFINITY and allowed < size:
            raise TooLittle(
                f"the limit of {of} is {allowed // MIB} MiB, and {what} needs {size // MIB} MiB,"
                f" used or only reserved: ulimit {option} unlimited"
            )
