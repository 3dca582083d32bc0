"""Messages between driver and planner: three JSON files in the run's folder, each with a type and a version.

`run.json`        the run, of which `Host` has what the driver needs (from the planner)
`step.json`       what to measure next: `host` is for the driver, the loads are for the load generator
`finished.json`   how that step went, as seen by the host (from the driver to the planner)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
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
    """A service under test, in run.json.

    `build`: the Compose service that builds its image. `url`: only for a target, a server that already runs outside
    this project's containers.
    """

    image: str = ""
    build: str = ""
    base: str = ""
    framework: str = ""
    settings: str = ""
    concurrent: bool = True
    routes: tuple[str, ...] = ()
    url: str | None = None


@dataclass(frozen=True)
class OwnApp:
    """A user's own app: `variables` are the names in its environment file; `writes`: whether a request is no GET."""

    app: str
    env_file: str = ""
    before: str = ""
    variables: tuple[str, ...] = ()
    writes: bool = False
    folder: str = ""


@dataclass(frozen=True)
class Host:
    """What the host needs to know about a run. `source_images` are removed with the run."""

    services: Mapping[str, Service]
    dependencies: tuple[str, ...]
    source_images: tuple[str, ...] = ()
    own_app: OwnApp | None = None

    @property
    def containers(self) -> tuple[str, ...]:
        """The services that the run starts."""
        return tuple(name for name, service in self.services.items() if service.url is None)

    @property
    def targets(self) -> tuple[str, ...]:
        """The servers that already run (--target)."""
        return tuple(name for name, service in self.services.items() if service.url is not None)


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
    most_s: float = 0.0
    environment: Mapping[str, str] = field(default_factory=dict)
    watches: str = ""
    repeats: int = 0
    containers: int = 1


@dataclass(frozen=True)
class Step:
    """One step: one to eight services under the loads of its windows.

    `dir` and `folders` (of its measurements) are below the run's folder. `held`: the services take turns, and their
    loads are stopped in between; otherwise it is one service alone, or each is under an event. `host_network`: the load
    generator is on the host's network. `knee`: the step needs knees found in earlier steps. `events`: by service.
    `copies`: the names in `services` that are a further container of a service of the run, which they map to.
    """

    id: str
    dir: str
    services: tuple[str, ...]
    folders: tuple[str, ...]
    held: bool = False
    host_network: bool = False
    knee: bool = False
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


def as_json(message: Any) -> dict[str, Any]:
    """A message as a JSON object."""
    return {"schema": SCHEMA, **asdict(message)}


def host_of(facts: Mapping[str, Any]) -> Host:
    """The Host of a run, from its run.json; MessageError if that is malformed."""
    try:
        services, app = facts["services"], facts.get("own_app")
        # A user's own service of the same name takes the place of ours.
        own = app["services"] if app else ()
        return Host(
            {name: _service(entry) for name, entry in services.items()},
            (*(name for name in DEPENDENCIES if name not in own), *(f"own-{name}" for name in own)),
            # Images with a package built from source have a local version ("+...").
            tuple(dict.fromkeys(entry["image"] for entry in services.values() if "+" in (entry.get("package") or ""))),
            _own_app(app) if app else None,
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise MessageError(f"{RUN_JSON}: {error!r}; start a new run") from error


def _own_app(entry: Mapping[str, Any]) -> OwnApp:
    writes = any(not target["request"].startswith(("GET ", "HEAD ")) for target in entry["targets"])
    variables = tuple(entry["variables"])
    return OwnApp(entry["app"], entry["env_file"], entry["before"], variables, writes, entry.get("folder", ""))


def _service(entry: Mapping[str, Any]) -> Service:
    if entry.get("url"):
        return Service(url=entry["url"])
    return Service(
        image=entry["image"],
        build=entry.get("built_as") or entry["image"].rpartition("/")[2],
        base=entry["base_image"],
        framework=entry["framework"],
        settings=entry.get("settings") or "",
        concurrent=entry["concurrent"],
        routes=tuple(entry["routes"]),
    )


def step_of(data: Mapping[str, Any]) -> Step:
    """The Step in an object of `as_json`; MessageError if it is malformed."""
    step = message(Step, data)
    return replace(step, events={name: _event_script(event) for name, event in step.events.items()})


def _event_script(data: Any) -> EventScript:
    script = message(EventScript, data)
    return replace(script, actions=tuple(message(Action, one) for one in script.actions))


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
    """`data` as a dataclass; MessageError if it is malformed. Lists become tuples; keys without a field are ignored."""
    if not isinstance(data, Mapping):
        raise MessageError(f"{kind.__name__}: {data!r} is not an object")
    known = {one.name for one in fields(cast(Any, kind))}
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in data.items() if key in known
    }
    try:
        return kind(**values)
    except TypeError as error:
        raise MessageError(f"{kind.__name__}: {error}") from error
