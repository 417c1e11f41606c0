# SPDX-License-Identifier: Apache-2.0
"""Lessons: each shows the lines of C that it measures, and measures every bar that it draws."""

import json
import pathlib
import re

import pytest

SOURCE = pathlib.Path(__file__).parents[2]
LESSONS = ["false-sharing", "first-touch", "cache-tlb", "lock-striping", "moving"]
SMALL = {"first-touch": "--size=8M", "cache-tlb": "--bind=close"}
FEW = "--repeats=2 --duration=100us"


def teach(locus, lesson, more="", **settings):
    words = f"lesson {lesson} {FEW} {SMALL.get(lesson, '')} {more}"
    return locus(words, env={"COLUMNS": "80"}, **settings)


def code_of(screen):
    """The file that is named, and the lines that are shown, joined where the screen broke them."""
    found = re.search(r"^Measured: (\S+)\n(.*?)\n\n", screen, re.DOTALL | re.MULTILINE)
    assert found
    return SOURCE / found[1], found[2]


def test_lessons_are_listed(locus):
    done = locus("lesson")
    listed = [line.split()[0] for line in done.out.split("\n\n")[0].splitlines()]
    assert (done.status, listed) == (0, LESSONS)
    for shown in (locus("lesson --help"), locus("help lesson")):
        assert shown.status == 0 and done.out in shown.out and "OPTION" in shown.out


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_fits_a_screen_and_measures_each_bar(locus, lesson, tmp_path):
    done = teach(locus, lesson, "--output=lesson.jsonl", cwd=tmp_path)
    lines = done.out.splitlines()
    assert done.status == 0 and len(lines) <= 42 and max(map(len, lines)) <= 80
    parts = ["Prediction: ", "Measured: ", "$ locus ", "Measurement: ", "Explanation: ", "Next: "]
    at = [done.out.find(f"\n{part}") for part in parts]
    assert -1 not in at and at == sorted(at)
    lines = [json.loads(line) for line in (tmp_path / "lesson.jsonl").read_text().splitlines()]
    trials = [line for line in lines if line["type"] == "trial"]
    metric = done.out.split("\nMeasurement: ")[1].split(" ")[0]
    values = [trial.get("metrics", {}).get(metric, {}).get("value") for trial in trials]
    valued = None not in values
    bars, noted = done.out.count(" █"), len(re.findall(r" -   \w+$", done.out, re.MULTILINE))
    # On a busy machine a trial may lack a value: it has a status, and no bar.
    assert bars + noted >= 2 and not (valued and noted) and "not measured" not in done.out
    assert "Picture: locus report lesson.jsonl" in done.out


@pytest.mark.parametrize("lesson", LESSONS)
def test_the_code_that_is_shown_stands_in_the_source(locus, lesson):
    """As one piece, but for white space and the ends of a macro's lines."""
    file, shown = code_of(teach(locus, lesson, "--dry-run").out)
    text = " ".join(re.sub(r"/\*.*?\*/|\\$", "", file.read_text(), flags=re.MULTILINE).split())
    assert 7 <= len(shown.splitlines()) <= 14
    pieces = re.split(r"\n(?=  static )", shown) if lesson == "moving" else [shown]
    for piece in pieces:
        assert " ".join(piece.split()) in text


def test_more_options_are_those_of_the_benchmark(locus):
    done = teach(locus, "false-sharing", "--layout=dense")
    assert done.status == 0 and "--layout=dense" in done.out
    assert "not measured" in done.out and "times as long" not in done.out
    wrong = teach(locus, "false-sharing", "--stripes=1")
    assert wrong.status == 2 and "--stripes" in wrong.err and "Prediction" not in wrong.out


@pytest.mark.parametrize("words, told", [("false-shring", "false-sharing"), ("xyz", "lists them")])
def test_an_unknown_lesson_is_refused(locus, words, told):
    done = locus(f"lesson {words}")
    assert done.status == 2 and told in done.err


def test_series_and_too_many_options_are_refused(locus):
    done = locus("lesson moving --runs 3")
    assert done.status == 2 and "locus actors --runs 3" in done.err
    assert locus("lesson moving " + "--quiet " * 33).status == 2


def test_an_existing_record_is_kept(locus, tmp_path):
    record = tmp_path / "kept.jsonl"
    record.write_text("mine\n")
    done = teach(locus, "moving", f"--output={record}")
    assert done.status and record.read_text() == "mine\n" and "Explanation" not in done.out


def test_one_cpu_is_told_what_it_cannot_show(locus):
    done = locus("lesson false-sharing", prefix=["taskset", "-c", "0"])
    assert done.status == 3 and "Measurement" not in done.out
    assert "Not visible here: it takes two threads" in done.out and "Explanation" in done.out


def test_lessons_are_completed(locus):
    assert "false-sharing\t" in locus("list --complete lesson fal").out
    assert "--layout" in locus("list --complete lesson false-sharing --lay").out
    assert "padded" in locus("list --complete lesson false-sharing --layout=pad").out
