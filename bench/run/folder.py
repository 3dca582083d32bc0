"""Makes a run's folder, and finds one by name."""

from __future__ import annotations

import os
import shutil
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.core.errors import UserError

RESULTS = Path("results")
NO_LINE = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Control characters, lone surrogates (bytes that are no UTF-8), and separators of lines."""


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


@contextmanager
def whole_or_gone(folder: Path) -> Iterator[None]:
    """Removes a new folder that the disk has no room for: without all of its files it is no run."""
    try:
        yield
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def find_run(name: str, needs: str = "plan.jsonl") -> Path:
    """The folder of a run, by name or path; UserError where there is none, or it lacks the file `needs`.

    Names with control characters or bytes that are no UTF-8 are refused: the scripts read a name as a line.
    """
    given = Path(os.path.normpath(name))
    for folder in (given, RESULTS / given.name):
        if name and os.path.isfile(folder / "run.json") and os.path.isfile(folder / needs):
            if any(unicodedata.category(mark) in NO_LINE for mark in folder.name):
                raise UserError(f"results folder {folder.name!a} has a name that cannot be shown: rename it")
            return folder
    runs = sorted(p.parent.name for p in RESULTS.glob("*/run.json") if p.parent.name.isprintable())
    shown = f"'{name}'" if name.isprintable() else ascii(name)
    raise UserError(f"{shown} is not a results folder; there are: {', '.join(runs[-5:]) or 'none yet'}")


def in_results(name: str) -> Path:
    """`find_run` for the scripts, which know a run by its name in results/; UserError where it is elsewhere."""
    folder = find_run(name)
    if not (RESULTS / folder.name).is_dir() or not folder.samefile(RESULTS / folder.name):
        raise UserError(f"{folder} is not in {RESULTS}/: move it there")
    return folder
