"""Adds a server or framework to services/: a folder from a template, whole or not at all."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from bench.core.errors import UserError
from bench.matrix.model import NAME


def scaffold(kind: str, name: str, interface: str) -> None:
    """Write the folder of a new server or framework; UserError if that is not possible."""
    folder = Path("services", f"{kind}s", name)
    if not NAME.match(name):
        raise UserError(f"name '{name}' is not lower-case letters, digits and '-'")
    if interface not in ("asgi", "wsgi"):
        facts = folder / f"{kind}.toml"
        raise UserError(f"interface '{interface}' is neither asgi nor wsgi: start with one of them, then edit {facts}")
    if folder.exists():
        raise UserError(f"there is already a {kind} '{name}': {folder}")
    # In a place of its own, because a folder below servers/ or frameworks/ is an entry.
    made = Path("services", f".{name}")
    try:
        shutil.copytree(Path("services/templates", f"{kind}-{interface}"), made)
        for path in made.iterdir():
            path.write_text(re.sub(r"\bNAME\b", name, path.read_text(encoding="utf-8")), encoding="utf-8")
        made.rename(folder)
    except BaseException as error:
        shutil.rmtree(made, ignore_errors=True)
        if isinstance(error, OSError):
            raise UserError(f"cannot write to services/: {error}") from error
        raise
