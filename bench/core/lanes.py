"""Where a run keeps the step of each lane; see driver/nodes/setup.py."""

from __future__ import annotations

from pathlib import Path

FOLDER = "lanes"


def lane_folder(run: Path, lane: int) -> Path:
    """The folder of a lane's step; the first lane's is the run's."""
    return run if lane == 1 else run / FOLDER / str(lane)


def lane_folders(run: Path) -> list[Path]:
    """The folders of all lanes that the run has had."""
    return [run, *sorted((run / FOLDER).glob("[0-9]*"))]
