"""What verdicts and figures are based on."""

from __future__ import annotations

from enum import StrEnum


class Metric(StrEnum):
    """A speed: successes per second that other programs did not take, per CPU second, or per second.

    CPU per request judges tables of runs made before the speed was saved, goodput those whose CPU time is not known.
    """

    SPEED = "requests/s"
    CPU = "CPU per request"
    GOODPUT = "goodput"
