"""Finds an app's traceback in the log of its server."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bench.core.formats import printable

BEGIN = "Traceback (most recent call last):"
MOST_FRAMES = 6
"""How many of the last frames of a traceback are shown."""
FOLDER = "/srv/app/"
LONGEST = 300


def trace_of(log: str) -> tuple[list[str], str]:
    """(lines of the last traceback, its last line with the place in the app); both empty if there is none."""
    lines = log.splitlines()
    begins = [number for number, line in enumerate(lines) if line.strip().endswith(BEGIN)]
    if not begins:
        return [], ""
    # Servers prefix each line with a time or a name.
    begin = begins[-1]
    prefix = lines[begin][: lines[begin].index(BEGIN)]
    body = [line.removeprefix(prefix) for line in lines[begin + 1 :]]
    end = next((n for n, line in enumerate(body) if line and not line.startswith(" ")), len(body) - 1)
    if not body:
        return [], ""
    shown = [*_frames_of_the_app(body[:end]), body[end]]
    place = next((found for line in reversed(shown) if (found := _place(line))), "")
    words = _plain(body[end].strip())
    return [BEGIN, *map(_plain, shown[-2 * MOST_FRAMES - 1 :])], f"{words}{f' ({place})' if place else ''}"


def _frames_of_the_app(lines: list[str]) -> Iterator[str]:
    """The frames in the app's own folder, each with its source lines."""
    own = False
    for line in lines:
        if line.lstrip().startswith("File "):
            own = FOLDER in line
        if own:
            yield line


def _place(line: str) -> str:
    found = re.match(rf'\s+File "{FOLDER}([^"]+)", line (\d+)', line)
    return f"{found[1]}, line {found[2]}" if found else ""


def _plain(line: str) -> str:
    return printable(line)[:LONGEST]
