"""What an event is: what is done to a service under load, and the load that counts what it costs.

An event has cases, each a cell of its own: with and without kept connections, with an app that boots slowly. The line
of a measurement (plan.jsonl) has all of its case, so that a run can be read by a version that has other ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from bench.matrix.knobs import Reads
from bench.matrix.model import Service
from driver.messages import Action

WORKERS = 4
"""Of a service under an event, unless the preset or --vary says otherwise."""
EASY, MOST_EASY = 0.3, 100.0
"""The share of its capacity that a service holds easily, and the most requests/s that are sent then."""
POOL = 16
MOST_BESIDE = 16
"""Services under the same event at once."""
BEFORE_S, SETTLE_S = 3.0, 4.0
"""How long a service is watched before the event, and after what shows that it is over."""
LOOK_S = 0.02
"""Between looking at a kept connection and sending on it: on an idle loopback the race would not be seen."""
SLOW_STEP_S = 2.0
HELD, AROUND_S, OPENED_S = 32, 0.05, 12.0
"""Connections that show when a server closes them, how far from then others are used, and how long these are opened."""

SWAPPED, RESTORED, ENDED, RECOVERED = "swapped", "restored", "ended", "recovered"
ROLLED, SWEPT = "rolled", "swept"
"""What ends a window early: all workers are others; as many work again; the service has ended; in the last phase, all
requests of some seconds are answered as quickly as in the first; all that was to be done is done, by the driver or
by the client.
"""
SLOWER, SLOWER_S = 2.0, 0.05
"""As quickly as before: within so many times the p99 before, and so many seconds more."""


@dataclass(frozen=True, slots=True)
class Phase:
    """So many seconds at this share of the capacity."""

    share: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """Requests beside the load that need what is exhausted or away: each on a connection of its own, and counted apart.

    They come at `rate`, or as bursts of so many at once: one of `steps`
    every `step_s`, the first after BEFORE_S. `places`: how many of a burst can be served at once.
    """

    timeout_s: float
    scenario: str = ""
    path: str = ""
    rate: float = 0.0
    steps: tuple[int, ...] = ()
    step_s: float = 0.0
    places: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One case of an event. Times are in seconds from the first request that is due.

    `until` ends the window `settle_s` after it was seen, once all are answered again. `slow`: what other connections do
    (`silent`: they send nothing; `header`, `body`: a byte of a header or of a body each second; `read`: they read a KB
    of a response each second; `idle`: nothing after one response), `slow_steps` how many of them there are one after
    another. `slow_path` is what `body` and `read` ask for; without it, what all others do. `long_path` is asked for
    once, just before the first action.

    `parts`: the load is a closed loop in so many parts, of `most_requests` altogether where that takes less time, and
    `bodies` large requests come first. `repeats`: the action is done so often, each time that `until` was seen.
    `even_from`: the phase from which on workers are asked in turn, as far as kept connections allow it.
    """

    name: str
    case: str = ""
    phases: tuple[Phase, ...]
    actions: tuple[Action, ...] = ()
    until: str = ""
    settle_s: float = SETTLE_S
    timeout_s: float = 5.0
    pool: int = POOL
    """Connections that are kept; 0: a new one for each request."""
    most_rate: float | None = MOST_EASY
    slow: str = ""
    slow_steps: tuple[int, ...] = ()
    slow_step_s: float = SLOW_STEP_S
    slow_path: str = ""
    long_path: str = ""
    needs: Needs | None = None
    path: str = ""
    """What is asked for, where that is not the route of the event's kind."""
    watches: str = ""
    """What the driver counts meanwhile, besides processes: `connections` of the service to the database."""
    parts: int = 0
    most_requests: int = 0
    bodies: int = 0
    repeats: int = 0
    even_from: int | None = None
    idle_most_s: float = 0.0
    """How long idle connections are watched until the server closes them; 0: they are not."""
    proxy: str = ""
    """What stands before two containers of the service: `nginx` or `haproxy`; empty: the client asks it itself."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What the app and the server are given."""
    documented: str = ""
    """What the server's documentation says of it, and where."""
    most_rounds: int = 0
    """The first so many rounds of a run have it; 0: all of them."""
    most_beside: int = MOST_BESIDE
    """Services that may be under it at once; 1 where it takes all of the CPU, or what the others need too."""
    apart_s: float = 0.5
    """Of services side by side, how much later the load of each begins than that of the one before: longer than new
    workers take to boot, since what they boot beside would boot more slowly.
    """

    @property
    def level(self) -> str:
        """The name of the cell's level."""
        return "-".join(filter(None, (self.name, re.sub(r"[^a-z0-9]+", "-", self.case.lower()).strip("-"))))

    @property
    def seconds(self) -> float:
        """The longest that its load takes."""
        return sum(phase.seconds for phase in self.phases)

    @property
    def alone(self) -> bool:
        """Whether no other service may be under it at the same time."""
        return self.most_beside == 1

    def beside(self, room: float) -> int:
        """How many services may be under it at once, where there is CPU for so many requests/s altogether."""
        if self.most_rate is None:
            return 1
        sent = self.most_rate + (self.needs.rate if self.needs else 0.0)
        return max(1, min(self.most_beside, int(room / sent)))


def event_of(value: Any) -> Event:
    """The event of a line of plan.jsonl; ValueError where it is none."""
    try:
        if missing := [name for name in ("name", "phases") if name not in value]:
            raise ValueError(f"its event has no {missing[0]}")
        values = {name: value[name] for name in (one.name for one in fields(Event)) if name in value}
        values["phases"] = tuple(Phase(**one) for one in values["phases"])
        values["actions"] = tuple(Action(**one) for one in values.get("actions", ()))
        values["slow_steps"] = tuple(values.get("slow_steps", ()))
        if needs := values.get("needs"):
            values["needs"] = Needs(**needs | {"steps": tuple(needs.get("steps", ()))})
        return Event(**values)
    except (TypeError, KeyError, AttributeError) as problem:
        raise ValueError(f"its event is of another version: {problem}") from None


def as_dict(event: Event) -> dict[str, Any]:
    """The event as JSON types."""
    return asdict(event)


@dataclass(frozen=True, slots=True)
class Kind:
    """What has a name: its cases, what it is asked, and how it is done on a server.

    `on` gives a case as the server has it done, or says why it cannot be. `floor`: whether the null server, which
    has one process, shows what the client itself loses.
    """

    title: str
    scenario: str
    cases: tuple[Event, ...]
    on: Callable[[Event, Service, Reads], Event | str] = lambda event, service, reads: event
    floor: bool = True


def easy(name: str, case: str, most_s: float, **more: Any) -> Event:
    """Of a load that the service holds easily."""
    environment = {"TELL_PID": "1"} | more.pop("environment", {})
    return Event(name=name, case=case, phases=(Phase(EASY, most_s),), environment=environment, **more)
