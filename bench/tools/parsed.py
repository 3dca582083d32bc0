"""The figures in a tool's output, nothing derived from other sources.

Times are in seconds, sizes in bytes, rates in 1/s; None means that the output does not contain the figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Literal

Report = Literal["complete", "partial", "absent"]


class Timed(StrEnum):
    """What latencies are of."""

    RESPONSE = "response"
    FIRST_EVENT = "first event"
    """Of a stream."""
    EVENT = "event"
    """Any other one of a stream: how much later than the first it came than it should."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many of something took how many ns; `due`: the same, from when it was due, `counts` from when it was sent.

    `client_late`: how late the client was at times between which it had the same number of points to check that.
    """

    counts: Mapping[int, int]
    due: Mapping[int, int]
    client_late: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Errors:
    """Counts by kind. `non2xx` counts responses; the kinds before it count requests without a response."""

    connect: int | None = None
    read: int | None = None
    write: int | None = None
    timeout: int | None = None
    other: int | dict[str, int] | None = None
    """All other errors; for ab, its `length` and `exceptions`."""
    non2xx: int | None = None
    status: dict[str, int] | None = None
    """Count by status code; vegeta's `0` is a request without a response."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """The parsed output of one tool run."""

    tool: str
    tool_version: str | None = None
    format: str = "text"
    """`text`, `json`, or vegeta's `gob`; other formats are recognised but not read (`absent`)."""
    report: Report
    """`complete`; `partial`: truncated or not in the tool's format; `absent`: there is no report."""
    requests: int | None = None
    """Requests that the tool counts as completed; for hey and vegeta, those with a response of any status."""
    attempts: int | None = None
    """`requests` plus those without a response, if the output has their number."""
    duration_s: float | None = None
    rps: float | None = None
    """Requests per second, as printed; see `Tool.counted_in_rate` for which requests count."""
    ok: int | None = None
    ok_range: tuple[int, int] | None = None
    """(least, most) good responses, if `ok` is ambiguous in ab's output."""
    errors: Errors = field(default_factory=Errors)
    latency_s: Latency = field(default_factory=Latency)
    bytes_read: int | None = None
    bytes_exact: bool | None = None
    """False if the tool rounded `bytes_read`."""
    extra: dict[str, Any] | None = None
    """Figures specific to a tool: ab `failed`, `keepalive_requests`; vegeta `rate`, `attack_s`, `wait_s`;
    wrk `script_json`; hey `results_kept` if it stopped keeping results."""
    failure: str | None = None
    """Why the report is not complete; None if it is."""

    def as_dict(self) -> dict[str, Any]:
        """The fields as JSON types."""
        return asdict(self) | {"ok_range": None if self.ok_range is None else list(self.ok_range)}


def absent(tool: str, failure: str, format: str = "text", **figures: Any) -> Parsed:
    """The result for output without a report."""
    return Parsed(tool=tool, format=format, report="absent", failure=failure, **figures)
