# SPDX-License-Identifier: Apache-2.0
"""Bounded retries that are counted: tap_lines prints the counts at the end of a file's results.

The line is "# 3 retries: WHY (2), OTHER (1)". As a program, `retries.py LOG...` adds up these
lines of logs, and prints one.
"""

import collections
import pathlib
import re
import sys

counts: collections.Counter = collections.Counter()  # by reason


def count(why, n=1):
    counts[why] += n


def tries(most, why):
    """For `for _ in tries(10, "no update was lost"):`, whose body returns or breaks once it is
    good. Each try but the first counts as a retry. The test fails after `most` of them.
    """
    for n in range(most):
        if n:
            count(why)
        yield n
    raise AssertionError(f"{why}, in each of {most} tries")


def summary(of):
    """The line without its "# ", or None if nothing was retried."""
    total = sum(of.values())
    reasons = ", ".join(f"{why} ({n})" for why, n in sorted(of.items()) if n)
    return f"{total} {'retry' if total == 1 else 'retries'}: {reasons}" if total else None


def told(logs):
    """The counts in the given logs."""
    found: collections.Counter = collections.Counter()
    for log in logs:
        for line in pathlib.Path(log).read_text(encoding="utf-8", errors="replace").splitlines():
            ours = re.fullmatch(r"# \d+ retr(?:y|ies): (.*)", line)
            for why, n in re.findall(r"(.+?) \((\d+)\)(?:, |$)", ours[1] if ours else ""):
                found[why] += int(n)
    return found


if __name__ == "__main__":
    print(summary(told(sys.argv[1:])) or "no retries")
