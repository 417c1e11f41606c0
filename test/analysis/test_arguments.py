# SPDX-License-Identifier: Apache-2.0
"""Wrong command lines of the commands in Python give one line, like the other commands."""

from __future__ import annotations

import re

import pytest
from locus_analysis import __main__ as program
from locus_analysis.base import streams


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("export --csv a", "there is no option --csv; did you mean --format csv?"),
        ("export --frmat=csv a", "there is no option --frmat; did you mean --format?"),
        ("summary --zzzzzz a", "there is no option --zzzzzz; locus summary --help lists them"),
        ("export --format cvs a", "did you mean 'csv'?"),
        ("export --format cvs a", "--format: there is no 'cvs'; expected csv, jsonl, "),
        ("report a --output", "--output: expected one argument; locus report --help tells more"),
        ("report", "required: FILE|DIR; locus report --help tells more"),
    ],
)
def test_a_wrong_command_line_says_what_was_expected(
    words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        program.main(words.split())
    out, err = capsys.readouterr()
    assert end.value.code == 2 and not out
    assert err.startswith(f"locus {words.split()[0]}: ") and said in err
    assert len(err.splitlines()) == 1


def test_a_mistyped_command_has_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        program.main(["exprt"])
    assert "there is no 'exprt'; expected report, " in (err := capsys.readouterr().err)
    assert err.rstrip().endswith("did you mean 'export'?")


@pytest.mark.parametrize("words", ["export --format csv a b", "export a --format csv b"])
def test_options_may_stand_between_files(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(words.split()) == 2
    assert "a: cannot be read: No such file" in capsys.readouterr().err


def test_history_takes_options_behind_the_host(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["history", "n1", "--format", "json", "a"]) == 2
    assert "a: cannot be read: No such file" in capsys.readouterr().err


COMMANDS = (
    "report",
    "summary",
    "levels",
    "export",
    "topology",
    "validate",
    "aggregate",
)


@pytest.mark.parametrize("command", [*COMMANDS, *streams.VERDICTS])
def test_help_has_all_exit_statuses(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Also that of a fault, and of output that is lost."""
    with pytest.raises(SystemExit):
        program.main([command, "--help"])
    told = " ".join(capsys.readouterr().out.split()).partition("Exit status: ")[2]
    numbers = sorted(map(int, re.findall(r"(?:^|; )(\d+) ", told)))
    if command in streams.VERDICTS:
        assert numbers == [0, 1, 2, 4, 70] and "70 the program itself failed, or its output" in told
    else:
        assert numbers == [0, 1, 2, 70] and re.search("(?:written|writes it); 2 ", told)
