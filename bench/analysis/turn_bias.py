"""How far taking turns may move a ratio of unlike servers from that of the servers alone: a systematic error, which no
number of rounds makes smaller.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from bench.analysis.scenario_words import wait_words


class Kind(StrEnum):
    """What an answer is made of."""

    CPU = "cpu"
    WAIT = "wait"
    DATABASE = "database"


@dataclass(frozen=True, slots=True)
class TurnBias:
    """A ratio may be off by this share; measured on a machine with this CPU."""

    share: float
    cpu: str


_MEASURED = {
    Kind.CPU: TurnBias(0.13, "Intel(R) Xeon(R) Processor"),
    Kind.WAIT: TurnBias(0.13, "Intel(R) Xeon(R) Processor"),
    Kind.DATABASE: TurnBias(0.16, "Intel(R) Xeon(R) Processor"),
}


def kind_of(scenario: str) -> Kind:
    """The kind of a scenario."""
    waits = wait_words(scenario)
    if waits == "the database":
        return Kind.DATABASE
    return Kind.WAIT if waits else Kind.CPU


def turn_bias(kind: Kind) -> TurnBias:
    """The bias of unlike servers."""
    return _MEASURED[kind]


def bias_words(scenario: str, cpu: str | None) -> str:
    """What a report says of it, on a machine with this CPU."""
    bias = turn_bias(kind_of(scenario))
    where = "a machine with this CPU" if cpu == bias.cpu else f"another machine, {bias.cpu}"
    share = f"{100 * bias.share:.0f} % (measured on {where})"
    return f"Taking turns can bias ratios of unlike servers by up to {share}; their intervals include it."
