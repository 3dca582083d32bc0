"""Makes a run's folder, and finds one by name."""

from __future__ import annotations

import time
from pathlib import Path

from bench.core.errors import UserError

RESULTS = Path("results")


def make_folder(label: str, wanted: Path | None = None) -> Path:
    """Make a new folder for a run; UserError where that fails."""
    folder = wanted or RESULTS / f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{label}"
    try:
        folder.mkdir(parents=True)
    except FileExistsError as error:
        raise UserError(f"{folder} already exists: wait a second, or move it") from error
    except OSError as error:
        raise UserError(f"cannot make {folder}: {error.strerror}; results/ must be writable") from error
    return folder


def find_run(name: str, needs: str = "plan.jsonl") -> Path:
    """The folder of a run, by name or path; UserError where there is none, or it lacks the file `needs`."""
    for folder in (Path(name), RESULTS / Path(name).name):
        if name and (folder / "run.json").is_file() and (folder / needs).is_file():
            return folder
    runs = sorted(p.parent.name for p in RESULTS.glob("*/run.json"))
    raise UserError(f"'{name}' is not a results folder; there are: {', '.join(runs[-5:]) or 'none yet'}")
