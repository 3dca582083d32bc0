"""Freezes services while their load tools end, so that responses after a turn do not count; reads CPU waiting times.

The load generator (bench/load/held.py) requests both through two pipes in the run's folder.
"""

from __future__ import annotations

import os
import select
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Callable

from driver import counters
from driver.docker import LOCK, in_time
from driver.failure import ignore_signals

ASK, TOLD = "freeze.ask", "freeze.told"
"""The pipes. Requests are lines `freeze NAME...`, `thaw NAME...` or `threads NAME`.

The answer repeats the verb and the names for which it worked; `threads` adds how long they ran and waited, in ns, or
nothing if that is unknown.
"""
TRIES, WAIT_S = 500, 0.001


class Freezer:
    """Freezes through the cgroup if that is writable (1 ms), otherwise through the engine's `pause` (100 ms).

    `pids`: first processes by service. `pause`: calls the engine's `pause NAME` or `unpause NAME`; whether it worked.
    """

    def __init__(self, pids: Mapping[str, int], pause: Callable[[str, str], bool]) -> None:
        folders = {name: counters.cgroup(pid, "freezer") for name, pid in pids.items()}
        self._folders: dict[str, Path] = {name: folder for name, folder in folders.items() if folder}
        self._pause = pause
        self._frozen: set[str] = set()

    def answer(self, line: str) -> str:
        """Carries out a request; returns the answer."""
        verb, *names = line.split(" ")
        do = {"freeze": self._freeze, "thaw": self._thaw, "threads": self._threads}.get(verb)
        return " ".join([verb, *filter(None, map(do, names))]) if do else verb

    def thaw_all(self, perhaps: bool = False) -> None:
        """Thaws what is frozen; `perhaps`: all services, in case some are."""
        for name in list(self._folders if perhaps else self._frozen):
            self._thaw(name)

    def _freeze(self, name: str) -> str:
        # Added first, so that it is thawed even if this is interrupted.
        self._frozen.add(name)
        return name if self._set(name, frozen=True) else ""

    def _thaw(self, name: str) -> str:
        if not self._set(name, frozen=False):
            return ""
        self._frozen.discard(name)
        return name

    def _threads(self, name: str) -> str:
        folder = self._folders.get(name)
        found = counters.threads_ns(folder / "cgroup.procs") if folder else None
        # Without figures, the bare name: no name at all would mean that this host has none for any service.
        return f"{name} {found[0]} {found[1]}" if found else name

    def _set(self, name: str, *, frozen: bool) -> bool:
        """Freezes or thaws; whether the kernel confirmed it for all processes."""
        folder = self._folders.get(name)
        if folder is None:
            return False
        if counters.is_v2():
            file, said = folder / "cgroup.freeze", folder / "cgroup.events"
            word, wanted = str(int(frozen)), f"frozen {int(frozen)}"
        else:
            file = said = folder / "freezer.state"
            word = wanted = "FROZEN" if frozen else "THAWED"
        if not os.access(file, os.W_OK):
            return self._pause("pause" if frozen else "unpause", name)
        with suppress(OSError):
            file.write_text(f"{word}\n")
            return in_time(lambda: wanted in said.read_text().splitlines(), TRIES, WAIT_S)
        return False


@contextmanager
def served(folder: Path, freezer: Freezer) -> Iterator[None]:
    """While this is open, a child process serves requests through the pipes in `folder`.

    It thaws everything even if this process is killed: then a third pipe between the two closes.
    """
    pipes = [folder / name for name in (ASK, TOLD)]
    for pipe in pipes:
        pipe.unlink(missing_ok=True)
        os.mkfifo(pipe)
        pipe.chmod(0o666)
    over, ours = os.pipe()
    child = os.fork()
    if not child:
        _be_server(folder, freezer, over, ours)
    os.close(over)
    try:
        yield
    finally:
        os.close(ours)
        if os.waitpid(child, 0)[1]:
            freezer.thaw_all(perhaps=True)
        for pipe in pipes:
            pipe.unlink(missing_ok=True)


def _be_server(folder: Path, freezer: Freezer, over: int, theirs: int) -> None:
    """The child; never returns. It closes the run's lock, because removing a run kills all holders of the lock."""
    status = 1
    try:
        ignore_signals()
        os.setsid()
        os.close(theirs)
        if over != LOCK:
            with suppress(OSError):
                os.close(LOCK)
        try:
            _serve(folder, freezer, over)
        finally:
            freezer.thaw_all()
        status = 0
    finally:
        os._exit(status)


def _serve(folder: Path, freezer: Freezer, over: int) -> None:
    # Opened for reading and writing, because opening only one end of a FIFO waits for the other.
    ask_pipe, told_pipe = (os.open(folder / name, os.O_RDWR | os.O_NONBLOCK) for name in (ASK, TOLD))
    said = b""
    while over not in select.select([over, ask_pipe], [], [])[0]:
        said += os.read(ask_pipe, 65536)
        *lines, said = said.split(b"\n")
        for line in lines:
            with suppress(BlockingIOError):
                os.write(told_pipe, (freezer.answer(line.decode()) + "\n").encode())
