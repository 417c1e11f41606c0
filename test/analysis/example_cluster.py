# SPDX-License-Identifier: Apache-2.0
"""Makes the picture of doc/sick.md: `example_cluster.py doc/sick.svg`, with test and analysis in
PYTHONPATH. It shows a simulated cluster of 100 nodes (fleet.py), five of them unhealthy, measured
three times each."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from fleet import NAMES, Fleet, columns
from locus_analysis.cluster import rule, sick
from locus_analysis.page import health
from locus_analysis.pictures import render

NODES, RUNS, SEED = 100, 3, 1
PLANTED = (
    (17, "memory bandwidth", 1.0, 0.136),  # lacks a DIMM
    (42, "clock", 1.0, 0.25),  # another governor
    (58, "memory latency", 1.0, 0.20),
    (77, "L3", 0.25, 0.50),  # half of it
    (90, "huge pages", 1.0, 0.15),  # has none
)


def main(file: Path) -> None:
    fleet = Fleet.of(NODES, SEED)
    for node, component, share, change in PLANTED:
        fleet.plant([node], columns(component, share), change)
    runs = fleet.measure(np.arange(NODES), RUNS)
    y = np.stack([rule.of_host(own) for own in runs])
    class_ = rule.refer(y, NAMES)
    named = [f"n{i:04}" for i in range(NODES)]
    cluster = sick.Campaign(
        "simulated", "a simulated CPU", 1, named, [RUNS] * NODES, class_, rule.look(y, class_), y
    )
    strips, _ = health.pictures([cluster])
    file.write_text(render.as_svg(strips.spec, "sick"), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
