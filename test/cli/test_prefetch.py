# SPDX-License-Identifier: Apache-2.0
"""prefetch as a user runs it."""

import pytest
from conftest import measured, value
from some import some

WALKS = "--lines 256 --repeats 2"


@pytest.fixture(scope="module")
def walked(run):
    return run(f"--stride 8,64,256,4160 --order forward,backward,random --pages base,thp {WALKS}")


def test_every_walk_is_right_and_touches_as_many_lines(walked):
    done, trials = walked
    assert done.status == 0 and len(trials) == 2 * 4 * 3 * 2
    for trial in some(measured(trials)):
        stride = trial["parameters"]["stride"]
        bytes_of_a_load = value(trial, "bandwidth") * value(trial, "time")
        line = 256 * (stride if stride < 64 else bytes_of_a_load) / 256
        assert bytes_of_a_load == pytest.approx(min(stride, line))
        # a walk is a sample: as many elements as cover the lines
        assert trial["samples"]["units"] * bytes_of_a_load >= 256 * 32
        assert trial["samples"]["units"] == 256 or stride < 64
        assert value(trial, "obtained") is None
        assert trial["placement"]["before"]["misplaced"] == 0


def test_orders_and_pages_are_sampled_in_turn(walked):
    names = {
        (ratio["parameter"], ratio["of"], ratio["to"])
        for trial in some(walked[1])
        for ratio in trial["ratios"]
    }
    assert names == {
        ("order", "random", "forward"),
        ("order", "backward", "forward"),
        ("pages", "base", "thp"),
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--stride 12", "--stride: a multiple of 8 bytes"),
        ("--stride 24", "below a cache line, one that divides it"),
        ("--stride 0", "--stride: a multiple of 8 bytes"),
        ("--stride 2M", "at most 1M"),
        ("--lines 100", "--lines: from 256 to 1048576"),
        ("--lines 2000000", "--lines: from 256 to 1048576"),
        ("--threads 2 --oversubscribe", "it runs on one thread"),
    ],
)
def test_what_cannot_be_walked_is_refused(locus, words, said):
    done = locus("prefetch", *words.split())
    assert done.status in (2, 3) and said in " ".join(done.err.split()), done


def test_multisize_pages_are_obtained_or_the_reason_is_said(run):
    done, trials = run(f"--pages thp-64K --stride 64 --order forward {WALKS}")
    for trial in some(trials):
        if trial["status"] == "impossible":
            assert done.status == 3, done
            assert "transparent huge pages of 64 KiB" in trial["reasons"][0]
        else:
            assert done.status == 0, done
            assert value(trial, "obtained") is None or value(trial, "obtained") >= 0
