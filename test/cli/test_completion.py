# SPDX-License-Identifier: Apache-2.0
"""Completion: the words that the program offers, and their effect in bash, zsh and fish."""

import fcntl
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import time

import pytest
from lacking import lacking
from some import some

SOURCE = pathlib.Path(__file__).resolve().parents[2]
FILES = ":files"


@pytest.fixture(scope="session")
def offered(locus):
    """offered("latency", "--pages", ""): {word: description} of completions of the last word."""

    def ask(*words):
        done = locus("list --complete", *words)
        assert done.status == 0 and not done.err, done
        return dict((*line.split("\t", 1), "")[:2] for line in done.out.splitlines())

    return ask


@pytest.fixture(scope="session")
def benchmarks(locus):
    return [line.split()[0] for line in some(locus("list").out.splitlines())]


def test_commands_and_benchmarks_with_what_they_are(locus, offered, benchmarks):
    listed = dict(line.split(None, 1) for line in locus("list").out.splitlines())
    all_words = offered("")
    assert {name: all_words[name] for name in benchmarks} == listed
    commands = set(locus("list --names").out.split()) - set(benchmarks)
    assert set(all_words) == {*commands, *benchmarks, "--help", "--version"}
    assert list(offered("lat")) == ["latency"] and offered("nonsense") == {}
    assert list(offered("--v")) == ["--version"] and offered("nonsense", "") == {}
    assert set(offered("list", "")) == set(benchmarks)
    assert set(offered("help", "")) >= {*commands, *benchmarks}
    assert offered("list", "numa", "") == {} and list(offered("doctor", "--")) == ["--help"]
    assert FILES in offered("report", "") and FILES in offered("topology", "")
    assert FILES in offered("topology", "--nonsense", "")


def test_each_option_of_each_benchmark(locus, offered, benchmarks):
    """The options in its --help, except those already on the command line."""
    for name in [*benchmarks, "suite"]:
        told = set(re.findall(r"^ +(?:-\?, )?(--[a-z-]+)", locus(name, "--help").out, re.M))
        assert set(offered(name, "--")) == told - {"--usage"}, name
        assert "--seed" not in offered(name, "--seed", "1", "--")
        assert "--seed" not in offered(name, "--seed=1", "--")
    assert offered("latency", "--rat")["--rate"].startswith("bandwidth that all background threads")


def test_benchmarks_of_a_suite(offered):
    assert {"latency", "numa"} <= set(offered("suite", ""))
    assert "latency" in offered("suite", "numa", "lat")
    assert "latency" not in offered("suite", "--profile", "")


def test_values_of_a_benchmarks_own(offered):
    assert "1" in offered("latency", "--threads", "")


@pytest.mark.native("other values run the same code")
def test_each_value_that_is_offered_is_understood(locus, offered, benchmarks):
    """A dry run accepts each offered value; and all options offer some, except free text."""
    free = {"--repeats", "--runs", "--duration", "--time-budget", "--case-budget"}
    free |= {"--seed", "--tag", "--begin-at"}
    for name in benchmarks:
        lists = {}
        for option in some(offered(name, "--")):
            values = list(offered(name, option, ""))
            if values[:1] == [FILES]:
                assert values == [FILES]
            elif values[:1] != [next(iter(offered(name, "")))]:  # it takes a value
                lists[option] = values
        assert set(lists) >= {"--variant", "--bind", "--profile"}
        valueless = {option for option in lists if not lists[option]}
        assert valueless <= free | {"--threads", "--counters"}, name
        words = [
            f"{option}={value}"
            for option, values in lists.items()
            for value in values
            if option not in ("--counters", "--profile")
        ]
        for word in some(words):
            done = locus(
                name, "--dry-run", "--profile=quick", "--topology", "node:2 core:4 pu:1", word
            )
            assert done.status in (0, 3) or "needs" in done.err, (word, done)


def test_values_by_what_the_tables_say(offered):
    assert set(offered("latency", "--profile", "")) == {"quick", "standard", "paper"}
    assert list(offered("latency", "--profile", "qu")) == ["quick"]
    assert list(offered("latency", "--profile=st")) == ["--profile=standard"]
    variants = offered("latency", "--variant", "")
    assert {"cycle", "page-random"} <= set(variants) and all(some(variants.values()))
    assert list(offered("latency", "--variant", "cycle,page-r")) == ["cycle,page-random"]
    assert "cycle,cycle" not in offered("latency", "--variant", "cycle,")
    assert offered("latency", "--variant=cycle,page-r") == {
        "--variant=cycle,page-random": variants["page-random"]
    }
    assert set(offered("latency", "--element", "")) == {"pointer", "int"}
    quick = {"4K..64M*2": "quick", "4K..auto*4": "quick"}
    assert offered("latency", "--size", "4K") == quick
    assert "auto" in offered("latency", "--size", "")
    assert set(offered("numa", "--bind", "")) == {"close", "spread", "float"}
    assert "default" in offered("numa", "--counters", "")
    assert offered("numa", "--output", "x") == {FILES: ""} == offered("numa", "--output=x")
    assert FILES in offered("kmeans", "--points", "")
    assert offered("numa", "--seed", "") == {}
    assert "--variant" in offered("numa", "--quiet", "")  # takes no value
    # options of the internal benchmark are completed, for developers, but its name is not offered
    assert "steady" in offered("dummy", "--variant", "") and "dummy" not in offered("du")


@pytest.mark.native("Python says it")
def test_options_of_what_is_written_in_python(locus, offered):
    if locus("report --help").status:
        lacking("what locus report needs", "python -m pip install -r analysis/requirements.txt")
    assert {"--output", "--force", "--help"} <= set(offered("report", "--"))
    assert list(offered("report", "--fo")) == ["--force"]
    assert {"csv", "superbench-results"} <= set(offered("export", "--format", ""))
    assert FILES in offered("report", "--output", "x") and FILES in offered("report", "--force", "")


def test_values_of_a_command_that_has_its_own_help(locus, offered, tmp_path):
    python = tmp_path / "python"
    python.write_text(
        '#!/bin/sh\necho "usage: locus report --nonsense"\necho "options:"\n'
        'echo "  -h, --help  this"\necho "  --format {csv,json}"\necho "           what"\n'
        'echo "  --to DIR   where"\necho "  -x         short"\n'
        'echo "  --kind NAME"\necho "Values of --kind:"\necho "  one   a, and"\n'
        'echo "        more"\necho "  other"\necho\necho "  no value"\n'
    )
    python.chmod(0o755)

    def told(*words):
        done = locus("list --complete report", *words, env={"LOCUS_PYTHON": python})
        return done.out.split("\n")[:-1]

    assert told("--") == ["--help", "--format", "--to", "--kind"] and told("--t") == ["--to"]
    assert told("--format", "") == ["csv", "json"] and told("--format", "j") == ["json"]
    assert told("--format", "csv", "x") == [FILES] == told("--to", "")
    assert told("--format", "csv", "--f") == []
    assert told("--kind", "") == ["one", "other"] and told("--kind", "o", "") == [FILES]


def test_locus_mpi_is_asked_without_a_job(locus):
    program = pathlib.Path(locus.path).with_name("locus-mpi")
    if not program.exists():
        pytest.skip("built without MPI")
    done = subprocess.run(
        [program, "list", "--complete", "kmeans", "--prof"], capture_output=True, text=True,
        timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout.startswith("--profile\tquick") and done.stdout.count("\n") == 1


STUB = """#!/bin/sh
if [ "$1 $2" = "list --complete" ]; then exec "$LOCUS_PROGRAM" "$@"; fi
printf 'ran'; printf ' <%s>' "$@"; echo ' END'
"""
PROMPT = "READY> "
SHELLS = {
    "bash": (
        ["bash", "--noprofile", "--norc", "-i"],
        "PS1='READ''Y> '; bind 'set enable-bracketed-paste off'; . $COMPLETION/locus",
    ),
    "zsh": (
        ["zsh", "-f", "-i"],
        "PS1='READ''Y> '; unsetopt zle_bracketed_paste prompt_sp; fpath=($COMPLETION $fpath);"
        " autoload -U compinit; compinit -D -u",
    ),
    "fish": (
        ["fish", "--no-config", "--interactive"],
        "function fish_prompt; echo -n 'READ''Y> '; end; set -g fish_autosuggestion_enabled 0;"
        " set fish_complete_path $COMPLETION $fish_complete_path",
    ),
}


class Terminal:
    """A shell on a terminal of its own: sends keys, and reads what it shows."""

    def __init__(self, command, **environment):
        pid, self.fd = pty.fork()
        if not pid:
            os.execvpe(command[0], command, {**os.environ, **environment})
        self.pid, self.seen = pid, ""
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))

    def send(self, keys):
        os.write(self.fd, keys.encode())

    def until(self, pattern, seconds=60):
        end = time.monotonic() + seconds
        while not (found := re.search(pattern, self.seen)):
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            assert ready, f"no {pattern} within {seconds} s in {self.seen!r}"
            self.seen += os.read(self.fd, 1 << 16).decode(errors="replace")
        self.seen = self.seen[found.end() :]
        return found

    def close(self):
        os.kill(self.pid, signal.SIGKILL)  # fish survives the hang-up of its terminal
        os.waitpid(self.pid, 0)
        os.close(self.fd)


@pytest.fixture
def started(locus, tmp_path):
    """started("zsh") is a terminal at its prompt, in a folder with some files."""
    terminals = []
    stub = tmp_path / "bin/locus"
    stub.parent.mkdir()
    stub.write_text(STUB)
    stub.chmod(0o755)
    (tmp_path / "record one.jsonl").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/points.npy").touch()

    def start(shell):
        command, prepare = SHELLS[shell]
        if not shutil.which(command[0]):
            lacking(shell, f"Debian, Fedora, Spack: {shell}")
        terminal = Terminal(
            command,
            PATH=f"{stub.parent}:{os.environ['PATH']}",
            LOCUS_PROGRAM=locus.path,
            COMPLETION=str(SOURCE / "packaging/completion"),
            HOME=str(tmp_path),
            XDG_CONFIG_HOME=str(tmp_path / "config"),
            XDG_DATA_HOME=str(tmp_path / "data"),
            TERM="xterm",
            LC_ALL="C.UTF-8",
        )
        terminals.append(terminal)
        terminal.send(f"cd {tmp_path}; {prepare}\r")
        terminal.until(PROMPT)
        return terminal

    yield start
    for terminal in terminals:
        terminal.close()


@pytest.mark.native("the shells ask the program the same")
@pytest.mark.parametrize("shell", SHELLS)
def test_pressing_tab(started, shell):
    terminal = started(shell)

    def pressed(keys):
        """The arguments of locus after Enter."""
        terminal.send(f"locus {keys}\r")
        words = terminal.until(r"ran((?: <[^>]*>)*) END").group(1)
        terminal.until(PROMPT)
        return re.findall("<([^>]*)>", words)

    assert pressed("lat\t--prof\tqu\t") == ["latency", "--profile", "quick"]
    assert pressed("latency --variant cycle,page-r\t --dry\t") == [
        "latency",
        "--variant",
        "cycle,page-random",
        "--dry-run",
    ]
    assert pressed("latency --element=po\t--seed 7") == [
        "latency",
        "--element=pointer",
        "--seed",
        "7",
    ]
    assert pressed("rep\trec\t") == ["report", "record one.jsonl"]
    assert pressed("kmeans --points fold\tpoi\t--output=rec\t") == [
        "kmeans",
        "--points",
        "folder/points.npy",
        "--output=record one.jsonl",
    ]
    assert pressed("nothing\t") == ["nothing"]


@pytest.mark.native("the shells ask the program the same")
@pytest.mark.parametrize("shell", SHELLS)
def test_what_there_is_to_choose_from_is_shown(started, offered, shell):
    """The list is shown with descriptions; bash shows only the words."""
    summary = offered("latency", "--variant", "")["cycle"]
    terminal = started(shell)
    terminal.send("locus latency --variant cycle,\t\t")
    terminal.until("page-random")
    if shell != "bash":
        terminal = started(shell)
        terminal.send("locus latency --variant \t\t")
        terminal.until(re.escape(summary[:20]))


def test_each_shell_finds_the_files_where_they_are_installed(locus):
    """The file names that the shells look for, and the commands that the files serve."""
    folder = SOURCE / "packaging/completion"
    assert {file.name for file in folder.iterdir()} == {
        "locus",
        "locus-mpi",
        "_locus",
        "locus.fish",
        "locus-mpi.fish",
    }
    assert (folder / "_locus").read_text().startswith("#compdef locus locus-mpi\n")
