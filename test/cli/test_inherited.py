# SPDX-License-Identifier: Apache-2.0
"""What a process inherits (descriptors, signals, limits, environment) changes no result, and if it
cannot run so, it says why. Each test starts the program as some parent does."""

import itertools
import os
import pathlib
import re
import resource
import shutil
import signal

import pytest
from conftest import MEASURED, Program
from lacking import lacking, need_modules
from waits import PATIENCE, wait_for, written

BRIEF = "dummy --variant steady --threads 2 --oversubscribe --repeats 5 --output"
ENDLESS = "dummy --variant steady --threads 1 --repeats 1000000 --output"
OTHER = pytest.mark.native("other values run the same code")
NO_LIMIT = resource.RLIM_INFINITY


def ends(lines):
    return [(line["signal"], line["status"]) for line in lines if line["type"] == "end"]


# --- descriptors ---


def closing(*streams):
    def begin():
        for stream in streams:
            os.close(stream)

    return begin


CLOSED = [some for n in (1, 2, 3) for some in itertools.combinations((0, 1, 2), n)]


@pytest.mark.parametrize(
    "streams", [(1,), *(pytest.param(some, marks=OTHER) for some in CLOSED if some != (1,))]
)
def test_what_is_closed_of_the_standard_streams_is_no_file_of_ours(locus, tmp_path, read, streams):
    """Otherwise the record would be standard output, and contain the table. A run that keeps its
    record does without the table; what is only printed is lost."""
    file = tmp_path / "closed.jsonl"
    for mode in ("", " --resume", " --append --runs 2"):
        assert locus(BRIEF, file, *mode.split(), preexec_fn=closing(*streams)).status == 0
    assert ends(read(file)) == [(None, 0)] * 4
    for words in ("list", "topology", BRIEF.replace("--output", "--quiet --output -")):
        done = locus(words, preexec_fn=closing(*streams))
        assert done.status == (1 in streams)
        if streams == (1,):
            assert re.search("(standard output|--output: -): Bad file descriptor", done.err)


# --- signals ---


def ignoring(*numbers):
    return lambda: [signal.signal(number, signal.SIG_IGN) for number in numbers]


@pytest.mark.parametrize("runs", ["", pytest.param("--runs 2", marks=OTHER)])
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT])
def test_nohup_and_the_background_of_a_script(locus, tmp_path, read, number, runs):
    file = tmp_path / "ignored.jsonl"
    process = locus.start(ENDLESS, file, *runs.split(), preexec_fn=ignoring(number))
    wait_for(written(file, "samples"), "a batch")
    process.send_signal(number)
    size = file.stat().st_size
    wait_for(lambda: process.poll() is not None or file.stat().st_size > size, "another batch")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE)
    assert ends(read(file)) == [("SIGTERM", 128 + signal.SIGTERM)]


def test_a_wrapper_that_ignores_the_end_of_the_job_to_outlive_us(locus, tmp_path, read):
    file = tmp_path / "wrapped.jsonl"
    process = locus.start(ENDLESS, file, preexec_fn=ignoring(signal.SIGTERM, signal.SIGUSR1))
    wait_for(written(file, "samples"), "a batch")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE)
    assert ends(read(file)) == [("SIGTERM", 128 + signal.SIGTERM)]


@pytest.mark.parametrize("runs", ["", pytest.param("--runs 2", marks=OTHER)])
def test_signals_that_were_blocked(locus, tmp_path, read, runs):
    file = tmp_path / "blocked.jsonl"
    block = {
        "preexec_fn": lambda: signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
    }
    process = locus.start(ENDLESS, file, *runs.split(), **block)
    wait_for(written(file, "samples"), "a batch")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGTERM
    assert ends(read(file)) == [("SIGTERM", 128 + signal.SIGTERM)]


def test_a_parent_that_ignores_its_children(locus, tmp_path, read):
    """Then the kernel does not keep our children's status either."""
    file = tmp_path / "children.jsonl"
    done = locus(BRIEF, file, "--runs", "2", preexec_fn=ignoring(signal.SIGCHLD))
    assert done.status == 0 and ends(read(file)) == [(None, 0)] * 2


# --- limits ---


def limiting(what, soft, hard):
    return lambda: resource.setrlimit(what, (soft, hard))


def test_output_that_may_not_grow(locus, tmp_path):
    """SIGXFSZ would end the process with a core dump, without a message."""
    with (tmp_path / "list").open("w") as out:
        process = locus.start(
            "list", stdout=out, preexec_fn=limiting(resource.RLIMIT_FSIZE, 10, 10)
        )
        _, err = process.communicate(timeout=PATIENCE)
    said = [line for line in err.splitlines() if not line.startswith("libgcov ")]  # in that lane
    assert process.returncode == 1 and said == ["locus: standard output: File too large"]


def test_output_that_is_full_is_told_once(locus):
    """Also by a run whose results Python would conclude from."""
    ended = "sharing --variant lock --profile quick --time-budget 0.3s"
    cut_off = "dummy --variant steady --delay 1000000000 --time-budget 0.3s"  # by the watchdog
    for words, env in ((ended, {}), (ended, {"LOCUS_ANSWER": ""}), (cut_off, {})):
        with pathlib.Path("/dev/full").open("w") as out:
            process = locus.start(words, stdout=out, env=env)
            _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 1
        assert err.count("standard output") == 1 and "No space left on device" in err


@pytest.mark.parametrize("limits", [(1, NO_LIMIT), (2, 2)])
def test_cpu_time_that_is_used_up(locus, tmp_path, read, limits):
    """If the soft limit is the hard one, as after `ulimit -t`, the kernel would only kill."""
    file = tmp_path / "time.jsonl"
    done = locus(ENDLESS, file, preexec_fn=limiting(resource.RLIMIT_CPU, *limits))
    assert done.status == 128 + signal.SIGXCPU
    assert ends(read(file)) == [("SIGXCPU", 128 + signal.SIGXCPU)]


SMALL = 64 << 10
STACKS = {
    "of the main thread, large": (limiting(resource.RLIMIT_STACK, 24 << 20, 24 << 20), {}),
    "of the main thread, small": (limiting(resource.RLIMIT_STACK, SMALL, NO_LIMIT), {}),
    "of OpenMP, large": (None, {"OMP_STACKSIZE": "24M"}),
    "of OpenMP, too large": (None, {"OMP_STACKSIZE": "100000G"}),
    "of OpenMP, too small": (None, {"GOMP_STACKSIZE": "16"}),
}


@pytest.mark.native("the sanitizers map memory of their own")
@pytest.mark.parametrize("start, env", STACKS.values(), ids=STACKS)
def test_threads_have_stacks_of_one_size(locus, start, env):
    """Larger stacks could hold a huge page, which no plan counts (src/machine/inherited.c)."""
    process = locus.start(
        "dummy --variant stuck --where enter --delay 6e8 --threads 4 --oversubscribe",
        preexec_fn=start,
        env=env,
    )
    threads = pathlib.Path(f"/proc/{process.pid}/task")
    wait_for(lambda: len(list(threads.iterdir())) > 4, "a thread for each worker and the watchdog")
    maps = (threads.parent / "maps").read_text(encoding="utf-8")
    process.kill()
    process.communicate()
    sizes = [
        int(end, 16) - int(begin, 16)
        for begin, end in re.findall(r"^([0-9a-f]+)-([0-9a-f]+) rw-p 00000000 00:00 0", maps, re.M)
    ]
    mib = (1 << 20, (1 << 20) - resource.getpagesize())
    assert sum(size in mib for size in sizes) >= 4, maps  # 3 workers and the watchdog
    assert not [size for size in sizes if 23 << 20 < size < 25 << 20], maps


@pytest.mark.native("sanitizers need more")
@pytest.mark.parametrize("name", ["locus", "locus-mpi"])
def test_a_stack_that_is_too_small(locus, name):
    """locus-mpi says so before MPI begins, which starts processes."""
    program = pathlib.Path(locus.path).with_name(name)
    if not os.access(program, os.X_OK):
        lacking(name, "Debian: libopenmpi-dev openmpi-bin; then configure again")
    done = Program(program)("list", preexec_fn=limiting(resource.RLIMIT_STACK, SMALL, SMALL))
    assert done.status == 1 and done.out == ""
    assert done.err == (
        f"{name}: the limit of the stack is 64 KiB, and 256 KiB are needed: ulimit -s 16384\n"
    )


def test_too_few_open_files(locus):
    done = locus("list", preexec_fn=limiting(resource.RLIMIT_NOFILE, 4, 4))
    assert (done.status, done.out) == (1, "")
    assert done.err == ("locus: the limit of open files is 4, and 32 are needed: ulimit -n 1024\n")
    enough = locus("list", preexec_fn=limiting(resource.RLIMIT_NOFILE, 4, 32))
    assert (enough.status, enough.err) == (0, "")


MEMORY = {
    "compare": (resource.RLIMIT_AS, 100 << 20, "address space", "reading records", "-v"),
    "summary": (resource.RLIMIT_DATA, 200 << 20, "data", "reading records", "-d"),
    "report": (resource.RLIMIT_AS, 16 << 30, "address space", "drawing pictures", "-v"),
}


@pytest.mark.native("sanitizers reserve address space without bound")
@pytest.mark.parametrize("command", MEMORY)
def test_memory_that_libraries_of_python_need(locus, tmp_path, command):
    """They would end the process, some with the status of a finding."""
    need_modules()
    file, (limit, size, of, what, option) = tmp_path / "a.jsonl", MEMORY[command]
    assert locus(BRIEF, file).status == 0
    files = [file, file] if command == "compare" else [file]
    done = locus(command, *files, preexec_fn=limiting(limit, size, size))
    assert (done.status, done.out) == (70, "")
    assert done.err.startswith(f"locus: the limit of {of} is {size >> 20} MiB, and {what} needs ")
    assert done.err.endswith(f": ulimit {option} unlimited\n") and done.err.count("\n") == 1


# --- threads ---


def group_of(limit):
    """A control group for so many threads: a command that starts a process in it, and its name."""
    for root in ("/sys/fs/cgroup/pids", "/sys/fs/cgroup"):
        group = pathlib.Path(root) / f"locus-test-{os.getpid()}"
        try:
            group.mkdir()
            (group / "pids.max").write_text(str(limit))
        except OSError:
            if group.exists():
                group.rmdir()
            continue
        return group
    return lacking("a control group", "root, and the pids controller of control groups")


THREE = "dummy --variant steady --threads 3 --oversubscribe --repeats 1"
TOO_FEW = "locus: {} of 3 threads could not be created: {}; raise it, or choose fewer threads"


def in_group_of(limit, locus, file):
    group = group_of(limit)
    try:
        begin = {"preexec_fn": lambda: (group / "cgroup.procs").write_text("0")}
        return locus(THREE, "--output", file, **begin), group.name
    finally:
        group.rmdir()


@pytest.mark.native("sanitizers have threads of their own")
def test_a_control_group_of_too_few_threads(locus, tmp_path):
    """The main thread and one worker fit: another worker does not. There is no empty record that
    the same command would find in its way."""
    file = tmp_path / "none.jsonl"
    done, name = in_group_of(2, locus, file)
    assert done.status == 1
    assert done.err.splitlines()[-1] == TOO_FEW.format(1, f"pids.max 2 of cgroup /{name}")
    assert not file.exists()


@pytest.mark.native("sanitizers have threads of their own")
def test_a_control_group_without_a_thread_for_the_watchdog(locus, tmp_path, read):
    file = tmp_path / "watched.jsonl"
    done, name = in_group_of(3, locus, file)
    lines, limit = read(file), f"pids.max 3 of cgroup /{name}"
    assert done.status == 0 and ends(lines) == [(None, 0)]
    assert done.err == (
        f"locus: no thread for the watchdog ({limit}): a signal or the time budget ends this run"
        " only after a sample; raise it, or choose fewer threads\n"
    )
    assert lines[0]["watchdog_why"] == limit
    assert locus("validate", file).status == 0


def test_a_control_group_of_one_thread(locus, tmp_path):
    """Is enough for Python: its libraries start none."""
    need_modules()
    file = tmp_path / "a.jsonl"
    assert locus(BRIEF, file).status == 0
    group = group_of(1)
    try:
        done = locus("summary", file, preexec_fn=lambda: (group / "cgroup.procs").write_text("0"))
    finally:
        group.rmdir()
    assert done.status == 0, done.err


def as_nobody(processes):
    def begin():
        os.setgroups([])
        os.setgid(54321)
        os.setuid(54321)
        resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))

    return begin


@pytest.mark.native("sanitizers have threads of their own")
def test_a_user_of_too_few_threads(locus):
    if os.geteuid():
        lacking("a user without processes", "root")
    with pathlib.Path(locus.path).open("rb") as program:  # the user may not enter its folder
        itself = Program(f"/proc/self/fd/{program.fileno()}")
        done = itself(THREE, preexec_fn=as_nobody(2), pass_fds=[program.fileno()], cwd="/")
    assert done.status == 1
    assert done.err.splitlines()[-1] == TOO_FEW.format(1, "ulimit -u 2 of this user")


# --- CPUs ---


def forbidding(*calls):
    return [f"{os.environ['BUILD']}/test/forbid", ",".join(calls)]


@pytest.mark.parametrize("cpus", ["all", "one"])
def test_threads_that_may_not_be_pinned(locus, tmp_path, read, cpus):
    """Only a trial pins threads. A command that asks for CPUs, or plans, works."""
    file = tmp_path / "pinned.jsonl"
    first = str(min(os.sched_getaffinity(0)))
    prefix = [
        *(["taskset", "-c", first] if cpus == "one" else []),
        *forbidding("sched_setaffinity"),
    ]
    for words in ("topology", "dummy --dry-run"):
        done = locus(words, prefix=prefix)
        assert done.status == 0 and done.err == ""
    words = "dummy --variant steady --threads 1 --repeats 1 --output"
    assert locus(words, file, prefix=prefix).status == 1
    (trial,) = (line for line in read(file) if line["type"] == "trial")
    why = f"thread 0 could not be pinned to CPU {first}: sched_setaffinity: Operation not permitted"
    assert trial["status"] == "failed" and trial["reasons"] == [why]


@pytest.mark.parametrize("words", ["topology", "dummy --dry-run"])
def test_cpus_that_can_not_be_asked_for(locus, words):
    done = locus(words, prefix=forbidding("sched_getaffinity"))
    why = "sched_getaffinity: Operation not permitted"
    assert done.status == 1
    assert done.err.endswith(f"locus: can't find out which CPUs locus may use: {why}\n")


# --- environment ---

ODD = {
    "threads": {"OMP_NUM_THREADS": "100000"},
    "one thread": {"OMP_NUM_THREADS": "1"},
    "no region": {"OMP_MAX_ACTIVE_LEVELS": "0"},
    "dynamic": {"OMP_DYNAMIC": "true"},
    "options": {"POSIXLY_CORRECT": "1"},
    "folder": {"TMPDIR": "/nowhere", "HOME": "/nowhere"},
    "allocation": {"GLIBC_TUNABLES": "glibc.malloc.perturb=1"},
    "nothing": {"PATH": "", "HOME": "", "LANG": "nonsense", "LC_ALL": "nonsense"},
}


@pytest.mark.parametrize("env", ODD.values(), ids=ODD)
def test_an_odd_environment(locus, tmp_path, read, cpus, env):
    """On one CPU of several, where OpenMP's threads are asked for theirs."""
    file = tmp_path / "odd.jsonl"
    prefix = [shutil.which("taskset"), "-c", str(cpus[0])]
    done = locus(BRIEF, file, env=env, prefix=prefix)
    assert done.status == 0 and done.err == "", done
    header, *rest = read(file)
    (trial,) = (line for line in rest if line["type"] == "trial")
    tunables = header["machine"]["environment"].get("GLIBC_TUNABLES")
    assert tunables == env.get("GLIBC_TUNABLES")
    assert trial["threads"] == 2 and trial["status"] in MEASURED
