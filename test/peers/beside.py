# SPDX-License-Identifier: Apache-2.0
"""Shared by the comparisons in Python: runs that alternate, and the median of the ratios of pairs
with its interval."""

import argparse
import math
import os
import shutil
import statistics
import subprocess
import sys

LOCUS = os.environ.get("LOCUS", "locus")


def options(description, pairs, words, more=()):
    """The options of the command line; exits if no comparison is possible."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--pairs",
        type=int,
        default=pairs,
        help=f"alternating runs of each ({pairs}; at least 6 for an interval)",
    )
    parser.add_argument("case", nargs="*", help=f"only cases with these words: {words}")
    for name in more:
        parser.add_argument(name, **more[name])
    given = parser.parse_args()
    if given.pairs < 6:
        parser.error(f"--pairs {given.pairs}: an interval of 95 % needs at least 6")
    if not shutil.which(LOCUS):
        sys.exit(
            f"peers: there is no program {LOCUS}; LOCUS=PATH says where locus is, as `make peers`"
            " does"
        )
    return given


def chosen(cases, words, of):
    """The cases that have all the words; of(case) gives those of a case."""
    found = [case for case in cases if set(words) <= {str(word) for word in of(case)}]
    return found or sys.exit(f"peers: no case has all of {' '.join(words)}")


def say_if_busy():
    busy = os.getloadavg()[0]
    if busy > 0.5:
        print(
            f"The machine is not quiet (load average {busy:.1f}): expect wide intervals, and don't"
            " trust medians."
        )


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode:
        sys.exit(
            f"peers: {' '.join(command)}: status {done.returncode}\n{done.stderr or done.stdout}"
        )
    return done.stdout


def alternate(ours, theirs, pairs):
    """What each returned, pair by pair; they take turns to begin a pair."""
    measured: list[list] = [[], []]
    for pair in range(pairs):
        for side in (0, 1) if pair % 2 else (1, 0):
            measured[side].append((ours, theirs)[side]())
    return measured


def median_interval(values):
    """The confidence interval of the median, at 95 % or more: the k-th value from either end, by
    the binomial distribution."""
    values, n = sorted(values), len(values)
    outside = k = 0
    while outside + 2 * math.comb(n, k) / 2**n <= 0.05:
        outside += 2 * math.comb(n, k) / 2**n
        k += 1
    return (values[k - 1], values[n - k]) if k else (-math.inf, math.inf)


REACHED, MISSED, OPEN = "reached", "missed", "open"


def outcome(interval, least, most=math.inf):
    """Whether a ratio is between the two: reached where all of its interval is, missed where no
    part of it is, else open. The rule of goal.h and of the report."""
    low, high = interval
    if high < least or low > most:
        return MISSED
    return REACHED if low >= least and high <= most else OPEN


def median_ratio(over, under):
    """The median of the ratios of pairs, and its interval."""
    ratios = [one / other for one, other in zip(over, under)]
    return statistics.median(ratios), median_interval(ratios)
