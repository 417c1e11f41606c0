# SPDX-License-Identifier: Apache-2.0
"""Requirements of each benchmark, tested for all that `locus list` names: a new benchmark is tested
without an edit here."""

import functools
import os
import pathlib
import pty
import random
import re
import subprocess

import pytest
from conftest import MEASURED, SANITIZED, SMALL
from listed import unwrapped
from some import some

SOURCE = pathlib.Path(__file__).resolve().parents[2]
LISTED = subprocess.run(
    [os.environ.get("LOCUS", "locus"), "list", "--names"],
    capture_output=True,
    text=True,
    check=False,
).stdout.split()
COMMANDS = {
    "list",
    "suite",
    "report",
    "summary",
    "compare",
    "levels",
    "sick",
    "aggregate",
    "history",
    "export",
    "validate",
    "topology",
    "doctor",
    "health",
    "soak",
    "lesson",
    "help",
    "version",
}
BENCHMARKS = [name for name in LISTED if name not in COMMANDS and not name.startswith("-")]
PROFILES = ("quick", "standard", "paper")
MACHINES = ("node:2 core:4 pu:2", "node:1 core:2 pu:1", "node:4 core:16 pu:1")
# Takes seconds; the budget is large for a busy machine.
QUICK = "--profile quick --time-budget 60s --duration 1ms --repeats 1 --oversubscribe"

OTHER = pytest.mark.native("other values run the same code")
every = pytest.mark.parametrize("name", BENCHMARKS)
# For properties that all benchmarks share: sanitizers test them with one.
every_alike = pytest.mark.parametrize(
    "name", [BENCHMARKS[0], *(pytest.param(name, marks=OTHER) for name in BENCHMARKS[1:])]
)


@functools.cache
def told(locus, name):
    """The output of `locus list NAME`."""
    done = locus("list", name)
    assert done.status == 0 and len(some(done.out.splitlines())) > 10, done
    return done.out


def listed(locus, name):
    return unwrapped(told(locus, name))


def test_there_are_benchmarks(locus):
    assert [line.split()[0] for line in locus("list").out.splitlines()] == BENCHMARKS


def test_job_scripts(locus):
    """The scripts in jobs/ run the main benchmark, all of them, and any; one over ranks for each
    that can be divided over ranks, and the network; accept, which calls locus-job for each step.
    Their lines for SLURM differ only in name, nodes and time."""
    divided = [
        name
        for name in some(BENCHMARKS)
        if any(
            "; can be divided over ranks" in text
            for _, text in rows(listed(locus, name), "variants")
        )
    ]
    calls = {
        "numa": "numa",
        "suite": "suite",
        "locus": "--any",
        "likwid": "--likwid",
        "fabric": '--mpi "$mpi" fabric',
        **{f"{name}-mpi": f'--mpi "$mpi" {name}' for name in some(divided)},
    }
    scripts = {file.stem: file.read_text() for file in (SOURCE / "jobs").glob("*.slurm")}
    assert set(scripts) == {*calls, "accept"} and "numa" in BENCHMARKS
    for name, text in scripts.items():
        assert name == "accept" or f'exec "$locus_job" {calls[name]} "$@"\n' in text
        assert f"\n#SBATCH --job-name={name}\n" in text
        assert set(re.findall(r"jobs/([\w-]+)\.slurm", text)) == {name}
    asked = {re.sub(r"(name|nodes|time)=\S+", r"\1", settings(text)) for text in scripts.values()}
    assert len(asked) == 1


def settings(script):
    return "\n".join(re.findall("^#SBATCH .*", script, re.MULTILINE))


def part(text, head):
    """The lines below a heading of `locus list NAME`, until the next one."""
    found = re.search(rf"^{re.escape(head)}.*\n((?:  .*\n?)*)", text, re.MULTILINE)
    return found[1].splitlines() if found else []


def rows(text, head):
    """[(name, description)] of the lines below a heading."""
    lines = [line for line in part(text, head) if re.match(r"  \S", line)]
    return [tuple(re.split(r"\s+", line.strip(), maxsplit=1)) for line in lines]


def planned(locus, name, *arguments, machine=MACHINES[0]):
    """[(group, variant, {parameter: value})] of a dry run."""
    done = locus(name, *arguments, "--dry-run", "--topology", machine)
    assert done.status == 0, done.err
    found, group = [], None
    for line in done.out.splitlines():
        if re.match(r"group \d", line):
            group = line
        elif identity := re.match(rf"  ([0-9a-f]{{16}})  {name}/(\S+) (.*)", line):
            values = dict(word.split("=", 1) for word in identity[3].split() if "=" in word)
            found.append((group, identity[2], {**values, "id": identity[1]}))
    return some(found)


@every
def test_it_says_what_it_is(locus, name):
    shown = listed(locus, name)
    assert re.match(rf"{name} - \S.*\nprotocol: \S", shown)
    for head in ("variants", "parameters", "metrics"):
        named = rows(shown, head)
        assert all(len(row) == 2 for row in some(named)), head
        assert head == "metrics" or len({row[0] for row in named}) == len(named), head
    assert "time" in dict(rows(shown, "metrics"))
    help_text = re.sub(r"\s+", " ", locus(name, "--help").out)
    assert shown.split("\n")[0] in help_text


@every
def test_what_is_listed_fits_a_terminal(locus, name):
    assert all(len(line) <= 100 for line in some(told(locus, name).splitlines()))


def said_on_a_terminal(locus, *arguments):
    """The lines that locus writes to stderr if that is a terminal."""
    own, its = pty.openpty()
    process = locus.start("", *arguments, stdout=subprocess.DEVNULL, stderr=its)
    os.close(its)
    said = b""
    try:
        while piece := os.read(own, 4096):
            said += piece
    except OSError:  # its end is closed
        pass
    os.close(own)
    assert (process.wait() == 0) == (not said), (arguments, said)
    return said.decode().splitlines()


def test_a_message_fits_a_terminal(locus):
    """Messages of any length, in each build: they are folded."""
    said = said_on_a_terminal(locus, "no such command " * 20)
    assert len(some(said)) > 3
    assert not [line for line in said if len(line) > 100], said


@pytest.mark.native("the texts are the same")
@every
def test_messages_fit_a_terminal(locus, name):
    """The message for a wrong value fits, for each option."""
    for option in some(locus("list", "--names", name).out.split()):
        said = said_on_a_terminal(locus, name, "--dry-run", option, "no-such-value/" * 4)
        assert not [line for line in said if len(line) > 100], said


@every
@pytest.mark.parametrize(
    ("profile", "machine"),
    [
        pytest.param(profile, machine, marks=[OTHER] * (i != k))
        for i, profile in enumerate(PROFILES)
        for k, machine in enumerate(MACHINES)
    ],
)
def test_each_profile_is_planned(locus, name, profile, machine):
    """Each trial is planned once, and always in the same order; also for published settings."""
    found = planned(locus, name, "--profile", profile, "--oversubscribe", machine=machine)
    assert len({values["id"] for _, _, values in found}) == len(found)
    assert SANITIZED or found == planned(
        locus, name, "--profile", profile, "--oversubscribe", machine=machine
    )


def choices(shown):
    """{option: its values} of the parameters that are chosen from a list."""
    found = ((option, text.rsplit(": ", 1)) for option, text in rows(shown, "parameters"))
    return {
        option: said[1].split(",")
        for option, said in found
        if len(said) == 2 and re.fullmatch(r"[^ ,]+(,[^ ,]+)+", said[1])
    }


@every_alike
def test_what_a_ratio_compares_is_sampled_in_turn(locus, name):
    """Each ratio has trials of both its sides in one group."""
    shown = listed(locus, name)
    variants = dict(rows(shown, "variants"))
    compared = re.findall(r"^  .*\([^,()\n]*, ([^,()/\n]+)/([^,()/\n]+)\)$", shown, re.MULTILINE)
    if not compared:
        pytest.skip(f"{name} has no ratios")
    for of, to in some(compared):
        if of in variants:
            found = planned(locus, name, "--variant", f"{of},{to}")
            sides = [{group for group, variant, _ in found if variant == side} for side in (of, to)]
        elif of == "fewest":
            found = planned(locus, name, "--threads", "2,4")
            sides = [
                {group for group, _, values in found if values["threads"] == side}
                for side in ("2", "4")
            ]
        else:
            (option,) = (
                option for option, values in choices(shown).items() if {of, to} <= {*values}
            )
            found = planned(locus, name, f"{option}={of},{to}")
            sides = [
                {group for group, _, values in found if values.get(option[2:]) == side}
                for side in (of, to)
            ]
        assert sides[0] & sides[1], f"{of} and {to} have no group in common"


@every
def test_its_default_counters_are_explained(locus, name):
    shown = listed(locus, name)
    events = part(shown, "counters (--counters default")
    assert len(some(events)) % 2 == 0
    assert all(re.match(r"  \S+$", line) for line in some(events[::2]))
    assert all(line.strip() for line in some(events[1::2]))


@every_alike
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--variant nosuch", "no variant"),
        ("--threads 0", "threads"),
        ("--threads -1", "threads"),
        ("--profile long", "profile"),
        ("--nosuch 1", "nosuch"),
        ("--bind 99999", "bind"),
        ("--time-budget soon", "time-budget"),
        ("surplus", "surplus"),
    ],
)
def test_what_is_wrong_is_named(locus, name, words, said):
    done = locus(name, *words.split())
    assert done.status == 2 and said in done.err and done.err.startswith("locus"), done


@every
def test_a_value_that_is_none_is_refused(locus, name):
    options = some([*dict(rows(listed(locus, name), "parameters"))])
    for option in options[:: 4 if SANITIZED else 1]:
        done = locus(name, "--dry-run", "--topology", MACHINES[0], f"{option}=\t")
        assert done.status in (2, 3) and option.lstrip("-") in done.err, (option, done)


@OTHER
@every
def test_a_typo_is_refused_whatever_the_variant(locus, name):
    """A wrong value is refused even if the variant does not use the parameter."""
    parameters = some(dict(rows(listed(locus, name), "parameters")))
    for variant in some(dict(rows(listed(locus, name), "variants"))):
        for option in parameters:
            done = locus(name, f"--variant={variant}", "--dry-run", f"{option}=no-such,thing")
            assert done.status in (2, 3) and option.lstrip("-") in done.err, (variant, option, done)


@every
def test_command_lines_of_its_own_words(locus, name, often):
    """Random command lines are planned, or refused with a reason. Sanitizers test the first ones,
    and the whole corpus of the fuzz targets."""
    options = some(set(locus("list --names", name).out.split()) - {"--topology"})
    values = [
        *sorted(set(listed(locus, name).split())),
        "",
        "0",
        "-1",
        "1..4",
        "9" * 30,
        "nan",
        "all",
        "1,,2",
        "node:0",
    ]
    choose = random.Random(name)
    for _ in range(often * 3 // 10):
        words = ["--dry-run", f"--topology={choose.choice(MACHINES)}"]
        words += [
            f"{option}={choose.choice(values)}"
            for option in choose.choices(sorted(options), k=choose.randrange(1, 4))
        ]
        done = locus(name, *words, errors="replace")
        assert done.status in (0, 2, 3), (words, done)
        assert done.status == 0 or done.err.startswith("locus"), (words, done)


@every_alike
def test_it_measures_and_goes_on(locus, read, tmp_path, name):
    """The record is valid (read() checks the schema), and --resume does not measure complete trials
    again."""
    file = tmp_path / "a.jsonl"
    words = f"{name} {QUICK} {SMALL.get(name, '')}"
    done = locus(words, "--output", file)
    assert done.status == 0, done
    lines = read(file)
    first = {line["id"]: line for line in some(line for line in lines if line["type"] == "trial")}
    complete = {
        i
        for i, line in first.items()
        if line["status"] in MEASURED and line["stopped"] == "repeats"
    }
    assert complete, [line["status"] for line in first.values()]
    for trial in first.values():
        assert trial["status"] in (*MEASURED, "interrupted"), trial["reasons"]
        (time,) = (m for m in trial["metrics"] if m["name"] == "time")
        assert time["unit"] == f"s/{trial['unit']}" and (time["value"] is None) == bool(time["why"])
    again = locus(words, "--output", file, "--resume")
    assert again.status == 0, again
    later = [line for line in read(file)[len(lines) :] if line["type"] == "trial"]
    assert not [
        line["id"] for line in later if line["id"] in complete and not line["alternated_with"]
    ]
