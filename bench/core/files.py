"""Files that are either whole or not there."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def write_file(path: Path, data: str | bytes) -> None:
    """Write under a temporary name, sync, rename: a cut at any moment leaves the old file or the new one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


MAX_BYTES = 64 << 20
"""The largest file read; what is larger is no output of a load tool's report."""


def read_bytes(path: str) -> bytes | None:
    """The whole file, or None when there is none to read (absent, a folder, over `MAX_BYTES`)."""
    try:
        # Non-blocking, so that a pipe in the folder cannot hang the report.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        size = os.fstat(handle).st_size
        return None if size > MAX_BYTES else os.read(handle, size + 1)[:size]
    except OSError:
        return None
    finally:
        os.close(handle)


def as_object(data: bytes) -> dict[str, Any] | None:
    """The JSON object that `data` holds, or None when it holds none."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def mapping(value: Any) -> Mapping[str, Any]:
    """`value` when it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> Sequence[Any]:
    """`value` when it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []
