"""The evidence on one measurement, which the validity rules judge, and limits that they share with searches."""

from __future__ import annotations

from dataclasses import dataclass

from bench.plan.measurement import Measurement
from bench.records.turns import Turns
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
    - `opened`: connections that the load generator opened; on the host's network, those of other programs count too.
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
    opened: int | None = None
