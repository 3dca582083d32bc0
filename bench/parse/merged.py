"""The outputs of several load generators that loaded one service at once, as one.

Counts and rates are sums. Percentiles cannot be made of percentiles: they are None, but for those that the tool itself
has made of all results (vegeta).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from .parsed import Errors, Latency, Parsed

_KINDS = ("connect", "read", "write", "timeout", "non2xx")


def merged(parts: Sequence[Parsed], whole: Parsed | None = None) -> Parsed:
    """The sum of the parts; `whole` is the tool's own report of all results, for latencies."""
    first = parts[0]
    bad = next(((number, part) for number, part in enumerate(parts, 1) if part.report != "complete"), None)
    ranges = [part.ok_range or (None if part.ok is None else (part.ok, part.ok)) for part in parts]
    known = [one for one in ranges if one is not None]
    ok = _sum(part.ok for part in parts)
    return replace(
        first,
        report=bad[1].report if bad else first.report,
        failure=f"client {bad[0]}: {bad[1].failure}" if bad else None,
        requests=_sum(part.requests for part in parts),
        attempts=_sum(part.attempts for part in parts),
        duration_s=_of(max, (part.duration_s for part in parts)),
        rps=_real_sum(part.rps for part in parts),
        ok=ok,
        ok_range=_range(known) if ok is None and len(known) == len(parts) else None,
        errors=_errors([part.errors for part in parts]),
        latency_s=whole.latency_s if whole is not None else _latency(parts),
        bytes_read=_sum(part.bytes_read for part in parts),
        bytes_exact=all(part.bytes_exact for part in parts),
        extra=None,
    )


def _latency(parts: Sequence[Parsed]) -> Latency:
    """What can be told of all answers: the shortest, the longest, and the mean by the number of answers."""
    every = [part.latency_s for part in parts]
    counted = [(part.latency_s.mean, part.requests) for part in parts]
    total = sum(requests or 0 for _, requests in counted)
    means = [mean * requests for mean, requests in counted if mean is not None and requests is not None]
    return Latency(
        min=_of(min, (one.min for one in every)),
        max=_of(max, (one.max for one in every)),
        mean=sum(means) / total if total and len(means) == len(parts) else None,
    )


def _errors(parts: Sequence[Errors]) -> Errors:
    sums = {kind: _sum(getattr(part, kind) for part in parts) for kind in _KINDS}
    return Errors(
        **sums, other=_count([part.other for part in parts]), status=_by_name([part.status for part in parts])
    )


def _count(parts: Sequence[int | dict[str, int] | None]) -> int | dict[str, int] | None:
    numbers = [part for part in parts if isinstance(part, int)]
    return sum(numbers) if len(numbers) == len(parts) else _by_name(parts)


def _by_name(parts: Sequence[Any]) -> dict[str, int] | None:
    if not all(isinstance(part, dict) for part in parts):
        return None
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return dict(sorted(total.items()))


def _range(parts: Sequence[tuple[int, int]]) -> tuple[int, int]:
    return sum(least for least, _ in parts), sum(most for _, most in parts)


def _sum(values: Iterable[int | None]) -> int | None:
    every = [*values]
    known = [value for value in every if value is not None]
    return sum(known) if len(known) == len(every) else None


def _real_sum(values: Iterable[float | None]) -> float | None:
    every = [*values]
    known = [value for value in every if value is not None]
    return sum(known) if len(known) == len(every) else None


def _of(choose: Callable[[Iterable[float]], float], values: Iterable[float | None]) -> float | None:
    every = [*values]
    known = [value for value in every if value is not None]
    return choose(known) if len(known) == len(every) else None
