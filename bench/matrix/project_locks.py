"""Pins what the project's own Python needs, with hashes: FOLDER/requirements.in -> FOLDER/requirements.txt."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

FOLDERS = ("bench", "tests")
"""Each takes the versions of those before it."""
PYTHON = "3.13"
COMPILE = ("uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-header", "--no-annotate")


def relock_project(root: Path, check: bool, upgrade: bool) -> list[str]:
    """Make the locks; returns the paths of those that were stale. Pins that still hold are kept, but for `upgrade`.

    Raises CalledProcessError when uv finds no set of versions; it has said why.
    """
    stale: list[str] = []
    constraints: list[str] = []
    with tempfile.TemporaryDirectory() as made:
        for folder in FOLDERS:
            kept, lock = root / folder / "requirements.txt", Path(made, f"{folder}.txt")
            if not upgrade:
                lock.write_bytes(kept.read_bytes())
            argv = [*COMPILE, "--python-version", PYTHON, *constraints, "--output-file", str(lock)]
            subprocess.run([*argv, str(kept.with_suffix(".in"))], check=True)
            constraints += ["--constraint", str(lock)]
            if lock.read_bytes() != kept.read_bytes():
                stale.append(f"{folder}/{kept.name}")
                if not check:
                    kept.write_bytes(lock.read_bytes())
    return stale
