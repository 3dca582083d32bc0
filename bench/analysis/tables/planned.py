"""The planned tables in turns of a run: what their responses wait for, and how far taking turns may bias ratios."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from bench.core.files import items, mapping
from bench.plan.interim_looks import LOOKS, RATED_FROM
from bench.tools import OPEN_LOOP, TOOLS

_DELAY = re.compile(r"delay-(\d+)\Z")
_UPSTREAM = re.compile(r"simple-request-(\d+)\Z")
_DATABASE = re.compile(r"(db|queries-\d+|updates-\d+|fortunes|create-data)-")


class WaitsFor(Enum):
    """What every response of a scenario waits for."""

    TIMER = "timer"
    UPSTREAM = "upstream"
    DATABASE = "database"


@dataclass(frozen=True, slots=True)
class Wait:
    """`ms`: how long a timer or an upstream takes at least, from the scenario's name; "0" if it does not say."""

    on: WaitsFor
    ms: str = "0"


def wait_of(scenario: str) -> Wait | None:
    """The wait of a scenario; None if it waits for nothing."""
    if found := _DELAY.match(scenario):
        return Wait(WaitsFor.TIMER, found[1]) if int(found[1]) else None
    if found := _UPSTREAM.match(scenario):
        return Wait(WaitsFor.UPSTREAM, found[1])
    return Wait(WaitsFor.DATABASE) if _DATABASE.match(scenario) else None


@dataclass(frozen=True, slots=True)
class TurnBias:
    """Ratios of unlike servers may be off by this share, as measured on machines with this CPU.

    `here`: whether the run's machine has this CPU.
    """

    share: float
    cpu: str
    here: bool = False


_MEASURED: Mapping[str, Mapping[WaitsFor | None, float]] = {
    "Intel(R) Xeon(R) Processor": {None: 0.13, WaitsFor.DATABASE: 0.16},
    "AMD EPYC": {None: 0.19, WaitsFor.TIMER: 0.20, WaitsFor.UPSTREAM: 0.20, WaitsFor.DATABASE: 0.16},
}
"""By the name of the CPU. Xeon: ends of the intervals of turns' first 100 ms against the rest of the turns, which say
nothing about routes that wait for a timer or the upstream. EPYC: 95 % of contrasts between turns of 100 ms and services
alone are within it, noise included (docs/lab-notes.md)."""


def turn_bias(scenario: str, cpu: str | None) -> TurnBias:
    """How far taking turns may bias a ratio of unlike servers; more rounds do not reduce it.

    On a machine with a known CPU: as measured there for such a route, else the largest of any machine.
    """
    wait = wait_of(scenario)
    what = wait.on if wait else None
    found = [TurnBias(shares[what], name, here=name == cpu) for name, shares in _MEASURED.items() if what in shares]
    return max(found, key=lambda one: (one.here, one.share))


@dataclass(frozen=True, slots=True)
class PlannedTable:
    """A table of the plan, with services in the plan's order; `rounds`: the most for which it is measured."""

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
    """How taking turns biases ratios of unlike services."""
    shares: tuple[str, ...] = ()
    """The levels of its common rates: after the turns, services are loaded one at a time at each of them."""

    def systematic(self, a: str, b: str) -> float:
        """How far the logarithm of a ratio of two services may be off; 0 for services with the same stack."""
        unlike = a in self.stacks and b in self.stacks and self.stacks[a] != self.stacks[b]
        return math.log1p(self.bias.share) if self.bias and unlike else 0.0

    @property
    def stated_bias(self) -> TurnBias | None:
        """The bias that the table's intervals include; None if all services have the same stack."""
        return self.bias if len(set(self.stacks.values())) > 1 else None

    @property
    def at_rates(self) -> Iterator[PlannedTable]:
        """A table for each common rate, ranked by CPU per request, if there are enough rounds for verdicts."""
        # From the second round to the first look. Services do not take turns in these loads, so there is no bias.
        rounds = self.looks[0] - RATED_FROM + 1
        if rounds >= LOOKS[0]:
            for level in self.shares:
                yield replace(
                    self, tool=OPEN_LOOP, level=level, waits=False, rounds=rounds, looks=(rounds,), bias=None, shares=()
                )

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
        looks = {look for look in items(entry.get("looks")) if type(look) is int and look > 0}
        if (
            all(isinstance(word, str) for word in words)
            and names
            and words[1] in TOOLS
            and type(rounds) is int
            and rounds > 0
            and looks
        ):
            scenario, tool, level, *services = map(str, words)
            table = PlannedTable(
                scenario,
                tool,
                level,
                waits=entry.get("waits") is True,
                services=tuple(dict.fromkeys(services)),
                rounds=rounds,
                looks=tuple(sorted(looks)),
                bias=turn_bias(scenario, cpu if isinstance(cpu, str) else None),
                shares=tuple(map(str, items(entry.get("shares")))),
            )
            found += [table, *table.at_rates]
    return tuple(found)
