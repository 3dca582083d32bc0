"""The processes of a service in its machine's /proc: the main process and its workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from driver.counters import PROC
from driver.files import text_of

HELPERS = (b"resource_tracker", b"forkserver")
"""Command-line words of helper processes of Python's multiprocessing, which are not workers."""


@dataclass(frozen=True)
class Processes:
    """Pids in the container's namespace. `main`: 0 once it has ended. `workers`: its children, or only itself."""

    main: int
    workers: tuple[int, ...]


def processes_of(first: int, proc: Path = PROC) -> Processes:
    """The main process and workers of a container. `first`: its first process, an init or the server itself."""
    if not first or _ended(first, proc):
        return Processes(0, ())
    children = [*_children(first, proc)]
    is_init = b"\0--\0" in _command(first, proc)
    if is_init and not children:
        return Processes(0, ())
    main = children[0] if is_init else first
    own = [pid for pid in _children(main, proc) if not any(word in _command(pid, proc) for word in HELPERS)]
    return Processes(_inside(main, proc), tuple(sorted(_inside(pid, proc) for pid in own or [main])))


def all_pids(first: int, proc: Path = PROC) -> tuple[int, ...]:
    """The container's first process and all its descendants, as pids in the container's namespace."""
    pids, left = list[int](), [first] if first and not _ended(first, proc) else []
    while left:
        pids.append(pid := left.pop())
        left += _children(pid, proc)
    return tuple(_inside(pid, proc) for pid in pids)


def _children(pid: int, proc: Path) -> Iterator[int]:
    """Its running children, including those started by other threads than the main one."""
    for file in sorted((proc / str(pid) / "task").glob("*/children")):
        for word in (text_of(file) or "").split():
            if not _ended(int(word), proc):
                yield int(word)


def _ended(pid: int, proc: Path) -> bool:
    return (text_of(proc / str(pid) / "stat") or "").rpartition(") ")[2][:1] in ("", "Z", "X")


def _command(pid: int, proc: Path) -> bytes:
    with suppress(OSError):
        return (proc / str(pid) / "cmdline").read_bytes()
    return b""


def _inside(pid: int, proc: Path) -> int:
    """Its pid in the innermost namespace."""
    for line in (text_of(proc / str(pid) / "status") or "").splitlines():
        if line.startswith("NSpid:"):
            return int(line.split()[-1])
    return pid
