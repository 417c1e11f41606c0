# SPDX-License-Identifier: Apache-2.0
"""locus soak: its record, its ends, and its command line. What it concludes, test_throttle says."""

import signal

from some import some
from waits import PATIENCE, wait_for, written


def test_a_record_with_a_line_each_round(locus, tmp_path, read):
    """Three seconds are too short for a verdict, and the rest is there."""
    file = tmp_path / "soak.jsonl"
    done = locus("soak --for 3s --output", file)
    assert done.status == 4 and "too short for a verdict: " in done.out
    header, *rounds, verdict, end = read(file)
    assert header["command"][:2] == ["locus", "soak"] and end["status"] == 4
    assert {line["type"] for line in some(rounds)} == {"soak"}
    assert verdict["work"]["verdict"] == "too short" and verdict["faults"] == 0
    for name in ("temperature", "power"):
        assert (rounds[-1][name] is None) == (f"{name}_why" in verdict)
    assert locus("soak --for 1s --output", file).status == 2  # it exists


def test_a_signal_ends_it_with_the_verdict_so_far(locus, tmp_path, read):
    file = tmp_path / "soak.jsonl"
    process = locus.start("soak --for 1h --quiet --output", file)
    wait_for(written(file, "soak"), "a round")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGINT and out.startswith("too short for a verdict")
    *_, verdict, end = read(file)
    assert verdict["type"] == "soak-verdict" and end["signal"] == "SIGINT"


def test_the_command_line(locus, tmp_path):
    assert "--for=TIME" in locus("soak --help").out
    for words, said in (
        ("soak --for soon", "--for: 'soon' is not a time"),
        ("soak --for 0", "--for: must be more than zero"),
        ("soak now", "'now' is not an option"),
        ("soak --far 1s", "--far"),
        (f"soak --output {tmp_path}", str(tmp_path)),
    ):
        done = locus(words)
        assert done.status in (1, 2) and said in done.err, done
