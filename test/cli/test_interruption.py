# SPDX-License-Identifier: Apache-2.0
"""However a run ends, what it measured until then is in a valid file, and --resume goes on."""

import json
import os
import pathlib
import random
import resource
import signal
import time

import pytest

MANY = "dummy --variant steady,jitter,humps,wrong --delay 1,2,5,10,20 --repeats 60 --quiet"
BRIEF = f"{MANY} --duration 200us"  # as many samples, and as long a file, in half a second
PATIENCE = 180  # s: what takes longer hangs


def wait_for(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen within {PATIENCE} s"
        time.sleep(0.01)


def cpu_time(pid):
    user, system = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def has_batches(file):
    return lambda: file.exists() and file.read_bytes().count(b'"type":"samples"') > 5


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_with_all_that_was_measured(locus, tmp_path, read, number):
    file = tmp_path / "cut.jsonl"
    process = locus.start("dummy --variant steady,jitter --output", file)
    wait_for(has_batches(file), "a few batches")
    process.send_signal(number)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number
    lines = read(file)
    assert lines[-1]["type"] == "end" and lines[-1]["signal"] == number.name and lines[-1]["status"] == 128 + number
    measured = [line for line in lines if line["type"] == "trial"]
    assert {t["status"] for t in measured} == {"interrupted"} and len(measured) == 2
    for t in measured:
        assert t["samples"]["n"] == sum(len(s["times"]) for s in lines if s["type"] == "samples" and s["trial"] == t["id"])
    assert "interrupted" in out


def test_resume_goes_on_where_a_signal_ended_it(locus, tmp_path, read):
    file = tmp_path / "resumed.jsonl"
    process = locus.start(MANY, "--output", file)
    wait_for(lambda: file.exists() and file.read_bytes().count(b'"type":"trial"') > 3, "a few trials")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    complete = {line["id"] for line in read(file) if line["type"] == "trial" and line["status"] not in ("interrupted", "wrong")}
    assert locus(MANY, "--output", file, "--resume").status == 1  # of the wrong ones
    lines = read(file)
    headers = [i for i, line in enumerate(lines) if line["type"] == "header"]
    assert len(headers) == 2 and lines[headers[1]]["resumes"] == [lines[0]["run"]]
    second = [line for line in lines[headers[1] :] if line["type"] == "trial"]
    assert not complete & {line["id"] for line in second} and lines[-1]["skipped"] == len(complete)
    final = {line["id"]: line["status"] for line in lines if line["type"] == "trial"}
    assert len(final) == 20 and "interrupted" not in final.values()


def test_kill_9_at_100_random_moments(locus, tmp_path, read, often):
    """A last line may lack its end; nothing else may be amiss, and nothing measured may be lost from one moment to the next."""
    choose = random.Random(9)
    for n in range(often):
        file = tmp_path / f"{n}.jsonl"
        process = locus.start(BRIEF, "--output", file)
        time.sleep(choose.uniform(0, 0.4))  # the moment: nothing waits for it
        process.kill()
        process.communicate(timeout=PATIENCE)
        if not file.exists():
            continue
        lines = read(file, whole=False)
        for a, b in zip(lines, lines[1:]):
            assert a["type"] != "end"
            if a["type"] == b["type"] == "samples" and a["trial"] == b["trial"]:
                assert b["batch"] == a["batch"] + 1
    assert locus(BRIEF, "--output", file, "--resume").status == 1
    final = {line["id"] for line in read(file) if line["type"] == "trial"}
    assert len(final) == 20


def test_an_unfinished_last_line_is_cut_off_and_nothing_else(locus, tmp_path, read):
    file = tmp_path / "torn.jsonl"
    arguments = ["dummy", "--variant", "steady,jitter", "--repeats", "3", "--output", file, "--resume"]
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


@pytest.mark.parametrize("room", [100, 5000, 20000, 20001, 33333])
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


def test_dev_full(locus):
    done = locus(BRIEF, "--output", "/dev/full")
    assert done.status == 1 and "/dev/full" in done.err and "No space left" in done.err


def test_two_writers_of_one_file(locus, tmp_path, read):
    file = tmp_path / "shared.jsonl"
    first = locus.start(MANY, "--output", file)
    wait_for(has_batches(file), "a few batches")
    second = locus(MANY, "--output", file, "--resume")
    assert second.status == 1 and "another process" in second.err
    first.communicate(timeout=PATIENCE)
    assert [line["type"] for line in read(file)].count("header") == 1


def test_the_second_signal_ends_it_at_once(locus, tmp_path):
    """A single turn of 10 minutes cannot be waited for. What burns CPU time is in it: all before takes next to none."""
    process = locus.start("dummy --variant steady --delay 6e8 --output", tmp_path / "stuck.jsonl")
    wait_for(lambda: cpu_time(process.pid) > 0.5, "half a second of the turn")
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGINT
    lines = [json.loads(line) for line in (tmp_path / "stuck.jsonl").read_text().splitlines()]
    assert lines[0]["type"] == "header"


def test_sigterm_may_come_several_times(locus, tmp_path, read):
    """As at the end of a job: the batch system sends it to the whole step, and srun what it got itself."""
    file = tmp_path / "term.jsonl"
    process = locus.start("dummy --variant steady,jitter --output", file)
    wait_for(has_batches(file), "a few batches")
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        process.send_signal(signal.SIGTERM)
        time.sleep(0.001)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGTERM
    assert read(file)[-1]["signal"] == "SIGTERM"


def test_resume_runs_again_what_was_wrong_and_says_so_again(locus, tmp_path, read):
    file = tmp_path / "wrong.jsonl"
    arguments = ["dummy", "--variant", "steady,wrong", "--repeats", "2", "--output", file]
    assert locus(*arguments).status == 1
    assert locus(*arguments, "--resume").status == 1
    assert read(file)[-1]["skipped"] == 1


def test_another_hosts_results_are_not_ours(locus, tmp_path, read):
    file = tmp_path / "host.jsonl"
    arguments = ["dummy", "--variant", "steady", "--repeats", "2", "--output", file]
    assert locus(*arguments).status == 0
    host = read(file)[0]["host"]
    file.write_text(file.read_text().replace(f'"host":"{host}"', '"host":"some-other-node"'))
    assert locus(*arguments, "--resume").status == 0
    assert read(file)[-1]["skipped"] == 0


@pytest.mark.parametrize("text", ["thesis", "a,b\n1,2", '{"name": "somebody\'s own"}'])
@pytest.mark.parametrize("mode", ["--append", "--resume"])
def test_a_foreign_file_without_a_final_newline_is_left_alone(locus, tmp_path, text, mode):
    file = tmp_path / "foreign"
    file.write_text(text)
    done = locus("dummy --variant steady --repeats 1 --output", file, mode)
    assert done.status == 2 and str(file) in done.err
    assert file.read_text() == text


def test_what_the_budget_cut_short_is_not_called_wrong(locus, tmp_path, read):
    """Stores into an allocation that no sample ran in are not there."""
    file = tmp_path / "short.jsonl"
    words = "numa --kernel copy --variant single,static,random --layout packed --pages base --size 64M --time-budget 300ms --output"
    done = locus(words, file)
    assert done.status == 0
    assert {line["status"] for line in read(file) if line["type"] == "trial"} <= {"ok", "noisy", "unconverged", "interrupted"}


def test_fewer_repeats_than_asked_for_are_not_called_complete(locus, tmp_path, read):
    file = tmp_path / "fewer.jsonl"
    locus("dummy --variant steady --repeats 100000 --delay 10000 --time-budget 3s --output", file)
    trial = next(line for line in read(file) if line["type"] == "trial")
    assert trial["samples"]["n"] < 100000 and trial["stopped"] == "budget"
    assert trial["status"] in ("unconverged", "noisy") and trial["reasons"][0].startswith("the budget was spent before")
