"""The evidence on one measurement that the rules of validity judge, and the figures that both share."""

from __future__ import annotations

from dataclasses import dataclass

from bench.parse import Parsed
from bench.plan.measurement import Measurement
from bench.records.send_lag import Lag

MAX_ERRORS = 0.001
"""Share of attempts that may be something else than the expected answer."""
MIN_SENT = 0.99
"""Share of the asked rate that an open loop must really have sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that the gate looks at; None where unknown.

    `wall_s` is the tool's time by the loadgen's clock, `health` what was wrong after the window (None: nothing, or
    not asked), `oom_kills`, `restarts` and `throttled_s` the server's changes over the window, `stopped` whether its
    container was down after it, `lost` how many of its processes were gone, `lag` how late an open loop's requests
    left.
    """

    asked: Measurement
    outcome: str
    detail: str
    faults: tuple[str, ...]
    parsed: Parsed | None
    output: bytes
    exit_status: int | None
    wall_s: float | None
    sent_rate: float | None
    goodput: float | None
    health: str | None
    oom_kills: int | None
    restarts: int | None
    throttled_s: float | None
    stopped: bool
    lost: int | None = None
    lag: Lag | None = None


def attempts_of(tool: str, parsed: Parsed) -> int | None:
    """Requests begun: what the tool says, else those that it completed and those that broke off outside of them."""
    if parsed.attempts is not None or parsed.requests is None:
        return parsed.attempts
    # ab counts what it failed to receive as completed; wrk leaves all that broke off out of its requests.
    outside = ("connect",) if tool == "ab" else ("connect", "read", "write")
    return parsed.requests + sum(getattr(parsed.errors, kind) or 0 for kind in outside)


def attack_s(asked: Measurement, parsed: Parsed) -> float | None:
    """Seconds in which requests were begun: vegeta's attack spans one interval less than it was asked for."""
    attack = (parsed.extra or {}).get("attack_s")
    if isinstance(attack, int | float) and asked.rate:
        return attack + 1 / asked.rate
    return parsed.duration_s


def sent_rate_of(asked: Measurement, parsed: Parsed) -> float | None:
    """Requests begun per second, or None where the output does not tell."""
    attempts, duration = attempts_of(asked.tool, parsed), attack_s(asked, parsed)
    return attempts / duration if attempts is not None and duration else None
