# SPDX-License-Identifier: Apache-2.0
"""Values of hosts for monitoring: OpenMetrics for node_exporter's textfile collector, and the line
protocol of InfluxDB for Telegraf and ClusterCockpit. Dashboards need few series that stay the same,
so each component of a machine is shown by one trial."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np

from ..cluster import components
from ..compare import observations
from ..compare.inference import Array
from ..compare.observations import Run, Side

VALUE, MEASURED = "locus_value", "locus_measured_seconds"
LAST_MOMENT = (1 << 63) - 1  # ns since 1970 that the line protocol has, and before it
HELP = {
    VALUE: "Last measured value of a component, in base units (s, B/s, 1).",
    MEASURED: "When the last run on the host began, in seconds since 1970.",
}


class Shown(NamedTuple):
    """A value of a component, measured by one run."""

    run: Run
    component: str
    metric: str
    value: float


def write_openmetrics(files: Sequence[Path], to: TextIO) -> list[str]:
    """The last value of each host, component and metric. No timestamps: the collector refuses
    them."""
    side, notes = observations.load(files, "these records")
    last = {(s.run["host"], s.component, s.metric): s for s in _shown(side)}
    began = {run["host"]: run for run in side.runs}
    _declare(to, VALUE)
    for one in sorted(last.values(), key=lambda s: (s.run["host"], s.component, s.metric)):
        labels = {
            "host": one.run["host"],
            "class": one.run["class"],
            "component": one.component,
            "metric": one.metric,
        }
        to.write(f"{VALUE}{{{_labels(labels)}}} {one.value!r}\n")
    _declare(to, MEASURED)
    for host, run in sorted(began.items()):
        seconds = observations.began(run) / 1000
        to.write(f"{MEASURED}{{{_labels({'host': host})}}} {seconds!r}\n")
    to.write("# EOF\n")
    return notes


def write_influx(files: Sequence[Path], to: TextIO) -> list[str]:
    """A line for each value of each run, at the time when the run began. ClusterCockpit expects the
    tags hostname and type, and the field value. Clocks may have been too wrong for it."""
    side, notes = observations.load(files, "these records")
    beyond: dict[str, Run] = {}
    for one in _shown(side):
        moment = observations.began(one.run) * 1_000_000
        if not -LAST_MOMENT <= moment <= LAST_MOMENT:
            beyond.setdefault(one.run["started"], one.run)
            continue
        tags = {
            "hostname": one.run["host"],
            "type": "node",
            "class": one.run["class"],
            "metric": one.metric,
        }
        name = f"locus_{one.component.replace(' ', '_').lower()}"
        told = ",".join(f"{key}={_tag(text)}" for key, text in tags.items())
        to.write(f"{name},{told} value={one.value!r} {moment}\n")
    return [
        *notes,
        *(
            f"{run['host']}: its run of {started} is left out: influx has times from 1677-09-22 to"
            " 2262-04-11 only; was the clock wrong?"
            for started, run in beyond.items()
        ),
    ]


def _shown(side: Side) -> Iterator[Shown]:
    """By run, in the order of their start. Noisy values are left out: they would look like changes
    of the machine."""
    side = side.without_noisy()
    chosen: dict[str, dict[str, str]] = {}
    of_trial: dict[str, list[tuple[int, str]]] = {}
    for column, (trial, metric) in enumerate(side.metrics):
        of_trial.setdefault(trial, []).append((column, metric))
    for row, run in enumerate(side.runs):
        if run["class"] not in chosen:
            chosen[run["class"]] = _chosen(side, run)
        for component, trial in chosen[run["class"]].items():
            for column, metric in of_trial.get(trial, []):
                value = float(side.values[row, column])
                if math.isfinite(value):
                    yield Shown(run, component, metric, value)


def _chosen(side: Side, run: Run) -> dict[str, str]:
    """The trial that shows each component: among those with most threads that runs of this class
    have, the first in the record."""
    rows = [row for row, other in enumerate(side.runs) if other["class"] == run["class"]]
    there: Array = np.asarray(side.valid[rows].any(axis=0))
    caches = components.caches_of(run)
    found: dict[str, tuple[int, str]] = {}
    for known, (id_, own) in zip(there, side.trials.items()):
        trial = components.trial_of(own)
        fit = components.fit(trial, caches) if known else None
        if fit and trial.threads > found.get(fit.component, (0, ""))[0]:
            found[fit.component] = (trial.threads, id_)
    return {name: found[name][1] for name in components.NAMES if name in found}


def _declare(to: TextIO, name: str) -> None:
    to.write(f"# HELP {name} {HELP[name]}\n# TYPE {name} gauge\n")


def _labels(labels: dict[str, str]) -> str:
    return ",".join(f'{name}="{_label(text)}"' for name, text in labels.items())


def _label(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _tag(text: str) -> str:
    """A backslash at the end would join the tag with the next one."""
    for special in ",= ":
        text = text.replace(special, f"\\{special}")
    return text[:-1] + "_" if text.endswith("\\") else text
