"""What a parser hands back: the figures that one tool's output tells, and nothing else.

Times are in seconds, sizes in bytes, rates in 1/s; ``None`` means that the output does not tell.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Report = Literal["complete", "partial", "absent"]


@dataclass(frozen=True, slots=True)
class Errors:
    """Counts by kind. ``non2xx`` counts answers, the kinds before it requests without one."""

    connect: int | None = None
    read: int | None = None
    write: int | None = None
    timeout: int | None = None
    other: int | dict[str, int] | None = None
    """hey: the texts of no other kind; ab: its ``length`` and ``exceptions``."""
    non2xx: int | None = None
    status: dict[str, int] | None = None
    """Status code to count; vegeta's ``0`` is a request without an answer."""

    def as_dict(self) -> dict[str, Any]:
        """The same as JSON types."""
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
        """The same as JSON types."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Parsed:
    """One tool's output, read."""

    tool: str
    format: str
    """``text``, vegeta's ``json`` and ``gob`` are read; others are recognised and ``absent``."""
    report: Report
    """``complete``; ``partial``: cut off or out of the tool's grammar; ``absent``: there is no report."""
    failure: str | None
    """Why the report is not complete; ``None`` when it is."""
    tool_version: str | None = None
    requests: int | None = None
    """Requests that the tool counts as completed; hey and vegeta: that got an answer, whatever its code."""
    attempts: int | None = None
    """hey and vegeta: ``requests`` and the ones without an answer."""
    duration_s: float | None = None
    rps: float | None = None
    """Requests per second as printed; vegeta: its throughput, which counts successes only."""
    ok: int | None = None
    ok_range: tuple[int, int] | None = None
    """Lowest and highest number of good answers where ab's text does not tell ``ok`` itself."""
    errors: Errors = field(default_factory=Errors)
    latency_s: Latency = field(default_factory=Latency)
    bytes_read: int | None = None
    bytes_exact: bool | None = None
    """False where the tool rounded ``bytes_read``."""
    extra: dict[str, Any] | None = None
    """Figures of one tool only: ab ``failed``, ``keepalive_requests``; vegeta ``rate``, ``attack_s``,
    ``wait_s``; wrk ``script_json``; hey ``results_kept`` when it stopped keeping results."""

    def as_dict(self) -> dict[str, Any]:
        """The same as JSON types."""
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
    """Figures collected line by line; what was read before a text breaks off stays."""

    def __init__(self, tool: str, format: str = "text") -> None:
        self.tool = tool
        self.format = format
        self.figures: dict[str, Any] = {}
        self.errors: dict[str, Any] = {}
        self.latency: dict[str, float | None] = {}

    def finish(self, report: Report, failure: str | None = None) -> Parsed:
        """What was read, and whether that is all."""
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
    """An output that holds no report."""
    return Parsed(tool=tool, format=format, report="absent", failure=failure, **figures)
