"""Atomic writes, and reads that never fail."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

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
        # On a full disk, what there is of it must not take the room of the words that say so.
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        error.filename = str(path)
        raise


ROOM_BYTES = 1 << 16
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
"""Errors of a disk that is full or cannot be written; whoever frees it goes on."""


def unwritable(error: OSError) -> str:
    """One of them in one line."""
    where = f"cannot write {error.filename or 'a file'}: {error.strerror}"
    return f"{one_line(where)}; free some space, or make it writable"


def check_room(folder: Path) -> None:
    """Raise the OSError that a write there meets now: load tools do not tell that their output had no room."""
    write_file(folder / ".room", bytes(ROOM_BYTES))
    (folder / ".room").unlink(missing_ok=True)


MAX_BYTES = 64 << 20
"""The largest file that is read; no load tool writes a larger report."""


def read_bytes(path: str) -> bytes | None:
    """The file's content; None where it cannot be read (missing, a folder, larger than `MAX_BYTES`)."""
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


def as_object(data: bytes | str) -> dict[str, Any] | None:
    """The JSON object in `data`; None where it is anything else."""
    value = as_json(data)
    return value if isinstance(value, dict) else None


def as_json(data: bytes | str) -> Any:
    """The JSON value in `data`, strict: None where it is none, or holds what neither text nor JSON can (`NaN`)."""
    data = data.encode(errors="surrogatepass") if isinstance(data, str) else data
    try:
        value = json.loads(data, parse_constant=_no_number)
        if _DOUBTFUL.search(data):
            # A lone surrogate, or a number beyond a float: no file that is made of it could be written, or read again.
            json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return None
    return value


_DOUBTFUL = re.compile(rb"\\u[dD]|[0-9][eE]\+?[0-9]{3}|[0-9]{300}")


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def mapping(value: Any) -> Mapping[str, Any]:
    """`value` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> Sequence[Any]:
    """`value` if it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []
