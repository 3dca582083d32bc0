"""Writes the file of a step, RUN/step.json: a part for the driver, and the loads for the load generator."""

from __future__ import annotations

import glob
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from bench.load.task import StepLoad, write_loads
from bench.plan.event import Event
from bench.plan.measurement import Measurement
from bench.run.folder import read_addresses
from bench.schedule.steps import Step
from driver.messages import EventScript, as_json
from driver.messages import Step as HostStep

PORT = 8080
NAMES: Mapping[str, str] = MappingProxyType({})
"""The addresses of a run whose services are all reached by name."""


def write_step(run: Path, step: Step, at: Path | None = None, ceiling: float | None = None) -> None:
    """Write a step to RUN or to its lane's folder `at`; knees are searched up to `ceiling` requests/s."""
    addresses = read_addresses(run)
    _remove_earlier(run, step)
    loads = {line.id: load_of(line, addresses, ceiling) for line in step.lines}
    write_loads(at or run, loads, as_json(host_step(step)))


def _remove_earlier(run: Path, step: Step) -> None:
    """Remove the files of an earlier try, which must not be taken for this one's."""
    for line in step.lines:
        shutil.rmtree(run / line.dir, ignore_errors=True)
    for name in step.containers:
        for file in (run / step.dir / "services").glob(f"{glob.escape(name)}.*"):
            file.unlink()


def host_step(step: Step) -> HostStep:
    """The driver's part of a step."""
    return HostStep(
        id=step.id,
        dir=step.dir,
        services=step.containers,
        copies={line.container: line.service for line in step.lines if line.container != line.service},
        folders=tuple(line.dir for line in step.lines),
        held=step.held,
        host_network=step.first.host_network,
        knee=any(line.knee_p99_s is not None for line in step.lines),
        events={line.container: script_of(line.event) for line in step.lines if line.event},
    )


def script_of(event: Event) -> EventScript:
    """What the driver does during an event's load."""
    return EventScript(
        event.actions,
        event.until,
        event.settle_s,
        event.seconds,
        event.environment,
        event.watches,
        event.repeats,
        2 if event.proxy else 1,
    )


def load_of(planned: Measurement, addresses: Mapping[str, str] = NAMES, ceiling: float | None = None) -> StepLoad:
    """The load of a measurement; `addresses` has the services that are not reached by name."""
    at = addresses.get(planned.service, f"{planned.container}:{PORT}")
    return StepLoad(planned=planned, url=(planned.url or f"http://{at}") + planned.path, knee_ceiling=ceiling)
