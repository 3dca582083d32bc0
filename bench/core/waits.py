"""What every response of a scenario waits for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated

from msgspec import Meta


class WaitsFor(Enum):
    """The kinds of waits."""

    TIMER = "timer"
    UPSTREAM = "upstream"
    DATABASE = "database"


@dataclass(frozen=True, slots=True)
class Wait:
    """`ms`: how long a timer or an upstream takes at least; 0 if the scenario does not say."""

    on: WaitsFor
    ms: Annotated[int, Meta(ge=0, lt=10**6)] = 0
