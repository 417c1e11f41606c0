# SPDX-License-Identifier: Apache-2.0
"""The sections of the report: for each benchmark its sentences, pictures and tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby, permutations
from types import MappingProxyType
from typing import Optional, TypedDict

import duckdb

from ..base import units
from ..insight import claims, counters, each_cpu, evidence, plugins, run_variation
from ..pictures import charts, cpus, matrices
from ..pictures.charts import Picture
from ..pictures.sweeps import Scene
from ..records import database, description, published
from ..records.database import UNUSABLE, select
from ..records.description import Bands, Described
from ..records.rows import Headline, Judged, MatrixCell, Metric, Pages, Peer, Trial
from . import (
    claim_pictures,
    counter_curves,
    generic,
    likwid_tables,
    peers,
    population,
    ratio_pictures,
    scaling,
)

Names = dict[str, str]  # of runs
Claims = dict[str, list[claims.Told]]  # by run
FindBands = Callable[[str, Sequence[Trial]], Optional[Bands]]  # by axis


class Protocol(TypedDict):
    protocol: Optional[str]


class Counters(TypedDict):
    runs: Mapping[str, object]
    pictures: list[Picture]


class OfSeries(TypedDict):
    """How many runs a series has, and a row for each trial and metric."""

    runs: int
    rows: list[run_variation.Told]


class _OfRuns(TypedDict, total=False):
    results: list[str]  # sentences
    alike: dict[str, str]  # by run, a sentence of the metrics that no picture has
    metrics: list[str]
    measured: dict[tuple[str, str], dict[str, Metric]]
    ratios: list[ratio_pictures.Line]
    trials: list[Headline]


class Section(_OfRuns):
    """A benchmark's part of the page. `hosts`: where there are too many runs for a part each."""

    name: str
    id: str
    own: Mapping[str, object]  # what an insight found
    scaled: list[scaling.Curve]
    claims: Claims
    pictures: list[Picture]
    first: list[Picture]  # those that are unfolded
    series: dict[str, OfSeries]  # by its last run
    protocols: list[Protocol]
    peers: list[peers.Compared]
    counters: Counters
    likwid: list[likwid_tables.Group]
    hosts: Optional[population.Section]


def section(
    db: duckdb.DuckDBPyConnection,
    benchmark: str,
    names: Names,
    findings: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
) -> Section:
    """A benchmark: for each run its pictures and its table. The title of a run's first picture is
    the answer of its insight, or of the findings by run and benchmark that are given."""
    trials = select(db, Headline, "FROM headline WHERE benchmark = ? ORDER BY place", benchmark)
    counters.drop_notes(db, trials)
    of, measured = description.of(db, benchmark), database.measured(db, benchmark)
    insight, scaled = plugins.of(benchmark), scaling.found_in(of, measured)
    own = insight.find(db)
    series = run_variation.series(db)
    judged = run_variation.judged(measured, series)
    claimed = {whole: claims.told(of, trials) for whole, trials in database.by_run(judged)}
    on_curves = {(t["whole"], t["id"]) for curve in scaled for t in curve["lines"]}
    left = [t for t in measured if (t["whole"], t["id"]) not in on_curves]
    bands, compared_with = partial(insight.bands, own), _peers(db, benchmark)
    pictures = [
        *_pictures(db, of, left, names, bands, claimed),
        *scaling.over_ranks(scaled, f"{benchmark}-scaling", f"{benchmark} over MPI ranks"),
        *_matrices(db, benchmark, names),
        *peers.pictures(compared_with, f"{benchmark}-peers", f"{benchmark} beside other libraries"),
    ]
    first = [next((p for p in pictures if n in p.title), None) for n in names.values()]
    for whole, picture in zip(names, first):
        finding = own.get("answer", {}).get(whole) or findings.get(whole, {}).get(benchmark)
        if picture and finding:
            charts.headed(picture, finding)
    return {
        "name": benchmark,
        "id": f"section-{benchmark}",
        "own": own,
        "scaled": scaled,
        "claims": claimed,
        "pictures": pictures,
        "first": [p for p in first if p] or pictures[:1],
        "results": _results(of, judged, names, claimed, own),
        "alike": _alike(of, left),
        "series": _series(measured, series),
        "metrics": generic.other_metrics(of, measured),
        "measured": {(t["whole"], t["id"]): t["metrics"] for t in measured},
        "ratios": ratio_pictures.table(of, measured),
        "protocols": _protocols(db, benchmark),
        "trials": trials,
        "peers": compared_with,
        "counters": _counters(db, of, names, bands),
        "likwid": [],
        "hosts": None,
    }


def _series(measured: Sequence[Trial], given: run_variation.Series) -> dict[str, OfSeries]:
    """By the last run of each series."""
    found: dict[str, OfSeries] = {}
    for wholes in given:
        own = [t for t in measured if t["whole"] in wholes]
        if own:
            rows_of = list(run_variation.told(run_variation.merged(own)))
            found[own[-1]["whole"]] = {"runs": len(wholes), "rows": rows_of}
    return found


def _peers(db: duckdb.DuckDBPyConnection, benchmark: str) -> list[peers.Compared]:
    return peers.section(
        select(db, Peer, "FROM peer WHERE benchmark = ? ORDER BY place", benchmark)
    )


def _protocols(db: duckdb.DuckDBPyConnection, benchmark: str) -> list[Protocol]:
    query = "SELECT DISTINCT protocol FROM trial WHERE benchmark = ? ORDER BY protocol"
    return select(db, Protocol, query, benchmark)


def _pictures(
    db: duckdb.DuckDBPyConnection,
    of: Described,
    trials: Sequence[Trial],
    names: Names,
    bands: FindBands,
    claimed: Claims,
) -> list[Picture]:
    """What is drawn from a benchmark's line in the record, run by run."""
    machines, drawn = database.machines(db), []
    shown = published.lesson(of.name).get("pages")
    pages = select(db, Pages, "FROM pages ORDER BY node") if shown else []
    for whole, own in database.by_run(trials):
        own_pages = [p for p in pages if p["whole"] == whole]
        file, title = file_name(of.name, names, whole), f"{of.name} on {names[whole]}"
        first, *others = [
            *generic.pictures(Scene(of, own, machines[whole], bands), file, title, own_pages),
            None,
        ]
        told = claim_pictures.pictures(
            of, _not_drawn(claimed.get(whole, []), own), machines[whole], f"{file}-claims", title
        )
        each = [cpus.OfTrial(e.trial, e.ratios, e.outlying) for e in each_cpu.of(db, own)]
        by_cpu = cpus.pictures(each, f"{file}-cpus", title)
        drawn += [p for p in (*by_cpu, first, *told, *others) if p]
    return drawn


def _alike(of: Described, trials: Sequence[Trial]) -> dict[str, str]:
    told = {
        whole: generic.said_alike(generic.alike(of, [t for t in own if not t["in_matrix"]]))
        for whole, own in database.by_run(trials)
    }
    return {whole: said for whole, said in told.items() if said}


def _not_drawn(told: Sequence[claims.Told], trials: Sequence[Trial]) -> list[claims.Told]:
    """Claims whose picture would show more than the picture of the ratios does: published figures,
    or values that are no declared ratio."""
    ratios = {r["value"] for t in trials for r in t["ratios"]}
    return [c for c in told if c["theirs"] or any(r["value"] not in ratios for r in c["rows"])]


def file_name(what: str, names: Names, run: str) -> str:
    """A name of characters that every file system allows, with the number of the run."""
    if len(names) == 1:
        return what
    place = list(names).index(run) + 1
    return f"{what}-{place}-{re.sub(r'[^A-Za-z0-9-]+', '_', names[run])[:60]}"


def over_hosts(db: duckdb.DuckDBPyConnection, benchmarks: Sequence[str]) -> list[Section]:
    """A section for each benchmark, over all hosts: there are no more pictures for more hosts."""
    found = population.sections(db)
    return [
        {
            "name": benchmark,
            "id": f"section-{benchmark}",
            "own": {},
            "claims": {},
            "series": {},
            "scaled": [],
            "pictures": found[benchmark]["pictures"] if benchmark in found else [],
            "first": found[benchmark]["pictures"][:1] if benchmark in found else [],
            "hosts": found.get(benchmark),
            "protocols": _protocols(db, benchmark),
            "peers": _peers(db, benchmark),
            "counters": {"runs": {}, "pictures": []},
            "likwid": [],
        }
        for benchmark in benchmarks
    ]


def _results(
    of: Described,
    judged: Sequence[Trial],
    names: Names,
    claimed: Claims,
    insight: plugins.Found,
) -> list[str]:
    """For each run, or series of runs, a sentence: the insight's own answer, or the ratio furthest
    from 1; without ratios, the two variants furthest apart at the same setting. Then what else the
    insight found."""
    said = []
    for whole, own in database.by_run(judged):
        before = f"{names[whole]}: " if len(names) > 1 else ""
        answer = insight.get("answer", {}).get(whole)
        answer = answer or claims.result(claimed[whole]) or ratio_pictures.result(of, own)
        answer = answer or _furthest(own)
        said += [before + one for one in (answer, *insight.get("said", {}).get(whole, []))]
    return said


def _furthest(trials: Sequence[Trial]) -> str:
    """The two variants furthest apart at the same setting, of those that are surely apart; noisy
    ones, of which the value is not told, only if there are no others."""
    settings: dict[tuple[str, int], list[Trial]] = {}
    for t in trials:
        if t["status"] not in UNUSABLE and (t["value"] or 0) > 0:
            settings.setdefault((t["setting"], t["threads"]), []).append(t)
    if not settings:
        kinds = Counter(t["status"] for t in trials)
        counts = ", ".join(f"{n} {status}" for status, n in kinds.items())
        return f"No result: of {len(trials)} trials, {counts}."
    pairs = [(_over(a, b), a, b) for own in settings.values() for a, b in permutations(own, 2)]
    sure = [pair for pair in pairs if evidence.side(pair[0]) == evidence.ABOVE]
    if sure:
        return _apart(*max(sure, key=lambda p: (not evidence.is_noisy(p[0]), p[0]["value"] or 0)))
    if pairs:
        return (
            f"No two of {', '.join(dict.fromkeys(t['variant'] for t in trials))} are surely apart."
        )
    return _alone(max(trials, key=lambda t: t["value"] or 0))


def _over(one: Trial, other: Trial) -> Judged:
    """The headline of one trial over that of another."""
    values = (evidence.valued(t, t["metric"]) for t in (one, other))
    return evidence.product(list(zip(values, (False, True))))


def _alone(trial: Trial) -> str:
    at = f" ({trial['setting']})" if trial["setting"] else ""
    noisy = evidence.is_noisy(trial)
    value = "not told, for it is noisy" if noisy else units.measured(trial)
    return f"{trial['variant']}{at}: {trial['metric']} {value}."


def _apart(ratio: Judged, most: Trial, least: Trial) -> str:
    """The greatest and the least value among trials with the same setting."""
    at = f" ({most['setting']})" if most["setting"] else ""
    values = [units.measured(t) for t in (most, least)]
    told = f": {most['metric']} {' against '.join(values)}"
    if evidence.is_noisy(ratio):
        told = f" in {most['metric']}; noise hides by how much"
    if most["better"] is None:
        return f"{most['variant']} has more than {least['variant']}{at}{told}."
    better, worse = (least, most) if most["better"] == "lower" else (most, least)
    by = f" by a factor of {evidence.told(ratio)}" if evidence.told(ratio) else ""
    return f"{better['variant']} beats {worse['variant']}{by}{at}{told}."


def _counters(
    db: duckdb.DuckDBPyConnection, of: Described, names: Names, bands: FindBands
) -> Counters:
    """The counts of each run, with pictures; empty if there are none."""
    trials, machines = counters.counted(db, of.name), database.machines(db)
    runs = counters.section(db, trials)
    pictures = []
    for whole, own in database.by_run(trials):
        file, title = file_name(of.name, names, whole), f"{of.name} on {names[whole]}"
        scene = Scene(of, own, machines[whole], bands)
        pictures += counter_curves.pictures(scene, own, runs[whole]["columns"], file, title)
    return {"runs": runs, "pictures": pictures}


def _matrices(db: duckdb.DuckDBPyConnection, benchmark: str, names: Names) -> list[Picture]:
    """A picture for each run; latency and bandwidth of a host share one."""
    pictures = []
    cells = select(
        db,
        MatrixCell,
        "FROM matrix_cell WHERE shown_by = ? ORDER BY shown_with, benchmark <> ?, benchmark,"
        " variant, panel, threads_order, place",
        benchmark,
        benchmark,
    )
    for whole, of_picture in groupby(
        sorted(cells, key=lambda c: list(names).index(c["shown_with"])), lambda c: c["shown_with"]
    ):
        own = list(of_picture)
        what = " and ".join(dict.fromkeys(c["benchmark"] for c in own))
        title = f"{what}, node by node, on {names[whole]}"
        pictures.append(matrices.matrix(own, file_name(benchmark, names, whole) + "-matrix", title))
    return pictures
