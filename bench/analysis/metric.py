"""What verdicts and figures are based on."""

from __future__ import annotations

from enum import StrEnum


class Metric(StrEnum):
    """A speed: successes per CPU second, or per second."""

    CPU = "CPU per request"
    GOODPUT = "goodput"
