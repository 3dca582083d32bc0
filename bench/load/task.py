"""A step in the load generator: step.json, which `bench next` writes, its loads, and the status of each service.

step.json has the driver's part of the step (driver/messages.py), and for the load generator the step's lines of the
plan, and what is only known when it begins.

A service's output and the exit status of its last verb are kept in the step's folder, in services/SERVICE.txt and
SERVICE.status, so that a failure only affects that service.
"""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from bench.core.files import as_object, items, mapping, read_bytes
from bench.load.failures import WRONG_USAGE, Failed, explained
from bench.plan.event import Event
from bench.plan.measurement import Measurement, read_measurement, step_folder
from bench.tools import SOCKETS, TOOLS
from bench.tools.tool import CannotError, Command, Load, Tool
from bench.tools.vegeta import CONNECTIONS

FILE, SCHEMA = "step.json", 1
T = TypeVar("T")


GRACE_S = 10
"""Seconds that a load tool may take beyond its duration and timeout."""
COUNT_DEADLINE_S = 600
"""Seconds that a load with a fixed number of requests may take."""
ENDLESS_S = 3600
"""The duration with which a tool in turns is started; it is stopped after its last turn."""
LONGEST_S = 15.0
"""The timeout if the plan has none."""
PORT = 8080
"""The port of every container."""
NAMES: Mapping[str, str] = MappingProxyType({})
"""The addresses of a run whose services are all reached by name."""


UNEXPECTED = 1
"""The exit status of an unexpected failure."""
_NUMBER = re.compile(r"\d+(\.\d+)?\Z", re.ASCII)

BODY = "request-body"
Say = Callable[[str], None]
"""Called with each line of output."""


@dataclass(frozen=True, slots=True)
class Task:
    """A measurement's load; its files go to `folder`, and the tool is killed after `deadline_s` seconds.

    A search for a knee replaces load, folder and deadline. It goes up to `knee_ceiling` requests/s: above that, the
    tool's own p99 is too near the limit.
    """

    planned: Measurement
    tool: Tool
    load: Load
    folder: Path
    deadline_s: float
    knee_ceiling: float | None = None

    @property
    def event(self) -> Event:
        """The event during the load; Failed if there is none."""
        if self.planned.event is None:
            raise Failed(WRONG_USAGE, f"{self.planned.id} has no event")
        return self.planned.event

    def command(self) -> Command:
        """The tool's command line; Failed if it cannot generate the load."""
        return command_of(self.tool, self.load)

    def write_body(self) -> None:
        """Write the body of the contract's request to a file, from which tools read it."""
        if body := self.load.exchange.body:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / BODY).write_bytes(body.encode())


def task_of(
    run: str, planned: Measurement, addresses: Mapping[str, str] = NAMES, knee_ceiling: float | None = None
) -> Task:
    """The load of a measurement of a run; `addresses` has the services that are not reached by name."""
    tool = SOCKETS if planned.event else TOOLS.get(planned.tool)
    if tool is None:
        raise Failed(WRONG_USAGE, f"unknown tool '{planned.tool}' in {run}/{FILE}")
    at = addresses.get(planned.service, f"{planned.container}:{PORT}")
    load = Load(
        exchange=planned.exchange,
        at=planned.url.partition("://")[2] if planned.url else at,
        **_content(run, planned),
        connections=planned.connections,
        count=planned.count,
        rate=planned.rate,
        duration_s=ENDLESS_S if planned.stopped else planned.duration_s,
        timeout_s=planned.timeout_s or LONGEST_S,
        threads=planned.threads,
        keepalive=planned.keepalive,
        # At a share of what a table's connections reach, no more are in use at once, on average.
        most_connections=max(CONNECTIONS, planned.table.level.connections or 0) if planned.share_of else None,
        latency_s=planned.knee_p99_s or 0.0,
    )
    return Task(planned, tool, load, Path(f"{run}/{planned.dir}"), deadline_of(load), knee_ceiling)


def _content(run: str, planned: Measurement) -> dict[str, Any]:
    """Headers and body of the request; for a user's own app, those of its folder of requests."""
    body = f"{run}/{planned.dir}/{BODY}" if planned.exchange.body else None
    if not planned.requests:
        return {"headers": ("Content-Type: application/json",) * bool(body), "body_file": body}
    requests = f"{run}/{planned.requests}"
    headers = tuple(line.strip() for line in Path(requests, "headers").read_text().splitlines())
    body = first if os.path.exists(first := f"{requests}/body-1") else body
    return {"headers": headers, "body_file": body, "requests": requests}


def deadline_of(load: Load) -> float:
    """When the load's tool is killed, in seconds from its start."""
    # An open loop also waits for the requests that open its connections, and for those that settle the service.
    waits_s = (3 if load.open_loop else 1) * load.timeout_s
    return load.duration_s + waits_s + GRACE_S if load.duration_s else COUNT_DEADLINE_S


def command_of(tool: Tool, load: Load) -> Command:
    """The command line of a tool; Failed if it cannot generate the load."""
    if refused := tool.refusal(load):
        raise Failed(WRONG_USAGE, refused)
    try:
        return tool.command(load)
    except CannotError as error:
        raise Failed(WRONG_USAGE, f"{tool.name} cannot {error}") from error


def pinned(load: Load) -> Load:
    """The load with the host's name replaced by its address.

    A tool that resolves the name for each connection, as hey does, would load Docker's daemon, which is the resolver.
    A name that does not resolve is kept, so that the tool reports the error; so is that of a server with TLS, which may
    need it to choose its certificate and site.
    """
    if load.exchange.encrypted:
        return load
    try:
        done = subprocess.run(["getent", "ahostsv4", load.peer[0]], capture_output=True, check=False)
    except OSError:
        return load
    address = done.stdout.decode(errors="replace").partition("\n")[0].partition(" ")[0]
    return at_address(load, address) if address else load


def at_address(load: Load, address: str) -> Load:
    """The load with this address instead of the host's name."""
    return replace(load, at=f"{address}:{load.peer[1]}")


@dataclass(frozen=True, slots=True)
class Step:
    """The step in RUN/step.json: its measurements by id, and what `task_of` needs besides them."""

    run: Path
    planned: Mapping[str, Measurement]
    addresses: Mapping[str, str] = NAMES
    knee_ceiling: float | None = None

    def task(self, name: str = "") -> Task:
        """A load by its measurement's id, by default the first; Failed if there is none."""
        name = name or next(iter(self.planned), "")
        if name not in self.planned:
            raise Failed(WRONG_USAGE, f"{self.run}/{FILE} has no load {name}")
        return task_of(str(self.run), self.planned[name], self.addresses, self.knee_ceiling)

    @property
    def services(self) -> Path:
        """The folder with the output and status of each service."""
        first = next(iter(self.planned.values()))
        return self.run / step_folder(first.dir) / "services"

    def status(self, service: str) -> int:
        """The exit status of the service's last verb; unless 0, the service has failed and is not loaded again."""
        try:
            return int((self.services / f"{service}.status").read_text())
        except FileNotFoundError:
            return 0

    def note(self, service: str, status: int, *said: str) -> None:
        """Save a service's exit status and add to its output."""
        # On a full disk, report the original failure, not this one.
        with suppress(OSError):
            self.services.mkdir(parents=True, exist_ok=True)
            with (self.services / f"{service}.txt").open("a", errors="backslashreplace") as file:
                file.writelines(f"{line}\n" for line in said)
            (self.services / f"{service}.status").write_text(f"{status}\n")

    def said(self, service: str) -> dict[str, float]:
        """The last value of each kind of line in a service's output: `answer SECONDS`, `warmed RESPONSES`."""
        text = (self.services / f"{service}.txt").read_text(errors="replace")
        words = (line.split() for line in text.splitlines())
        return {pair[0]: float(pair[1]) for pair in words if len(pair) == 2 and _NUMBER.match(pair[1])}

    @contextmanager
    def noted(self, service: str) -> Iterator[Say]:
        """Save a service's output in this context, and the exit status at its end."""
        said = list[str]()
        try:
            yield said.append
        except Exception as error:
            status = error.status if isinstance(error, Failed) else UNEXPECTED
            self.note(service, status, *said, f"measure: {explained(error)}")
            raise
        self.note(service, 0, *said)

    def of_each(self, measurements: Iterable[Measurement], act: Callable[[Task, Say], object]) -> None:
        """Call `act` for all of them at the same time; keep the output and the exit status for each service."""

        def do(measurement: Measurement) -> None:
            # A failure only affects its own service.
            with suppress(Exception), self.noted(measurement.container) as say:
                act(self.task(measurement.id), say)

        at_once(do, measurements)


def read_step(folder: str) -> Step:
    """Read the step.json in the folder of a run or a lane; Failed if it is missing or incomplete."""
    file = f"{folder}/{FILE}"
    if (data := read_bytes(file)) is None:
        raise Failed(WRONG_USAGE, f"no readable step file at {file}")
    step = as_object(data) or {}
    if step.get("schema") != SCHEMA:
        raise Failed(WRONG_USAGE, f"{file} is not a step of schema {SCHEMA}")
    try:
        planned = [read_measurement(line, f"planned[{n}]") for n, line in enumerate(items(step.get("planned")))]
    except ValueError as problem:
        raise Failed(WRONG_USAGE, f"{file}: {problem}; start a new run") from None
    if without := next((measurement.id for measurement in planned if measurement.timeout_s is None), ""):
        raise Failed(WRONG_USAGE, f"{file}: {without} of the plan has no timeout_s; start a new run")
    measurements = {measurement.id: measurement for measurement in planned}
    return Step(Path(folder), measurements, mapping(step.get("addresses")), step.get("knee_ceiling"))


def at_once(do: Callable[[T], object], several: Iterable[T]) -> None:
    """Call `do` for each of them at the same time, and wait for all."""
    threads = [threading.Thread(target=do, args=(one,), daemon=True) for one in several]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
