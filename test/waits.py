# SPDX-License-Identifier: Apache-2.0
"""Waiting for what a process does: in a second or two on an idle machine."""

import contextlib
import subprocess
import time

PATIENCE = 180  # s: what takes longer hangs


def wait_for(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen within {PATIENCE} s"
        time.sleep(0.01)


def written(file, kind):
    """For wait_for(): whether the record has a line of this type."""
    line = f'"type":"{kind}"'.encode()
    return lambda: file.exists() and line in file.read_bytes()


@contextlib.contextmanager
def killed_at_end(words, **more):
    """Popen of what does not end by itself: its own context would wait for that for ever."""
    with subprocess.Popen(words, **more) as process:
        try:
            yield process
        finally:
            process.kill()
