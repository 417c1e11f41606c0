# SPDX-License-Identifier: Apache-2.0
"""The command sick on records: verdicts, exit statuses, formats, and faulty input."""

from __future__ import annotations

import copy
import itertools
import json
import random
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from locus_analysis import __main__ as program
from locus_analysis.cluster import known
from make_records import ONE, TWO, Line, Machine, brief, latency, numa, record, run_id, write
from make_records.trials import Point

Factor = Callable[[str, Point], float]
Change = Callable[[str, list[Line]], None]


def same(_: str, __: Any) -> float:
    return 1.0


def nothing(_: str, __: list[Line]) -> None:
    return None


def points(machine: Machine) -> list[Point]:
    chase = [p for p in latency(machine, octave=1) if p.variant == "cycle"]
    return chase + numa(machine, kernels=("sum",))


def campaign(
    folder: Path,
    names: list[str],
    factor: Factor = same,
    change: Change = nothing,
    machine: Machine = ONE,
    runs: int = 1,
) -> Path:
    """Records of nodes that differ by 0.5 % of noise, and by `factor`; `change` edits the lines.
    Samples are most of a record, and tell nothing of nodes: only the first one's are written."""
    folder.mkdir(parents=True, exist_ok=True)
    base = points(machine)
    for name, i in itertools.product(names, range(runs)):
        rng = random.Random(f"{folder.name} {name} {i}" if i else f"{folder.name} {name}")
        own = [
            replace(copy.copy(p), seconds=p.seconds * factor(name, p) * rng.gauss(1, 0.005))
            for p in base
        ]
        lines = record(machine, own, run_id(f"{folder} {name} {i}"), host=name)
        change(name, lines)
        if name != names[0]:
            lines = brief(lines)
        write(folder / f"{name}{'-' * (i > 0)}{i or ''}.jsonl", lines)
    return folder


def named(n: int, letter: str = "n") -> list[str]:
    return [f"{letter}{i:03}" for i in range(n)]


def slow_memory(name: str, p: Point) -> float:
    return 1.14 if name == "n003" and p.benchmark == "numa" else 1.0


def sick(capsys: pytest.CaptureFixture[str], *words: Any) -> tuple[int, str, str]:
    try:
        status = program.main(["sick", *map(str, words)])
    except SystemExit as end:  # of argparse
        status = int(end.code or 0)
    out, err = capsys.readouterr()
    return status, out, err


def verdicts(out: str) -> dict[str, str]:
    """By node, of --format json."""
    return {f["host"]: f["verdict"] for f in json.loads(out)["findings"]}


def test_healthy_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = sick(capsys, campaign(tmp_path / "a", named(10)))
    assert status == 0 and "10 nodes, 1 machine class" in out and "no node is sick" in out


def test_suspected_then_sick(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One campaign suspects, and says how to continue; a second one, of suspects alone, decides."""
    first = campaign(tmp_path / "a", named(10), slow_memory)
    status, out, _ = sick(capsys, first)
    assert status == 4 and "SUSPECT  n003  memory bandwidth 0.88 of its class" in out
    assert f"sbatch --nodelist=n003 jobs/suite.slurm --again {first}" in out
    with monkeypatch.context() as narrow:
        narrow.setenv("COLUMNS", "80")
        *_, foot, more = sick(capsys, first)[1].splitlines()
    assert foot.startswith("False alarms to expect: ") and "locus help suspect" in f"{foot} {more}"
    assert max(len(foot), len(more)) <= 80
    status, out, _ = sick(capsys, first, "--again-list")
    assert status == 4 and out == "n003\n"
    campaign(first / "again-7", ["n003"], slow_memory, runs=3)
    status, out, _ = sick(capsys, first)
    assert status == 1 and "SICK     n003  memory bandwidth 0.88 of its class" in out
    assert "in 2 campaigns" in out and "measure again" not in out


def test_not_confirmed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = campaign(tmp_path / "a", named(10), slow_memory)
    campaign(first / "again-7", ["n003"])
    status, out, _ = sick(capsys, first)
    assert status == 0 and "no node is sick" in out and "worth a look: 1 (--all)" in out
    _, out, _ = sick(capsys, first, "--all")
    assert "(look)   n003  memory bandwidth" in out


@pytest.mark.parametrize(("jobs", "said"), [(1, "once: 2 more runs"), (2, "by 2 runs: 1 more run")])
def test_too_few_fresh_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], jobs: int, said: str
) -> None:
    """One run confirms real runs of healthy nodes more often than one would think."""
    first = campaign(tmp_path / "a", named(10), slow_memory)
    for job in range(jobs):
        campaign(first / f"again-{job}", ["n003"], slow_memory)
    status, out, _ = sick(capsys, first)
    assert (
        status == 4
        and "SUSPECT  n003" in out
        and f"measured again {said} needed" in " ".join(out.split())
    )
    assert sick(capsys, first, "--again-list")[1] == "n003\n"
    campaign(first / "last", ["n003"], slow_memory, runs=3 - jobs)
    assert sick(capsys, first)[0] == 1
    campaign(first / "well", ["n003"])  # one healthy run does not clear it again
    assert sick(capsys, first)[0] == 1


def test_confirmed_once_and_then_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = campaign(tmp_path / "a", named(10), slow_memory)
    campaign(first / "again-1", ["n003"], slow_memory)
    campaign(first / "again-2", ["n003"])
    status, out, _ = sick(capsys, first)
    assert status == 0 and "worth a look: 1" in out


def test_noisy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A node with scattered runs is reported with the other work on its CPUs."""
    rng = random.Random(1)

    def restless(name: str, _: Point) -> float:
        return rng.gauss(1, 0.05) if name == "n003" else 1.0

    folder = campaign(tmp_path / "a", named(10), restless, runs=3)
    for file in folder.iterdir():
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        for line in lines:
            if line["type"] == "trial":
                line["noise"] = {"off_cpu": 0, "run_delay": 0, "foreign": 0.001, "wall": 0.1}
                if file.name.startswith("n001"):
                    line["kernel_unknown"] = ["steal"]
                if file.name.startswith("n003"):
                    line["kernel"], line["noise"]["foreign"] = {"steal": 0.02}, 0.005
        file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    _, out, _ = sick(capsys, folder)
    (found,) = re.findall(r"NOISY    n003  (.*\n.*)", out)
    said = " ".join(found.split())
    assert re.match(r"its runs scatter \d+ times as much as others'; other processes had", said)
    assert "had 5 % (class: 1 %), the host 20 % (class: 0 %) of its CPU time" in said


def test_effect(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An effect that is small for some components is large for others."""
    for name in "ab":
        campaign(tmp_path / name, named(12), slow_memory, runs=3)
    assert sick(capsys, tmp_path)[0] == 1
    status, out, _ = sick(capsys, tmp_path, "--effect", "memory bandwidth=20%", "--format", "json")
    assert status == 0 and verdicts(out) == {}
    assert [f["host"] for f in json.loads(out)["look"]] == ["n003"]
    status, _, err = sick(capsys, tmp_path, "--effect", "bandwidth=5%")
    assert status == 2 and "components: clock, L1" in err


def test_half_an_l3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def less(name: str, p: Point) -> float:
        size = p.parameters["size"]
        return (
            2.0
            if name == "n001" and p.benchmark == "latency" and 8 << 20 < size < 32 << 20
            else 1.0
        )

    for name in "ab":
        campaign(tmp_path / name, named(10), less, runs=3)
    status, out, _ = sick(capsys, tmp_path)
    assert status == 1 and "SICK     n001  L3 " in out


def test_odd_setting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def governed(name: str, lines: list[Line]) -> None:
        if name == "n004":
            lines[0]["machine"]["frequency"]["governor"] = "powersave"

    machine = replace(ONE, governor="performance")
    folder = campaign(tmp_path / "a", named(10), change=governed, machine=machine)
    status, out, _ = sick(capsys, folder)
    assert status == 1
    assert "ODD      n004  no value differs; differs: frequency.governor powersave (9: perf" in out


def without_huge_pages(name: str, p: Point) -> float:
    """Working sets beyond L2 take 15 % longer, and bandwidth is lower by the same factor."""
    huge = name == "n003" and p.parameters["pages"] == "thp"
    return 1.15 if huge and p.parameters["size"] > 4 << 20 else 1.0


def half_of_the_cpus(name: str, p: Point) -> float:
    return 2.0 if name == "n003" and p.threads > 1 else 1.0


SET_UP = [
    (without_huge_pages, ("memory", "thp", "enabled"), "never", "huge pages"),
    (without_huge_pages, ("memory", "thp", "allowed"), False, "huge pages"),
    (half_of_the_cpus, ("cgroup", "cpu_quota"), 1.0, "memory bandwidth"),
]
USUALLY = {"enabled": "madvise", "allowed": "true", "cpu_quota": "none"}


@pytest.mark.parametrize(("factor", "path", "value", "component"), SET_UP)
def test_a_node_that_is_set_up_differently(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    factor: Factor,
    path: tuple[str, ...],
    value: object,
    component: str,
) -> None:
    """Huge pages off (THP), half of the CPUs (cpu.max): only this node is named, with its slow
    components and the setting."""

    def differently(name: str, lines: list[Line]) -> None:
        if name == "n003":
            at = lines[0]["machine"]
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = value

    first = campaign(tmp_path / "a", named(10), factor, differently)
    campaign(first / "again-7", ["n003"], factor, differently, runs=3)
    status, out, _ = sick(capsys, first, "--format", "json")
    (found,) = json.loads(out)["findings"]
    assert status == 1 and (found["verdict"], found["host"]) == ("SICK", "n003")
    assert component in (found["component"], *found["reason"].removeprefix("also ").split(", "))
    setting = ".".join(path).replace("_", " ")
    own = "false" if value is False else value
    assert found["differs"] == [f"{setting} {own} (9: {USUALLY[path[-1]]})"]


def test_trials_that_show_no_component(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two chains at once; settings are told all the same."""
    two = [replace(p, parameters={**p.parameters, "chains": 2}) for p in points(ONE)[:4]]
    monkeypatch.setattr(sys.modules[__name__], "points", lambda _: two)

    def differently(name: str, lines: list[Line]) -> None:
        if name == "n003":
            lines[0]["machine"]["memory"]["thp"]["enabled"] = "never"

    folder = campaign(tmp_path, named(8), change=differently)
    status, out, _ = sick(capsys, folder, "--format", "json")
    found = json.loads(out)["findings"]
    assert status == 4 and {f["verdict"] for f in found} == {"UNJUDGED"}
    assert {f["reason"] for f in found} == {"none of its trials shows a component of a node"}
    told = {f["host"]: f["differs"] for f in found if f["differs"]}
    assert told == {"n003": ["memory.thp.enabled never (7: madvise)"]}


def test_records_without_trials(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line for line in record(ONE, [], run_id("none")) if line["type"] in ("header", "end")]
    status, _, err = sick(capsys, write(tmp_path / "none.jsonl", lines))
    assert status == 2 and err == "locus: no trial in these records\n"


def test_one_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All of its components beside its class, the worst first, and the settings in which it
    differs."""

    def governed(name: str, lines: list[Line]) -> None:
        if name == "n003":
            lines[0]["machine"]["frequency"]["governor"] = "powersave"

    machine = replace(ONE, governor="performance")
    folder = campaign(tmp_path / "a", named(10), slow_memory, governed, machine)
    status, out, _ = sick(capsys, folder, "--node", "n003")
    lines = out.splitlines()
    assert status == 4 and len(lines) <= 20 and lines[0].startswith("n003, one of 10 nodes")
    assert lines[1].startswith("SUSPECT: memory bandwidth 0.88 of its class")
    assert lines[4].split()[:3] == ["memory", "bandwidth", "1.141"]
    assert lines[-1] == "differs: frequency.governor powersave (9: performance)"
    status, out, _ = sick(capsys, folder, "--node", "n003", "--format", "json")
    found = json.loads(out)
    worst = found["components"][0]
    assert status == 4 and worst["component"] == "memory bandwidth" and worst["score"] > 1
    assert found["differs"] == ["frequency.governor powersave (9: performance)"]
    status, out, _ = sick(capsys, folder, "--node", "n001")
    assert status == 0 and "nothing found" in out
    assert sick(capsys, folder, "--node", "n099")[0] == 2
    assert sick(capsys, folder, "--node", "n003", "--format", "csv")[0] == 2


def test_machine_of_its_own_class(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A node that lacks memory has another class: it is odd, and judged against the others."""

    def lacking(name: str, lines: list[Line]) -> None:
        if name == "n003":
            lines[0]["machine"]["class"] = "0" * 16

    for name in "ab":
        campaign(tmp_path / name, named(10), slow_memory, lacking)
    status, out, _ = sick(capsys, tmp_path, "--format", "json")
    (found,) = json.loads(out)["findings"]
    assert status == 1 and (found["verdict"], found["host"]) == ("ODD", "n003")
    assert found["component"] == "memory bandwidth" and 1.1 < found["ratio"] < 1.2
    status, out, _ = sick(capsys, tmp_path, "--node", "n003")
    assert status == 1 and out.startswith("n003, beside the nearest class: 9 nodes with")
    assert re.search(r"\nmemory bandwidth +1\.1\d\d ", out)


def test_two_classes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """15 % apart, 60 : 40: nobody is named."""
    campaign(tmp_path / "a", named(12))
    campaign(tmp_path / "a", named(8, "m"), lambda _, __: 1.15, machine=replace(TWO, host="m"))
    status, out, _ = sick(capsys, tmp_path)
    assert status == 0 and "20 nodes, 2 machine classes" in out and "no node is sick" in out


def test_class_of_four(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = sick(capsys, campaign(tmp_path / "a", named(4)))
    assert status == 4 and "UNJUDGED n000, n001, n002, n003  4 nodes of its class, 5 needed" in out


def test_wrong_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The gravest verdict, however fast the node is."""

    def wrong(name: str, lines: list[Line]) -> None:
        if name == "n002":
            trial = next(line for line in lines if line["type"] == "trial")
            trial.update({"status": "wrong", "reasons": ["the sum is 12.5, expected 13"]})

    status, out, _ = sick(capsys, campaign(tmp_path / "a", named(10), change=wrong))
    assert status == 1 and "WRONG    n002  latency: 1 wrong" in out


def test_lost_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """locus-job says which nodes it had; the last line of a node counts."""
    folder = campaign(tmp_path / "a", named(10))
    said = "".join(f"{name}\tcomplete\n" for name in named(10))
    (folder / "nodes.tsv").write_text(f"n011\tcut off\nn012\tcut off\n{said}n012\tcomplete\n")
    status, out, _ = sick(capsys, folder)
    assert status == 4 and "NO DATA  n011  cut off" in out and "n012" not in out


def test_bad_files_beside_good_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Bad files are named, and the rest is judged."""
    folder = campaign(tmp_path / "a", named(10), slow_memory)
    cut = folder / "n001.jsonl"
    cut.write_bytes(cut.read_bytes()[:-200])
    (folder / "n777.jsonl").write_text("no record\n")
    (folder / "n778.jsonl").write_text("")
    status, out, err = sick(capsys, folder)
    assert status == 4 and "SUSPECT  n003" in out and "10 nodes" in out
    assert "n777.jsonl" in err and "n778.jsonl" in err
    assert sick(capsys, tmp_path / "nowhere")[0] == 2


def test_one_host_of_two_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that is present twice counts once."""
    folder = campaign(tmp_path / "a", named(10), slow_memory)
    (folder / "copy.jsonl").write_bytes((folder / "n003.jsonl").read_bytes())
    status, out, _ = sick(capsys, folder)
    assert status == 4 and "10 nodes" in out


@pytest.mark.parametrize("form", ["csv", "md", "json"])
def test_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    _, out, _ = sick(capsys, campaign(tmp_path / "a", named(10), slow_memory), "--format", form)
    assert "SUSPECT" in out and "n003" in out and "memory bandwidth" in out
    if form == "csv":
        assert out.splitlines()[0].startswith("verdict,host,component,ratio")


def test_suppressed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = campaign(tmp_path / "a", named(10), slow_memory)
    file = tmp_path / "known.csv"

    def given(text: str) -> tuple[int, str, str]:
        file.write_text(text)
        return sick(capsys, folder, "--suppress", file)

    status, out, err = given("# waits for a DIMM\nn[002-003],memory bandwidth,DIMM,2999-01-01\n")
    assert status == 0 and "no node is sick" in out and "1 known finding is left out" in err
    assert given("n003,*,DIMM,2020-01-01\n")[0] == 4  # this day is in the past
    assert given("n003,L3,DIMM,2999-01-01\n")[0] == 4  # another component
    for line, why in (
        ("n003,*,2999-01-01", "3 fields, 4 expected"),
        ("n003,cache,x,2999-01-01", "no component 'cache'"),
        ("n003,*,x,tomorrow", "'tomorrow' is no day"),
        ("n[x],*,x,2999-01-01", "expected numbers and ranges"),
    ):
        status, _, err = given(line + "\n")
        assert status == 2 and why in err, err


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ["n1"]),
        ("n[001-003,7]-ib,m1", ["n001-ib", "n002-ib", "n003-ib", "n7-ib", "m1"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
    ],
)
def test_host_lists(text: str, names: list[str]) -> None:
    assert known.hosts(text) == names


def test_one_name_twice_and_two_names_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the machines' ids: both are named, and the rest is judged."""

    def ids(name: str, lines: list[Line]) -> None:
        number = {"other": 1, "new": 2}.get(name, int(name[1:]) if name[1:].isdigit() else 0)
        lines[0]["machine"]["id"] = f"fnv1a64:{number:08x}00000000"
        lines[0]["host"] = "n004" if name == "other" else name

    campaign(tmp_path / "a", [*named(10), "new"], slow_memory, ids)
    (tmp_path / "a" / "n001.jsonl").unlink()
    campaign(tmp_path / "a", ["other"], change=ids)
    status, out, err = sick(capsys, tmp_path / "a")
    assert status == 4 and "11 nodes, 1 machine class" in out and "SUSPECT  n003" in out
    assert "n004 is the name of 2 machines, or of one that was changed: n004 (id 00000001)" in err
    assert "n002 and new have one machine id: a host that was renamed" in err


def test_the_page_of_one_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = campaign(tmp_path / "a", named(10), slow_memory)
    page = tmp_path / "page.html"
    assert (
        program.main(["report", "--pictures", "--node", "n003", "--output", str(page), str(folder)])
        == 0
    )
    text = page.read_text(encoding="utf-8")
    assert '<h2 id="beside">n003 beside its class</h2>' in text and "n004" not in text
    assert "one of 10 nodes with AMD EPYC 7R13" in text
    assert "SUSPECT: memory bandwidth 0.88 of its class" in text
    rows = re.findall(r"<tr><td>([\w ]+)</td><td class=\"number\">(1\.\d+)</td>", text)
    assert dict(rows)["memory bandwidth"][:4] == "1.14" and dict(rows)["L1"][:3] in ("0.9", "1.0")
    drawn = json.loads((tmp_path / "page-pictures" / "beside.vl.json").read_text())
    assert "n003 beside 10 hosts" in json.dumps(drawn)
    capsys.readouterr()
    assert program.main(["report", "--node", "n1", "--output", str(page), str(folder)]) == 2
    assert "--node n1: these records have no such node; did you mean n0" in capsys.readouterr().err
    assert program.main(["report", "--node", "x", "--output", str(page), str(folder)]) == 2
    assert "no such node; they are of n000, n001" in capsys.readouterr().err
    both = tmp_path / "both.jsonl"
    both.write_text("".join(f.read_text() for f in sorted(folder.glob("*.jsonl"))))
    words = ["report", "--node", "n003", "--force", "--output", str(page), str(both)]
    assert program.main(words) == 0 and "n004" not in page.read_text(encoding="utf-8")
