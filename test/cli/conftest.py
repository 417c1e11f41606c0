# SPDX-License-Identifier: Apache-2.0
"""The built program, as a user runs it. LOCUS names it."""

import collections
import fcntl
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import pytest
from lacking import lacking
from some import some

Done = collections.namedtuple("Done", "status out err")
# A build with a sanitizer tries fewer values and smaller sizes: the native build tries all.
SANITIZED = bool(os.environ.get("SANITIZER"))


class Program:
    """locus("numa --profile quick --output", file, env={...}, prefix=["taskset", "1"]) runs it;
    the first text is split."""

    def __init__(self, path=""):
        self.path = path or os.environ.get("LOCUS") or shutil.which("locus") or ""
        assert os.access(self.path, os.X_OK), "set LOCUS to the built program"

    def start(self, words="", *arguments, env=None, prefix=(), outline=False, **more):
        command = [*prefix, self.path, *words.split(), *map(str, arguments)]
        if "--dry-run" in command and "list" not in command and not outline:
            command.append("--verbose")  # each trial, not a line for a group
        piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, env={**os.environ, **(env or {})}, **{**piped, **more})

    def __call__(self, *words, timeout=180, **more):
        with self.start(*words, **more) as process:
            try:
                out, err = process.communicate(timeout=timeout)
            finally:
                process.kill()
        return Done(process.returncode, out, err)


SETTING = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "LD_PRELOAD": str(pathlib.Path(os.environ.get("BUILD", ""), "test/stand-in/libyield.so")),
    # Leaks in MPI's libraries are not tested.
    "ASAN_OPTIONS": ":".join(
        filter(None, [os.environ.get("ASAN_OPTIONS"), "detect_leaks=0:verify_asan_link_order=0"])
    ),
}


class Ranks(Program):
    """mpi("dummy --output", file, ranks=2): as locus("..."), on this number of ranks. `folder`
    holds Open MPI's files of a job: in the common folder, a job that ends may remove the one in
    which a job of another lane is about to create its own."""

    def __init__(self, locus, folder):
        self.setting = {**SETTING, "OMPI_MCA_orte_tmpdir_base": str(folder)}
        self.path = str(pathlib.Path(locus.path).with_name("locus-mpi"))
        if not os.access(self.path, os.X_OK):
            lacking(
                "locus-mpi",
                "Debian: libopenmpi-dev openmpi-bin, Fedora: openmpi-devel; then configure again",
            )
        if not shutil.which("mpirun"):
            lacking("mpirun", "Debian: openmpi-bin, Fedora: openmpi, or a module of your site")
        done = Program.__call__(self, "list", ranks=1)
        if done.status:
            lacking("an mpirun that works", f"it says: {' '.join(done.err.split())[:300]}")

    def start(self, *words, ranks=2, env=None, prefix=(), **more):
        return super().start(
            *words,
            env={**self.setting, **(env or {})},
            prefix=["mpirun", "-n", str(ranks), *prefix],
            **more,
        )


@pytest.fixture(scope="session")
def locus():
    return Program()


@pytest.fixture(scope="session")
def planner():
    """Runs the native build in a lane with sanitizers, whose program starts slowly: for hundreds of
    dry runs that only choose what to test."""
    return Program(os.environ.get("NATIVE"))


@pytest.fixture(scope="module")
def mpi(locus, tmp_path_factory):
    return Ranks(locus, tmp_path_factory.mktemp("jobs"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """Make runs these tests at the same time, on the same CPUs. A test marked `alone` takes the
    lock exclusively, so that no other test disturbs it."""
    with pathlib.Path(os.environ.get("BUILD") or tempfile.gettempdir(), "turns.lock").open(
        "w"
    ) as turns:
        fcntl.flock(turns, fcntl.LOCK_EX if item.get_closest_marker("alone") else fcntl.LOCK_SH)
        yield


def pytest_configure(config):
    config.addinivalue_line("markers", "alone: not beside other tests of the program")
    config.addinivalue_line(
        "markers",
        "native(why, of=sanitizer): not asked again of a build with that, or any, sanitizer",
    )


def pytest_collection_modifyitems(items):
    sanitizer = os.environ.get("SANITIZER", "")
    for item in items if sanitizer else ():
        for marker in item.iter_markers("native"):
            if marker.kwargs.get("of", "") in sanitizer:
                item.add_marker(
                    pytest.mark.skip(reason=f"asked of the native build: {marker.args[0]}")
                )


@pytest.fixture(scope="session")
def often():
    """How often to repeat tests that must pass each time: OFTEN, which the whole check reduces."""
    return int(os.environ.get("OFTEN", 100))


def value(trial, name):
    """The value of a trial's metric."""
    return next(m["value"] for m in trial["metrics"] if m["name"] == name)


# Arguments that shrink benchmarks with large data, for tests in which sizes do not matter.
SMALL = {
    "latency": "--size 64K,4M --load-size 1M",
    "prefetch": "--lines 256",
    "numa": "--size 8M",
    "search": "--size 256K",
    "hashmap": "--range 10000",
    "actors": "--state 64,4K",
}
ENDING = [  # signals that end a run
    *(signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGXCPU),
    *(signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGQUIT),
]
for number in ENDING:  # `nohup make check` ignores SIGHUP, and programs would inherit that
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)
MEASURED = ("ok", "unconverged", "bimodal", "noisy")


def measured(trials):
    """The trials with a time. A trial may lack one only if a busy machine never ran its threads at
    the same time."""
    for trial in trials:
        assert trial["status"] in MEASURED, trial["reasons"]
        assert (value(trial, "time") is None) == any(
            "never worked at the same time" in reason for reason in trial["reasons"]
        )
    return [trial for trial in trials if value(trial, "time") is not None]


@pytest.fixture(scope="module")
def run(request, locus, tmp_path_factory, read):
    """Runs the benchmark that the test file is named after: how it ended, and its trials."""
    benchmark = request.module.__name__.removeprefix("test_")

    def with_record(arguments, **more):
        file = tmp_path_factory.mktemp(benchmark) / "record.jsonl"
        done = locus(benchmark, *arguments.split(), "--output", file, timeout=300, **more)
        return done, [line for line in read(file) if line["type"] == "trial"]

    return with_record


@pytest.fixture(scope="module")
def recorded(locus, tmp_path_factory, read):
    """Runs a benchmark with a record: how it ended, and the lines of the record by their type."""

    def with_record(arguments, benchmark, **more):
        file = tmp_path_factory.mktemp(benchmark) / "record.jsonl"
        done = locus(benchmark, *arguments.split(), "--output", file, timeout=300, **more)
        lines = read(file)
        return done, {
            kind: [line for line in lines if line["type"] == kind] for kind in ("samples", "trial")
        }

    return with_record


@pytest.fixture(scope="session")
def trials(read):
    """{variant: trial line} of a record."""

    def by_variant(path):
        return {
            line["variant"]: line
            for line in some(line for line in read(path) if line["type"] == "trial")
        }

    return by_variant


@pytest.fixture(scope="session")
def cpus():
    return sorted(os.sched_getaffinity(0))


@pytest.fixture(scope="session")
def few(cpus):
    """A prefix that leaves the program at most two CPUs, so that three threads exceed them on any
    machine."""
    return ["taskset", "-c", ",".join(map(str, cpus[:2]))]


@pytest.fixture(scope="session")
def two(cpus):
    if len(cpus) < 2:
        pytest.skip("one CPU")


@pytest.fixture(scope="module")
def with_papi():
    """with_papi(words): the environment in which the stand-in is loaded as PAPI; the words select
    its behaviour."""
    folder = pathlib.Path(os.environ.get("BUILD", "")) / "test/stand-in"
    if not list(folder.glob("libpapi.so.*")):
        pytest.skip("built without PAPI's header: there is no stand-in for its library")

    def environment(words=""):
        return {"LD_LIBRARY_PATH": str(folder), "PAPI_STAND_IN": words}

    return environment
