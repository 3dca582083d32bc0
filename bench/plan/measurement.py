"""One measurement of a plan: its only type, and the only place that names the keys of plan.jsonl."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any

from msgspec import Meta

from bench.core.errors import UserError
from bench.core.exchange import GET, Exchange
from bench.core.service_settings import NO_SETTINGS, Settings
from bench.core.typed import as_plain, read_as
from bench.plan.event import NO_CASE, Event, EventCase
from bench.tools import SOCKETS, TOOLS, tool_of
from bench.tools.levels import Level, LoadKey, ToolLevel

MODES = ("solo", "null", "turns", "rate", "event")
"""- solo: a service alone under load
- null: the null server, alone
- turns: a service of a table, which takes turns on the CPU with the others of its block
- rate: after the turns, a service of the table at the common rate, while the others are frozen
- event: a service under an event, at the same time as the others of its block
"""
IN_BLOCKS = frozenset({"turns", "rate", "event"})
"""Modes whose services are up side by side."""

WHOSE = ("id", "round", "service", "server", "framework", "python", "base", "package", "settings", "scenario")
"""The fields that every record takes over from the plan."""
Pair = tuple[str, str]
"""The names of two services that are compared: the base and the head."""
# Whole numbers stay whole, so that a line that is written again is the same.
Count = Annotated[int, Meta(ge=1, lt=10**9)]
Positive = Count | Annotated[float, Meta(gt=0, lt=1e9)]
NotNegative = Annotated[int, Meta(ge=0, lt=10**9)] | Annotated[float, Meta(ge=0, lt=1e9)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One measurement of a plan. Times are in seconds, `rate` in requests/s; None if the level does not set it.

    The fields, and in the place of `exchange` its own, are the keys of a line of plan.jsonl, in this order. To add one,
    declare it here and set it in `bench.plan.order`. Its type decides how a line is checked; its default is used for
    lines that leave it out.
    """

    id: str
    round: Count
    position: Count
    service: str
    server: str
    framework: str
    python: str
    base: str
    package: str | None
    scenario: str
    route: str | None = None
    database: bool = False
    """Whether a response needs the database."""
    exchange: Exchange = GET
    requests: str | None = None
    """For a user's own app: the folder in the run with its requests."""
    tool: str
    level: Level
    connections: Count | None
    count: Count | None
    """Requests in total."""
    rate: Positive | None
    knee_p99_s: Positive | None = None
    """The p99 limit of a search for a knee."""
    knee_share: Positive | None = None
    """The target rate as a share of the knee."""
    share: Positive | None = None
    """The target rate as a share of the slowest speed in its table, which is known after the first round."""
    share_of: ToolLevel | None = None
    """The tool and level of that table."""
    duration_s: Positive | None
    timeout_s: Positive | None = None
    threads: Count = 1
    keepalive: bool = True
    warmup_s: NotNegative = 0.0
    seconds: NotNegative = 0.0
    """Expected wall time of the whole step, including starting and stopping the containers."""
    dir: str
    """The folder of its raw files, relative to the run's: raw/ROUND/STEP/SCENARIO/TOOL-LEVEL/wWINDOW/SERVICE."""
    mode: str = "solo"
    unit: str = ""
    """The id of its block in the round; empty if it is in none."""
    window: Count | None = None
    slot: Count | None = None
    """Its place in the order of turns; under an event, in the order in which loads begin."""
    block: Count | None = None
    """The number of its block in the round (services that are up side by side)."""
    turn_s: Positive | None = None
    """The length of a turn; `duration_s` is the sum of a window's turns."""
    settings: Settings = NO_SETTINGS
    url: str | None = None
    """For a server that already runs: its URL without the path."""
    host_network: bool = False
    """Whether the load generator uses the host's network, to reach a server that already runs."""
    event: Event | None = None
    """What is done to the service under load; the event then defines the load."""
    copy: Count = 1
    """Its container, counted from 1, if the service is in its block several times, under several cases of an event."""

    @property
    def open_loop(self) -> bool:
        """Whether requests are sent at a fixed rate, however slow the responses are."""
        return self.connections is None

    @property
    def after_s(self) -> float:
        """Delay of its load, relative to the first of its step."""
        return self.event.apart_s * (self.slot - 1) if self.event and self.slot else 0.0

    @property
    def container(self) -> str:
        """The name under which its service runs in the step."""
        return self.service if self.copy == 1 else f"{self.service}-copy-{self.copy}"

    @property
    def held(self) -> bool:
        """Whether it is one of a table's windows."""
        return self.mode == "turns"

    @property
    def stopped(self) -> bool:
        """Whether its load pauses while other services have their turn; one with its own pace is loaded alone."""
        return self.held and not self.exchange.paced_s

    @property
    def in_block(self) -> bool:
        """Whether other services are up at the same time."""
        return self.mode in IN_BLOCKS

    @property
    def load(self) -> LoadKey:
        """The load that it is of."""
        return LoadKey(self.scenario, self.tool, self.level)

    @property
    def table(self) -> LoadKey:
        """The load of its table; for a load at a common rate, of the table that sets the rate."""
        return LoadKey(self.scenario, self.share_of.tool, self.share_of.level) if self.share_of else self.load

    @property
    def step(self) -> str:
        """The id of the step that makes it: its block with all windows, or itself."""
        return self.unit or self.id

    def as_dict(self) -> dict[str, Any]:
        """The object of its line, without what is empty by default, and is here."""
        plain = as_plain(self)
        plain |= plain.pop("exchange")
        return {name: plain[name] for name in _KEYS if name not in _EMPTY or plain[name] != _EMPTY[name]}

    def to_line(self) -> str:
        """Its line of plan.jsonl, without the newline."""
        return json.dumps(self.as_dict())


@dataclass(frozen=True, slots=True)
class SkippedCell:
    """What was selected but cannot run, and why; None stands for all scenarios or tools."""

    service: str
    cause: str
    scenario: str | None = None
    tool: str | None = None
    event: str | None = None
    case: EventCase = NO_CASE
    """The case of the event that is skipped; empty: all cases."""


def window_folder(step: str, one: Measurement) -> str:
    """The folder of a measurement within its step's folder."""
    return f"{step}/{one.scenario}/{one.tool}-{one.level}/w{one.window or 1}/{one.service}"


def step_folder(folder: str) -> str:
    """The step's folder, given a measurement's: it has the files that all measurements of the step share."""
    return "/".join(folder.split("/")[:3])


_OF_EXCHANGE = tuple(field.name for field in fields(Exchange) if field.compare)
_KEYS = [name for field in fields(Measurement) for name in (_OF_EXCHANGE if field.name == "exchange" else [field.name])]
_NOTHING = (None, "", (), NO_SETTINGS)
_EMPTY = {
    field.name: as_plain(field.default)
    for kind in (Exchange, Measurement)
    for field in fields(kind)
    if field.default in _NOTHING or field.default is False
}
_NEEDED = {"turns": ("unit", "block", "window", "turn_s"), "rate": ("unit", "block", "window", "share_of")}
_NEEDED |= {"event": ("unit", "block", "slot", "event")}


def read_measurement(entry: Any, place: str = "") -> Measurement:
    """The measurement of a line, where the fields of its exchange stand among the others; ValueError if it is none."""
    if isinstance(entry, dict):
        sent = {name: entry[name] for name in _OF_EXCHANGE if entry.get(name) is not None}
        if str(entry.get("url")).startswith("https:"):
            sent["protocol"] = "https"
        entry = {**entry, "exchange": sent}
    try:
        return read_as(Measurement, entry, place)
    except ValueError as problem:
        raise ValueError(str(problem).replace("exchange.", "", 1)) from None


def measurement_of(entry: Mapping[str, Any] | None) -> Measurement | str:
    """The measurement of a line of plan.jsonl, or what is wrong with the line."""
    try:
        planned = read_measurement(entry)
    except ValueError as problem:
        return str(problem)
    if planned.mode not in MODES:
        return f"{shortened(planned.mode)} is not a mode"
    return _not_text(entry or {}) or _lacks(planned) or _fault(planned) or planned


def planned_of(entry: Mapping[str, Any]) -> Measurement:
    """The measurement of a line of plan.jsonl; UserError if it is none."""
    if isinstance(planned := measurement_of(entry), str):
        raise UserError(f"{entry.get('id')} of the plan: {planned}; start a new run")
    return planned


def _not_text(entry: Mapping[str, Any]) -> str:
    """Which text is empty or has other than printable characters; empty if none."""
    texts = {name: value for name in _KEYS if isinstance(value := entry.get(name), str)}
    return next(
        (f"{name} is not one line of text" for name, text in texts.items() if not text.isprintable() or not text), ""
    )


def _lacks(planned: Measurement) -> str:
    """Which field that its mode needs is missing; empty if none."""
    missing = [name for name in _NEEDED.get(planned.mode, ()) if not getattr(planned, name)]
    return f"{' and '.join(missing)} of mode {planned.mode} is missing" if missing else ""


def _fault(planned: Measurement) -> str:
    """What is wrong with its tool or folder; empty if nothing is."""
    if planned.tool not in TOOLS and not (planned.event and planned.tool == SOCKETS.name):
        return f"the output of {shortened(planned.tool)} cannot be read"
    if unspoken := tool_of(planned.tool).unspoken(planned.exchange):
        return unspoken
    if not _inside(planned.dir) or not _inside(planned.service) or "/" in planned.service:
        return f"{shortened(planned.dir)} is not a folder of this run"
    return ""


def _inside(path: str) -> bool:
    return not path.startswith("/") and ".." not in path.split("/")


def shortened(value: Any) -> str:
    """A value for an error message, at most 120 characters."""
    return repr(value)[:120]
