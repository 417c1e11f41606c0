# SPDX-License-Identifier: Apache-2.0
"""The quick suite has two metrics for each component that `locus sick` judges, on any machine."""

import re

import pytest
from lacking import need_modules
from some import some

MiB = 1 << 20
CORES = "l2:8(size=1048576) l1:1(size=32768) core:1"
ONE_NODE = {"remote node"}  # not judged there
MACHINES = [
    (f"node:1 l3:1(size={32 * MiB}) {CORES} pu:1", 32 * MiB, ONE_NODE),
    (f"node:2 l3:1(size={32 * MiB}) {CORES} pu:1", 32 * MiB, set()),
    (f"node:8 l3:1(size={32 * MiB}) {CORES} pu:2", 32 * MiB, set()),
    (f"node:2 l3:1(size={384 * MiB}) {CORES} pu:1", 384 * MiB, set()),
]


def trials(plan):
    """The trials of a dry run, in the form that the table of components reads."""
    from locus_analysis.cluster.components import Trial

    for found in some([*re.finditer(r"^  [0-9a-f]{16}  (\S+?)/(\S+) (.*)$", plan, re.M)]):
        words = dict(word.split("=", 1) for word in found[3].split() if "=" in word)
        own = {key: int(value) if value.isdigit() else value for key, value in words.items()}
        yield Trial(found[1], found[2], own, int(own["threads"]))


@pytest.mark.parametrize(("topology", "l3", "lacking"), MACHINES)
def test_each_component_has_two_metrics(locus, topology, l3, lacking):
    need_modules()
    from locus_analysis.cluster import components

    plan = locus("suite --profile quick --dry-run --topology", topology)
    assert plan.status == 0, plan
    caches = components.Caches(32768, MiB, l3)
    count: dict[str, int] = {}
    pairs: dict[tuple, int] = {}
    for trial in trials(plan.out):
        if fit := components.fit(trial, caches):
            count[fit.component] = count.get(fit.component, 0) + 1
            count["clock"] = count.get("clock", 0) + fit.cycles
        if pair := components.huge_pair(trial, caches):
            pairs[pair] = pairs.get(pair, 0) + 1
    count["huge pages"] = sum(n == 2 for n in pairs.values())
    few = {name for name in components.NAMES if count.get(name, 0) < 2}
    assert few == lacking, count
