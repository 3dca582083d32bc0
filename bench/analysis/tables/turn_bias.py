"""How far taking turns may move a ratio of unlike servers from that of the servers alone: a systematic error, which no
number of rounds makes smaller.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from bench.analysis.words.scenarios import wait_words


class Kind(StrEnum):
    """What an answer is made of."""

    CPU = "cpu"
    WAIT = "wait"
    DATABASE = "database"


@dataclass(frozen=True, slots=True)
class TurnBias:
    """Ratios of unlike servers may be off by this share; it was measured on machines with this CPU."""

    share: float
    cpu: str
    here: bool = False

    @property
    def words(self) -> str:
        """What a report says of it."""
        where = "a machine with this CPU" if self.here else f"another machine, {self.cpu}"
        share = f"{100 * self.share:.0f} % (measured on {where})"
        return f"Taking turns can bias ratios of unlike servers by up to {share}; their intervals include it."


_MEASURED: Mapping[str, Mapping[Kind, float]] = {
    "Intel(R) Xeon(R) Processor": {Kind.CPU: 0.13, Kind.WAIT: 0.13, Kind.DATABASE: 0.16},
}
"""By the name of the CPU. The ends of the intervals of what was seen, not the means."""


def kind_of(scenario: str) -> Kind:
    """The kind of a scenario."""
    waits = wait_words(scenario)
    if waits == "the database":
        return Kind.DATABASE
    return Kind.WAIT if waits else Kind.CPU


def turn_bias(scenario: str, cpu: str | None) -> TurnBias:
    """The bias on a machine with this CPU: as measured there, else the largest one of any machine."""
    kind = kind_of(scenario)
    if cpu is not None and cpu in _MEASURED:
        return TurnBias(_MEASURED[cpu][kind], cpu, here=True)
    return max((TurnBias(shares[kind], name) for name, shares in _MEASURED.items()), key=lambda one: one.share)
