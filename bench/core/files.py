"""Atomic writes, and reads that return None instead of raising."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

from bench.core.errors import UserError, one_line
from driver.files import below, save

if TYPE_CHECKING:
    from gzip import GzipFile


def write_file(path: Path, data: str | bytes) -> None:
    """Write atomically into a folder that there is; an error names the file."""
    try:
        os.stat(path.parent)  # `save` would make it
        save(path, data)
    except OSError as error:
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
"""The largest file that is read, packed or not; reports of load tools are smaller, and logs have some 20 MB."""
MOST_UNPACKED, MOST_FILES = 2 << 30, 1 << 18
"""The most bytes and files of an archive, such as a wheel or a published run; runs have some 12,000."""


def read_bytes(path: str, most: int = MAX_BYTES) -> bytes | None:
    """The file's content; None if it cannot be read (missing, a folder, larger than `most`)."""
    try:
        # Non-blocking, so that a named pipe in the folder cannot hang the report.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        size = os.fstat(handle).st_size
        return None if size > most else os.read(handle, size + 1)[:size]
    except OSError:
        return None
    finally:
        os.close(handle)


def text_of(path: Path) -> str:
    """A small file's text without the white space around it; empty if it cannot be read."""
    with suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace").strip()
    return ""


def read_below(folder: Path, name: str, most: int = MAX_BYTES) -> bytes:
    """A file that somebody else named; OSError if it is no file below `folder`, or has more than `most` bytes."""
    if (path := below(folder, name)) is None:
        raise OSError("it is outside of its folder")
    size = path.stat().st_size
    if not path.is_file():
        raise OSError("it is no file")
    if size > most:
        raise OSError(f"it has more than {most >> 20} MiB")
    return path.read_bytes()


def unzipped(file: IO[bytes] | GzipFile) -> bytes:
    """The rest of a file that is unpacked as it is read; ValueError if that is more than `MAX_BYTES`."""
    data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"it unpacks to more than {MAX_BYTES >> 20} MiB")
    return data


def need_no_links(folder: Path) -> None:
    """UserError if the folder, which somebody else may have made, has a link: it could lead to any file."""
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            if os.path.islink(os.path.join(place, name)):
                raise UserError(f"{Path(place, name)} is a link, which could lead out of its folder: remove it")


def as_object(data: bytes | str) -> dict[str, Any] | None:
    """`data` parsed as a JSON object; None if it is anything else."""
    value = as_json(data)
    return value if isinstance(value, dict) else None


def objects_in(path: str) -> list[dict[str, Any]]:
    """The JSON objects of a file that has one on each line, without lines that are none; empty without a file."""
    return [value for line in (read_bytes(path) or b"").splitlines() if (value := as_object(line)) is not None]


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
