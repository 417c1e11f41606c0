# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin that prints a line of TAP for each test, and comments with the reason of its
failure, or its output.

If a test runs other tests, and prints which of those were skipped, each of them has a line, too.
Deselected tests count as skipped, for the reason in DESELECTED if that is set. The last comment
counts the retries (retries.py).
"""

import os
import re
import signal
import sys

import pytest
import retries

# A shell's background process ignores these, and so would each program that a test starts.
for caught in (signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(caught) == signal.SIG_IGN:
        signal.signal(caught, signal.SIG_DFL)

out = os.fdopen(os.dup(1), "w", buffering=1)  # made before pytest captures what tests print
lines = 0


def say(ok, name, comment="", directive=""):
    global lines
    lines += 1
    print("ok" if ok else "not ok", lines, "-", name + directive, file=out)
    for line in comment.splitlines():
        print("#", line, file=out)


def say_skipped(name, reason):
    say(True, name, directive=" # SKIP " + " ".join(reason.split()))


def pytest_collectreport(report):
    if report.failed:
        say(False, name_of(f"{report.nodeid}::collection"), report.longreprtext)
    elif report.skipped:
        say_skipped(name_of(f"{report.nodeid}::collection"), reason_of(report))


def name_of(nodeid):
    """FILE::TEST, on one line even if a parameter has line breaks."""
    file, _, test = nodeid.partition("::")
    return " ".join(f"{file.rsplit('/', 1)[-1]}::{test}".split())


def reason_of(report):
    """Why it is skipped."""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
    return reason.removeprefix("Skipped: ")


def pytest_deselected(items):
    for item in items:
        option = item.config.option
        chosen = [
            f'{flag} "{text}"'
            for flag, text in (("-k", option.keyword), ("-m", option.markexpr))
            if text
        ]
        say_skipped(
            name_of(item.nodeid),
            os.environ.get("DESELECTED") or f"deselected by {' '.join(chosen) or 'a plugin'}",
        )


def pytest_runtest_logreport(report):
    name = name_of(report.nodeid)
    if report.failed:
        say(False, name if report.when == "call" else f"{name}: {report.when}", report.longreprtext)
    elif report.skipped:
        say_skipped(name, reason_of(report))
    elif report.when == "call":
        inner = re.compile(r"(?:ok \d+ - |SKIP: )(.+?) # SKIP (.*)")
        skipped = [found for found in map(inner.fullmatch, report.capstdout.splitlines()) if found]
        say(
            True,
            name,
            "\n".join(
                line for line in report.capstdout.strip().splitlines() if not inner.fullmatch(line)
            ),
        )
        for found in skipped:
            say_skipped(f"{name}: {found[1]}", found[2])


def pytest_keyboard_interrupt():
    print("Bail out! Interrupted", file=out)


def pytest_sessionfinish(session, exitstatus):
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and lines:
        session.exitstatus = (
            pytest.ExitCode.OK
        )  # all were skipped or deselected, as their lines say
    elif exitstatus and exitstatus != pytest.ExitCode.INTERRUPTED and not lines:
        say(
            False,
            f"pytest ended with status {int(exitstatus)} before the first test",
            " ".join(sys.argv),
        )
    told = retries.summary(retries.counts)
    if told:
        print("#", told, file=out)
    print(f"1..{lines}", file=out)
