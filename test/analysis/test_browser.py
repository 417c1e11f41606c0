# SPDX-License-Identifier: Apache-2.0
"""The report as a browser shows it: a headless Chromium opens the file, without a network."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from lacking import lacking
from locus_analysis import __main__ as program
from locus_analysis.base.folders import LESSONS, TEMPLATES
from locus_analysis.pictures import bars, colours, drift
from locus_analysis.pictures.render import SVG, as_svg
from make_records import TWO, Machine, core_to_core, flag, numa, record, run_id, write
from some import some

LOCUS = os.environ.get("LOCUS", "locus")
SHORT = ["--duration", "1ms", "--repeats", "2", "--time-budget", "60s", "--oversubscribe"]
MEASURED = ("latency --variant cycle --size 4K..256K*2", "sharing --threads 2 --operation add")
HOSTILE = "</title></svg>\"'><script>alert(1)</script><img src=http://x.example onerror=alert(2)>"
LONG = "长" * 300 + "\u202eabc\u0301"  # wide, right to left, combined
OPTIONS = "--no-sandbox --disable-quic --disable-background-networking --disable-component-update"


# Texts of a picture that lie on each other. A text and its halo are drawn in one place; numbers for
# which an axis has no room are there, unseen.
OVERLAPS = """() => [...document.querySelectorAll(".picture svg")].flatMap(svg => {
    const texts = [...svg.querySelectorAll("text")]
        .filter(text => text.textContent.trim() && text.getAttribute("opacity") !== "0")
        .map(text => [text.textContent, text.getBoundingClientRect()]);
    const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2;
    return texts.flatMap(([one, a], i) => texts.slice(i + 1)
        .filter(([other, b]) => one !== other && meet(a, b))
        .map(([other]) => `${svg.closest("figure").id}: ${one} | ${other}`));
})"""


@dataclass
class Seen:
    """A page, and a log of events that must not happen in it: messages, errors, requests."""

    page: Any  # Playwright's page type, which may be missing
    said: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def opened(self, file: Path, hash: str = "") -> Any:
        self.page.goto(file.as_uri() + hash)
        return self.page

    def nothing_happened(self) -> None:
        assert self.said == []
        assert len(self.requests) == 1 and self.requests[0].startswith("file:")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        lacking("Chromium", "Debian, Fedora: chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        lacking("playwright", "python -m pip install -r analysis/requirements-dev.txt")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=OPTIONS.split())
        yield started
        started.close()


@pytest.fixture(scope="module")
def one_page(browser: Any) -> Any:
    """For all tests: a new one has a process of its own, which costs more than most tests."""
    return browser.new_page()


@pytest.fixture
def page(one_page: Any) -> Any:
    """Empty, as if it were new."""
    one_page.goto("about:blank")
    one_page.set_viewport_size({"width": 1300, "height": 900})
    one_page.emulate_media(media="screen", color_scheme="light")
    one_page.mouse.move(1, 1)
    return one_page


@pytest.fixture
def seen(page: Any) -> Iterator[Seen]:
    found = Seen(page)
    events = {
        "console": lambda message: found.said.append(message.text),
        "pageerror": lambda error: found.said.append(str(error)),
        "dialog": lambda dialog: found.said.append(dialog.message),
        "request": lambda request: found.requests.append(request.url),
    }
    for event, note in events.items():
        page.on(event, note)
    yield found
    for event, note in events.items():
        page.remove_listener(event, note)


def report(files: list[Path], folder: Path) -> Path:
    assert program.main(["report", "--output", str(folder), *map(str, files)]) == 0
    return folder / "report.html"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a record that the built program measured."""
    folder = tmp_path_factory.mktemp("measured")
    for number, words in enumerate(MEASURED):
        file = folder / f"{number}.jsonl"
        done = subprocess.run(
            [LOCUS, *words.split(), *SHORT, "--output", str(file)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in (0, 1) and file.stat().st_size, done.stderr
    return report(sorted(folder.glob("*.jsonl")), folder)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a synthetic machine with two nodes; some trials are flagged."""
    folder = tmp_path_factory.mktemp("made")
    return report([write(folder / "a.jsonl", record(TWO, flag(numa(TWO)), run_id("a")))], folder)


def test_a_measured_page_has_its_pictures(measured: Path, seen: Seen) -> None:
    page = seen.opened(measured)
    assert page.locator("figure").count() >= 4
    assert page.locator("figure >> visible=true").count() >= 2
    page.click("#unfold")
    extents = page.evaluate("""() => [...document.querySelectorAll(".picture svg")].map(svg => {
        const drawn = [...svg.querySelectorAll("path, image")].filter(mark => {
            const { width, height } = mark.getBBox();
            return width || height;
        });
        const strokes = drawn.map(mark => mark.getAttribute("d")?.match(/M/g).length ?? 1);
        return [svg.getBoundingClientRect().width, strokes.reduce((sum, n) => sum + n, 0)];
    })""")
    assert len(extents) == page.locator("figure").count()
    assert all(width > 300 and marks > 5 for width, marks in some(extents)), extents
    shot = page.locator("figure svg").first.screenshot()
    assert len(shot) > 8000, "an empty picture packs well"
    assert measured.stat().st_size < 1 << 20
    seen.nothing_happened()


def test_everything_folds(made: Path, seen: Seen) -> None:
    page = seen.opened(made)
    folds = page.locator("main details").count()
    assert folds > 3 and page.locator("main details[open]").count() == 0
    summary = page.locator("summary", has_text="All values of numa")
    table = page.locator("details", has=summary).locator("table")
    assert not table.is_visible()
    summary.focus()
    page.keyboard.press("Enter")
    assert table.is_visible()
    page.click("#unfold")
    assert page.locator("main details[open]").count() == folds
    page.click("#unfold")
    assert page.locator("main details[open]").count() == 0
    seen.nothing_happened()


def test_a_link_unfolds_what_it_leads_to(made: Path, seen: Seen) -> None:
    page = seen.opened(made, "#flaw-2")
    assert page.locator("#flaw-2").is_visible() and page.locator("#flaw-2").is_enabled()
    page.locator("summary", has_text="All values of numa").click()
    page.locator("a.flag[href='#flaw-3'] >> visible=true").first.click()
    page.locator("#flaw-3").wait_for(state="visible")
    seen.nothing_happened()


def test_tables_sort_and_filter(made: Path, seen: Seen) -> None:
    page = seen.opened(made)
    summary = page.locator("summary", has_text="All values of numa")
    summary.click()
    fold = page.locator("details", has=summary)
    head = fold.locator("th.number").first
    column = head.evaluate("head => head.cellIndex + 1")
    cells = fold.locator(f"tbody td:nth-child({column})")
    before = cells.all_inner_texts()

    def values() -> list[float]:
        power = {"M": 1e6, "G": 1e9, "T": 1e12}
        texts = [text for text in cells.all_inner_texts() if text != "–"]
        found = [re.fullmatch(r"([\d.]+) (\w)B/s", text) for text in texts]
        return [float(f[1]) * power[f[2]] for f in some(found) if f]

    head.locator("button").click()
    ascending = values()
    assert head.get_attribute("aria-sort") == "ascending"
    assert ascending == sorted(ascending) and len(set(ascending)) > 5
    head.locator("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending" and values() == ascending[::-1]
    assert sorted(cells.all_inner_texts()) == sorted(before)
    fold.get_by_label("Filter").fill("single")
    shown = fold.locator("tbody tr >> visible=true").all_inner_texts()
    assert 0 < len(shown) < len(before) and all("single" in row for row in some(shown))
    assert fold.locator("output").inner_text() == f"{len(shown)} of {len(before)}"
    fold.get_by_label("Filter").fill("")
    assert fold.locator("tbody tr >> visible=true").count() == len(before)
    seen.nothing_happened()


def test_values_are_shown_on_hover(made: Path, seen: Seen) -> None:
    page = seen.opened(made)
    mark = page.locator("figure .mark-rect path").first
    said = mark.evaluate("mark => mark.textContent")
    assert re.search(r"\d (GB/s|ms)", said) and "95 % interval: " in said
    assert not page.locator(".tip").is_visible()
    mark.scroll_into_view_if_needed()
    mark.hover()
    assert page.locator(".tip").text_content() == said and page.locator(".tip").is_visible()
    page.mouse.move(1, 1)
    assert not page.locator(".tip").is_visible()
    seen.nothing_happened()


def test_pictures_are_saved_without_a_request(made: Path, seen: Seen, tmp_path: Path) -> None:
    page = seen.opened(made)
    assert not made.with_name("report-pictures").exists()
    figure = page.locator("figure").first
    mark = figure.locator(".mark-rect path").first
    mark.scroll_into_view_if_needed()
    mark.hover()  # takes the text on hover from the picture
    for kind in ("svg", "csv"):
        with page.expect_download() as saved:
            figure.get_by_role("button", name=f"as {kind.upper()}").click()
        assert saved.value.suggested_filename == f"{figure.get_attribute('id')}.{kind}"
        saved.value.save_as(tmp_path / kind)
    svg = ElementTree.parse(tmp_path / "svg")
    titles = [title.text for title in svg.iter(f"{SVG}title")]
    assert mark.get_attribute("data-said") in titles and len(some(titles)) > 3
    rows = list(csv.DictReader((tmp_path / "csv").open(encoding="utf-8")))
    assert {"trial", "value", "low", "high", "status"} <= set(some(rows)[0])
    assert min(float(row["value"]) for row in rows if row["status"] == "ok") > 0
    assert seen.said == [] and len(seen.requests) == 1


def test_cells_of_a_dense_map_are_shown_on_hover(tmp_path: Path, seen: Seen) -> None:
    """A dense map's cells are one image, without elements to hover over."""
    machine = Machine("big", "a machine", cpu_nodes=2, cores=36)
    lines = record(machine, core_to_core(machine, protocols=("message",))[:1], run_id("a"))
    page = seen.opened(report([write(tmp_path / "a.jsonl", lines)], tmp_path))
    (cells,) = (line["pairs"]["cells"] for line in lines if line["type"] == "trial")
    image = page.locator("figure image").first
    image.scroll_into_view_if_needed()
    box, of = image.bounding_box(), json.loads(image.get_attribute("data-cells"))
    assert box and of["names"] == list(range(72)) and of["x"] > 0 and of["y"] > 0
    for a, b in ((0, 1), (3, 50), (70, 71)):
        i = next(i for i, pair in enumerate(zip(cells["a"], cells["b"])) if pair == (a, b))
        for x, y in ((a, b), (b, a)):
            size = of["size"]
            page.mouse.move(
                box["x"] + of["x"] + (x + 0.5) * size, box["y"] + of["y"] + (y + 0.5) * size
            )
            said = page.locator(".tip").text_content()
            assert said == f"CPU: {x}\nand CPU: {y}\nmedian: {cells['0.5'][i] * 1e9:.3g} ns"
    page.mouse.move(box["x"] + of["x"] + 5.5 * size, box["y"] + of["y"] + 5.5 * size)
    assert not page.locator(".tip").is_visible()  # the diagonal: a CPU and itself
    seen.nothing_happened()


def test_it_can_be_heard_and_walked_by_keyboard(made: Path, seen: Seen) -> None:
    page = seen.opened(made)
    page.click("#unfold")
    levels = page.evaluate("""() =>
        [...document.querySelectorAll("h1, h2, h3, h4")].map(head => +head.tagName[1])""")
    assert levels[0] == 1 and all(b <= a + 1 for a, b in some(zip(levels, levels[1:])))
    assert page.locator("th:not([scope])").count() == 0
    pictures = page.get_by_role("img")
    assert pictures.count() == page.locator("figure").count() > 0
    for picture in some(pictures.all()):
        assert len(picture.get_attribute("aria-label")) > 60
    named = page.evaluate("""() => {
        const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
        return [ids.length, new Set(ids).size];
    }""")
    assert named[0] == named[1]
    page.keyboard.press("Tab")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert page.evaluate("document.activeElement.tagName") != "BODY" and outline == "solid"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out(made: Path, seen: Seen, scheme: str) -> None:
    page = seen.opened(made)
    page.emulate_media(color_scheme=scheme)
    ratios = page.evaluate("""() => {
        const light = colour => {
            const [r, g, b] = colour.match(/[\\d.]+/g).map(c => c / 255)
                .map(c => c <= .04 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4);
            return .2126 * r + .7152 * g + .0722 * b;
        };
        const paper = light(getComputedStyle(document.body).backgroundColor);
        return [...document.querySelectorAll("p, a, h2, summary, .soft, .flag")].map(e => {
            const ink = light(getComputedStyle(e).color);
            return (Math.max(ink, paper) + .05) / (Math.min(ink, paper) + .05);
        });
    }""")
    assert min(ratios) > 4.5
    inks = page.evaluate("""() => {
        const texts = [...document.querySelectorAll(".picture svg text")];
        return [...new Set(texts.map(text => getComputedStyle(text).fill))];
    }""")
    shown = colours.DARK if scheme == "dark" else {ink: ink for ink in colours.DARK}
    texts = (shown[ink] for ink in (colours.INK, colours.SOFT))
    on_cells = (colours.ON_DARK, colours.ON_LIGHT)
    allowed = {f"rgb{tuple(bytes.fromhex(ink[1:]))}" for ink in (*texts, *on_cells)}
    assert some(inks) and set(inks) <= allowed
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")


def test_there_are_no_barriers(made: Path, seen: Seen) -> None:
    """As axe-core sees it; in the dark only the colours differ."""
    try:
        axe: Any = import_module("axe_playwright_python.sync_playwright").Axe()  # has no types
    except ModuleNotFoundError:
        lacking("axe-playwright-python", "python -m pip install -r analysis/requirements-dev.txt")
    page = seen.opened(made)
    page.click("#unfold")
    told_of = {"resultTypes": ["violations"]}  # to list all that is good takes a third of the time
    for scheme, rules in (("light", {}), ("dark", {"runOnly": ["color-contrast"]})):
        page.emulate_media(color_scheme=scheme)
        found = axe.run(page, options={**told_of, **rules}).response
        assert len(found["passes"]) >= 1
        told = [(flaw["id"], flaw["nodes"][0]["html"]) for flaw in found["violations"]]
        assert told == [], scheme
    seen.nothing_happened()


@pytest.mark.parametrize("width", [390, 1280])
def test_texts_do_not_lie_on_each_other(made: Path, measured: Path, page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    for file in (made, measured):
        page.goto(file.as_uri())
        page.click("#unfold")
        assert page.locator(".picture svg text").count() > 20
        assert page.evaluate(OVERLAPS) == []


@pytest.mark.parametrize(
    "ends", [(3e-4, 0.014), (0.04, 90), (5e-5, 0.095), (1.3e-5, 5.9), (1e-5, 180), (0.7, 1.1)]
)
def test_numbers_of_an_axis_of_ratios_do_not_lie_on_each_other(
    page: Any, ends: tuple[float, float]
) -> None:
    told: Any = {"flag": None, "status": "ok", "reasons": [], "variant": "a", "trial": "a"}
    rows: Any = [
        {"id": name, "point": name, "theirs": False, "value": end, "low": end, "high": end, **told}
        for name, end in zip("ab", ends)
    ]
    (drawn,) = bars.ratios(rows, "slowdown", "ratios", "slowdown", "")
    page.set_content(f"<figure class=picture>{as_svg(drawn.spec, 'ratios')}</figure>")
    assert page.locator("text", has_text=re.compile("^[0-9.]+ ×$")).count() >= 3
    assert page.evaluate(OVERLAPS) == []


@pytest.mark.parametrize("ends", [(47.286, 47.311), (30.91, 31.47), (32.73, 33.31), (0.02, 180)])
def test_moments_of_a_run_do_not_lie_on_each_other(page: Any, ends: tuple[float, float]) -> None:
    told: Any = {"ratio": 1, "least": 0.9, "greatest": 1.1, "n": 5, "noisy": 3, "flag": None}
    trial: Any = {"status": "ok", "benchmark": "a", "variant": "b", "setting": "c"}
    marks: Any = [{"moment": end, **told, **trial} for end in ends]
    drawn = drift.drift(marks, "drift", "a run")
    page.set_content(f"<figure class=picture>{as_svg(drawn.spec, 'drift')}</figure>")
    assert page.locator("text", has_text=re.compile("^[0-9.]+$")).count() >= 6
    assert page.evaluate(OVERLAPS) == []


def test_it_fits_a_phone_and_paper(measured: Path, seen: Seen) -> None:
    page = seen.opened(measured)
    page.set_viewport_size({"width": 400, "height": 800})
    page.click("#unfold")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.click("#unfold")
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert page.locator(".paper").is_visible()
    as_shown = sheets(page)
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    assert 1 <= as_shown < sheets(page) and as_shown <= 12
    seen.nothing_happened()


def sheets(page: Any) -> int:
    """The number of A4 pages on which a browser prints it."""
    return len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4")))


@pytest.mark.parametrize("name", [HOSTILE, LONG], ids=["hostile", "long"])
def test_names_are_harmless(name: str, tmp_path: Path, seen: Seen) -> None:
    points = flag(numa(TWO, kernels=("sum",))[:6], every=2)
    for point in points:
        point.parameters["kernel"] = name
        point.reasons = [name] if point.status != "ok" else []
    lines = record(TWO, points, run_id("a"), host=name, command=[name])
    page = seen.opened(report([write(tmp_path / "a.jsonl", lines)], tmp_path))
    page.click("#unfold")
    assert page.locator("script").count() == 1 and page.locator("main img").count() == 0
    assert name in page.locator("h1").text_content()
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.locator("figure .mark-rect path").first.hover()
    seen.nothing_happened()


def test_the_page_forbids_what_it_does_not_need(made: Path, seen: Seen) -> None:
    page = seen.opened(made)
    page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "document.title = 'mine'";
        document.body.append(script);
    }""")
    assert page.title() != "mine"
    refused = page.evaluate("""() => new Promise(done => setTimeout(() => {
        try { done(eval("1")); }
        catch (error) { done(error.name); }
    }))""")
    assert refused == "EvalError" and page.title() != "mine"
    assert page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'sent', e => e.name)") != "sent"
    assert any("Content Security Policy" in said for said in some(seen.said))


def test_no_file_of_the_page_names_another_place() -> None:
    """The page's sources contain no URL."""
    for file in some([*TEMPLATES.glob("*"), *LESSONS.glob("*")]):
        assert not re.search(r"https?:|//[a-z]+\.", file.read_text(encoding="utf-8")), file
