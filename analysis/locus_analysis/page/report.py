# SPDX-License-Identifier: Apache-2.0
"""The report: one self-contained HTML page, and its pictures as files."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Optional, TypedDict
from urllib.parse import quote

import duckdb
import jinja2
import markupsafe

from ..base import glossary, units
from ..base.folders import PACKAGE, TEMPLATES
from ..card.content import MEANING as TRUST
from ..card.summary import MOST, cards, findings
from ..cluster import fabric, sick, switches, together, told
from ..cluster.switches import Level
from ..compare import observations
from ..pictures import axes, charts, colours, draw, drift
from ..pictures.charts import Picture
from ..pictures.draw import Drawing
from ..records import database, provenance
from ..records.database import CannotWrite, Records, column, select
from ..records.rows import Headline, Mark, Outcome
from . import health, likwid_tables, network, population, sections, soak
from .one_node import Beside
from .population import Machine, ShownRun
from .sections import Section

# A link from a page to one of its pictures.
LINK = re.compile(r'href="[^"/]*/([A-Za-z0-9_-]+\.(?:svg|png|pdf|vl\.json))"')

PASSING = ("free", "available", "environment")  # of a machine: what changes by itself
FLAWED = (
    "noisy", "bimodal", "unconverged", "misplaced", "wrong", "impossible", "failed", "interrupted"
)  # fmt: skip
MEANING = {status: glossary.brief(status) for status in FLAWED}


def write(
    given: Records,
    page: Path,
    force: bool,
    files: bool = False,
    beside: Optional[Beside] = None,
    levels: Sequence[Level] = (),
) -> Generator[Path, None, None]:
    """Writes the page and, if `files`, its pictures to a folder beside it: all or nothing. Yields
    the path of each as soon as it is there: a reader waits for the page, not for the files. With
    `force` it replaces an older page and the pictures that this shows; other files in the folder
    stay. `levels`: the switches of the nodes."""
    pictures = page.with_name(page.stem + "-pictures")
    for path in (page, pictures) if files else (page,):
        if path.exists() and not force:
            raise CannotWrite(
                f"{path}: exists; give another name with --output, or --force to replace it"
            )
    if files and pictures.exists() and not pictures.is_dir():
        raise CannotWrite(f"{pictures}: is no folder; move it, or give another name with --output")
    if page.is_dir():
        raise CannotWrite(
            f"{page}: is a folder; give a name that ends in .html and is free, or a folder to put"
            " report.html into"
        )
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".report-", dir=page.parent) as scratch:
            new, former = Path(scratch, "pictures"), Path(scratch, "former-pictures")
            new.mkdir()
            with ExitStack() as undone:
                with Drawing(new if files else None) as drawing:
                    link = quote(os.fsencode(pictures.name)) if files else ""
                    text = _compose(given, drawing, link, beside, levels)
                    made = _replace(page, text, Path(scratch), undone)
                    yield page
                if pictures.is_dir() and (files or made):
                    _keep_others(pictures, made, new)
                    pictures.rename(former)
                    undone.callback(former.rename, pictures)
                if any(new.iterdir()):
                    new.rename(pictures)
                undone.pop_all()
    except OSError as error:
        raise CannotWrite(f"{page}: cannot be written: {error.strerror}") from error
    if files:
        yield pictures


def _replace(page: Path, text: str, scratch: Path, undone: ExitStack) -> set[str]:
    """Puts the text in the place of a page, until it is undone; returns the names of the pictures
    that the former page shows."""
    new, former = scratch / "page", scratch / "former-page"
    new.write_text(text, encoding="utf-8")
    if not page.exists():
        new.replace(page)
        undone.callback(page.unlink)
        return set()
    shutil.copy2(page, former)
    new.replace(page)
    undone.callback(former.replace, page)
    return set(LINK.findall(former.read_text(encoding="utf-8", errors="replace")))


def _keep_others(pictures: Path, made: set[str], new: Path) -> None:
    """Copies files that the older report did not make. Fails if one has the name of a new file."""
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


class _Sick(TypedDict):
    """What `locus sick` says of the same records."""

    head: str
    foot: str
    rows: list[tuple[str, str, str]]  # verdict, nodes, what is seen
    pictures: list[Picture]
    together: Optional[together.Together]
    notes: list[str]


def _sick(
    given: Records, many: bool, runs: Sequence[ShownRun], levels: Sequence[Level]
) -> Optional[_Sick]:
    """Of few hosts only what was measured between them, or by all at one moment."""
    db = given.db
    between = network.of(db)
    at_once = any(r["parsed"].get("begin") or "together" in r["parsed"]["tags"] for r in runs)
    if not (many or between.nodes or at_once):
        return None
    side = observations.of(db, "these records")
    verdict = sick.judge(db, side, {}, given.lost) if many else sick.nobody(side)
    slow, rest, notes = switches.judge(between, levels) if levels else ([], between, [])
    if between.nodes:
        verdict.add([*slow, *fabric.judge(rest)], between.head)
    found = [(f.verdict, f.host, told.text(f)) for f in verdict.findings]
    return {
        "head": told.head(verdict) if many or between.nodes else "",
        "foot": told.foot(verdict, True),
        "rows": told.joined(found),
        "pictures": [*health.pictures(verdict.campaigns), *network.pictures(between, levels)],
        "together": verdict.together,
        "notes": notes,
    }


def _without_data(lost: Mapping[str, str], runs: Sequence[ShownRun]) -> list[str]:
    there = {r["host"] for r in runs}
    return [f"{node} left no data: {how}" for node, how in lost.items() if node not in there]


def _compose(
    given: Records,
    drawing: Drawing,
    link: str,
    beside: Optional[Beside],
    levels: Sequence[Level],
) -> str:
    """The text of the page, with its pictures."""
    db = database.tables(given, page=True)
    runs = _runs(db)
    names = {r["run"]: r["name"] for r in runs}
    benchmarks = column(
        db,
        "SELECT benchmark AS name FROM (SELECT benchmark, place FROM shown UNION ALL SELECT"
        " benchmark, NULL FROM peer) GROUP BY benchmark ORDER BY min(place) NULLS LAST, name",
    )
    many = database.of_many(db)
    each: Iterable[Section]
    if many:
        each = sections.over_hosts(db, benchmarks)
    else:
        said = findings(db)
        each = (sections.section(db, benchmark, names, said) for benchmark in benchmarks)
    found = []
    for section in each:
        for picture in section["pictures"] + section["counters"]["pictures"]:
            drawing.begin(picture)
        found.append(section)
    counted = likwid_tables.join(db, given.counted, given.notes)
    for section in found:
        section["likwid"] = counted.get(section["name"], [])
    steadiness = [] if many else _steadiness(db, names)
    for picture in steadiness:
        drawing.begin(picture)
    for picture in beside.pictures if beside else []:
        drawing.begin(picture)
    soaks = soak.pictures(db, names)
    for picture in soaks:
        drawing.begin(picture)
    judged = _sick(given, many, runs, levels)
    given.notes += judged["notes"] if judged else []
    given.notes += [] if many else _without_data(given.lost, runs)
    for picture in judged["pictures"] if judged else []:
        drawing.begin(picture)
    flaws = (
        select(db, Headline, "FROM headline WHERE flag IS NOT NULL ORDER BY flag")
        if not many
        else []
    )
    shown, template = [] if many else cards(db)[:MOST], _template()
    statuses = Counter(
        dict(db.execute("SELECT status, count(*) FROM shown GROUP BY status").fetchall())
    )
    return template.render(
        cards=shown,
        meant=TRUST,
        script=TEMPLATES.joinpath("report.js").read_text(encoding="utf-8"),
        style=TEMPLATES.joinpath("report.css").read_text(encoding="utf-8") + colours.style(),
        kinds=draw.KINDS,
        link=link,
        runs=runs,
        names=names,
        notes=given.notes,
        sections=found,
        steadiness=steadiness,
        soaks=soaks,
        flaws=charts.alike(flaws),
        meaning=MEANING,
        statuses=[(s, statuses[s]) for s in ("ok", *MEANING) if statuses[s]],
        machines=_machines(runs, many),
        sick=judged,
        beside=beside,
        hosts=len({r["host"] for r in runs}) if many else 0,
    )


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([TEMPLATES, PACKAGE]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        optimized=False,  # a template is filled once, and to optimize it takes longer than that
    )
    environment.filters.update(
        quantity=units.quantity,
        result=lambda t: units.result(t["value"], t["unit"], t["modes"], units.doubt(t)),
        measured=units.measured,
        percent=units.percent,
        interval=lambda t: units.interval(t["low"], t["high"], t["unit"], t.get("range")),
        size=units.size,
        digest=digest,
        number=units.number,
        of_ratio=lambda r, key: units.number(r[key], units.doubt(r)),
        events=units.count,
        said_as=lambda m: axes.said(m, axes.unit_of(m["unit"], m["kind"])),
        breakable=_breakable,
        numeric=lambda names: [f"#{name}" for name in names],  # headings of macros' table()
        within=_within,
    )
    return environment.get_template("report.html.j2")


def _runs(db: duckdb.DuckDBPyConnection) -> list[ShownRun]:
    """Every run, and how it ended."""
    found = select(db, Outcome, "FROM outcome ORDER BY ordinal")
    shown: list[ShownRun] = []
    hosts = Counter(r["host"] for r in found if r["resumed_by"] is None)
    for r in found:
        rank = (
            ""
            if r["ranks"] == 1
            else f" rank {r['rank']}"
            if r["rank"]
            else f", {r['ranks']} ranks"
        )
        started = f", {r['started'][:19]}Z" if hosts[r["host"]] > 1 else ""
        name = r["host"] + rank + started
        shown.append({**r, "name": name, "parsed": json.loads(r["header"])})
    return shown


def _steadiness(db: duckdb.DuckDBPyConnection, names: dict[str, str]) -> list[Picture]:
    query = "SELECT drift.* FROM drift JOIN run ON drift.part = run.run ORDER BY ordinal, moment"
    marks = select(db, Mark, query)
    return [
        drift.drift(
            list(group),
            sections.file_name("steadiness", names, part),
            f"Drift during the run: {names[part]}",
        )
        for part, group in groupby(marks, lambda m: m["part"])
    ]


def _machines(runs: Sequence[ShownRun], many: bool) -> Sequence[Machine]:
    """Each machine once, with its runs; again if it changed between runs. Of many hosts, machines
    that are alike are one."""
    shown: dict[tuple[str, str], Machine] = {}
    for r in runs:
        lasting = json.dumps(_lasting(r["parsed"]["machine"]), sort_keys=True)
        entry: Machine = {"host": r["host"], "lasting": lasting, "told": [], "runs": []}
        shown.setdefault((r["host"], lasting), entry)["runs"].append(r)
    entries = population.machines([*shown.values()]) if many else [*shown.values()]
    for entry in entries:
        entry["told"] = provenance.table(entry["runs"][0]["parsed"])
    return entries


def _lasting(machine: object) -> object:
    """Without values that change by the minute or by the shell."""
    if isinstance(machine, dict):
        return {key: _lasting(value) for key, value in machine.items() if key not in PASSING}
    if isinstance(machine, list) and machine and isinstance(machine[0], (dict, list)):
        return [_lasting(item) for item in machine]
    return machine


def digest(text: str) -> str:
    """The script's or style's hash for the content security policy, which allows only that one."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _within(title: str, section: str, names: dict[str, str]) -> str:
    """The title of a picture in a section, without the section's name and, if there is only one
    run, without the name of the run."""
    for name in names.values():
        rest = title.removeprefix(f"{section} on {name}")
        if rest != title and rest[:1] in (":", ","):
            words = rest[1:].strip()
            return f"{name}: {words}" if len(names) > 1 else words[0].upper() + words[1:]
    return title


def _breakable(name: str) -> markupsafe.Markup:
    """Allows line breaks in a long name, after its separators."""
    return markupsafe.Markup("<wbr>").join(re.split("(?<=[:_-])(?=[^:_-])", name))
