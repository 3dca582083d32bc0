"""Atomic writes, and reads that return None instead of raising."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from bench.core.errors import one_line


def write_file(path: Path, data: str | bytes) -> None:
    """Write atomically (temporary name, fsync, rename): an interruption leaves the old file or the new one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        # On a full disk, free the space of the partial file: the error message is written to disk too.
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        error.filename = str(path)
        raise


ROOM_BYTES = 1 << 16
"""What has to fit on the disk before and after a load."""
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
"""Errors of a full or read-only disk: the command can be repeated once that is fixed."""


def unwritable(error: OSError) -> str:
    """The one-line message for such an error."""
    where = f"cannot write {error.filename or 'a file'}: {error.strerror}"
    return f"{one_line(where)}; free some space, or make it writable"


def check_room(folder: Path) -> None:
    """Raise OSError if the disk of this folder is full: load tools do not report that their output was cut off."""
    write_file(folder / ".room", bytes(ROOM_BYTES))
    (folder / ".room").unlink(missing_ok=True)


MAX_BYTES = 64 << 20
"""The largest file that is read; reports of load tools are smaller."""


def read_bytes(path: str) -> bytes | None:
    """The file's content; None if it cannot be read (missing, a folder, larger than `MAX_BYTES`)."""
    try:
        # Non-blocking, so that a named pipe in the folder cannot hang the report.
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


def text_of(path: Path) -> str:
    """A small file's text without the white space around it; empty if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def as_object(data: bytes | str) -> dict[str, Any] | None:
    """`data` parsed as a JSON object; None if it is anything else."""
    value = as_json(data)
    return value if isinstance(value, dict) else None


def as_json(data: bytes | str) -> Any:
    """`data` parsed as strict JSON; None if it is invalid or could not be written again (`NaN`, lone surrogates)."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def mapping(value: Any) -> Mapping[str, Any]:
    """`value` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> Sequence[Any]:
    """`value` if it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []
