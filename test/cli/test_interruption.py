# SPDX-License-Identifier: Apache-2.0
"""However a run ends, its measurements until then are in a valid file, and --resume continues."""

import collections
import json
import random
import re
import resource
import signal
import time

import pytest
from conftest import ENDING
from some import some
from waits import PATIENCE, wait_for, written

TRIALS = "dummy --variant steady,jitter,humps,wrong --delay 1,2,5,10,20"
MANY = f"{TRIALS} --repeats 60"
BRIEF = f"{TRIALS} --repeats 10 --duration 50us"  # as many lines, in a tenth of a second
ENDLESS = "dummy --variant steady,jitter --repeats 1000000 --output"
OTHER = pytest.mark.native("other values run the same code")
ONE_THREAD = pytest.mark.native("it has one thread", of="thread")


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_ends_it_with_all_that_was_measured(locus, tmp_path, read, number):
    file = tmp_path / "cut.jsonl"
    process = locus.start(ENDLESS, file)
    wait_for(written(file, "samples"), "a few batches")
    process.send_signal(number)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number
    lines = read(file)
    assert (
        lines[-1]["type"] == "end"
        and lines[-1]["signal"] == number.name
        and lines[-1]["status"] == 128 + number
    )
    measured = [line for line in lines if line["type"] == "trial"]
    assert {t["status"] for t in measured} == {"interrupted"} and len(measured) == 2
    for t in measured:
        assert t["samples"]["n"] == sum(
            len(s["times"]) for s in lines if s["type"] == "samples" and s["trial"] == t["id"]
        )
    said = "interrupted by {}: 2 trials incomplete; rerun with --resume to continue\n"
    assert out.endswith(said.format(number.name)), out


def test_what_is_left_is_counted(locus, tmp_path):
    """A signal during the first of two groups: its trial is incomplete, the other one is not
    measured."""
    file = tmp_path / "left.jsonl"
    words = "dummy --variant steady --size 0,4096 --threads 1 --delay 100 --repeats 1000000"
    words += " --counters faults"  # otherwise samples are collected for a second
    process = locus.start(words, "--output", file)
    wait_for(written(file, "samples"), "samples")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    left = "1 trial not measured, 1 incomplete; rerun with --resume to continue"
    assert out.endswith(f"interrupted by SIGINT: {left}\n"), out


def test_resume_goes_on_where_a_signal_ended_it(locus, tmp_path, read):
    file = tmp_path / "resumed.jsonl"
    process = locus.start(MANY, "--output", file)
    wait_for(
        lambda: file.exists() and file.read_bytes().count(b'"type":"trial"') > 3, "a few trials"
    )
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    # trials that were not begun have no row, but are counted
    measured = {line["trial"] for line in read(file) if line["type"] == "samples"}
    left = [
        line
        for line in read(file)
        if line["type"] == "trial"
        and line["status"] == "interrupted"
        and line["id"] not in measured
    ]
    assert left and f"interrupted by SIGINT: {len(left)} trials not measured" in out, out
    assert len(rows_of(out)) == 20 - len(left)
    complete = {
        line["id"]
        for line in read(file)
        if line["type"] == "trial" and line["status"] not in ("interrupted", "wrong")
    }
    assert locus(BRIEF, "--output", file, "--resume").status == 1  # because of the wrong trials
    lines = read(file)
    headers = [i for i, line in enumerate(lines) if line["type"] == "header"]
    assert len(headers) == 2 and lines[headers[1]]["resumes"] == [lines[0]["run"]]
    second = [line for line in lines[headers[1] :] if line["type"] == "trial"]
    assert not complete & {line["id"] for line in second} and lines[-1]["skipped"] == len(complete)
    final = {line["id"]: line["status"] for line in lines if line["type"] == "trial"}
    assert len(final) == 20 and "interrupted" not in final.values()


def whole_lines(file):
    content = file.read_bytes() if file.exists() else b""
    return content[: content.rfind(b"\n") + 1]


def rows_of(out):
    """The trials whose rows a table has: "jitter 5"."""
    return {" ".join(row) for row in re.findall(r"(?m)^(steady|jitter|humps|wrong) +(\d+) ", out)}


def rows_in(lines):
    """The same names for the trial lines of a record."""
    return {
        f"{line['variant']} {line['parameters']['delay']:g}"
        for line in lines
        if line["type"] == "trial"
    }


@ONE_THREAD
def test_a_row_is_printed_when_its_line_is_written(locus):
    """The table and the record go to one pipe here, which keeps their order."""
    written: set = set()
    rows = 0
    for line in locus(BRIEF, "--output", "/dev/stdout").out.splitlines():
        if line.startswith("{"):
            written |= rows_in([json.loads(line)])
        assert rows_of(line) <= written, line
        rows += bool(rows_of(line))
    assert rows == len(written) == 20


@ONE_THREAD
def test_kill_9_at_random_moments(locus, tmp_path, read, often):
    """Everything visible before the kill is in the file after it: each line that another process
    read from it, and the trial of each row of the table. The last line may be cut off; otherwise
    the record must be valid.
    """
    reference = tmp_path / "whole.jsonl"
    assert locus(BRIEF, "--output", reference).status == 1  # because of the wrong trials
    choose = random.Random(9)
    read_before = rows = 0
    for n in range(often):
        file, moment = tmp_path / f"{n}.jsonl", choose.randrange(reference.stat().st_size)
        with locus.start(BRIEF, "--output", file) as process:
            while process.poll() is None and (not file.exists() or file.stat().st_size < moment):
                time.sleep(0.001)
            seen = whole_lines(file)
            process.kill()
            out, _ = process.communicate(timeout=PATIENCE)
        assert file.read_bytes().startswith(seen)
        lines = read(file, whole=False)
        assert rows_of(out) <= rows_in(lines)
        read_before += seen.count(b"\n")
        rows += len(rows_of(out))
        for a, b in zip(lines, lines[1:]):
            assert a["type"] != "end"
            if a["type"] == b["type"] == "samples" and a["trial"] == b["trial"]:
                assert b["batch"] == a["batch"] + 1
        kept: collections.Counter[str] = collections.Counter()
        for line in lines:
            if line["type"] == "samples":
                kept[line["trial"]] += len(line["times"])
            if line["type"] == "trial":
                assert line["samples"]["n"] == kept[line["id"]], "its samples come before it"
    assert read_before > often and rows > often, (
        "too little was told before the kills for them to lose anything"
    )
    complete = {
        line["id"] for line in lines if line["type"] == "trial" and line["status"] != "wrong"
    }
    assert locus(BRIEF, "--output", file, "--resume").status == 1
    lines = read(file)
    assert len({line["id"] for line in lines if line["type"] == "trial"}) == 20 and lines[-1][
        "skipped"
    ] == len(complete)


@ONE_THREAD
def test_an_unfinished_last_line_is_cut_off_and_nothing_else(locus, tmp_path, read):
    file = tmp_path / "torn.jsonl"
    arguments = [
        "dummy",
        "--variant",
        "steady,jitter",
        "--repeats",
        "3",
        "--output",
        file,
        "--resume",
    ]
    assert locus(*arguments).status == 0
    whole = file.read_bytes()
    for cut in (1, 20, 300):
        file.write_bytes(whole[:-cut])
        kept = whole[: whole[:-cut].rfind(b"\n") + 1]
        assert locus(*arguments).status == 0
        assert file.read_bytes().startswith(kept)
        read(file)


def limit_file_size(most):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


@ONE_THREAD
@pytest.mark.parametrize(
    "room", [100, 5000, *(pytest.param(more, marks=OTHER) for more in (20000, 20001, 33333))]
)
def test_a_file_that_can_grow_no_more(locus, tmp_path, read, room):
    file = tmp_path / "full.jsonl"
    process = locus.start(BRIEF, "--output", file, preexec_fn=limit_file_size(room))
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert len([line for line in err.splitlines() if str(file) in line]) == 1
    assert file.stat().st_size <= room
    lines = read(file, whole=room > 5000)
    if lines:
        assert lines[0]["type"] == "header"
        assert locus(BRIEF, "--output", file, "--resume").status == 1
        assert read(file)[-1]["type"] == "end"


@ONE_THREAD
def test_dev_full(locus):
    done = locus(BRIEF, "--output", "/dev/full")
    assert done.status == 1 and "/dev/full" in done.err and "No space left" in done.err
    assert "time budget" not in done.err


@ONE_THREAD
def test_two_writers_of_one_file(locus, tmp_path, read):
    file = tmp_path / "shared.jsonl"
    first = locus.start(MANY, "--output", file)
    wait_for(written(file, "samples"), "a few batches")
    second = locus(MANY, "--output", file, "--resume")
    assert second.status == 1 and "another process" in second.err
    first.terminate()
    first.communicate(timeout=PATIENCE)
    assert [line["type"] for line in read(file)].count("header") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_may_come_several_times(locus, tmp_path, read, number):
    """Signals may come more than once: timeout(1) signals the process and its group; a batch system
    signals the whole step, and srun forwards its own signal."""
    file = tmp_path / "again.jsonl"
    process = locus.start(ENDLESS, file)
    wait_for(written(file, "samples"), "a few batches")
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        process.send_signal(number)
        time.sleep(0.001)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number
    assert read(file)[-1]["signal"] == number.name


@ONE_THREAD
def test_resume_runs_again_what_was_wrong_and_says_so_again(locus, tmp_path, read):
    file = tmp_path / "wrong.jsonl"
    arguments = ["dummy", "--variant", "steady,wrong", "--repeats", "2", "--output", file]
    assert locus(*arguments).status == 1
    assert locus(*arguments, "--resume").status == 1
    assert read(file)[-1]["skipped"] == 1


@ONE_THREAD
@pytest.mark.parametrize("key", ["host", "class", "id"])
def test_another_hosts_results_are_not_ours(locus, tmp_path, read, key):
    """Other machines may have this host's name, as localhost: their class or id differs."""
    file = tmp_path / "host.jsonl"
    arguments = ["dummy", "--variant", "steady", "--repeats", "2", "--output", file]
    assert locus(*arguments).status == 0
    header = read(file)[0]
    own = header["host"] if key == "host" else header["machine"][key]
    if not own:
        pytest.skip(f"this machine has no {key}: {header['machine'][f'{key}_why']}")
    assert locus(*arguments, "--resume").err == ""
    other = own[:-1] + ("0" if own[-1] != "0" else "1")
    file.write_text(file.read_text().replace(f'"{key}":"{own}"', f'"{key}":"{other}"'))
    done = locus(*arguments, "--resume")
    assert done.status == 0 and read(file)[-1]["skipped"] == 0
    assert done.err == (
        f"locus: --resume: the last run in {file} was measured on another host, or on one that"
        " was changed: its trials are measured again here\n"
    )
    assert locus(*arguments, "--resume").err == "", "the last run is of this host now"


@ONE_THREAD
@pytest.mark.parametrize("text", ["thesis", "a,b\n1,2", '{"name": "somebody\'s own"}'])
@pytest.mark.parametrize("mode", ["--append", "--resume"])
def test_a_foreign_file_without_a_final_newline_is_left_alone(locus, tmp_path, text, mode):
    file = tmp_path / "foreign"
    file.write_text(text)
    done = locus("dummy --variant steady --repeats 1 --output", file, mode)
    assert done.status == 2 and str(file) in done.err
    assert file.read_text() == text


@ONE_THREAD
def test_what_the_budget_cut_short_is_not_called_wrong(locus, tmp_path, read):
    """If no sample ran in an allocation, its arrays lack the stores that the check looks for."""
    file = tmp_path / "short.jsonl"
    words = (
        "numa --kernel copy --variant single,static,random --layout packed --pages base --size 64M"
        " --time-budget 300ms --output"
    )
    done = locus(words, file)
    assert done.status == 0
    found = {line["status"] for line in some(read(file)) if line["type"] == "trial"}
    assert found and found <= {"ok", "unconverged", "bimodal", "noisy", "interrupted"}


@ONE_THREAD
@pytest.mark.parametrize(
    "words", ["dummy --variant steady,jitter,humps", "checkpoint --profile quick --threads 1"]
)
def test_each_resumed_run_gets_on(locus, tmp_path, read, words):
    """Each run completes something, even if its budget is spent before anything begins, and if
    trials of a ratio have to be sampled together."""
    file = tmp_path / "bit-by-bit.jsonl"
    complete: set[str] = set()
    left = True
    for _ in range(20):
        done = locus(f"{words} --quiet --time-budget 1ms --resume --output", file)
        lines = read(file)
        end, before = lines[-1], complete
        complete = {
            t["id"]
            for t in lines
            if t["type"] == "trial" and t["status"] in ("ok", "unconverged", "bimodal", "noisy")
        }
        left = "interrupted" in end["trials"]
        assert done.status == 0 and before <= complete
        assert before < complete or "--time-budget" in done.err
        if not left:
            break
    assert not left and len(complete) >= 3


@ONE_THREAD
@pytest.mark.parametrize("words", ["steady --delay 7e5", "stuck --where prepare --delay 4e6"])
def test_a_run_that_gets_nothing_done_says_what_to_do(locus, tmp_path, words):
    """First case: calibration leaves no time for a batch. Second: the watchdog ends a
    preparation."""
    done = locus(
        f"dummy --variant {words} --quiet --time-budget 1ms --output", tmp_path / "nothing.jsonl"
    )
    assert done.status == 0 and done.err.count("\n") == 1
    assert re.match(
        r"locus: (the )?time budget (was )?spent.*[:;] give more with --time-budget", done.err
    )


@ONE_THREAD
def test_fewer_repeats_than_asked_for_are_not_called_complete(locus, tmp_path, read):
    file = tmp_path / "fewer.jsonl"
    locus("dummy --variant steady --repeats 100000 --delay 10000 --time-budget 1s --output", file)
    trial = next(line for line in read(file) if line["type"] == "trial")
    assert trial["samples"]["n"] < 100000 and trial["stopped"] == "budget"
    assert trial["status"] in ("unconverged", "bimodal", "noisy")
    assert any(reason.startswith("stopped by the time budget") for reason in trial["reasons"])
