# SPDX-License-Identifier: Apache-2.0
"""`locus health`: its line, its exit status, and that it ends in time."""

import json
import os
import pathlib
import signal

import pytest
from waits import wait_for


@pytest.fixture(scope="module")
def machine(locus, tmp_path_factory, read):
    """What this machine's records say of it."""
    file = tmp_path_factory.mktemp("health") / "record.jsonl"
    assert locus("dummy --variant steady --repeats 1 --quiet --output", file).status == 0
    return read(file)[0]["machine"]


@pytest.fixture
def expect(machine, tmp_path):
    """expect(facts, ...) writes a file of expected values of this machine's class."""

    def write(facts=None, **more):
        of_class = {
            "class": machine["class"],
            "cpu": machine["cpu"]["model"],
            "facts": facts or {},
            "metrics": [],
            "health": [],
            **more,
        }
        file = tmp_path / "expected.json"
        file.write_text(json.dumps({"schema": "locus-expected-1.1", "classes": [of_class]}))
        return file

    return write


def test_a_node_as_expected(locus, expect, machine):
    facts = {"topology.cpus": machine["topology"]["cpus"], "memory.total": {"least": 1 << 20}}
    done = locus("health --expect", expect(facts))
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("locus: ") and done.out.endswith(" as expected: 3 facts\n")


def test_facts_that_differ(locus, expect):
    done = locus("health --expect", expect({"topology.cpus": 0, "memory.total": {"most": 1}}))
    assert done.status == 1 and done.err == ""
    assert " topology cpus " in done.out and done.out.endswith(", 0 expected; 1 more\n")


def test_what_cannot_be_told_drains_no_node(locus, expect, tmp_path):
    unknown = locus("health --expect", expect({"no.such": 1}))
    strange = locus("health --expect", expect(**{"class": "0", "cpu": "of no machine"}))
    missing = locus("health --expect", tmp_path / "none")
    wrong = tmp_path / "wrong"
    wrong.write_text("{")
    bad = locus("health --expect", wrong)
    assert [done.status for done in (unknown, strange, missing, bad)] == [0] * 4
    assert "cannot tell: no.such: this machine has no such fact" in unknown.err
    assert "cannot tell: no values are expected of its class" in strange.err
    assert "none: cannot be read: No such file" in missing.err
    assert "wrong: line 1: " in bad.err
    assert missing.out == bad.out == strange.out == ""


@pytest.mark.parametrize("words", ("", "--expect", "--expect FILE more", "--what"))
def test_bad_command_lines(locus, words):
    done = locus("health", *words.split())
    assert done.status == 2 and done.out == "" and "locus health: " in done.err


def test_help(locus):
    assert "--expect=FILE" in locus("health --help").out


def test_sigterm_is_no_verdict(locus, tmp_path):
    """While the child waits for a file that nobody writes."""
    os.mkfifo(tmp_path / "fifo")
    with locus.start("health --expect", tmp_path / "fifo") as process:
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        wait_for(children.read_text, "a child")
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "")
    assert "cannot tell: ended by SIGTERM" in err
