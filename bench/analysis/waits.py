"""What every answer of a scenario has to wait for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

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
