"""Reads a results folder into typed values.

Files that are missing, truncated or malformed never raise; the result says what is wrong. Only folders that are not
results folders, or of an unsupported schema, are refused.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.core.errors import UserError
from bench.core.files import as_json, as_object, items, mapping, need_no_links, read_bytes
from bench.matrix.start_command import StartCommand
from bench.own_app.compose_file import PREFIX as OWN_SERVICE
from bench.plan.measurement import Measurement, measurement_of, shortened
from bench.plan.running import NO_CONTAINER, NO_COUNTERS
from bench.run.common_rates import path_of
from bench.run.facts import RunFacts, run_facts_of
from bench.run.raw_files import changed_plan, changes, read_files, states_of
from bench.run.retries import SPOILED
from bench.tools import tool_of

RUNNING_ANSWERS = "answers.json"
"""The expected answers of a server that is already running; only such servers have this file."""
NO_JIT = "no JIT"
SOURCES, COMMAND = "sources.json", "command.json"
"""The text of start scripts and apps, by path; missing in earlier runs."""
Ends = tuple[Mapping[str, str], Mapping[str, str]]
"""A container's counters (before, after) a window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """The raw files of a measurement; `meta`, `tool`, `lag` and `knee` are None if missing or malformed (`faults`)."""

    started: bool
    meta: Mapping[str, Any] | None
    tool: Mapping[str, Any] | None
    output: bytes | None
    output_file: str
    before: Mapping[str, str]
    after: Mapping[str, str]
    faults: tuple[str, ...]
    changes: tuple[str, ...] = ()
    """Changes to the files since the measurement."""
    database: Ends = ({}, {})
    upstream: Ends = ({}, {})
    own_services: Mapping[str, Ends] = field(default_factory=dict)
    """The counters of the Compose services that belong to a user's own app, by name."""
    lag: Mapping[str, Any] | None = None
    knee: Mapping[str, Any] | None = None
    common_rates: Mapping[str, Any] | None = None
    """For a load at a common rate, the decision for its table."""

    @property
    def sha256(self) -> str | None:
        """The hash of the raw output."""
        return None if self.output is None else hashlib.sha256(self.output).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceFacts:
    """Facts about one service. `missing` has the reason for each that is None; `packages` maps names to versions."""

    name: str
    image_id: str | None = None
    base_label: str | None = None
    python_build: str | None = None
    jit: str | None = None
    packages: Mapping[str, str] = field(default_factory=dict)
    dependencies_as_of: str = ""
    """The day whose package index had the dependencies of `--package`; empty: they are those that the locks pin."""
    packages_file: str | None = None
    packages_sha256: str | None = None
    limits: Mapping[str, str] | None = None
    failure: tuple[str, str] | None = None
    missing: Mapping[str, str] = field(default_factory=dict)
    image_bytes: int | None = None
    layers: tuple[str, ...] = ()
    """The layers of its image."""
    idle: Mapping[str, str] = field(default_factory=dict)
    """The container's counters when the service was ready and idle."""
    folder_bytes: int = 0
    """What the folder of a user's own app has of its memory."""
    start_s: float | None = None
    """Seconds from the container's start to the first answer, with nothing else running (only for a user's own app)."""
    command: StartCommand | None = None
    """The start command; an earlier run has neither this nor a reason in `missing`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A results folder: what run.json says, the planned measurements in order, and faults in these files."""

    path: str
    facts: RunFacts
    settings_sha256: str
    planned: tuple[Measurement, ...]
    faults: tuple[str, ...]
    changed: tuple[str, ...] = ()
    """Files of the plan that were changed since the run was planned."""
    measured_again: int = 0
    """Number of windows measured again because of noise; their first results are in DIR.spoiled-N."""


CHANGED_PARTS = "changed-parts.txt"
"""The parts of the project that changed while the run was measured, one per line; missing if none did."""
SCHEMA = 1
"""Schema version of run.json and the files beside it."""
NEWER = "use the commit that it was measured with (harness.commit in run.json)"
DEPTH = 7
"""The parts of a path raw/rNN/STEP/SCENARIO/TOOL-LEVEL/wWINDOW/SERVICE; earlier versions had other folders."""


def read_run(path: str) -> Run:
    """Read run.json and plan.jsonl; UserError if `path` is not a results folder, or one that is not supported."""
    if not Path(path).is_dir():
        raise UserError(f"'{path}' is not a folder; choose one of: ls results/")
    need_no_links(Path(path))
    settings, plan = read_bytes(f"{path}/run.json"), read_bytes(f"{path}/plan.jsonl")
    if settings is None or plan is None:
        missing = "run.json" if settings is None else "plan.jsonl"
        raise UserError(f"'{path}' is not a results folder: it has no {missing}; choose one of: ls results/")
    faults = []
    content = as_object(settings)
    if content is None:
        faults.append("run.json: not a JSON object; only plan.jsonl says what was run")
    elif type(schema := content.get("schema", SCHEMA)) is not int or schema != SCHEMA:
        other = f"schema {shortened(schema)}, this version reads {SCHEMA}"
        raise UserError(f"{Path(path).name}/run.json is of {other}: {NEWER}")
    changed = tuple(changed_plan(path, content or {}))
    edited = "is not what the run was planned with: its sha256 is not the one in run.json"
    faults += [f"{name} {edited}" for name in changed]
    if parts := (read_bytes(f"{path}/{CHANGED_PARTS}") or b"").decode(errors="replace").split():
        meanwhile = "of the project changed while this run was measured: its figures may be of two versions"
        faults.append(f"{', '.join(parts)} {meanwhile}")
    planned: dict[str, Measurement] = {}
    for number, line in enumerate(plan.splitlines(), 1):
        if not line.strip():
            continue
        entry = measurement_of(as_object(line))
        if isinstance(entry, str):
            faults.append(f"plan.jsonl, line {number}: {entry}; its measurement is not in this report")
        elif planned.setdefault(entry.id, entry) is not entry:
            faults.append(f"plan.jsonl, line {number}: {entry.id} is planned twice; the first one counts")
    if any(len(one.dir.split("/")) != DEPTH for one in planned.values()):
        raise UserError(f"{Path(path).name} has the folders of an earlier version: {NEWER}")
    return Run(
        path=path,
        facts=run_facts_of(content),
        settings_sha256=hashlib.sha256(settings).hexdigest(),
        planned=tuple(planned.values()),
        faults=tuple(faults),
        changed=changed,
        measured_again=sum(1 for _ in Path(path).glob(f"raw/r*/**/*.{SPOILED}-*")),
    )


def read_raw(run: str, planned: Measurement) -> Raw:
    """The raw files of a measurement."""
    folder, files, name = f"{run}/{planned.dir}", read_files(run, planned), tool_of(planned.tool).output
    whose = {planned.container: "server", "postgres": "database"}
    ends = {one: _ends(f"{run}/{path}", whose.get(one, one)) for one, path in states_of(run, planned).items()}
    before, after = ends[planned.container]
    faults: list[str] = []
    meta = _object(read_bytes(f"{folder}/meta.json"), "meta.json", faults)
    tool = _object(files["tool.json"], "tool.json", faults)
    output = files[name]
    rates = read_bytes(f"{run}/{path_of(planned.table)}") if planned.share_of else None
    if meta is not None and meta.get("id") != planned.id:
        faults.append(f"meta.json belongs to measurement {shortened(meta.get('id'))}")
    return Raw(
        started=meta is not None or tool is not None or output is not None or os.path.isdir(folder),
        meta=meta,
        tool=tool,
        output=output,
        output_file=f"{planned.dir}/{name}",
        before=before,
        after=after,
        lag=_object(files.get("lag.json"), "lag.json", faults),
        knee=_object(files.get("knee.json"), "knee.json", faults) if planned.knee_p99_s else None,
        common_rates=_object(rates, "the table's common rates", faults),
        faults=tuple(faults),
        own_services={one: counters for one, counters in ends.items() if one.startswith(OWN_SERVICE)},
        changes=tuple(changes(files, meta)),
        database=ends["postgres"],
        upstream=ends["upstream"],
    )


def read_service(run: str, name: str) -> ServiceFacts:
    """The facts about a service in `raw/services/NAME`."""
    folder = f"raw/services/{name}"
    failed = read_bytes(f"{run}/{folder}/failure.json")
    failure = None if failed is None else _failure(as_object(failed))
    if os.path.exists(f"{run}/{folder}/{RUNNING_ANSWERS}"):
        return _already_running(name, failure)
    missing: dict[str, str] = {}
    inspected = read_bytes(f"{run}/{folder}/image.json")
    image_id, made, size, layers = _image(inspected)
    base_label = made or _pretty_name(read_bytes(f"{run}/{folder}/os-release.txt"))
    for fact, value in (("image_id", image_id), ("base_label", base_label)):
        if value is None:
            missing[fact] = f"{folder}/image.json " + ("is missing" if inspected is None else "does not say")
    build = read_bytes(f"{run}/{folder}/python.txt")
    python_build = " ".join(build.decode("utf-8", "replace").split()) if build else None
    jit = _jit(read_bytes(f"{run}/{folder}/jit.txt"))
    if python_build and jit:
        python_build += f", {jit}"
    if not python_build:
        missing["python_build"] = f"{folder}/python.txt is missing or empty"
    packages = read_bytes(f"{run}/{folder}/packages.txt")
    if packages is None:
        missing["packages_file"] = missing["packages_sha256"] = f"{folder}/packages.txt is missing"
    limits = None if (text := read_bytes(f"{run}/{folder}/limits.txt")) is None else counters_of(text)
    if not limits or "null" in limits:
        missing["limits"] = (limits or {}).get("null") or f"{folder}/limits.txt is missing or empty"
    command, unknown = _command(as_object(read_bytes(f"{run}/{folder}/{COMMAND}") or b""))
    missing |= {"command": unknown} if unknown else {}
    return ServiceFacts(
        name=name,
        command=command,
        image_id=image_id,
        base_label=base_label,
        python_build=python_build or None,
        jit=jit,
        packages=_packages(packages or b""),
        dependencies_as_of=_day(packages or b""),
        packages_file=None if packages is None else f"{folder}/packages.txt",
        packages_sha256=None if packages is None else hashlib.sha256(packages).hexdigest(),
        limits=None if "limits" in missing else limits,
        failure=failure,
        missing=missing,
        image_bytes=size,
        layers=layers,
        idle=_idle(run, name),
        folder_bytes=folder_bytes(run, name),
        start_s=_seconds_between(read_bytes(f"{run}/{folder}/started.txt")),
    )


def _idle(run: str, name: str) -> dict[str, str]:
    return counters_of(read_bytes(f"{run}/raw/services/{name}/idle.txt"), "idle service")


def folder_bytes(run: str, name: str) -> int:
    """What the folder of a user's own app, which is in memory, has of a service's memory; 0 for other services."""
    size = _idle(run, name).get("folder_bytes", "")
    return int(size) if size.isascii() and size.isdigit() and len(size) < 20 else 0


def _already_running(name: str, failure: tuple[str, str] | None) -> ServiceFacts:
    """The entry of a server that was already running, about which no facts are known."""
    facts = ("image_id", "base_label", "python_build", "packages_file", "packages_sha256", "limits")
    idle = {"null": NO_COUNTERS}
    return ServiceFacts(name=name, missing=dict.fromkeys(facts, NO_CONTAINER), idle=idle, failure=failure)


def _seconds_between(data: bytes | None) -> float | None:
    """The seconds between two times, given in ns on one line; None if malformed."""
    words = (data or b"").split()
    if len(words) != 2 or not all(word.isdigit() for word in words):
        return None
    return max(0, int(words[1]) - int(words[0])) / 1e9


def _object(data: bytes | None, name: str, faults: list[str]) -> dict[str, Any] | None:
    if data is None:
        return None
    if (value := as_object(data)) is None:
        faults.append(f"{name} is not a JSON object")
    return value


def _image(data: bytes | None) -> tuple[str | None, str | None, int | None, tuple[str, ...]]:
    """The id of an image, the label that says how its base was built locally, its size, and its layers.

    They are from the saved `docker image inspect`; None for facts that it lacks. Pulled bases have no such label.
    """
    value = as_json(data or b"null")
    image = mapping(value[0] if isinstance(value, list) and value else value)
    image_id, size = image.get("Id"), image.get("Size")
    label = mapping(mapping(image.get("Config")).get("Labels")).get("bench.base.made")
    layers = items(mapping(image.get("RootFS")).get("Layers"))
    return (
        image_id if isinstance(image_id, str) else None,
        label if isinstance(label, str) else None,
        size if isinstance(size, int) and not isinstance(size, bool) and 0 < size < 1 << 63 else None,
        tuple(map(str, layers)),
    )


def _pretty_name(data: bytes | None) -> str | None:
    """PRETTY_NAME of os-release; with it, a base that was built elsewhere is not mistaken for an official one."""
    found = re.search(rb"^PRETTY_NAME=(.*)$", data or b"", re.MULTILINE)
    return found[1].decode("utf-8", "replace").strip().strip("\"'") or None if found else None


def _ends(path: str, whose: str) -> Ends:
    before, after = (counters_of(read_bytes(f"{path}.{when}"), whose) for when in ("before", "after"))
    return before, after


def counters_of(data: bytes | None, whose: str = "server") -> dict[str, str]:
    """The `key value` lines of a counters file; if there are no counters, the key `null` has the reason."""
    if data is None:
        return {"null": f"the {whose}'s counters were not saved"}
    pairs = (line.partition(" ") for line in data.decode("utf-8", "replace").splitlines())
    return {key: value.strip() for key, _, value in pairs if key}


def _jit(data: bytes | None) -> str | None:
    """The state of CPython's JIT as its interpreter reports it; None if unknown."""
    if data is None:
        return None
    reported = counters_of(data)
    if "null" in reported:
        return reported["null"]
    if reported.get("available") != "True":
        return NO_JIT if reported.get("available") == "False" else None
    return {"True": "JIT on", "False": "JIT off"}.get(reported.get("enabled", ""), "JIT built in, unknown whether on")


def _packages(frozen: bytes) -> dict[str, str]:
    """Versions from the `name==version` lines of pip freeze, by normalised name."""
    lines = (line.partition("==") for line in frozen.decode("utf-8", "replace").splitlines())
    return {re.sub(r"[-_.]+", "-", name.strip()).lower(): version.strip() for name, mark, version in lines if mark}


def _day(frozen: bytes) -> str:
    """The day in the first line that services/with_package.py writes if it changes dependencies."""
    found = re.match(rb"# dependencies as of (\d{4}-\d\d-\d\d)\n", frozen)
    return found[1].decode() if found else ""


def _command(value: Mapping[str, Any] | None) -> tuple[StartCommand | None, str | None]:
    """(start command, reason if unknown), from command.json; both None if that was not saved."""
    argv = [str(word) for word in items(mapping(value).get("argv"))]
    if not argv or not argv[0]:
        unknown = mapping(value).get("missing")
        return None, unknown if isinstance(unknown, str) else None
    environment = {key: str(own) for key, own in mapping(mapping(value).get("environment")).items()}
    return StartCommand(argv, environment), None


def _failure(value: Mapping[str, Any] | None) -> tuple[str, str]:
    if value is None:
        return "failed", "failure.json is not a JSON object"
    return str(value.get("outcome", "failed")), str(value.get("detail", "no detail was saved"))
