"""Helpers for reading a tool's report, line by line or as JSON.

Patterns only have bounded or non-overlapping repetitions and ASCII digits, so that hostile input takes linear time and
numbers too long for their field do not match. They are strings, which `re` compiles at first use: the load generator
imports the tools between two loads, and compiling them all would dominate its start-up time.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench.tools.parsed import Errors, Latency, Parsed, Report, absent

COUNT = r"([0-9]{1,18})"
DECIMAL = r"([0-9]{1,15}(?:\.[0-9]{1,12})?)"
PERCENTILES = frozenset({"50", "75", "90", "95", "99"})
_ESCAPE = "\x1b\\[[0-?]{0,16}[@-~]"
"""A terminal's sequence for a colour."""
_REMARK = r" (?://|# ).*"
"""What people add to a line to explain it."""

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
        """The first line that was skipped without knowing it."""

    def take(self, *patterns: str) -> re.Match[str] | None:
        """Match the whole next line that is not blank, and consume it; None if it matches no pattern."""
        at = self.at
        while at < len(self.lines) and not self.lines[at]:
            at += 1
        for pattern in patterns if at < len(self.lines) else ():
            if match := re.fullmatch(pattern, self.lines[at]):
                self.at = at + 1
                return match
        return None

    def need(self, pattern: str, name: str, *skipped: str) -> re.Match[str]:
        """Skip past the next line that matches; Unfinished if there is none; `name` says what is missing.

        A line before it that is neither blank nor like one of `skipped` may be a figure that is lost: see `odd`. One
        with the same label has another form of this figure, so that a later line cannot be the one.
        """
        label = re.match("[A-Z][A-Za-z /:]*", pattern)
        while not (match := self.take(pattern)):
            if not self.take(*skipped):
                odd = self.take(".+")
                if not odd:
                    raise Unfinished(f"cut off before {name}")
                if label and odd[0].startswith(label[0]):
                    raise Unfinished(f"{clip(odd[0])!r} instead of {name}")
                self.odd = self.odd or odd[0]
        return match

    @property
    def ended(self) -> bool:
        """Whether there are no more lines, not even blank ones."""
        return self.at == len(self.lines)


def text_of(data: bytes) -> str:
    """The text without what terminals, shells and web pages add to it: colours, carriage returns, bold, blanks."""
    text = data.decode("utf-16" if data[:2] in (BOM_UTF16_LE, BOM_UTF16_BE) else "utf-8-sig", "replace")
    return re.sub("\r\n?", "\n", re.sub(_ESCAPE, "", text)).replace("\xa0", " ").replace("**", "")


def lines_of(data: bytes, whole: str = "") -> list[str]:
    """The complete lines, without indentation and remarks, and with one space for each gap.

    Text after the last line feed is dropped, because a number at its end may be truncated, unless it matches `whole`:
    a line whose end is no number. Terminals and editors lose the last line feeds of a report.
    """
    *lines, last = (re.sub(_REMARK, "", " ".join(line.split())) for line in text_of(data).split("\n"))
    return [*lines, last] if whole and re.search(f"(?:{whole})$", last) else lines


def read_report(
    tool: str,
    lines: list[str],
    starts: Sequence[str],
    read: Callable[[Cursor, Draft], None],
    explain: Callable[[list[str]], Parsed],
    *,
    others: Mapping[str, str] | None = None,
) -> Parsed:
    """Read the only report; `explain` gives the result if there is none.

    `starts`: its first line, then other lines that are in each report, from which one is read whose head is cut off.
    `others`: lines by which the reports of other tools are recognized that start with the same line.
    """
    lines = _without_prefix(lines, starts)
    positions = [[at for at, line in enumerate(lines) if re.match(start, line)] for start in starts]
    count = max(map(len, positions))
    if not count:
        return explain(lines)
    begin = next(at for (at, *_) in filter(None, positions))
    for name, pattern in (others or {}).items():
        if any(re.match(pattern, line) for line in lines[begin:]):
            return absent(tool, f"this is a report of {name}, not of {tool}", name)
    if count > 1:
        return absent(tool, f"{count} {tool} reports in one output")
    draft, cursor = Draft(tool, "text"), Cursor(lines, begin)
    try:
        read(cursor, draft)
    except Unfinished as reason:
        odd = f"; {clip(cursor.odd)!r} is not understood" if cursor.odd else ""
        return draft.finish("partial", f"{reason}{odd}")
    if cursor.odd:
        return draft.finish("partial", f"{clip(cursor.odd)!r} is not understood")
    return draft.finish("complete")


def _without_prefix(lines: list[str], starts: Sequence[str]) -> list[str]:
    """The lines without what stands before each of them: the sign of a quote, a service's name, a time."""
    if any(re.match(start, line) for start in starts for line in lines):
        return lines
    for start in starts:
        for line in lines:
            if match := re.match(rf"(\S{{1,60}}(?: \|)?) ?(?={start})", line):
                prefix = re.sub("[0-9]+", "[0-9]+", re.escape(match[1]))
                return [re.sub(rf"^{prefix} ?", "", line) for line in lines]
    return lines


def read_json(
    tool: str, data: bytes, start: str, read: Callable[[Any, Draft], None], *, has: str, formats: Mapping[str, str]
) -> Parsed:
    """Read the only JSON report that starts at a line like `start`; without one, see `unreadable`.

    `has`: a member without which it is another tool's.
    """
    text = text_of(data)
    starts = [text.index("{", match.start()) for match in re.finditer(start, text, re.MULTILINE)]
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
