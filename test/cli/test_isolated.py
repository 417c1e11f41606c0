# SPDX-License-Identifier: Apache-2.0
"""When locus starts Python, it runs no code from the current folder, which others may write to, nor
code named by other software's variables."""

import os
import pkgutil
import sys

import pytest
from lacking import need_modules
from retries import tries
from some import some

pytestmark = pytest.mark.native("Python is started the same way")
QUICK = "--repeats 1 --duration 1ms --quiet --output"
# By name: the command, where RECORD is a record.
COMMANDS = {
    "summary": "summary RECORD",
    "report": "report RECORD --output .",  # starts processes that draw
    "compare": "compare RECORD RECORD",
    "page": "compare RECORD RECORD --output page.html",
    "export": "export RECORD",
    "expected": "export --expect RECORD",
    "levels": "levels RECORD",
    "sick": "sick RECORD",
    "history": "history --class RECORD",
    "validate": "validate RECORD",
    "aggregate": "aggregate RECORD --into store",
    "help": "report --help",
    "doctor": "doctor",
    "card": "suite --time-budget BUDGET --repeats 1 --duration 1ms",
}


@pytest.fixture(scope="module")
def python():
    need_modules()
    return sys.executable


@pytest.fixture(scope="module")
def record(locus, tmp_path_factory):
    file = tmp_path_factory.mktemp("record") / "a.jsonl"
    assert locus(f"latency --variant cycle --size 4K,16K,1M {QUICK}", file).status == 0
    return file


def names():
    """All modules that this Python could import: its own, and installed ones."""
    found = {module.name for module in pkgutil.iter_modules()} | set(sys.builtin_module_names)
    assert {"json", "csv", "re", "numpy", "duckdb", "jinja2", "vl_convert", "zlib"} <= found
    return {*found, "sitecustomize", "usercustomize", "locus_analysis"}


@pytest.fixture
def planted(tmp_path):
    """A folder with a file for each name. Python that runs one writes its name into `ran`."""
    folder = tmp_path / "planted"
    folder.mkdir()
    code = f"open({str(tmp_path / 'ran')!r}, 'a').write(__name__ + '\\n')\n"
    for name in some(names()):
        (folder / f"{name}.py").write_text(code)
    return folder


def ran(planted):
    file = planted.parent / "ran"
    return sorted(set(file.read_text().split())) if file.exists() else []


def test_a_planted_module_is_seen(planted, python):
    """If Python is not isolated, the effect that the other tests exclude does happen."""
    os.spawnvpe(
        os.P_WAIT,
        python,
        [python, "-c", f"import sys; sys.path.insert(0, {str(planted)!r}); import csv"],
        {"PATH": os.environ["PATH"]},
    )
    assert ran(planted) == ["csv"]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_code_of_the_current_folder_or_of_variables_is_run(
    locus, record, python, planted, command
):
    """Both at once: to obey any of these variables would end Python, or run what is planted."""
    variables = {
        "PYTHONPATH": str(planted),
        "PYTHONHOME": "/nonexistent",
        "PYTHONEXECUTABLE": "/nonexistent/python",
        "PYTHONSTARTUP": str(planted / "csv.py"),
        "PYTHONWARNINGS": "error",
        "PYTHONOPTIMIZE": "2",
    }
    for n in tries(6, "the watchdog ended the suite"):
        given = {"RECORD": str(record), "BUDGET": f"{2 << n}s"}
        words = [given.get(w, w) for w in COMMANDS[command].split()]
        done = locus(*words, cwd=planted, env={"LOCUS_PYTHON": python, **variables})
        assert ran(planted) == [] and done.status in (0, 1, 4), done
        assert "Traceback" not in done.err and "Fatal Python error" not in done.err, done
        if "locus: time budget spent: cut off while " not in done.err:
            break
    assert command != "card" or "results  " in done.out, done
    assert command != "doctor" or "has all that the report needs" in done.out, done.out
