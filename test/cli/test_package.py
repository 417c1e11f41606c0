# SPDX-License-Identifier: Apache-2.0
"""The Python package, installed by pip and imported by other programs, with a record that the
built program wrote in this test."""

import importlib.util
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
from typing import Any

import pytest
from lacking import lacking, need_modules
from some import some

SOURCE = pathlib.Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.native("Python reads what was written, not the program")


@pytest.fixture(scope="session")
def record(locus, tmp_path_factory):
    """Two benchmarks, one of which has ratios; with one sample per trial, so that the record is
    complete on a busy machine."""
    need_modules()
    file = tmp_path_factory.mktemp("package") / "latency.jsonl"
    once = "--repeats 1 --duration 1ms --time-budget 60s --counters faults --quiet --output"
    done = locus(f"suite latency sharing --profile quick {once}", file)
    assert done.status in (0, 1), done
    return file


@pytest.fixture(scope="session")
def frames(record):
    if not importlib.util.find_spec("pandas"):
        lacking("pandas", "python -m pip install -r analysis/requirements-dev.txt")
    import locus_analysis

    return locus_analysis.load(record)


def run(*command, **environment):
    done = subprocess.run(
        list(map(str, command)),
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "", **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.returncode, done.stdout, done.stderr


VERSIONS = """
import importlib.metadata as m, locus_analysis, sys
print(locus_analysis.__file__)
print(m.version("locus-analysis"))
for requirement in m.requires("locus-analysis"):
    print(requirement)
for name in sys.argv[1:]:
    print(name + "==" + m.version(name))
"""
TABLES = """
import locus_analysis, sys
records = locus_analysis.load(sys.argv[1])
print(*(len(t) for t in (records.runs, records.trials, records.metrics, records.ratios,
    records.counters, records.samples)))
"""


def test_it_is_installed_by_pip_and_works_with_the_oldest_modules_it_may(
    locus, record, frames, tmp_path
):
    lowest = pathlib.Path(os.environ.get("BUILD", "/nonexistent"), "lowest/bin/python")
    if not lowest.exists():
        lacking("build/lowest, a venv with the lower bounds of the modules,", "./quickstart check")
    # pip leaves files beside the package; schema and glossary are links to doc/.
    for folder in ("analysis", "doc/schema", "doc/methods"):
        shutil.copytree(
            SOURCE / folder,
            tmp_path / folder,
            symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"),
        )
    pip = [lowest, "-m", "pip", "install", "--no-index", "--no-deps", "--no-build-isolation"]
    status, _, err = run(
        *pip, "--no-compile", "--no-warn-script-location", "--prefix", tmp_path / "prefix",
        tmp_path / "analysis",
    )  # fmt: skip
    assert status == 0, err
    (site,) = tmp_path.glob("prefix/lib/python3*/site-packages")
    program = tmp_path / "prefix/bin/locus-analysis"

    bounds = {
        name: version
        for name, version, where in re.findall(
            r"^([\w-]+)==([\d.]+)(.*)$", run(sys.executable, SOURCE / "test/lowest")[1], re.M
        )
        if not where or holds(where)
    }
    assert {"duckdb", "vl-convert-python", "numpy", "pandas", "setuptools"} < set(bounds)
    status, out, err = run(lowest, "-c", VERSIONS, *bounds, PYTHONPATH=str(site))
    assert status == 0, err
    file, version, *others = out.splitlines()
    assert pathlib.Path(file).parent == site / "locus_analysis"
    assert version == locus("--version").out.split()[1]
    installed = dict(line.split("==") for line in others[-len(bounds) :])
    for name, bound in some(bounds.items()):
        assert installed[name] in (bound, f"{bound}.0"), name
    assert "jinja2>=3.1" in others

    page = tmp_path / "page.html"
    status, out, err = run(
        program, "report", "--pictures", "--output", page, record, PYTHONPATH=str(site)
    )
    assert (status, out.splitlines()[0]) == (0, str(page)), err
    text = page.read_text(encoding="utf-8")
    for benchmark in some(set(frames.trials.benchmark)):
        assert benchmark in text
    assert some((tmp_path / "page-pictures").glob("*.svg"))
    status, out, err = run(lowest, "-c", TABLES, record, PYTHONPATH=str(site))
    assert status == 0, err
    tables = [frames.runs, frames.trials, frames.metrics, frames.ratios]
    assert out.split() == [str(len(t)) for t in (*tables, frames.counters, frames.samples)]
    status, out, err = run(program, "report", "/nonexistent", PYTHONPATH=str(site))
    assert (status, out) == (2, "") and err.startswith("locus: /nonexistent: cannot be read")
    assert run(program, "--help", PYTHONPATH=str(site))[1].startswith("usage: locus-analysis ")


def holds(where):
    """Whether a requirement's condition on the version of Python holds here."""
    ((operator, version),) = re.findall("(<|>=) *[\"'](.+)[\"']", where)
    older = sys.version_info[:2] < tuple(map(int, version.split(".")))
    return older == (operator == "<")


def test_data_frames_hold_what_the_record_says(record, read, frames):
    lines = read(record)
    header = lines[0]
    told = {line["id"]: line for line in lines if line["type"] == "trial"}
    assert frames.runs[["run", "host"]].values.tolist() == [[header["run"], header["host"]]]
    assert frames.runs.command[0].tolist() == header["command"]

    assert sorted(frames.trials.trial) == sorted(told)
    for row in some(frames.trials.to_dict("records")):
        line = told[row["trial"]]
        for key in ("benchmark", "variant", "threads", "bind", "status"):
            assert row[key] == line[key]
        assert list(row["reasons"]) == line["reasons"]
        # A parameter with the name of another column gets the prefix parameter_.
        own = {key: row.get(f"parameter_{key}", row.get(key)) for key in line["parameters"]}
        assert own == line["parameters"]
    named = {name for line in told.values() for name in line["parameters"]}
    columns = {name.replace("parameter_", "") for name in frames.trials}
    assert named < columns and "size" in named

    values = {}
    for row in frames.metrics.to_dict("records"):
        values[row["trial"], row["metric"]] = row["value"], row["low"], row["high"], row["unit"]
    expected = {}
    for line in told.values():
        for told_of in line["metrics"]:
            numbers = [told_of["value"], *(told_of["ci"] or [None, None])]
            expected[line["id"], told_of["name"]] = (*map(real, numbers), told_of["unit"])
    assert set(values) == set(expected)
    for metric, value in some(values.items()):
        assert value[3] == expected[metric][3]
        assert value[:3] == pytest.approx(expected[metric][:3], nan_ok=True, rel=1e-12, abs=0)

    always = next(line for line in lines if line["type"] == "benchmark")["counters"]["kernel"]
    counted = [
        (line["id"], event["name"])
        for line in told.values()
        for event in [*line["counters"], *(always if line["samples"] else [])]
    ]
    assert sorted(zip(frames.counters.trial, frames.counters.counter)) == sorted(some(counted))
    ratios = [(line["id"], r["name"]) for line in told.values() for r in line["ratios"]]
    assert sorted(zip(frames.ratios.trial, frames.ratios.ratio)) == sorted(some(ratios))
    kept = sum(len(line["times"] or ()) for line in lines if line["type"] == "samples")
    assert len(frames.samples) >= kept > 0


def real(value):
    return math.nan if value is None else value


def test_a_table_of_the_report_may_be_asked_for_by_sql(frames):
    found = frames.sql("SELECT count(*) AS n, count(DISTINCT benchmark) AS b FROM headline")
    assert found.n[0] == len(frames.trials) and found.b[0] == frames.trials.benchmark.nunique()


def test_the_example_of_the_document_draws(record, frames, tmp_path, monkeypatch):
    try:
        import matplotlib
    except ImportError:
        lacking("matplotlib", "python -m pip install -r analysis/requirements-dev.txt")
    matplotlib.use("agg")
    text = (SOURCE / "doc/frames.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    monkeypatch.chdir(tmp_path)
    # With one sample, few trials have these statuses.
    assert "status in ('ok', 'unconverged')" in example
    example = example.replace(" and status in ('ok', 'unconverged')", " and benchmark == 'latency'")
    (tmp_path / "latency.jsonl").write_bytes(record.read_bytes())
    names: dict[str, Any] = {}
    exec(example, names)
    lines = names["axes"].get_lines()
    drawn = sum(len(line.get_xdata()) for line in some(lines))
    latency = frames.metrics.query("metric == 'time' and benchmark == 'latency'")
    assert drawn == latency.pages.notna().sum() > 1
    assert (tmp_path / "latency.png").stat().st_size > 5000


def test_a_record_is_read_by_duckdb_alone(record, read, tmp_path, monkeypatch):
    import duckdb

    (example,) = re.findall(
        r"^```sql\n(.*?)^```",
        (SOURCE / "doc/frames.md").read_text(encoding="utf-8"),
        re.M | re.S,
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "latency.jsonl").write_bytes(record.read_bytes())
    expected = [
        (line["id"], line["status"], next(m for m in line["metrics"] if m["name"] == "time"))
        for line in read(record)
        if line["type"] == "trial"
    ]
    assert sorted(duckdb.execute(example).fetchall()) == sorted(
        some((trial, status, time["value"]) for trial, status, time in expected)
    )


def test_what_is_missing_or_no_record_is_said(frames, tmp_path):
    from locus_analysis import load, records

    with pytest.raises(records.BadInput, match="is empty"):
        (tmp_path / "empty").touch()
        load([tmp_path / "empty"])
    told = "import sys; sys.modules['pandas'] = None; import locus_analysis as a; a.load('x')"
    status, _, err = run(sys.executable, "-c", told)
    assert status == 1 and "load() needs pandas: pip install 'locus-analysis[frames]'" in err
