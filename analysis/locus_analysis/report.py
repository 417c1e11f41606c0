# SPDX-License-Identifier: Apache-2.0
"""The report: one HTML page that needs nothing but itself, and its pictures as files."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb
import jinja2
import markupsafe

from . import (
    charts,
    checkpoint,
    core_to_core,
    counter_curves,
    counters,
    curves,
    draw,
    kmeans,
    levels,
    likwid,
    padding,
    peers,
    population,
    records,
    scaling,
    search,
    sharing,
    units,
)
from .card import MEANING as TRUST
from .charts import Picture
from .records import HERE, CannotWrite, Records, rows
from .summary import MOST, cards

# Of a page to one of its pictures.
LINK = re.compile(r'href="[^"/]*/([A-Za-z0-9_-]+\.(?:svg|png|pdf|vl\.json))"')

MEANING = {
    "noisy": "others disturbed the samples",
    "unconverged": "the interval stayed wider than wanted",
    "misplaced": "pages were not where they should be",
    "wrong": "the answer was not right",
    "impossible": "this machine cannot do it",
    "failed": "it broke off",
    "interrupted": "it was stopped",
}


def write(given: Records, page: Path, force: bool) -> list[Path]:
    """Writes the page, and its pictures to a folder beside it; all of them or nothing. With
    `force` both replace what is there, but of the folder only the pictures that the page there
    shows: other files stay. Returns both paths."""
    pictures = page.with_name(page.stem + "-pictures")
    for path in (page, pictures):
        if path.exists() and not force:
            raise CannotWrite(
                f"{path}: exists; give another name with --output, or --force to replace it"
            )
    if pictures.exists() and not pictures.is_dir():
        raise CannotWrite(f"{pictures}: is no folder; move it, or give another name with --output")
    if page.is_dir():
        raise CannotWrite(
            f"{page}: is a folder; give a name that ends in .html and is free, or a folder to put"
            " report.html into"
        )
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".report-", dir=page.parent) as scratch:
            new_page, new_pictures, old = (
                Path(scratch, "page"),
                Path(scratch, "pictures"),
                Path(scratch, "old"),
            )
            new_pictures.mkdir()
            new_page.write_text(_compose(given, new_pictures, pictures.name), encoding="utf-8")
            if pictures.exists():
                _keep_others(page, pictures, new_pictures)
                pictures.rename(old)
            new_pictures.rename(pictures)
            new_page.replace(page)
    except OSError as error:
        raise CannotWrite(f"{page}: cannot be written: {error.strerror}") from error
    return [page, pictures]


def _keep_others(page: Path, pictures: Path, new: Path) -> None:
    """Copies what no former report made; it may not stand in the way of what this one makes."""
    text = page.read_text(encoding="utf-8", errors="replace") if page.exists() else ""
    made = set(LINK.findall(text))
    for path in pictures.iterdir():
        if path.name in made:
            continue
        kept = new / path.name
        if kept.exists():
            raise CannotWrite(
                f"{path}: was not made by the report that is there, and is left alone; move it, or"
                " give another name with --output"
            )
        if path.is_dir() and not path.is_symlink():
            shutil.copytree(path, kept, symlinks=True)
        else:
            shutil.copy2(path, kept, follow_symlinks=False)


def _compose(given: Records, folder: Path, link: str) -> str:
    """The text of the page; draws the pictures into the folder."""
    db = records.tables(given)
    runs = _runs(db)
    names = {r["run"]: r["name"] for r in runs}
    benchmarks = rows(
        db,
        "SELECT benchmark AS name FROM (SELECT benchmark, place FROM headline UNION ALL SELECT"
        " benchmark, NULL FROM peer) GROUP BY benchmark ORDER BY min(place) NULLS LAST, name",
    )
    many = population.is_one(db)
    if many:
        sections = _over_hosts(db, [benchmark["name"] for benchmark in benchmarks])
    else:
        sections = [_section(db, benchmark["name"], names) for benchmark in benchmarks]
    counted = likwid.join(db, given.counted, given.notes)
    for section in sections:
        section["likwid"] = counted.get(section["name"], [])
    steadiness = [] if many else _steadiness(db, names)
    for picture in [
        p for s in sections for p in s["pictures"] + s["counters"]["pictures"]
    ] + steadiness:
        draw.draw(picture, folder)
    flaws = rows(db, "FROM headline WHERE flag IS NOT NULL ORDER BY flag") if not many else []
    statuses = Counter(
        dict(db.execute("SELECT status, count(*) FROM headline GROUP BY status").fetchall())
    )
    page = _template().render(
        cards=[] if many else cards(db)[:MOST],
        meant=TRUST,
        script=HERE.joinpath("report.js").read_text(encoding="utf-8"),
        style=HERE.joinpath("report.css").read_text(encoding="utf-8"),
        kinds=draw.KINDS,
        link=link,
        runs=runs,
        names=names,
        notes=given.notes,
        sections=sections,
        steadiness=steadiness,
        flaws=charts.alike(flaws),
        meaning=MEANING,
        statuses=[(s, statuses[s]) for s in ("ok", *MEANING) if statuses[s]],
        machines=population.machines(_machines(runs)) if many else _machines(runs),
        outstanding=population.hosts(db) if many else [],
        hosts=len({r["host"] for r in runs}) if many else 0,
    )
    return _scoped(page)


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(
        quantity=units.quantity,
        percent=units.percent,
        interval=units.interval,
        size=units.size,
        digest=digest,
        cells=levels.cells,
        number=units.number,
        events=units.count,
        said=padding.said,
        breakable=_breakable,
    )
    return environment.get_template("report.html.j2")


def _runs(db: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """Every run, with what became of it."""
    found = rows(db, "FROM outcome ORDER BY ordinal")
    hosts = Counter(r["host"] for r in found if r["resumed_by"] is None)
    for r in found:
        r["header"] = json.loads(r["header"])
        rank = (
            ""
            if r["ranks"] == 1
            else f" rank {r['rank']}"
            if r["rank"]
            else f", {r['ranks']} ranks"
        )
        started = f", {r['started'][:19]}Z" if hosts[r["host"]] > 1 else ""
        r["name"] = r["host"] + rank + started
    return found


def _section(
    db: duckdb.DuckDBPyConnection, benchmark: str, names: dict[str, str]
) -> dict[str, Any]:
    """A benchmark: for each run its pictures and its table."""
    trials = rows(db, "FROM headline WHERE benchmark = ? ORDER BY place", benchmark)
    counters.drop_notes(db, trials)
    section: dict[str, Any] = {
        "name": benchmark,
        "id": f"section-{benchmark}",
        "own": {},
        "pictures": [],
        "results": _results(trials, names),
        "protocols": rows(
            db,
            "SELECT DISTINCT protocol FROM trial WHERE benchmark = ? ORDER BY protocol",
            benchmark,
        ),
        "trials": trials,
        "peers": peers.section(rows(db, "FROM peer WHERE benchmark = ? ORDER BY place", benchmark)),
    }
    if benchmark in OWN:
        section["own"] = OWN[benchmark](db, names, section["pictures"])
    else:
        section["pictures"] += _bars(db, benchmark, names, trials)
    section["pictures"] += _matrices(db, benchmark, names)
    if section["peers"]:
        section["pictures"].append(
            peers.picture(
                section["peers"], f"{benchmark}-peers", f"{benchmark} beside other libraries"
            )
        )
    first = [next((p for p in section["pictures"] if n in p.title), None) for n in names.values()]
    section["first"] = [p for p in first if p] or section["pictures"][:1]
    section["counters"] = _counters(db, benchmark, names, section["own"].get("findings", ()))
    return section


def _over_hosts(db: duckdb.DuckDBPyConnection, benchmarks: Sequence[str]) -> list[dict[str, Any]]:
    """Benchmarks, each over all hosts: what is drawn does not grow with their number."""
    found = population.sections(db)
    return [
        {
            "name": benchmark,
            "id": f"section-{benchmark}",
            "own": {},
            "pictures": found.get(benchmark, {}).get("pictures", []),
            "first": found.get(benchmark, {}).get("pictures", [])[:1],
            "hosts": found.get(benchmark),
            "protocols": rows(
                db,
                "SELECT DISTINCT protocol FROM trial WHERE benchmark = ? ORDER BY protocol",
                benchmark,
            ),
            "peers": peers.section(
                rows(db, "FROM peer WHERE benchmark = ? ORDER BY place", benchmark)
            ),
            "counters": {"runs": {}, "pictures": []},
        }
        for benchmark in benchmarks
    ]


def _results(trials: Sequence[dict[str, Any]], names: dict[str, str]) -> list[str]:
    """A sentence for each run: where all else is equal, the two variants that are furthest
    apart."""
    said = []
    for whole, own in sharing.by_run(trials):
        settings: dict[Any, list[dict[str, Any]]] = {}
        for t in own:
            if t["status"] not in levels.UNUSABLE and (t["value"] or 0) > 0:
                settings.setdefault((t["panel"], t["point"], t["threads"]), []).append(t)
        of_setting = [sorted(s, key=lambda t: t["value"]) for s in settings.values()]
        before = f"{names[whole]}: " if len(names) > 1 else ""
        if of_setting:
            widest = max(of_setting, key=lambda s: s[-1]["value"] / s[0]["value"])
            said.append(before + _apart(widest))
        else:
            kinds = Counter(t["status"] for t in own)
            counts = ", ".join(f"{n} {status}" for status, n in kinds.items())
            said.append(f"{before}No result: of {len(own)} trials, {counts}.")
    return said


def _apart(setting: Sequence[dict[str, Any]]) -> str:
    """Of trials with the same setting, from the least to the greatest value."""
    least, most = setting[0], setting[-1]
    values = [units.quantity(t["value"], t["unit"]) for t in (least, most)]
    where = ", ".join(filter(None, (most["panel"], most["point"])))
    at = f" ({where})" if where else ""
    if least["variant"] == most["variant"]:
        return f"{most['variant']}{at}: {most['metric']} {values[1]}."
    if most["better"] is None:
        return (
            f"{most['metric']}{at}: {values[0]} with {least['variant']}, {values[1]} with"
            f" {most['variant']}."
        )
    if most["better"] == "lower":
        (least, most), values = (most, least), values[::-1]
    ratio = units.number(max(least["value"], most["value"]) / min(least["value"], most["value"]))
    return (
        f"{most['variant']} beats {least['variant']} by a factor of {ratio}{at}:"
        f" {most['metric']} {values[1]} against {values[0]}."
    )


def _counters(
    db: duckdb.DuckDBPyConnection,
    benchmark: str,
    names: dict[str, str],
    findings: Sequence[levels.Finding],
) -> dict[str, Any]:
    """What was counted in each run, and its pictures; empty where nothing was."""
    trials, machines = counters.counted(db, benchmark), records.machines(db)
    runs = counters.section(db, trials)
    pictures = []
    for whole, own in sharing.by_run(trials):
        finding = next(
            (f for f in findings if f.whole == whole and f.what == "caches" and f.first), None
        )
        file, title = _file_name(benchmark, names, whole), f"{benchmark} on {names[whole]}"
        pictures += counter_curves.pictures(
            own, runs[whole]["columns"], machines[whole], file, title, finding
        )
    return {"runs": runs, "pictures": pictures}


def _bars(
    db: duckdb.DuckDBPyConnection,
    benchmark: str,
    names: dict[str, str],
    trials: list[dict[str, Any]],
) -> list[Picture]:
    pages = rows(db, "FROM pages ORDER BY node")
    pictures: list[Picture] = []
    for whole, of_run in groupby((t for t in trials if not t["in_matrix"]), lambda t: t["whole"]):
        own_pages = [p for p in pages if p["whole"] == whole]
        pictures += charts.bars(
            list(of_run),
            own_pages,
            _file_name(benchmark, names, whole),
            f"{benchmark} on {names[whole]}",
        )
    return pictures


def _matrices(
    db: duckdb.DuckDBPyConnection, benchmark: str, names: dict[str, str]
) -> list[Picture]:
    """A picture for each run; where latency and bandwidth of a host are there, both in that of
    latency."""
    pictures = []
    cells = rows(
        db,
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
        pictures.append(charts.matrix(own, _file_name(benchmark, names, whole) + "-matrix", title))
    return pictures


def _numa(
    db: duckdb.DuckDBPyConnection, names: dict[str, str], pictures: list[Picture]
) -> dict[str, Any]:
    trials = rows(db, "FROM headline WHERE benchmark = 'numa' ORDER BY place")
    pictures += _bars(db, "numa", names, trials)
    found = _ratios(db)
    with_both = [line for line in found if {"single", "random"} <= set(line["by"])]
    worst = {
        line["whole"]: line
        for line in sorted(with_both, key=lambda s: s["by"]["single"]["value"] or 0)
    }
    return {"ratios": found, "worst": list(worst.values())}


def _latency(
    db: duckdb.DuckDBPyConnection, names: dict[str, str], pictures: list[Picture]
) -> dict[str, Any]:
    """Adds the pictures; returns what the tables show."""
    found = levels.findings(db)
    hosts = {
        r["run"]: r
        for r in rows(
            db, "SELECT run, host, (header->>'$.machine.memory.page')::INT AS page FROM run"
        )
    }
    saved = []
    for whole, of_run in groupby(rows(db, "FROM load ORDER BY place"), lambda r: r["whole"]):
        load, file, name = list(of_run), _file_name("latency", names, whole), names[whole]
        caches, translation = (
            next((f for f in found if f.whole == whole and f.what == w and f.first), None)
            for w in ("caches", "TLB")
        )
        shares = curves.shares(load)
        drawn = (
            curves.sizes(load, caches, file, f"latency on {name}"),
            curves.tlb(
                load,
                translation,
                shares,
                hosts[whole]["page"],
                file + "-tlb",
                f"latency: what translation costs on {name}",
            ),
            curves.chains(load, file + "-chains", f"latency: several chains at once on {name}"),
            curves.loaded(load, file + "-loaded", f"latency under load on {name}"),
            curves.beside(
                load,
                hosts[whole]["host"],
                file + "-published",
                f"latency on {name} beside published curves",
            ),
        )
        pictures += [p for p in drawn if p]
        saved += [{**s, "whole": whole} for s in _telling(shares)]
    return {"findings": found, "head": levels.HEAD, "shares": saved}


def _sharing(
    db: duckdb.DuckDBPyConnection, names: dict[str, str], pictures: list[Picture]
) -> dict[str, Any]:
    machines, found = records.machines(db), {}
    for whole, own in sharing.by_run(records.told(db, "sharing")):
        machine, file, title = (
            machines[whole],
            _file_name("sharing", names, whole),
            f"sharing on {names[whole]}",
        )
        curves_of = [
            sharing.over_threads(own, machine, file, title),
            sharing.race(own, machine, file + "-race", f"{title}: fairness, and lost updates"),
            sharing.over_distance(
                own,
                padding.line_size(machine),
                file + "-distance",
                f"{title}: how far is far enough",
            ),
        ]
        drawn = [p for p in curves_of if p]
        pictures += drawn + _rest(own, drawn, file, title)
        found[whole] = sharing.section(own, machine)
    return {"runs": found, "published": sharing.published_slowdowns()}


def _core_to_core(
    db: duckdb.DuckDBPyConnection, names: dict[str, str], pictures: list[Picture]
) -> dict[str, Any]:
    machines, found = records.machines(db), {}
    for whole, own in sharing.by_run(records.told(db, "core-to-core")):
        file, title = _file_name("core-to-core", names, whole), f"core-to-core on {names[whole]}"
        drawn = core_to_core.maps(own, machines[whole], file, title)
        pictures += drawn + _rest(own, drawn, file, title)
        found[whole] = core_to_core.tables(own)
    return {"runs": found}


def _checkpoint(
    db: duckdb.DuckDBPyConnection, names: dict[str, str], pictures: list[Picture]
) -> dict[str, Any]:
    machines, found = records.machines(db), {}
    for whole, own in sharing.by_run(records.told(db, "checkpoint")):
        file, title = _file_name("checkpoint", names, whole), f"checkpoint on {names[whole]}"
        drawn = checkpoint.pictures(own, machines[whole], file, title)
        pictures += drawn + _rest(own, drawn, file, title)
        found[whole] = checkpoint.section(own)
    return {"runs": found, "published": checkpoint.published_ratio()}


def _kmeans(
    db: duckdb.DuckDBPyConnection, names: dict[str, str], pictures: list[Picture]
) -> dict[str, Any]:
    trials, machines, found = records.told(db, "kmeans"), records.machines(db), {}
    scaled = scaling.found_in(trials)
    over_ranks = scaling.over_ranks(scaled, "kmeans-scaling", "kmeans over MPI ranks")
    shown = {(t["whole"], t["id"]) for curve in scaled for t in curve["lines"]}
    for whole, own in sharing.by_run(trials):
        file, title = _file_name("kmeans", names, whole), f"kmeans on {names[whole]}"
        drawn = kmeans.over_threads(own, machines[whole], file, title)
        drawn += [
            p
            for p in [
                kmeans.beside_published(own, f"{file}-published", f"{title}: published, and here")
            ]
            if p
        ]
        rest = [t for t in own if (whole, t["id"]) not in shown]
        pictures += drawn + _rest(rest, drawn, file, title)
        found[whole] = kmeans.section(
            [t for t in own if (whole, t["id"]) not in shown or sharing.many_threads(own)]
        )
    pictures += over_ranks
    best = kmeans.fastest(trials)
    compared = rows(db, "FROM peer WHERE benchmark = 'kmeans'")
    return {
        "runs": found,
        "variants": [v for v in kmeans.VARIANTS if v != kmeans.BASE],
        "published": kmeans.published_ratios(),
        "speed_ups": kmeans.published_speed_ups(),
        "scaled": scaled,
        "best": best,
        "missing": kmeans.missing(found.values(), best, scaled, compared),
    }


def _search(
    db: duckdb.DuckDBPyConnection, names: dict[str, str], pictures: list[Picture]
) -> dict[str, Any]:
    trials, machines, found = records.told(db, "search"), records.machines(db), {}
    divided = [t for t in trials if t["variant"] == search.OVER_RANKS]
    scaled = scaling.found_in(divided)
    for whole, own in sharing.by_run(
        search.headlined(t for t in trials if t["variant"] != search.OVER_RANKS)
    ):
        file, title = _file_name("search", names, whole), f"search on {names[whole]}"
        drawn = search.pictures(own, machines[whole], file, title)
        pictures += drawn + _rest(own, drawn, file, title)
        found[whole] = search.section(own)
    over_ranks = scaling.over_ranks(scaled, "search-scaling", "search over MPI ranks")
    shown = {(t["whole"], t["id"]) for curve in scaled for t in curve["lines"]}
    for whole, own in sharing.by_run(
        [t for t in scaling.drawn(divided) if (t["whole"], t["id"]) not in shown]
    ):
        pictures += _rest(
            own,
            [],
            _file_name("search-ranks", names, whole),
            f"search over MPI ranks, {names[whole]}",
        )
    pictures += over_ranks
    return {
        "runs": found,
        "scaled": scaled,
        "published": search.published_times(),
        "machine": search.published_machine(),
        "missing": search.missing(
            found.values(), scaled, rows(db, "FROM peer WHERE benchmark = 'search'")
        ),
    }


def _rest(
    trials: list[dict[str, Any]], drawn: list[Picture], file: str, title: str
) -> list[Picture]:
    """Bars for what no curve and no map shows; where some words lie is not worth a picture."""
    shown = {i for p in drawn for i in p.shows}
    return charts.bars(
        [{**t, "how": None} for t in trials if t["id"] not in shown], [], file + "-bars", title
    )


# Sections that draw more than bars; each adds its pictures, and returns what its part of the page
# shows.
OWN = {
    "numa": _numa,
    "latency": _latency,
    "sharing": _sharing,
    "core-to-core": _core_to_core,
    "checkpoint": _checkpoint,
    "kmeans": _kmeans,
    "search": _search,
}


def _telling(shares: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sizes four times apart, down from the largest of each kind of pages."""
    kept: list[dict[str, Any]] = []
    for s in sorted(shares, key=lambda s: (s["pages"], -s["x"])):
        if not kept or kept[-1]["pages"] != s["pages"] or s["x"] * 4 <= kept[-1]["x"] * 1.01:
            kept.append(s)
    return sorted((s for s in kept if s["x"] >= 1 << 16), key=lambda s: (s["pages"], s["x"]))


def _ratios(db: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """One line for each setting that has `static`: the ratios by variant."""
    found = rows(db, "FROM placement_ratio ORDER BY setting")
    return [
        {**(line := list(group))[0], "by": {r["variant"]: {**r, "value": r["ratio"]} for r in line}}
        for _, group in groupby(found, lambda r: r["setting"])
    ]


def _steadiness(db: duckdb.DuckDBPyConnection, names: dict[str, str]) -> list[Picture]:
    marks = rows(
        db, "SELECT * FROM drift JOIN run ON drift.part = run.run ORDER BY ordinal, moment"
    )
    return [
        charts.drift(
            list(group),
            _file_name("steadiness", names, part),
            f"Drift during the run: {names[part]}",
        )
        for part, group in groupby(marks, lambda m: m["part"])
    ]


def _machines(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each machine once, with the runs it did; one that changed between runs is shown again."""
    shown: dict[tuple[str, str], dict[str, Any]] = {}
    for r in runs:
        machine = r["header"]["machine"]
        lasting = json.dumps(_lasting(machine), sort_keys=True)
        entry = {"host": r["host"], "machine": machine, "lasting": lasting, "runs": []}
        shown.setdefault((r["host"], lasting), entry)["runs"].append(r)
    return list(shown.values())


def _lasting(machine: dict[str, Any]) -> Any:
    """Without what differs from minute to minute, and from shell to shell."""
    passing = {"free", "available", "environment"}
    if isinstance(machine, dict):
        return {key: _lasting(value) for key, value in machine.items() if key not in passing}
    return [_lasting(item) for item in machine] if isinstance(machine, list) else machine


def _file_name(what: str, names: dict[str, str], run: str) -> str:
    """Names of files are made of what is safe in every file system; the run's number keeps them
    apart."""
    if len(names) == 1:
        return what
    place = list(names).index(run) + 1
    return f"{what}-{place}-{re.sub(r'[^A-Za-z0-9-]+', '_', names[run])[:60]}"


def digest(text: str) -> str:
    """What a content security policy calls the one script, or style, that may be there."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _scoped(page: str) -> str:
    """With what each heading of a table is of, for who hears it."""
    parts = re.split(r"(<t(?:head|body)>|<th\b)", page)
    scope = "row"
    for i, part in enumerate(parts):
        if part in ("<thead>", "<tbody>"):
            scope = "col" if part == "<thead>" else "row"
        elif part == "<th":
            parts[i] = f'<th scope="{scope}"'
    return "".join(parts)


def _breakable(name: str) -> markupsafe.Markup:
    """A long name that may go on in the next line after what parts it."""
    return markupsafe.Markup("<wbr>").join(re.split("(?<=[:_-])(?=[^:_-])", name))
