"""The evidence on one measurement that the validity rules judge, and figures that records and rules share."""

from __future__ import annotations

from dataclasses import dataclass

from bench.plan.measurement import Measurement
from bench.records.turns import Turns
from bench.tools import TOOLS
from bench.tools.parsed import Parsed
from bench.tools.send_lag import Lag

MAX_ERRORS = 0.001
"""The largest share of attempts without the expected answer."""
MIN_SENT = 0.99
"""The smallest share of the target rate that an open loop must have sent."""
MAX_BUSY = 0.85
"""The largest share of its CPUs that the load generator may use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Everything that the rules look at; None where unknown. Rates are in 1/s.

    - `planned`: the measurement, with the rate and duration that a search for a knee found.
    - `changes`: what became of its raw files since the measurement left them.
    - `wall_s`: how long the tool ran, by a clock that nobody sets; `clock_step_s`: by how much the time of day was set
      meanwhile (negative: back).
    - `health`: what was wrong with the answer after the window; None where nothing was, or it was not checked.
    - `oom_kills`, `restarts`, `throttled_s`: the server's, over the window.
    - `stopped`: whether its container was down after the window; `lost`: how many of its processes were gone.
    - `lag`: how late an open loop's requests were sent.
    - `tool_cpu_s`: CPU time of the load generator over the window.
    - `turns`: what happened in the service's own turns, where it was loaded in turns.
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
    """Requests started: as the tool reports them, else those completed plus those that failed and are not in them."""
    if parsed.attempts is not None or parsed.requests is None:
        return parsed.attempts
    return parsed.requests + sum(getattr(parsed.errors, kind) or 0 for kind in TOOLS[tool].uncounted)


def attack_s(planned: Measurement, parsed: Parsed) -> float | None:
    """Seconds over which requests were started: vegeta's attack is one interval shorter than requested."""
    attack = (parsed.extra or {}).get("attack_s")
    if isinstance(attack, int | float) and planned.rate:
        return attack + 1 / planned.rate
    return parsed.duration_s


def sent_rate_of(planned: Measurement, parsed: Parsed) -> float | None:
    """Requests started per second; None where the output does not say."""
    attempts, duration = attempts_of(planned.tool, parsed), attack_s(planned, parsed)
    return attempts / duration if attempts is not None and duration else None
