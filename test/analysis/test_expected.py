# SPDX-License-Identifier: Apache-2.0
"""Trials that lost their valid result, and cases that cannot be decided: between two sides, and for
hosts compared with expected values."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any, Optional

import pytest
from locus_analysis import __main__ as program
from make_records import ONE, TWO, Line, Point, brief, record, run_id, write
from some import some
from test_compare import CANNOT_TELL, GOOD, WORSE, as_json, changed, told

FAULTS = ("misplaced", "wrong", "failed", "impossible")
ALL = slice(None)
TEN = slice(1, None)  # of eleven trials
FIRST = "latency/cycle size=8192"  # of these
MORE = "latency/cycle size=8192, latency/cycle size=16384 and 8 more"


def give(trial: Line, status: str, measured: bool = False) -> None:
    """Gives a trial this status, and removes its result if the program would give none."""
    trial.update(status=status, reasons=["so it is"])
    if not measured and status in ("impossible", "failed", "interrupted"):
        for metric in trial["metrics"]:
            metric.update(value=None, ci=None, with_noise=None)
        trial.update(samples=None, batches=None, placement=None, noise=None, cpus=[])


def points(shift: float = 1) -> list[Point]:
    loads = [
        Point("latency", "cycle", {"size": 4096 << i}, 1, 1e-9 * 2**i, unit="load")
        for i in range(8)
    ]
    sums = [
        Point("numa", "static", {"kernel": k}, 2, 0.1, amount=("bandwidth", "B/s", 1e9))
        for k in ("sum", "copy", "triad")
    ]
    for point in loads + sums:
        point.seconds *= shift
        point.noise = 0.001
    return loads + sums


def one(
    file: Path,
    status: Optional[str] = None,
    which: slice = ALL,
    shift: float = 1,
    machine: Any = ONE,
    **header: Any,
) -> list[Line]:
    """A run of eleven trials, some with a status."""
    name = f"{file.parent.name}/{file.name}"
    lines = record(machine, points(shift), run_id(name), seed=len(file.name), **header)
    for trial in changed(lines, "trial")[which]:
        if status:
            give(trial, status)
    file.parent.mkdir(exist_ok=True)
    write(file, brief(lines))
    return lines


def good(folder: Path, n: int = 10, shift: float = 1) -> Path:
    """Hosts of one kind, with a run each."""
    for i in range(n):
        one(folder / f"n{i}.jsonl", shift=shift * (1 + 0.001 * i), host=f"n{i}")
    return folder


def exported(capsys: pytest.CaptureFixture[str], *given: Path) -> tuple[Path, dict[str, Any], str]:
    """A file of expected values beside the first record, its contents, and the output."""
    assert program.main(["export", "--expect", *map(str, given)]) == GOOD
    out, err = capsys.readouterr()
    file = given[0].parent / "expected.json"
    file.write_text(out)
    return file, json.loads(out), err


def flat(text: str) -> str:
    """Without line breaks."""
    return " ".join(text.split())


def judged(
    capsys: pytest.CaptureFixture[str], file: Path, given: Path, status: int
) -> dict[str, str]:
    """The line of each host, without its name."""
    out, _ = told(capsys, "--baseline", file, given, status=status)
    return {line.split("  ")[0]: line.split("  ", 1)[1].strip() for line in out.splitlines()}


@pytest.mark.parametrize("status", FAULTS)
def test_trials_that_lost_their_result_are_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], status: str
) -> None:
    old = good(tmp_path / "old")
    one(tmp_path / "new" / "a.jsonl", status, TEN, host="n0")
    out, _ = told(capsys, old / "n0.jsonl", tmp_path / "new", status=WORSE)
    assert f"fault {status}: 10 trials in NEW: {MORE}" in flat(out)
    assert out.splitlines()[-1] == f"fault: {status}: 10 trials, valid in OLD"
    file, _, _ = exported(capsys, old)
    found = judged(capsys, file, tmp_path / "new", WORSE)
    assert found == {"n0": f"outside      {status}: 10 trials ({FIRST} and 9 more)"}


@pytest.mark.parametrize("measured", (False, True))
def test_trials_that_were_interrupted_cannot_be_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], measured: bool
) -> None:
    """Before the trials began, or while they were measured; the time budget ends runs so, too."""
    old = good(tmp_path / "old")
    lines = one(tmp_path / "new.jsonl", host="n0")
    for trial in changed(lines, "trial")[TEN]:
        give(trial, "interrupted", measured)
    write(tmp_path / "new.jsonl", lines)
    out, _ = told(capsys, old / "n0.jsonl", tmp_path / "new.jsonl", status=CANNOT_TELL)
    assert f"missing interrupted: 10 trials in NEW: {MORE}" in flat(out)
    assert out.splitlines()[-1] == "cannot tell: interrupted: 10 trials, valid in OLD"
    file, _, _ = exported(capsys, old)
    found = judged(capsys, file, tmp_path / "new.jsonl", CANNOT_TELL)
    assert found == {"n0": "cannot tell  interrupted: 10 trials"}


def left_out(file: Path, end: Optional[str], **header: Any) -> Path:
    """A run whose last ten trials have no line; `end`: what happens to its last line."""
    lines = one(file, **header)
    gone = changed(lines, "trial")[TEN]
    kept = [line for line in lines if line["type"] != "samples" and line not in gone]
    if end == "killed":
        del kept[-1]
    elif end == "signal":
        kept[-1]["signal"] = "SIGTERM"
    return write(file, kept)


@pytest.mark.parametrize("end", ("killed", "signal"))
def test_trials_that_a_run_left_out_cannot_be_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], end: str
) -> None:
    old = good(tmp_path / "old")
    new = left_out(tmp_path / "new.jsonl", end, host="n0")
    out, _ = told(capsys, old / "n0.jsonl", new, status=CANNOT_TELL)
    assert f"missing left out: 10 trials in NEW: {MORE}" in flat(out)
    assert out.splitlines()[-1] == "cannot tell: left out: 10 trials, valid in OLD"
    file, _, _ = exported(capsys, old)
    assert judged(capsys, file, new, CANNOT_TELL) == {"n0": "cannot tell  left out: 10 trials"}


def test_trials_that_were_not_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two sides are compared by what both have; but a host is accepted by everything that is
    expected."""
    old = good(tmp_path / "old")
    new = left_out(tmp_path / "new.jsonl", None, host="n0")
    out, _ = told(capsys, old / "n0.jsonl", new)
    assert "missing" not in out and "unmatched  numa: 3 trials only in OLD" in out
    file, _, _ = exported(capsys, old)
    assert judged(capsys, file, new, CANNOT_TELL) == {"n0": "cannot tell  left out: 10 trials"}


def test_a_host_whose_run_has_no_trial(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, _, _ = exported(capsys, good(tmp_path / "old"))
    new = good(tmp_path / "new", 2)
    lines = one(new / "n1.jsonl", host="n1")
    write(new / "n1.jsonl", lines[:1])
    assert judged(capsys, file, new, CANNOT_TELL) == {
        "n1": "cannot tell  left out: 11 trials",
        "n0": "as expected  11 metrics within their bounds",
    }


def test_a_valid_result_in_one_run_is_enough_unless_another_has_a_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = good(tmp_path / "old"), tmp_path / "new"
    file, _, _ = exported(capsys, old)
    one(new / "a.jsonl", host="n0")
    one(
        new / "b.jsonl",
        "interrupted",
        TEN,
        host="n0",
        started="2025-03-15T00:00:00.000Z",
    )
    assert "missing" not in told(capsys, old / "n0.jsonl", new)[0]
    assert judged(capsys, file, new, GOOD)["n0"].startswith("as expected")
    one(
        new / "c.jsonl",
        "wrong",
        slice(9, 11),
        host="n0",
        started="2025-03-16T00:00:00.000Z",
    )
    out, _ = told(capsys, old / "n0.jsonl", new, status=WORSE)
    assert "fault      wrong: 2 trials in NEW: numa/static kernel=copy, " in out
    assert judged(capsys, file, new, WORSE)["n0"] == (
        "outside      wrong: 2 trials (numa/static kernel=copy and 1 more);"
        " left out: 8 interrupted trials in 1 run"
    )


def test_what_neither_side_has_is_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for i in range(3):
        one(old / f"{i}.jsonl", "impossible", TEN, host=f"n{i}")
    one(new / "a.jsonl", "wrong", TEN, host="n0")
    out, _ = told(capsys, old / "0.jsonl", new)
    assert "fault" not in out and "1 metric: " in out
    file, _, _ = exported(capsys, old)
    assert judged(capsys, file, new, GOOD) == {"n0": "as expected  1 metric within their bounds"}


def test_all_became_impossible(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Then no metric is left to compare, which must not read as "nothing is slower"."""
    old = good(tmp_path / "old", 3)
    one(tmp_path / "new.jsonl", "impossible", host="n0")
    out, _ = told(capsys, old / "n0.jsonl", tmp_path / "new.jsonl", status=WORSE)
    assert "impossible: 11 trials in NEW" in out and "no metric is on both sides" in out
    made = as_json(capsys, old / "n0.jsonl", tmp_path / "new.jsonl", status=WORSE)
    assert len(made["faults"]) == 1 and not made["missing"] and made["status"] == WORSE


def test_alike_faults_of_many_hosts_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = good(tmp_path / "old", 6), good(tmp_path / "new", 6)
    for i in (1, 3, 4, 5):
        one(new / f"n{i}.jsonl", "failed", TEN, host=f"n{i}")
    out, _ = told(capsys, old, new, status=WORSE)
    assert f"fault failed: 10 trials in NEW on n1, n3 and 2 more: {MORE}" in flat(out)
    assert out.count("fault  ") == 1


# Bounds.


def test_hosts_are_held_against_values_made_of_themselves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The record says which metrics follow from the time: a single run does not show it."""
    hosts = good(tmp_path / "old")
    file, made, err = exported(capsys, hosts)
    (of_class,) = made["classes"]
    assert {m["metric"] for m in of_class["metrics"]} == {"time", "bandwidth"}
    assert len(of_class["metrics"]) == len(of_class["trials"]) == 11 and of_class["runs"] == 10
    assert {m["n"] for m in of_class["metrics"]} == {10} and not err
    assert judged(capsys, file, hosts, GOOD) == {
        f"n{i}": "as expected  11 metrics within their bounds" for i in range(10)
    }
    one(tmp_path / "slow.jsonl", shift=1.2, host="n0")
    found = judged(capsys, file, tmp_path / "slow.jsonl", WORSE)
    assert found["n0"].startswith("outside") and found["n0"].endswith("; 9 more")


def test_a_rate_of_a_bimodal_trial_is_judged_as_its_modes_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Even for a single run: the record, not the data, tells whether a metric follows the time or
    its inverse."""

    def bimodal(file: Path, **header: Any) -> None:
        lines = one(file, **header)
        trial = changed(lines, "trial")[9]
        trial.update(status="bimodal", reasons=["two modes"])
        seconds = trial["metrics"][1]["value"]
        modes = [{"time": seconds, "share": 0.5}, {"time": 2 * seconds, "share": 0.5}]
        trial["samples"]["modes"] = modes
        write(file, lines)

    for i in range(4):
        bimodal(tmp_path / "good" / f"{i}.jsonl", host=f"n{i}")
    file, made, _ = exported(capsys, tmp_path / "good")
    (copied,) = (m for m in made["classes"][0]["metrics"] if "copy" in m["name"])
    assert copied["value"] == pytest.approx(1e9 / (0.1 * 2**0.5), rel=0.02)
    assert judged(capsys, file, tmp_path / "good" / "0.jsonl", GOOD)["n0"].startswith("as expected")


@pytest.mark.parametrize("n", (1, 2))
def test_fewer_than_three_runs_have_no_bounds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], n: int
) -> None:
    hosts = good(tmp_path / "good", n)
    file, made, err = exported(capsys, hosts)
    several = f"{n} run{'s' * (n > 1)}"
    assert not made["classes"][0]["metrics"] and made["classes"][0]["runs"] == n
    assert err == f"locus: note: {ONE.model}: {several}; 3 needed: no bounds\n"
    found = judged(capsys, file, hosts, CANNOT_TELL)
    assert found["n0"] == f"cannot tell  {several}; 3 needed"
    one(tmp_path / "new.jsonl", "wrong", TEN, host="n0")
    assert judged(capsys, file, tmp_path / "new.jsonl", WORSE)["n0"].startswith(
        "outside      wrong"
    )


def test_runs_of_two_hosts_are_counted_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two hosts are too few to show how much hosts differ: then the runs' differences count."""
    hosts = good(tmp_path / "good", 2)
    for i in range(2):
        name, day = f"n{i}", f"2025-03-1{5 + i}T00:00:00.000Z"
        one(hosts / f"{i}-again.jsonl", shift=1.002, host=name, started=day)
    file, made, _ = exported(capsys, hosts)
    assert {m["n"] for m in made["classes"][0]["metrics"]} == {4}
    assert len(judged(capsys, file, hosts, GOOD)) == 2


def test_a_metric_with_too_few_values_or_too_far_apart_has_no_bounds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts = good(tmp_path / "good", 3)
    for i, factor in enumerate((1, 1000, 1e6)):
        lines = one(hosts / f"n{i}.jsonl", host=f"n{i}")
        for trial in changed(lines, "trial")[:1]:
            trial["metrics"][0]["value"] *= factor
        for trial in changed(lines, "trial")[1:2]:
            if i:
                give(trial, "interrupted")
        write(hosts / f"n{i}.jsonl", lines)
    file, made, err = exported(capsys, hosts)
    (of_class,) = made["classes"]
    assert of_class["unbounded"] == 2 and len(of_class["metrics"]) == 9
    assert "2 metrics without bounds: fewer than 3 values, or too far apart" in err
    for m in some(of_class["metrics"]):
        assert m["value"] / 10 < m["low"] < m["value"] < m["high"] < m["value"] * 10
    found = judged(capsys, file, hosts / "n0.jsonl", GOOD)
    assert found["n0"] == "as expected  9 metrics within their bounds; 2 have none"


def scale(metric: Line, factor: float) -> None:
    """Its value and interval."""
    metric["value"] *= factor
    if metric.get("ci"):
        metric["ci"] = [end * factor for end in metric["ci"]]


def noisy(file: Path, factor: float, status: str = "noisy", **header: Any) -> Path:
    """A run with one time longer by a factor."""
    lines = one(file, **header)
    trial = changed(lines, "trial")[2]
    scale(trial["metrics"][0], factor)
    trial.update(status=status, reasons=["0.36 s off the CPU"] if status == "noisy" else [])
    return write(file, lines)


def test_what_only_noise_took_out_of_its_bounds_cannot_be_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, _, _ = exported(capsys, good(tmp_path / "old"))
    new = tmp_path / "new"
    noisy(new / "a.jsonl", 1.5, host="n0")
    found = judged(capsys, file, new, CANNOT_TELL)["n0"]
    said = "cannot tell  noisy: latency/cycle/time size 16 KiB 6.0"
    assert found.startswith(said) and "expected at most 4.1" in found
    rows = json.loads(
        told(capsys, "--baseline", file, "--format", "json", new, status=CANNOT_TELL)[0]
    )
    assert [m["metric"] for m in rows[0]["noisy"]] == ["time"] and not rows[0]["outside"]
    # Another run without noise is within its bounds, though both together are not.
    later = {"host": "n0", "started": "2025-03-15T00:00:00.000Z"}
    noisy(new / "b.jsonl", 1, "ok", **later)
    assert judged(capsys, file, new, CANNOT_TELL)["n0"].startswith(said[:22])
    # Outside without noise, too; only the noisy run is within.
    noisy(new / "a.jsonl", 1, host="n0")
    noisy(new / "b.jsonl", 1.5, "ok", **later)
    assert judged(capsys, file, new, WORSE)["n0"].startswith("outside      latency/cycle/time")


def test_zero_is_better_than_any_bound_or_worse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Zero has no logarithm: a share of zero hits was once taken for an unmeasured one."""

    def with_shares(file: Path, kept: float, lost: float, **header: Any) -> None:
        lines = one(file, **header)
        for trial in changed(lines, "trial")[8:]:
            described = {"unit": "1", "ci": None, "with_noise": None, "why": None}
            for name, better, value in (
                ("kept", "higher", kept),
                ("lost", "lower", lost),
            ):
                metric = {
                    "name": name,
                    "better": better,
                    "kind": "value",
                    "value": value,
                }
                trial["metrics"].append({**described, **metric})
        write(file, lines)

    for i in range(5):
        with_shares(tmp_path / "good" / f"{i}.jsonl", 0.5, 0.1, host=f"n{i}")
    file, made, _ = exported(capsys, tmp_path / "good")
    assert len(made["classes"][0]["metrics"]) == 17
    with_shares(tmp_path / "fine.jsonl", 0.5, 0, host="n0")
    found = judged(capsys, file, tmp_path / "fine.jsonl", GOOD)
    assert found == {"n0": "as expected  17 metrics within their bounds"}
    with_shares(tmp_path / "none.jsonl", 0, 0.1, host="n0")
    found = judged(capsys, file, tmp_path / "none.jsonl", WORSE)
    assert found["n0"].startswith("outside      numa/static/kept kernel sum 0, expected at least")


def test_two_machines_of_one_name_are_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = tmp_path / "both"
    headers = [
        one(both / f"{i}.jsonl", machine=m, host="localhost")[0] for i, m in enumerate((ONE, TWO))
    ]
    names = [f"localhost ({h['machine']['class'][:8]})" for h in headers]
    file, made, _ = exported(capsys, both)
    assert sorted(c["hosts"] for c in made["classes"]) == sorted([name] for name in names)
    assert set(judged(capsys, file, both, CANNOT_TELL)) == set(names)
    made = as_json(capsys, both, both)
    assert made["unit"] == "node" and made["old"]["units"] == 2


def test_files_that_an_earlier_version_wrote(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a list of trials: those of their metrics were valid. An editor put a mark first."""
    file, made, _ = exported(capsys, good(tmp_path / "old"))
    made = copy.deepcopy(made)
    for key in ("trials", "runs", "unbounded"):
        del made["classes"][0][key]
    file.write_text("\ufeff" + json.dumps(made), encoding="utf-8")
    one(tmp_path / "new.jsonl", "wrong", TEN, host="n0")
    found = judged(capsys, file, tmp_path / "new.jsonl", WORSE)["n0"]
    assert found.startswith("outside      wrong: 10 trials (latency/cycle/time size 8 KiB and 9")


def test_the_facts_of_a_class(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Facts that good machines have in common; bounds for those in which equal machines differ."""
    module = {"type": "DDR5", "size": 1 << 35, "speed": 4800000000, "configured_speed": None}
    module["configured_speed_why"] = "the DMI table does not say"
    for i in range(3):
        file = tmp_path / "old" / f"{i}.jsonl"
        lines = one(file, host=f"n{i}")
        machine = changed(lines, "header")[0]["machine"]
        machine["memory"]["total"] = 1000000 + i
        machine["memory"]["modules"] = [dict(module, count=8)]
        machine["numa_balancing"] = 0
        machine["frequency"]["governor"] = "performance" if i else "powersave"
        machine["errors"] = {"corrected": 5000 * i, "uncorrected": 0, "machine_checks": i // 2}
        write(file, brief(lines))
    _, told, _ = exported(capsys, tmp_path / "old")
    (of_class,) = told["classes"]
    assert told["schema"] == "locus-expected-1.1"
    assert of_class["facts"]["memory.total"] == {"least": 980000}
    assert of_class["facts"]["errors.corrected"] == {"most": 10000}
    assert of_class["facts"]["errors.uncorrected"] == {"most": 0}
    assert of_class["facts"]["errors.machine_checks"] == {"most": 1}
    assert of_class["facts"]["memory.modules.0.count"] == 8
    assert of_class["facts"]["numa_balancing"] == 0
    assert of_class["facts"]["memory.thp.allowed"] is True
    assert of_class["facts"]["cgroup.cpu_quota"] is None
    assert "frequency.governor" not in of_class["facts"]
    assert "memory.modules.0.configured_speed" not in of_class["facts"]


def test_the_trials_of_health(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One trial for each component: the one with the narrowest bounds."""
    for i in range(3):
        file = tmp_path / "old" / f"{i}.jsonl"
        lines = one(file, host=f"n{i}", shift=1 + 0.001 * i)
        for trial in changed(lines, "trial"):
            if trial["benchmark"] == "latency":
                trial["parameters"]["chains"] = 1
        for trial in changed(lines, "trial")[-2:]:  # which makes its bounds wide
            trial["metrics"][0]["value"] *= 1 + 0.2 * i
        write(file, brief(lines))
    _, told, _ = exported(capsys, tmp_path / "old")
    (of_class,) = told["classes"]
    asked = {a["component"]: a for a in some(of_class["health"])}
    assert len(asked) == len(of_class["health"])
    assert {"L1", "memory bandwidth"} <= asked.keys()
    widths = {(m["trial"], m["metric"]): m["high"] / m["low"] for m in of_class["metrics"]}
    names = {m["trial"]: m["name"] for m in of_class["metrics"]}
    bandwidth = asked["memory bandwidth"]
    assert names[bandwidth["trial"]].startswith("numa/static/")
    assert widths[bandwidth["trial"], bandwidth["metric"]] == min(
        width for (trial, _), width in widths.items() if names[trial].startswith("numa/")
    )
    assert all((a["trial"], a["metric"]) in widths for a in some(of_class["health"]))
