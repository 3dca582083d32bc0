"""Helpers for parsing line-oriented reports.

Every pattern is anchored, with bounded or non-overlapping repetitions and ASCII digits: hostile input costs linear
time, and a number that is too long for its field does not match.
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
    """The text ends, or deviates from the tool's format, before the report is complete."""


class Cursor:
    """A position in the lines of a report."""

    __slots__ = ("at", "lines")

    def __init__(self, lines: list[str], at: int = 0) -> None:
        self.lines = lines
        self.at = at

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """The match of the current line, which is then consumed; None if it does not match."""
        if self.at == len(self.lines):
            return None
        found = pattern.fullmatch(self.lines[self.at])
        if found:
            self.at += 1
        return found

    def need(self, pattern: re.Pattern[str], name: str) -> re.Match[str]:
        """The match of the current line; Unfinished, with the name of what is missing, if it does not match."""
        found = self.take(pattern)
        if found:
            return found
        if self.at == len(self.lines):
            raise Unfinished(f"cut off before {name}")
        raise Unfinished(f"{clip(self.lines[self.at])!r} instead of {name}")

    def seek(self, pattern: re.Pattern[str], name: str) -> None:
        """Skip to behind the next line that matches; Unfinished if there is none."""
        while not self.take(pattern):
            if self.at == len(self.lines):
                raise Unfinished(f"cut off before {name}")
            self.at += 1


def lines_of(data: bytes) -> list[str]:
    """The complete lines, without trailing blanks.

    Text after the last line feed is dropped, because its last number may be truncated.
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
    """Read the only report that starts with a line like ``start``; ``explain`` gives the result if there is none."""
    starts = [at for at, line in enumerate(lines) if start.match(line)]
    if not starts:
        return explain(lines)
    if len(starts) > 1:
        return absent(tool, f"{len(starts)} {tool} reports in one output")
    draft = Draft(tool)
    try:
        read(Cursor(lines, starts[0]), draft)
    except Unfinished as reason:
        return draft.finish("partial", str(reason))
    return draft.finish("complete")


def unreadable(tool: str, lines: list[str], formats: dict[str, re.Pattern[str]]) -> Parsed:
    """The result for text without a report: names the format by its first line, if it is a known one."""
    first = next((line for line in lines if line), None)
    if first is None:
        return absent(tool, "no complete line in the output")
    for name, pattern in formats.items():
        if pattern.match(first):
            return absent(tool, f"{tool}'s {name} format is not supported, only its report", name)
    return absent(tool, f"no {tool} report; the output begins with {clip(repr(first))}")


def clip(text: str, longest: int = 80) -> str:
    """The text, shortened for quoting in a reason."""
    return text if len(text) <= longest else text[: longest - 3] + "..."


def scaled(number: str, exponent: int) -> float:
    """``number`` x 10**``exponent``, rounded only once: 260.963 us is exactly the float 0.000260963."""
    return float(f"{number}e{exponent}")


def go_error_kind(text: str) -> str:
    """The field of ``Errors`` that counts this error of Go's HTTP client.

    Timeouts are checked first, because their texts also name what was interrupted.
    """
    prefix = _URL_IN_GO_ERROR.match(text)
    said = text[prefix.end() if prefix else 0 :].lower()
    for kind, marks in _GO_ERRORS:
        if any(mark in said for mark in marks):
            return kind
    return "other"
