# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin that prints a line of TAP for each test, and in comments why it failed, or what it said."""

import os
import sys

out = os.fdopen(os.dup(1), "w", buffering=1)  # made before pytest captures what tests print
lines = 0


def say(ok, name, comment="", directive=""):
    global lines
    lines += 1
    print("ok" if ok else "not ok", lines, "-", name + directive, file=out)
    for line in comment.splitlines():
        print("#", line, file=out)


def pytest_collectreport(report):
    if report.failed:
        say(False, f"{report.nodeid}: collection", report.longreprtext)


def pytest_runtest_logreport(report):
    file, _, test = report.nodeid.partition("::")
    name = " ".join(f"{file.rsplit('/', 1)[-1]}::{test}".split())  # a line, whatever a parameter's text is
    if report.failed:
        say(False, name if report.when == "call" else f"{name}: {report.when}", report.longreprtext)
    elif report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
        say(True, name, directive=" # SKIP " + " ".join(reason.removeprefix("Skipped: ").split()))
    elif report.when == "call":
        say(True, name, report.capstdout.strip())


def pytest_sessionfinish(exitstatus):
    if exitstatus and not lines:
        say(False, f"pytest ended with status {int(exitstatus)} before the first test", " ".join(sys.argv))
    print(f"1..{lines}", file=out)
