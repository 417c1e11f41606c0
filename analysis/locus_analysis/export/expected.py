# SPDX-License-Identifier: Apache-2.0
"""Expected values with bounds, by class of machine, made from records of good nodes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from ..cluster import health_trials
from ..compare import expected, observations


def write(files: Sequence[Path], to: TextIO) -> list[str]:
    side, notes = observations.load(files, "these records")
    told, without = expected.document(side, health_trials.choose)
    to.write(told + "\n")
    return notes + without
