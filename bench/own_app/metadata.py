"""What an app's own files say about its packages and its Python, beside the requirements that are installed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from bench.core.errors import UserError
from bench.core.files import mapping, read_below
from bench.core.formats import listed

PYTHONS = {
    "Dockerfile": r"^(?i:FROM)[ \t].*?\bpython:?(3\.\d{1,2})\b",
    ".python-version": r"^\s*(?:cpython-|python-)?(3\.\d{1,2})\b",
    "runtime.txt": r"^python-(3\.\d{1,2})\b",
    ".tool-versions": r"^python\s+(3\.\d{1,2})\b",
}
"""Files that say which Python an app runs on, in the order in which they count."""
_VERSION = re.compile(r"(\^|~=?|===?|!=|[<>]=?|=)?\s*([\w.*+-]+)")
LATEST = 99
"""A patch release later than all others: images have the latest one of a Python."""


def left_unread(folder: Path) -> Iterator[str]:
    """A line for each file of the app that says something about how it runs and is not used."""
    if (folder / "gunicorn.conf.py").is_file():
        yield "gunicorn.conf.py is not used: all servers have the same workers, threads and timeouts (see --vary)"


def other_python(folder: Path, measured: Sequence[str], known: Collection[str]) -> Iterator[str]:
    """A line if a file of the app names a Python that is not `measured`; `known`: all of the matrix."""
    for name, pattern in PYTHONS.items():
        text = ""
        with suppress(OSError):
            text = _with_arguments(read_below(folder, name).decode(errors="replace"))
        if named := re.findall(pattern, text, re.MULTILINE | re.ASCII):
            # The last stage of a Dockerfile is what runs.
            python = named[-1]
            give = f"give --python {python} for that" if python in known else "there is none here"
            if python not in measured:
                yield f"{name} has Python {python}, and {listed(measured)} is measured: {give}"
            return


def _with_arguments(text: str) -> str:
    """A Dockerfile with the defaults of its arguments in place of their names."""
    values = dict(re.findall(r"^ARG (\w{1,99})=[\"']?([\w.-]{1,99})", text, re.MULTILINE | re.ASCII))
    return re.sub(r"\$\{?(\w{1,99})\}?", lambda found: str(values.get(found[1], found[0])), text)


def check_python(folder: Path, pythons: Sequence[str], known: Iterable[str]) -> None:
    """UserError if the app's pyproject.toml excludes a Python that it would be measured on.

    `known`: all of the matrix, in order.
    """
    data = pyproject(folder)
    poetry = mapping(tool(data, "poetry").get("dependencies")).get("python")
    wanted = str(mapping(data.get("project")).get("requires-python") or poetry or "")
    try:
        # ==3.11.4, too: images have the latest patch release.
        text = re.sub(r"(?<!=)==(\d+\.\d+)(\.\d+)?(?=,|$)", r"==\1.*", specifier(wanted) if wanted else "")
        fits = SpecifierSet(text) if text else None
    except ValueError:
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


def pyproject(folder: Path) -> dict[str, Any]:
    """A folder's pyproject.toml; empty if it cannot be read."""
    with suppress(OSError, ValueError, RecursionError):
        return tomllib.loads(read_below(folder, "pyproject.toml").decode())
    return {}


def tool(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A tool's part of pyproject.toml."""
    return mapping(mapping(data.get("tool")).get(name))


def specifier(text: str) -> str:
    """Versions as Poetry or Pipenv name them (`^1.2`, `~1.2`, `1.2`, `*`), as pip does; ValueError for `^1 || ^2`."""
    if _VERSION.sub("", text).strip(" ,"):
        raise ValueError(f"'{text}' is more than one range of versions")
    return str(SpecifierSet(",".join(_as_pip(sign, version) for sign, version in _VERSION.findall(text))))


def _as_pip(sign: str, version: str) -> str:
    if version == "*":
        return ""
    if sign not in ("^", "~"):
        return f"{'==' if sign in ('', '=') else sign}{version}"
    release = list(Version(version).release)
    last = len(release) - 1
    # The first number that is not 0 may not change; with ~, the second one, if there is one.
    kept = next((place for place, number in enumerate(release) if number), last) if sign == "^" else min(1, last)
    return f">={version},<{'.'.join(map(str, [*release[:kept], release[kept] + 1]))}"
