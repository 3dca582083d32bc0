"""The figures in a tool's output, nothing derived from other sources; and the sum of several tools' outputs.

Times are in seconds, sizes in bytes, rates in 1/s; None means that the output does not contain the figure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, TypeVar

Report = Literal["complete", "partial", "absent"]
Number = TypeVar("Number", int, float)


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


def merged(parts: Sequence[Parsed], whole: Parsed | None = None) -> Parsed:
    """Merge the outputs of several load generators that loaded one service at the same time.

    Counts and rates are sums. Percentiles cannot be merged: they are None unless `whole`, the tool's own report of all
    results, has them.
    """
    bad = next(((number, part) for number, part in enumerate(parts, 1) if part.report != "complete"), None)
    ok = _sum([part.ok for part in parts])
    ranges = [part.ok_range or (None if part.ok is None else (part.ok, part.ok)) for part in parts]
    known = [one for one in ranges if one is not None]
    is_range = ok is None and len(known) == len(parts)
    return replace(
        parts[0],
        report=bad[1].report if bad else "complete",
        failure=f"client {bad[0]}: {bad[1].failure}" if bad else None,
        requests=_sum([part.requests for part in parts]),
        attempts=_sum([part.attempts for part in parts]),
        duration_s=_of_all(max, [part.duration_s for part in parts]),
        rps=_sum([part.rps for part in parts]),
        ok=ok,
        ok_range=(sum(least for least, _ in known), sum(most for _, most in known)) if is_range else None,
        errors=_errors([part.errors for part in parts]),
        latency_s=_latency(parts) if whole is None else whole.latency_s,
        bytes_read=_sum([part.bytes_read for part in parts]),
        bytes_exact=all(part.bytes_exact for part in parts),
        extra=None,
    )


def _latency(parts: Sequence[Parsed]) -> Latency:
    """What can be merged: the minimum, the maximum, and the mean weighted by the number of requests."""
    sums = [
        None if part.latency_s.mean is None or part.requests is None else part.latency_s.mean * part.requests
        for part in parts
    ]
    total, requests = _sum(sums), _sum([part.requests for part in parts])
    return Latency(
        min=_of_all(min, [part.latency_s.min for part in parts]),
        max=_of_all(max, [part.latency_s.max for part in parts]),
        mean=total / requests if total is not None and requests else None,
    )


def _errors(parts: Sequence[Errors]) -> Errors:
    kinds = ("connect", "read", "write", "timeout", "non2xx")
    others = [part.other for part in parts]
    numbers = [other for other in others if isinstance(other, int)]
    return Errors(
        **{kind: _sum([getattr(part, kind) for part in parts]) for kind in kinds},
        other=sum(numbers) if len(numbers) == len(others) else _by_name(others),
        status=_by_name([part.status for part in parts]),
    )


def _by_name(parts: Sequence[Any]) -> dict[str, int] | None:
    if not all(isinstance(part, dict) for part in parts):
        return None
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return dict(sorted(total.items()))


def _sum(values: Sequence[Number | None]) -> Number | None:
    return _of_all(sum, values)


def _of_all(combine: Callable[[Iterable[Number]], Number], values: Sequence[Number | None]) -> Number | None:
    """The combined values; None if any of them is unknown."""
    known = [value for value in values if value is not None]
    return combine(known) if len(known) == len(values) else None
