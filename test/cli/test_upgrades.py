# SPDX-License-Identifier: Apache-2.0
"""Each later version reads what 0.1 wrote. record-0.1.jsonl was written by commit d9df2c443517, the
first with record 1.0 in its final form: six runs, two of them a series with --runs, the last one
ended by kill -9. Host, kernel, paths, most flags and mitigations of the machine were replaced."""

import json
import pathlib
import socket

import pytest
from lacking import need_modules
from some import some

OLD = pathlib.Path(__file__).with_name("record-0.1.jsonl")
RUNS = 6
COMMANDS = {
    # a command for records: its status, and its text about this one
    "validate": (0, "1 file, 63 lines, all as locus-record-1 says"),
    "summary": (0, "was cut off: continue with --resume"),
    "levels": (0, "cycle on transparent huge pages"),
    "sick": (4, "UNJUDGED node1"),
    "export": (0, "core-to-core,ping-pong"),
    f"compare {OLD}": (0, "latency/cycle"),
}
SHORT = "--repeats 1 --duration 1ms --quiet"


@pytest.fixture
def modules():
    need_modules()


@pytest.mark.native("Python reads the record")
@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_reads_an_old_record(modules, locus, command):
    done = locus(*command.split(), OLD)
    status, said = COMMANDS[command]
    assert done.status == status and said in done.out, done
    assert done.err == "", "no line of it is left out"


@pytest.mark.native("Python reads the record")
def test_the_report_shows_each_benchmark_of_an_old_record(modules, locus, read, tmp_path):
    done = locus("report --output", tmp_path / "page.html", OLD)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert done.status == 0 and done.err == ""
    for name in some({line["benchmark"] for line in read(OLD) if line["type"] == "trial"}):
        assert f'"section-{name}"' in page


@pytest.fixture
def here(locus, read, tmp_path):
    """here(RUN): the lines of a run of the old record, as if this machine had written them."""
    own = tmp_path / "own.jsonl"
    assert locus("dummy --variant steady --repeats 1 --threads 1 --output", own).status == 0

    def lines(run):
        of_old = json.loads(OLD.read_text(encoding="utf-8").splitlines()[0])["machine"]["class"]
        text = OLD.read_text(encoding="utf-8").replace('"node1"', json.dumps(socket.gethostname()))
        text = text.replace(of_old, read(own)[0]["machine"]["class"])
        told = [json.loads(line) for line in text.splitlines()]
        wanted = [line for line in told if line["type"] == "header"][run]["run"]
        return [json.dumps(line) for line in told if line["run"] == wanted]

    return lines


def resumed(locus, read, file, lines, arguments):
    """The header and the trials of the run that goes on with these lines."""
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = locus(f"{arguments} {SHORT} --resume --output", file)
    assert done.status == 0, done
    read(file)  # which checks it
    told = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    told = told[len(lines) :]
    assert told[0]["resumes"] == [json.loads(lines[0])["run"]]
    return [line for line in told if line["type"] == "trial"], told[-1]


def test_resume_goes_on_with_an_old_record(locus, read, here, tmp_path):
    """Cut off before its last trial, which is measured with the trial that it is compared with."""
    *lines, last, end = here(0)
    assert json.loads(last)["type"] == "trial" and json.loads(end)["type"] == "end"
    latency = "latency --variant cycle --size 16K,1M --threads 1"
    trials, end = resumed(locus, read, tmp_path / "r.jsonl", lines, latency)
    assert {t["parameters"]["size"] for t in trials} == {2**20}
    assert json.loads(last)["id"] in {t["id"] for t in trials} and end["skipped"] == 2


def test_resume_measures_what_an_old_record_has_not_whole(locus, read, here, tmp_path):
    """kill -9 left samples, but no trials."""
    sharing = "sharing --variant distance --distance 8,64 --threads 2 --oversubscribe"
    trials, end = resumed(locus, read, tmp_path / "r.jsonl", here(RUNS - 1), sharing)
    assert len(trials) == 2 and end["skipped"] == 0
