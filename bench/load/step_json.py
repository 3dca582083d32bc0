"""step.json: the loads of a step, and what the driver has to know of it. `bench next` writes it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from bench.core.files import as_object, items, mapping, read_bytes, write_file
from bench.load.failed import WRONG_USAGE, Failed

FILE, SCHEMA = "step.json", 1
ONLY = "solo"
"""The name of the load of a solo step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLoad:
    """One load. Times are in seconds, `rate` is in requests/s; None: not set by the plan.

    `dir` and `requests` are relative to the run's folder. The tool is killed `deadline_s` after its start.
    """

    id: str
    dir: str
    url: str
    method: str
    body: str | None
    requests: str | None
    targets: int | None
    tool: str
    connections: int | None
    count: int | None
    rate: float | None
    duration_s: float | None
    timeout_s: float
    threads: int
    warmup_s: float
    keepalive: bool
    deadline_s: float
    knee_p99_s: float | None
    knee_share: float | None


@dataclass(frozen=True, slots=True)
class StepLoads:
    """The loads of a step by name: `solo`, or the ids of windows in turns. `clients` names the shares of several load
    generators, in their order.
    """

    loads: Mapping[str, StepLoad]
    clients: tuple[str, ...] = ()


_FITS: Mapping[str, Callable[[Any], bool]] = {
    "str": lambda value: isinstance(value, str),
    "int": lambda value: type(value) is int,
    "float": lambda value: type(value) in (int, float),
    "bool": lambda value: isinstance(value, bool),
    "None": lambda value: value is None,
}


def write_loads(folder: Path, step: StepLoads, host: Mapping[str, Any]) -> None:
    """Write step.json in the folder of a run or a lane; `host` is the driver's part of it."""
    loads = {name: asdict(load) for name, load in step.loads.items()}
    write_file(
        folder / FILE, json.dumps({"schema": SCHEMA, "host": host, "clients": step.clients, "loads": loads}) + "\n"
    )


def read_loads(folder: str) -> StepLoads:
    """The loads in a folder's step.json; Failed if the file is missing or incomplete."""
    file = f"{folder}/{FILE}"
    if (data := read_bytes(file)) is None:
        raise Failed(WRONG_USAGE, f"no readable step file at {file}")
    step = as_object(data) or {}
    if step.get("schema") != SCHEMA:
        raise Failed(WRONG_USAGE, f"{file} is no step of schema {SCHEMA}")
    loads = {name: _load(file, name, load) for name, load in mapping(step.get("loads")).items()}
    return StepLoads(loads, tuple(map(str, items(step.get("clients")))))


def read_load(folder: str, name: str = ONLY) -> StepLoad:
    """One load by name; Failed if there is none."""
    loads = read_loads(folder).loads
    if name not in loads:
        raise Failed(WRONG_USAGE, f"{folder}/{FILE} has no load {name}")
    return loads[name]


def _load(file: str, name: str, values: Mapping[str, Any]) -> StepLoad:
    for field in fields(StepLoad):
        if field.name not in values:
            raise Failed(WRONG_USAGE, f"{file} has no {field.name} in load {name}")
        if not any(_FITS[kind](values[field.name]) for kind in str(field.type).split(" | ")):
            raise Failed(WRONG_USAGE, f"{file} has {values[field.name]!r} as {field.name} in load {name}")
    return StepLoad(**{field.name: values[field.name] for field in fields(StepLoad)})
