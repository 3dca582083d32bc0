"""The tables in turns that a run was planned to measure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.analysis.tables.turn_bias import TurnBias, turn_bias
from bench.core.files import items, mapping
from bench.plan.interim_looks import looks_before


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
