# SPDX-License-Identifier: Apache-2.0
"""argparse with the messages of locus's other commands: what is wrong, what was expected, and the
nearest name; one line, without the usage."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, Optional

from . import units

NAMED = 5  # hosts of a message
BAD_COMMAND_LINE = 2
OWN = re.compile(r"argument (?:[^:]*, )?([^:]+): (.*)", re.DOTALL)  # argparse's messages
CHOICE = re.compile(r"invalid choice: '?(.*?)'? \(choose from (.*)\)", re.DOTALL)
UNKNOWN = re.compile(r"unrecognized arguments: (.*)", re.DOTALL)


def exits(*statuses: str, verdict: bool = False) -> str:
    """The end of a help: the statuses of the command, with that of every command. `verdict`: 1 is a
    finding, so that lost output has another."""
    failed = "70 the program itself failed"
    last = f"{failed}, or its output could not be written" if verdict else failed
    return f"Exit status: {'; '.join([*statuses, last])}."


class Help(argparse.HelpFormatter):
    """Keeps the paragraphs of a text. One that begins with a name and a tab is set as an option."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(self._filled(line, width, indent) for line in text.splitlines())

    def _filled(self, paragraph: str, width: int, indent: str) -> str:
        name, tab, told = paragraph.partition("\t")
        if not tab:
            return super()._fill_text(paragraph, width, indent)
        first, others = f"{indent}  {name:18}  ", indent + 22 * " "
        return textwrap.fill(told, width, initial_indent=first, subsequent_indent=others)


class Parser(argparse.ArgumentParser):
    """Parses the arguments of a program, or of one of its commands, for which argparse makes
    parsers of the same class."""

    chosen: Optional[Parser] = None  # the command whose arguments are read

    _is_parsing = False

    def __init__(self, *words: Any, **more: Any) -> None:
        super().__init__(*words, **{"formatter_class": Help, **more})

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Options may also stand between the files of a command."""
        Parser.chosen = self
        if self._is_parsing or self._subparsers:
            return super().parse_known_args(args, namespace)
        self._is_parsing = True  # the next line calls this again
        return self.parse_known_intermixed_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        parser = Parser.chosen or self
        print(f"{parser.prog}: {parser.told(message)}", file=sys.stderr)
        sys.exit(BAD_COMMAND_LINE)

    def told(self, message: str) -> str:
        """argparse's message in locus's words."""
        if unknown := UNKNOWN.match(message):
            return self._unknown(unknown[1].split()[0])
        own = OWN.match(message)
        if own and (choice := CHOICE.match(own[2])):
            names = re.findall(r"[\w.-]+", choice[2])
            said = f"there is no '{choice[1]}'; expected {listed(names)}"
            return f"{_option(own[1])}{said}{_near(choice[1], names)}"
        said = f"{_option(own[1])}{own[2]}" if own else message
        return f"{said}; {self.prog} --help tells more"

    def _unknown(self, word: str) -> str:
        if not word.startswith("-"):
            return f"'{word}' is one argument too many; see `{self.prog} --help`"
        name = word.partition("=")[0]
        for action in self._actions:  # --csv for --format csv
            if name.lstrip("-") in (action.choices or ()) and action.option_strings:
                option = f"{action.option_strings[-1]} {name.lstrip('-')}"
                return f"there is no option {name}; did you mean {option}?"
        near = nearest(name, [o for a in self._actions for o in a.option_strings])
        then = f"did you mean {near}?" if near else f"{self.prog} --help lists them"
        return f"there is no option {name}; {then}"


def _option(name: str) -> str:
    return f"{name}: " if name.startswith("-") else ""


def listed(names: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _near(word: str, names: Iterable[str]) -> str:
    near = nearest(word, names)
    return f"; did you mean '{near}'?" if near else ""


def instead(host: str, known: Sequence[str]) -> str:
    """What a host that the records lack may be."""
    near = nearest(host, known)
    return f"did you mean {near}?" if near else f"they are of {units.some(known, NAMED)}"


def nearest(word: str, names: Iterable[str]) -> str:
    """The name that looks most like this word; empty: none does."""
    return next(iter(difflib.get_close_matches(word, list(names), 1)), "")
