# SPDX-License-Identifier: Apache-2.0
"""Tables, pictures and reports from the records that locus writes. load() returns records as data
frames, for your own tools."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .records.frames import Frames

__all__ = ["load"]


def load(paths: str | PathLike[str] | Iterable[str | PathLike[str]]) -> Frames:
    """Records as data frames: `runs`, `trials`, `metrics`, `ratios`, `counters`, `samples`. Needs
    pandas. A file that is not a record raises records.BadInput."""
    from .records import frames  # here: `locus report` works without pandas

    given = [paths] if isinstance(paths, (str, PathLike)) else paths
    return frames.load([Path(path) for path in given])
