"""Finds an app's traceback in the log of its server, and what to do about its exception."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from bench.core.formats import printable

BEGIN = "Traceback (most recent call last):"
MOST_FRAMES = 6
"""How many of the last frames of a traceback are shown."""
FOLDER = "/srv/app/"
LONGEST = 300
REMOVED = (
    *("aifc", "asynchat", "asyncore", "audioop", "cgi", "cgitb", "chunk", "crypt", "distutils", "imghdr", "imp"),
    *("lib2to3", "mailcap", "msilib", "nis", "nntplib", "pipes", "smtpd", "sndhdr", "spwd", "sunau", "telnetlib"),
    *("uu", "xdrlib"),
)
"""Modules that came with Python until 3.11 or 3.12."""
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '(\w+)")
_NO_NAME = re.compile(r"ImportError: cannot import name '\w+' from '(\w+)[\w.]*' \((?!/srv/app/)")


_WORDS = {
    r"no such table|[Rr]elation .* does not exist|Table '.*' doesn't exist": "give the command that makes its tables"
    " with --before",
    r"Read-only file system": "only /tmp and the app's own folder can be written: give another place with --env-file",
    r"Connection refused|Connect call failed|Name or service not known|could not translate host name"
    r"|[Nn]ame resolution|No address associated": "the app reaches only what --compose starts, by the name of the"
    " service: give that name with --env-file",
    r"KeyError: '[A-Z][A-Z0-9_]+'|[Ee]nvironment variable|(Undefined|Missing)Value"
    r"|validation errors? for \w*(Settings|Config)": "if that is a variable, give it with --env-file",
}
"""What to do, by what an exception says."""


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
    missing = _NO_MODULE.match(exception)
    match = missing or _NO_NAME.match(exception)
    if exception.startswith("SyntaxError: ") or (match and match[1] in (*sys.stdlib_module_names, *REMOVED)):
        return "mend it, or give --python with the Python that it is written for"
    if missing and missing[1] != re.split("[.:]", app)[0]:
        return "if that is a package, give --requirements FILE with it"
    if match and not missing:
        return f"if another version of {match[1]} has it, give --requirements FILE with that version"
    return next((hint for words, hint in _WORDS.items() if re.search(words, exception)), "")


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
