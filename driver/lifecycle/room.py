"""Whether what a run writes has room: found out before anything is built, and before each step."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from driver.failure import Failure
from driver.run import Run

NEEDED = 1 << 20
"""Bytes: a step's raw files, and more."""


def need_room(run: Run, status: int) -> None:
    """For the run, or for its next step; what is measured by now is kept."""
    why = _in_the_way(run.folder)
    if why:
        raise Failure(status, f"cannot write to results/{run.name}: {why}; free some space")


def _in_the_way(folder: Path) -> str:
    """Of so many bytes there; nothing where they can be written."""
    file = folder / f".room.{os.getpid()}"
    try:
        file.write_bytes(bytes(NEEDED))
    except OSError as error:
        return error.strerror or str(error)
    finally:
        with suppress(OSError):
            file.unlink()
    return ""
