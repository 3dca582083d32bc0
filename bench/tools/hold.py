"""hold (bench.load.hold): keeps idle connections open and sends a few requests per second on others."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.core.formats import plain
from bench.tools.parsed import Errors, Parsed, absent
from bench.tools.tool import Asked, CannotError, Command, Load, Tool, whole

MODULE = "bench.load.hold"


class Hold(Tool):
    """It loads all services of a table at the same time, because none of them has much to do."""

    name = "hold"
    duration_digit_s = 0.0
    latency_digit_s = 0.0
    limits_rate = True
    holds = True

    def refusal(self, asked: Asked) -> str | None:
        """It needs both connections and a rate, and sends a single kind of request, without a body."""
        cause = super().refusal(asked)
        if cause or not asked.rate or asked.count:
            return cause or "hold keeps connections open beside a few requests/s: it takes both (c1000r10)"
        return None if asked.method in ("GET", "HEAD") and not asked.targets else "hold sends GET and HEAD only"

    def version(self) -> str:
        """The Python version: hold is part of this project."""
        return f"Python {sys.version.partition(' ')[0]}"

    def command(self, load: Load) -> Command:
        """The command that runs its module."""
        if load.rate is None or load.duration_s is None:
            raise CannotError("do without a rate and a duration")
        words = ["python3", "-S", "-m", MODULE, "--connections", whole("connections", load.connections)]
        words += ["--rate", plain(load.rate), "--duration", plain(load.duration_s), "--timeout", plain(load.timeout_s)]
        return Command((*words, "--method", load.request.method, load.url))

    def keeps_alive(self, argv: Sequence[str]) -> bool:
        """Always."""
        return True

    def cpus(self, threads: int, cpus: int) -> int:
        """Only one: Python runs one thread at a time."""
        return min(cpus, 1)

    def parse(self, data: bytes) -> Parsed:
        """Parse its output, two lines of JSON."""
        told = _report(data)
        if told is None:
            return absent("hold", "hold ended before its report, or this is not its output", format="json")
        good = sum(number for code, number in told.status.items() if code.startswith("2"))
        answers, failed = sum(told.status.values()), dict(told.errors)
        # Leave out counts if connections were not accepted: `other_load` gives that as the cause, not "no good answer".
        silent = not good and not told.accepted
        return Parsed(
            tool="hold",
            format="json",
            report="complete",
            requests=None if silent else answers,
            attempts=None if silent else told.requests,
            duration_s=told.duration_s,
            ok=good,
            errors=Errors(
                timeout=failed.pop("timeout", 0) + told.requests - answers - sum(told.errors.values()),
                other=sum(failed.values()),
                non2xx=answers - good,
                status=dict(told.status),
            ),
            extra={"opened": told.opened, "held": told.opened - told.closed, "closed": told.closed},
        )

    def other_load(self, output: bytes, connections: int | None, duration_s: float | None) -> Iterator[str]:
        """Connections that could not be opened, were closed by the server, or were not answered."""
        told = _report(output)
        if connections is None or told is None:
            return
        if told.opened < connections:
            yield f"only {told.opened:,} of {connections:,} connections could be opened: {told.why}"
        if told.closed_s:
            first, last = (round(second, 1) for second in told.closed_s)
            when = f"{last} s" if first == last else f"{first} to {last} s"
            yield f"it closed {told.closed:,} of {connections:,} connections after {when}"
        if not told.accepted:
            yield f"with {told.opened:,} connections open, it did not answer on another one within 3 s"


@dataclass(frozen=True, slots=True)
class _Report:
    """hold's output: what it prints once connections are open, and at the end. Times are in seconds."""

    opened: int
    why: str | None
    accepted: bool
    duration_s: float
    closed: int
    closed_s: tuple[float, float] | None
    requests: int
    status: Mapping[str, int]
    errors: Mapping[str, int]


def _report(data: bytes) -> _Report | None:
    """Parse hold's two lines; None if they are malformed."""
    try:
        opened, ended = map(json.loads, data.splitlines())
        told: dict[str, Any] = {**opened, **ended}
        found = _Report(
            int(told["opened"]),
            None if told["why"] is None else str(told["why"]),
            bool(told["accepted"]),
            float(told["duration_s"]),
            int(told["closed"]),
            (float(told["closed_s"][0]), float(told["closed_s"][1])) if told["closed_s"] else None,
            int(told["requests"]),
            {str(code): int(number) for code, number in told["status"].items()},
            {str(kind): int(number) for kind, number in told["errors"].items()},
        )
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError):
        return None
    counts = (found.opened, found.closed, found.requests, *found.status.values(), *found.errors.values())
    return found if math.isfinite(found.duration_s) and all(0 <= count < 1 << 62 for count in counts) else None
