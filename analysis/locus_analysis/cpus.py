# SPDX-License-Identifier: Apache-2.0
"""How many CPUs this process may use: a cpuset may have fewer than the machine."""

from __future__ import annotations

import os


def usable() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # only Linux has it
        return os.cpu_count() or 1
