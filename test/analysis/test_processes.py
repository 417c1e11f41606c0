# SPDX-License-Identifier: Apache-2.0
"""What a command loads, and what it leaves to other processes: they draw pictures, each once, while
the page is made."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from locus_analysis import __main__ as program
from locus_analysis.base import processes
from locus_analysis.base.processes import Processes
from locus_analysis.pictures import draw
from make_records import ONE, numa, record, run_id, write
from some import some

GOOD, CANNOT = 0, 1
LOADED = """
import sys
from locus_analysis.__main__ import main
status = main(sys.argv[1:])
print(*(name for name in sys.modules if "." not in name), file=sys.stderr)
sys.exit(status)
"""
DRAWS = {"vl_convert", "xml"}
PAGES = {"jinja2", "markupsafe"}
# By command: the modules that it does not load. Each would take a tenth of a second or more.
WITHOUT = {
    "validate": {"duckdb", "numpy", *PAGES, *DRAWS},
    "summary": {"numpy", *PAGES, *DRAWS},
    "export": {"numpy", *PAGES, *DRAWS},
    "compare": {*PAGES, *DRAWS},
    "report": DRAWS,
}
NEEDED_BY_NONE = {"altair", "matplotlib", "narwhals", "pandas", "pyarrow"}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lines = record(ONE, numa(ONE, kernels=("sum",))[:4], run_id("a"))
    return write(tmp_path_factory.mktemp("given") / "a.jsonl", lines)


@pytest.mark.parametrize("command", WITHOUT)
def test_a_command_loads_only_what_it_needs(command: str, file: Path, tmp_path: Path) -> None:
    words = {"compare": [str(file)], "report": ["--output", str(tmp_path)]}.get(command, [])
    done = subprocess.run(
        [sys.executable, "-c", LOADED, command, *words, str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == GOOD, done.stderr
    loaded = set(done.stderr.splitlines()[-1].split())
    assert "locus_analysis" in loaded
    assert not loaded & (WITHOUT[command] | NEEDED_BY_NONE)


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of functions that other processes were asked to run."""
    names: list[str] = []
    call = Processes.call

    def noted(self: Processes, function: str, *arguments: Any) -> Any:
        names.append(function)
        return call(self, function, *arguments)

    draw.painters()  # starts them
    monkeypatch.setattr(Processes, "call", noted)
    return names


def test_each_picture_is_drawn_once(file: Path, tmp_path: Path, called: list[str]) -> None:
    assert program.main(["report", "--pictures", str(file), "--output", str(tmp_path)]) == GOOD
    pictures = len(list(tmp_path.glob("report-pictures/*.svg")))
    assert pictures > 1 and sorted(called) == ["as_files"] * pictures + ["as_svg"] * pictures


def test_a_page_without_files_draws_none(file: Path, tmp_path: Path, called: list[str]) -> None:
    page = tmp_path / "page.html"
    assert program.main(["compare", "--output", str(page), str(file), str(file)]) == GOOD
    assert set(called) == {"as_svg"} and page.read_text(encoding="utf-8").count("<svg ") == len(
        called
    )


def test_a_process_that_ends_leaves_no_report(
    file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    mortal = Processes("pictures.render", 1)
    mortal.call("as_svg", draw.SMALL, "first").result()
    monkeypatch.setattr(draw, "painters", lambda: mortal)
    (process,) = mortal.started
    process.kill()
    assert program.main(["report", str(file), "--output", str(tmp_path)]) == CANNOT
    assert (
        "the process locus_analysis.pictures.render ended with status -9" in capsys.readouterr().err
    )
    assert list(tmp_path.iterdir()) == []


def test_an_error_there_is_an_error_here() -> None:
    own = Processes("pictures.render", 1)
    with pytest.raises(ValueError, match="conversion failed"):
        own.call("as_svg", {"mark": 7}, "a").result()
    with pytest.raises(KeyError, match="as_gif"):
        own.call("as_gif").result()
    assert "<text" in own.call("as_svg", draw.SMALL, "a").result()


def test_an_argument_may_be_the_result_of_another_call(tmp_path: Path) -> None:
    several = Processes("pictures.render", 2)
    svg = several.call("as_svg", draw.SMALL, "a")
    given = [several.call("as_files", svg, f"{tmp_path}/{i}", 1, None) for i in range(4)]
    assert {whole.result() for whole in some(given)} == {svg.result()}
    assert len(several.started) == 2 and len(list(tmp_path.iterdir())) == 4 * 3


def test_processes_end_with_the_one_that_started_them() -> None:
    told = """
import sys
from locus_analysis.pictures import draw
draw.painters().call("as_svg", draw.SMALL, "a").result()
print(*(process.pid for process in draw.painters().started))
"""
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    for pid in some(done.stdout.split()):
        assert not Path(f"/proc/{pid}").exists()
    assert done.stderr == ""


def test_only_cpus_that_it_may_use_count() -> None:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert processes.usable_cpus() == 1
    finally:
        os.sched_setaffinity(0, before)
    assert processes.usable_cpus() == len(before)
