"""The evidence on one measurement, which the validity rules judge, and figures shared by records and rules."""

from __future__ import annotations

from dataclasses import dataclass

from bench.plan.measurement import Measurement
from bench.records.turns import Turns
from bench.tools import TOOLS
from bench.tools.parsed import Parsed
from bench.tools.send_lag import Lag

MAX_ERRORS = 0.001
"""The largest accepted share of attempts without the expected response."""
MIN_SENT = 0.99
"""The share of the target rate that an open loop must at least have sent."""
MAX_BUSY = 0.85
"""The largest share of its CPUs that the load generator may use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Everything that the rules look at; None if unknown. Rates are in 1/s.

    - `planned`: the measurement, with the rate and duration that a search for a knee found.
    - `changes`: changes to its raw files since the measurement.
    - `wall_s`: how long the tool ran, unaffected by a change of the system clock.
    - `clock_step_s`: by how much the system clock was set meanwhile (negative: back).
    - `health`: the fault of the health check after the window; None if there was none, or no check.
    - `oom_kills`, `restarts`, `throttled_s`: those of the server during the window.
    - `stopped`: whether its container was down after the window; `lost`: how many of its processes had ended.
    - `lag`: how late an open loop's requests were sent.
    - `tool_cpu_s`: CPU time of the load generator over the window.
    - `turns`: sums over the service's turns, if it was loaded in turns.
    """

    planned: Measurement
    outcome: str
    detail: str
    faults: tuple[str, ...]
    changes: tuple[str, ...]
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
    turns: Turns | None = None
    tool_cpu_s: float | None = None
    clock_step_s: float | None = None


def attempts_of(tool: str, parsed: Parsed) -> int | None:
    """Requests started: as reported by the tool, else completed requests plus failed ones that these do not include."""
    if parsed.attempts is not None or parsed.requests is None:
        return parsed.attempts
    return parsed.requests + sum(getattr(parsed.errors, kind) or 0 for kind in TOOLS[tool].uncounted)


def attack_s(planned: Measurement, parsed: Parsed) -> float | None:
    """Seconds over which requests were started: vegeta's `attack_s` is one interval shorter than that."""
    attack = (parsed.extra or {}).get("attack_s")
    if isinstance(attack, int | float) and planned.rate:
        return attack + 1 / planned.rate
    return parsed.duration_s


def sent_rate_of(planned: Measurement, parsed: Parsed) -> float | None:
    """Requests started per second; None if the output lacks the figures."""
    attempts, duration = attempts_of(planned.tool, parsed), attack_s(planned, parsed)
    return attempts / duration if attempts is not None and duration else None
