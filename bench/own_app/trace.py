"""Finds an app's traceback in the log of its server, and what to do about its exception."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from bench.core.formats import printable
from bench.core.tables import table_beside

BEGIN = "Traceback (most recent call last):"
MOST_FRAMES = 6
"""How many of the last frames of a traceback are shown."""
FOLDER = "/srv/app/"
LONGEST = 300
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '(\w+)")
_NO_NAME = re.compile(r"ImportError: cannot import name '\w+' from '(\w+)[\w.]*' \((?!/srv/app/)")


@dataclass(frozen=True, slots=True)
class ExceptionHint:
    """What to do about an exception whose words have the pattern `says`."""

    says: str
    give: str


@dataclass(frozen=True, slots=True)
class ExceptionHints:
    """What trace.toml says."""

    removed: frozenset[str]
    hints: tuple[ExceptionHint, ...]


def trace_of(log: str) -> tuple[list[str], str]:
    """(lines of the last traceback, its last line with the place in the app); both empty if there is none."""
    lines = log.splitlines()
    if not (begins := [number for number, line in enumerate(lines) if line.strip().endswith(BEGIN)]):
        return [], ""
    # Servers prefix each line with a time or a name.
    begin = begins[-1]
    prefix = lines[begin][: lines[begin].index(BEGIN)]
    body = [line.removeprefix(prefix) for line in lines[begin + 1 :]]
    end = next((n for n, line in enumerate(body) if line and not line.startswith(" ")), len(body) - 1)
    if not body:
        return [], ""
    shown = [*_frames_of_the_app(body[:end]), body[end]]
    places = (re.match(rf'\s+File "{FOLDER}([^"]+)", line (\d+)', line) for line in reversed(shown))
    place = next((f" ({match[1]}, line {match[2]})" for match in places if match), "")
    return [BEGIN, *map(_plain, shown[-2 * MOST_FRAMES - 1 :])], f"{_plain(body[end].strip())}{place}"


def hint_of(exception: str, app: str) -> str:
    """What to do about an exception of `app` (MODULE:CALLABLE); empty if its words do not tell."""
    known, missing = table_beside(__file__, ExceptionHints), _NO_MODULE.match(exception)
    match = missing or _NO_NAME.match(exception)
    if exception.startswith("SyntaxError: ") or (match and match[1] in sys.stdlib_module_names | known.removed):
        return "mend it, or give --python with the Python that it is written for"
    if missing and missing[1] != re.split("[.:]", app)[0]:
        return "if that is a package, give --requirements FILE with it"
    if match and not missing:
        return f"if another version of {match[1]} has it, give --requirements FILE with that version"
    return next((hint.give for hint in known.hints if re.search(hint.says, exception)), "")


def _frames_of_the_app(lines: list[str]) -> Iterator[str]:
    """The frames in the app's own folder, each with its source lines."""
    in_app = False
    for line in lines:
        if line.lstrip().startswith("File "):
            in_app = FOLDER in line
        if in_app:
            yield line


def _plain(line: str) -> str:
    return printable(line)[:LONGEST]
