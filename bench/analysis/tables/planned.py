"""The planned tables in turns of a run: what their answers wait for, and how far taking turns may bias their ratios."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any

from bench.core.files import items, mapping
from bench.plan.interim_looks import looks_before

_DELAY = re.compile(r"delay-(\d+)\Z")
_UPSTREAM = re.compile(r"simple-request-(\d+)\Z")
_DATABASE = re.compile(r"(db|queries-\d+|updates-\d+|fortunes|create-data)-")


class WaitsFor(Enum):
    """What it is."""

    TIMER = "timer"
    UPSTREAM = "upstream"
    DATABASE = "database"


@dataclass(frozen=True, slots=True)
class Wait:
    """`ms` is how long a timer or an upstream takes at least, as the scenario's name has it; "0" where it does not."""

    on: WaitsFor
    ms: str = "0"


def wait_of(scenario: str) -> Wait | None:
    """The wait of a scenario; None if there is nothing to wait for."""
    if found := _DELAY.match(scenario):
        return Wait(WaitsFor.TIMER, found[1]) if int(found[1]) else None
    if found := _UPSTREAM.match(scenario):
        return Wait(WaitsFor.UPSTREAM, found[1])
    return Wait(WaitsFor.DATABASE) if _DATABASE.match(scenario) else None


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


@dataclass(frozen=True, slots=True)
class PlannedTable:
    """A table of the plan, with its services in the plan's order; `rounds` is the most that it is measured."""

    scenario: str
    tool: str
    level: str
    waits: bool
    services: tuple[str, ...]
    rounds: int
    looks: tuple[int, ...]
    """The numbers of rounds after which it may be settled."""
    stacks: Mapping[str, str] = field(default_factory=dict)
    """The server and framework of each service."""
    bias: TurnBias | None = None
    """What taking turns does to ratios of unlike services."""

    def systematic(self, a: str, b: str) -> float:
        """By how much the logarithm of a ratio of two services may be off; 0 of those that are of one stack."""
        unlike = a in self.stacks and b in self.stacks and self.stacks[a] != self.stacks[b]
        return math.log1p(self.bias.share) if self.bias and unlike else 0.0

    @property
    def stated_bias(self) -> TurnBias | None:
        """What intervals of the table include of it; None where all services are of one stack."""
        return self.bias if len(set(self.stacks.values())) > 1 else None

    @property
    def key(self) -> tuple[str, str, str]:
        """Scenario, tool, level."""
        return self.scenario, self.tool, self.level


def tables_of(facts: Mapping[str, Any]) -> tuple[PlannedTable, ...]:
    """The tables that run.json lists; malformed entries are left out."""
    found, cpu = [], mapping(facts.get("host")).get("cpu")
    for entry in map(mapping, items(facts.get("tables_in_turns"))):
        names, rounds = items(entry.get("services")), entry.get("rounds")
        words = [*(entry.get(key) for key in ("scenario", "tool", "level")), *names]
        if all(isinstance(word, str) for word in words) and names and type(rounds) is int and rounds > 0:
            scenario, tool, level, *services = map(str, words)
            waits = entry.get("waits") is True
            planned = tuple(look for look in items(entry.get("looks")) if type(look) is int and look > 0)
            looks = tuple(sorted(set(planned))) or looks_before(rounds)
            found.append(
                PlannedTable(
                    scenario,
                    tool,
                    level,
                    waits,
                    tuple(dict.fromkeys(services)),
                    rounds,
                    looks,
                    bias=turn_bias(scenario, cpu if isinstance(cpu, str) else None),
                )
            )
    return tuple(found)
