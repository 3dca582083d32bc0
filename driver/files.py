"""Reads files, and writes them atomically: a reader finds the whole file or none."""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any


def save(path: Path, data: str | bytes) -> None:
    """Replaces the file atomically: an interruption leaves the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            file.write(data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        # On a full disk, this frees the space of the partial file: the error message is written to disk too.
        with suppress(OSError):
            temporary.unlink()


def save_json(path: Path, value: Any) -> None:
    """Saves the value as a line of JSON."""
    save(path, json.dumps(value, ensure_ascii=False) + "\n")


def below(folder: Path, name: str) -> Path | None:
    """The real path of a file that somebody else named; None if it is not below `folder`, through whatever links."""
    try:
        path = Path(os.path.realpath(folder / name))
    except ValueError:
        return None
    return path if path.is_relative_to(os.path.realpath(folder)) else None


def text_of(path: Path) -> str | None:
    """A file's text; None if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None


def take_lock(descriptor: int) -> bool:
    """Locks an open file; false if another process holds its lock."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_locked(file: Path) -> bool:
    """Whether a process holds the lock of this file; OSError if that cannot be read."""
    with file.open("rb") as opened:
        return not take_lock(opened.fileno())


def last_line(path: Path) -> str:
    """The last line of a file that is not blank, or an empty string."""
    lines = [line for line in (text_of(path) or "").splitlines() if line.strip()]
    return lines[-1] if lines else ""
