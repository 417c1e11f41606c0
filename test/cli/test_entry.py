# SPDX-License-Identifier: Apache-2.0
"""Input of new users: words to be explained, names of topics, of several benchmarks, of none."""

import contextlib
import fcntl
import os
import pathlib
import pty
import re
import struct
import termios

import pytest
from some import some

NARROW = "dummy --variant steady,wrong --delay 1,2 --threads 1 --repeats 2"

STATUSES = ["ok", "unconverged", "bimodal", "noisy", "interrupted", "misplaced", "wrong"]
TERMS = ["failed", "impossible", "certain", "rough", "cannot tell", "open", "REMOTE"]
WORDS = [*STATUSES, *TERMS, "interval", "record", "score"]


@pytest.mark.parametrize("word", WORDS)
def test_help_tells_what_a_word_means(locus, word):
    """In the words of the glossary, from which the help is made."""
    done = locus("help", word)
    glossary = pathlib.Path(__file__).parents[2].joinpath("doc/methods/glossary.md").read_text()
    terms = {row: row.split(" | ")[0].strip("| ").split(", ") for row in glossary.splitlines()}
    row = next(row for row, own in terms.items() if word.lower() in own)
    meaning = row.split(" | ")[1].rstrip(" |").replace("`", "")
    assert done.status == 0 and " ".join(done.out.split()) == f"{word}: {meaning}"


def test_a_mistyped_word_has_a_suggestion(locus):
    done = locus("help bimodl")
    assert done.status == 2 and "did you mean 'bimodal'?" in done.err
    assert "bimodal" not in locus("bimodl").err


def test_a_table_tells_what_its_statuses_mean(locus):
    done = locus("dummy --variant wrong,steady --repeats 2 --threads 1")
    assert "wrong: the answer was not right" in done.out.splitlines()[-1]
    assert "impossible: " not in done.out.splitlines()[-1]


@pytest.mark.parametrize(
    "word, command",
    [
        ("stream", "numa"),
        ("Bandwidth", "numa"),
        ("tlb", "latency --variant page-random --pages base,thp"),
        ("false-sharing", "sharing"),
        ("first-touch", "numa --variant static,single"),
        ("L2", "latency"),
    ],
)
def test_what_people_look_for_leads_to_its_benchmark(locus, word, command):
    done = locus(word)
    assert done.status == 2 and done.err.endswith(f"; try `locus {command}`\n")
    assert locus(f"{command} --dry-run").status == 0


@pytest.mark.parametrize(
    "word, command",
    [("csv", "export"), ("Data-frame", "export"), ("throttling", "soak"), ("diff", "compare")],
)
def test_what_people_look_for_leads_to_its_command(locus, word, command):
    done = locus(f"help {word}")
    assert done.status == 2 and done.err.endswith(f"; try `locus {command}`\n")
    assert locus(f"help {command}").status == 0


@pytest.mark.parametrize("word", ["suspect", "ODD", "unjudged", "campaign", "class", "thp"])
def test_words_of_a_cluster_are_explained(locus, word):
    done = locus(f"help {word}")
    assert done.status == 0 and done.out.lower().startswith(f"{word.lower()}")


@pytest.mark.parametrize("words", ["-V", "--version", "latency -V", "report -V", "suite --version"])
def test_the_version_is_told_everywhere(locus, words):
    done = locus(words)
    assert (done.status, done.out) == (0, locus("version").out) and done.out


def test_a_suite_runs_the_benchmarks_that_are_named(locus):
    done = locus("suite kmeans latency kmeans --dry-run", outline=True)
    rows = re.findall(r"(?m)^([a-z]+) on .* trials in", done.out)
    assert (done.status, rows) == (0, ["latency", "kmeans"])
    assert "of 2 benchmarks" in done.out.splitlines()[0]


@pytest.mark.parametrize(
    "words, said",
    [
        ("suite latncy", "there is no benchmark 'latncy'; did you mean 'latency'?"),
        ("suite --variant cycle", "`locus BENCHMARK --variant cycle`"),
        ("latency kmeans", "'kmeans' is not an option"),
    ],
)
def test_what_a_suite_cannot_choose(locus, words, said):
    done = locus(words)
    assert done.status == 2 and said in done.err


def test_a_size_in_kb_is_one_in_kib(locus):
    ids = [
        re.findall("(?m)^  ([0-9a-f]{16}) ", locus(f"dummy --size {size} --dry-run").out)
        for size in ("4KB", "4kib", "4K", "4096")
    ]
    assert ids[0] and ids.count(ids[0]) == 4


def test_quiet_without_a_record_says_that_nothing_is_kept(locus, tmp_path):
    said = "--quiet without --output: results are neither shown nor kept"
    assert said in locus("dummy --variant steady --repeats 1 --quiet").err
    assert said in locus("dummy --variant steady --repeats 1 --runs 2 --quiet").err
    kept = locus("dummy --variant steady --repeats 1 --quiet --output", tmp_path / "a.jsonl")
    assert (kept.status, kept.err) == (0, "")


@pytest.mark.parametrize("words", ["doctor", "suite --help", "help certain", NARROW])
def test_text_is_as_wide_as_the_terminal(locus, words):
    """From 60 to 100 columns; the last line of doctor, and rows of tables, are never broken."""
    for columns, most in (("80", 80), ("10", 70), ("1000", 100), ("nonsense", 100)):
        rows = some(locus(words, env={"COLUMNS": columns}).out.splitlines())
        wide = [row for row in rows if len(row) > most and "/" not in row]
        assert not wide, columns  # but a path cannot be broken
        assert most == 70 or max(map(len, rows)) > most - 20


def test_the_width_of_a_terminal_counts(locus):
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 72, 0, 0))
    done = locus("help certain", stdout=its, env={"COLUMNS": ""})
    os.close(its)
    said = b""
    with contextlib.suppress(OSError):  # all is read
        while piece := os.read(ours, 4096):
            said += piece
    os.close(ours)
    rows = said.decode().splitlines()
    assert done.status == 0 and 60 < max(map(len, rows)) <= 72 and len(rows) > 2


def test_the_first_line_names_the_cpus_that_may_be_used(locus, cpus):
    done = locus("dummy --variant steady --repeats 1", prefix=["taskset", "-c", str(cpus[-1])])
    assert done.out.splitlines()[0].endswith(f", on CPU {cpus[-1]}")
