"""Whether a run was planned in this clone.

Only such a run is resumed, and only its options are taken over without being asked for: the files of any other may say
anything.
"""

from __future__ import annotations

import json
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from driver.files import text_of
from driver.messages import RUN_JSON, read

FILE = ".planned"
"""In the project's folder: a line for each run that was planned there."""
ADDED = ("lanes", "machines")
"""Entries of run.json that a run on several machines adds to the planned ones."""


def note_origin(root: Path, name: str) -> None:
    """Notes that a run was planned here, if the project's folder can be written."""
    with suppress(OSError), (root / FILE).open("a") as file:
        file.write(_digest(root / "results" / name) + "\n")


def is_from_here(root: Path, folder: Path) -> bool:
    """Whether the run in a folder was planned in this clone, under whatever name."""
    return _digest(folder) in (text_of(root / FILE) or "").split()


def _digest(folder: Path) -> str:
    planned = {name: value for name, value in (read(folder / RUN_JSON) or {}).items() if name not in ADDED}
    return sha256(json.dumps(planned, sort_keys=True).encode()).hexdigest()
