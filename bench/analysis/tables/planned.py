"""The planned tables in turns of a run, and what their responses wait for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from bench.core.files import items, mapping
from bench.plan.interim_looks import LOOKS, RATED
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
    shares: tuple[str, ...] = ()
    """The levels of its common rates: after the turns, services are loaded one at a time at each of them."""

    @property
    def at_rates(self) -> Iterator[PlannedTable]:
        """A table for each common rate, ranked by CPU per request, if there are enough rounds for verdicts."""
        # From the second round to the first look.
        rounds = self.looks[0] - RATED.start + 1
        if rounds >= LOOKS[0]:
            for level in self.shares:
                yield replace(self, tool=OPEN_LOOP, level=level, waits=False, rounds=rounds, looks=(rounds,), shares=())

    @property
    def key(self) -> tuple[str, str, str]:
        """Scenario, tool, level."""
        return self.scenario, self.tool, self.level


def tables_of(facts: Mapping[str, Any]) -> tuple[PlannedTable, ...]:
    """The tables that run.json lists; malformed entries are left out."""
    found = []
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
                shares=tuple(map(str, items(entry.get("shares")))),
            )
            found += [table, *table.at_rates]
    return tuple(found)
