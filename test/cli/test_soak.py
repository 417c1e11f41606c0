# SPDX-License-Identifier: Apache-2.0
"""locus soak: its record, its ends, and its command line. test_throttle tests its verdicts."""

import signal

from some import some
from waits import PATIENCE, wait_for, written

LOADS = [
    "cores --variant together --quanta 200 --width 64",
    "readers --layout word --pauses 0",
    "numa --variant static --kernel triad --layout 1 --size 1M",
]


def test_a_record_with_a_line_each_round(locus, tmp_path, read):
    """Three seconds are too short for a verdict; everything else is there."""
    file = tmp_path / "soak.jsonl"
    done = locus("soak --for 3s --output", file, *LOADS)
    assert done.status == 4 and "too short for a verdict: " in done.out
    header, *rounds, verdict, end = read(file)
    assert header["command"][:2] == ["locus", "soak"] and end["status"] == 4
    assert {line["type"] for line in some(rounds)} == {"soak"}
    for line in rounds:
        one, other, memory = line["loads"]
        assert one["name"] == "cores/together" and one["unit"] == "quantum/s" and one["rate"] > 0
        assert other["name"].startswith("readers/load") and other["rate"] > 0
        assert memory["name"] == "numa/static" and memory["unit"] == "B/s" and memory["rate"] > 0
    assert [load["verdict"] for load in verdict["loads"]] == ["too short"] * 3
    for name in ("temperature", "power"):
        assert (rounds[-1][name] is None) == (f"{name}_why" in verdict)
    assert locus("soak --for 1s --output", file).status == 2  # it exists


def test_the_usual_loads_and_a_wrong_answer(locus, monkeypatch):
    monkeypatch.setenv("LOCUS_CORES_WRONG", "all")
    done = locus("soak --for 1s")
    assert done.status == 1 and "cores/together: WRONG: CPU " in done.out
    head = done.out.splitlines()[0].split()
    assert head == ["time", "clock", "temp.", "power", "cores/together", "numa/static"]


def test_a_signal_ends_it_with_the_verdict_so_far(locus, tmp_path, read):
    file = tmp_path / "soak.jsonl"
    process = locus.start("soak --for 1h --quiet --output", file, LOADS[0])
    wait_for(written(file, "soak"), "a round")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGINT and out.startswith("too short for a verdict")
    *_, verdict, end = read(file)
    assert verdict["type"] == "soak-verdict" and end["signal"] == "SIGINT"


def test_a_load_that_hangs(locus, tmp_path, read):
    """Its check does not come back: the watchdog closes the record, with the verdict so far."""
    file = tmp_path / "soak.jsonl"
    words = "dummy --variant stuck --where verify --delay 6e8"  # ten minutes
    process = locus.start("soak --for 1s --quiet --output", file, words)
    wait_for(written(file, "soak"), "a round")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGINT and out.startswith("too short for a verdict")
    assert err.startswith("locus: SIGINT: cut off while ") and " dummy/stuck\n" in err
    *_, verdict, end = read(file)
    assert verdict["type"] == "soak-verdict" and end["signal"] == "SIGINT"


def test_the_command_line(locus, tmp_path):
    assert "--for=TIME" in locus("soak --help").out
    for words, said in (
        ("soak --for soon", "--for: 'soon' is not a time"),
        ("soak --for 0", "--for: must be more than zero"),
        ("soak nuwa", "did you mean 'numa'?"),
        (["soak", "numa --variant nowhere"], "locus numa: --variant"),
        (["soak", "numa --vary static"], "there is no option --vary"),
        (["soak", " "], "' ': expected a benchmark and its options"),
        (["soak", "numa" + " static" * 40], "expected a benchmark and its options"),
        (["soak", "numa --output x"], "only the options that choose its trial"),
        (["soak", *["cores"] * 9], "at most 8 loads"),
        (
            ["soak", "cores --variant alone,together"],
            "a load of a soak is one trial, and these are",
        ),
        (["soak", "core-to-core"], "its workers meet in pairs"),
        (["soak", f"{LOADS[1]} --threads 4000"], "4000 threads don't fit on"),
        ("soak --far 1s", "--far"),
        (f"soak --output {tmp_path}", str(tmp_path)),
    ):
        done = locus(*words) if isinstance(words, list) else locus(words)
        assert done.status in (1, 2, 3) and said in done.err, done
    helped = locus("soak", "cores --help")
    assert helped.status == 2 and "--quanta" in helped.out
