"""How long the threads of the load tool waited for a CPU."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from bench.load.kernel_counters import Facts, proc

PAUSE_S = 0.1
NOT_SEEN = "no thread of the tool was seen at work: a short load, or a kernel without schedstat"


@dataclass(frozen=True, slots=True)
class Seen:
    """The time (ns since the epoch), how long the tool's threads had waited by then (ns), and their number."""

    seen_ns: int
    waited_ns: int
    threads: int


class Watch:
    """A context manager that reads the waits ten times a second while a tool runs.

    Not after the load: the kernel drops a thread's counters when it ends. Not the cgroup's: version 1 has none.
    """

    def __init__(self, tool: str) -> None:
        self._tool = tool
        self._most: Seen | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def facts(self) -> Facts:
        """The last reading with all threads: those that end early (wrk's do) would be missing in the sum."""
        if self._most is None:
            return {"missing": NOT_SEEN}
        most = self._most
        return {"seen_ns": str(most.seen_ns), "waited_ns": str(most.waited_ns), "threads": str(most.threads)}

    def _look(self) -> None:
        while True:
            seen = look(self._tool)
            if seen.threads and (self._most is None or seen.waited_ns >= self._most.waited_ns):
                self._most = seen
            if self._ended.wait(PAUSE_S):
                return


def look(tool: str) -> Seen:
    """Read the waits of all threads of a tool."""
    root, waited, threads = str(proc()), 0, 0
    for process in _numbers(root):
        if _read(f"{root}/{process}/comm").rstrip("\n") != tool:
            continue
        for thread in _numbers(f"{root}/{process}/task"):
            words = _read(f"{root}/{process}/task/{thread}/schedstat").split()
            if len(words) > 1:
                waited, threads = waited + int(words[1]), threads + 1
    return Seen(time.time_ns(), waited, threads)


def _numbers(folder: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if name.isdecimal()]
    except OSError:  # the process has ended
        return []


def _read(file: str) -> str:
    try:
        return Path(file).read_text(errors="replace")
    except OSError:
        return ""
