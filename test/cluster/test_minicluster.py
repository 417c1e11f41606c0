# SPDX-License-Identifier: Apache-2.0
"""A cluster ends with the process that made it; tested with one inside the tests' cluster."""

import contextlib
import os
import pathlib
import signal
import subprocess

import pytest
from slurm import DEADLINE, SOURCE, wait_for

MINICLUSTER = SOURCE / "test/cluster/minicluster"


def processes(word):
    """Processes whose command line has the word; those of the daemons have their folder."""
    found = []
    for file in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it is gone
            found += [file.parent.name] if str(word).encode() in file.read_bytes() else []
    return found


def test_the_commands_status_is_returned(nodes):
    done = subprocess.run(
        [MINICLUSTER, "1", "sh", "-c", 'srun hostname; echo "$MINICLUSTER"; exit 7'],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 7
    name, folder = done.stdout.split()
    assert (
        name == "n1" and folder != os.environ["MINICLUSTER"] and not pathlib.Path(folder).exists()
    )


def groups(folder):
    return [
        *pathlib.Path("/sys/fs/cgroup").glob(folder.name),
        *pathlib.Path("/sys/fs/cgroup").glob(f"*/{folder.name}"),
    ]


def left(group):
    """Whether the group could be removed. That takes a while after processes() finds none: a
    process that exits loses its command line before it leaves its group."""
    with contextlib.suppress(OSError):
        group.rmdir()
    return not group.exists()


GROUPED = """for top in /sys/fs/cgroup/memory /sys/fs/cgroup; do
    group=$top/${MINICLUSTER##*/}
    mkdir "$group" && echo 0 >"$group/cgroup.procs" && break
done 2>/dev/null
echo "$MINICLUSTER"
exec sleep 600"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_it(nodes, number):
    process = subprocess.Popen(
        [MINICLUSTER, "2", "sh", "-c", GROUPED],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.SIG_DFL
        ),  # a background job of the shell that runs the tests would ignore it
    )
    assert process.stdout
    folder = pathlib.Path(process.stdout.readline().strip())
    assert processes(folder)
    if number == signal.SIGINT:  # as ^C: for the whole group
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    assert process.wait(timeout=DEADLINE) != 0
    wait_for(lambda: not processes(folder), folder)
    if number == signal.SIGKILL:
        folder.rmdir()  # it is empty
        for group in groups(folder):
            wait_for(lambda group=group: left(group), group)
    assert not folder.exists() and not groups(folder)
