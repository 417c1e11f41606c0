# SPDX-License-Identifier: Apache-2.0
"""One writer at a time, also on NFS: a file that only one can create, with host and process."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Optional

from .sources import CannotWrite

TRIES = 10


@contextmanager
def held(path: Path, notes: list[str]) -> Iterator[None]:
    """While it is entered, nobody else is. One that a process of this host left when it was killed
    is removed, and told. Raises CannotWrite if another process has it."""
    for _ in range(TRIES):
        if _create(path):
            break
        _remove_stale(path, notes)
    else:
        raise CannotWrite(f"{path}: is created and removed by others all the time: try again")
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()


def _create(path: Path) -> bool:
    try:
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    except FileExistsError:
        return False
    try:
        os.write(file, f"{socket.gethostname()} {os.getpid()} {started(os.getpid())}\n".encode())
        os.fsync(file)
    except OSError:
        path.unlink()
        raise
    finally:
        os.close(file)
    return True


def started(process: int) -> Optional[str]:
    """When a process began, in the kernel's ticks, with the boot; None: there is none."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None
    return f"{boot}:{stat.rpartition(')')[2].split()[19]}"


def _remove_stale(path: Path, notes: list[str]) -> None:
    """Two processes may find the same file: the one that has it locked removes it."""
    try:
        file = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        words = os.read(file, 1000).decode("utf-8", "replace").split()
        host, process, since = words if len(words) == 3 else ("an unknown host", "?", "")
        if host != socket.gethostname() or started(int(process)) == since:
            raise CannotWrite(
                f"{path}: process {process} on {host} is writing: wait for it, or remove this file"
                " if that process has ended"
            )
        fcntl.flock(file, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if path.stat().st_ino == os.fstat(file).st_ino:
                path.unlink()
                notes.append(f"{path}: process {process} was killed while writing: lock removed")
    finally:
        os.close(file)
