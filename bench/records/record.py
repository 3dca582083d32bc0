"""The record of one measurement: what was measured, the result, and whether it is valid.

A run's records are JSON Lines in plan order; the keys of a line are the fields of `Record`, in their order. A missing
figure is null, with the reason in `nulls`; a `Record` that breaks this rule cannot be constructed. Readers must refuse
lines whose `schema` is not `SCHEMA`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, TypeVar

from bench.core.files import as_object
from bench.records.types import wrong_types
from bench.tools import TOOLS

R = TypeVar("R")
SCHEMA = 3


class Outcome(StrEnum):
    """The outcome of a measurement whose step was completed."""

    MEASURED = "measured"
    NOT_STARTED = "did not start"
    SILENT = "does not answer"
    """A server that was already running, or that had answered before, does not answer."""
    DIED = "died"
    WRONG = "answers wrongly"
    TOOL_FAILED = "load tool failed"
    LOST = "dependency ended"
    """A dependency of all services (database, upstream, load generator) ended repeatedly."""
    UNREACHED = "not reached"
    """The service could not be reached over the network between two machines."""


MEASURED = Outcome.MEASURED

ERROR_KINDS = ("connect", "read", "write", "timeout", "other", "non2xx", "status")
"""The keys of `Record.errors`; `status` maps an HTTP status (vegeta: 0 = no response) to its number of responses."""

LATENCIES = ("mean", "stdev", "min", "max", "p50", "p75", "p90", "p95", "p99")
"""The keys of `Record.latency_s`; values are in seconds."""

FIGURES = (
    "tool_version",
    "command",
    "exit_status",
    "image_id",
    "base_label",
    "python_build",
    "packages_file",
    "packages_sha256",
    "raw_sha256",
    "server_limits",
    "loadgen_limits",
    "requests",
    "attempts",
    "successes",
    "duration_s",
    "goodput",
    "sent_rate",
    "server_cpu_s",
    "loadgen_cpu_s",
    "cpu_per_success_s",
    "memory_peak_bytes",
    "throttled_s",
    "steal_ratio",
    "database_cpu_s",
    "memory_idle_bytes",
    "start_s",
    "image_bytes",
    "goodput_per_core",
    "loadgen_busy_ratio",
    "loadgen_wait_ratio",
    "foreign_ratio",
    "lag_s",
    "knee_rate",
    "process_cpu_s",
    "speed",
    "server_busy_ratio",
)
"""Fields that every measurement should have; they may only be null with a reason in `nulls`."""


class BadRecord(ValueError):
    """The line is not a record of this schema."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a measurement is invalid: `cause` names a validity rule or an outcome, `detail` gives the facts."""

    cause: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One measurement. Counts are numbers of requests; times are in seconds, sizes in bytes, rates in 1/s.

    - `cpu_per_success_s`: CPU time of the server, and of the database if the scenario uses it, per success;
      `goodput_per_core`: its inverse, i.e. goodput per core that was actually used.
    - `memory_idle_bytes`: memory of the service when ready and without load, excluding page cache.
    - `start_s`: time from the container's start to the first good response seen by the load generator. This is an upper
      bound, because polling begins some tenths of a second after the start.

    Ratios of the window:

    - `loadgen_busy_ratio`: CPU time of the load generator; `loadgen_wait_ratio`: time that the tool's threads were
      runnable and waited for a CPU used by others. Both are relative to the CPUs that the tool can use (ab has one
      thread).
    - `foreign_ratio`: busy CPU time of the host that does not belong to this measurement, relative to all of its CPUs.

    In turns only:

    - `speed`: successes per second of its turns, without the time taken by other programs; it ranks a table.
    - `server_busy_ratio`: the service's CPU time relative to what other programs left of its CPUs.
    - `window_end`: how the load tool was ended: `frozen` or `interrupted`; null in earlier runs, which did not save it.
    """

    id: str
    round: int
    position: int
    # The cell. Values not set by the level are null (connections of an open loop, ...).
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
    rate: float | None
    count: int | None
    asked_s: float | None
    # What was run. `stdin` is null if the command reads none.
    harness: str
    settings_sha256: str
    tool_version: str | None
    command: tuple[str, ...] | None
    stdin: str | None
    exit_status: int | None
    image_id: str | None
    base_label: str | None
    python_build: str | None
    packages_file: str | None
    packages_sha256: str | None
    raw_file: str
    raw_sha256: str | None
    # Limits and sysctls as read back, in the kernel's format.
    server_limits: Mapping[str, str] | None
    loadgen_limits: Mapping[str, str] | None
    # `measured`, or what prevented it.
    outcome: str
    valid: bool
    causes: tuple[Cause, ...]
    # The result. `attempts` were started, `requests` got a response, `successes` the expected one.
    requests: int | None
    attempts: int | None
    successes: int | None
    errors: Mapping[str, Any]
    duration_s: float | None
    goodput: float | None
    sent_rate: float | None
    latency_kind: str
    latency_s: Mapping[str, float | None]
    server_cpu_s: float | None
    loadgen_cpu_s: float | None
    cpu_per_success_s: float | None
    memory_peak_bytes: int | None
    throttled_s: float | None
    steal_ratio: float | None
    database_cpu_s: float | None
    memory_idle_bytes: int | None
    start_s: float | None
    image_bytes: int | None
    goodput_per_core: float | None
    loadgen_busy_ratio: float | None
    loadgen_wait_ratio: float | None
    foreign_ratio: float | None
    # How late an open loop's requests were sent (p50, p99, max), and the highest rate with p99 within the limit.
    lag_s: Mapping[str, float] | None
    knee_rate: float | None
    nulls: Mapping[str, str]
    # `solo`, `null` (the null server, a control), `rate` (alone, at a common rate) or `turns` (one service of a
    # `block`, whose services are all up and loaded in turns; `slot` is its place in their order).
    mode: str = "solo"
    slot: int | None = None
    window: int | None = None
    block: int | None = None
    # Settings by --vary: `WORKERS=2 THREADS=4`.
    settings: str | None = None
    # CPU time of each process of the service in descending order; in turns, over all windows of the block.
    process_cpu_s: tuple[float, ...] | None = None
    # The service's machine, in a run on several machines.
    node: str | None = None
    speed: float | None = None
    server_busy_ratio: float | None = None
    window_end: str | None = None
    # The rate at which the open-loop client ended the search for a knee: the server's knee is higher.
    client_limit: float | None = None
    # With held connections only.

    @property
    def client_core_ratio(self) -> float | None:
        """The share of a core that the load generator needs for 1,000 requests/s; None if unknown."""
        return 1000 * self.loadgen_cpu_s / self.attempts if self.loadgen_cpu_s is not None and self.attempts else None

    def __post_init__(self) -> None:
        missing = {name for name in FIGURES if getattr(self, name) is None}
        missing |= {f"errors.{kind}" for kind in ERROR_KINDS if self.errors.get(kind) is None}
        missing |= {f"latency_s.{key}" for key in LATENCIES if self.latency_s.get(key) is None}
        if missing != self.nulls.keys():
            raise BadRecord(f"{self.id}: null without a reason, or the reverse: {missing ^ self.nulls.keys()}")
        if self.valid and (self.causes or self.outcome != MEASURED):
            raise BadRecord(f"{self.id}: valid despite {self.outcome}, {self.causes}")
        if not self.valid and not self.causes:
            raise BadRecord(f"{self.id}: not valid without a cause")


_FIELDS = tuple(field.name for field in fields(Record))
_KEYS = {"errors": ERROR_KINDS, "latency_s": LATENCIES}


def to_line(record: Record) -> str:
    """The record as one line of JSON, without its newline."""
    values: dict[str, Any] = {"schema": SCHEMA}
    values |= {name: getattr(record, name) for name in _FIELDS}
    values["causes"] = [{"cause": cause.cause, "detail": cause.detail} for cause in record.causes]
    return json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def from_line(line: str) -> Record:
    """Parse a line into a record; BadRecord if that fails."""
    try:
        if (values := as_object(line)) is None:
            raise BadRecord("not a JSON object")
        if (found := values.pop("schema")) != SCHEMA or type(found) is not int:
            raise BadRecord(f"a record of schema {str(found)[:40]}, this version reads {SCHEMA}")
        values["causes"] = tuple(Cause(**cause) for cause in values["causes"])
        for name in ("command", "process_cpu_s"):
            if isinstance(values.get(name), list):
                values[name] = tuple(values[name])
        if wrong := ", ".join(wrong_types(values, Record, _KEYS)):
            raise BadRecord(f"not a record of schema {SCHEMA}: of a wrong type: {wrong}")
        if (tool := values["tool"]) not in TOOLS:
            raise BadRecord(f"a record of the load tool {str(tool)[:40]}, which this version does not have")
        return Record(**values)
    except BadRecord:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise BadRecord(f"not a record of schema {SCHEMA}: {problem}") from None


def dump(records: Iterable[Record]) -> Iterator[str]:
    """The lines of records.jsonl, each with its newline."""
    for record in records:
        yield to_line(record) + "\n"


def load(lines: Iterable[str]) -> Iterator[Record]:
    """Parse the lines of records.jsonl; BadRecord with the line's number for a bad line."""
    return read_lines(lines, from_line)


def read_lines(lines: Iterable[str], read: Callable[[str], R]) -> Iterator[R]:
    """Parse each line with `read`, skipping blank lines; BadRecord gets the line's number.

    `lines` must be split at line feeds only, because JSON may contain other separators that `str.splitlines` splits at.
    """
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield read(line)
            except BadRecord as problem:
                raise BadRecord(f"line {number}: {problem}") from None
