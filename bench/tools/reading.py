"""Helpers for reading a tool's report, line by line or as JSON.

Patterns only have bounded or non-overlapping repetitions and ASCII digits, so that hostile input takes linear time and
numbers too long for their field do not match. They are strings, which `re` compiles at first use: the load generator
imports the tools between two loads, and compiling them all would dominate its start-up time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from bench.tools.parsed import Errors, Latency, Parsed, Report, absent

COUNT = r"([0-9]{1,18})"
DECIMAL = r"([0-9]{1,15}(?:\.[0-9]{1,12})?)"
BLANK = ""
PERCENTILES = frozenset({"50", "75", "90", "95", "99"})

_GO_ERRORS = (
    ("timeout", ("timeout", "timed out", "deadline exceeded")),
    ("connect", ("dial ", "connect: ", "lookup ", "connection refused", "open files", "cannot assign")),
    ("write", ("write tcp", "write: ", "broken pipe")),
    ("read", ("eof", "read tcp", "read: ", "connection reset", "server closed")),
)


class Unfinished(Exception):
    """The text ends or deviates from the tool's format before the report is complete."""


class Draft:
    """Figures collected line by line, so that those before a truncation are kept."""

    def __init__(self, tool: str, format: str) -> None:
        self.tool = tool
        self.format = format
        self.figures: dict[str, Any] = {}
        self.errors: dict[str, Any] = {}
        self.latency: dict[str, float | None] = {}

    def finish(self, report: Report, failure: str | None = None) -> Parsed:
        """The figures read so far, and whether the report is complete."""
        return Parsed(
            tool=self.tool,
            format=self.format,
            report=report,
            failure=failure,
            errors=Errors(**self.errors),
            latency_s=Latency(**self.latency),
            **self.figures,
        )


class Cursor:
    """A position in the lines of a report."""

    __slots__ = ("at", "lines", "odd")

    def __init__(self, lines: list[str], at: int = 0) -> None:
        self.lines = lines
        self.at = at
        self.odd = ""
        """The first line that `seek` skipped without knowing it."""

    def take(self, pattern: str) -> re.Match[str] | None:
        """Match the whole current line and consume it; None if it does not match."""
        if self.at == len(self.lines):
            return None
        found = re.fullmatch(pattern, self.lines[self.at])
        if found:
            self.at += 1
        return found

    def need(self, pattern: str, name: str) -> re.Match[str]:
        """Like `take`, but raises Unfinished if the line does not match; `name` says what is missing."""
        found = self.take(pattern)
        if found:
            return found
        if self.at == len(self.lines):
            raise Unfinished(f"cut off before {name}")
        raise Unfinished(f"{clip(self.lines[self.at])!r} instead of {name}")

    def seek(self, pattern: str, name: str, *skipped: str) -> None:
        """Skip past the next line that matches; Unfinished if there is none.

        A line before it that is neither blank nor like one of `skipped` may be a figure that is lost: see `odd`.
        """
        while not self.take(pattern):
            if self.ended:
                raise Unfinished(f"cut off before {name}")
            if not any(map(self.take, (BLANK, *skipped))):
                self.odd = self.odd or self.lines[self.at]
                self.at += 1

    @property
    def ended(self) -> bool:
        """Whether there are no more lines."""
        return self.at == len(self.lines)


def lines_of(data: bytes, whole: str = "") -> list[str]:
    """The complete lines, without trailing blanks.

    Text after the last line feed is dropped, because a number at its end may be truncated, unless it matches `whole`:
    a line whose end is no number. Terminals and editors lose the last line feeds of a report.
    """
    *lines, last = data.decode("utf-8", "replace").split("\n")
    if whole and re.fullmatch(whole, last.rstrip(" \t\r")):
        lines.append(last)
    return [line.rstrip(" \t\r") for line in lines]


def read_report(
    tool: str,
    lines: list[str],
    start: str,
    read: Callable[[Cursor, Draft], None],
    explain: Callable[[list[str]], Parsed],
    *,
    others: Mapping[str, str] | None = None,
) -> Parsed:
    """Read the only report that starts with a line like `start`; `explain` gives the result if there is none.

    `others`: lines by which the reports of other tools are recognized that start with the same line.
    """
    for name, pattern in (others or {}).items():
        if any(re.match(pattern, line) for line in lines):
            return absent(tool, f"this is a report of {name}, not of {tool}", name)
    starts = [at for at, line in enumerate(lines) if re.match(start, line)]
    if not starts:
        return explain(lines)
    if len(starts) > 1:
        return absent(tool, f"{len(starts)} {tool} reports in one output")
    draft, cursor = Draft(tool, "text"), Cursor(lines, starts[0])
    try:
        read(cursor, draft)
    except Unfinished as reason:
        return draft.finish("partial", str(reason))
    if cursor.odd:
        return draft.finish("partial", f"{clip(cursor.odd)!r} is not understood")
    return draft.finish("complete")


def read_json(
    tool: str, data: bytes, start: str, read: Callable[[Any, Draft], None], *, has: str, formats: Mapping[str, str]
) -> Parsed:
    """Read the only JSON report that starts at a line like `start`; without one, see `unreadable`.

    `has`: a member without which it is another tool's.
    """
    text = data.decode("utf-8", "replace")
    starts = [found.start() for found in re.finditer(start, text, re.MULTILINE)]
    if not starts:
        return unreadable(tool, lines_of(data), formats)
    if len(starts) > 1:
        return absent(tool, f"{len(starts)} reports in one output", "json")
    draft = Draft(tool, "json")
    try:
        report, end = json.JSONDecoder().raw_decode(text, starts[0])
        if not isinstance(report, dict) or has not in report:
            return unreadable(tool, lines_of(data), formats)
        if text[end:].partition("\n")[0].strip():
            raise Unfinished("unexpected text after the JSON")
        read(report, draft)
    except (ValueError, RecursionError) as reason:
        return draft.finish("partial", f"incomplete JSON: {clip(str(reason))}")
    except Unfinished as reason:
        return draft.finish("partial", str(reason))
    return draft.finish("complete")


def unreadable(tool: str, lines: list[str], formats: Mapping[str, str]) -> Parsed:
    """The result for text without a report; it names the format if the first line is that of a known one."""
    first = next((line for line in lines if line), None)
    if first is None:
        return absent(tool, "no complete line in the output")
    for name, pattern in formats.items():
        if re.match(pattern, first):
            return absent(tool, f"{tool}'s {name} format is not supported, only its report", name)
    return absent(tool, f"no {tool} report; the output begins with {clip(repr(first))}")


def member(report: Any, *path: str) -> Any:
    """The value at this path in JSON; Unfinished if there is none."""
    for name in path:
        if not isinstance(report, dict) or name not in report:
            raise Unfinished(f"the JSON has no {'.'.join(path)!r}")
        report = report[name]
    return report


def count_at(report: Any, *path: str) -> int:
    """The count (also of bytes or nanoseconds) at this path; Unfinished if it is not a count."""
    value = member(report, *path)
    if type(value) is int and 0 <= value < 10**18:
        return value
    raise Unfinished(f"{'.'.join(path)!r} is not a count")


def rate_at(report: Any, *path: str) -> float:
    """The non-negative number at this path; Unfinished if it is not one."""
    value = member(report, *path)
    if type(value) in (int, float) and 0 <= value < 10**18:
        return float(value)
    raise Unfinished(f"{'.'.join(path)!r} is not a rate")


def clip(text: str, longest: int = 80) -> str:
    """The text, shortened for quoting in a reason."""
    return text if len(text) <= longest else text[: longest - 3] + "..."


def scaled(number: str, exponent: int) -> float:
    """`number` x 10**`exponent`, rounded only once: 260.963 us is exactly the float 0.000260963."""
    return float(f"{number}e{exponent}")


def go_error_kind(text: str) -> str:
    """The field of `Errors` that counts this error of Go's HTTP client.

    Timeouts are checked first, because their texts also name the interrupted operation.
    """
    prefix = re.match(r'[A-Za-z]{1,10} "[^"]*": ', text)
    said = text[prefix.end() if prefix else 0 :].lower()
    for kind, marks in _GO_ERRORS:
        if any(mark in said for mark in marks):
            return kind
    return "other"
