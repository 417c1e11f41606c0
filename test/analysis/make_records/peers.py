# SPDX-License-Identifier: Apache-2.0
"""Comparisons with other libraries."""

from __future__ import annotations

from typing import Any

from .machines import Line
from .models.kmeans import SMALL_CASE


def peer(run: str, **changes: Any) -> Line:
    """A line of `make peers`."""
    line: Line = {
        "type": "peer",
        "run": run,
        "benchmark": "kmeans",
        "case": "200k x 2, k=81",
        "parameters": dict(SMALL_CASE),
        "threads": 1,
        "peer": "scikit-learn lloyd",
        "version": "1.9.1",
        "pairs": 9,
        "ours": 0.03,
        "theirs": 1.41,
        "ratio": 47.0,
        "ci": [46.0, 48.5],
        "goal": 45,
        "agreement": "all labels alike, centres within 2e-15",
    }
    return {**line, **changes}


PEERS: tuple[Line, ...] = (
    {},
    {
        "peer": "FAISS",
        "version": "1.11.0",
        "theirs": 0.84,
        "ratio": 28.0,
        "ci": [27.1, 28.8],
        "goal": 30,
        "agreement": "inertia within 1e-6",
    },
    {
        "case": "2M x 8, k=256",
        "ours": 0.9,
        "theirs": 6.3,
        "ratio": 7.02,
        "ci": [6.8, 7.2],
        "goal": 7,
    },
    {
        "case": "2M x 8, k=256",
        "threads": 2,
        "ours": 0.5,
        "theirs": 3.1,
        "ratio": 6.2,
        "ci": None,
        "goal": None,
        "peer": "locus, one thread",
        "version": None,
    },
)
