"""The events of a bad day: what is done to a service under load, and the load that counts what it costs.

An event has cases, each a cell of its own: with and without kept connections, with an app that boots slowly. The line
of a measurement (plan.jsonl) has all of its case, so that a run can be read by a version that has other ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

from bench.matrix.knobs import Reads
from bench.matrix.model import Service
from driver.messages import Action

WORKERS = 4
"""Of a service under an event, unless the preset or --vary says otherwise."""
EASY, MOST_EASY = 0.3, 200.0
"""The share of its capacity that a service holds easily, and the most requests/s that are sent then."""
POOL = 16
BEFORE_S, SETTLE_S = 3.0, 4.0
"""How long a service is watched before the event, and after what shows that it is over."""
LOOK_S = 0.02
"""Between looking at a kept connection and sending on it: on an idle loopback the race would not be seen."""
SLOW_STEPS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
SLOW_STEP_S = 2.0
MAX_REQUESTS, JITTER = 1000, 100

NGINX = "HUP: starting new worker processes, graceful shutdown of old ones (nginx.org/en/docs/control.html)"

SWAPPED, RESTORED, ENDED = "swapped", "restored", "ended"
"""What ends a window early: all workers are others; as many work again; the service has ended."""


@dataclass(frozen=True, slots=True)
class Phase:
    """So many seconds at this share of the capacity."""

    share: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One case of an event. Times are in seconds from the first request that is due.

    `until` ends the window `settle_s` after it was seen, once all are answered again. `slow`: what other connections do
    (`silent`: they send nothing; `header`: a byte of a header each second; `idle`: nothing after one response),
    `slow_steps` how many of them there are one after another. `long_path` is asked for once, just before the first
    action.
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
    long_path: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What the app and the server are given."""
    documented: str = ""
    """What the server's documentation says of it, and where."""

    @property
    def level(self) -> str:
        """The name of the cell's level."""
        return "-".join(filter(None, (self.name, re.sub(r"[^a-z0-9]+", "-", self.case.lower()).strip("-"))))

    @property
    def seconds(self) -> float:
        """The longest that its load takes."""
        return sum(phase.seconds for phase in self.phases)


def event_of(value: Any) -> Event:
    """The event of a line of plan.jsonl; ValueError where it is none."""
    try:
        values = {name: value[name] for name in (one.name for one in fields(Event)) if name in value}
        values["phases"] = tuple(Phase(**one) for one in values["phases"])
        values["actions"] = tuple(Action(**one) for one in values["actions"])
        values["slow_steps"] = tuple(values.get("slow_steps", ()))
        return Event(**values)
    except (TypeError, KeyError) as problem:
        raise ValueError(f"event is not one: {problem}") from None


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


def _easy(name: str, case: str, most_s: float, **more: Any) -> Event:
    environment = {"TELL_PID": "1"} | more.pop("environment", {})
    return Event(name=name, case=case, phases=(Phase(EASY, most_s),), environment=environment, **more)


def _reloaded(event: Event, service: Service, _: Reads) -> Event | str:
    found = service.server.reload
    if found is None:
        return "matrix.toml does not say how it reloads"
    if not found.signal:
        return f"{found.says} ({found.source})"
    action = Action(BEFORE_S, "signal", found.signal, "main")
    return replace(event, actions=(action,), documented=f"{found.says} ({found.source})")


def _recycled(event: Event, service: Service, reads: Reads) -> Event | str:
    if reads(service, "MAX_REQUESTS") and "MAX_REQUESTS" in event.environment:
        return f"{service.server.name} has no setting that ends a worker after so many requests"
    return event


_KEPT = "keep-alive"
_NEW = "new connections"
EVENTS: Mapping[str, Kind] = MappingProxyType(
    {
        "reload": Kind(
            "the server's documented reload, with and without keep-alive, the app booting in 0 and 2 s",
            "delay-50",
            tuple(
                _easy(
                    "reload",
                    case + (f", boot {boot} s" if boot else ""),
                    40.0 + 8 * boot,
                    until=SWAPPED,
                    pool=POOL if case is _KEPT else 0,
                    environment={"BOOT_S": str(boot)} if boot else {},
                )
                for boot in (0, 2)
                for case in (_KEPT, _NEW)
            ),
            _reloaded,
        ),
        "stop": Kind(
            "SIGTERM with requests under way, idle connections and a response that takes 5 s",
            "delay-50",
            (
                _easy(
                    "stop",
                    "",
                    45.0,
                    actions=(Action(BEFORE_S, "stop", "TERM", "main"),),
                    until=ENDED,
                    settle_s=1.0,
                    timeout_s=10.0,
                    long_path="/?duration=5000",
                ),
            ),
        ),
        "killed": Kind(
            "SIGKILL to one of four workers",
            "delay-50",
            (_easy("killed", "", 25.0, actions=(Action(BEFORE_S, "signal", "KILL", "worker"),), until=RESTORED),),
            floor=False,
        ),
        "hung": Kind(
            "SIGSTOP to one of four workers",
            "delay-50",
            (_easy("hung", "", 45.0, actions=(Action(BEFORE_S, "signal", "STOP", "worker"),), until=RESTORED),),
            floor=False,
        ),
        "overload": Kind(
            "0.5, 1.5 and 3 times the capacity, then 0.5 again; each request takes 5 ms of CPU, the client waits 1 s",
            "plaintext",
            (
                Event(
                    name="overload",
                    phases=(Phase(0.5, 4.0), Phase(1.5, 10.0), Phase(3.0, 20.0), Phase(0.5, 20.0)),
                    timeout_s=1.0,
                    most_rate=None,
                    environment={"TELL_PID": "1", "WORK_MS": "5"},
                ),
            ),
            floor=False,
        ),
        "slow": Kind(
            "1 to 256 slow connections beside an easy rate: silent, or a byte of a header each second",
            "plaintext",
            tuple(
                _easy(
                    "slow",
                    case,
                    BEFORE_S + SLOW_STEP_S * len(SLOW_STEPS) + 37.0,
                    slow=slow,
                    slow_steps=SLOW_STEPS,
                    pool=0,
                    timeout_s=1.0,
                    most_rate=50.0,
                )
                for case, slow in (("silent", "silent"), ("a header byte a second", "header"))
            ),
        ),
        "recycle": Kind(
            f"workers end after {MAX_REQUESTS:,} requests (and up to {JITTER} more), beside workers that stay",
            "plaintext",
            (
                _easy(
                    "recycle",
                    f"every {MAX_REQUESTS}",
                    25.0,
                    most_rate=400.0,
                    environment={"MAX_REQUESTS": str(MAX_REQUESTS), "MAX_REQUESTS_JITTER": str(JITTER)},
                ),
                _easy("recycle", "never", 25.0, most_rate=400.0),
            ),
            _recycled,
            floor=False,
        ),
        "connections": Kind(
            "1,000 and 5,000 connections that are idle after one response, beside an easy rate",
            "plaintext",
            tuple(
                _easy("connections", f"{count} idle", 18.0, slow="idle", slow_steps=(count,), slow_step_s=10.0)
                for count in (1000, 5000)
            ),
        ),
    }
)
"""In the order in which they are planned and reported."""


def kind_of(name: str) -> Kind | None:
    """The event of this name, or one case of it (`slow-silent`); None where there is none."""
    for event, kind in EVENTS.items():
        if cases := tuple(case for case in kind.cases if name in (event, case.level)):
            return replace(kind, cases=cases)
    return None


def of_app(event: Event) -> Event:
    """As a user's own app can have it: it reads none of our variables, and has none of our routes."""
    ours = ("TELL_PID", "BOOT_S", "WORK_MS")
    environment = {name: value for name, value in event.environment.items() if name not in ours}
    return replace(event, environment=environment, long_path="")


def with_signal(event: Event) -> Event:
    """As nginx does it, the null server."""
    if event.name != "reload":
        return event
    return replace(event, actions=(Action(BEFORE_S, "signal", "HUP", "main"),), documented=NGINX)
