"""The definition of an event: what is done to a service under load, and the load that shows what it costs.

An event has cases, such as with and without kept connections, or with an app that boots slowly. Each case is a cell.
A line of plan.jsonl has its case in full, so that versions with other cases can still read the run.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.core.typed import TextValue, read_text, typed
from driver.messages import Action

if TYPE_CHECKING:
    from bench.matrix.knobs import Reads
    from bench.matrix.model import Service

BAD_DAY = "bad-day"
"""The preset for a selection that names only events: it has the usual cases of each."""
WORKERS = 4
"""Workers of a service under an event, unless the preset or --vary says otherwise."""
EASY, MOST_EASY = 0.3, 100.0
"""An easy load: at most this share of a service's capacity, and this many requests/s."""
ONE_AT_A_TIME, OF_POOL = 5.0, 60.0
"""What is easy if each response waits 50 ms: requests/s for a worker that serves one at a time (30 % of 19), and for
four workers with a few threads each. All services under an event get the lowest rate of any."""
POOL = 16
"""Kept connections of a load, unless the event says otherwise."""
MOST_BESIDE = 8
"""The most services under the same event at once. With 12 to 16 of them, one CPU sent most loads too late."""
BEFORE_S, SETTLE_S = 3.0, 4.0
"""Seconds of load before the event, and after the sign that it is over."""
LOOK_S = 0.02
"""Seconds between checking a kept connection and sending on it: without the pause, an idle loopback hides the race."""
SLOW_STEP_S = 2.0

SWAPPED, RESTORED, ENDED, RECOVERED = "swapped", "restored", "ended", "recovered"
ROLLED, SWEPT = "rolled", "swept"
"""What ends a window early:

- swapped: all workers are new ones
- restored: as many workers as before are working again
- ended: the service has ended
- recovered: in the last phase, responses have been as fast as in the first phase for some seconds
- rolled: the driver has done all actions
- swept: the client has done all its work
"""
SLOWER, SLOWER_S = 2.0, 0.05
"""Responses are as fast as before up to SLOWER times the p99 before, plus SLOWER_S seconds."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of the load: `seconds` at this share of the service's capacity."""

    share: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """Requests beside the load that need what is exhausted or down. Each has its own connection; they count separately.

    They come at `rate`, or as bursts: `steps` are the sizes, `step_s` the seconds between bursts, and the first comes
    after BEFORE_S. `places`: how many requests of a burst can be served at once.
    """

    timeout_s: float
    scenario: str = ""
    path: str = ""
    rate: float = 0.0
    steps: tuple[int, ...] = ()
    step_s: float = 0.0
    places: int | None = None


class EventCase(TextValue):
    """The variant of an event, such as `new connections, boot 5 s`; empty if the event has only one."""

    text: str = ""

    @staticmethod
    def read(value: Any) -> EventCase:
        """The case in a file, which may be of another version."""
        return EventCase(read_text(value))


NO_CASE = EventCase()


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One case of an event. Times are in seconds, from the time when the first request is due.

    - `until`: the window ends `settle_s` after this was seen, once all requests are answered again.
    - `slow`: what the slow connections do. `silent`: send nothing; `header`, `body`: send one byte of a header or body
      per second; `read`: read 1 KB of a response per second; `idle`: nothing after one response;
      `websocket`: open one; `stream`: read one of server-sent events.
    - `slow_steps`: the numbers of slow connections, one after another, each for `slow_step_s`.
    - `slow_path`: what they request; empty: what the load requests. `slow_route`: the route of that.
    - `long_path`: requested once, just before the first action.
    - `parts`: the load is a closed loop in this many parts, and ends early after `most_requests`.
    - `bodies`: large requests sent before the load.
    - `repeats`: how often the action is done, each time after `until` was seen.
    - `even_from`: from this phase on, workers get requests in turn, as far as kept connections allow.
    """

    name: str
    case: EventCase = NO_CASE
    phases: tuple[Phase, ...]
    actions: tuple[Action, ...] = ()
    until: str = ""
    settle_s: float = SETTLE_S
    timeout_s: float = 5.0
    pool: int = POOL
    """Kept connections; 0: a new connection for each request."""
    new_every: int = 0
    """Every so many requests, one is sent on a new connection, which a new worker may accept; 0: none."""
    most_rate: float | None = MOST_EASY
    slow: str = ""
    slow_steps: tuple[int, ...] = ()
    slow_step_s: float = SLOW_STEP_S
    slow_path: str = ""
    slow_route: str = ""
    long_path: str = ""
    needs: Needs | None = None
    path: str = ""
    """The path of the load; empty: the path of the kind's scenario."""
    watches: str = ""
    """What the driver counts besides processes: `connections` of the service to the database."""
    parts: int = 0
    most_requests: int = 0
    bodies: int = 0
    repeats: int = 0
    even_from: int | None = None
    idle_most_s: float = 0.0
    """How long to wait for the server to close idle connections; 0: they are not watched."""
    proxy: str = ""
    """The proxy in front of two containers of the service: `nginx` or `haproxy`; empty: none."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment variables for the app and the server."""
    documented: str = ""
    """What the server's documentation says about the event, with its source."""
    usual_s: float | None = None
    """The expected seconds of its load, if the sign that it is over does not decide."""
    most_rounds: int = 0
    """How many of a run's first rounds have it; 0: all rounds."""
    most_beside: int = MOST_BESIDE
    """The most services under it at once; 1 if it takes all of the CPU, or something else that the services share."""
    apart_s: float = 0.5
    """Seconds between the starts of the loads of services side by side.

    Longer than new workers take to boot: workers that boot at the same time slow each other down.
    """

    @property
    def level(self) -> str:
        """The name of the cell's level."""
        return "-".join(filter(None, (self.name, re.sub(r"[^a-z0-9]+", "-", self.case.text.lower()).strip("-"))))

    @property
    def seconds(self) -> float:
        """The longest that its load takes."""
        return sum(phase.seconds for phase in self.phases)

    @property
    def alone(self) -> bool:
        """Whether it allows only one service at a time."""
        return self.most_beside == 1

    def beside(self, room: float) -> int:
        """How many services may be under it at once if the CPUs allow `room` requests/s in total."""
        if self.most_rate is None:
            return 1
        sent = self.most_rate + (self.needs.rate if self.needs else 0.0)
        return max(1, min(self.most_beside, int(room / sent)))


class Question(StrEnum):
    """What somebody who runs a service asks; several events answer it."""

    DEPLOY = "Deploy"
    CRASH = "Crash"
    OVERLOAD = "Overload"
    SLOW_CLIENTS = "Slow clients"
    IDLE = "Idle connections"
    DEPENDENCIES = "Dependencies"
    WORKERS = "Memory and workers"


class Losses(StrEnum):
    """What lost requests say about an event."""

    ASKED = "asked"
    """They are what is asked for."""
    INTENDED = "intended"
    """It is made to lose requests: its figures say more."""
    BESIDE = "beside"
    """Its figures are what is asked for; that nothing was lost needs no sentence."""
    NOT_COMPARED = "not compared"
    """A closed loop only sends what is answered, and services that reload all the time do so together."""


Adapts = Callable[["Event", "Service", "Reads"], "Event | str"]
"""Adapts a case to a service, or says why the service cannot have it."""


def _as_it_is(event: Event, service: Service, reads: Reads) -> Event:
    return event


@dataclass(frozen=True, slots=True)
class Kind:
    """A named event: its cases, the scenario of its load, and how it is done on a server.

    - `own_app`: why a user's own app cannot have it; empty if it can.
    - `floor`: whether the event on the null server (four workers) shows what is lost without any work of a server: by
      the client, a proxy or the machine.
    - `for_good`: it stops the service, or does nothing to it, so the service is not expected to come back.
    - `queues`: it leaves a queue of requests that nobody waits for any more: a service that does not answer may only
      need longer than the window.
    """

    title: str = ""
    scenario: str = ""
    cases: tuple[Event, ...] = ()
    on: Adapts = _as_it_is
    own_app: str = ""
    floor: bool = True
    question: Question | None = None
    losses: Losses = Losses.ASKED
    for_good: bool = False
    queues: bool = False


def kind_of(module: str, on: Adapts = _as_it_is) -> Kind:
    """The event whose event.toml is beside this module; `on`: see `Kind`."""
    facts = tomllib.loads(Path(module).with_name("event.toml").read_text(encoding="utf-8"))
    each = {"name": Path(module).parent.name.replace("_", "-")} | facts.pop("each", {})
    facts["cases"] = tuple(_case(each, case) for case in facts["cases"])
    facts |= {"question": Question(facts["question"]), "losses": Losses(facts.get("losses", Losses.ASKED))}
    return Kind(**facts, on=on)


def _case(each: Mapping[str, Any], case: Mapping[str, Any]) -> Event:
    """A case as event.toml has it; `easy_s`: seconds of an easy load, `of_capacity`: only the capacity limits its load.

    `each`: what all cases have, unless they say otherwise.
    """
    entry = {**each, **case}
    environment = each.get("environment", {}) | case.get("environment", {})
    if easy_s := entry.pop("easy_s", None):
        entry["phases"] = [{"share": EASY, "seconds": easy_s}]
        environment = {"TELL_PID": "1"} | environment
    if entry.pop("of_capacity", False):
        entry["most_rate"] = None
    return typed(Event, entry | {"environment": environment})
