"""Messages between driver and planner: three JSON files in the run's folder, each with a version.

`run.json`        the run (from the planner), of which the driver reads the services and a user's own app
`step.json`       what to measure next: `host` is for the driver, `planned` has the step's lines of plan.jsonl
`finished.json`   how that step went, as seen by the host (from the driver to the planner)
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar, cast

RUN_JSON, STEP, FINISHED = "run.json", "step.json", "finished.json"
BEGUN, ENOUGH, GONE = ".begun", ".enough", "gone"
"""Files in the folder of an event's measurement, by which load generator and driver talk.

BEGUN, from the load generator: when its first request is due, in ns of the monotonic clock and since the epoch.
ENOUGH, from the driver: the event is over, so the load may end once all requests are answered again. It contains GONE
if the service has ended and will not come back.
"""
PROXY_ASKED, PROXY_TOLD = ".proxy-asked", ".proxy-told"
"""In the same folder, for a service behind a proxy: the driver writes `TIME VERB ADDRESS`, and the load generator
writes the same once it is done. Verbs: `out` and `back` (take a container out of the proxy, put it back), `answers`
(wait until it answers).
"""
UNFINISHED = ".unfinished"
"""In the run's folder, from the planner: the time was up before everything was measured, so the run may be resumed."""
FAULTS = "x-faults"
"""The key of what is wrong with a user's Compose file, in the resolved file: the planner adds what it finds itself."""
ABSENT = "absent"
"""Key in the counters file of a database or upstream that the run lacks, because an app's Compose file replaces it."""
CHANGES = "app-changes"
"""The volume with what --before has changed in the app's folder, which services of a user's own app mount read-only."""
SCHEMA = 1
MOST_TEXT = 2 << 20
"""Characters of a message; run.json of 177 services has 80,000."""
DEPENDENCIES = ("loadgen", "postgres", "upstream")

Message = TypeVar("Message")


class MessageError(Exception):
    """A message file that is unreadable or malformed."""


@dataclass(frozen=True)
class Service:
    """A service under test, in run.json; `url`: of a target, which already runs outside this project's containers."""

    image: str = ""
    built_as: str = ""
    base_image: str = ""
    framework: str = ""
    settings: str = ""
    package: str = ""
    concurrent: bool = True
    routes: tuple[str, ...] = ()
    url: str = ""

    @property
    def build(self) -> str:
        """The Compose service that builds its image."""
        return self.built_as or self.image.rpartition("/")[2]


@dataclass(frozen=True)
class OwnApp:
    """A user's own app, in run.json: `variables` are the names in its environment file."""

    app: str
    env_file: str = ""
    before: str = ""
    variables: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    targets: tuple[Mapping[str, Any], ...] = ()
    folder: str = ""

    @property
    def writes(self) -> bool:
        """Whether one of its requests may change data."""
        return any(not target["request"].startswith(("GET ", "HEAD ")) for target in self.targets)


@dataclass(frozen=True)
class Action:
    """An action on a service, `at_s` seconds after the first request of its load is due.

    `do`: `signal`, to the `main` process or one `worker`; `stop`, as Docker stops a container; or `swap`: container
    `to` (1 or 2) is taken out of the proxy for `wait_s`, stopped, started again and waited for. On the `database` or
    the `upstream`: `stop` and `start`, `pause` and `unpause`, `lock` and `unlock` (a table). A `swap` sends SIGTERM to
    the main process, or to `every_process` of the container, and SIGKILL after `grace_s`.
    """

    at_s: float
    do: str
    signal: str = ""
    to: str = ""
    wait_s: float = 0.0
    grace_s: float = 10.0
    every_process: bool = False

    @property
    def on_dependency(self) -> bool:
        """Whether it affects the database or the upstream, which all services share."""
        return self.to in ("database", "upstream")


@dataclass(frozen=True)
class EventScript:
    """An event: what happens to a service while it is loaded.

    The load ends `settle_s` after the driver has seen `until`: workers `swapped` or `restored`, the service `ended`, or
    its containers `rolled`. `repeats`: how often the last action is done, again each time `until` is seen.
    `environment`: extra variables for its container. `watches`: what is counted meanwhile (`connections` to the
    database). `containers`: how many containers the service has.
    """

    actions: tuple[Action, ...] = ()
    until: str = ""
    settle_s: float = 0.0
    environment: Mapping[str, str] = field(default_factory=dict)
    watches: str = ""
    repeats: int = 0
    containers: int = 1


@dataclass
class EventReport:
    """The content of events.json: what was done and seen under an event.

    Times are in ns of the monotonic clock since the first request was due. `cannot`: why nothing was done.
    """

    until: str = ""
    schema: int = SCHEMA
    t0_ns: int = 0
    t0_wall_ns: int = 0
    same_clock: bool = True
    main: int = 0
    before: tuple[int, ...] = ()
    """The workers when the load began."""
    others: Sequence[int] = ()
    """Children that never reported their pid in a response while others did: a router, or the server's own helper."""
    actions: list[dict[str, Any]] = field(default_factory=list)
    workers: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    samples: list[tuple[int, int | None, int | None]] = field(default_factory=list)
    connections: list[tuple[int, int, int]] = field(default_factory=list)
    """(when, connections to the database, how many of them were in use)."""
    descriptors: list[tuple[int, int | None]] = field(default_factory=list)
    """(when, how many are open): before the first of several reloads, and after each."""
    oom_kills: int | None = None
    ended_ns: int | None = None
    until_ns: int | None = None
    error: str = ""
    cannot: str = ""


@dataclass(frozen=True)
class Step:
    """One step: one to eight services under the loads of its windows.

    `dir` and `folders` (of its measurements) are below the run's folder. `held`: the services take turns, and their
    loads are stopped in between; otherwise it is one service alone, or each is under an event. `host_network`: the load
    generator is on the host's network. `events`: by service. `copies`: the names in `services` that are a further
    container of a service of the run, which they map to.
    """

    id: str
    dir: str
    services: tuple[str, ...]
    folders: tuple[str, ...]
    held: bool = False
    host_network: bool = False
    events: Mapping[str, EventScript] = field(default_factory=dict)
    copies: Mapping[str, str] = field(default_factory=dict)

    @property
    def any_cpu(self) -> bool:
        """Whether its containers may use every CPU until they are pinned, to start quickly."""
        return self.held or bool(self.events)


@dataclass(frozen=True)
class Finished:
    """How a step went, as seen by the host. Times are in ns since the epoch.

    `statuses`: exit statuses of the parts that were reached: `start`, `prepare` and `run`. `image_ids`, `started_ns`:
    of containers that started, by service. `ended`, `ended_dependencies`: services and dependencies that ended during
    the step. `unreached`: services that answered on their own machine but could not be reached from the load
    generator's. `node`: the machine of the services, in a run on several machines.
    """

    id: str
    begin_ns: int
    end_ns: int
    statuses: Mapping[str, int] = field(default_factory=dict)
    image_ids: Mapping[str, str] = field(default_factory=dict)
    started_ns: Mapping[str, int | None] = field(default_factory=dict)
    loaded_ns: int | None = None
    ended: tuple[str, ...] = ()
    ended_dependencies: tuple[str, ...] = ()
    unreached: tuple[str, ...] = ()
    node: str = ""


def cpu_list(text: str) -> list[int]:
    """The CPU numbers of a setting, in the kernel's format: `0-2,5` -> [0, 1, 2, 5]."""
    cpus: list[int] = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return cpus


def as_json(message: Any) -> dict[str, Any]:
    """A message as a JSON object."""
    return {"schema": SCHEMA, **asdict(message)}


def facts_of(run: Mapping[str, Any]) -> tuple[dict[str, Service], OwnApp | None]:
    """The services of a run and a user's own app, from its run.json; MessageError if that is malformed."""
    entries, app = run.get("services"), run.get("own_app")
    if not isinstance(entries, dict):
        raise MessageError(f"{RUN_JSON} has no services; start a new run")
    services = {name: message(Service, entry) for name, entry in entries.items()}
    if lacking := [name for name, service in services.items() if not (service.image or service.url)]:
        raise MessageError(f"{RUN_JSON}: {lacking[0]} has no image; start a new run")
    return services, message(OwnApp, app) if app else None


def step_of(data: Mapping[str, Any]) -> Step:
    """The Step in the content of step.json; MessageError if it is malformed."""
    step, planned = message(Step, data.get("host")), data.get("planned", ())
    under_events = ((name, line["event"]) for name, line in zip(step.services, planned) if line.get("event"))
    return replace(step, events={name: doings_of(event) for name, event in under_events})


def doings_of(event: Mapping[str, Any]) -> EventScript:
    """What the driver does during an event, given as in a line of plan.jsonl."""
    actions = tuple(message(Action, action) for action in event.get("actions", ()))
    return replace(message(EventScript, event), actions=actions, containers=2 if event.get("proxy") else 1)


def read(path: Path) -> Mapping[str, Any] | None:
    """The object in a file; None if there is no file, MessageError if its version differs."""
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(MOST_TEXT + 1)
        if len(text) > MOST_TEXT:
            raise ValueError(f"it has more than {MOST_TEXT >> 20} Mi characters")
        data = json.loads(text)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise MessageError(f"{path} cannot be read: {error}") from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise MessageError(f"{path} is of another version: start a new run")
    return data


def message(kind: type[Message], data: Any) -> Message:
    """`data` as a dataclass; MessageError if it is malformed.

    Lists become tuples; keys without a field are ignored, and so is null: the field has its default.
    """
    if not isinstance(data, Mapping):
        raise MessageError(f"{kind.__name__}: {data!r} is not an object")
    given = {one.name: data.get(one.name) for one in fields(cast(Any, kind))}
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
    try:
        return kind(**{key: value for key, value in values.items() if value is not None})
    except TypeError as error:
        raise MessageError(f"{kind.__name__}: {error}") from error
