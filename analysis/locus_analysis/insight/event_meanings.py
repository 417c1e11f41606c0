# SPDX-License-Identifier: Apache-2.0
"""What counters mean, in a line each (event_meanings.json). What a preset is made of differs from
processor to processor (doc/methods/counters.md)."""

from __future__ import annotations

import json
from pathlib import Path

KERNEL = "kernel"
FILE = Path(__file__).with_suffix(".json")
_TOLD = json.loads(FILE.read_text(encoding="utf-8"))
MEANINGS: dict[str, str] = _TOLD["events"]
FAMILIES: dict[str, str] = _TOLD["families"]  # by what their names begin with
# In every record, asked for or not.
KERNELS_OWN = {name for name in MEANINGS if name.islower() and not {":", " "} & set(name)}


def meaning(name: str) -> str:
    """The meaning of an event in one line; empty if unknown."""
    known = MEANINGS.get(name) or MEANINGS.get(
        name.upper() if name.startswith("PAPI") else "perf::" + name.rpartition("::")[2].upper()
    )
    return known or next((text for family, text in FAMILIES.items() if name.startswith(family)), "")
