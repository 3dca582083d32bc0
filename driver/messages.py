"""Messages between driver and planner: three JSON files in the run's folder, each with a type and a version.

`host.json`   the run: which services, images, dependencies (the planner writes it, the driver reads it)
`step.json`   what to measure next: its part `host` is for the driver, the loads are for the load generator
`finished.json`   how that went, as the host saw it (the driver writes it, the planner reads it)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

HOST, STEP, FINISHED = "host.json", "step.json", "finished.json"
BEGUN, ENOUGH, GONE = ".begun", ".enough", "gone"
"""In the folder of an event's measurement. The load generator writes when its first request is due, in ns of the
monotonic clock and since the epoch; the driver writes that the event is over, so that the load may end
once all is answered again; or GONE, of a service that has ended and will not come back.
"""
PROXY_ASKED, PROXY_TOLD = ".proxy-asked", ".proxy-told"
"""There too, of a service behind a proxy: `TIME VERB ADDRESS`, from the driver, and the same once it is done. Verbs:
`out` and `back`, whether the container gets requests; `answers`, until it does.
"""
SCHEMA = 1

Message = TypeVar("Message", "Service", "OwnApp", "Host", "Step", "Finished", "Action", "Doings")


class MessageError(Exception):
    """A file that is not what it should be."""


@dataclass(frozen=True)
class Service:
    """A service under test. `build`: the Compose service that builds its image. `url`: of a server that already runs,
    outside this project's containers.
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
    """A user's own app: `variables` are the names in its environment file."""

    app: str
    folder: str
    env_file: str = ""
    before: str = ""
    variables: tuple[str, ...] = ()


@dataclass(frozen=True)
class Host:
    """What the host has to know of a run. `source_images` are removed with the run."""

    services: Mapping[str, Service]
    dependencies: tuple[str, ...]
    source_images: tuple[str, ...] = ()
    own_app: OwnApp | None = None

    @property
    def containers(self) -> tuple[str, ...]:
        """The services that this project starts."""
        return tuple(name for name, service in self.services.items() if service.url is None)

    @property
    def targets(self) -> tuple[str, ...]:
        """The services that already run."""
        return tuple(name for name, service in self.services.items() if service.url is not None)


@dataclass(frozen=True)
class Action:
    """What is done to a service `at_s` seconds after the first request of its load was due.

    `do`: `signal`, to the `main` process or to one `worker`; `stop`, as Docker stops a container; or `swap`: container
    `to` (1 or 2) is stopped, started again and waited for, having been out of its proxy for `wait_s` before. To the
    `database` or the `upstream`: `stop` and `start`, `pause` and `unpause`; `lock` and `unlock` a table.
    """

    at_s: float
    do: str
    signal: str = ""
    to: str = ""
    wait_s: float = 0.0


@dataclass(frozen=True)
class Doings:
    """What happens to the service of a step while it is loaded, and what its container is given for it.

    The load ends `settle_s` after `until` was seen: its workers are `swapped` or `restored`, it has `ended`, or its
    containers are `rolled`. Where the last action `repeats`, it is done so often, each time that `until` was seen.
    `watches`: what is counted meanwhile, `connections` to the database. `containers`: how many it has.
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

    `dir` and `folders` (those of its measurements) are below the run's folder. `held`: the loads are stopped for each
    other's turns; else it is one service alone, or each is under an event. `host_network`: the load generator is on the
    host's network. `knee`: the step needs knees found in earlier steps. `clients`: the names of the shares of several
    load generators. `events`: what happens to each service meanwhile.
    """

    id: str
    dir: str
    services: tuple[str, ...]
    folders: tuple[str, ...]
    held: bool = False
    host_network: bool = False
    knee: bool = False
    clients: tuple[str, ...] = ()
    events: Mapping[str, Doings] = field(default_factory=dict)


@dataclass(frozen=True)
class Finished:
    """What the host saw of a step. Times are in ns since the epoch.

    `statuses`: exit statuses of the parts that were reached: `start`, `prepare` and `run`. `image_ids` and `started_ns`
    are of the containers that started, by service; `ended` has those that ended. `ended_dependencies`: dependencies
    that ended during the step. `unreached`: services that answered on their own machine but not to the load
    generator's. `node`: the machine of the services, of a run on several.
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

    def status(self, what: str) -> int:
        """The exit status of a part; 0 if it was not reached, as an earlier part has failed."""
        return self.statuses.get(what, 0)


def as_json(message: Any) -> dict[str, Any]:
    """A message as a JSON object."""
    return {"schema": SCHEMA, **asdict(message)}


def host_of(data: Mapping[str, Any]) -> Host:
    """From what `as_json` made; MessageError where it is something else."""
    host = _message(Host, data)
    services = {name: _message(Service, facts) for name, facts in host.services.items()}
    own = data.get("own_app")
    return Host(services, host.dependencies, host.source_images, _message(OwnApp, own) if own else None)


def step_of(data: Mapping[str, Any]) -> Step:
    """From what `as_json` made; MessageError where it is something else."""
    step = _message(Step, data)
    return replace(step, events={name: _doings(event) for name, event in step.events.items()})


def _doings(data: Any) -> Doings:
    doings = _message(Doings, data)
    return replace(doings, actions=tuple(_message(Action, one) for one in doings.actions))


def finished_of(data: Mapping[str, Any]) -> Finished:
    """From what `as_json` made; MessageError where it is something else."""
    return _message(Finished, data)


def read(path: Path) -> Mapping[str, Any] | None:
    """The object in a file; None if there is no file, MessageError if its version differs."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise MessageError(f"{path} cannot be read: {error}") from error
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise MessageError(f"{path} is of another version: start a new run")
    return data


def _message(kind: type[Message], data: Any) -> Message:
    if not isinstance(data, Mapping):
        raise MessageError(f"{kind.__name__}: {data!r} is no object")
    known = {one.name for one in fields(kind)}
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in data.items() if key in known
    }
    try:
        return kind(**values)
    except TypeError as error:
        raise MessageError(f"{kind.__name__}: {error}") from error
