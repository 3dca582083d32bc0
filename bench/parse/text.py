"""What the readers of line-oriented reports share.

Every pattern is anchored, its repetitions are bounded or cannot overlap, and digits are ASCII: a hostile text
costs time linear in its size, and a number too long for its field is no number.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .parsed import Draft, Parsed, absent

COUNT = r"([0-9]{1,18})"
DECIMAL = r"([0-9]{1,15}(?:\.[0-9]{1,12})?)"

BLANK = re.compile("")

_URL_IN_GO_ERROR = re.compile(r'[A-Za-z]{1,10} "[^"]*": ')
_GO_ERRORS = (
    ("timeout", ("timeout", "timed out", "deadline exceeded")),
    ("connect", ("dial ", "connect: ", "lookup ", "connection refused", "open files", "cannot assign")),
    ("write", ("write tcp", "write: ", "broken pipe")),
    ("read", ("eof", "read tcp", "read: ", "connection reset", "server closed")),
)


class Unfinished(Exception):
    """The text breaks off, or leaves the tool's grammar, before the report is whole."""


class Cursor:
    """A place in the lines of a report."""

    __slots__ = ("at", "lines")

    def __init__(self, lines: list[str], at: int = 0) -> None:
        self.lines = lines
        self.at = at

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """The line at hand if it is of this kind, and go on to the next."""
        if self.at == len(self.lines):
            return None
        found = pattern.fullmatch(self.lines[self.at])
        if found:
            self.at += 1
        return found

    def need(self, pattern: re.Pattern[str], name: str) -> re.Match[str]:
        """The line at hand, which must be of this kind."""
        found = self.take(pattern)
        if found:
            return found
        if self.at == len(self.lines):
            raise Unfinished(f"cut off before {name}")
        raise Unfinished(f"{clip(self.lines[self.at])!r} stands in the place of {name}")

    def seek(self, pattern: re.Pattern[str], name: str) -> None:
        """Go past the next line of this kind, whatever stands before it."""
        while not self.take(pattern):
            if self.at == len(self.lines):
                raise Unfinished(f"cut off before {name}")
            self.at += 1


def lines_of(data: bytes) -> list[str]:
    """The finished lines, without the blanks at their ends.

    What follows the last line feed is left out: nobody knows whether its last number is whole.
    """
    lines = data.decode("utf-8", "replace").split("\n")
    del lines[-1]
    return [line.rstrip(" \t\r") for line in lines]


def read_report(
    tool: str,
    lines: list[str],
    start: re.Pattern[str],
    read: Callable[[Cursor, Draft], None],
    explain: Callable[[list[str]], Parsed],
) -> Parsed:
    """Read the one report that starts with a line like ``start``; ``explain`` says why there is none."""
    starts = [at for at, line in enumerate(lines) if start.match(line)]
    if not starts:
        return explain(lines)
    if len(starts) > 1:
        return absent(tool, f"{len(starts)} {tool} reports in one text: which one counts is not known")
    draft = Draft(tool)
    try:
        read(Cursor(lines, starts[0]), draft)
    except Unfinished as reason:
        return draft.finish("partial", str(reason))
    return draft.finish("complete")


def unreadable(tool: str, lines: list[str], formats: dict[str, re.Pattern[str]]) -> Parsed:
    """No report: another format of the tool, by its first line, or none that is known."""
    first = next((line for line in lines if line), None)
    if first is None:
        return absent(tool, "no finished line in the output")
    for name, pattern in formats.items():
        if pattern.match(first):
            return absent(tool, f"{tool}'s {name} format is not read, only its report", name)
    return absent(tool, f"no {tool} report; the output begins with {clip(first)!r}")


def clip(text: str, longest: int = 80) -> str:
    """A text short enough to be quoted in a reason."""
    return text if len(text) <= longest else text[: longest - 3] + "..."


def scaled(number: str, exponent: int) -> float:
    """``number`` times ten to ``exponent``, rounded once: 260.963 us is exactly what 0.000260963 is."""
    return float(f"{number}e{exponent}")


def go_error_kind(text: str) -> str:
    """The field of ``Errors`` that counts this error of Go's HTTP client.

    A timeout is one whatever it interrupted, so that kind is looked for first.
    """
    prefix = _URL_IN_GO_ERROR.match(text)
    said = text[prefix.end() if prefix else 0 :].lower()
    for kind, marks in _GO_ERRORS:
        if any(mark in said for mark in marks):
            return kind
    return "other"
