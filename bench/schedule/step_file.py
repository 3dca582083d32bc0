"""Writes the files of a step: RUN/step.json and RUN/step.jsonl.

step.json has a part for the driver, and the loads for the load generator; step.jsonl has the step's lines of the plan.
"""

from __future__ import annotations

import glob
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bench.core.errors import UserError
from bench.core.files import write_file
from bench.load.task import FILE as STEP
from bench.load.task import StepLoad, StepLoads, write_loads
from bench.plan.events.event import Event, event_of
from bench.plan.measurement import measurement_of, shares
from bench.run.folder import read_addresses
from bench.schedule.steps import Step, container_of
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

PlanLine = Mapping[str, Any]


def write_step(run: Path, lines: Sequence[PlanLine], at: Path | None = None, ceiling: float | None = None) -> None:
    """Write a step's files to RUN or to its lane's folder `at`; knees are searched up to `ceiling` requests/s."""
    at = at or run
    host, loads = host_step(lines), loads_of(run, lines)
    loads = replace(loads, loads={name: replace(one, knee_ceiling=ceiling) for name, one in loads.loads.items()})
    _remove_earlier(run, Step(tuple(lines)))
    write_file(at / LINES, "".join(json.dumps(line) + "\n" for line in lines))
    write_loads(at, loads, as_json(host))


def _remove_earlier(run: Path, step: Step) -> None:
    """Remove the files of an earlier try, which must not be taken for this one's."""
    for line in step.lines:
        shutil.rmtree(run / line["dir"], ignore_errors=True)
    for name in step.containers:
        for file in (run / step.dir / "services").glob(f"{glob.escape(name)}.*"):
            file.unlink()


def host_step(lines: Sequence[PlanLine]) -> HostStep:
    """The driver's part of a step, from its lines of the plan."""
    first, step = lines[0], Step(tuple(lines))
    if len({line["id"] for line in lines}) != len(lines) or len(set(map(_unit, lines))) != 1:
        raise UserError(f"the plan's lines of {first['id']} are not one step")
    return HostStep(
        id=step.id,
        dir=step.dir,
        services=step.containers,
        copies={container_of(line): line["service"] for line in lines if container_of(line) != line["service"]},
        folders=tuple(line["dir"] for line in lines),
        held=step.held,
        host_network=bool(first.get("host_network")),
        knee=any(line.get("knee_p99_s") is not None for line in lines),
        clients=tuple(client_names(first)),
        events={container_of(line): doings_of(event) for line in lines if (event := _event(line))},
    )


def _event(line: PlanLine) -> Event | None:
    """The event of a line, if any; UserError if the plan is from a version with other events."""
    try:
        return event_of(line["event"]) if line.get("event") else None
    except ValueError as problem:
        raise UserError(f"{line['id']} of the plan: {problem}; start a new run") from None


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


def _unit(line: PlanLine) -> Any:
    return line.get("unit", line["id"])


def loads_of(run: Path, lines: Sequence[PlanLine]) -> StepLoads:
    """The loads of a step, from its lines of the plan."""
    addresses, first = read_addresses(run), lines[0]
    names = [*(line["id"] for line in lines), *client_names(first)]
    all_lines = zip(names, (*lines, *_shares(first)), strict=True)
    loads = {name: load_of(line, addresses) for name, line in all_lines}
    return StepLoads(loads, tuple(client_names(first)))


def client_names(line: PlanLine) -> list[str]:
    """The names of the loads of several load generators; empty if there is only one."""
    return [f"client_{number}" for number in range(1, len(_shares(line)) + 1)]


def _shares(line: PlanLine) -> list[PlanLine]:
    if line.get("loadgens", 1) == 1:
        return []
    if isinstance(planned := measurement_of(line), str):
        raise UserError(f"{line['id']} of the plan: {planned}")
    return [share.as_dict() for share in shares(planned)]


def load_of(line: PlanLine, addresses: Mapping[str, str] = NAMES) -> StepLoad:
    """The load of a line of the plan; `addresses` has the services that are not reached by name."""
    service, timeout_s, event = line["service"], line.get("timeout_s"), _event(line)
    if timeout_s is None:
        raise UserError(f"{line['id']} of the plan has no timeout_s")
    duration_s = ENDLESS_S if line.get("mode") == "turns" else line.get("duration_s")
    load = StepLoad(
        id=line["id"],
        service=service,
        dir=line["dir"],
        url=(line.get("url") or f"http://{addresses.get(service, f'{container_of(line)}:{PORT}')}") + line["path"],
        method=line.get("method") or "GET",
        body=line.get("body"),
        requests=line.get("requests"),
        targets=line.get("targets"),
        tool=line["tool"],
        connections=line.get("connections"),
        count=line.get("count"),
        rate=line.get("rate"),
        duration_s=duration_s,
        timeout_s=timeout_s,
        threads=line.get("threads") or 1,
        warmup_s=line.get("warmup_s") or 0,
        keepalive=line.get("keepalive") is not False,
        deadline_s=duration_s + timeout_s + GRACE_S if duration_s else COUNT_DEADLINE_S,
        knee_p99_s=line.get("knee_p99_s"),
        knee_share=line.get("knee_share"),
        event=line.get("event"),
        container="" if container_of(line) == service else container_of(line),
        after_s=event.apart_s * (line["slot"] - 1) if event and line.get("slot") else 0.0,
    )
    for field in fields(load):
        if isinstance(value := getattr(load, field.name), str):
            _checked(value)
    return load


def _checked(value: str) -> str:
    """The text; UserError if a command line cannot contain it."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UserError(f"the plan holds {value!r}, which is not UTF-8") from error
    if "\0" in value:
        raise UserError(f"the plan holds {value!r}, and no command line can hold a NUL")
    return value
