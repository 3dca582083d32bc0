"""Detects that the system clock was set during a measurement: by `date --set`, the first NTP response, or a wake-up.

wrk and ab measure time with the system clock. The harness also uses the monotonic clock, so it sees the difference.
"""

from __future__ import annotations

LEAST_S, DRIFT = 0.1, 0.001
"""Smaller differences can come from the clocks' resolution (10 ms) or NTP's gradual correction (500 ppm, see
ntp_adjtime(2))."""


def is_clock_step(step_s: float, elapsed_s: float) -> bool:
    """Whether a difference between the two clocks, over `elapsed_s` seconds, is a step."""
    return abs(step_s) > LEAST_S + DRIFT * elapsed_s
