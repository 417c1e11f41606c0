# SPDX-License-Identifier: Apache-2.0
"""The commands of locus that are written in Python: report, summary, compare, sick, history,
levels, export, topology, validate. pip installs them as locus-analysis. Whatever fails, here or
while modules are imported, ends with a line and a status."""

from __future__ import annotations

import gc
import os
import shlex
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Optional

from .base import limits, streams
from .base.streams import FAULT

FEW_SEARCHES = 200_000  # objects made between searches for garbage: rows, which stay, are millions
INTERRUPTED = 130
NO_MEMORY = "not enough memory for these records: give fewer of them"
NO_THREAD = "can't start new thread"  # as Python says it
MORE_THREADS = "no more threads are allowed: raise ulimit -u, or pids.max of the control group"
NO_MAPPING = ("cannot allocate memory", "failed to map segment")  # of the dynamic linker


def main(arguments: Optional[Sequence[str]] = None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    streams.begin()
    gc.set_threshold(FEW_SEARCHES)
    # numpy's library starts a thread for each CPU when it is loaded, or ends the process.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        limits.need("reading records", limits.READING)
        from . import commands  # not before: this takes memory, and runs code of others

        return commands.run(words)
    except BrokenPipeError:  # SIGPIPE, which Python ignores: the reader (`| head`) has ended
        streams.abandon(sys.stdout)
        return 128 + signal.SIGPIPE
    except OSError as error:
        if not error.filename:
            streams.abandon(sys.stdout)
        said = f"{error.filename or 'standard output'}: {error.strerror}"
        return streams.complain(said, streams.lost(words))
    except limits.TooLittle as error:
        return streams.complain(error, FAULT)
    except MemoryError:
        return streams.complain(NO_MEMORY, FAULT)
    except ModuleNotFoundError as error:
        return streams.complain(_lacking(error.name or str(error)), FAULT)
    except KeyboardInterrupt:
        return INTERRUPTED
    except (SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # also what a library in Rust raises
        if isinstance(error, ImportError) and any(text in str(error) for text in NO_MAPPING):
            return streams.complain(NO_MEMORY, FAULT)
        if isinstance(error, RuntimeError) and str(error) == NO_THREAD:
            return streams.complain(MORE_THREADS, FAULT)
        if _is_shortage(error):
            return streams.complain(str(error).splitlines()[0], FAULT)
        return _fault(error)


def _lacking(module: str) -> str:
    """With the command that installs what is missing: into this interpreter's virtual environment,
    else into one where locus looks for it, beside the folder of the package."""
    python, home = shlex.quote(sys.executable), Path(__file__).parents[1]
    needs = shlex.quote(str(home / "requirements.txt"))
    if sys.prefix != sys.base_prefix:
        command = f"{python} -m pip install -r {needs}"
    elif os.environ.get("LOCUS_PYTHON") or not os.access(home.parent, os.W_OK):
        venv = "~/locus-python"
        command = f"{python} -m venv {venv} && {venv}/bin/pip install -r {needs} &&"
        command += f" export LOCUS_PYTHON={venv}/bin/python"
    else:
        venv = shlex.quote(str(home.parent.resolve() / "venv"))
        command = f"{python} -m venv {venv} && {venv}/bin/pip install -r {needs}"
    return f"{sys.executable} lacks the module {module}; to install what it needs:\n  {command}"


def _is_shortage(error: BaseException) -> bool:
    """Whether memory, or room for temporary files, ran out. Not every command imports the
    database."""
    duckdb = sys.modules.get("duckdb")
    return duckdb is not None and isinstance(
        error, (duckdb.OutOfMemoryException, duckdb.IOException)
    )


def _fault(error: BaseException) -> int:
    """One line for what no input may cause; developers ask for more."""
    if os.environ.get("LOCUS_TRACEBACK"):
        traceback.print_exception(type(error), error, error.__traceback__)
    at = traceback.extract_tb(error.__traceback__)[-1]
    return streams.complain(
        f"a fault of locus ({type(error).__name__}, {Path(at.filename).name}:{at.lineno}): rerun "
        "with LOCUS_TRACEBACK=1 and report it",
        FAULT,
    )


if __name__ == "__main__":
    sys.exit(main())
