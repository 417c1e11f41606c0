# SPDX-License-Identifier: Apache-2.0
"""One writer at a time, also on NFS: a file that only one can create, with host and process."""

from __future__ import annotations

import errno
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Optional

from .sources import CannotWrite

TRIES = 10
PAUSE = 0.1  # s


@contextmanager
def held(path: Path, notes: list[str]) -> Iterator[None]:
    """While it is entered, nobody else is. One that a process of this host left when it was killed
    is removed, and told. Raises CannotWrite if another process has it."""
    for _ in range(TRIES):
        if _create(path):
            break
        if not _remove_stale(path, notes):
            time.sleep(PAUSE)
    else:
        raise CannotWrite(
            f"{path}: others create and remove it all the time, or it names no process: try again,"
            " or remove this file if nobody is writing"
        )
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()


def _create(path: Path) -> bool:
    """What it says is known before it exists: one that is killed in between leaves a lock that
    names no process, and so one that nobody else may remove."""
    text = f"{socket.gethostname()} {os.getpid()} {_life(os.getpid())}\n".encode()
    try:
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    except FileExistsError:
        return False
    try:
        os.write(file, text)
        os.fsync(file)
    except OSError:
        path.unlink()
        raise
    finally:
        os.close(file)
    return True


def _life(process: int) -> str:
    """What tells a process from others that had its number on a host of this name: the machine's
    id, the boot, the PID namespace, and when it began, in the kernel's ticks. A part that is not
    shown is empty."""
    parts = ["", "", "", ""]
    with suppress(OSError):
        parts[0] = Path("/etc/machine-id").read_text(encoding="ascii", errors="replace").strip()
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id")
        parts[1] = boot.read_text(encoding="ascii").strip()
        parts[2] = str(Path("/proc/self/ns/pid").stat().st_ino)
        stat = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
        parts[3] = stat.rpartition(")")[2].split()[19]
    return ":".join(parts)


def _has_ended(host: str, process: int, life: str) -> bool:
    """Whether this is certain."""
    then, now = life.split(":"), _life(process).split(":")
    if host != socket.gethostname() or len(then) < len(now) or "" in (*then[1:], *now[1:3]):
        return False
    if then[1] != now[1]:  # since then it was booted, or is another that has the same name
        return bool(now[0]) and then[0] == now[0]
    if then[2] != now[2]:
        return False
    if now[3]:
        return now[3] != then[3]
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # another user's, which /proc does not show (hidepid)
        pass
    return False


def _ended(path: Path) -> Optional[str]:
    """The process that has it and has ended; None: the file is gone, or not yet written. Raises
    CannotWrite if the process may be writing."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ESTALE:  # NFS: removed while it was open
            return None
        raise
    words = text.split()
    if not text.endswith("\n") or len(words) != 3 or not words[1].isdecimal():
        return None
    if not _has_ended(words[0], int(words[1]), words[2]):
        raise CannotWrite(
            f"{path}: process {words[1]} on {words[0]} is writing: wait for it, or remove this file"
            " if that process has ended"
        )
    return words[1]


def _remove_stale(path: Path, notes: list[str]) -> bool:
    """Several processes may find the same file, and one may remove it and create its own before
    another comes to remove it: so that one looks again, under a lock of its own. flock() does not
    help: NFS 4 refuses it for a file that is open for reading, and NFS 3 gives the number of a
    removed file to a new one."""
    if not _ended(path):
        return False
    with held(path.with_name(f"{path.name}.removing"), notes):
        if process := _ended(path):
            path.unlink(missing_ok=True)
            notes.append(f"{path}: process {process} was killed while writing: lock removed")
    return True
