"""A results folder as typed values: what was planned, and what each measurement left behind.

Every reader here takes whatever is on the disk: a file that is missing, cut off or not what it should be
becomes a value that says so, never an exception. Only a folder that is no results folder at all is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.errors import UserError
from bench.parse import TOOLS

MODES = ("solo", "duet", "null")
"""Alone under load; one side of a pair under load together; the null server, alone."""

MAX_BYTES = 64 << 20
"""The largest file read; what is larger is no output of a load tool's report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One line of plan.jsonl: times in seconds, `rate` in requests/s, None where the level does not ask for it."""

    id: str
    round: int
    position: int
    service: str
    server: str
    framework: str
    python: str
    base: str
    package: str | None
    scenario: str
    tool: str
    level: str
    connections: int | None
    count: int | None
    rate: float | None
    duration_s: float | None
    threads: int
    dir: str
    mode: str = "solo"
    unit: str = ""
    pair: str | None = None
    side: str | None = None
    slot: int | None = None
    window: int | None = None
    database: bool = False
    """Whether an answer needs the database."""
    knee_p99_s: float | None = None

    @property
    def open_loop(self) -> bool:
        """Whether requests are sent at a rate, whatever the answers do."""
        return self.connections is None


Ends = tuple[Mapping[str, str], Mapping[str, str]]
"""A container's counters before and after a window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """What one measurement left: `meta` and `tool` are None when their file is absent, `faults` say what is wrong."""

    started: bool
    meta: Mapping[str, Any] | None
    tool: Mapping[str, Any] | None
    output: bytes | None
    output_file: str
    before: Mapping[str, str]
    after: Mapping[str, str]
    faults: tuple[str, ...]
    database: Ends = ({}, {})
    upstream: Ends = ({}, {})
    """Counters of what stands beside the server."""
    own_database: bool = False
    """Whether the database's were saved: each side of a pair that asks one has its own."""
    lag: Mapping[str, Any] | None = None
    knee: Mapping[str, Any] | None = None

    @property
    def sha256(self) -> str | None:
        """Of the output, as it came."""
        return None if self.output is None else hashlib.sha256(self.output).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceFacts:
    """What is known of one service: null facts have their reason in `missing`; `packages` maps names to versions."""

    name: str
    image_id: str | None = None
    base_label: str | None = None
    python_build: str | None = None
    jit: str | None = None
    packages: Mapping[str, str] = field(default_factory=dict)
    packages_file: str | None = None
    packages_sha256: str | None = None
    limits: Mapping[str, str] | None = None
    failure: tuple[str, str] | None = None
    missing: Mapping[str, str] = field(default_factory=dict)
    image_bytes: int | None = None
    idle: Mapping[str, str] = field(default_factory=dict)
    """Its counters when it was ready and idle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A results folder: run.json, the planned measurements in order, and what could not be read."""

    path: str
    facts: Mapping[str, Any]
    settings_sha256: str
    planned: tuple[Planned, ...]
    faults: tuple[str, ...]


def read_run(path: str) -> Run:
    """Read run.json and plan.jsonl; UserError when `path` is no results folder."""
    if not Path(path).is_dir():
        raise UserError(f"no results folder '{path}'; give one of: ls results/")
    settings, plan = read_bytes(f"{path}/run.json"), read_bytes(f"{path}/plan.jsonl")
    if settings is None or plan is None:
        missing = "run.json" if settings is None else "plan.jsonl"
        raise UserError(f"'{path}' is not a results folder: it has no {missing}; give one of: ls results/")
    faults = []
    facts = as_object(settings)
    if facts is None:
        faults.append("run.json: not a JSON object; what ran is known from plan.jsonl alone")
    planned: dict[str, Planned] = {}
    for number, line in enumerate(plan.splitlines(), 1):
        if not line.strip():
            continue
        entry = _planned(as_object(line))
        if isinstance(entry, str):
            faults.append(f"plan.jsonl, line {number}: {entry}; its measurement is not in this report")
        elif planned.setdefault(entry.id, entry) is not entry:
            faults.append(f"plan.jsonl, line {number}: {entry.id} is planned twice; the first one counts")
    return Run(
        path=path,
        facts=facts or {},
        settings_sha256=hashlib.sha256(settings).hexdigest(),
        planned=tuple(planned.values()),
        faults=tuple(faults),
    )


def read_raw(run: str, planned: Planned) -> Raw:
    """What the measurement left in its folder."""
    folder = f"{run}/{planned.dir}"
    name = "output.json" if planned.tool == "vegeta" else "output.txt"
    faults: list[str] = []
    meta = _read_object(f"{folder}/meta.json", "meta.json", faults)
    tool = _read_object(f"{folder}/tool.json", "tool.json", faults)
    output = read_bytes(f"{folder}/{name}")
    if meta is not None and meta.get("id") != planned.id:
        faults.append(f"meta.json is that of measurement {_word(meta.get('id'))}")
    return Raw(
        started=meta is not None or tool is not None or output is not None or os.path.isdir(folder),
        meta=meta,
        tool=tool,
        output=output,
        output_file=f"{planned.dir}/{name}",
        before=_counters(read_bytes(f"{folder}/server.before")),
        after=_counters(read_bytes(f"{folder}/server.after")),
        lag=_read_object(f"{folder}/lag.json", "lag.json", faults) if planned.tool == "vegeta" else None,
        knee=_read_object(f"{folder}/knee.json", "knee.json", faults) if planned.knee_p99_s else None,
        faults=tuple(faults),
        database=_ends(folder, "database"),
        upstream=_ends(folder, "upstream"),
        own_database=os.path.exists(f"{folder}/database.before"),
    )


def read_service(run: str, name: str) -> ServiceFacts:
    """What `raw/services/NAME` tells of a service."""
    folder = f"raw/services/{name}"
    missing: dict[str, str] = {}
    image = read_bytes(f"{run}/{folder}/image.json")
    image_id, made = _image(image)
    base_label = made or _system(read_bytes(f"{run}/{folder}/os-release.txt"))
    for fact, value in (("image_id", image_id), ("base_label", base_label)):
        if value is None:
            missing[fact] = f"{folder}/image.json " + ("is missing" if image is None else "does not tell")
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
    limits = None if (text := read_bytes(f"{run}/{folder}/limits.txt")) is None else _counters(text)
    if not limits or "null" in limits:
        missing["limits"] = (limits or {}).get("null") or f"{folder}/limits.txt is missing or empty"
    failed = read_bytes(f"{run}/{folder}/failure.json")
    return ServiceFacts(
        name=name,
        image_id=image_id,
        base_label=base_label,
        python_build=python_build or None,
        jit=jit,
        packages=_packages(packages or b""),
        packages_file=None if packages is None else f"{folder}/packages.txt",
        packages_sha256=None if packages is None else hashlib.sha256(packages).hexdigest(),
        limits=None if "limits" in missing else limits,
        failure=None if failed is None else _failure(as_object(failed)),
        missing=missing,
        image_bytes=_image_bytes(image),
        idle=_counters(read_bytes(f"{run}/{folder}/idle.txt"), "idle service"),
    )


def read_bytes(path: str) -> bytes | None:
    """The whole file, or None when there is none to read (absent, a folder, over `MAX_BYTES`)."""
    try:
        # Non-blocking, so that a pipe in the folder cannot hang the report.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        size = os.fstat(handle).st_size
        return None if size > MAX_BYTES else os.read(handle, size + 1)[:size]
    except OSError:
        return None
    finally:
        os.close(handle)


def as_object(data: bytes) -> dict[str, Any] | None:
    """The JSON object that `data` holds, or None when it holds none."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def mapping(value: Any) -> Mapping[str, Any]:
    """`value` when it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> Sequence[Any]:
    """`value` when it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []


def _read_object(path: str, name: str, faults: list[str]) -> dict[str, Any] | None:
    data = read_bytes(path)
    if data is None:
        return None
    value = as_object(data)
    if value is None:
        faults.append(f"{name} is not a JSON object")
    return value


def _planned(entry: Mapping[str, Any] | None) -> Planned | str:
    """The typed line, or what is wrong with it."""
    if entry is None:
        return "not a JSON object"
    try:
        planned = Planned(
            id=_text(entry, "id"),
            round=_count(entry, "round"),
            position=_count(entry, "position"),
            service=_text(entry, "service"),
            server=_text(entry, "server"),
            framework=_text(entry, "framework"),
            python=_text(entry, "python"),
            base=_text(entry, "base"),
            package=None if entry.get("package") is None else _text(entry, "package"),
            scenario=_text(entry, "scenario"),
            tool=_text(entry, "tool"),
            level=_text(entry, "level"),
            connections=None if entry.get("connections") is None else _count(entry, "connections"),
            count=None if entry.get("count") is None else _count(entry, "count"),
            rate=None if entry.get("rate") is None else _seconds(entry, "rate"),
            duration_s=None if entry.get("duration_s") is None else _seconds(entry, "duration_s"),
            threads=_count(entry, "threads") if "threads" in entry else 1,
            dir=_text(entry, "dir"),
            mode=_text(entry, "mode") if "mode" in entry else "solo",
            unit=_text(entry, "unit") if "unit" in entry else _text(entry, "id"),
            pair=None if entry.get("pair") is None else _text(entry, "pair"),
            side=None if entry.get("side") is None else _text(entry, "side"),
            slot=None if entry.get("slot") is None else _count(entry, "slot"),
            window=None if entry.get("window") is None else _count(entry, "window"),
            database=entry.get("database") is True,
            knee_p99_s=None if entry.get("knee_p99_s") is None else _seconds(entry, "knee_p99_s"),
        )
    except ValueError as problem:
        return str(problem)
    if planned.mode not in MODES or (planned.mode == "duet" and (planned.side not in ("a", "b") or not planned.pair)):
        return f"{_word(planned.mode)} is no way of measuring, or a pair's side is missing"
    if planned.tool not in TOOLS:
        return f"no output of {_word(planned.tool)} can be read"
    if not _inside(planned.dir) or not _inside(planned.service) or "/" in planned.service:
        return f"{_word(planned.dir)} is not a folder of this run"
    return planned


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value or not value.isprintable():
        raise ValueError(f"{key} is not a name")
    return value


def _count(entry: Mapping[str, Any], key: str) -> int:
    value = entry.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{key} is not a positive whole number")
    return value


def _seconds(entry: Mapping[str, Any], key: str) -> float:
    value = entry.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < 1e9:
        raise ValueError(f"{key} is not a positive number")
    return value


def _inside(path: str) -> bool:
    return not path.startswith("/") and ".." not in path.split("/")


def _word(value: Any) -> str:
    return repr(value)[:80]


def _ends(folder: str, name: str) -> Ends:
    before, after = (_counters(read_bytes(f"{folder}/{name}.{when}"), name) for when in ("before", "after"))
    return before, after


def _counters(data: bytes | None, whose: str = "server") -> dict[str, str]:
    """`key value` lines; the value of `null` is the reason why there are none."""
    if data is None:
        return {"null": f"the {whose}'s counters were not saved"}
    pairs = (line.partition(" ") for line in data.decode("utf-8", "replace").splitlines())
    return {key: value.strip() for key, _, value in pairs if key}


def _image(data: bytes | None) -> tuple[str | None, str | None]:
    """(image id, how its base was made here) of `docker image inspect`; a pulled base has no such label."""
    try:
        value = json.loads(data or b"null")
    except (ValueError, RecursionError):
        return None, None
    image = mapping(value[0] if isinstance(value, list) and value else value)
    labels = mapping(mapping(image.get("Config")).get("Labels"))
    label, image_id = labels.get("bench.base.made"), image.get("Id")
    return image_id if isinstance(image_id, str) else None, label if isinstance(label, str) else None


def _image_bytes(data: bytes | None) -> int | None:
    try:
        value = json.loads(data or b"null")
    except (ValueError, RecursionError):
        return None
    size = mapping(value[0] if isinstance(value, list) and value else value).get("Size")
    return size if isinstance(size, int) and not isinstance(size, bool) and 0 < size < 1 << 63 else None


def _system(data: bytes | None) -> str | None:
    """What a base calls itself in os-release: one that was made elsewhere is not taken for the official one."""
    found = re.search(rb"^PRETTY_NAME=(.*)$", data or b"", re.MULTILINE)
    return found[1].decode("utf-8", "replace").strip().strip("\"'") or None if found else None


def _jit(data: bytes | None) -> str | None:
    """CPython's JIT in words, as its interpreter told; None when nothing did."""
    if data is None:
        return None
    told = _counters(data)
    if "null" in told:
        return told["null"]
    if told.get("available") != "True":
        return "no JIT" if told.get("available") == "False" else None
    return {"True": "JIT on", "False": "JIT off"}.get(told.get("enabled", ""), "JIT built in, not known whether on")


def _packages(frozen: bytes) -> dict[str, str]:
    """The `name==version` lines of pip freeze, names as the package indexes normalise them."""
    lines = (line.partition("==") for line in frozen.decode("utf-8", "replace").splitlines())
    return {re.sub(r"[-_.]+", "-", name.strip()).lower(): version.strip() for name, mark, version in lines if mark}


def _failure(value: Mapping[str, Any] | None) -> tuple[str, str]:
    if value is None:
        return "failed", "failure.json is not a JSON object"
    return str(value.get("outcome", "failed")), str(value.get("detail", "no detail was saved"))
