"""One measurement of a plan: the only type for it, and the only place that names the keys of plan.jsonl."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any
from urllib.parse import urlsplit

from bench.plan.events.event import Event, event_of
from bench.plan.events.event import as_dict as event_as_dict
from bench.tools import SOCKETS, TOOLS

MODES = ("solo", "null", "turns", "rate", "event")
"""One service alone under load; the null server, alone; one service of a table, which gets the CPU in turns with the
others of its block; after that one service of the table alone, at the common rate of all, while the others are frozen;
one service under an event, while the others of its block are under the same one.
"""
IN_BLOCKS = frozenset({"turns", "rate", "event"})
"""Modes whose services are up side by side."""

Pair = tuple[str, str]
"""The names of a service, the base, and of one that is compared with it, the head."""
NotNegative = float
"""A number that may be 0, unlike a plain float of a plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One measurement of a plan. Times are in seconds, `rate` in requests/s; None where the level does not set it.

    The fields are the keys of a line of plan.jsonl, in this order. To add one, declare it here (its type decides how
    a line is checked; a default also serves the lines of older runs) and set it in `bench.plan.order`.
    """

    id: str
    round: int
    position: int
    service: str
    server: str
    framework: str
    python: str
    base: str
    package: str | None
    scenario: str
    route: str | None = None
    database: bool = False
    """Whether an answer needs the database."""
    method: str = "GET"
    path: str = "/"
    body: str | None = None
    requests: str | None = None
    """The folder of the run with the requests of a user's own app, which `method` and `path` are the first of."""
    targets: int | None = None
    """How many requests are in it."""
    tool: str
    level: str
    connections: int | None
    count: int | None
    """Requests in total."""
    rate: float | None
    knee_p99_s: float | None = None
    """The p99 limit of a search for a knee."""
    knee_share: float | None = None
    """The share of the knee that is the target rate."""
    share: float | None = None
    """The share of its table's slowest speed that is the target rate, which is known after the first round."""
    share_of: str | None = None
    """The tool and level of that table, `wrk c16`."""
    duration_s: float | None
    timeout_s: float | None = None
    threads: int = 1
    keepalive: bool = True
    warmup_s: NotNegative = 0.0
    seconds: NotNegative = 0.0
    """Expected wall time of the whole step, with starting and stopping the containers."""
    dir: str
    """The folder of its raw files, relative to the run's: raw/ROUND/STEP/SCENARIO/TOOL-LEVEL/wWINDOW/SERVICE."""
    mode: str = "solo"
    unit: str = ""
    """The block of a round that it belongs to; empty for all others."""
    window: int | None = None
    slot: int | None = None
    """In turns: its place in their order. Of services under an event: whose load begins first."""
    block: int | None = None
    """Which of the round's blocks it is in: services that are up side by side."""
    turn_s: float | None = None
    """The length of a turn; `duration_s` is the sum of a window's turns."""
    settings: str | None = None
    """What --vary gives the service, and of two refs its own: `REF=sync WORKERS=2`."""
    url: str | None = None
    """Of a server that already runs: its URL without the path."""
    host_network: bool = False
    """Whether the load generator is in the host's network, where such a server is reached."""
    loadgens: int = 1
    """Load generators at once, among which connections and rate are divided."""
    event: Event | None = None
    """What is done to the service meanwhile; its load is then the event's own."""

    @property
    def open_loop(self) -> bool:
        """Whether requests are sent at a fixed rate, however slow the answers are."""
        return self.connections is None

    def reached_at(self, port: int) -> tuple[str, int]:
        """The host of its service, and its port; `port` is that of every container."""
        if self.url is None:
            return self.service, port
        url = urlsplit(self.url)
        return url.hostname or "", url.port or 80

    @property
    def held(self) -> bool:
        """Whether its load is stopped for the turns of other services."""
        return self.mode == "turns"

    @property
    def in_block(self) -> bool:
        """Whether other services are up beside it; else it is measured alone."""
        return self.mode in IN_BLOCKS

    @property
    def table(self) -> tuple[str, str, str]:
        """Scenario, tool and level of its table; of a load at a common rate those of the table that the rate is of."""
        tool, _, level = (self.share_of or f"{self.tool} {self.level}").partition(" ")
        return self.scenario, tool, level

    @property
    def step(self) -> str:
        """The step of the loop that makes it: a block with all its windows, else itself."""
        return self.unit or self.id

    def as_dict(self) -> dict[str, Any]:
        """The object of its line; what its mode has no use for is left out."""
        left_out = _LEFT_OUT[self.mode] | (frozenset() if self.requests else _OF_OWN_APPS)
        kept = [name for name in _FIELDS if name not in left_out]
        found = {name: getattr(self, name) for name in kept if name not in _RARE or self._unusual(name)}
        return found | ({"event": event_as_dict(self.event)} if self.event else {})

    def _unusual(self, name: str) -> bool:
        return bool(getattr(self, name)) and getattr(self, name) != _FIELDS[name].default

    def to_line(self) -> str:
        """Its line of plan.jsonl, without the newline."""
        return json.dumps(self.as_dict())


def window_folder(step: str, one: Measurement) -> str:
    """The folder of a measurement in that of its step."""
    return f"{step}/{one.scenario}/{one.tool}-{one.level}/w{one.window or 1}/{one.service}"


def step_folder(folder: str) -> str:
    """The folder of the step of a measurement, which has what all of the step share."""
    return "/".join(folder.split("/")[:3])


_FIELDS = {field.name: field for field in fields(Measurement)}
_OF_SEVERAL = frozenset({"unit", "window", "slot", "block", "turn_s"})
_OF_OWN_APPS = frozenset({"requests", "targets"})
_RARE = frozenset({"settings", "url", "host_network", "loadgens", "share", "share_of", "event"})
_LEFT_OUT: Mapping[str, frozenset[str]] = {
    "solo": _OF_SEVERAL | {"mode"},
    "null": _OF_SEVERAL | {"database", "knee_share"},
    "turns": frozenset({"knee_p99_s", "knee_share"}),
    "rate": frozenset({"knee_p99_s", "knee_share", "turn_s"}),
    "event": frozenset({"knee_p99_s", "knee_share", "turn_s"}),
}


def shares(planned: Measurement) -> tuple[Measurement, ...]:
    """The measurement of each of its load generators, in a folder of its own; one alone makes the whole.

    A level is that of the cell: its connections and its rate are divided.
    """
    number = planned.loadgens
    if number == 1:
        return (planned,)
    connections = _divided(planned.connections, number)
    rates = _divided(None if planned.rate is None else int(planned.rate), number)
    return tuple(
        replace(
            planned,
            loadgens=1,
            connections=own,
            rate=rate,
            threads=most_threads(own, planned.threads),
            dir=f"{planned.dir}/{client_folder(client)}",
        )
        for client, (own, rate) in enumerate(zip(connections, rates, strict=True), 1)
    )


def client_folder(client: int) -> str:
    """Where a load generator's files are, in the measurement's folder; they count from 1."""
    return f"client-{client}"


def _divided(total: int | None, number: int) -> list[int | None]:
    """Evenly; the first ones get what is left over."""
    if total is None:
        return [None] * number
    each, left = divmod(total, number)
    return [each + (index < left) for index in range(number)]


def most_threads(connections: int | None, most: int) -> int:
    """The most threads that divide the connections: wrk drops those that are left over."""
    return max(count for count in range(1, most + 1) if (connections or 1) % count == 0)


def settings_of(text: str | None) -> dict[str, str]:
    """The values by knob of a service's settings, `WORKERS=2 THREADS=4`."""
    pairs = (word.partition("=") for word in (text or "").split())
    return {name: value for name, mark, value in pairs if mark}


def measurement_of(entry: Mapping[str, Any] | None) -> Measurement | str:
    """The measurement of a line's object, or what is wrong with it."""
    if entry is None:
        return "not a JSON object"
    try:
        planned = Measurement(**{name: _value(entry, name) for name in _FIELDS})
    except ValueError as problem:
        return str(problem)
    if planned.mode not in MODES:
        return f"{shortened(planned.mode)} is not a mode"
    return _lacks(planned) or _fault(planned) or planned


def _lacks(planned: Measurement) -> str:
    """What its mode needs and it has not; empty if nothing."""
    if planned.mode == "turns" and not (planned.unit and planned.block and planned.window and planned.turn_s):
        return "unit, block, window or turn_s of a window in turns is missing"
    if planned.mode == "rate" and not (planned.unit and planned.block and planned.window and planned.share_of):
        return "unit, block, window or share_of of a load at a common rate is missing"
    if planned.mode == "event" and not (planned.unit and planned.block and planned.slot and planned.event):
        return "unit, block, slot or event of a service under an event is missing"
    return ""


def _fault(planned: Measurement) -> str:
    """What is wrong with its tool or folder; empty if nothing is."""
    if planned.tool not in TOOLS and not (planned.event and planned.tool == SOCKETS.name):
        return f"the output of {shortened(planned.tool)} cannot be read"
    if not _inside(planned.dir) or not _inside(planned.service) or "/" in planned.service:
        return f"{shortened(planned.dir)} is not a folder of this run"
    return ""


def _value(entry: Mapping[str, Any], name: str) -> Any:
    """The field's value, as its type demands; ValueError where it is something else."""
    field, value = _FIELDS[name], entry.get(name)
    kind, _, optional = str(field.type).partition(" | ")
    if name not in entry and field.default is not MISSING:
        return field.default
    if value is None and optional:
        return None
    fits, what = _CHECKS[kind]
    if not fits(value):
        raise ValueError(f"{name} is not {what}")
    return event_of(value) if kind == "Event" else value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9


_CHECKS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "str": (lambda value: isinstance(value, str) and value != "" and value.isprintable(), "a name"),
    "int": (lambda value: _is_number(value) and isinstance(value, int) and value > 0, "a positive whole number"),
    "float": (lambda value: _is_number(value) and value > 0, "a positive number"),
    "NotNegative": (_is_number, "a number"),
    "bool": (lambda value: isinstance(value, bool), "true or false"),
    "Event": (lambda value: isinstance(value, dict), "an object"),
}


def _inside(path: str) -> bool:
    return not path.startswith("/") and ".." not in path.split("/")


def shortened(value: Any) -> str:
    """A value in an error message."""
    return repr(value)[:80]
