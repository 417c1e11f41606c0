# SPDX-License-Identifier: Apache-2.0
"""Makes records of many nodes from one: `fleet_of.py RECORD NODES FOLDER`. Each has the lines of
RECORD, its own name and run, and trials whose values differ by 0.6 %. They show how long reading
takes, not who is sick."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

APART = 0.006
Line = dict[str, Any]


def main(record: Path, nodes: int, folder: Path) -> None:
    lines = [json.loads(line) for line in record.read_bytes().splitlines()]
    folder.mkdir(parents=True, exist_ok=True)
    for node in range(nodes):
        made = copy(lines, f"n{node:05}", random.Random(node))
        (folder / f"n{node:05}.jsonl").write_text(made, encoding="utf-8")


def copy(lines: list[Line], name: str, rng: random.Random) -> str:
    run = f"{rng.getrandbits(64):016x}"
    texts = []
    for line in lines:
        own = {**line, "run": run}
        if line["type"] == "header":
            own["host"] = name
        if line["type"] == "trial" and "metrics" in line:
            factor = rng.gauss(1, APART)
            own["metrics"] = {k: scaled(m, factor) for k, m in line["metrics"].items()}
        texts.append(json.dumps(own, ensure_ascii=False, separators=(",", ":")))
    return "\n".join(texts) + "\n"


def scaled(metric: Line, factor: float) -> Line:
    """With as many digits as locus writes."""
    value = metric.get("value")
    return {**metric, "value": float(f"{value * factor:.12g}")} if value else metric


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
