# SPDX-License-Identifier: Apache-2.0
"""python -m make_records DIR writes one file for each machine."""

from __future__ import annotations

import sys
from pathlib import Path

from .lines import flag, machine_record, record, run_id, write
from .machines import MACHINES
from .models.checkpoint import checkpoint
from .models.core_to_core import core_to_core
from .models.kmeans import kmeans
from .models.latency import latency
from .models.search import HOT, OWNED, SIZES, ZIPF, search
from .models.sharing import sharing
from .ranks import over_ranks

if __name__ == "__main__":
    for machine_name, its_machine in MACHINES.items():
        print(write(Path(sys.argv[1]) / f"{machine_name}.jsonl", machine_record(machine_name)))
        lines = record(
            its_machine, flag(latency(its_machine), every=23), run_id("latency" + machine_name)
        )
        print(write(Path(sys.argv[1]) / f"latency-{machine_name}.jsonl", lines))
        shared = (
            sharing(its_machine) + core_to_core(its_machine, odd=(5,)) + checkpoint(its_machine)
        )
        lines = record(its_machine, flag(shared, every=13), run_id("sharing" + machine_name))
        print(write(Path(sys.argv[1]) / f"sharing-{machine_name}.jsonl", lines))
        lines = record(its_machine, flag(kmeans(), every=5), run_id("kmeans" + machine_name))
        print(write(Path(sys.argv[1]) / f"kmeans-{machine_name}.jsonl", lines))
        searches = search() + search(
            sizes=SIZES[2:3], methods=("branchy",), keys=(ZIPF, HOT), variants=OWNED
        )
        lines = record(its_machine, flag(searches, every=9), run_id("search" + machine_name))
        print(write(Path(sys.argv[1]) / f"search-{machine_name}.jsonl", lines))
        for ranks in (1, 2, 4):
            divided = [
                over_ranks(ranks, size, pages=pages) for size in SIZES for pages in ("base", "thp")
            ]
            lines = record(
                its_machine,
                flag(divided, every=9),
                run_id(f"search {ranks} {machine_name}"),
                ranks=ranks,
            )
            print(write(Path(sys.argv[1]) / f"search-{machine_name}-{ranks}-ranks.jsonl", lines))
