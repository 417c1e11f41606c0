# SPDX-License-Identifier: Apache-2.0
"""The output of a run: rows, headings, reasons, and the estimated time, as a table for users and
in formats for programs."""

import csv
import io
import json
import os
import pty
import re
import select

import pytest
from some import some

NOISY = "dummy --variant steady,wrong,impossible --delay 1,2 --threads 1 --repeats 8"


def rows(out):
    return re.findall(r"(?m)^(steady|wrong|impossible) +(1|2) +(.*?) +(\w+)$", out)


def test_a_line_for_each_trial_and_each_reason_once(locus):
    done = locus(NOISY)
    assert done.status == 1 and len(rows(done.out)) == 6, done.out
    told = [(name, status) for name, _, _, status in rows(done.out) if name != "steady"]
    assert len(told) == 4 and not [pair for pair in told if pair[0] != pair[1]]
    assert len(re.findall("(?m)^2 impossible: it was told to be impossible$", done.out)) == 1
    assert len(re.findall("(?m)^2 wrong: ", done.out)) == 1
    assert "trial " not in done.out.split("\n\n", 1)[1].split("\n", 3)[2], "no trial's own name"


def test_a_number_that_differs_is_told_from_the_least_to_the_most(locus):
    pages = [size // os.sysconf("SC_PAGESIZE") for size in (1 << 20, 1 << 21)]
    done = locus("dummy --variant misplaced --size 1M,2M --threads 1 --repeats 2")
    least_to_most = "{} to {}".format(*pages)
    assert f"2 misplaced: {least_to_most} of {least_to_most} pages" in " ".join(done.out.split())


def test_what_all_trials_share_is_in_the_heading_alone(locus):
    head, *table = locus("dummy --variant steady --delay 1,2 --threads 1 --repeats 3").out.split(
        "\n\n", 1
    )
    lines = table[0].splitlines()
    allowed = "CPUs? [0-9,-]+"
    assert re.fullmatch(f"dummy: 2 trials, profile quick, about 1 s, on {allowed}", head)
    shared = " ".join(lines[:3])
    assert "variant steady, " in shared and "1 thread" in shared and "delay 1" not in shared
    titles = next(line for line in lines if line.endswith("status")).split()
    assert titles[0] == "delay" and "threads" not in titles and "variant" not in titles


WORDS = [
    "latency --size 4K,1M --pages base",
    "numa --variant static,single --size 1M",
    "sharing --variant fetch-add --threads 2 --oversubscribe",
    "core-to-core --threads 3 --oversubscribe --protocol store-load --lines 1",
    "checkpoint --threads 2 --oversubscribe",
    "kmeans --points 500 --clusters 3 --threads 1,2 --oversubscribe",
    "search --size 16K --threads 2 --oversubscribe",
    f"{NOISY} --counters faults,cpu-time",
]


@pytest.mark.parametrize("words", WORDS, ids=lambda words: words.split()[0])
def test_it_fits_into_100_columns(locus, words):
    done = locus(f"{words} --repeats 2 --duration 1ms")
    assert done.status in (0, 1), done
    assert not [line for line in some(done.out.splitlines()) if len(line) > 100]


def test_a_path_is_shown_by_its_end(locus, tmp_path):
    folder = tmp_path / ("x" * 90)
    folder.mkdir()
    files = [folder / name for name in ("a.csv", "b.csv")]
    for file in files:  # with different contents: equal ones would be one trial
        file.write_text(f"1,2\n3,4\n5,{files.index(file)}\n")
    words = "kmeans --clusters 2 --variant 2p --threads 1 --repeats 1 --points"
    dry = locus(words, ",".join(map(str, files)), "--dry-run").out
    assert all(f"    points={file}\n" in dry for file in files)
    out = locus(words, ",".join(map(str, files))).out
    assert re.search(r"(?m)^\.\.\.x+/a\.csv ", out) and re.search(r"(?m)^\.\.\.x+/b\.csv ", out)


def test_what_ends_a_cell_is_escaped(locus, tmp_path):
    files = [tmp_path / name for name in ('a"|.csv', "b.csv")]
    for file in files:  # with different contents: equal ones would be one trial
        file.write_text(f"1,2\n3,4\n5,{files.index(file)}\n")
    words = "kmeans --clusters 2 --variant 2p --threads 1 --repeats 1 --points"
    told = {
        form: locus(words, ",".join(map(str, files)), "--format", form) for form in ("csv", "md")
    }
    table = list(csv.DictReader(io.StringIO(told["csv"].out)))
    assert len(table) == 2 and f"points={files[0]} " in table[0]["parameters"], told["csv"]
    assert re.search(r'(?m)^\| \S*/a"\\\|\.csv +\| ', told["md"].out), told["md"]


def test_tables_for_programs_say_when_a_trial_was_measured(locus):
    words = "dummy --variant steady --delay 1,2 --threads 1 --repeats 3 --format"
    rows = list(csv.DictReader(io.StringIO(locus(f"{words} csv").out)))
    times = [(float(row["begin"]), float(row["end"])) for row in rows]
    assert all(0 < begin < end for begin, end in some(times))
    for row in some(json.loads(locus(f"{words} json").out)):
        begin, end = row["measured"]
        assert 0 < begin < end


def on_a_terminal(locus, words, **environment):
    """Runs locus with standard output on a terminal; returns that output, too."""
    ours, its = pty.openpty()
    done = locus(words, stdout=its, env={"TERM": "xterm", "NO_COLOR": "", **environment})
    os.close(its)
    said = b""
    while select.select([ours], [], [], 10)[0]:
        try:
            said += os.read(ours, 100000)
        except OSError:  # all is read
            break
    os.close(ours)
    return done, said.decode()


@pytest.mark.parametrize("refused", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_only_statuses_are_coloured_and_only_where_that_is_wanted(locus, refused):
    done, said = on_a_terminal(locus, NOISY, **refused)
    assert done.status == 1
    coloured = re.findall(r"\x1b\[(\d+)m(\w+)\x1b\[0m", said)
    assert said.count("\x1b") == 2 * len(coloured) and len(coloured) == (0 if refused else 6)
    assert {name: colour for colour, name in coloured}.get("wrong") == (None if refused else "31")


def test_quiet_is_quiet(locus, tmp_path, read):
    file = tmp_path / "a.jsonl"
    done = locus("dummy --variant steady --repeats 2 --quiet --output", file)
    assert (done.status, done.out, done.err) == (0, "", "") and read(file)[-1]["type"] == "end"
    again = locus("dummy --variant steady --repeats 2 --quiet --resume --output", file)
    assert (again.status, again.out, again.err) == (0, "", "")
    assert "impossible" in locus("dummy --variant impossible --quiet").err


def test_csv_has_a_row_for_each_trial_and_ratio(locus, tmp_path, read):
    """One thread always has a time."""
    file = tmp_path / "a.jsonl"
    done = locus(
        "kmeans --variant 2p,best --points 500 --clusters 3 --threads 1 --repeats 3 --format csv"
        " --output",
        file,
    )
    table = list(csv.DictReader(io.StringIO(done.out)))
    assert done.status == 0 and [row["metric"] for row in table].count("time") == 2
    (ratio,) = [row for row in table if row["metric"] != "time"]
    assert ratio["metric"] == "gain 2p/best of time" and ratio["unit"] == "1"
    written = [r for line in read(file) if line["type"] == "trial" for r in line["ratios"]]
    assert [float(ratio["value"])] == pytest.approx([r["value"] for r in written], rel=1e-6)
    assert {row["benchmark"] for row in table} == {"kmeans"}
    assert {row["threads"] for row in table} == {"1"}


def test_a_reason_with_commas_is_one_cell_of_csv(locus):
    table = list(csv.DictReader(io.StringIO(locus(f"{NOISY} --format csv").out)))
    assert len(table) == 6 and not [row for row in table if None in row or None in row.values()]
    assert {row["reason"] for row in table if row["status"] == "impossible"} == {
        "it was told to be impossible"
    }


@pytest.mark.parametrize("words", [NOISY, "dummy --variant impossible"])
def test_json_is_the_trials_with_all_their_metrics(locus, tmp_path, read, words):
    file = tmp_path / "a.jsonl"
    done = locus(f"{words} --format json --output", file)
    told = json.loads(done.out)
    trials = [line for line in read(file) if line["type"] == "trial"]
    assert len(told) == len(trials)
    for row, trial in zip(told, trials):
        for key in ("benchmark", "variant", "parameters", "threads", "status", "reasons"):
            assert row[key] == trial[key]
        for ours, theirs in zip(row["metrics"], trial["metrics"]):
            assert ours["name"] == theirs["name"] and ours["value"] == (
                None if theirs["value"] is None else pytest.approx(theirs["value"], rel=1e-6)
            )


def test_json_of_a_run_that_was_cut_is_whole(locus):
    words = "dummy --variant stuck --where verify --delay 6e8 --time-budget 1ms --format json"
    (told,) = json.loads(locus(words).out)
    assert told["status"] == "interrupted"


def test_markdown_is_a_table(locus):
    out = locus(f"{NOISY} --format md").out
    table = [line for line in out.splitlines() if line.startswith("|")]
    assert len(table) == 2 + 6 and {line.count("|") for line in table} == {table[0].count("|")}
    assert re.fullmatch(r"(\|--[-:])+\|", table[1]), table[1]
    assert "\n- 2 impossible: it was told to be impossible\n" in out


def test_an_unknown_format(locus):
    done = locus("dummy --format jsn")
    assert done.status == 2 and "did you mean 'json'?" in done.err and not done.out


def test_a_plain_command_takes_a_minute_at_most_and_says_so(locus):
    for line in some(locus("list").out.splitlines()):
        name = line.split()[0]
        out = locus(f"{name} --dry-run --topology", "node:2 core:64 pu:2").out
        assert int(re.findall(r"estimated time: (\d+) s", out)[0]) <= 60, name
    out = locus("latency --dry-run --profile standard --topology", "node:2 core:64 pu:2").out
    assert re.search(r"estimated time: \d{4,} s \(\d+ min\)", out)


def test_a_dry_run_of_the_suite_says_once_how_long_it_takes(locus):
    """A quick suite has some of the benchmarks, a standard one all."""
    all_of_them = len(some(locus("list").out.splitlines()))
    for profile, seconds in (("quick", "60 s"), ("standard", r"\d+ s \(.+\)")):
        out = locus(f"suite --dry-run --profile {profile}").out
        first = out.splitlines()[0]
        told = re.fullmatch(
            rf"suite on .+: \d+ trials of (\d+) benchmarks; estimated time: {seconds}", first
        )
        assert told, first
        assert out.count("estimated time") == 1
        assert out.count("memory held at once") == int(told[1])
        assert (int(told[1]) == all_of_them) == (profile == "standard")


def test_a_dry_run_begins_with_trials_memory_and_time_and_has_a_line_for_a_group(locus):
    words = "dummy --variant steady,wrong,impossible --size 1K..16K*2,1K --delay 1,2 --threads 1"
    done = locus(f"{words} --dry-run", outline=True)
    head, *_, last = done.out.splitlines()
    groups = [row for row in done.out.splitlines() if row.startswith("group ")]
    assert re.fullmatch(
        r"dummy on this machine: 30 trials in (\d+) groups?; memory held at once: .+", head
    )
    assert len(groups) == int(re.findall(r"in (\d+) group", head)[0]) and "--verbose" in last
    assert any(re.search(r"size 1 KiB(\.\.16 KiB)?(;|$)", g) for g in groups)
    assert not re.search("[0-9a-f]{16}", done.out) and "threads" not in done.out
    listed = locus(f"{words} --dry-run").out
    assert len(re.findall("(?m)^  [0-9a-f]{16}  dummy/", listed)) == 30


def test_a_line_for_a_group_tells_what_differs(locus):
    """Including impossible trials, and threads; a variant may lack what others vary."""
    words = "latency --size 4K,1000T --variant cycle --pages base,thp --dry-run"
    assert "pages base, thp; 2 impossible here" in locus(words, outline=True).out
    words = "kmeans --variant 2p --threads 1,2,3,4 --oversubscribe --prune none --dry-run"
    # of many numbers, the first and the last
    assert "threads 1..4" in locus(words, outline=True).out
    words = "kmeans --variant 2p,best --threads 1,2 --oversubscribe --prune none,auto --dry-run"
    assert re.search(
        "(?m)^group 1: .*2p, best; prune none, auto; threads 1, 2$", locus(words, outline=True).out
    )


def test_a_dry_run_of_the_suite_has_a_line_for_each_benchmark(locus):
    first, *rest = locus("suite --dry-run", outline=True).out.splitlines()
    assert first.startswith("suite on ") and "estimated time: " in first
    (benchmarks,) = re.findall(r"of (\d+) benchmarks", first)
    assert len([row for row in rest if " trials in " in row]) == int(benchmarks)
    assert len(rest) <= 3 * int(benchmarks)


def test_a_quick_suite_takes_no_longer_on_a_large_machine(locus):
    for machine, most in (("core:2 pu:1", 60), ("node:8 core:16 pu:1", 180)):
        out = locus("suite --dry-run --profile quick --topology", machine).out
        (seconds,) = re.findall(r"estimated time: (\d+) s", out)
        assert int(seconds) <= most, machine


ONE_NODE, TWO_NODES = "node:1 core:4 pu:1", "node:2 core:2 pu:1"


def test_numa_on_one_node_measures_the_kernels_once(locus):
    def variants(machine, *words):
        done = locus("numa --dry-run --topology", machine, *words)
        assert done.status == 0, done
        return {*re.findall(r"numa/(\S+) kernel=", done.out)}, done.out

    once, out = variants(ONE_NODE)
    assert once == {"static"}
    assert "variants left out: this machine has one NUMA node" in out
    assert len(variants(TWO_NODES)[0]) == 9
    assert variants(ONE_NODE, "--variant", "single,static")[0] == {"single", "static"}


def test_layouts_that_are_the_same_are_measured_once(locus):
    """A word may stand for several layouts: `each` is one on each node."""
    words = "numa --variant bind --layout each,2+0,packed --dry-run --topology"
    done = locus(words, TWO_NODES)
    assert done.status == 0 and {*re.findall(r"layout=(\S+)", done.out)} == {"2+0", "0+2"}, done
    assert "packed is the same as 2+0 on this machine, 2+0: measured once" in done.err, done


def test_the_record_on_standard_output(locus, tmp_path, read):
    done = locus("dummy --variant steady --repeats 3 --output -")
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert done.status == 0 and [lines[0]["type"], lines[-1]["type"]] == ["header", "end"]
    assert re.search(r"(?m)^steady .* \w+$", done.err)
    file = tmp_path / "a.jsonl"
    with file.open("w") as stream:
        done = locus("dummy --variant steady --repeats 3 --quiet --output -", stdout=stream)
    assert (done.status, done.err) == (0, "") and read(file)[-1]["type"] == "end"
    for other in ("--resume", "--append"):
        done = locus("dummy --variant steady --output -", other)
        assert done.status == 2 and "needs a file" in done.err
