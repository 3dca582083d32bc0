"""run.json as a value, read once.

Other versions of the project have other keys, and the file may be anybody's: what is malformed is left out, part by
part, which means that it is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from bench.core.exchange import Wait, WaitsFor
from bench.core.files import as_object, items, mapping, read_bytes
from bench.core.service_settings import NO_SETTINGS, Settings
from bench.core.typed import read_as, read_or_none
from bench.exchange import KINDS, USUAL, kind_named
from bench.exchange.kind import Kind
from bench.plan.interim_looks import LOOKS, RATED
from bench.plan.measurement import Pair, SkippedCell
from bench.tools import OPEN_LOOP, TOOLS
from bench.tools.levels import Level, LoadKey

_EARLIER: Mapping[WaitsFor, re.Pattern[str]] = {
    WaitsFor.TIMER: re.compile(r"(?:delay|late)-(\d{1,6})\Z", re.ASCII),
    WaitsFor.UPSTREAM: re.compile(r"simple-request-(\d{1,6})\Z", re.ASCII),
    WaitsFor.DATABASE: re.compile(r"(?:db|queries-\d+|updates-\d+|fortunes|create-data)-()", re.ASCII),
}
"""The names of scenarios that wait in runs that do not list them, with their milliseconds."""
Positive = Annotated[int, Meta(gt=0)]


Caveats = Mapping[str, str]
"""What to know about a service's server beside its figures, each missing if there is nothing:

- `development`: what its documentation says, if it is not meant for production;
- `stall`: why its responses with keep-alive wait for delayed TCP acknowledgements;
- `adds`, `sets`: what this project adds to it, and sets otherwise;
- `default`, `source`: how many requests can wait at once in it without this project's flags, and who says so.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunService:
    """A service of a run; empty if nothing is known of it. `bench.run.writer.service_facts` writes these keys."""

    stack: str = ""
    server: str = ""
    framework: str = ""
    python: str = ""
    base: str = ""
    base_image: str = ""
    package: str | None = None
    settings: Settings = NO_SETTINGS
    concurrent: bool | None = None
    url: str = ""
    """That of a server that already runs; `owned`: whether the user states that they own it."""
    owned: bool = False
    start: str = ""
    app: str = ""
    """The paths of its start script and app; earlier runs lack them."""
    model: str = ""
    development: str = ""
    notes: Mapping[str, str] = field(default_factory=dict)
    asks_for: tuple[str, ...] = ()
    """The packages that its server needs, only for a user's own app."""

    @property
    def caveats(self) -> Caveats:
        """What to know about its server."""
        return {name: text for name, text in {**self.notes, "development": self.development}.items() if text}

    def own_packages(self, packages: Mapping[str, str]) -> list[str]:
        """`flask 3.1.3`: those of its packages that its server and framework are named after."""
        wanted = {self.server, self.framework, *self.server.split("-")}
        return [f"{package} {version}" for package, version in packages.items() if package in wanted]


NO_SERVICE = RunService()


@dataclass(frozen=True, slots=True)
class PlannedTable:
    """A table in turns of the plan, with services in the plan's order; `rounds`: the most for which it is measured."""

    scenario: str
    tool: str
    level: Level
    waits: bool
    services: tuple[str, ...]
    rounds: Positive
    looks: tuple[Positive, ...]
    """The numbers of rounds after which it may be settled."""
    shares: tuple[Level, ...] = ()
    """The levels of its common rates: after the turns, services are loaded one at a time at each of them."""
    wait: Wait | None = None
    """What every response waits for."""

    def __post_init__(self) -> None:
        if self.tool not in TOOLS or not self.services or len({*self.services}) < len(self.services):
            raise ValueError("not the services of a load tool's table")
        if not self.looks or [*self.looks] != sorted({*self.looks}):
            raise ValueError("not the rounds of looks")

    @property
    def at_rates(self) -> Iterator[PlannedTable]:
        """A table for each common rate, ranked by CPU per request, if there are enough rounds for verdicts."""
        # From the second round to the first look.
        rounds = self.looks[0] - RATED.start + 1
        if rounds >= LOOKS[0]:
            for level in self.shares:
                yield replace(self, tool=OPEN_LOOP, level=level, waits=False, rounds=rounds, looks=(rounds,), shares=())

    @property
    def key(self) -> LoadKey:
        """The load of its turns."""
        return LoadKey(self.scenario, self.tool, self.level)


Defaults = Mapping[str, Mapping[str, str | None]]
"""By kind, the default that a service's server documents (`value`, `source`), and what it was `given` instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Harness:
    """This project as it measured the run: `hash` and `parts` are of its content."""

    version: str = ""
    hash: str = ""
    commit: str = ""
    branch: str = ""
    parts: Mapping[str, str] = field(default_factory=dict)
    images: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefFacts:
    """One of two refs; if `dirty`, it has uncommitted changes on top of the commit `head`."""

    ref: str
    head: str = ""
    dirty: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RefsFacts:
    """The refs that are compared: which paths differ, and what to know about the comparison."""

    base: RefFacts | None = None
    head: RefFacts | None = None
    changed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    pairs: tuple[Pair, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request of a user's own app."""

    request: str
    scenario: str = ""
    weight: float = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AppFacts:
    """A user's own app: `options` are those it was given with, `project` is this project's folder on the host."""

    name: str = ""
    app: str = ""
    folder: str = ""
    project: str = ""
    targets: tuple[Request, ...] = ()
    options: tuple[str, ...] = ()
    apt: tuple[str, ...] = ()
    cpu_hour_price: float | None = None

    def price(self, cpu_us: float) -> float | None:
        """What a million requests cost, in the unit of the price of a CPU hour; None without a price."""
        # CPU time in µs per request equals seconds per million requests.
        return None if self.cpu_hour_price is None else self.cpu_hour_price * cpu_us / 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Lanes:
    """The pairs of nodes that a run used at the same time: the most, what they shared, and nodes left out."""

    most: int = 1
    shared: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """Which of two machines ran what, and the address on which ports were published."""

    server: str = "unknown"
    loadgen: str = "unknown"
    published: str = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """The run that is repeated, and what differs from it."""

    run: str = ""
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What run.json says; None or empty: it does not. `bench.run.writer.run_facts` writes most of these keys."""

    run: str = ""
    preset: str = ""
    title: str = ""
    published: str = ""
    """The published comparison that the run repeats."""
    mode: str = ""
    rounds: int | None = None
    seed: int | None = None
    command: tuple[str, ...] | None = None
    """The selection as it was given."""
    profile: bool = False
    knobs: Mapping[str, str] = field(default_factory=dict)
    harness: Harness = Harness()
    containers: str = ""
    engine: str = ""
    host: Mapping[str, str | int | float | None] = field(default_factory=dict)
    machines: Machines | None = None
    lanes: Lanes = Lanes()
    tables_in_turns: tuple[PlannedTable, ...] = ()
    waits: Mapping[str, Wait] | None = None
    """The wait of each scenario that has one; earlier runs lack it."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """The kind of the exchange of each scenario that is not of the usual one."""
    skipped: tuple[SkippedCell, ...] = ()
    services: Mapping[str, RunService] = field(default_factory=dict)
    pairs: tuple[Pair, ...] = ()
    refs: RefsFacts | None = None
    packages: tuple[Mapping[str, str | None], ...] = ()
    """The wheels of --package and --with."""
    own_app: AppFacts | None = None
    defaults: Mapping[str, Defaults] = field(default_factory=dict)
    again: Repetition = Repetition()
    expected: tuple[str, ...] = ()
    """What was known before the run that may keep it from giving an answer."""

    @property
    def name(self) -> str:
        """What the run is called."""
        return self.title or self.preset or "Run"

    @property
    def workers(self) -> str:
        """The number of worker processes of every service."""
        return self.knobs.get("WORKERS") or "?"

    @property
    def tables(self) -> tuple[PlannedTable, ...]:
        """The tables in turns, each followed by those at its common rates."""
        tables = (replace(one, wait=self.wait_of(one.scenario)) for one in self.tables_in_turns)
        return tuple(one for table in tables for one in (table, *table.at_rates))

    def service(self, name: str) -> RunService:
        """What is known of a service."""
        return self.services.get(name, NO_SERVICE)

    def kind_of(self, scenario: str) -> Kind:
        """What depends on the kind of a scenario's exchange."""
        name = self.kinds.get(scenario)
        return kind_named(name) if name in KINDS else USUAL

    def wait_of(self, scenario: str) -> Wait | None:
        """What every response of a scenario waits for; None if for nothing."""
        if self.waits is not None:
            return self.waits.get(scenario)
        found = ((on, pattern.match(scenario)) for on, pattern in _EARLIER.items())
        waits = (Wait(on, int(match[1] or 0)) for on, match in found if match)
        return next((wait for wait in waits if wait.ms or wait.on is not WaitsFor.TIMER), None)


OF_ENTRIES = ("tables_in_turns", "skipped", "packages")
"""The lists of which an entry says something without the others."""


def read_run_facts(run: Path | str) -> RunFacts:
    """What the run.json in a run's folder says."""
    return run_facts_of(as_object(read_bytes(f"{run}/run.json") or b""))


def run_facts_of(value: Any) -> RunFacts:
    """The content of a run.json as a value."""
    given = dict(mapping(value))
    # A service keeps its name.
    services = {name: _service(entry) for name, entry in mapping(given.pop("services", None)).items()}
    kept: dict[str, Any] = {"waits": {}} if "waits" in given else {}
    parts = ((name, _fitting(name, part)) for name, part in given.items() if part not in (None, {}))
    kept |= {name: part for name, part in parts if _fits(name, part)}
    return replace(read_as(RunFacts, kept), services=services)


def _fitting(name: str, part: Any) -> Any:
    """The part without its malformed entries."""
    if isinstance(part, dict):
        return {key: entry for key, entry in part.items() if _fits(name, {key: entry})}
    return [entry for entry in items(part) if _fits(name, [entry])] if name in OF_ENTRIES else part


def _fits(name: str, part: Any) -> bool:
    return read_or_none(RunFacts, {name: part}) is not None


def _service(entry: Any) -> RunService:
    known = {key: value for key, value in mapping(entry).items() if value is not None}
    return read_or_none(RunService, known) or NO_SERVICE
