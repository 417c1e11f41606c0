# SPDX-License-Identifier: Apache-2.0
"""Calls of a module's functions in processes of their own, several at a time, for work that holds
the interpreter's lock. A process ends with the one that started it."""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from .folders import PACKAGE

# A process has the modules of the one that starts it: `python -m` would search the current folder
# first, where others may write.
BEGIN = (
    "import sys; sys.path[:] = sys.argv[2:]; import runpy; "
    "runpy.run_module(sys.argv[1], run_name='__main__')"
)
Process = subprocess.Popen[bytes]


class Processes:
    """At most so many at a time, each started when it is first needed. The module calls serve().
    Calls begin in their order."""

    def __init__(self, module: str, most: int) -> None:
        self._module = f"{PACKAGE.name}.{module}"
        self._threads = ThreadPoolExecutor(most)  # each has a process, and waits for its answers
        self._own = threading.local()
        self.started: list[Process] = []
        atexit.register(self._end)

    def call(self, function: str, *arguments: object) -> Future[Any]:
        """An argument may be the result of another call, for which this one waits."""
        return self._threads.submit(self._call, function, arguments)

    def _call(self, function: str, arguments: tuple[object, ...]) -> object:
        known = [a.result() if isinstance(a, Future) else a for a in arguments]
        process = self._process()
        try:
            assert process.stdin and process.stdout
            pickle.dump((function, known), process.stdin)
            process.stdin.flush()
            found: object = pickle.load(process.stdout)
        except (EOFError, BrokenPipeError):
            raise ChildProcessError(
                0, f"the process {self._module} ended with status {process.wait()}"
            ) from None
        if isinstance(found, Exception):
            raise found
        return found

    def _process(self) -> Process:
        if not hasattr(self._own, "process"):
            isolated = ["-I"] if sys.flags.isolated else []
            self._own.process = subprocess.Popen(
                [sys.executable, *isolated, "-c", BEGIN, self._module, *sys.path, PACKAGE.parent],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            self.started.append(self._own.process)
        process: Process = self._own.process
        return process

    def _end(self) -> None:
        for process in self.started:
            process.kill()  # it holds nothing that lasts
            process.communicate()


def serve(*functions: Callable[..., object]) -> None:
    """What such a process does: answers calls of these functions until its standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ^C reaches the process that calls, too
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    of_name = {function.__name__: function for function in functions}
    try:
        while True:
            name, arguments = pickle.load(sys.stdin.buffer)
            answer: object
            try:
                answer = of_name[name](*arguments)
            except Exception as error:
                answer = error
            pickle.dump(answer, answers)
            answers.flush()
    except (EOFError, BrokenPipeError):
        os._exit(0)  # the threads of a library may be at work


def usable_cpus() -> int:
    """How many CPUs this process may use: a cpuset may have fewer than the machine."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # only Linux has it
        return os.cpu_count() or 1
