"""What driver and planner tell each other: three files in the folder of a run, each of one type, JSON with a version.

`host.json`   the run: which services, images, dependencies (the planner writes it, the driver reads it)
`step.json`   what is to be measured next: its part `host` is the driver's, the loads are the load generator's
`finished.json`   what became of that, as the host saw it (the driver writes it, the planner reads it)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

HOST, STEP, FINISHED = "host.json", "step.json", "finished.json"
SCHEMA = 1

Message = TypeVar("Message", "Service", "OwnApp", "Host", "Step", "Finished")


class MessageError(Exception):
    """A file that is not what it should be."""


@dataclass(frozen=True)
class Service:
    """A service under test. `build` is the Compose service that its image is built as; `url` is set where the server
    already runs and is no container of ours.
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
    """A run, as far as the host has to know it. `source_images` go with the run."""

    services: Mapping[str, Service]
    dependencies: tuple[str, ...]
    source_images: tuple[str, ...] = ()
    own_app: OwnApp | None = None

    @property
    def containers(self) -> tuple[str, ...]:
        """The services that are containers of ours."""
        return tuple(name for name, service in self.services.items() if service.url is None)

    @property
    def targets(self) -> tuple[str, ...]:
        """The services that already run."""
        return tuple(name for name, service in self.services.items() if service.url is not None)


@dataclass(frozen=True)
class Step:
    """One step: services in turns, or one alone (`mode`: turns, solo or null). `dir` is below the run's folder.

    `host_network`: the load comes from the host's network. `knee`: it needs the knees that were found before. `clients`
    names the shares of several load generators.
    """

    id: str
    mode: str
    dir: str
    services: tuple[str, ...]
    host_network: bool = False
    knee: bool = False
    clients: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finished:
    """What the host saw of a step. Times are in ns since the epoch; `statuses` are exit statuses by what was done:
    `start`, and `prepare`, `run` of one alone or `ready`, `load` of services in turns; what was not reached has none.

    `alive`: whether the container of one alone still ran after its load. `ended`: services in turns whose container
    ended. `ended_dependencies`: what all services need and has ended meanwhile. `unreached`: services that answered on
    their own machine and not to the load generator's. `node`: where the services were, of a run on several machines.
    """

    id: str
    begin_ns: int
    end_ns: int
    statuses: Mapping[str, int] = field(default_factory=dict)
    image_id: str = ""
    started_ns: int | None = None
    loaded_ns: int | None = None
    alive: bool | None = None
    ended: tuple[str, ...] = ()
    ended_dependencies: tuple[str, ...] = ()
    unreached: tuple[str, ...] = ()
    node: str = ""

    def status(self, what: str) -> int:
        """A part that was not reached failed in no other way than the one before it."""
        return self.statuses.get(what, 0)


def as_json(message: Any) -> dict[str, Any]:
    """A message as JSON has it."""
    return {"schema": SCHEMA, **asdict(message)}


def host_of(data: Mapping[str, Any]) -> Host:
    """From what `as_json` made; MessageError where it is something else."""
    host = _message(Host, data)
    services = {name: _message(Service, facts) for name, facts in host.services.items()}
    own = data.get("own_app")
    return Host(services, host.dependencies, host.source_images, _message(OwnApp, own) if own else None)


def step_of(data: Mapping[str, Any]) -> Step:
    """From what `as_json` made; MessageError where it is something else."""
    return _message(Step, data)


def finished_of(data: Mapping[str, Any]) -> Finished:
    """From what `as_json` made; MessageError where it is something else."""
    return _message(Finished, data)


def read(path: Path) -> Mapping[str, Any] | None:
    """The object in a file; None where there is no such file, MessageError where it is of another version."""
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
