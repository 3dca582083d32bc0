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
"""In the project's folder: a line for each run that was planned there, and for its Compose file."""
SERVICES = "app/services.json"
ADDED = ("lanes", "machines")
"""Entries of run.json that a run on several machines adds to the planned ones."""


def note_origin(root: Path, name: str) -> None:
    """Notes that a run was planned here, if the project's folder can be written."""
    note(root, _planned(root / "results" / name))


def is_from_here(root: Path, folder: Path) -> bool:
    """Whether the run in a folder was planned in this clone, under whatever name."""
    return is_noted(root, _planned(folder))


def note(root: Path, text: str) -> None:
    """Notes that this text was written here, if the project's folder can be written."""
    with suppress(OSError), (root / FILE).open("a") as file:
        file.write(_digest(text) + "\n")


def is_noted(root: Path, text: str) -> bool:
    """Whether this text was written in this clone."""
    return _digest(text) in (text_of(root / FILE) or "").split()


def _planned(folder: Path) -> str:
    """The run's run.json as planned, and its own services."""
    planned = {name: value for name, value in (read(folder / RUN_JSON) or {}).items() if name not in ADDED}
    return json.dumps(planned, sort_keys=True) + (text_of(folder / SERVICES) or "")


def _digest(text: str) -> str:
    return sha256(text.encode(errors="surrogateescape")).hexdigest()
