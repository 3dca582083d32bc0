"""The lock of a run: only one call of a script measures it at a time.

The lock is on RUN/.writer, through a file descriptor that all processes of the run inherit. The kernel releases it when
the last of them has ended. They are found in /proc by that open file; process ids alone are not trusted.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from driver.docker import LOCK, in_time
from driver.failure import USER, Failure, say
from driver.files import take_lock
from driver.run import Run

TRIES, WAIT_S = 20, 0.1
"""How often, and at which interval, to try the lock while processes of a killed call are still ending."""
PROCESSES = Path("/proc")
NEEDED = 1 << 20
"""Bytes; more than the raw files of a step."""


def become_writer(run: Run, place: str = "") -> None:
    """Takes the lock, and ends the processes of a killed call. If another call has it, Failure that names the process.

    `place`: `@CONTAINER` if this runs in a container, where process ids are not the machine's.
    """
    file = run.folder / ".writer"
    lock = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
    for attempt in range(TRIES):
        if take_lock(lock):
            break
        pid, since = _known_writer(lock)
        words, container = f"process {pid}: wait for it, or end it (kill {pid})", pid.partition("@")[2]
        if container:
            words = f"docker-compose up bench (container {container}): wait for it, or end it (docker-compose down)"
        if container or _has_open(pid, file):
            raise Failure(USER, f"{run.name} is being measured since {since} by {words}")
        if not attempt:
            say(f"waiting for the children of process {pid} to end, which measured {run.name} and was killed")
        time.sleep(WAIT_S)
    else:
        end_writers(run)
        if not in_time(lambda: take_lock(lock), 40, 0.05):
            pid, since = _known_writer(lock)
            words = f"children of process {pid} (since {since}): end them (fuser {file})"
            raise Failure(USER, f"{run.name} is locked by {words}")
    # Only now use the inherited descriptor number: a process waiting for the lock must not look like a writer.
    os.dup2(lock, LOCK)
    if lock != LOCK:
        os.close(lock)
    # A single write of fixed length, so that a reader finds a whole line.
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    os.pwrite(LOCK, f"{os.getpid()}{place} {since}".ljust(60).encode() + b"\n", 0)


def end_writers(run: Run, but: Sequence[int] = ()) -> None:
    """Kills all processes that have the lock open, except this one and `but`.

    They are stopped first: otherwise one could see another one end and record that as a service's failure.
    """
    known = -1
    writers = _writers(run, but)
    while len(writers) > known:
        known = len(writers)
        _signal(writers, signal.SIGSTOP)
        writers = _writers(run, but)
    _signal(writers, signal.SIGKILL)
    in_time(lambda: not _writers(run, but), 50, 0.02)


def _known_writer(lock: int) -> tuple[str, str]:
    """The process id and the time in the lock file."""
    pid, _, since = os.pread(lock, 300, 0).decode(errors="replace").strip().partition(" ")
    return pid, since


def _has_open(pid: str, file: Path) -> bool:
    with suppress(OSError):
        return os.path.samefile(PROCESSES / pid / "fd" / str(LOCK), file)
    return False


def _writers(run: Run, but: Sequence[int]) -> list[int]:
    others = (int(name) for name in os.listdir(PROCESSES) if name.isdigit())
    file = run.folder / ".writer"
    return [pid for pid in others if pid not in (os.getpid(), *but) and _has_open(str(pid), file)]


def _signal(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, number)


def need_room(run: Run, status: int) -> None:
    """Failure with this status if the disk is full."""
    if why := in_the_way(run.folder):
        raise Failure(status, f"cannot write to results/{run.name}: {why}; free some space")


def in_the_way(folder: Path) -> str:
    """Why NEEDED bytes cannot be written there; empty if they can."""
    file = folder / f".room.{os.getpid()}"
    try:
        file.write_bytes(bytes(NEEDED))
    except OSError as error:
        return error.strerror or str(error)
    finally:
        with suppress(OSError):
            file.unlink()
    return ""
