"""The result of parsing a tool's output: the figures in it, and nothing derived from anything else.

Times are in seconds, sizes in bytes, rates in 1/s; ``None`` means that the output does not contain the figure.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Report = Literal["complete", "partial", "absent"]


@dataclass(frozen=True, slots=True)
class Errors:
    """Counts by kind. ``non2xx`` counts answers; the kinds before it, requests without an answer."""

    connect: int | None = None
    read: int | None = None
    write: int | None = None
    timeout: int | None = None
    other: int | dict[str, int] | None = None
    """hey: errors of no other kind; ab: its ``length`` and ``exceptions``."""
    non2xx: int | None = None
    status: dict[str, int] | None = None
    """Count by status code; vegeta's ``0`` is a request without an answer."""

    def as_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Latency:
    """Latency in seconds, at the precision that the tool prints."""

    mean: float | None = None
    stdev: float | None = None
    min: float | None = None
    max: float | None = None
    p50: float | None = None
    p75: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None

    def as_dict(self) -> dict[str, float | None]:
        """As JSON types."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Parsed:
    """The parsed output of one tool run."""

    tool: str
    format: str
    """``text``, and vegeta's ``json`` and ``gob``; other formats are recognised, but not read (``absent``)."""
    report: Report
    """``complete``; ``partial``: truncated, or not in the tool's format; ``absent``: there is no report."""
    failure: str | None
    """Why the report is not complete; ``None`` if it is."""
    tool_version: str | None = None
    requests: int | None = None
    """Requests that the tool counts as completed; hey and vegeta: those that got an answer of any status."""
    attempts: int | None = None
    """hey and vegeta: ``requests`` plus those without an answer."""
    duration_s: float | None = None
    rps: float | None = None
    """Requests per second, as printed; vegeta: its throughput, which counts only successes."""
    ok: int | None = None
    ok_range: tuple[int, int] | None = None
    """(least, most) good answers, where ab's output leaves ``ok`` ambiguous."""
    errors: Errors = field(default_factory=Errors)
    latency_s: Latency = field(default_factory=Latency)
    bytes_read: int | None = None
    bytes_exact: bool | None = None
    """False if the tool rounded ``bytes_read``."""
    extra: dict[str, Any] | None = None
    """Figures of a single tool: ab ``failed``, ``keepalive_requests``; vegeta ``rate``, ``attack_s``,
    ``wait_s``; wrk ``script_json``; hey ``results_kept`` if it stopped keeping results."""

    def as_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return {
            "tool": self.tool,
            "tool_version": self.tool_version,
            "format": self.format,
            "report": self.report,
            "requests": self.requests,
            "attempts": self.attempts,
            "duration_s": self.duration_s,
            "rps": self.rps,
            "ok": self.ok,
            "ok_range": None if self.ok_range is None else list(self.ok_range),
            "errors": self.errors.as_dict(),
            "latency_s": self.latency_s.as_dict(),
            "bytes_read": self.bytes_read,
            "bytes_exact": self.bytes_exact,
            "extra": self.extra,
            "failure": self.failure,
        }


class Draft:
    """Figures collected line by line, so that a truncated text keeps what was read."""

    def __init__(self, tool: str, format: str = "text") -> None:
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


def absent(tool: str, failure: str, format: str = "text", **figures: Any) -> Parsed:
    """The result for output without a report."""
    return Parsed(tool=tool, format=format, report="absent", failure=failure, **figures)
