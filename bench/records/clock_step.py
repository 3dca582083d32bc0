"""Whether the time of day was set while something ran: by `date --set`, NTP's first answer, or a machine that wakes.

wrk and ab take times by it. The harness takes durations by a clock that nobody sets, and so sees the difference.
"""

from __future__ import annotations

LEAST_S, DRIFT = 0.1, 0.001
"""A smaller one is within the clocks' digits (10 ms), or what NTP corrects gradually (500 ppm, ntp_adjtime(2))."""


def is_clock_step(step_s: float, elapsed_s: float) -> bool:
    """Whether a difference of the two clocks over `elapsed_s` seconds is a step."""
    return abs(step_s) > LEAST_S + DRIFT * elapsed_s
