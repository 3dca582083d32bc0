"""Checks for disk space before anything is built, and before each step."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from driver.failure import Failure
from driver.run import Run

NEEDED = 1 << 20
"""Bytes; more than the raw files of a step."""


def need_room(run: Run, status: int) -> None:
    """Failure with this status if the disk is full."""
    why = _in_the_way(run.folder)
    if why:
        raise Failure(status, f"cannot write to results/{run.name}: {why}; free some space")


def _in_the_way(folder: Path) -> str:
    """Why NEEDED bytes cannot be written there; empty if they can."""
    file = folder / f".room.{os.getpid()}"
    try:
        file.write_bytes(bytes(NEEDED))
    except OSError as error:
        return error.strerror or str(error)
    finally:
        with suppress(OSError):
            file.unlink()
    return ""
