"""Writes the files of a step: RUN/step.json and RUN/step.jsonl.

step.json has a part for the driver, and the loads for the load generator; step.jsonl has the step's lines of the plan.
"""

from __future__ import annotations

import glob
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from bench.core.errors import UserError
from bench.core.files import write_file
from bench.load.task import FILE as STEP
from bench.load.task import StepLoad, StepLoads, write_loads
from bench.plan.events.event import Event, as_dict
from bench.plan.measurement import Measurement
from bench.run.folder import read_addresses
from bench.schedule.steps import Step
from driver.messages import Doings, as_json
from driver.messages import Step as HostStep

LINES = "step.jsonl"
FILES = (STEP, LINES)
"""All files of a step under way."""
GRACE_S = 10
"""Seconds that a load tool may take beyond its duration and timeout."""
COUNT_DEADLINE_S = 600
"""Seconds that a load with a fixed number of requests may take."""
ENDLESS_S = 3600
"""The duration with which a tool in turns is started; it is stopped after its last turn."""
PORT = 8080
NAMES: Mapping[str, str] = MappingProxyType({})
"""The addresses of a run whose services are all reached by name."""


def write_step(run: Path, step: Step, at: Path | None = None, ceiling: float | None = None) -> None:
    """Write a step's files to RUN or to its lane's folder `at`; knees are searched up to `ceiling` requests/s."""
    at = at or run
    loads = loads_of(run, step)
    loads = replace(loads, loads={name: replace(one, knee_ceiling=ceiling) for name, one in loads.loads.items()})
    _remove_earlier(run, step)
    write_file(at / LINES, "".join(f"{line.to_line()}\n" for line in step.lines))
    write_loads(at, loads, as_json(host_step(step)))


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
        events={line.container: doings_of(line.event) for line in step.lines if line.event},
    )


def doings_of(event: Event) -> Doings:
    """What the driver does during an event's load."""
    return Doings(
        event.actions,
        event.until,
        event.settle_s,
        event.seconds,
        event.environment,
        event.watches,
        event.repeats,
        2 if event.proxy else 1,
    )


def loads_of(run: Path, step: Step) -> StepLoads:
    """The loads of a step."""
    addresses = read_addresses(run)
    return StepLoads({line.id: load_of(line, addresses) for line in step.lines})


def load_of(planned: Measurement, addresses: Mapping[str, str] = NAMES) -> StepLoad:
    """The load of a measurement; `addresses` has the services that are not reached by name."""
    service, timeout_s, event = planned.service, planned.timeout_s, planned.event
    if timeout_s is None:
        raise UserError(f"{planned.id} of the plan has no timeout_s")
    duration_s = ENDLESS_S if planned.held else planned.duration_s
    return StepLoad(
        id=planned.id,
        service=service,
        dir=planned.dir,
        url=(planned.url or f"http://{addresses.get(service, f'{planned.container}:{PORT}')}") + planned.path,
        method=planned.method,
        body=planned.body,
        requests=planned.requests,
        targets=planned.targets,
        tool=planned.tool,
        connections=planned.connections,
        count=planned.count,
        rate=planned.rate,
        duration_s=duration_s,
        timeout_s=timeout_s,
        threads=planned.threads,
        warmup_s=planned.warmup_s,
        keepalive=planned.keepalive,
        deadline_s=duration_s + timeout_s + GRACE_S if duration_s else COUNT_DEADLINE_S,
        knee_p99_s=planned.knee_p99_s,
        knee_share=planned.knee_share,
        event=as_dict(event) if event else None,
        container="" if planned.copy == 1 else planned.container,
        after_s=event.apart_s * (planned.slot - 1) if event and planned.slot else 0.0,
    )
