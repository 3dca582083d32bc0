"""How far taking turns may move a ratio of unlike servers from that of the servers alone: a systematic error, which no
number of rounds makes smaller.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from bench.analysis.waits import WaitsFor, wait_of


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


_MEASURED: Mapping[str, Mapping[Kind, float]] = {
    "Intel(R) Xeon(R) Processor": {Kind.CPU: 0.13, Kind.WAIT: 0.13, Kind.DATABASE: 0.16},
    "AMD EPYC": {Kind.CPU: 0.19, Kind.WAIT: 0.20, Kind.DATABASE: 0.16},
}
"""By the name of the CPU. Xeon: the ends of the intervals of turns' first 100 ms against the rest of them. EPYC: 95 %
of contrasts are within, in turns of 100 ms against alone (results/published/bias-*), and their noise with them."""


def kind_of(scenario: str) -> Kind:
    """The kind of a scenario."""
    wait = wait_of(scenario)
    if wait is None:
        return Kind.CPU
    return Kind.DATABASE if wait.on is WaitsFor.DATABASE else Kind.WAIT


def turn_bias(scenario: str, cpu: str | None) -> TurnBias:
    """The bias on a machine with this CPU: as measured there, else the largest one of any machine."""
    kind = kind_of(scenario)
    if cpu is not None and cpu in _MEASURED:
        return TurnBias(_MEASURED[cpu][kind], cpu, here=True)
    return max((TurnBias(shares[kind], name) for name, shares in _MEASURED.items()), key=lambda one: one.share)
