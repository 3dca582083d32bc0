"""Files that are either whole or not there."""

from __future__ import annotations

import os
from pathlib import Path


def write_file(path: Path, data: str | bytes) -> None:
    """Write under a temporary name, sync, rename: a cut at any moment leaves the old file or the new one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
