"""What an app's own files say about its packages and its Python, beside the requirements that are installed."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from bench.core.errors import UserError
from bench.core.files import mapping, read_below

LOCKS = {
    "uv.lock": "uv export --frozen --no-emit-project --no-hashes -o FILE",
    "poetry.lock": "poetry export --without-hashes -o FILE",
    "Pipfile.lock": "pipenv requirements > FILE",
    "pylock.toml": "a FILE with a line NAME==VERSION for each of its packages",
}
"""Files with an app's exact versions, and how to turn them into requirements."""
LATEST = 99
"""A patch release later than all others: images have the latest one of a Python."""


def left_unread(folder: Path, requirements: Path | None) -> Iterator[str]:
    """A line for each file of the app that says something about how it runs and is not used.

    `requirements`: the file of --requirements; with it, locks are not needed.
    """
    for name, command in LOCKS.items():
        if requirements is None and (folder / name).is_file():
            yield f"{name} is not read: the newest versions are measured; else: {command}, then --requirements FILE"
    if (folder / "gunicorn.conf.py").is_file():
        yield "gunicorn.conf.py is not used: all servers have the same workers, threads and timeouts (see --vary)"


def check_python(folder: Path, pythons: Sequence[str], known: Iterable[str]) -> None:
    """UserError if the app's pyproject.toml excludes a Python that it would be measured on.

    `known`: all of the matrix, in order.
    """
    wanted = mapping(_pyproject(folder).get("project")).get("requires-python")
    try:
        fits = SpecifierSet(wanted) if isinstance(wanted, str) else None
    except InvalidSpecifier:
        return
    other = next((python for python in pythons if fits is not None and not _has(fits, python)), None)
    if fits is None or other is None:
        return
    order = {python: number for number, python in enumerate(known)}
    others = [python for python in order if _has(fits, python) and not python.startswith("pypy")]
    nearest = min(others, key=lambda python: abs(order[python] - order[other]), default=None)
    give = f"give --python {nearest}" if nearest else "no Python of the matrix is"
    raise UserError(f"pyproject.toml: the app requires Python {wanted}: {give}")


def _has(fits: SpecifierSet, python: str) -> bool:
    return fits.contains(f"{python.removeprefix('pypy')}.{LATEST}")


def _pyproject(folder: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_below(folder, "pyproject.toml").decode())
    except (OSError, ValueError):
        return {}
