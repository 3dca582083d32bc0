"""What an app needs, as one file for the resolver: of --requirements, requirements.txt or pyproject.toml."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from bench.core.errors import UserError

FOUND = ("requirements.txt", "pyproject.toml")
"""Looked for in the app's folder, in this order."""
_INCLUDE = re.compile(r"(?:-r|--requirement|-c|--constraint)[ =]?\s*(\S+)\Z")
_LOCAL = re.compile(r"(-e|--editable)\b|(\.|\.\.|/|file:)")
DEEPEST = 5


def requirements_of(folder: Path, given: Path | None, shown: str) -> tuple[str, str]:
    """(name of the file for the resolver, its text); an empty text where the app has no requirements."""
    if given is None:
        given = next((folder / name for name in FOUND if (folder / name).is_file()), None)
        if given is None:
            return "requirements.in", ""
        shown = given.name
    if given.suffix == ".toml":
        text = _read(given, shown)
        if "[project]" not in text and not re.search(r"^\[project[.\]]", text, re.MULTILINE):
            raise UserError(f"{shown} has no [project] with dependencies: give --requirements FILE")
        return "pyproject.toml", text
    return "requirements.in", "\n".join(_lines(given, shown, 0)) + "\n"


def _lines(path: Path, shown: str, depth: int) -> Iterator[str]:
    """The requirements of a file and of those that it includes."""
    if depth > DEEPEST:
        raise UserError(f"{shown} includes itself")
    continued = False
    for line in _read(path, shown).splitlines():
        text = line.split(" #")[0].strip()
        # Hashes are the lock's own.
        hashes = text.startswith("--hash") or (continued and text.startswith("--hash"))
        continued = text.endswith("\\")
        text = text.removesuffix("\\").strip()
        text = re.sub(r"\s*--hash[= ]\S+", "", text)
        if hashes or not text or text.startswith("#"):
            continue
        if include := _INCLUDE.match(text):
            yield from _lines(path.parent / include[1], include[1], depth + 1)
        elif _LOCAL.match(text):
            raise UserError(
                f"{shown}: '{text}' is a local package, which cannot be locked: "
                "leave it out if it is the app itself, whose folder is on the path"
            )
        else:
            yield text


def _read(path: Path, shown: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read the requirements in {shown}: {error}") from error
